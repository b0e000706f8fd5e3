"""The lessons of the page of functions, against derivatives worked out by hand."""

from __future__ import annotations

import inspect
import math

import pytest

from minitorch import operators
from minitorch.app.drawings.landscape import landscape
from minitorch.app.inside import functions
from minitorch.app.inside.expression import ExpressionError


def s(x: float) -> float:
    return 1 / (1 + math.exp(-x))


BY_HAND = {
    ("one", "neg"): (lambda x: -x, lambda x: -1),
    ("one", "addConstant"): (lambda x: x + 5, lambda x: 1),
    ("one", "square"): (lambda x: x * x, lambda x: 2 * x),
    ("one", "cube"): (lambda x: x**3, lambda x: 3 * x * x),
    ("one", "subConstant"): (lambda x: x - 5, lambda x: 1),
    ("one", "multConstant"): (lambda x: 5 * x, lambda x: 5),
    ("one", "div"): (lambda x: x / 5, lambda x: 0.2),
    ("one", "inv"): (lambda x: 1 / (x + 3.5), lambda x: -1 / (x + 3.5) ** 2),
    ("one", "sig"): (s, lambda x: s(x) * (1 - s(x))),
    ("one", "log"): (lambda x: math.log(x + 1e5), lambda x: 1 / (x + 1e5)),
    ("one", "relu"): (lambda x: max(x + 5.5, 0), lambda x: 1),
    ("one", "exp"): (lambda x: math.exp(x - 200), lambda x: math.exp(x - 200)),
    ("one", "explog"): (lambda x: math.log(x + 1e5), lambda x: 1 / (x + 1e5)),
    ("one", "complex"): (lambda x: 0, lambda x: 0),
    ("two", "add2"): (lambda x, y: x + y, lambda x, y: (1, 1)),
    ("two", "mul2"): (lambda x, y: x * y, lambda x, y: (y, x)),
    ("two", "div2"): (
        lambda x, y: x / (y + 5.5),
        lambda x, y: (1 / (y + 5.5), -x / (y + 5.5) ** 2),
    ),
    ("two", "gt2"): (lambda x, y: float(x + 1.2 > y), lambda x, y: (0, 0)),
    ("two", "lt2"): (lambda x, y: float(x + 1.2 < y), lambda x, y: (0, 0)),
    ("two", "eq2"): (lambda x, y: float(x == y + 5.5), lambda x, y: (0, 0)),
    ("reduce", "sum_red"): (lambda x, y: x + y, lambda x, y: (1, 1)),
    ("reduce", "mean_red"): (lambda x, y: (x + y) / 2, lambda x, y: (0.5, 0.5)),
    ("reduce", "mean_full_red"): (lambda x, y: (x + y) / 2, lambda x, y: (0.5, 0.5)),
    ("operators", "max"): (max, lambda x, y: (float(x > y), float(y > x))),
    ("operators", "log_back"): (lambda x, y: y / x, lambda x, y: (-y / x**2, 1 / x)),
    ("operators", "inv_back"): (lambda x, y: -y / x**2, lambda x, y: (2 * y / x**3, -1 / x**2)),
    ("operators", "relu_back"): (lambda x, y: y * (x > 0), lambda x, y: (0, float(x > 0))),
    ("typed", "sigmoid(3 * x) - x ** 2"): (
        lambda x: s(3 * x) - x * x,
        lambda x: 3 * s(3 * x) * (1 - s(3 * x)) - 2 * x,
    ),
    ("typed", "x * exp(y) + log(2) + max(x, -y)"): (
        lambda x, y: x * math.exp(y) + math.log(2) + max(x, -y),
        lambda x, y: (math.exp(y) + (x > -y), x * math.exp(y) - (-y > x)),
    ),
}
POINTS = [0.3, 1.7, 2.9, 0.8]


@pytest.mark.parametrize("variable", ["Scalar", "Tensor"])
@pytest.mark.parametrize(("kind", "name"), BY_HAND)
def test_values_and_slopes(kind: str, name: str, variable: str) -> None:
    value, slope = BY_HAND[kind, name]
    two = value.__code__.co_argcount == 2 if hasattr(value, "__code__") else True
    points = [[x, -x / 2] if two else [x] for x in POINTS]
    expected = [slope(*p) if two else (slope(*p),) for p in points]
    assert functions.values(kind, name, points) == pytest.approx(
        [value(*p) for p in points], rel=1e-5, abs=1e-5
    )
    found = functions.autodiff(kind, name, points, variable)
    central = functions.central(kind, name, points, 1e-5)
    for by_backward, by_difference, by_hand in zip(found["slopes"], central, expected, strict=True):
        assert by_backward == pytest.approx(by_hand, rel=1e-4, abs=1e-5)
        assert by_difference == pytest.approx(by_hand, rel=1e-4, abs=1e-5)


def test_every_function_of_the_course_is_there() -> None:
    one, two, reduce = functions.MathTest._names()
    assert [*functions.ONE] == one
    assert [*functions.TWO] == two
    assert [*functions.REDUCE] == reduce


def test_outside_the_domain_there_is_no_value() -> None:
    assert functions.values("operators", "log", [[-1.0], [1.0]])[0] is None
    assert functions.autodiff("operators", "inv", [[0.0]], "Scalar")["values"] == [None]
    assert functions.autodiff("operators", "exp", [[1e4]], "Tensor")["slopes"] == [[None]]


def test_the_central_difference_is_best_in_the_middle() -> None:
    steps = [1e-1, 1e-5, 1e-12]
    found = functions.by_step("operators", "sigmoid", [1.0], steps)
    truth = s(1) * (1 - s(1))
    coarse, good, fine = (abs(d - truth) for d in found["central"])
    assert good < coarse
    assert good < fine
    assert abs(found["forward"][1] - truth) > good


def test_a_list_is_folded_from_the_left() -> None:
    assert functions.fold("mean_red", [3, 1, 4]) == {
        "totals": [3.0, 4.0, 8.0],
        "result": pytest.approx(8 / 3),
    }


@pytest.mark.parametrize(
    "text", ["", "x +", "z * 2", "3", "__import__('os')", "x @ y", "exp(x, y)", "foo(x)", "x ** 99"]
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        functions.check(text)


def test_the_code_behind_a_function() -> None:
    plain, scalar = functions.source("operators", "relu")
    assert plain["file"] == "operators.py"
    assert plain["code"].startswith("def relu(x: float) -> float:")
    assert inspect.getsourcelines(operators.relu)[1] == plain["line"]
    assert scalar["code"].startswith("class ReLU(")
    assert "def square" in functions.source("one", "square")[0]["code"]
    typed = functions.source("typed", "relu(x) + exp(y)")
    assert [part["code"].split("(")[0] for part in typed] == ["def exp", "def relu"]
    assert len(functions.source("operators", "is_close")) == 1


def test_a_landscape_leaves_out_what_has_no_value() -> None:
    rows = [[0.0, 1.0, None], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
    picture = str(landscape(rows, ((0, 1), (0, 1)), "f", spot=(0.5, 0.5, 2.0)))
    assert picture.count('stroke-width="0.4"') == 3
    assert "from 0 (red) to 4 (blue)" in picture
