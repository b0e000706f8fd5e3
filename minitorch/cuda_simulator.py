"""Making Numba's CUDA simulator dependable: every CUDA thread there is a Python thread.

Numba looks shared memory up and makes it where it is missing, in two steps; when Python
changes threads between them, two threads of a block get memory of their own. Here the
two are one. It also finds the calling line without reading source files, which is most
of the time the simulator takes.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from numba import types
from numba.cuda.simulator.kernelapi import FakeCUDAShared
from numba.np.numpy_support import as_dtype

_one_at_a_time = threading.Lock()
_dynamic_array = FakeCUDAShared.array


def _shared_array(self: Any, shape: Any, dtype: Any) -> Any:
    """The block's array of the line that asks for it."""
    if shape == 0:  # memory whose size the launch gives
        return _dynamic_array(self, shape, dtype)
    frame = sys._getframe(1)
    line = frame.f_code.co_filename, frame.f_lineno
    with _one_at_a_time:
        if line not in self._allocations:
            numpy_type = as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
            self._allocations[line] = np.empty(shape, numpy_type)
        return self._allocations[line]


def mend() -> None:
    """Put the dependable shared memory in place, and let threads take turns quickly."""
    FakeCUDAShared.array = _shared_array
    sys.setswitchinterval(1e-5)  # a CUDA thread that waits is a Python thread that polls
