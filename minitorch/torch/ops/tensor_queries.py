"""Queries of a tensor: its sizes, strides, memory, dtype kind and device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from .. import dtypes, environment
from ..backends.interface import accelerator, address_of, others
from ..device import device as device_type
from ..tensor import Size, Tensor, wrap
from .movement import wrap_dim
from .promotion import plain_integer
from .strides import element_strides, memory_of
from .surface import (
    alias,
    as_functions,
    check_tensor,
    function,
    function_and_method,
    method,
    only_method,
)

# --- Sizes ----------------------------------------------------------------------------------------


@only_method
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension."""
    if dim is None:
        return Size(self._array.shape)
    if not self._array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return self._array.shape[wrap_dim(dim, self._array.ndim)]


@only_method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The stride of each dimension, or of one: the distance of neighbours in memory, in elements."""
    strides = element_strides(self._array)
    return strides if dim is None else strides[wrap_dim(dim, self._array.ndim)]


@only_method
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return self._array.ndim


alias("ndimension", "dim")


@function_and_method
def numel(input: Tensor) -> int:
    """The number of elements."""
    check_tensor("numel", input)
    return input._array.size


method("nelement", numel)


@only_method
def element_size(self: Tensor) -> int:
    """The size of an element in bytes."""
    return self._array.itemsize


method("itemsize", property(element_size, doc="The size of an element in bytes."))
method("nbytes", property(lambda self: self._array.nbytes, doc="The size of the tensor in bytes."))


@function_and_method
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return input._array.shape == other._array.shape


# --- Memory ---------------------------------------------------------------------------------------


@only_method
def storage_offset(self: Tensor) -> int:
    """The offset of the first element in the tensor's storage, in elements."""
    return memory_of(self)[1] if self._base is not None else 0


@only_method
def data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    return 0 if self.is_meta else address_of(self._array)


method("const_data_ptr", data_ptr)


@only_method
def is_contiguous(self: Tensor, *, memory_format: Any = None) -> bool:
    """Whether the tensor is contiguous in a memory format, row-major by default."""
    if memory_format is not None and "channels_last" in str(memory_format):
        order = (0, *range(2, self._array.ndim), 1)
        return self._array.ndim in (4, 5) and self._array.transpose(order).flags.c_contiguous
    return bool(self._array.flags.c_contiguous)


@only_method
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost.

    Args:
        self: the tensor
        ambiguity_check: whether it is an error if several orders are possible; a list of memory formats likewise
    """
    if not isinstance(ambiguity_check, bool) and not (
        isinstance(ambiguity_check, list)
        and all(isinstance(f, environment.memory_format) for f in ambiguity_check)
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.stride()
    unclear = 1 in self._array.shape or any(a == b for a, b in pairwise(strides))
    if (unclear or 0 in strides) and ambiguity_check is not False:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    both = self.ndim == 4 and self._array.transpose(0, 2, 3, 1).flags.c_contiguous
    if self._array.flags.c_contiguous and not (both and self._array.size):
        return tuple(range(self.ndim))
    return _order_in_memory(strides, self._array.shape)


def _order_in_memory(strides: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """Dimensions by descending strides; those of stride 0 keep their position."""
    order = list(range(len(strides)))[::-1]  # from the innermost
    for i in range(1, len(order)):
        moved = i
        for k in reversed(range(i)):
            a, b = order[k], order[moved]
            if strides[a] == 0 or strides[b] == 0:
                continue
            if strides[a] < strides[b]:
                break
            if strides[a] > strides[b] or shape[a] > shape[b]:
                order[k], order[moved] = b, a
                moved = k
    return tuple(order[::-1])


@only_method
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors have the same memory, offset, sizes and strides."""
    a, b = self._array, tensor._array
    same = (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
    return same and self.device == tensor.device and address_of(a) == address_of(b)


# --- Types ----------------------------------------------------------------------------------------


@function_and_method
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are real floating point numbers."""
    check_tensor("is_floating_point", input)
    return input.dtype.is_floating_point


@function_and_method
def is_signed(input: Tensor) -> bool:
    """Whether the dtype is signed."""
    return input.dtype.is_signed


@function
def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Whether a dtype can be cast to another by Torch's rules: not to a lower kind."""
    dtypes.check_types("can_cast", from_, to)
    return from_.kind <= to.kind


@function
def typename(obj: Any) -> str:
    """The name of an object's type, or of a class or function, with Torch's module name."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else obj.__class__
    module = (named.__module__ or "").replace("minitorch.torch", "torch", 1)
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


# --- What it is not, or what takes no effort here ---------------------------------------------------

for _name in (
    "is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized",
    "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu",
):  # fmt: skip
    method(_name, False)
method("layout", environment.strided)
method("name", None)
method("names", property(lambda self: (None,) * self._array.ndim, doc="None for each dimension."))


def _always(name: str, answer: Callable[..., Any], doc: str) -> None:
    answer.__name__, answer.__doc__ = name, doc
    method(name, answer)


def _device_number(self: Tensor) -> int:
    where = self.device
    return -1 if where.index is None else where.index


_always("get_device", _device_number, "The index of the GPU; -1 on the CPU.")
method("is_cpu", property(lambda self: self.device.type == "cpu", doc="Whether it is on the CPU."))
method("is_meta", property(lambda self: self.device.type == "meta", doc="Whether it has no data."))
method("is_cuda", property(lambda self: self.device.type == "cuda", doc="Whether it is on a GPU."))
_always("has_names", lambda self: False, "Whether dimensions have names: never.")
_always("is_distributed", lambda self: False, "Whether it lies on several machines: never.")
_always("record_stream", lambda self, stream: None, "Nothing: the CPU has no streams.")
_always("to_dense", lambda self, dtype=None, masked_grad=None: self if dtype is None else self.to(dtype),
        "The tensor itself: it is dense.")  # fmt: skip


@only_method
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the tensor is in pinned (page-locked) memory."""
    if isinstance(device, int) and not isinstance(device, bool):
        plain_integer(device, "is_pinned", "device")
        if device < 0:
            raise RuntimeError("Device index must not be negative")
        _accelerator()
    elif device is not None:
        device_type(device)
    return self.is_cpu and any(backend.is_pinned(self._array) for backend in others)


@only_method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in pinned (page-locked) memory; the tensor itself if it is pinned."""
    if is_pinned(self, device):
        return self
    if not self.is_cpu:
        raise RuntimeError(
            "cannot pin a tensor that is on a GPU: only those of the CPU can be pinned"
        )
    return wrap(_accelerator().pin(self._array))


def _accelerator() -> Any:
    """The package for GPUs; an error if there is none."""
    backend = accelerator()
    if backend is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return backend


as_functions("get_device", "is_distributed", "is_inference")
