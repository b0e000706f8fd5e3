"""New tensors: from data, filled, and like others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.graph import modes
from ..device import resolve
from ..dtypes import dtype as dtype_type
from ..environment import preserve_format
from ..tensor import Array, Tensor, mark_inference, wrap
from .copies import same_layout
from .movement import sizes_of
from .promotion import exact_cast, exact_number
from .surface import FUNCTIONS, check_tensor, function, into, method, only_method


def new_tensor_of(array: Array, requires_grad: bool = False) -> Tensor:
    """A leaf over an array."""
    out = wrap(array)
    if modes.inference:
        mark_inference(out)
    if requires_grad:
        out.requires_grad = True
    return out


# --- From data --------------------------------------------------------------------------------


def array_of(data: Any, dtype: dtype_type | None, copy: bool | None = True) -> Array:
    """Data as an array of the type that Torch would give it."""
    dtype = dtypes.given_type(dtype)
    if isinstance(data, Tensor):
        array = data._array
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
        array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        dtypes.from_numpy_dtype(array.dtype)
    elif hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        array = np.asarray(data)
    else:
        return _from_python(data, dtype)
    if dtype is not None and array.dtype != dtype.numpy:
        return array.astype(dtype.numpy)
    return np.array(array, order="C") if copy else array


def _from_python(data: Any, dtype: dtype_type | None) -> Array:
    """Numbers, or lists of numbers, of tensors, of arrays, however nested."""
    kind = dtype or _kind_of(data)
    try:
        return np.array(_plain(data), dtype=kind.numpy)
    except OverflowError as e:
        if kind.kind == dtypes.INTEGRAL and not kind.is_signed:  # what is below 0 wraps around
            whole = np.array(_plain(data), dtype=np.int64)
            if np.abs(whole).max() <= dtypes.iinfo(kind).max:
                return whole.astype(kind.numpy)
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow") from e
    except (TypeError, ValueError) as e:
        if isinstance(data, str) or "could not convert" in str(e):
            leaf = _first_leaf(data)
            raise TypeError(f"new(): invalid data type '{leaf.__class__.__name__}'") from e
        if not _is_nested(data) or len({_is_nested(v) for v in data}) > 1 or "complex" in str(e):
            raise TypeError(
                f"expected sequences of numbers of type {kind}, got {_lengths(data)}"
            ) from e
        raise ValueError(
            f"expected sequences of one length at every depth, got {_lengths(data)}"
        ) from e


def _kind_of(data: Any) -> dtype_type:
    """The type of nested Python data: the highest kind among its numbers."""
    best = None
    stack = [data]
    while stack:
        value = stack.pop()
        if isinstance(value, (list, tuple, range)):
            stack.extend(value)
            continue
        if isinstance(value, Tensor):
            own = value.dtype
        elif isinstance(value, (np.ndarray, np.generic)):
            own = dtypes.from_numpy_dtype(value.dtype)
        elif isinstance(value, (bool, int, float, complex)):
            own = dtypes.of_number(value)
        else:
            error = TypeError if isinstance(value, str) else RuntimeError
            raise error(f"Could not infer dtype of {value.__class__.__name__}")
        best = own if best is None else dtypes.promote_types(best, own)
    return best or dtypes.get_default_dtype()


def _plain(data: Any) -> Any:
    """Nested data with the arrays of tensors in their places."""
    if isinstance(data, (list, tuple)):
        nested = any(isinstance(v, (list, tuple, Tensor)) for v in data)
        return [_plain(v) for v in data] if nested else list(data)
    return data._array if isinstance(data, Tensor) else data


def _is_nested(data: Any) -> bool:
    return isinstance(data, (list, tuple))


def _first_leaf(data: Any) -> Any:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def _lengths(data: Any) -> list[Any]:
    if not isinstance(data, (list, tuple)):
        return []
    return [len(v) if isinstance(v, (list, tuple)) else type(v).__name__ for v in data]


@function
def tensor(
    data: Any,
    *,
    dtype: dtype_type | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of data."""
    resolve(device)
    return new_tensor_of(array_of(data, dtype), requires_grad)


