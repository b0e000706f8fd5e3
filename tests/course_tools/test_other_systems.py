"""The commands where a system lacks what Linux has: no fork, no signals, no waiting for pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from minitorch.course.checking import check
from minitorch.course.tasks import find_task
from minitorch.course.workspace import create

# What is missing on Windows goes missing here, before anything of ours is loaded. Python's own
# subprocess keeps what it needs of it.
WINDOWS = """
import os, random, runpy, select, signal, subprocess, sys, tempfile, types
import numba, numpy  # what they ask of Linux is their affair
subprocess.signal = types.SimpleNamespace(**vars(signal))
for name in ("fork forkpty register_at_fork killpg getpgid setsid getuid geteuid sched_getaffinity "
             "memfd_create sysconf uname getloadavg mkfifo wait").split():
    hasattr(os, name) and delattr(os, name)
for name in "SIGKILL SIGHUP SIGXCPU SIGSTOP SIGPIPE SIGUSR1 SIGALRM".split():
    hasattr(signal, name) and delattr(signal, name)
for name in "resource fcntl termios pwd grp pty".split():
    sys.modules[name] = None
def refuse(*args):
    raise OSError("select takes only sockets")
select.select = refuse
start = subprocess.Popen.__init__
def popen(self, *args, pass_fds=(), preexec_fn=None, **options):
    if pass_fds or preexec_fn:
        raise ValueError("not supported on Windows platforms")
    start(self, *args, **options)
subprocess.Popen.__init__ = popen
sys.argv = sys.argv[1:]
runpy.run_module("minitorch.cli", run_name="__main__")
"""


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """What a command of ours answers there."""
    ran = subprocess.run(
        [sys.executable, "-P", "-c", WINDOWS, "minitorch", *arguments],
        cwd=folder, env={**os.environ, "PYTHONUTF8": "1"}, capture_output=True, text=True,
        timeout=280,
    )  # fmt: skip
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran.returncode, ran.stdout + ran.stderr


def test_a_student_works_there(tmp_path: Path) -> None:
    code, said = run(tmp_path, "course", "new", "work")
    assert code == 0, said
    work = tmp_path / "work"
    code, said = run(work, "course", "check", "0.1")
    assert (code, "0.1" in said) == (1, True), said
    code, said = run(work, "course", "watch", "0.1", "--once")
    assert code == 1, said
    assert "quick questions" in said
    assert "died" not in said


def test_line_ends_of_windows(tmp_path: Path) -> None:
    """An editor or git may end lines with CR LF; stubs and solutions are known all the same."""
    workspace, _ = create(tmp_path / "w")
    task = find_task("0.4")
    before = workspace.open_places(task)
    for path in (workspace.root / "minitorch").rglob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert workspace.open_places(task) == before != []
    workspace.put_solutions([task])
    assert workspace.open_places(task) == []
    assert check(workspace.root, task).passed


def test_networks_train_there(tmp_path: Path) -> None:
    train = ("--epochs", "1", "--plain", "--no-picture")
    code, said = run(tmp_path, "train", "simple", "--pts", "10", "--hidden", "2", *train)
    assert code == 0, said
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n"
        "x = torch.randn(600, 600, requires_grad=True)\n"
        "(x @ x).exp().log_softmax(1).sum().backward()\n"
        "print(tuple(x.grad.shape), torch.empty(20_000).exponential_().shape)\n",
        encoding="utf-8",
    )
    code, said = run(tmp_path, "run", str(program))
    assert (code, said.strip()) == (0, "(600, 600) torch.Size([20000])")
