"""Sequences of different lengths as one tensor: padded to the longest, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...device import CPU
from ...dtypes import int64
from ...ops.creation import as_tensor
from ...ops.joining import cat, stack
from ...ops.sorting import sort
from ...tensor import Tensor, wrap, wrap_beside


class PackedSequence_(NamedTuple):  # noqa: N801
    """The fields of a packed sequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Packed sequences: the first elements of all, then the second ones, and so on; the longest sequence first.

    `batch_sizes` is the number of sequences at each step. `sorted_indices` sort the sequences by
    length; `unsorted_indices` restore their order.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        """From the fields, or the first two of them as a pair."""
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)  # type: ignore[arg-type]

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequences in another dtype, or on another device."""
        return self._with(self.data.to(*args, **kwargs))

    def _with(self, data: Tensor) -> PackedSequence:
        """The sequences with other data, and the indices on the same device."""
        if data is self.data:
            return self
        order = None if self.sorted_indices is None else self.sorted_indices.to(data.device)
        return type(self)(data, self.batch_sizes, order)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequences on the CPU."""
        return self._with(self.data.cpu(*args, **kwargs))

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequences on a GPU."""
        return self._with(self.data.cuda(*args, **kwargs))

    def pin_memory(self) -> PackedSequence:
        """The sequences in pinned memory."""
        return type(self)(self.data.pin_memory(), *self[1:])

    @property
    def is_cuda(self) -> bool:
        """Whether the sequences are on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the sequences are in pinned memory."""
        return self.data.is_pinned()


def _declare_conversion(name: str) -> None:
    def convert(self: PackedSequence) -> PackedSequence:
        return type(self)(getattr(self.data, name)(), *self[1:])

    convert.__name__, convert.__doc__ = name, f"The sequences converted to {name}."
    setattr(PackedSequence, name, convert)


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    _declare_conversion(_name)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation."""
    return None if permutation is None else wrap(np.argsort(permutation._array, kind="stable"))


# --- Packed -----------------------------------------------------------------------------------------


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack a padded batch (steps, batch, ...) of sequences of these lengths.

    Args:
        input: the padded batch; (batch, steps, ...) if `batch_first`
        lengths: of each sequence
        batch_first: whether the batch is the first dimension
        enforce_sorted: whether sequences must be given longest first; else they are sorted
    """
    counts = as_tensor(lengths, device=None if isinstance(lengths, Tensor) else CPU).to(int64)
    if counts.device is not CPU:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {counts.ndim}D {counts.device} Long tensor"
        )
    order = None
    if not enforce_sorted:
        counts, order = sort(counts, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    steps = input.transpose(0, 1) if batch_first else input
    long, batch = steps._array.shape[:2]
    _check_lengths(counts._array, long, batch)
    there = np.arange(counts._array[0])[:, None] < counts._array  # (steps, batch)
    rows = np.flatnonzero(there)
    data = steps.reshape(long * batch, *steps.shape[2:]).index_select(0, wrap_beside(rows, steps))
    return PackedSequence(data, wrap(there.sum(axis=1)), order, None)


def _check_lengths(lengths: Any, long: int, batch: int) -> None:
    if len(lengths) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={batch})"
        )
    if not batch or lengths.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(lengths) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement "
            "if you do not need ONNX exportability."
        )
    if lengths[0] > long:
        raise RuntimeError(f"lengths has {lengths[0]}, but the padded sequences have {long} steps")


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Unpack into a padded batch (steps, batch, ...), and the lengths of its sequences.

    Args:
        sequence: what to unpack
        batch_first: whether the batch becomes the first dimension
        padding_value: written after the end of a sequence
        total_length: number of steps of the result, if more than the longest sequence
    """
    sizes = sequence.batch_sizes._array
    long = len(sizes)
    if total_length is not None:
        if total_length < long:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {long}"
            )
        long = total_length
    data, batch = sequence.data, int(sizes[0])
    there = np.arange(batch) < sizes[:, None]
    empty = data.new_full((long * batch, *data.shape[1:]), padding_value)
    padded = empty.index_copy(0, wrap_beside(np.flatnonzero(there), data), data)
    padded = padded.view(long, batch, *data.shape[1:])
    padded = padded.transpose(0, 1) if batch_first else padded
    lengths, back = wrap(there.sum(axis=0)), sequence.unsorted_indices
    if back is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, back), lengths[back.cpu()]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths."""
    lengths = [len(s) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


# --- Padded -----------------------------------------------------------------------------------------


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of different lengths padded to one tensor (steps, batch, ...).

    Args:
        sequences: tensors that differ in their first size
        batch_first: whether the batch becomes the first dimension
        padding_value: written beside shorter sequences
        padding_side: "right" (after the end) or "left"
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("right", "left"):
        raise RuntimeError(f"padding_side should be one of 'left' or 'right', got {padding_side}")
    tensors = list(sequences)
    if not tensors:
        raise RuntimeError("received an empty list of sequences")
    long = max(len(t) for t in tensors)
    padded = [_padded(t, long - len(t), padding_value, padding_side) for t in tensors]
    return stack(padded, 0 if batch_first else 1)


def _padded(sequence: Tensor, count: int, value: float, side: str) -> Tensor:
    if not count:
        return sequence
    rest = sequence.new_full((count, *sequence.shape[1:]), value)
    return cat([sequence, rest] if side == "right" else [rest, sequence])


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch, with their original lengths."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]
