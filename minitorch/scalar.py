"""Lesson 1: one number that remembers how it was computed."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .autodiff import (
    Context,
    Variable,
    backpropagate,
    central_difference,
    one_sided_slopes,
    slope_agrees,
)
from .scalar_functions import EQ, LT, Add, Exp, Inv, Log, Mul, Neg, ReLU, ScalarFunction, Sigmoid

_unique_ids = itertools.count(1)


@dataclass(frozen=True)
class ScalarHistory:
    """How a scalar came about; all empty for one that the user made (a leaf)."""

    last_fn: type[ScalarFunction] | None = None
    ctx: Context | None = None
    inputs: Sequence[Scalar] = ()


class Scalar:
    """A number that records the operations on it, so that it can be differentiated.

    With `back=None` it is a constant, for which no derivative is computed.

    >>> x = Scalar(3.0, name="x")
    >>> y = x * x + 1
    >>> y.backward()
    >>> y, x.derivative
    (Scalar(10.000000), 6.0)
    """

    def __init__(
        self, v: float, back: ScalarHistory | None = ScalarHistory(), name: str | None = None
    ) -> None:
        self.unique_id = next(_unique_ids)
        if type(v) is not float:
            if not isinstance(v, numbers.Real):
                raise TypeError(f"Scalar takes a number, not {v!r}")
            v = float(v)
        self.data = v
        self.history = back
        self.derivative: float | None = None
        self._name = name

    @property
    def name(self) -> str:
        """The name it was given, else its unique number."""
        return str(self.unique_id) if self._name is None else self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"Scalar({self.data:f})"

    def __hash__(self) -> int:
        return self.unique_id

    def __bool__(self) -> bool:
        return bool(self.data)

    def __add__(self, b: ScalarLike) -> Scalar:
        return Add.apply(self, b)

    def __radd__(self, b: ScalarLike) -> Scalar:
        return Add.apply(b, self)

    def __sub__(self, b: ScalarLike) -> Scalar:
        return Add.apply(self, Neg.apply(b))

    def __rsub__(self, b: ScalarLike) -> Scalar:
        return Add.apply(b, Neg.apply(self))

    def __mul__(self, b: ScalarLike) -> Scalar:
        return Mul.apply(self, b)

    def __rmul__(self, b: ScalarLike) -> Scalar:
        return Mul.apply(b, self)

    def __truediv__(self, b: ScalarLike) -> Scalar:
        return Mul.apply(self, Inv.apply(b))

    def __rtruediv__(self, b: ScalarLike) -> Scalar:
        return Mul.apply(b, Inv.apply(self))

    def __neg__(self) -> Scalar:
        return Neg.apply(self)

    def __lt__(self, b: ScalarLike) -> Scalar:
        return LT.apply(self, b)

    def __gt__(self, b: ScalarLike) -> Scalar:
        return LT.apply(b, self)

    def __eq__(self, b: ScalarLike) -> Scalar:  # type: ignore[override]
        return EQ.apply(self, b)

    def log(self) -> Scalar:
        """Natural logarithm."""
        return Log.apply(self)

    def exp(self) -> Scalar:
        """E to the power of this."""
        return Exp.apply(self)

    def sigmoid(self) -> Scalar:
        """1 / (1 + exp(-x))."""
        return Sigmoid.apply(self)

    def relu(self) -> Scalar:
        """The value where positive, else 0."""
        return ReLU.apply(self)

    # --- Variable ------------------------------------------------------------

    def requires_grad_(self, x: bool) -> None:
        """Make this a leaf that keeps its derivative, or a constant that does not."""
        self.history = ScalarHistory() if x else None

    def accumulate_derivative(self, x: Any) -> None:
        """Add x to the derivative of this leaf."""
        if not self.is_leaf():
            raise RuntimeError(f"{self!r}: only leaf variables keep a derivative")
        self.derivative = (self.derivative or 0.0) + x

    def is_leaf(self) -> bool:
        """Whether the user made this scalar."""
        return self.history is not None and self.history.last_fn is None

    def is_constant(self) -> bool:
        """Whether no derivative is wanted."""
        return self.history is None

    @property
    def parents(self) -> Iterable[Variable]:
        """The scalars this one was computed from."""
        return () if self.history is None else self.history.inputs

    def chain_rule(self, d_output: Any) -> list[tuple[Variable, Any]]:
        """Pair each input that is no constant with its derivative."""
        h = self.history
        if h is None or h.last_fn is None or h.ctx is None:
            raise RuntimeError(f"{self!r}: chain_rule needs a scalar that an operation computed")
        derivatives = h.last_fn._backward(h.ctx, d_output)
        if len(derivatives) != len(h.inputs):
            raise RuntimeError(
                f"{h.last_fn.__name__}.backward returned {len(derivatives)} derivatives "
                f"for {len(h.inputs)} inputs"
            )
        pairs = zip(h.inputs, derivatives, strict=True)
        return [(scalar, d) for scalar, d in pairs if not scalar.is_constant()]

    def backward(self, d_output: float | None = None) -> None:
        """Compute the derivative of this with respect to every leaf it depends on.

        Args:
            d_output: the derivative to start from, 1.0 unless given
        """
        if self.is_constant():
            raise RuntimeError(
                f"backward: {self!r} has no history; nothing it was computed from wants a derivative"
            )
        backpropagate(self, 1.0 if d_output is None else d_output)


ScalarLike: TypeAlias = float | int | Scalar


def derivative_check(f: Callable[..., Scalar], *scalars: Scalar) -> None:
    """Compare `backward` with central differences; AssertionError where they disagree.

    At a kink or a step no derivative exists; any slope between the left and the
    right one is accepted there.
    """
    leaves = [Scalar(s.data, name=s.name) for s in scalars]
    out = f(*leaves)
    out.backward()

    def value(*vals: float) -> float:
        return f(*[Scalar(v) for v in vals]).data

    vals = [s.data for s in leaves]
    for i, (leaf, original) in enumerate(zip(leaves, scalars, strict=True)):
        got = leaf.derivative
        original.derivative = got
        if got is None:
            raise AssertionError(f"derivative_check: input {i} of {_name(f)} got no derivative")
        expected = central_difference(value, *vals, arg=i)
        slopes = one_sided_slopes(value, vals, i)
        if not slope_agrees(got, expected, slopes):
            raise AssertionError(
                f"derivative_check: input {i} of {_name(f)} at {tuple(vals)}: "
                f"backward gives {got:.6g}, central difference {expected:.6g}"
            )


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", repr(f))
