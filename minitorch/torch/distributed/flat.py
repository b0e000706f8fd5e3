"""Several tensors as one, so that they travel in one message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..tensor import Tensor, bump_version, wrap


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """A copy of tensors of one type and device, one after the other."""
    return wrap(np.concatenate([t._array.reshape(-1) for t in tensors]))


def spread(values: Tensor, tensors: Sequence[Tensor]) -> None:
    """Copy what `joined` has made back into tensors."""
    start = 0
    for tensor in tensors:
        size = tensor._array.size
        part = values._array[start : start + size]
        tensor._array[...] = part.reshape(tensor._array.shape)
        bump_version(tensor)
        start += size


def tensors_in(output: Any) -> Iterator[Tensor]:
    """The tensors in an output, also those in lists, tuples, dictionaries and dataclasses."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, dict):
        for value in output.values():
            yield from tensors_in(value)
    elif isinstance(output, (list, tuple)):
        for value in output:
            yield from tensors_in(value)
    elif hasattr(output, "__dataclass_fields__"):
        yield from tensors_in(vars(output))
