"""The course API as other people's code relies on it: names, signatures, behaviour."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import (
    Context,
    MathTest,
    MathTestVariable,
    Module,
    Parameter,
    Scalar,
    ScalarHistory,
    Tensor,
    TensorData,
    autodiff,
    operators,
    scalar_functions,
    tensor,
    tensor_functions,
)

ROOT = Path(__file__).parents[2]


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.task0_1
@pytest.mark.parametrize("name", words("mul id add neg max relu relu_back inv_back log_back"))
def test_whole_numbers_become_floats(name: str) -> None:
    """Our operators promise it; a student's need not."""
    fn = getattr(operators, name)
    assert type(fn(*[3] * fn.__code__.co_argcount)) is float


# --- Names: where each is found, and the task that meets it first ----------------------------

NAMES: list[tuple[str, str, str]] = [
    (
        "task0_1",
        "operators",
        "mul id add neg lt eq max is_close sigmoid relu log exp inv log_back inv_back relu_back EPS",
    ),
    ("task0_3", "operators", "map zipWith reduce negList addLists sum prod"),
    ("task0_4", "module", "Module Parameter"),
    ("task1_1", "autodiff", "central_difference"),
    ("task1_3", "autodiff", "Variable Context"),
    ("task1_4", "autodiff", "topological_sort backpropagate"),
    ("task1_2", "scalar", "Scalar ScalarHistory derivative_check"),
    ("task1_2", "scalar_functions", "ScalarFunction Add Log Mul Inv Neg Sigmoid ReLU Exp LT EQ"),
    (
        "task2_1",
        "tensor_data",
        "MAX_DIMS IndexingError index_to_position to_index strides_from_shape TensorData Storage "
        "Shape Strides Index OutIndex UserShape UserStrides UserIndex",
    ),
    ("task2_2", "tensor_data", "broadcast_index shape_broadcast"),
    (
        "task2_3",
        "tensor_ops",
        "TensorOps SimpleOps TensorBackend SimpleBackend tensor_map tensor_zip tensor_reduce MapProto",
    ),
    ("task2_3", "tensor", "Tensor"),
    (
        "task2_3",
        "tensor_functions",
        "History Function Neg Inv Add Mul Sigmoid ReLU Log Exp Sum All LT EQ IsClose Permute View "
        "Copy MatMul zeros rand _tensor tensor",
    ),
    ("task2_4", "tensor_functions", "grad_central_difference grad_check"),
    ("task3_1", "fast_ops", "FastOps tensor_map tensor_zip tensor_reduce"),
    ("task3_2", "fast_ops", "_tensor_matrix_multiply"),
    ("task3_3", "cuda_ops", "CudaOps tensor_map tensor_zip tensor_reduce sum_practice"),
    ("task3_4", "cuda_ops", "mm_practice _tensor_matrix_multiply"),
    ("task4_1", "fast_conv", "Conv1dFun conv1d _tensor_conv1d"),
    ("task4_2", "fast_conv", "Conv2dFun conv2d _tensor_conv2d"),
    (
        "task4_4",
        "cuda_conv",
        "Conv1dFun Conv2dFun conv1d conv2d _tensor_conv1d _tensor_conv2d",
    ),
    ("task4_3", "nn", "tile avgpool2d maxpool2d"),
    ("task4_4", "nn", "max Max argmax softmax logsoftmax dropout"),
    ("task0_4", "optim", "Optimizer SGD"),
    ("task0_2", "datasets", "Graph datasets simple diag split xor circle spiral make_pts"),
    ("task0_2", "testing", "MathTest MathTestVariable"),
]

# Where two files share a name, `minitorch` gives the one that works on tensors.
SHARED = {
    *[("operators", "max")],
    *[
        ("scalar_functions", name)
        for name in ["Add", "Log", "Mul", "Inv", "Neg", "Sigmoid", "ReLU", "Exp", "LT", "EQ"]
    ],
    *[(f, f"tensor_{verb}") for f in ("fast_ops", "cuda_ops") for verb in ("map", "zip", "reduce")],
    *[("cuda_conv", name) for name in ("Conv1dFun", "Conv2dFun", "conv1d", "conv2d")],
}


def marked(task: str, *values: Any) -> Any:
    return pytest.param(*values, marks=getattr(pytest.mark, task), id="-".join(map(str, values)))


@pytest.mark.parametrize(
    ("file", "name"),
    [marked(task, file, name) for task, file, names in NAMES for name in names.split()],
)
def test_name_is_in_its_file_and_in_minitorch(file: str, name: str) -> None:
    found = getattr(importlib.import_module(f"minitorch.{file}"), name)
    if not name.startswith("_") and (file, name) not in SHARED:
        assert getattr(minitorch, name) is found
    if (file, name) in SHARED:
        assert hasattr(minitorch, name)


@pytest.mark.task2_4
def test_history_is_also_where_the_tensor_is() -> None:
    from minitorch.tensor import History

    assert History is minitorch.History


@pytest.mark.task3_3
def test_practice_kernels_exist_where_kernels_can_run() -> None:
    from minitorch import cuda_ops

    assert callable(cuda_ops._sum_practice)
    assert callable(cuda_ops._mm_practice)
    assert cuda_ops.PRACTICE_BLOCK == 32


# --- Signatures: names of parameters, and defaults where the contract states them ------------


def plain(fn: Any) -> Any:
    """The Python function behind a compiled one."""
    return getattr(fn, "py_func", fn)


def parameters(fn: Any) -> list[str]:
    """Parameters as written, without annotations: `x`, `*vals`, `arg=0`."""
    written = []
    for p in inspect.signature(plain(fn)).parameters.values():
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else f"={p.default!r}"
        written.append(f"{star}{p.name}{default}")
    return written


