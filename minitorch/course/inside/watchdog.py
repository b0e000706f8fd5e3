"""Ends a run in which one call of the student's code does not come to an end, and says where.

A thread looks at the stacks of all others. Time is what these compute, so that a busy machine is no
endless loop, and compiling does not count. While compiled code loops, no thread of Python's runs:
then a timer ends the process, and leaves behind where each thread was.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import gc
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from operator import itemgetter
from types import FrameType
from typing import IO

TICK = 0.2
SIMULATOR = "cuda_simulator.py"
"""Where threads of CUDA kernels, and who launched them, wait for another: it is that one that is late."""


class Watchdog(threading.Thread):
    """Calls `ended` with a text once a function of the library at `root` has run for `seconds`."""

    def __init__(self, root: str, seconds: float, ended: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self.inside = os.path.join(os.path.realpath(root), "minitorch") + os.sep
        self.seconds, self.ended = seconds, ended
        self.began: dict[
            int, tuple[FrameType, float]
        ] = {}  # by id, which no other frame has meanwhile
        self.clock = 0.0

    def run(self) -> None:
        """Look at all stacks, a few times a second."""
        before = _time_of_others()
        while True:
            with contextlib.suppress(AttributeError, OSError):
                signal.setitimer(signal.ITIMER_PROF, self.seconds + 5)
            time.sleep(TICK)
            now = _time_of_others()
            stacks = stacks_of_others()
            if not any(_compiles(frame) for stack in stacks for frame in stack):
                self.clock += now - before
            before = now
            if where := self._look(stacks):
                self.ended(where)
                return

    def _look(self, stacks: list[list[FrameType]]) -> str:
        """Where the innermost call is that has lasted too long, if there is one."""
        known = self.began
        self.began = {}
        late: list[tuple[bool, FrameType]] = []
        for stack in stacks:
            lasting = None
            for frame in stack:  # from the outermost
                path = _real_path(frame.f_code.co_filename)
                if not path.startswith(self.inside) or path.endswith(SIMULATOR):
                    continue
                self.began[id(frame)] = known.get(id(frame), (frame, self.clock))
                if self.clock - self.began[id(frame)][1] >= self.seconds:
                    lasting = frame
            if lasting is not None:
                late.append((stack[-1].f_code.co_filename.endswith(SIMULATOR), lasting))
        return self._describe(min(late, key=itemgetter(0))[1]) if late else ""

    def _describe(self, late: FrameType) -> str:
        code = late.f_code
        file = _real_path(code.co_filename).removeprefix(self.inside).replace(os.sep, "/")
        name = code.co_qualname.replace("<locals>.", "")
        return describe(name, file, late.f_lineno, self.seconds)


def describe(name: str, file: str, line: int | None, seconds: float) -> str:
    """What a student is told."""
    return f"{name} in minitorch/{file} still runs after {seconds:g} s, at line {line}"


def stacks_of_others() -> list[list[FrameType]]:
    """The frames of each other thread, from the outermost.

    No garbage is collected meanwhile. Python holds a lock while it lists the innermost frames, and garbage may want the
    same lock: then this process waits for itself for ever. And a finalizer that lets another thread run while the object of a frame
    is made may see that frame end, and its memory given back: then this process ends. (Both in Python 3.11.7.)
    """
    own = threading.get_ident()
    collects = gc.isenabled()
    gc.disable()
    try:
        frames = sys._current_frames()
        return [list(_stack(frame)) for thread, frame in frames.items() if thread != own]
    finally:
        if collects:
            gc.enable()


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return reversed(frames)


@functools.cache
def _real_path(path: str) -> str:
    """As `os.path.realpath`, which is slow: the CUDA simulator has hundreds of stacks."""
    return os.path.realpath(path)


def _time_of_others() -> float:
    """What the other threads have computed."""
    return time.process_time() - time.thread_time()


def _compiles(frame: FrameType) -> bool:
    return f"{os.sep}numba{os.sep}core{os.sep}" in frame.f_code.co_filename


# --- Compiled code -------------------------------------------------------------------------------


def leave_a_trace(file: IO[bytes]) -> None:
    """Let the timer's signal write all stacks to a file, and end the process."""
    with contextlib.suppress(AttributeError, ValueError, OSError):
        faulthandler.register(signal.SIGPROF, file=file, all_threads=True, chain=True)


def read_trace(trace: str, root: str, seconds: float) -> str:
    """Where the student's code was when the timer ended the process."""
    inside = re.escape(os.path.join(os.path.realpath(root), "minitorch") + os.sep)
    found = re.search(
        rf'File "{inside}((?!{re.escape(SIMULATOR)})[^"]+)", line (\d+) in (\S+)', trace
    )
    if found is None:
        return "compiled code does not come to an end"
    return describe(found[3], found[1].replace(os.sep, "/"), int(found[2]), seconds)
