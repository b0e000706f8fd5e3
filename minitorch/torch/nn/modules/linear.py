"""Linear layers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .layer import add_parameters
from .lazy import LazyModuleMixin
from .module import Module


class Identity(Module):
    """Returns its input, whatever arguments it was constructed with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """`x @ weight.T + bias` along the last dimension."""

    __constants__: ClassVar = ["in_features", "out_features"]
    in_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        shapes = {"weight": (out_features, in_features), "bias": (out_features,) if bias else None}
        add_parameters(self, device, dtype, **shapes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight and the bias uniformly from +-1 / sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            draw_within(self.bias, self.in_features)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


def draw_within(bias: Tensor, fan_in: int) -> None:
    """Draw uniformly from +-1 / sqrt(fan_in)."""
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
    init.uniform_(bias, -bound, bound)


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` under the name that attention's output projection has in Torch."""


class Bilinear(Module):
    """`x1 @ weight @ x2 + bias`, with one matrix for each output."""

    __constants__: ClassVar = ["in1_features", "in2_features", "out_features"]
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got ({in1_features=})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        add_parameters(
            self, device, dtype,
            weight=(out_features, in1_features, in2_features),
            bias=(out_features,) if bias else None,
        )  # fmt: skip
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight and the bias uniformly from +-1 / sqrt(in1_features)."""
        for parameter in (self.weight, self.bias):
            if parameter is not None:
                draw_within(parameter, self.weight.shape[1])

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear, becomes=Linear):
    """`Linear` that takes `in_features` from its first input."""

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to "
                    f"in_features from self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]
