"""The parallel loops of a library: their limits, what Numba made of them, races, memory, speed."""

from __future__ import annotations

import contextlib
import io
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numba
import numpy as np
from numba import njit, prange

import minitorch

Arguments = list[Any]
"""Storage, shape and strides of every operand, the result first."""

THREADS = 4
"""Threads of a run that looks for races."""


def limits() -> dict[str, int]:
    """From which sizes on the loops of the library run in parallel, and on how many cores."""
    ops = minitorch.fast_ops
    names = ("PARALLEL_SIZE", "PARALLEL_PRODUCTS", "CHUNK", "BLOCK_ROWS", "BLOCK_COLUMNS")
    return {name: getattr(ops, name, 1) for name in names} | {
        "cores": int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    }


# --- Kernels, and what they are called with -----------------------------------------------------


def _operand(array: np.ndarray[Any, Any]) -> Arguments:
    """An array as kernels take it: the numbers as they lie in memory, shape and strides."""
    storage = array.ravel(order="K")
    strides = [step // array.itemsize for step in array.strides]
    return [storage, np.array(array.shape, np.int32), np.array(strides, np.int32)]


def _matrix(rows: int, columns: int) -> np.ndarray[Any, Any]:
    return np.arange(rows * columns, dtype=np.float64).reshape(rows, columns) % 101 - 50


def _map(size: int, transposed: bool) -> tuple[Arguments, np.ndarray[Any, Any]]:
    a = _matrix(size, size)
    a = a.T if transposed else a
    return [*_operand(np.zeros((size, size))), *_operand(a)], -a


def _zip(size: int, transposed: bool) -> tuple[Arguments, np.ndarray[Any, Any]]:
    a, b = _matrix(size, size), _matrix(size, size) + 1
    a = a.T if transposed else a
    return [*_operand(np.zeros((size, size))), *_operand(a), *_operand(b)], a * b


def _reduce(size: int, transposed: bool) -> tuple[Arguments, np.ndarray[Any, Any]]:
    a = _matrix(size, size)
    a = a.T if transposed else a
    return [*_operand(np.zeros((size, 1))), *_operand(a), 1], a.sum(1, keepdims=True)


def _matmul(size: int, transposed: bool) -> tuple[Arguments, np.ndarray[Any, Any]]:
    a, b = _matrix(size, size)[None], _matrix(size, size)[None] + 1
    a = a.transpose(0, 2, 1) if transposed else a
    return [*_operand(np.zeros((1, size, size))), *_operand(a), *_operand(b)], a @ b


CALLS: dict[str, Callable[[int, bool], tuple[Arguments, np.ndarray[Any, Any]]]] = {
    "shared": _map,
    "map": _map,
    "zip": _zip,
    "reduce": _reduce,
    "matmul": _matmul,
}


def kernel_of(name: str, parallel: bool = True) -> Any:
    """A kernel of the library, or the map that is wrong."""
    ops, functions = minitorch.fast_ops, minitorch.operators
    if name == "shared":
        return wrong_map
    if name == "matmul":
        return ops.tensor_matrix_multiply if parallel else ops._serial_matrix_multiply
    build, function = {
        "map": (ops.tensor_map, functions.neg),
        "zip": (ops.tensor_zip, functions.mul),
        "reduce": (ops.tensor_reduce, functions.add),
    }[name]
    return build(function, parallel=parallel)


def first_call(kernel: Any, arguments: Arguments) -> None:
    """Compile a kernel; one that is still to be written says so from its own line."""
    try:
        kernel(*arguments)
    except NotImplementedError:
        kernel.py_func(*arguments)
        raise


# --- A map that is wrong ------------------------------------------------------------------------


@njit
def find_index(ordinal: Any, shape: Any, index: Any) -> None:
    """Write the index that comes `ordinal`-th."""
    for d in range(len(shape) - 1, -1, -1):
        index[d] = ordinal % shape[d]
        ordinal = ordinal // shape[d]


@njit
def find_position(index: Any, strides: Any) -> int:
    """Where an index lies in memory."""
    position = 0
    for d in range(len(strides)):
        position += index[d] * strides[d]
    return position


@njit(parallel=True)
def wrong_map(out, out_shape, out_strides, a, a_shape, a_strides):  # type: ignore
    """Negate; all turns share one index: right on one thread, wrong on several."""
    out_index = np.zeros(len(out_shape), np.int32)
    for i in prange(len(out)):
        find_index(np.int64(i), out_shape, out_index)
        position = find_position(out_index, a_strides)
        out[find_position(out_index, out_strides)] = -a[position]


# --- Lessons -------------------------------------------------------------------------------------


def diagnose(kernel: str) -> Iterator[dict[str, Any]]:
    """What Numba says about the parallel loops of a kernel; compiling takes a while."""
    yield {"stage": "Numba compiles the kernel and writes down what it does."}
    compiled = kernel_of(kernel)
    arguments, _ = CALLS[kernel](8, False)
    compiled.py_func(*arguments)  # says whether it is written, without compiling it
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("ignore")
        types = tuple(numba.typeof(argument) for argument in arguments)
        compiled.parallel_diagnostics(signature=types, level=3)
    yield {"text": printed.getvalue()}


def race(kernel: str, size: int, times: int = 6) -> Iterator[dict[str, Any]]:
    """Run a kernel on one thread and on several, and count the cells that are wrong."""
    yield {"stage": "Numba compiles the kernel, where it is new."}
    compiled = kernel_of(kernel)
    first_call(compiled, CALLS[kernel](4, True)[0])
    several = min(THREADS, int(numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    for threads in (1, several):
        numba.set_num_threads(threads)
        for _ in range(times):
            arguments, expected = CALLS[kernel](size, True)
            compiled(*arguments)
            wrong = ~np.isclose(arguments[0], expected.ravel(), rtol=1e-9)
            yield {
                "threads": threads,
                "wrong": int(wrong.sum()),
                "cells": len(wrong),
                "where": _shares(wrong.reshape(expected.shape[-2:])),
            }


def _shares(wrong: np.ndarray[Any, Any], side: int = 40) -> list[list[float]]:
    """A small picture of where cells are wrong: the largest share of wrong cells in each part."""
    rows = [np.array_split(part, min(side, part.shape[1]), 1) for part in
            np.array_split(wrong, min(side, len(wrong)))]  # fmt: skip
    return [[float(cell.mean()) for cell in row] for row in rows]


def memory(rows: int, inner: int, columns: int) -> Iterator[dict[str, Any]]:
    """How much memory a product takes at its peak: by zip and reduce, and fused."""
    yield {"stage": "Numba compiles the kernels, where they are new."}
    backend = minitorch.TensorBackend(minitorch.FastOps)
    a, b = (
        minitorch.tensor([[1.0] * width] * height, backend=backend)
        for height, width in ((rows, inner), (inner, columns))
    )

    def by_zip() -> Any:
        return (a.view(rows, inner, 1) * b.view(1, inner, columns)).sum(1)

    def fused() -> Any:
        return a @ b

    for name, product in (("zip", by_zip), ("fused", fused)):
        product()  # compiles
        tracemalloc.start()
        product()
        yield {name: tracemalloc.get_traced_memory()[1]}
        tracemalloc.stop()


def speed(size: int, side: int) -> Iterator[dict[str, Any]]:
    """How long each loop takes for an element: plain, compiled on one core and on all, NumPy."""
    for name in ("map", "zip", "reduce", "matmul"):
        for how, measure in _contest(name, size, side):
            yield {"stage": f"Measuring {name} ({how}). A kernel that is new is compiled first."}
            yield {"kernel": name, "how": how, "nanoseconds": measure()}


def _contest(name: str, size: int, side: int) -> list[tuple[str, Callable[[], float]]]:
    width = side if name == "matmul" else round(size**0.5)
    arguments, _ = CALLS[name](width, False)
    work = width**3 if name == "matmul" else width**2

    def compiled(parallel: bool) -> float:
        kernel = kernel_of(name, parallel)
        first_call(kernel, arguments)
        return _per_step(partial(kernel, *arguments), work)

    return [
        ("plain", partial(_plain, name)),
        ("fast, one core", partial(compiled, False)),
        ("fast, all cores", partial(compiled, True)),
        ("NumPy, one core", partial(_numpy, name, width, work)),
    ]


def _plain(name: str) -> float:
    """The plain backend, on a tensor small enough to wait for."""
    width = 16 if name == "matmul" else 48
    backend = minitorch.TensorBackend(minitorch.SimpleOps)
    a = minitorch.tensor(_matrix(width, width).tolist(), backend=backend)
    calls: dict[str, Callable[[], Any]] = {
        "map": lambda: backend.neg_map(a),
        "zip": lambda: backend.mul_zip(a, a),
        "reduce": lambda: backend.add_reduce(a, 1),
        "matmul": lambda: minitorch.SimpleOps.matrix_multiply(a, a),
    }
    return _per_step(calls[name], width**3 if name == "matmul" else width**2)


def _numpy(name: str, width: int, work: int) -> float:
    a, b, out = _matrix(width, width), _matrix(width, width) + 1, np.zeros((width, width))
    calls: dict[str, Callable[[], Any]] = {
        "map": lambda: np.negative(a, out=out),
        "zip": lambda: np.multiply(a, b, out=out),
        "reduce": lambda: a.sum(1),
        "matmul": lambda: a @ b,
    }
    return _per_step(calls[name], work)


def _per_step(call: Callable[[], Any], steps: int) -> float:
    """Nanoseconds for one step of a call: the best of those that fit into a short while."""
    call()
    best, end = float("inf"), time.perf_counter() + 0.25
    while True:
        began = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - began)
        if now > end:
            return 1e9 * best / steps
