"""Window functions: `torch.hann_window` and others, and those of `torch.signal.windows`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..fixed import fresh_from_sizes
from ..tensor import Array, Tensor
from .creation import new_tensor_of
from .promotion import plain_integer
from .surface import FUNCTIONS

Shape = Callable[[Array, int], Array]
"""A window's values, from the indices 0, 1, ... and the last index."""


def _cosines(coefficients: Sequence[float], last_first: bool = False) -> Shape:
    """a[0] - a[1] cos(x) + a[2] cos(2x) - ..., for x from 0 to 2 pi."""

    def shape(places: Array, last: int) -> Array:
        turn = places * places.dtype.type(2 * math.pi / last)
        waves = [(-1) ** i * a * np.cos(i * turn) for i, a in enumerate(coefficients)]
        return sum(waves[::-1] if last_first else waves, np.zeros_like(places))

    return shape


def _bartlett(places: Array, last: int) -> Array:
    rising = places * places.dtype.type(2 / last)
    return np.minimum(rising, 2 - rising)


def _kaiser(beta: float) -> Shape:
    def shape(places: Array, last: int) -> Array:
        away = (places - places.dtype.type(last / 2)) / places.dtype.type(last / 2)
        height = places.dtype.type(beta) * np.sqrt(np.maximum(1 - away * away, 0))
        return (np.i0(height) / np.i0(beta)).astype(places.dtype)

    return shape


def _window(
    length: int, periodic: bool, kind: dtypes.dtype, shape: Shape, device: Any, requires_grad: bool
) -> Tensor:
    return new_tensor_of(_values(length, periodic, kind, shape), device, requires_grad)


@fresh_from_sizes
def _values(length: int, periodic: bool, kind: dtypes.dtype, shape: Shape) -> Array:
    """A window of a length; a periodic one is a symmetric one of one more element without its last."""
    wide = np.dtype(np.float32) if kind.itemsize == 2 else kind.numpy
    if length <= 1:
        values = np.ones(length, wide)
    elif kind.is_complex:
        raise NotImplementedError(
            f"\"arange_cpu\" not implemented for '{kind.type_name.removesuffix('Tensor')}'"
        )
    else:
        with np.errstate(all="ignore"):  # parameters may be infinite
            values = shape(np.arange(length, dtype=wide), length if periodic else length - 1)
    return np.asarray(values).astype(kind.numpy)


# --- torch.*_window ------------------------------------------------------------------------------


def _declare(name: str, shape_of: Callable[..., Shape], doc: str, **numbers: float) -> None:
    """Declare `torch.name(window_length, periodic=True, parameters...)`."""

    def call(
        window_length: int, periodic: bool = True, *values: float, dtype: Any = None, layout: Any = None,
        device: Any = None, pin_memory: bool = False, requires_grad: bool = False, **named: float,
    ) -> Tensor:  # fmt: skip
        given = dict(zip(numbers, values, strict=False)) | named
        if len(values) > len(numbers) or set(given) - set(numbers):
            raise TypeError(
                f"{name}() received an invalid combination of arguments: {sorted(set(given) - set(numbers))}"
            )
        kind = dtype or dtypes.get_default_dtype()
        window_length = plain_integer(window_length, name, "window_length")
        if window_length < 0:
            raise RuntimeError(
                f"{name} requires non-negative window_length, got window_length={window_length}"
            )
        if kind.kind < dtypes.FLOATING:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
        shape = shape_of(**(numbers | given))
        return _window(window_length, periodic, kind, shape, device, requires_grad)

    call.__name__, call.__doc__ = name, doc
    FUNCTIONS[name] = call


_declare(
    "hann_window",
    lambda: _cosines([0.5, 0.5], last_first=True),
    "Hann's window: half a cosine wave, raised.",
)
_declare("hamming_window", lambda alpha, beta: _cosines([alpha, beta], last_first=True),
         "Hamming's window: a raised cosine that does not begin at 0.", alpha=0.54, beta=0.46)  # fmt: skip
_declare(
    "blackman_window",
    lambda: _cosines([0.42, 0.5, 0.08], last_first=True),
    "Blackman's window: two cosine waves.",
)
_declare("bartlett_window", lambda: _bartlett, "Bartlett's window: a triangle.")
_declare("kaiser_window", _kaiser, "Kaiser's window, from a Bessel function.", beta=12.0)

# --- torch.signal.windows --------------------------------------------------------------------------


def _symmetric(
    name: str,
    M: int,
    shape: Shape,
    sym: bool,
    dtype: Any,
    layout: Any,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    kind = dtype or dtypes.get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and "strided" not in str(layout):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if kind not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    return _window(M, not sym, kind, shape, device, requires_grad)


def general_cosine(
    M: int, *, a: Any, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:  # fmt: skip
    """The general cosine window: a[0] - a[1] cos(x) + a[2] cos(2x) - ..., for x from 0 to 2 pi."""
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _symmetric("general_cosine", M, _cosines(a), sym, dtype, layout, device, requires_grad)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """The general Hamming window: alpha - (1 - alpha) cos(x), for x from 0 to 2 pi."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Hamming window: a raised cosine that does not begin at 0."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Hann window: a raised cosine."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Blackman window: a sum of two cosines and a constant."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Nuttall window: a sum of three cosines and a constant."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:  # fmt: skip
    """The Bartlett window: a triangle."""
    return _symmetric("bartlett", M, _bartlett, sym, dtype, layout, device, requires_grad)


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:  # fmt: skip
    """The cosine (sine) window: half a sine wave."""

    def shape(places: Array, last: int) -> Array:
        return np.sin((places + places.dtype.type(0.5)) * places.dtype.type(math.pi / (last + 1)))

    return _symmetric("cosine", M, shape, sym, dtype, layout, device, requires_grad)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The exponential window: exp(-|x - center| / tau)."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def shape(places: Array, last: int) -> Array:
        middle = last / 2 if center is None else center
        return np.exp(-np.abs(places - places.dtype.type(middle)) / places.dtype.type(tau))

    return _symmetric("exponential", M, shape, sym, dtype, layout, device, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Gaussian window: exp(-(x / std)² / 2), with x from the middle."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def shape(places: Array, last: int) -> Array:
        away = (places - places.dtype.type(last / 2)) / places.dtype.type(std * math.sqrt(2))
        return np.exp(-(away * away))

    return _symmetric("gaussian", M, shape, sym, dtype, layout, device, requires_grad)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Kaiser window, by a Bessel function."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _symmetric("kaiser", M, _kaiser(beta), sym, dtype, layout, device, requires_grad)