SIGNATURES: list[tuple[str, str, str]] = [
    ("task0_1", "operators.mul", "x, y"),
    ("task0_1", "operators.id", "x"),
    ("task0_1", "operators.add", "x, y"),
    ("task0_1", "operators.neg", "x"),
    ("task0_1", "operators.lt", "x, y"),
    ("task0_1", "operators.eq", "x, y"),
    ("task0_1", "operators.max", "x, y"),
    ("task0_1", "operators.is_close", "x, y"),
    ("task0_1", "operators.sigmoid", "x"),
    ("task0_1", "operators.relu", "x"),
    ("task0_1", "operators.log", "x"),
    ("task0_1", "operators.exp", "x"),
    ("task0_1", "operators.inv", "x"),
    ("task0_1", "operators.log_back", "x, d"),
    ("task0_1", "operators.inv_back", "x, d"),
    ("task0_1", "operators.relu_back", "x, d"),
    ("task0_3", "operators.map", "fn"),
    ("task0_3", "operators.zipWith", "fn"),
    ("task0_3", "operators.reduce", "fn, start"),
    ("task0_3", "operators.negList", "ls"),
    ("task0_3", "operators.sum", "ls"),
    ("task0_3", "operators.prod", "ls"),
    ("task0_4", "module.Parameter", "x, name=None"),
    ("task0_4", "module.Parameter.update", "self, x"),
    ("task0_4", "module.Module.add_parameter", "self, k, v"),
    ("task0_4", "module.Module.modules", "self"),
    ("task0_4", "module.Module.train", "self"),
    ("task0_4", "module.Module.eval", "self"),
    ("task0_4", "module.Module.named_parameters", "self"),
    ("task0_4", "module.Module.parameters", "self"),
    ("task1_1", "autodiff.central_difference", "f, *vals, arg=0, epsilon=1e-06"),
    ("task1_4", "autodiff.topological_sort", "variable"),
    ("task1_4", "autodiff.backpropagate", "variable, deriv"),
    ("task1_3", "autodiff.Context", "no_grad=False, saved_values=()"),
    ("task1_3", "autodiff.Context.save_for_backward", "self, *values"),
    ("task1_3", "autodiff.Variable.accumulate_derivative", "self, x"),
    ("task1_3", "autodiff.Variable.chain_rule", "self, d_output"),
    ("task1_2", "scalar.ScalarHistory", "last_fn=None, ctx=None, inputs=()"),
    (
        "task1_2",
        "scalar.Scalar",
        "v, back=ScalarHistory(last_fn=None, ctx=None, inputs=()), name=None",
    ),
    ("task1_4", "scalar.Scalar.backward", "self, d_output=None"),
    ("task1_3", "scalar.Scalar.chain_rule", "self, d_output"),
    ("task1_4", "scalar.derivative_check", "f, *scalars"),
    ("task1_2", "scalar_functions.ScalarFunction.apply", "*vals"),
    ("task2_1", "tensor_data.index_to_position", "index, strides"),
    ("task2_1", "tensor_data.to_index", "ordinal, shape, out_index"),
    ("task2_2", "tensor_data.broadcast_index", "big_index, big_shape, shape, out_index"),
    ("task2_2", "tensor_data.shape_broadcast", "shape1, shape2"),
    ("task2_1", "tensor_data.strides_from_shape", "shape"),
    ("task2_1", "tensor_data.TensorData", "storage, shape, strides=None"),
    ("task2_1", "tensor_data.TensorData.index", "self, index"),
    ("task2_1", "tensor_data.TensorData.get", "self, key"),
    ("task2_1", "tensor_data.TensorData.set", "self, key, val"),
    ("task2_1", "tensor_data.TensorData.permute", "self, *order"),
    ("task2_3", "tensor_ops.TensorOps.map", "fn"),
    ("task2_3", "tensor_ops.TensorOps.zip", "fn"),
    ("task2_3", "tensor_ops.TensorOps.reduce", "fn, start=0.0"),
    ("task2_3", "tensor_ops.TensorOps.matrix_multiply", "a, b"),
    ("task2_3", "tensor_ops.TensorBackend", "ops"),
    ("task2_3", "tensor_ops.tensor_map", "fn"),
    ("task2_3", "tensor_ops.tensor_zip", "fn"),
    ("task2_3", "tensor_ops.tensor_reduce", "fn"),
    ("task2_3", "tensor.Tensor", "v, back=None, name=None, backend=None"),
    ("task2_3", "tensor.Tensor.requires_grad_", "self, x"),
    ("task2_3", "tensor.Tensor.all", "self, dim=None"),
    ("task2_3", "tensor.Tensor.is_close", "self, y"),
    ("task2_3", "tensor.Tensor.sum", "self, dim=None"),
    ("task2_3", "tensor.Tensor.mean", "self, dim=None"),
    ("task2_3", "tensor.Tensor.permute", "self, *order"),
    ("task2_3", "tensor.Tensor.view", "self, *shape"),
    ("task2_3", "tensor.Tensor._type_", "self, backend"),
    ("task2_3", "tensor.Tensor._new", "self, tensor_data"),
    ("task2_3", "tensor.Tensor.make", "storage, shape, strides=None, backend=None"),
    ("task2_4", "tensor.Tensor.expand", "self, other"),
    ("task2_3", "tensor.Tensor.zeros", "self, shape=None"),
    ("task2_4", "tensor.Tensor.backward", "self, grad_output=None"),
    ("task2_4", "tensor.Tensor.chain_rule", "self, d_output"),
    ("task2_4", "tensor_functions.History", "last_fn=None, ctx=None, inputs=()"),
    ("task2_3", "tensor_functions.Function.apply", "*vals"),
    ("task2_3", "tensor_functions.zeros", "shape, backend=TensorBackend(SimpleOps)"),
    (
        "task2_3",
        "tensor_functions.rand",
        "shape, backend=TensorBackend(SimpleOps), requires_grad=False",
    ),
    (
        "task2_3",
        "tensor_functions._tensor",
        "ls, shape, backend=TensorBackend(SimpleOps), requires_grad=False",
    ),
    (
        "task2_3",
        "tensor_functions.tensor",
        "ls, backend=TensorBackend(SimpleOps), requires_grad=True",
    ),
    (
        "task2_4",
        "tensor_functions.grad_central_difference",
        "f, *vals, arg=0, epsilon=1e-06, ind",
    ),
    ("task2_4", "tensor_functions.grad_check", "f, *vals"),
    (
        "task3_2",
        "fast_ops._tensor_matrix_multiply",
        "out, out_shape, out_strides, a_storage, a_shape, a_strides, b_storage, b_shape, b_strides",
    ),
    (
        "task3_4",
        "cuda_ops._tensor_matrix_multiply",
        "out, out_shape, out_strides, out_size, a_storage, a_shape, a_strides, "
        "b_storage, b_shape, b_strides",
    ),
    ("task3_3", "cuda_ops._sum_practice", "out, a, size"),
    ("task3_4", "cuda_ops._mm_practice", "out, a, b, size"),
    ("task3_3", "cuda_ops.sum_practice", "a"),
    ("task3_4", "cuda_ops.mm_practice", "a, b"),
    *[
        (
            task,
            f"{file}.{name}",
            "out, out_shape, out_strides, out_size, input, input_shape, input_strides, "
            "weight, weight_shape, weight_strides, reverse",
        )
        for task, file, name in [
            ("task4_1", "fast_conv", "_tensor_conv1d"),
            ("task4_2", "fast_conv", "_tensor_conv2d"),
            ("task4_4", "cuda_conv", "_tensor_conv1d"),
            ("task4_4", "cuda_conv", "_tensor_conv2d"),
        ]
    ],
    ("task4_3", "nn.tile", "input, kernel"),
    ("task4_3", "nn.avgpool2d", "input, kernel"),
    ("task4_4", "nn.maxpool2d", "input, kernel"),
    ("task4_4", "nn.max", "input, dim"),
    ("task4_4", "nn.argmax", "input, dim"),
    ("task4_4", "nn.softmax", "input, dim"),
    ("task4_4", "nn.logsoftmax", "input, dim"),
    ("task4_4", "nn.dropout", "input, rate, ignore=False"),
    ("task0_4", "optim.Optimizer", "parameters"),
    ("task0_4", "optim.SGD", "parameters, lr=1.0"),
    ("task0_2", "datasets.Graph", "N, X, y"),
    ("task0_2", "datasets.make_pts", "N"),
]


