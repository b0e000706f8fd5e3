"""NVIDIA's GPUs, by way of CuPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from sys import getrefcount
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...device import DeviceError, OutOfMemoryError, device
from ...environment import get_float32_matmul_precision
from ..interface import Array, Shape
from .backend import Cuda, check_size
from .graphs import refuse_reading, refuse_writing
from .philox import BLOCK, code_of

INSTALL = "pip install 'minitorch[cuda]' (for drivers of CUDA 12: pip install cupy-cuda12x)"

try:
    import cupy  # pyright: ignore[reportMissingImports]
    import cupyx  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise DeviceError(
        f"CuPy, which computes on it, cannot be imported ({error}): {INSTALL}"
    ) from None


WHOLE = {
    "int64": "long long", "int32": "int", "int16": "short", "int8": "signed char", "uint8": "unsigned char",
    "uint16": "unsigned short", "uint32": "unsigned", "uint64": "unsigned long long",
}  # fmt: skip
"""Names of types of whole numbers."""


class CupyCuda(Cuda):
    """The GPUs that CuPy finds."""

    array = cupy.ndarray
    pinned_memory = cupy.cuda.PinnedMemoryPointer
    out_of_memory = cupy.cuda.memory.OutOfMemoryError

    def __init__(self) -> None:
        super().__init__()
        try:
            self.number = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceError(
                f"CuPy is installed but finds no GPU ({error}): look at nvidia-smi; the driver must "
                f"be as new as the CUDA that CuPy was built for, else {INSTALL}"
            ) from None
        if not self.number:
            raise DeviceError("CuPy finds no GPU: look at nvidia-smi and CUDA_VISIBLE_DEVICES")
        self.only = device("cuda", 0) if self.number == 1 else None
        self._random: dict[Any, Any] = {}
        self.set_precision(get_float32_matmul_precision())
        from .cupy_graph import raise_noted
        from .kernels import FORMULAS, compute_into, kernel_of, put

        self.kernel_of, self.formulas, self.put = kernel_of, FORMULAS, put
        self.compute_into = compute_into if self.only else self._compute_into
        self.raise_noted = raise_noted

    def set_precision(self, precision: str) -> None:
        products = cupy._core._routines_linalg
        exact, tf32 = products.COMPUTE_TYPE_DEFAULT, products.COMPUTE_TYPE_TF32
        products.set_compute_type(np.float32, exact if precision == "highest" else tf32)
        from . import products as own

        own.precision["float32"] = own.FLOAT if precision == "highest" else own.TF32

    def _by_formula(self, op: Any, where: device, arrays: Any, params: dict[str, Any]) -> Any:
        if not op.name.startswith("linalg"):
            return super()._by_formula(op, where, arrays, params)
        with cupyx.errstate(linalg="raise"):  # a singular matrix is an error, which the CPU words
            return super()._by_formula(op, where, arrays, params)

    def pinned(self, size: int) -> Any:
        return cupy.cuda.alloc_pinned_memory(size)

    def count(self) -> int:
        return self.number

    def index_of(self, array: Array) -> int:
        return array.data.device_id

    def address(self, array: Array) -> int:
        return array.data.ptr

    def update(self, formula: Any, columns: Any, numbers: Any) -> None:
        from .elementwise import update

        gpus: dict[int, list[int]] = {}
        for k, x in enumerate(columns[0]):
            gpus.setdefault(x.data.device_id, []).append(k)
        for gpu, members in gpus.items():
            own, given = columns, numbers
            if len(gpus) > 1:
                own = [[column[k] for k in members] for column in columns]
                given = [numbers[k] for k in members]
            with self.on(device("cuda", gpu)):
                if not update(formula, own, given):
                    super().update(formula, own, given)

    def _compute_into(self, op: Any, arrays: Any, params: dict[str, Any]) -> bool:
        from .kernels import compute_into

        with self.on(self.device_of(arrays[0])):
            return compute_into(op, arrays, params)

    def write(self, op: Any, where: device, target: Array, *others: Any, **params: Any) -> None:
        with self.on(where):
            super().write(op, where, target, *others, **params)

    def fill_random(self, launch: Any, seed: int, offset: int, kind: Any, where: device) -> Array:
        return self._fill("draw", launch, (seed, offset), kind, where)

    def _fill(self, name: str, launch: Any, state: Any, kind: Any, where: device) -> Array:
        from .elementwise import HEAD, TYPES
        from .launching import Kernel

        if kind.kind == "c":
            raise TypeError(f"no random numbers of {kind}")
        memory, _, read, write = TYPES.get(kind) or (WHOLE[kind.name], "", "{}", "{}")
        recipe = launch.recipe
        key = name, recipe.code, recipe.base, launch.each, launch.together, launch.wide, kind
        kernel = self._random.get(key)
        if kernel is None:
            source = HEAD + code_of(launch, memory, read, write)
            kernel = self._random[key] = Kernel(source, name)
        whole = recipe.base in ("word", "pair")
        numbers = [v % (1 << 64) if whole else launch.wide.type(v) for v in (recipe.a, recipe.b)]
        with self.on(where):
            out = cupy.ndarray((launch.n,), kind)
            kernel((launch.blocks,), (BLOCK,), (out, launch.n, *state, *numbers))
        return out

    # --- Graphs ----------------------------------------------------------------------------------------

    def new_graph(self, where: device, split: bool) -> Any:
        from .cupy_graph import CupyGraph

        with self.on(where):
            return CupyGraph(split)

    def fill_from_words(
        self, launch: Any, graph: Any, place: int, kind: Any, where: device
    ) -> Array:
        return self._fill("draw_from_words", launch, (graph.address(place),), kind, where)

    def update_from_words(
        self, formula: Any, columns: Any, numbers: Any, graph: Any, place: int
    ) -> bool:
        from .elementwise import update_from_words

        return update_from_words(formula, columns, numbers, graph, place)

    def owner(self, array: Array) -> Any:
        return array.data.mem

    def is_alone(self, array: Array) -> bool:
        # What `strided` makes has no base, but the same pointer.
        whole = array._c_contiguous or array._f_contiguous
        return whole and getrefcount(array.data) <= 2 + (array.base is not None)

    def fills(self, array: Array) -> bool:
        root = array
        while root.base is not None:
            root = root.base
        memory = array.data.mem
        rounded = -(-root.nbytes // 512) * 512  # as CuPy takes memory
        return root.nbytes == array.nbytes > 0 and root.data.ptr == memory.ptr and memory.size in (root.nbytes, rounded)  # fmt: skip

    # --- Arrays ----------------------------------------------------------------------------------------

    def empty(self, shape: Shape, dtype: Any, where: device) -> Array:
        check_size(prod(shape))
        with self.on(where):
            return cupy.ndarray(shape, dtype)

    def zeros(self, shape: Shape, dtype: Any, where: device) -> Array:
        check_size(prod(shape))
        with self.on(where):
            return cupy.zeros(shape, dtype)

    def strided(self, array: Array, shape: Shape, strides: Shape) -> Array:
        if prod(shape) * array.itemsize >= 1 << 63:  # CuPy would count them in 64 bits
            raise ValueError("array is too big")
        return cupy.ndarray(shape, array.dtype, array.data, strides)

    def from_numpy(self, array: np.ndarray, where: device) -> Array:
        refuse_writing()
        with self.on(where):
            if self.is_pinned(array) and array.flags.c_contiguous:
                made = cupy.ndarray(array.shape, array.dtype)
                made.set(array)  # without a copy on the way
                cupy.cuda.get_current_stream().synchronize()
                return made
            made = self.put(array)
            return cupy.asarray(array, order="K") if made is None else made

    def to_numpy(self, array: Array) -> np.ndarray:
        refuse_reading()
        found = cupy.asnumpy(array, order="A")
        self.raise_noted()
        return found

    @contextmanager
    def on(self, where: device) -> Iterator[None]:
        try:
            if where.index == cupy.cuda.runtime.getDevice():
                yield
            else:
                with cupy.cuda.Device(where.index or 0):
                    yield
        except self.out_of_memory as error:
            raise OutOfMemoryError(f"CUDA out of memory. {error}") from None

    # --- The device itself ---------------------------------------------------------------------------

    def current(self) -> int:
        return cupy.cuda.runtime.getDevice()

    def use(self, index: int) -> None:
        cupy.cuda.Device(index).use()

    def synchronize(self, index: int) -> None:
        cupy.cuda.Device(index).synchronize()
        self.raise_noted()

    def properties(self, index: int) -> Any:
        found = cupy.cuda.runtime.getDeviceProperties(index)
        return SimpleNamespace(
            name=found["name"].decode(), major=found["major"], minor=found["minor"],
            total_memory=found["totalGlobalMem"], multi_processor_count=found["multiProcessorCount"],
            warp_size=found["warpSize"], is_integrated=found["integrated"],
            max_threads_per_multi_processor=found["maxThreadsPerMultiProcessor"],
        )  # fmt: skip

    def memory(self, index: int) -> tuple[int, int, int, int]:
        """CuPy counts what it holds, which only grows: that is what was in use at most, within a few percent."""
        with cupy.cuda.Device(index):
            pool = cupy.get_default_memory_pool()
            return pool.used_bytes(), pool.total_bytes(), pool.total_bytes(), pool.total_bytes()

    def free_and_total(self, index: int) -> tuple[int, int]:
        with cupy.cuda.Device(index):
            return cupy.cuda.runtime.memGetInfo()

    def reset_peak(self, index: int) -> None:
        with cupy.cuda.Device(index):
            self.release()

    def release(self) -> None:
        cupy.get_default_memory_pool().free_all_blocks()

    def new_stream(self, priority: int) -> Any:
        return cupy.cuda.Stream(non_blocking=True, priority=priority or None)

    def default_stream(self) -> Any:
        return cupy.cuda.Stream.null

    def current_stream(self) -> Any:
        return cupy.cuda.get_current_stream()

    def set_stream(self, stream: Any) -> None:
        stream.use()

    def from_dlpack(self, lender: Any) -> Array:
        return cupy.from_dlpack(lender)

    def new_event(self, timed: bool) -> Any:
        return cupy.cuda.Event(disable_timing=not timed)

    def milliseconds(self, start: Any, end: Any) -> float:
        return cupy.cuda.get_elapsed_time(start, end)
