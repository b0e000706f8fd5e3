"""Graphs of NVIDIA's GPUs: work is captured on a stream of its own, with memory of its own."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Generator, Sequence
from functools import cache
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np
from cupy.cuda import runtime  # pyright: ignore[reportMissingImports]

from ..interface import Array
from .checks import raise_wrong
from .graphs import MOST_CHECKS, MOST_WORDS, CannotCapture, Graph, recording
from .launching import Kernel

MOST_COPIES = 64
"""How many arrays one launch copies."""

WORKSPACE = 1 << 25
"""Bytes that products may use, as NVIDIA advises for its largest GPUs."""

BEGIN = """
struct Begin { long long words[256], from[64], to[64], bytes[64]; };
extern "C" __global__ void begin(long long* words, int used, Begin given) {
  // the last block writes the words, the others copy arrays, each a row of blocks
  if (blockIdx.y == gridDim.y - 1) {
    if (blockIdx.x == 0 && threadIdx.x < used) words[threadIdx.x] = given.words[threadIdx.x];
    return;
  }
  long long from = given.from[blockIdx.y], to = given.to[blockIdx.y], n = given.bytes[blockIdx.y];
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, step = (long long)gridDim.x * blockDim.x;
  if ((from | to | n) % 16 == 0) for (; i < n / 16; i += step) ((uint4*)to)[i] = ((const uint4*)from)[i];
  else if ((from | to | n) % 4 == 0) for (; i < n / 4; i += step) ((int*)to)[i] = ((const int*)from)[i];
  else for (; i < n; i += step) ((char*)to)[i] = ((const char*)from)[i];
}
"""
_SIZE = MOST_WORDS + 3 * MOST_COPIES

Copy = tuple[int, int, int]
"""Where memory is copied from, where to, and how many bytes."""


@cache
def _begin_kernel() -> Any:
    return Kernel(BEGIN, "begin")


class _Given:
    """What the kernel `begin` is given."""

    def __init__(self) -> None:
        self.numbers = np.zeros(_SIZE, np.int64)

    def launch(self, memory: Any, words: np.ndarray, used: int, copies: Sequence[Copy]) -> None:
        """Write words and copy memory."""
        own = self.numbers
        own[:used] = words[:used]
        largest = 0
        for k, (source, target, n) in enumerate(copies):
            at = MOST_WORDS + k
            own[at], own[at + MOST_COPIES], own[at + 2 * MOST_COPIES] = source, target, n
            largest = max(largest, n)
        across = min(64, max(1, largest // 8192))
        _begin_kernel()((across, len(copies) + 1), (256,), (memory, used, own.tobytes()))


class CupyGraph(Graph):
    """A graph of a GPU.

    Attributes:
        pool: where the arrays of the graph lie
        results: where those lie that a split graph gives out
        constants: where those lie that nobody writes
        memory: the words as kernels read them
        noted: two numbers for each check, which kernels write
        flags: the same in memory of the CPU, as the second half leaves them
        executables: the halves; 0 for one without work
    """

    def __init__(self, split: bool) -> None:
        super().__init__(split)
        self.pool, self.constants = cupy.cuda.MemoryPool(), cupy.cuda.MemoryPool()
        self.results = cupy.cuda.MemoryPool()
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.side = cupy.cuda.Stream(non_blocking=True)
        with cupy.cuda.using_allocator(self.pool.malloc):
            self.memory = cupy.zeros(MOST_WORDS, np.int64)
            self.noted = cupy.zeros(2 * MOST_CHECKS, np.int64)
        cupy.cuda.get_current_stream().synchronize()
        self.pinned = cupy.cuda.alloc_pinned_memory(16 * MOST_CHECKS)
        self.flags = np.frombuffer(self.pinned, np.int64, 2 * MOST_CHECKS)
        self.flags[...] = 0
        self.given = _Given()
        self.given.launch(self.memory, self.words, 0, ())  # a kernel is loaded before a capture
        self.written: bytes = b""
        self.workspace: Any = None
        self.last: Any = None
        self.executables: list[int] = []
        self.nodes = {"kernels": 0, "copies": 0}

    # --- While it is captured --------------------------------------------------------------------------

    def capture(
        self, work: Callable[[], Generator[None, None, Any]], written: Sequence[Array]
    ) -> Any:
        from .captured_products import prepare

        self.outside = list({id(m): m for m in map(self.memory_of, written)}.values())
        steps, made = work(), None
        with cupy.cuda.using_allocator(self.pool.malloc), self.stream:
            prepare(self)
            cupy.cuda.Device().synchronize()
            try:
                for _ in range(2):
                    made = self._capture_half(steps)
                    self.first = len(self.parts) if self.first is None else self.first
            finally:
                self.side.synchronize()
        return made

    def _capture_half(self, steps: Generator[None, None, Any]) -> Any:
        """Note the launches of the next half; what the second one returns."""
        made, graph, failed = None, 0, None
        runtime.streamBeginCapture(self.stream.ptr)
        recording.graph = self
        try:
            next(steps)
        except StopIteration as end:
            made = end.value
        except Exception as error:
            failed = error
        finally:
            recording.graph = None
        try:
            graph = runtime.streamEndCapture(self.stream.ptr)
        except runtime.CUDARuntimeError as error:
            failed = failed or error
        try:
            if isinstance(failed, CannotCapture):
                raise failed
            if failed is not None:
                raise CannotCapture(f"{type(failed).__name__}: {failed}") from failed
            executable = runtime.graphInstantiate(graph) if self._look_at_nodes(graph) else 0
        finally:
            if graph:
                runtime.graphDestroy(graph)
        if executable:
            weakref.finalize(self, runtime.graphExecDestroy, executable)
        self.executables.append(executable)
        return made

    def given_out(self, arrays: Sequence[Array]) -> list[Array]:
        made = super().given_out(arrays)
        copies: list[Copy] = []
        if self.split:
            with cupy.cuda.using_allocator(self.results.malloc):
                for k, x in enumerate(arrays):
                    if x._c_contiguous or x._f_contiguous:
                        made[k] = cupy.ndarray(x.shape, x.dtype, order="CF"[not x._c_contiguous])
                        copies.append((x.data.ptr, made[k].data.ptr, x.nbytes))
                    else:
                        made[k] = x.copy(order="K")
        if self.messages:
            copies.append((self.noted.data.ptr, self.pinned.ptr, 16 * len(self.messages)))
        self._copy(copies)
        return made

    def _look_at_nodes(self, graph: int) -> int:
        """How many nodes there are; CannotCapture if work reads or writes memory of the CPU, which is another one at the next play."""
        nodes = nodes_of(graph)
        for kind, at_device in nodes:
            if kind == KERNEL:
                self.nodes["kernels"] += 1
            elif kind in (MEMCPY, MEMSET) and at_device:
                self.nodes["copies"] += 1
            elif kind != EMPTY:
                raise CannotCapture("values of the CPU are copied to the GPU, or back")
        return len(nodes)

    def address(self, place: int) -> int:
        """Where a kernel finds a word."""
        return self.memory.data.ptr + 8 * place

    def constant(self, array: np.ndarray, where: Any = None) -> Array:
        source = np.ascontiguousarray(array)
        # Not of the pool: what the graph has written there before would be written at each play.
        made = cupy.ndarray(array.shape, array.dtype, self.constants.malloc(max(source.nbytes, 1)))
        runtime.memcpyAsync(
            made.data.ptr, source.ctypes.data, source.nbytes, runtime.memcpyHostToDevice, self.side.ptr
        )  # fmt: skip
        self.kept += [made, source]
        return made

    def note(self, message: str) -> int:
        if len(self.messages) == MOST_CHECKS:
            raise CannotCapture("it looks at too many indices")
        self.messages.append(message)
        return self.noted.data.ptr + 16 * (len(self.messages) - 1)

    def workspace_of_products(self) -> Array:
        """Memory for cuBLAS."""
        if self.workspace is None:
            self.workspace = cupy.ndarray((WORKSPACE,), np.uint8)
        return self.workspace

    # --- When it is played -----------------------------------------------------------------------------

    def start(self, copies: Sequence[tuple[Array, Array]]) -> None:
        stream = cupy.cuda.get_current_stream()
        if self.last is not None and self.last.ptr != stream.ptr:
            self.last.synchronize()
        self.last = stream
        self._begin(self.parts[: self.first], self.executables[0], copies)

    def finish(self) -> None:
        self._begin(self.parts[self.first :], self.executables[1], ())
        for part in self.parts:
            part.done()
        if self.messages:
            pending[id(self)] = self

    def cancel(self) -> None:
        super().cancel()
        self.last.synchronize()
        self.noted.fill(0)

    def _begin(self, parts: Sequence[Any], executable: int, copies: Sequence[tuple[Array, Array]]) -> None:  # fmt: skip
        """Write the words of parts, if they are others than before, copy arrays, and start a half."""
        used = 0
        if parts:
            for part in parts:
                part.put(self.words)
            now = self.words[: self.used].tobytes()
            used, self.written = self.used if now != self.written else 0, now
        if copies or used:
            self._copy(_dense(copies), used)
        if executable:
            runtime.graphLaunch(executable, self.last.ptr)

    def copy_out(self, copies: Sequence[tuple[Array, Array]]) -> None:
        self._copy(_dense(copies))

    def _copy(self, copies: Sequence[Copy], used: int = 0) -> None:
        """Write so many words, and copy memory."""
        for k in range(0, len(copies), MOST_COPIES):
            self.given.launch(self.memory, self.words, used, copies[k : k + MOST_COPIES])
            used = 0
        if used:
            self.given.launch(self.memory, self.words, used, ())

    def check(self) -> None:
        if not self.messages or not self.flags[::2].any():
            return
        k = int(np.flatnonzero(self.flags[::2])[0])
        message = self.messages[k].format(int(self.flags[2 * k + 1]))
        self.noted.fill(0)
        cupy.cuda.get_current_stream().synchronize()
        self.flags[...] = 0
        raise IndexError(message)

    def memory_of(self, array: Any) -> Any:
        return array.data.mem

    def about(self) -> str:
        """The graph in words."""
        return f"{self.nodes['kernels']} kernels, {self.nodes['copies']} copies, {self.pool.total_bytes():,} bytes"


def _dense(copies: Sequence[tuple[Array, Array]]) -> list[Copy]:
    """Where arrays without gaps are, and are copied to; those with gaps are copied at once."""
    found = []
    for source, target in copies:
        if source._c_contiguous and target._c_contiguous:
            found.append((source.data.ptr, target.data.ptr, source.nbytes))
        else:
            target[...] = source
    return found


pending: dict[int, CupyGraph] = {}
"""Graphs that were played since somebody last waited for the GPU, and whose kernels may have noted errors."""


def raise_noted() -> None:
    """After waiting for the GPU: the error that a kernel has noted, if there is one."""
    raise_wrong()
    while pending:
        pending.popitem()[1].check()


# --- Nodes -------------------------------------------------------------------------------------------

KERNEL, MEMCPY, MEMSET, EMPTY = 0, 1, 2, 5  # CUDA's names of the kinds of nodes
ON_DEVICE = 2  # its name of memory of a GPU


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def _call(name: str, *args: Any) -> None:
    status = getattr(_driver(), name)(*args)
    if status:
        raise CannotCapture(f"{name} failed with the error {status}")


def nodes_of(graph: int) -> list[tuple[int, bool]]:
    """The kinds of a graph's nodes, and whether they use memory of the GPU alone."""
    count = ctypes.c_size_t()
    _call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(count))
    nodes = (ctypes.c_void_p * count.value)()
    if count.value:  # of an empty graph, CUDA gives no list
        _call("cuGraphGetNodes", ctypes.c_void_p(graph), nodes, ctypes.byref(count))
    found = []
    for node in nodes[: count.value]:
        kind = ctypes.c_int()
        _call("cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind))
        found.append((kind.value, kind.value != MEMCPY or _copies_on_device(node)))
    return found


def _copies_on_device(node: int) -> bool:
    """Whether both ends of a copy are memory of the GPU: of `CUDA_MEMCPY3D`, the types and addresses."""
    params = (ctypes.c_longlong * 32)()
    _call("cuGraphMemcpyNodeGetParams", ctypes.c_void_p(node), params)
    for start in (4, 15):  # in words of 8 bytes: the type, the address at the CPU, that at the GPU
        kind, address = params[start] & 0xFFFFFFFF, params[start + 2]
        unified = kind == 4 and runtime.pointerGetAttributes(address).type == ON_DEVICE
        if kind != ON_DEVICE and not unified:
            return False
    return True
