"""Calls in which random comparison once found a difference: judged again, as the fuzzer judges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real

from .fuzz.calls import Call
from .fuzz.judging import judge
from .fuzz.memory import GuardedMemory

T = real.tensor
NAN, INF = float("nan"), float("inf")


def leaf(values: Any, dtype: Any = real.float64) -> Any:
    """A tensor that requires grad."""
    return T(values, dtype=dtype, requires_grad=True)


def row(name: str, *args: Any, **kwargs: Any) -> Any:
    """A call, under its name."""
    return pytest.param(Call(name, list(args), kwargs), id=name)


ONES, CUBE = real.ones(3), real.ones(2, 3, 4)

FINDINGS = [
    # Steps in between overflow
    row("round", T([1.5, -3.1415, 600.0], dtype=real.float16), decimals=5),
    row("round", T([1.5, -3.1415, 600.0], dtype=real.bfloat16), decimals=-2),
    row("round", leaf([1.23456, -2.5]), decimals=2),
    # Dimensions of a tensor that has none
    row("linalg.vector_norm", T(1.0), dim=(1, -1)),
    row("linalg.vector_norm", T(1.0), dim=(0, -1)),
    row("linalg.vector_norm", T(1.0), dim=(0,)),
    row("linalg.norm", T(1.0), dim=(0, 1)),
    row("frobenius_norm", T(1.0), [0, 1]),
    row("Tensor.norm", T(1.0), p=2, dim=[1, -2]),
    row("norm", ONES, p=T([0.5]), dim=[0]),
    row("norm", ONES, p=T(2.0, requires_grad=True)),
    row("norm", ONES, p=T(2.0)),
    row("Tensor.cummax", T(1j), 0),
    row("Tensor.cummin", T(1j), 1),
    row("Tensor.cummin", real.ones(0, dtype=real.complex64), 0),
    row("Tensor.cummax", real.ones(1, dtype=real.complex64), 0),
    # Random numbers
    row("rand", 2, 2, out=real.ones(2, 2).t()),
    row("randn", 20, 4, out=real.ones(4, 20).t()),
    row("randn", 20, 4, out=real.ones(20, 4)),
    row("normal", 0.0, 1.0, (20, 4), out=real.ones(4, 20).t()),
    row("randint", 7, (3, 4), out=real.ones(4, 3, dtype=real.int64).t()),
    row("randint", 2, high=-1, size=[2, 1]),
    row("randint", 2, high=9, size=[2, 1]),
    row("Tensor.random_", real.ones(3), **{"from": 2, "to": 5}),
    row("Tensor.random_", real.ones(3), **{"from": 2, "to": None}),
    row("Tensor.bernoulli_", real.ones(3, 4, 4, 2, dtype=real.bool), real.ones(3, 4, 2, 2, dtype=real.bool)),
    row("Tensor.bernoulli_", real.ones(0, 3), real.ones(3, 2)),
    row("nn.init.trunc_normal_", real.ones(2, dtype=real.uint8), b=INF),
    row("tensor", NAN, dtype=real.int64),
    row("tensor", [1, -5.5], dtype=real.uint8),
    row("tensor", [1, -5], dtype=real.uint8),
    row("nn.init.trunc_normal_", real.ones(3, 5, dtype=real.float64).t(), std=1.0, a=0.5, b=3),
    row("nn.init.dirac_", real.ones(0, 4, 3)),
    # Powers, products, sums
    row("Tensor.pow", T([[False, True]]), True),
    row("Tensor.pow", T([[False, True]]), False),
    row("Tensor.pow_", T([[False, True]]), True),
    row("pow", T([False, True]), T(True)),
    row("prod", leaf([1 + 1j, 2 - 3j, 0.5j], real.complex128), dtype=real.float64),
    row("sum", leaf([1 + 1j, 2 - 3j, 0.5j], real.complex128), dtype=real.float64),
    row("cumsum", leaf([1 + 1j, 2 - 3j, 0.5j], real.complex128), 0, dtype=real.float64),
    row("prod", real.ones(5, 4), 1, dtype=real.uint16, out=real.ones(5)),
    row("Tensor.amin", CUBE, dim=None),
    row("amax", CUBE, None),
    row("median", leaf([])),
    row("nanmedian", leaf([])),
    row("scatter_reduce", leaf([1.0, NAN]), 0, T([1, 1]), leaf([2.0, 3.0]), "amin"),
    row("scatter_reduce", leaf([1.0, 4.0]), 0, T([1, 1]), leaf([NAN, 3.0]), "amax", include_self=False),
    row("Tensor.bernoulli_", real.ones(3, 2, 2).permute(2, 1, 0)),
    row("Tensor.bernoulli_", real.ones(3, 2, 2).permute(2, 1, 0), real.full((2, 2, 3), 0.5)),
    row("special.airy_ai", T([1e10, 1e30, INF, NAN, 5.0, -5.0], dtype=real.float64)),
    row("cosine_similarity", leaf([[2.0, 0.37], [0.0, 0.0]]), leaf([[-3.0, -1.0], [2.0, 0.1]]), dim=1, eps=5),
    row("xlogy", real.ones(2, dtype=real.bfloat16), 2.0),
    row("logit", real.full((2,), 0.3, dtype=real.bfloat16), T(0.25, dtype=real.bfloat16)),
    row("linalg.vecdot", ONES, real.ones(1)),
    row("linalg.tensorsolve", real.ones(1, 0), real.ones(0)),
    row("linalg.tensorsolve", real.ones(2, 0), real.ones(2)),
    row("special.gammaincc", T([0.5, 0.5, 3.0], dtype=real.float64), T([1.0, 0.886, 4.0], dtype=real.float64)),
    row("take_along_dim", CUBE, T([3, 1], dtype=real.int32)),
    row("Tensor.byte", ONES, None),
    row("fft.fftfreq", 7, out=real.ones(7, dtype=real.float64)),
    row("nn.functional.scaled_dot_product_attention", *[real.ones(2, 3, 3, dtype=real.int16)] * 3),
    row("nn.functional.ctc_loss", leaf(np.log(np.full((6, 1, 3), 1 / 3))), T([[1, 0, 1]]), T([6]), T([3])),
    row("nan_to_num", T([NAN, 1.0, INF, -INF], dtype=real.bfloat16)),
    row("nan_to_num", T([NAN, 1.0, INF, -INF], dtype=real.bfloat16), 2.0, 3.0, 4.0),
    row("view_as_complex", real.arange(7.0)[1:].view(3, 2)),
    row("nn.functional.pdist", leaf([[INF, 1.0], [1, 2], [3, 1]]), p=0.0),
    row("where", T([True, False]), T(1.0, dtype=real.float64), T([2.0], dtype=real.float64), out=real.ones(2)),
    row("nn.functional.interpolate", real.ones(1, 1, 4), 2, recompute_scale_factor=True),
    row("nn.functional.batch_norm", real.ones(1, 0), None, None, training=True),
    row("nn.functional.cross_entropy", real.ones(3, 0), real.ones(3, 0), ignore_index=3),
    # Losses
    row("nn.functional.nll_loss", real.ones(2, 3), T([1, 1]), reduction=np.int64(1)),
    row("nn.functional.mse_loss", ONES, ONES, reduction=1),
    row("nn.functional.mse_loss", ONES, ONES, reduction=[]),
    row("nn.functional.l1_loss", ONES, ONES, reduction=np.zeros(2)),
    row("nn.functional.poisson_nll_loss", real.ones(3, dtype=real.complex64), T([0, 1, 2]), full=True),
    row("nn.functional.poisson_nll_loss", ONES, real.ones(3, dtype=real.complex64), full=True),
    row("nn.functional.poisson_nll_loss", leaf([1.0, 2.0, 0.5]), leaf([0.0, 3.0, 0.5]), full=True),
    row("nn.functional.gaussian_nll_loss", ONES, ONES, 3),
    row("nn.functional.multilabel_margin_loss", real.ones(1), T(0)),
    row("nn.functional.multilabel_margin_loss", T(1.0), T([0])),
    row("nn.functional.linear_cross_entropy", ONES, real.ones(4, 3), np.int64(1)),
    row("nn.functional.cross_entropy", real.ones(3, 5), T([0, 1, 0]), label_smoothing=1.5),
    row("nn.functional.triplet_margin_with_distance_loss", T(1.0), T(2.0), T(3.0), distance_function=T(0.0)),
    row("nn.functional.feature_alpha_dropout", ONES, inplace=real.ones(0)),
    row("nn.functional.alpha_dropout", ONES, inplace=real.ones(2)),
    row("nn.functional.pdist", T([[NAN, 1.0], [1, 2], [3, NAN]]), p=0.0),
    row("nn.functional.pdist", leaf([[NAN, 1.0], [1, 2], [3, 1]]), p=0.0),
    # Tensors and None as arguments
    row("Tensor.topk", CUBE, T([2]), 1),
    row("Tensor.select", CUBE, 1, T([[2]])),
    row("fft.fft", ONES, n=T([2])),
    row("Tensor.cumsum", ONES, T([0])),
    row("slice_scatter", CUBE, real.zeros(1, 3, 4), start=T([1]), end=T([[2]])),
    row("roll", CUBE, 1, None),
    row("max_pool1d", CUBE, 2, None),
    row("fft.ifftshift", real.arange(4), np.int64(0)),
    row("Tensor.to", ONES, other=real.ones(2, dtype=real.float64)),
    row("Tensor.to", ONES, tensor=real.ones(2, dtype=real.float64), copy=True),
    row("index_put", real.arange(4), [T([1], dtype=real.int8)], T(9)),
    row("Tensor.__getitem__", real.arange(4), T([1], dtype=real.int16)),
    row("Tensor.__getitem__", real.arange(4), T(1, dtype=real.int16)),
    row("nn.functional.max_unpool1d", real.ones(1, 1, 2), T([[[0, 2]]]), 2, T(2)),
    row("Tensor.mvlgamma", real.full((2,), 4.0), T(2)),
    # Others
    row("nn.functional.instance_norm", real.ones(0, 4, 2)),
    row("nn.functional.instance_norm", real.ones(2, 0, 3)),
    row("nn.functional.fractional_max_pool2d", leaf([[[NAN] * 4] * 4]), 2, output_size=2),
    row("nn.functional.fractional_max_pool3d", real.ones(1, 3, 3, 3), 2, output_size=2),
    row("nn.functional.fractional_max_pool3d", leaf(np.eye(16).reshape(1, 4, 8, 8)), 2, output_size=2),
    row("istft", real.ones(5, 6, dtype=real.complex64), 8, window=real.ones(8, dtype=real.complex64)),
    row("nansum", leaf([1.0, 2.0]), dtype=real.int32, out=T(0, dtype=real.int32)),
    row("unravel_index", T([1]), {}),
    row("unravel_index", T([1]), 2.5),
    row("linalg.pinv", real.ones(3, 0), real.ones(3, dtype=real.complex64)),
    row("nn.functional.normalize", leaf([[1.0, NAN, 0.0], [INF, 2.0, 3.0]]), p=0.0, dim=-1),
    row("nn.functional.adaptive_avg_pool2d", leaf([[[1j, 2.0], [3.0, 4j]]], real.complex128), 1),
    row("nn.functional.adaptive_avg_pool1d", real.ones(1, 2, 3, dtype=real.complex64), 2),
    row("gru_cell", ONES[:, None], ONES[:, None], real.ones(3, 1, dtype=real.bool), ONES[:, None]),
    row("gru_cell", ONES[:, None], real.ones(3, 1, dtype=real.float64), ONES[:, None], ONES[:, None]),
    row("as_strided_scatter", real.arange(6)[3:4], T([9]), (1,), (1,), 0),
    row("as_strided_scatter", real.arange(6)[3:5], T([9, 8]), (2,), (2,), 3),
    row("roll", real.ones(0, 0), 2, 7),
    row("linalg.svd", real.ones(3, 0, 2), driver="gelss"),
    row("diff", T([True, False]), out=real.ones(1)),
    row("segment_reduce", ONES, "prod", offsets=T([0, 1]), initial=1 + 2j),
    row("nn.functional.poisson_nll_loss", ONES, T([True, False, True]), full=True),
    row("nn.functional.batch_norm", real.ones(1, 1), real.ones(1), real.ones(1, 1)),
    row("nn.functional.batch_norm", real.ones(2, 1), real.ones(1, 1), real.ones(1), training=True),
    row("nn.functional.batch_norm", real.ones(2, 1), T(1.0), real.ones(1)),
    row("nn.functional.instance_norm", CUBE, real.ones(1, 3), real.ones(3)),
    row("native_batch_norm", real.ones(2, 1), None, None, None, None, True, 0.5, 1e-5, out=ONES),
    row("histogramdd", real.ones(3, 2), [2, 2], [0.0, 1.0, 0.0, 1.0], real.ones(3), True),
    row("histogramdd", real.ones(3, 2), [real.ones(2), real.ones(2)], None, weight=real.ones(3)),
    row("segment_reduce", ONES, "sum", lengths=T([1, 2]), offsets=T([0.0, 1.0], requires_grad=True)),
    row("segment_reduce", ONES, "sum", lengths=T([1.0, 2.0], requires_grad=True)),
    row("broadcast_shapes", True, [1, 2]),
    row("broadcast_shapes", [True, 2]),
    row("Tensor.lu", real.eye(3), out=(real.eye(3), real.ones(3, dtype=real.int32))),
    row("svd_lowrank", T(1.0), M=()),
    row("empty", 4, memory_format=real.preserve_format, out=real.ones(4)),
    row("nn.functional.upsample_nearest", real.ones(2, 3, 4), True),
    row("narrow_copy", CUBE, 2, 1, 2, out=real.ones(3, 2, 2).transpose(0, 1)),
    # Norms of one number, or none
    row("linalg.vector_norm", leaf([[8.0], [1e200], [NAN]]), 2, dim=1),
    row("linalg.vector_norm", leaf([[8.0], [3.0]]), 1e-5, dim=1),
    row("linalg.vector_norm", T([[8.0], [3.0]]), NAN, dim=1),
    row("linalg.vector_norm", T([[8.0], [0.0]]), 0, dim=1),
    row("linalg.vector_norm", real.ones(2, 0), NAN, dim=1),
    row("triplet_margin_loss", T([]), T([]), T([]), INF, p=NAN),
    # Infinity
    row("lgamma", T([-INF, INF, -1.0, 0.0, NAN])),
    row("lgamma", T([-INF, -1e4], dtype=real.float16)),
    row("gradient", leaf([[1.0, 2.0], [4.0, 8.0], [-3.0, 5.0]]), spacing=0, dim=[0], edge_order=2),
    row("gradient", leaf([1.0, 2.0, -3.0, 5.0]), spacing=0.3, edge_order=2),
    # Nothing at all
    row("trapezoid", leaf(np.ones((3, 0))), dim=-1),
    row("trapezoid", real.ones(3, 0, dtype=real.int32), dim=-1),
    row("cumulative_trapezoid", leaf(np.ones((3, 0))), dim=-1),
    row("cat", [T([]), T([])], dim=5),
    row("cat", [T([]), ONES], dim=5),
    row("native_dropout", leaf([]), 0.5, True),
    row("native_dropout", real.ones(0, dtype=real.int32), 3.5, True),
    row("native_dropout", real.ones(3, 4, dtype=real.complex64), 0.5, True),
    row("nn.functional.batch_norm", real.ones(2, 1, 0), real.ones(1), real.ones(1), bias=real.ones(5)),
    row("batch_norm", leaf(np.ones((2, 0, 2))), leaf([1.0, 2.0]), None, None, None, True, 0.1, 1e-5, False),
    row("Tensor.to_sparse", T(0.19)),
    row("Tensor.to_sparse", T(0.0)),
    # Types
    row("linalg.vander", real.ones(3, dtype=real.bfloat16)),
    row("special.chebyshev_polynomial_w", real.ones(3, dtype=real.bfloat16), 6),
    row("special.hermite_polynomial_h", real.ones(3, dtype=real.float16), 3),
    row("logcumsumexp", T([1, 2]), 0, out=real.ones(2)),
    row("nn.functional.bilinear", real.ones(2, 2), real.ones(2, 2), real.ones(3, 2, 2), T([1, 2, 3])),
    row("normal", real.ones(2), real.ones(2, dtype=real.complex64)),
    row("normal", real.ones(2), real.ones(2), out=real.ones(4, dtype=real.complex64)),
    row("normal", 1.0, real.ones(2), out=real.ones(4, dtype=real.float64)),
    row("normal", real.ones(2), 2.0, out=real.ones(3, 2, dtype=real.float64)),
    row("normal", real.ones(2), 2.0, out=real.ones(4)),
    row("binary_cross_entropy_with_logits", T([[1.0], [2.0]]), T([[0.1, 0.2], [0.3, 0.9]])),
    row("binary_cross_entropy_with_logits", real.ones(2, 3), ONES),
    row("index_put", T([True, False]), (T(True), T([1, 1])), T([False, True])),
]  # fmt: skip


@pytest.mark.parametrize("call", FINDINGS)
def test_the_call_is_as_in_pytorch(call: Call) -> None:
    judge(call, GuardedMemory())