@pytest.mark.parametrize(
    ("path", "expected"), [marked(task, path, sig) for task, path, sig in SIGNATURES]
)
def test_signature(path: str, expected: str) -> None:
    file, *names = path.split(".")
    found: Any = importlib.import_module(f"minitorch.{file}")
    for name in names:
        found = getattr(found, name)
    got = parameters(found)
    while ", ".join(got) != expected and got and "=" in got[-1]:
        got.pop()  # an addition that callers may leave out
    assert ", ".join(got) == expected, parameters(found)


FORWARDS = {
    1: "Log Inv Neg Sigmoid ReLU Exp",
    2: "Add Mul LT EQ",
}


@pytest.mark.task1_2
@pytest.mark.parametrize(
    ("name", "inputs"), [(name, n) for n, names in FORWARDS.items() for name in names.split()]
)
def test_a_scalar_function_has_static_forward_and_backward(name: str, inputs: int) -> None:
    function = getattr(scalar_functions, name)
    assert issubclass(function, minitorch.ScalarFunction)
    assert isinstance(inspect.getattr_static(function, "forward"), staticmethod)
    assert isinstance(inspect.getattr_static(function, "backward"), staticmethod)
    ctx = Context()
    assert isinstance(function.forward(ctx, *[2.0, 3.0][:inputs]), float)
    gradients = function._backward(ctx, 1.0)
    assert len(gradients) == inputs
    assert all(isinstance(g, float) for g in gradients)


@pytest.mark.task2_3
@pytest.mark.parametrize(
    "name",
    words("Neg Inv Add Mul Sigmoid ReLU Log Exp Sum All LT EQ IsClose Permute View Copy MatMul"),
)
def test_a_tensor_function_has_static_forward_and_backward(name: str) -> None:
    function = getattr(tensor_functions, name)
    assert issubclass(function, minitorch.Function)
    assert isinstance(inspect.getattr_static(function, "forward"), staticmethod)
    assert isinstance(inspect.getattr_static(function, "backward"), staticmethod)
    assert parameters(function.forward)[0] == "ctx"
    assert parameters(function.backward) == ["ctx", "grad_output"]


# --- operators.py ---------------------------------------------------------------------------

ONE = [operators.id, operators.neg, operators.sigmoid, operators.relu, operators.log]
ONE += [operators.exp, operators.inv]
TWO = [operators.mul, operators.add, operators.lt, operators.eq, operators.max, operators.is_close]
TWO += [operators.log_back, operators.inv_back, operators.relu_back]


@pytest.mark.task0_1
@pytest.mark.parametrize("fn", ONE, ids=lambda fn: fn.__name__)
def test_functions_of_one_number_return_float(fn: Callable[..., float]) -> None:
    assert all(type(fn(x)) is float for x in (1, 2.5, True))


@pytest.mark.task0_1
@pytest.mark.parametrize("fn", TWO, ids=lambda fn: fn.__name__)
def test_functions_of_two_numbers_return_float(fn: Callable[..., float]) -> None:
    assert all(type(fn(x, y)) is float for x, y in [(1, 2), (2, 1), (3, 3), (2.5, 1)])


@pytest.mark.task0_1
def test_comparisons_give_one_or_zero() -> None:
    assert (operators.lt(1, 2), operators.lt(2, 1), operators.lt(2, 2)) == (1.0, 0.0, 0.0)
    assert (operators.eq(2, 2), operators.eq(2, 3)) == (1.0, 0.0)


@pytest.mark.task0_1
def test_is_close_means_nearer_than_a_hundredth() -> None:
    assert operators.is_close(1.0, 1.0099) == 1.0
    assert operators.is_close(1.0, 1.0101) == 0.0
    assert operators.is_close(-1.0, -1.0099) == 1.0
    assert operators.is_close(0.0, 0.01) == 0.0  # strictly nearer


@pytest.mark.task0_1
def test_log_adds_eps() -> None:
    assert operators.EPS == 1e-6
    assert operators.log(0.0) == math.log(1e-6)
    assert operators.log(2.0) == math.log(2.0 + 1e-6)
    assert operators.log_back(2.0, 3.0) == 3.0 / (2.0 + 1e-6)


@pytest.mark.task0_1
def test_sigmoid_is_stable_on_both_sides() -> None:
    assert operators.sigmoid(-1e6) == 0.0
    assert operators.sigmoid(1e6) == 1.0
    assert operators.sigmoid(-700.0) == math.exp(-700.0)


@pytest.mark.task0_3
def test_map_zip_and_reduce_are_curried() -> None:
    assert list(operators.map(operators.neg)(iter([1, 2]))) == [-1.0, -2.0]
    assert list(operators.zipWith(operators.add)(iter([1, 2]), iter([3, 4]))) == [4.0, 6.0]
    assert operators.reduce(operators.mul, 2)(iter([3, 4])) == 24.0


@pytest.mark.task0_3
def test_list_functions() -> None:
    assert list(operators.negList([1, -2])) == [-1.0, 2.0]
    assert list(operators.addLists([1, 2], [3, 4])) == [4.0, 6.0]
    assert (operators.sum([]), operators.prod([])) == (0.0, 1.0)
    assert (operators.sum([1, 2]), operators.prod([2, 3])) == (3.0, 6.0)


@pytest.mark.task3_1
@pytest.mark.parametrize("fn", [*ONE, *TWO], ids=lambda fn: fn.__name__)
def test_a_scalar_function_compiles_under_numba(fn: Callable[..., float]) -> None:
    from numba import njit

    args = (0.75, 2.5)[: len(inspect.signature(fn).parameters)]
    assert njit(fn)(*args) == pytest.approx(fn(*args), rel=1e-12)


# --- module.py ------------------------------------------------------------------------------


class Leaf(Module):
    def __init__(self) -> None:
        super().__init__()
        self.b = Parameter(2.0)


class Tree(Module):
    def __init__(self) -> None:
        super().__init__()
        self.left = Leaf()
        self.a = Parameter(1.0)
        self.right = Leaf()
        self.other = 10

    def forward(self, x: float) -> float:
        return x * self.a.value


@pytest.mark.task0_4
def test_named_parameters_come_own_first_with_dotted_names() -> None:
    tree = Tree()
    assert [name for name, _ in tree.named_parameters()] == ["a", "left.b", "right.b"]
    assert tree.parameters() == [tree.a, tree.left.b, tree.right.b]
    assert isinstance(tree.named_parameters(), list)


