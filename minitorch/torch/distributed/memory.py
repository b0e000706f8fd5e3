"""The memory that a collective reads and writes: a contiguous tensor's own, or a copy that is brought back.

MPI works in main memory: tensors of a GPU go through a copy there (`on_host`), and what NCCL moves stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends.interface import as_numpy, backend_of, from_numpy
from ..tensor import Array, Tensor, bump_version
from . import mpi
from .reductions import ReduceOp


def readable(tensor: Tensor, on_host: bool = True) -> Array:
    """A tensor's elements, one after the other."""
    array = as_numpy(tensor._array) if on_host else tensor._array
    return (array if array.flags.c_contiguous else array.copy()).reshape(-1)


def writable(tensor: Tensor, on_host: bool = True) -> tuple[Array, Callable[[], None]]:
    """Memory with a tensor's elements to write into, and what brings that into the tensor."""
    array = tensor._array
    memory = readable(tensor, on_host)
    shared = array.flags.c_contiguous and (isinstance(array, np.ndarray) or not on_host)

    def copy_back() -> None:
        if not shared:
            _put(memory.reshape(array.shape), tensor)
        bump_version(tensor)

    return memory, copy_back


def _put(values: Array, tensor: Tensor) -> None:
    """Write values, from main memory or from the tensor's device, into a tensor."""
    if isinstance(values, np.ndarray) and not isinstance(tensor._array, np.ndarray):
        values = from_numpy(values, tensor.device)
    tensor._array[...] = values


def as_mpi_bytes(memory: Array) -> list[Any]:
    """Memory as MPI is given it where values do not matter."""
    return [memory.view(np.uint8), mpi.load().BYTE]


def nbytes(tensor: Tensor) -> int:
    """How many bytes a tensor's elements have."""
    return tensor._array.nbytes


def joined(tensors: Sequence[Tensor], on_host: bool = True) -> Array:
    """The elements of several tensors, one after the other."""
    if len(tensors) == 1:
        return readable(tensors[0], on_host)
    return np.concatenate([readable(t, on_host) for t in tensors])


def collecting(
    outputs: Sequence[Tensor], given: Array, on_host: bool = True
) -> tuple[Array, Callable[[], None]]:
    """Memory for what is gathered, and what brings it into the outputs."""
    if len(outputs) == 1:
        return writable(outputs[0], on_host)
    gathered = new_memory(len(outputs) * given.size, given.dtype, given)
    return gathered, lambda: deliver(gathered.view(np.uint8), outputs)


def new_memory(size: int, dtype: Any, beside: Array) -> Array:
    """Memory for so many elements, where other memory is."""
    if isinstance(beside, np.ndarray):
        return np.empty(size, dtype)
    backend = backend_of(beside)
    return backend.empty((size,), dtype, backend.device_of(beside))


def deliver(memory: Array, outputs: Sequence[Tensor]) -> None:
    """Bring bytes into tensors, one after the other."""
    start = 0
    for output in outputs:
        array = output._array
        part = memory[start : start + array.nbytes]
        _put(part.view(array.dtype).reshape(array.shape), output)
        bump_version(output)
        start += array.nbytes


def about_tensor(tensor: Tensor, op: ReduceOp | None = None) -> str:
    """What all ranks must agree on."""
    how = "" if op is None else f", {op.name}"
    return f"(shape {list(tensor.shape)}, {tensor.dtype}{how})"
