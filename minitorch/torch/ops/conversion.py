"""Conversion of tensors to other dtypes and devices, to Python numbers and NumPy arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, storage
from ..autograd.graph import modes
from ..backends.interface import as_numpy, move, others, readable, resolve
from ..device import CPU
from ..device import device as device_type
from ..dtypes import dtype as dtype_type
from ..notices import warn_once
from ..printing import tensor_text
from ..serialization import deepcopy_tensor, reduce_tensor
from ..tensor import Array, Tensor, tracks, wrap
from .layout import has_channels_last, laid_out
from .record import Op, bind, without_derivative
from .surface import function, method, only_method

# --- Types --------------------------------------------------------------------------------


def _cast(input: Array, kind: Any) -> Array:
    if input.dtype.kind == "c" and kind.kind not in "cb":
        input = input.real
    if kind.itemsize == 1 and kind.kind == "V":
        input = _within(input, kind.name)
    return (
        input.astype(kind) if input.flags.c_contiguous else laid_out(input.astype(kind), (input,))
    )


def _within(input: Array, float8: str) -> Array:
    """Numbers clipped to what a float8 dtype can represent."""
    if float8 == "float8_e4m3fn":
        return np.clip(input.astype(np.float32), -448, 448)
    if float8 == "float8_e8m0fnu":
        return np.maximum(np.abs(input.astype(np.float32)), np.float32(2.0**-127))
    return input


CAST = Op(
    "_to_copy", ("input",), _cast, {"input": lambda g: g}, node="ToCopyBackward0",
    scalar=np.positive, doc="A copy in another dtype.",
)  # fmt: skip


MOVE = Op(
    "to_device", ("input",), lambda input, device, source: move(input, device),
    {"input": lambda g, source: g.to(source)}, crosses=True, doc="A copy on another device.",
)  # fmt: skip


@only_method
def to(
    self: Tensor, *args: Any, dtype: Any = None, device: Any = None, non_blocking: Any = None, copy: Any = None,
    memory_format: Any = None, tensor: Any = None,
) -> Tensor:  # fmt: skip
    """The tensor in another dtype or on another device; itself if that changes nothing."""
    named = {"dtype": dtype, "device": device, "copy": copy, "memory_format": memory_format, "tensor": tensor}  # fmt: skip
    kwargs = {k: v for k, v in named.items() if v is not None}
    if len(args) == 1 and not kwargs and isinstance(args[0], dtype_type):
        wanted = args[0].numpy
        return self if wanted == self._array.dtype else bind(CAST, (self,), {"kind": wanted})
    kind, where, copy, memory_format = destination(args, kwargs)
    if where is not None and where != self.device:
        self, copy = bind(MOVE, (self,), {"device": where, "source": self.device}), False
    if _asks_for_layout(self, memory_format, copy or (kind is not None and kind is not self.dtype)):
        self = self.contiguous(memory_format=memory_format)
    if kind is None or kind is self.dtype:
        return self.clone() if copy else self
    return CAST(self, kind=kind.numpy)


def _asks_for_layout(x: Tensor, memory_format: Any, copying: bool) -> bool:
    """Whether another memory format is asked for."""
    wanted = str(memory_format)
    if memory_format is None or wanted.endswith("preserve_format"):
        return False
    return copying or "channels_last" in wanted or has_channels_last(x._array)


def destination(
    args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[dtype_type | None, device_type | None, bool, Any]:
    """The dtype, device, copy flag and memory format that a call of `to` asks for."""
    kind: Any = named.pop("dtype", None)
    where: Any = named.pop("device", None)
    other = named.pop("tensor", None)
    whole = int if isinstance((*args, None, None)[1], bool) else bool
    if args and isinstance(args[0], (float, complex, whole)):  # a number stands for its dtype
        kind, args = dtypes.from_numpy_dtype(np.asarray(args[0]).dtype), args[1:]
    for arg in (*args, other):
        if isinstance(arg, dtype_type):
            kind = arg
        elif isinstance(arg, Tensor):
            kind, where = arg.dtype, arg.device
        elif isinstance(arg, (str, device_type)) or (
            isinstance(arg, int) and not isinstance(arg, bool)
        ):
            where = arg
    flags = [a for a in args if isinstance(a, bool)]  # non_blocking, copy
    copy = named.pop("copy", len(flags) > 1 and flags[1])
    memory_format = named.pop("memory_format", None)
    named.pop("non_blocking", None)
    if named:
        raise TypeError(f"to() received an invalid combination of arguments - got {sorted(named)}")
    if kind is not None and not isinstance(kind, dtype_type):
        raise TypeError(
            f"to(): argument 'dtype' must be torch.dtype, not {kind.__class__.__name__}"
        )
    return kind, None if where is None else resolve(where), copy, memory_format


def _named_cast(name: str, kind: dtype_type) -> None:
    def call(self: Tensor, *, memory_format: Any = None) -> Tensor:
        if memory_format is not None:
            return self.to(kind, memory_format=memory_format)
        wanted = kind.numpy
        return self if wanted == self._array.dtype else bind(CAST, (self,), {"kind": wanted})

    call.__name__, call.__doc__ = name, f"`to({kind})`."
    method(name, call)


for _name, _kind in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8,
    "byte": dtypes.uint8, "bool": dtypes.bool_, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
}.items():  # fmt: skip
    _named_cast(_name, _kind)


@only_method
def dequantize(self: Tensor) -> Tensor:
    """What quantized numbers stand for; plain ones as float32, without a derivative."""
    made = self.to(dtypes.float32)
    return made if made is self else without_derivative("dequantize", made, self)


@only_method
def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, or the tensor in another dtype."""
    if dtype is None:
        return f"torch.{self.dtype.type_name}"
    if isinstance(dtype, str):
        found = [d for d in dtypes.ALL if f"torch.{d.type_name}" == dtype]
        if not found:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found[0]
    return self.to(getattr(dtype, "dtype", dtype))


