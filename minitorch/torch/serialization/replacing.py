"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when it is complete.

    Until then, and if anything goes wrong, the old file stays as it was. The new one has the
    permissions of the old one, or those that the umask leaves.
    """
    target = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    if os.path.isdir(target):
        raise RuntimeError(f"{target} cannot be written: it is a directory")
    if os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe
        with open(target, "wb") as file:
            yield file
        return
    part = os.path.join(folder, f".minitorch-{secrets.token_hex(8)}.part")
    try:
        with open(os.open(part, _NEW_FILE, 0o666), "wb") as file:
            _take_permissions(part, target)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise
    _sync_folder(folder)


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


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
