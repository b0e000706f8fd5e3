"""Activations."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from ...tensor import Tensor
from .. import functional as F
from .layer import add_parameters, layer
from .module import Module
from .multihead import MultiheadAttention as MultiheadAttention

# --- Pieces of lines -----------------------------------------------------------------------------


@layer(F.threshold, shows="threshold={threshold}, value={value}")
class Threshold(Module):
    """x where it is above `threshold`, else `value`."""

    threshold: float
    value: float
    inplace: bool = False


@layer(F.relu, shows="")
class ReLU(Module):
    """x where positive, else 0."""

    inplace: bool = False


@layer(F.rrelu, shows="lower={lower}, upper={upper}")
class RReLU(Module):
    """x where positive, else x times a slope that is random for each element in training."""

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False


@layer(F.hardtanh, shows="min_val={min_val}, max_val={max_val}")
class Hardtanh(Module):
    """x clamped to [min_val, max_val]."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False
    min_value: float | None = None
    max_value: float | None = None

    def _normalize_arguments(self) -> None:
        for old, new in (("min_value", "min_val"), ("max_value", "max_val")):
            value = self.__dict__.pop(old)
            if value is not None:
                warnings.warn(
                    f"keyword argument `{old}` is deprecated and rename to `{new}`",
                    FutureWarning,
                    stacklevel=3,
                )
                setattr(self, new, value)
        if not self.max_val > self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )


class ReLU6(Hardtanh):
    """x clamped to [0, 6]."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


@layer(F.leaky_relu, shows="negative_slope={negative_slope}")
class LeakyReLU(Module):
    """x where positive, else `negative_slope` times x."""

    negative_slope: float = 1e-2
    inplace: bool = False


@layer(F.hardsigmoid)
class Hardsigmoid(Module):
    """relu6(x + 3) / 6, a piecewise linear sigmoid."""

    inplace: bool = False


@layer(F.hardswish)
class Hardswish(Module):
    """x times its hard sigmoid."""

    inplace: bool = False


@layer(F.hardshrink, shows="{lambd}")
class Hardshrink(Module):
    """x where |x| is above `lambd`, else 0."""

    lambd: float = 0.5


@layer(F.softshrink, shows="{lambd}")
class Softshrink(Module):
    """x moved towards 0 by `lambd`; 0 where |x| is at most `lambd`."""

    lambd: float = 0.5


# --- Curves --------------------------------------------------------------------------------------


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


@layer(F.silu, shows="")
class SiLU(Module):
    """x times its sigmoid."""

    inplace: bool = False


@layer(F.mish, shows="")
class Mish(Module):
    """x tanh(softplus(x))."""

    inplace: bool = False


@layer(F.elu, shows="alpha={alpha}")
class ELU(Module):
    """x where positive, else alpha * (exp(x) - 1)."""

    alpha: float = 1.0
    inplace: bool = False


@layer(F.celu, shows="alpha={alpha}")
class CELU(Module):
    """x where positive, else alpha * (exp(x / alpha) - 1)."""

    alpha: float = 1.0
    inplace: bool = False


@layer(F.selu, shows="")
class SELU(Module):
    """ELU, scaled so that layers keep mean 0 and variance 1."""

    inplace: bool = False


@layer(F.glu, shows="dim={dim}")
class GLU(Module):
    """The first half along a dimension times the sigmoid of the second half."""

    dim: int = -1


@layer(F.gelu, shows="approximate={approximate!r}")
class GELU(Module):
    """x times the normal distribution function of x."""

    approximate: str = "none"


@layer(F.logsigmoid)
class LogSigmoid(Module):
    """The logarithm of the sigmoid."""


@layer(F.softplus, shows="beta={beta}, threshold={threshold}")
class Softplus(Module):
    """A smooth ReLU: log(1 + exp(beta * x)) / beta."""

    beta: float = 1.0
    threshold: float = 20.0


@layer(F.softsign)
class Softsign(Module):
    """x / (1 + |x|)."""


@layer(F.tanhshrink)
class Tanhshrink(Module):
    """x - tanh(x)."""


class PReLU(Module):
    """x where positive, else x times a learned slope, one for all channels or one for each."""

    __constants__: ClassVar = ["num_parameters"]

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        add_parameters(self, device, dtype, weight=(num_parameters,))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to `init`."""
        self.weight.data.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


# --- Shares of one -------------------------------------------------------------------------------


class _OverDim(Module):
    """A function along a dimension."""

    __constants__: ClassVar = ["dim"]
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_OverDim):
    """exp(x) divided by its sum along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_OverDim):
    """The logarithm of the softmax."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmin(_OverDim):
    """The softmax of -x."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """The softmax over the channels of an image."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3, _stacklevel=5)


MultiheadAttention.__module__ = __name__  # the module that Torch's pickles name
