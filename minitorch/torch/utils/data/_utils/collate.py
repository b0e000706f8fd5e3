"""From a list of samples to one batch."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from .... import dtypes
from ....ops.creation import as_tensor, tensor
from ....ops.joining import stack
from ....sparse.coo import SparseTensor
from ....tensor import Tensor, wrap

Collaters = dict[Any, Callable[..., Any]]
"""How samples of a type, or of some types, become a batch."""

np_str_obj_array_pattern = re.compile("[SaUO]")
"""The kinds of arrays, of texts and objects, that no tensor is made of."""

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """Arrays and numbers of NumPy as tensors, also within containers; all else as it is."""
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return mapping_like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(each) for each in data]
    if isinstance(data, Sequence):
        return sequence_like(data, [default_convert(each) for each in data])
    return data


def collate(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """A batch of samples: what the table says for their type, and containers of batches."""
    first = batch[0]
    table = collate_fn_map or {}
    if type(first) in table:
        return table[type(first)](batch, collate_fn_map=collate_fn_map)
    for kinds, fn in table.items():
        if isinstance(first, kinds):
            return fn(batch, collate_fn_map=collate_fn_map)

    def together(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return mapping_like(first, {key: together([d[key] for d in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(together, zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [together(samples) for samples in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else sequence_like(first, columns)
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def mapping_like(old: Mapping[Any, Any], new: dict[Any, Any]) -> Any:
    """A mapping of the same kind as another, with other values; a dict if that cannot be."""
    try:
        if isinstance(old, MutableMapping):
            clone = copy.copy(old)
            clone.update(new)
            return clone
        return type(old)(new)  # type: ignore[call-arg]
    except TypeError:
        return new


def sequence_like(old: Sequence[Any], new: list[Any]) -> Any:
    """A sequence of the same kind as another, with other values; a list if that cannot be."""
    try:
        if isinstance(old, MutableSequence):
            clone = copy.copy(old)
            for i, value in enumerate(new):
                clone[i] = value
            return clone
        return type(old)(new)  # type: ignore[call-arg]
    except TypeError:
        return new


def collate_tensor_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Tensor:
    """Tensors, stacked."""
    arrays = _alike(batch)
    if arrays is None:
        return stack(batch, 0)
    joined = np.concatenate(arrays) if arrays[0].ndim else np.array(arrays)
    return wrap(joined.reshape(len(arrays), *arrays[0].shape))  # the same, quicker


def _alike(batch: Any) -> list[Any] | None:
    """The arrays of tensors of one shape and type that want no gradients; None of others."""
    first = batch[0]._array
    shape, kind = first.shape, first.dtype
    arrays = []
    for x in batch:
        array, base = x._array, x._base
        if x._requires_grad or (base is not None and base._requires_grad):
            return None
        if array.shape != shape or array.dtype != kind:
            return None
        arrays.append(array)
    return arrays


def collate_sparse_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """Sparse tensors make no batch."""
    raise RuntimeError(
        "Batches of sparse tensors are not currently supported by the default collate_fn; "
        "please provide a custom collate_fn to handle them appropriately."
    )


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """Arrays, stacked."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Tensor:
    """Numbers of NumPy, in their own type."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Tensor:
    """Numbers, in float64."""
    return tensor(batch, dtype=dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Tensor:
    """Whole numbers and truth values."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Collaters | None = None) -> Any:
    """Texts, as they are."""
    return batch


default_collate_fn_map: Collaters = {
    Tensor: collate_tensor_fn,
    SparseTensor: collate_sparse_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """A batch of samples that are tensors, arrays, numbers, texts, or containers of them."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
