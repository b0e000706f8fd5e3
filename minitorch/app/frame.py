"""What all pages share: sidebar, head, the choice of code, and the card where code is missing."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitDuplicateElementKey

from ..course import progress
from ..course.stubs import LIBRARY
from ..course.tasks import TASKS, Place, Task, find_task
from ..course.workspace import CourseError, Workspace
from .components import tidy_history
from .differences import find_difference
from .keeping import kept
from .library import LIMIT, Answer, Library, Missing, Problem, Run, saved_files
from .rooms import MODULES, ROOMS, Room, find_room

CHOICES = ("yours", "reference", "both")
SECONDS_BETWEEN_LOOKS = 1.0
ICON = Path(__file__).parent / "icon.svg"


# --- The whole app -------------------------------------------------------------------------


def show() -> None:
    """Draw the sidebar and the chosen page."""
    st.set_page_config("MiniTorch", str(ICON), layout="wide")  # first: pages' icons are not here
    st.html(_STYLE)
    last = chosen_module()
    sections: dict[str, list[Any]] = {"": []}
    for room in ROOMS:
        if room.module is None or room.module <= last:
            name = "" if room.module is None else MODULES[room.module]
            sections.setdefault(name, []).append(_as_page(room))
    page = st.navigation(sections, expanded=True)
    st.set_page_config(f"{page.title} · MiniTorch")
    with st.sidebar:
        choose_code()
        follow_saves()
        tidy_history()
    _draw(page)


def _draw(page: Any) -> None:
    """Draw a page; a card where it fails at what the student's code gave."""
    try:
        page.run()
    except Exception as error:
        room = next(room for room in ROOMS if room.title == page.title)
        own = next((view for view in views(room) if view.name == "yours"), None)
        if own is None:
            raise
        logging.getLogger(__name__).exception("page %s", page.title)
        text = (
            f"This page cannot draw what your code gave. {type(error).__name__}: {error}\n"
            "If it draws what the reference gives, look for a value of another type or shape."
        )
        problem_card(own, Problem(text))


def chosen_module() -> int:
    """The module that the command line names: pages of later ones are left out."""
    given = sys.argv[1] if len(sys.argv) > 1 else ""
    return int(given) if given in {str(number) for number in MODULES} else max(MODULES)


def _as_page(room: Room) -> Any:
    done = room.tasks and all(is_passed(find_task(number)) for number in room.tasks)
    icon = "check_circle" if done else room.icon
    return st.Page(
        room.file, title=room.title, icon=f":material/{icon}:", default=room.name == "start"
    )


# --- Whose code ------------------------------------------------------------------------------


def workspace() -> Workspace | None:
    """The student's workspace: the one the app was started in or for."""
    try:
        return Workspace.find(Path(os.environ.get("MINITORCH_WORKSPACE") or Path.cwd()))
    except CourseError:
        return None


def is_passed(task: Task) -> bool:
    """Whether the student's code has passed a task's checks."""
    own = workspace()
    return own is not None and progress.is_passed(own, task)


def choose_code() -> None:
    """Let the user say on whose code the pages run."""
    if workspace() is None:
        st.caption(
            "Running on the **reference**. With a workspace of your own "
            "(`minitorch course new DIR`, then `minitorch app` in it) this runs on your code."
        )
        return
    st.segmented_control(
        "Run on",
        CHOICES,
        default="yours",
        required=True,
        key="code",
        bind="query-params",
        help="Your code, ours, or both side by side",
    )


def follow_saves() -> None:
    """Draw the page anew when a file of the workspace is saved, and say which it was."""
    own = workspace()
    if own is None:
        return
    st.session_state["saved"] = _watched_files(own.root)
    if note := st.session_state.get("saved_note"):
        st.caption(f":material/sync: {note}")
    st.fragment(_look_for_saves, run_every=SECONDS_BETWEEN_LOOKS)(own.root)


def _watched_files(root: Path) -> dict[Path, int]:
    """The library, and files of the student's beside it."""
    return saved_files(root / "minitorch") | saved_files(root)


def _look_for_saves(root: Path) -> None:
    before, now = st.session_state["saved"], _watched_files(root)
    if now == before:
        return
    changed = sorted(path.name for path in now if now[path] != before.get(path))
    names = ", ".join(f"`{name}`" for name in changed) or "A file"
    st.session_state["saved_note"] = f"{names} saved at {time.strftime('%H:%M:%S')}."
    st.session_state["saved"] = now
    st.rerun(scope="app")


@dataclass
class View:
    """One library that a page runs on, and the column it is shown in."""

    name: str
    library: Library
    room: Room

    def ask(self, call: str, limit: float = LIMIT, **args: Any) -> Any | None:
        """What a lesson gives; None where it cannot, with a card that says why."""
        return self.checked(self.library.ask(call, limit, **args))

    def checked(self, answer: Answer) -> Any | None:
        """An answer, or None and a card."""
        if isinstance(answer, Missing):
            missing_card(self, answer)
            return None
        if isinstance(answer, Problem):
            problem_card(self, answer)
            return None
        return answer

    def run(self, name: str) -> Run | None:
        """A run that was begun before, on whatever page; not one that failed with older code."""
        run = kept().get(f"run-{self.name}-{name}")
        if run is not None and run.failure is not None and self.is_stale(run):
            self.forget(name)
            return None
        return run

    def is_stale(self, run: Run) -> bool:
        """Whether the code was saved since a run began."""
        return run.saved != saved_files(self.library.root / "minitorch")

    def say_if_stale(self, run: Run, button: str) -> None:
        """Say that a run shows what older code does, and how to train anew."""
        if self.is_stale(run):
            st.info(
                f"This was begun with your code as it was before you saved it. **{button}** trains "
                "with the new one.", icon=":material/history:",
            )  # fmt: skip

    def forget(self, name: str) -> None:
        """Stop a run, if there is one of this name."""
        before = kept().pop(f"run-{self.name}-{name}", None)
        if before is not None:
            before.stop()

    def start(self, name: str, call: str, **args: Any) -> Run:
        """Begin a run, in place of the one of the same name."""
        self.forget(name)
        run = kept()[f"run-{self.name}-{name}"] = self.library.start(call, **args)
        return run


