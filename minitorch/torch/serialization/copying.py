"""Tensors in Python's own pickles, and deep copies of them.

Both carry the memory once, however many views of it there are: pickle and deepcopy remember
the array that has the memory, and views are made over its copy.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import ARRAYS
from ..storage import View, array_over, bytes_of, locate
from ..tensor import Tensor, wrap
from .rebuild import as_subclass, rebuild_meta_tensor_no_storage


def reduce_tensor(tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
    """How Python's pickle makes a tensor again: the value of `Tensor.__reduce_ex__`."""
    if type(tensor._array).__name__ == "WrapperArray":
        from ..wrappers import reduced

        return reduced(tensor)
    if tensor.is_meta:
        place = (tensor.dtype, tuple(tensor.shape), tensor.stride(), False)
        return remake_meta_tensor, (place, tensor.requires_grad, type(tensor), _attributes(tensor))
    view = locate(tensor._array)
    root = view.root if view.root.flags.c_contiguous else view.memory
    where = (view.offset, view.shape, view.strides)
    about = (tensor.requires_grad, tensor.dtype.name, type(tensor), _attributes(tensor))
    return remake_tensor, (_plain(root), *where, *about)


def remake_tensor(
    root: Any,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    dtype_name: str,
    kind: type[Tensor],
    attributes: dict[str, Any],
) -> Tensor:
    """Make a tensor over memory from a pickle."""
    dtype = dtypes.NAMES[dtype_name]
    memory = bytes_of(root)
    tensor = wrap(array_over(memory, dtype.numpy, offset, shape, strides))
    return _dress(tensor, kind, requires_grad, attributes)


def remake_meta_tensor(
    place: tuple[Any, ...], requires_grad: bool, kind: type[Tensor], attributes: dict[str, Any]
) -> Tensor:
    """Make a tensor without memory from a pickle."""
    return _dress(rebuild_meta_tensor_no_storage(*place), kind, requires_grad, attributes)


def deepcopy_tensor(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """A tensor with memory of its own, laid out as before: `Tensor.__deepcopy__`."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment. If you were attempting to deepcopy a module, this may be "
            "because of a tensor that a forward pass left in it; detach it first."
        )
    if type(tensor._array).__name__ == "WrapperArray":
        from ..wrappers import copied

        memo[id(tensor)] = made = copied(tensor, memo)
        return made
    view = locate(tensor._array)
    made = wrap(_same_place(view, copy.deepcopy(_plain(view.root), memo), tensor._array.dtype))
    attributes = copy.deepcopy(_attributes(tensor), memo)
    memo[id(tensor)] = made = _dress(made, type(tensor), tensor.requires_grad, attributes)
    if tensor.grad is not None:
        made.grad = copy.deepcopy(tensor.grad, memo)
    return made


def _plain(root: Any) -> Any:
    """An array of a device's own class; of a subclass of NumPy's, such as a file's memory, the array."""
    return root if type(root) in ARRAYS else np.asarray(root)


def _same_place(view: View, root: Any, dtype: Any) -> Any:
    """An array over a copy of a root, where the original lies over the original."""
    return array_over(bytes_of(root), dtype, view.offset, view.shape, view.strides)


def _attributes(tensor: Tensor) -> dict[str, Any]:
    """What a program or a subclass has set on a tensor; the engine's own have names of Tensor's."""
    return dict(vars(tensor))


def _dress(
    tensor: Tensor, kind: type[Tensor], requires_grad: bool, attributes: dict[str, Any]
) -> Tensor:
    """Give a bare tensor its class, flag and attributes."""
    if kind is not Tensor:
        tensor = as_subclass(tensor, kind)
    vars(tensor).update(attributes)
    return tensor.requires_grad_(requires_grad)
