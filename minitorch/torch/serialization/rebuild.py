"""How tensors are made from what a file says: Torch's `_rebuild_...` functions.

Their arguments come from files of strangers, so each is checked; a tensor can reach only
into the storage that the file has for it.
"""

from __future__ import annotations

from collections.abc import Callable
from pickle import UnpicklingError
from reprlib import repr as brief
from typing import Any

import numpy as np

from .. import dtypes
from ..environment import per_channel_affine, per_tensor_affine
from ..ops.creation import empty_strided
from ..storage import TypedStorage, UntypedStorage, tensor_over
from ..tensor import Tensor


def rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Tensor:
    """A tensor over a storage with elements."""
    return _over(_typed(storage), storage.dtype, offset, size, stride)


def rebuild_tensor_v2(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor over a storage with elements, and whether operations on it are recorded."""
    tensor = _over(_typed(storage), storage.dtype, offset, size, stride, metadata)
    return tensor.requires_grad_(bool(requires_grad))


def rebuild_tensor_v3(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor over a storage of bytes."""
    if not isinstance(storage, UntypedStorage):
        raise UnpicklingError(f"a tensor needs a storage, not a {type(storage).__name__}")
    if not isinstance(dtype, dtypes.dtype):
        raise UnpicklingError(f"a tensor needs a dtype, not a {type(dtype).__name__}")
    make_boolean(storage, dtype)
    tensor = _over(storage, dtype, offset, size, stride, metadata)
    return tensor.requires_grad_(bool(requires_grad))


def rebuild_qtensor(
    storage: Any, offset: Any, size: Any, stride: Any, scheme: Any, requires_grad: Any, backward_hooks: Any
) -> Tensor:  # fmt: skip
    """A quantized tensor: whole numbers, and how they are read."""
    from ..quantized_tensor import INTEGERS, QuantizedTensor  # few files need it

    dtype = _typed(storage).dtype
    if dtype.name not in INTEGERS or not isinstance(scheme, tuple) or len(scheme) < 3:
        raise UnpicklingError("a quantized tensor needs a quantized storage, a scale and a zero point")  # fmt: skip
    integers = _over(storage, INTEGERS[dtype.name], offset, size, stride)
    kind, scale, zero_point, *axis = scheme
    if kind is per_tensor_affine:
        return QuantizedTensor(integers, float(scale), int(zero_point), dtype)
    if kind is not per_channel_affine or not all(isinstance(t, Tensor) for t in (scale, zero_point)) or len(axis) != 1:  # fmt: skip
        raise UnpicklingError(f"quantized tensors of the kind {brief(kind)} cannot be loaded")
    if not 0 <= int(axis[0]) < integers.ndim or not len(scale) == len(zero_point) == integers.shape[axis[0]]:  # fmt: skip
        raise UnpicklingError("a quantized tensor needs a scale for each index of its axis")
    return QuantizedTensor(integers, scale.double()._array, zero_point.long()._array, dtype, int(axis[0]))  # fmt: skip


def _typed(storage: Any) -> TypedStorage:
    if not isinstance(storage, TypedStorage):
        raise UnpicklingError(f"a tensor needs a storage, not a {type(storage).__name__}")
    return storage


def _over(
    storage: Any, dtype: dtypes.dtype, offset: Any, size: Any, stride: Any, metadata: Any = None
) -> Tensor:
    if not isinstance(size, (tuple, list)) or not isinstance(stride, (tuple, list)):
        raise UnpicklingError("the sizes and strides of a tensor must be tuples")
    storage = _apply_bits(storage.untyped(), dtype, metadata)
    return tensor_over(storage, dtype, offset, tuple(size), tuple(stride))


def rebuild_meta_tensor_no_storage(
    dtype: Any, size: Any, stride: Any, requires_grad: Any
) -> Tensor:
    """A tensor without memory."""
    if not isinstance(dtype, dtypes.dtype):
        raise UnpicklingError(f"a tensor needs a dtype, not a {type(dtype).__name__}")
    made = empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
    return made.requires_grad_(bool(requires_grad))


def make_boolean(storage: UntypedStorage, dtype: dtypes.dtype | None) -> None:
    """Make the bytes of booleans 0 or 1: NumPy counts on it, and could write out of bounds otherwise."""
    memory = storage._memory
    if dtype is dtypes.bool_ and memory.size and memory.max() > 1:
        np.minimum(memory, 1, out=memory)


def _apply_bits(storage: UntypedStorage, dtype: dtypes.dtype, metadata: Any) -> UntypedStorage:
    """Compute what a lazy view of Torch's, such as `x.conj()`, only noted.

    On the whole storage: a view may have far more elements, by strides of 0.
    """
    noted = metadata if isinstance(metadata, dict) else {}
    if not noted.get("conj") and not noted.get("neg"):
        return storage
    array = TypedStorage(wrap_storage=storage, dtype=dtype)._elements()
    array = np.conj(array) if noted.get("conj") else array
    array = np.negative(array) if noted.get("neg") else array
    return UntypedStorage.over(array.view(np.uint8))


# --- Parameters and subclasses -----------------------------------------------------------


def parameter_class() -> type[Tensor] | None:
    """`nn.Parameter`, if this build has it."""
    try:
        from minitorch.torch.nn import Parameter  # type: ignore[import-not-found]
    except ImportError:
        return None
    return Parameter


def rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Tensor:
    """A parameter around a tensor."""
    if not isinstance(data, Tensor):
        raise UnpicklingError(f"a parameter needs a tensor, not a {type(data).__name__}")
    kind = parameter_class()
    if kind is None:
        return data.requires_grad_(bool(requires_grad))
    return kind(data, bool(requires_grad))


def rebuild_parameter_with_state(
    data: Any, requires_grad: Any, backward_hooks: Any, state: Any
) -> Tensor:
    """A parameter with attributes of its own."""
    return _set_attributes(rebuild_parameter(data, requires_grad, backward_hooks), state)


def rebuild_from_type_v2(function: Any, kind: Any, args: Any, state: Any) -> Tensor:
    """A tensor of a subclass, or one with attributes of its own."""
    if function not in _REBUILDERS or not isinstance(args, tuple):
        raise UnpicklingError("a tensor can be rebuilt only by one of Torch's own functions")
    tensor = function(*args)
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise UnpicklingError(f"{brief(kind)} is no kind of tensor")
    if type(tensor) is not kind:
        tensor = as_subclass(tensor, kind)
    return _set_attributes(tensor, state)


def as_subclass(tensor: Tensor, kind: type[Tensor]) -> Tensor:
    """The same memory as a tensor of another class."""
    other = object.__new__(kind)
    other._array = tensor._array
    return other.requires_grad_(tensor.requires_grad)


def own_attributes(tensor: Tensor) -> dict[str, Any]:
    """What a program has set on a tensor, such as `weight.lr = 0.1`."""
    return {name: value for name, value in vars(tensor).items() if _is_free(tensor, name)}


def _is_free(tensor: Tensor, name: Any) -> bool:
    """Whether a name has no meaning for tensors, so that a program may use it."""
    if not isinstance(name, str) or hasattr(type(tensor), name):
        return False
    return not name.startswith("_") or name == "_is_buffer"  # the mark of nn.Buffer


def _set_attributes(tensor: Tensor, state: Any) -> Tensor:
    """Set what `own_attributes` found, and nothing else."""
    if isinstance(state, tuple) and len(state) == 2:  # of a class with slots: (attributes, slots)
        state = {**(state[0] or {}), **(state[1] or {})}
    if not isinstance(state, dict):
        raise UnpicklingError(
            f"the attributes of a tensor are a dict, not a {type(state).__name__}"
        )
    for name, value in state.items():
        if not _is_free(tensor, name):
            raise UnpicklingError(f"a file cannot set the attribute {brief(name)} of a tensor")
        setattr(tensor, name, value)
    return tensor


_REBUILDERS: tuple[Callable[..., Tensor], ...] = (
    rebuild_tensor,
    rebuild_tensor_v2,
    rebuild_tensor_v3,
    rebuild_parameter,
    rebuild_parameter_with_state,
)


# --- Sparse tensors ----------------------------------------------------------------------


_COMPRESSED = ("torch.sparse_csr", "torch.sparse_csc", "torch.sparse_bsr", "torch.sparse_bsc")
_LAYOUTS = ("torch.strided", "torch.sparse_coo", *_COMPRESSED)


def layout(name: Any) -> Any:
    """A layout by name, such as `torch.sparse_coo`."""
    if name not in _LAYOUTS:
        raise UnpicklingError(f"tensors of the layout {brief(name)} cannot be loaded")
    import minitorch.torch as torch

    return getattr(torch, name.removeprefix("torch."))


def rebuild_sparse_tensor(kind: Any, data: Any) -> Any:
    """A sparse tensor from its indices, values and size."""
    import minitorch.torch as torch

    if kind in [layout(name) for name in _COMPRESSED]:
        *parts, size = data
        if not all(isinstance(part, Tensor) for part in parts):
            raise UnpicklingError("a sparse tensor needs tensors of indices and values")
        return torch.sparse_compressed_tensor(*parts, size, layout=kind)  # type: ignore[attr-defined]
    if kind is not layout("torch.sparse_coo"):
        raise UnpicklingError(f"tensors of the layout {brief(kind)} cannot be loaded")
    indices, values, size, *coalesced = data
    if not (isinstance(indices, Tensor) and isinstance(values, Tensor)):
        raise UnpicklingError("a sparse tensor needs tensors of indices and values")
    made = torch.sparse_coo_tensor(indices, values, size)  # type: ignore[attr-defined]
    return made.coalesce() if coalesced and coalesced[0] else made
