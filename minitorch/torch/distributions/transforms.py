"""Transforms of random tensors, with the logarithm of how much they stretch volumes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..nn.functional import logsigmoid, pad, softplus
from ..ops.creation import full_like
from ..ops.joining import cat, stack
from ..ops.movement import broadcast_shapes
from ..tensor import Size, Tensor
from . import constraints
from .matrix_transforms import CorrCholeskyTransform as CorrCholeskyTransform
from .matrix_transforms import LowerCholeskyTransform as LowerCholeskyTransform
from .matrix_transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from .transform import ComposeTransform as ComposeTransform
from .transform import IndependentTransform as IndependentTransform
from .transform import Transform as Transform
from .transform import _InverseTransform as _InverseTransform
from .transform import identity_transform as identity_transform
from .transform import wider
from .utils import NUMBERS, broadcast_all, sum_rightmost


class ReshapeTransform(Transform):
    """Another shape for the same numbers."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    def _arguments(self) -> tuple[Any, ...]:
        return self.in_shape, self.out_shape

    domain = property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = property(lambda self: constraints.independent(constraints.real, len(self.out_shape)))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.ndim - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.ndim - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.ndim - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _exchanged(Size(shape), self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _exchanged(Size(shape), self.out_shape, self.in_shape)


def _exchanged(shape: Size, old: Size, new: Size) -> Size:
    """A shape with another end."""
    cut = len(shape) - len(old)
    if cut < 0:
        raise ValueError("Too few dimensions on input")
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


# --- Numbers ----------------------------------------------------------------------------------------


class ExpTransform(Transform):
    """exp(x)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """x to the power of an exponent."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _arguments(self) -> tuple[Any, ...]:
        return (self.exponent,)

    sign = property(lambda self: self.exponent.sign(), doc="Whether it rises or falls.")

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _clipped_sigmoid(x: Tensor) -> Tensor:
    info = dtypes.finfo(x.dtype)
    return x.sigmoid().clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(Transform):
    """1 / (1 + exp(-x)), kept off 0 and 1."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        info = dtypes.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """log(1 + exp(x))."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(Transform):
    """tanh(x)."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the derivative, 1 - tanh(x)², where that is close to 0 too."""
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """|x|."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """loc + scale x."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def _arguments(self) -> tuple[Any, ...]:
        return self.loc, self.scale, self._event_dim

    event_dim = property(lambda self: self._event_dim, doc="How many dimensions it takes together.")
    domain = property(lambda self: wider(constraints.real, self._event_dim))
    codomain = property(lambda self: wider(constraints.real, self._event_dim))

    @property
    def sign(self) -> Any:
        """Whether it rises or falls."""
        if isinstance(self.scale, NUMBERS):
            return (float(self.scale) > 0) - (float(self.scale) < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, NUMBERS):
            growth = full_like(x, math.log(abs(self.scale)))
        else:
            growth = self.scale.abs().log()
        event = self._event_dim
        shape = x.shape[:-event] if event else x.shape
        return sum_rightmost(growth, event).expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        others = (getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))
        return broadcast_shapes(shape, *others)

    inverse_shape = forward_shape


# --- Vectors and matrices -----------------------------------------------------------------------------


class SoftmaxTransform(Transform):
    """exp(x) divided by its sum."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        probs = (x - x.max(-1, keepdim=True)[0]).exp()
        return probs / probs.sum(-1, keepdim=True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(Transform):
    """Probabilities by stick breaking: each is the sigmoid of a number, times what is left."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        z = _clipped_sigmoid(x - _left(x).log())
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        broken = y[..., :-1]
        rest = (1 - broken.cumsum(-1)).clamp(min=dtypes.finfo(y.dtype).tiny)
        return broken.log() - rest.log() + _left(broken).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - _left(x).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        return (*shape[:-1], shape[-1] - 1)


def _left(x: Tensor) -> Tensor:
    """How many shares are still to come after each."""
    return x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)


class StackTransform(Transform):
    """A transform for each place along a dimension."""

    bijective = property(lambda self: all(t.bijective for t in self.transforms))
    domain = property(lambda self: constraints.stack([t.domain for t in self.transforms], self.dim))
    codomain = property(lambda self: constraints.stack([t.codomain for t in self.transforms], self.dim))  # fmt: skip

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], dim

    def _arguments(self) -> tuple[Any, ...]:
        return self.transforms, self.dim

    def _each(self, *tensors: Tensor) -> Any:
        parts = [x.unbind(self.dim) for x in tensors]
        return zip(self.transforms, *parts, strict=True)

    def _call(self, x: Tensor) -> Tensor:
        return stack([t(v) for t, v in self._each(x)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return stack([t.inv(v) for t, v in self._each(y)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        growths = [t.log_abs_det_jacobian(v, w) for t, v, w in self._each(x, y)]
        return stack(growths, self.dim)


class CatTransform(Transform):
    """A transform for each run of places along a dimension.

    >>> import minitorch.torch as torch
    >>> D = torch.distributions
    >>> both = D.CatTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)], lengths=[1, 2])
    >>> both(torch.tensor([0.0, 1.0, 2.0]))
    tensor([1., 2., 4.])
    """

    bijective = property(lambda self: all(t.bijective for t in self.transforms))
    domain = property(
        lambda self: constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)
    )
    codomain = property(
        lambda self: constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)
    )
    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))
    length = property(lambda self: sum(self.lengths), doc="How many places there are.")

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:  # fmt: skip
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"CatTransform: {len(self.transforms)} transforms, but {len(self.lengths)} lengths"
            )

    def _arguments(self) -> tuple[Any, ...]:
        return self.transforms, self.dim, self.lengths

    def _each(self, *tensors: Tensor) -> Any:
        parts = [x.split(self.lengths, self.dim) for x in tensors]
        return zip(self.transforms, *parts, strict=True)

    def _call(self, x: Tensor) -> Tensor:
        return cat([t(v) for t, v in self._each(x)], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return cat([t.inv(v) for t, v in self._each(y)], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        growths = []
        for t, v, w in self._each(x, y):
            growth = t.log_abs_det_jacobian(v, w)
            growths.append(sum_rightmost(growth, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return cat(growths, dim) if dim < 0 else sum(growths[1:], growths[0])


class CumulativeDistributionTransform(Transform):
    """A distribution's cumulative distribution function."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1
    domain = property(lambda self: self.distribution.support)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    def _arguments(self) -> tuple[Any, ...]:
        return (self.distribution,)

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)


__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform",
    "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip
