"""A view of the files, and namespaces, of its own for this process and its children (Linux)."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from typing import Any

_NEW_USER, _NEW_MOUNTS, _NEW_PROCESSES = 0x10000000, 0x20000, 0x20000000
_NEW_NETWORK, _NEW_IPC, _NEW_NAMES = 0x40000000, 0x8000000, 0x4000000
_BIND, _RECURSIVE, _PRIVATE, _REMOUNT = 0x1000, 0x4000, 0x40000, 0x20
_READ_ONLY, _NO_SUID, _NO_DEVICES = 1, 2, 4
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SET_ATTRIBUTES = 442  # mount_setattr, Linux 5.12
_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None


def _check(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def enter(map_user: bool) -> None:
    """Leave the namespaces of the system; children of this process are in new ones.

    Args:
        map_user: also the users' namespace, which gives the right to do the rest
    """
    if _libc is None:
        raise OSError("no namespaces")
    uid, gid = os.geteuid(), os.getegid()
    kinds = _NEW_MOUNTS | _NEW_PROCESSES | _NEW_NETWORK | _NEW_IPC | _NEW_NAMES
    _check(_libc.unshare(kinds | (_NEW_USER if map_user else 0)), "unshare")
    if map_user:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)


def build_view(settings: dict[str, Any]) -> None:
    """See of the files only what is named, read-only, and one folder of limited size to write in."""
    root, scratch = settings["root"], settings["scratch"]
    limits = settings["limits"]
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    _mount("tmpfs", root, "tmpfs", _NO_SUID | _NO_DEVICES, "size=4m,mode=755")
    for path in [*settings["readable"], settings["folder"]]:
        _show(path, root, read_only=True)
    for path in settings["devices"]:
        _show(path, root, read_only=False)
    os.makedirs(root + scratch, exist_ok=True)
    size = f"size={limits['disk']},nr_inodes={limits['files']},mode=777"
    _mount("tmpfs", root + scratch, "tmpfs", _NO_SUID | _NO_DEVICES, size)
    os.chdir(root)
    number = _PIVOT_ROOT.get(os.uname().machine)
    if _libc is None or number is None:
        raise OSError("no namespaces")
    _check(_libc.syscall(number, b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _DETACH), "umount")
    _mount(None, "/", None, _REMOUNT | _BIND | _READ_ONLY | _NO_SUID | _NO_DEVICES)


def _show(path: str, root: str, read_only: bool) -> None:
    """Make a path of the system visible at the same place below the new root."""
    target = root + path
    if os.path.lexists(target):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), target)
        return
    if os.path.isdir(path):
        os.mkdir(target)
    elif os.path.exists(path):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    else:
        return
    _mount(path, target, None, _BIND | _RECURSIVE)
    if read_only:
        _restrict(target)


def _restrict(target: str) -> None:
    """Make a mount and those below it read-only, without devices and privileges."""
    if _libc is None:
        raise OSError("no namespaces")
    wanted = struct.pack("<QQQQ", _READ_ONLY | _NO_SUID | _NO_DEVICES, 0, 0, 0)
    result = _libc.syscall(_SET_ATTRIBUTES, -100, target.encode(), 0x8000, wanted, len(wanted))
    _check(result, "mount_setattr")


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    def text(value: str | None) -> bytes | None:
        return None if value is None else os.fsencode(value)

    if _libc is None:
        raise OSError("no namespaces")
    result = _libc.mount(text(source), text(target), text(kind), flags, text(options))
    _check(result, f"mount {target}")


def bubblewrap(settings: dict[str, Any]) -> list[str]:
    """The same view, as the beginning of a command of bubblewrap."""
    command = [settings["bubblewrap"], "--unshare-all", "--die-with-parent", "--new-session"]
    command += ["--cap-drop", "ALL"]
    for path in [*settings["readable"], settings["folder"]]:
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        else:
            command += ["--ro-bind-try", path, path]
    for path in settings["devices"]:
        command += ["--dev-bind-try", path, path]
    command += ["--size", str(settings["limits"]["disk"]), "--tmpfs", settings["scratch"]]
    return [*command, "--remount-ro", "/", "--chdir", settings["scratch"], "--"]