@function
def as_tensor(data: Any, dtype: dtype_type | None = None, device: Any = None) -> Tensor:
    """Data as a tensor, sharing memory where it can."""
    resolve(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return new_tensor_of(array_of(data, dtype, copy=False))


@function
def asarray(
    obj: Any,
    *,
    dtype: dtype_type | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Anything like an array as a tensor."""
    resolve(device)
    if isinstance(obj, Tensor) and not copy:
        out = obj.detach() if dtype is None else obj.detach().to(dtype)
        return out.requires_grad_() if requires_grad else out
    return new_tensor_of(array_of(obj, dtype, copy=bool(copy)), requires_grad)


@function
def scalar_tensor(
    s: Any, *, dtype: dtype_type | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A number as a tensor without dimensions."""
    resolve(device)
    return new_tensor_of(exact_cast(s, dtype or dtypes.get_default_dtype()), requires_grad)


@function
def frombuffer(
    buffer: Any, *, dtype: dtype_type, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A tensor over the memory of a buffer."""
    size, item = len(memoryview(buffer).cast("B")), dtype.itemsize
    if size == 0 or count == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count > 0 and offset + count * item > size:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not "
            f"be greater than actual buffer length ({size} bytes)"
        )
    if count < 0 and (size - offset) % item:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple "
            f"of element size ({item})"
        )
    return new_tensor_of(np.frombuffer(buffer, dtype.numpy, count, offset), requires_grad)


# --- Filled -----------------------------------------------------------------------------------


def shape_of(name: str, sizes: Sequence[Any], named: dict[str, Any]) -> tuple[int, ...]:
    """The shape that a call asks for, as numbers, as one sequence, or by the name `size`."""
    if not sizes and "size" in named:
        sizes = (named.pop("size"),)
    if named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
    shape = sizes_of(sizes)
    if any(s < 0 for s in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    return shape


def check_given_type(dtype: Any, out: Any) -> None:
    """RuntimeError if a type is asked for that `out=` has not."""
    if dtype is not None and out is not None and dtypes.given_type(dtype) is not out.dtype:
        names = [d.type_name.removesuffix("Tensor") for d in (dtypes.given_type(dtype), out.dtype)]
        raise RuntimeError(f"dtype {names[0]} does not match dtype of out parameter ({names[1]})")


Maker = Callable[[tuple[int, ...], Any], Array]
"""From a shape and a NumPy type to an array."""


def _declare_filled(name: str, make: Maker) -> None:
    """`torch.zeros(2, 3)`, `torch.zeros_like(x)`, `x.new_zeros(2, 3)`."""

    def call(
        *sizes: Any, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, **named: Any,
    ) -> Tensor:  # fmt: skip
        resolve(device)
        shape = shape_of(name, sizes, named)
        if out is not None:
            check_given_type(dtype, out)
            return into(out, wrap(make(shape, out._array.dtype)), name)
        array = make(shape, dtypes.given_type(dtype, dtypes.get_default_dtype()).numpy)
        if memory_format is not None:
            if memory_format is preserve_format:
                raise RuntimeError("unsupported memory format Preserve")
            array = same_layout(array, array, memory_format)
        return new_tensor_of(array, requires_grad)

    def like(
        input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, memory_format: Any = None,
    ) -> Tensor:  # fmt: skip
        check_tensor(f"{name}_like", input)
        resolve(device)
        array = make(input._array.shape, dtypes.given_type(dtype, input.dtype).numpy)
        return new_tensor_of(same_layout(array, input._array, memory_format), requires_grad)

    def new(
        self: Tensor, *sizes: Any, dtype: Any = None, device: Any = None, layout: Any = None,
        requires_grad: bool = False, pin_memory: bool = False, **named: Any,
    ) -> Tensor:  # fmt: skip
        resolve(device)
        shape = shape_of(f"new_{name}", sizes, named)
        return new_tensor_of(make(shape, dtypes.given_type(dtype, self.dtype).numpy), requires_grad)

    for fn, own in ((call, name), (like, f"{name}_like"), (new, f"new_{name}")):
        fn.__name__ = own
    call.__doc__ = f"A tensor of a shape, {name}."
    like.__doc__ = f"A tensor of another's shape and type, {name}."
    new.__doc__ = f"A tensor of a shape and this one's type, {name}."
    FUNCTIONS[name], FUNCTIONS[f"{name}_like"] = call, like
    method(f"new_{name}", new)


_declare_filled("zeros", np.zeros)
_declare_filled("ones", np.ones)
_declare_filled("empty", np.empty)


def _filled(shape: Any, value: Any, dtype: dtype_type | None) -> Array:
    """An array full of a number; RuntimeError if the type cannot hold it."""
    number: Any = value.item() if isinstance(value, Tensor) else value
    if dtype is None:
        dtype = dtypes.of_number(number)
    array = np.empty(shape, dtype.numpy)
    array.fill(exact_number(number, dtype))
    return array


@function
def full(
    size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of a shape with every element set to a number."""
    resolve(device)
    dtype = dtypes.given_type(dtype)
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"
        )
    shape = shape_of("full", (size,), {})
    if out is not None:
        check_given_type(dtype, out)
        return into(out, wrap(_filled(shape, fill_value, dtype or out.dtype)), "full")
    return new_tensor_of(_filled(shape, fill_value, dtype), requires_grad)


@function
def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor of another's shape and type with every element set to a number."""
    check_tensor("full_like", input)
    resolve(device)
    array = _filled(input._array.shape, fill_value, dtype or input.dtype)
    return new_tensor_of(same_layout(array, input._array, memory_format), requires_grad)


@only_method
def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of a shape and this one's type with every element set to a number."""
    kind = dtype or self.dtype
    return full(size, fill_value, dtype=kind, device=device, requires_grad=requires_grad)


@only_method
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A copy of data, as this tensor's type."""
    resolve(device)
    return new_tensor_of(array_of(data, dtype or self.dtype), requires_grad)


@only_method
def new(self: Tensor, *args: Any) -> Tensor:
    """`torch.Tensor(...)` of this tensor's type."""
    return Tensor(*args).to(self.dtype)


@function
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of a shape and strides, not filled."""
    resolve(device)
    size, stride = sizes_of((size,)), sizes_of((stride,))
    if len(size) != len(stride):
        raise RuntimeError(
            f"mismatch in length of strides and shape: {list(stride)} and {list(size)}"
        )
    kind = (dtype or dtypes.get_default_dtype()).numpy
    if min(size, default=0) < 0:
        raise RuntimeError(f"empty_strided: a shape cannot have negative sizes: {list(size)}")
    count = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else 0
    strides = tuple(s * kind.itemsize for s in stride)
    return new_tensor_of(np.ndarray(size, kind, np.empty(count, kind), 0, strides), requires_grad)


@only_method
def new_empty_strided(
    self: Tensor, size: Any, stride: Any, *, dtype: Any = None, **options: Any
) -> Tensor:
    """A tensor of a shape, strides and this one's type, not filled."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, **options)


@function
def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Tensor:
    """A tensor whose dimensions lie in memory in a given order, not filled."""
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
