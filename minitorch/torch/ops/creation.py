"""New tensors: from data, filled, and like others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import (
    backend_for,
    backend_of,
    from_numpy,
    move,
    others,
    resolve,
    strided,
)
from ..device import CPU, chosen, where_new
from ..dtypes import dtype as dtype_type
from ..environment import preserve_format
from ..tensor import Array, Tensor
from .copies import order_of_memory
from .data import array_of
from .layout import memory_order
from .movement import sizes_of
from .promotion import exact_cast, exact_number, plain_number
from .record import Op, bind
from .surface import (
    FUNCTIONS,
    check_given_type,
    check_tensor,
    function,
    into,
    method,
    only_method,
    place_of,
)  # fmt: skip

Shape = tuple[int, ...]

# --- Records ----------------------------------------------------------------------------------


def _filled(size: Shape, dtype: Any, value: Any = 1) -> Array:
    made = np.empty(size, dtype)
    made.fill(value)
    return made


def _on_device(method: str, formula: Callable[..., Array]) -> Callable[..., Array]:
    """A function that makes an array on a device, with its dimensions in a given order in memory.

    Args:
        method: of the backend of its device
        formula: the same for the CPU
    """

    def make(size: Shape, dtype: Any, order: Any = None, device: Any = CPU, *value: Any) -> Array:
        if order is None and device is CPU:
            return formula(size, dtype)
        create = getattr(backend_for(device), method)
        if order is None:
            return create(size, dtype, device, *value)
        made = create(tuple([size[d] for d in order]), dtype, device, *value)
        return made.transpose(np.argsort(order).tolist())

    return make


def _empty_strided(size: Shape, stride: Shape, count: int, dtype: Any, device: Any = CPU) -> Array:
    memory = backend_for(device).empty((count,), dtype, device)
    return strided(memory, size, tuple(s * dtype.itemsize for s in stride))


def _full(size: Shape, dtype: Any, value: Any, order: Any = None, device: Any = CPU) -> Array:
    if order is None and device is CPU:
        return _filled(size, dtype, value)
    return _fill_on_device(size, dtype, order, device, value)


_fill_on_device = _on_device("full", _filled)
EMPTY = Op("empty", (), _on_device("empty", np.empty), {})
ZEROS = Op("zeros", (), _on_device("zeros", np.zeros), {})
ONES = Op("ones", (), _on_device("ones", _filled), {})
FULL = Op("full", (), _full, {})
EMPTY_STRIDED = Op("empty_strided", (), _empty_strided, {})
LIFT = Op(
    "lift_fresh",
    (),
    lambda data, device=CPU: data if device is CPU else from_numpy(data, device),
    {},
)


def made_by(op: Op, params: dict[str, Any], device: Any, requires_grad: bool) -> Tensor:
    """A leaf, made on a device by a record without inputs."""
    if device is not CPU and (device is not None or chosen):
        where = where_new(device)
        if where is not None and where is not CPU:
            params["device"] = resolve(where)
    out = bind(op, (), params)
    if requires_grad:
        out.requires_grad = True
    return out


def new_tensor_of(array: Array, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A leaf that shares an array's memory, or has a copy of it on another device."""
    if type(array) is not np.ndarray:  # it stays where it is unless a device is named
        where = backend_of(array).device_of(array)
        if device is not None and resolve(device) != where:
            array = move(array, resolve(device))
        device = CPU
    return made_by(LIFT, {"data": array}, device, requires_grad)


# --- From data --------------------------------------------------------------------------------


