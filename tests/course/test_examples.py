"""Every example of the docstrings runs, and every example of the course's guide.

Those of our own pages: `tests/docs`.
"""

from __future__ import annotations

import doctest
import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import (
    Context,
    Module,
    Parameter,
    Scalar,
    ScalarFunction,
    central_difference,
    operators,
    tensor,
)

from .strategies import assert_close

PACKAGE = Path(minitorch.__file__).parent


def module_names() -> list[str]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if parts[-1] != "__main__" and "app" not in parts and b">>>" in path.read_bytes():
            found.append(name)
    return found


@pytest.mark.parametrize("name", module_names())
def test_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


# --- The guide, lesson 0 ----------------------------------------------------------------


@pytest.mark.task0_3
def test_guide_functional() -> None:
    def combine3(fn: Any) -> Any:
        def new_fn(a: float, b: float, c: float) -> float:
            return fn(fn(a, b), c)

        return new_fn

    assert combine3(operators.add)(1, 3, 5) == 9
    assert combine3(operators.mul)(1, 3, 5) == 15


@pytest.mark.task0_3
def test_guide_loss() -> None:
    """The ML primer: a linear model, its sigmoid, its loss."""

    def point_loss(x: float) -> float:
        return -math.log(minitorch.operators.sigmoid(-x))

    def forward(x1: float, x2: float) -> float:
        return 1 * x1 + 1 * x2 - 0.9

    assert_close(forward(0.5, 0.5), 0.1)
    assert_close(point_loss(0.0), math.log(2))
    assert point_loss(-5.0) < 0.01 < 5.0 < point_loss(5.0)


class Module4(Module):
    def __init__(self) -> None:
        super().__init__()
        self.p3 = Parameter(15)


class Module3(Module):
    def __init__(self) -> None:
        super().__init__()
        self.c = Module4()


class Module2(Module):
    def __init__(self) -> None:
        super().__init__()
        self.p2 = Parameter(10)


class Module1(Module):
    def __init__(self) -> None:
        super().__init__()
        self.p1 = Parameter(5)
        self.a = Module2()
        self.b = Module3()


@pytest.mark.task0_4
def test_guide_modules() -> None:
    assert str(Module1().named_parameters()) == "[('p1', 5), ('a.p2', 10), ('b.c.p3', 15)]"
    assert str(Module1().modules()) == "[Module2(), Module3(\n  (c): Module4()\n)]"
    module1 = Module1()
    module1.train()
    assert module1.training
    assert module1.a.training
    module1.eval()
    assert not module1.training


class OtherModule(Module):
    pass


class MyModule(Module):
    def __init__(self) -> None:
        super().__init__()
        self.parameter1 = Parameter(15)
        self.data = 25
        self.sub_module = OtherModule()


@pytest.mark.task0_4
def test_guide_my_module() -> None:
    assert str(MyModule().named_parameters()) == "[('parameter1', 15)]"
    assert MyModule().data == 25


# --- The guide, lesson 1 ----------------------------------------------------------------


@pytest.mark.task1_1
def test_guide_derivatives() -> None:
    for x in (-1.0, 0.3, 2.0):
        slope = central_difference(lambda x: math.sin(2 * x), x)
        assert_close(slope, 2 * math.cos(2 * x), rtol=1e-6)
        slope = central_difference(lambda x, y: math.sin(x) + 2 * math.cos(y), x, 0.5, arg=1)
        assert_close(slope, -2 * math.sin(0.5), rtol=1e-6)
        s = operators.sigmoid(x)
        assert_close(central_difference(operators.sigmoid, x), s * (1 - s), rtol=1e-6)
        assert_close(central_difference(operators.exp, x), math.exp(x), rtol=1e-6)
        assert_close(central_difference(operators.relu, x), float(x > 0), rtol=1e-6)
    assert_close(central_difference(lambda x: x * x + 1.0, 2.0), 4.0, rtol=1e-6)


@pytest.mark.task1_2
def test_guide_history() -> None:
    y = Scalar(10) + Scalar(30)
    assert repr(y.history) == (
        "ScalarHistory(last_fn=<class 'minitorch.scalar_functions.Add'>, "
        "ctx=Context(no_grad=False, saved_values=()), "
        "inputs=[Scalar(10.000000), Scalar(30.000000)])"
    )


class Sin(ScalarFunction):
    @staticmethod
    def forward(ctx: Context, x: float) -> float:
        ctx.save_for_backward(x)
        return math.sin(x)

    @staticmethod
    def backward(ctx: Context, d_output: float) -> float:
        (x,) = ctx.saved_values
        return math.cos(x) * d_output


@pytest.mark.task1_3
def test_guide_sin() -> None:
    ctx = Context()
    assert Sin.forward(ctx, 0.5) == math.sin(0.5)
    assert Sin.backward(ctx, 1) == math.cos(0.5)
    assert Sin.apply(0.5).data == math.sin(0.5)


@pytest.mark.task1_4
def test_guide_three_scalars() -> None:
    a, b, c = Scalar(1), Scalar(2), Scalar(3)
    (a + b + c).backward()
    assert (a.derivative, b.derivative, c.derivative) == (1.0, 1.0, 1.0)


