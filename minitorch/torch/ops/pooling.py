"""Pooling: the maximum, mean or p-norm of each window.

Each family is declared once, for one, two and three spatial dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import sampling
from ..formulas import pool
from ..interpreters import composite
from ..tensor import Array, Tensor, wrap_beside
from .layout import as_image
from .precision import require_floats
from .promotion import plain_integer, plain_integers
from .record import Op, bind
from .surface import FUNCTIONS, check_tensor, function, with_out

Sizes = tuple[int, ...]

# --- Records ---------------------------------------------------------------------------------


def _by_places(g: Any, outs: Any, shapes: Any, dims: int) -> Any:
    return bind(TO_PLACES, (g, outs[1].detach()), {"shape": shapes[0], "dims": dims})


TO_PLACES = Op(
    "max_pool_backward", ("grad", "indices"),
    lambda grad, indices, shape, dims: pool.max_pool_gradient(grad, indices, shape, dims),
    {"grad": lambda g, indices, dims: FROM_PLACES(g, indices, dims=dims), "indices": None},
    doc="Values added at the flat indices that max pooling returned.",
)  # fmt: skip
FROM_PLACES = Op(
    "take_pooled", ("input", "indices"), lambda input, indices, dims: pool.take_pooled(input, indices, dims),
    {"input": lambda g, indices, shapes, dims: TO_PLACES(g, indices, shape=shapes[0], dims=dims), "indices": None},
    doc="The elements at the flat indices that max pooling returned.",
)  # fmt: skip
UNPOOL = Op(
    "max_unpool", ("input", "indices"), as_image(lambda input, indices, size: pool.max_unpool(input, indices, size)),
    {"input": lambda g, indices, size: FROM_PLACES(g, indices, dims=len(size)), "indices": None},
    doc="Zeros, with values at the flat indices that max pooling returned.",
)  # fmt: skip
AVG_POOL = Op(
    "avg_pool", ("input",), as_image(lambda input, window: pool.avg_pool_forward(input, *window)),
    {"input": lambda g, shapes, window: AVG_POOL_BACKWARD(g, shape=shapes[0], window=window)},
    doc="The mean of each window.",
)  # fmt: skip
AVG_POOL_BACKWARD = Op(
    "avg_pool_backward", ("grad",), lambda grad, shape, window: pool.avg_pool_gradient(grad, shape, *window),
    {"grad": lambda g, window: AVG_POOL(g, window=window)},
)  # fmt: skip
ADAPTIVE_AVG = Op(
    "adaptive_avg_pool", ("input",), as_image(lambda input, size: pool.adaptive_avg_pool_forward(input, size)),
    {"input": lambda g, shapes, size: ADAPTIVE_AVG_BACKWARD(g, shape=shapes[0], size=size)},
    doc="The mean of each window, for an output of a given size.",
)  # fmt: skip
ADAPTIVE_AVG_BACKWARD = Op(
    "adaptive_avg_pool_backward", ("grad",), lambda grad, shape, size: pool.adaptive_avg_pool_gradient(grad, shape, size),
    {"grad": lambda g, size: ADAPTIVE_AVG(g, size=size)},
)  # fmt: skip


def _maximum(name: str, node: str, compute: Callable[..., tuple[Array, Array]]) -> Op:
    """Declare a record for the maximum of each window and its index."""
    return Op(
        name, ("input",), as_image(compute), {"input": _by_places}, differentiable=1, node=f"{node}Backward0",
        doc="The maximum of each window.",
    )  # fmt: skip


MAX_POOL = {
    d: _maximum(f"max_pool{d}d_with_indices", f"MaxPool{d}DWithIndices",
                lambda input, window, dims: pool.max_pool_forward(input, *window))
    for d in (1, 2, 3)
}  # fmt: skip
ADAPTIVE_MAX = {
    d: _maximum(f"adaptive_max_pool{d}d", f"AdaptiveMaxPool{d}D",
                lambda input, size, dims: pool.adaptive_max_pool_forward(input, size))
    for d in (1, 2, 3)
}  # fmt: skip


# --- Arguments ---------------------------------------------------------------------------------

_WORDS = {1: "one int", 2: "two ints", 3: "three ints"}


def _sizes(name: str, what: str, value: Any, dims: int) -> Sizes:
    """A number for each dimension, from one for all or one for each."""
    if type(value) is int and -(2**31) <= value < 2**31:
        return (value,) * dims
    values = _wide_sizes(name, what, value, dims)
    if not all(-(2**31) <= v < 2**31 for v in values):
        raise RuntimeError(
            f"{name}: {what} {values} cannot be converted to type int without overflow"
        )
    return values


def _wide_sizes(name: str, what: str, value: Any, dims: int) -> Sizes:
    """As `_sizes`, for numbers that need not fit in 32 bits."""
    values = plain_integers(value, name, what)
    if len(values) == 1:
        return values * dims
    if len(values) != dims:
        raise RuntimeError(
            f"{name}: {what} must either be a single int, or a tuple of {_WORDS[dims]}, not {values}"
        )
    return values


def _steps(name: str, kernel: Sizes, stride: Any) -> Sizes:
    """The stride, by default the window's size."""
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):
        return kernel
    return _sizes(name, "stride", stride, len(kernel))


