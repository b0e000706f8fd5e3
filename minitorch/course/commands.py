"""`minitorch course ...`: what each command does and prints."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..doctor import Finding
from .checking import Result, check
from .examples import first_hint
from .guide import section
from .progress import account, explain_error, next_task, standing
from .stubs import body_of, solution_file
from .tasks import MODULES, TASKS, Task, find_task
from .watching import watch
from .workspace import CourseError, Workspace, create

Command = Callable[[argparse.Namespace], int]
TOOLS = (
    ("pytest", "the checks", True),
    ("hypothesis", "the checks", True),
    ("ruff", "`make lint`", False),
    ("pyright", "`make lint`", False),
)
"""What a workspace needs beside the library, for what, and whether nothing works without it."""


def say(text: str = "") -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def guarded(command: Command) -> Command:
    """The command, with a user's errors as one line and exit code 2."""

    def run(args: argparse.Namespace) -> int:
        try:
            return command(args)
        except (CourseError, ValueError) as error:
            sys.stderr.write(f"minitorch course: {error}\n")
        except BrokenPipeError:
            raise
        except OSError as error:
            sys.stderr.write(f"minitorch course: {error.filename or ''}: {error.strerror}\n")
        return 2

    return run


def add_commands(commands: Any) -> None:
    """Add `course` to the parser of `minitorch`."""
    course = commands.add_parser(
        "course",
        help="build MiniTorch yourself: workspaces, checks, hints, grading",
        description="Build MiniTorch yourself, task by task.",
        epilog="Begin: `minitorch course new my-minitorch`, then `cd my-minitorch` and "
        "`minitorch course check 0.1`.",
    )
    sub = course.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, what: str, command: Command) -> argparse.ArgumentParser:
        text = what[0].upper() + what[1:] + "."
        parser = sub.add_parser(name, help=what, description=text)
        parser.set_defaults(command=guarded(command))
        return parser

    new = add("new", "make a workspace, or add what is missing to one", run_new)
    new.add_argument("folder", metavar="DIR")
    start = add("start", "start a module in the current workspace", run_start)
    start.add_argument("module", type=int, choices=MODULES, metavar="N")
    start.add_argument(
        "--fill",
        action="store_true",
        help="fill in our solutions where earlier modules are unwritten",
    )
    checked = add("check", "run a task's checks on your code", run_check)
    checked.add_argument(
        "tasks", metavar="TASK", nargs="*", help="0.1, or 0 for all of module 0; default: the next"
    )
    checked.add_argument("--seed", type=int, help="seed of the random examples")
    checked.add_argument("-v", "--verbose", action="store_true", help="show every failing check")
    add("status", "show which tasks are open, written, and passed", run_status)
    hint = add("hint", "give a hint: 1 says least, 3 is nearly the answer", run_hint)
    hint.add_argument("task", metavar="TASK")
    hint.add_argument("level", type=int, choices=[1, 2, 3], nargs="?", default=1)
    hint.add_argument("--function", help="only for this function")
    guide = add("guide", "show what the guide says about a task", run_guide)
    guide.add_argument("task", metavar="TASK")
    solution = add("solution", "compare your code with ours, once you have passed", run_solution)
    solution.add_argument("task", metavar="TASK")
    reset = add("reset", "restore a file to its initial state (yours is kept as a copy)", run_reset)
    reset.add_argument("file", metavar="FILE")
    add("doctor", "check this machine and this workspace", run_doctor)
    watch = add("watch", "check your current task each time you save", run_watch)
    watch.add_argument("task", metavar="TASK", nargs="?", help="default: the first open one")
    watch.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    app = add("app", "open the visual app on your code, in the browser", run_app_command)
    app.add_argument("module", type=int, choices=MODULES, nargs="?", metavar="N")
    app.add_argument("--port", type=int)
    app.add_argument("--no-browser", action="store_true", help="only print the address")
    from . import teaching

    teaching.add_commands(add)


# --- Workspaces --------------------------------------------------------------------------


