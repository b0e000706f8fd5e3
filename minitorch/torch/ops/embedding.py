"""Embeddings: rows of a table, one by one or reduced in bags."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import as_numpy
from ..formulas import indexing
from ..tensor import Array, Tensor, wrap, wrap_beside
from .precision import is_half
from .promotion import plain_number, result_type
from .ranges import arange
from .record import MOVEMENT, Op, bind
from .surface import FUNCTIONS
from .writes import check_writable

# --- Records -----------------------------------------------------------------------------------


def _by_grad(g: Any, indices: Any, padding_idx: int | None, by_frequency: bool) -> Any:
    """The derivative of the backward: the rows at the indices, zeros for the padding."""
    out = bind(EMBEDDING, (g, indices), {})
    extra = (1,) * (out.ndim - indices.ndim)
    if padding_idx is not None:
        out = out.masked_fill((indices == padding_idx).reshape(*indices.shape, *extra), 0)
    if by_frequency:
        _, inverse, counts = np.unique(indices._array, return_inverse=True, return_counts=True)
        shares = (1 / counts)[inverse].reshape(*indices.shape, *extra)
        out = out * wrap(shares.astype(out._array.dtype))
    return out


def _by_weight(
    g: Any, indices: Any, shapes: Any, padding_idx: int | None, by_frequency: bool, sparse: bool
) -> Any:
    if sparse and not by_frequency:
        from ..sparse.functions import embedding_gradient

        return embedding_gradient(g, indices, shapes[0][0], padding_idx)
    params = {"rows": shapes[0][0], "padding_idx": padding_idx, "by_frequency": by_frequency}
    return bind(EMBEDDING_BACKWARD, (g, indices), params)


EMBEDDING = Op(
    "embedding", ("weight", "indices"),
    lambda weight, indices, padding_idx=None, by_frequency=False, sparse=False:
        indexing.embedding(weight, indices),
    {"weight": _by_weight, "indices": None},
    doc="Rows of a table, by index.", kind=MOVEMENT,
)  # fmt: skip


def _one_hot(indices: Array, classes: Array) -> Array:
    if not indexing.all_within(indices, classes.size):
        wrong = "non-negative" if (indices < 0).any() else "smaller than num_classes"
        raise RuntimeError(f"Class values must be {wrong}.")
    return (indices[..., None] == classes).astype(np.int64)


ONE_HOT = Op("one_hot", ("input", "classes"), _one_hot, {"input": None, "classes": None})
EMBEDDING_BACKWARD = Op(
    "embedding_backward", ("grad", "indices"),
    lambda grad, indices, rows, padding_idx, by_frequency:
        indexing.embedding_backward(grad, indices, rows, padding_idx, by_frequency),
    {"grad": _by_grad, "indices": None},
)  # fmt: skip


# --- Functions ---------------------------------------------------------------------------------


def _padding_row(padding_idx: int | None, weight: Tensor) -> int | None:
    """The padding index, counted from the front."""
    if not padding_idx:
        return padding_idx
    if not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % weight.shape[0]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of a table, by index.

    Args:
        input: indices of rows
        weight: the table
        padding_idx: a row that gets no gradient
        max_norm: rows that are used and have a larger norm are first scaled down to it, in the table
        norm_type: which norm that is
        scale_grad_by_freq: whether the gradient of a row is divided by how often it was used
        sparse: whether the table's gradient is a sparse tensor: the rows that were used
    """
    padding_idx = _padding_row(padding_idx, weight)
    if max_norm is not None:
        _check_indices(weight, input)
        renorm_rows(weight, input, max_norm, norm_type)
    return _look_up(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _look_up(
    weight: Tensor, indices: Tensor, padding_idx: int | None, by_frequency: bool, sparse: bool
) -> Tensor:
    _check_indices(weight, indices)
    params = {"padding_idx": padding_idx, "by_frequency": by_frequency, "sparse": sparse}
    return bind(EMBEDDING, (weight, indices), params)


def _check_indices(weight: Tensor, indices: Tensor) -> None:
    if indices.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{indices.dtype.type_name} instead (while checking arguments for embedding)"
        )
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {list(weight.shape)} in embedding")


