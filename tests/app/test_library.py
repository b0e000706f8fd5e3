"""A library in a process of its own: answers, runs, and code that never ends, exits or fails."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minitorch.app import library
from minitorch.app.library import Library, Missing, Problem

from ..waiting import wait

LESSONS = """
import os, sys, time
import minitorch

def version():
    return minitorch.VERSION

def chatter():
    print("x" * 100_000)
    return {"process": os.getpid()}

def loop():
    while True:
        pass

def leave():
    os._exit(3)

def quit():
    sys.exit("enough")

def open_function():
    return minitorch.to_write()

def broken():
    return minitorch.broken()

def count(last=1_000_000, fails_at=-1, pauses_at=-1):
    total = 0
    for n in range(last):
        if n == fails_at:
            minitorch.broken()
        said = yield {"n": n, "pause": n == pauses_at, "now": {"total": total}}
        total += said or 0
        time.sleep(0.002)

def count_and_loop():
    yield {"process": os.getpid()}
    loop()
"""
CODE = """
VERSION = 1

def to_write():
    raise NotImplementedError("Need to implement for Task 0.1")

def broken():
    return 1 / 0
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of a few lines, and lessons of our own beside a copy of `serve.py`."""
    inside = tmp_path / "app" / "inside"
    inside.mkdir(parents=True)
    shutil.copy(library.SERVE, inside / "serve.py")
    (inside / "__init__.py").touch()
    (inside / "lessons.py").write_text(LESSONS)
    monkeypatch.setattr(library, "SERVE", inside / "serve.py")
    package = tmp_path / "course" / "minitorch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(CODE)
    return tmp_path / "course"


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z")


def process_of(own: Library) -> int:
    """The process that answers."""
    answer = own.ask("lessons.chatter")
    assert isinstance(answer, dict)
    return answer["process"]


# --- Questions -----------------------------------------------------------------------------------


def test_a_question_is_answered_by_one_process_until_a_file_is_saved(root: Path) -> None:
    own = Library(root)
    first = process_of(own)
    assert process_of(own) == first  # the same process, whatever it prints
    assert own.ask("lessons.version") == 1
    code = root / "minitorch" / "__init__.py"
    code.write_text(CODE.replace("VERSION = 1", "VERSION = 2"))
    os.utime(code, (1, 1))  # an older file put back counts as well
    assert own.ask("lessons.version") == 2
    assert process_of(own) != first
    assert not is_alive(first)


def test_what_is_missing_and_what_is_wrong_is_said_with_its_place(root: Path) -> None:
    own = Library(root)
    assert own.ask("lessons.open_function") == Missing("0.1", "__init__.py", "to_write")
    wrong = own.ask("lessons.broken")
    assert wrong == Problem("ZeroDivisionError: division by zero", "minitorch/__init__.py, line 8")


@pytest.mark.parametrize("lesson", ["leave", "quit"])
def test_code_that_exits_is_a_problem_and_the_next_question_works(root: Path, lesson: str) -> None:
    own = Library(root)
    answer = own.ask(f"lessons.{lesson}")
    assert isinstance(answer, Problem)
    assert "has ended" in answer.text or "enough" in answer.text
    assert own.ask("lessons.version") == 1


def test_code_that_never_ends_is_ended(root: Path) -> None:
    own = Library(root)
    process = process_of(own)
    answer = own.ask("lessons.loop", 0.3)
    assert isinstance(answer, Problem)
    assert "never ends" in answer.text
    assert not is_alive(process)
    assert own.ask("lessons.version") == 1


# --- Runs ------------------------------------------------------------------------------------------


def test_a_run_pauses_steps_goes_on_and_stops(root: Path) -> None:
    run = Library(root).start("lessons.count")
    wait(lambda: len(run.parts) > 3)
    run.pause()
    run.say(5)
    wait(lambda: not run.moving)
    at = run.latest["n"]
    time.sleep(0.05)
    assert run.latest["n"] == at
    assert run.latest["total"] == 5
    run.step()
    run.say(0)
    wait(lambda: not run.moving)
    assert (run.state, run.latest["n"]) == ("paused", at + 2)
    assert [part["n"] for part in run.parts] == list(range(at + 3))
    run.go()
    wait(lambda: run.latest["n"] > at + 5)
    run.stop()
    assert run.state == "ended"
    assert run.failure is None
    assert not is_alive(run.process.process.pid)
    run.go()  # nothing happens any more
    assert run.state == "ended"


def test_what_is_large_is_kept_only_while_it_is_new(root: Path) -> None:
    run = Library(root).start("lessons.count", last=5)
    wait(lambda: run.state == "ended")
    assert run.parts == [{"n": n} for n in range(5)]
    assert run.latest == {"n": 4, "total": 0}
    assert run.failure is None
    wait(lambda: not is_alive(run.process.process.pid))


def test_orders_given_before_the_first_step_count(root: Path) -> None:
    run = Library(root).start("lessons.count")
    run.pause()
    run.say(1)
    wait(lambda: not run.moving)
    assert [part["n"] for part in run.parts] == [0, 1]


def test_a_run_can_pause_itself(root: Path) -> None:
    run = Library(root).start("lessons.count", pauses_at=3)
    wait(lambda: run.state == "paused")
    time.sleep(0.05)
    assert run.latest["n"] == 3
    run.go()
    wait(lambda: run.latest["n"] > 5)
    run.stop()


def test_a_run_that_fails_says_why(root: Path) -> None:
    run = Library(root).start("lessons.count", fails_at=2)
    wait(lambda: run.state == "ended")
    assert isinstance(run.failure, Problem)
    assert run.failure.text == "ZeroDivisionError: division by zero"
    assert len(run.parts) == 2
    run = Library(root).start("lessons.leave")
    wait(lambda: run.state == "ended")
    assert run.failure == Problem("the process that ran this code has ended")


# --- Nothing is left behind ------------------------------------------------------------------------


def test_no_process_is_left_when_nobody_looks_any_more(root: Path) -> None:
    own = Library(root)
    asked = process_of(own)
    runs = [own.start("lessons.count"), own.start("lessons.count_and_loop")]
    wait(lambda: all(run.parts for run in runs))
    pids = [asked, *[run.process.process.pid for run in runs]]
    assert all(map(is_alive, pids))
    runs.clear()
    del own
    gc.collect()
    wait(lambda: not any(map(is_alive, pids)))


def test_no_process_is_left_when_the_app_is_killed(root: Path) -> None:
    script = (
        "import os, sys, time; from pathlib import Path; from minitorch.app import library\n"
        f"library.SERVE = Path({str(library.SERVE)!r})\n"
        f"run = library.Library(Path({str(root)!r})).start('lessons.count_and_loop')\n"
        "while not run.parts: time.sleep(0.01)\n"
        "print(run.latest['process'], flush=True)\n"
        "time.sleep(60)\n"
    )
    app = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert app.stdout is not None
    pid = int(app.stdout.readline())
    app.kill()
    app.wait()
    app.stdout.close()
    wait(lambda: not is_alive(pid))
