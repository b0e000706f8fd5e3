"""Lesson 1: numerical derivatives, the chain rule, and backpropagation over a graph."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import Context, Scalar, ScalarFunction, ScalarHistory, central_difference, operators

from .strategies import assert_close, incoming, nonzero_floats, positive_floats, small_floats

# --- Task 1.0 --------------------------------------------------------------------


@pytest.mark.task1_0
def test_import() -> None:
    assert issubclass(minitorch.scalar_functions.Add, ScalarFunction)
    assert Scalar(2.0).data == 2.0
    assert Context().saved_values == ()


# --- Task 1.1: numerical derivatives -----------------------------------------------


@pytest.mark.task1_1
def test_central_difference_of_known_functions() -> None:
    assert_close(central_difference(operators.id, 5.0, arg=0), 1.0, rtol=1e-6)
    assert_close(central_difference(operators.add, 5.0, 10.0, arg=0), 1.0, rtol=1e-6)
    assert_close(central_difference(operators.mul, 5.0, 10.0, arg=0), 10.0, rtol=1e-6)
    assert_close(central_difference(operators.mul, 5.0, 10.0, arg=1), 5.0, rtol=1e-6)
    assert_close(central_difference(math.exp, 2.0), math.exp(2.0), rtol=1e-6)


@pytest.mark.task1_1
@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(-10, 10))
def test_central_difference_by_each_argument(x: float, y: float, z: float) -> None:
    def f(x: float, y: float, z: float) -> float:
        return x * y + 3.0 * z * z - x

    for arg, expected in enumerate((y - 1.0, x, 6.0 * z)):
        assert_close(central_difference(f, x, y, z, arg=arg), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.task1_1
def test_central_difference_steps_to_both_sides() -> None:
    """A one-sided difference of x³ at 2 with a step of 0.1 gives 12.61, not 12.01."""
    assert_close(central_difference(lambda x: x**3, 2.0, epsilon=0.1), 12.01, rtol=1e-9)
    assert_close(central_difference(abs, 0.0, epsilon=0.1), 0.0)


@pytest.mark.task1_1
def test_central_difference_uses_epsilon() -> None:
    seen: list[float] = []

    def f(x: float) -> float:
        seen.append(x)
        return x

    central_difference(f, 1.0, epsilon=0.25)
    assert sorted(seen) == [0.75, 1.25]


@pytest.mark.task1_1
def test_central_difference_leaves_its_arguments_alone() -> None:
    vals = (1.0, 2.0)
    central_difference(operators.mul, *vals, arg=1)
    assert vals == (1.0, 2.0)


# --- Context -----------------------------------------------------------------------


@pytest.mark.task1_3
def test_context_keeps_what_backward_needs() -> None:
    ctx = Context()
    ctx.save_for_backward(1.0, 2.0)
    assert ctx.saved_values == (1.0, 2.0)
    assert ctx.saved_tensors == (1.0, 2.0)
    quiet = Context(no_grad=True)
    quiet.save_for_backward(1.0)
    assert quiet.saved_values == ()


# --- Task 1.3: chain rule ------------------------------------------------------------
# Functions of our own, so that no backward of task 1.4 is needed.


class Shift(ScalarFunction):
    """x + y + 10."""

    @staticmethod
    def forward(ctx: Context, x: float, y: float) -> float:
        return x + y + 10

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        return d_output, d_output


class Weigh(ScalarFunction):
    """x y + x."""

    @staticmethod
    def forward(ctx: Context, x: float, y: float) -> float:
        ctx.save_for_backward(x, y)
        return x * y + x

    @staticmethod
    def backward(ctx: Context, d_output: float) -> tuple[float, float]:
        x, y = ctx.saved_values
        return d_output * (y + 1), d_output * x


class Twice(ScalarFunction):
    """2 x."""

    @staticmethod
    def forward(ctx: Context, x: float) -> float:
        return 2 * x

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        return 2 * d_output


def constant(x: float) -> Scalar:
    return Scalar(x, None)


def pairs(scalar: Scalar, d: float) -> list[tuple[Any, Any]]:
    return list(scalar.chain_rule(d))


@pytest.mark.task1_3
@given(small_floats, small_floats, incoming)
def test_chain_rule_pairs_each_input_with_its_derivative(x: float, y: float, d: float) -> None:
    a, b = Scalar(x), Scalar(y)
    (first, d_a), (second, d_b) = pairs(Weigh.apply(a, b), d)
    assert first is a
    assert second is b
    assert d_a == d * (y + 1)
    assert d_b == d * x


@pytest.mark.task1_3
def test_chain_rule_beside_constants() -> None:
    """The variable gets its derivative, whatever becomes of the constant."""
    a, b = Scalar(3.0), Scalar(4.0)
    assert [d for v, d in pairs(Weigh.apply(constant(7.0), b), 2.0) if v is b] == [14.0]
    assert [d for v, d in pairs(Weigh.apply(a, constant(7.0)), 2.0) if v is a] == [16.0]
    assert Weigh.apply(constant(1.0), constant(2.0)).is_constant()


@pytest.mark.task1_3
@pytest.mark.extra
def test_chain_rule_leaves_out_constants() -> None:
    """Nobody needs their derivatives."""
    a, b = Scalar(3.0), Scalar(4.0)
    assert [v for v, _ in pairs(Weigh.apply(constant(7.0), b), 2.0)] == [b]
    assert [v for v, _ in pairs(Weigh.apply(a, constant(7.0)), 2.0)] == [a]


@pytest.mark.task1_3
def test_chain_rule_of_one_argument() -> None:
    a = Scalar(3.0)
    ((variable, d),) = pairs(Twice.apply(a), 5.0)
    assert variable is a
    assert d == 10.0


@pytest.mark.task1_3
def test_chain_rule_of_the_same_input_twice() -> None:
    a = Scalar(3.0)
    got = pairs(Weigh.apply(a, a), 1.0)
    assert all(variable is a for variable, _ in got)
    assert [d for _, d in got] == [4.0, 3.0]


# --- Task 1.4: topological sort --------------------------------------------------------


def order_of(variable: Any) -> list[Any]:
    return list(minitorch.topological_sort(variable))


def assert_topological(right: Scalar, expected: set[int]) -> None:
    """Every variable once, each before all it was computed from, and none too many."""
    order = order_of(right)
    place = {v.unique_id: i for i, v in enumerate(order)}
    assert order[0] is right
    assert len(place) == len(order), "a variable comes twice"
    assert set(place) == expected
    for v in order:
        for parent in v.parents:
            if not parent.is_constant():
                assert place[v.unique_id] < place[parent.unique_id]


@pytest.mark.task1_4
def test_topological_sort_of_the_guide() -> None:
    """h = log(z) + exp(z), z = x y."""
    x, y = Scalar(0.5), Scalar(0.6)
    z = x * y
    top, bottom = z.log(), z.exp()
    h = top + bottom
    assert_topological(h, {v.unique_id for v in (x, y, z, top, bottom, h)})


@pytest.mark.task1_4
def test_topological_sort_waits_for_the_longest_path() -> None:
    """z is used at once and, much later, again: it must come after both."""
    x = Scalar(1.0)
    z = Twice.apply(x)
    late = Twice.apply(Twice.apply(Twice.apply(z)))
    for h in (Shift.apply(z, late), Shift.apply(late, z)):
        order = [v.unique_id for v in order_of(h)]
        assert order.index(z.unique_id) == len(order) - 2
        assert order.index(x.unique_id) == len(order) - 1


@pytest.mark.task1_4
def test_topological_sort_leaves_out_constants() -> None:
    x, c = Scalar(1.0), constant(2.0)
    h = Shift.apply(Weigh.apply(c, x), c)
    assert c.unique_id not in [v.unique_id for v in order_of(h)]
    assert len(order_of(h)) == 3
    assert order_of(c) == []


@pytest.mark.task1_4
def test_topological_sort_of_a_leaf() -> None:
    x = Scalar(1.0)
    assert [v.unique_id for v in order_of(x)] == [x.unique_id]


@pytest.mark.task1_4
@given(st.integers(0, 10_000))
def test_topological_sort_of_random_graphs(seed: int) -> None:
    chosen = random.Random(seed)
    nodes = [Scalar(1.0), Scalar(2.0)]
    for _ in range(chosen.randint(1, 25)):
        a, b = chosen.choice(nodes), chosen.choice(nodes)
        nodes.append(Shift.apply(a, constant(1.0) if chosen.random() < 0.2 else b))
    right = nodes[-1]
    reachable: set[int] = set()
    todo: list[Any] = [right]
    while todo:
        v = todo.pop()
        if v.unique_id not in reachable and not v.is_constant():
            reachable.add(v.unique_id)
            todo += v.parents
    assert_topological(right, reachable)


# --- Task 1.4: backpropagation ------------------------------------------------------------


@pytest.mark.task1_4
@given(small_floats, incoming)
def test_backprop_of_one_function(x: float, d: float) -> None:
    a = Scalar(x)
    Twice.apply(a).backward(d)
    assert a.derivative == 2 * d


@pytest.mark.task1_4
def test_backprop_starts_at_one() -> None:
    a, b = Scalar(3.0), Scalar(4.0)
    Weigh.apply(a, b).backward()
    assert a.derivative == 5.0
    assert b.derivative == 3.0


@pytest.mark.task1_4
def test_backprop_to_the_variable_itself() -> None:
    a = Scalar(3.0)
    a.backward(2.5)
    assert a.derivative == 2.5


@pytest.mark.task1_4
def test_used_twice_adds_up() -> None:
    a = Scalar(3.0)
    Shift.apply(a, a).backward(5.0)
    assert a.derivative == 10.0


@pytest.mark.task1_4
def test_inner_variable_used_twice() -> None:
    """z reaches the end along two paths; its derivative must be whole before it goes on."""
    a = Scalar(3.0)
    z = Twice.apply(a)
    Shift.apply(Twice.apply(z), z).backward(5.0)
    assert a.derivative == 30.0


@pytest.mark.task1_4
@given(nonzero_floats, positive_floats)
def test_backprop_of_the_guide(x: float, y: float) -> None:
    """h = log(z) + exp(z), z = x y; z kept positive and small."""
    x, y = abs(x) / 50, y / 50
    a, b = Scalar(x), Scalar(y)
    z = a * b
    (z.log() + z.exp()).backward()
    d_z = 1.0 / (x * y + minitorch.EPS) + math.exp(x * y)
    assert_close(a.derivative, d_z * y)
    assert_close(b.derivative, d_z * x)


@pytest.mark.task1_4
def test_only_leaves_keep_derivatives() -> None:
    a = Scalar(3.0)
    z = Twice.apply(a)
    h = Twice.apply(z)
    h.backward()
    assert z.derivative is None
    assert h.derivative is None
    assert a.derivative == 4.0


@pytest.mark.task1_4
def test_derivatives_of_two_runs_add_up() -> None:
    a = Scalar(3.0)
    Twice.apply(a).backward(1.0)
    Twice.apply(a).backward(10.0)
    assert a.derivative == 22.0


@pytest.mark.task1_4
def test_backward_again_over_the_same_graph() -> None:
    a = Scalar(3.0)
    h = Shift.apply(Twice.apply(a), a)
    h.backward()
    h.backward()
    assert a.derivative == 6.0


@pytest.mark.task1_4
def test_constants_get_nothing() -> None:
    a, c = Scalar(3.0), constant(4.0)
    Weigh.apply(a, c).backward()
    assert a.derivative == 5.0
    assert c.derivative is None


@pytest.mark.task1_4
def test_backpropagate_works_on_any_variable() -> None:
    """The protocol is enough: these are no Scalars, and have a history only for those who ask."""

    class Node:
        def __init__(self, number: int, *edges: tuple[Any, float], constant: bool = False) -> None:
            self.unique_id = number
            self.edges = edges
            self.total: float | None = None
            self.constant = constant
            self.history = None if constant else ()

        def accumulate_derivative(self, x: Any) -> None:
            self.total = (self.total or 0.0) + x

        def is_leaf(self) -> bool:
            return not self.edges

        def is_constant(self) -> bool:
            return self.constant

        @property
        def parents(self) -> list[Any]:
            return [node for node, _ in self.edges]

        def chain_rule(self, d_output: Any) -> list[tuple[Any, Any]]:
            return [(node, d_output * w) for node, w in self.edges if not node.is_constant()]

    x, y, c = Node(1), Node(2), Node(3, constant=True)
    z = Node(4, (x, 2.0), (y, 3.0), (c, 9.0))
    top, bottom = Node(5, (z, 5.0)), Node(6, (z, 7.0), (x, 1.0))
    minitorch.backpropagate(Node(8, (top, 1.0), (bottom, 1.0)), 2.0)
    assert x.total == 2.0 * (12.0 * 2.0 + 1.0)
    assert y.total == 2.0 * 12.0 * 3.0
    assert c.total is None
    assert z.total is None


@pytest.mark.task1_4
@pytest.mark.extra
def test_derivatives_are_added_to_their_own_kind_only() -> None:
    """They are numbers here and tensors in lesson 2, to which 0.0 cannot be added without harm."""

    class Derivative:
        def __init__(self, *parts: float) -> None:
            self.parts = parts

        def __add__(self, other: Derivative) -> Derivative:
            return Derivative(*(x + y for x, y in zip(self.parts, other.parts, strict=True)))

        def __bool__(self) -> bool:
            raise TypeError("a derivative is neither true nor false")

    class Fork(ScalarFunction):
        @staticmethod
        def forward(ctx: Context, x: float, y: float) -> float:
            return x

        @staticmethod
        def backward(ctx: Context, d_output: Any) -> Any:
            return d_output, d_output

    class Leaf(Scalar):
        def accumulate_derivative(self, x: Any) -> None:
            arrived.append(x.parts)

    arrived: list[tuple[float, ...]] = []
    a = Leaf(1.0)
    z = Fork.apply(a, constant(2.0))
    minitorch.backpropagate(Fork.apply(z, Fork.apply(z, a)), Derivative(1.0, 10.0))
    assert arrived == [(3.0, 30.0)]


@pytest.mark.task1_4
def test_equal_values_are_different_variables() -> None:
    a, b = Scalar(2.0), Scalar(2.0)
    h = Shift.apply(Shift.apply(a, b), Twice.apply(b))
    assert len(order_of(h)) == 5
    h.backward()
    assert (a.derivative, b.derivative) == (1.0, 3.0)


# --- Deep and wide graphs ------------------------------------------------------------------


def chain(step: Callable[[Scalar], Scalar], start: Scalar, length: int) -> Scalar:
    out = start
    for _ in range(length):
        out = step(out)
    return out


@pytest.mark.task1_4
@pytest.mark.extra
def test_graph_20_000_operations_deep() -> None:
    """Sorting, going back and deleting: none may recurse."""
    a = Scalar(3.0)
    out = chain(lambda s: s + 1.0, a, 20_000)
    assert out.data == 20_003.0
    out.backward(0.5)
    assert a.derivative == 0.5
    del out


@pytest.mark.task1_4
def test_diamonds_are_walked_once() -> None:
    """Each of 200 steps uses the one before twice: 2^200 paths, 200 variables."""
    a = Scalar(1.0)
    out = chain(lambda s: s + s, a, 200)
    out.backward()
    assert a.derivative == 2.0**200
    assert len(order_of(out)) == 201


@pytest.mark.task1_4
def test_history_of_a_leaf_is_empty() -> None:
    a = Scalar(1.0)
    assert a.is_leaf()
    assert not a.is_constant()
    assert a.history == ScalarHistory()
    assert list(a.parents) == []
    out = Twice.apply(a)
    assert not out.is_leaf()
    assert [v.unique_id for v in out.parents] == [a.unique_id]
