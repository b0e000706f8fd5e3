"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import minitorch.torch as torch
from minitorch import files
from minitorch.files import replacing
from minitorch.torch.safetensors import save_file
from minitorch.training.checkpoint import Checkpoint, History, save_checkpoint

KILLED = """
import os, signal, sys
from minitorch.files import replacing
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell ignores it
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    signal.pause()
"""


def half_written(target: Path) -> subprocess.Popen[str]:
    """A process that is writing a file."""
    command = [sys.executable, "-c", KILLED, str(target)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def parts(folder: Path) -> list[str]:
    """The files that are being written."""
    return sorted(path.name for path in folder.glob(".*.part"))


def write(path: Path, content: bytes = b"whole") -> None:
    with replacing(path) as file:
        file.write(content)


SAVES = {
    "torch.save": lambda path: torch.save(torch.ones(3), path),
    "safetensors": lambda path: save_file({"a": torch.ones(3)}, path),
    "checkpoint": lambda path: save_checkpoint(path, Checkpoint({}, History(), {}, {})),
    "replacing": write,
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_the_next_save_removes_what_killed_ones_left(tmp_path: Path) -> None:
    killed, alive = (half_written(tmp_path / name) for name in ("killed", "alive"))
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    left = parts(tmp_path)
    assert len(left) == 2
    for name, save in SAVES.items():
        Path(tmp_path / f".minitorch-{name}.part").write_bytes(b"left by a killed process")
        save(tmp_path / name)
        (kept,) = parts(tmp_path)
        assert kept in left
    alive.send_signal(signal.SIGINT)
    alive.wait()
    assert parts(tmp_path) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(SAVES)


def test_many_saves_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    failures = []

    def work(number: int) -> None:
        try:
            for i in range(40):
                write(tmp_path / f"{number}", bytes([number]) * (i + 1))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for number in range(6):
        assert (tmp_path / f"{number}").read_bytes() == bytes([number]) * 40
    assert parts(tmp_path) == []


def test_a_part_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = files.fcntl.flock, []

    def remove_first(handle: int, how: int) -> None:
        if not removed:
            removed.extend(parts(tmp_path))
            os.unlink(tmp_path / removed[0])
        lock(handle, how)

    monkeypatch.setattr(files.fcntl, "flock", remove_first)
    write(tmp_path / "file")
    assert removed
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in (".minitorch-notes", "model.part", ".other.part"):
        (tmp_path / name).touch()
    (tmp_path / ".minitorch-folder.part").mkdir()
    (tmp_path / ".minitorch-link.part").symlink_to(tmp_path / "model.part")
    before = sorted(tmp_path.iterdir())
    write(tmp_path / "file")
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "file"])


def test_without_locks_only_old_parts_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    old, new = (tmp_path / f".minitorch-{name}.part" for name in ("old", "new"))
    old.touch()
    new.touch()
    day = time.time() - 2 * files.ABANDONED
    os.utime(old, (day, day))
    write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert parts(tmp_path) == [new.name]


def test_errors_leave_the_old_file_and_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, b"old")
    path.chmod(0o640)

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"new")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    write(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    assert path.read_bytes() == b"new"
