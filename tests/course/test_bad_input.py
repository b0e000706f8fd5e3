"""Wrong calls, one row each: what is called, the error it raises, what the message says."""

# Rows pass wrong types on purpose:
# pyright: reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false

from __future__ import annotations

import gzip
import re
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import (
    SGD,
    IndexingError,
    Module,
    Parameter,
    Scalar,
    Tensor,
    TensorBackend,
    TensorData,
    autodiff,
    operators,
    scalar_functions,
    tensor,
)

# A row: its name, the call, the documented exception, a pattern that its message contains.
Row = tuple[str, Callable[[], Any], type[BaseException], str]
# The same for calls that are made on every backend.
BackendRow = tuple[str, Callable[[TensorBackend], Any], type[BaseException], str]

pytestmark = pytest.mark.timeout(120)


def rows(task: str, table: list[Any]) -> list[Any]:
    mark = getattr(pytest.mark, task)
    return [pytest.param(*row[1:], id=row[0], marks=mark) for row in table]


def check(call: Callable[[], Any], error: type[BaseException], pattern: str) -> None:
    with pytest.raises(error, match=pattern) as raised:
        call()
    assert not isinstance(raised.value, AssertionError) or error is AssertionError


# --- Lesson 0: operators, modules -------------------------------------------------------------


class Forgetful(Module):
    """Assigns before it calls super().__init__()."""

    def __init__(self) -> None:
        self.weight = Parameter(1.0)


class Silent(Module):
    """Has no forward."""


OPERATORS: list[Row] = [
    ("inv-of-0", lambda: operators.inv(0.0), ZeroDivisionError, "division by zero"),
    ("inv_back-of-0", lambda: operators.inv_back(0.0, 1.0), ZeroDivisionError, "division by zero"),
    ("log-of-negative", lambda: operators.log(-1.0), ValueError, "math domain|positive"),
    ("exp-too-large", lambda: operators.exp(1e4), OverflowError, "range"),
    ("add-text", lambda: operators.add("a", 1), TypeError, "str"),
    ("lt-text", lambda: operators.lt("a", 1), TypeError, "str"),
]

FUNCTIONAL: list[Row] = [
    ("map-over-number", lambda: operators.map(operators.neg)(5), TypeError, "iterable"),
    ("zipWith-number", lambda: operators.zipWith(operators.add)([1], 5), TypeError, "iter"),
    ("sum-of-number", lambda: operators.sum(5), TypeError, "iterable"),
    ("reduce-not-function", lambda: operators.reduce(3, 0)([1]), TypeError, "callable"),
]

MODULES: list[Row] = [
    ("unknown-attribute", lambda: Module().weight, AttributeError, "'Module'.*'weight'"),
    ("unknown-of-subclass", lambda: Silent().bias, AttributeError, "'Silent'.*'bias'"),
    ("no-super-init", Forgetful, AttributeError, r"Forgetful.*super\(\).__init__\(\).*'weight'"),
    ("no-forward", lambda: Silent()(1.0), NotImplementedError, "Silent.*forward"),
    ("delete-unknown", lambda: delattr(Module(), "weight"), AttributeError, "weight"),
    ("parameter-name-number", lambda: Module().add_parameter(5, 1.0), TypeError, "string|str"),
    ("parameter-no-value", lambda: Parameter(), TypeError, "'x'"),
    ("private-dict", lambda: Module()._buffers, AttributeError, "_buffers"),
]

DATA_SETS: list[Row] = [
    ("unknown-data-set", lambda: minitorch.datasets["Moon"](5), KeyError, "Moon"),
    ("negative-points", lambda: minitorch.simple(-1), ValueError, "-1"),
    ("negative-spiral", lambda: minitorch.spiral(-2), ValueError, "-2"),
    ("half-a-point", lambda: minitorch.xor(2.5), TypeError, "float"),
    ("points-text", lambda: minitorch.circle("ten"), TypeError, "str"),
]

OPTIMIZERS: list[Row] = [
    ("sgd-of-numbers", lambda: SGD([1.0]), TypeError, "Parameters, not float"),
    ("sgd-of-tensors", lambda: SGD([tensor([1.0])]), TypeError, "Parameters, not Tensor"),
    ("sgd-of-module", lambda: SGD(Module()), TypeError, "Module"),
    ("sgd-of-names", lambda: SGD(["a"]), TypeError, "Parameters, not str"),
    ("sgd-rate-text", lambda: SGD([], lr="fast"), TypeError, "lr.*'fast'"),
    ("sgd-rate-negative", lambda: SGD([], lr=-0.1), ValueError, r"lr.*-0\.1"),
    ("sgd-rate-nan", lambda: SGD([], lr=float("nan")), ValueError, "lr.*nan"),
    ("optimizer-step", lambda: minitorch.Optimizer([]).step(), NotImplementedError, "Optimizer"),
]


@pytest.mark.parametrize(
    ("call", "error", "pattern"),
    [
        *rows("task0_1", OPERATORS),
        *rows("task0_3", FUNCTIONAL),
        *rows("task0_4", MODULES),
        *rows("task0_4", OPTIMIZERS),
        *rows("task0_2", DATA_SETS),
    ],
)
def test_lesson_0(call: Callable[[], Any], error: type[BaseException], pattern: str) -> None:
    check(call, error, pattern)


# --- Lesson 1: derivatives and scalars --------------------------------------------------------


class OneForTwo(minitorch.ScalarFunction):
    """Returns one derivative for two inputs."""

    @staticmethod
    def forward(ctx: minitorch.Context, a: float, b: float) -> float:
        return a * b

    @staticmethod
    def backward(ctx: minitorch.Context, d_output: float) -> float:
        return d_output


class NoBackward(minitorch.ScalarFunction):
    """Has no derivative."""

    @staticmethod
    def forward(ctx: minitorch.Context, a: float) -> float:
        return a


class ForwardOfText(minitorch.ScalarFunction):
    """Computes something that is no number."""

    @staticmethod
    def forward(ctx: minitorch.Context, a: float) -> Any:
        return "text"


class WrongSquare(minitorch.ScalarFunction):
    """Forgets the factor 2."""

    @staticmethod
    def forward(ctx: minitorch.Context, a: float) -> float:
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx: minitorch.Context, d_output: float) -> float:
        return ctx.saved_values[0] * d_output


