"""What runs in a sandbox reaches nothing else, uses what it may, and leaves nothing.

All attacks, with each layer switched off in turn: python -m tests.course_tools.hostile
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from minitorch.course import isolation
from minitorch.course.inside import cgroups
from minitorch.course.sandbox import (
    Ended,
    Limits,
    Sandbox,
    remove_tree,
    run,
    temporary_folder,
    usable,
)
from minitorch.course.workspace import CourseError, create

from ..waiting import wait
from .hostile.running import SHORT, Place, attack_all, processes_left

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grading needs Linux or macOS")
LIMITS = Limits(seconds=30, memory=1 << 30)
_SAY = "import os, sys\ndef say(text):\n    os.write(int(sys.argv[1]), text.encode() + b'\\n')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path


def script(folder: Path, code: str) -> Path:
    path = folder / "script.py"
    path.write_text(_SAY + code)
    return path


def test_questions_and_answers(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self") else 0
    echo = script(
        folder, "for line in sys.stdin:\n    print('nowhere')\n    say(line[::-1].strip())\n"
    )
    with Sandbox(echo, folder, LIMITS) as box:
        assert box.ask(b"abc") == b"cba"
        assert box.ask(b"x" * 300_000) == b"x" * 300_000
    assert box.outcome is not None
    assert box.outcome.kind == "stopped"
    with pytest.raises(Ended):
        box.send(b"more")
    if before:
        wait(lambda: len(os.listdir("/proc/self/fd")) <= before)  # threads close the last ones


def test_what_it_finds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python and its packages, nothing of ours: no environment, no reference, no PyTorch."""
    monkeypatch.setenv("TEACHERS_SECRET", "hush")
    code = (
        "import numpy\nopen('mine.txt', 'w').write('x')\nsay(repr(sorted(os.environ)))\n"
        "for name in ('minitorch', 'torch'):\n    try:\n        __import__(name)\n"
        "        say('found ' + name)\n    except (ImportError, OSError):\n        say('no ' + name)\n"
    )
    outcome = run(script(folder, code), folder, b"", LIMITS)
    names, *modules = outcome.output.decode().splitlines()
    assert "TEACHERS_SECRET" not in names
    assert modules == ["no minitorch", "no torch"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("while True:\n    pass\n", "time"),
        ("while True:\n    os.write(int(sys.argv[1]), b'x' * 65536)\n", "output"),
        ("os.write(int(sys.argv[1]), b'\\n' * 100_000)\n", "output"),
        ("os._exit(3)\n", "ended"),
    ],
)
def test_ends(folder: Path, code: str, kind: str) -> None:
    limits = Limits(seconds=2, output=1 << 20)
    outcome = run(script(folder, code), folder, b"", limits, {"limits", "guard"})
    assert outcome.kind == kind
    assert outcome.status == (3 if kind == "ended" else outcome.status)


_ATTACKS = [
    *("sleeps in C", "a child holds the pipe, in C", "a daemon that ignores signals"),
    *("kills its parent", "removes files with a shell, in C", "writes elsewhere in C"),
    *("fills the disk", "reads the teacher's files in C", "reads its parents' environment in C"),
    *("connects in C", "leaves shared memory", "changes what it may not open"),
    *("makes folders without end",),
]


@pytest.fixture
def place(folder: Path) -> Iterator[Place]:
    made = Place(folder / "place")
    with made.guarded():
        yield made


@pytest.mark.parametrize("without", ["nothing", "namespaces+bubblewrap", "landlock", "seccomp"])
def test_attacks(place: Place, without: str) -> None:
    if isolation.missing(usable()):
        pytest.skip("the operating system does not see to all of it")
    names = _ATTACKS if without == "nothing" else _ATTACKS[3::2]
    assert list(map(str, attack_all(place, names, SHORT, without.split("+")))) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="seccomp is Linux's")
def test_no_process_is_reached_by_its_number(folder: Path) -> None:
    """Neither through the owner of a pipe, whom it signals, nor by slowing down; itself it may."""
    if "seccomp" not in usable():
        pytest.skip("no seccomp here")
    code = (
        "import fcntl\npipe, _ = os.pipe()\n"
        "for number in (0, os.getpid()):\n    for call in (\n"
        "        lambda: fcntl.fcntl(pipe, 8, number),\n"
        "        lambda: fcntl.fcntl(pipe, 10, number),\n"
        "        lambda: os.sched_setaffinity(number, os.sched_getaffinity(0)),\n"
        "        lambda: os.sched_setscheduler(number, 5, os.sched_param(0)),\n"
        "    ):\n        try:\n            call()\n            say('done')\n"
        "        except PermissionError:\n            say('refused')\n"
    )
    outcome = run(script(folder, code), folder, b"", LIMITS, {"seccomp"})
    itself, by_number = ["refused"] * 2 + ["done"] * 2, ["refused"] * 4
    assert outcome.output.decode().split() == itself + by_number


