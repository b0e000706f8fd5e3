"""Lesson 1: one number that remembers how it was computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minitorch import (
    Context,
    MathTestVariable,
    Parameter,
    Scalar,
    ScalarFunction,
    ScalarHistory,
    central_difference,
    derivative_check,
    operators,
)
from minitorch import scalar_functions as F

from .strategies import (
    assert_close,
    incoming,
    nonzero_floats,
    positive_floats,
    quarters,
    scalars,
    small_floats,
    smooth_floats,
)

_one, _two, _ = MathTestVariable._comp_testing()
one_argument = pytest.mark.parametrize("fn", _one, ids=lambda fn: fn[0])
two_arguments = pytest.mark.parametrize("fn", _two, ids=lambda fn: fn[0])

# --- Task 1.2: forward -----------------------------------------------------------------


@pytest.mark.task1_2
@given(small_floats, small_floats)
def test_operators_are_like_pythons(x: float, y: float) -> None:
    a, b = Scalar(x), Scalar(y)
    assert (a + b).data == x + y
    assert (a - b).data == x - y
    assert (a * b).data == x * y
    assert (-a).data == -x
    assert (a < b).data == (1.0 if x < y else 0.0)
    assert (a > b).data == (1.0 if x > y else 0.0)
    assert (a == b).data == (1.0 if x == y else 0.0)


@pytest.mark.task1_2
@given(small_floats, nonzero_floats)
def test_division(x: float, y: float) -> None:
    assert_close((Scalar(x) / Scalar(y)).data, x / y)
    assert_close((Scalar(x) / y).data, x / y)
    assert_close((x / Scalar(y)).data, x / y)


@pytest.mark.task1_2
@given(small_floats, small_floats)
def test_plain_numbers_on_either_side(x: float, y: float) -> None:
    a: Any = Scalar(x)
    assert (a + y).data == x + y
    assert (y + a).data == x + y
    assert (a - y).data == x - y
    assert (y - a).data == y - x
    assert (a * y).data == x * y
    assert (y * a).data == x * y
    assert (a < y).data == (y > a).data == (1.0 if x < y else 0.0)
    assert (a > y).data == (y < a).data == (1.0 if x > y else 0.0)
    assert (a == y).data == (1.0 if x == y else 0.0)


@pytest.mark.task1_2
@given(small_floats)
def test_methods(x: float) -> None:
    a = Scalar(x)
    assert a.relu().data == (x if x > 0 else 0.0)
    assert_close(a.exp().data, math.exp(x))
    assert_close(a.sigmoid().data, 0.5 * (1 + math.tanh(x / 2)), atol=1e-15)
    if x > 0:
        assert_close(a.log().data, math.log(x + 1e-6))


@pytest.mark.task1_2
@pytest.mark.parametrize(("x", "expected"), [(1000.0, 1.0), (-1000.0, 0.0)])
def test_sigmoid_is_stable(x: float, expected: float) -> None:
    assert Scalar(x).sigmoid().data == expected


@pytest.mark.task1_2
@one_argument
@given(smooth_floats)
def test_one_argument(fn: tuple[str, Callable[..., Any], Callable[..., Any]], x: float) -> None:
    _, base, variable = fn
    assert_close(variable(Scalar(x)).data, base(x))


@pytest.mark.task1_2
@two_arguments
@given(quarters, quarters)
def test_two_arguments(
    fn: tuple[str, Callable[..., Any], Callable[..., Any]], x: float, y: float
) -> None:
    _, base, variable = fn
    assert_close(variable(Scalar(x), Scalar(y)).data, base(x, y))


@pytest.mark.task1_2
def test_results_are_scalars_with_a_history() -> None:
    a, b = Scalar(2.0), Scalar(3.0)
    for out, fn, inputs in (
        (a + b, F.Add, [a, b]),
        (a * b, F.Mul, [a, b]),
        (a < b, F.LT, [a, b]),
        (a > b, F.LT, [b, a]),
        (a == b, F.EQ, [a, b]),
        (-a, F.Neg, [a]),
        (a.log(), F.Log, [a]),
        (a.exp(), F.Exp, [a]),
        (a.sigmoid(), F.Sigmoid, [a]),
        (a.relu(), F.ReLU, [a]),
    ):
        assert isinstance(out, Scalar)
        assert out.history is not None
        assert out.history.last_fn is fn
        assert len(out.history.inputs) == len(inputs)
        assert all(x is y for x, y in zip(out.history.inputs, inputs, strict=True))
        assert not out.is_leaf()


@pytest.mark.task1_2
def test_functions_take_plain_numbers() -> None:
    assert F.Mul.apply(2.0, 3).data == 6.0
    assert F.Add.apply(Scalar(1.0), 2).data == 3.0
    assert F.Sigmoid.apply(0).data == 0.5


@pytest.mark.task1_2
@given(scalars())
def test_repr_and_truth(a: Scalar) -> None:
    assert repr(a) == f"Scalar({a.data:f})"
    assert bool(a) == (a.data != 0.0)
    assert repr(Scalar(10)) == "Scalar(10.000000)"


@pytest.mark.task1_2
def test_name_is_kept() -> None:
    assert Scalar(1.0, name="x").name == "x"
    assert Scalar(1.0, ScalarHistory(), "y").name == "y"
    a = Scalar(1.0)
    assert a.name == str(a.unique_id)


@pytest.mark.task1_2
def test_unique_ids_differ() -> None:
    made = [Scalar(1.0) for _ in range(100)]
    made += [s + 1.0 for s in made]
    assert len({s.unique_id for s in made}) == 200


@pytest.mark.task1_2
def test_data_is_a_float() -> None:
    assert type(Scalar(3).data) is float
    assert type((Scalar(3) + 4).data) is float


@pytest.mark.task1_2
def test_constants_stay_constants() -> None:
    a, b = Scalar(2.0, None), Scalar(3.0, None)
    assert (a * b).is_constant()
    assert not (a * Scalar(1.0)).is_constant()


@pytest.mark.task1_2
@pytest.mark.parametrize(
    "name", ["Add", "Log", "Mul", "Inv", "Neg", "Sigmoid", "ReLU", "Exp", "LT", "EQ"]
)
def test_forward_takes_and_gives_plain_floats(name: str) -> None:
    fn: type[ScalarFunction] = getattr(F, name)
    count = 2 if name in ("Add", "Mul", "LT", "EQ") else 1
    assert type(fn.forward(Context(), *[2.0, 3.0][:count])) is float


@pytest.mark.task1_2
def test_requires_grad_means_what_it_says() -> None:
    a = Scalar(2.0)
    a.requires_grad_(False)
    assert a.is_constant()
    assert (a + a).is_constant()
    a.requires_grad_(True)
    assert a.is_leaf()


@pytest.mark.task1_2
def test_parameter_makes_a_leaf() -> None:
    out = Scalar(2.0) * Scalar(3.0)
    assert Parameter(out).value.is_leaf()


@pytest.mark.task1_2
def test_defining_a_function() -> None:
    """The guide's Neg, written by a reader."""

    class Neg(ScalarFunction):
        @staticmethod
        def forward(ctx: Context, x: float) -> float:
            return -x

    x = Scalar(10)
    out = Neg.apply(Neg.apply(x))
    assert out.data == 10.0
    assert out.history is not None
    assert repr(out.history.inputs[0]) == "Scalar(-10.000000)"