@function
def tensor(
    data: Any, *, dtype: dtype_type | None = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A new tensor with a copy of data."""
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            stacklevel=3,
        )
    return new_tensor_of(array_of(data, dtype), device, requires_grad)


@function
def as_tensor(data: Any, *, dtype: dtype_type | None = None, device: Any = None) -> Tensor:
    """Data as a tensor, sharing memory where it can."""
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=where_new(device))
    return new_tensor_of(array_of(data, dtype, copy=False), device)


@function
def asarray(
    obj: Any, *, dtype: dtype_type | None = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Any array-like object as a tensor, sharing memory where it can."""
    if isinstance(obj, Tensor) and not copy:
        out = obj.detach().to(dtype=dtype, device=device)
        return out.requires_grad_() if requires_grad else out
    return new_tensor_of(array_of(obj, dtype, copy=bool(copy)), device, requires_grad)


@function
def scalar_tensor(
    s: Any, *, dtype: dtype_type | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A number as a zero-dimensional tensor."""
    array = exact_cast(s, dtype or dtypes.get_default_dtype())
    return new_tensor_of(array, device, requires_grad)


# --- Filled -----------------------------------------------------------------------------------


def shape_of(name: str, sizes: Sequence[Any], named: dict[str, Any]) -> tuple[int, ...]:
    """The shape that a call asks for: several integers, one sequence, or the keyword `size`."""
    for s in sizes:
        if type(s) is not int or s < 0:
            break
    else:
        if not named:
            return tuple(sizes)
    if not sizes and "size" in named:
        sizes = (named.pop("size"),)
    if named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
    shape = sizes_of(sizes)
    if shape and min(shape) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    return shape


def memory_order_of(like: Array, memory_format: Any) -> Any:
    """The order of a new array's dimensions in memory, the outermost first; None: row-major.

    Args:
        like: the array that it is made after
        memory_format: how it is to lie; None: as `like` does
    """
    if memory_format is None and (like.flags.c_contiguous or like.ndim < 2):
        return None
    order = order_of_memory(like, memory_format)
    if order == "channels_last":
        return (0, *range(2, like.ndim), 1)
    found = memory_order(like.shape, [like.strides])[0]
    return None if order == "C" or found == tuple(range(like.ndim)) else found


def _declare_filled(op: Op) -> None:
    """Declare `torch.zeros(2, 3)`, `torch.zeros_like(x)`, `x.new_zeros(2, 3)`."""
    name, name_like = op.name, f"{op.name}_like"
    filled = "uninitialized" if name == "empty" else f"filled with {name}"

    def call(
        *sizes: Any, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, **named: Any,
    ) -> Tensor:  # fmt: skip
        shape = shape_of(name, sizes, named)
        if out is not None:
            if memory_format is not None:
                raise RuntimeError(
                    "'memory_format' argument is incompatible with 'out' tensor argument"
                )
            check_given_type(dtype, out)
            made = made_by(
                op, {"size": shape, "dtype": out._array.dtype}, place_of(out, device), False
            )
            return into(out, made, name)
        kind = dtypes.get_default_dtype() if dtype is None else dtypes.given_type(dtype)
        params = {"size": shape, "dtype": kind.numpy}
        if memory_format is not None:
            if memory_format is preserve_format:
                raise RuntimeError("unsupported memory format Preserve")
            params["order"] = memory_order_of(np.empty(shape, bool), memory_format)
        return made_by(op, params, device, requires_grad)

    def like(
        input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        if not isinstance(input, Tensor):
            check_tensor(name_like, input)
        array = input._array
        usual = dtype is device is memory_format is None and not (requires_grad or others)
        if usual and array.flags.c_contiguous:
            return bind(op, (), {"size": array.shape, "dtype": array.dtype})
        return made_like(op, input, dtype, device, requires_grad, memory_format)

    def new(
        self: Tensor, *sizes: Any, dtype: Any = None, device: Any = None, layout: Any = None,
        requires_grad: bool = False, pin_memory: bool = False, **named: Any,
    ) -> Tensor:  # fmt: skip
        shape = shape_of(f"new_{name}", sizes, named)
        kind = self._array.dtype if dtype is None else dtypes.given_type(dtype).numpy
        where = self.device if device is None else device
        return made_by(op, {"size": shape, "dtype": kind}, where, requires_grad)

    for fn, own in ((call, name), (like, name_like), (new, f"new_{name}")):
        fn.__name__ = own
    call.__doc__ = f"A tensor of a shape, {filled}."
    like.__doc__ = f"A tensor of another's shape and dtype, {filled}."
    new.__doc__ = f"A tensor of a shape and this one's dtype, {filled}."
    FUNCTIONS[name], FUNCTIONS[name_like] = call, like
    method(f"new_{name}", new)


@only_method
def _ones(self: Tensor) -> Tensor:
    """Ones in the shape of a tensor: the gradient that backward begins with."""
    params = {"size": self._array.shape, "dtype": self._array.dtype}
    return made_by(ONES, params, self.device if others else CPU, False)


def made_like(
    op: Op, input: Tensor, dtype: Any, device: Any, requires_grad: bool, memory_format: Any, **more: Any
) -> Tensor:  # fmt: skip
    """A leaf of another tensor's shape, layout and, unless one is given, dtype, made by a record."""
    array = input._array
    kind = array.dtype if dtype is None else dtypes.given_type(dtype).numpy
    params = {"size": array.shape, "dtype": kind, **more}
    if memory_format is not None or not array.flags.c_contiguous:
        params["order"] = memory_order_of(array, memory_format)
    if device is None:
        device = input.device if others else CPU
    return made_by(op, params, device, requires_grad)


for _op in (ZEROS, ONES, EMPTY):
    _declare_filled(_op)


def _filling(shape: Shape, value: Any, dtype: dtype_type | None) -> dict[str, Any]:
    """The parameters of `FULL`: shape, number and dtype; RuntimeError if the dtype cannot represent the number."""
    number = value if type(value) is float else plain_number(value, "full", "fill_value")
    if dtype is None:
        dtype = dtypes.get_default_dtype() if type(number) is float else dtypes.of_number(number)
    return {"size": shape, "value": exact_number(number, dtype), "dtype": dtype.numpy}


@function
def full(
    size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of a shape with every element set to a number."""
    if dtype is not None:
        dtype = dtypes.given_type(dtype)
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"
        )
    shape = shape_of("full", size, {})
    if out is not None:
        check_tensor("full", out, "out")
        check_given_type(dtype, out)
        params = _filling(shape, fill_value, dtype or out.dtype)
        return into(out, made_by(FULL, params, place_of(out, device), False), "full")
    return made_by(FULL, _filling(shape, fill_value, dtype), device, requires_grad)


@function
def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of another's shape and dtype with every element set to a number."""
    check_tensor("full_like", input)
    kind = dtypes.given_type(dtype, input.dtype)
    value = _filling(input._array.shape, fill_value, kind)["value"]
    return made_like(FULL, input, kind, device, requires_grad, memory_format, value=value)


@only_method
def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of a shape and this one's dtype with every element set to a number."""
    where = self.device if device is None else device
    kind = dtype or self.dtype
    return full(size, fill_value, dtype=kind, device=where, requires_grad=requires_grad)


@only_method
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A copy of data in this tensor's dtype."""
    where = self.device if device is None else device
    return new_tensor_of(array_of(data, dtype or self.dtype), where, requires_grad)


@only_method
def new(self: Tensor, *args: Any) -> Tensor:
    """`torch.Tensor(...)` of this tensor's type."""
    return Tensor(*args).to(self.dtype)


@function
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """An uninitialized tensor of a shape and strides."""
    size, stride = sizes_of((size,)), sizes_of((stride,))
    if len(size) != len(stride):
        raise RuntimeError(
            f"mismatch in length of strides and shape: {list(stride)} and {list(size)}"
        )
    kind = (dtype or dtypes.get_default_dtype()).numpy
    if min(size, default=0) < 0:
        raise RuntimeError(f"empty_strided: a shape cannot have negative sizes: {list(size)}")
    steps = [(n - 1) * s for n, s in zip(size, stride, strict=True)]
    count = 1 + sum(steps) if all(size) else 0
    if all(size) and (min(steps, default=0) < 0 or count * kind.itemsize >= 2**63):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}"
        )
    params = {"size": size, "stride": stride, "count": count, "dtype": kind}
    return made_by(EMPTY_STRIDED, params, device, requires_grad)


@only_method
def new_empty_strided(
    self: Tensor, size: Any, stride: Any, *, dtype: Any = None, **options: Any
) -> Tensor:
    """An uninitialized tensor of a shape, strides and this one's dtype."""
    options.setdefault("device", self.device)
    return empty_strided(size, stride, dtype=dtype or self.dtype, **options)


@function
def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Tensor:
    """An uninitialized tensor whose dimensions lie in memory in a given order."""
    size, ndim = sizes_of((size,)), len(size)
    if len(physical_layout) != ndim:
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {ndim} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    if any(not 0 <= d < ndim for d in physical_layout):
        raise RuntimeError(
            f"Dimension out of range (expected to be between 0 and {ndim - 1}, but got {list(physical_layout)})"
        )
    if len(set(physical_layout)) != ndim:
        raise RuntimeError("Duplicate dim not allowed")
    strides, step = [0] * ndim, 1
    for d in reversed(physical_layout):
        strides[d], step = step, step * max(size[d], 1)
    return empty_strided(size, strides, **options)


zeros, ones, empty = (FUNCTIONS[name] for name in ("zeros", "ones", "empty"))
zeros_like, ones_like, empty_like = (
    FUNCTIONS[name] for name in ("zeros_like", "ones_like", "empty_like")
)
