"""Known differences in what both libraries answer."""

from __future__ import annotations

import math

import mpmath
import torch as real

from ..oracle import leaves
from .difference import (
    MATRICES,
    Difference,
    has_blank,
    has_bool_bound,
    has_empty,
    has_equal,
    has_extreme_order,
    has_long,
    has_nan_number,
    has_smallest,
    has_type,
    has_wide_exponent,
    has_zero,
    in_order,
    is_complex,
    is_extreme,
    is_large,
    is_singular,
    no_freedom,
    not_finite,
)
from .judging import of_twin, without_out

VALUES = (
    Difference(
        "PyTorch's `gelu` of negative numbers loses the digits that erf has in common with -1.",
        "values",
        names=r"nn\.functional\.gelu",
        truth=lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)),
    ),
    Difference(
        "PyTorch's `rrelu` computes with bounds that are True or False as such.",
        "(gradient |written )?values",
        names=r"(Tensor\.|nn\.functional\.)?rrelu_?",
        when=has_bool_bound,
    ),
    Difference(
        "PyTorch's incomplete gamma functions have nine digits from 20 on.",
        "(written )?values",
        names=r"(Tensor\.|special\.)?(igamma|gammainc)_?",
        truth=lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    ),
    Difference(
        "PyTorch's incomplete gamma functions have nine digits from 20 on.",
        "(written )?values",
        names=r"(Tensor\.|special\.)?(igammac|gammaincc)_?",
        truth=lambda a, x: mpmath.gammainc(a, x, regularized=True),
    ),
    Difference(
        "PyTorch's `ihfft2` and `ihfftn` do not fill `out=` where a dimension has one element.",
        "(written )?values",
        names=r"fft\.ihfft(2|n)",
        when=lambda call: "out" in call.kwargs,
        instead=without_out,
    ),
    Difference(
        "Memory that nobody has filled holds anything.",
        "(written )?values",
        names=r"(Tensor\.)?(new_)?empty\w*",
    ),
    Difference(
        "PyTorch's matrix exponential of two-byte floats is NaN.",
        "(gradient )?values",
        names=r"(.*\.)?matrix_exp",
        when=has_type(real.float16, real.bfloat16),
    ),
    Difference(
        "`conj`, and what conjugates, is a copy here; PyTorch marks a view as conjugated.",
        "aliasing",
        names=r"(Tensor\.)?(conj|adjoint)",
        text="does not share",
        when=is_complex,
    ),
    Difference(
        "Where a derivative is 0 everywhere, one library says so with zeros and the other with None.",
        "gradient (there|missing)",
        text="zero: True",
    ),
    Difference(
        "Whole numbers require grad after PyTorch has compared them in place with what does, or filled them with it.",
        "requires_grad|gradient there|gradient missing",
        names=r"(Tensor\.)?(eq|ne|lt|le|gt|ge|greater|less|greater_equal|less_equal|not_equal|fill|index_fill|masked_fill)_",
        text="False, expected True|zero: True",
    ),
    Difference(
        "NaN and infinity, and sums that overflow, spread within linear algebra, attention and Fourier transforms as "
        "each library's routines meet them.",
        "(gradient |written )?values",
        text=r"nan|inf|e\+[1-9]\d",
        names=MATRICES + r"|fft\.\w+|(Tensor\.)?i?stft",
        when=is_extreme,
    ),
    Difference(
        "NaN and infinity, and sums that overflow, spread within linear algebra, attention and Fourier transforms as "
        "each library's routines meet them.",
        "(gradient |written )?values",
        text=r"nan|inf|e\+[1-9]\d",
        names=r"(Tensor\.)?(\w*mm|\w*mv|\w*bmm|dot|vdot|inner|outer|ger|addr|matmul|__r?matmul__|tensordot|einsum|cross|renorm|cdist|kron|chain_matmul|vecdot|linear|bilinear|conv\w*|(frobenius_|nuclear_)?norm)_?|nn\.functional\.(conv\w*|linear|bilinear|embedding_bag|scaled_dot_product_attention|multi_head_attention_forward)|linalg\.cross",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "Complex numbers with infinite or NaN parts: products and quotients follow each library's formula.",
        "(gradient |written )?values",
        text=r"(nan|inf)",
        when=lambda call: is_complex(call) and not_finite(call),
        finite=True,
    ),
    Difference(
        "The gradient of `as_strided_scatter` by its input goes to what was overwritten, in PyTorch.",
        "gradient values",
        names=r"(Tensor\.)?as_strided_scatter",
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
        when=is_complex,
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
        "The greatest common divisor with the smallest number of a type overflows in PyTorch: -2 for int8.",
        "(written )?values",
        names=r"(Tensor\.)?(gcd|lcm)_?",
        when=has_smallest,
    ),
    Difference(
        "Sampling at coordinates that are NaN or infinite, or overflow, reads any pixel.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?grid_sampler?(_2d|_3d)?|nn\.functional\.grid_sample",
        when=is_extreme,
    ),
    Difference(
        "Of equal elements, which one is found is not said.",
        "(written )?values",
        names=r"(Tensor\.)?(topk|kthvalue|median|nanmedian|mode|sort)",
        text="output 1",
    ),
    Difference(
        "The order of `topk` with `sorted=False` is not said.",
        "(written )?values",
        names=r"(Tensor\.)?topk",
        when=lambda call: call.kwargs.get("sorted", call.args[4:5] != [False]) is False,
    ),
    Difference(
        "Of equal elements, which one is found is not said.",
        "(written )?values",
        names=r"(Tensor\.)?argsort",
        when=lambda call: call.kwargs.get("stable") is not True,
    ),
    Difference(
        "PyTorch's `igamma`, `igammac`, `polygamma`, `zeta`, `remainder` and `fmod` are NaN at infinity or for huge "
        "numbers where there is a value; `igamma` and `igammac` of NaN are numbers at 0 and infinity.",
        "(gradient |written )?values",
        names=r"(Tensor\.|special\.)?(igammac?|gammaincc?|polygamma|zeta|remainder|fmod)_?|Tensor\.__[ir]?mod__",
        text=r"\(nan\)",
        when=is_extreme,
    ),
    Difference(
        "PyTorch takes the mean of `var_mean`, `std_mean` and of normalizations step by step: of infinite numbers, or "
        "where a sum overflows, it is NaN.",
        "(gradient )?values",
        names=r"(Tensor\.)?(var|std)_mean|(native_|nn\.functional\.)?(group|layer|batch|instance)_norm",
        when=is_extreme,
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
        when=lambda call: not_finite(call) and has_zero(call),
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
        "PyTorch's derivative of `ldexp_` by the exponent overflows before it is multiplied by the logarithm of 2.",
        "gradient values",
        names=r"(Tensor\.)?ldexp_",
        text=r"expected .*\(-?inf\)",
        when=is_extreme,
    ),
    Difference(
        "PyTorch's `ldexp` takes the lowest 32 bits of an exponent of eight bytes.",
        "(written )?values",
        names=r"(Tensor\.)?ldexp_?",
        when=has_wide_exponent,
    ),
    Difference(
        "A label of `ctc_loss` that is the blank itself is counted once, or twice, at the last step.",
        "gradient values",
        names=r"(nn\.functional\.)?ctc_loss",
        when=has_blank,
    ),
    Difference(
        "PyTorch's shifted Chebyshev polynomials of degrees above 2**61 overflow in twice the degree.",
        "values",
        names=r"special\.shifted_chebyshev_polynomial_[vw]",
        when=lambda call: any(isinstance(v, int) and v > 2**61 for v in call.args[1:]),
    ),
    Difference(
        "PyTorch's `nanmedian` of memory that a tensor shows more than once is what lies in memory.",
        "values",
        names=r"(Tensor\.)?(nan)?median",
        when=lambda call: 0 in call.args[0].stride(),
    ),
    Difference(
        "PyTorch's norm of one number squares it in `pairwise_distance`: beyond the root of the largest it is infinite.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?pairwise_distance",
        text=r"expected .*inf",
        when=lambda call: is_extreme(call) and all(not t.ndim for t in leaves(call.args)),
    ),
    Difference(
        "PyTorch's derivative of `xlogy` at 0 is 0 also for the logarithm of a number that is NaN.",
        "gradient values",
        names=r"(Tensor\.|special\.)?xlogy_?",
        text=r"\(nan\), expected .*\(0\.0\)",
        when=has_nan_number,
    ),
    Difference(
        "The derivative of the power 0.5 at -0 is infinite of either sign, in two bytes and in four.",
        "gradient values",
        names=r"(Tensor\.)?(pow|float_power|__i?pow__)_?",
        text=r"\(-?inf\), expected .*\(-?inf\)",
        when=has_zero,
    ),
    Difference(
        "Polynomials of degrees above 32 lose digits in the recurrence, in four bytes.",
        "values",
        names=r"special\.(laguerre|legendre)_polynomial_\w",
        when=lambda call: any(bool((t > 32).any()) for t in leaves(call.args[1:])),
        finite=True,
    ),
    Difference(
        "The solution of a system with infinite or overflowing coefficients is what each library's pivots leave of it.",
        "(gradient )?values",
        names=r"linalg\.(tensorsolve|tensorinv|solve(_ex)?|inv(_ex)?|lstsq)|(Tensor\.)?(inverse|lu_solve)",
        when=not_finite,
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
        when=lambda call: is_complex(call) and has_zero(call),
    ),
    Difference(
        "PyTorch's gradient of `narrow_copy` from a place counted from the end is 0.",
        "gradient values",
        names=r"(Tensor\.)?narrow_copy",
        instead=of_twin("narrow"),
    ),
    Difference(
        "PyTorch records results that do not depend on what requires grad: the second of `triangular_solve`, those "
        "of `native_group_norm`, `ormqr` without reflections.",
        "requires_grad",
        names=r"(Tensor\.)?(triangular_solve|native_group_norm|ormqr)",
        text="False, expected True",
    ),
    Difference(
        "PyTorch's `linspace` and `logspace` between tensors record their `out=`, without a derivative.",
        "requires_grad",
        names="linspace|logspace",
        text="False, expected True",
        when=lambda call: "out" in call.kwargs,
    ),
    Difference(
        "PyTorch's `native_group_norm` reads weights and biases as if they lay in one row of memory.",
        "(gradient )?values",
        names="native_group_norm",
        when=lambda call: any(
            t.ndim == 1 and not t.is_contiguous() for t in leaves((call.args, call.kwargs))
        ),
    ),
    Difference(
        "PyTorch's gradient of `var` and `std` over an empty list of dimensions, which stands for all, divides by 1.",
        "gradient values",
        names=r"(Tensor\.)?(var|std)(_mean)?",
        when=lambda call: any(
            v in ([], ())
            for v in (*call.args[1:2], call.kwargs.get("dim"))
            if type(v) in (list, tuple)
        ),
    ),
    Difference(
        "Which row is the pivot of a column with NaN, or of equal numbers, is each library's choice.",
        "values",
        names=r"(Tensor\.|linalg\.)?lu(_factor(_ex)?)?",
        when=lambda call: not_finite(call) or has_equal(call),
    ),
    Difference(
        "The derivative of `logit` at 0 and -0 is infinite of either sign in PyTorch, according to the place in memory.",
        "gradient values",
        names=r"(Tensor\.|special\.)?logit_?",
        text=r"\(-?inf\), expected .*\(-?inf\)",
        when=has_zero,
    ),
    Difference(
        "PyTorch's `narrow_copy` writes into `out=` as if it lay in one row of memory.",
        "(written )?values",
        names="narrow_copy",
        when=lambda call: "out" in call.kwargs and not call.kwargs["out"].is_contiguous(),
        instead=without_out,
    ),
    Difference(
        "PyTorch's `sub` negates `alpha` in eight bytes, where the smallest number has no opposite.",
        "(gradient |written )?values",
        names=r"(Tensor\.)?(r?sub(tract)?_?|__i?sub__|__rsub__)",
        when=has_long,
    ),
    Difference(
        "The matrix exponential of large matrices loses digits with each squaring, in PyTorch more than here.",
        "(gradient )?values",
        names=r"(.*\.)?matrix_exp",
        when=is_large,
    ),
    Difference(
        "Where numbers overflow or are infinite, a gradient that is infinite by one formula is NaN by another.",
        "gradient values",
        text=r"\((-?inf|nan)\), expected .*\((-?inf|nan)\)",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "PyTorch's polynomials of NaN are what lies in memory.",
        "values",
        names=r"special\.(\w*chebyshev|laguerre|legendre)_polynomial_\w",
        when=not_finite,
    ),
    Difference(
        "The derivatives of `logit`, `hardswish`, `hardtanh`, `relu6`, `hardshrink`, `softshrink`, `elu`, `celu` and "
        "`selu` at NaN are NaN or a number in PyTorch, according to the place in memory.",
        "gradient values",
        names=r"(special\.|Tensor\.|nn\.functional\.)?(logit|hardswish|hardtanh|relu6|hardshrink|softshrink|elu|celu|selu)_?",
        when=not_finite,
    ),
    Difference(
        "The derivatives of `i1` and `i1e` at NaN are numbers in PyTorch.",
        "gradient values",
        names=r"special\.i1e?",
        text=r"\(nan\)",
        when=not_finite,
    ),
    Difference(
        "PyTorch's gradient of `ldexp` by whole exponents is a power of whole numbers: 0 for negative ones, and overflown.",
        "gradient values",
        names=r"(Tensor\.)?ldexp_?",
        when=lambda call: any(
            not (t.is_floating_point() or t.is_complex())
            and bool(((t < 0) | (t >= 8 * t.element_size() - 1)).any())
            for t in leaves((call.args, call.kwargs))
        ),
    ),
    Difference(
        "What `tanhshrink` leaves of a small number is the rounding of tanh.",
        "values",
        names=r"nn\.functional\.tanhshrink",
    ),
    Difference(
        "PyTorch's median of no whole numbers is NaN, cast to them.",
        "values",
        names=r"(Tensor\.)?(nan)?median",
        when=lambda call: not call.args[0].numel() and not call.args[0].is_floating_point(),
    ),
    Difference(
        "The derivative of a variance with no degrees of freedom left is infinite or NaN, which each formula finds "
        "in its own way.",
        "gradient values",
        names=r"(Tensor\.)?(var|std)(_mean)?",
        text=r"expected .*(nan|inf)",
        when=no_freedom,
    ),
    Difference(
        "PyTorch loses the gradient of `view_copy` to a type, unless there is an `out=`.",
        "requires_grad",
        names="view_copy",
        text="False, expected True",
        when=lambda call: "out" in call.kwargs,
    ),
    Difference(
        "PyTorch's `cov` of one number with weights writes 0 into that number.",
        "written values",
        names=r"(Tensor\.)?cov",
        text="input 0",
        when=lambda call: not call.args or call.args[0].numel() == 1,
    ),
    Difference(
        "`searchsorted` and `bucketize` in rows that are not in order find by each library's search.",
        "values",
        names=r"searchsorted|bucketize",
        when=lambda call: not in_order(call),
    ),
    Difference(
        "PyTorch's mean of no losses of `multi_margin_loss` is what lies in memory.",
        "values",
        names=r"nn\.functional\.multi_margin_loss",
        when=has_empty,
    ),
    Difference(
        "A norm whose order is NaN, or whose powers overflow or lose all digits, is what each library's formula gives.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?pairwise_distance|norm_except_dim|cdist|(Tensor\.)?(dist|renorm)",
        when=has_extreme_order,
    ),
    Difference(
        "PyTorch's gradient of `embedding_bag` with `scale_grad_by_freq` divides by another row's count.",
        "gradient values",
        names=r"(nn\.functional\.)?_?embedding_bag(_forward_only)?",
        when=lambda call: call.kwargs.get("scale_grad_by_freq", True) is True,
    ),
)
"""Known differences in what both libraries answer."""
