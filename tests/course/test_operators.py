"""Lesson 0: functions of numbers, and functions of functions."""

from __future__ import annotations

import builtins
import dis
import math
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minitorch
from minitorch import MathTest, operators
from minitorch.operators import (
    EPS,
    add,
    addLists,
    eq,
    exp,
    id,
    inv,
    inv_back,
    is_close,
    log,
    log_back,
    lt,
    max,
    mul,
    neg,
    negList,
    prod,
    relu,
    relu_back,
    sigmoid,
    zipWith,
)
from minitorch.operators import map as map_over
from minitorch.operators import reduce as fold
from minitorch.operators import sum as sum_of

from .strategies import assert_close, incoming, nonzero_floats, positive_floats, small_floats

# --- Task 0.0 --------------------------------------------------------------------


@pytest.mark.task0_0
def test_import() -> None:
    assert minitorch.operators.__name__ == "minitorch.operators"
    assert issubclass(minitorch.Module, object)
    assert callable(minitorch.Parameter)


@pytest.mark.task0_0
def test_import_is_light_and_silent() -> None:
    """No Numba, nothing printed, at most half a second of computing on top of NumPy's own import."""
    code = (
        "import sys, time, numpy; t = time.process_time(); import minitorch;"
        "t = time.process_time() - t;"
        "heavy = sorted({'numba', 'torch', 'cupy', 'scipy', 'matplotlib'} & set(sys.modules));"
        "sys.stderr.write(f'{t} {heavy}')"
    )
    best = math.inf
    for _ in range(3):
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        seconds, heavy = run.stderr.split(" ", 1)
        assert heavy == "[]"
        assert run.stdout == ""
        best = min(best, float(seconds))
        if best < 0.5:
            break
    assert best < 0.5


# --- Task 0.1: scalar functions ----------------------------------------------------


@pytest.mark.task0_1
@given(small_floats, small_floats)
def test_same_as_python(x: float, y: float) -> None:
    assert mul(x, y) == x * y
    assert add(x, y) == x + y
    assert neg(x) == -x
    assert id(x) == x
    assert max(x, y) == (x if x > y else y)
    assert lt(x, y) == (1.0 if x < y else 0.0)
    assert eq(x, y) == (1.0 if x == y else 0.0)
    if abs(x) > 1e-5:
        assert inv(x) == 1.0 / x


ONE = ["id", "neg", "sigmoid", "relu", "log", "exp", "inv"]
TWO = ["mul", "add", "lt", "eq", "max", "is_close", "log_back", "inv_back", "relu_back"]


@pytest.mark.task0_1
@pytest.mark.parametrize("name", ONE)
def test_one_argument_gives_float(name: str) -> None:
    fn = getattr(operators, name)
    assert type(fn(3.0)) is float
    if name not in ("log", "inv"):
        assert type(fn(0.0)) is float
        assert type(fn(-2.0)) is float


@pytest.mark.task0_1
@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(("x", "y"), [(3.0, 2.0), (2.0, 3.0), (2.0, 2.0), (-1.0, 4.0), (4.0, -1.0)])
def test_two_arguments_give_float(name: str, x: float, y: float) -> None:
    """A comparison gives 1.0 or 0.0, not True or False."""
    if name != "log_back" or x > 0:
        assert type(getattr(operators, name)(x, y)) is float


@pytest.mark.task0_1
@given(small_floats)
@example(0.0)
def test_relu(x: float) -> None:
    assert relu(x) == (x if x > 0 else 0.0)


@pytest.mark.task0_1
@given(small_floats, incoming)
@example(0.0, 2.0)
def test_relu_back(x: float, d: float) -> None:
    assert relu_back(x, d) == (d if x > 0 else 0.0)
    assert relu_back(x, -d) == (-d if x > 0 else 0.0)


@pytest.mark.task0_1
@given(small_floats)
def test_id(x: float) -> None:
    assert id(x) == x


@pytest.mark.task0_1
def test_lt_is_strict() -> None:
    assert lt(2.0, 2.0) == 0.0
    assert lt(1.9999999, 2.0) == 1.0
    assert lt(2.0, 1.9999999) == 0.0


