"""Operations on a tensor's memory: copying, filling, resizing, views in place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.graph import modes
from ..backends.interface import ARRAYS
from ..backends.interface import others as other_backends
from ..tensor import Array, Tensor, bump_version, tracks, wrap
from .movement import sizes_of
from .promotion import NUMBERS, SMALL, exact_number, fits_floats
from .record import Op
from .surface import as_functions, function, method, only_method
from .writes import bind_in_place

# --- Copying and filling --------------------------------------------------------------------------


def _copied(input: Array, other: Array) -> Array:
    """`other`, broadcast and cast to `input`'s shape and dtype."""
    out = np.empty_like(input)
    _copy(out, other)
    return out


def _copy(target: Array, other: Array) -> None:
    """Copy into a target, broadcast and cast."""
    if other.dtype.kind == "c" and target.dtype.kind not in "cb":
        other = other.real
    try:
        if other.ndim > target.ndim:
            raise ValueError
        np.copyto(target, other, casting="unsafe")
    except ValueError:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape of "
            f"{list(other.shape)} [copy_]"
        ) from None


def _zeros(g: Any) -> Any:
    return g.new_zeros(()).expand(g.shape)


COPY = Op(
    "copy", ("input", "other"), _copied, {"input": _zeros, "other": lambda g: g}, write=_copy,
    scalar=lambda input, other: other, node="CopyBackwards",
)  # fmt: skip


def _fill(target: Array, value: Any) -> None:
    """Set every element to a number; RuntimeError if the dtype cannot represent it."""
    if type(value) not in ARRAYS and not (fits_floats(value) and 0 <= value <= SMALL):
        value = exact_number(value, dtypes.from_numpy_dtype(target.dtype))
    target.fill(value)


def _filled(input: Array, value: Any) -> Array:
    result = np.empty_like(input)
    _fill(result, value)
    return result


FILL = Op("fill", ("input", "value"), _filled, {"input": _zeros, "value": lambda g: g.sum()},
          write=_fill, overlapping=True, scalar=lambda input, value: value)  # fmt: skip


@only_method
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Copy another tensor's elements into this one, broadcast and cast."""
    if not isinstance(other, Tensor):
        other = wrap(np.asarray(other))
    if other_backends and other.device != self.device:
        other = other.to(self.device)
    return bind_in_place(COPY, self, (other,), {})


@only_method
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to a number."""
    _check_value(self, value)
    return bind_in_place(FILL, self, (value,), {})


def _check_value(input: Tensor, value: Any) -> None:
    """Torch's error unless a value can fill a tensor."""
    if not isinstance(value, (Tensor, *NUMBERS)):
        raise TypeError(f"fill_(): argument 'value' must be Number, not {type(value).__name__}")
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
        )


@function
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the same shape with every element set to a number."""
    _check_value(input, value)
    return FILL(input, value)


@only_method
def zero_(self: Tensor) -> Tensor:
    """Set every element to 0."""
    return self.fill_(0)


for _fn in (fill_, zero_):
    function(_fn)

# --- Other memory -----------------------------------------------------------------------------------


@only_method
def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Use another tensor's, or storage's, memory."""
    if source is None:
        self._array = np.empty(0, self._array.dtype)
    elif isinstance(source, Tensor):
        shown = source
        if size is not None:
            shown = source.as_strided(size, stride or _compact_strides(size), storage_offset)
        self._array = shown._array
    else:
        raise TypeError(f"set_(): argument 'source' must be Tensor, not {type(source).__name__}")
    bump_version(self)
    return self


def _compact_strides(size: Any) -> list[int]:
    """The strides of a shape in row-major order."""
    return [math.prod(max(s, 1) for s in size[d + 1 :]) for d in range(len(size))]


@only_method
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Resize in place, keeping the memory if it is large enough."""
    shape = sizes_of(sizes)
    if any(s < 0 for s in shape):
        raise RuntimeError(f"resize_: a shape cannot have negative sizes: {list(shape)}")
    if tracks(self):
        raise RuntimeError("cannot resize variables that require grad")
    count = math.prod(shape)
    flat = self._array.reshape(-1)
    if count > flat.size:
        grown = np.empty(count, flat.dtype)
        grown[: flat.size] = flat
        flat = grown
    self._array = flat[:count].reshape(shape)
    return self


@only_method
def resize_as_(self: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Resize to another tensor's shape in place, keeping the memory if it is large enough."""
    return self.resize_(other._array.shape)


as_functions("resize_as_")

# --- Views in place ---------------------------------------------------------------------------------


def _view_in_place(name: str) -> None:
    """Declare the in-place version of a view: `x.t_()` transposes x."""
    view = getattr(Tensor, name)

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if modes.grad and tracks(self) and self.is_leaf:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        shown = view(self, *args, **kwargs)
        self._array = shown._array
        if tracks(shown):
            self._edge, self._requires_grad = shown._edge, True
        bump_version(self)
        return self

    call.__name__, call.__doc__ = f"{name}_", f"`{name}`, in place."
    method(f"{name}_", call)


for _name in ("as_strided", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze"):
    _view_in_place(_name)
as_functions("as_strided_")

# --- Python functions of each element -----------------------------------------------------------------


def _element_by_element(name: str, count: int) -> None:
    """Declare `x.apply_(f)`, `x.map_(y, f)`, which call Python for each element."""

    def call(self: Tensor, *args: Any) -> Tensor:
        *others, fn = args
        if tracks(self):
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
            )
        arrays = [self._array, *(np.broadcast_to(x._array, self._array.shape) for x in others)]
        elements = zip(*(a.reshape(-1).tolist() for a in arrays), strict=True)
        made = np.array([fn(*e) for e in elements]).reshape(self._array.shape)
        return self.copy_(wrap(made))

    call.__name__, call.__doc__ = (
        name,
        f"Call a Python function on the elements of {count} tensor(s).",
    )
    method(name, call)


_element_by_element("apply_", 1)
_element_by_element("map_", 2)
_element_by_element("map2_", 3)
