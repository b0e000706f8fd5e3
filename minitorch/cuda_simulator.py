"""Making Numba's CUDA simulator dependable: the threads of a block take turns.

Numba starts a Python thread for each CUDA thread, lets them all run at once, and asks each over and
over whether it waits at a barrier. A thousand threads that want Python's one lock keep a busy machine
from doing anything else. Here one runs at a time, in order, up to its next barrier, and wakes the next.
A missing barrier then shows every time, a block without barriers needs one Python thread, and the
threads of one block serve the next.

Shared memory is found by the line that asks for it, without reading source files.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from queue import SimpleQueue
from typing import Any, ClassVar

import numpy as np
from numba import types
from numba.cuda.simulator import kernel
from numba.cuda.simulator.kernelapi import Dim3, FakeCUDAShared
from numba.np.numpy_support import as_dtype

Point = tuple[int, ...]

KEPT = 64
"""How many Python threads wait for the next block: about as many as one has."""

_dynamic_array = FakeCUDAShared.array


def _shared_array(self: Any, shape: Any, dtype: Any) -> Any:
    """The block's array of the line that asks for it."""
    if shape == 0:  # memory whose size the launch gives
        return _dynamic_array(self, shape, dtype)
    frame = sys._getframe(1)
    line = frame.f_code.co_filename, frame.f_lineno
    if line not in self._allocations:
        numpy_type = as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
        self._allocations[line] = np.empty(shape, numpy_type)
    return self._allocations[line]


class _BlockEnded(BaseException):
    """Raised at the barrier where a thread waits when an error of another one ends their block."""


class _Thread(kernel.BlockThread):
    """Runs the next CUDA threads of a block, up to one that waits at a barrier; then another block's."""

    idle: ClassVar[list[_Thread]] = []
    """Those without work: to start one takes longer than most kernels run in it."""

    def __init__(self, block: _Block) -> None:
        super().__init__(None, block, (0, 0, 0), (0, 0, 0), block._debug)
        self.turns: SimpleQueue[_Block | bool] = SimpleQueue()
        """A block: work for it. At a barrier, True: go on. False: give up."""

    def run(self) -> None:
        """Called in the new thread: work for one block after the other."""
        while isinstance(block := self.turns.get(), _Block):
            error = self._run_pending(block)
            kept = len(self.idle) < KEPT
            if kept:
                self.idle.append(self)
            if not isinstance(error, _BlockEnded):
                block.pass_on(error)
            del block, error
            if not kept:
                return

    def _run_pending(self, block: _Block) -> BaseException | None:
        """Run threads until none is left to begin; what went wrong in one."""
        self._manager, self.blockIdx = block, block.place
        width, height, _ = block._block_dim
        try:
            with np.errstate(divide="raise" if block._debug else "warn"):
                while block.pending:
                    x, y, z = block.pending.popleft()
                    self.threadIdx, self.thread_id = Dim3(x, y, z), x + width * (y + height * z)
                    block._f(*block.arguments)
        except BaseException as error:
            return error if isinstance(error, _BlockEnded) else self._named(error)
        return None

    def _named(self, error: BaseException) -> BaseException:
        """An error whose message says which thread it was."""
        place = f"tid={list(self.threadIdx)} ctaid={list(self.blockIdx)}"
        try:
            named = type(error)(f"{place}: {error}" if str(error) else place)
        except TypeError:  # not made of one text
            return error
        return named.with_traceback(error.__traceback__)

    def syncthreads(self) -> None:
        """Wait until all threads of the block have come to a barrier or to their end."""
        block = self._manager
        block.waiting.append(self)
        block.pass_on()
        if not self.turns.get():
            raise _BlockEnded


class _Block(kernel.BlockManager):
    """A block whose threads run one at a time: the one that stops lets the next one run."""

    def run(self, grid_point: Point, *args: Any) -> None:
        """Run all threads from barrier to barrier; the first error ends the block."""
        self.place, self.arguments = Dim3(*grid_point), args
        self.pending = deque(np.ndindex(*self._block_dim))
        self.waiting: deque[_Thread] = deque()
        """Those at a barrier. The first goes on when all others have come to it, or have ended."""
        self.ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self.pass_on()
        try:
            if error := self.ended.get():
                raise error
        finally:
            self.pending.clear()
            self.arguments = ()  # idle threads still know this block
            for thread in self.waiting:
                thread.turns.put(False)

    def pass_on(self, error: BaseException | None = None) -> None:
        """Let the next thread run, or the launch go on after the last one or an error."""
        if error is not None:
            self.ended.put(error)
        elif self.pending:
            self._worker().turns.put(self)
        elif self.waiting:
            self.waiting.popleft().turns.put(True)
        else:
            self.ended.put(None)

    def _worker(self) -> _Thread:
        try:
            return _Thread.idle.pop()
        except IndexError:
            thread = _Thread(self)
            thread.start()
            return thread


def mend() -> None:
    """Let the simulator run blocks this way."""
    FakeCUDAShared.array = _shared_array
    kernel.BlockManager = _Block
    if hasattr(os, "register_at_fork"):  # a fork has none of these threads
        os.register_at_fork(after_in_child=_Thread.idle.clear)