# --- Task 1.4: backward ------------------------------------------------------------------

x_or_positive = {"Log": positive_floats, "Inv": nonzero_floats}

DERIVATIVES: dict[str, tuple[Callable[..., Any], ...]] = {
    "Add": (lambda x, y: 1.0, lambda x, y: 1.0),
    "Mul": (lambda x, y: y, lambda x, y: x),
    "LT": (lambda x, y: 0.0, lambda x, y: 0.0),
    "EQ": (lambda x, y: 0.0, lambda x, y: 0.0),
    "Log": (lambda x: 1.0 / (x + 1e-6),),
    "Inv": (lambda x: -1.0 / x**2,),
    "Neg": (lambda x: -1.0,),
    "Sigmoid": (lambda x: 0.25 / math.cosh(x / 2) ** 2,),
    "ReLU": (lambda x: 1.0 if x > 0 else 0.0,),
    "Exp": (lambda x: math.exp(x),),
}


@pytest.mark.task1_4
@pytest.mark.parametrize("name", DERIVATIVES)
@given(data=st.data(), d=incoming)
def test_derivative_times_what_comes_in(name: str, data: st.DataObject, d: float) -> None:
    fn: type[ScalarFunction] = getattr(F, name)
    numbers = x_or_positive.get(name, smooth_floats)
    values = [data.draw(numbers) for _ in DERIVATIVES[name]]
    leaves = [Scalar(v) for v in values]
    fn.apply(*leaves).backward(d)
    for leaf, derivative in zip(leaves, DERIVATIVES[name], strict=True):
        assert_close(leaf.derivative, d * derivative(*values), rtol=1e-11, atol=1e-15)


@pytest.mark.task1_4
@one_argument
@given(smooth_floats, incoming)
def test_derivative_of_one_argument(
    fn: tuple[str, Callable[..., Any], Callable[..., Any]], x: float, d: float
) -> None:
    _, base, variable = fn
    derivative_check(variable, Scalar(x))
    a = Scalar(x)
    variable(a).backward(d)
    slope = central_difference(base, x)
    assert_close(a.derivative, d * slope, rtol=1e-3, atol=1e-4)


