"""Differences that are known and meant, as data: `docs/torch-differences.md` lists them.

Each is a case where PyTorch itself is at fault, where the answer is an accident of its code, or
where we do more than it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch as real

from ..oracle import leaves
from .calls import Call
from .judging import Finding, answers_as, in_wider_types, of_twin


@dataclass(frozen=True)
class Difference:
    """A known difference.

    Attributes:
        reason: why it is one, as on the page
        kinds: of findings, as a pattern
        names: of functions, as a pattern
        text: what the finding says, as a pattern
        when: of which calls; None: all
        instead: another call, which PyTorch must answer as we answer this one
    """

    reason: str
    kinds: str
    names: str = ".*"
    text: str = ""
    when: Callable[[Call], bool] | None = None
    instead: Callable[[Call], Call] | None = None

    def covers(self, call: Call, finding: Finding) -> bool:
        """Whether a finding is this difference."""
        return (
            re.fullmatch(self.kinds, finding.kind) is not None
            and re.fullmatch(self.names, call.name) is not None
            and re.search(self.text, finding.text) is not None
            and (self.when is None or self.when(call))
            and (self.instead is None or answers_as(call, self.instead(call)))
        )


def _has_type(*dtypes: Any) -> Callable[[Call], bool]:
    return lambda call: any(t.dtype in dtypes for t in leaves((call.args, call.kwargs)))


def _not_finite(call: Call) -> bool:
    """Whether NaN or infinity go in."""
    given = leaves((call.args, call.kwargs))
    return any(not bool(t.detach().isfinite().all()) for t in given) or any(
        isinstance(v, float) and not abs(v) < 3.5e38 for v in (*call.args, *call.kwargs.values())
    )


def _is_extreme(call: Call) -> bool:
    """Whether NaN, infinity or numbers go in whose products overflow."""
    given = [t.detach() for t in leaves((call.args, call.kwargs)) if t.numel()]
    huge = any(isinstance(v, int) and abs(v) > 2**31 for v in (*call.args, *call.kwargs.values()))
    return (
        _not_finite(call)
        or huge
        or any(
            float(t.abs().max()) > float(real.finfo(t.dtype).max) ** 0.5
            for t in given
            if t.is_floating_point() or t.is_complex()
        )
    )


def _has_smallest(call: Call) -> bool:
    """Whether the smallest number of a signed type goes in, which has no absolute value."""
    given = leaves((call.args, call.kwargs))
    whole = [
        t for t in given if not (t.is_floating_point() or t.is_complex() or t.dtype is real.bool)
    ]
    return any(t.numel() and real.iinfo(t.dtype).min == t.min().item() < 0 for t in whole)


def _in_order(call: Call) -> bool:
    """Whether the rows that a call searches in are in order."""
    place, name = (0, "sorted_sequence") if call.name == "searchsorted" else (1, "boundaries")
    rows = call.args[place] if len(call.args) > place else call.kwargs[name]
    return bool((rows[..., 1:] >= rows[..., :-1]).all())


def _has_zero(call: Call) -> bool:
    """Whether 0 goes in."""
    return any(bool((t == 0).any()) for t in leaves((call.args, call.kwargs)) if t.numel())


def _has_empty(call: Call) -> bool:
    return any(not t.numel() for t in leaves((call.args, call.kwargs)))


def _no_freedom(call: Call) -> bool:
    """Whether a correction is as large as the number of elements."""
    numbers = [v for v in (*call.args, *call.kwargs.values()) if isinstance(v, (int, float))]
    return bool(numbers) and max(numbers) >= min(call.args[0].shape, default=1)


def _is_complex(call: Call) -> bool:
    return any(t.is_complex() for t in leaves((call.args, call.kwargs)))


_CLEAN = r"raised (Type|Runtime|Index|Value|NotImplemented|LinAlg|Memory)Error\((?!ufunc|operands|could not broadcast|negative dim|shape mismatch|Invalid|object too|setting an|cannot reshape|Cannot cast)"
_MATRICES = r"linalg\.(?!cross|diagonal|vecdot|vander|vector_norm)\w+|(Tensor\.)?(p?inverse|cholesky\w*|lu|lu_solve|svd|qr|geqrf|ormqr|orgqr|det|(slog|log)det|matrix_exp|matrix_power|triangular_solve|lobpcg|(pca|svd)_lowrank)"
"""Functions that factorize matrices, or multiply several of them."""

DIFFERENCES = (
    Difference(
        "PyTorch has no kernel for a type, and we compute: half precision in some special functions, unsigned "
        "whole numbers in most operations.",
        "(gradient )?accepted",
        text=r"not implemented for '|not supported for|dtype .*not supported|Could not run 'aten::|Promotion for uint16",
        instead=in_wider_types,
    ),
    Difference(
        "PyTorch has no derivative of some in-place functions whose plain twins have one (`asinh_`, `atanh_`, of "
        "types that are promoted).",
        "gradient accepted",
        names=r"(Tensor\.)?(a|arc)(sinh|cosh|tanh)_",
        text="inplace version of",
        instead=of_twin(""),
    ),
    Difference(
        "PyTorch fails inside its derivative: whole numbers in `nansum`, `addcdiv` and `addr` beside floating point, "
        "targets of losses that are of another type.",
        "gradient accepted",
        text="Expected isFloatingType|torch boolean negative|Found dtype|can't be cast to the desired output|must have the same dtype",
    ),
    Difference(
        "PyTorch's autograd refuses some types that we differentiate: unsigned whole numbers beside floating point, "
        "complex results of some functions.",
        "(gradient )?accepted",
        text="Autograd not support dtype|does not support automatic differentiation for outputs with complex",
    ),
    Difference(
        "Both refuse a call that is wrong; PyTorch names another of its faults, or the same one with another "
        "class of error.",
        "(gradient )?error class",
        text=_CLEAN,
    ),
    Difference(
        "Memory that nobody has filled holds anything.",
        "(written )?values",
        names=r"(Tensor\.)?(new_)?empty\w*",
    ),
    Difference(
        "There are no complex numbers in half precision here.",
        "(gradient )?(dtype|accepted|refused|error class)",
        text="complex32|ComplexHalf",
    ),
    Difference(
        "PyTorch's matrix exponential of two-byte floats is NaN.",
        "(gradient )?values",
        names=r"(.*\.)?matrix_exp",
        when=_has_type(real.float16, real.bfloat16),
    ),
    Difference(
        "`conj`, and what conjugates, is a copy here; PyTorch marks a view as conjugated.",
        "aliasing",
        names=r"(Tensor\.)?(conj|adjoint)",
        text="does not share",
        when=_is_complex,
    ),
    Difference(
        "Where a derivative is 0 everywhere, one library says so with zeros and the other with None.",
        "gradient (there|missing)",
        text="zero: True",
    ),
    Difference(
        "PyTorch cannot grow an `out=` tensor whose memory came from elsewhere.",
        "accepted|error class",
        text="Trying to resize storage",
    ),
    Difference(
        "Functions that PyTorch composes of others take `out=` beside inputs that require grad, and lose the "
        "gradient; we refuse, as most functions do.",
        "refused",
        text="functions with out=... arguments don't support automatic differentiation",
    ),
    Difference(
        "PyTorch does not record `logical_and_` and its like: they write into leaves that require grad, and the "
        "gradient passes as if nothing had been written.",
        "refused|gradient values",
        names=r"(Tensor\.)?logical_(and|or|xor|not)_",
        text=r"leaf Variable|: np\.\w+\([-+0.j]*\), expected",
    ),
    Difference(
        "Whole numbers require grad after PyTorch has compared them in place with what does, or filled them with it.",
        "requires_grad|gradient there|gradient missing",
        names=r"(Tensor\.)?(eq|ne|lt|le|gt|ge|greater|less|greater_equal|less_equal|not_equal|fill)_",
        text="False, expected True|zero: True",
    ),
    Difference(
        "NaN and infinity, and sums that overflow, spread within linear algebra, attention and Fourier transforms as "
        "each library's routines meet them.",
        "(gradient |written )?values",
        text=r"nan|inf|e\+[1-9]\d",
        names=_MATRICES
        + r"|fft\.\w+|(Tensor\.)?(\w*mm|\w*mv|\w*bmm|dot|vdot|inner|outer|ger|addr|matmul|__r?matmul__|tensordot|einsum|cross|renorm|i?stft|cdist|kron|chain_matmul|vecdot|linear|bilinear|conv\w*|(frobenius_|nuclear_)?norm)_?|nn\.functional\.(conv\w*|linear|bilinear|scaled_dot_product_attention|multi_head_attention_forward)|linalg\.cross",
        when=_is_extreme,
    ),
    Difference(
        "NaN and infinity, and sums that overflow, spread within linear algebra, attention and Fourier transforms as "
        "each library's routines meet them.",
        "(gradient )?(accepted|refused|error class)",
        names=_MATRICES,
        when=_is_extreme,
    ),
    Difference(
        "Complex numbers with infinite or NaN parts: products and quotients follow each library's formula.",
        "(gradient |written )?values",
        text=r"(nan|inf)",
        when=lambda call: _is_complex(call) and _not_finite(call),
    ),
    Difference(
        "PyTorch has no derivative of a function that has one here (0, of drawn numbers).",
        "gradient accepted",
        names=r"(Tensor\.)?(bernoulli|binomial|multinomial|normal|poisson|rrelu\w*|\w*dropout)_?",
        text="derivative for .* is not implemented",
    ),
    Difference(
        "The gradient of `as_strided_scatter` by its input goes to what was overwritten, in PyTorch.",
        "gradient values",
        names=r"(Tensor\.)?as_strided_scatter",
    ),
    Difference(
        "`addbmm_` gives its tensor the shape of the product, in PyTorch; here a write keeps the shape.",
        "refused",
        names=r"Tensor\.addbmm_",
        text="doesn't match the broadcast shape",
    ),
    Difference(
        "PyTorch does not look at factors out of range where there is nothing to multiply, nor at a number that "
        "fills a single element of two bytes.",
        "refused",
        names=r"(Tensor\.)?(add\w*m[mv]_?|full\w*|fill_?|new_full|masked_fill_?|index_fill_?)",
        text="without overflow",
    ),
    Difference(
        "Numbers for modes that `grid_sampler` has not give PyTorch's result of memory that nobody has filled.",
        "refused",
        names=r"grid_sampler\w*",
        text="is none of",
    ),
    Difference(
        "PyTorch's cells of recurrent networks add biases of any shape that broadcasts.",
        "refused",
        names=r"\w+_cell",
        text="b_.h has shape",
    ),
    Difference(
        "`geqrf` and `qr` reflect a column of one element other than 0, or of zeros above one, the other way in "
        "PyTorch's library.",
        "values",
        names=r"(Tensor\.|linalg\.)?(geqrf|qr)",
        when=lambda call: any(bool((t == 0).any()) for t in leaves(call.args[:1])),
    ),
    Difference(
        "The factors of a singular matrix have no derivative.",
        "gradient values",
        names=r"(Tensor\.|linalg\.)?qr",
        when=lambda call: any(0 in t.stride() for t in leaves(call.args[:1])),
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
        when=_is_complex,
    ),
    Difference(
        "`histogram` with edges that are not in order, or NaN, counts by each library's search.",
        "values",
        names=r"(Tensor\.)?histogram(dd)?",
        when=lambda call: (
            not all(
                bool((e[1:] >= e[:-1]).all())
                for e in leaves((call.args[1:2], call.kwargs.get("bins")))
            )
        ),
    ),
    Difference(
        "Eigenvectors and singular vectors may point the other way.",
        "gradient values",
        names=r"(linalg\.|Tensor\.)?(eigh?|svd|pca_lowrank|svd_lowrank|lobpcg)",
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
        "PyTorch lets some functions write into memory that a tensor shows more than once.",
        "refused",
        text="more than one element of the written-to tensor",
    ),
    Difference(
        "The greatest common divisor with the smallest number of a type overflows in PyTorch: -2 for int8.",
        "(written )?values",
        names=r"(Tensor\.)?(gcd|lcm)_?",
        when=_has_smallest,
    ),
    Difference(
        "Sampling at coordinates that are NaN or infinite, or overflow, reads any pixel.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?grid_sampler?(_2d|_3d)?|nn\.functional\.grid_sample",
        when=_is_extreme,
    ),
    Difference(
        "Of equal elements, which one is found is not said.",
        "(written )?values",
        names=r"(Tensor\.)?(topk|kthvalue|median|nanmedian|mode|sort)",
        text="output 1",
    ),
    Difference(
        "Of equal elements, which one is found is not said.",
        "(written )?values",
        names=r"(Tensor\.)?argsort",
        when=lambda call: call.kwargs.get("stable") is not True,
    ),
    Difference(
        "PyTorch fails an assertion of its own, and asks to report a bug.",
        "(gradient )?(accepted|error class)",
        text="INTERNAL ASSERT FAILED",
    ),
    Difference(
        "PyTorch's `igamma`, `igammac`, `polygamma`, `zeta`, `remainder` and `fmod` are NaN at infinity or for huge "
        "numbers where there is a value; `igamma` and `igammac` of NaN are numbers at 0 and infinity.",
        "(written )?values",
        names=r"(Tensor\.|special\.)?(igammac?|gammaincc?|polygamma|zeta|remainder|fmod)_?|Tensor\.__[ir]?mod__",
        text=r"\(nan\)",
        when=_is_extreme,
    ),
    Difference(
        "PyTorch takes the mean of `var_mean`, `std_mean` and of normalizations step by step: of infinite numbers, or "
        "where a sum overflows, it is NaN.",
        "(gradient )?values",
        names=r"(Tensor\.)?(var|std)_mean|(native_|nn\.functional\.)?(group|layer|batch|instance)_norm",
        when=_is_extreme,
    ),
    Difference(
        "`mode` sorts NaN anywhere in PyTorch.",
        "values",
        names=r"(Tensor\.)?mode",
        when=lambda call: any(bool(t.isnan().any()) for t in leaves(call.args[:1])),
    ),
    Difference(
        "The derivative of a product with infinite elements and two that are 0 is NaN; PyTorch's `prod` says 0.",
        "gradient values",
        names=r"(Tensor\.)?prod",
        text=r"\(-?nan",
        when=lambda call: _not_finite(call) and _has_zero(call),
    ),
    Difference(
        "A singular matrix has no derivative of the logarithm of its determinant: PyTorch's is infinite.",
        "gradient values",
        names=r"(Tensor\.|linalg\.)?(logdet|slogdet)",
        text=r"\(nan\), expected .*inf",
    ),
    Difference(
        "PyTorch's gradient of `polar` by a negative length points the wrong way.",
        "gradient values",
        names="polar",
        when=lambda call: any(bool((t < 0).any()) for t in leaves(call.args[:1])),
    ),
    Difference(
        "PyTorch's 0 to a complex power of 0, and the gradient of 0 to a complex power, are NaN.",
        "(gradient |written )?values",
        names=r"(Tensor\.)?(pow|float_power|__[ir]?pow__)_?",
        text=r"expected .*nan",
        when=lambda call: _is_complex(call) and _has_zero(call),
    ),
    Difference(
        "PyTorch's gradient of `narrow_copy` from a place counted from the end is 0.",
        "gradient values",
        names=r"(Tensor\.)?narrow_copy",
        instead=of_twin("narrow"),
    ),
    Difference(
        "PyTorch's gradient of `vander` fails: it has written over what it needs.",
        "gradient accepted",
        names="vander",
        text="modified by an inplace operation",
    ),
    Difference(
        "PyTorch has a gradient by the source of a scatter only where the index is of the source's shape.",
        "gradient (accepted|error class)",
        names=r"(Tensor\.)?scatter\w*",
        text="returned an invalid gradient",
    ),
    Difference(
        "Some of PyTorch's functions fail where memory cannot be seen in one row: `isin` of unique elements, "
        "`take_along_dim` without a dimension, `native_group_norm`, `kron`, `matrix_exp`, the derivative of `max_unpool3d`.",
        "(gradient )?accepted",
        names=r"(Tensor\.|linalg\.)?(isin|take_along_dim|native_group_norm|kron|matrix_exp)|nn\.functional\.max_unpool\dd",
        text="view size is not compatible|is_contiguous",
    ),
    Difference(
        "PyTorch's `logsumexp` over an empty list of dimensions, and `norm_except_dim` of a dimension of size 0, "
        "fail inside.",
        "accepted",
        names=r"(Tensor\.|special\.)?(logsumexp|norm_except_dim)",
        text="doesn't match the broadcast shape|is ambiguous",
    ),
    Difference(
        "`torch.unique_consecutive(x, True)`, by place, does not give PyTorch's inverse.",
        "(result|shape|values|returned)",
        names="unique_consecutive",
        when=lambda call: len(call.args) > 1,
    ),
    Difference(
        "PyTorch's `segment_reduce` reads beyond its data.",
        "refused|values",
        names="_?segment_reduce",
        text="exceeds dimension size|must be non-negative",
    ),
    Difference(
        "PyTorch's batches of matrices may have different types where there are no elements.",
        "refused",
        names=r"(Tensor\.)?(\w*bmm|matmul|__r?matmul__)_?|linalg\.(matmul|multi_dot)",
        text="same dtype",
        when=_has_empty,
    ),
    Difference(
        "`x.__pow__(other=y)`, by name, is NotImplemented in PyTorch.",
        "result|refused",
        names=r"Tensor\.__i?pow__",
        when=lambda call: "other" in call.kwargs,
    ),
    Difference(
        "PyTorch's `torch.split` calls the method `split` of whatever it is given.",
        "refused|error class",
        names="split",
        text="'(str|bytes)' object",
    ),
    Difference(
        "PyTorch records results that do not depend on what requires grad: the second of `triangular_solve`, those "
        "of `native_group_norm`, `ormqr` without reflections.",
        "requires_grad",
        names=r"(Tensor\.)?(triangular_solve|native_group_norm|ormqr)",
        text="False, expected True",
    ),
    Difference(
        "PyTorch's Fourier transforms of empty tensors end in an error of MKL.",
        "(gradient )?(accepted|error class)",
        text="MKL FFT error",
    ),
    Difference(
        "PyTorch's `conv_tbc` and transposed convolutions of one and two dimensions take a bias of another type, and "
        "cast it; we refuse, as all its other convolutions do.",
        "refused",
        names=r"(nn\.functional\.)?conv_(transpose[12]d|tbc)|convolution",
        text="weight or bias type",
    ),
    Difference(
        "PyTorch has no derivative of `scatter` that multiplies, `native_channel_shuffle` and the remainder of a number "
        "by a tensor; here they have one.",
        "gradient accepted",
        names=r"(Tensor\.)?(scatter_?|native_channel_shuffle|__rmod__|remainder)|nn\.functional\.native_channel_shuffle",
        text="derivative for .* is not implemented",
    ),
    Difference(
        "PyTorch has no derivative of `elu_`, `celu_` and `leaky_relu_` with a negative slope, since it keeps the result "
        "alone.",
        "gradient accepted",
        text="In-place (elu|leakyReLu) backward calculation is triggered with a negative slope",
    ),
    Difference(
        "PyTorch's polynomials of NaN are what lies in memory.",
        "values",
        names=r"special\.(\w*chebyshev|laguerre|legendre)_polynomial_\w",
        when=_not_finite,
    ),
    Difference(
        "Laguerre's and Legendre's polynomials of degrees above a million are refused; PyTorch computes for minutes.",
        "refused",
        names=r"special\.\w*polynomial_\w",
        text="takes too long",
    ),
    Difference(
        "`lu_unpack` with too few pivots reads past them in PyTorch.",
        "refused|error class",
        names=r"lu_unpack",
        text="expected pivots of shape",
    ),
    Difference(
        "The derivatives of `logit`, `hardswish`, `hardtanh`, `relu6`, `hardshrink`, `softshrink`, `elu`, `celu` and "
        "`selu` at NaN are NaN or a number in PyTorch, according to the place in memory.",
        "gradient values",
        names=r"(special\.|Tensor\.|nn\.functional\.)?(logit|hardswish|hardtanh|relu6|hardshrink|softshrink|elu|celu|selu)_?",
        when=_not_finite,
    ),
    Difference(
        "The derivatives of `i1` and `i1e` at NaN are numbers in PyTorch.",
        "gradient values",
        names=r"special\.i1e?",
        text=r"\(nan\)",
        when=_not_finite,
    ),
    Difference(
        "PyTorch's derivative of `celu` takes `alpha` for a number of four bytes, and that of `elu_` with a negative "
        "`scale`, or of `celu_` with an infinite `alpha`, is of another number than was given.",
        "gradient (accepted|values)",
        names=r"(nn\.functional\.)?(celu|elu)_?",
        when=lambda call: any(
            isinstance(v, (int, float)) and (v < 0 or float(real.tensor(v).float()) != v)
            for v in (*call.args, *call.kwargs.values())
        ),
    ),
    Difference(
        "PyTorch's derivative of `clamp` fails where the bounds are larger than the input.",
        "gradient accepted",
        names=r"(Tensor\.)?(clamp|clip)\w*",
        text="doesn't match the broadcast shape",
    ),
    Difference(
        "PyTorch's gradient of `ldexp` by whole exponents is a power of whole numbers: 0 for negative ones, and overflown.",
        "gradient values",
        names=r"(Tensor\.)?ldexp_?",
        when=lambda call: any(
            not t.is_floating_point() and bool(((t < 0) | (t >= 8 * t.element_size() - 1)).any())
            for t in leaves((call.args, call.kwargs))
        ),
    ),
    Difference(
        "PyTorch fails inside `index_put` without an index, and inside the derivative of `channel_shuffle` into no "
        "groups.",
        "(gradient )?accepted",
        text="called on an undefined Tensor|groups to divide channels in must be positive",
    ),
    Difference(
        "PyTorch's gradient of `cholesky` of matrices without elements that are not square fails.",
        "gradient accepted",
        names=r"(Tensor\.)?cholesky",
        text="must be batches of square matrices",
        when=_has_empty,
    ),
    Difference(
        "PyTorch's `fill_diagonal_` goes on past the end of memory that a tensor shows more than once.",
        "refused",
        names=r"Tensor\.fill_diagonal_",
        text="out of bounds for storage",
        when=lambda call: 0 in call.args[0].stride(),
    ),
    Difference(
        "What `tanhshrink` leaves of a small number is the rounding of tanh.",
        "values",
        names=r"nn\.functional\.tanhshrink",
    ),
    Difference(
        "PyTorch's `instance_norm` does not compare the types of running statistics; we refuse, as `batch_norm` does.",
        "refused",
        names=r"(nn\.functional\.)?instance_norm",
        text="mixed dtype",
    ),
    Difference(
        "PyTorch's derivative of `dist` with p = 0 fails.",
        "gradient accepted",
        names=r"(Tensor\.)?dist",
        text="Expected a proper Tensor but got None",
    ),
    Difference(
        "PyTorch lets a negative `label_smoothing` pass, and does nothing about it.",
        "refused",
        names=r"nn\.functional\.(linear_)?cross_entropy",
        text="label_smoothing must be between",
    ),
    Difference(
        "`cross_entropy` of one sample whose class is in a row of one fails inside PyTorch if labels are smoothed.",
        "accepted",
        names=r"nn\.functional\.(linear_)?cross_entropy",
        text=r"output with shape \[\] doesn't match",
    ),
    Difference(
        "PyTorch's median of no whole numbers is NaN, cast to them.",
        "values",
        names=r"(Tensor\.)?(nan)?median",
        when=lambda call: not call.args[0].numel() and not call.args[0].is_floating_point(),
    ),
    Difference(
        "PyTorch takes a whole number of at most eight bytes; here a larger one is as good where it is only compared.",
        "accepted",
        text="Overflow when unpacking long long",
    ),
    Difference(
        "A tensor that holds True stands for dimension 1 in PyTorch.",
        "refused",
        text="not Tensor|invalid combination of arguments",
        when=lambda call: any(
            t.dtype is real.bool and t.numel() == 1 for t in leaves((call.args[1:], call.kwargs))
        ),
    ),
    Difference(
        "PyTorch's `linalg.vecdot` of two vectors does not look at the dimension.",
        "refused",
        names=r"linalg\.vecdot",
        text="Dimension out of range",
        when=lambda call: all(t.ndim == 1 for t in leaves((call.args, call.kwargs))),
    ),
    Difference(
        "PyTorch's `solve_triangular` casts B to A's type; we refuse, as all its other solvers do.",
        "refused",
        names=r"linalg\.solve_triangular",
        text="to have the same dtype",
    ),
    Difference(
        "PyTorch's `abs` of complex numbers casts to `out=`; that of real ones does not, nor does ours.",
        "refused",
        names="abs|absolute",
        text="Expected out tensor to have dtype",
        when=_is_complex,
    ),
    Difference(
        "The derivative of a variance with no degrees of freedom left is infinite or NaN, which each formula finds "
        "in its own way.",
        "gradient values",
        names=r"(Tensor\.)?(var|std)(_mean)?",
        text=r"expected .*(nan|inf)",
        when=_no_freedom,
    ),
    Difference(
        "PyTorch's derivative of `lu_unpack` fails if nothing was unpacked.",
        "gradient accepted",
        names="lu_unpack",
        text="triu: input tensor must have at least 2 dimensions",
    ),
    Difference(
        "PyTorch loses the gradient of `view_copy` to a type, unless there is an `out=`.",
        "requires_grad",
        names="view_copy",
        text="False, expected True",
        when=lambda call: "out" in call.kwargs,
    ),
    Difference(
        "PyTorch's `cov` of one number with weights writes into that number, which is refused if it is a leaf.",
        "accepted",
        names=r"(Tensor\.)?cov",
        text="a view of a leaf Variable that requires grad is being used in an in-place operation",
    ),
    Difference(
        "PyTorch's `cov` of one number with weights writes 0 into that number.",
        "written values",
        names=r"(Tensor\.)?cov",
        text="input 0",
        when=lambda call: not call.args or call.args[0].numel() == 1,
    ),
    Difference(
        "`x.to(3, True)` takes the number for that of a type in PyTorch, not of a device.",
        "refused",
        names=r"Tensor\.to",
        text="there is no GPU here",
        when=lambda call: len(call.args) > 1 and type(call.args[1]) is int,
    ),
    Difference(
        "PyTorch takes a tensor of one element for a dimension or a flag of `std` and `var`.",
        "refused",
        names=r"(Tensor\.)?(std|var)(_mean)?",
        text="invalid combination of arguments",
        when=lambda call: len(call.args) > 1 and isinstance(call.args[1], real.Tensor),
    ),
    Difference(
        "Some of PyTorch's functions ignore an `out=` that is a number.",
        "refused",
        when=lambda call: isinstance(call.kwargs.get("out"), (int, float)),
    ),
    Difference(
        "`searchsorted` and `bucketize` in rows that are not in order find by each library's search.",
        "values",
        names=r"searchsorted|bucketize",
        when=lambda call: not _in_order(call),
    ),
    Difference(
        "PyTorch's `linear` takes a bias of another type, and casts it, where it does not lie in one row of memory; we "
        "refuse, as it does elsewhere.",
        "refused",
        names=r"nn\.functional\.linear",
        text="must have the same dtype",
        when=lambda call: len(call.args) > 2 or "bias" in call.kwargs,
    ),
    Difference(
        "PyTorch's mean of no losses of `multi_margin_loss` is what lies in memory.",
        "values",
        names=r"nn\.functional\.multi_margin_loss",
        when=_has_empty,
    ),
    Difference(
        "A norm whose order is NaN, or so large that powers overflow, is what each library's formula gives.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?pairwise_distance|norm_except_dim|cdist|(Tensor\.)?(dist|renorm)",
        when=lambda call: any(
            isinstance(v, (int, float)) and not abs(v) < 1e6
            for v in (*call.args, *call.kwargs.values())
        ),
    ),
    Difference(
        "Where there are no elements, some of PyTorch's functions do not look at types and values that they refuse "
        "elsewhere.",
        "refused",
        text="not implemented for|without pivoting|pivots must|Expected a floating point|Sort currently|expects p to be",
        when=_has_empty,
    ),
    Difference(
        "PyTorch's gradient of `embedding_bag` with `scale_grad_by_freq` divides by another row's count.",
        "gradient values",
        names=r"(nn\.functional\.)?_?embedding_bag(_forward_only)?",
        when=lambda call: call.kwargs.get("scale_grad_by_freq", True) is True,
    ),
    Difference(
        "PyTorch has no derivative of `embedding` that is both sparse and scaled by frequency.",
        "gradient accepted",
        text="scale_grad_by_freq not supported with sparse",
    ),
)
"""All of them."""


def reason_for(call: Call, finding: Finding) -> str | None:
    """Why a difference is known, or None."""
    return next((d.reason for d in DIFFERENCES if d.covers(call, finding)), None)
