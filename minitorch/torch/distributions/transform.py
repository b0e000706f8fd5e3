"""What a transform is, its inverse, and transforms of transforms."""

from __future__ import annotations

import math
from typing import Any

from ..ops.creation import as_tensor, zeros_like
from ..tensor import Tensor
from . import constraints
from .utils import lazy_property, sum_rightmost


class Transform:
    """A map of tensors: `t(x)`, `t.inv(y)`, `t.log_abs_det_jacobian(x, y)`.

    With `cache_size=1` it keeps its last pair, so that the inverse of what it has just made
    is exact.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    sign: Any = property(lambda self: _missing())

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = None, None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many dimensions it takes together."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    def _arguments(self) -> tuple[Any, ...]:
        """What another one like this is made of."""
        return ()

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, with or without a cache."""
        if self._cache_size == cache_size:
            return self
        return type(self)(*self._arguments(), cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        """Whether both are of one kind and made of the same."""
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Transform):
            return False
        if type(self).__init__ is Transform.__init__:
            return type(self).__module__.rpartition(".")[0] == __name__.rpartition(".")[0]
        mine, theirs = self._arguments(), other._arguments()
        return len(mine) > 0 and all(_same(a, b) for a, b in zip(mine, theirs, strict=True))

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        y = self._call(x)
        if self._cache_size:
            self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        x = self._inverse(y)
        if self._cache_size:
            self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of how much volumes around x grow."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of what it makes of a tensor."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what it makes a tensor of."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _missing() -> Any:
    raise NotImplementedError


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return bool(as_tensor(a).eq(b).all())
    return a == b


class _InverseTransform(Transform):
    """A transform the other way round."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    domain = property(lambda self: self._inv.codomain)
    codomain = property(lambda self: self._inv.domain)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv, doc="The transform itself.")

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


# --- Transforms of transforms ------------------------------------------------------------------------


def wider(region: Any, event_dim: int) -> Any:
    """A region that takes at least so many dimensions together."""
    more = event_dim - region.event_dim
    return constraints.independent(region, more) if more > 0 else region


class ComposeTransform(Transform):
    """Transforms one after the other."""

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def _arguments(self) -> tuple[Any, ...]:
        return (self.parts,)

    @property
    def domain(self) -> Any:
        """What it takes."""
        if not self.parts:
            return constraints.real
        event = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event += part.domain.event_dim - part.codomain.event_dim
            event = max(event, part.domain.event_dim)
        return wider(self.parts[0].domain, event)

    @property
    def codomain(self) -> Any:
        """What it gives."""
        if not self.parts:
            return constraints.real
        event = self.parts[0].domain.event_dim
        for part in self.parts:
            event += part.codomain.event_dim - part.domain.event_dim
            event = max(event, part.codomain.event_dim)
        return wider(self.parts[-1].codomain, event)

    @lazy_property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        """Whether it rises or falls."""
        return math.prod((part.sign for part in self.parts), start=1)

    @property
    def inv(self) -> Transform:
        """The inverses, the last first."""
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return zeros_like(x)
        event, total = self.domain.event_dim, 0.0
        for k, part in enumerate(self.parts):
            made = y if k == len(self.parts) - 1 else part(x)
            growth = part.log_abs_det_jacobian(x, made)
            total = total + sum_rightmost(growth, event - part.domain.event_dim)
            event += part.codomain.event_dim - part.domain.event_dim
            x = made
        return total  # type: ignore[return-value]

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform that takes more dimensions together."""

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _arguments(self) -> tuple[Any, ...]:
        return self.base_transform, self.reinterpreted_batch_ndims

    def _widened(self, region: Any) -> Any:
        return constraints.independent(region, self.reinterpreted_batch_ndims)

    domain = property(lambda self: self._widened(self.base_transform.domain))
    codomain = property(lambda self: self._widened(self.base_transform.codomain))
    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x: Tensor) -> Tensor:
        if x.ndim < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.ndim < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        inner = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(inner, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        count = self.reinterpreted_batch_ndims
        return f"{type(self).__name__}({self.base_transform!r}, {count})"
