"""Array functions of the CPU: NumPy formulas and kernels against PyTorch and float64."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from minitorch.torch import scalars
from minitorch.torch.backends.cpu import kernels, maps, primitives
from minitorch.torch.formulas import indexing, losses, norms, pool, reductions, softmax
from minitorch.torch.formulas.geometry import Geometry, adaptive_windows
from minitorch.torch.formulas.matmul import matmul

SMALL, LARGE = (5, 24), (160, 257)
"""A shape that NumPy computes, and one that kernels compute on all cores."""

slow = pytest.mark.slow
aten: Any = torch.ops.aten


@pytest.fixture(autouse=True)
def _all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernels share out less work than pays, so that shapes can stay small."""
    monkeypatch.setattr(kernels, "PARALLEL", 32_768)


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def assert_near(ours: Any, theirs: Any, rtol: float = 5e-7, atol: float = 5e-7) -> None:
    """The same shape, type and values as a tensor of PyTorch's, up to rounding."""
    theirs = theirs.detach().numpy()
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


# --- Maps ---------------------------------------------------------------------------------------

ONE = {
    "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "log": torch.log, "log2": torch.log2,
    "log10": torch.log10, "log1p": torch.log1p, "tanh": torch.tanh, "erf": torch.erf,
    "erfc": torch.erfc, "sin": torch.sin, "cos": torch.cos, "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal, "neg": torch.neg, "absolute": torch.abs,
    "square": torch.square, "relu": torch.relu, "sigmoid": torch.sigmoid, "silu": F.silu,
    "mish": F.mish, "log_sigmoid": F.logsigmoid, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}  # fmt: skip

TWO = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
    "maximum": torch.maximum, "minimum": torch.minimum,
    "sigmoid_backward": lambda g, y: aten.sigmoid_backward(g, y),
    "tanh_backward": lambda g, y: aten.tanh_backward(g, y),
    "silu_backward": lambda g, x: aten.silu_backward(g, x),
    "mish_backward": lambda g, x: aten.mish_backward(g, x),
    "gelu_backward": lambda g, x: aten.gelu_backward(g, x),
    "gelu_tanh_backward": lambda g, x: aten.gelu_backward(g, x, approximate="tanh"),
    "log_sigmoid_backward": lambda g, x: aten.log_sigmoid_backward(g, x, (-x.abs()).exp()),
}  # fmt: skip

WITH_NUMBERS: dict[str, tuple[Any, tuple[float, ...], int]] = {
    "softplus": (F.softplus, (2.0, 3.0), 1),
    "leaky_relu": (F.leaky_relu, (0.1,), 1),
    "elu": (lambda x, a, *_: F.elu(x, a), (0.7, 1.0, 1.0), 1),
    "clamp": (torch.clamp, (-0.5, 0.9), 1),
    "threshold_backward": (lambda g, x, t, _: aten.threshold_backward(g, x, t), (0.25, 0.0), 2),
    "leaky_relu_backward": (lambda g, x, s: aten.leaky_relu_backward(g, x, s, False), (0.1,), 2),
    "elu_backward": (lambda g, x, *by: aten.elu_backward(g, *by, False, x), (0.7, 1.2, 0.9), 2),
    "softplus_backward": (aten.softplus_backward, (2.0, 3.0), 2),
    "lerp": (torch.lerp, (0.7,), 2),
}

OTHER_NAMES = {
    "neg": np.negative, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide,
}  # fmt: skip


@cache
def mapped(name: str) -> Any:
    """A scalar function of arrays, of any size."""
    scalar = getattr(scalars, name, None) or OTHER_NAMES.get(name) or getattr(np, name)
    return maps.map_of(scalar, scalar)


QUICK = {"exp", "tanh", "add", "gelu_backward"}
"""Compiled in every run; the others when slow tests run."""


def by_cost(names: Any) -> list[Any]:
    return [pytest.param(n, marks=() if n in QUICK else slow) for n in names]


def check_map(
    name: str, theirs: Any, arrays: list[np.ndarray], extra: tuple[float, ...] = ()
) -> None:
    ours = mapped(name)(*arrays, *extra)
    assert_near(ours, theirs(*map(torch.from_numpy, arrays), *extra), atol=1e-6)


