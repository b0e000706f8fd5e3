"""The start page: where the student stands, or how to begin."""

from __future__ import annotations

from typing import Any

import streamlit as st

from minitorch.app.chapters import task_place
from minitorch.app.checks import Check
from minitorch.app.frame import begin, chosen_module, library, tasks_of, workspace
from minitorch.app.library import Missing, Problem, Run
from minitorch.app.rooms import MODULES, ROOMS, find_room
from minitorch.course.progress import standing
from minitorch.course.stubs import LIBRARY
from minitorch.course.tasks import TASKS, Task, find_task
from minitorch.course.workspace import Workspace

MARKS = {
    "passed": ("check_circle", "green"),
    "changed": ("history", "orange"),
    "written": ("rate_review", "blue"),
    "begun": ("edit", "orange"),
    "broken": ("error", "red"),
    "open": ("circle", "gray"),
    "-": ("circle", "gray"),
}
ABOUT = {
    0: "Functions of numbers, functions of functions, and modules: trees of parameters.",
    1: "Numbers that remember how they were computed, and their derivatives.",
    2: "Numbers in a storage with shape and strides, and the loops behind every operation.",
    3: "The same loops compiled, on several threads, and on a GPU.",
    4: "Convolution and pooling, and networks for digits and sentences.",
    5: "The same ideas in Torch's own API, with its graphs, its optimizers and a GPT.",
}


# --- Without a workspace ---------------------------------------------------------------------


def welcome() -> None:
    """What the app is, and how to begin."""
    st.markdown(
        "MiniTorch is a small Torch that you write yourself, module by module. Every page of this "
        "app draws what the code computes. Now it runs on the **reference**, our finished library: "
        "look around as you like. To write your own, make a workspace and start the app in it:"
    )
    st.code("minitorch course new my-minitorch\ncd my-minitorch\nminitorch app", language="bash")
    st.markdown(
        "The pages then run on your code and say what is still to be written; this page shows "
        "how far you are."
    )


def show_modules() -> None:
    """A card for each module, with its pages."""
    st.markdown("##### The modules and their pages")
    shown = [number for number in MODULES if number <= chosen_module()]
    places = [*st.columns(3), *st.columns(3)]
    for number, place in zip(shown, places, strict=False):
        with place, st.container(border=True, height="stretch"):
            st.markdown(f"**{MODULES[number]}**")
            st.caption(ABOUT[number])
            for page in ROOMS:
                if page.module == number:
                    st.page_link(page.file, label=page.title, icon=f":material/{page.icon}:")
            guide_link("Read the guide", f"module{number}")


def guide_link(label: str, chapter: str, part: str = "") -> None:
    """A link to a chapter, or to a part of it."""
    place = {"chapter": chapter} | ({"part": part} if part else {})
    st.page_link(
        find_room("guide").file, label=label, icon=":material/menu_book:", query_params=place
    )


# --- Tasks -----------------------------------------------------------------------------------


def show_tasks(own: Workspace) -> None:
    """Every task by module, with its standing and a button that checks it."""
    running = {number for number, run in kept_checks().items() if run.running}
    notes = own.notes()
    stands = {task.number: standing(own, task) for task in TASKS}
    passed = sum(mark == "passed" for mark, _ in stands.values())
    st.progress(passed / len(TASKS), f"{passed} of {len(TASKS)} tasks passed")
    st.caption(f"Your workspace: `{own.root}`")
    show_last(own, notes.get("last"))
    for module, title in MODULES.items():
        tasks = tasks_of(module)
        if not tasks:
            continue
        done = sum(stands[task.number][0] == "passed" for task in tasks)
        tick = ":material/check_circle: " if done == len(tasks) else ""
        label = f"{tick}**{title}**, {done} of {len(tasks)} tasks passed"
        busy = any(task.number in kept_checks() for task in tasks)
        with st.expander(label, expanded=busy or module == notes.get("module", 0)):
            for task in tasks:
                show_task(own, task, *stands[task.number], task.number in running)


def show_task(own: Workspace, task: Task, mark: str, text: str, running: bool) -> None:
    """One task: its standing, a button, and what its last check said."""
    icon, colour = MARKS[mark]
    words = {"-": "tests only", "passed": f"passed {text}", "changed": "changed since it passed"}
    word = words.get(mark, mark)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width=250):
            st.markdown(f":material/{icon}: **{task.number}** {task.title}")
        st.badge(word, color=colour)  # type: ignore[arg-type]
        if mark in ("open", "begun", "broken"):
            st.caption(text, width="content")
        st.space("stretch")
        guide_link("Guide", *task_place(task.number))
        st.button(
            "Check", on_click=start_check, args=(own, task), key=f"check-{task.number}",
            icon=":material/play_arrow:", disabled=running,
        )  # fmt: skip
    if task.number in kept_checks():
        show_check(kept_checks()[task.number], running)


