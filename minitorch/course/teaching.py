"""`minitorch course` for teachers: release, verify, grade, variants, export."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import secrets
import signal
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..files import replacing
from .checking import Test
from .commands import say
from .grading import grade
from .isolation import MODES, choose, describe, missing
from .plain_answers import accepted_answers, spelled_out
from .reports import Grade, Journal, as_gradescope, as_json, write_json, write_table
from .sandbox import LAYERS, Limits
from .tasks import MODULES, TASKS, Task, find_task
from .verifying import mistakes, other_answers, round_trips, seeds
from .workspace import MARK, CourseError, Workspace, create, write_whole

Add = Callable[[str, str, Callable[[argparse.Namespace], int]], argparse.ArgumentParser]


def add_commands(add: Add) -> None:
    """Add the teacher's commands."""
    release = add("release", "make the folder (or zip file) to hand out to students", run_release)
    release.add_argument("folder", metavar="DIR")
    release.add_argument(
        "--module",
        type=int,
        choices=MODULES,
        help="of this module, with the modules before it solved",
    )
    release.add_argument("--zip", action="store_true", help="also make DIR.zip")
    verified = add(
        "verify",
        "prove the assignments: the app opens on every stub, the stub's tests fail and its solution passes",
        run_verify,
    )
    _add_tasks(verified)
    verified.add_argument(
        "--full",
        action="store_true",
        help="compile kernels, try all examples, and check that every known mistake is named (slow)",
    )
    verified.add_argument(
        "--answers",
        action="store_true",
        help="instead: check that right answers in other styles and those of the third hints pass",
    )
    verified.add_argument(
        "--seeds", type=int, metavar="N", help="instead: run the checks with N different seeds"
    )
    verified.add_argument(
        "--first-seed", type=int, default=1, help="the first of these seeds (default: 1)"
    )
    graded = add("grade", "grade submissions, each in its own process", run_grade)
    _add_grading_options(graded)
    variants = add(
        "variants", "write question sheets with different numbers for each student", run_variants
    )
    variants.add_argument("folder", metavar="DIR")
    variants.add_argument("names", metavar="NAME", nargs="+")
    variants.add_argument(
        "--secret", metavar="TEXT", help="the same secret and name give the same sheet again"
    )
    variants.add_argument("--modules", metavar="N", type=int, nargs="+", default=[])
    export = add("export", "write the files that a grading service needs", run_export)
    export.add_argument("service", choices=["github", "gradescope"])
    export.add_argument("folder", metavar="DIR")
    _add_tasks(export)


def _add_grading_options(graded: argparse.ArgumentParser) -> None:
    graded.add_argument("folders", metavar="DIR", nargs="*")
    _add_tasks(graded)
    graded.add_argument(
        "--csv", metavar="FILE", help="write a table, updated after each submission"
    )
    graded.add_argument(
        "--json", metavar="FILE", help="write all results, updated after each submission"
    )
    graded.add_argument(
        "--journal",
        metavar="FILE",
        help="save each grade at once, and skip submissions that are already in FILE",
    )
    graded.add_argument("--gradescope", metavar="FILE", help="write results.json (one submission)")
    graded.add_argument(
        "--hidden", metavar="DIR", help="a folder with your own questions.txt and test_*.py"
    )
    graded.add_argument("--seed", metavar="TEXT", help="ask the same questions as an earlier run")
    graded.add_argument("--seconds", type=int, default=120, help="for each task (default: 120)")
    graded.add_argument("--memory", type=float, default=8, help="GiB, for each task (default: 8)")
    graded.add_argument(
        "--isolation",
        choices=[*MODES, "show"],
        nargs="?",
        const="show",
        default="auto",
        help="auto: all layers that work here (default); full: the same, but an error if they leave a gap; "
        "none: only layers that need no support from the system; without a value: show which layers work here",
    )
    graded.add_argument(
        "--without",
        metavar="LAYER",
        nargs="+",
        choices=list(LAYERS),
        default=[],
        help=f"layers of isolation to leave out: {', '.join(LAYERS)}",
    )


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="TASK", nargs="+", default=[], help="such as 0.1 0.3")
    parser.add_argument("--modules", metavar="N", type=int, nargs="+", choices=MODULES, default=[])


def _chosen(args: argparse.Namespace) -> list[Task]:
    named = [find_task(text) for text in args.tasks]
    chosen = [t for t in TASKS if t in named or t.module in args.modules]
    return chosen or list(TASKS)


