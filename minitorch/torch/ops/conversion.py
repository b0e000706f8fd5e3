"""Between tensors, NumPy arrays, Python numbers, types, and other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..device import device as device_type
from ..device import resolve
from ..dtypes import dtype as dtype_type
from ..tensor import Array, Size, Tensor, bump_version, tracks, wrap
from .movement import element_strides, memory_of
from .record import Op
from .surface import FUNCTIONS, alias, function, method, only_method
from .writes import bind_in_place

# --- Types --------------------------------------------------------------------------------


def _cast(input: Array, kind: Any) -> Array:
    if input.dtype.kind == "c" and kind.kind != "c":
        input = input.real
    return input.astype(kind)


CAST = Op("_to_copy", ("input",), _cast, {"input": lambda g: g}, doc="A copy of another type.")
CAST.node_name = "ToCopyBackward0"


@only_method
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor as another type or on another device; itself if that changes nothing."""
    wanted: Any = kwargs.get("dtype")
    where: Any = kwargs.get("device")
    for arg in args:
        if isinstance(arg, dtype_type):
            wanted = arg
        elif isinstance(arg, Tensor):
            wanted, where = arg.dtype, arg.device
        elif isinstance(arg, (str, device_type)) or (isinstance(arg, int) and not isinstance(arg, bool)):
            where = arg
    flags = [a for a in args if isinstance(a, bool)]
    copy = kwargs.get("copy", len(flags) > 1 and flags[1])
    unknown = set(kwargs) - {"dtype", "device", "copy", "non_blocking", "memory_format", "other"}
    if unknown:
        raise TypeError(f"to() received an invalid combination of arguments - got {sorted(unknown)}")
    if where is not None:
        resolve(where)
    if wanted is not None and not isinstance(wanted, dtype_type):
        raise TypeError(f"to(): argument 'dtype' must be torch.dtype, not {type(wanted).__name__}")
    if wanted is None or wanted is self.dtype:
        return self.clone() if copy else self
    return CAST(self, kind=wanted.numpy)


def _named_casts() -> None:
    names = {
        "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
        "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8,
        "byte": dtypes.uint8, "bool": dtypes.bool_, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
    }  # fmt: skip

    def declare(name: str, kind: dtype_type) -> None:
        def call(self: Tensor, memory_format: Any = None) -> Tensor:
            return self.to(kind)

        call.__name__, call.__doc__ = name, f"`to({kind})`."
        method(name, call)

    for name, kind in names.items():
        declare(name, kind)


_named_casts()


@only_method
def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, or the tensor as another type."""
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
    """The tensor as another tensor's type."""
    return self.to(other.dtype)


@only_method
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in the machine's main memory."""
    return self


@only_method
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on a GPU."""
    return self.to("cuda" if device is None else device)


# --- Facts ----------------------------------------------------------------------------------


@only_method
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension."""
    if dim is None:
        return Size(self._array.shape)
    from .movement import wrap_dim

    if not self._array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return self._array.shape[wrap_dim(dim, self._array.ndim)]


def _torch_strides(array: Array) -> tuple[int, ...]:
    """Strides in elements; NumPy leaves those of empty arrays and sizes of 1 to chance."""
    return element_strides(array)


@only_method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """How many elements apart neighbours along each dimension lie in memory."""
    strides = _torch_strides(self._array)
    if dim is None:
        return strides
    from .movement import wrap_dim

    return strides[wrap_dim(dim, self._array.ndim)]


@only_method
def dim(self: Tensor) -> int:
    """How many dimensions there are."""
    return self._array.ndim


alias("ndimension", "dim")


@only_method
def numel(self: Tensor) -> int:
    """How many elements there are."""
    return self._array.size


alias("nelement", "numel")
FUNCTIONS["numel"] = numel


@only_method
def element_size(self: Tensor) -> int:
    """How many bytes an element takes."""
    return self._array.itemsize


@only_method
def storage_offset(self: Tensor) -> int:
    """How many elements into its memory the tensor begins."""
    return memory_of(self)[1] if self._base is not None else 0


@only_method
def data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    return self._array.__array_interface__["data"][0]


