"""Proving that the assignments hold, before a class does.

Every task makes the round trip from stub to solution, every mistake of the catalogue is noticed
by the checks and named by its message, and no check fails by chance.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from .catalogue import RACES, Mistake
from .checking import Result, Server, arguments, request
from .judging import Reference, judge
from .plain_answers import accepted_answers, plain_answers, spelled_out, write_answer
from .questions import draw_questions
from .reading import faults
from .recognition import ALL, recognise, wrong_answers
from .stubs import LIBRARY
from .tasks import BY_NUMBER, TASKS, Task
from .workspace import Workspace, copy_torch_floor, create, material, project_file, test_files

QUICKLY = "not large and not deep and not thread and not edges"
"""What is left out where kernels run as plain Python: large inputs take long there."""


def _server(tasks: Iterable[Task], compiled: bool) -> Server:
    heavy = ["numba"] if any(task.module >= 3 for task in tasks) else []
    return Server(heavy) if compiled else Server(heavy, NUMBA_DISABLE_JIT="1")


# --- The round trip ------------------------------------------------------------------------


def round_trips(
    tasks: Sequence[Task], quick: bool = True, app: bool = False
) -> Iterable[tuple[Task, str]]:
    """For each task: its stub fails for that reason alone, its solution passes; "" if so.

    Args:
        tasks: which
        quick: with few examples, and kernels as plain Python
        app: also open the app's pages on the stub
    """
    with (
        tempfile.TemporaryDirectory(prefix="minitorch-verify-") as folder,
        _server(tasks, compiled=not quick) as server,
    ):
        workspace, _ = create(Path(folder) / "w")
        done: list[Task] = []
        for task in TASKS:
            if task not in tasks:
                done.append(task)
                continue
            workspace.put_solutions(done)
            done = []
            wrong = _wrong_in_the_app(workspace.root, task) if app else ""
            yield task, _round_trip(server, workspace, task, quick) or wrong


def _round_trip(server: Server, workspace: Workspace, task: Task, quick: bool) -> str:
    stub = _run_task(server, workspace, task, quick) if task.places else None
    workspace.put_solutions([task])
    if stub is not None:
        if stub.error is not None:
            return f"the stub does not run: {stub.error['text']}"
        if not stub.failures:
            return "the stub's tests pass"
        other = [t for t in stub.failures if t.unwritten != task.number]
        if other:
            return f"the stub fails for another reason: {other[0].name}: {other[0].message}"
    solved = _run_task(server, workspace, task, quick)
    return _problem(solved) or ("the solution fails extra checks" if solved.count("extra") else "")


def _run_task(server: Server, workspace: Workspace, task: Task, quick: bool) -> Result:
    """A task's checks; quick: with few examples, and without what is slow in plain Python."""
    asked = request(workspace.root, task)
    if quick:
        asked["environment"] = {"MINITORCH_TEST_EXAMPLES": "2"}
        if task.module >= 3:
            asked["arguments"] += ["-k", QUICKLY]
    return server.ask(asked | {"task": None}, task)


def _wrong_in_the_app(root: Path, task: Task) -> str:
    """What a page of the app makes of a stub but a calm card; "" if nothing."""
    from ..app.opening import end_libraries, open_pages
    from ..app.rooms import ROOMS

    rooms = [room for room in ROOMS if room.name == "start" or task.number in room.tasks]
    try:
        words = open_pages(root, rooms)
    except RuntimeError as error:
        return f"the app does not open on the stub: {error}"
    finally:
        end_libraries()
    wrong = [name for name, text in words.items() if "could not do this" in text]
    return f"the app takes the stub for a mistake on: {', '.join(wrong)}" if wrong else ""


def _problem(solved: Result) -> str:
    """What keeps a right answer from passing; "" if nothing does."""
    if solved.error is not None:
        return f"the solution does not run: {solved.error['text']}"
    if solved.failures or not solved.count("passed"):
        first = solved.failures[0] if solved.failures else None
        return f"the solution fails: {first.name + ': ' + first.message if first else 'no tests'}"
    return ""


# --- Other right answers -------------------------------------------------------------------


def other_answers(tasks: Sequence[Task], quick: bool = True) -> Iterable[tuple[Task, str]]:
    """For each task: right answers that are not ours pass; "" if so.

    Those in plain style, what hints spell out, and what the original course accepts: each task's
    on top of all of these for the tasks before.
    """
    with (
        tempfile.TemporaryDirectory(prefix="minitorch-verify-") as folder,
        _server(tasks, compiled=not quick) as server,
    ):
        workspace, _ = create(Path(folder) / "w")
        for task in TASKS:
            for place in task.places:
                write_answer(workspace, place, plain_answers()[place.file, place.name])
        for task in tasks:
            wrong = _wrong_with_answer(server, workspace, task, quick)
            accepted = accepted_answers()
            hints = {place: spelled_out(place) for place in task.places}
            others = {place: accepted.get((place.file, place.name)) for place in task.places}
            for style in (hints, others):
                written = [(place, body) for place, body in style.items() if body]
                for place, body in written:
                    write_answer(workspace, place, body)
                if written and not wrong:
                    wrong = _wrong_with_answer(server, workspace, task, quick)
            yield task, wrong


