"""Calls in which random comparison once found other numbers: judged again, as the fuzzer judges."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real

import minitorch.torch as ours

from .fuzz.calls import Call
from .fuzz.judging import judge
from .fuzz.memory import GuardedMemory
from .fuzz.rows import CUBE, INF, NAN, ONES, T, leaf, row

FINDINGS = [
    # Steps in between overflow
    row("round", T([1.5, -3.1415, 600.0], dtype=real.float16), decimals=5),
    row("round", T([1.5, -3.1415, 600.0], dtype=real.bfloat16), decimals=-2),
    row("round", leaf([1.23456, -2.5]), decimals=2),
    # Powers in place of another type than the result's; differences of no order along no dimension
    row("Tensor.float_power_", ONES.double(), ONES.to(real.complex64)),
    row("Tensor.float_power_", ONES.double(), 1j),
    row("diff", ONES, 0, 7),
    row("diff", ONES, 0, 7, ONES),
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
    row("conv_transpose3d", real.ones(1, 4, 2, 2, 2), real.ones(4, 2, 1, 1, 1), T(3.0)),
    row("conv_transpose2d", real.ones(1, 4, 2, 2), real.ones(4, 2, 1, 1), real.ones(1)),
    row("arange", 4, out=real.ones(2, 2)),
    row("linspace", 1, 4, 4, out=real.arange(8.0).reshape(2, 4)[:, ::2]),
    row("linspace", 1, 4, 0, out=real.ones(0, 3)),
    row("add", ONES, np.int64(1), alpha=2),
    row("sub", ONES, np.float32(1), alpha=2.5),
    row("view_copy", real.arange(20.0).view(5, 4).t(), (5, -1)),
    row("view_copy", real.ones(5, 4), real.int32),
    row("topk", T(3.0), 0),
    row("renorm", real.ones(2, 2), 1.0, 0, NAN),
    row("tensordot", real.ones(2, 2), real.ones(2, 2), dims=(0, 0)),
    row("tensordot", real.ones(2, 2), real.ones(2, 2), dims=([0], [0])),
    row("nn.functional.binary_cross_entropy_with_logits", ONES, ONES, real.ones(3, dtype=real.complex64)),
    row("nn.functional.binary_cross_entropy_with_logits", ONES, ONES, pos_weight=real.ones(3, dtype=real.complex64)),
    row("nn.functional.kl_div", leaf([-0.8, -0.5]), leaf([0.2, 0.7]), 1.5, reduction="batchmean"),
    row("nn.functional.kl_div", leaf([-0.8, -0.5]), leaf([0.2, 0.7]), reduction="batchmean"),
    # Types
    row("block_diag", real.ones(2, 2), T(1.0, dtype=real.float64)),
    row("renorm", real.ones(2, 2), NAN, 0, 0),
    row("nn.functional.rms_norm", real.ones(1, dtype=real.complex64), (1,), real.ones(1, dtype=real.float64)),
    row("logspace", -2.5, 1, steps=3, base=0.0),
    row("logspace", 3, 300, 5),
    row("sinc", T([0.0, -0.0, INF, 1e300, 0.3, NAN], dtype=real.float64)),
    row("sinc", T([0.0, 0.3, -2.5], dtype=real.bfloat16)),
    row("nn.functional.l1_loss", real.ones(2), T(2.0, dtype=real.float64)),
    row("nn.functional.mse_loss", leaf([1.0, 2.0]), T(2.0)),
    row("nn.functional.smooth_l1_loss", T(2.0, dtype=real.float64), real.ones(2)),
    row("clamp", ONES, 0, 1, out=real.ones(3, dtype=real.float64)),
    row("clamp_max", T([True, False]), 1, out=ONES.clone()),
    row("clamp", ONES, ONES, ONES, out=real.ones(3, dtype=real.float64)),
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
    # Numbers that overflow on the way
    row("ldexp", T([0.0, 1.0, INF, 1e-30]), T([2**31 - 1, -(2**31), -200, 140], dtype=real.int32)),
    row("ldexp", leaf([0.5, 1e-300, 1e300]), T([3, 30, 20])),
    row("ldexp", T([1.0, 2.0, 3.0]), T([[1, 2]])),
    row("linalg.vander", T([3e38 + 0j, 1e30]), N=5),
    row("vander", T([3e38 + 0j, 1e30]), N=5),
    row("vander", T([2, 3], dtype=real.int8), N=0),
    row("cumsum", T([3e38 + 0j, 3e38, -3e38]), 0),
    row("nn.functional.lp_pool1d", T([[2**63 - 2, 0, -4], [5, 7, 2**62]]), 1, 1),
    row("nn.functional.avg_pool1d", T([[2**63 - 2, -3, -4, 2**62]]), 2, 1),
    row("nn.functional.gaussian_nll_loss", leaf([1.0, 2.0]), leaf([3.0, 1.0]), leaf([INF, 0.0]), reduction="sum"),
    row("nn.functional.interpolate", real.ones(1, 1, 4, 4), scale_factor=-INF),
    row("nn.functional.interpolate", real.ones(1, 1, 4, 4), scale_factor=2.0**61),
    # Types of what goes in and of `out=`
    row("range", 0.5, 3, dtype=real.int8),
    row("range", -2.5, 3.5, 1.5, dtype=real.int64),
    row("full", (2,), [[1], [2]], dtype=real.float64),
    row("full", (2,), np.int64(3)),
    row("full", (2,), T([1.0])),
    row("inner", T([1, 2]), T(3), out=real.ones(2, dtype=real.complex64)),
    row("cdist", real.ones(4, 5), real.ones(0, 5, dtype=real.float64)),
    row("nonzero_static", ONES, size=2, out=real.ones(2, 1)),
    row("nonzero_static", ONES, size=2, out=real.ones(2, 1, dtype=real.int64)),
    row("svd_lowrank", T([[1, 2], [3, 5]]), M=real.ones(2, 2)),
    row("svd_lowrank", real.ones(2, 2), M=real.ones(2, 2, dtype=real.float64)),
    row("pca_lowrank", np.float32(0.5)),
    row("hardshrink", ONES, out=real.ones(3, dtype=real.float64)),
    row("slice_scatter", ONES, ONES, out=real.ones(3, dtype=real.float64)),
    row("vsplit", real.ones(4, 2), T([2], dtype=real.int32)),
    row("nn.functional.pairwise_distance", T([[-3, 5, 1]]), T([[1, 1, 1]]), eps=3),
    row("nn.functional.ctc_loss", real.zeros(3, 1, 4), T([[1, 2]]), T([3.0]), T([2])),
    row("nn.functional.ctc_loss", real.zeros(3, 1, 4), T([[1, 2]]), [3], [2.0]),
    row("istft", real.ones(3, 4, dtype=real.complex64), 4, window=T([1, 2, 1, 1], dtype=real.int8)),
    # More numbers that overflow
    row("round", T([1.5, 3e4]), decimals=400),
    row("round", real.ones(0), decimals=-(2**63)),
    row("histc", T([1.0, 2.0], dtype=real.float16), max=1e300),
    row("lcm", T([6, 126, 64], dtype=real.int8), T([64, 127, 127], dtype=real.int8)),
    row("lcm", T([2**31 - 2, 2**30], dtype=real.int32), T([2**31 - 1, 3], dtype=real.int32)),
    row("empty_strided", [3], [-1]),
    row("empty_strided", [3, 2], [2**62, 1]),
    row("arange", 2, 2**63),
    row("arange", 0, 3, 1e300, dtype=real.int64),
    row("arange", 0, 3, NAN),
    row("arange", 0, 3, 0.5, dtype=real.int32),
    row("range", 0, 3, NAN),
    row("Tensor.index_fill_", real.ones(2), 0, T([0]), T(1 + 0j)),
    row("Tensor.dim_order", real.ones(3, 1, 4).expand(3, 3, 4), ambiguity_check=True),
    row("range", 0.5, 0.001, dtype=real.int16),
    row("cdist", real.ones(1, 2), real.ones(2, 2), compute_mode=None),
    row("group_norm", real.ones(1, 1), 1),
    row("nn.functional.group_norm", real.ones(1, 1), 1),
    # Numbers that were wrong in silence
    *[row("logit", T([2.0, -0.5], dtype=k), e) for k in (real.float16, real.bfloat16) for e in (1e-5, 0.1)],
    *[row("pow", T([-1.0, -1.79, 2.0]), n) for n in (2**24 + 1, -(2**24) - 1, 2**31 - 1)],
    row("pow", leaf([-1.79, 0.35], real.float32), 2**31),
    *[row("add", real.ones(2), 2**62, alpha=n) for n in (2, 2**31)],
    row("sub", real.ones(2, dtype=real.int8), 2, alpha=200),
    *[row(n, real.ones(2, dtype=k), 1e300, alpha=a) for n in ("add", "sub") for k in (real.float32, real.float16, real.float64) for a in (0, 2)],
    row("cdist", leaf([[1.0, 2.0], [0.5, 2.0]]), leaf([[1.0, 3.0], [2.0, 2.0]]), 0.5),
    row("nn.functional.pdist", leaf([[1.0, 2.0], [1.0, 3.0], [2.0, 2.0]]), 0.5),
    row("renorm", T([[1.0, 2.0], [NAN, 1.0]]), 2, 0, 0.5),
    row("poisson_nll_loss", T([254, 255], dtype=real.uint8), T([1, 1]), False, False, 3, 0),
    row("gradient", T([5, 64, 3], dtype=real.int8), edge_order=2),
    row("gradient", T([0, 64, -128, 3], dtype=real.int8), edge_order=2),
    row("cumulative_trapezoid", T([5, 5, 1, 2], dtype=real.uint8), dx=-1),
    row("cumulative_trapezoid", T([200, 100, 1], dtype=real.uint8), T([5, 3, 2], dtype=real.uint8)),
    *[row("cosine_similarity", real.ones(5, 2, dtype=a), T(1.0, dtype=b))
      for a, b in ((real.float16, real.float32), (real.float32, real.float64), (real.bfloat16, real.float16))],
    row("poisson", T([0.0, NAN])),
    row("Tensor.dim_order", real.ones(9).as_strided((3, 1, 1, 3), (3, 1, 3, 1))),
    row("scatter_add", leaf([0.6]), 0, T([0]), leaf(-0.04)),
    row("scatter", leaf([0.6]), 0, T([0]), leaf(-0.04)),
    # Numbers meet two-byte floats after they are rounded, in sums
    *[row(n, real.full((3,), -1.0, dtype=k), v) for n in ("add", "sub", "rsub", "Tensor.__radd__")
      for k in (real.float16, real.bfloat16) for v in (1.0004, -1.0004)],
    *[row(n, T([INF, -INF], dtype=real.float16), v) for n in ("add", "subtract") for v in (2**62, -70000.0)],
    row("gradient", T([0.5, 2.0], dtype=real.float16), spacing=(2**62,), dim=[0]),
    *[row("gradient", T([1.0, 4.0, 5.0]), spacing=[T(v, dtype=k)], edge_order=2)
      for v, k in (([1, 3, 2], real.uint8), ([1, 100, -100], real.int8))],
    # Gradients
    row("nn.functional.mse_loss", leaf([3e38, -2e38, 1.0], real.float32), leaf([0.0, 1.0, 3.0], real.float32)),
    *[row("nn.functional.mse_loss", leaf(x, real.float32), T(0.0), reduction=r) for x, r in ((3e38, "mean"), (3e38, "sum"), ([2e38, 1.0], "none"))],
    row("polar", ONES, real.ones(2)),
    row("polar", leaf(1.5), leaf(0.3)),
    row("polar", leaf([3e38] * 8, real.float32), leaf([0.1, 0.8, 1.5, 2.2, 2.9, 3.6, 4.3, 5.0], real.float32)),
    *[row("Tensor.__rpow__", leaf([1.79, -3.1, INF], k), b) for k in (real.float16, real.float32) for b in (1e300, -2.0, 0.0, 2)],
    *[row("Tensor.__rpow__", leaf([1.5 + 2j, -1j], real.complex64), b) for b in (-2.0, 1e30, 0.5 + 1j)],
    Call("Tensor.scatter_reduce_", [leaf([1 + 1j, 2j], real.complex128), 0, T([1, 1]), leaf([2.0 - 1j, 3.0], real.complex128), "mean"], written=True),
    *[row("scatter_reduce", leaf([1.0, 2.0]), 0, T([1, 1]), leaf([2.0, 3.0]), how, include_self=i) for how in ("mean", "amax") for i in (True, False)],
    *[row("index_reduce", leaf([1.0, 2.0]), 0, T([1, 1]), leaf([2.0, 3.0]), "mean", include_self=i) for i in (True, False)],
    *[row(n, leaf(np.ones((2, 0))), -1, leaf(np.ones((2, 0))), leaf(np.ones((2, 0)))) for n in ("scatter", "Tensor.scatter_add")],
    *[Call(f"Tensor.{n}_", [leaf(np.ones((2, 0))), -1, leaf(np.ones((2, 0))), leaf(np.ones((2, 0)))], written=True) for n in ("scatter", "scatter_add")],
    *[row("special.xlog1py", leaf([1.5, -2.0], k), v) for k in (real.float16, real.bfloat16, real.float32) for v in (2**62, 1e300, 70000.0, 0.3)],
    row("embedding", leaf(np.ones((1, 0))), real.ones(0, 1, dtype=real.int64), scale_grad_by_freq=True),
    row("nn.functional.pdist", leaf([[NAN, 1.0], [1.0, 3.0], [INF, 2.0]]), 1.0),
    row("cdist", leaf([[NAN, 1.0], [1.0, 3.0]]), leaf([[1.0, 1.0], [INF, 2.0]]), 1.0),
    row("Tensor.round", leaf([-8.125, 2.0]), decimals=2**40),
    row("Tensor.round", leaf([-8.125, 2.0]), decimals=2),
    Call("Tensor.float_power_", [leaf([2.0, 3.0]), T([True])], written=True),
    row("ldexp", leaf([1e30, 3e38, 1.0, -1.0], real.float32), leaf([[-100.5], [1.5], [130.5]], real.float32)),
    row("ldexp", leaf([-2.0, 3.0]), leaf([0.25, 0.5], real.float32)),
    row("nn.functional.pairwise_distance", T([1e308 + 0j, 1j]), T([-1e308j, 2.0 + 0j])),
    *[row(n, leaf(v, real.float32), *a, p) for v in ([[0.0, 1e30, -1.0], [1e-38, -1.0, 1e-7], [0.5, 0.0, 1e30]], [[7.0, 4.0], [0.5, 1e30], [4.0, -INF]], [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
      for n, a in (("nn.functional.pdist", ()), ("cdist", (T([v[1]]),))) for p in (2.0, INF)],
    # NumPy's warnings
    row("inverse", T([[1e-39]])),
    row("linalg.svdvals", real.full((2, 2), 3e38)),
    row("logspace", -INF, 0.5, steps=2),
    row("linspace", -INF, 0.5, steps=3),
    row("kaiser_window", 3, True, INF),
    row("nn.functional.group_norm", leaf([[[INF, 1.0], [2.0, -INF], [1.0, 2.0], [3.0, 5.0]]]), 2, leaf([1.0, 2, 3, 4])),
    row("tensor", 1e300),
    *[row(f"nn.functional.adaptive_avg_pool{d}d", T([[3e38, -INF] * 2 ** (d - 1)], dtype=real.bfloat16).reshape(1, *[2] * d), 1) for d in (2, 3)],
    row("nn.functional.rrelu", T([NAN, -1.0], dtype=real.bfloat16), training=True),
    row("multinomial", T([3e38, 3e38, 1.0]), 2),
    row("nan_to_num", real.ones(0, dtype=real.float16), 2**40),
    row("range", 0.0, 3.0, INF),
]  # fmt: skip


@pytest.mark.parametrize("call", FINDINGS)
def test_the_call_is_as_in_pytorch(call: Call) -> None:
    judge(call, GuardedMemory())


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("p", [2.0, 3.0])
def test_distances_in_half_precision_are_those_in_single_precision(kind: str, p: float) -> None:
    x = ours.as_tensor([[300.0, 1.0], [-300.0, 2.0], [2.0, 250.0]]).to(getattr(ours, kind))
    half, single = x.clone().requires_grad_(), x.float().requires_grad_()
    found, expected = ours.cdist(half, -half, p), ours.cdist(single, -single, p)
    found.sum().backward()
    expected.sum().backward()
    assert found.equal(expected.to(found.dtype))
    assert ours.allclose(half.grad.float(), single.grad, atol=0.02)


def test_matrices_that_are_singular_for_lapack_alone_have_an_info() -> None:
    a = ours.as_tensor([[-0.01, -0.01], [-1.55, -1.55]])
    for of in (ours.linalg.inv_ex, lambda a: ours.linalg.solve_ex(a, a)):
        assert of(a).info == 2


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_attention_with_dropout_has_digits_of_single_precision(kind: str) -> None:
    """Scores of some hundreds have none behind the point in half precision."""
    numbers = (real.randn(3, 2, 4, 6, 8, generator=real.Generator().manual_seed(5)) * 6).tolist()
    found, eps = {}, real.finfo(getattr(real, kind)).eps
    for t in (ours, real):
        query, key, value = (
            t.tensor(x, dtype=getattr(t, kind), requires_grad=True) for x in numbers
        )
        t.manual_seed(4)
        attend = t.nn.functional.scaled_dot_product_attention
        out = attend(query, key, value, is_causal=True, dropout_p=0.5)
        grads = t.autograd.grad(out.float().square().sum(), [query, key, value])
        found[t] = [np.array(x.tolist()) for x in (out, *grads)]
    for mine, theirs in zip(found[ours], found[real], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=np.abs(theirs).max() * eps)
