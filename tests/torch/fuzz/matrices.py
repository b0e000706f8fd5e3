"""Known differences in what both libraries answer to questions about matrices."""

from __future__ import annotations

import torch as real

from ..oracle import leaves
from .difference import (
    Difference,
    has_equal,
    has_type,
    is_complex,
    is_deficient,
    is_extreme,
    is_large,
    is_singular,
    not_finite,
)

ON_MATRICES = (
    Difference(
        "PyTorch's matrix exponential of two-byte floats is NaN; here it is refused, as in linear algebra elsewhere.",
        "refused",
        names=r"(.*\.)?matrix_exp",
        text="Low precision",
        when=has_type(real.float16, real.bfloat16),
    ),
    Difference(
        "The inverse of a number near the largest, which has few digits, is 0 in PyTorch's products.",
        "values",
        names=r"(Tensor\.)?pinverse|linalg\.pinv",
        text=r"e-(39|4\d|30[89]|31\d|32\d).*, expected .*\([-+0.j]*\)",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "`geqrf` and `qr` reflect a column of one element other than 0, or of zeros above one, the other way in "
        "PyTorch's library.",
        "values",
        names=r"(Tensor\.|linalg\.)?(geqrf|qr)",
        when=lambda call: any(bool((t == 0).any()) for t in leaves(call.args[:1])),
    ),
    Difference(
        "What `inv_ex` and `solve_ex` say of a singular matrix follows from each library's pivots.",
        "values",
        names=r"linalg\.(inv|solve)_ex",
        text="nan|inf",
    ),
    Difference(
        "`cholesky_inverse` of factors whose diagonal is not real: PyTorch's routine takes parts of it for real.",
        "(gradient )?values",
        names=r"(Tensor\.)?cholesky_inverse",
        when=is_complex,
    ),
    Difference(
        "Eigenvectors and singular vectors may point the other way.",
        "values",
        names=r"(linalg\.|Tensor\.)?(eigh?|lobpcg)",
        text="output 1",
    ),
    Difference(
        "Eigenvectors and singular vectors may point the other way.",
        "values",
        names=r"(linalg\.|Tensor\.)?(svd|pca_lowrank|svd_lowrank)",
        text="output [02]",
    ),
    Difference(
        "The determinant of a singular matrix is 0 or what rounding leaves of it, and has any sign; its logarithm follows.",
        "values",
        names=r"(Tensor\.|linalg\.)?(logdet|slogdet)",
        when=is_singular,
    ),
    Difference(
        "A determinant that is NaN has any sign.",
        "values",
        names=r"(Tensor\.|linalg\.)?slogdet",
        text="output 0",
        when=not_finite,
    ),
    Difference(
        "The solution of a system with infinite or overflowing coefficients is what each library's pivots leave of it.",
        "(gradient )?values",
        names=r"linalg\.(tensorsolve|tensorinv|solve(_ex)?|inv(_ex)?|lstsq)|(Tensor\.)?(inverse|lu_solve)",
        when=not_finite,
    ),
    Difference(
        "Which row is the pivot of a column with NaN, or of equal numbers, is each library's choice.",
        "values",
        names=r"(Tensor\.|linalg\.)?lu(_factor(_ex)?)?",
        when=lambda call: not_finite(call) or has_equal(call) or is_deficient(call),
    ),
    Difference(
        "The matrix exponential of large matrices loses digits with each squaring, in PyTorch more than here.",
        "(gradient )?values",
        names=r"(.*\.)?matrix_exp",
        when=is_large,
    ),
    Difference(
        "What `inv_ex` and `solve_ex` say of a singular matrix follows from each library's pivots.",
        "values",
        names=r"linalg\.(inv|solve)_ex",
        text="output 1",
        when=is_deficient,
    ),
    Difference(
        "Which row is the pivot of a column with NaN, or of equal numbers, is each library's choice.",
        "values",
        names=r"linalg\.ldl_factor(_ex)?",
        when=not_finite,
    ),
    Difference(
        "A singular matrix, of which rounding leaves something in one library, is refused by the other.",
        "accepted|refused",
        names=r"linalg\.(inv|solve|tensorsolve|tensorinv)|(Tensor\.)?inverse|(linalg\.|Tensor\.)?cholesky",
        text="singular|not positive-definite",
        when=is_deficient,
    ),
)
