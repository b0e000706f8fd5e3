"""Initialization of parameters: each function fills a tensor, outside the graph, and returns it."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from ..autograd.modes import no_grad
from ..ops.creation import empty_like as _empty_like
from ..ops.linalg.factorizations import qr as _qr
from ..ops.random import randperm as _randperm
from ..tensor import Tensor

# --- From a distribution -------------------------------------------------------------------------


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniformly distributed numbers from [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normally distributed numbers."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with numbers of the normal distribution truncated to [a, b].

    If the interval has most of the probability, numbers outside are drawn again; else uniform
    numbers from the interval are drawn until they are accepted (rejection sampling).
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if tensor.is_meta:  # meta tensors have no numbers to reject
        return tensor
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def draw_normal(into: Tensor) -> tuple[Tensor, Tensor]:
        low, high = (tensor.new_tensor(x).item() for x in (a, b))
        into.normal_(mean, std, generator=generator)
        return into, (into < low) | (into > high)

    def draw_even(into: Tensor) -> tuple[Tensor, Tensor]:
        into.uniform_(a, b, generator=generator)
        height = into.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return into, _empty_like(into).uniform_(generator=generator).log_().gt(height)

    share = _below((b - mean) / std) - _below((a - mean) / std)
    draw = draw_normal if share > 0.3 else draw_even
    values, refused = draw(tensor)
    while refused.any():
        again, again_refused = draw(_empty_like(values))
        values = again.where(refused, values)
        refused = refused & again_refused
    return tensor if values is tensor else tensor.copy_(values)


def _below(x: float) -> float:
    """The standard normal distribution function."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


# --- Constants -----------------------------------------------------------------------------------


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a number."""
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity."""
    _need_matrix(tensor)
    tensor.zero_().fill_diagonal_(1)
    return tensor


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill with the Dirac delta: a convolution then returns its input channels."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs, *sizes = tensor.shape
    if outputs % groups:
        raise ValueError("dim 0 must be divisible by groups")
    share = outputs // groups
    middle = tuple(size // 2 for size in sizes)
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(share, inputs)):
            tensor[(group * share + channel, channel, *middle)] = 1
    return tensor


# --- Scaled so that signals keep their size ------------------------------------------------------

_GAINS: dict[str, float] = {
    **dict.fromkeys(["linear", "sigmoid", "conv1d", "conv2d", "conv3d"], 1),
    **dict.fromkeys(["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"], 1),
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain for a nonlinearity."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if not isinstance(nonlinearity, str) or nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The numbers of inputs per output (fan in) and of outputs per input (fan out)."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    outputs, inputs, *sizes = tensor.shape
    return inputs * math.prod(sizes), outputs * math.prod(sizes)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """One of the two fans, by its name."""
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill uniformly, with a bound computed from fan in and fan out."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normally distributed numbers, with a deviation computed from fan in and fan out."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill uniformly, with a bound computed from one fan and the nonlinearity."""
    if _has_none(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill with normally distributed numbers, with a deviation computed from one fan and the nonlinearity."""
    if _has_none(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _has_none(tensor: Tensor) -> bool:
    """Whether a tensor is empty, with a warning if it is."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return 0 in tensor.shape


# --- Matrices ------------------------------------------------------------------------------------


def _need_matrix(tensor: Tensor) -> None:
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a random (semi-)orthogonal matrix; kernels are its rows."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    drawn = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = rows < drawn.shape[1]
    q, r = _qr(drawn.t() if wide else drawn)
    q = q * r.diag().sign()
    tensor.view(drawn.shape).copy_(q.t() if wide else q)
    return tensor.mul_(gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normally distributed numbers, and a fraction of each column with zeros."""
    _need_matrix(tensor)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[_randperm(rows)[:zeros], column] = 0
    return tensor


# --- Old names -----------------------------------------------------------------------------------


def _old_name(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function under its deprecated name, without the `_`."""
    name = fn.__name__.removesuffix("_")

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.",
            FutureWarning,
            stacklevel=2,
        )
        return fn(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


uniform, normal, constant, eye, dirac = map(_old_name, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_old_name, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_old_name, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_old_name, (orthogonal_, sparse_))
