"""The same little functions twice: on plain numbers and on variables.

Tests compare the two, and compare backward with differences, on every backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from . import operators


class MathTest:
    """On plain numbers, through `operators`."""

    @staticmethod
    def neg(a: Any) -> Any:
        """-a."""
        return operators.neg(a)

    @staticmethod
    def addConstant(a: Any) -> Any:
        """5 + a."""
        return operators.add(5, a)

    @staticmethod
    def square(a: Any) -> Any:
        """A squared."""
        return operators.mul(a, a)

    @staticmethod
    def cube(a: Any) -> Any:
        """A cubed."""
        return operators.mul(operators.mul(a, a), a)

    @staticmethod
    def subConstant(a: Any) -> Any:
        """A - 5."""
        return operators.add(a, -5)

    @staticmethod
    def multConstant(a: Any) -> Any:
        """5 a."""
        return operators.mul(5, a)

    @staticmethod
    def div(a: Any) -> Any:
        """A / 5."""
        return operators.mul(a, operators.inv(5))

    @staticmethod
    def inv(a: Any) -> Any:
        """1 / (a + 3.5)."""
        return operators.inv(operators.add(a, 3.5))

    @staticmethod
    def sig(a: Any) -> Any:
        """Sigmoid of a."""
        return operators.sigmoid(a)

    @staticmethod
    def log(a: Any) -> Any:
        """Logarithm of a + 100000."""
        return operators.log(operators.add(a, 100000))

    @staticmethod
    def relu(a: Any) -> Any:
        """ReLU of a + 5.5."""
        return operators.relu(operators.add(a, 5.5))

    @staticmethod
    def exp(a: Any) -> Any:
        """Exp of a - 200."""
        return operators.exp(operators.add(a, -200))

    @staticmethod
    def explog(a: Any) -> Any:
        """Sum of log(a + 100000) and exp(a - 200)."""
        return operators.add(
            operators.log(operators.add(a, 100000)), operators.exp(operators.add(a, -200))
        )

    @staticmethod
    def complex(a: Any) -> Any:
        """log(sigmoid(relu(relu(10 a + 7) 6 + 5) 10)) / 50."""
        inner = operators.relu(operators.add(operators.mul(a, 10), 7))
        outer = operators.relu(operators.add(operators.mul(inner, 6), 5))
        return operators.mul(
            operators.log(operators.sigmoid(operators.mul(outer, 10))), operators.inv(50)
        )

    @staticmethod
    def add2(a: Any, b: Any) -> Any:
        """A + b."""
        return operators.add(a, b)

    @staticmethod
    def mul2(a: Any, b: Any) -> Any:
        """A b."""
        return operators.mul(a, b)

    @staticmethod
    def div2(a: Any, b: Any) -> Any:
        """A / (b + 5.5)."""
        return operators.mul(a, operators.inv(operators.add(b, 5.5)))

    @staticmethod
    def gt2(a: Any, b: Any) -> Any:
        """1.0 where a + 1.2 > b."""
        return operators.lt(b, operators.add(a, 1.2))

    @staticmethod
    def lt2(a: Any, b: Any) -> Any:
        """1.0 where a + 1.2 < b."""
        return operators.lt(operators.add(a, 1.2), b)

    @staticmethod
    def eq2(a: Any, b: Any) -> Any:
        """1.0 where a == b + 5.5."""
        return operators.eq(a, operators.add(b, 5.5))

    @staticmethod
    def sum_red(a: Iterable[Any]) -> Any:
        """Sum."""
        return operators.sum(a)

    @staticmethod
    def mean_red(a: Iterable[Any]) -> Any:
        """Mean."""
        values = list(a)
        return operators.mul(operators.sum(values), operators.inv(float(len(values))))

    @staticmethod
    def mean_full_red(a: Iterable[Any]) -> Any:
        """Mean."""
        return MathTest.mean_red(a)

    @classmethod
    def _names(cls) -> tuple[list[str], list[str], list[str]]:
        """The functions' names: of one argument, of two (ending in 2), reductions (in red)."""
        names = [
            name for name, member in vars(MathTest).items() if isinstance(member, staticmethod)
        ]
        two = [name for name in names if name.endswith("2")]
        red = [name for name in names if name.endswith("red")]
        return [name for name in names if name not in two + red], two, red

    @classmethod
    def _tests(
        cls,
    ) -> tuple[
        list[tuple[str, Callable[..., Any]]],
        list[tuple[str, Callable[..., Any]]],
        list[tuple[str, Callable[..., Any]]],
    ]:
        """(name, function) of this class: one argument, two arguments, reductions."""
        one, two, red = cls._names()
        return (
            [(name, getattr(cls, name)) for name in one],
            [(name, getattr(cls, name)) for name in two],
            [(name, getattr(cls, name)) for name in red],
        )

    @classmethod
    def _comp_testing(
        cls,
    ) -> tuple[
        list[tuple[str, Callable[..., Any], Callable[..., Any]]],
        list[tuple[str, Callable[..., Any], Callable[..., Any]]],
        list[tuple[str, Callable[..., Any], Callable[..., Any]]],
    ]:
        """(name, MathTest's function, this class's function), in the same three lists."""
        one, two, red = cls._names()
        return (
            [(name, getattr(MathTest, name), getattr(cls, name)) for name in one],
            [(name, getattr(MathTest, name), getattr(cls, name)) for name in two],
            [(name, getattr(MathTest, name), getattr(cls, name)) for name in red],
        )