@pytest.mark.task0_4
def test_attributes_are_captured() -> None:
    tree = Tree()
    assert tree._parameters == {"a": tree.a}
    assert tree._modules == {"left": tree.left, "right": tree.right}
    assert tree.modules() == [tree.left, tree.right]
    assert tree.other == 10
    with pytest.raises(AttributeError, match="missing"):
        _ = tree.missing


@pytest.mark.task0_4
def test_train_and_eval_are_recursive() -> None:
    tree = Tree()
    assert tree.training
    tree.eval()
    assert not any(m.training for m in (tree, tree.left, tree.right))
    tree.train()
    assert all(m.training for m in (tree, tree.left, tree.right))


@pytest.mark.task0_4
def test_call_runs_forward_and_repr_nests() -> None:
    assert Tree()(3.0) == 3.0
    assert repr(Tree()) == "Tree(\n  (left): Leaf()\n  (right): Leaf()\n)"


@pytest.mark.task0_4
def test_parameter_asks_its_value_for_a_gradient() -> None:
    class Asked:
        wanted = False

        def requires_grad_(self, x: bool) -> None:
            self.wanted = x

    p = Parameter(Asked(), name="p")
    assert (p.name, p.value.wanted) == ("p", True)
    q = Module().add_parameter("q", 5)
    assert isinstance(q, Parameter)
    assert (q.value, q.name) == (5, "q")
    p.update(Asked())
    assert p.value.wanted


# --- autodiff.py, scalar.py -----------------------------------------------------------------


@pytest.mark.task1_3
@pytest.mark.parametrize("kind", [Scalar, Tensor, autodiff.Variable], ids=lambda k: k.__name__)
def test_variable_protocol(kind: type) -> None:
    for name in ["accumulate_derivative", "is_leaf", "is_constant", "chain_rule"]:
        assert callable(getattr(kind, name))
    assert isinstance(inspect.getattr_static(kind, "parents"), property)


@pytest.mark.task1_3
def test_context_keeps_what_backward_needs() -> None:
    ctx = Context()
    ctx.save_for_backward(1, 2)
    assert ctx.saved_values == ctx.saved_tensors == (1, 2)
    idle = Context(no_grad=True)
    idle.save_for_backward(1)
    assert idle.saved_values == ()
    assert repr(Context()) == "Context(no_grad=False, saved_values=())"


@pytest.mark.task1_2
def test_scalar_attributes_and_repr() -> None:
    x = Scalar(10, name="x")
    assert (x.data, x.derivative, x.name) == (10.0, None, "x")
    assert isinstance(x.unique_id, int)
    assert Scalar(1).unique_id != Scalar(1).unique_id
    assert repr(x) == "Scalar(10.000000)"
    assert x.history == ScalarHistory()
    assert x.is_leaf()
    assert not x.is_constant()
    assert list(x.parents) == []


@pytest.mark.task1_2
def test_history_reads_as_in_the_guide() -> None:
    y = Scalar(10) + Scalar(30)
    assert repr(y.history) == (
        "ScalarHistory(last_fn=<class 'minitorch.scalar_functions.Add'>, "
        "ctx=Context(no_grad=False, saved_values=()), "
        "inputs=[Scalar(10.000000), Scalar(30.000000)])"
    )


@pytest.mark.task1_2
def test_scalar_operators_and_reflections() -> None:
    x = Scalar(4.0)
    values: list[tuple[Any, float]] = [
        (x + 1, 5.0),
        (1 + x, 5.0),
        (x - 1, 3.0),
        (1 - x, -3.0),
        (x * 2, 8.0),
        (2 * x, 8.0),
        (x / 2, 2.0),
        (2 / x, 0.5),
        (-x, -4.0),
        (x < 5, 1.0),
        (x > 5, 0.0),
        (x == 4, 1.0),
        (x > 5, 0.0),
        (x.exp(), math.exp(4.0)),
        (x.log(), math.log(4.0 + 1e-6)),
        (x.sigmoid(), operators.sigmoid(4.0)),
        (x.relu(), 4.0),
    ]
    assert all(isinstance(s, Scalar) for s, _ in values)
    assert [s.data for s, _ in values] == [v for _, v in values]
    assert bool(x)
    assert not bool(Scalar(0.0))


@pytest.mark.task1_2
def test_functions_take_plain_numbers() -> None:
    x = Scalar(3.0)
    assert scalar_functions.Add.apply(1, x).data == 4.0
    assert scalar_functions.Mul.apply(2, 5.0).data == 10.0


@pytest.mark.task1_3
def test_chain_rule_leaves_constants_out() -> None:
    x, c = Scalar(3.0), Scalar(5.0, back=None)
    assert c.is_constant()
    assert list((x * c).chain_rule(2.0)) == [(x, 10.0)]


@pytest.mark.task1_4
def test_topological_sort_starts_at_the_right_without_constants() -> None:
    x, c = Scalar(3.0), Scalar(5.0, back=None)
    z = x * c
    h = z.log() + z.exp()
    order = list(minitorch.topological_sort(h))
    ids = [v.unique_id for v in order]
    assert ids[0] == h.unique_id
    assert ids[-1] == x.unique_id
    assert len(set(ids)) == len(ids) == 5  # h, log, exp, z, x
    assert c.unique_id not in ids
    assert ids.index(z.unique_id) == 3


@pytest.mark.task1_4
def test_backward_starts_from_one_unless_told() -> None:
    x = Scalar(3.0)
    (x * x).backward()
    assert x.derivative == 6.0
    (x * x).backward(d_output=2.0)
    assert x.derivative == 18.0  # derivatives accumulate
    y = Scalar(3.0)
    minitorch.backpropagate(y * y, 0.5)
    assert y.derivative == 3.0


