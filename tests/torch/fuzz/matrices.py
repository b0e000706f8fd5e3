"""Known differences in what is asked about matrices."""

from __future__ import annotations

from dataclasses import replace

import torch as real

from ..oracle import leaves
from .calls import Call
from .difference import (
    MATRICES,
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
from .judging import answers_as


def is_barely_definite(call: Call) -> bool:
    """Whether the smallest eigenvalue of what `cholesky` reads, one triangle of the first matrices, is 0 but for rounding."""
    given = call.args[0].detach()
    upper = call.kwargs.get("upper", (*call.args[1:2], False)[0])
    values = real.linalg.eigvalsh(given, "U" if upper else "L")
    room = given.shape[-1] * real.finfo(given.dtype).eps * values.abs().amax(-1)
    return bool((values.amin(-1).abs() <= room).any())


def finite_ones(call: Call) -> Call:
    """The same call with the identity for each of the first matrices that is not finite."""
    given = call.args[0].detach()
    whole = given.isfinite().all(-1).all(-1)[..., None, None]
    plain = real.eye(*given.shape[-2:], dtype=given.dtype)
    return replace(call, args=[given.where(whole, plain), *call.args[1:]])


ON_MATRICES = (
    Difference(
        "NaN and infinity, and sums that overflow, spread within linear algebra, attention and Fourier transforms as "
        "each library's routines meet them.",
        "(gradient )?(accepted|refused|error class)",
        names=MATRICES + r"|(Tensor\.)?(nuclear_)?norm",
        text="LinAlg|singular|converge|positive-definite|infs or NaNs|non-finite|NaN",
        when=is_extreme,
    ),
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
        when=lambda call: not_finite(call) and answers_as(*[finite_ones(call)] * 2),
    ),
    Difference(
        "A singular matrix, of which rounding leaves something in one library, is refused by the other.",
        "accepted|refused",
        names=r"linalg\.(inv|solve|tensorsolve|tensorinv)|(Tensor\.)?inverse",
        text="singular",
        when=is_deficient,
    ),
    Difference(
        "A singular matrix, of which rounding leaves something in one library, is refused by the other.",
        "accepted|refused",
        names=r"(linalg\.|Tensor\.)?cholesky",
        text="not positive-definite",
        when=is_barely_definite,
    ),
    Difference(
        "PyTorch's `linalg.vecdot` of two vectors does not look at the dimension.",
        "refused",
        names=r"linalg\.vecdot",
        text="Dimension out of range",
        when=lambda call: all(t.ndim == 1 for t in leaves(call.args)),
    ),
    Difference(
        "PyTorch's `solve_triangular` casts B to A's type; we refuse, as all its other solvers do.",
        "refused",
        names=r"linalg\.solve_triangular",
        text="to have the same dtype",
    ),
    Difference(
        "What `cholesky_solve` leaves of a division by 0 is infinite or NaN by the order of each library's sums.",
        "values",
        names=r"(Tensor\.)?cholesky_solve",
        text=r"\((-?inf|nan)[-+nafj0.]*\), expected .*\((-?inf|nan)",
        when=lambda call: any(
            bool((t.diagonal(dim1=-2, dim2=-1) == 0).any())
            for t in leaves((call.args[1:2], call.kwargs))
        ),
        finite=True,
    ),
    Difference(
        "The determinant of a singular matrix is 0 or what rounding leaves of it, and has any sign; its logarithm follows.",
        "gradient values",
        names=r"(Tensor\.|linalg\.)?(logdet|slogdet)",
        text="nan|inf",
        when=lambda call: (
            is_singular(call)
            and bool((real.linalg.matrix_rank(call.args[0]) < call.args[0].shape[-1]).all())
        ),
    ),
    Difference(
        "The gradient of `qr` loses as many digits as R has between the largest and the smallest of its diagonal.",
        "gradient values",
        names=r"(Tensor\.|linalg\.)?qr",
        when=lambda call: bool((real.linalg.cond(call.args[0].detach()) > 1e3).any()),
        finite=True,
    ),
)