def test_small_maps_are_torchs() -> None:
    for name, theirs in ONE.items():
        check_map(name, theirs, [np.abs(numbers(*SMALL)) if name in POSITIVE else numbers(*SMALL)])
    for name, theirs in TWO.items():
        check_map(name, theirs, [numbers(*SMALL), numbers(*SMALL, seed=1)])
    for name, (theirs, extra, count) in WITH_NUMBERS.items():
        check_map(name, theirs, [numbers(*SMALL, seed=s) for s in range(count)], extra)


POSITIVE = {"log", "log2", "log10", "log1p", "sqrt", "rsqrt"}


@pytest.mark.parametrize("name", by_cost(ONE))
def test_large_maps_of_one(name: str) -> None:
    x = np.abs(numbers(*LARGE)) if name in POSITIVE else numbers(*LARGE)
    if name in ("neg", "absolute", "square", "relu", "sqrt", "rsqrt", "reciprocal"):
        x = np.tile(x, (4, 1))
    check_map(name, ONE[name], [x])
    check_map(name, ONE[name], [x.astype(np.float64)]) if name == "tanh" else None


@pytest.mark.parametrize("name", by_cost(TWO))
def test_large_maps_of_two(name: str) -> None:
    check_map(name, TWO[name], [numbers(640, 257), numbers(640, 257, seed=1)])


@pytest.mark.parametrize("name", by_cost(WITH_NUMBERS))
def test_large_maps_with_numbers(name: str) -> None:
    theirs, extra, count = WITH_NUMBERS[name]
    check_map(name, theirs, [numbers(640, 257, seed=s) for s in range(count)], extra)


