"""A GPU that is none: `MINITORCH_CUDA=simulated`, or `simulated:2` for two of them.

Its arrays lie in the machine's main memory but are of a class of their own, which the CPU cannot
read and which does not meet NumPy's arrays, as CuPy's do not. So where tensors are, how they move,
what is refused, and whether each operation keeps to its device can be tested on every machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from ...device import device
from ..interface import Array, Shape
from .backend import Cuda
from .graphs import Graph, recording, refuse_reading, refuse_writing
from .philox import numbers

LACKING = {
    "apply_over_axes", "as_strided", "block", "einsum_path", "geomspace", "histogram_bin_edges", "insert",
    "isnat", "lexsort", "matrix_norm", "matvec", "multi_dot", "nanpercentile", "nanquantile",
    "sliding_window_view", "spacing", "svdvals", "unstack", "vecdot", "vecmat", "vector_norm",
}  # fmt: skip
"""Functions of NumPy's that CuPy 14 does not have, or not for its own arrays."""

WITH_KERNELS = frozenset(
    ("cross_entropy_loss", "cross_entropy_loss_backward", "embedding", "embedding_backward", "max_pool1d_with_indices",
     "max_pool2d_with_indices", "max_pool3d_with_indices", "max_pool_backward", "adaptive_avg_pool", "avg_pool", "avg_pool_backward")
)  # fmt: skip
"""Records whose formulas look at values, or cannot compute on arrays of a GPU, and which have kernels there."""

REDUCING = frozenset(("add", "multiply", "logical_and", "logical_or"))
"""The ufuncs whose `reduce` CuPy has."""


