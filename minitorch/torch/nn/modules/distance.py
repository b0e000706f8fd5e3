"""Distances between vectors."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .layer import layer
from .module import Module


@layer()
class PairwiseDistance(Module):
    """The p-norm of the difference of vectors."""

    p: float = 2.0
    eps: float = 1e-6
    keepdim: bool = False

    def _normalize_arguments(self) -> None:
        self.norm = self.__dict__.pop("p")

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


@layer(F.cosine_similarity)
class CosineSimilarity(Module):
    """The cosine of the angle between vectors."""

    dim: int = 1
    eps: float = 1e-8
