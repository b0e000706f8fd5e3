"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import constraints
from .gamma import Gamma


class Chi2(Gamma):
    """The chi-squared distribution."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Chi2:
        made = Gamma(self.concentration, self.rate, validate_args=False).expand(batch_shape)
        new = object.__new__(type(self)) if _instance is None else _instance
        new.__dict__.update(
            {**self.__dict__, **made.__dict__, "_validate_args": self._validate_args}
        )
        return new

    @property
    def df(self) -> Tensor:
        """How many numbers."""
        return self.concentration * 2