def run_release(args: argparse.Namespace) -> int:
    """`release DIR`."""
    folder = Path(args.folder)
    workspace = Workspace(folder.resolve())
    begun = (folder / MARK).is_file() and workspace.notes().get("unfinished")
    others = folder.exists() and any(path.name != MARK.parent.name for path in folder.iterdir())
    if others and not begun:
        raise CourseError(f"{folder} is not empty; a release goes into a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    workspace.note(unfinished=True)  # who is interrupted can go on
    workspace, written = create(folder)
    earlier = [t for t in TASKS if args.module is not None and t.module < args.module]
    workspace.put_solutions(earlier)
    workspace.note(module=args.module or 0)
    say(
        f"{workspace.root}: {written} files" + (f", {len(earlier)} tasks solved" if earlier else "")
    )
    if args.zip:
        say(str(_pack(workspace)))
    workspace.note(unfinished=False)
    return 0


def _pack(workspace: Workspace) -> Path:
    """Make a zip file of a release beside its folder."""
    root, notes = workspace.root, workspace.notes() | {"unfinished": False}
    target = root.with_name(f"{root.name}.zip")
    with replacing(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (root, *sorted(root.rglob("*"))):
            if path != root / MARK:
                archive.write(path, path.relative_to(root.parent))
        archive.writestr(f"{root.name}/{MARK.as_posix()}", json.dumps(notes, indent=1))
    return target


def run_verify(args: argparse.Namespace) -> int:
    """`verify`."""
    tasks = _chosen(args)
    if args.seeds is not None:
        return _verify_seeds(tasks, range(args.first_seed, args.first_seed + args.seeds))
    if args.answers:
        return 1 if _verify_other_answers(tasks) else 0
    began = time.monotonic()
    wrong = 0
    app = importlib.util.find_spec("streamlit") is not None
    if not app:
        say("Without Streamlit the app is not opened: pip install 'minitorch[app]'")
    for task, problem in round_trips(tasks, quick=not args.full, app=app):
        say(f"  {_mark(problem)} {task.number:<5}{task.title}")
        if problem:
            wrong += 1
            say(f"       {problem}")
    say("Every task makes the round trip." if not wrong else f"{wrong} tasks do not.")
    if args.full:
        wrong += _verify_other_answers(tasks)
        wrong += _verify_mistakes(tasks)
    say(f"{time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


def _mark(problem: str) -> str:
    return "FAIL" if problem else "ok  "


def _verify_other_answers(tasks: list[Task]) -> int:
    wrong = 0
    for task, problem in other_answers(tasks, quick=False):
        hints = sum(spelled_out(place) is not None for place in task.places)
        accepted = sum((place.file, place.name) in accepted_answers() for place in task.places)
        what = (
            f"{len(task.places)} functions in plain style, then {hints} as third hints say, "
            f"then {accepted} as the original course accepts"
        )
        say(f"  {_mark(problem)} {task.number:<5}{task.title}: {problem or what}")
        wrong += bool(problem)
    say(
        f"Plain answers, third hints and accepted answers pass in {len(tasks) - wrong} of "
        f"{len(tasks)} tasks."
    )
    return wrong


def _verify_mistakes(tasks: list[Task]) -> int:
    count = wrong = 0
    for mistake, problem in mistakes(tasks):
        count += 1
        say(f"  {_mark(problem)} {mistake.number:<5}{mistake.file}: {mistake.name}")
        if problem:
            wrong += 1
            say(f"       {problem}")
    say(
        f"{count - wrong} of {count} known mistakes are noticed by the checks and named to the student."
    )
    return wrong


def _verify_seeds(tasks: list[Task], numbers: Sequence[int]) -> int:
    if not numbers:
        raise CourseError("--seeds must be positive")
    began = time.monotonic()
    runs = wrong = 0
    for seed, result in seeds(tasks, numbers):
        if seed == numbers[0]:
            _say_what_is_drawn(result.tests)
        runs += result.count("passed", "failed", "error", "extra")
        for test in result.tests:
            if test.outcome in ("passed", "skipped"):
                continue
            wrong += 1
            say(f"  FAIL seed {seed}: {test.id}\n       {test.message}")
        if result.error is not None or not result.tests:
            wrong += 1
            say(f"  FAIL seed {seed}: {(result.error or {}).get('text', 'no check ran')}")
        say(
            f"  seed {seed}: {len(result.tests)} checks, {wrong} failures so far, "
            f"{time.monotonic() - began:.0f} s"
        )
    say(f"{len(numbers)} seeds, {len(tasks)} tasks: {wrong} failures in {runs} checks.")
    return 1 if wrong else 0


def _say_what_is_drawn(tests: Sequence[Test]) -> None:
    by_file: dict[str, list[str]] = {}
    for test in tests:
        by_file.setdefault(test.id.split("::")[0], []).append(test.drawn)
    for file, drawn in [*by_file.items(), ("all", [test.drawn for test in tests])]:
        fixed = drawn.count("")
        say(
            f"  {file}: with every seed {drawn.count('examples')} checks of drawn examples and "
            f"{drawn.count('numbers')} of random numbers; with the first {fixed} that draw nothing"
        )


def run_grade(args: argparse.Namespace) -> int:
    """`grade DIR...`."""
    if args.isolation == "show":
        for line in describe("auto", args.without):
            say(line)
        return 0
    folders = _submissions(args)
    limits = Limits(seconds=args.seconds, memory=int(args.memory * (1 << 30)))
    hidden = Path(args.hidden) if args.hidden else None
    layers = choose(args.isolation, args.without)
    for gap in missing(layers):
        say(f"Not so here: {gap}.")
    journal = Journal(Path(args.journal) if args.journal else None)
    seed = args.seed or secrets.token_hex(8)
    grades: list[Grade] = []
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # students' names, on any terminal
    with _ended_by_signals():
        try:
            for g in grade(folders, _chosen(args), limits, hidden, layers, journal, seed):
                grades.append(g)
                _say_grade(g)
                _write_reports(args, grades)
        except (KeyboardInterrupt, SystemExit):
            say(f"\n{len(grades)} of {len(folders)} submissions were graded, as above.")
            raise
    say(f"The questions were drawn with --seed {seed}")
    failed = [g.name for g in grades if g.error]
    if failed:
        say(f"{len(failed)} of {len(grades)} could not be graded: {', '.join(failed)}")
    return 1 if failed else 0


def _submissions(args: argparse.Namespace) -> list[Path]:
    """The folders to grade, each once; CourseError if the command asks for what makes no sense."""
    folders = list({os.path.realpath(folder): Path(folder) for folder in args.folders}.values())
    if not folders:
        raise CourseError("which submissions? `minitorch course grade DIR ...`")
    for folder in folders:
        if not folder.is_dir():
            raise CourseError(f"{folder} is not a folder")
    if args.gradescope and len(folders) != 1:
        raise CourseError("--gradescope takes one submission")
    if args.seconds < 1 or args.memory <= 0:
        raise CourseError("--seconds and --memory must be positive")
    return folders


def _say_grade(g: Grade) -> None:
    of = sum(mark.task.points for mark in g.marks)
    say(f"{g.name}: {g.points:g} of {of}")
    for mark in g.marks:
        if not mark.complete:
            say(f"  {mark.task.number:<5}{mark.passed}/{mark.total}  {mark.note}")
    for line in g.review:
        say(f"  look: {line}")


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a request to end do what Ctrl-C does: nothing is left behind."""

    def stop(number: int, _: object) -> None:
        sys.exit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_reports(args: argparse.Namespace, grades: list[Grade]) -> None:
    if args.json:
        write_json(Path(args.json), as_json(grades))
    if args.gradescope:
        write_json(Path(args.gradescope), as_gradescope(grades[0]))
    if args.csv:
        write_table(Path(args.csv), grades)


def run_variants(args: argparse.Namespace) -> int:
    """`variants DIR NAME...`."""
    from .variants import ASKED, write_sheets

    known = {int(task[0]) for task in ASKED}
    if unknown := set(args.modules) - known:
        raise CourseError(f"no questions on module {min(unknown)}; there are on {sorted(known)}")
    secret = args.secret or secrets.token_hex(8)
    for path in write_sheets(Path(args.folder), args.names, secret, args.modules):
        say(str(path))
    if not args.secret:
        say(f"Drawn with --secret {secret}")
    return 0


# --- Services ----------------------------------------------------------------------------------

_GITHUB = """\
name: course
on: [push]
jobs:
  grade:
    runs-on: ubuntu-latest
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install 'minitorch[course]'
      - run: minitorch course grade . {options} --json grade.json
      - uses: actions/upload-artifact@v4
        with:
          name: grade
          path: grade.json
"""

_SETUP = """\
#!/usr/bin/env bash
set -e
apt-get update && apt-get install -y python3 python3-pip
pip install --break-system-packages 'minitorch[course]'
"""

_AUTOGRADER = """\
#!/usr/bin/env bash
minitorch course grade /autograder/submission {options} --gradescope /autograder/results/results.json
"""


def run_export(args: argparse.Namespace) -> int:
    """`export github|gradescope DIR`."""
    chosen = _chosen(args)
    options = "" if len(chosen) == len(TASKS) else "--tasks " + " ".join(t.number for t in chosen)
    folder = Path(args.folder)
    if args.service == "github":
        files = {".github/workflows/course.yml": _GITHUB}
    else:
        files = {"setup.sh": _SETUP, "run_autograder": _AUTOGRADER}
    for name, text in files.items():
        path = folder / name
        content = text.replace("{options} ", f"{options} " if options else "").encode()
        if path.exists() and path.read_bytes() != content:
            raise CourseError(f"{path} exists already; remove it first")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        if path.suffix != ".yml":
            path.chmod(0o755)
        say(str(path))
    return 0
