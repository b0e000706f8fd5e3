"""Takes away from this process what a submission has no use for, then runs a script in it.

Run by `supervise.py` as `python -I -S -B -c SOURCE FD READY`: FD holds the settings as JSON, and
"ok", or what went wrong, is written to READY before the script is begun. Each layer is one function; those named in `settings["layers"]` are put on, and none can be taken off:

    limits    processor time, memory, file size, open files and processes of this process
    landlock  the kernel opens no file but those named, and writes only in one folder (Linux 5.13)
    seccomp   the kernel starts no process, opens no socket, signals and traces no other process,
              and changes no file's owner, permissions or times
    guard     Python refuses the same, and says so: an explanation for the honest, not a wall
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from typing import Any

Settings = dict[str, Any]

# --- Limits ----------------------------------------------------------------------------------


def limit(settings: Settings) -> None:
    """Limit what this process may use."""
    import resource

    limits = settings["limits"]
    alone = {"namespaces", "bubblewrap", "uid"} & set(settings["layers"])
    for name, value in (
        ("RLIMIT_CORE", 0),
        ("RLIMIT_CPU", limits["seconds"] * (os.cpu_count() or 1)),  # threads count together
        ("RLIMIT_AS", limits["memory"]),
        ("RLIMIT_FSIZE", limits["disk"]),
        ("RLIMIT_NOFILE", 256),
        ("RLIMIT_MSGQUEUE", 0),
        ("RLIMIT_MEMLOCK", 0),
        *([("RLIMIT_NPROC", limits["processes"])] if alone else []),  # else all the user's count
    ):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))


# --- Landlock --------------------------------------------------------------------------------

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, the same on all machines
_READ_FILE, _READ_FOLDER, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_REFER, _TRUNCATE, _DEVICES = 1 << 13, 1 << 14, 1 << 15
_SCRATCH = 0b111_0001_1011_1110  # all but execute and devices, sockets and pipes


def _call(number: int, *arguments: Any) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def landlock(settings: Settings) -> None:
    """Let the kernel open nothing but what is named."""
    if not sys.platform.startswith("linux"):
        raise OSError("no Landlock")
    version = _call(_CREATE, None, 0, 1)
    rights = (1 << 13) - 1
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _DEVICES)):
        rights |= right if version >= since else 0
    attributes = struct.pack("<Q", rights)
    if version >= 4:
        attributes += struct.pack("<Q", 0b11)  # bind and connect
    if version >= 6:
        attributes += struct.pack("<Q", 0b11)  # abstract sockets, signals
    rules = _call(_CREATE, attributes, len(attributes), 0)
    reading = _READ_FILE | _READ_FOLDER
    for path in [*settings["readable"], settings["folder"]]:
        _allow(rules, path, reading)
    for path in settings["path"]:
        _allow(rules, path, _READ_FOLDER)
    for path in settings["devices"]:
        _allow(rules, path, (_READ_FILE | _WRITE_FILE | _TRUNCATE) & rights)
    _allow(rules, settings["scratch"], _SCRATCH & rights)
    _no_new_privileges()
    _call(_RESTRICT, rules, 0)
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not os.path.isdir(path):
        rights &= _READ_FILE | _WRITE_FILE | _TRUNCATE
    _call(_ADD, rules, 1, struct.pack("<Qi", rights, place), 0)
    os.close(place)


def _no_new_privileges() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


# --- seccomp ---------------------------------------------------------------------------------

_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_REFUSED = {  # system call: its number on x86_64 and aarch64; -1: not there
    "fork": (57, -1),
    "vfork": (58, -1),
    "execve": (59, 221),
    "execveat": (322, 281),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "open_by_handle_at": (304, 265),
    "kcmp": (312, 272),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "personality": (135, 92),
    "syslog": (103, 116),
}
_PRETENDED = {  # change whose a file is, who may open it and when it was changed: not asked by Landlock
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}
_OWN_ONLY = {"kill": (62, 129), "tgkill": (234, 131)}  # allowed for this process's number
_SELF_ONLY = {  # allowed for 0, which is this process
    "prlimit64": (302, 261),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
}
_COMMANDS = {  # system calls, and what is refused as their second argument
    (72, 25): (8, 10, 15),  # fcntl: F_SETOWN, F_SETSIG, F_SETOWN_EX let a pipe signal any process
    (16, 29): (0x40086602, 0x401C5820),  # ioctl: FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, as chmod
}
_CLONE, _CLONE3, _CLONE_THREAD = (56, 220), 435, 0x10000
_EPERM, _ENOSYS = 1, 38
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24  # where these lie in what the filter sees


def seccomp(settings: Settings) -> None:
    """Let the kernel refuse system calls that reach beyond this process, or do nothing for them."""
    machine = os.uname().machine
    if not sys.platform.startswith("linux") or machine not in _MACHINES:
        raise OSError("no seccomp")
    program = b"".join(struct.pack("<HBBI", *line) for line in _filter(machine))
    buffer = ctypes.create_string_buffer(program, len(program))
    _no_new_privileges()
    libc = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    if libc.prctl(22, 2, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def _filter(machine: str) -> list[tuple[int, int, int, int]]:
    """The program, in the kernel's language: (operation, jump if true, jump if false, value)."""
    code, column = _MACHINES[machine]
    refuse, unknown = (_RETURN, 0, 0, _ERRNO | _EPERM), (_RETURN, 0, 0, _ERRNO | _ENOSYS)
    allow, pretend = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | 0)
    lines = [(_LOAD, 0, 0, _MACHINE), (_EQUAL, 1, 0, code), (_RETURN, 0, 0, _KILL)]
    lines += [(_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, 0x40000000), refuse]
    lines += [(_EQUAL, 0, 1, _CLONE3), unknown]
    for table, answer in ((_REFUSED, refuse), (_PRETENDED, pretend)):
        for numbers in table.values():
            if numbers[column] >= 0:
                lines += [(_EQUAL, 0, 1, numbers[column]), answer]
    conditions = [(_CLONE[column], (_ANY_BIT, 0, 1, _CLONE_THREAD))]
    conditions += [(number[column], (_EQUAL, 0, 1, os.getpid())) for number in _OWN_ONLY.values()]
    conditions += [(number[column], (_EQUAL, 0, 1, 0)) for number in _SELF_ONLY.values()]
    for number, condition in conditions:
        lines += [(_EQUAL, 0, 4, number), (_LOAD, 0, 0, _FIRST), condition, allow, refuse]
    for number, refused in _COMMANDS.items():
        commands = [line for value in refused for line in ((_EQUAL, 0, 1, value), refuse)]
        lines += [(_EQUAL, 0, len(commands) + 2, number[column]), (_LOAD, 0, 0, _SECOND)]
        lines += [*commands, allow]
    return [*lines, allow]