@pytest.mark.task1_4
@two_arguments
@given(quarters, quarters, incoming)
def test_derivatives_of_two_arguments(
    fn: tuple[str, Callable[..., Any], Callable[..., Any]], x: float, y: float, d: float
) -> None:
    name, base, variable = fn
    assume(name != "eq2" or x != y + 5.5)
    derivative_check(variable, Scalar(x), Scalar(y))
    a, b = Scalar(x), Scalar(y)
    variable(a, b).backward(d)
    for arg, leaf in enumerate((a, b)):
        slope = central_difference(base, x, y, arg=arg)
        assert_close(leaf.derivative, d * slope, rtol=1e-3, atol=1e-4)


@pytest.mark.task1_4
@given(st.floats(-5, 5), st.floats(0.5, 5), incoming)
def test_derivative_of_division_and_subtraction(x: float, y: float, d: float) -> None:
    a, b = Scalar(x), Scalar(y)
    (a / b - b).backward(d)
    assert_close(a.derivative, d / y)
    assert_close(b.derivative, d * (-x / y**2 - 1.0))
    a, b = Scalar(x), Scalar(y)
    (2.0 / b - 3.0 * (1.0 - a)).backward(d)
    assert_close(a.derivative, 3.0 * d)
    assert_close(b.derivative, -2.0 * d / y**2)


@pytest.mark.task1_4
@pytest.mark.parametrize("x", [-1000.0, 1000.0])
def test_derivative_of_sigmoid_far_out(x: float) -> None:
    a = Scalar(x)
    a.sigmoid().backward(2.0)
    assert a.derivative == 0.0


@pytest.mark.task1_4
def test_relu_passes_nothing_on_at_zero() -> None:
    a = Scalar(0.0)
    a.relu().backward(2.0)
    assert a.derivative == 0.0


@pytest.mark.task1_4
def test_variables_of_equal_value_are_not_the_same() -> None:
    """`==` of Scalars compares their numbers: `variable in a_list` finds another with the same number."""
    a, b = Scalar(2.0), Scalar(2.0)
    (3.0 * a + 5.0 * b).backward()
    assert (a.derivative, b.derivative) == (3.0, 5.0)


@pytest.mark.task1_4
def test_requires_grad_false_gets_nothing() -> None:
    a, b = Scalar(2.0), Scalar(3.0)
    b.requires_grad_(False)
    (a * b).backward()
    assert a.derivative == 3.0
    assert b.derivative is None


@pytest.mark.task1_4
def test_only_a_leaf_accumulates() -> None:
    a = Scalar(2.0)
    a.accumulate_derivative(1.5)
    a.accumulate_derivative(2.0)
    assert a.derivative == 3.5
    with pytest.raises(RuntimeError):
        (a + 1.0).accumulate_derivative(1.0)


@pytest.mark.task1_4
def test_gradient_of_a_neuron() -> None:
    """Two inputs, two weights and a bias, as in project/run_scalar.py."""
    x1, x2, w1, w2, b = (Scalar(v) for v in (0.5, -1.5, 0.8, 0.3, 0.1))
    out = (x1 * w1 + x2 * w2 + b).sigmoid()
    (-out.log()).backward()
    s = operators.sigmoid(0.5 * 0.8 - 1.5 * 0.3 + 0.1)
    d = -s * (1 - s) / (s + 1e-6)
    for scalar, inner in ((w1, 0.5), (w2, -1.5), (b, 1.0), (x1, 0.8), (x2, 0.3)):
        assert_close(scalar.derivative, d * inner)


# --- derivative_check itself -----------------------------------------------------------------


class WrongSquare(ScalarFunction):
    @staticmethod
    def forward(ctx: Context, x: float) -> float:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (x,) = ctx.saved_values
        return x * d_output


def weighted(a: Scalar, b: Scalar) -> Scalar:
    return a + WrongSquare.apply(b)


@pytest.mark.task1_4
def test_derivative_check_names_function_and_input() -> None:
    with pytest.raises(AssertionError, match=r"input 1 of weighted"):
        derivative_check(weighted, Scalar(1.0), Scalar(3.0))


@pytest.mark.task1_4
def test_derivative_check_sees_a_missing_derivative() -> None:
    with pytest.raises(AssertionError, match="input 1"):
        derivative_check(lambda a, b: a * 2.0, Scalar(1.0), Scalar(3.0))


@pytest.mark.task1_4
def test_derivative_check_accepts_right_ones() -> None:
    a, b = Scalar(1.0), Scalar(3.0)
    derivative_check(lambda a, b: a * b + a.sigmoid(), a, b)
    derivative_check(lambda a: a.relu(), Scalar(0.0))
