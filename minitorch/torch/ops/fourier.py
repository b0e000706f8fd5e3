"""Fourier transforms: three records, and Torch's functions as compositions of them.

Every function resizes its input, then transforms complex to complex, real to half of a
complex spectrum, or such a half back to real. Normalization is a mode of the record, the
same forward and backward, so that a transform's derivative is the opposite transform.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .. import dtypes
from ..fixed import fresh_from_sizes
from ..tensor import Array, Tensor
from .creation import new_tensor_of, tensor
from .elementwise import conj
from .joining import cat
from .movement import wrap_dim, wrap_dims
from .precision import kind_name
from .promotion import plain_integers
from .record import Op
from .surface import check_given_type, check_tensor, into, with_out

# --- The transforms ------------------------------------------------------------------------

PLAIN, BY_ROOT, BY_COUNT = range(3)
"""Normalizations: the result is divided by 1, by the root of its size, by its size."""

# NumPy names normalizations by the direction that divides by the size.
_FORWARD = ("backward", "ortho", "forward")
_BACKWARD = ("forward", "ortho", "backward")


@cache
def _library() -> Any:
    """SciPy's transforms, if it is installed: they are a few times as fast as NumPy's."""
    try:
        import scipy.fft as transforms
    except ImportError:
        transforms = np.fft
    return transforms


def _library_for(input: Array) -> Any:
    """The library that transforms an array: SciPy, or NumPy for other devices and empty arrays."""
    return _library() if input.size and type(input) is np.ndarray else np.fft


def _c2c(input: Array, dims: tuple[int, ...], mode: int, forward: bool) -> Array:
    """Complex to complex."""
    if not input.size:
        return input.copy()
    if forward:
        return _library_for(input).fftn(input, axes=dims, norm=_FORWARD[mode])
    return _library_for(input).ifftn(input, axes=dims, norm=_BACKWARD[mode])


def _r2c(input: Array, dims: tuple[int, ...], mode: int) -> Array:
    """Real to complex, forward: along the last dimension, half of the spectrum."""
    library = _library_for(input)
    return library.rfftn(input, axes=dims, norm=_FORWARD[mode])


def _c2r(input: Array, dims: tuple[int, ...], mode: int, size: int) -> Array:
    """Half of a spectrum to real numbers, `size` of them along the last dimension, inverse."""
    sizes = [*(input.shape[d] for d in dims[:-1]), size]
    library = _library_for(input)
    return library.irfftn(input, s=sizes, axes=dims, norm=_BACKWARD[mode])


def _r2c_gradient(g: Any, shapes: Any, dims: tuple[int, ...], mode: int) -> Any:
    """The gradient of `_r2c`: that of a complex transform of which one half is zero."""
    size = shapes[0][dims[-1]]
    return C2C(resize(g, (size,), dims[-1:]), dims=dims, mode=mode, forward=False).real


def _c2r_gradient(g: Any, shapes: Any, dims: tuple[int, ...], mode: int, size: int) -> Any:
    """The gradient of `_c2r`: each element of the half counts twice, except for the first and the middle."""
    last, kept = dims[-1], shapes[0][dims[-1]]
    spectrum = R2C(g, dims=dims, mode=mode)
    twice = np.where((np.arange(kept) > 0) & (np.arange(kept) < size - kept + 1), 2.0, 1.0)
    shape = [kept if d == last else 1 for d in range(g.ndim)]
    return spectrum * tensor(twice, dtype=g.dtype, device=g.device).reshape(shape)


C2C = Op("fft_c2c", ("input",), _c2c,
         {"input": lambda g, dims, mode, forward: C2C(g, dims=dims, mode=mode, forward=not forward)})  # fmt: skip
R2C = Op("fft_r2c", ("input",), _r2c, {"input": _r2c_gradient})
C2R = Op("fft_c2r", ("input",), _c2r, {"input": _c2r_gradient})


# --- Arguments --------------------------------------------------------------------------------


def _mode(norm: str | None, forward: bool) -> int:
    """The normalization that a name means in a direction."""
    if norm in (None, "backward"):
        return PLAIN if forward else BY_COUNT
    if norm == "forward":
        return BY_COUNT if forward else PLAIN
    if norm == "ortho":
        return BY_ROOT
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def resize(input: Tensor, sizes: Sequence[int], dims: Sequence[int]) -> Tensor:
    """Dimensions cut or zero-padded at their end to given sizes; -1 keeps a size."""
    for size, d in zip(sizes, dims, strict=True):
        have = input._array.shape[d]
        if size == -1 or size == have:
            continue
        if size < have:
            input = input.narrow(d, 0, size)
        else:
            shape = list(input._array.shape)
            shape[d] = size - have
            input = cat([input, input.new_zeros(shape)], d)
    return input


def _floating(name: str, input: Any, to_complex: bool) -> Tensor:
    """The input in a dtype that can be transformed."""
    check_tensor(name, input)
    kind = dtypes.get_default_dtype() if input.dtype.kind < dtypes.FLOATING else input.dtype
    if kind.itemsize == 2:
        raise RuntimeError(f"Unsupported dtype {kind_name(input._array)} in {name}")
    return input.to(kind.to_complex() if to_complex else kind)


def _check_sizes(name: str, sizes: Sequence[int]) -> None:
    if any(s < 1 for s in sizes):
        raise RuntimeError(
            f"{name}: Invalid number of data points ({', '.join(map(str, sizes))}) specified"
        )


def _axes(name: str, input: Tensor, s: Any, dim: Any) -> tuple[list[int], tuple[int, ...]]:
    """The sizes and dimensions of a transform: all, the last ones, or those in `dim`."""
    s = [s] if isinstance(s, int) else s
    if dim is not None:
        dims = wrap_dims(list(dim) if isinstance(dim, (tuple, list)) else [dim], input.ndim)
        if s is not None and len(s) != len(dims):
            raise RuntimeError(
                f"{name}: When given, dim and shape arguments must have the same length: {dim} and {s}"
            )
    elif s is not None:
        if len(s) > input.ndim:
            raise RuntimeError(
                f"{name}: Got shape with {len(s)} values but input tensor only has {input.ndim} dimensions."
            )
        dims = tuple(range(input.ndim - len(s), input.ndim))
    else:
        dims = tuple(range(input.ndim))
    own = [input._array.shape[d] for d in dims]
    sizes = own if s is None else [o if n == -1 else n for o, n in zip(own, s, strict=True)]
    _check_sizes(name, sizes)
    return sizes, dims


# --- Along any dimensions -------------------------------------------------------------------------


def _complex_transform(
    name: str, input: Tensor, s: Any, dim: Any, norm: Any, forward: bool
) -> Tensor:
    x = _floating(name, input, to_complex=True)
    sizes, dims = _axes(name, x, s, dim)
    if not dims:
        return x.clone()
    return C2C(resize(x, sizes, dims), dims=dims, mode=_mode(norm, forward), forward=forward)


def _half_transform(name: str, input: Tensor, s: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    """rfftn; or ihfftn, its conjugate with the normalization of the other direction."""
    if input.dtype.is_complex:
        raise RuntimeError(
            f"{name} expects a real-valued input tensor, but got {kind_name(input._array)}"
        )
    x = _floating(name, input, to_complex=False)
    sizes, dims = _axes(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    x, mode = resize(x, sizes, dims), _mode(norm, forward)
    if forward:
        return R2C(x, dims=dims, mode=mode)
    half = conj(R2C(x, dims=dims[-1:], mode=mode))
    return C2C(half, dims=dims[:-1], mode=mode, forward=False) if dims[:-1] else half


def _real_transform(name: str, input: Tensor, s: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    """irfftn; or hfftn, irfftn of the conjugate with the normalization of the other direction."""
    x = _floating(name, input, to_complex=True)
    sizes, dims = _axes(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last_given = s is not None and (s if isinstance(s, int) else [*s][-1]) != -1
    size = sizes[-1] if last_given else 2 * (x._array.shape[dims[-1]] - 1)
    _check_sizes(name, [size])
    x = resize(x, [*sizes[:-1], size // 2 + 1], dims)
    mode = _mode(norm, forward)
    if forward:
        x = C2C(x, dims=dims[:-1], mode=mode, forward=True) if dims[:-1] else x
        x, dims = conj(x), dims[-1:]
    return C2R(x, dims=dims, mode=mode, size=size)


_KINDS: dict[str, tuple[Callable[..., Tensor], bool, str]] = {
    "fft": (_complex_transform, True, "The Fourier transform"),
    "ifft": (_complex_transform, False, "The inverse Fourier transform"),
    "rfft": (_half_transform, True, "Half of the Fourier transform of real numbers"),
    "irfft": (_real_transform, False, "Real numbers from half of their Fourier transform"),
    "hfft": (
        _real_transform,
        True,
        "The Fourier transform of half of a Hermitian signal: real numbers",
    ),
    "ihfft": (_half_transform, False, "Half of the Hermitian signal that `hfft` transforms"),
}
TRANSFORMS: dict[str, Callable[..., Tensor]] = {}
"""`torch.fft`'s transforms, by name."""