def test_what_attacks_do_is_seen(place: Place) -> None:
    """Attacks that find no wall in their way."""
    walls = ["namespaces", "bubblewrap", "landlock", "seccomp", "uid", "limits", "guard"]
    names = {"reads the teacher's files in C": "reached", "connects in C": "reached"}
    names |= {"removes files in C": "reached"}
    found = {(f.attack, f.kind) for f in attack_all(place, list(names), SHORT, walls)}
    assert found == set(names.items())
    (place.other / "minitorch" / place.plant).touch()
    with subprocess.Popen([place.plant, "60"], executable="/bin/sleep") as daemon:
        left = " ".join(place.left())
        daemon.kill()
    assert f"process {daemon.pid} is left" in left
    assert f"{place.other / 'minitorch' / place.plant} is left" in left


def test_layers() -> None:
    everything = frozenset({"namespaces", "landlock", "seccomp", "cgroup", "limits"})
    assert isolation.missing(everything) == []
    assert len(isolation.missing(["limits", "watch", "guard"])) == len(isolation.GUARANTEES)
    assert isolation.choose("none") <= {"limits", "watch", "guard"}
    assert "guard" not in isolation.choose("none", ["guard"])
    with pytest.raises(CourseError, match="your files"):
        isolation.choose("full", isolation.KERNEL)
    lines = list(isolation.describe("none"))
    assert any(line.split()[:2] == ["off", "landlock"] for line in lines)


# --- Folders -----------------------------------------------------------------------------------


def test_deep_and_forbidden_folders_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "top"
    top.mkdir()
    with monkeypatch.context() as patch:
        patch.chdir(top)
        for _ in range(1200):
            os.mkdir("deeper")
            os.chdir("deeper")
    (top / "kept").symlink_to(tmp_path)
    (top / "deeper").chmod(0)
    remove_tree(top)
    assert list(tmp_path.iterdir()) == []


def test_folders_of_the_killed_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("made-abandoned", "made-new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "in-use").touch()
    os.utime(tmp_path / "made-abandoned", (0, 0))
    with temporary_folder("made-") as mine:
        os.utime(mine, (0, 0))
        with temporary_folder("made-") as other:
            assert {p.name for p in tmp_path.iterdir()} == {"made-new", mine.name, other.name}
    assert [p.name for p in tmp_path.iterdir()] == ["made-new"]


# --- The end of a grading run --------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_keeps_its_grades(folder: Path, number: signal.Signals) -> None:
    (folder / "nothing").mkdir()
    create(folder / "sleeper")
    (folder / "sleeper" / "minitorch" / "autodiff.py").write_text("import time\ntime.sleep(1e6)\n")
    temporary = folder / "tmp"
    temporary.mkdir()
    start = "import sys; from minitorch.cli import main; sys.exit(main(sys.argv[1:]))"
    words = "course grade nothing sleeper --tasks 1.1 --csv table.csv".split()
    process = subprocess.Popen(
        [sys.executable, "-c", start, *words],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(temporary)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    killer = threading.Timer(240, process.kill)
    killer.start()
    while not (folder / "table.csv").exists() or not processes_left(temporary):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    process.wait()
    killer.cancel()
    assert (folder / "table.csv").read_text().count("\n") == 2
    assert not (folder / ".hypothesis").exists()
    wait(lambda: not processes_left(temporary))
    if number != signal.SIGKILL:
        assert process.returncode in (130, 128 + number)
        assert list(temporary.iterdir()) == []


def test_no_control_group_is_left(folder: Path) -> None:
    """One is refused to be removed while a process exits; a killed run leaves one."""
    group = object.__new__(cgroups.Group)
    group.folders = [folder / "busy"]
    (folder / "busy" / "process").mkdir(parents=True)
    threading.Timer(0.1, (folder / "busy" / "process").rmdir).start()
    group.remove()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mine, left = (folder / f"{cgroups.NAME}{number}" for number in (os.getpid(), ended.pid))
    mine.mkdir()
    left.mkdir()
    cgroups.remove_abandoned(folder)
    assert os.listdir(folder) == [mine.name]
