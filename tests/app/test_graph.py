"""The lesson of graphs: values, the walk as the library makes it, slopes; and its picture."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.app.drawings import flow
from minitorch.app.drawings.layout import place
from minitorch.app.inside.expression import ExpressionError
from minitorch.app.inside.graph import backward, forward, read, variables

TWICE = "z = x * y; log(z) + exp(z)"
AT = {"x": 2.0, "y": 1.5}


def test_lines_are_read_and_names_found() -> None:
    assert variables(TWICE) == ["x", "y"]
    assert [name for name, _ in read("a = x; b = a * a; a == b")] == ["a", "b", ""]
    for wrong in ("", "2x = 3; x", "x; y", "x = ", "__import__('os')", "lambda: 1"):
        with pytest.raises(ExpressionError):
            read(wrong)


def test_scalars_forward_and_backward() -> None:
    nodes = forward("numbers", TWICE, AT)["nodes"]
    assert [node["function"] for node in nodes] == ["", "", "Mul", "Log", "Exp", "Add"]
    assert nodes[2]["name"] == "z"
    slope = 1 / 3 + math.exp(3)
    walk = backward("numbers", TWICE, AT)
    assert walk["order"][0] == 5
    assert sorted(walk["order"]) == list(range(6))
    assert dict(walk["leaves"]) == pytest.approx({0: 1.5 * slope, 1: 2 * slope}, rel=1e-6)
    assert walk["start"] == [[5, 1.0]]
    assert walk["steps"][-1]["held"] == []
    taken = next(step for step in walk["steps"] if step["node"] == 2)
    assert taken["took"] == pytest.approx(slope, rel=1e-6)
    assert all(flow.is_near(step["took"], nodes[step["node"]]["slopes"]) for step in walk["steps"])
    end = flow.moment(nodes, walk, flow.moments(nodes, walk))
    assert "used twice" in flow.sums(nodes, end)[0]
    assert not flow.faults(nodes, end)
    assert "20.42" in str(flow.draw(nodes, walk, end, None))


def test_tensors_keep_shapes_and_unbroadcast() -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 0.5])
    given = {"x": x.tolist(), "y": y.tolist()}
    nodes = forward("tensors", "sum(x * y * x)", given)["nodes"]
    leaves = dict(backward("tensors", "sum(x * y * x)", given)["leaves"])
    np.testing.assert_allclose(leaves[0], 2 * x * y)
    np.testing.assert_allclose(leaves[1], (x * x).sum(0))
    np.testing.assert_allclose(nodes[1]["slopes"]["central"], (x * x).sum(0), rtol=1e-6)
    assert nodes[-1]["shape"] == [1]


@pytest.mark.parametrize(
    ("kind", "text", "values", "words"),
    [
        ("numbers", "log(x)", {"x": -1}, "log needs"),
        ("numbers", "1 / x", {"x": 0}, "divides by 0"),
        ("numbers", "exp(x)", {"x": 1e4}, "too large"),
        ("numbers", "1 + 2", {}, "no variable"),
        ("numbers", "x @ x", {"x": 1}, "switch to tensors"),
        ("numbers", "tan(x)", {"x": 1}, "no function tan"),
        ("tensors", "x + y", {"x": [1, 2], "y": [1, 2, 3]}, "shapes do not fit"),
        ("tensors", "x @ 2", {"x": [1, 2]}, "shapes do not fit"),
        ("tensors", "sum(x, x)", {"x": [1, 2]}, "whole numbers"),
    ],
)
def test_what_has_no_value_is_said(kind, text, values, words) -> None:
    assert words in forward(kind, text, values)["wrong"]


def test_a_lost_contribution_is_seen(monkeypatch) -> None:
    def lossy(variable, deriv):
        waiting = {variable.unique_id: deriv}
        for node in minitorch.autodiff.topological_sort(variable):
            d = waiting[node.unique_id]
            if node.is_leaf():
                node.accumulate_derivative(d)
            else:
                waiting.update({p.unique_id: g for p, g in node.chain_rule(d)})

    lossy.__code__ = lossy.__code__.replace(co_name="backpropagate")
    monkeypatch.setattr(minitorch.scalar, "backpropagate", lossy)
    nodes, walk = forward("numbers", TWICE, AT)["nodes"], backward("numbers", TWICE, AT)
    assert "replaced instead of added" in " ".join(_all_faults(nodes, walk))


def test_a_wrong_order_is_seen(monkeypatch) -> None:
    right = minitorch.autodiff.topological_sort

    def early(variable):
        order: list[Any] = right(variable)
        middle = next(i for i, v in enumerate(order) if v.history.last_fn.__name__ == "Mul")
        return [order[0], order[1], order[middle], *order[2:middle], *order[middle + 1 :]]

    monkeypatch.setattr(minitorch.autodiff, "topological_sort", early)
    nodes, walk = forward("numbers", TWICE, AT)["nodes"], backward("numbers", TWICE, AT)
    assert list(flow.early(nodes, walk["order"])) == [2]
    assert "was taken before" in " ".join(_all_faults(nodes, walk))


def _all_faults(nodes, walk) -> list[str]:
    last = flow.moments(nodes, walk)
    return [f for p in range(last + 1) for f in flow.faults(nodes, flow.moment(nodes, walk, p))]


def test_boxes_stand_apart_and_right_of_their_inputs() -> None:
    inputs = [[], [], [0, 1], [2], [2], [3, 4], [5, 0], [6, 6, 1]]
    layout = place(inputs)
    for box, sources in enumerate(inputs):
        assert all(layout.places[s][0] < layout.places[box][0] for s in sources)
    for a in range(len(inputs)):
        for b in range(a):
            (x, y), (u, v) = layout.places[a], layout.places[b]
            assert x != u or abs(y - v) > 0.99
    assert len(layout.routes) == sum(map(len, inputs))
    assert len(layout.routes[6, 1]) == layout.places[6][0] - layout.places[0][0] + 1
