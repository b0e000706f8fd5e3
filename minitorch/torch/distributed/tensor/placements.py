"""How a tensor lies on the ranks along one dimension of a mesh: in parts, whole, or as terms of a sum."""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """How a tensor lies on the ranks."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether ranks have parts, of a dimension."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every rank has the whole."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the ranks' tensors are still to be reduced."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each rank has a part along a dimension."""

    dim: int = 0


@dataclass(frozen=True)
class Replicate(Placement):
    """Each rank has the whole."""


@dataclass(frozen=True)
class Partial(Placement):
    """The whole is the sum of what the ranks have (or the average, product, minimum, maximum)."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"


def part_of(rank: int, ranks: int, length: int) -> tuple[int, int]:
    """A rank's part of a dimension: as `torch.chunk` divides it, the last ranks may have less or nothing."""
    each = -(-length // ranks)
    return min(rank * each, length), min((rank + 1) * each, length)
