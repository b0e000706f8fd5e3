"""Kernels that are compiled for the type of their arrays."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from .elementwise import HEAD, TYPES
from .launching import Kernel
from .sources import JOINS, OF_BLOCK

BY_KIND = {kind: names for kind, names in TYPES.items() if kind.kind != "b"}


WIDE = {kind: np.dtype(np.float64 if kind.itemsize == 8 else np.float32) for kind in BY_KIND}
"""The type that is computed in, by the type in memory."""


@cache
def kernel_for(source: str, name: str, kind: Any) -> Any:
    """A kernel for a type, which reads with READ, writes with WRITE and joins what threads found with of_block."""
    memory, wide, read, write = BY_KIND[kind]
    head = f"""{HEAD}
typedef {memory} E;
typedef {wide} T;
#define READ(x) {read.format("(x)")}
#define WRITE(x) {write.format("(x)")}
#define EXP(x) {"__expf" if kind.itemsize == 2 else "exp"}(x)
{JOINS}{OF_BLOCK}"""
    return Kernel(head + source, name)


def fit(*arrays: Array) -> bool:
    """Whether arrays are of one type and without gaps, and the first has elements."""
    kind = arrays[0].dtype
    if kind not in BY_KIND or not arrays[0].size:
        return False
    for x in arrays:  # noqa: SIM110 - a generator would take longer than the question
        if not x._c_contiguous or (x.dtype is not kind and x.dtype != kind):
            return False
    return True


def scratch(shape: tuple[int, ...], kind: Any) -> Any:
    """Memory for what one kernel tells the next, at the address `ptr`, as long as somebody holds it."""
    return cupy.cuda.alloc(prod(shape) * kind.itemsize)


def pointer(array: Array | None) -> Any:
    """An array as a kernel takes it; none as the address 0."""
    return 0 if array is None else array