# --- The guard -------------------------------------------------------------------------------


class Guard:
    """An audit hook that refuses, with a reason, what the layers of the kernel refuse."""

    NEVER = frozenset(
        "os.system os.exec os.fork os.forkpty os.posix_spawn os.spawn os.startfile pty.spawn "
        "subprocess.Popen os.kill os.killpg signal.pthread_kill socket.__new__ socket.connect "
        "socket.bind".split()
    )
    CHANGES = frozenset(
        "os.remove os.rmdir os.rename os.mkdir os.truncate os.chmod os.chown os.link os.symlink "
        "os.utime os.setxattr os.removexattr".split()
    )
    WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def __init__(self, settings: Settings) -> None:
        self.scratch = os.path.realpath(settings["scratch"]) + os.sep
        seen = [*settings["readable"], *settings["devices"], settings["folder"], self.scratch]
        self.seen = tuple(os.path.realpath(path) + os.sep for path in seen)
        self.hidden = tuple(os.path.realpath(path) + os.sep for path in settings["hidden"])
        self.listed = {os.path.realpath(path) + os.sep for path in settings["path"]}
        self.foreign = frozenset(settings["foreign"])

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in self.NEVER:
            raise PermissionError(f"{event} is not allowed here")
        if event in self.CHANGES:
            for path in arguments[:2]:
                self._changes(event, path)
        elif event == "import":
            if str(arguments[0]).split(".")[0] in self.foreign:
                raise ImportError(f"{arguments[0]} is not allowed here")
        elif event in ("open", "os.listdir", "os.scandir"):
            self._opens(event, *(*arguments, None, None)[:3])

    def _opens(self, event: str, path: Any, mode: Any, flags: Any) -> None:
        if event == "open" and (
            (isinstance(mode, str) and set(mode) & set("wax+"))
            or (isinstance(flags, int) and flags & self.WRITES)
        ):
            self._changes(event, path)
        elif isinstance(path, (str, bytes, os.PathLike)):
            real = os.path.realpath(os.fsdecode(path)) + os.sep
            seen = real.startswith(self.seen) or real in self.listed
            if not seen or real.startswith(self.hidden):
                raise PermissionError(f"{event}: not allowed here")

    def _changes(self, event: str, path: Any) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        real = os.path.realpath(os.fsdecode(path))
        if not (real + os.sep).startswith(self.scratch) and real != os.devnull:
            raise PermissionError(f"{event}: {real} is outside the scratch folder")


# --- The start -------------------------------------------------------------------------------


def main() -> None:
    """Put the layers on, and become the script."""
    import json
    import runpy

    with os.fdopen(int(sys.argv[1]), "rb") as file:
        settings = json.loads(file.read())
    answers = os.dup(1)
    with os.fdopen(int(sys.argv[2]), "w") as ready:
        try:
            put_on(settings)
        except (OSError, AttributeError, ValueError) as error:
            ready.write(f"{type(error).__name__}: {error}")
            sys.exit(1)
        ready.write("ok")
    sys.path[:] = settings["path"]
    sys.argv = [settings["script"], str(answers), *settings["arguments"]]
    runpy.run_path(settings["script"], run_name="__main__")


def put_on(settings: Settings) -> None:
    """Put the layers on; what is printed goes nowhere."""
    silent = os.open(os.devnull, os.O_RDWR)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os.close(silent)
    os.chdir(settings["scratch"])
    layers = settings["layers"]
    for name, layer in (("limits", limit), ("landlock", landlock), ("seccomp", seccomp)):
        if name in layers:
            layer(settings)
    if "guard" in layers:
        sys.addaudithook(Guard(settings))


if __name__ == "__main__":
    main()