@only_method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in another tensor's dtype."""
    return self.to(other.dtype)


@only_method
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU."""
    return self.to(CPU) if others else self


@only_method
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on a GPU."""
    return self.to("cuda" if device is None else device)


# --- To Python ---------------------------------------------------------------------------------


@only_method
def item(self: Tensor) -> Any:
    """The only element, as a Python number."""
    if self._array.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
        )
    value = readable(self._array).item()  # numbers in half precision are not Python floats
    return float(value) if self._array.dtype.kind == "V" else value


def _python(array: Array) -> Any:
    array = readable(array)
    return array.astype(np.float64).tolist() if array.dtype.kind == "V" else array.tolist()


@only_method
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers."""
    return _python(self._array)


@only_method
def __bool__(self: Tensor) -> bool:  # noqa: N807
    if self._array.size != 1:
        raise RuntimeError(
            "Boolean value of Tensor with no values is ambiguous"
            if self._array.size == 0
            else "Boolean value of Tensor with more than one value is ambiguous"
        )
    array = readable(self._array)
    return array.decide() if hasattr(array, "decide") else bool(array.item())


def _number(self: Tensor) -> Any:
    """The only element, for Python's own conversions."""
    if self._array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(self)


def _real_number(self: Tensor) -> Any:
    value = _number(self)
    if isinstance(value, complex) and value.imag:
        raise RuntimeError(f"value {value} cannot be converted to a real number without overflow")
    return value.real


method("__float__", lambda self: float(_real_number(self)))
method("__int__", lambda self: int(_real_number(self)))
method("__complex__", lambda self: complex(_number(self)))
method("__long__", lambda self: int(_real_number(self)))
method("__nonzero__", lambda self: bool(self))


@only_method
def __index__(self: Tensor) -> int:  # noqa: N807
    if self._array.dtype.kind not in "biu" or self._array.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


@only_method
def __len__(self: Tensor) -> int:  # noqa: N807
    if not self._array.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self._array.shape[0]


@only_method
def __iter__(self: Tensor) -> Any:  # noqa: N807
    if not self._array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


@only_method
def __reversed__(self: Tensor) -> Tensor:  # noqa: N807
    return self.flip(0) if self._array.ndim else self


@only_method
def __delitem__(self: Tensor, key: Any) -> None:  # noqa: N807
    raise TypeError("Tensor does not support deleting items")


@only_method
def __contains__(self: Tensor, element: Any) -> bool:  # noqa: N807
    if isinstance(element, (Tensor, bool, int, float, complex)):
        return bool(self.eq(element).any())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {element.__class__.__name__}."
    )


@only_method
def __format__(self: Tensor, spec: str) -> str:  # noqa: N807
    if self._array.ndim or self.is_meta:
        return object.__format__(self, spec)
    return format(item(self), spec)


# --- To and from NumPy and others ----------------------------------------------------------------


@only_method
def numpy(self: Tensor, *, force: bool = False) -> Array:
    """The elements as a NumPy array over the same memory."""
    if force:
        return self.detach().cpu()._array
    if others and self.device != CPU:
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
            "tensor to host memory first."
        )
    if modes.grad and tracks(self):
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if self._array.dtype.kind == "V":
        raise TypeError(f"Got unsupported ScalarType {self.dtype.type_name.removesuffix('Tensor')}")
    return self._array


@only_method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Array:  # noqa: N807
    array = self.numpy()
    return np.array(array, dtype=dtype, copy=copy) if dtype is not None or copy else array


@only_method
def __array_wrap__(  # noqa: N807
    self: Tensor, array: Array, context: Any = None, return_scalar: bool = False
) -> Tensor:
    return wrap(np.asarray(array))


@function
def from_numpy(ndarray: Array) -> Tensor:
    """A tensor over a NumPy array's memory."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {ndarray.__class__.__name__})")
    dtypes.from_numpy_dtype(ndarray.dtype)
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a copy "
            "of your array  with array.copy().) "
        )
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    if not ndarray.flags.writeable:
        warn_once(_READ_ONLY)
    return wrap(np.asarray(ndarray))


_READ_ONLY = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
    "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
    "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
)
method("__array_interface__", property(lambda self: self.numpy().__array_interface__))

# --- Text, copies, files ----------------------------------------------------------------------------


def _type_name(cls: Any) -> str:
    """What `repr` begins with: the class name of subclasses, else `tensor`."""
    from ..nn.parameter import Parameter

    return "tensor" if cls in (Tensor, Parameter) else cls.__name__


@only_method
def __repr__(self: Tensor, *, tensor_contents: Any = None) -> str:  # noqa: N807
    node = self.grad_fn
    name = None if node is None else node.name().split("::")[-1]
    return tensor_text(
        self._array if self.is_meta else as_numpy(self._array), dtype_name=self.dtype.name, requires_grad=self.requires_grad,
        grad_fn_name=name, device=str(self.device), type_name=_type_name(self.__class__),
    )  # fmt: skip


@only_method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:  # noqa: N807
    return deepcopy_tensor(self, memo)


@only_method
def __reduce_ex__(self: Tensor, protocol: Any) -> Any:  # noqa: N807
    return reduce_tensor(self)


def _storage(name: str) -> None:
    def call(self: Tensor) -> Any:
        return getattr(storage, name)(self)

    call.__name__, call.__doc__ = name, "The tensor's storage."
    method(name, call)


for _name in ("storage", "untyped_storage"):
    _storage(_name)