def renorm_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale rows that are used and have a norm above `max_norm` down to it, in place."""
    check_writable(weight.detach(), False)
    norm_type = plain_number(norm_type, "embedding_renorm_", "norm_type")
    used = wrap_beside(np.unique(as_numpy(indices._array)), indices)
    table = weight.detach()
    if not used.numel():
        return
    if not (weight.dtype.is_floating_point or weight.dtype.is_complex):
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex, got {weight.dtype}"
        )
    norms = table[used].norm(norm_type, 1).double()
    long = norms > max_norm
    rows = table[used[long]]
    wide = rows.float() if is_half(rows._array) else rows
    factors = (max_norm / (norms[long] + 1e-7)).to(wide.dtype)
    table[used[long]] = (wide * factors.unsqueeze(1)).to(rows.dtype)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of embeddings: a row of `input` is a bag, or `offsets` says where each begins."""
    if weight.dtype is dtypes.int64 and input.dtype.is_floating_point:
        input, weight = weight, input
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, then it must have "
            f"the same shape as the input ({list(input.shape)})"
        )
    if max_norm is not None:
        _check_indices(weight, input)
    if offsets is not None and offsets.dtype is not input.dtype:
        kind = result_type(input, offsets)
        input, offsets = input.to(kind), offsets.to(kind)
    if input.dtype not in (dtypes.int32, dtypes.int64):  # which is that of the offsets now
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{input.dtype.type_name} instead (while checking arguments for embedding_bag)"
        )
    if not weight.dtype.is_floating_point:
        raise RuntimeError(
            "Expected tensor for argument 'weight' to have one of the following scalar types: Half, BFloat16, Float, "
            f"Double; but got {weight.dtype} instead (while checking arguments for embedding_bag)"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument 'weight' to have the same type as tensor for argument 'per_sample_weights'; "
            f"but type {weight.dtype} does not equal {per_sample_weights.dtype}"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum or mean")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    bags, count = _bags(input, offsets, include_last_offset)
    padding_idx = _padding_row(padding_idx, weight)
    if max_norm is not None:
        renorm_rows(weight, input, max_norm, norm_type)
    _check_rows(input._array, weight.shape[0])
    rows = _look_up(weight, input.reshape(-1), padding_idx, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    if padding_idx is not None:
        kept = np.flatnonzero(as_numpy(input._array).reshape(-1) != padding_idx)
        rows, bags = rows.index_select(0, wrap_beside(kept, rows)), bags[kept]
    return _reduced(rows, wrap_beside(bags, rows), count, mode)


def _check_rows(indices: Array, rows: int) -> None:
    if not indexing.all_within(indices, rows):
        wrong = np.flatnonzero((indices < 0) | (indices >= rows))
        raise RuntimeError(
            f"embedding_bag: Index {wrong[0]} of input takes value {indices.reshape(-1)[wrong[0]]} "
            f"which is not in the valid range [0, {rows})"
        )


def _bags(input: Tensor, offsets: Tensor | None, include_last: bool) -> tuple[Array, int]:
    """The bag of each index, and the number of bags."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                f"if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        return np.repeat(np.arange(input.shape[0]), input.shape[1]), input.shape[0]
    if input.ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError(
            f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.ndim}"
        )
    starts = as_numpy(offsets._array)
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {starts[0]}"
        )
    if starts.size and starts[-1] > input.numel():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length({input.numel()}) but got offsets[-1] of {starts[-1]}"
        )
    if (starts[1:] < starts[:-1]).any():
        raise RuntimeError(f"embedding_bag: offsets must be in order, got {starts.tolist()}")
    count = max(starts.size - 1, 0) if include_last else starts.size
    bag = np.searchsorted(starts[:count], np.arange(input.numel()), side="right") - 1
    return bag, count


def _reduced(rows: Tensor, bags: Tensor, count: int, mode: str) -> Tensor:
    empty = rows.new_zeros((count, rows.shape[1]))
    if mode == "max":
        places = bags.unsqueeze(1).expand(rows.shape)
        return empty.scatter_reduce(0, places, rows, "amax", include_self=False)
    wide = rows.to(dtypes.float32) if is_half(rows._array) else rows
    total = empty.to(wide.dtype).index_add(0, bags, wide)
    if mode == "mean":
        sizes = np.maximum(np.bincount(bags._array, minlength=count), 1)
        total = total / wrap(sizes.astype(wide._array.dtype)[:, None])
    return total.to(rows.dtype)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """One-hot rows: for each index zeros, with a one at its position."""
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    indices = tensor._array
    if not indices.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return tensor.new_zeros((*indices.shape, num_classes))
    if num_classes == -1:
        num_classes = int(indices.max()) + 1
    return ONE_HOT(tensor, arange(max(num_classes, 0), device=tensor.device))


def _torch_embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """`nn.functional.embedding` with the table first, and -1 for no padding."""
    padding = None if padding_idx < 0 else padding_idx
    return _look_up(weight, indices, padding, scale_grad_by_freq, sparse)


FUNCTIONS["embedding"] = _torch_embedding