CENTRAL_DIFFERENCE: list[Row] = [
    (
        "difference-argument",
        lambda: minitorch.central_difference(operators.add, 1.0, 2.0, arg=2),
        IndexError,
        "arg=2.*2 values",
    ),
    (
        "difference-of-nothing",
        lambda: minitorch.central_difference(operators.id),
        IndexError,
        "arg=0.*0 values",
    ),
    (
        "difference-of-text",
        lambda: minitorch.central_difference(operators.id, "a"),
        TypeError,
        "str",
    ),
]

SCALARS: list[Row] = [
    ("scalar-of-text", lambda: Scalar("one"), TypeError, "Scalar.*'one'"),
    ("scalar-of-digits", lambda: Scalar("3.5"), TypeError, r"Scalar.*'3\.5'"),
    ("scalar-of-nothing", lambda: Scalar(None), TypeError, "Scalar.*None"),
    ("scalar-of-list", lambda: Scalar([1.0]), TypeError, "Scalar.*list|Scalar.*\\[1"),
    ("scalar-plus-text", lambda: Scalar(1.0) + "a", TypeError, "'a'|str"),
    ("text-times-scalar", lambda: "a" * Scalar(1.0), TypeError, "'a'|str"),
    ("scalar-less-than-nothing", lambda: Scalar(1.0) < None, TypeError, "None"),
    ("scalar-times-tensor", lambda: Scalar(1.0) * tensor([1.0]), TypeError, "Tensor|1\\.00"),
    ("scalar-over-0", lambda: Scalar(1.0) / 0.0, ZeroDivisionError, "division by zero"),
    ("scalar-log-negative", lambda: Scalar(-1.0).log(), ValueError, "math domain|positive"),
    ("unknown-method", lambda: Scalar(1.0).tanh(), AttributeError, "tanh"),
    ("too-few-inputs", lambda: scalar_functions.Add.apply(1.0), TypeError, "forward.*'b'"),
    ("too-many-inputs", lambda: scalar_functions.Neg.apply(1.0, 2.0), TypeError, "forward"),
    ("no-forward", lambda: minitorch.ScalarFunction.apply(1.0), NotImplementedError, "forward"),
    (
        "forward-gives-text",
        lambda: ForwardOfText.apply(Scalar(1.0)),
        TypeError,
        "ForwardOfText.*forward.*str|ForwardOfText.*forward.*'text'",
    ),
]

CHAIN_RULE: list[Row] = [
    ("chain-rule-of-leaf", lambda: Scalar(2.0).chain_rule(1.0), RuntimeError, "chain_rule"),
    (
        "chain-rule-of-constant",
        lambda: Scalar(2.0, back=None).chain_rule(1.0),
        RuntimeError,
        r"Scalar\(2\.000000\).*chain_rule",
    ),
    (
        "derivatives-do-not-match",
        lambda: OneForTwo.apply(Scalar(1.0), Scalar(2.0)).chain_rule(1.0),
        RuntimeError,
        "OneForTwo.*1 derivative.*2 inputs",
    ),
]

SCALAR_BACKWARD: list[Row] = [
    ("backward-of-constant", lambda: Scalar(1.0, back=None).backward(), RuntimeError, "history"),
    (
        "accumulate-on-result",
        lambda: (Scalar(1.0) + 1.0).accumulate_derivative(1.0),
        RuntimeError,
        "leaf",
    ),
    (
        "no-backward",
        lambda: NoBackward.apply(Scalar(1.0)).backward(),
        NotImplementedError,
        "backward",
    ),
    (
        "wrong-derivative",
        lambda: minitorch.derivative_check(WrongSquare.apply, Scalar(3.0)),
        AssertionError,
        "input 0.*gives 3.*6",
    ),
    ("sort-a-number", lambda: autodiff.topological_sort(3.0), AttributeError, "unique_id"),
]


@pytest.mark.parametrize(
    ("call", "error", "pattern"),
    [
        *rows("task1_1", CENTRAL_DIFFERENCE),
        *rows("task1_2", SCALARS),
        *rows("task1_3", CHAIN_RULE),
        *rows("task1_4", SCALAR_BACKWARD),
    ],
)
def test_lesson_1(call: Callable[[], Any], error: type[BaseException], pattern: str) -> None:
    check(call, error, pattern)


# --- Lesson 2: storage, shapes, strides, indices ----------------------------------------------

SIX = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def six() -> TensorData:
    return TensorData(SIX, (2, 3))


