"""How long the course's tools take, on this machine.

python -m tests.course_tools.measure checks   # each module's checks, nothing compiled before
python -m tests.course_tools.measure watch    # from saving a file to the first answer
python -m tests.course_tools.measure start    # from a bare machine to the first green check
"""

from __future__ import annotations

import os
import selectors
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

from minitorch.course.catalogue import MISTAKES
from minitorch.course.stubs import solution_file
from minitorch.course.tasks import TASKS, Task
from minitorch.course.workspace import Workspace, create

ROOT = Path(__file__).parents[2]
COMMAND = "import sys; from minitorch.cli import main; sys.exit(main())"
COURSE = [sys.executable, "-P", "-c", COMMAND, "course"]


def finished(folder: Path) -> Workspace:
    """A workspace with all tasks solved."""
    workspace, _ = create(folder)
    workspace.put_solutions(TASKS)
    return workspace


def environment() -> dict[str, str]:
    """So that the commands are those of this repository."""
    return os.environ | {"PYTHONPATH": str(ROOT)}


# --- Checks ------------------------------------------------------------------------------


def measure_checks(folder: Path) -> None:
    """`minitorch course check N` for each module of one workspace, in the order of the course."""
    root = finished(folder / "w").root
    for module in range(5):
        began, used = time.perf_counter(), _cpu_seconds()
        run = subprocess.run(
            [*COURSE, "check", str(module)],
            cwd=root,
            env=environment(),
            capture_output=True,
            text=True,
        )
        wall, cpu = time.perf_counter() - began, _cpu_seconds() - used
        lines = [line for line in run.stdout.splitlines() if line.startswith("Task")]
        passed = sum(": passed (" in line for line in lines)
        print(
            f"module {module}: {wall:5.1f} s ({cpu:.1f} s of processor time), "
            f"{passed} of {len(lines)} tasks pass",
            flush=True,
        )
        if run.returncode:
            print(run.stdout + run.stderr)


def _cpu_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system


# --- Watch -------------------------------------------------------------------------------


def measure_watch(folder: Path, repeat: int = 3) -> None:
    """For each task of modules 0 to 2: a known mistake is saved, then the right answer again.

    How soon is the message there? Saves may fall into the checks of the one before.
    """
    workspace = finished(folder / "w")
    worst = 0.0
    for task in TASKS:
        if task.module > 2:
            continue
        times = sorted(_answers(workspace, task, repeat))
        worst = max(worst, statistics.median(times))
        print(
            f"task {task.number}: {statistics.median(times):.2f} s "
            f"(of {len(times)}: {times[0]:.2f} to {times[-1]:.2f})",
            flush=True,
        )
    print(f"slowest: {worst:.2f} s")


def _answers(workspace: Workspace, task: Task, repeat: int) -> Iterator[float]:
    mistake = next(m for m in MISTAKES if m.number == task.number)
    path = workspace.file(mistake.file)
    right = solution_file(mistake.file)
    wrong = mistake.made_in((ROOT / "minitorch" / mistake.file).read_text())
    process = subprocess.Popen(
        [*COURSE, "watch", task.number],
        cwd=workspace.root,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    lines = _Lines(process)
    try:
        lines.next_answer()
        for _ in range(repeat):
            for text, said in ((wrong, mistake.advice), (right, "now the tests")):
                time.sleep(0.5)
                path.write_text(text)
                began = time.perf_counter()
                answer = lines.next_answer()
                yield time.perf_counter() - began
                if said not in answer:
                    raise AssertionError(f"{task.number}: {answer}")
    finally:
        process.terminate()
        process.wait()
        path.write_text(right)


class _Lines:
    """The lines that a process prints, as they come."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        if process.stdout is None:
            raise ValueError("the process has no output")
        self.stream = process.stdout
        os.set_blocking(self.stream.fileno(), False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.stream, selectors.EVENT_READ)
        self.rest = ""

    def next_answer(self, limit: float = 60.0) -> str:
        """Wait for a line that begins with the time of day."""
        deadline = time.perf_counter() + limit
        while time.perf_counter() < deadline:
            if self.selector.select(0.5):
                self.rest += self.stream.read() or ""
            *whole, self.rest = self.rest.split("\n")
            for i, line in enumerate(whole):
                if line.startswith("["):
                    self.rest = "\n".join([*whole[i + 1 :], self.rest])
                    return line
        raise TimeoutError(self.rest)


# --- A fresh machine ---------------------------------------------------------------------


def measure_start(folder: Path) -> None:
    """A new virtual environment, two commands, the solution of 0.1 written, the first check.

    After the install there is no network, where the system can take it away.
    """
    began = time.perf_counter()
    venv.create(folder / "venv", with_pip=True)
    bin = folder / "venv" / "bin"
    clean = {n: v for n, v in os.environ.items() if n not in ("PYTHONPATH", "PYTHONHOME")}

    def step(what: str, *command: str, cwd: Path = folder) -> None:
        start = time.perf_counter()
        subprocess.run(command, cwd=cwd, env=clean, check=True, stdout=subprocess.DEVNULL)
        print(f"  {time.perf_counter() - start:6.1f} s  {what}", flush=True)

    print(f"  {time.perf_counter() - began:6.1f} s  python -m venv")
    source = _export(folder / "minitorch-source")
    step("pip install 'minitorch[course]'", str(bin / "pip"), "install", "-q", f"{source}[course]")
    offline = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*offline, "true"], check=False).returncode:
        offline = []
    print(f"  {'without' if offline else 'with'} a network from here on")
    minitorch = [*offline, str(bin / "minitorch"), "course"]
    step("minitorch course new", *minitorch, "new", "my-minitorch")
    mine = Workspace(folder / "my-minitorch")
    mine.put_solutions([TASKS[0]])
    step("minitorch course check 0.1", *minitorch, "check", "0.1", cwd=mine.root)
    print(f"  {time.perf_counter() - began:6.1f} s  in all")


def _export(folder: Path) -> Path:
    """The files of the repository that git knows, as a student gets them."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def main() -> None:
    """Measure what the command line names, or everything."""
    measures = {"checks": measure_checks, "watch": measure_watch, "start": measure_start}
    for name in sys.argv[1:] or measures:
        print(f"{name}, on {os.cpu_count()} cores:", flush=True)
        with tempfile.TemporaryDirectory(prefix="minitorch-measure-") as folder:
            measures[name](Path(folder))


if __name__ == "__main__":
    main()
