"""Products of matrices by cuBLASLt, which adds a bias, or sums up the rows of one side for the gradient of a bias, in the same launch.

It is told of a product of some sizes once, and chooses how to compute it; cuBLAS chooses at each call, which takes longer than a launch.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache, lru_cache
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from .captured_products import loaded
from .graphs import recording

WORKSPACE = 1 << 22
"""Bytes that a product may use."""

PLAIN, PLUS_BIAS, SUM_OF_ROWS = 1, 4, 512  # cuBLASLt's names of what is done beside a product
TRANSPOSE_A, TRANSPOSE_B, BESIDE, VECTOR = 3, 4, 7, 8  # of what is said of one
MOST_WORKSPACE = 1  # of what is asked of an algorithm
ALIGNED = 256
"""Where matrices must begin, in bytes."""


class _Choice(ctypes.Structure):
    """An algorithm."""

    _fields_ = [
        ("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int),
        ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4),
    ]  # fmt: skip


@cache
def _library() -> Any:
    """The cuBLASLt that CuPy's cuBLAS has loaded; None if it is not found."""
    library = loaded("libcublasLt")
    if library is None:
        return None
    library.cublasLtMatmul.argtypes = [ctypes.c_void_p] * 16
    library.cublasLtMatmulDescSetAttribute.argtypes = [
        ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t,
    ]  # fmt: skip
    return library


def _made(name: str, *args: Any) -> ctypes.c_void_p:
    """A new object of the library."""
    made = ctypes.c_void_p()
    status = getattr(_library(), name)(ctypes.byref(made), *args)
    if status:
        raise RuntimeError(f"{name} failed with the status {status}")
    return made


@cache
def _handle(device: int) -> ctypes.c_void_p:
    return _made("cublasLtCreate")


class Plan:
    """How to compute a product a b of given sizes, of matrices of columns.

    Args:
        names: cuBLAS's names of the types of the matrices, to compute in, and of the numbers alpha and beta
        sizes: the rows of a, its columns, and the columns of b
        transposed: whether a and b are, in memory
        beside: what is done beside it
    """

    def __init__(self, device: int, names: tuple[int, int, int], sizes: tuple[int, int, int],
                 transposed: tuple[bool, bool], beside: int) -> None:  # fmt: skip
        (m, k, n), (kind, compute, scale) = sizes, names
        self.lock, self.handle, self.device = threading.Lock(), _handle(device), device
        self.numbers = np.array([0, 1], np.float64 if scale else np.float32)
        self.zero = self.numbers.ctypes.data
        self.one = self.zero + self.numbers.itemsize
        self.product = _made("cublasLtMatmulDescCreate", compute, scale)
        self.vector = ctypes.c_void_p()
        for name, value in ((TRANSPOSE_A, transposed[0]), (TRANSPOSE_B, transposed[1]), (BESIDE, beside)):  # fmt: skip
            self._say(name, ctypes.c_int(value))
        if beside != PLAIN:
            self._say(VECTOR, self.vector)
        self.at_vector = ctypes.addressof(self.vector)
        self.multiply, self.describe = (
            _library().cublasLtMatmul,
            _library().cublasLtMatmulDescSetAttribute,
        )
        shapes = (k, m) if transposed[0] else (m, k), (n, k) if transposed[1] else (k, n), (m, n)
        wide = ctypes.c_uint64
        self.a, self.b, self.out = (
            _made("cublasLtMatrixLayoutCreate", kind, wide(rows), wide(columns), ctypes.c_int64(rows))
            for rows, columns in shapes
        )  # fmt: skip
        self.choice = _Choice()
        self.algorithm = ctypes.addressof(self.choice)
        self.exists = self._choose()

    def _say(self, name: int, value: Any) -> None:
        """Say something of the product."""
        size = ctypes.sizeof(value)
        _library().cublasLtMatmulDescSetAttribute(self.product, name, ctypes.addressof(value), size)

    def _choose(self) -> bool:
        """Let an algorithm be chosen; False if there is none."""
        wish, most, found = _made("cublasLtMatmulPreferenceCreate"), ctypes.c_size_t(WORKSPACE), ctypes.c_int()  # fmt: skip
        library = _library()
        library.cublasLtMatmulPreferenceSetAttribute(wish, MOST_WORKSPACE, ctypes.byref(most), ctypes.c_size_t(8))  # fmt: skip
        status = library.cublasLtMatmulAlgoGetHeuristic(
            self.handle, self.product, self.a, self.b, self.out, self.out, wish, 1, ctypes.byref(self.choice),
            ctypes.byref(found),
        )  # fmt: skip
        library.cublasLtMatmulPreferenceDestroy(wish)
        return status == 0 and found.value == 1

    def __call__(self, a: int, b: int, out: int, vector: int = 0) -> None:
        """Compute it for matrices, and a vector, at addresses."""
        stream = cupy.cuda.get_current_stream().ptr
        with self.lock:
            if vector and vector != self.vector.value:
                self.vector.value = vector
                self.describe(self.product, VECTOR, self.at_vector, 8)
            status = self.multiply(
                self.handle, self.product, self.one, a, self.a, b, self.b, self.zero, out, self.out, out, self.out,
                self.algorithm, _workspace(self.device, stream), WORKSPACE, stream,
            )  # fmt: skip
        if status:
            raise RuntimeError(f"cublasLtMatmul failed with the status {status}")


@lru_cache(maxsize=1024)
def _plan(device: int, *args: Any) -> Plan | None:
    plan = Plan(device, *args) if _library() is not None else None
    return plan if plan is not None and plan.exists else None


def plan_for(*args: Any) -> Plan | None:
    """How to compute a product on the GPU in use; None if there is no way."""
    return _plan(cupy.cuda.runtime.getDevice(), *args)


_workspaces: dict[tuple[int, int], Any] = {}


def _workspace(device: int, stream: int) -> int:
    """Memory for the products of a GPU's stream, which follow each other; the default streams of all GPUs have one number."""
    graph: Any = recording.graph
    if graph is not None:
        return graph.workspace_of_products().data.ptr
    found = _workspaces.get((device, stream))
    if found is None:
        found = _workspaces[device, stream] = cupy.ndarray((WORKSPACE,), np.uint8)
    return found.data.ptr
