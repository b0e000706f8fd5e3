"""Stochastic gradient descent, on Scalars and on Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import SGD, Module, Optimizer, Parameter, Scalar, tensor

from .strategies import assert_close, backend, backends, sigmoid_in_numpy


@pytest.mark.task1_4
def test_step_on_scalars() -> None:
    a, b = Parameter(Scalar(3.0)), Parameter(Scalar(5.0), name="b")
    (a.value * b.value).backward()
    SGD([a, b], lr=0.1).step()
    assert_close(a.value.data, 3.0 - 0.1 * 5.0)
    assert_close(b.value.data, 5.0 - 0.1 * 3.0)
    for p in (a, b):
        assert p.value.is_leaf()
        assert p.value.derivative is None
    assert b.value.name == "b"


@pytest.mark.task1_4
def test_rate_is_one_unless_given() -> None:
    a = Parameter(Scalar(3.0))
    (a.value * 4.0).backward()
    SGD([a]).step()
    assert a.value.data == -1.0


@pytest.mark.task1_4
def test_zero_grad_of_scalars() -> None:
    a = Parameter(Scalar(3.0))
    optim = SGD([a], lr=1.0)
    (a.value * 4.0).backward()
    optim.zero_grad()
    assert a.value.derivative is None
    optim.step()
    assert a.value.data == 3.0


@pytest.mark.task1_4
def test_parameter_without_derivative_stays() -> None:
    a, unused = Parameter(Scalar(3.0)), Parameter(Scalar(7.0))
    (a.value * 4.0).backward()
    SGD([a, unused], lr=1.0).step()
    assert unused.value.data == 7.0


@pytest.mark.task1_4
def test_scalars_reach_a_minimum() -> None:
    """(x - 2)² + (y + 1)²"""
    x, y = Parameter(Scalar(10.0)), Parameter(Scalar(10.0))
    optim = SGD([x, y], lr=0.1)
    for _ in range(100):
        optim.zero_grad()
        loss = (x.value - 2.0) * (x.value - 2.0) + (y.value + 1.0) * (y.value + 1.0)
        loss.backward()
        optim.step()
    assert_close(x.value.data, 2.0, rtol=1e-6)
    assert_close(y.value.data, -1.0, rtol=1e-6)


@pytest.mark.task1_4
def test_optimizer_takes_parameters() -> None:
    with pytest.raises(TypeError, match="Parameter"):
        SGD([Scalar(1.0)])  # type: ignore[list-item]
    with pytest.raises(NotImplementedError):
        Optimizer([]).step()


@backends("task2_4")
def test_step_on_tensors(backend_name: str) -> None:
    p = Parameter(tensor([1.0, 2.0], backend=backend(backend_name)))
    optim = SGD([p], lr=0.5)
    (p.value * p.value).sum().backward()
    optim.step()
    assert p.value.to_numpy().tolist() == [0.0, 0.0]
    assert p.value.is_leaf()
    assert p.value.grad is None
    (p.value + 1.0).sum().backward()
    optim.zero_grad()
    assert p.value.grad is None


@pytest.mark.task2_4
def test_steps_are_those_of_the_formula() -> None:
    class Line(Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(tensor([[0.5, -0.25], [0.125, 1.0]]))
            self.b = Parameter(tensor([0.1, -0.2]))

        def forward(self, x: Any) -> Any:
            return (
                (x.view(3, 2, 1) * self.w.value.view(1, 2, 2)).sum(1).view(3, 2) + self.b.value
            ).sigmoid()

    points = [[0.3, 0.7], [0.9, 0.1], [-0.4, 0.5]]
    model = Line()
    w, b, x = model.w.value.to_numpy(), model.b.value.to_numpy(), np.array(points)
    optim = SGD(model.parameters(), lr=0.3)
    for _ in range(5):
        optim.zero_grad()
        model(tensor(points)).sum().backward()
        optim.step()
        out = sigmoid_in_numpy(x @ w + b)
        slope = out * (1.0 - out)
        w, b = w - 0.3 * x.T @ slope, b - 0.3 * slope.sum(0)
    assert_close(model.w.value.to_numpy(), w)
    assert_close(model.b.value.to_numpy(), b)
    assert minitorch.optim.SGD is SGD
