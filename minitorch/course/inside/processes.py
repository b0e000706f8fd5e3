"""A process's descendants: who they are, what they use, and how to end them all."""

from __future__ import annotations

import contextlib
import errno
import glob
import itertools
import os
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def _parents() -> Iterator[tuple[int, int]]:
    """Every process that still runs, and its parent."""
    if not os.path.isdir("/proc/self"):
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=False
        )
        for line in listed.stdout.splitlines():
            process, parent, state = line.split()[:3]
            if not state.startswith("Z"):
                yield int(process), int(parent)
        return
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rsplit(b")", 1)[1].split()[:2]
                if state not in (b"Z", b"X"):
                    yield int(name), int(parent)


def descendants(ancestor: int) -> list[int]:
    """The processes that came of one, without itself."""
    children: dict[int, list[int]] = defaultdict(list)
    for process, parent in _parents():
        children[parent].append(process)
    found, queue = [], [ancestor]
    while queue:
        more = children[queue.pop()]
        found += more
        queue += more
    return found


def family(ancestor: int) -> list[int]:
    """As `descendants`, without looking at every process; may miss one that just appears."""
    if not os.path.exists(f"/proc/{ancestor}/task/{ancestor}/children"):
        return descendants(ancestor)
    found, queue = [], [ancestor]
    while queue:
        for path in glob.glob(f"/proc/{queue.pop()}/task/*/children"):
            with contextlib.suppress(OSError), open(path) as file:
                more = [int(word) for word in file.read().split()]
                found += more
                queue += more
    return found


def memory(process: int) -> int:
    """Bytes of memory that a process has for itself; 0 where the system does not say."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            words = file.read().split()
    except OSError:
        return 0
    return max(int(words[1]) - int(words[2]), 0) * _PAGE


def deleted_files(process: int) -> int:
    """Bytes of the files that a process holds open and that are in no folder any more."""
    total = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{process}/fd"):
            with contextlib.suppress(OSError):
                found = os.stat(f"/proc/{process}/fd/{name}")
                total += found.st_blocks * 512 if found.st_nlink == 0 else 0
    return total


def folder_size(folder: str, most: int) -> tuple[int, int]:
    """Bytes and number of the files in a folder; counting ends beyond `most`, or too deep."""
    size = count = 0
    queue = [folder]
    while queue and count <= most:
        try:
            with os.scandir(queue.pop()) as entries:
                for entry in itertools.islice(entries, most + 1):
                    count += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return size, most + 1
    return size, count


def end_all(ancestor: int, seconds: float = 10) -> bool:
    """End all descendants, those that appear meanwhile too; whether none is left."""
    deadline = time.monotonic() + seconds
    while True:
        left = descendants(ancestor)
        for number in (signal.SIGSTOP, signal.SIGKILL):  # what is stopped starts no others
            for process in left:
                with contextlib.suppress(OSError):
                    os.kill(process, number)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not left or time.monotonic() > deadline:
            return not left
        time.sleep(0.005)


def end_marked(variable: str, seconds: float = 5) -> None:
    """End the processes that were started with a variable, wherever they belong now (Linux)."""
    deadline = time.monotonic() + seconds
    wanted = b"\0" + variable.encode() + b"\0"
    left = True
    while left and time.monotonic() < deadline:
        left = False
        for process, _ in _parents():
            with contextlib.suppress(OSError):
                with open(f"/proc/{process}/environ", "rb") as file:
                    if wanted not in b"\0" + file.read() + b"\0":
                        continue
                os.kill(process, signal.SIGKILL)
                left = True
