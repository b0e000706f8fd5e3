"""New tensors: from data, filled, counted, and like others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.graph import modes
from ..device import resolve
from ..dtypes import dtype as dtype_type
from ..tensor import Array, Tensor, mark_inference, wrap
from .movement import sizes_of
from .record import Op
from .surface import (
    FUNCTIONS,
    check_tensor,
    function,
    function_and_method,
    into,
    method,
    only_method,
)


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
    kind = dtype
    if kind is None:
        kind = _kind_of(data)
    try:
        return np.array(_plain(data), dtype=kind.numpy)
    except OverflowError as e:
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow") from e
    except (TypeError, ValueError) as e:
        if isinstance(data, str) or "could not convert" in str(e):
            raise TypeError(f"new(): invalid data type '{_first_leaf(data).__class__.__name__}'") from e
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
            raise TypeError(f"new(): invalid data type '{value.__class__.__name__}'")
        best = own if best is None else dtypes.promote_types(best, own)
    return best or dtypes.get_default_dtype()


def _plain(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return [_plain(v) for v in data] if any(isinstance(v, (list, tuple, Tensor)) for v in data) else list(data)
    return data._array if isinstance(data, Tensor) else data


def _first_leaf(data: Any) -> Any:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def _lengths(data: Any) -> list[Any]:
    return [len(v) if isinstance(v, (list, tuple)) else type(v).__name__ for v in data] if isinstance(data, (list, tuple)) else []


@function
def tensor(
    data: Any, *, dtype: dtype_type | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
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
def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False) -> Tensor:
    """Anything like an array as a tensor."""
    if isinstance(obj, Tensor) and not copy:
        out = obj.detach() if dtype is None else obj.detach().to(dtype)
        return out.requires_grad_() if requires_grad else out
    return new_tensor_of(array_of(obj, dtype, copy=bool(copy)), requires_grad)


@function
def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A number as a tensor without dimensions."""
    return new_tensor_of(np.array(s, (dtype or dtypes.get_default_dtype()).numpy), requires_grad)


