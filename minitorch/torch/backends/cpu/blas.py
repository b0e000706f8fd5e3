"""Matrix products inside kernels, by the BLAS that NumPy itself was built with.

NumPy's core library knows its BLAS; the address of `cblas_sgemm` is looked up through it, under
the names that builds of NumPy use. Where there is none of them, kernels that multiply are not
used. From small matrices a BLAS makes no threads of its own, so tasks of a kernel can multiply
side by side.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np
from numba import config, float32, float64, int64, void

from ....jit import compile_part
from .kernels import EXACT, INSIDE, by_type, function_at

NAMES = ("scipy_cblas_{}64_", "cblas_{}64_", "scipy_cblas_{}", "cblas_{}")
"""What the products are called in the BLAS of NumPy's builds."""

SMALL = 262_144
"""Products of up to so many multiplications are done by the thread that asks for them."""

_ROWS, _PLAIN, _TRANSPOSED = 101, 111, 112


@cache
def address_of_product(real: Any) -> int:
    """Where in memory the product of matrices of a type is; 0 if it is not known."""
    if sys.platform != "linux" or config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        return 0  # elsewhere arguments are passed in other ways
    routine = {np.float32: "sgemm", np.float64: "dgemm"}[real]
    library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    for name in NAMES:
        found = getattr(library, name.format(routine), None)
        if found is not None:
            return ctypes.cast(found, ctypes.c_void_p).value or 0
    return 0


@cache
def _gemm(real: Any) -> Any:
    number = {np.float32: float32, np.float64: float64}[real]
    three, place = (int64,) * 3, (int64,) * 2
    at = function_at(void(*three, *three, number, *place, *place, number, *place))
    integer = np.int64

    def gemm(blas: int, sizes: Any, a: Any, b: Any, c: Any, adding: bool) -> None:
        at(blas)(
            integer(_ROWS), integer(_TRANSPOSED if a[2] else _PLAIN), integer(_TRANSPOSED if b[2] else _PLAIN),
            integer(sizes[0]), integer(sizes[1]), integer(sizes[2]), real(1), integer(a[0]), integer(a[1]),
            integer(b[0]), integer(b[1]), real(adding), integer(c[0]), integer(c[1]),
        )  # fmt: skip

    return compile_part(gemm, EXACT, forceinline=True, **INSIDE)


gemm: Any = by_type(_gemm)
"""For use in kernels: C = A B, or C += A B, of matrices in memory.

Called as `gemm(blas, (m, n, k), a, b, c, adding)`: `blas` is what `address_of_product` gives, `a` and
`b` are (address, length of a row in memory, whether it is stored transposed), `c` is (address,
length of a row).
"""

itemsize: Any = by_type(lambda real: np.dtype(real).itemsize)
"""For use in kernels: how many bytes a number of the kernel's type has."""


def multiply(blas: int, sizes: Any, a: Any, b: Any, c: Any) -> None:
    """For use in kernels: C = A B, arguments as for `gemm`, in pieces that stay on this core."""
    m, n, k = sizes
    piece = max(SMALL // max(min(m, n) * k, 1), 8)
    if m >= n:
        for i in range(0, m, piece):
            part = (a[0] + i * itemsize * (1 if a[2] else a[1]), a[1], a[2])
            gemm(blas, (min(piece, m - i), n, k), part, b, (c[0] + i * c[1] * itemsize, c[1]), False)  # fmt: skip
    else:
        for j in range(0, n, piece):
            part = (b[0] + j * itemsize * (b[1] if b[2] else 1), b[1], b[2])
            gemm(blas, (m, min(piece, n - j), k), a, part, (c[0] + j * itemsize, c[1]), False)