# --- The guide, lesson 2 ----------------------------------------------------------------


@pytest.mark.task2_1
def test_guide_strides() -> None:
    matrix = minitorch.TensorData(list(range(10)), (5, 2))
    assert matrix.strides == (2, 1)
    turned = matrix.permute(1, 0)
    assert turned.shape == (2, 5)
    assert turned.strides == (1, 2)
    assert turned._storage is matrix._storage
    assert all(turned.get((j, i)) == matrix.get((i, j)) for i, j in matrix.indices())
    assert minitorch.TensorData([0] * 18, (2, 3, 3)).size == 18


@pytest.mark.task2_3
def test_guide_view() -> None:
    matrix = tensor(np.arange(10.0).reshape(5, 2).tolist())
    viewed = matrix.view(1, 5, 2)
    assert viewed.shape == (1, 5, 2)
    assert viewed[0, 3, 1] == matrix[3, 1]


@pytest.mark.task2_3
def test_guide_broadcasting() -> None:
    vector1 = tensor([1, 2, 3])
    assert str(vector1 + tensor([1])) == "[2.00 3.00 4.00]"
    matrix1 = tensor(np.arange(15.0).reshape(5, 3).tolist())
    ones = tensor([[1 for _ in range(3)] for _ in range(5)])
    assert_close((matrix1 + tensor([1])).to_numpy(), (matrix1 + ones).to_numpy())
    vector2 = tensor([2, 2, 3])
    assert_close((matrix1 * vector2).to_numpy(), (matrix1 * vector2.view(1, 3)).to_numpy())
    vector3 = tensor([1, 2, 3, 4, 5]).view(5, 1)
    assert (matrix1 + vector3)[4, 2] == 14 + 5
    out = minitorch.zeros((2, 3, 1)) + minitorch.zeros((7, 2, 1, 5))
    assert out.shape == (7, 2, 3, 5)


@pytest.mark.task2_3
def test_guide_matmul_by_broadcasting() -> None:
    """B times A transposed, where A is 3 x 2 and B is 2 x 2."""
    a, b = tensor([[1, 2], [3, 4], [5, 6]]), tensor([[1, 0], [2, 1]])
    out = (b.view(2, 1, 2) * a.view(1, 3, 2)).sum(2).view(2, 3)
    assert out.to_numpy().tolist() == [[1, 3, 5], [4, 10, 16]]


@pytest.mark.task2_3
def test_guide_operations() -> None:
    tensor_a = tensor([[1, 2, 3], [4, 5, 6]])
    assert tensor_a.sum(1).to_numpy().tolist() == [[6], [15]]
    assert tensor_a.mean(1).to_numpy().tolist() == [[2], [5]]
    assert tensor_a.sum(0).shape == (1, 3)


@pytest.mark.task2_4
def test_guide_gradient_of_a_sum() -> None:
    tensor1 = tensor([1, 2, 3])
    tensor1.sum().backward()
    assert str(tensor1.grad) == "[1.00 1.00 1.00]"
    assert tensor1.grad is not None
    assert tensor1.grad.shape == (3,)


# --- The guide, lesson 4 ----------------------------------------------------------------


def unroll(input: Any, T: int, K: int) -> Any:
    return tensor([[input[i + k] if i + k < T else 0 for k in range(K)] for i in range(T)])


@pytest.mark.task4_1
def test_guide_convolution() -> None:
    input, weight = tensor([1, 2, 3, 4, 5, 6]), tensor([5, 2, 3])
    unrolled = unroll(input, 6, 3)
    assert str(unrolled).split("\n")[1:] == [
        "    [1.00 2.00 3.00]",
        "    [2.00 3.00 4.00]",
        "    [3.00 4.00 5.00]",
        "    [4.00 5.00 6.00]",
        "    [5.00 6.00 0.00]",
        "    [6.00 0.00 0.00]]",
    ]
    output = (unrolled @ weight.view(3, 1)).view(6)
    assert str(output) == "[18.00 28.00 38.00 48.00 37.00 30.00]"
    convolved = minitorch.conv1d(input.view(1, 1, 6), weight.view(1, 1, 3)).view(6)
    assert str(convolved) == str(output)


@pytest.mark.task4_3
def test_guide_pooling() -> None:
    """A (8,) input viewed as (4, 2) and reduced over the second dimension."""
    pooled = tensor([1, 2, 3, 4, 5, 6, 7, 8]).view(4, 2).mean(1).view(4)
    assert str(pooled) == "[1.50 3.50 5.50 7.50]"


@pytest.mark.task4_4
def test_guide_softmax() -> None:
    scores = tensor([1.0, 3.0, 2.0])
    assert str(minitorch.argmax(scores, 0)) == "[0.00 1.00 0.00]"
    e = np.exp([1.0, 3.0, 2.0])
    assert_close(minitorch.softmax(scores, 0).to_numpy(), e / e.sum())
    assert_close(minitorch.logsoftmax(scores, 0).to_numpy(), np.log(e / e.sum()), atol=3e-6)
