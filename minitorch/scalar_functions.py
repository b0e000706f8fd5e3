"""Lesson 1: functions of scalars, each with its derivative beside it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from . import operators
from .autodiff import Context

if TYPE_CHECKING:
    from .scalar import Scalar, ScalarLike


class ScalarFunction:
    """A function of numbers that can also be applied to `Scalar`s.

    `forward` computes from plain numbers and saves what `backward` will need;
    `backward` turns the derivative of the output into one per input. Users call
    `apply`, which also records how the result came about.
    """

    @staticmethod
    def forward(ctx: Context, *inputs: Any) -> float:
        """Compute the value."""
        raise NotImplementedError("ScalarFunction needs a forward")

    @staticmethod
    def backward(ctx: Context, d_output: Any) -> Any:
        """Compute the derivative for each input, times `d_output`."""
        raise NotImplementedError("ScalarFunction needs a backward")

    @classmethod
    def _forward(cls, ctx: Context, *inputs: float) -> float:
        value = cls.forward(ctx, *inputs)
        if not isinstance(value, (int, float)):
            raise TypeError(f"{cls.__name__}.forward returned {type(value).__name__}, not a number")
        return float(value)

    @classmethod
    def _backward(cls, ctx: Context, d_output: float) -> tuple[float, ...]:
        derivatives = cls.backward(ctx, d_output)
        return derivatives if isinstance(derivatives, tuple) else (derivatives,)

    @classmethod
    def apply(cls, *vals: ScalarLike) -> Scalar:
        """Compute the value of the function, and remember the function and its inputs."""
        scalar = _scalar()
        Scalar = scalar.Scalar
        scalars: list[Any] = [v if isinstance(v, Scalar) else Scalar(v) for v in vals]
        wanted = any(s.history is not None for s in scalars)
        ctx = Context(no_grad=not wanted)
        value = cls._forward(ctx, *[s.data for s in scalars])
        return Scalar(value, scalar.ScalarHistory(cls, ctx, scalars) if wanted else None)


@cache
def _scalar() -> Any:
    """`scalar.py`, whose operators apply these functions: it is imported when the first is called."""
    from . import scalar

    return scalar


class Add(ScalarFunction):
    """x + y."""

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        """Add."""
        return operators.add(a, b)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        """Both inputs receive d."""
        return d_output, d_output


class Log(ScalarFunction):
    """log(x)."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        """Take the logarithm."""
        ctx.save_for_backward(a)
        return operators.log(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        """D / x."""
        (a,) = ctx.saved_values
        return operators.log_back(a, d_output)


class Mul(ScalarFunction):
    """x y."""

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        """Multiply."""
        ctx.save_for_backward(a, b)
        return operators.mul(a, b)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        """Each input receives d times the other."""
        a, b = ctx.saved_values
        return b * d_output, a * d_output


class Inv(ScalarFunction):
    """1 / x."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        """Take the reciprocal."""
        ctx.save_for_backward(a)
        return operators.inv(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        """-d / x²."""
        (a,) = ctx.saved_values
        return operators.inv_back(a, d_output)


class Neg(ScalarFunction):
    """-x."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        """Negate."""
        return operators.neg(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        """-d."""
        return -d_output


class Sigmoid(ScalarFunction):
    """1 / (1 + exp(-x))."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        """Squash into (0, 1)."""
        out = operators.sigmoid(a)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        """s (1 - s) d, where s is the output."""
        (out,) = ctx.saved_values
        return out * (1.0 - out) * d_output


class ReLU(ScalarFunction):
    """max(0, x)."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        """Cut off below 0."""
        ctx.save_for_backward(a)
        return operators.relu(a)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        """D where x is positive, else 0."""
        (a,) = ctx.saved_values
        return operators.relu_back(a, d_output)


class Exp(ScalarFunction):
    """e to the power of x."""

    @staticmethod
    def forward(ctx: Context, a: float) -> float:
        """Exponentiate."""
        out = operators.exp(a)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        """The output times d."""
        (out,) = ctx.saved_values
        return out * d_output


class LT(ScalarFunction):
    """1.0 where x < y."""

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        """Compare."""
        return operators.lt(a, b)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        """A step is flat on both sides."""
        return 0.0, 0.0


class EQ(ScalarFunction):
    """1.0 where x == y."""

    @staticmethod
    def forward(ctx: Context, a: float, b: float) -> float:
        """Compare."""
        return operators.eq(a, b)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        """Flat almost everywhere."""
        return 0.0, 0.0