@pytest.mark.task1_4
def test_backward_over_a_deep_graph() -> None:
    x = Scalar(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.backward()
    assert x.derivative == 1.0


@pytest.mark.task1_4
def test_derivative_check_says_which_input_of_which_function() -> None:
    class Wrong(minitorch.ScalarFunction):
        @staticmethod
        def forward(ctx: Context, a: float, b: float) -> float:
            return a * b

        @staticmethod
        def backward(ctx: Context, d_output: float) -> tuple[float, float]:
            return 4.0 * d_output, 0.0 * d_output

    def product(a: Scalar, b: Scalar) -> Scalar:
        return Wrong.apply(a, b)

    with pytest.raises(AssertionError, match=r"input 1 of product.*gives 0.*3"):
        minitorch.derivative_check(product, Scalar(3.0), Scalar(4.0))
    minitorch.derivative_check(lambda a, b: a * b, Scalar(3.0), Scalar(4.0))


# --- tensor_data.py -------------------------------------------------------------------------


@pytest.mark.task2_1
def test_tensor_data_attributes() -> None:
    td = TensorData([0, 1, 2, 3, 4, 5], (2, 3))
    assert (td.shape, td.strides, td.dims, td.size) == ((2, 3), (3, 1), 2, 6)
    assert td._storage.dtype == np.float64
    assert td._storage.ndim == 1
    assert td._shape.dtype == td._strides.dtype == np.int32
    storage, shape, strides = td.tuple()
    assert storage is td._storage
    assert (list(shape), list(strides)) == ([2, 3], [3, 1])
    assert td.is_contiguous()
    assert not td.permute(1, 0).is_contiguous()
    assert td.permute(1, 0)._storage is td._storage
    assert callable(td.to_cuda_)
    assert TensorData.shape_broadcast((2, 1), (3,)) == (2, 3)


@pytest.mark.task2_1
def test_tensor_data_indexing() -> None:
    td = TensorData([0, 1, 2, 3, 4, 5], (2, 3))
    assert (td.index((1, 2)), td.get((1, 2))) == (5, 5.0)
    td.set((1, 2), 9)
    assert td.get((1, 2)) == 9.0
    assert list(td.indices()) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert all(td.sample() in set(td.indices()) for _ in range(20))
    assert TensorData([1, 2, 3], (3,)).index(2) == 2


@pytest.mark.task2_1
def test_index_functions_take_plain_lists() -> None:
    out = [0, 0]
    minitorch.to_index(4, (2, 3), out)  # type: ignore[arg-type]
    assert out == [1, 1]
    assert minitorch.index_to_position([1, 1], (3, 1)) == 4  # type: ignore[arg-type]
    assert minitorch.strides_from_shape((4, 2, 2)) == (4, 2, 1)
    assert minitorch.MAX_DIMS == 32


@pytest.mark.task2_1
def test_to_string_brackets_line_by_line() -> None:
    assert TensorData([1, 2], (2,)).to_string() == "[1.00 2.00]"
    assert TensorData([1, 2, 3, 4], (2, 2)).to_string() == "[\n    [1.00 2.00]\n    [3.00 4.00]]"
    assert str(tensor(3.0)) == "3.00"


@pytest.mark.task2_1
def test_indexing_error_is_a_runtime_error() -> None:
    assert issubclass(minitorch.IndexingError, RuntimeError)


# --- tensor_ops.py, tensor.py ---------------------------------------------------------------

BACKEND = words(
    "neg_map sigmoid_map relu_map log_map exp_map id_map inv_map add_zip mul_zip lt_zip "
    "eq_zip is_close_zip relu_back_zip log_back_zip inv_back_zip add_reduce mul_reduce "
    "matrix_multiply"
)


@pytest.mark.task2_3
@pytest.mark.parametrize("name", BACKEND)
def test_backend_has(name: str) -> None:
    assert callable(getattr(minitorch.SimpleBackend, name))


@pytest.mark.task2_3
def test_backend_flags() -> None:
    assert minitorch.SimpleBackend.cuda is False
    assert minitorch.TensorOps.cuda is False
    assert issubclass(minitorch.SimpleOps, minitorch.TensorOps)


@pytest.mark.task3_1
def test_fast_ops_are_tensor_ops() -> None:
    assert issubclass(minitorch.FastOps, minitorch.TensorOps)
    assert minitorch.FastOps.cuda is False


@pytest.mark.task3_3
def test_cuda_ops_are_tensor_ops_with_the_flag() -> None:
    assert issubclass(minitorch.CudaOps, minitorch.TensorOps)
    assert minitorch.CudaOps.cuda is True


@pytest.mark.task2_3
def test_a_map_broadcasts_into_out() -> None:
    out = minitorch.zeros((2, 3))
    minitorch.SimpleBackend.neg_map(tensor([1, 2, 3]), out)
    assert out.to_numpy().tolist() == [[-1, -2, -3], [-1, -2, -3]]


@pytest.mark.task2_3
def test_low_level_builders() -> None:
    out, a, b = minitorch.zeros((2, 2)), tensor([[1, 2], [3, 4]]), tensor([10, 20])
    minitorch.tensor_map(operators.neg)(*out.tuple(), *a.tuple())
    assert out.to_numpy().tolist() == [[-1, -2], [-3, -4]]
    minitorch.tensor_zip(operators.add)(*out.tuple(), *a.tuple(), *b.tuple())
    assert out.to_numpy().tolist() == [[11, 22], [13, 24]]
    total = minitorch.zeros((1, 2))
    minitorch.tensor_reduce(operators.add)(*total.tuple(), *a.tuple(), 0)
    assert total.to_numpy().tolist() == [[4, 6]]


@pytest.mark.task2_3
def test_tensor_attributes() -> None:
    t = tensor([[1, 2], [3, 4]])
    assert isinstance(t._tensor, TensorData)
    assert t.backend is t.f is minitorch.SimpleBackend
    assert (t.shape, t.size, t.dims) == ((2, 2), 4, 2)
    assert t.grad is None
    assert isinstance(t.unique_id, int)
    assert t.name == str(t.unique_id)
    assert isinstance(t.to_numpy(), np.ndarray)
    assert isinstance(t[0, 1], float)
    t[0, 1] = 7
    assert t[0, 1] == 7.0
    assert tensor([5])[0] == tensor([5]).item() == 5.0
    assert tensor(3.0)[0] == tensor(3.0).item() == 3.0
    assert len(t.tuple()) == 3


@pytest.mark.task2_3
def test_tensor_operators_and_reflections() -> None:
    t = tensor([4.0])
    values: list[tuple[Any, float]] = [
        (t + 1, 5.0),
        (1 + t, 5.0),
        (t - 1, 3.0),
        (1 - t, -3.0),
        (t * 2, 8.0),
        (2 * t, 8.0),
        (t / 2, 2.0),
        (2 / t, 0.5),
        (-t, -4.0),
        (t < 5, 1.0),
        (t > 5, 0.0),
        (t == 4, 1.0),
        (t > 5, 0.0),
        (t.is_close(tensor([4.005])), 1.0),
        (t.is_close(tensor([4.05])), 0.0),
        (t.exp(), math.exp(4.0)),
        (t.log(), math.log(4.0 + 1e-6)),
        (t.sigmoid(), operators.sigmoid(4.0)),
        (t.relu(), 4.0),
        (t.all(), 4.0),
    ]
    assert all(isinstance(r, Tensor) for r, _ in values)
    assert [r.item() for r, _ in values] == pytest.approx([v for _, v in values])
    assert (tensor([[1, 2]]) @ tensor([[3], [4]])).to_numpy().tolist() == [[11]]


@pytest.mark.task2_3
@pytest.mark.parametrize("reduction", ["sum", "mean", "all"])
def test_reductions_keep_the_dimension(reduction: str) -> None:
    t = tensor([[1, 2, 3], [4, 5, 6]])
    assert getattr(t, reduction)(0).shape == (1, 3)
    assert getattr(t, reduction)(1).shape == (2, 1)
    assert getattr(t, reduction)(dim=1).shape == (2, 1)
    assert getattr(t, reduction)().shape == (1,)
    assert getattr(t.permute(1, 0), reduction)().shape == (1,)


@pytest.mark.task2_3
def test_tensor_movement() -> None:
    t = tensor([[1, 2, 3], [4, 5, 6]])
    assert t.permute(1, 0).shape == (3, 2)
    assert t.view(6).shape == (6,)
    assert t.permute(1, 0).contiguous().view(6).to_numpy().tolist() == [1, 4, 2, 5, 3, 6]
    assert t.zeros().shape == (2, 3)
    assert t.zeros((4,)).to_numpy().tolist() == [0, 0, 0, 0]
    made = Tensor.make([1, 2, 3, 4], (2, 2), (1, 2))
    assert made.to_numpy().tolist() == [[1, 3], [2, 4]]
    assert not made.requires_grad()
    assert t._new(TensorData([1], (1,))).backend is t.backend


@pytest.mark.task2_4
def test_requires_grad_means_what_it_says() -> None:
    t = tensor([1, 2, 3])
    assert t.requires_grad()
    assert t.is_leaf()
    t.requires_grad_(False)
    assert not t.requires_grad()
    assert t.is_constant()
    t.requires_grad_(True)
    assert t.requires_grad()
    assert not t.detach().requires_grad()
    assert not minitorch.zeros((2,)).requires_grad()
    assert not minitorch.rand((2,)).requires_grad()
    assert minitorch.rand((2,), requires_grad=True).requires_grad()
    assert not tensor([1], requires_grad=False).requires_grad()
    assert tensor_functions._tensor([1, 2], (2, 1), minitorch.SimpleBackend, True).requires_grad()


@pytest.mark.task2_4
def test_a_users_tensor_is_a_leaf_whose_grad_backward_fills() -> None:
    t = tensor([1, 2, 3])
    t.sum().backward()
    assert t.grad is not None
    assert t.grad.to_numpy().tolist() == [1, 1, 1]
    t.zero_grad_()
    assert t.grad is None


@pytest.mark.task2_4
def test_backward_needs_grad_output_unless_the_shape_is_one() -> None:
    t = tensor([[1.0, 2.0]])
    with pytest.raises(RuntimeError, match=r"\(1, 2\)"):
        (t * 2).backward()
    (t * 2).backward(tensor([[1.0, 10.0]]))
    assert t.grad is not None
    assert t.grad.to_numpy().tolist() == [[2, 20]]


@pytest.mark.task2_4
def test_expand_sums_where_forward_copied() -> None:
    t = tensor([[1.0], [2.0]])
    assert t.expand(minitorch.zeros((3, 2, 4)) + 1.0).to_numpy().tolist() == [[12], [12]]
    assert t.expand(tensor([5.0])).to_numpy().tolist() == [[5], [5]]


@pytest.mark.task2_4
def test_history_of_a_result() -> None:
    a, b = tensor([1, 2]), tensor([3, 4])
    c = a + b
    assert c.history is not None
    assert c.history.last_fn is minitorch.Add
    assert list(c.parents) == [a, b]
    assert not c.is_leaf()
    assert minitorch.History() == minitorch.History(None, None, ())


@pytest.mark.task2_4
def test_grad_central_difference() -> None:
    t = tensor([[1.0, 2.0], [3.0, 4.0]])
    got = minitorch.grad_central_difference(lambda x: x * x, t, arg=0, ind=(1, 0))
    assert got == pytest.approx(6.0, abs=1e-4)
    minitorch.grad_check(lambda x: x * x, t)


@pytest.mark.task2_4
def test_permute_undoes_its_own_order() -> None:
    t = minitorch.rand((2, 3, 4), requires_grad=True)
    weights = minitorch.rand((4, 2, 3))
    (t.permute(2, 0, 1) * weights).sum().backward()
    assert t.grad is not None
    assert np.array_equal(t.grad.to_numpy(), weights.to_numpy().transpose(1, 2, 0))


# --- nn.py, convolutions, CUDA practice ------------------------------------------------------


@pytest.mark.task4_3
def test_tile_gives_tensor_height_and_width() -> None:
    tiles, height, width = minitorch.tile(minitorch.rand((2, 3, 4, 6)), (2, 3))
    assert (tiles.shape, height, width) == ((2, 3, 2, 2, 6), 2, 2)
    assert minitorch.avgpool2d(minitorch.rand((2, 3, 4, 6)), (2, 3)).shape == (2, 3, 2, 2)


@pytest.mark.task4_4
def test_max_argmax_and_softmax() -> None:
    t = tensor([[1.0, 5.0, 2.0]])
    assert minitorch.max(t, 1).to_numpy().tolist() == [[5.0]]
    assert minitorch.argmax(t, 1).to_numpy().tolist() == [[0, 1, 0]]
    assert minitorch.softmax(t, 1).sum().item() == pytest.approx(1.0)
    assert np.allclose(
        minitorch.logsoftmax(t, 1).exp().to_numpy(), minitorch.softmax(t, 1).to_numpy()
    )
    large = minitorch.softmax(tensor([1000.0, 1000.0]), 0)
    assert large.to_numpy().tolist() == [0.5, 0.5]
    assert minitorch.maxpool2d(t.view(1, 1, 1, 3), (1, 3)).item() == 5.0


@pytest.mark.task4_4
def test_dropout_keeps_all_or_nothing_at_its_ends() -> None:
    t = minitorch.rand((4, 5)) + 1.0
    assert np.array_equal(minitorch.dropout(t, 0.0).to_numpy(), t.to_numpy())
    assert not minitorch.dropout(t, 1.0).to_numpy().any()
    assert np.array_equal(minitorch.dropout(t, 1.0, ignore=True).to_numpy(), t.to_numpy())


@pytest.mark.task4_1
def test_conv1d_is_anchored_at_the_left() -> None:
    signal, weight = tensor([0, 1, 2, 3]).view(1, 1, 4), tensor([1, 2, 3]).view(1, 1, 3)
    out = minitorch.conv1d(signal, weight)
    assert out.view(4).to_numpy().tolist() == [8, 14, 8, 3]
    assert minitorch.conv1d == minitorch.Conv1dFun.apply


@pytest.mark.task4_2
def test_conv2d_is_anchored_at_the_top_left() -> None:
    image, weight = tensor([[1, 2], [3, 4]]).view(1, 1, 2, 2), tensor([[1, 1], [1, 1]])
    out = minitorch.conv2d(image, weight.view(1, 1, 2, 2))
    assert out.view(2, 2).to_numpy().tolist() == [[10, 6], [7, 4]]
    assert minitorch.conv2d == minitorch.Conv2dFun.apply


@pytest.mark.task3_3
def test_sum_practice_gives_one_sum_per_block() -> None:
    backend = minitorch.TensorBackend(minitorch.CudaOps)
    out = minitorch.sum_practice(tensor([float(i) for i in range(48)], backend=backend))
    assert isinstance(out, TensorData)
    assert [out._storage[0], out._storage[1]] == [sum(range(32)), sum(range(32, 48))]


@pytest.mark.task3_4
def test_mm_practice_multiplies_small_squares() -> None:
    backend = minitorch.TensorBackend(minitorch.CudaOps)
    a, b = [[1, 2], [3, 4]], [[5, 6], [7, 8]]
    out = minitorch.mm_practice(tensor(a, backend=backend), tensor(b, backend=backend))
    assert isinstance(out, TensorData)
    assert [out._storage[i] for i in range(4)] == [19, 22, 43, 50]


# --- optim.py, datasets.py, testing.py ------------------------------------------------------


@pytest.mark.task1_4
def test_sgd_moves_scalars() -> None:
    p = Parameter(Scalar(3.0))
    (p.value * p.value).backward()
    optim = minitorch.SGD([p], lr=0.5)
    optim.step()
    assert p.value.data == 0.0
    assert p.value.is_leaf()
    assert minitorch.SGD([p]).lr == 1.0


@pytest.mark.task2_4
def test_sgd_moves_tensors_and_zero_grad_forgets() -> None:
    p = Parameter(tensor([3.0, 1.0]))
    (p.value * p.value).sum().backward()
    optim = minitorch.SGD([p], lr=0.25)
    optim.step()
    assert p.value.to_numpy().tolist() == [1.5, 0.5]
    assert p.value.requires_grad()
    p.value.sum().backward()
    optim.zero_grad()
    assert p.value.grad is None


RULES: dict[str, Callable[[float, float], bool]] = {
    "Simple": lambda x1, x2: x1 < 0.5,
    "Diag": lambda x1, x2: x1 + x2 < 0.5,
    "Split": lambda x1, x2: x1 < 0.2 or x1 > 0.8,
    "Xor": lambda x1, x2: (x1 < 0.5) != (x2 < 0.5),
    "Circle": lambda x1, x2: (x1 - 0.5) ** 2 + (x2 - 0.5) ** 2 > 0.1,
}


@pytest.mark.task0_2
@pytest.mark.parametrize("name", RULES)
def test_data_set_follows_its_rule(name: str) -> None:
    graph = minitorch.datasets[name](200)
    assert (graph.N, len(graph.X), len(graph.y)) == (200, 200, 200)
    assert graph.y == [int(RULES[name](x1, x2)) for x1, x2 in graph.X]
    assert all(0 <= x1 <= 1 and 0 <= x2 <= 1 for x1, x2 in graph.X)


@pytest.mark.task0_2
def test_data_sets_have_their_six_names() -> None:
    assert list(minitorch.datasets) == ["Simple", "Diag", "Split", "Xor", "Circle", "Spiral"]
    functions = [minitorch.simple, minitorch.diag, minitorch.split]
    functions += [minitorch.xor, minitorch.circle, minitorch.spiral]
    assert list(minitorch.datasets.values()) == functions
    assert len(minitorch.make_pts(7)) == 7


@pytest.mark.task0_2
@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_spiral_has_two_arms(n: int) -> None:
    graph = minitorch.datasets["Spiral"](n)
    assert (graph.N, len(graph.X), len(graph.y)) == (n, n, n)
    assert sorted(set(graph.y)) == ([0] if n == 1 else [0, 1])


ONE_ARGUMENT: dict[str, Callable[[float], float]] = {
    "neg": lambda a: -a,
    "addConstant": lambda a: 5 + a,
    "square": lambda a: a * a,
    "cube": lambda a: a * a * a,
    "subConstant": lambda a: a - 5,
    "multConstant": lambda a: 5 * a,
    "div": lambda a: a / 5,
    "inv": lambda a: 1 / (a + 3.5),
    "sig": lambda a: operators.sigmoid(a),
    "log": lambda a: operators.log(a + 100000),
    "relu": lambda a: operators.relu(a + 5.5),
    "exp": lambda a: operators.exp(a - 200),
    "explog": lambda a: operators.log(a + 100000) + operators.exp(a - 200),
    "complex": lambda a: (
        operators.log(operators.sigmoid(operators.relu(operators.relu(a * 10 + 7) * 6 + 5) * 10))
        / 50
    ),
}
TWO_ARGUMENTS: dict[str, Callable[[float, float], float]] = {
    "add2": lambda a, b: a + b,
    "mul2": lambda a, b: a * b,
    "div2": lambda a, b: a / (b + 5.5),
    "gt2": lambda a, b: float(a + 1.2 > b),
    "lt2": lambda a, b: float(a + 1.2 < b),
    "eq2": lambda a, b: float(a == b + 5.5),
}
REDUCTIONS: dict[str, Callable[[list[float]], float]] = {
    "sum_red": lambda a: sum(a),
    "mean_red": lambda a: sum(a) / len(a),
    "mean_full_red": lambda a: sum(a) / len(a),
}


@pytest.mark.task0_2
@pytest.mark.parametrize("name", ONE_ARGUMENT)
@pytest.mark.parametrize("a", [-7.25, -0.5, 0.0, 2.0, 31.5])
def test_math_test_of_one_argument(name: str, a: float) -> None:
    assert getattr(MathTest, name)(a) == pytest.approx(ONE_ARGUMENT[name](a), rel=1e-12)


@pytest.mark.task0_2
@pytest.mark.parametrize("name", TWO_ARGUMENTS)
@pytest.mark.parametrize(("a", "b"), [(2.0, 3.0), (8.5, 3.0), (-1.0, 0.5), (3.0, 4.2)])
def test_math_test_of_two_arguments(name: str, a: float, b: float) -> None:
    assert getattr(MathTest, name)(a, b) == pytest.approx(TWO_ARGUMENTS[name](a, b), rel=1e-12)


@pytest.mark.task0_2
@pytest.mark.parametrize("name", REDUCTIONS)
def test_math_test_reductions(name: str) -> None:
    assert getattr(MathTest, name)([1.0, 2.0, 6.0]) == pytest.approx(
        REDUCTIONS[name]([1.0, 2.0, 6.0])
    )


@pytest.mark.task0_2
@pytest.mark.parametrize("kind", [MathTest, MathTestVariable], ids=lambda k: k.__name__)
def test_math_test_lists_and_triples(kind: type[MathTest]) -> None:
    tables: list[Iterable[str]] = [ONE_ARGUMENT, TWO_ARGUMENTS, REDUCTIONS]
    for pairs, triples, table in zip(kind._tests(), kind._comp_testing(), tables, strict=True):
        assert {name for name, _ in pairs} == set(table)
        assert {name for name, _, _ in triples} == set(table)
        assert all(fn == getattr(kind, name) for name, fn in pairs)
        assert all(base == getattr(MathTest, name) for name, base, _ in triples)
        assert all(own == getattr(kind, name) for name, _, own in triples)


@pytest.mark.task1_2
@pytest.mark.parametrize("name", [*ONE_ARGUMENT, *TWO_ARGUMENTS])
def test_math_test_variable_on_scalars(name: str) -> None:
    args = [2.0, 3.0][: 1 if name in ONE_ARGUMENT else 2]
    got = getattr(MathTestVariable, name)(*[Scalar(a) for a in args])
    assert got.data == pytest.approx(getattr(MathTest, name)(*args), rel=1e-9)


@pytest.mark.task2_3
def test_math_test_variable_reduces_dimension_zero() -> None:
    t = tensor([[1.0, 2.0], [3.0, 6.0]])
    assert MathTestVariable.sum_red(t).to_numpy().tolist() == [[4, 8]]
    assert MathTestVariable.mean_red(t).to_numpy().tolist() == [[2, 4]]
    assert MathTestVariable.mean_full_red(t).to_numpy().tolist() == [3]


# --- The package and the repository ---------------------------------------------------------


def python(*code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "\n".join(code)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.task0_0
def test_import_loads_neither_numba_nor_cuda_and_prints_nothing() -> None:
    done = python(
        "import sys, minitorch",
        "minitorch.tensor([1.0]).sum().backward()",
        "heavy = {'numba', 'scipy', 'torch', 'cupy', 'matplotlib', 'sklearn'} & set(sys.modules)",
        "sys.exit(repr(heavy) if heavy else 0)",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.task0_0
def test_what_is_lazy_is_listed_and_what_is_unknown_is_named() -> None:
    assert {"FastOps", "CudaOps", "conv1d", "conv2d", "sum_practice"} <= set(dir(minitorch))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = minitorch.no_such_name


@pytest.mark.task3_0
def test_importing_a_backend_replaces_no_name_of_another() -> None:
    done = python(
        "import minitorch",
        "names = ['to_index', 'index_to_position', 'broadcast_index', 'tensor_map', 'tensor_zip']",
        "before = [getattr(minitorch, n) for n in names]",
        "import minitorch.fast_ops, minitorch.fast_conv, minitorch.cuda_ops, minitorch.cuda_conv",
        "assert before == [getattr(minitorch, n) for n in names]",
        "assert before[0] is minitorch.tensor_data.to_index",
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.task3_0
def test_numba_cuda_can_be_asked_for_after_the_fast_backend() -> None:
    """The course's tests and scripts import numba, use FastOps, and ask numba.cuda."""
    done = python(
        "import numba, minitorch",
        "minitorch.TensorBackend(minitorch.FastOps)",
        "print(numba.cuda.is_available() in (True, False))",
    )
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr


@pytest.mark.task3_0
def test_cuda_backend_imports_without_a_gpu_and_says_what_is_missing() -> None:
    done = python(
        "import minitorch",
        "assert minitorch.CudaOps.cuda",
        "from minitorch import cuda_device",
        "for make in [] if cuda_device.available() else (",
        "    lambda: minitorch.tensor([1.0], backend=minitorch.TensorBackend(minitorch.CudaOps)),",
        "    lambda: minitorch.cuda_ops.tensor_map(minitorch.operators.neg),",
        "    lambda: minitorch.cuda_ops.tensor_reduce(minitorch.operators.add),",
        "):",
        "    try: make()",
        "    except RuntimeError as error:",
        "        assert 'minitorch[cuda]' in str(error), error",
        "        assert 'NUMBA_ENABLE_CUDASIM=1' in str(error), error",
        "    else: raise SystemExit('no error')",
        NUMBA_ENABLE_CUDASIM="0",
        CUDA_VISIBLE_DEVICES="",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.task0_0
def test_every_task_has_its_marker() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    markers = [m.split(":")[0] for m in config["tool"]["pytest"]["ini_options"]["markers"]]
    expected = {f"task{module}_{task}" for module in range(5) for task in range(5)}
    assert expected <= set(markers)


SCRIPTS = [
    "app",
    "run_manual",
    "run_scalar",
    "run_tensor",
    "run_fast_tensor",
    "run_torch",
    "run_mnist_multiclass",
    "run_sentiment",
    "parallel_check",
    "show_expression",
]


@pytest.mark.task0_0
@pytest.mark.parametrize("script", SCRIPTS)
def test_project_script_exists_and_compiles(script: str) -> None:
    source = (ROOT / "project" / f"{script}.py").read_text()
    compile(source, f"{script}.py", "exec")


@pytest.mark.task3_0
def test_run_fast_tensor_takes_the_courses_arguments() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "project" / "run_fast_tensor.py"), "--help"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for option in ("BACKEND", "HIDDEN", "DATASET", "RATE", "PTS", "EPOCHS"):
        assert re.search(rf"--{option}\b", done.stdout)


def _from_project(script: str) -> Any:
    """A script's module, imported the way the scripts import each other."""
    spec = importlib.util.spec_from_file_location(
        f"project_{script}", ROOT / "project" / f"{script}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "project"))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "project"))
    return module


TRAINERS = [
    ("task1_4", "run_scalar", "ScalarTrain", (2,)),
    ("task2_4", "run_tensor", "TensorTrain", (2,)),
    ("task3_0", "run_fast_tensor", "FastTrain", (2,)),
]


@pytest.mark.parametrize(
    ("script", "name", "args"), [marked(task, s, n, a) for task, s, n, a in TRAINERS]
)
def test_trainer_of_the_guide(script: str, name: str, args: tuple[int, ...]) -> None:
    module = _from_project(script)
    assert issubclass(module.Network, Module)
    assert issubclass(module.Linear, Module)
    trainer = getattr(module, name)(*args)
    data = minitorch.datasets["Simple"](6)
    calls: list[tuple[Any, ...]] = []
    trainer.train(data, 0.1, 2, lambda *a: calls.append(a))
    assert [call[0] for call in calls][-1] == 2
    assert all(len(call) == 4 for call in calls)  # epoch, total loss, correct, losses
    one, many = trainer.run_one(data.X[0]), trainer.run_many(data.X)
    value = one.data if isinstance(one, Scalar) else one[0, 0]
    assert 0.0 <= value <= 1.0
    assert len(many) == 6 if isinstance(many, list) else many.shape == (6, 1)


@pytest.mark.task4_0
@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("run_mnist_multiclass", "Network Linear Conv2d"),
        ("run_sentiment", "Linear Conv1d CNNSentimentKim"),
    ],
)
def test_layers_of_the_guide(script: str, names: str) -> None:
    module = _from_project(script)
    for name in names.split():
        assert issubclass(getattr(module, name), Module)