TENSOR_DATA: list[Row] = [
    ("too-short", lambda: TensorData([1, 2, 3], (2, 2)), IndexingError, r"3.*\(2, 2\).*4"),
    ("too-long", lambda: TensorData(SIX, (2, 2)), IndexingError, r"6.*\(2, 2\).*4"),
    ("nested-storage", lambda: TensorData([[1, 2]], (1, 2)), IndexingError, r"flat.*\(1, 2\)"),
    ("storage-text", lambda: TensorData(["a"], (1,)), TypeError, "storage.*numbers"),
    ("storage-digits", lambda: TensorData(["1"], (1,)), TypeError, "storage.*numbers"),
    ("storage-none", lambda: TensorData(None, (1,)), TypeError, "storage.*numbers"),
    ("storage-of-none", lambda: TensorData([None], (1,)), TypeError, "storage.*numbers"),
    ("storage-complex", lambda: TensorData([1j], (1,)), TypeError, "storage.*numbers"),
    ("negative-size", lambda: TensorData([], (-1,)), IndexingError, r"\(-1,\).*negative"),
    ("fractional-size", lambda: TensorData([1], (1.0,)), TypeError, r"\(1\.0,\).*whole"),
    ("text-size", lambda: TensorData([1], ("1",)), TypeError, r"shape.*'1'"),
    ("bool-size", lambda: TensorData([1], (True,)), TypeError, "shape.*True"),
    ("shape-number", lambda: TensorData([1], 1), TypeError, "int"),
    ("shape-none", lambda: TensorData([1], None), TypeError, "None"),
    ("33-dimensions", lambda: TensorData([1], (1,) * 33), IndexingError, "33 dimensions.*32"),
    ("few-strides", lambda: TensorData(SIX, (2, 3), (3,)), IndexingError, r"\(3,\).*\(2, 3\)"),
    ("many-strides", lambda: TensorData(SIX, (6,), (1, 1)), IndexingError, r"\(1, 1\).*\(6,\)"),
    ("far-strides", lambda: TensorData(SIX, (2, 3), (6, 1)), IndexingError, r"\(6, 1\).*\(2, 3\)"),
    ("negative-stride", lambda: TensorData(SIX, (6,), (-1,)), IndexingError, r"\(-1,\)"),
    ("fractional-stride", lambda: TensorData([1], (1,), (1.5,)), TypeError, r"strides.*1\.5"),
    ("index-too-large", lambda: six().index((0, 3)), IndexingError, r"\(0, 3\).*\(2, 3\)"),
    ("index-negative", lambda: six().index((-1, 0)), IndexingError, r"\(-1, 0\).*\(2, 3\)"),
    ("index-too-short", lambda: six().index((1,)), IndexingError, r"\(1,\).*\(2, 3\)"),
    ("index-too-long", lambda: six().index((0, 0, 0)), IndexingError, r"\(0, 0, 0\).*\(2, 3\)"),
    ("index-number", lambda: six().index(0), IndexingError, r"\(0,\).*\(2, 3\)"),
    ("index-fraction", lambda: six().index((0, 0.5)), IndexingError, r"0\.5"),
    ("index-text", lambda: six().index("01"), IndexingError, "'0'"),
    ("index-none", lambda: six().index(None), TypeError, "index.*None"),
    ("index-slice", lambda: six().index(slice(0, 1)), TypeError, "index.*slice"),
    ("index-slice-inside", lambda: six().index((slice(None), 0)), IndexingError, "slice"),
    ("index-of-0-dims", lambda: TensorData([1], ()).index((0, 0)), IndexingError, r"\(0, 0\)"),
    ("get-outside", lambda: six().get((2, 0)), IndexingError, r"\(2, 0\).*\(2, 3\)"),
    ("set-outside", lambda: six().set((2, 0), 1.0), IndexingError, r"\(2, 0\).*\(2, 3\)"),
    ("set-text", lambda: six().set((0, 0), "x"), TypeError, "'x'|str"),
    ("set-list", lambda: six().set((0, 0), [1.0, 2.0]), TypeError, "list|sequence"),
    ("permute-short", lambda: six().permute(0), IndexingError, r"\(0,\).*\(2, 3\)"),
    ("permute-twice", lambda: six().permute(0, 0), IndexingError, r"\(0, 0\).*\(2, 3\)"),
    ("permute-outside", lambda: six().permute(0, 2), IndexingError, r"\(0, 2\).*\(2, 3\)"),
    ("permute-negative", lambda: six().permute(0, -1), IndexingError, r"\(0, -1\)"),
    ("permute-tuple", lambda: six().permute((1, 0)), IndexingError, r"\(1, 0\)"),
]

BROADCASTING: list[Row] = [
    ("2-with-3", lambda: minitorch.shape_broadcast((2,), (3,)), IndexingError, r"\(2,\).*\(3,\)"),
    (
        "from-the-right",
        lambda: minitorch.shape_broadcast((5, 2), (5,)),
        IndexingError,
        r"\(5, 2\).*\(5,\).*2 and 5",
    ),
    (
        "in-the-middle",
        lambda: minitorch.shape_broadcast((5, 7, 5, 1), (1, 5, 1, 5)),
        IndexingError,
        r"\(5, 7, 5, 1\).*\(1, 5, 1, 5\).*7 and 5",
    ),
    ("0-with-2", lambda: minitorch.shape_broadcast((0,), (2,)), IndexingError, r"\(0,\).*\(2,\)"),
    (
        "static-twin",
        lambda: TensorData.shape_broadcast((2, 3), (3, 2)),
        IndexingError,
        r"\(2, 3\).*\(3, 2\)",
    ),
]


@pytest.mark.parametrize(
    ("call", "error", "pattern"), [*rows("task2_1", TENSOR_DATA), *rows("task2_2", BROADCASTING)]
)
def test_tensor_data(call: Callable[[], Any], error: type[BaseException], pattern: str) -> None:
    check(call, error, pattern)


# --- Lesson 2: making tensors, backends, gradients --------------------------------------------

MAKING: list[Row] = [
    ("ragged", lambda: tensor([[1, 2], [3]]), TypeError, "evenly nested"),
    ("text", lambda: tensor("abc"), TypeError, "tensor:.*numbers"),
    ("digits", lambda: tensor(["1", "2"]), TypeError, "tensor:.*numbers"),
    ("none", lambda: tensor(None), TypeError, "tensor:.*numbers"),
    ("list-of-none", lambda: tensor([None, 1.0]), TypeError, "tensor:.*numbers"),
    ("complex", lambda: tensor([1j]), TypeError, "tensor:.*numbers"),
    ("dict", lambda: tensor({"a": 1}), TypeError, "tensor:.*numbers"),
    ("scalars", lambda: tensor([Scalar(1.0)]), TypeError, "tensor:.*numbers"),
    ("tensors", lambda: tensor([tensor([1.0]), tensor([2.0])]), TypeError, "tensor:.*numbers"),
    ("tensor-of-list", lambda: Tensor([1, 2]), TypeError, "TensorData, not list.*tensor"),
    ("make-too-short", lambda: Tensor.make([1, 2], (3,)), IndexingError, r"2.*\(3,\)"),
    ("zeros-negative", lambda: minitorch.zeros((2, -1)), IndexingError, r"\(2, -1\)"),
    ("zeros-number", lambda: minitorch.zeros(3), TypeError, "int"),
    ("zeros-fraction", lambda: minitorch.zeros((1.5,)), TypeError, "float|1\\.5"),
    ("rand-negative", lambda: minitorch.rand((2, -1)), IndexingError, r"\(2, -1\)"),
    ("rand-fraction", lambda: minitorch.rand((1.5,)), TypeError, "float|1\\.5"),
    ("backend-text", lambda: tensor([1.0], backend="fast"), TypeError, "TensorBackend.*str"),
    (
        "backend-is-ops",
        lambda: tensor([1.0], backend=minitorch.SimpleOps),
        TypeError,
        r"TensorBackend\(SimpleOps\)|TensorBackend.*SimpleOps",
    ),
    ("backend-of-text", lambda: TensorBackend("fast"), TypeError, "TensorOps.*str|TensorOps.*fast"),
    (
        "backend-of-backend",
        lambda: TensorBackend(minitorch.SimpleBackend),
        TypeError,
        "TensorOps",
    ),
    ("ops-map", lambda: minitorch.TensorOps.map(operators.neg), NotImplementedError, "map"),
    ("unknown-name", lambda: minitorch.TensorFlow, AttributeError, "TensorFlow"),
    ("unknown-method", lambda: tensor([1.0]).reshape(1), AttributeError, "reshape"),
]


