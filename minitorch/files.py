"""Files that are written whole or not at all, and the folder for what can be made again."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl: Any = None

PREFIX, SUFFIX = ".minitorch-", ".part"
"""How files are called that are being written."""

ABANDONED = 24 * 3600.0
"""Where files cannot be locked: after so many seconds, nobody is writing one any more."""


def cache_folder() -> Path:
    """Where downloads and compiled kernels are kept; RuntimeError if the user has no home."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "minitorch"


@contextmanager
def replacing(
    path: str | os.PathLike[str], durable: bool = True, mode: int = 0o666
) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when it is complete.

    Until then, and if anything goes wrong, the old file stays as it was. The new one has the
    permissions of the old one, or those that the umask leaves. What a process that was killed
    has left in the folder is removed.

    Args:
        path: of a file; what is written to a device or a pipe goes there directly
        durable: wait until the disk has it
        mode: the permissions of a new file, as far as the umask leaves them
    """
    target = os.path.realpath(os.fspath(path))
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            yield file
        return
    folder = os.path.dirname(target)
    remove_abandoned(folder)
    part, handle = _new_part(folder, mode)
    try:
        with open(handle, "wb") as file:
            _take_permissions(part, target)
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
            if fcntl is not None:  # while it is locked
                os.replace(part, target)
        if fcntl is None:  # Windows moves no open file
            os.replace(part, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise
    if durable:
        _sync_folder(folder)


def remove_abandoned(folder: str) -> None:
    """Remove the files that killed processes were writing; who writes one has it locked."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX):
                with suppress(OSError):
                    _remove_unless_locked(entry.path)


def _remove_unless_locked(part: str) -> None:
    if fcntl is None:
        if time.time() - os.stat(part).st_mtime > ABANDONED:
            os.unlink(part)
        return
    handle = os.open(part, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(part)
    finally:
        os.close(handle)


def _new_part(folder: str, mode: int) -> tuple[str, int]:
    """A new file in a folder, locked: its path and its descriptor."""
    while True:
        part = os.path.join(folder, f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
        if fcntl is None:
            return part, handle
        with suppress(OSError):  # some network disks have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:  # not removed before it was locked
            return part, handle
        os.close(handle)


_BINARY = getattr(os, "O_BINARY", 0)


def _take_permissions(part: str, target: str) -> None:
    """Give a new file the permissions of the one that it will replace."""
    if os.path.exists(target):
        os.chmod(part, stat.S_IMODE(os.stat(target).st_mode))


def _sync_folder(folder: str) -> None:
    """Have the disk note the new name, where folders can be synchronised."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
