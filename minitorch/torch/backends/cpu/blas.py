"""Matrix products inside kernels, by the BLAS that NumPy itself was built with.

NumPy's core library knows its BLAS; the address of `cblas_sgemm` is looked up through it, under
the names that builds of NumPy use. Where there is none of them, or where it cannot be told how many
threads to use, kernels that multiply are not used: they run under `numpy_on_one_thread`, so that
tasks can multiply side by side.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np
from numba import config, float32, float64, int64, void

from ....jit import compile_part
from ....threads import NUMPY, blas_of
from .kernels import EXACT, INSIDE, by_type, function_at

NAMES = ("scipy_cblas_{}64_", "cblas_{}64_", "scipy_cblas_{}", "cblas_{}")
"""What the products are called in the BLAS of NumPy's builds."""

_ROWS, _PLAIN, _TRANSPOSED = 101, 111, 112


@cache
def address_of_product(real: Any) -> int:
    """Where in memory the product of matrices of a type is; 0 if it is not known."""
    if sys.platform != "linux" or config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        return 0  # elsewhere arguments are passed in other ways
    if blas_of(NUMPY) is None:
        return 0
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
