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

from .kernels import function_at, part

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
def product(real: Any) -> Any:
    """For use in kernels: C = A B of matrices that are given by address and row length.

    Called as `multiply(address, m, n, k, a, a_width, b, b_width, c, c_width, a_turned, b_turned)`,
    where a turned matrix is stored as its transpose; with one more argument that is true, the
    product is added to what C holds.
    """
    number = {np.float32: float32, np.float64: float64}[real]
    sizes, place = (int64,) * 3, (int64,) * 2
    at = function_at(void(*(int64,) * 3, *sizes, number, *place, *place, number, *place))
    integer = np.int64

    @part
    def multiply(
        address: Any, m: Any, n: Any, k: Any, a: Any, a_width: Any, b: Any, b_width: Any,
        c: Any, c_width: Any, a_turned: Any, b_turned: Any, adding: Any = False,
    ) -> None:  # fmt: skip
        at(address)(
            integer(_ROWS), integer(_TRANSPOSED if a_turned else _PLAIN),
            integer(_TRANSPOSED if b_turned else _PLAIN), integer(m), integer(n), integer(k), real(1),
            integer(a), integer(a_width), integer(b), integer(b_width), real(adding), integer(c), integer(c_width),
        )  # fmt: skip

    return multiply