def show_check(run: Check, running: bool) -> None:
    """What a check said, or that it was running when the page began to be drawn."""
    if not running:
        with st.container(border=True):
            st.markdown(
                ":green[:material/check:] **Passed**"
                if run.passed
                else ":orange[:material/info:] **Not yet**"
            )
            st.code("\n".join(run.lines or []), language=None, wrap_lines=True)
        return

    @st.fragment(run_every=0.5)
    def wait() -> None:
        if not run.running:
            st.rerun()
        st.info(
            f"Checking task {run.task.number}: {run.seconds:.0f} s so far. You can look at other "
            "pages meanwhile.",
            icon=":material/hourglass_top:",
        )

    wait()


def kept_checks() -> dict[str, Check]:
    """The latest check of each task in this visit."""
    return st.session_state.setdefault("checks", {})


def start_check(own: Workspace, task: Task) -> None:
    """Run a task's checks now."""
    kept_checks()[task.number] = Check(own, task)


def show_last(own: Workspace, last: dict[str, Any] | None) -> None:
    """The check that failed last, and its message."""
    if not last:
        return
    task = find_task(last["task"])
    with st.container(border=True):
        st.markdown(f"##### :material/flag: Last failing check: task {task.number}, {task.title}")
        st.code(last["message"], language=None, wrap_lines=True)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Check again", on_click=start_check, args=(own, task), key="check-last",
                icon=":material/play_arrow:",
            )  # fmt: skip
            guide_link("Read the guide", *task_place(task.number))
            st.caption(f"A hint: `minitorch course hint {task.number} 1`")


# --- The doctor ----------------------------------------------------------------------------------


@st.cache_resource
def examination() -> Run:
    """The doctor at work, in a process of its own; all visitors share what it finds."""
    return library(str(LIBRARY.parent)).start("start.examine")


def show_doctor(own: Workspace | None) -> None:
    """What works on this machine, and what to do about what does not."""
    st.markdown("##### :material/stethoscope: This machine")
    if own is not None:
        show_import(own)
    run = examination()

    @st.fragment(run_every=0.5 if run.state == "running" else None)
    def show() -> None:
        findings = run.latest.get("findings")
        if findings is None and run.state == "running":
            st.caption("Looking at Python, the libraries, the backends and the data ...")
        elif findings is None:
            st.warning(
                "The examination could not finish. `minitorch doctor` in a terminal says more."
            )
        else:
            show_findings(findings)

    show()
    st.button("Look again", on_click=examination.clear, key="examine", icon=":material/refresh:")


def show_import(own: Workspace) -> None:
    """Whether the student's library can be imported."""
    answer = library(str(own.root)).ask("start.where")
    if isinstance(answer, (Missing, Problem)):
        text = answer.text if isinstance(answer, Problem) else answer.function
        place = f" It is in {answer.where}." if isinstance(answer, Problem) and answer.where else ""
        st.warning(f"Your minitorch cannot be imported: {text}.{place}")
    else:
        st.markdown(f":green[:material/check:] Your minitorch is imported from `{answer}`.")


def show_findings(findings: dict[str, list[dict[str, Any]]]) -> None:
    """The doctor's findings: what MiniTorch needs first, the rest on demand."""
    rows = [row for found in findings.values() for row in found]
    bad = [row for row in rows if row["required"] and not row["ok"]]
    if bad:
        for row in bad:
            st.warning(f"**{row['name']}**: {row['detail']}. {row['advice']}")
    else:
        st.markdown(":green[:material/check:] All that MiniTorch needs is here and works.")
    with st.expander("Everything that was examined"):
        for heading, found in findings.items():
            st.markdown(f"**{heading}**")
            st.markdown("\n".join(_line(row) for row in found))


def _line(row: dict[str, Any]) -> str:
    mark = ":green[:material/check:]" if row["ok"] else ":gray[:material/remove:]"
    if row["required"] and not row["ok"]:
        mark = ":orange[:material/priority_high:]"
    advice = "" if row["ok"] or not row["advice"] else f"  \n  {row['advice']}"
    return f"- {mark} **{row['name']}** {row['detail']}{advice}"


# --- The page -----------------------------------------------------------------------------------

room = begin("start")
own = workspace()
if own is None:
    welcome()
    show_modules()
else:
    show_tasks(own)
show_doctor(own)
