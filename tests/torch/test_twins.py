"""In-place twins and `out=`: what they write, what they return, and what goes back through them."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch as real

import minitorch.torch as ours

from .opinfo import all_operations, resolve, samples
from .oracle import compare, compare_results, leaves, to_ours

TWINS = """
abs acos acosh add addcdiv addcmul addmm addmv addr asin asinh atan atan2 atanh baddbmm bitwise_and
bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min
conj_physical copysign cos cosh cumprod cumsum deg2rad digamma div.floor_rounding div.no_rounding_mode
div.trunc_rounding eq erf erfc erfinv exp exp2 expm1 fill float_power floor floor_divide fmod frac gcd ge gt
heaviside hypot i0 igamma igammac index_add index_copy index_fill index_put index_reduce.amax
index_reduce.amin index_reduce.mean index_reduce.prod lcm ldexp le lerp lgamma log log10 log1p log2
logical_and logical_not logical_or logical_xor logit lt masked_fill masked_scatter mul
mvlgamma.mvlgamma_p_1 nan_to_num ne neg nextafter polygamma.polygamma_n_1 pow put rad2deg reciprocal
remainder renorm round rsqrt scatter scatter_add scatter_reduce.amax scatter_reduce.amin
scatter_reduce.mean scatter_reduce.prod scatter_reduce.sum sgn sigmoid sign sin sinc sinh sqrt square
squeeze sub t tan tanh transpose tril triu true_divide trunc unsqueeze xlogy zero_
""".split()

WITH_OUT = """
abs acos acosh add addbmm addcdiv addcmul addmm addmv addr all amax amin aminmax angle any argmax argmin
asin asinh atan atan2 atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or
bitwise_right_shift bitwise_xor bmm bucketize cat ceil clamp clamp_max clamp_min column_stack complex
conj_physical copysign cos cosh cummax cummin cumprod cumsum deg2rad diag diagonal_copy diff digamma
div.no_rounding_mode dot dstack eq erf erfc erfinv exp exp2 expand_copy expm1 eye float_power floor
floor_divide fmax fmin fmod frac frexp full gather gcd ge gt heaviside histc histogram hstack hypot i0
igamma igammac index_add index_copy index_reduce.amax index_select inner isin isneginf isposinf kron
kthvalue lcm ldexp le lerp lgamma linspace log log10 log1p log2 logaddexp logaddexp2 logcumsumexp
logical_and logical_not logical_or logical_xor logit logspace logsumexp lt masked_select matmul max.binary
max.reduction_no_dim max.reduction_with_dim maximum mean min.binary min.reduction_with_dim minimum mm mode
msort mul mv mvlgamma.mvlgamma_p_1 nan_to_num nanmean nanquantile nansum narrow_copy ne neg nextafter
ones outer permute_copy polar polygamma.polygamma_n_1 pow quantile rad2deg reciprocal remainder
renorm round rsqrt scatter scatter_add scatter_reduce.sum searchsorted sgn sigmoid sign signbit sin sinc
sinh sort sqrt square squeeze_copy stack std sub t_copy take take_along_dim tan tanh tensordot topk
transpose_copy tril triu true_divide trunc unbind_copy unsqueeze_copy var vdot vstack where xlogy zeros
""".split()


def a_sample(name: str, gradients: bool) -> tuple[Any, Any]:
    """What PyTorch knows about an operation, and its second sample (the first is often a number)."""
    info = all_operations()[name]
    for dtype in (real.float64, real.int64, real.bool):
        if info.supports_dtype(dtype, "cpu"):
            wanted = gradients and info.supports_autograd and dtype is real.float64
            return info, list(samples(info, dtype, wanted, 2))[-1]
    raise AssertionError(f"{name} takes no type that is tried here")


@pytest.mark.parametrize("name", TWINS)
def test_twin(name: str) -> None:
    """A twin writes what PyTorch's writes, refuses what it refuses, and passes gradients on."""
    info, sample = a_sample(name, gradients=True)
    twin = info.inplace_variant.__name__

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        fresh = x.clone()
        written = getattr(fresh, twin)(*args, **kwargs)
        assert written is fresh
        return written

    args = (sample.input, *sample.args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(call, call, args, sample.kwargs, what=f"{name}: {twin}")


@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name: str) -> None:
    """With `out=`, the result is there, in the memory that was given, and returned as PyTorch does."""
    info, sample = a_sample(name, gradients=False)
    mine, theirs = (resolve(lib, info) for lib in (ours, real))
    args, kwargs = (sample.input, *sample.args), sample.kwargs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = theirs(*args, **kwargs)
        returned = theirs(*args, **kwargs, out=_empty_like(expected))
    own_args, own_kwargs, own_out = to_ours((args, kwargs, _empty_like(expected)))
    got = mine(*own_args, **own_kwargs, out=own_out)
    compare_results(got, returned, f"{name}: returned")
    compare_results(own_out, expected, f"{name}: written")
    for a, b in zip(leaves(got), leaves(own_out), strict=got is not None):
        assert a is b


def _empty_like(expected: Any) -> Any:
    if isinstance(expected, real.Tensor):
        return real.empty(expected.shape, dtype=expected.dtype)
    return tuple(_empty_like(e) for e in expected)


def test_out_refuses() -> None:
    """A result is not written where its kind would be lost, or where a gradient would."""
    x = ours.ones(2, 2)
    for function in (ours.exp, ours.neg, ours.sqrt):
        with pytest.raises(RuntimeError, match="can't be cast"):
            function(x, out=ours.zeros(2, 2, dtype=ours.int64))
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        ours.exp(ours.ones(2, requires_grad=True), out=ours.zeros(2))
    with pytest.raises(RuntimeError, match="single memory location"):
        ours.exp(x, out=ours.zeros(1).expand(2, 2))
    assert ours.exp(x, out=ours.empty(0)).shape == (2, 2)


def test_views_of_itself() -> None:
    """A tensor that becomes a view of itself keeps its history."""

    def call(x: Any) -> Any:
        y = x * 2
        y.t_().unsqueeze_(0).squeeze_(0).transpose_(0, 1)
        return y.t_() * 3

    compare(call, call, (real.randn(2, 3, dtype=real.float64, requires_grad=True),), double=True)
    leaf = ours.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.t_()