class SimulatedArray(NDArrayOperatorsMixin):
    """An array in the memory of a simulated GPU."""

    __slots__ = ("base", "index", "memory")

    def __init__(self, memory: Any, index: int, base: SimulatedArray | None = None) -> None:
        self.memory = np.asarray(memory)
        self.index = index
        self.base = base

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc.__name__.endswith("(vectorized)"):  # a function of Python's numbers
            return NotImplemented
        if method == "reduce" and ufunc.__name__ not in REDUCING:
            raise NotImplementedError(f"{ufunc.__name__}.reduce is not supported")
        if method not in ("__call__", "reduce", "at") or "where" in options:
            raise NotImplementedError(f"{ufunc.__name__}.{method} is not supported")
        out = options.get("out")
        result = getattr(ufunc, method)(*self._memories(inputs), **self._memories(options))
        return self._wrapped(result) if out is None else out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ in LACKING:
            raise TypeError(f"{function.__name__} is not supported")
        if function in (np.take, np.take_along_axis, np.put_along_axis):
            args = self._wrapped_around(function, args, kwargs)
        if function in (np.asarray, np.array):  # of the CPU's array, `like` one of these
            return SimulatedArray(np.array(*args, **kwargs), self.index)
        return self._wrapped(function(*self._memories(args), **self._memories(kwargs)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in (
            "ctypes",
            "getfield",
            "resize",
            "setfield",
            "setflags",
        ):
            raise AttributeError(f"an array of the GPU has no '{name}'")
        found = getattr(self.memory, name)
        if not callable(found) or isinstance(found, np.dtype):
            return self._wrapped(found)

        def call(*args: Any, **named: Any) -> Any:
            if name in ("item", "tolist"):
                refuse_reading()
                return found(*args)
            return self._wrapped(found(*self._memories(args), **self._memories(named)))

        return call

    def __setattr__(self, name: str, value: Any) -> None:
        if name in SimulatedArray.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(self.memory, name, self._memories(value))

    def _wrapped_around(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Arguments whose indices out of range stand for others, as on a GPU."""
        array, indices, *rest = args
        axis = kwargs.get("axis", rest[-1] if rest else None)
        size = array.size if axis is None else array.shape[axis]
        return (array, indices % size if size else indices, *rest)

    def _keys(self, key: Any) -> tuple[Any, ...]:
        """An index as NumPy takes it; places out of range stand for others, as on a GPU."""
        keys, d = [], 0
        for k in self._memories(key if isinstance(key, tuple) else (key,)):
            whole = isinstance(k, np.ndarray) and k.dtype != bool
            keys.append(k % self.memory.shape[d] if whole and self.memory.shape[d] else k)
            d += k.ndim if isinstance(k, np.ndarray) and not whole else k is not None
        return tuple(keys)

    def __getitem__(self, key: Any) -> Any:
        keys = self._keys(key)
        if not any(k is Ellipsis for k in keys) and not any(
            isinstance(k, np.ndarray) for k in keys
        ):
            keys = (*keys, ...)  # a single element is a view too
        return self._wrapped(self.memory[keys])

    def __setitem__(self, key: Any, value: Any) -> None:
        keys = self._keys(key)
        self.memory[keys] = self._memories((value,))[0]

    def __len__(self) -> int:
        return len(self.memory)

    def __bool__(self) -> bool:
        refuse_reading()
        return bool(self.memory)

    def __int__(self) -> int:
        refuse_reading()
        return int(self.memory)

    def __float__(self) -> float:
        refuse_reading()
        return float(self.memory)

    def __complex__(self) -> complex:
        return complex(self.memory)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> Any:
        """How a pickle makes it again."""
        return SimulatedArray, (self.memory, self.index)

    def __deepcopy__(self, memo: Any) -> SimulatedArray:
        return SimulatedArray(self.memory.copy(), self.index)

    def get(self) -> np.ndarray:
        """A copy in the machine's main memory."""
        return self.memory.copy()

    def _wrapped(self, value: Any) -> Any:
        """A result's arrays as arrays of the same device."""
        if isinstance(value, (np.ndarray, np.generic)):
            shared = not value.size or np.may_share_memory(value, self.memory)
            mine = value.base is not None and shared
            if mine and not value.flags.writeable:
                value.flags.writeable = True  # np.diagonal's is not, CuPy's is
            return SimulatedArray(
                value, self.index, (self if self.base is None else self.base) if mine else None
            )
        if isinstance(value, (tuple, list)) and any(
            isinstance(v, (np.ndarray, np.generic)) for v in value
        ):
            values = [self._wrapped(v) for v in value]
            return type(value)(*values) if hasattr(value, "_fields") else type(value)(values)
        return value

    def _memories(self, value: Any) -> Any:
        """Arguments with NumPy's arrays in the place of these; TypeError where one is the CPU's."""
        if isinstance(value, SimulatedArray):
            return value.memory
        if isinstance(value, np.ndarray):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if isinstance(value, dict):
            return {name: self._memories(v) for name, v in value.items()}
        if type(value) in (tuple, list):
            return type(value)(map(self._memories, value))
        return value


class SimulatedEvent:
    """A moment, as CuPy's events note it."""

    def __init__(self) -> None:
        self.moment: float | None = None

    def record(self, stream: Any = None) -> None:
        """Note this moment."""
        self.moment = time.perf_counter()

    def synchronize(self) -> None:
        """Wait until it has come: everything is done at once here."""

    @property
    def done(self) -> bool:
        """Whether it has come."""
        return True


class SimulatedStream:
    """An order of work, as CuPy's streams are: everything is done at once here."""

    done = True

    def __init__(self, pointer: int = 0) -> None:
        self.ptr = pointer or id(self)

    def synchronize(self) -> None:
        """Wait for all work in it."""

    def wait_event(self, event: SimulatedEvent) -> None:
        """Let what follows wait for an event."""


class SimulatedPinnedMemory(bytearray):
    """Bytes that a simulated GPU reads by itself."""


class SimulatedGraph(Graph):
    """Work that is done again at each play, on the arrays that it had when it was captured.

    What it returned then is where its results are written. Capturing computes nothing on a GPU; here it does, and what
    it wrote is put back.
    """

    def __init__(self, split: bool) -> None:
        super().__init__(split)
        self.work: Callable[[], Any] | None = None
        self.steps: Any = None
        self.failed: IndexError | None = None
        self.places: list[int] = []  # of words, in the order in which they were asked for
        self.turn = 0

    def room(self, count: int) -> int:
        if self.work is None:
            self.places.append(super().room(count))
            return self.places[-1]
        self.turn += 1
        return self.places[self.turn - 1]

    def add(self, part: Any) -> None:
        if self.work is None:
            super().add(part)

    def constant(self, array: np.ndarray, where: Any) -> SimulatedArray:
        return SimulatedArray(array.copy("K"), where.index or 0)

    def capture(self, work: Callable[[], Any], written: Sequence[Any]) -> Any:
        before = [array.memory.copy() for array in written]
        self.outside = list({id(m): m for m in map(self.memory_of, written)}.values())
        self.steps = work()
        try:
            self._do_half()
            changed = any((a.memory != m).any() for a, m in zip(written, before, strict=True))
            assert not (self.split and changed), "the first half writes what others see"
            self.first = len(self.parts)
            self.made = self._do_half()
        finally:
            for array, memory in zip(written, before, strict=True):
                array.memory[...] = memory
        self.work = work
        return self.made

    def _do_half(self) -> Any:
        """Do the work of the next half; what the second one returns."""
        recording.graph = self
        try:
            next(self.steps)
        except StopIteration as end:
            return end.value
        finally:
            recording.graph = None

    def start(self, copies: Sequence[tuple[Array, Array]]) -> None:
        assert self.work is not None
        for part in self.parts[: self.first]:
            part.put(self.words)
        for source, target in copies:
            target.memory[...] = source.memory
        self.turn, self.steps, self.failed = 0, self.work(), None
        try:
            self._do_half()
        except IndexError as error:  # a GPU tells of it later
            self.failed = error

    def finish(self) -> None:
        if self.failed is not None:
            raise self.failed
        for part in self.parts[self.first :]:
            part.put(self.words)
        for new, kept in zip(self._do_half(), self.made, strict=True):
            kept.memory[...] = new.memory
        for part in self.parts:
            part.done()

    def memory_of(self, array: Any) -> Any:
        memory = array.memory
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        return memory


class SimulatedCuda(Cuda):
    """Simulated GPUs."""

    array = SimulatedArray
    pinned_memory = SimulatedPinnedMemory

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.only = device("cuda", 0) if number == 1 else None
        self.index = 0
        self.stream: Any = SimulatedStream(1)

    def count(self) -> int:
        return self.number

    def pinned(self, size: int) -> SimulatedPinnedMemory:
        return SimulatedPinnedMemory(size)

    def index_of(self, array: Array) -> int:
        return array.index

    def address(self, array: Array) -> int:
        return array.memory.__array_interface__["data"][0]

    def empty(self, shape: Shape, dtype: Any, where: device) -> Array:
        return SimulatedArray(np.empty(shape, dtype), where.index or 0)

    def strided(self, array: Array, shape: Shape, strides: Shape) -> Array:
        view = as_strided(array.memory, shape, strides)
        return SimulatedArray(view, array.index, array if array.base is None else array.base)

    def from_numpy(self, array: np.ndarray, where: device) -> Array:
        refuse_writing()
        return SimulatedArray(array.copy("K"), where.index or 0)

    def to_numpy(self, array: Array) -> np.ndarray:
        refuse_reading()
        return array.memory.copy("A")

    def kernel_of(self, op: Any) -> Any:
        """In a graph, where nothing may be read or go to the CPU: what a kernel would compute."""
        if op.scalar is None and op.name not in WITH_KERNELS:
            return None

        def compute(*arrays: Any, **params: Any) -> Any:
            if recording.graph is None:
                return None
            first = next(x for x in arrays if isinstance(x, SimulatedArray))
            made = op.compute(*first._memories(tuple(arrays)), **first._memories(params))
            if isinstance(made, tuple):
                return tuple([SimulatedArray(m, first.index) for m in made])
            return SimulatedArray(made, first.index)

        return compute

    def new_graph(self, where: device, split: bool) -> SimulatedGraph:
        return SimulatedGraph(split)

    def fill_from_words(
        self, launch: Any, graph: Graph, place: int, kind: Any, where: device
    ) -> Array:
        seed, offset = graph.words[place : place + 2].view(np.uint64).tolist()
        return SimulatedArray(numbers(launch, seed, offset, kind), where.index or 0)

    def update_from_words(
        self, formula: Any, columns: Any, numbers: Any, graph: Graph, place: int
    ) -> bool:
        own = graph.words[place : place + len(numbers)].view(np.float64).tolist()
        self.update(formula, columns, [own] * len(columns[0]))
        return True

    # --- The device itself ---------------------------------------------------------------------------

    def current(self) -> int:
        return self.index

    def use(self, index: int) -> None:
        self.index = index

    def synchronize(self, index: int) -> None:
        """Everything is done at once here."""

    def properties(self, index: int) -> Any:
        return SimpleNamespace(
            name="simulated GPU", major=9, minor=0, total_memory=1 << 34, multi_processor_count=132,
            warp_size=32, max_threads_per_multi_processor=2048, is_integrated=0,
        )  # fmt: skip

    def memory(self, index: int) -> tuple[int, int, int, int]:
        return 0, 0, 0, 0

    def free_and_total(self, index: int) -> tuple[int, int]:
        return 1 << 34, 1 << 34

    def new_stream(self, priority: int) -> Any:
        return SimulatedStream()

    def default_stream(self) -> Any:
        return SimulatedStream(1)

    def current_stream(self) -> Any:
        return self.stream

    def set_stream(self, stream: Any) -> None:
        self.stream = stream

    def new_event(self, timed: bool) -> Any:
        return SimulatedEvent()

    def milliseconds(self, start: Any, end: Any) -> float:
        return (end.moment - start.moment) * 1e3