@pytest.mark.task0_1
@given(small_floats)
def test_eq(x: float) -> None:
    assert eq(x, x) == 1.0
    assert eq(x, x + 1.0) == 0.0
    assert eq(x + 1.0, x) == 0.0


@pytest.mark.task0_1
def test_eq_is_exact() -> None:
    assert eq(1.0, 1.001) == 0.0


@pytest.mark.task0_1
@given(small_floats)
def test_is_close_has_tolerance(x: float) -> None:
    assert is_close(x, x) == 1.0
    assert is_close(x, x + 0.009) == 1.0
    assert is_close(x, x - 0.009) == 1.0
    assert is_close(x, x + 0.011) == 0.0
    assert is_close(x, x - 0.011) == 0.0


@pytest.mark.task0_1
@given(positive_floats)
def test_log_adds_eps(x: float) -> None:
    assert log(x) == math.log(x + EPS)
    assert log(0.0) == math.log(EPS)


@pytest.mark.task0_1
@given(positive_floats)
def test_exp_and_log_undo_each_other(x: float) -> None:
    assert_close(exp(log(x)), x + EPS)


@pytest.mark.task0_1
@given(small_floats)
def test_exp(x: float) -> None:
    assert exp(x) == math.exp(x)


@pytest.mark.task0_1
@given(positive_floats, incoming)
def test_log_back(x: float, d: float) -> None:
    assert_close(log_back(x, d), d / (x + EPS))
    slope = (log(x + 1e-4) - log(x - 1e-4)) / 2e-4
    assert_close(log_back(x, d), slope * d, rtol=1e-3)


@pytest.mark.task0_1
def test_log_back_is_finite_at_zero() -> None:
    assert_close(log_back(0.0, 2.0), 2.0 / EPS)


@pytest.mark.task0_1
@given(nonzero_floats, incoming)
def test_inv_back(x: float, d: float) -> None:
    assert_close(inv_back(x, d), -d / x**2)


@pytest.mark.task0_1
@pytest.mark.parametrize(
    ("x", "expected"), [(0.0, 0.5), (1000.0, 1.0), (-1000.0, 0.0), (-700.0, math.exp(-700.0))]
)
def test_sigmoid_is_stable(x: float, expected: float) -> None:
    assert_close(sigmoid(x), expected, atol=0.0)


@pytest.mark.task0_1
@given(small_floats)
def test_sigmoid_is_the_logistic_function(x: float) -> None:
    assert_close(sigmoid(x), 0.5 * (1.0 + math.tanh(x / 2)), atol=1e-15)


@pytest.mark.task0_1
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_uses_only_math(name: str) -> None:
    """Numba compiles each function (lesson 3): it cannot call the others, nor all of Python."""
    fn = getattr(operators, name)
    loaded = {i.argval for i in dis.get_instructions(fn) if i.opname == "LOAD_GLOBAL"}
    others = {other for other in loaded if callable(getattr(operators, other, None))}
    assert not others, f"{name} calls {others} of this file: use math instead"
    compiled = {
        "abs",
        "float",
        "int",
        "min",
        "pow",
        "NotImplementedError",
    }  # the last: an open place
    unknown = {n for n in loaded if hasattr(builtins, n)} - compiled
    assert not unknown, f"{name} calls Python's {unknown}, which Numba may not compile: use math"


# --- Task 0.2: properties ------------------------------------------------------------


@pytest.mark.task0_2
@given(small_floats)
def test_sigmoid_properties(x: float) -> None:
    assert 0.0 <= sigmoid(x) <= 1.0
    assert_close(1.0 - sigmoid(x), sigmoid(-x), atol=1e-15)
    assert sigmoid(0.0) == 0.5


@pytest.mark.task0_2
@given(small_floats, small_floats)
def test_sigmoid_grows(x: float, y: float) -> None:
    low, high = min(x, y), x if x > y else y
    assert sigmoid(low) <= sigmoid(high)
    if high - low > 0.01 and abs(high) < 20 and abs(low) < 20:
        assert sigmoid(low) < sigmoid(high)


