"""The geometric distribution."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..autograd.modes import no_grad
from ..nn.functional import binary_cross_entropy_with_logits
from ..ops.creation import zeros_like
from ..tensor import Size, Tensor
from . import constraints
from .distribution import OfProbabilities, validated
from .utils import broadcast_all


class Geometric(OfProbabilities):
    """The geometric distribution: failures before the first success."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._store_one(probs, logits), validate_args=validate_args)
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) "
                f"of distribution {self!r} to be positive but found invalid values:\n"
                f"{self.probs[self.probs <= 0]}"
            )

    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape, tiny = self._extended_shape(sample_shape), dtypes.finfo(self.probs.dtype).tiny
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill(probs.eq(1) & value.eq(0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        surprise = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return surprise / self.probs