def _wrong_with_answer(server: Server, workspace: Workspace, task: Task, quick: bool) -> str:
    """What keeps a right answer from passing, or what a student who gave it would be told is wrong."""
    if wrong := _problem(_run_task(server, workspace, task, quick)):
        return wrong
    answers = server.ask(request(workspace.root, task, only_probes=True), task).probes
    told = wrong_answers(task.number, answers, recognise(task.number, answers))
    return f"a direct question is answered otherwise: {told[0]}" if told else ""


# --- The catalogue -------------------------------------------------------------------------


def mistakes(tasks: Sequence[Task]) -> Iterable[tuple[Mistake, str]]:
    """For each mistake: checks and questions notice it, a student sees its message; "" if so.

    Mistakes are made in a copy of the library, whose kernels run as plain Python.
    """
    chosen = [m for m in [*ALL, *RACES] if BY_NUMBER[m.number] in tasks]
    with (
        tempfile.TemporaryDirectory(prefix="minitorch-verify-") as folder,
        _server(tasks, compiled=False) as server,
        Reference(LIBRARY.parent) as reference,
    ):
        root = Path(folder)
        _copy_library(root)
        if any(task.needs_torch for task in tasks):
            copy_torch_floor(root / "minitorch")
        for mistake in chosen:
            if mistake in RACES:
                yield mistake, _unseen(mistake)
                continue
            path = root / "minitorch" / mistake.file
            right = path.read_text(encoding="utf-8")
            path.write_text(mistake.made_in(right), encoding="utf-8")
            yield mistake, _unnoticed(server, reference, root, mistake)
            path.write_text(right, encoding="utf-8")


def _unseen(mistake: Mistake) -> str:
    """Why a student is not told of a mistake that is seen in the text; "" if so."""
    found = faults(mistake.made_in(""), mistake.place)
    return "" if any(mistake.advice in text for text in found) else f"not seen; seen: {found}"


def _copy_library(root: Path) -> None:
    left_out = shutil.ignore_patterns("__pycache__", "torch", "torchvision", "course", "app")
    shutil.copytree(LIBRARY, root / "minitorch", ignore=left_out)
    for name in test_files():
        (root / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(material("tests") / name, root / "tests" / name)
    (root / "pyproject.toml").write_text(project_file(), encoding="utf-8")


def _unnoticed(server: Server, reference: Reference, root: Path, mistake: Mistake) -> str:
    task = BY_NUMBER[mistake.number]
    asked = request(root, task, first=True, about=mistake.name)
    asked["environment"] = {"MINITORCH_TEST_EXAMPLES": "8", "NUMBA_DISABLE_JIT": "1"}
    if task.module >= 3:
        asked["arguments"] += ["-k", QUICKLY]
    result = server.ask(asked | {"task": task.number}, task)
    if result.error is not None:
        return f"the library does not run: {result.error['text']}"
    if not result.failures and not result.count("extra"):
        return "the checks pass"
    found = [f.mistake for f in recognise(task.number, result.probes)]
    if mistake not in found:
        named = ", ".join(m.name for m in found) or "nothing"
        return f"not recognised; recognised: {named}"
    return _unasked(reference, root, mistake) if result.failures else ""


def _unasked(reference: Reference, root: Path, mistake: Mistake) -> str:
    drawn = draw_questions(mistake.number, mistake.name)
    trainings = [question for question in drawn if question.how == "learned"]
    others = [question for question in drawn if question.how != "learned"]
    with Reference(root) as wrong:
        for asked in (
            others,
            trainings,
        ):  # these take long, and are asked where the others do not tell
            if asked and not judge(asked, reference.answers(asked), wrong.ask(asked)).complete:
                return ""
    return "all questions are answered right"


# --- Chance --------------------------------------------------------------------------------


def seeds(tasks: Sequence[Task], numbers: Sequence[int]) -> Iterable[tuple[int, Result]]:
    """The checks of all tasks together, on a finished workspace, with each seed.

    Those that draw nothing from a seed would do the same each time: they run with the first one alone.
    """
    with (
        tempfile.TemporaryDirectory(prefix="minitorch-verify-") as folder,
        _server(tasks, compiled=True) as server,
    ):
        workspace, _ = create(Path(folder) / "w")
        workspace.put_solutions(TASKS)
        drawn: list[str] | None = None
        for number in numbers:
            asked = request(workspace.root, tasks[0], limit=3600, processor=1800)
            asked |= {"arguments": arguments(*tasks, seed=number), "task": None, "only": drawn}
            result = server.ask(asked, tasks[0])
            if drawn is None and result.error is None:
                drawn = [test.id for test in result.tests if test.drawn]
            yield number, result