class OneGradientForTwo(minitorch.Function):
    """Returns one gradient for two arguments."""

    @staticmethod
    def forward(ctx: minitorch.Context, a: Tensor, b: Tensor) -> Tensor:
        return a.f.add_zip(a, b)

    @staticmethod
    def backward(ctx: minitorch.Context, grad_output: Tensor) -> Tensor:
        return grad_output


class ForwardOfNumber(minitorch.Function):
    """Computes something that is no tensor."""

    @staticmethod
    def forward(ctx: minitorch.Context, a: Tensor) -> Any:
        return 3.0


class WrongTensorSquare(minitorch.Function):
    """Forgets the factor 2."""

    @staticmethod
    def forward(ctx: minitorch.Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.mul_zip(a, a)

    @staticmethod
    def backward(ctx: minitorch.Context, grad_output: Tensor) -> Tensor:
        return grad_output.f.mul_zip(ctx.saved_values[0], grad_output)


FUNCTIONS: list[Row] = [
    ("function-of-numbers", lambda: minitorch.Add.apply(1.0, 2.0), TypeError, "Add.*Tensor"),
    ("forward-gives-number", lambda: ForwardOfNumber.apply(tensor([1.0])), TypeError, "float"),
    ("no-forward", lambda: minitorch.Function.apply(tensor([1.0])), NotImplementedError, "forward"),
    (
        "gradients-do-not-match",
        lambda: OneGradientForTwo.apply(tensor([1.0]), tensor([2.0])).backward(),
        RuntimeError,
        "OneGradientForTwo.*1 gradient.*2 arguments",
    ),
    (
        "wrong-gradient",
        lambda: minitorch.grad_check(WrongTensorSquare.apply, tensor([3.0])),
        AssertionError,
        r"input 0.*\(1,\).*central difference",
    ),
    (
        "no-gradient",
        lambda: minitorch.grad_check(lambda a, b: a * 2.0, tensor([3.0]), tensor([1.0, 2.0])),
        AssertionError,
        r"input 1.*\(2,\)",
    ),
    (
        "difference-index",
        lambda: minitorch.grad_central_difference(lambda a: a, tensor([3.0]), ind=(1,)),
        IndexingError,
        r"\(1,\)",
    ),
    (
        "difference-argument",
        lambda: minitorch.grad_central_difference(lambda a: a, tensor([3.0]), arg=1, ind=(0,)),
        IndexError,
        "arg|range",
    ),
    ("truth-of-many", lambda: bool(tensor([1.0, 0.0])), RuntimeError, r"\(2,\)"),
    ("float-of-tensor", lambda: float(tensor([1.0, 2.0])), TypeError, "Tensor"),
]


@pytest.mark.parametrize(
    ("call", "error", "pattern"), [*rows("task2_3", MAKING), *rows("task2_4", FUNCTIONS)]
)
def test_lesson_2(call: Callable[[], Any], error: type[BaseException], pattern: str) -> None:
    check(call, error, pattern)


# --- The same wrong calls on every backend ----------------------------------------------------

BACKENDS = {"simple": "SimpleOps", "fast": "FastOps", "cuda": "CudaOps"}


@cache
def backend_named(name: str) -> TensorBackend:
    if name == "simple":
        return minitorch.SimpleBackend
    return TensorBackend(getattr(minitorch, BACKENDS[name]))


def ones(backend: TensorBackend, *shape: int, grad: bool = False) -> Tensor:
    size = int(np.prod(shape, dtype=int))
    made = Tensor.make([1.0] * size, shape, backend=backend)
    made.requires_grad_(grad)
    return made


OPERATIONS: list[BackendRow] = [
    ("add", lambda b: ones(b, 2) + ones(b, 3), IndexingError, r"\(2,\).*\(3,\)"),
    ("mul", lambda b: ones(b, 2, 3) * ones(b, 3, 2), IndexingError, r"\(2, 3\).*\(3, 2\)"),
    ("sub", lambda b: ones(b, 4) - ones(b, 5), IndexingError, r"\(4,\).*\(5,\)"),
    ("div", lambda b: ones(b, 4, 1) / ones(b, 3, 2), IndexingError, r"\(4, 1\).*\(3, 2\)"),
    ("less", lambda b: ones(b, 2) < ones(b, 3), IndexingError, r"\(2,\).*\(3,\)"),
    ("equal", lambda b: ones(b, 2) == ones(b, 3), IndexingError, r"\(2,\).*\(3,\)"),
    ("is_close", lambda b: ones(b, 2).is_close(ones(b, 3)), IndexingError, r"\(2,\).*\(3,\)"),
    ("plus-text", lambda b: ones(b, 2) + "a", TypeError, "Tensor.*str"),
    ("none-minus", lambda b: None - ones(b, 2), TypeError, "NoneType"),
    ("times-list", lambda b: ones(b, 2) * [1.0, 2.0], TypeError, "Tensor.*list"),
    ("times-array", lambda b: ones(b, 2) * np.ones(2), TypeError, "Tensor.*ndarray"),
    (
        "array-times",
        lambda b: np.ones(2) * ones(b, 2),
        TypeError,
        "Tensor.*ndarray|ndarray.*Tensor",
    ),
    ("less-than-none", lambda b: ones(b, 2) < None, TypeError, "Tensor.*NoneType"),
    ("times-scalar", lambda b: ones(b, 2) * Scalar(1.0), TypeError, "Tensor.*Scalar"),
    ("sum-dim", lambda b: ones(b, 2, 3).sum(2), IndexingError, r"dim 2.*\(2, 3\)"),
    ("sum-negative-dim", lambda b: ones(b, 2, 3).sum(-3), IndexingError, r"dim -3.*\(2, 3\)"),
    ("sum-fraction", lambda b: ones(b, 2, 3).sum(0.5), TypeError, r"dim.*0\.5"),
    ("sum-text", lambda b: ones(b, 2, 3).sum("rows"), TypeError, "dim.*'rows'"),
    ("sum-bool", lambda b: ones(b, 2, 3).sum(True), TypeError, "dim.*True"),
    ("sum-of-0-dims", lambda b: ones(b).sum(0), IndexingError, r"dim 0.*\(\)"),
    ("mean-dim", lambda b: ones(b, 2, 3).mean(5), IndexingError, r"dim 5.*\(2, 3\)"),
    ("all-dim", lambda b: ones(b, 2, 3).all(4), IndexingError, r"dim 4.*\(2, 3\)"),
    ("view-size", lambda b: ones(b, 2, 3).view(4), IndexingError, r"\(2, 3\).*6.*\(4,\)"),
    ("view-negative", lambda b: ones(b, 2, 3).view(-1), IndexingError, r"\(2, 3\).*\(-1,\)"),
    ("view-fraction", lambda b: ones(b, 2, 3).view(2.0, 3.0), TypeError, r"2\.0"),
    ("view-text", lambda b: ones(b, 2, 3).view("six"), TypeError, "'six'|str"),
    (
        "view-strided",
        lambda b: ones(b, 2, 3).permute(1, 0).view(6),
        IndexingError,
        r"\(3, 2\).*contiguous",
    ),
    ("permute-short", lambda b: ones(b, 2, 3).permute(1), IndexingError, r"\(1,\).*\(2, 3\)"),
    ("permute-twice", lambda b: ones(b, 2, 3).permute(1, 1), IndexingError, r"\(1, 1\).*\(2, 3\)"),
    ("permute-outside", lambda b: ones(b, 2, 3).permute(1, 2), IndexingError, r"\(1, 2\)"),
    ("item", lambda b: ones(b, 2, 3).item(), ValueError, r"item.*\(2, 3\)"),
    ("getitem-outside", lambda b: ones(b, 2, 3)[2, 0], IndexingError, r"\(2, 0\).*\(2, 3\)"),
    ("getitem-negative", lambda b: ones(b, 3)[-1], IndexingError, r"\(-1,\).*\(3,\)"),
    ("getitem-row", lambda b: ones(b, 2, 3)[0], IndexingError, r"\(0,\).*\(2, 3\)"),
    ("getitem-slice", lambda b: ones(b, 3)[0:2], TypeError, "index.*slice"),
    (
        "setitem-outside",
        lambda b: ones(b, 2, 3).__setitem__((0, 3), 1.0),
        IndexingError,
        r"\(0, 3\).*\(2, 3\)",
    ),
    (
        "map-into-small",
        lambda b: b.neg_map(ones(b, 2, 3), ones(b, 3)),
        IndexingError,
        r"\(2, 3\).*\(3,\)",
    ),
    (
        "map-into-other",
        lambda b: b.neg_map(ones(b, 2), ones(b, 3)),
        IndexingError,
        r"\(2,\).*\(3,\)",
    ),
    ("reduce-dim", lambda b: b.add_reduce(ones(b, 2), 1), IndexingError, r"dim 1.*\(2,\)"),
    ("zeros-negative", lambda b: ones(b, 2).zeros((-1, 2)), IndexingError, r"\(-1, 2\)"),
]

GRADIENTS: list[BackendRow] = [
    ("backward-shape", lambda b: ones(b, 2, grad=True).backward(), RuntimeError, r"\(2,\)"),
    (
        "backward-of-constant",
        lambda b: ones(b, 1).backward(),
        RuntimeError,
        r"backward.*\(1,\).*history",
    ),
    (
        "backward-other-shape",
        lambda b: (ones(b, 2, grad=True) * 2.0).backward(ones(b, 3)),
        RuntimeError,
        r"\(2,\).*\(3,\)",
    ),
    (
        "backward-of-number",
        lambda b: (ones(b, 2, grad=True) * 2.0).backward(1.0),
        TypeError,
        r"grad_output.*Tensor.*1\.0",
    ),
    (
        "accumulate-on-result",
        lambda b: (ones(b, 2, grad=True) * 2.0).accumulate_derivative(ones(b, 2)),
        RuntimeError,
        "leaf",
    ),
    (
        "chain-rule-of-leaf",
        lambda b: ones(b, 2, grad=True).chain_rule(ones(b, 2)),
        RuntimeError,
        "chain_rule",
    ),
    (
        "expand-misfit",
        lambda b: ones(b, 2).expand(ones(b, 3)),
        IndexingError,
        r"\(2,\).*\(3,\)",
    ),
]

MATMUL: list[BackendRow] = [
    (
        "inner",
        lambda b: ones(b, 2, 3) @ ones(b, 2, 3),
        IndexingError,
        r"\(2, 3\).*\(2, 3\).*3 and 2",
    ),
    ("vector-left", lambda b: ones(b, 3) @ ones(b, 3, 2), IndexingError, r"\(3,\).*\(3, 2\)"),
    ("vector-right", lambda b: ones(b, 2, 3) @ ones(b, 3), IndexingError, r"\(2, 3\).*\(3,\)"),
    ("0-dims", lambda b: ones(b) @ ones(b, 3, 2), IndexingError, r"\(\).*\(3, 2\)"),
    ("batch", lambda b: ones(b, 2, 2, 3) @ ones(b, 3, 3, 2), IndexingError, r"\(2,\).*\(3,\)"),
    ("number", lambda b: ones(b, 2, 2) @ 2.0, TypeError, "matmul.*float"),
    ("list", lambda b: ones(b, 2, 2) @ [[1.0], [2.0]], TypeError, "matmul.*list"),
]

POOLING: list[BackendRow] = [
    ("tile-dims", lambda b: minitorch.tile(ones(b, 4, 4), (2, 2)), IndexingError, r"\(4, 4\)"),
    (
        "tile-height",
        lambda b: minitorch.tile(ones(b, 1, 1, 5, 4), (2, 2)),
        IndexingError,
        r"\(2, 2\).*5 x 4",
    ),
    (
        "avgpool-width",
        lambda b: minitorch.avgpool2d(ones(b, 1, 1, 4, 5), (2, 2)),
        IndexingError,
        r"\(2, 2\).*4 x 5",
    ),
    (
        "avgpool-0",
        lambda b: minitorch.avgpool2d(ones(b, 1, 1, 4, 4), (0, 2)),
        IndexingError,
        r"\(0, 2\)",
    ),
    (
        "avgpool-negative",
        lambda b: minitorch.avgpool2d(ones(b, 1, 1, 4, 4), (-2, 2)),
        IndexingError,
        r"\(-2, 2\)",
    ),
    (
        "tile-kernel-number",
        lambda b: minitorch.tile(ones(b, 1, 1, 4, 4), 2),
        TypeError,
        "int",
    ),
    (
        "tile-kernel-long",
        lambda b: minitorch.tile(ones(b, 1, 1, 4, 4), (2, 2, 2)),
        IndexingError,
        r"\(2, 2, 2\)",
    ),
]

SOFTMAX: list[BackendRow] = [
    ("maxpool-dims", lambda b: minitorch.maxpool2d(ones(b, 4), (2, 2)), IndexingError, r"\(4,\)"),
    (
        "maxpool-size",
        lambda b: minitorch.maxpool2d(ones(b, 1, 1, 4, 4), (3, 3)),
        IndexingError,
        r"\(3, 3\).*4 x 4",
    ),
    ("max-dim", lambda b: minitorch.max(ones(b, 2, 3), 2), IndexingError, r"dim 2.*\(2, 3\)"),
    ("max-text", lambda b: minitorch.max(ones(b, 2, 3), "x"), TypeError, "dim.*'x'"),
    ("argmax-dim", lambda b: minitorch.argmax(ones(b, 2), 1), IndexingError, r"dim 1.*\(2,\)"),
    ("softmax-dim", lambda b: minitorch.softmax(ones(b, 2), 1), IndexingError, r"dim 1.*\(2,\)"),
    ("softmax-fraction", lambda b: minitorch.softmax(ones(b, 2), 0.5), TypeError, r"0\.5"),
    ("logsoftmax-dim", lambda b: minitorch.logsoftmax(ones(b, 2), -2), IndexingError, r"dim -2"),
    ("dropout-below", lambda b: minitorch.dropout(ones(b, 2), -0.1), ValueError, r"rate.*-0\.1"),
    ("dropout-above", lambda b: minitorch.dropout(ones(b, 2), 1.5), ValueError, r"rate.*1\.5"),
    ("dropout-nan", lambda b: minitorch.dropout(ones(b, 2), float("nan")), ValueError, "rate.*nan"),
    ("dropout-text", lambda b: minitorch.dropout(ones(b, 2), "half"), TypeError, "str"),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("call", "error", "pattern"),
    [
        *rows("task2_3", OPERATIONS),
        *rows("task2_4", GRADIENTS),
        *rows("task3_2", MATMUL),
        *rows("task4_3", POOLING),
        *rows("task4_4", SOFTMAX),
    ],
)
def test_on_every_backend(
    backend: str,
    call: Callable[[TensorBackend], Any],
    error: type[BaseException],
    pattern: str,
) -> None:
    check(lambda: call(backend_named(backend)), error, pattern)


# --- CPU and GPU in one operation ------------------------------------------------------------

PAIRS = [("simple", "cuda"), ("cuda", "fast"), ("fast", "cuda"), ("cuda", "simple")]

MIXTURES: list[tuple[str, Callable[[TensorBackend, TensorBackend], Any], type[Exception], str]] = [
    ("add", lambda a, b: ones(a, 2) + ones(b, 2), RuntimeError, "Add"),
    ("mul", lambda a, b: ones(a, 2) * ones(b, 2), RuntimeError, "Mul"),
    ("div", lambda a, b: ones(a, 2) / ones(b, 2), RuntimeError, "Mul"),
    ("matmul", lambda a, b: ones(a, 2, 2) @ ones(b, 2, 2), RuntimeError, "MatMul"),
    (
        "backward",
        lambda a, b: (ones(a, 2, grad=True) * 2.0).backward(ones(b, 2)),
        RuntimeError,
        "backward",
    ),
]


@pytest.mark.task3_1
@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize(
    ("call", "error", "pattern"), [pytest.param(*row[1:], id=row[0]) for row in MIXTURES]
)
def test_cpu_and_gpu(
    first: str,
    second: str,
    call: Callable[[TensorBackend, TensorBackend], Any],
    error: type[BaseException],
    pattern: str,
) -> None:
    names = f"{BACKENDS[first]}.*{BACKENDS[second]}|{BACKENDS[second]}.*{BACKENDS[first]}"
    check(
        lambda: call(backend_named(first), backend_named(second)),
        error,
        f"{pattern}.*({names})",
    )


# --- Lessons 3 and 4: practice kernels and convolution ----------------------------------------


def on_cuda(*shape: int) -> Tensor:
    return ones(backend_named("cuda"), *shape)


def on_fast(*shape: int) -> Tensor:
    return ones(backend_named("fast"), *shape)


PRACTICE: list[Row] = [
    ("sum-of-matrix", lambda: minitorch.sum_practice(on_cuda(2, 2)), IndexingError, r"\(2, 2\)"),
    ("sum-on-cpu", lambda: minitorch.sum_practice(on_fast(4)), RuntimeError, r"\(4,\).*GPU"),
    ("sum-of-list", lambda: minitorch.sum_practice([1.0]), TypeError, "sum_practice.*list"),
    (
        "mm-sizes",
        lambda: minitorch.mm_practice(on_cuda(2, 2), on_cuda(3, 3)),
        IndexingError,
        r"\(2, 2\).*\(3, 3\)",
    ),
    (
        "mm-oblong",
        lambda: minitorch.mm_practice(on_cuda(2, 3), on_cuda(3, 2)),
        IndexingError,
        r"\(2, 3\).*\(3, 2\)",
    ),
    (
        "mm-too-large",
        lambda: minitorch.mm_practice(on_cuda(33, 33), on_cuda(33, 33)),
        IndexingError,
        r"32.*\(33, 33\)",
    ),
    (
        "mm-strided",
        lambda: minitorch.mm_practice(on_cuda(2, 2).permute(1, 0), on_cuda(2, 2)),
        IndexingError,
        "contiguous",
    ),
    (
        "mm-on-cpu",
        lambda: minitorch.mm_practice(on_fast(2, 2), on_fast(2, 2)),
        RuntimeError,
        r"\(2, 2\).*GPU",
    ),
]

CONVOLUTIONS: list[tuple[str, str, tuple[int, ...], tuple[int, ...], str]] = [
    ("1d-input-dims", "conv1d", (1, 4), (1, 1, 2), r"conv1d.*\(1, 4\)"),
    ("1d-input-4-dims", "conv1d", (1, 1, 4, 4), (1, 1, 2), r"conv1d.*\(1, 1, 4, 4\)"),
    ("1d-weight-dims", "conv1d", (1, 1, 4), (1, 2), r"conv1d.*weight.*\(1, 2\)"),
    ("1d-channels", "conv1d", (1, 2, 4), (1, 3, 2), r"conv1d.*\(1, 2, 4\).*\(1, 3, 2\)"),
    ("2d-input-dims", "conv2d", (1, 1, 4), (1, 1, 2, 2), r"conv2d.*\(1, 1, 4\)"),
    ("2d-weight-dims", "conv2d", (1, 1, 4, 4), (1, 1, 2), r"conv2d.*weight.*\(1, 1, 2\)"),
    (
        "2d-channels",
        "conv2d",
        (1, 2, 4, 4),
        (1, 1, 2, 2),
        r"conv2d.*\(1, 2, 4, 4\).*\(1, 1, 2, 2\)",
    ),
    ("2d-input-vector", "conv2d", (4,), (1, 1, 2, 2), r"conv2d.*\(4,\)"),
]

CONVOLUTION_TYPES: list[Row] = [
    ("list", lambda: minitorch.conv1d([1.0], [2.0]), TypeError, "Conv1dFun.*Tensor"),
    (
        "number-for-weight",
        lambda: minitorch.conv2d(on_fast(1, 1, 2, 2), 3.0),
        TypeError,
        "conv2d.*float|Conv2dFun.*float",
    ),
    (
        "cpu-and-gpu",
        lambda: minitorch.conv1d(on_fast(1, 1, 2), on_cuda(1, 1, 2)),
        RuntimeError,
        "FastOps.*CudaOps",
    ),
    (
        "cpu-tensors-on-cuda",
        lambda: minitorch.cuda_conv.conv1d(on_fast(1, 1, 2), on_fast(1, 1, 2)),
        RuntimeError,
        "GPU|CUDA",
    ),
]


@pytest.mark.parametrize(
    ("call", "error", "pattern"),
    [*rows("task3_3", PRACTICE), *rows("task4_2", CONVOLUTION_TYPES)],
)
def test_lessons_3_and_4(call: Callable[[], Any], error: type[BaseException], pattern: str) -> None:
    check(call, error, pattern)


@pytest.mark.task4_1
@pytest.mark.task4_2
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("name", "input_shape", "weight_shape", "pattern"),
    [pytest.param(*row[1:], id=row[0]) for row in CONVOLUTIONS],
)
def test_convolution_shapes(
    backend: str,
    name: str,
    input_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    pattern: str,
) -> None:
    file = minitorch.cuda_conv if backend == "cuda" else minitorch.fast_conv
    b = backend_named(backend)
    convolve = getattr(file, name)
    check(lambda: convolve(ones(b, *input_shape), ones(b, *weight_shape)), IndexingError, pattern)