@only_method
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements lie in row-major order without gaps."""
    if memory_format is not None and "channels_last" in str(memory_format):
        order = (0, *range(2, self._array.ndim), 1)
        return self._array.ndim in (4, 5) and self._array.transpose(order).flags.c_contiguous
    return bool(self._array.flags.c_contiguous)


@only_method
def is_floating_point(self: Tensor) -> bool:
    """Whether the elements are real floating point numbers."""
    return self.dtype.is_floating_point


@only_method
def is_signed(self: Tensor) -> bool:
    """Whether the elements can be negative."""
    return self.dtype.is_signed


for _name in ("is_floating_point", "is_signed"):
    FUNCTIONS[_name] = getattr(Tensor, _name)
for _name, _value in [
    ("is_cuda", False), ("is_cpu", True), ("is_mps", False), ("is_xpu", False), ("is_meta", False),
    ("is_sparse", False), ("is_quantized", False), ("is_sparse_csr", False), ("is_mkldnn", False), ("is_nested", False),
]:  # fmt: skip
    method(_name, _value)  # type: ignore[arg-type]
method("itemsize", property(lambda self: self._array.itemsize, doc="How many bytes an element takes."))
method("nbytes", property(lambda self: self._array.nbytes, doc="How many bytes the elements take."))
method("get_device", lambda self: -1)
method("is_shared", lambda self: False)
method("is_pinned", lambda self, device=None: False)
method("pin_memory", lambda self, device=None: self)
method("layout", "torch.strided")  # type: ignore[arg-type]
method("names", property(lambda self: (None,) * self._array.ndim))
method("is_same_size", lambda self, other: self._array.shape == other._array.shape)
method("is_set_to", lambda self, other: self._array.__array_interface__ == other._array.__array_interface__)
method("has_names", lambda self: False)
FUNCTIONS["is_inference"] = Tensor.is_inference


# --- To Python ---------------------------------------------------------------------------------


@only_method
def item(self: Tensor) -> Any:
    """The only element, as a Python number."""
    if self._array.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
        )
    return _python(self._array.reshape(()))


def _python(array: Array) -> Any:
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
    return bool(self._array.reshape(()))


method("__float__", lambda self: float(item(self)))
method("__int__", lambda self: int(item(self)))
method("__complex__", lambda self: complex(item(self)))


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
def __contains__(self: Tensor, element: Any) -> bool:  # noqa: N807
    if isinstance(element, (Tensor, bool, int, float, complex)):
        return bool((element == self).any())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {element.__class__.__name__}."
    )


@only_method
def __format__(self: Tensor, spec: str) -> str:  # noqa: N807
    return format(item(self), spec) if not self._array.ndim else object.__format__(self, spec)


# --- To and from NumPy and others ----------------------------------------------------------------


@only_method
def numpy(self: Tensor, *, force: bool = False) -> Array:
    """The elements as a NumPy array over the same memory."""
    if force:
        return self.detach()._array
    if tracks(self):
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
def __array_wrap__(self: Tensor, array: Array, context: Any = None, return_scalar: bool = False) -> Tensor:  # noqa: N807
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
    return wrap(np.asarray(ndarray))


@function
def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor over the memory of another library's array."""
    return wrap(_writable(np.from_dlpack(ext_tensor)))


def _writable(array: Array) -> Array:
    return array


method("__dlpack__", lambda self, **kwargs: self.numpy().__dlpack__(**kwargs))
method("__dlpack_device__", lambda self: self._array.__dlpack_device__())
method("__array_interface__", property(lambda self: self.numpy().__array_interface__))

# --- Writing ---------------------------------------------------------------------------------------


def _copied(input: Array, other: Array) -> Array:
    """What `input` becomes when `other` is copied into it."""
    out = np.empty_like(input)
    _copy(out, other)
    return out


def _copy(target: Array, other: Array) -> None:
    """Broadcast and cast into a target."""
    if other.dtype.kind == "c" and target.dtype.kind != "c":
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


COPY = Op("copy", ("input", "other"), _copied, {"input": _zeros, "other": lambda g: g}, write=_copy)
COPY.node_name = "CopyBackwards"
FILL = Op("fill", ("input", "value"), lambda input, value: np.full_like(input, value),
          {"input": _zeros, "value": lambda g: g.sum()},
          write=lambda input, value: input.fill(value), overlapping=True)  # fmt: skip


@only_method
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Copy another tensor's elements into this one, broadcast and cast."""
    if not isinstance(other, Tensor):
        other = FUNCTIONS["as_tensor"](other)
    return bind_in_place(COPY, self, (other,), {})


@only_method
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to a number."""
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
        )
    if isinstance(value, complex) and not self.dtype.is_complex:
        raise RuntimeError("value cannot be converted to type without overflow")
    return bind_in_place(FILL, self, (value,), {})


@function
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the same shape with every element set to a number."""
    return FILL(input, value)


FUNCTIONS["fill_"] = fill_


@only_method
def zero_(self: Tensor) -> Tensor:
    """Set every element to 0."""
    return self.fill_(0)


@only_method
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Take over another tensor's memory."""
    if source is None:
        self._array = np.empty(0, self._array.dtype)
    elif isinstance(source, Tensor):
        self._array = (source if size is None else source.as_strided(size, stride or _compact_strides(size), storage_offset))._array
    else:
        raise TypeError(f"set_(): argument 'source' must be Tensor, not {source.__class__.__name__}")
    bump_version(self)
    return self


def _compact_strides(size: Any) -> list[int]:
    strides = [1]
    for s in list(size)[:0:-1]:
        strides.append(strides[-1] * max(s, 1))
    return strides[::-1][: len(size)] if size else []


@only_method
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Another shape, over the same memory where it is large enough."""
    from .movement import sizes_of

    shape = sizes_of(sizes)
    if tracks(self):
        raise RuntimeError("cannot resize variables that require grad")
    count = int(np.prod(shape, dtype=np.int64))
    flat = self._array.reshape(-1)
    if count > flat.size:
        grown = np.empty(count, flat.dtype)
        grown[: flat.size] = flat
        flat = grown
    self._array = flat[:count].reshape(shape)
    return self


method("resize_as_", lambda self, other: self.resize_(other.shape))
method("share_memory_", lambda self: self)


# --- Text, copies, files ----------------------------------------------------------------------------


@only_method
def __repr__(self: Tensor, *, tensor_contents: Any = None) -> str:  # noqa: N807
    from ..printing import tensor_text

    node = self.grad_fn
    name = None if node is None else node.name().split("::")[-1]
    return tensor_text(
        self._array, dtype_name=self.dtype.name, requires_grad=self.requires_grad, grad_fn_name=name
    )


@only_method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:  # noqa: N807
    from ..serialization import deepcopy_tensor

    return deepcopy_tensor(self, memo)


@only_method
def __reduce_ex__(self: Tensor, protocol: Any) -> Any:  # noqa: N807
    from ..serialization import reduce_tensor

    return reduce_tensor(self)


def _storage(name: str) -> None:
    def call(self: Tensor) -> Any:
        from .. import storage

        return getattr(storage, name)(self)

    call.__name__, call.__doc__ = name, "The memory behind the tensor."
    method(name, call)


for _name in ("storage", "untyped_storage"):
    _storage(_name)