def _target_sizes(name: str, input: Tensor, size: Any, dims: int) -> Sizes:
    """The output's sizes; None means the input's."""
    if isinstance(size, (tuple, list)):
        if dims > 1 and input.ndim <= len(size):
            raise ValueError(f"Input dimension should be at least {len(size) + 1}")
        if len(size) != dims:
            raise RuntimeError(f"{name}: output_size must be {dims} numbers, not {size}")
        given = tuple(size)
    elif isinstance(size, int):
        given = (size,) * dims
    else:
        raise TypeError(
            f"{name}(): argument 'output_size' must be int or tuple of ints, not {type(size).__name__}"
        )
    if input.ndim <= dims:
        raise RuntimeError(
            f"Input dimension should be at least {dims + 1}: {name} of {list(input.shape)}"
        )
    kept = input._array.shape[-dims:]
    return tuple(
        n if s is None else plain_integer(s, name, "output_size")
        for s, n in zip(given, kept, strict=True)
    )


# --- Maximum -------------------------------------------------------------------------------------


def _declare_max_pool(dims: int) -> tuple[Any, Any]:
    name = f"max_pool{dims}d"

    def with_indices(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = True,
    ) -> Any:  # fmt: skip
        check_tensor(name, input)
        require_floats(name, input._array, "fViu")
        kernel = _sizes(name, "kernel_size", kernel_size, dims)
        window = (
            kernel, _steps(name, kernel, stride), _sizes(name, "padding", padding, dims),
            _sizes(name, "dilation", dilation, dims), ceil_mode,
        )  # fmt: skip
        return tuple(bind(MAX_POOL[dims], (input,), {"window": window, "dims": dims}))

    def call(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        if dims == 1 and not return_indices:
            require_floats(name, input._array)
        found = with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return found if return_indices else found[0]

    call.__name__, with_indices.__name__ = name, f"{name}_with_indices"
    call.__doc__ = "The maximum of each window, and its index if `return_indices`."
    with_indices.__doc__ = "The maximum of each window, and its index."
    return function(composite(call)), with_indices


def _declare_adaptive_max(dims: int) -> tuple[Any, Any]:
    name = f"adaptive_max_pool{dims}d"

    def with_indices(input: Tensor, output_size: Any, return_indices: bool = True) -> Any:
        size = _target_sizes(name, input, output_size, dims)
        require_floats(name, input._array)
        return tuple(bind(ADAPTIVE_MAX[dims], (input,), {"size": size, "dims": dims}))

    def call(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        found = with_indices(input, output_size)
        return found if return_indices else found[0]

    call.__name__, with_indices.__name__ = name, f"{name}_with_indices"
    call.__doc__ = "The maximum of each window, for an output of a given size, and its index if `return_indices`."
    with_indices.__doc__ = (
        "The maximum of each window, for an output of a given size, and its index."
    )
    return call, with_indices


max_pool1d, max_pool1d_with_indices = _declare_max_pool(1)
max_pool2d, max_pool2d_with_indices = _declare_max_pool(2)
max_pool3d, max_pool3d_with_indices = _declare_max_pool(3)
adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _declare_adaptive_max(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _declare_adaptive_max(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _declare_adaptive_max(3)
function(max_pool1d_with_indices)


FUNCTIONS["adaptive_max_pool1d"] = adaptive_max_pool1d_with_indices


def _declare_unpool(dims: int) -> Callable[..., Tensor]:
    name = f"max_unpool{dims}d"

    def call(
        input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:  # fmt: skip
        if any(isinstance(v, Tensor) for v in (kernel_size, stride, padding)):
            raise TypeError(f"{name}(): kernel_size, stride and padding must be ints, not Tensor")
        kernel = _wide_sizes(name, "kernel_size", kernel_size, dims)
        steps = _one_for_each(name, "stride", kernel if stride is None else stride, dims)
        edges = _one_for_each(name, "padding", padding, dims)
        _check_unpool(name, input, indices, dims)
        require_floats(name, input._array)
        size = _unpooled_size(input._array.shape[-dims:], kernel, steps, edges, output_size)
        return bind(UNPOOL, (input, indices), {"size": size})

    call.__name__ = name
    call.__doc__ = "The partial inverse of max pooling: zeros, with each value at its index."
    return composite(call)


def _one_for_each(name: str, what: str, value: Any, dims: int) -> Sizes:
    """A number for each dimension; in one and two dimensions PyTorch does not read those beyond."""
    if isinstance(value, (tuple, list)):
        if len(value) < dims:
            raise IndexError(f"{name}: {what} must have a number for each dimension, got {value}")
        value = value[:dims] if dims < 3 else value
    return _wide_sizes(name, what, value, dims)


def _check_unpool(name: str, input: Tensor, indices: Tensor, dims: int) -> None:
    if indices._array.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    if input.ndim not in (dims + 1, dims + 2) or 0 in input._array.shape[-dims - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D or {dims + 2}D input with non-zero size for non-batch dimensions, "
            f"but got tensor with size: {list(input.shape)}"
        )


def _unpooled_size(
    pooled: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, wanted: Any
) -> Sizes:
    """The sizes before pooling; `output_size` chooses among several possible ones."""
    usual = tuple(
        (n - 1) * s + k - 2 * p for n, s, k, p in zip(pooled, stride, kernel, padding, strict=True)
    )
    if wanted is None:
        size = usual
    else:
        size = tuple(wanted)[2:] if len(wanted) == len(kernel) + 2 else tuple(wanted)
        if len(size) != len(kernel):
            raise ValueError(
                f"output_size should be a sequence containing {len(kernel)} or {len(kernel) + 2} elements, but it "
                f"has a length of '{len(wanted)}'"
            )
        for d, (w, u, s) in enumerate(zip(size, usual, stride, strict=True)):
            if not u - s < w < u + s:
                raise ValueError(
                    f'invalid output_size "{size}" (dim {d} must be between {u - s} and {u + s})'
                )
    if min(size) < 0:
        raise ValueError(
            f"max_unpooling: output_size must contain non-negative spatial dimensions, but got {size}"
        )
    return size


max_unpool1d, max_unpool2d, max_unpool3d = map(_declare_unpool, (1, 2, 3))


# --- Windows at random distances -------------------------------------------------------------------


def _random_starts(samples: Array, size: int, count: int, kernel: int) -> Array:
    """The starts of each plane's windows: steps of about size / count, the last window at the end."""
    if count < 2:
        return np.full((len(samples), count), size - kernel)
    step = samples.dtype.type(size - kernel) / samples.dtype.type(count - 1)
    i = np.arange(count, dtype=samples.dtype)
    starts = ((i + samples[:, None]) * step).astype(np.int64) - (samples[:, None] * step).astype(
        np.int64
    )
    starts[:, -1] = size - kernel
    return starts


def _fractional_max(
    input: Array, samples: Array, kernel: Sizes, size: Sizes, dims: int
) -> tuple[Array, Array]:
    planes = input.reshape(-1, math.prod(input.shape[-dims:]))
    samples = samples.reshape(len(planes), dims)
    if dims == 2:
        samples = samples[:, ::-1]  # Torch draws the columns' first
    places = np.zeros((len(planes), 1, 1), np.int64)
    for d, (k, n, out) in enumerate(zip(kernel, input.shape[-dims:], size, strict=True)):
        along = _random_starts(samples[:, d], n, out, k)[:, :, None] + np.arange(
            k
        )  # (planes, windows, taps)
        places = places[:, :, None, :, None] * n + along[:, None, :, None, :]
        places = places.reshape(len(planes), places.shape[1] * out, places.shape[3] * k)
    shape = (*input.shape[:-dims], *size)
    if 0 in shape:
        return np.zeros(shape, input.dtype), np.zeros(shape, np.int64)
    candidates = planes[np.arange(len(planes))[:, None, None], places]
    missing = np.isnan(candidates)
    last = missing.shape[2] - 1 - missing[:, :, ::-1].argmax(2)  # of several NaN, as in Torch
    best = np.where(missing.any(2), last, candidates.argmax(2))[:, :, None]
    values, indices = np.take_along_axis(candidates, best, 2), np.take_along_axis(places, best, 2)
    return values.reshape(shape), indices.reshape(shape)


FRACTIONAL_MAX = Op(
    "fractional_max_pool", ("input", "samples"), _fractional_max, {"input": _by_places, "samples": None},
    differentiable=1, doc="The maximum of each window, with random distances between windows.",
)  # fmt: skip


def _ratios(name: str, given: Any, dims: int) -> tuple[Any, ...]:
    """A ratio for each dimension, from one for all or one for each."""
    ratios = tuple(given) if isinstance(given, Iterable) else (given,) * dims
    if len(ratios) < dims:
        raise IndexError(f"{name}: output_ratio must be one number or {dims}, not {given}")
    return ratios


def _declare_fractional(dims: int) -> tuple[Any, Any]:
    name = f"fractional_max_pool{dims}d"

    def with_indices(
        input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = True, _random_samples: Tensor | None = None,
    ) -> Any:  # fmt: skip
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        kernel = _sizes(name, "kernel_size", kernel_size, dims)
        sizes = input._array.shape[-dims:]
        if len(sizes) < dims:
            raise IndexError(f"{name}: expected {dims} spatial dimensions, got {list(input.shape)}")
        for what, given in (("kernel_size", kernel_size), ("output_size", output_size)):
            if isinstance(given, (tuple, list)) and len(given) == 1:
                raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of Ints")
        require_floats(f"{name}_out_frame", input._array)
        if output_size is None:
            output_size = tuple(
                int(n * r) for n, r in zip(sizes, _ratios(name, output_ratio, dims), strict=False)
            )
        wanted = _sizes(name, "output_size", output_size, dims)
        if min(wanted) < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension: {list(wanted)}")
        if min(kernel) <= 0:
            raise RuntimeError(f"{name}: a window has no elements: {list(kernel)}")
        spare = min(n - o - k + 1 for o, k, n in zip(wanted, kernel, sizes, strict=True))
        if spare < (dims == 3):  # one more is asked for in three dimensions
            raise RuntimeError(
                f"{name}: pool size {kernel} too large relative to input size {sizes}"
            )
        if _random_samples is None:
            batch = 1 if input.ndim == dims + 1 else input.shape[0]
            drawn = sampling.uniform(
                (batch, input.shape[-dims - 1], dims), input._array.dtype, 0.0, 1.0
            )
            _random_samples = wrap_beside(drawn, input)
        params = {"kernel": kernel, "size": wanted, "dims": dims}
        return tuple(bind(FRACTIONAL_MAX, (input, _random_samples), params))

    def call(
        input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Tensor | None = None,
    ) -> Any:  # fmt: skip
        found = with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
        return found if return_indices else found[0]

    call.__name__, with_indices.__name__ = name, f"{name}_with_indices"
    call.__doc__ = with_indices.__doc__ = (
        "The maximum of each window, with random distances between windows."
    )
    return call, with_indices


fractional_max_pool2d, fractional_max_pool2d_with_indices = _declare_fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _declare_fractional(3)


# --- Mean ------------------------------------------------------------------------------------------


def _declare_avg_pool(dims: int) -> Callable[..., Tensor]:
    name = f"avg_pool{dims}d"

    def call(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Tensor:  # fmt: skip
        check_tensor(name, input)
        kernel = _sizes(name, "kernel_size", kernel_size, dims)
        steps, edges = _steps(name, kernel, stride), _sizes(name, "padding", padding, dims)
        if input._array.dtype != np.int64:
            require_floats(name, input._array)
        image = input._array.shape[-3:]
        if dims == 3 and any(n < k for n, k in zip(image, kernel, strict=False)):
            raise RuntimeError(f"input image {list(image)} smaller than kernel size {list(kernel)}")
        window = (kernel, steps, edges, ceil_mode, count_include_pad, divisor_override)
        return bind(AVG_POOL, (input,), {"window": window})

    call.__name__, call.__doc__ = name, "The mean of each window."
    call = composite(call)
    return function(call) if dims == 1 else with_out(call)


def _declare_adaptive_avg(dims: int) -> Callable[..., Tensor]:
    name = f"adaptive_avg_pool{dims}d"

    def call(input: Tensor, output_size: Any) -> Tensor:
        size = _target_sizes(name, input, output_size, dims)
        if input.dtype.is_complex and set(size) == {1}:
            if dims == 1 and input.ndim not in (2, 3):
                raise RuntimeError(f"{name}: Expected 2 to 3 dimensions, but got {input.ndim}")
            return input.mean(tuple(range(-dims, 0)), keepdim=True)
        if dims == 3 or 0 not in size:
            require_floats(name, input._array)
        return bind(ADAPTIVE_AVG, (input,), {"size": size})

    call.__name__, call.__doc__ = name, "The mean of each window, for an output of a given size."
    call = composite(call)
    return function(call) if dims == 1 else call


def _declare_lp_pool(dims: int, average: Any, largest: Any) -> Callable[..., Tensor]:
    def call(
        input: Tensor,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        if isinstance(norm_type, np.ndarray):
            raise TypeError(
                f"lp_pool{dims}d(): argument 'norm_type' must be a number, not an array"
            )
        if norm_type == math.inf:
            return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        if norm_type == -math.inf:
            return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        mean = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        taps = math.prod(_sizes(f"lp_pool{dims}d", "kernel_size", kernel_size, dims))
        return (mean.sign() * mean.abs().relu()).mul(taps).pow(1.0 / norm_type)

    call.__name__, call.__doc__ = f"lp_pool{dims}d", "The p-norm of each window."
    return call


avg_pool1d, avg_pool2d, avg_pool3d = map(_declare_avg_pool, (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(
    _declare_adaptive_avg, (1, 2, 3)
)
lp_pool1d = _declare_lp_pool(1, avg_pool1d, max_pool1d)
lp_pool2d = _declare_lp_pool(2, avg_pool2d, max_pool2d)
lp_pool3d = _declare_lp_pool(3, avg_pool3d, max_pool3d)