# --- Files: data sets and checkpoints ---------------------------------------------------------


def idx(*sizes: int, content: bytes = b"", kind: int = 8) -> bytes:
    return bytes([0, 0, kind, len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes) + content


FILES: list[tuple[str, str, bytes, Callable[[Path], Any], type[Exception], str]] = []


def _files() -> None:
    from minitorch.training.data_files import read_glove, read_idx, read_labelled_sentences

    def images(path: Path) -> Any:
        return read_idx(path, dims=3)

    def vectors(path: Path) -> Any:
        return read_glove(path, 2)

    sentences = read_labelled_sentences
    header = b"sentence\tlabel\n"
    FILES.extend(
        [
            ("idx-empty", "a.idx", b"", images, ValueError, "a.idx.*nothing"),
            ("idx-text", "a.idx", b"<html>", images, ValueError, "a.idx.*3c 68 74 6d"),
            ("idx-dims", "a.idx", idx(3, content=b"abc"), images, ValueError, "00 00 08 01.*3 dim"),
            ("idx-type", "a.idx", idx(1, 1, 1, kind=13), images, ValueError, "00 00 0d 03"),
            ("idx-header", "a.idx", idx(1, 1, 1)[:-2], images, ValueError, "header of 16"),
            ("idx-short", "a.idx", idx(2, 2, 2, content=b"1234567"), images, ValueError, "7.*8"),
            (
                "idx-long",
                "a.idx",
                idx(1, 1, 1, content=b"12"),
                images,
                ValueError,
                "more than 1 bytes.*needs 1",
            ),
            ("idx-huge", "a.idx", idx(2**31, 2**31, 9), images, ValueError, "needs"),
            ("gz-not", "a.gz", b"plain", images, ValueError, "a.gz.*gzip"),
            (
                "gz-cut",
                "a.gz",
                gzip.compress(idx(1, 1, 1))[:-9],
                images,
                ValueError,
                "a.gz.*cut off",
            ),
            ("text-not-utf8", "a.tsv", b"\xff\xfe\x00", sentences, ValueError, "a.tsv.*UTF-8"),
            ("text-empty", "a.tsv", b"", sentences, ValueError, "a.tsv.*first line"),
            ("text-header", "a.tsv", b"label\n1\n", sentences, ValueError, "'label'"),
            ("text-no-tab", "a.tsv", header + b"good\n", sentences, ValueError, "line 2.*'good'"),
            ("text-label", "a.tsv", header + b"a\t1\nb\t2\n", sentences, ValueError, "line 3"),
            ("text-two-tabs", "a.tsv", header + b"a\tb\t1\n", sentences, ValueError, "line 2"),
            ("glove-empty", "a.txt", b"", vectors, ValueError, "a.txt.*no word"),
            ("glove-width", "a.txt", b"the 1 2\nof 1\n", vectors, ValueError, "line 2.*'of'.*1.*2"),
            ("glove-text", "a.txt", b"the 1 x\n", vectors, ValueError, "line 1.*'x'"),
        ]
    )


_files()


@pytest.mark.task4_0
@pytest.mark.parametrize(
    ("name", "content", "read", "error", "pattern"),
    [pytest.param(*row[1:], id=row[0]) for row in FILES],
)
def test_data_files(
    tmp_path: Path,
    name: str,
    content: bytes,
    read: Callable[[Path], Any],
    error: type[BaseException],
    pattern: str,
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    check(lambda: read(path), error, f"(?s){pattern}")


@pytest.mark.task4_0
def test_data_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from minitorch.training import data_files

    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    files = data_files.MNIST["train"]
    check(
        lambda: data_files.find_files(files, download=False),
        FileNotFoundError,
        "(?s)train-images-idx3-ubyte.*MINITORCH_DATA",
    )
    check(lambda: data_files.read_idx(tmp_path / "none.idx", 3), FileNotFoundError, "none.idx")
    check(lambda: data_files.load_mnist("validation"), ValueError, "'validation'")
    check(lambda: data_files.load_sst2("test"), ValueError, "'test'")


@pytest.mark.task4_0
@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        pytest.param(None, "no checkpoint at .*run.npz", id="none"),
        pytest.param(b"", "run.npz", id="empty"),
        pytest.param(b"not a checkpoint", "run.npz", id="text"),
        pytest.param(b"PK\x03\x04" + b"\x00" * 50, "run.npz", id="damaged"),
    ],
)
def test_checkpoint_files(tmp_path: Path, content: bytes | None, pattern: str) -> None:
    from minitorch.training.checkpoint import CheckpointError, load_checkpoint

    path = tmp_path / "run.npz"
    if content is not None:
        path.write_bytes(content)
    check(lambda: load_checkpoint(path), CheckpointError, pattern)


