"""Making Numba's CUDA simulator dependable: the threads of a block take turns.

Numba starts a Python thread for each CUDA thread, lets them all run at once, and asks each over and
over whether it waits at a barrier. A thousand threads that want Python's one lock keep a busy machine
from doing anything else. Here one runs at a time, in order, up to its next barrier, and nobody asks.
A missing barrier then shows every time, and a block without barriers needs one Python thread.

Shared memory is found by the line that asks for it, without reading source files.
"""

from __future__ import annotations

import sys
from collections import deque
from queue import SimpleQueue
from typing import Any

import numpy as np
from numba import types
from numba.cuda.simulator import kernel
from numba.cuda.simulator.kernelapi import Dim3, FakeCUDAShared
from numba.np.numpy_support import as_dtype

Point = tuple[int, ...]

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


class _Thread(kernel.BlockThread):
    """Runs the next CUDA threads of a block, up to one that waits at a barrier."""

    def __init__(self, block: _Block, grid_point: Point, arguments: tuple[Any, ...]) -> None:
        super().__init__(self._run_pending, block, grid_point, (0, 0, 0), block._debug)
        self.block, self.arguments = block, arguments
        self.waits = False
        self.turns: SimpleQueue[bool] = SimpleQueue()
        """True: go on. False: give up."""

    def _run_pending(self) -> None:
        width, height, _ = self.block._block_dim
        while self.block.pending:
            x, y, z = self.block.pending.popleft()
            self.threadIdx, self.thread_id = Dim3(x, y, z), x + width * (y + height * z)
            self.block._f(*self.arguments)

    def run(self) -> None:
        """Called in the new thread."""
        try:
            super().run()
        finally:
            self.block.stops.put(None)

    def syncthreads(self) -> None:
        """Wait until all threads of the block have come to a barrier or to their end."""
        self.waits = True
        self.block.stops.put(None)
        if not self.turns.get():
            raise RuntimeError("the block has ended")
        self.waits = False


class _Block(kernel.BlockManager):
    """A block whose threads run one at a time."""

    def run(self, grid_point: Point, *args: Any) -> None:
        """Run all threads from barrier to barrier; the first error ends the block."""
        self.pending = deque(np.ndindex(*self._block_dim))
        self.stops: SimpleQueue[None] = SimpleQueue()
        waiting: list[_Thread] = []
        try:
            while self.pending:
                thread = _Thread(self, grid_point, args)
                thread.start()
                waiting.append(thread)
                self._wait_for(thread)
            while waiting := [thread for thread in waiting if thread.waits]:
                for thread in waiting:
                    thread.turns.put(True)
                    self._wait_for(thread)
        finally:
            for thread in waiting:
                thread.turns.put(False)

    def _wait_for(self, thread: _Thread) -> None:
        """Wait until a thread stops, at a barrier or at its end."""
        self.stops.get()
        if thread.exception:
            error, trace = thread.exception
            raise error.with_traceback(trace)


def mend() -> None:
    """Let the simulator run blocks this way."""
    FakeCUDAShared.array = _shared_array
    kernel.BlockManager = _Block
