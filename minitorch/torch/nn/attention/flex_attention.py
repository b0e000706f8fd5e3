"""Attention with scores modified by a function, and masks given by a function of indices.

The functions are called once, with indices as tensors that broadcast to the whole matrix of scores. The
whole matrix is computed; a `BlockMask` says which blocks are masked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...ops.comparison import where
from ...ops.ranges import arange
from ...tensor import Tensor
from ..functional import softmax

_DEFAULT_SPARSE_BLOCK_SIZE = 128
ScoreMod = Callable[..., Tensor]
MaskMod = Callable[..., Tensor]


class AuxRequest(NamedTuple):
    """The auxiliary outputs that `flex_attention` shall return."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The auxiliary outputs."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


# --- Masks ---------------------------------------------------------------------------------------------


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask that keeps everything."""
    return (token_q >= 0) | (token_kv >= 0)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The logical and of masks."""

    def both(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        kept = noop_mask(b, h, q, kv)
        for mask in mask_mods:
            kept = kept & mask(b, h, q, kv)
        return kept

    return both


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The logical or of masks."""

    def either(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        kept = ~noop_mask(b, h, q, kv)
        for mask in mask_mods:
            kept = kept | mask(b, h, q, kv)
        return kept

    return either


def _places(b: int, h: int, q: int, kv: int, device: Any) -> tuple[Tensor, ...]:
    """The indices of samples, heads, queries and keys, along four dimensions."""
    return (
        arange(b, device=device).reshape(-1, 1, 1, 1),
        arange(h, device=device).reshape(-1, 1, 1),
        arange(q, device=device).reshape(-1, 1),
        arange(kv, device=device),
    )


def create_mask(
    mod_fn: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = "cpu",
    **_: Any,
) -> Tensor:
    """A mask as a boolean tensor of shape (samples, heads, queries, keys)."""
    shape = B or 1, H or 1, Q_LEN, KV_LEN
    return mod_fn(*_places(*shape, device)).expand(shape)


class BlockMask:
    """A mask, and which of its blocks are kept partly and which entirely.

    Attributes:
        mask_mod: the function of indices
        seq_lengths: the numbers of queries and keys
        BLOCK_SIZE: how many queries and keys a block has
    """

    def __init__(
        self, mask_mod: MaskMod, kept: Tensor, block_size: tuple[int, int], lengths: tuple[int, int]
    ) -> None:
        self.mask_mod, self.seq_lengths, self.BLOCK_SIZE = mask_mod, lengths, block_size
        self._kept = kept
        self.shape = (*kept.shape[:2], *lengths)

    def _counts(self) -> Tensor:
        """The number of kept elements in each block, of shape (samples, heads, rows, columns)."""
        (rows, columns), (q, kv) = self.BLOCK_SIZE, self.seq_lengths
        size = -(-q // rows) * rows, -(-kv // columns) * columns
        padded = self._kept.new_zeros((*self._kept.shape[:2], *size))
        padded[..., :q, :kv] = self._kept
        blocks = padded.reshape(
            *padded.shape[:2], size[0] // rows, rows, size[1] // columns, columns
        )
        return blocks.sum(dim=(3, 5))

    def to_dense(self) -> Tensor:
        """Ones for blocks that are kept, at least partly."""
        return self._counts().gt(0).int()

    @property
    def kv_num_blocks(self) -> Tensor:
        """The number of blocks of each row that are kept partly."""
        counts = self._counts()
        rows, columns = self.BLOCK_SIZE
        return (counts.gt(0) & counts.lt(rows * columns)).int().sum(-1).int()

    @property
    def full_kv_num_blocks(self) -> Tensor:
        """The number of blocks of each row that are kept entirely."""
        rows, columns = self.BLOCK_SIZE
        return self._counts().eq(rows * columns).int().sum(-1).int()

    def sparsity(self) -> float:
        """The percentage of elements in masked blocks; negative if blocks reach beyond the edge."""
        computed = int(self.to_dense().sum()) * math.prod(self.BLOCK_SIZE)
        return 100 * (1 - computed / self.numel())

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def to(self, device: Any) -> BlockMask:
        """The same on another device."""
        return BlockMask(self.mask_mod, self._kept.to(device), self.BLOCK_SIZE, self.seq_lengths)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    **_: Any,
) -> BlockMask:
    """The block mask of a function of indices.

    Args:
        mask_mod: which (sample, head, query, key) are kept
        B: number of samples; None: the mask is the same for all
        H: number of heads; None: the mask is the same for all
        Q_LEN: number of queries
        KV_LEN: number of keys
        device: of the mask
        BLOCK_SIZE: number of queries and keys in a block
        _compile: unused
    """
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    kept = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device or "cpu")
    return BlockMask(mask_mod, kept, (size[0], size[1]), (Q_LEN, KV_LEN))


# --- Attention ---------------------------------------------------------------------------------------------


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention: the softmax of modified and masked scores, times values.

    Args:
        query: of shape (samples, heads, queries, width)
        key: of shape (samples, heads, keys, width)
        value: of shape (samples, heads, keys, width of values)
        score_mod: from a score and the indices of its sample, head, query and key to a score
        block_mask: which scores are kept
        scale: of scores; None: 1 / √width
        enable_gqa: whether several heads of queries share one of keys and values
        return_lse: whether to return the logsumexp of scores, too
        kernel_options: unused
        return_aux: which auxiliary outputs to return
    """
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            raise ValueError(f"expected {name} to have 4 dimensions, but got {tensor.dim()}")
    heads, shared = query.shape[1], key.shape[1]
    if heads != shared and not enable_gqa:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={shared}. "
            "Try setting enable_gqa=True for GQA."
        )
    if heads != shared:
        key, value = (x.repeat_interleave(heads // shared, dim=1) for x in (key, value))
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if score_mod is not None:
        b, h, q, kv = scores.shape
        scores = score_mod(scores, *_places(b, h, q, kv, query.device))
    if block_mask is not None:
        kept = block_mask._kept[..., : scores.shape[-2], : scores.shape[-1]]
        scores = where(kept, scores, -math.inf)
    weights = softmax(scores, dim=-1)
    if block_mask is not None:  # fully masked rows give zeros
        weights = weights.nan_to_num(0.0)
    out = weights @ value
    if return_aux is not None:
        lse = scores.logsumexp(-1) if return_aux.lse else None
        return out, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)
    return (out, scores.logsumexp(-1)) if return_lse else out