def run_new(args: argparse.Namespace) -> int:
    """`new DIR`."""
    workspace, written = create(Path(args.folder))
    if written:
        say(f"{workspace.root}: {written} file{'s' * (written > 1)} written, yours to edit.")
    else:
        say(f"{workspace.root} has everything already; nothing was changed.")
    go = "" if workspace.root == Path.cwd() else f"cd {shlex.quote(args.folder)} && "
    say(f"Next: {go}minitorch course check 0.1")
    return 0


def run_start(args: argparse.Namespace) -> int:
    """`start N`."""
    workspace = Workspace.find()
    earlier = [task for task in TASKS if task.module < args.module]
    missing = [task for task in earlier if workspace.open_places(task)]
    if missing and args.fill:
        _require_readable(workspace, missing)
        files = {place.file for task in missing for place in task.places}
        saved = workspace.backup(workspace.file(name) for name in files)
        done = workspace.put_solutions(missing)
        say(f"{len(done)} functions of earlier modules filled in; your files are in {saved}")
    elif missing:
        say("Still open in earlier modules: " + ", ".join(t.number for t in missing))
        say("Later tasks build on them; `--fill` fills in our solutions.")
    workspace.note(module=args.module)
    say(f"Module {args.module}:")
    for task in TASKS:
        if task.module == args.module:
            where = ", ".join(f"minitorch/{file}" for file in task.files) or "nothing to write"
            say(f"  {task.number:<5}{task.title:<28}{where}")
    return 0


def _require_readable(workspace: Workspace, tasks: Sequence[Task]) -> None:
    for task in tasks:
        if broken := workspace.unreadable(task):
            raise CourseError(f"{broken}. Fix that first")


def run_reset(args: argparse.Namespace) -> int:
    """`reset FILE`."""
    workspace = Workspace.find()
    path, saved = workspace.reset(args.file)
    say(f"{path.relative_to(workspace.root)} is in its initial state again.")
    if saved:
        say(f"Your version: {saved}")
    return 0


def run_status(args: argparse.Namespace) -> int:
    """`status`."""
    workspace = Workspace.find()
    for task in TASKS:
        mark, text = standing(workspace, task)
        say(f"  {task.number:<5}{task.title:<28}{mark:<9}{text}")
    last = workspace.notes().get("last")
    if last:
        say(f"\nLast failing check, task {last['task']}: {last['message']}")
    return 0


# --- Checks --------------------------------------------------------------------------------


def run_check(args: argparse.Namespace) -> int:
    """`check TASK...`."""
    workspace = Workspace.find()
    tasks = named_tasks(args.tasks) or [next_task(workspace)]
    passed = True
    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(tasks))) as pool:
        for result in pool.map(lambda task: check(workspace.root, task, args.seed), tasks):
            report(workspace, result, args.verbose)
            passed = passed and result.passed
    return 0 if passed else 1


def named_tasks(texts: Sequence[str]) -> list[Task]:
    """The tasks that `0.1` and `1`, for a whole module, name."""
    modules = {str(task.module) for task in TASKS}
    named: list[Task] = []
    for text in texts:
        whole = text in modules
        named += [t for t in TASKS if str(t.module) == text] if whole else [find_task(text)]
    return list(dict.fromkeys(named))


def report(workspace: Workspace, result: Result, verbose: bool = False) -> None:
    """Say what came out, and remember it."""
    for line in account(workspace, result, verbose):
        say(line)


# --- Help ------------------------------------------------------------------------------------


def run_hint(args: argparse.Namespace) -> int:
    """`hint TASK LEVEL`."""
    task = find_task(args.task)
    say(f"Task {task.number}, {task.title}. Guide: minitorch course guide {task.number}")
    if args.level == 1 or not task.places:
        say(task.about)
    try:
        workspace: Workspace | None = Workspace.find()
    except CourseError:
        workspace = None
    places = [p for p in task.places if args.function in (None, p.name, p.name.split(".")[-1])]
    if not places and task.places:
        names = ", ".join(place.name for place in task.places)
        raise CourseError(f"task {task.number} has no function {args.function}; it has {names}")
    unwritten = [p for p in places if workspace is not None and workspace.is_open(p)]
    last = None
    for place in unwritten or places:
        hint = hint_for(task, place.name, args.level)
        say(f"\n{place}:" if hint != last else f"{place}: the same")
        if hint != last:
            say("  " + hint.replace("\n", "\n  "))
        last = hint
    return 0


