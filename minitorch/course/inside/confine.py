"""Taking away from this process what a submission has no use for.

Time, memory, file sizes and processes are limited. Where Linux offers Landlock the kernel lets
nothing be written, made or removed outside one folder, no connection be made and no other process
be signalled; elsewhere an audit hook refuses the same from within Python. None of it can be undone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from typing import Any

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls of Landlock, the same on all machines
_WRITES = 0b111_1111_1111_0010  # all of Landlock's rights on files but execute, read and list
_TRUNCATE, _REFER = 1 << 14, 1 << 13


def confine(folder: str, limits: dict[str, Any]) -> bool:
    """Confine this process and its children to a folder; whether the kernel sees to it."""
    _limit(limits)
    try:
        _landlock(folder)
    except (OSError, AttributeError):
        sys.addaudithook(_Guard(folder))
        return False
    return True


def _limit(limits: dict[str, Any]) -> None:
    import resource

    def set_limit(name: str, value: int) -> None:
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (value, value))

    set_limit("RLIMIT_CORE", 0)
    set_limit("RLIMIT_CPU", int(limits["seconds"]))
    set_limit("RLIMIT_AS", int(limits["memory"]))
    set_limit("RLIMIT_FSIZE", int(limits["file"]))
    set_limit("RLIMIT_NPROC", int(limits["processes"]))


def _landlock(folder: str) -> None:
    if not sys.platform.startswith("linux"):
        raise OSError("no Landlock")
    libc = ctypes.CDLL(None, use_errno=True)

    def call(number: int, *arguments: Any) -> int:
        result = libc.syscall(number, *arguments)
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result

    version = call(_CREATE, None, 0, 1)
    writes = _WRITES
    if version < 3:
        writes &= ~_TRUNCATE
    if version < 2:
        writes &= ~_REFER
    attributes = struct.pack("<Q", writes)
    if version >= 4:
        attributes += struct.pack("<Q", 0b11)  # bind and connect
    if version >= 6:
        attributes += struct.pack("<Q", 0b11)  # abstract sockets, signals
    rules = call(_CREATE, attributes, len(attributes), 0)
    files_only = writes & ((1 << 1) | _TRUNCATE)
    for path, rights in ((folder, writes), ("/dev/null", files_only)):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        call(_ADD, rules, 1, struct.pack("<Qi", rights, place), 0)
        os.close(place)
    if libc.prctl(38, 1, 0, 0, 0) != 0:  # no new privileges
        raise OSError("prctl")
    call(_RESTRICT, rules, 0)
    os.close(rules)


class _Guard:
    """An audit hook that refuses changes outside a folder, other programs, and connections."""

    CHANGES = frozenset(
        "os.remove os.rmdir os.rename os.mkdir os.truncate os.chmod os.chown os.link os.symlink "
        "shutil.rmtree shutil.move shutil.copyfile".split()
    )
    NEVER = frozenset(
        "os.system os.exec os.posix_spawn os.kill os.killpg socket.connect socket.bind "
        "socket.__new__ ctypes.dlopen".split()
    )

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder) + os.sep

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in self.NEVER:
            raise PermissionError(f"{event} is not allowed here")
        if event in self.CHANGES:
            for path in arguments[:2]:
                self._check(event, path)
        elif event == "open":
            path, mode, flags = (*arguments, None, None)[:3]
            writes = isinstance(mode, str) and set(mode) & set("wax+")
            if writes or (
                isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            ):
                self._check(event, path)

    def _check(self, event: str, path: Any) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        real = os.path.realpath(os.fsdecode(path))
        if not (real + os.sep).startswith(self.folder) and real != os.devnull:
            raise PermissionError(f"{event}: {real} is outside the workspace")
