"""Memory shared with other libraries: DLPack, and Python's buffers.

NumPy supports DLPack for all dtypes except bfloat16, which is exported and imported as int16;
the dtype field of the capsule is then changed.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import backend_for, resolve
from ..storage import UntypedStorage, array_over
from ..tensor import Array, Tensor, tracks, wrap
from .creation import new_tensor_of
from .surface import function, method, only_method

_UNSIGNED, _BFLOAT = 1, 4
"""DLPack's type codes."""
_CUDA = 2
"""DLPack's device code for NVIDIA's GPUs."""
# The offset of the dtype (kind, bits) in a capsule's struct, after the version and the deleter.
_TYPE_AT = {b"dltensor": 20, b"dltensor_versioned": 52}

_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype, _get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.restype, _is_capsule.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def _type_of(capsule: Any) -> Any:
    """The dtype field of a capsule, two writable bytes."""
    for name, offset in _TYPE_AT.items():
        if _is_capsule(capsule, name):
            return (ctypes.c_uint8 * 2).from_address(_get_pointer(capsule, name) + offset)
    raise RuntimeError(
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
        "once, so you might have already constructed a tensor from it once."
    )


class _Lender:
    """A capsule as an object that NumPy can import."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **asked: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class _Memory:
    """The memory of an array that was exported without a flag that says whether it is read-only."""

    def __init__(self, array: Array) -> None:
        self.array = array
        place = array.__array_interface__["data"][0]
        self.__array_interface__ = {**array.__array_interface__, "data": (place, False)}


# --- Lending ------------------------------------------------------------------------------------


@only_method
def __dlpack__(  # noqa: N807
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:  # fmt: skip
    """A DLPack capsule of the tensor's memory."""
    if tracks(self):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    array = self._array
    narrow = self.dtype is dtypes.bfloat16
    if narrow:
        array = array.view(np.uint16)
    device = None if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    capsule = array.__dlpack__(max_version=max_version, dl_device=device, copy=copy)
    if narrow:
        _type_of(capsule)[0] = _BFLOAT
    return capsule


@only_method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:  # noqa: N807
    """DLPack's code and index of the tensor's device."""
    return self._array.__dlpack_device__()


def _cuda_memory(self: Tensor) -> dict[str, Any]:
    """`__cuda_array_interface__`, by which Numba, CuPy and others use the memory of a GPU tensor."""
    if self.device.type != "cuda":
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is "
            "required use tensor.cuda() to copy tensor to device memory."
        )
    if tracks(self):
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't "
            "required, use var.detach() to get Variable that doesn't require grad."
        )
    return self._array.__cuda_array_interface__


method("__cuda_array_interface__", property(_cuda_memory))


@function
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of a tensor's memory."""
    return tensor.__dlpack__()


# --- Borrowing ----------------------------------------------------------------------------------


@function
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of another library's array, or of a DLPack capsule."""
    if device is not None:
        resolve(device)
    if getattr(ext_tensor, "__dlpack_device__", lambda: (0, 0))()[0] == _CUDA:
        array = backend_for(resolve("cuda")).from_dlpack(ext_tensor)
        return wrap(array.copy() if copy else array)
    capsule = _capsule_of(ext_tensor) if hasattr(ext_tensor, "__dlpack__") else ext_tensor
    kind = _type_of(capsule)
    narrow = tuple(kind) == (_BFLOAT, 16)
    if narrow:
        kind[0] = _UNSIGNED
    dated = _get_name(capsule) == b"dltensor_versioned"
    array = np.from_dlpack(_Lender(capsule))
    if not dated and not array.flags.writeable:
        array = np.asarray(_Memory(array))
    if narrow:
        array = array.view(dtypes.bfloat16.numpy)
    return wrap(array.copy() if copy else array)


def _capsule_of(lender: Any) -> Any:
    try:
        return lender.__dlpack__(max_version=(1, 0))
    except TypeError:  # from before there were versions
        return lender.__dlpack__()


@function
def from_file(
    filename: str, shared: bool | None = None, size: int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The first `size` elements of a file as a tensor; what is written there reaches it where `shared`."""
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    memory = UntypedStorage.from_file(filename, bool(shared), size * kind.itemsize)._memory
    return new_tensor_of(array_over(memory, kind.numpy, 0, (size,), (1,)), None)


@function
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A tensor that shares the memory of a buffer."""
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
    return new_tensor_of(np.frombuffer(buffer, dtype.numpy, count, offset), None, requires_grad)
