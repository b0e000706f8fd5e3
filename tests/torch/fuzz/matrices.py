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


def tame_ones(call: Call) -> Call:
    """The same call with the identity for each of the first matrices with numbers above 100, infinity or NaN."""
    given = call.args[0].detach()
    tame = (given.abs() <= 100).all(-1).all(-1)[..., None, None]
    plain = real.eye(*given.shape[-2:], dtype=given.dtype)
    return replace(call, args=[given.where(tame, plain), *call.args[1:]])


ON_MATRICES = (
    Difference(
        "NaN, infinity and overflow propagate through linear algebra, attention and Fourier transforms as in each "
        "library's routines.",
        "(gradient )?(accepted|refused|error class)",
        names=MATRICES + r"|(Tensor\.)?(nuclear_)?norm",
        text="LinAlg|singular|converge|positive-definite|infs or NaNs|non-finite|NaN",
        when=is_extreme,
    ),
    Difference(
        "PyTorch's matrix exponential in half precision is NaN; here it is refused, as in the rest of linear algebra.",
        "refused",
        names=r"(.*\.)?matrix_exp",
        text="Low precision",
        when=has_type(real.float16, real.bfloat16),
    ),
    Difference(
        "The inverse of a number near the largest, which is subnormal, is 0 in PyTorch's products.",
        "values",
        names=r"(Tensor\.)?pinverse|linalg\.pinv",
        text=r"e-(39|4\d|30[89]|31\d|32\d).*, expected .*\([-+0.j]*\)",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "PyTorch's `geqrf` and `qr` use the other sign for the reflection of a column of a single nonzero element, or "
        "of zeros below the diagonal.",
        "values",
        names=r"(Tensor\.|linalg\.)?(geqrf|qr)",
        when=lambda call: any(bool((t == 0).any()) for t in leaves(call.args[:1])),
    ),
    Difference(
        "The results of `inv_ex` and `solve_ex` for a singular matrix depend on each library's pivots.",
        "values",
        names=r"linalg\.(inv|solve)_ex",
        text="nan|inf",
    ),
    Difference(
        "`cholesky_inverse` of factors whose diagonal is not real: PyTorch's routine ignores some imaginary parts.",
        "(gradient )?values",
        names=r"(Tensor\.)?cholesky_inverse",
        when=lambda call: (
            is_complex(call) and bool(call.args[0].diagonal(dim1=-2, dim2=-1).imag.any())
        ),
    ),
    Difference(
        "Eigenvectors and singular vectors are determined only up to sign or phase.",
        "values",
        names=r"(linalg\.|Tensor\.)?(eigh?|lobpcg)",
        text="output 1",
    ),
    Difference(
        "Eigenvectors and singular vectors are determined only up to sign or phase.",
        "values",
        names=r"(linalg\.|Tensor\.)?(svd|pca_lowrank|svd_lowrank)",
        text="output [02]",
    ),
    Difference(
        "The determinant of a singular matrix is 0 or a rounding error of any sign, and so is its logarithm.",
        "values",
        names=r"(Tensor\.|linalg\.)?(logdet|slogdet)",
        when=is_singular,
    ),
    Difference(
        "The sign of a determinant that is NaN is arbitrary.",
        "values",
        names=r"(Tensor\.|linalg\.)?slogdet",
        text="output 0",
        when=not_finite,
    ),
    Difference(
        "The solution of a system with infinite or overflowing coefficients depends on each library's pivots.",
        "(gradient )?values",
        names=r"linalg\.(tensorsolve|tensorinv|solve(_ex)?|inv(_ex)?|lstsq)|(Tensor\.)?(inverse|lu_solve)",
        when=not_finite,
    ),
    Difference(
        "Which row becomes the pivot of a column with NaN, or with equal numbers, depends on the library.",
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
        "The results of `inv_ex` and `solve_ex` for a singular matrix depend on each library's pivots.",
        "values",
        names=r"linalg\.(inv|solve)_ex",
        text="output 1",
        when=is_deficient,
    ),
    Difference(
        "Which row becomes the pivot of a column with NaN, or with equal numbers, depends on the library.",
        "values",
        names=r"linalg\.ldl_factor(_ex)?",
        when=lambda call: not_finite(call) and answers_as(*[finite_ones(call)] * 2),
    ),
    Difference(
        "A singular matrix that rounding makes regular in one library is refused by the other.",
        "accepted|refused",
        names=r"linalg\.(inv|solve|tensorsolve|tensorinv)|(Tensor\.)?inverse",
        text="singular",
        when=is_deficient,
    ),
    Difference(
        "A singular matrix that rounding makes regular in one library is refused by the other.",
        "accepted|refused",
        names=r"(linalg\.|Tensor\.)?cholesky",
        text="not positive-definite",
        when=is_barely_definite,
    ),
    Difference(
        "PyTorch's `linalg.vecdot` of two vectors does not check the dimension.",
        "refused",
        names=r"linalg\.vecdot",
        text="Dimension out of range",
        when=lambda call: all(t.ndim == 1 for t in leaves(call.args)),
    ),
    Difference(
        "PyTorch's `solve_triangular` casts B to A's dtype; we refuse another dtype, as all its other solvers do.",
        "refused",
        names=r"linalg\.solve_triangular",
        text="to have the same dtype",
    ),
    Difference(
        "The result of `cholesky_solve` or `solve_triangular` with a division by 0 is infinite or NaN, depending on the order of each "
        "library's sums.",
        "values",
        names=r"(Tensor\.)?(cholesky_solve|triangular_solve)|linalg\.solve_triangular",
        text=r"\((-?inf|nan)[-+nafj0.]*\), expected .*\((-?inf|nan)",
        when=lambda call: any(
            bool((t.diagonal(dim1=-2, dim2=-1) == 0).any())
            for t in leaves((call.args[:2], call.kwargs))
            if t.ndim > 1 and t.shape[-1] == t.shape[-2]
        ),
        finite=True,
    ),
    Difference(
        "The determinant of a singular matrix is 0 or a rounding error of any sign, and so is its logarithm.",
        "gradient values",
        names=r"(Tensor\.|linalg\.)?(logdet|slogdet)",
        text="nan|inf",
        when=lambda call: (
            is_singular(call)
            and bool((real.linalg.matrix_rank(call.args[0]) < call.args[0].shape[-1]).all())
        ),
    ),
    Difference(
        "The gradient of `qr` loses digits in proportion to the ratio of the largest to the smallest diagonal element "
        "of R.",
        "gradient values",
        names=r"(Tensor\.|linalg\.)?qr",
        when=lambda call: bool((real.linalg.cond(call.args[0].detach()) > 1e3).any()),
        finite=True,
    ),
    Difference(
        "Eigenvectors and singular vectors are determined only up to sign or phase.",
        "gradient values",
        names=r"linalg\.svdvals",
        when=is_deficient,  # whose smallest singular value, 0, has a gradient of any sign
    ),
    Difference(
        "NaN, infinity and overflow propagate through linear algebra, attention and Fourier transforms as in each "
        "library's routines.",
        "values",
        names=r"(.*\.)?matrix_exp",
        when=lambda call: not_finite(call) and answers_as(*[tame_ones(call)] * 2),
    ),
)