@pytest.mark.task0_2
@given(small_floats, small_floats, small_floats)
def test_lt_is_transitive(x: float, y: float, z: float) -> None:
    low, middle, high = sorted([x, y, z])
    if lt(low, middle) == 1.0 and lt(middle, high) == 1.0:
        assert lt(low, high) == 1.0
    assert lt(low, high) + lt(high, low) + eq(low, high) == 1.0


@pytest.mark.task0_2
@given(small_floats, small_floats)
def test_symmetric(x: float, y: float) -> None:
    assert mul(x, y) == mul(y, x)
    assert add(x, y) == add(y, x)
    assert eq(x, y) == eq(y, x)
    assert max(x, y) == max(y, x)
    assert is_close(x, y) == is_close(y, x)


@pytest.mark.task0_2
@given(small_floats, small_floats, small_floats)
def test_distributes(x: float, y: float, z: float) -> None:
    assert_close(mul(z, add(x, y)), add(mul(z, x), mul(z, y)), atol=1e-10)


@pytest.mark.task0_2
@given(small_floats, small_floats)
def test_max_is_one_of_both_and_no_smaller(x: float, y: float) -> None:
    assert max(x, y) in (x, y)
    assert lt(max(x, y), x) == 0.0
    assert lt(max(x, y), y) == 0.0


@pytest.mark.task0_2
@given(nonzero_floats)
def test_inv_undoes_itself(x: float) -> None:
    assert_close(inv(inv(x)), x)
    assert_close(mul(x, inv(x)), 1.0)


@pytest.mark.task0_2
@given(small_floats)
def test_neg_undoes_itself(x: float) -> None:
    assert neg(neg(x)) == x
    assert add(x, neg(x)) == 0.0


# --- Task 0.3: functions of functions ------------------------------------------------


lists = st.lists(small_floats, max_size=8)


@pytest.mark.task0_3
@given(lists)
def test_map(ls: list[float]) -> None:
    assert list(map_over(lambda x: 2 * x + 1)(ls)) == [2 * x + 1 for x in ls]


@pytest.mark.task0_3
@given(lists, lists)
def test_zip_with(a: list[float], b: list[float]) -> None:
    expected = [x - 2 * y for x, y in zip(a, b, strict=False)]
    assert list(zipWith(lambda x, y: x - 2 * y)(a, b)) == expected


@pytest.mark.task0_3
@given(lists)
def test_reduce_folds_from_the_left(ls: list[float]) -> None:
    total = 7.0
    for x in ls:
        total = total / 2 - x
    assert fold(lambda acc, x: acc / 2 - x, 7.0)(ls) == total


@pytest.mark.task0_3
def test_take_any_iterable() -> None:
    assert list(map_over(neg)(x for x in (1.0, 2.0))) == [-1.0, -2.0]
    assert list(zipWith(add)(iter([1.0, 2.0]), (3.0, 4.0))) == [4.0, 6.0]
    assert fold(add, 0.0)(iter([1.0, 2.0])) == 3.0
    assert sum_of(x for x in (1.0, 2.0)) == 3.0


@pytest.mark.task0_3
def test_made_functions_can_be_called_again() -> None:
    total = fold(add, 0.0)
    assert total([1.0, 2.0]) == 3.0
    assert total([1.0, 2.0]) == 3.0


@pytest.mark.task0_3
def test_inputs_stay_as_they_were() -> None:
    ls = [1.0, 2.0, 3.0]
    negList(ls)
    addLists(ls, ls)
    sum_of(ls)
    prod(ls)
    assert ls == [1.0, 2.0, 3.0]


@pytest.mark.task0_3
@given(small_floats, small_floats, small_floats, small_floats)
def test_add_lists(a: float, b: float, c: float, d: float) -> None:
    assert list(addLists([a, b], [c, d])) == [a + c, b + d]


@pytest.mark.task0_3
@given(lists)
def test_neg_list(ls: list[float]) -> None:
    assert list(negList(ls)) == [-x for x in ls]


@pytest.mark.task0_3
@given(lists)
def test_sum_is_like_python(ls: list[float]) -> None:
    assert_close(sum_of(ls), math.fsum(ls), atol=1e-11)