def _declare(name: str) -> None:
    """Declare a transform along one dimension, two, and any number of them."""
    transform, forward, doc = _KINDS[name]

    def one(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        check_tensor(name, input)
        d = wrap_dim(dim, input.ndim)
        if not input.ndim:
            raise IndexError(f"{name}: dimension specified as {dim} but tensor has no dimensions")
        if n is not None:
            _check_sizes(name, [n])
        return transform(name, input, None if n is None else [n], [d], norm, forward)

    def two(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
        return transform(f"{name}2", input, s, dim, norm, forward)

    def several(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
        return transform(f"{name}n", input, s, dim, norm, forward)

    for suffix, fn, where in [
        ("", one, "a dimension"),
        ("2", two, "two dimensions"),
        ("n", several, "dimensions"),
    ]:
        fn.__name__, fn.__doc__ = name + suffix, f"{doc}, along {where}."
        TRANSFORMS[name + suffix] = with_out(fn)


for _name in _KINDS:
    _declare(_name)


# --- Frequencies -----------------------------------------------------------------------------------


def _frequencies(
    name: str,
    n: int,
    below: int,
    count: int,
    d: float,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    out: Any,
) -> Tensor:
    """Whole numbers, of which the last `below` are those before 0, by `1 / (n * d)`."""
    check_given_type(dtype, out)
    kind = dtype or (dtypes.get_default_dtype() if out is None else out.dtype)
    if kind.kind < dtypes.FLOATING:
        raise RuntimeError(f"{name} requires a floating point or complex dtype, got {kind}")
    if kind.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{kind.type_name}'")
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    numbers = _whole_numbers(below, count, kind)
    if isinstance(out, Tensor) and out.numel() == count:
        if not out.ndim and name == "fftfreq":
            raise IndexError("fftfreq(): slice() cannot be applied to a 0-dim tensor.")
        numbers = numbers.reshape(out.shape)
    step = math.nan if not n else 1.0 / (n * d) if d else math.copysign(math.inf, n * d)
    result = new_tensor_of(numbers, device) * step
    return into(out, result, name) if out is not None else result.requires_grad_(requires_grad)


@fresh_from_sizes
def _whole_numbers(below: int, count: int, kind: dtypes.dtype) -> Array:
    return np.concatenate([np.arange(count - below), np.arange(-below, 0)]).astype(kind.numpy)


def fftfreq(
    n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies of `fft`'s results, for samples `d` apart."""
    return _frequencies("fftfreq", n, n // 2, n, d, dtype, device, requires_grad, out)


def rfftfreq(
    n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The frequencies of `rfft`'s results, for samples `d` apart."""
    count = int(n / 2) + 1
    return _frequencies("rfftfreq", n, 0, count, d, dtype, device, requires_grad, out)


def _shift(input: Tensor, dim: Any, by: Callable[[int], int]) -> Tensor:
    given = range(input.ndim) if dim is None else plain_integers(dim, "fftshift", "dim")
    dims = tuple(wrap_dim(d, input.ndim) for d in given)
    return input.roll(tuple(by(input._array.shape[d]) for d in dims), dims)


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The spectrum with frequency 0 moved to the middle."""
    return _shift(input, dim, lambda n: n // 2)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`: frequency 0 moved to the front."""
    return _shift(input, dim, lambda n: (n + 1) // 2)