@st.cache_resource
def library(root: str) -> Library:
    """The library in a folder; all pages and tabs share its process."""
    return Library(Path(root))


def views(room: Room) -> list[View]:
    """The libraries that the user has chosen: one or two."""
    own = workspace()
    choice = st.session_state.get("code", "yours") if own else "reference"
    found = []
    if own and choice in ("yours", "both"):
        found.append(View("yours", library(str(own.root)), room))
    if choice in ("reference", "both"):
        found.append(reference(room))
    return found


def reference(room: Room, name: str = "reference") -> View:
    """The reference, whatever the user has chosen; under another name, runs of its own."""
    return View(name, library(str(LIBRARY.parent)), room)


def columns(room: Room) -> Iterator[View]:
    """Each chosen library, with what is drawn going into its own column."""
    chosen = views(room)
    if len(chosen) == 1:
        yield chosen[0]
        return
    for view, column in zip(chosen, st.columns(2, gap="large"), strict=True):
        with column:
            st.badge(view.name, color="orange" if view.name == "yours" else "blue")
            yield view


def show_difference(answers: list[Any]) -> None:
    """With both libraries chosen: whether they agree, or the first value in which they differ."""
    if len(answers) < 2 or any(answer is None for answer in answers):
        return
    found = find_difference(answers[0], answers[1])
    if found is None:
        st.success("Yours and the reference agree in every value on this page.")
        return
    values = "the only value" if found.total == 1 else f"{found.count} of {found.total} values"
    at = f" at **{found.where}**" if found.where else ""
    st.warning(
        f"Yours and the reference differ in {values}. The first is{at}: yours gives "
        f"**{found.mine}**, the reference **{found.theirs}**."
    )


# --- One page ----------------------------------------------------------------------------------


def begin(name: str) -> Room:
    """Draw the head of a page: what it shows, what to try, its tasks and its guide."""
    room = find_room(name)
    st.title(room.title)
    st.markdown(room.shows)
    if room.tries:
        with st.expander("What to try", icon=":material/lightbulb:", expanded=False):
            st.markdown("\n".join(f"- {line}" for line in room.tries))
    if room.tasks or room.guide:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            for number in room.tasks:
                _task_badge(find_task(number))
            if room.guide:
                guide = find_room("guide").file
                st.page_link(
                    guide,
                    label="Read the guide",
                    icon=":material/menu_book:",
                    query_params={"chapter": room.guide},
                )
    return room


def _task_badge(task: Task) -> None:
    if is_passed(task):
        st.badge(f"Task {task.number}", icon=":material/check:", color="green")
    else:
        st.badge(f"Task {task.number}", color="gray")


def missing_card(view: View, missing: Missing) -> None:
    """Say which function is still to be written, and what to do."""
    task = find_task(missing.task)
    missing = _located(view, task, missing)
    with st.container(border=True):
        st.markdown(f"##### :material/edit_note: Task {task.number} is still open")
        st.markdown(
            f"`{missing.function}` in `minitorch/{missing.file}` is not written yet. This page "
            f"will {view.room.promise} once it is."
        )
        with st.expander("A hint"):
            st.markdown(_hints(task, missing.function))
        _reference_button(view, missing.function)


def _located(view: View, task: Task, missing: Missing) -> Missing:
    """What is missing; where compiled code met it, which tells no names, the task's first open place."""
    if all((place.file, place.name) != (missing.file, missing.function) for place in task.places):
        for place in Workspace(view.library.root).open_places(task):
            return Missing(task.number, place.file, place.name)
    return missing


def _hints(task: Task, function: str) -> str:
    places: list[Place] = [place for place in task.places if place.name == function]
    more = places[0].idea if places else "Look at the tests of this task for what it must give."
    return f"{task.about}\n\n{more}\n\n`minitorch course hint {task.number} 3` says more."


def _reference_button(view: View, about: str) -> None:
    """A way out of a card; where two cards are about the same, the first has it."""
    with suppress(StreamlitDuplicateElementKey):
        if st.button(
            "Use the reference",
            on_click=_use_reference,
            key=f"reference-{view.room.name}-{about}",
            help="Run this page on our code for now",
        ):
            st.rerun()  # the whole page, also where the card is in a fragment


def _use_reference() -> None:
    st.session_state["code"] = "reference"


def problem_card(view: View, problem: Problem) -> None:
    """Say what went wrong in the library, without a traceback."""
    with st.container(border=True):
        whose = "Your code" if view.name == "yours" else "The reference"
        st.markdown(f"##### :material/error_outline: {whose} could not do this")
        st.code(problem.text, language=None, wrap_lines=True)
        if problem.where:
            st.markdown(f"In `{problem.where}`.")
        if view.name == "yours":
            _reference_button(view, "problem")


def tasks_of(module: int) -> list[Task]:
    """The tasks of a module."""
    return [task for task in TASKS if task.module == module]


_STYLE = """<style>
.block-container { padding-top: 2rem; max-width: 1200px; }
@media (max-width: 640px) { .block-container { padding-left: 1rem; padding-right: 1rem; } }
</style>"""
