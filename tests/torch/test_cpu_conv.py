"""Convolution and pooling of arrays against PyTorch's, over random geometries."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from minitorch.torch.backends.cpu import conv_kernels, conv_tiles, pool_kernels
from minitorch.torch.backends.cpu.conv_plans import SHARED, plan_convolution
from minitorch.torch.formulas import conv, pool
from minitorch.torch.formulas.geometry import Geometry

MAX_POOL: Any = (F.max_pool1d, F.max_pool2d, F.max_pool3d)
AVG_POOL: Any = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
ADAPTIVE_MAX: Any = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)
ADAPTIVE_AVG: Any = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)
UNPOOL: Any = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)


class Case(NamedTuple):
    """A convolution: shapes and steps."""

    x: tuple[int, ...]
    weight: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    @property
    def steps(self) -> tuple[Any, ...]:
        return self.stride, self.padding, self.dilation, self.groups


def random_case(draw: random.Random, dims: int, sizes: tuple[int, int], channels: int) -> Case:
    """A convolution that exists, of up to `channels` channels in a group."""

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw.randint(low, high) for _ in range(dims))

    while True:
        groups = draw.choice((1, 1, 2, 3))
        of_group, outputs = draw.randint(1, channels), draw.randint(1, channels)
        case = Case(
            (draw.choice((0, 1, 2, 3)), of_group * groups, *each(*sizes)),
            (outputs * groups, of_group, *each(1, 4)),
            each(1, 3),
            each(0, 3),
            each(1, 2),
            groups,
        )
        try:
            conv.conv_output_shape(case.x, case.weight, *case.steps)
        except RuntimeError:
            continue
        return case


def uneven(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    """Random numbers that are not contiguous in memory."""
    rng = np.random.default_rng(seed)
    wide = rng.standard_normal((*shape[:-1], 2 * shape[-1])).astype(dtype)
    return np.asfortranarray(wide)[..., ::-2]


def close(ours: Any, theirs: torch.Tensor, steps: float) -> None:
    """Equal shapes and types, and values within that many rounding steps of the largest."""
    expected = theirs.detach().numpy()
    assert ours.shape == expected.shape
    assert ours.dtype == expected.dtype
    if expected.size:
        scale = np.abs(expected).max(initial=1.0)
        assert np.abs(ours - expected).max() <= steps * np.finfo(expected.dtype).eps * scale


def check_conv(case: Case, dtype: Any, steps: float) -> None:
    """Values and both gradients of one convolution."""
    dims = len(case.stride)
    x, weight = uneven(case.x, dtype, 1), uneven(case.weight, dtype, 2)
    bias = uneven(case.weight[:1], dtype, 3)
    tx, tw = (torch.tensor(a.copy(), requires_grad=True) for a in (x, weight))
    stride, padding, dilation, groups = case.steps
    y = torch.convolution(
        tx, tw, torch.tensor(bias.copy()), stride, padding, dilation, False, (0,) * dims, groups
    )
    g = uneven(tuple(y.shape), dtype, 4)
    gx, gw = torch.autograd.grad(y, (tx, tw), torch.tensor(g.copy()))
    close(conv.conv_forward(x, weight, bias, *case.steps), y, steps)
    close(conv.conv_input_gradient(g, weight, case.x, *case.steps), gx, steps)
    close(conv.conv_weight_gradient(g, x, case.weight, *case.steps), gw, steps)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_small_convolutions(dims: int) -> None:
    draw = random.Random(dims)
    for _ in range(60):
        check_conv(random_case(draw, dims, (1, 8), 3), np.float64, 50)


def whole(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    """Small whole numbers, of which sums and products are exact in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def check_kernels(case: Case, dtype: Any) -> None:
    """A convolution and its gradients in the kernels, to the last bit of NumPy's."""
    x, weight, bias = (
        whole(s, dtype, i) for i, s in enumerate((case.x, case.weight, case.weight[:1]))
    )
    y = conv.conv_forward(x, weight, bias, *case.steps)
    g = whole(y.shape, dtype, 3)
    expected = (
        y,
        conv.conv_input_gradient(g, weight, case.x, *case.steps),
        conv.conv_weight_gradient(g, x, case.weight, *case.steps),
    )
    stride, padding, dilation, groups = case.steps
    geometry = Geometry(case.weight[2:], stride, padding, dilation)
    ours = (
        conv_kernels.convolve(x, weight, bias, y.shape, geometry, groups),
        conv_kernels.convolve_transposed(g, weight, case.x, geometry, groups),
        conv_kernels.weight_gradient(g, x, case.weight, geometry, groups),
    )
    for mine, theirs in zip(ours, expected, strict=True):
        if mine is NotImplemented:  # a product of matrices
            assert geometry.is_pointwise
            continue
        assert mine.dtype == dtype
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("sheet", [200, 1 << 16])
def test_kernels(monkeypatch: pytest.MonkeyPatch, sheet: int) -> None:
    monkeypatch.setattr(conv_kernels, "SHEET", sheet)  # small sheets make many blocks
    draw = random.Random(sheet)
    for _ in range(120):
        case = random_case(draw, draw.choice((1, 2, 3)), (1, 17), 6)
        if case.x[0]:
            check_kernels(case, np.float32)