@pytest.mark.task4_0
def test_checkpoint_that_holds_code_is_refused(tmp_path: Path) -> None:
    from minitorch.training.checkpoint import CheckpointError, load_checkpoint

    path = tmp_path / "run.npz"
    np.savez(path, about=np.array([object()], dtype=object), allow_pickle=True)
    check(lambda: load_checkpoint(path), CheckpointError, "run.npz")


class Line(Module):
    def __init__(self, size: int, name: str = "weight") -> None:
        super().__init__()
        self.add_parameter(name, minitorch.rand((size,)))


@pytest.mark.task4_0
@pytest.mark.parametrize(
    ("model", "arrays", "pattern"),
    [
        pytest.param(Line(2), {}, "lacks weight", id="missing"),
        pytest.param(Line(2), {"weight": 2, "bias": 1}, "besides bias", id="unknown"),
        pytest.param(Line(2, "slope"), {"weight": 2}, "lacks slope.*besides weight", id="other"),
        pytest.param(Line(2), {"weight": 3}, r"weight.*\(3,\).*\(2,\)", id="size"),
    ],
)
def test_checkpoint_of_another_model(model: Module, arrays: dict[str, int], pattern: str) -> None:
    from minitorch.training.checkpoint import CheckpointError, load_parameters

    values = {name: np.zeros(size) for name, size in arrays.items()}
    check(lambda: load_parameters(model, values), CheckpointError, pattern)