@pytest.mark.task0_3
@given(
    st.lists(small_floats, min_size=5, max_size=5), st.lists(small_floats, min_size=5, max_size=5)
)
def test_sum_of_added_lists(a: list[float], b: list[float]) -> None:
    assert_close(sum_of(addLists(a, b)), sum_of(a) + sum_of(b), atol=1e-10)


@pytest.mark.task0_3
@given(st.lists(small_floats, max_size=5))
def test_prod(ls: list[float]) -> None:
    assert_close(prod(ls), math.prod(ls))


@pytest.mark.task0_3
def test_of_nothing() -> None:
    assert sum_of([]) == 0.0
    assert prod([]) == 1.0
    assert list(negList([])) == []
    assert list(addLists([], [])) == []


# --- MathTest: the functions that later tests are made of ------------------------------

_one, _two, _red = MathTest._tests()


@pytest.mark.task0_3
def test_math_test_has_every_function() -> None:
    assert [name for name, _ in _one] == [
        "neg",
        "addConstant",
        "square",
        "cube",
        "subConstant",
        "multConstant",
        "div",
        "inv",
        "sig",
        "log",
        "relu",
        "exp",
        "explog",
        "complex",
    ]
    assert [name for name, _ in _two] == ["add2", "mul2", "div2", "gt2", "lt2", "eq2"]
    assert [name for name, _ in _red] == ["sum_red", "mean_red", "mean_full_red"]


EXPECTED: dict[str, Callable[..., float]] = {
    "neg": lambda a: -a,
    "addConstant": lambda a: 5 + a,
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "subConstant": lambda a: a - 5,
    "multConstant": lambda a: 5 * a,
    "div": lambda a: a / 5,
    "inv": lambda a: 1 / (a + 3.5),
    "sig": lambda a: 1 / (1 + np.exp(-a)),
    "log": lambda a: np.log(a + 100000 + EPS),
    "relu": lambda a: np.maximum(a + 5.5, 0),
    "exp": lambda a: np.exp(a - 200),
    "explog": lambda a: np.log(a + 100000 + EPS) + np.exp(a - 200),
    "complex": lambda a: (
        np.log(1 / (1 + np.exp(-10 * np.maximum(np.maximum(10 * a + 7, 0) * 6 + 5, 0))) + EPS) / 50
    ),
    "add2": lambda a, b: a + b,
    "mul2": lambda a, b: a * b,
    "div2": lambda a, b: a / (b + 5.5),
    "gt2": lambda a, b: float(a + 1.2 > b),
    "lt2": lambda a, b: float(a + 1.2 < b),
    "eq2": lambda a, b: float(a == b + 5.5),
    "sum_red": lambda a: math.fsum(a),
    "mean_red": lambda a: math.fsum(a) / len(a),
    "mean_full_red": lambda a: math.fsum(a) / len(a),
}


@pytest.mark.task0_3
@pytest.mark.parametrize("name", [name for name, _ in _one])
@pytest.mark.parametrize("x", [-9.25, -4.75, -1.5, 0.25, 2.0, 7.75])
def test_math_test_of_one(name: str, x: float) -> None:
    assert_close(dict(_one)[name](x), EXPECTED[name](x))


@pytest.mark.task0_3
@pytest.mark.parametrize("name", [name for name, _ in _two])
@pytest.mark.parametrize(("x", "y"), [(-9.25, 4.0), (7.5, 2.0), (1.25, 1.5), (-3.0, -3.0)])
def test_math_test_of_two(name: str, x: float, y: float) -> None:
    assert_close(dict(_two)[name](x, y), EXPECTED[name](x, y))


@pytest.mark.task0_3
@pytest.mark.parametrize("name", [name for name, _ in _red])
def test_math_test_reductions(name: str) -> None:
    values = [1.5, -2.25, 8.0, 0.125, 3.0]
    assert_close(dict(_red)[name](values), EXPECTED[name](values))


@pytest.mark.task0_1
def test_eps() -> None:
    assert operators.EPS == 1e-6
