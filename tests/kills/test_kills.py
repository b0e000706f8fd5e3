"""A few kills of `python -m tests.kills`, and its own eyes."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from . import killing
from .__main__ import run
from .killing import Run, python
from .scenes import SCENES, Lost

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the processes of a command are found on Linux"
)


def test_a_few_kills(tmp_path: Path) -> None:
    assert run(["save", "reset", "new"], 3, 1, tmp_path) == []


def test_what_is_lost_is_found(tmp_path: Path) -> None:
    scene = SCENES["reset"](tmp_path / "reset", tmp_path)
    scene.check()
    path = tmp_path / "reset" / "w" / "minitorch" / "operators.py"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(Lost, match="neither the old nor the new"):
        scene.check()
    scene.restore()
    (path.parent / ".minitorch-0.part").touch()
    assert scene.leftovers() == ["w/minitorch/.minitorch-0.part"]


def test_processes_that_are_left_are_found(tmp_path: Path) -> None:
    code = "import subprocess, time; "
    code += "subprocess.Popen(['sleep', '60'], start_new_session=True); print(); time.sleep(60)"
    run_ = Run([*python(code)[:1], "-u", *python(code)[1:]], tmp_path, {})
    run_.wait_for_output()
    run_.process.kill()
    run_.process.wait()
    assert run_.survivors(0.0) == ["sleep 60 "]
    run_.end()
    assert run_.survivors(5.0) == []


_LOSES_THE_FIRST = """
import time, weakref
class Lock: ...
lock = Lock()
reference = weakref.ref(lock, lambda _: (print(flush=True), time.sleep(60)))
del lock
time.sleep(60)
"""


def test_an_interrupt_that_python_loses_is_sent_again(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(killing, "AGAIN", 1.0)
    run_ = Run(python(_LOSES_THE_FIRST), tmp_path, {})
    moment = run_.wait_for_output()
    assert run_.kill(moment, signal.SIGINT) == ""
    assert "Exception ignored" in run_.output()
    assert run_.process.returncode == -signal.SIGINT
