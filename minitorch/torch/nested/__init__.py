"""Torch's nested tensors: batches of tensors of different sizes, without padding.

>>> import minitorch.torch as torch
>>> batch = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
>>> batch.shape
torch.Size([2, j1, 3])
>>> torch.nested.to_padded_tensor(batch * 2, 0.0).shape
torch.Size([2, 4, 3])
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .. import environment
from ..ops import FUNCTIONS
from ..tensor import Tensor
from .nested_tensor import NestedTensor as NestedTensor
from .nested_tensor import pack


def _layout(layout: Any) -> Any:
    if layout in (None, environment.strided):
        return environment.strided
    if layout is environment.jagged:
        return layout
    raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> NestedTensor:
    """A nested tensor with copies of tensors, or of lists of numbers: a leaf of the graph."""
    kind = _layout(layout)
    tensors = [x.detach() if isinstance(x, Tensor) else FUNCTIONS["tensor"](x) for x in tensor_list]
    made = pack([t.to(device=device, dtype=dtype or t.dtype) for t in tensors], kind)
    if kind is environment.jagged and not made.is_jagged:
        raise RuntimeError("torch.nested.nested_tensor: in the jagged layout tensors differ in their first dimension only")  # fmt: skip
    made.packed.requires_grad_(requires_grad)
    return made


def as_nested_tensor(
    ts: Any, dtype: Any = None, device: Any = None, layout: Any = None
) -> NestedTensor:
    """A nested tensor of tensors that keeps their place in the graph; of one tensor, its rows."""
    if isinstance(ts, NestedTensor):
        return ts
    parts = list(ts.unbind(0)) if isinstance(ts, Tensor) else list(ts)
    moved = [t.to(device=device or t.device, dtype=dtype or t.dtype) for t in parts]
    return pack(moved, _layout(layout))


def nested_tensor_from_jagged(
    values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None, jagged_dim: int | None = None, **_: Any
) -> NestedTensor:  # fmt: skip
    """A nested tensor over elements that lie one component after the other, given where these begin and end.

    Args:
        values: (total, ...)
        offsets: where components begin, and the end of the last
        lengths: of components, which then follow each other; with offsets, only up to which length they are filled
        jagged_dim: must be 1: the first dimension of components
    """
    if jagged_dim not in (None, 1):
        raise NotImplementedError("nested_tensor_from_jagged: jagged_dim must be 1")
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")  # fmt: skip
    if offsets is not None and lengths is not None:
        starts = offsets.tolist()[: len(lengths)]
        parts = [values[s : s + n] for s, n in zip(starts, lengths.tolist(), strict=True)]
        return pack(parts, environment.jagged)
    if offsets is not None:
        ends = offsets.tolist()
        counts = [b - a for a, b in pairwise(ends)]
    else:
        counts = lengths.tolist()  # type: ignore[union-attr]
    if sum(counts) != len(values) or min(counts, default=0) < 0:
        raise RuntimeError(f"nested_tensor_from_jagged: lengths {counts} do not add up to the {len(values)} rows of values")  # fmt: skip
    shapes = [(count, *values.shape[1:]) for count in counts]
    return NestedTensor(values, shapes, environment.jagged)


def to_padded_tensor(
    input: Any, padding: float, output_size: Any = None, out: Any = None
) -> Tensor:
    """One tensor of the largest sizes, filled up with a number."""
    return input.to_padded_tensor(padding, output_size)


def narrow(
    tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = environment.strided
) -> NestedTensor:
    """Of each row of a tensor, the part from `start` that is `length` long."""
    if dim != 1:
        raise RuntimeError("narrow: dim must be 1")
    count = len(tensor)
    starts = start.tolist() if isinstance(start, Tensor) else [start] * count
    lengths = length.tolist() if isinstance(length, Tensor) else [length] * count
    rows = zip(tensor.unbind(0), starts, lengths, strict=True)
    return pack([row[s : s + n] for row, s, n in rows], _layout(layout))


def masked_select(tensor: Tensor, mask: Tensor) -> NestedTensor:
    """Of each row of a tensor, the elements where a mask is True, in the jagged layout."""
    rows = zip(tensor.unbind(0), mask.expand(tensor.shape).unbind(0), strict=True)
    return pack([row[chosen] for row, chosen in rows], environment.jagged)