class MathTestVariable(MathTest):
    """On Scalars and Tensors, through their methods."""

    @staticmethod
    def neg(a: Any) -> Any:
        """-a."""
        return -a

    @staticmethod
    def addConstant(a: Any) -> Any:
        """5 + a."""
        return 5 + a

    @staticmethod
    def square(a: Any) -> Any:
        """A squared."""
        return a * a

    @staticmethod
    def cube(a: Any) -> Any:
        """A cubed."""
        return a * a * a

    @staticmethod
    def subConstant(a: Any) -> Any:
        """A - 5."""
        return a - 5

    @staticmethod
    def multConstant(a: Any) -> Any:
        """5 a."""
        return 5 * a

    @staticmethod
    def div(a: Any) -> Any:
        """A / 5."""
        return a / 5

    @staticmethod
    def inv(a: Any) -> Any:
        """1 / (a + 3.5)."""
        return 1.0 / (a + 3.5)

    @staticmethod
    def sig(a: Any) -> Any:
        """Sigmoid of a."""
        return a.sigmoid()

    @staticmethod
    def log(a: Any) -> Any:
        """Logarithm of a + 100000."""
        return (a + 100000).log()

    @staticmethod
    def relu(a: Any) -> Any:
        """ReLU of a + 5.5."""
        return (a + 5.5).relu()

    @staticmethod
    def exp(a: Any) -> Any:
        """Exp of a - 200."""
        return (a - 200).exp()

    @staticmethod
    def explog(a: Any) -> Any:
        """Sum of log(a + 100000) and exp(a - 200)."""
        return (a + 100000).log() + (a - 200).exp()

    @staticmethod
    def complex(a: Any) -> Any:
        """log(sigmoid(relu(relu(10 a + 7) 6 + 5) 10)) / 50."""
        return (((a * 10 + 7).relu() * 6 + 5).relu() * 10).sigmoid().log() / 50

    @staticmethod
    def add2(a: Any, b: Any) -> Any:
        """A + b."""
        return a + b

    @staticmethod
    def mul2(a: Any, b: Any) -> Any:
        """A b."""
        return a * b

    @staticmethod
    def div2(a: Any, b: Any) -> Any:
        """A / (b + 5.5)."""
        return a / (b + 5.5)

    @staticmethod
    def gt2(a: Any, b: Any) -> Any:
        """1.0 where a + 1.2 > b."""
        return a + 1.2 > b

    @staticmethod
    def lt2(a: Any, b: Any) -> Any:
        """1.0 where a + 1.2 < b."""
        return a + 1.2 < b

    @staticmethod
    def eq2(a: Any, b: Any) -> Any:
        """1.0 where a == b + 5.5."""
        return a == (b + 5.5)

    @staticmethod
    def sum_red(a: Any) -> Any:
        """Sum over dimension 0."""
        return a.sum(0)

    @staticmethod
    def mean_red(a: Any) -> Any:
        """Mean over dimension 0."""
        return a.mean(0)

    @staticmethod
    def mean_full_red(a: Any) -> Any:
        """Mean of everything."""
        return a.mean()
