"""Memory that processes share: a file without a name, mapped by each of them.

The file is gone when the last process has let go of it, also if one was killed: there is
nothing to clean up. Another process gets at it through a file descriptor, which
`multiprocessing` sends along.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Sequence
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import numpy as np

from .. import dtypes
from ..nn.parameter import Buffer, Parameter
from ..ops.surface import method
from ..storage import array_over, locate, root_of
from ..tensor import Array, Tensor, wrap


class Segment(mmap.mmap):
    """Shared memory, and the descriptor by which others find it."""

    descriptor: int

    def __new__(cls, descriptor: int, size: int) -> Segment:
        """Map a file; the descriptor belongs to the segment from now on."""
        made = super().__new__(cls, descriptor, size)
        made.descriptor = descriptor
        weakref.finalize(made, os.close, descriptor)
        return made


def _new_segment(size: int) -> Segment:
    """Shared memory of `size` bytes, all zero."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("minitorch", os.MFD_CLOEXEC)
    else:
        from tempfile import TemporaryFile

        with TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return Segment(descriptor, size)


def _segment_of(array: Array) -> Segment | None:
    """The shared memory that an array lies in, if it does."""
    base = root_of(array).base
    found = base.obj if isinstance(base, memoryview) else base
    return found if isinstance(found, Segment) else None


# --- Tensors ----------------------------------------------------------------------------------------


def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor into memory that processes share; a view takes its base along."""
    if _segment_of(self._array) is not None or not self._array.size:
        return self
    here = locate(self._array)
    memory = np.frombuffer(_new_segment(here.memory.size), np.uint8)
    memory[:] = here.memory
    for tensor in (self, self._base):
        if tensor is not None:
            at = locate(tensor._array)
            if at.root is here.root or tensor is self:
                tensor._array = array_over(
                    memory, tensor._array.dtype, at.offset, at.shape, at.strides
                )
    return self


def is_shared(self: Tensor) -> bool:
    """Whether processes share the memory."""
    return _segment_of(self._array) is not None


method("share_memory_", share_memory_)
method("is_shared", is_shared)


# --- Between processes ------------------------------------------------------------------------------


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """How a tensor is sent: where it is in shared memory, into which it moves if need be."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
            "support crossing process boundaries.  If you just want to transfer the data, call detach() on "
            "the tensor before serializing (e.g., putting it on the queue)."
        )
    kind = type(tensor)
    if not tensor._array.size:
        shape = tuple(tensor.shape)
        return _rebuild_empty, (kind, tensor.dtype, shape, tensor.requires_grad)
    share_memory_(tensor)
    segment = _segment_of(tensor._array)
    if segment is None:
        raise RuntimeError("share_memory_: the tensor could not be moved into shared memory")
    here = locate(tensor._array)
    place = here.offset, here.shape, here.strides
    handle = DupFd(segment.descriptor)
    return _rebuild, (kind, tensor.dtype, handle, len(segment), place, tensor.requires_grad)


def _rebuild(
    kind: type[Tensor],
    dtype: dtypes.dtype,
    handle: Any,
    size: int,
    place: tuple[int, Sequence[int], Sequence[int]],
    requires_grad: bool,
) -> Tensor:
    """The tensor at a place in shared memory."""
    memory = np.frombuffer(Segment(handle.detach(), size), np.uint8)
    return _of_kind(kind, wrap(array_over(memory, dtype.numpy, *place)), requires_grad)


def _rebuild_empty(
    kind: type[Tensor], dtype: dtypes.dtype, shape: tuple[int, ...], requires_grad: bool
) -> Tensor:
    return _of_kind(kind, wrap(np.empty(shape, dtype.numpy)), requires_grad)


def _of_kind(kind: type[Any], tensor: Tensor, requires_grad: bool) -> Tensor:
    if issubclass(kind, Parameter):
        return kind(tensor, requires_grad)
    made = kind(tensor) if issubclass(kind, Buffer) else tensor
    return made.requires_grad_() if requires_grad else made


def init_reductions() -> None:
    """Let `multiprocessing` send tensors so."""
    for kind in (Tensor, Parameter, Buffer):
        ForkingPickler.register(kind, reduce_tensor)
