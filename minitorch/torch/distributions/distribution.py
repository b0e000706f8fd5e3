"""What all distributions share: shapes, checks, expansion."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

from ..autograd.modes import no_grad
from ..tensor import Size, Tensor
from . import constraints
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class Distribution:
    """Random tensors of `event_shape`, a different one for each place in `batch_shape`.

    A subclass says what its parameters are, in `arg_constraints`, and keeps them under these
    names; `expand` and the checks go by them.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    arg_constraints: ClassVar[Any] = property(lambda self: _not_there(self, "arg_constraints"))
    support: Any = property(lambda self: _not_there(self, "support"))
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked, where a distribution does not say."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Any = Size(),
        event_shape: Any = Size(),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        try:
            expected = self.arg_constraints
        except NotImplementedError:
            expected = {}
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
        for name, constraint in expected.items():
            computed = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or (computed and name not in self.__dict__):
                continue
            value = getattr(self, name)
            if not _all_inside(constraint, value):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                    f"values:\n{value}"
                )

    def _store(self, **params: Any) -> Size:
        """Keep parameters, brought to one shape, which is returned."""
        tensors = broadcast_all(*params.values())
        self.__dict__.update(zip(params, tensors, strict=True))
        return tensors[0].shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The same distribution for more places: its parameters, and what is made of them, expanded."""
        shape = Size(batch_shape)
        new = object.__new__(type(self)) if _instance is None else _instance
        for name, value in self.__dict__.items():
            if isinstance(value, Distribution):
                value = value.expand(shape)
            elif name in self.arg_constraints and isinstance(value, Tensor):
                event = value.ndim - _event_dim(self.arg_constraints[name])
                value = value.expand(shape + value.shape[event:])
            new.__dict__[name] = value
        new._batch_shape = shape
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An instance for `expand` of a subclass to fill."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return object.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the places that have different parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The expected squared distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draws, outside the graph."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Draws that can be differentiated by the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """So many draws."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2
        )  # fmt: skip
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to a value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value that a draw stays below with a probability."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values that a draw may have."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The expected value of -log_prob."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """e to the power of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Tensor) -> None:
        """ValueError if a value has the wrong shape, or cannot be drawn."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.ndim - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for have, want in zip(reversed(value.shape), reversed(expected), strict=False):
            if have != want and have != 1 and want != 1:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not _all_inside(support, value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within "
                f"the support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Values along a new first dimension, for all places if wanted."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def __repr__(self) -> str:
        held = {k: self.__dict__[k] for k in self.arg_constraints if k in self.__dict__}
        shown = [f"{k}: {v if v.numel() == 1 else v.shape}" for k, v in held.items()]
        return f"{type(self).__name__}({', '.join(shown)})"


def _all_inside(constraint: constraints.Constraint, value: Tensor) -> bool:
    """Whether all values are inside a region."""
    with no_grad():
        return bool(constraint.check(value).all())


def _not_there(self: Any, what: str) -> Any:
    raise NotImplementedError(f"{type(self).__name__} has no {what}")


def _event_dim(constraint: Any) -> int:
    try:
        return constraint.event_dim
    except NotImplementedError:
        return 0


def validated(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Let a method of a value refuse what cannot be drawn, where arguments are checked."""

    @functools.wraps(method)
    def call(self: Any, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return method(self, value)

    return call


class OfProbabilities(Distribution):
    """A distribution that is given by probabilities or by logits; the other is computed on demand."""

    _binary = True

    def _store_one(self, probs: Any, logits: Any, **others: Any) -> Size:
        """Keep the one that is given, brought to one shape with other parameters."""
        name = which(probs, logits)
        self._given = name
        return self._store(**others, **{name: probs if name == "probs" else logits})

    _param = property(lambda self: getattr(self, self._given))

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities, or log odds."""
        return probs_to_logits(self.probs, self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, self._binary)


def which(probs: Any, logits: Any) -> str:
    """Which of two parameters is given; ValueError unless it is one."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return "logits" if probs is None else "probs"
