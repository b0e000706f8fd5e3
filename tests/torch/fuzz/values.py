"""Known differences in what both libraries answer."""

from __future__ import annotations

import math

import mpmath
import torch as real

from ..oracle import leaves
from .difference import (
    MATRICES,
    Difference,
    has_bool_bound,
    has_empty,
    has_extreme_order,
    has_long,
    has_smallest,
    has_ties,
    has_tiny,
    has_type,
    has_wide_exponent,
    has_zero,
    in_order,
    is_complex,
    is_extreme,
    is_large,
    not_finite,
    put_places,
    shares_places,
)
from .judging import in_wider_types, without_out

VALUES = (
    Difference(
        "Of elements that are put in one place, which one stays is not said.",
        "values",
        names=r"(Tensor\.)?as_strided_scatter",
        when=shares_places,
    ),
    Difference(
        "PyTorch's `histogram` and `histogramdd` find bins by products that overflow.",
        "values",
        names=r"(Tensor\.)?histogram(dd)?",
        text="output 0",
        when=is_extreme,
    ),
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
        "PyTorch's `rrelu` halves the sum of whole bounds in four bytes; its derivative does not.",
        "(written )?values",
        names=r"(Tensor\.|nn\.functional\.)?rrelu_?",
        when=lambda call: any(type(v) is int and abs(v) > 2**24 for v in call.args[1:3]),
        finite=True,
    ),
    Difference(
        "PyTorch's incomplete gamma functions have nine digits from 20 on.",
        "(written )?values",
        names=r"(Tensor\.|special\.)?(igamma|gammainc)_?",
        when=lambda call: not is_large(call, 10_000),  # mpmath's series would not end
        truth=lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    ),
    Difference(
        "PyTorch's incomplete gamma functions have nine digits from 20 on.",
        "(written )?values",
        names=r"(Tensor\.|special\.)?(igammac|gammaincc)_?",
        when=lambda call: not is_large(call, 10_000),
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
        "`conj`, and what conjugates, is a copy here; PyTorch marks a view as conjugated.",
        "aliasing",
        names=r"(Tensor\.)?(conj|adjoint)",
        text="does not share",
        when=is_complex,
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
        "PyTorch's `remainder` and `fmod` are NaN where the quotient overflows.",
        "(written )?values",
        names=r"(Tensor\.)?(remainder|fmod)_?|Tensor\.__[ir]?mod__",
        text=r"expected .*\(nan\)",
        when=has_tiny,
    ),
    Difference(
        "PyTorch's `pixel_unshuffle` of no elements keeps the shape.",
        "shape",
        names=r"(nn\.functional\.)?pixel_unshuffle",
        when=has_empty,
    ),
    Difference(
        "PyTorch's `linear_cross_entropy` whose `options` cut the work takes the gradient of each piece apart.",
        "gradient values",
        names=r"nn\.functional\.linear_cross_entropy",
        text=r"\(-?(nan|inf)\)",
        when=lambda call: call.kwargs.get("options") is not None and not_finite(call),
        finite=True,
    ),
    Difference(
        "PyTorch takes the mean of `var_mean`, `std_mean` and of normalizations step by step: of infinite numbers, or "
        "where a sum overflows, it is NaN.",
        "(gradient )?values",
        names=r"(Tensor\.)?(var|std)_mean|(native_|nn\.functional\.)?(group|layer|batch|instance)_norm",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "`mode` sorts NaN anywhere in PyTorch.",
        "values",
        names=r"(Tensor\.)?mode",
        when=lambda call: any(bool(t.isnan().any()) for t in leaves(call.args[:1])),
    ),
    Difference(
        "PyTorch's `ctc_loss` is NaN or not for logarithms of probabilities that are infinite above or NaN.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?ctc_loss",
        when=lambda call: any(bool((~(t < math.inf)).any()) for t in leaves(call.args[:1])),
        finite=True,
    ),
    Difference(
        "Of elements that are put in one place, which one stays is not said.",
        "(gradient |written )?values",
        names=r"(Tensor\.)?put_?",
        when=lambda call: any(t.unique().numel() < t.numel() for t in put_places(call)),
    ),
    Difference(
        "PyTorch's `adaptive_avg_pool3d` adds in two bytes, where a sum overflows.",
        "values",
        names=r"(nn\.functional\.)?adaptive_avg_pool3d",
        text=r"expected .*inf",
        when=has_type(real.float16),
        finite=True,
    ),
    Difference(
        "A sum that overflows on the way is infinite or NaN by the order in which it is taken.",
        "values",
        names=r"(Tensor\.)?(nan)?(sum|mean)|nn\.functional\.(adaptive_)?avg_pool\dd",
        text=r"\((-?inf|nan)\), expected .*\((-?inf|nan)\)",
        when=lambda call: any(
            bool((t.detach().abs().nan_to_num(0, 0, 0) > real.finfo(t.dtype).max / 4).any())
            for t in leaves(call.args[:1])
            if t.is_floating_point()
        ),
        finite=True,
    ),
    Difference(
        "PyTorch's `isin` wraps a number around in the type of the elements that it looks among.",
        "values",
        names="isin",
        text=r"np\.False_, expected np\.True_",
        when=lambda call: any(
            isinstance(v, (int, float)) and not isinstance(v, bool) for v in call.args[:1]
        ),
    ),
    Difference(
        "PyTorch's Chebyshev polynomials V and W of degrees above 2**61 overflow in twice the degree.",
        "values",
        names=r"special\.(shifted_)?chebyshev_polynomial_[vw]",
        when=lambda call: any(
            isinstance(v, int) and v > 2**61 for v in (*call.args[1:], call.kwargs.get("n"))
        ),
    ),
    Difference(
        "PyTorch's `nanmedian` of memory that a tensor shows more than once is what lies in memory.",
        "values",
        names=r"(Tensor\.)?(nan)?median",
        when=lambda call: 0 in call.args[0].stride(),
    ),
    Difference(
        "PyTorch's norm of one number squares it in `pairwise_distance` and `triplet_margin_loss`: beyond the root of "
        "the largest it is infinite.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?(pairwise_distance|triplet_margin_loss)",
        text=r"expected .*inf",
        when=lambda call: is_extreme(call) and all(not t.ndim for t in leaves(call.args)),
    ),
    Difference(
        "Polynomials of degrees above 32 lose digits in the recurrence, in four bytes.",
        "values",
        names=r"special\.(laguerre|legendre)_polynomial_\w",
        when=lambda call: any(bool((t > 32).any()) for t in leaves(call.args[1:])),
        finite=True,
    ),
    Difference(
        "PyTorch's 0 to a complex power of 0, and the gradient of 0 to a complex power, are NaN.",
        "(gradient |written )?values",
        names=r"(Tensor\.)?(pow|float_power|__[ir]?pow__)_?",
        text=r"expected .*nan",
        when=lambda call: (
            is_complex(call)
            and (has_zero(call) or str(call.args[1:2]) in ("[0]", "[0.0]", "[False]"))
        ),
    ),
    Difference(
        "PyTorch's `narrow_copy` writes into `out=` as if it lay in one row of memory.",
        "(written )?values",
        names="narrow_copy",
        when=lambda call: "out" in call.kwargs and not call.kwargs["out"].is_contiguous(),
        instead=without_out,
    ),
    Difference(
        "PyTorch's `tril` and `triu` write batches into `out=` as if they lay in one row of memory.",
        "(written )?values",
        names="tril|triu",
        when=lambda call: "out" in call.kwargs and not call.kwargs["out"].is_contiguous(),
        instead=without_out,
    ),
    Difference(
        "PyTorch's polynomials of NaN are what lies in memory.",
        "values",
        names=r"special\.(\w*chebyshev|laguerre|legendre)_polynomial_\w",
        when=not_finite,
    ),
    Difference(
        "What `tanhshrink` leaves of a small number is the rounding of tanh.",
        "values",
        names=r"nn\.functional\.tanhshrink",
        finite=True,
    ),
    Difference(
        "PyTorch's median of no whole numbers is NaN, cast to them.",
        "values",
        names=r"(Tensor\.)?(nan)?median",
        when=lambda call: not call.args[0].numel() and not call.args[0].is_floating_point(),
    ),
    Difference(
        "`searchsorted` and `bucketize` in rows that are not in order find by each library's search.",
        "values",
        names=r"searchsorted|bucketize",
        when=lambda call: not in_order(call),
    ),
    Difference(
        "PyTorch's mean of no losses of `multi_margin_loss` and `multilabel_margin_loss` is what lies in memory.",
        "values",
        names=r"nn\.functional\.multi(label)?_margin_loss",
        text=r"\((nan|0\.0)\), expected",
        when=lambda call: not call.args[0].numel() or not call.args[0].shape[0],
    ),
    Difference(
        "PyTorch's `binary_cross_entropy_with_logits` of two-byte floats rounds at each step, until nothing is left.",
        "values",
        names=r"(nn\.functional\.)?binary_cross_entropy_with_logits",
        when=has_type(real.float16, real.bfloat16),
        instead=in_wider_types,
    ),
    Difference(
        "A distance that is the largest number but for its last digit is infinite or not.",
        "values",
        names=r"cdist|(nn\.functional\.)?pdist",
        text=r"1\.797693134\d+e\+308|3\.40282\d+e\+38",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "A norm whose order is NaN, or whose powers overflow or lose all digits, is what each library's formula gives.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?(pairwise_distance|triplet_margin_loss)|norm_except_dim|cdist|(Tensor\.)?(dist|renorm)",
        when=has_extreme_order,
    ),
    Difference(
        "What `cosine_embedding_loss` leaves of 1 is the rounding of the cosine.",
        "values",
        names=r"(nn\.functional\.)?cosine_embedding_loss",
        finite=True,
    ),
    Difference(
        "Where scores of attention overflow, PyTorch's kernel gives 0 for a row of which no share is a number.",
        "values",
        names=r"nn\.functional\.scaled_dot_product_attention",
        text=r"\(nan\), expected .*\(0\.0\)",
        when=is_extreme,
    ),
    Difference(
        "PyTorch's `polygamma` takes the lowest 32 bits of its order.",
        "(gradient |written )?values",
        names=r"(Tensor\.|special\.)?polygamma_?",
        when=lambda call: any(
            isinstance(v, int) and v >= 2**31 - 1 for v in (*call.args, *call.kwargs.values())
        ),
    ),
    Difference(
        "PyTorch's `std` of numbers whose squares overflow is infinite.",
        "values",
        names=r"(Tensor\.)?std",
        text=r"expected .*\(inf\)",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "PyTorch's `lerp` overflows on the way or not, according to the place in memory.",
        "(gradient |written )?values",
        names=r"(Tensor\.)?lerp_?",
        text="inf",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "Of equal elements, which one is found is not said.",
        "values",
        names=r"(Tensor\.)?multinomial",
        when=has_ties,
    ),
    Difference(
        "PyTorch's `ldexp` takes the lowest 32 bits of an exponent of eight bytes.",
        "(written )?values",
        names=r"(Tensor\.)?ldexp_?",
        when=has_wide_exponent,
    ),
    Difference(
        "PyTorch's `sub` negates `alpha` in eight bytes, where the smallest number has no opposite.",
        "(gradient |written )?values",
        names=r"(Tensor\.)?(r?sub(tract)?_?|__i?sub__|__rsub__)",
        when=has_long,
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
        "PyTorch's `cov` of one observation with weights writes 0 into it.",
        "written values",
        names=r"(Tensor\.)?cov",
        text=r"input 0 .*expected .*\(0[.0j+]*\)",
        when=lambda call: (
            call.args[0].shape[-1:] in ((), (1,))
            and any(call.kwargs.get(w) is not None for w in ("fweights", "aweights"))
        ),
    ),
)
"""Known differences in what both libraries answer."""