@pytest.mark.slow
def test_kernels_in_double_precision() -> None:
    draw = random.Random(0)
    for _ in range(60):
        case = random_case(draw, draw.choice((1, 2, 3)), (1, 17), 6)
        if case.x[0]:
            check_kernels(case, np.float64)


@pytest.mark.parametrize("parts", [(1, 5), (2, 3), (5, 1)])
def test_kernels_in_parts(monkeypatch: pytest.MonkeyPatch, parts: tuple[int, int]) -> None:
    monkeypatch.setattr(conv_kernels, "_parts", lambda *_: parts)
    check_kernels(Case((3, 6, 9, 9), (14, 3, 3, 3), (2, 1), (1, 1), (1, 1), 2), np.float32)
    check_kernels(Case((3, 6, 9, 9), (6, 1, 3, 3), (1, 1), (1, 0), (1, 2), 6), np.float32)


LARGE = [
    Case((4, 16, 28, 28), (24, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    Case((2, 32, 17, 33), (32, 1, 3, 3), (1, 1), (1, 1), (1, 1), 32),
    Case((2, 64, 20, 20), (64, 64, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    Case((4, 32, 130), (48, 32, 5), (2,), (2,), (1,), 1),
]


@pytest.mark.parametrize("case", LARGE)
def test_large_convolutions(case: Case) -> None:
    check_conv(case, np.float32, 20)


def test_large_half_precision() -> None:
    x, weight = uneven((2, 8, 40, 40), np.float16, 1), uneven((16, 8, 3, 3), np.float16, 2)
    steps = (1, 1), (1, 1), (1, 1), 1
    exact = conv.conv_forward(x.astype(np.float32), weight.astype(np.float32), None, *steps)
    ours = conv.conv_forward(x, weight, None, *steps)
    assert (ours == exact.astype(np.float16)).all()


def test_transposed_convolution_with_output_padding() -> None:
    x, weight = uneven((2, 4, 5, 6), np.float64, 1), uneven((4, 3, 3, 2), np.float64, 2)
    expected = F.conv_transpose2d(
        torch.tensor(x.copy()), torch.tensor(weight.copy()), stride=(3, 2), padding=1,
        output_padding=(2, 1), groups=2,
    )  # fmt: skip
    ours = conv.conv_input_gradient(x, weight, tuple(expected.shape), (3, 2), (1, 1), (1, 1), 2)
    close(ours, expected, 50)


def test_half_precision_rounds_once() -> None:
    x, weight = uneven((2, 3, 9), np.float16, 1), uneven((4, 3, 3), np.float16, 2)
    ours = conv.conv_forward(x, weight, None, (1,), (1,), (1,), 1)
    exact = conv.conv_forward(
        x.astype(np.float32), weight.astype(np.float32), None, (1,), (1,), (1,), 1
    )
    assert ours.dtype == np.float16
    assert (ours == exact.astype(np.float16)).all()


def test_integers() -> None:
    x = np.arange(2 * 3 * 8).reshape(2, 3, 8)
    weight = np.arange(4 * 3 * 3).reshape(4, 3, 3)
    expected = F.conv1d(torch.tensor(x), torch.tensor(weight), padding=1)
    ours = conv.conv_forward(x, weight, None, (1,), (1,), (1,), 1)
    assert (ours == expected.numpy()).all()


CONV_MISTAKES: list[Any] = [
    ((2, 3, 8, 8), (4, 3, 11, 3), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 8, 8), (4, 3, 3, 3), (1, 1), (-1, 0), (1, 1), 1),
    ((2, 3, 8, 8), (4, 3, 3, 3), (0, 1), (0, 0), (1, 1), 1),
    ((2, 3, 8, 8), (4, 3, 3, 3), (1, 1), (0, 0), (0, 1), 1),
    ((2, 3, 8, 8), (4, 2, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 8, 8), (5, 1, 3, 3), (1, 1), (0, 0), (1, 1), 3),
    ((2, 3, 8, 8), (4, 3, 3, 3), (1, 1), (0, 0), (1, 1), 0),
    ((2, 3, 0, 8), (4, 3, 3, 3), (1, 1), (2, 2), (1, 1), 1),
]


@pytest.mark.parametrize("mistake", CONV_MISTAKES)
def test_convolutions_that_cannot_be(mistake: Any) -> None:
    x, weight = np.zeros(mistake[0]), np.zeros(mistake[1])
    stride, padding, dilation, groups = mistake[2:]
    tx, tw = torch.tensor(x), torch.tensor(weight)
    with pytest.raises(RuntimeError):
        torch.convolution(tx, tw, None, stride, padding, dilation, False, (0, 0), groups)
    with pytest.raises(RuntimeError):
        conv.conv_forward(x, weight, None, *mistake[2:])


def test_gradients_of_places_that_cannot_be() -> None:
    g, x, weight = np.zeros((2, 4, 9)), np.zeros((2, 3, 8)), np.zeros((4, 3, 3))
    with pytest.raises(RuntimeError, match="do not fit"):
        conv.conv_weight_gradient(g, x, weight.shape, (1,), (0,), (1,), 1)
    with pytest.raises(RuntimeError, match="do not fit"):
        conv.conv_input_gradient(g, weight, x.shape, (1,), (0,), (1,), 1)


# --- Unfold and fold -------------------------------------------------------------------------


def test_unfold_and_fold() -> None:
    draw = random.Random(0)
    for _ in range(30):
        kernel, stride = [(draw.randint(1, 3), draw.randint(1, 3)) for _ in range(2)]
        padding, dilation = (draw.randint(0, 2), 1), (1, draw.randint(1, 2))
        x = uneven((2, 3, 7, 6), np.float64, 1)
        expected = F.unfold(torch.tensor(x.copy()), kernel, dilation, padding, stride)
        columns = conv.unfold(x, kernel, dilation, padding, stride)
        close(columns, expected, 0)
        folded = F.fold(expected, (7, 6), kernel, dilation, padding, stride)
        close(conv.fold(columns, (7, 6), kernel, dilation, padding, stride), folded, 50)


def test_folds_that_cannot_be() -> None:
    with pytest.raises(RuntimeError, match="sliding blocks"):
        conv.unfold(np.zeros((2, 3, 8, 8)), (9, 9), (1, 1), (0, 0), (1, 1))
    with pytest.raises(RuntimeError, match=r"3 \* 3 = 9"):
        conv.fold(np.zeros((2, 12, 5)), (4, 4), (2, 2), (1, 1), (0, 0), (1, 1))
    with pytest.raises(RuntimeError, match="divisible"):
        conv.fold(np.zeros((2, 11, 9)), (4, 4), (2, 2), (1, 1), (0, 0), (1, 1))
    with pytest.raises(RuntimeError, match="stride"):
        conv.unfold(np.zeros((2, 3, 8, 8)), (2, 2), (1, 1), (0, 0), (0, 1))


# --- Pooling ---------------------------------------------------------------------------------


def random_pool(draw: random.Random, dims: int) -> tuple[Any, ...]:
    """Kernel, stride, padding and ceil_mode of a pooling."""
    kernel = tuple(draw.randint(1, 4) for _ in range(dims))
    stride = tuple(draw.randint(1, 4) for _ in range(dims))
    padding = tuple(draw.randint(0, k // 2) for k in kernel)
    return kernel, stride, padding, draw.random() < 0.5


def check_max_pool(
    x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> None:
    """Values, places and gradient of a maximum; what cannot be raises in both."""
    dims = len(kernel)
    tx = torch.tensor(x.copy(), requires_grad=True)
    try:
        values, places = MAX_POOL[dims - 1](
            tx, kernel, stride, padding, dilation, ceil_mode, return_indices=True
        )
    except RuntimeError:
        with pytest.raises(RuntimeError):
            pool.max_pool_forward(x, kernel, stride, padding, dilation, ceil_mode)
        return
    ours, indices = pool.max_pool_forward(x, kernel, stride, padding, dilation, ceil_mode)
    close(ours, values, 0)
    assert (indices == places.numpy()).all()
    g = uneven(ours.shape, x.dtype, 2)
    (expected,) = torch.autograd.grad(values, tx, torch.tensor(g.copy()))
    close(pool.max_pool_gradient(g, indices, x.shape, dims), expected, 20)
    assert (pool.take_pooled(x, indices, dims) == ours).all()


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_max_pool(dims: int) -> None:
    draw = random.Random(dims)
    for _ in range(40):
        kernel, stride, padding, ceil_mode = random_pool(draw, dims)
        dilation = tuple(draw.randint(1, 2) for _ in range(dims))
        shape = (draw.randint(1, 2), 3, *(draw.randint(4, 9) for _ in range(dims)))
        check_max_pool(uneven(shape, np.float64, 1), kernel, stride, padding, dilation, ceil_mode)


def check_avg_pool(x: Any, kernel: Any, stride: Any, padding: Any, *rest: Any) -> None:
    """Values and gradient of a mean; what cannot be raises in both."""
    dims = len(kernel)
    tx = torch.tensor(x.copy(), requires_grad=True)
    theirs = rest[:2] if dims == 1 else rest
    try:
        values = AVG_POOL[dims - 1](tx, kernel, stride, padding, *theirs)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            pool.avg_pool_forward(x, kernel, stride, padding, *rest)
        return
    close(pool.avg_pool_forward(x, kernel, stride, padding, *rest), values, 20)
    g = uneven(tuple(values.shape), x.dtype, 2)
    (expected,) = torch.autograd.grad(values, tx, torch.tensor(g.copy()))
    close(pool.avg_pool_gradient(g, x.shape, kernel, stride, padding, *rest), expected, 20)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_avg_pool(dims: int) -> None:
    draw = random.Random(dims)
    for _ in range(40):
        kernel, stride, padding, ceil_mode = random_pool(draw, dims)
        shape = (2, 3, *(draw.randint(4, 9) for _ in range(dims)))
        override = draw.choice((None, 3)) if dims > 1 else None
        x = uneven(shape, np.float64, 1)
        check_avg_pool(x, kernel, stride, padding, ceil_mode, draw.random() < 0.5, override)


def check_adaptive(x: Any, output: tuple[int, ...]) -> None:
    """Adaptive maximum and mean, with their gradients."""
    dims = len(output)
    tx = torch.tensor(x.copy(), requires_grad=True)
    values, places = ADAPTIVE_MAX[dims - 1](tx, output, return_indices=True)
    ours, indices = pool.adaptive_max_pool_forward(x, output)
    close(ours, values, 0)
    assert (indices == places.numpy()).all()
    mean = ADAPTIVE_AVG[dims - 1](tx, output)
    close(pool.adaptive_avg_pool_forward(x, output), mean, 20)
    g = uneven(ours.shape, x.dtype, 2)
    gradients = [torch.autograd.grad(y, tx, torch.tensor(g.copy()))[0] for y in (values, mean)]
    close(pool.max_pool_gradient(g, indices, x.shape, dims), gradients[0], 20)
    close(pool.adaptive_avg_pool_gradient(g, x.shape, output), gradients[1], 20)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_adaptive_pool(dims: int) -> None:
    draw = random.Random(dims)
    for _ in range(20):
        shape = (2, 3, *(draw.randint(1, 9) for _ in range(dims)))
        check_adaptive(
            uneven(shape, np.float64, 1), tuple(draw.randint(1, 10) for _ in range(dims))
        )


def test_large_pools() -> None:
    draw = random.Random(0)
    for dims in (1, 2, 3):
        kernel, stride, padding, ceil_mode = random_pool(draw, dims)
        x = uneven((8, 16, *(300, 18, 8)[dims - 1 : dims] * dims), np.float32, 1)
        check_max_pool(x, kernel, stride, padding, (1,) * dims, ceil_mode)
        check_avg_pool(x, kernel, stride, padding, ceil_mode, True, None)
        check_adaptive(x, (5,) * dims)
    check_max_pool(np.round(x), (3, 3, 3), (1, 1, 1), (1, 1, 1), (2, 1, 1), False)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_max_unpool(dims: int) -> None:
    x = torch.randn(2, 3, *(6,) * dims, dtype=torch.float64)
    values, places = MAX_POOL[dims - 1](x, 2, return_indices=True)
    expected = UNPOOL[dims - 1](values, places, 2)
    close(pool.max_unpool(values.numpy(), places.numpy(), (6,) * dims), expected, 0)


def test_nan_and_infinity_in_a_maximum() -> None:
    rows = [[1.0, np.nan, np.nan, 2.0], [np.inf, 1.0, 0.0, np.nan], [-np.inf] * 4]
    x = np.array([rows], np.float32)
    for kernel in ((2, 2), (3, 3), (1, 4)):
        values, places = (
            F.max_pool2d(torch.tensor(x), kernel, 1, 1, return_indices=True)
            if (min(kernel) > 1)
            else F.max_pool2d(torch.tensor(x), kernel, 1, return_indices=True)
        )
        padding = (1, 1) if min(kernel) > 1 else (0, 0)
        grid = Geometry(kernel, (1, 1), padding, (1, 1)).grid(x.shape[1:])
        formula: Any = pool.max_of_windows
        for compute in (formula.__wrapped__, pool_kernels.max_of_windows):
            ours, indices = compute(x, grid)
            np.testing.assert_array_equal(ours, values.numpy())
            np.testing.assert_array_equal(indices, places.numpy())


def test_large_pools_of_whole_numbers() -> None:
    x = np.random.default_rng(0).integers(-9, -1, (4, 3, 40, 40))
    theirs = F.max_pool2d(torch.tensor(x), 3, 2, 1, return_indices=True)
    ours = pool.max_pool_forward(x, (3, 3), (2, 2), (1, 1), (1, 1), False)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b.numpy())


@pytest.mark.parametrize("transposed", [False, True])
def test_no_tile_reads_beyond_its_sheet(transposed: bool) -> None:
    """What the last tile of every phase touches, from the tables that kernels follow; one row of weights has the widest tile."""
    draw, widest, furthest = random.Random(5), conv_tiles.SLACK - SHARED, 0
    for _ in range(400):
        case = random_case(draw, draw.randint(1, 3), (1, 40), 4)
        result = conv.conv_output_shape(case.x, case.weight, *case.steps)
        steps = case.weight[2:], case.stride, tuple(draw.choice((p, 40)) for p in case.padding), case.dilation  # fmt: skip
        result = (result[0], result[1], *Geometry(*steps).places(case.x[2:]))
        shapes = (result, case.x) if transposed else (case.x, result)
        plan = plan_convolution(transposed, *shapes, Geometry(*steps), case.groups, 3, 1 << 12)
        block, channels, _, _, _, slices, lines, length, _, _, _, distance, band = plan.layout
        for first, last, _, deep, high, width in plan.phases.tolist():
            if last > first:
                begins = ((block - 1) * slices + deep - 1) * lines * length
                run = (min(band, high) - 1) * length + width
                end = begins + max(run, widest) + plan.offsets[first:last].max()
                furthest = max(furthest, end - channels * distance)
    assert 0 < furthest <= conv_tiles.SLACK


def test_pools_of_nothing() -> None:
    values, indices = pool.max_pool_forward(np.zeros((0, 3, 4)), (2,), (2,), (0,), (1,), False)
    assert values.shape == indices.shape == (0, 3, 2)
    assert pool.max_pool_gradient(values, indices, (0, 3, 4), 1).shape == (0, 3, 4)
    mean = pool.avg_pool_forward(np.zeros((0, 3, 4)), (2,), (2,), (0,), False, True, None)
    assert mean.shape == (0, 3, 2)
    assert pool.adaptive_avg_pool_forward(np.zeros((2, 3, 4)), (0,)).shape == (2, 3, 0)
    assert not pool.adaptive_avg_pool_gradient(np.zeros((2, 3, 0)), (2, 3, 4), (0,)).any()


POOL_MISTAKES: list[Any] = [
    ((9, 9), (2, 2), (0, 0), (1, 1)),
    ((0, 2), (2, 2), (0, 0), (1, 1)),
    ((2, 2), (0, 2), (0, 0), (1, 1)),
    ((2, 2), (2, 2), (2, 0), (1, 1)),
    ((2, 2), (2, 2), (-1, 0), (1, 1)),
    ((2, 2), (2, 2), (0, 0), (0, 1)),
]


@pytest.mark.parametrize("mistake", POOL_MISTAKES)
def test_pools_that_cannot_be(mistake: Any) -> None:
    x = np.zeros((2, 3, 8, 8))
    theirs: Any = F.max_pool2d
    with pytest.raises(RuntimeError):
        theirs(torch.tensor(x), *mistake)
    with pytest.raises(RuntimeError):
        pool.max_pool_forward(x, *mistake, ceil_mode=False)


def test_places_that_cannot_be_in_unpool() -> None:
    ones = np.ones((1, 1, 2, 2))
    with pytest.raises(RuntimeError, match="invalid max index: 99"):
        pool.max_unpool(ones, np.full(ones.shape, 99), (4, 4))
    with pytest.raises(RuntimeError, match="same as that of the input"):
        pool.max_unpool(ones, np.zeros((1, 1, 2, 3), np.int64), (4, 4))
