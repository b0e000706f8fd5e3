"""nn.functional against PyTorch: values, gradients, second gradients, random numbers, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch as ours

from .oracle import compare, compare_errors, compare_tensors, to_ours

F, R = ours.nn.functional, real.nn.functional


@pytest.fixture(autouse=True)
def _without_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def numbers(*shape: int, grad: bool = True, scale: float = 1.0, positive: bool = False) -> Any:
    """A tensor of random float64 numbers."""
    made = real.randn(shape, dtype=real.float64) * scale
    return (made.abs() + 0.1 if positive else made).requires_grad_(grad)


def shares(*shape: int) -> Any:
    """Numbers between 0 and 1."""
    return (real.rand(*shape, dtype=real.float64) * 0.9 + 0.05).requires_grad_()


def strided(*shape: int) -> Any:
    """A tensor whose last two dimensions lie in memory the other way round."""
    base = real.randn(*shape[:-2], shape[-1], shape[-2], dtype=real.float64)
    return base.transpose(-1, -2).requires_grad_()


def classes(count: int, *shape: int) -> Any:
    """Random class numbers."""
    return real.randint(0, count, shape)


# --- Every function, on inputs of its kind -----------------------------------------------------------

ACTIVATIONS = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "logsigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "silu",
    "softplus",
    "softshrink",
    "softsign",
    "tanhshrink",
    "sigmoid",
    "tanh",
]

CASES: dict[str, list[Callable[[], tuple[Any, ...]]]] = {
    **{name: [lambda: (strided(3, 4, 6),)] for name in ACTIVATIONS},
    "threshold": [lambda: (numbers(4, 5), 0.1, 2.0)],
    "prelu": [lambda: (strided(2, 3, 4), numbers(3)), lambda: (numbers(5), numbers(1))],
    "softmax": [lambda: (strided(3, 4, 5), 1), lambda: (numbers(), 0)],
    "log_softmax": [lambda: (strided(3, 4, 5), -1)],
    "softmin": [lambda: (numbers(3, 4), 0)],
    "linear": [
        lambda: (strided(2, 3, 4), strided(5, 4), numbers(5)),
        lambda: (numbers(4), numbers(5, 4)),
        lambda: (numbers(3, 4), numbers(4)),
        lambda: (numbers(0, 4), numbers(5, 4), numbers(5)),
    ],
    "bilinear": [lambda: (numbers(2, 3), numbers(2, 4), numbers(5, 3, 4), numbers(5))],
    "conv1d": [lambda: (strided(2, 4, 9), strided(6, 2, 3), numbers(6), 2, 1, 2, 2)],
    "conv2d": [
        lambda: (strided(2, 3, 6, 7), numbers(4, 3, 3, 2), numbers(4), (2, 1), (1, 2)),
        lambda: (numbers(3, 6, 6), numbers(2, 3, 2, 3), None, 1, "same"),
    ],
    "conv3d": [lambda: (numbers(1, 2, 4, 5, 4), numbers(3, 2, 2, 2, 3), numbers(3), 1, 1)],
    "conv_transpose1d": [lambda: (numbers(2, 4, 5), numbers(4, 3, 3), numbers(3), 2, 1, 1)],
    "conv_transpose2d": [
        lambda: (numbers(2, 4, 3, 4), numbers(4, 2, 3, 2), numbers(4), (2, 3), 1, (1, 2), 2)
    ],
    "conv_transpose3d": [lambda: (numbers(1, 2, 3, 2, 3), numbers(2, 2, 2, 2, 2), None, 2)],
    "conv_tbc": [lambda: (numbers(5, 2, 3), numbers(3, 3, 4), numbers(4), 1)],
    "max_pool1d": [lambda: (numbers(2, 3, 9), 3, 2, 1)],
    "max_pool2d": [lambda: (strided(2, 3, 7, 8), (2, 3), 2, 1, 1, True)],
    "max_pool3d": [lambda: (numbers(1, 2, 4, 5, 4), 2)],
    "avg_pool1d": [lambda: (numbers(2, 3, 9), 3, 2, 1, True, False)],
    "avg_pool2d": [lambda: (strided(2, 3, 7, 8), 3, 2, 1, True, True, 5)],
    "avg_pool3d": [lambda: (numbers(1, 2, 4, 5, 4), 2)],
    "adaptive_avg_pool1d": [lambda: (numbers(2, 3, 7), 3)],
    "adaptive_avg_pool2d": [lambda: (strided(2, 3, 7, 5), (3, None))],
    "adaptive_avg_pool3d": [lambda: (numbers(2, 5, 4, 3), 2)],
    "adaptive_max_pool1d": [lambda: (numbers(2, 3, 7), 3)],
    "adaptive_max_pool2d": [lambda: (numbers(2, 3, 7, 5), (3, None))],
    "adaptive_max_pool3d": [lambda: (numbers(2, 5, 4, 3), 2)],
    "lp_pool1d": [lambda: (numbers(2, 3, 8, positive=True), 3.0, 2)],
    "lp_pool2d": [lambda: (numbers(2, 3, 8, 8, positive=True), 2, 3, 2)],
    "lp_pool3d": [lambda: (numbers(2, 3, 4, 4, 4), float("inf"), 2)],
    "layer_norm": [
        lambda: (strided(2, 3, 4, 5), (4, 5), numbers(4, 5), numbers(4, 5)),
        lambda: (numbers(3, 6), (6,)),
    ],
    "group_norm": [lambda: (strided(2, 6, 3, 4), 3, numbers(6), numbers(6)), lambda: (numbers(2, 4, 5), 2)],
    "rms_norm": [lambda: (strided(2, 3, 5), (5,), numbers(5), 1e-5)],
    "local_response_norm": [lambda: (numbers(2, 4, 5), 3), lambda: (numbers(2, 4, 3, 3), 2)],
    "normalize": [lambda: (strided(3, 4, 5),), lambda: (numbers(3, 4), 1.0, 0)],
    "cosine_similarity": [lambda: (numbers(3, 4), numbers(1, 4))],
    "pairwise_distance": [lambda: (numbers(3, 4), numbers(3, 4), 3.0)],
    "pdist": [lambda: (numbers(5, 3),)],
    "embedding": [lambda: (classes(5, 2, 3), numbers(5, 4), 2)],
    "one_hot": [lambda: (classes(5, 2, 3),), lambda: (classes(5, 4), 7)],
    "mse_loss": [lambda: (numbers(3, 4), numbers(3, 4)), lambda: (numbers(3, 4), numbers(4))],
    "l1_loss": [lambda: (numbers(3, 4), numbers(3, 4))],
    "smooth_l1_loss": [lambda: (numbers(3, 4), numbers(3, 4))],
    "huber_loss": [lambda: (numbers(3, 4), numbers(3, 4), "sum", 0.5)],
    "nll_loss": [lambda: (numbers(4, 5), classes(5, 4)), lambda: (numbers(2, 3, 4, 2), classes(3, 2, 4, 2))],
    "binary_cross_entropy": [lambda: (shares(3, 4), shares(3, 4))],
    "binary_cross_entropy_with_logits": [lambda: (numbers(3, 4), shares(3, 4))],
    "kl_div": [lambda: (numbers(3, 4), shares(3, 4))],
    "poisson_nll_loss": [lambda: (numbers(3, 4), shares(3, 4))],
    "gaussian_nll_loss": [lambda: (numbers(3, 4), numbers(3, 4), shares(3, 4)), lambda: (numbers(3), numbers(3), 0.5)],
    "soft_margin_loss": [lambda: (numbers(3, 4), numbers(3, 4, grad=False).sign())],
    "hinge_embedding_loss": [lambda: (numbers(3, 4), numbers(3, 4, grad=False).sign())],
    "margin_ranking_loss": [lambda: (numbers(4), numbers(4), numbers(4, grad=False).sign(), 0.2)],
    "cosine_embedding_loss": [lambda: (numbers(4, 3), numbers(4, 3), numbers(4, grad=False).sign(), 0.1)],
    "multi_margin_loss": [lambda: (numbers(4, 5), classes(5, 4), 2, 0.5, shares(5).detach())],
    "multilabel_margin_loss": [lambda: (numbers(2, 4), real.tensor([[3, 0, -1, 1], [1, -1, 2, 2]]))],
    "multilabel_soft_margin_loss": [lambda: (numbers(3, 4), shares(3, 4))],
    "triplet_margin_loss": [lambda: (numbers(3, 4), numbers(3, 4), numbers(3, 4), 1.0, 2.0, 1e-6, True)],
    "pad": [
        lambda: (numbers(2, 3, 4), (1, -1, 0, 2), "constant", 3.0),
        lambda: (strided(2, 3, 4), (2, 1), "reflect"),
        lambda: (numbers(1, 2, 3, 4), (1, 2, 2, 0), "replicate"),
        lambda: (numbers(1, 2, 3, 4), (1, 2, 2, 1), "circular"),
    ],
    "pixel_shuffle": [lambda: (numbers(2, 8, 3, 2), 2)],
    "pixel_unshuffle": [lambda: (numbers(2, 2, 6, 4), 2)],
    "channel_shuffle": [lambda: (numbers(2, 6, 3, 2), 3)],
    "unfold": [lambda: (strided(2, 3, 5, 6), (2, 3), 1, 1, 2)],
    "fold": [lambda: (numbers(2, 12, 12), (4, 5), (2, 2))],
    "affine_grid": [lambda: (numbers(2, 2, 3), (2, 1, 4, 5), False), lambda: (numbers(1, 3, 4), (1, 1, 2, 3, 4), True)],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_pytorch(name: str) -> None:
    real.manual_seed(1)
    for make in CASES[name]:
        compare(getattr(F, name), getattr(R, name), make(), what=name, double=True)


ONE_NUMBER = [
    "mse_loss",
    "l1_loss",
    "nll_loss",
    "binary_cross_entropy",
    "poisson_nll_loss",
    "soft_margin_loss",
    "kl_div",
]


@pytest.mark.parametrize("reduction", ["none", "sum"])
@pytest.mark.parametrize("name", ONE_NUMBER)
def test_reductions(name: str, reduction: str) -> None:
    real.manual_seed(2)
    args = CASES[name][0]()
    compare(
        getattr(F, name), getattr(R, name), args, {"reduction": reduction}, what=name, double=True
    )


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("shape", [(4, 5), (2, 5, 3), (5,)])
def test_cross_entropy(shape: tuple[int, ...], smoothing: float, reduction: str) -> None:
    real.manual_seed(3)
    axis = min(len(shape) - 1, 1)
    target = classes(5, *(n for d, n in enumerate(shape) if d != axis))
    if target.ndim:
        target.view(-1)[0] = 3
    options = {"reduction": reduction, "label_smoothing": smoothing}
    for more in ({}, {"weight": shares(5).detach()}, {"ignore_index": 3}):
        if target.ndim or "ignore_index" not in more:
            kwargs = {**options, **more}
            compare(
                F.cross_entropy, R.cross_entropy, (numbers(*shape), target), kwargs, double=True
            )
    compare(
        F.cross_entropy, R.cross_entropy, (numbers(*shape), shares(*shape)), options, double=True
    )


MODES = [
    ("nearest", 4),
    ("nearest-exact", 4),
    ("area", 4),
    ("bilinear", 4),
    ("bicubic", 4),
    ("linear", 3),
    ("trilinear", 5),
]


@pytest.mark.parametrize(("mode", "ndim"), MODES)
def test_interpolate(mode: str, ndim: int) -> None:
    real.manual_seed(4)
    x = numbers(2, 3, *(5, 6, 4)[: ndim - 2])
    for kwargs in (
        {"size": (7, 3, 4)[: ndim - 2]},
        {"scale_factor": 1.7},
        {"scale_factor": 0.6, "recompute_scale_factor": True},
    ):
        corners = [None] if mode in ("nearest", "nearest-exact", "area") else [False, True]
        for align in corners:
            compare(
                F.interpolate,
                R.interpolate,
                (x,),
                {**kwargs, "mode": mode, "align_corners": align},
                double=True,
            )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_interpolate_with_antialias(mode: str) -> None:
    x = numbers(1, 2, 9, 10)
    compare(F.interpolate, R.interpolate, (x,), {"size": (4, 13), "mode": mode, "antialias": True})


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample(mode: str, padding: str) -> None:
    real.manual_seed(5)
    for align in (False, True):
        args = (numbers(2, 3, 4, 5), numbers(2, 3, 3, 2, scale=0.9), mode, padding, align)
        compare(F.grid_sample, R.grid_sample, args)
    if mode != "bicubic":
        compare(
            F.grid_sample,
            R.grid_sample,
            (numbers(1, 2, 3, 4, 3), numbers(1, 2, 2, 2, 3), mode, padding, False),
        )


@pytest.mark.parametrize("kwargs", [
    {}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": "bool"}, {"attn_mask": "float"}, {"enable_gqa": True},
])  # fmt: skip
def test_attention(kwargs: dict[str, Any]) -> None:
    real.manual_seed(6)
    heads = 2 if "enable_gqa" in kwargs else 4
    q, k, v = numbers(2, 4, 3, 8), numbers(2, heads, 5, 8), numbers(2, heads, 5, 6)
    if "attn_mask" in kwargs:
        seen = real.rand(3, 5) > 0.4
        seen[1] = False
        kwargs = {"attn_mask": seen if kwargs["attn_mask"] == "bool" else numbers(3, 5)}
    compare(
        F.scaled_dot_product_attention,
        R.scaled_dot_product_attention,
        (q, k, v),
        kwargs,
        double=True,
    )


def test_ctc_loss() -> None:
    real.manual_seed(7)
    logs = real.randn(12, 3, 6, dtype=real.float64).log_softmax(2).detach().requires_grad_()
    targets = real.randint(1, 6, (3, 4))
    for reduction in ("none", "mean", "sum"):
        compare(
            F.ctc_loss,
            R.ctc_loss,
            (logs, targets, (12, 9, 4), (4, 2, 4)),
            {"reduction": reduction, "zero_infinity": True},
        )
    compare(
        F.ctc_loss,
        R.ctc_loss,
        (logs, real.randint(1, 6, (9,)), real.tensor([12, 9, 8]), real.tensor([4, 2, 3])),
    )


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode: str) -> None:
    real.manual_seed(8)
    indices, weight = classes(6, 7), numbers(6, 3)
    compare(
        F.embedding_bag,
        R.embedding_bag,
        (indices, weight, real.tensor([0, 2, 2, 5])),
        {"mode": mode},
    )
    compare(
        F.embedding_bag,
        R.embedding_bag,
        (classes(6, 3, 4), weight),
        {"mode": mode, "padding_idx": 2},
    )


def test_embedding_shortens_rows() -> None:
    table = real.randn(5, 3) * 3
    mine = to_ours(table)
    used = real.tensor([1, 3])
    got, expected = (
        F.embedding(to_ours(used), mine, max_norm=1.0),
        R.embedding(used, table, max_norm=1.0),
    )
    compare_tensors(got, expected, "rows")
    compare_tensors(mine, table, "the table")


# --- Running statistics ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
@pytest.mark.parametrize("training", [True, False])
def test_running_statistics(name: str, training: bool) -> None:
    real.manual_seed(9)
    x, mean, var = (
        strided(3, 4, 5, 6),
        numbers(4, grad=False),
        numbers(4, grad=False, positive=True),
    )
    args = (x, mean, var, numbers(4), numbers(4), training, 0.3, 1e-3)
    compare(getattr(F, name), getattr(R, name), args, double=True)
    mine = to_ours((x, mean, var))
    getattr(F, name)(*mine, None, None, training, 0.3)
    getattr(R, name)(x, mean, var, None, None, training, 0.3)
    compare_tensors(mine[1], mean, "running mean")
    compare_tensors(mine[2], var, "running variance")


# --- Random numbers ------------------------------------------------------------------------------------

RANDOM = {
    "dropout": (0.3,), "dropout1d": (0.3,), "dropout2d": (0.4,), "dropout3d": (0.5,), "alpha_dropout": (0.3, True),
    "feature_alpha_dropout": (0.3, True), "rrelu": (0.1, 0.3, True), "gumbel_softmax": (0.7, True),
}  # fmt: skip


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("dtype", [real.float64, real.float32])
def test_random_numbers_are_pytorchs(name: str, dtype: Any) -> None:
    shape = {"dropout1d": (3, 4, 5), "dropout3d": (2, 3, 2, 2, 2)}.get(name, (3, 4, 5, 2))
    x = real.randn(shape, dtype=dtype).requires_grad_()
    compare(getattr(F, name), getattr(R, name), (x, *RANDOM[name]), what=name)


def test_fractional_pooling_draws_as_pytorch() -> None:
    compare(
        F.fractional_max_pool2d,
        R.fractional_max_pool2d,
        (numbers(2, 3, 8, 9), 3),
        {"output_size": (4, 5)},
    )
    compare(
        F.fractional_max_pool3d,
        R.fractional_max_pool3d,
        (numbers(2, 8, 9, 7), 2),
        {"output_ratio": (0.5, 0.5, 0.6)},
    )


# --- Writing into the input --------------------------------------------------------------------------

IN_PLACE = {
    "relu": (), "relu6": (), "elu": (), "selu": (), "celu": (), "silu": (), "mish": (), "hardswish": (),
    "hardsigmoid": (), "hardtanh": (), "leaky_relu": (0.2,), "threshold": (0.1, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    def into(functional: Any) -> Callable[..., Any]:
        return lambda x: getattr(functional, name)(x * 1, *IN_PLACE[name], inplace=True)

    compare(into(F), into(R), (numbers(3, 4),), what=name)


# --- Large inputs, which compiled loops compute ------------------------------------------------------

LARGE = {
    "gelu": lambda: (real.randn(64, 300),),
    "silu": lambda: (real.randn(300, 64).t(),),
    "softmax": lambda: (real.randn(16, 8, 100), -1),
    "log_softmax": lambda: (real.randn(16, 100, 8), 1),
    "layer_norm": lambda: (real.randn(70, 200), (200,), real.randn(200), real.randn(200)),
    "cross_entropy": lambda: (real.randn(200, 70), classes(70, 200)),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_inputs(name: str) -> None:
    real.manual_seed(10)
    args = tuple(
        a.requires_grad_() if isinstance(a, real.Tensor) and a.is_floating_point() else a
        for a in LARGE[name]()
    )
    compare(getattr(F, name), getattr(R, name), args, what=name)


# --- Other types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [real.bfloat16, real.float16, real.float32])
@pytest.mark.parametrize(
    "name", ["gelu", "softmax", "layer_norm", "linear", "cross_entropy", "conv2d", "max_pool2d"]
)
def test_other_types(name: str, dtype: Any) -> None:
    real.manual_seed(11)
    make = CASES["nll_loss" if name == "cross_entropy" else name][0]
    args = tuple(
        a.detach().to(dtype) if isinstance(a, real.Tensor) and a.is_floating_point() else a
        for a in make()
    )
    compare(getattr(F, name), getattr(R, name), args, what=name)


# --- torch.name, and methods -----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "args"), [
    ("batch_norm", lambda: (numbers(3, 4), numbers(4), numbers(4), None, None, True, 0.1, 1e-5, False)),
    ("layer_norm", lambda: (numbers(3, 4), (4,), numbers(4), numbers(4), 1e-5, False)),
    ("embedding", lambda: (numbers(5, 3), classes(5, 4))),
    ("softmax", lambda: (numbers(3, 4), 1)),
    ("cosine_embedding_loss", lambda: (numbers(4, 3), numbers(4, 3), numbers(4, grad=False).sign(), 0.1, 2)),
    ("binary_cross_entropy_with_logits", lambda: (numbers(3), shares(3), None, None, 0)),
    ("dropout", lambda: (numbers(3, 4), 0.5, True)),
    ("adaptive_max_pool1d", lambda: (numbers(2, 7), 3)),
    ("celu_", lambda: (numbers(3, 4, grad=False),)),
])  # fmt: skip
def test_functions_of_torch(name: str, args: Any) -> None:
    compare(getattr(ours, name), getattr(real, name), args(), what=name)


@pytest.mark.parametrize("call", [
    lambda x: x.softmax(1), lambda x: x.log_softmax(dim=0), lambda x: x.relu(), lambda x: x.hardshrink(), lambda x: x.sigmoid(),
])  # fmt: skip
def test_methods(call: Any) -> None:
    compare(call, call, (numbers(3, 4),), double=True)


# --- Wrong calls -----------------------------------------------------------------------------------------

WRONG: list[tuple[str, Callable[[], tuple[Any, ...]]]] = [
    ("linear", lambda: (numbers(3, 4), numbers(5, 3))),
    ("linear", lambda: (numbers(3, 4), real.randn(5, 4))),
    ("conv2d", lambda: (numbers(1, 3, 5, 5), numbers(2, 4, 3, 3))),
    ("conv2d", lambda: (numbers(1, 3, 2, 2), numbers(2, 3, 3, 3))),
    ("conv2d", lambda: (numbers(1, 3, 5, 5), numbers(2, 3, 3, 3), None, 0)),
    ("conv2d", lambda: (numbers(1, 3, 5, 5), numbers(2, 3, 3, 3), None, 2, "same")),
    ("conv1d", lambda: (numbers(3, 5, 5, 5), numbers(2, 3, 3))),
    ("conv_transpose2d", lambda: (numbers(1, 3, 5, 5), numbers(3, 2, 3, 3), None, 1, 0, 2)),
    ("max_pool2d", lambda: (numbers(1, 3, 5, 5), 2, 0)),
    ("max_pool2d", lambda: (numbers(1, 3, 5, 5), 2, 1, 2)),
    ("max_pool2d", lambda: (numbers(5, 5), 2)),
    ("avg_pool2d", lambda: (numbers(1, 3, 5, 5), 2, 2, 0, False, True, 0)),
    ("layer_norm", lambda: (numbers(3, 4), (3,))),
    ("layer_norm", lambda: (numbers(3, 4), (4,), numbers(3))),
    ("group_norm", lambda: (numbers(2, 5, 3), 2)),
    ("batch_norm", lambda: (numbers(1, 4), None, None, None, None, True)),
    ("batch_norm", lambda: (numbers(3, 4), None, None)),
    ("batch_norm", lambda: (numbers(3, 4), numbers(3, grad=False), numbers(4, grad=False))),
    ("instance_norm", lambda: (numbers(2, 3, 1),)),
    ("dropout", lambda: (numbers(3), 1.5)),
    ("embedding", lambda: (real.tensor([7]), numbers(5, 3))),
    ("embedding", lambda: (real.tensor([1.0]), numbers(5, 3))),
    ("embedding", lambda: (real.tensor([1]), numbers(5, 3), 9)),
    ("one_hot", lambda: (real.tensor([-1]),)),
    ("one_hot", lambda: (real.tensor([3]), 2)),
    ("cross_entropy", lambda: (numbers(3, 4), real.tensor([0, 1, 9]))),
    ("cross_entropy", lambda: (numbers(3, 4), real.tensor([0, 1]))),
    ("cross_entropy", lambda: (numbers(3, 4), real.tensor([0, 1, 2]), None, None, -100, None, "median")),
    ("nll_loss", lambda: (numbers(3, 4), real.tensor([0.0, 1.0, 2.0]))),
    ("binary_cross_entropy", lambda: (numbers(3, 4, scale=9.0), shares(3, 4))),
    ("binary_cross_entropy", lambda: (shares(3, 4), shares(3))),
    ("mse_loss", lambda: (numbers(3, 4), numbers(3, 5))),
    ("softmax", lambda: (numbers(3, 4), 2)),
    ("softmax", lambda: (real.tensor([1, 2]), 0)),
    ("gelu", lambda: (real.tensor([1, 2]),)),
    ("glu", lambda: (numbers(3, 5),)),
    ("prelu", lambda: (numbers(2, 3), numbers(2))),
    ("hardtanh", lambda: (numbers(3), 2.0, 1.0)),
    ("pad", lambda: (numbers(2, 3), (1, 1), "mirror")),
    ("pad", lambda: (numbers(1, 2, 3), (3, 1), "reflect")),
    ("interpolate", lambda: (numbers(1, 2, 3, 3),)),
    ("interpolate", lambda: (numbers(1, 2, 3, 3), (2, 2, 2))),
    ("grid_sample", lambda: (numbers(1, 2, 3, 3), numbers(2, 3, 3, 2))),
    ("pixel_shuffle", lambda: (numbers(1, 3, 2, 2), 2)),
    ("scaled_dot_product_attention", lambda: (numbers(3, 4), numbers(3, 4), numbers(3, 4), numbers(3, 3), 0.0, True)),
    ("triplet_margin_loss", lambda: (numbers(3), numbers(3), numbers(3), -1.0)),
    ("max_unpool2d", lambda: (numbers(1, 1, 2, 2), real.full((1, 1, 2, 2), 99), 2)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "args"), WRONG, ids=[f"{name}-{i}" for i, (name, _) in enumerate(WRONG)]
)
def test_wrong_calls_raise_what_pytorch_raises(name: str, args: Any) -> None:
    given = args()
    raised = compare_errors(getattr(F, name), getattr(R, name), given, {}, name)
    assert raised, "PyTorch allows it"


# --- Fused against composed --------------------------------------------------------------------------------


def _check_same(
    fused: Callable[..., Any], composed: Callable[..., Any], *shapes: tuple[int, ...]
) -> None:
    """Values, gradients and second gradients of two ways to compute the same."""
    made = [np.random.default_rng(i).standard_normal(s) for i, s in enumerate(shapes)]
    found = []
    for fn in (fused, composed):
        inputs = [ours.as_tensor(a).requires_grad_() for a in made]
        out = fn(*inputs)
        first = ours.autograd.grad((out * out).sum(), inputs, create_graph=True)
        total = ours.stack([(g * g).sum() for g in first]).sum()
        found.append([out, *first, *ours.autograd.grad(total, inputs)])
    for a, b in zip(*found, strict=True):
        assert np.allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-10)


def _composed_norm(x: Any, weight: Any, bias: Any) -> Any:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias


@pytest.mark.parametrize(("fused", "composed", "shapes"), [
    (F.gelu, lambda x: 0.5 * x * (1 + (x / 2**0.5).erf()), [(3, 4)]),
    (F.silu, lambda x: x * x.sigmoid(), [(3, 4)]),
    (F.mish, lambda x: x * (1 + x.exp()).log().tanh(), [(3, 4)]),
    (F.softplus, lambda x: (1 + x.exp()).log(), [(3, 4)]),
    (F.logsigmoid, lambda x: x.sigmoid().log(), [(3, 4)]),
    (lambda x: F.softmax(x, -1), lambda x: x.exp() / x.exp().sum(-1, keepdim=True), [(3, 4)]),
    (lambda x: F.log_softmax(x, -1), lambda x: x - x.exp().sum(-1, keepdim=True).log(), [(3, 4)]),
    (lambda x, w, b: F.layer_norm(x, (4,), w, b), _composed_norm, [(3, 4), (4,), (4,)]),
    (F.linear, lambda x, w, b: x @ w.t() + b, [(2, 3, 4), (5, 4), (5,)]),
    (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        lambda q, k, v: F.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v,
        [(2, 3, 4), (2, 5, 4), (2, 5, 4)],
    ),
    (
        lambda x: F.cross_entropy(x, ours.as_tensor([1, 0, 3])),
        lambda x: -x.log_softmax(1).gather(1, ours.as_tensor([[1], [0], [3]])).mean(),
        [(3, 4)],
    ),
])  # fmt: skip
def test_fused_agrees_with_composed(
    fused: Any, composed: Any, shapes: list[tuple[int, ...]]
) -> None:
    _check_same(fused, composed, *shapes)