def run_guide(args: argparse.Namespace) -> int:
    """`guide TASK`."""
    found = section(find_task(args.task))
    say(f"{found.page}:{found.line}\n\n{found.text}")
    return 0


def hint_for(task: Task, name: str, level: int) -> str:
    """One of the three hints for a function."""
    place = next(p for p in task.places if p.name == name)
    if level == 1:
        return first_hint(task.number, place.name)
    return place.idea if level == 2 else place.nearly


def run_solution(args: argparse.Namespace) -> int:
    """`solution TASK`."""
    workspace = Workspace.find()
    task = find_task(args.task)
    if task.number not in workspace.notes()["passed"]:
        raise CourseError(
            f"task {task.number} is not passed yet: `minitorch course check {task.number}` first. "
            f"Stuck? `minitorch course hint {task.number} 3` says nearly everything"
        )
    _require_readable(workspace, [task])
    same = 0
    for place in task.places:
        mine = body_of(workspace.text(place.file), place.name).splitlines()
        ours = body_of(solution_file(place.file), place.name).splitlines()
        if [line.strip() for line in mine] == [line.strip() for line in ours]:
            same += 1
            continue
        diff = difflib.unified_diff(mine, ours, "yours", "ours", lineterm="", n=100)
        say(f"\n{place}")
        for line in list(diff)[3:]:
            say(f"  {line}")
    if same:
        say(f"\n{same} of {len(task.places)} functions are the same as ours, line by line.")
    return 0


def run_doctor(args: argparse.Namespace) -> int:
    """`doctor`."""
    from .. import doctor

    code = 0
    for finding in (doctor.check_python(), *doctor.check_packages()):
        if finding.name in ("python", "numpy", "numba"):
            say(finding.line())
            code = code if finding.ok or not finding.required else 1
    for name, need, required in TOOLS:
        version = doctor._version(name)
        advice = f"needed for {need}: pip install 'minitorch[course]'"
        finding = Finding(name, version is not None, version or "not installed", advice, required)
        say(finding.line())
        code = code if finding.ok or not required else 1
    try:
        workspace = Workspace.find()
    except CourseError as error:
        say(f"  -    workspace      {error}")
        return code
    finding = check_workspace(workspace)
    say(finding.line())
    here = Path.cwd()
    script = doctor.check_location(here=here)
    if "PYTHONPATH" in os.environ:
        say(f"  -    PYTHONPATH     {os.environ['PYTHONPATH']} (not used for checks)")
    if not script.ok:
        say(
            "  ok   reference      the commands come from "
            f"{Path(doctor.__file__).parent}; checks run the minitorch of this workspace"
        )
        say("       your scripts    those in project/ run the minitorch of this workspace, too;")
        say(f"                       others do with PYTHONPATH={workspace.root}")
    return code if finding.ok else 1


def check_workspace(workspace: Workspace) -> Finding:
    """Whether the library of a workspace can be imported."""
    error = check(workspace.root, TASKS[0], only_import=True).error
    text = str(workspace.root) if error is None else explain_error(workspace, error)
    return Finding("workspace", error is None, text, required=True)


# --- The app -------------------------------------------------------------------------------------


def run_app_command(args: argparse.Namespace) -> int:
    """`app [N]`."""
    workspace = Workspace.find()
    from ..app.launch import run_app

    return run_app(args.module, workspace.root, args.port, browser=not args.no_browser)


# --- Watch -------------------------------------------------------------------------------------


def run_watch(args: argparse.Namespace) -> int:
    """`watch`."""
    fixed = find_task(args.task) if args.task else None
    return watch(Workspace.find(), fixed, say, args.once)
