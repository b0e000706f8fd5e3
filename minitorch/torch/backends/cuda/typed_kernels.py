"""Kernels that are compiled for the type of their arrays."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from .elementwise import HEAD, TYPES
from .sources import JOINS, OF_BLOCK

BY_KIND = {kind: names for kind, names in TYPES.items() if kind.kind != "b"}


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
    return cupy.RawKernel(head + source, name).kernel


def fit(*arrays: Array) -> bool:
    """Whether arrays are of one type and without gaps, and the first has elements."""
    kind = arrays[0].dtype
    return (
        kind in BY_KIND
        and bool(arrays[0].size)
        and all(x._c_contiguous and x.dtype == kind for x in arrays)
    )


def pointer(array: Array | None) -> Any:
    """An array as a kernel takes it; none as the address 0."""
    return np.uintp(0) if array is None else array
