"""Known differences in what both libraries answer."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import mpmath
import torch as real

from ..oracle import leaves
from .calls import Call
from .difference import (
    Difference,
    has_bool_bound,
    has_empty,
    has_long,
    has_smallest,
    has_type,
    has_wide_exponent,
    is_complex,
    not_finite,
)
from .judging import in_wider_types, without_out


def with_long_indices(call: Call) -> Call:
    """The same call with int64 for int32."""
    wide = [
        v.long() if isinstance(v, real.Tensor) and v.dtype is real.int32 else v for v in call.args
    ]
    return replace(call, args=wide)


def lower_gamma(a: float, x: float) -> Any:
    """The lower incomplete gamma function; NaN where mpmath's series would not end."""
    return mpmath.gammainc(a, 0, x, regularized=True) if max(a, x) <= 10_000 else math.nan


def upper_gamma(a: float, x: float) -> Any:
    """The upper incomplete gamma function; NaN where mpmath's series would not end."""
    return mpmath.gammainc(a, x, regularized=True) if max(a, x) <= 10_000 else math.nan


VALUES = (
    Difference(
        "PyTorch's `gelu` of negative numbers is inaccurate: 1 + erf(x) cancels.",
        "values",
        names=r"nn\.functional\.gelu",
        truth=lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)),
    ),
    Difference(
        "PyTorch's `rrelu` computes with boolean bounds as booleans.",
        "(gradient |written )?values",
        names=r"(Tensor\.|nn\.functional\.)?rrelu_?",
        when=has_bool_bound,
    ),
    Difference(
        "PyTorch's `rrelu` adds integer bounds in int64, and halves the sum in float32; its derivative does not.",
        "(written )?values",
        names=r"(Tensor\.|nn\.functional\.)?rrelu_?",
        when=lambda call: any(type(v) is int and abs(v) > 2**24 for v in call.args[1:3]),
        instead=lambda call: replace(
            call, args=[*call.args[:1], *map(float, call.args[1:3]), *call.args[3:]]
        ),
    ),
    Difference(
        "PyTorch's incomplete gamma functions are accurate to nine digits for arguments from 20 on.",
        "(written )?values",
        names=r"(Tensor\.|special\.)?(igamma|gammainc)_?",
        truth=lower_gamma,
    ),
    Difference(
        "PyTorch's incomplete gamma functions are accurate to nine digits for arguments from 20 on.",
        "(written )?values",
        names=r"(Tensor\.|special\.)?(igammac|gammaincc)_?",
        truth=upper_gamma,
    ),
    Difference(
        "PyTorch's `ihfft2` and `ihfftn` of a single dimension do not write to `out=`.",
        "(written )?values|shape",
        names=r"fft\.ihfft(2|n)",
        when=lambda call: "out" in call.kwargs,
        instead=without_out,
    ),
    Difference(
        "`conj`, and functions that conjugate, copy here; PyTorch returns a lazily conjugated view.",
        "aliasing",
        names=r"(Tensor\.)?(conj|adjoint)",
        text="does not share",
        when=is_complex,
    ),
    Difference(
        "PyTorch's greatest common divisor with the smallest integer of a dtype overflows: -2 for int8.",
        "(written )?values",
        names=r"(Tensor\.)?(gcd|lcm)_?",
        when=has_smallest,
    ),
    Difference(
        "PyTorch's `pixel_unshuffle` of an empty tensor keeps the shape.",
        "shape",
        names=r"(nn\.functional\.)?pixel_unshuffle",
        when=has_empty,
    ),
    Difference(
        "PyTorch's `linear_cross_entropy` with chunking `options` computes the gradient of each chunk separately.",
        "gradient values",
        names=r"nn\.functional\.linear_cross_entropy",
        text=r"\(-?(nan|inf)\)",
        when=lambda call: call.kwargs.get("options") is not None and not_finite(call),
        finite=True,
    ),
    Difference(
        "PyTorch's `adaptive_avg_pool3d` adds in half precision, where a sum overflows.",
        "values",
        names=r"(nn\.functional\.)?adaptive_avg_pool3d",
        text=r"expected .*inf",
        when=has_type(real.float16),
        finite=True,
    ),
    Difference(
        "PyTorch's `isin` casts a number, with wraparound, to the dtype of the elements.",
        "values",
        names="isin",
        text=r"np\.False_, expected np\.True_",
        when=lambda call: any(
            isinstance(v, (int, float)) and not isinstance(v, bool)
            for v in (*call.args[:2], *call.kwargs.values())
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
        "Polynomials of degrees above 32 lose digits in the recurrence in float32.",
        "values",
        names=r"special\.(laguerre|legendre)_polynomial_\w",
        when=lambda call: any(bool((t > 32).any()) for t in leaves(call.args[1:])),
        finite=True,
    ),
    Difference(
        "PyTorch's `narrow_copy` writes to `out=` as if it were contiguous.",
        "(written )?values",
        names="narrow_copy",
        when=lambda call: "out" in call.kwargs and not call.kwargs["out"].is_contiguous(),
        instead=without_out,
    ),
    Difference(
        "PyTorch's `tril` and `triu` write batches to `out=` as if it were contiguous.",
        "(written )?values",
        names="tril|triu",
        when=lambda call: "out" in call.kwargs and not call.kwargs["out"].is_contiguous(),
        instead=without_out,
    ),
    Difference(
        "For small numbers, `tanhshrink` returns the rounding error of tanh.",
        "values",
        names=r"nn\.functional\.tanhshrink",
        finite=True,
    ),
    Difference(
        "PyTorch's median of no integers is NaN, cast to an integer.",
        "values",
        names=r"(Tensor\.)?(nan)?median",
        when=lambda call: not call.args[0].numel() and not call.args[0].is_floating_point(),
    ),
    Difference(
        "PyTorch's `binary_cross_entropy_with_logits` in half precision rounds at each step, until nothing is left.",
        "values",
        names=r"(nn\.functional\.)?binary_cross_entropy_with_logits",
        when=has_type(real.float16, real.bfloat16),
        instead=in_wider_types,
    ),
    Difference(
        "For similar vectors, `cosine_embedding_loss` is the rounding error of the cosine.",
        "values",
        names=r"(nn\.functional\.)?cosine_embedding_loss",
        finite=True,
    ),
    Difference(
        "PyTorch's `polygamma` uses the lowest 32 bits of its order.",
        "(gradient |written )?values",
        names=r"(Tensor\.|special\.)?polygamma_?",
        when=lambda call: any(
            isinstance(v, int) and v >= 2**31 - 1 for v in (*call.args, *call.kwargs.values())
        ),
    ),
    Difference(
        "PyTorch's `gather` reads an expanded int32 index as if it were of int64.",
        "(gradient )?values",
        names=r"(Tensor\.)?gather",
        when=lambda call: any(
            t.dtype is real.int32 and 0 in t.stride() for t in leaves((call.args, call.kwargs))
        ),
        instead=with_long_indices,
    ),
    Difference(
        "PyTorch's `all` and `any` cast numbers to uint8 before they look whether they are 0, if `out=` is uint8.",
        "(written )?values",
        names="all|any",
        when=lambda call: "out" in call.kwargs and call.kwargs["out"].dtype is real.uint8,
        instead=without_out,
    ),
    Difference(
        "PyTorch's `ldexp` uses the lowest 32 bits of an int64 exponent.",
        "(written )?values",
        names=r"(Tensor\.)?ldexp_?",
        when=has_wide_exponent,
    ),
    Difference(
        "PyTorch's `sub` negates `alpha` in int64, which overflows for the smallest integer.",
        "(gradient |written )?values",
        names=r"(Tensor\.)?(r?sub(tract)?_?|__i?sub__|__rsub__)",
        when=has_long,
    ),
    Difference(
        "PyTorch's `native_group_norm` reads weights and biases as if they were contiguous.",
        "(gradient )?values",
        names="native_group_norm",
        when=lambda call: any(
            t.ndim == 1 and not t.is_contiguous() for t in leaves((call.args, call.kwargs))
        ),
    ),
    Difference(
        "PyTorch's `cov` of one observation with weights overwrites it with 0.",
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
