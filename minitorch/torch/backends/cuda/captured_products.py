"""Products by cuBLAS while a graph is captured: CuPy refuses its own calls then, so its library is called as it is."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cupy  # pyright: ignore[reportMissingImports]

from .graphs import CannotCapture

if TYPE_CHECKING:
    from .cupy_graph import CupyGraph


def loaded(name: str) -> Any:
    """A library that CuPy's products have loaded; None if it is not found."""
    cupy.cuda.device.get_cublas_handle()
    lines = Path("/proc/self/maps").read_text().splitlines()
    found = sorted({line.split()[-1] for line in lines if f"{name}.so" in line})
    return ctypes.CDLL(found[0]) if found else None


@cache
def _library() -> Any:
    """The cuBLAS that CuPy has loaded."""
    library = loaded("libcublas")
    if library is None:
        raise CannotCapture("cuBLAS is not found")
    return library


@cache
def _handle(device: int) -> ctypes.c_void_p:
    """A handle of our own, for a GPU."""
    handle = ctypes.c_void_p()
    _call("cublasCreate_v2", ctypes.byref(handle))
    return handle


def _call(name: str, *args: Any) -> None:
    status = getattr(_library(), name)(*args)
    if status:
        raise CannotCapture(f"{name} failed with the status {status}")


def prepare(graph: CupyGraph) -> None:
    """Before a capture: make the handle, which takes memory and waits."""
    handle = _handle(cupy.cuda.runtime.getDevice())
    _call("cublasSetStream_v2", handle, ctypes.c_void_p(graph.stream.ptr))
    memory = graph.workspace_of_products()
    _call(
        "cublasSetWorkspace_v2", handle, ctypes.c_void_p(memory.data.ptr), ctypes.c_size_t(memory.nbytes)
    )  # fmt: skip


def gemm(args: tuple[Any, ...]) -> None:
    """`cublasGemmEx`, with the arguments that `products.multiply` gives CuPy."""
    ta, tb, m, n, k, one, a, kind_a, lda, b, kind_b, ldb, zero, c, kind_c, ldc, compute, how = args
    i, p = ctypes.c_int, ctypes.c_void_p
    _call(
        "cublasGemmEx", _handle(cupy.cuda.runtime.getDevice()), i(ta), i(tb), i(m), i(n), i(k), p(one),
        p(a), i(kind_a), i(lda), p(b), i(kind_b), i(ldb), p(zero), p(c), i(kind_c), i(ldc), i(compute), i(how),
    )  # fmt: skip


def gemm_batched(args: tuple[Any, ...]) -> None:
    """`cublasGemmStridedBatchedEx`, likewise."""
    (ta, tb, m, n, k, one, a, kind_a, lda, step_a, b, kind_b, ldb, step_b, zero, c, kind_c, ldc, step_c, batch,
     compute, how) = args  # fmt: skip
    i, p, w = ctypes.c_int, ctypes.c_void_p, ctypes.c_longlong
    _call(
        "cublasGemmStridedBatchedEx", _handle(cupy.cuda.runtime.getDevice()), i(ta), i(tb), i(m), i(n), i(k), p(one),
        p(a), i(kind_a), i(lda), w(step_a), p(b), i(kind_b), i(ldb), w(step_b), p(zero), p(c), i(kind_c), i(ldc),
        w(step_c), i(batch), i(compute), i(how),
    )  # fmt: skip
