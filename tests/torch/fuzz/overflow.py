"""Known differences in answers for NaN, infinity, and numbers that overflow on the way."""

from __future__ import annotations

import math

import torch as real

from ..oracle import leaves
from .difference import (
    MATRICES,
    Difference,
    has_extreme_order,
    has_tiny,
    has_zero,
    is_complex,
    is_extreme,
    not_finite,
)

OVERFLOW = (
    Difference(
        "PyTorch's `histogram` and `histogramdd` compute bins by products that overflow.",
        "values",
        names=r"(Tensor\.)?histogram(dd)?",
        text="output 0",
        when=is_extreme,
    ),
    Difference(
        "NaN, infinity and overflow propagate through linear algebra, attention and Fourier transforms as in each "
        "library's routines.",
        "(gradient |written )?values",
        text=r"nan|inf|e\+[1-9]\d",
        names=MATRICES + r"|fft\.\w+|(Tensor\.)?i?stft",
        when=is_extreme,
    ),
    Difference(
        "NaN, infinity and overflow propagate through linear algebra, attention and Fourier transforms as in each "
        "library's routines.",
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
        "PyTorch's `igamma`, `igammac`, `polygamma`, `zeta`, `remainder` and `fmod` are NaN at infinity or for huge "
        "numbers although there is a value; `igamma` and `igammac` of NaN are numbers at 0 and infinity.",
        "(gradient |written )?values",
        names=r"(Tensor\.|special\.)?(igammac?|gammaincc?|polygamma|zeta|remainder|fmod)_?|Tensor\.__[ir]?mod__",
        text=r"\(nan\)",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "PyTorch's `remainder` and `fmod` are NaN if the quotient overflows.",
        "(written )?values",
        names=r"(Tensor\.)?(remainder|fmod)_?|Tensor\.__[ir]?mod__",
        text=r"expected .*\(nan\)",
        when=has_tiny,
        finite=True,
    ),
    Difference(
        "PyTorch computes the mean of `var_mean`, `std_mean` and of normalizations incrementally: for infinite "
        "numbers, or if a sum overflows, it is NaN.",
        "(gradient )?values",
        names=r"(Tensor\.)?(var|std)_mean|(native_|nn\.functional\.)?(group|layer|batch|instance)_norm",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "PyTorch's `ctc_loss` may be NaN or not for log probabilities that are +inf or NaN.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?ctc_loss",
        when=lambda call: any(bool((~(t < math.inf)).any()) for t in leaves(call.args[:1])),
        finite=True,
    ),
    Difference(
        "A sum that overflows in between is infinite or NaN, depending on the order of addition.",
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
        "PyTorch's norm of a single number squares it in `pairwise_distance` and `triplet_margin_loss`, which "
        "overflows.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?(pairwise_distance|triplet_margin_loss)",
        text=r"expected .*inf",
        when=lambda call: is_extreme(call) and all(not t.ndim for t in leaves(call.args)),
    ),
    Difference(
        "PyTorch's 0 to a complex power of 0, and the gradient of 0 to a complex power, are NaN.",
        "(gradient |written )?values",
        names=r"(Tensor\.)?(pow|float_power|__[ir]?pow__)_?",
        text=r"expected .*nan",
        when=lambda call: (
            is_complex(call)
            and (has_zero(call) or any(str(v) in ("0", "0.0", "False") for v in call.args[:2]))
        ),
    ),
    Difference(
        "A distance close to the largest number overflows or not.",
        "values",
        names=r"cdist|(nn\.functional\.)?pdist",
        text=r"1\.797693134\d+e\+308|3\.40282\d+e\+38",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "A norm whose order is NaN, or whose powers overflow or underflow, depends on each library's formula.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?(pairwise_distance|triplet_margin_loss|pdist)|norm_except_dim|cdist|(Tensor\.)?(dist|renorm_?)",
        when=has_extreme_order,
        finite=True,
    ),
    Difference(
        "If attention scores overflow, PyTorch's kernel returns 0 for a row whose weights are all NaN.",
        "values",
        names=r"nn\.functional\.scaled_dot_product_attention",
        text=r"\(nan\), expected .*\(0\.0\)",
        when=is_extreme,
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
        "PyTorch's `lerp`, and its `add` and `sub` with `alpha`, overflow in between or not, depending on the position "
        "in memory.",
        "(gradient |written )?values",
        names=r"(Tensor\.)?lerp_?",
        text="inf",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "PyTorch's `lerp`, and its `add` and `sub` with `alpha`, overflow in between or not, depending on the position "
        "in memory.",
        "(written )?values",
        names=r"(Tensor\.)?(add|sub(tract)?|rsub)_?",
        text=r"\((nan|-?inf)\), expected .*\((nan|-?inf)\)",
        when=lambda call: is_extreme(call) and "alpha" in call.kwargs,
        finite=True,
    ),
    Difference(
        "PyTorch's derivative of `atanh` of complex numbers whose squares overflow is NaN.",
        "gradient values",
        names=r"(Tensor\.)?(arc|a)tanh_?",
        text=r"expected .*nan",
        when=lambda call: is_complex(call) and is_extreme(call),
        finite=True,
    ),
)
"""Known differences in answers for NaN, infinity, and numbers that overflow on the way."""
