"""Random sizes and tensors to measure with: `Fuzzer` draws parameters, and makes the tensors that they describe.

>>> fuzzer = Fuzzer(
...     [FuzzedParameter("n", 1, 9, "uniform")], [FuzzedTensor("x", size=("n", 2))], seed=0
... )
>>> [tensors["x"].shape[1] for tensors, properties, params in fuzzer.take(3)]
[2, 2, 2]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...dtypes import float32
from ...ops import FUNCTIONS
from ...random import manual_seed
from ...tensor import Tensor

TRIES = 1000


class ParameterAlias:
    """The value of another parameter."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number to be drawn.

    Args:
        name: by which tensors mention it
        minval: the least
        maxval: the most
        distribution: "uniform", "loguniform", or values with their probabilities
        strict: whether it is kept when others are drawn again
    """

    def __init__(
        self, name: str, minval: Any = None, maxval: Any = None, distribution: Any = None, strict: bool = False
    ) -> None:  # fmt: skip
        if isinstance(distribution, dict):
            if any(p < 0 for p in distribution.values()):
                raise AssertionError("Probabilities cannot be negative")
            if abs(sum(distribution.values()) - 1) > 1e-5:
                raise AssertionError("Distribution is not normalized")
        elif distribution not in ("loguniform", "uniform"):
            raise AssertionError(f"Unknown distribution: {distribution}")
        self.name, self.minval, self.maxval = name, minval, maxval
        self.distribution, self.strict = distribution, strict

    def sample(self, state: np.random.RandomState) -> Any:
        """A value."""
        if isinstance(self.distribution, dict):
            place = state.choice(len(self.distribution), p=tuple(self.distribution.values()))
            return list(self.distribution)[place]
        if self.distribution == "loguniform":
            drawn = int(2 ** state.uniform(np.log2(self.minval), np.log2(self.maxval)))
            return min(max(drawn, self.minval), self.maxval)
        if isinstance(self.minval, int) and isinstance(self.maxval, int):
            return int(state.randint(self.minval, self.maxval + 1))
        return state.uniform(self.minval, self.maxval)


class FuzzedTensor:
    """A tensor whose sizes are drawn.

    Args:
        name: of it
        size: numbers, or names of parameters
        steps: as many: of a larger tensor, every so many-th place is taken
        probability_contiguous: how often it lies in memory in order
        min_elements: what has fewer is drawn again
        max_elements: what has more is drawn again
        max_allocation_bytes: what takes more memory is drawn again
        dim_parameter: the name of the parameter that says how many dimensions there are
        roll_parameter: unused
        dtype: its type
        cuda: whether it is on the GPU
        tensor_constructor: makes it, of `size`, `dtype` and all parameters
    """

    def __init__(
        self, name: str, size: Sequence[Any], steps: Sequence[Any] | None = None, probability_contiguous: float = 0.5,
        min_elements: int | None = None, max_elements: int | None = None, max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None, roll_parameter: str | None = None, dtype: Any = float32, cuda: bool = False,
        tensor_constructor: Callable[..., Tensor] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.size, self.steps = name, size, steps or ()
        self.probability_contiguous, self.dim_parameter = probability_contiguous, dim_parameter
        self.min_elements, self.max_elements = min_elements or 0, max_elements
        self.max_allocation_bytes = max_allocation_bytes
        self.dtype, self.cuda, self.constructor = dtype, cuda, tensor_constructor or self.default_tensor_constructor  # fmt: skip

    @staticmethod
    def default_tensor_constructor(size: Any, dtype: Any, **_: Any) -> Tensor:
        """Random numbers."""
        if dtype.is_floating_point or dtype.is_complex:
            return FUNCTIONS["rand"](size, dtype=dtype)
        return FUNCTIONS["randint"](1, 127, size, dtype=dtype)

    def _sizes(self, params: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Sizes and steps of all dimensions."""
        dim = len(self.size) if self.dim_parameter is None else params[self.dim_parameter]
        whole = [
            tuple(params.get(v, v) for v in values)[:dim] for values in (self.size, self.steps)
        ]
        size, steps = (values + (1,) * (dim - len(values)) for values in whole)
        return size, steps

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether it is neither too small nor too large."""
        size, steps = self._sizes(params)
        count, taken = math.prod(size), math.prod((*size, *steps)) * self.dtype.itemsize
        fits = self.max_elements is None or count <= self.max_elements
        allowed = self.max_allocation_bytes is None or taken <= self.max_allocation_bytes
        return fits and allowed and count >= self.min_elements

    def make(
        self, params: dict[str, Any], state: np.random.RandomState
    ) -> tuple[Tensor, dict[str, Any]]:
        """The tensor, and what is to be known of it."""
        size, steps = self._sizes(params)
        whole = tuple(n * step for n, step in zip(size, steps, strict=True))
        made: Any = self.constructor(size=whole, dtype=self.dtype, **params)
        made = made.cuda() if self.cuda else made
        order = np.arange(len(size))
        if state.rand() > self.probability_contiguous:
            while len(size) > 1 and np.all(order == np.arange(len(size))):
                order = state.permutation(len(size))
            made = made.permute(order.tolist()).contiguous().permute(np.argsort(order).tolist())
        made = made[tuple(slice(0, n, step) for n, step in zip(whole, steps, strict=True))]
        return made, {
            "numel": made.numel(), "order": order, "steps": steps, "is_contiguous": made.is_contiguous(),
            "dtype": str(self.dtype),
        }  # fmt: skip


class Fuzzer:
    """Draws parameters, and makes tensors of them.

    Args:
        parameters: what is drawn
        tensors: what is made
        constraints: functions of the parameters; where one is false, they are drawn again
        seed: of the draws, and of the tensors' numbers
    """

    def __init__(
        self, parameters: Any, tensors: Any, constraints: Any = None, seed: int | None = None
    ) -> None:
        self.seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)) if seed is None else seed  # fmt: skip
        self.parameters: list[FuzzedParameter] = _flat(parameters, FuzzedParameter)
        self.tensors: list[FuzzedTensor] = _flat(tensors, FuzzedTensor)
        self.constraints = constraints or ()
        both = {p.name for p in self.parameters} & {t.name for t in self.tensors}
        if both:
            raise ValueError(f"Duplicate names in parameters and tensors: {both}")
        self.rejected = self.drawn = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, Tensor], dict[str, Any], dict[str, Any]]]:
        """So many times: tensors, what is to be known of them, and parameters."""
        state = np.random.RandomState(self.seed)
        manual_seed(int(state.randint(0, 2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._draw(state)
            made = {t.name: t.make(params, state) for t in self.tensors}
            yield {k: v[0] for k, v in made.items()}, {k: v[1] for k, v in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """How many of the draws did not fit."""
        return self.rejected / self.drawn if self.drawn else 0.0

    def _draw(self, state: np.random.RandomState) -> dict[str, Any]:
        strict: dict[str, Any] = {}
        for _ in range(TRIES):
            params = {}
            for p in self.parameters:
                params[p.name] = strict[p.name] if p.name in strict else p.sample(state)
                if p.strict:
                    strict[p.name] = params[p.name]
            params = {name: _resolved(params, value) for name, value in params.items()}
            self.drawn += 1
            if all(f(params) for f in self.constraints) and all(
                t.satisfies_constraints(params) for t in self.tensors
            ):
                return params
            self.rejected += 1
        raise ValueError("Failed to generate a set of valid parameters.")


def _flat(values: Any, kind: type) -> list[Any]:
    return [each for v in values for each in ([v] if isinstance(v, kind) else v)]


def _resolved(params: dict[str, Any], value: Any) -> Any:
    """A value, or that of the parameter that it stands for."""
    for _ in params:
        if not isinstance(value, ParameterAlias):
            return value
        value = params[value.alias_to]
    if isinstance(value, ParameterAlias):
        raise ValueError(f"ParameterAlias cycle detected\n{params}")
    return value