# --- The command line: exit code 2 and a line that names the argument -------------------------

COMMANDS: list[tuple[str, str, str]] = [
    ("nothing", "", "COMMAND"),
    ("unknown-command", "teach", "teach"),
    ("no-data-set", "train", "DATASET"),
    ("unknown-data-set", "train moon", "moon"),
    ("unknown-option", "train xor --COLOUR red", "--COLOUR"),
    ("hidden-text", "train xor --HIDDEN many", "HIDDEN.*many"),
    ("hidden-zero", "train xor --HIDDEN 0", "HIDDEN.*at least 1"),
    ("epochs-negative", "train xor --EPOCHS -5", "EPOCHS.*at least 1"),
    ("points-zero", "train simple --PTS 0", "PTS.*at least 1"),
    ("rate-text", "train xor --RATE quick", "RATE.*quick"),
    ("rate-negative", "train xor --RATE -1", "RATE.*-1"),
    ("backend-unknown", "train xor --BACKEND tpu", "BACKEND.*tpu"),
    ("seed-text", "train xor --seed lucky", "seed.*lucky"),
    ("digits-batch-zero", "train digits --BATCH 0", "BATCH.*0|batch.*0"),
    ("digits-epochs-zero", "train digits --EPOCHS 0", "EPOCHS.*0|epochs.*0"),
    ("digits-points-negative", "train digits --PTS -3", "PTS.*-3|points.*-3"),
    ("sentiment-batch-zero", "train sentiment --BATCH 0", "BATCH.*0|batch.*0"),
    ("doctor-argument", "doctor now", "now"),
]


@pytest.mark.task0_0
@pytest.mark.timeout(20)  # an argument that is let through begins to train
@pytest.mark.parametrize(
    ("arguments", "pattern"), [pytest.param(*row[1:], id=row[0]) for row in COMMANDS]
)
def test_command_line(
    arguments: str,
    pattern: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from minitorch import cli

    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("MINITORCH_DATA", str(here))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(SystemExit) as exited:
        cli.main(arguments.split())
    assert exited.value.code == 2
    assert re.search(pattern, capsys.readouterr().err)
    assert list(here.iterdir()) == []  # nothing was begun


@pytest.mark.task0_0
def test_resume_without_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from minitorch import cli

    monkeypatch.chdir(tmp_path)
    code = cli.main(["train", "simple", "--EPOCHS", "1", "--PTS", "4", "--resume"])
    said = capsys.readouterr()
    assert code == 1
    assert "no checkpoint" in said.out + said.err