SHAPES = [
    ((640, 257), (257,)), ((640, 257), (640, 1)), ((640, 257), ()), ((8, 80, 257), (80, 1)),
    ((640, 1), (1, 257)), ((1, 257), (640, 257)),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check_map("add", torch.add, [numbers(*a), numbers(*b, seed=1)])


def layouts(x: np.ndarray) -> list[np.ndarray]:
    """The array in other orders and with other strides."""
    wide = np.zeros((x.shape[0], 2 * x.shape[1]), x.dtype)
    wide[:, ::2] = x
    return [
        np.asfortranarray(x), wide[:, ::2], x[::-1, ::-1], np.broadcast_to(x[:1], x.shape),
        np.broadcast_to(x[:, :1], x.shape),
    ]  # fmt: skip


def test_layouts_and_overlap() -> None:
    x, y = numbers(640, 257), numbers(640, 257, seed=1)
    for other in layouts(y):
        np.testing.assert_array_equal(mapped("add")(x, other), x + other)
        np.testing.assert_array_equal(mapped("add")(other, x), x + other)
    transposed = torch.from_numpy(x).T
    ours = mapped("exp")(x.T)
    assert_near(ours, transposed.exp())
    assert tuple(s // 4 for s in ours.strides) == transposed.exp().stride()
    cube = numbers(40, 30, 50).transpose(2, 0, 1)
    assert mapped("tanh")(cube).strides == cube.strides
    expected = x + y
    assert mapped("add")(x, y, out=x) is x
    np.testing.assert_array_equal(x, expected)
    strided = np.zeros((640, 514), np.float32)[:, ::2]
    mapped("add")(x, y, out=strided)
    np.testing.assert_array_equal(strided, x + y)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_rounds_once(kind: torch.dtype) -> None:
    pytest.importorskip("ml_dtypes")
    for shape in (SMALL, LARGE):
        x = torch.from_numpy(numbers(*shape)).to(kind)
        if kind == torch.float16:
            array = x.numpy()
        else:
            import ml_dtypes

            array = x.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        ours = mapped("exp")(array)
        assert ours.dtype == array.dtype
        wide = ours.astype(np.float32)
        np.testing.assert_allclose(
            wide, x.exp().float().numpy(), rtol=2**-7 if kind != torch.float16 else 1e-3
        )
        total = reductions.sum(array, (1,)).astype(np.float32)
        np.testing.assert_allclose(total, x.sum(1).float().numpy(), rtol=1e-2, atol=1e-3)


# --- Scalars --------------------------------------------------------------------------------------------

IN_FLOAT64 = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
    "erf": lambda x: np.asarray(np.frompyfunc(math.erf, 1, 1)(x), np.float64),
}  # fmt: skip


def units_in_the_last_place(ours: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """How far float32 numbers are from the exact ones, which are given in float64."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        error = np.abs(ours.astype(np.float64) - exact) / np.spacing(np.abs(rounded))
    same = (ours == rounded) | (np.isnan(ours) & np.isnan(rounded))
    return np.where(same, np.minimum(np.nan_to_num(error, nan=0, posinf=0), 1), error)


@pytest.mark.parametrize("name", by_cost(IN_FLOAT64))
def test_scalars_are_right_to_the_last_places(name: str) -> None:
    """Over all float32 numbers: every 65,521st bit pattern, with infinities, NaN and subnormals."""
    every = np.arange(0, 2**32, 65_521, dtype=np.uint64).astype(np.uint32).view(np.float32)
    special = np.array(
        [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-45, -1e-45, 88.72, -87.4, -103.9], np.float32
    )
    x = np.concatenate([every, special])
    if name in ("sin", "cos"):
        x = x[np.abs(x) < primitives.LARGEST_ANGLE]
    with np.errstate(all="ignore"):
        exact = IN_FLOAT64[name](x.astype(np.float64))
    ours = mapped(name)(x)
    assert units_in_the_last_place(ours, exact).max() < 2
    zero = mapped(name)(np.full(20_000, -0.0, np.float32))[0]
    assert np.signbit(zero) == np.signbit(IN_FLOAT64[name](-0.0)) if name != "cos" else zero == 1


def test_large_angles() -> None:
    x = np.linspace(-3e38, 3e38, 20_000).astype(np.float32)
    assert_near(mapped("sin")(x), torch.from_numpy(x).sin(), atol=1e-6)


# --- Softmax and cross entropy ------------------------------------------------------------------------------

DIMS = [(SMALL, 1), (SMALL, 0), (LARGE, 1), pytest.param((7, 61, 100), 1, marks=slow)]


@pytest.mark.parametrize(("shape", "dim"), DIMS)
def test_softmax(shape: tuple[int, ...], dim: int) -> None:
    x, g = 3 * numbers(*shape), numbers(*shape, seed=1)
    tx, tg = torch.from_numpy(x), torch.from_numpy(g)
    for name in ("softmax", "log_softmax"):
        out = getattr(torch, name)(tx, dim)
        assert_near(getattr(softmax, name)(x, dim), out, atol=2e-6)
        backward = getattr(aten, f"_{name}_backward_data")(tg, out, dim, torch.float32)
        ours = getattr(softmax, f"{name}_backward")(g, out.numpy(), dim)
        assert_near(ours, backward, atol=3e-6)


def test_softmax_at_the_extremes() -> None:
    x = numbers(*LARGE)
    x[0], x[1, 3], x[2, 4], x[3] = -np.inf, np.inf, np.nan, 1e38
    x[4, 1:] = -np.inf
    tx = torch.from_numpy(x)
    for name in ("softmax", "log_softmax"):
        assert_near(getattr(softmax, name)(x, 1), getattr(torch, name)(tx, 1), atol=2e-6)
    assert_near(softmax.logsumexp(x, (1,)), torch.logsumexp(tx, 1))
    assert_near(softmax.logsumexp(x[5:], (0, 1)), torch.logsumexp(tx[5:], (0, 1)))
    assert_near(softmax.logsumexp(x[:4, :9], (1,), True), torch.logsumexp(tx[:4, :9], 1, True))


@pytest.mark.parametrize("shape", [SMALL, LARGE])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(shape: tuple[int, int], weighted: bool, smoothing: float) -> None:
    n, c = shape
    x, g = 3 * numbers(n, c), numbers(n, seed=1)
    target = np.random.default_rng(2).integers(0, c, n)
    target[1] = -100
    weight = np.abs(numbers(c, seed=3)) if weighted else None
    tx = torch.from_numpy(x).requires_grad_()
    tw = None if weight is None else torch.from_numpy(weight)
    theirs = F.cross_entropy(
        tx, torch.from_numpy(target), tw, label_smoothing=smoothing, reduction="none"
    )
    ours, logsums = losses.cross_entropy(x, target, weight, -100, smoothing)
    assert_near(ours, theirs, atol=3e-6)
    theirs.backward(torch.from_numpy(g))
    dx = losses.cross_entropy_backward(g, x, logsums, target, weight, -100, smoothing)
    assert_near(dx, tx.grad, atol=3e-6)


def test_targets_out_of_bounds() -> None:
    with pytest.raises(IndexError, match=r"Target 5 is out of bounds\."):
        losses.cross_entropy(numbers(3, 4), np.array([0, 5, 1]))
    for wrong in (-1, 65):
        target = np.arange(200) % 65
        target[150] = wrong
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            losses.cross_entropy(numbers(200, 65), target)
        assert losses.cross_entropy(numbers(200, 65), target, ignore_index=wrong)[0][150] == 0


# --- Norms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [SMALL, LARGE])
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm(shape: tuple[int, int], affine: bool) -> None:
    x, g = numbers(*shape) + 3, numbers(*shape, seed=1)
    w, b = (numbers(shape[1], seed=s) if affine else None for s in (2, 3))
    tx, tg = torch.from_numpy(x), torch.from_numpy(g)
    tw, tb = (None if v is None else torch.from_numpy(v) for v in (w, b))
    ours = norms.layer_norm(x, shape[1:], w, b, 1e-5)
    theirs = torch.native_layer_norm(tx, shape[1:], tw, tb, 1e-5)
    for o, t in zip(ours, theirs, strict=True):
        assert_near(o, t, atol=5e-6)
    grads = norms.layer_norm_backward(g, x, shape[1:], ours[1], ours[2], w)
    mask = [True, affine, affine]
    expected = aten.native_layer_norm_backward(tg, tx, shape[1:], *theirs[1:], tw, tb, mask)
    for o, t in list(zip(grads, expected, strict=True))[: 3 if affine else 1]:
        assert_near(o, t, atol=3e-5, rtol=2e-6)


def with_gradients(*arrays: np.ndarray | None) -> list[Any]:
    return [None if v is None else torch.from_numpy(v).requires_grad_() for v in arrays]


@pytest.mark.parametrize("shape", [SMALL, pytest.param(LARGE, marks=slow)])
def test_rms_norm(shape: tuple[int, int]) -> None:
    x, g, w = numbers(*shape), numbers(*shape, seed=1), numbers(shape[1], seed=2)
    tx, tw = with_gradients(x, w)
    theirs = F.rms_norm(tx, shape[1:], tw, 1e-6)
    ours, rstd = norms.rms_norm(x, shape[1:], w, 1e-6)
    assert_near(ours, theirs, atol=3e-6)
    theirs.backward(torch.from_numpy(g))
    dx, dw = norms.rms_norm_backward(g, x, shape[1:], rstd, w)
    assert_near(dx, tx.grad, atol=1e-5)
    assert_near(dw, tw.grad, atol=3e-5, rtol=2e-6)


CHANNELS = [
    (2, 6, 3, 3),
    (5, 6),
    pytest.param((12, 8, 30, 20), marks=slow),
    pytest.param((700, 20), marks=slow),
]


@pytest.mark.parametrize("shape", CHANNELS)
@pytest.mark.parametrize("affine", [True, False])
def test_group_and_batch_norm(shape: tuple[int, ...], affine: bool) -> None:
    x, g = numbers(*shape) + 1, numbers(*shape, seed=1)
    w, b = (numbers(shape[1], seed=s) if affine else None for s in (2, 3))
    for groups in (2, 0):
        tx, tw, tb = with_gradients(x, w, b)
        if groups:
            theirs = F.group_norm(tx, groups, tw, tb, 1e-5)
            ours, mean, rstd = norms.group_norm(x, groups, w, b, 1e-5)
            grads = norms.group_norm_backward(g, x, groups, mean, rstd, w)
        else:
            theirs = F.batch_norm(tx, None, None, tw, tb, True, 0.1, 1e-5)
            ours, mean, rstd, _ = norms.batch_norm(x, w, b, 1e-5)
            grads = norms.batch_norm_backward(g, x, mean, rstd, w)
        assert_near(ours, theirs, atol=1e-5)
        theirs.backward(torch.from_numpy(g))
        assert_near(grads[0], tx.grad, atol=1e-5)
        if affine:
            assert_near(grads[1], tw.grad, atol=2e-4, rtol=2e-6)
            assert_near(grads[2], tb.grad, atol=2e-4, rtol=2e-6)


@pytest.mark.parametrize("shape", CHANNELS)
def test_batch_norm_with_given_statistics(shape: tuple[int, ...]) -> None:
    x, g = numbers(*shape), numbers(*shape, seed=1)
    mean, var, w, b = (numbers(shape[1], seed=s) for s in (2, 3, 4, 5))
    var = np.abs(var) + 0.5
    tx, tw, tb = with_gradients(x, w, b)
    statistics = torch.from_numpy(mean), torch.from_numpy(var)
    theirs = F.batch_norm(tx, statistics[0], statistics[1], tw, tb, False, 0.1, 1e-5)
    assert_near(norms.batch_norm_eval(x, mean, var, w, b, 1e-5), theirs, atol=5e-6)
    theirs.backward(torch.from_numpy(g))
    rstd = 1 / np.sqrt(var + np.float32(1e-5))
    grads = norms.batch_norm_backward(g, x, mean, rstd, w, training=False)
    assert_near(grads[0], tx.grad, atol=5e-6)
    assert_near(grads[1], tw.grad, atol=2e-4, rtol=2e-6)


# --- Reductions ------------------------------------------------------------------------------------------------------

REDUCED = [
    (SMALL, None), (SMALL, (1,)), (SMALL, (0,)), ((640, 257), None), ((640, 257), (1,)),
    ((640, 257), (0,)), ((9, 40, 300), (0, 2)), ((9, 40, 300), (-2,)), ((3, 7, 5000), (0, 1)),
]  # fmt: skip
EXACT = {
    "sum": np.sum, "mean": np.mean,
    "norm": lambda x, axis, keepdims: np.sqrt(np.square(x).sum(axis=axis, keepdims=keepdims)),
    "var": lambda x, axis, keepdims: x.var(axis=axis, ddof=1, keepdims=keepdims),
}  # fmt: skip


@pytest.mark.parametrize(("shape", "dims"), REDUCED)
def test_sums_and_variances(shape: tuple[int, ...], dims: tuple[int, ...] | None) -> None:
    x = numbers(*shape)
    for name, exact in EXACT.items():
        for keepdim in (False, True):
            ours = getattr(reductions, name)(x, dims, keepdim=keepdim)
            expected = exact(x.astype(np.float64), axis=dims, keepdims=keepdim)
            assert ours.shape == expected.shape
            assert ours.dtype == np.float32
            np.testing.assert_allclose(ours, expected, rtol=3e-7, atol=3e-7 * math.sqrt(x.size))


@pytest.mark.parametrize(("shape", "dims"), REDUCED)
def test_extremes(shape: tuple[int, ...], dims: tuple[int, ...] | None) -> None:
    x = numbers(*shape)
    for array in (
        x,
        np.where(x > 3, np.float32(np.nan), x),
        np.where(x > 2, -np.float32(np.nan), x),
    ):
        np.testing.assert_array_equal(reductions.amax(array, dims), array.max(axis=dims))
        np.testing.assert_array_equal(reductions.amin(array, dims), array.min(axis=dims))
        dim = None if dims is None else dims[0]
        places = (
            torch.from_numpy(array).argmax() if dim is None else torch.from_numpy(array).argmax(dim)
        )
        assert_near(reductions.argmax(array, dim), places)
        np.testing.assert_array_equal(reductions.argmin(array, dim), array.argmin(axis=dim))


@slow
def test_products_and_running_sums() -> None:
    x = numbers(300, 257)
    near_one = 1 + x / 100
    for dims in (None, (0,), (1,)):
        exact = near_one.astype(np.float64).prod(axis=dims)
        # The roundings of n factors add up like a random walk of n steps.
        rtol = np.sqrt(near_one.size / exact.size) * np.finfo(np.float32).eps
        np.testing.assert_allclose(reductions.prod(near_one, dims), exact, rtol=rtol)
    for dim in (0, 1):
        assert_near(reductions.cumsum(x, dim), torch.from_numpy(x).cumsum(dim), atol=1e-6)


def test_long_sums_stay_exact() -> None:
    x = np.full(10_000_001, 0.1, np.float32)
    exact = np.float64(x[0]) * len(x)
    # 256 numbers are added in 16 lanes or more, so that 16 roundings can add up.
    assert abs(reductions.sum(x) - exact) <= 8 * np.spacing(np.float32(exact))
    column = np.full((400_001, 3), 0.1, np.float32)
    exact = np.float64(x[0]) * len(column)
    assert (abs(reductions.sum(column, (0,)) - exact) <= 2 * np.spacing(np.float32(exact))).all()


# --- Indexing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(6, 5, 4), (40, 50, 30)])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_rows_by_index(shape: tuple[int, ...], dim: int) -> None:
    x = numbers(*shape)
    index = np.random.default_rng(1).integers(0, shape[dim], 2 * shape[dim])
    tx, ti = torch.from_numpy(x), torch.from_numpy(index)
    source = numbers(*shape[:dim], len(index), *shape[dim + 1 :], seed=2)
    added = torch.index_add(tx, dim, ti, torch.from_numpy(source))
    ours = x.copy()
    indexing.index_add(ours, dim, index, source)
    assert_near(ours, added, atol=2e-6)


@pytest.mark.parametrize(("rows", "width", "count"), [(10, 4, 7), (5_000, 64, 900)])
def test_embedding(rows: int, width: int, count: int) -> None:
    table, g = numbers(rows, width), numbers(3, count, width, seed=1)
    index = np.random.default_rng(2).integers(0, rows // 2, (3, count))
    ti, tg = torch.from_numpy(index), torch.from_numpy(g)
    np.testing.assert_array_equal(indexing.embedding(table, index), table[index])
    for padding in (-1, int(index[0, 0])):
        for scaled in (False, True):
            theirs = aten.embedding_dense_backward(tg, ti, rows, padding, scaled)
            ours = indexing.embedding_backward(
                g, index, rows, None if padding < 0 else padding, scaled
            )
            assert_near(ours, theirs, atol=5e-6)


@pytest.mark.parametrize("shape", [(6, 5, 4), (40, 50, 30)])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_elements_by_index(shape: tuple[int, ...], dim: int) -> None:
    x = numbers(*shape)
    part = tuple(n if d == dim else n - 1 for d, n in enumerate(shape))
    for size in (shape, part):
        index = np.random.default_rng(1).integers(0, shape[dim], size)
        source = numbers(*shape, seed=2)
        tx, ti, ts = torch.from_numpy(x), torch.from_numpy(index), torch.from_numpy(source)
        np.testing.assert_array_equal(indexing.gather(x, dim, index), tx.gather(dim, ti).numpy())
        assert_near(
            indexing.scatter_add(x, dim, index, source), tx.scatter_add(dim, ti, ts), atol=2e-6
        )
        unique = np.argsort(numbers(*size, seed=3), axis=dim)
        put = tx.scatter(dim, torch.from_numpy(unique), ts)
        np.testing.assert_array_equal(indexing.scatter(x, dim, unique, source), put.numpy())
        np.testing.assert_array_equal(
            indexing.scatter(x, dim, index, 2.5), tx.scatter(dim, ti, 2.5).numpy()
        )


def test_whole_numbers_are_moved_too() -> None:
    for kind in (np.int64, np.int32, np.uint8, np.bool_, np.float16, np.complex128):
        x = np.random.default_rng(0).integers(0, 2, (300, 200)).astype(kind)
        index = np.random.default_rng(1).integers(0, 300, (300, 200))
        np.testing.assert_array_equal(indexing.gather(x, 0, index), np.take_along_axis(x, index, 0))


def test_indices_out_of_bounds() -> None:
    x = numbers(3, 4)
    wrong = np.array([[0, 5, 1, 0]])
    for call in (
        lambda: indexing.gather(x, 0, wrong),
        lambda: indexing.scatter(x, 0, wrong, 1.0, in_place=True),
        lambda: indexing.scatter_add(x, 0, wrong, numbers(1, 4), in_place=True),
    ):
        with pytest.raises(
            RuntimeError, match="index 5 is out of bounds for dimension 0 with size 3"
        ):
            call()
    with pytest.raises(IndexError, match="index out of range in self"):
        indexing.embedding(x, np.array([0, -1]))
    with pytest.raises(IndexError, match="index out of range in self"):
        indexing.index_add(x, 0, np.array([3]), numbers(1, 4))
    np.testing.assert_array_equal(x, numbers(3, 4))


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("bad", [-1, 300])
def test_large_indices_out_of_bounds(dim: int, bad: int) -> None:
    x, source = numbers(300, 300), numbers(300, 300, seed=1)
    index = np.random.default_rng(2).integers(0, 300, (300, 300))
    index[170, 230] = bad
    for call in (
        lambda: indexing.gather(x, dim, index),
        lambda: indexing.scatter(x, dim, index, source),
        lambda: indexing.scatter_add(x, dim, index, source),
        lambda: indexing.scatter(x, dim, index, 1.0, in_place=True),
        lambda: indexing.scatter_add(x, dim, index, source, in_place=True),
    ):
        with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds for dimension {dim}"):
            call()
    np.testing.assert_array_equal(x, numbers(300, 300))


def test_passes_join_each_window_to_its_places() -> None:
    grids = [Geometry((k,), (s,), (p,), (1,), c).grid((n,)) for k in (1, 2, 3, 5) for s in (1, 2, 4)
             for p in range(k // 2 + 1) for c in (False, True) for n in (5, 12)]  # fmt: skip
    found = [g.windows[0] for g in grids] + [
        adaptive_windows(n, m) for n in (1, 5, 12) for m in (1, 3, 7, 12)
    ]
    for windows in found:
        joined = np.zeros((len(windows.first), 12), int)
        for chosen, places in windows.passes():
            one_each = np.eye(chosen.stop - chosen.start, dtype=int)
            joined[chosen, places] += one_each if len(one_each) > 1 else 1
        for row, first, end in zip(joined, windows.first, windows.end, strict=True):
            assert row.tolist() == [first <= i < end for i in range(12)]


def test_scatter_starts_from_anything() -> None:
    source, index = numbers(200, 300), np.random.default_rng(2).integers(0, 400, (200, 300))
    zeros = np.broadcast_to(np.float32(0), (200, 400))
    turned = numbers(400, 200, seed=1).T
    still = numbers(200, 400, seed=2)
    still.flags.writeable = False
    for x in (zeros, turned, still):
        theirs = torch.from_numpy(x.copy()).scatter_add(
            1, torch.from_numpy(index), torch.from_numpy(source)
        )
        assert_near(indexing.scatter_add(x, 1, index, source), theirs, atol=2e-6)
        target = x.copy()
        indexing.scatter_add(target, 1, index, source, in_place=True)
        assert_near(target, theirs, atol=2e-6)


# --- Cores ---------------------------------------------------------------------------------------------------------------


def test_many_threads_at_once() -> None:
    x = numbers(*LARGE)
    expected = mapped("exp")(x)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: mapped("exp")(x), range(40)):
            np.testing.assert_array_equal(result, expected)


FORK = """
import os, numpy as np
from minitorch.torch.backends.cpu.maps import map_of
exp = map_of(np.exp, np.exp)
x = np.ones(100_000, np.float32)
expected = exp(x)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(exp(x), expected) else 1)
raise SystemExit(os.waitpid(child, 0)[1])
"""


def test_forked_processes_compute() -> None:
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], timeout=120).returncode == 0


def test_small_arrays_load_no_numba() -> None:
    program = (
        "import sys, numpy as np\n"
        "from minitorch.torch.formulas import norms, reductions, softmax\n"
        "x = np.ones((8, 8), np.float32)\n"
        "softmax.softmax(x, 1), norms.layer_norm(x, (8,), None, None, 1e-5), reductions.sum(x)\n"
        "sys.exit('numba' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == 0


def small_calls(kind: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Functions that kernels may compute at any size, and small arguments."""
    largest: Any = pool.max_of_windows
    x, y, image = (numbers(*shape).astype(kind) for shape in (SMALL, SMALL, (2, 3, 6, 8)))
    w, mean, rstd = x[0], y[:, 0], np.abs(y[:, 1]) + 1
    for dim in (0, 1):
        for fn in (softmax.softmax, softmax.log_softmax):
            yield fn, (x, dim)
        for fn in (softmax.softmax_backward, softmax.log_softmax_backward):
            yield fn, (y, x, dim)
    for weight, bias in ((None, None), (w, x[1])):
        for centred in (False, True):
            yield norms.normalize_rows, (x, weight, bias, 1e-5, centred)
            yield norms.normalize_rows_backward, (y, x, mean, rstd, weight, centred)
    for size in (2, 3):
        grid = Geometry((size,) * 2, (2, 2), (size // 3,) * 2, (1, 1)).grid(image.shape[2:])
        yield largest, (image, grid)
        g, indices = largest.__wrapped__(image, grid)
        yield pool.max_pool_gradient, (g, indices, image.shape, 2)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_formulas_and_kernels_agree_on_small_arrays(kind: Any) -> None:
    for fn, args in small_calls(kind):
        module = import_module(fn.__module__.replace("formulas", "backends.cpu") + "_kernels")
        results = [f(*args) for f in (fn.__wrapped__, getattr(module, fn.__name__))]
        for a, b in zip(*(r if type(r) is tuple else (r,) for r in results), strict=True):
            assert_near(b.reshape(-1), torch.from_numpy(a.reshape(-1)), 2e-6, 2e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_kernels_of_small_arrays_are_their_formulas_to_the_bit(kind: Any) -> None:
    small: Any = import_module("minitorch.torch.backends.cpu.small_kernels")
    formulas = [softmax.softmax, softmax.log_softmax, norms.normalize_rows, scalars.sigmoid]
    for n in (*range(1, 20), 64, 100, 127, 128, 129):
        x = numbers(6, n, seed=n, dtype=kind) * 10
        x[1], x[2, 0], x[3, 0], x[4, n // 2] = -np.inf, np.inf, -np.inf, np.nan
        w, b = numbers(2, n, seed=1, dtype=kind)
        for rows in (
            x,
            x.reshape(2, 3, n),
            x[0],
            x[:, ::2],
            np.asfortranarray(x),
            x[:0],
            x[0, :0],
            x[:, :0],
            x[:0, :0],
        ):
            calls: list[Any] = [(f, (rows, rows.ndim - 1)) for f in formulas[:2]]
            calls += [(f, (rows, 0)) for f in formulas[:2]] + [(formulas[3], (rows,))]
            calls += [
                (formulas[2], (x, weight, bias, 1e-5, centred))
                for weight, bias in ((None, None), (w, None), (w[::-1], b))
                for centred in (True, False)
            ]
            for fn, args in calls:
                formula = getattr(fn, "__wrapped__", fn)
                with np.errstate(all="ignore"):
                    theirs = formula(*args)
                    ours = getattr(small, fn.__name__)(formula, *args)
                for a, e in zip(
                    *(r if type(r) is tuple else (r,) for r in (ours, theirs)), strict=True
                ):
                    np.testing.assert_array_equal(a, e, strict=True)


# --- Products ---------------------------------------------------------------------------------------


def layouts_of(x: np.ndarray) -> list[np.ndarray]:
    """The same matrices in memory in other ways: turned, with gaps between rows, and elements."""
    turned = np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    gaps = np.zeros((*x.shape[:-1], x.shape[-1] + 3), x.dtype)[..., :-3]
    gaps[...] = x
    return [x, turned, gaps, np.repeat(x, 2, axis=-1)[..., ::2]]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((300, 70), (70, 90)), ((7, 500), (500, 200)), ((1, 3000), (3000, 200)),
        ((3000, 1), (1, 200)), ((200, 3000), (3000, 1)), ((48, 64, 32), (48, 32, 64)),
        ((64, 64, 32), (32, 64)), ((64, 256), (3, 256, 100)), ((2, 3, 40, 50), (3, 50, 60)),
        ((5, 1, 50, 60), (1, 6, 60, 70)), ((4, 3), (3, 2)), ((300, 0), (0, 2000)),
    ],
)  # fmt: skip
def test_large_products(left: tuple[int, ...], right: tuple[int, ...], kind: type) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(kind) for shape in (left, right))
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    bound = np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    for x in layouts_of(a):
        for y in layouts_of(b):
            ours = matmul(x, y)
            assert ours.dtype == kind
            assert ours.shape == exact.shape
            np.testing.assert_array_less(
                np.abs(ours - exact), np.finfo(kind).eps * (left[-1] + 1) * bound + 1e-300
            )


@pytest.mark.parametrize(("rows", "inner", "columns"), [(5, 6, 7), (400, 70, 90), (3, 600, 500)])
def test_products_with_a_bias(rows: int, inner: int, columns: int) -> None:
    a, b = numbers(rows, inner), numbers(columns, inner, seed=1).T
    exact = a.astype(np.float64) @ b.astype(np.float64)
    for bias in (numbers(columns, seed=2), numbers(2 * columns)[::2], numbers(1), np.float32(2)):
        assert_near(matmul(a, b, bias), torch.from_numpy(exact + bias).float(), atol=1e-4)


def test_products_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="mismatch"):
        matmul(np.zeros((600, 700)), np.zeros((600, 700)))