@function
def frombuffer(buffer: Any, *, dtype: dtype_type, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor over the memory of a buffer."""
    size = len(memoryview(buffer).cast("B"))
    if size == 0 or count == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1")
    if count > 0 and offset + count * dtype.itemsize > size:
        raise ValueError(
            f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) "
            f"must not be greater than actual buffer length ({size} bytes)"
        )
    if count < 0 and (size - offset) % dtype.itemsize:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({dtype.itemsize})"
        )
    return new_tensor_of(np.frombuffer(buffer, dtype.numpy, count, offset), requires_grad)


# --- Filled -----------------------------------------------------------------------------------


def _shape(name: str, sizes: Sequence[Any], named: dict[str, Any]) -> tuple[int, ...]:
    if not sizes and "size" in named:
        sizes = (named.pop("size"),)
    shape = sizes_of(sizes)
    if any(s < 0 for s in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    if named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
    return shape


def _declare_filled(name: str, make: Any) -> None:
    """`torch.zeros(2, 3)`, `torch.zeros_like(x)`, `x.new_zeros(2, 3)`."""

    def call(
        *sizes: Any, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, **named: Any,
    ) -> Tensor:  # fmt: skip
        resolve(device)
        shape = _shape(name, sizes, named)
        made = new_tensor_of(make(shape, (dtype or dtypes.get_default_dtype()).numpy), requires_grad)
        return made if out is None else into(out, made.to(out.dtype), name)

    def like(
        input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, memory_format: Any = None,
    ) -> Tensor:  # fmt: skip
        check_tensor(f"{name}_like", input)
        resolve(device)
        array = make(input._array.shape, (dtype or input.dtype).numpy)
        return new_tensor_of(same_layout(array, input._array), requires_grad)

    def new(
        self: Tensor, *sizes: Any, dtype: Any = None, device: Any = None, layout: Any = None,
        requires_grad: bool = False, pin_memory: bool = False, **named: Any,
    ) -> Tensor:  # fmt: skip
        resolve(device)
        shape = _shape(f"new_{name}", sizes, named)
        return new_tensor_of(make(shape, (dtype or self.dtype).numpy), requires_grad)

    for fn, own in ((call, name), (like, f"{name}_like"), (new, f"new_{name}")):
        fn.__name__ = own
    call.__doc__ = f"A tensor of a shape, {name}."
    like.__doc__ = f"A tensor of another's shape and type, {name}."
    new.__doc__ = f"A tensor of a shape and this one's type, {name}."
    FUNCTIONS[name], FUNCTIONS[f"{name}_like"] = call, like
    method(f"new_{name}", new)


def same_layout(array: Array, like: Array) -> Array:
    """An array laid out in memory as another is, if that one has no gaps."""
    if like.flags.c_contiguous or like.ndim < 2:
        return array
    order = sorted(range(like.ndim), key=lambda d: -like.strides[d])
    if not like.transpose(order).flags.c_contiguous:
        return array
    return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))


_declare_filled("zeros", np.zeros)
_declare_filled("ones", np.ones)
_declare_filled("empty", np.empty)


def _kind_for(fill_value: Any, dtype: dtype_type | None) -> dtype_type:
    if dtype is not None:
        return dtype
    return fill_value.dtype if isinstance(fill_value, Tensor) else dtypes.of_number(fill_value)


def _filled(shape: Any, value: Any, dtype: dtype_type) -> Array:
    number = value.item() if isinstance(value, Tensor) else value
    if isinstance(number, complex) and not dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    if dtype.kind == dtypes.INTEGRAL:
        limits = np.iinfo(dtype.numpy)
        if not (isinstance(number, float) and not math.isfinite(number)) and not limits.min <= number <= limits.max:
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return np.full(shape, number, dtype.numpy)


@function
def full(
    size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of a shape with every element set to a number."""
    resolve(device)
    shape = _shape("full", (size,) if isinstance(size, (tuple, list)) else ((size,),), {})
    made = new_tensor_of(_filled(shape, fill_value, _kind_for(fill_value, dtype)), requires_grad)
    return made if out is None else into(out, made, "full")


@function
def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor of another's shape and type with every element set to a number."""
    resolve(device)
    array = _filled(input._array.shape, fill_value, dtype or input.dtype)
    return new_tensor_of(same_layout(array, input._array), requires_grad)


@only_method
def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    """A tensor of a shape and this one's type with every element set to a number."""
    return full(size, fill_value, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


@only_method
def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    """A copy of data, as this tensor's type."""
    return new_tensor_of(array_of(data, dtype or self.dtype), requires_grad)


@only_method
def new(self: Tensor, *args: Any) -> Tensor:
    """`torch.Tensor(...)` of this tensor's type."""
    return Tensor(*args).to(self.dtype)


@function
def empty_strided(size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of a shape and strides, not filled."""
    resolve(device)
    kind = (dtype or dtypes.get_default_dtype()).numpy
    count = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else 0
    memory = np.empty(count, kind)
    strides = tuple(s * kind.itemsize for s in stride)
    return new_tensor_of(np.lib.stride_tricks.as_strided(memory, tuple(size), strides), requires_grad)


@only_method
def new_empty_strided(self: Tensor, size: Any, stride: Any, *, dtype: Any = None, **kwargs: Any) -> Tensor:
    """A tensor of a shape, strides and this one's type, not filled."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, **kwargs)


@function
def empty_permuted(size: Any, physical_layout: Any, **kwargs: Any) -> Tensor:
    """A tensor whose dimensions lie in memory in a given order, not filled."""
    strides, step = [0] * len(size), 1
    for d in reversed(physical_layout):
        strides[d], step = step, step * max(size[d], 1)
    return empty_strided(size, strides, **kwargs)


# --- Counted ------------------------------------------------------------------------------------


@function
def arange(
    *bounds: Any, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """From `start` to just before `end` in steps."""
    resolve(device)
    given = [v.item() if isinstance(v, Tensor) else v for v in bounds]
    names = ["end"] if len(given) == 1 else ["start", "end", "step"]
    known = {"start": 0 if start is None else start, "end": end, "step": 1 if step is None else step}
    known.update(dict(zip(names, given, strict=False)))
    a, b, s = known["start"], known["end"], known["step"]
    if b is None:
        raise TypeError("arange() received an invalid combination of arguments - `end` is missing")
    if s == 0:
        raise RuntimeError("step must be nonzero")
    if not all(math.isfinite(v) for v in (a, b)):
        raise RuntimeError(f"unsupported range: {a} -> {b}")
    if (b - a) * s < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        if out is not None:
            dtype = out.dtype
        else:
            whole = all(isinstance(v, int) for v in (a, b, s))
            dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    if dtype.kind == dtypes.INTEGRAL:
        array = np.arange(int(a), int(b), int(s)).astype(dtype.numpy)
    else:
        count = math.ceil((b - a) / s)
        array = (a + np.arange(count, dtype=np.float64) * s).astype(dtype.numpy)
    made = new_tensor_of(array, requires_grad)
    return made if out is None else into(out, made, "arange")


def inclusive_range(start: Any = 0, end: Any = None, step: Any = 1, **kwargs: Any) -> Tensor:
    """From `start` to `end`, both included, in steps (kept for old programs)."""
    count = math.floor((end - start) / step) + 1
    dtype = kwargs.pop("dtype", None) or dtypes.get_default_dtype()
    return new_tensor_of((start + np.arange(count) * step).astype(dtype.numpy), kwargs.get("requires_grad", False))


FUNCTIONS["range"] = inclusive_range


@function
def linspace(
    start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """So many numbers from `start` to `end`, both included, evenly spaced."""
    resolve(device)
    a, b = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = _spaced_kind(a, b, dtype)
    made = new_tensor_of(_spaced(a, b, steps, kind), requires_grad)
    return made if out is None else into(out, made.to(out.dtype), "linspace")


def _spaced_kind(a: Any, b: Any, dtype: Any) -> dtype_type:
    if dtype is not None:
        return dtype
    if any(isinstance(v, complex) for v in (a, b)):
        return dtypes.default_complex()
    return dtypes.get_default_dtype()


def _spaced(a: Any, b: Any, steps: int, kind: dtype_type) -> Array:
    """Counted from the nearer end, in the precision of the result, as Torch counts."""
    if steps == 1:
        return np.full(1, a).astype(kind.numpy)
    if kind.kind == dtypes.INTEGRAL:
        exact = a + np.arange(steps) * ((b - a) / max(steps - 1, 1))
        lower = np.arange(steps) < steps // 2
        upper = b - np.arange(steps)[::-1] * ((b - a) / max(steps - 1, 1))
        return np.where(lower, exact, upper).astype(kind.numpy)
    work = np.float32 if kind.itemsize == 2 else kind.numpy.type
    step = (work(b) - work(a)) / work(max(steps - 1, 1))
    up = work(a) + np.arange(steps).astype(work) * step
    down = work(b) - np.arange(steps)[::-1].astype(work) * step
    return np.where(np.arange(steps) < steps // 2, up, down).astype(kind.numpy)


@function
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Powers of `base` whose exponents are evenly spaced."""
    a, b = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = _spaced_kind(a, b, dtype)
    exponents = _spaced(a, b, steps, kind if kind.kind >= dtypes.FLOATING else dtypes.float64)
    made = new_tensor_of(np.power(base, exponents.astype(np.result_type(exponents, np.float64))).astype(kind.numpy), requires_grad)
    return made if out is None else into(out, made.to(out.dtype), "logspace")


@function
def eye(
    n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A matrix with ones on its diagonal."""
    resolve(device)
    for label, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise RuntimeError(f"{label} must be greater or equal to 0, got {value}")
    made = new_tensor_of(np.eye(n, m, dtype=(dtype or dtypes.get_default_dtype()).numpy), requires_grad)
    return made if out is None else into(out, made.to(out.dtype), "eye")


# --- Triangles and diagonals ---------------------------------------------------------------------


def _triangle(name: str, keep: Any, doc: str) -> None:
    op = Op(name, ("input",), lambda input, diagonal: keep(input, diagonal),
            {"input": lambda g, diagonal: op(g, diagonal=diagonal)}, doc=doc)  # fmt: skip

    def call(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        result = op(input, diagonal=diagonal)
        return result if out is None else into(out, result, name)

    def indices(row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64, device: Any = None, layout: Any = None) -> Tensor:
        if row < 0 or col < 0:
            raise RuntimeError(f"{'row' if row < 0 else 'col'} must be non-negative, got {min(row, col)}")
        found = np.nonzero(keep(np.ones((row, col), bool), offset))
        return new_tensor_of(np.stack(found).astype(dtype.numpy))

    call.__name__, call.__doc__ = name, doc
    indices.__name__, indices.__doc__ = f"{name}_indices", f"The places that `{name}` keeps, as rows and columns."
    function_and_method(call)
    function(indices)
    from .surface import in_place

    in_place(f"{name}_", call)


_triangle("tril", np.tril, "The lower triangle of matrices; elsewhere 0.")
_triangle("triu", np.triu, "The upper triangle of matrices; elsewhere 0.")


@function_and_method
def diag(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """A vector as a diagonal, or the diagonal of a matrix."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    result = input.diag_embed(diagonal) if input.ndim == 1 else input.diagonal(diagonal).clone()
    return result if out is None else into(out, result, "diag")


@function_and_method
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dimension as diagonals of matrices in two new dimensions."""
    from .movement import DIAGONAL_BACKWARD, wrap_dim

    ndim = input.ndim + 1
    a, b = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if a > b:
        a, b, offset = b, a, -offset
    size = input.shape[-1] + abs(offset)
    shape = list(input._array.shape[:-1])
    shape.insert(a, size)
    shape.insert(b, size)
    return DIAGONAL_BACKWARD(input, shape=tuple(shape), at=(offset, a, b))


@function_and_method
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All elements as a diagonal."""
    return input.reshape(-1).diag_embed(offset)


@function
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of a vector, as columns."""
    count = len(x) if N is None else N
    powers = [x**i if i else FUNCTIONS["ones_like"](x) for i in np.arange(count).tolist()]
    return FUNCTIONS["stack"](powers if increasing else powers[::-1], -1)


