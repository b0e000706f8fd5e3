"""Dropout: random elements or channels set to zero in training.

The random bits are PyTorch's: the same seed drops the same elements.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import sampling
from ..backends.interface import backend_of
from ..tensor import Array, Tensor
from .precision import is_half, kind_name, require_floats
from .random import drawn_for
from .record import Op, bind
from .surface import function

_SATURATION = 1.7580993408473766
"""Minus the limit of selu at -inf: what alpha dropout writes in place of dropped elements."""


def _probability(p: Any) -> float:
    """A probability, which may be given as a tensor; ValueError unless it is in [0, 1]."""
    p = float(p)
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


def _mask(input: Array, p: float, features: bool) -> Array:
    """A mask of ones (keep) and zeros (drop), per element or per channel of each sample."""
    if not features:
        return drawn_for(input, sampling.kept, 1 - p)
    backend = backend_of(input)
    shape = input.shape[:2] + (1,) * (input.ndim - 2)
    where = backend.device_of(input)
    return backend.draw(sampling.bernoulli, shape, input.dtype, where, 1 - p)


def _noise(input: Array, p: float, features: bool) -> Array:
    """The factors of dropout: 0, or 1 / (1 - p), which keeps the mean."""
    noise = _mask(input, p, features)
    noise /= noise.dtype.type(1 - p)
    return noise


def _alpha_noise(input: Array, p: float, features: bool) -> tuple[Array, Array]:
    """The factors of alpha dropout, and what it adds."""
    kept = _mask(input, p, features)
    if is_half(kept):
        kept = kept.astype(np.float32)
    a = 1 / math.sqrt((_SATURATION**2 * p + 1) * (1 - p))
    shift = (kept - 1) * (_SATURATION * a) + _SATURATION * a * p
    return (kept * a).astype(input.dtype), shift.astype(input.dtype)


NOISE = Op("dropout_noise", ("input",), _noise, {"input": None})
ALPHA_NOISE = Op("alpha_dropout_noise", ("input",), _alpha_noise, {"input": None})


def _require_cast(input: Tensor) -> None:
    if input._array.dtype.kind in "biu":
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {kind_name(input._array)}"
        )


def _dropped(
    input: Tensor, p: float, train: bool, features: bool = False, inplace: bool = False
) -> Tensor:
    """The input after dropout, scaled so that the mean stays."""
    if p == 0 or not train or not input._array.size:
        return input
    if p == 1:
        noise = input.new_zeros(())
    else:
        require_floats("bernoulli_scalar_cpu_", input._array, "fVbiu")
        _require_cast(input)
        noise = bind(NOISE, (input.detach(),), {"p": p, "features": features})
    return input.mul_(noise) if inplace else input * noise


def _alpha_dropped(
    input: Tensor, p: float, train: bool, features: bool = False, inplace: bool = False
) -> Tensor:
    """The input with dropped elements at selu's limit, scaled so that mean and variance stay."""
    if p == 0 or not train or not input._array.size:
        return input
    if p == 1:
        return input.mul_(input.new_zeros(())) if inplace else input * input.new_zeros(())
    _require_cast(input)
    require_floats("bernoulli_scalar_cpu_", input._array)
    scale, shift = bind(ALPHA_NOISE, (input.detach(),), {"p": p, "features": features})
    return input.mul_(scale).add_(shift) if inplace else input * scale + shift


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element zeroed with probability p in training, the rest scaled by 1 / (1 - p)."""
    p = _probability(p)
    return _dropped(input, p, training, False, bool(inplace))


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance of selu's output."""
    p = _probability(p)
    return _alpha_dropped(input, p, training, False, bool(inplace))


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Alpha dropout of whole channels."""
    p = _probability(p)
    if training and p not in (0, 1) and input._array.size:
        _need_channels("feature_alpha_dropout", input)
    return _alpha_dropped(input, p, training, True, bool(inplace))


def _need_channels(name: str, input: Tensor) -> None:
    if input.ndim < 2:
        raise RuntimeError(
            f"Feature dropout requires at least 2 dimensions in the input: {name} of {list(input.shape)}"
        )


def _declare_features(dims: int) -> Callable[..., Tensor]:
    name = f"dropout{dims}d"

    def call(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        p = _probability(p)
        if dims == 1 and input.ndim not in (2, 3):
            raise RuntimeError(
                f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input."
            )
        if input.ndim not in (dims + 1, dims + 2):
            warnings.warn(
                f"{name}: Received a {input.ndim}-D input to {name}, which is deprecated and will result in an error "
                f"in a future release; use a {dims + 1}-D or {dims + 2}-D input.",
                stacklevel=2,
            )
        unbatched = input.ndim != dims + 2 and dims != 2
        given = input
        if unbatched:
            given = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
        if training and p not in (0, 1) and input._array.size:
            _need_channels(name, given)
        out = _dropped(given, p, training, True, bool(inplace))
        if unbatched:
            return out.squeeze_(0) if inplace else out.squeeze(0)
        return out

    call.__name__, call.__doc__ = (
        name,
        f"Whole channels, of {dims} dimensions each, zeroed with probability p.",
    )
    return call


dropout1d, dropout2d, dropout3d = map(_declare_features, (1, 2, 3))


def _publish(name: str, drop: Callable[..., Tensor], features: bool) -> None:
    """Declare `torch.name(input, p, train)` and its in-place version."""
    for suffix, inplace in (("", False), ("_", True)):

        def call(input: Tensor, p: float, train: bool, inplace: bool = inplace) -> Tensor:
            p = float(p)
            if not 0 <= p <= 1:
                raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
            if features and train and p not in (0, 1) and input._array.size:
                _need_channels(name, input)
            return drop(input, p, train, features, inplace)

        call.__name__, call.__doc__ = name + suffix, "Dropout, in training only."
        function(call)


_publish("dropout", _dropped, False)
_publish("alpha_dropout", _alpha_dropped, False)
_publish("feature_dropout", _dropped, True)
_publish("feature_alpha_dropout", _alpha_dropped, True)
