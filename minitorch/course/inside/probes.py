"""Small questions to a library, whose answers tell known mistakes apart.

A case is an expression, shown to the student as it stands; its answer is a text. Answers of the
right library and of each wrong one are kept in `signatures.json`. What is here must not depend
on which of several right ways a student chose.
"""

from __future__ import annotations

import dis
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import minitorch
from minitorch import module, operators, scalar_functions
from minitorch.scalar import Scalar

CASES: dict[str, str] = {
    "0.1": """
        sigmoid(2.0)
        sigmoid(-2.0)
        sigmoid(-1000.0)
        called_by(sigmoid)
        relu(-2.0)
        relu(2.0)
        relu_back(0.0, 3.0)
        relu_back(2.0, 0.37)
        relu_back(2.0, -3.0)
        relu_back(-2.0, 3.0)
        inv_back(4.0, 3.0)
        inv_back(2.0, 1.0)
        log(0.0)
        log(2.0)
        log_back(2.0, 1.0)
        log_back(2.0, 0.37)
        log_back(0.0, 3.0)
        is_close(1.0, 1.005)
        is_close(1.0, 5.0)
        is_close(5.0, 1.0)
        is_close(1.0, 1.05)
        eq(1.0, 1.0)
        eq(1.0, 1.005)
        lt(1.0, 1.0)
        lt(1.0, 2.0)
        lt(2.0, 1.0)
        id(3)
    """,
    "0.2": """
        max(2.0, 3.0)
        max(3.0, 2.0)
        add(2.0, 3.0)
        inv(4.0)
        mul(2.0, 3.0)
        neg(2.0)
    """,
    "0.3": """
        zipWith(lt)([1.0, 5.0], [2.0, 3.0])
        zipWith(mul)([1.0, 2.0], [10.0, 20.0])
        reduce(add, 7.0)([1.0, 2.0])
        reduce(minus, 10.0)([1.0, 2.0])
        prod([2.0, 3.0])
        sum([2.0, 3.0])
        addLists([3.0, 2.0], [10.0, 20.0])
        map(neg)([1.0, 2.0])
    """,
    "0.4": """
        modes_after_eval(tree())
        names(tree())
        len(tree().parameters())
        tree().nothing
        type(tree().add_parameter("q", 1.0)).__name__
        names(replaced())
        asked_for_gradient()
    """,
    "1.1": """
        central_difference(cube, 2.0, epsilon=0.5)
        central_difference(square, 3.0)
        central_difference(hundreds, 1.0, 2.0, arg=0)
        central_difference(hundreds, 1.0, 2.0, arg=1)
    """,
    "1.2": """
        (5.0 - Scalar(2.0)).data
        (Scalar(5.0) - 2.0).data
        (6.0 / Scalar(2.0)).data
        (Scalar(3.0) > 2.0).data
        (Scalar(1.0) > 2.0).data
        Scalar(1.0, name="x").name == "x"
        constant_scalar().is_constant()
        last_function(Scalar(1.0).exp())
        Scalar(2.0).log().data
        (Scalar(2.0) == 2.0).data
        (Scalar(2.0) == 3.0).data
        (Scalar(2.0) < 3.0).data
    """,
    "1.3": """
        chain_rule_of_two(1.0)
        chain_rule_of_two(0.37)
        chain_rule_with_a_constant(1.0)
    """,
    "1.4": """
        order_problems(diamond())
        order_problems(ladder())
        order_problems(with_constant())
        order_problems(deep(20_000))
        derivatives(diamond(), 1.0)
        derivatives(line(), 0.37)
        derivative_after_two_backwards()
        scalar_back("Sigmoid", 1.0, 0.4)
        scalar_back("Sigmoid", 0.37, 0.4)
        scalar_back("Mul", 1.0, 2.0, 3.0)
        scalar_back("Mul", 0.37, 2.0, 3.0)
        scalar_back("Exp", 0.37, 0.4)
        scalar_back("Neg", 0.37, 0.4)
        scalar_back("Log", 0.37, 2.0)
        scalar_back("Inv", 0.37, 2.0)
        scalar_back("ReLU", 0.37, -2.0)
        scalar_back("LT", 0.37, 1.0, 2.0)
        scalar_back("Add", 0.37, 1.0, 2.0)
    """,
    "2.1": """
        index_of(4, (2, 3))
        index_of(17, (2, 3, 4))
        position((1, 2), (3, 1))
        elements(counted(2, 3).permute(1, 0))
        counted(2, 3).permute(1, 0).strides
        counted(2, 3).index((-1, 0))
        counted(2, 3).index((2, 0))
    """,
    "2.2": """
        broadcast((4, 1, 2), (5, 2, 3), (1, 3))
        broadcast((1, 2), (2, 3), (3,))
        broadcast((1, 2), (2, 3), (2, 1))
        shape_broadcast((2, 3), (3, 1))
        shape_broadcast((1,), (5, 5))
        shape_broadcast((5, 5), (1,))
        shape_broadcast((2, 3), (2,))
    """,
    "2.3": """
        mapped((2, 3), (3,))
        mapped((2, 3), (2, 3))
        mapped((2, 3), (2, 3), out_order=(1, 0))
        mapped((2, 3), (2, 3), in_order=(1, 0))
        zipped((2, 3), (2, 3), (2, 3))
        zipped((2, 3), (2, 1), (3,))
        zipped((2, 3), (2, 3), (2, 3), b_order=(1, 0))
        zipped((2, 3), (2, 3), (2, 3), out_order=(1, 0))
        reduced((2, 3), 1, start=0.0)
        reduced((2, 3), 0, start=100.0)
        reduced((2, 3), 1, start=0.0, in_order=(1, 0))
        reduced((2, 3, 2), 1, start=0.0, out_order=(2, 1, 0))
        numbers(tensor([1.0, 2.0]).is_close(tensor([1.005, 3.0])))
        numbers(tensor([1.0, 2.0]) < tensor([2.0, 1.0]))
        numbers(tensor([3.0, 1.0]) > 2.0)
        numbers(tensor([2.0, 3.0]).all(0))
        tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).permute(1, 0).view(6).shape
        numbers(tensor([[1.0, 2.0], [3.0, 4.0]]).mean(0))
        constant_tensor().is_constant()
    """,
    "2.4": """
        tensor_back("Sigmoid", 1.0, [0.4])
        tensor_back("Sigmoid", 0.37, [0.4])
        tensor_back("Mul", 0.37, [2.0], [3.0])
        tensor_back("Exp", 0.37, [0.4])
        tensor_back("Exp", 1.0, [0.4])
        tensor_back("Log", 0.37, [2.0])
        tensor_back("Inv", 0.37, [2.0])
        tensor_back("ReLU", 0.37, [-2.0, 2.0])
        tensor_back("ReLU", -0.37, [-2.0, 2.0])
        tensor_back("Neg", 0.37, [2.0])
        tensor_back("LT", 0.37, [1.0], [2.0])
        permute_back((2, 3, 4), (2, 0, 1))
        permute_back((2, 3), (1, 0))
        view_back()
        sum_back()
        gradient_of_two_uses()
        gradient_is_its_own_tensor()
        constant_among_inputs()
        summed_where_copied()
    """,
    "3.1": """
        fast_mapped((2, 3), in_order=(1, 0))
        fast_mapped((4,), to=(2, 4))
        fast_mapped((2, 1), to=(2, 3))
        fast_zipped((2, 3), (2, 3), b_order=(1, 0))
        fast_zipped((2, 1), (3,))
        fast_zipped((3, 4), (4,))
        fast_reduced((2, 3), 1, start=100.0)
        fast_reduced((5, 2), 0, start=0.0)
        fast_reduced((2, 5), 1, start=0.0)
    """,
    "3.2": """
        product((2, 3), (3, 2))
        product((5, 4), (4, 7))
        product((2, 2, 3), (2, 3, 2))
        product((1, 2, 3), (2, 3, 2), right_order=(0, 2, 1))
        product((2, 2, 3), (3, 2), right_order=(1, 0))
        product_back((2, 3), (3, 3), (2, 3), 0)
        product_back((2, 3), (3, 3), (2, 3), 1)
    """,
    "3.3": """
        cuda_mapped((2, 3), out_order=(1, 0))
        cuda_zipped((2, 3), (2, 3), b_order=(1, 0))
        cuda_reduced((2, 3), 1, start=1.0)
        sums_of_32(40)
        sums_of_32(64)
    """,
    "3.4": """
        cuda_product(mm_practice, 3)
        cuda_product(matmul, 3)
    """,
    "4.1": """
        conv1d_of((1, 1, 4), (1, 1, 2))
        conv1d_of((2, 2, 3), (1, 2, 2))
        conv1d_back((1, 1, 4), (1, 1, 2), 0)
        conv1d_back((1, 2, 4), (3, 2, 2), 0)
        conv1d_back((3, 1, 4), (1, 1, 2), 1)
    """,
    "4.2": """
        conv2d_of((1, 1, 3, 3), (1, 1, 2, 2))
        conv2d_of((1, 1, 3, 3), (1, 1, 2, 1))
        conv2d_of((1, 1, 1, 3), (1, 1, 1, 2))
    """,
    "4.3": """
        tiled((1, 1, 4, 4), (2, 2))
        tiled((1, 1, 2, 4), (1, 2))
        tile_sizes((1, 1, 2, 6), (2, 2))
        averaged((1, 1, 2, 2), (2, 2))
        averaged((1, 1, 4, 4), (2, 2))
    """,
    "4.4": """
        numbers(nn.argmax(tensor([1.0, 3.0, 3.0]), 0))
        max_back(1.0)
        max_back(0.37)
        numbers(nn.softmax(tensor([1.0, 2.0]), 0))
        numbers(nn.softmax(tensor([1000.0, 1000.0]), 0))
        numbers(nn.softmax(tensor([[1.0, 1.0], [1.0, 1.0]]), 1))
        numbers(nn.logsoftmax(tensor([1.0, 2.0]), 0))
        numbers(nn.logsoftmax(tensor([1000.0, 0.0]), 0))
        kept(rate=0.1)
        kept(rate=1.0)
        largest_kept(rate=0.5)
        numbers(nn.dropout(tensor([1.0, 2.0]), 1.0, ignore=True))
        rows_differ()
        numbers(nn.maxpool2d(ramp(1, 1, 2, 2), (2, 2)))
    """,
    "4.4b": """
        cuda_convolved((1, 1, 4), (1, 1, 2))
        cuda_convolved((1, 2, 3), (1, 2, 1))
        cuda_convolved((1, 1, 4), (1, 1, 2), reverse=True)
        cuda_convolved((1, 1, 2, 3), (1, 1, 2, 2))
        cuda_convolved((1, 1, 2, 3), (1, 1, 2, 2), reverse=True)
        cuda_convolved((1, 1, 2, 3), (1, 1, 1, 2), out_order=(0, 1, 3, 2))
    """,
}


def run(task: str) -> dict[str, str]:
    """The answers to all cases of a task."""
    names = _names()
    answers = {}
    for other in {"0.1": ("0.1", "0.2"), "0.2": ("0.1", "0.2")}.get(task, (task,)):
        for line in CASES.get(other, "").split("\n"):
            if case := line.strip():
                random.seed(0)
                np.random.seed(0)  # noqa: NPY002
                answers[case] = _answer(case, names)
    return answers


def _answer(case: str, names: dict[str, Any]) -> str:
    try:
        return text(eval(case, dict(names)))  # our own cases, written above
    except RecursionError:
        return "RecursionError"
    except Exception as error:
        return f"{type(error).__name__}"


def text(value: Any) -> str:
    """A value as a text in which rounding errors do not show."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)):
        return str(float(f"{float(value):.5g}") + 0.0)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text(v) for v in value) + "]"
    return str(value)


def _names() -> dict[str, Any]:
    found: dict[str, Any] = {n: v for n, v in globals().items() if not n.startswith("_")}
    found |= {n: v for n, v in vars(operators).items() if callable(v)}
    for name in ("shape_broadcast", "central_difference", "tensor", "nn"):
        found[name] = getattr(minitorch, name)
    return found


# --- Lesson 0 ------------------------------------------------------------------------------


def called_by(fn: Callable[..., Any]) -> list[str]:
    """The functions of operators.py that a function calls."""
    loads = {i.argval for i in dis.get_instructions(fn) if i.opname == "LOAD_GLOBAL"}
    return sorted(n for n in loads if callable(vars(operators).get(n)))


def minus(x: float, y: float) -> float:
    return x - y


def tree() -> Any:
    root, a, b, c = (module.Module() for _ in range(4))
    root.p, a.p, c.p = (module.Parameter(float(i)) for i in range(3))
    root.a, root.b, b.c = a, b, c
    return root


def modes_after_eval(root: Any) -> list[bool]:
    root.eval()
    return [root.training, root.a.training, root.b.training, root.b.c.training]


def names(root: Any) -> list[str]:
    return [name for name, _ in root.named_parameters()]


def replaced() -> Any:
    root = module.Module()
    root.p = module.Parameter(1.0)
    root.p = "no parameter any more"
    return root


def asked_for_gradient() -> bool:
    class Value:
        asked = False

        def requires_grad_(self, x: bool) -> None:
            self.asked = x

    return module.Parameter(Value()).value.asked


# --- Lesson 1 ------------------------------------------------------------------------------


def cube(x: float) -> float:
    return x * x * x


def square(x: float) -> float:
    return x * x


def hundreds(x: float, y: float) -> float:
    return 100.0 * x + y


def constant_scalar() -> Any:
    x = Scalar(1.0)
    x.requires_grad_(False)
    return x


def last_function(x: Any) -> str:
    return x.history.last_fn.__name__ if x.history and x.history.last_fn else "none"


class TwoInputs(scalar_functions.ScalarFunction):
    """A function whose derivatives are 10 and 100."""

    @staticmethod
    def forward(ctx: Any, a: float, b: float) -> float:
        return 10.0 * a + 100.0 * b

    @staticmethod
    def backward(ctx: Any, d_output: float) -> tuple[float, float]:
        return 10.0 * d_output, 100.0 * d_output


def _chain_rule(d: float, *inputs: Any) -> list[Any]:
    pairs: Any = TwoInputs.apply(*inputs).chain_rule(d)
    return [(v.data, x) for v, x in pairs]


def chain_rule_of_two(d: float) -> list[Any]:
    return _chain_rule(d, Scalar(1.0), Scalar(2.0))


def chain_rule_with_a_constant(d: float) -> list[Any]:
    return _chain_rule(d, Scalar(1.0), constant_scalar())


class V:
    """A variable of a graph, with a fixed derivative for each parent."""

    count = 0

    def __init__(self, name: str, *parents: V, constant: bool = False) -> None:
        V.count += 1
        self.unique_id = V.count
        self.name, self.parents, self.constant = name, list(parents), constant
        self.derivative: float | None = None

    def is_leaf(self) -> bool:
        return not self.parents

    def is_constant(self) -> bool:
        return self.constant

    def chain_rule(self, d: float) -> list[Any]:
        return [(p, d * (i + 2)) for i, p in enumerate(self.parents) if not p.constant]

    def accumulate_derivative(self, x: float) -> None:
        self.derivative = (self.derivative or 0.0) + x

    def below(self) -> list[V]:
        """This and all it was computed from, each once."""
        found, queue = {}, [self]
        while queue:
            node = queue.pop()
            if node.unique_id not in found:
                found[node.unique_id] = node
                queue += node.parents
        return list(found.values())


def diamond() -> V:
    z = V("z")
    return V("h", V("log(z)", z), V("exp(z)", V("2 z", z)))


def ladder() -> V:
    x = V("x")
    a = V("a", x)
    b = V("b", a, x)
    return V("c", x, b, a)


def with_constant() -> V:
    return V("y", V("x"), V("5", constant=True))


def line() -> V:
    return V("y", V("u", V("x")))


def deep(n: int) -> V:
    top = V("x")
    for i in range(n):
        top = V(str(i), top)
    return top


def order_problems(top: V) -> list[str]:
    order = minitorch.topological_sort(top)  # type: ignore[arg-type]
    place: dict[str, int] = {}
    problems = []
    for i, node in enumerate(order):
        if node.name in place:  # type: ignore[attr-defined]
            problems.append(f"{node.name} twice")  # type: ignore[attr-defined]
        place.setdefault(node.name, i)  # type: ignore[attr-defined]
        if node.is_constant():
            problems.append(f"constant {node.name}")  # type: ignore[attr-defined]
    for node in top.below():
        if node.constant:
            continue
        if node.name not in place:
            problems.append(f"{node.name} missing")
        for parent in node.parents:
            if place.get(parent.name, len(order)) < place.get(node.name, -1):
                problems.append(f"{parent.name} before {node.name}")
    return sorted(problems)[:4]


def derivatives(top: V, d: float) -> list[Any]:
    minitorch.backpropagate(top, d)  # type: ignore[arg-type]
    return [node.derivative for node in top.below() if not node.parents]


def derivative_after_two_backwards() -> Any:
    x = Scalar(2.0)
    (x * 3.0).backward()
    (x * 3.0).backward()
    return x.derivative


def scalar_back(name: str, d: float, *inputs: float) -> Any:
    """The derivatives that a function passes back, given d."""
    ctx = minitorch.Context()
    function = getattr(scalar_functions, name)
    function.forward(ctx, *inputs)
    return function.backward(ctx, d)


# --- Lesson 2 ------------------------------------------------------------------------------


def counted(*shape: int) -> Any:
    return minitorch.TensorData([float(i) for i in range(int(np.prod(shape)))], shape)


def elements(data: Any) -> list[float]:
    return data.to_numpy().ravel().tolist()


def _int32(values: Any) -> Any:
    return np.array(values, dtype=np.int32)


def index_of(ordinal: int, shape: tuple[int, ...]) -> list[int]:
    out = _int32([0] * len(shape))
    minitorch.to_index(ordinal, _int32(shape), out)
    return out.tolist()


def position(index: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return minitorch.index_to_position(_int32(index), _int32(strides))


def broadcast(big_index: Any, big_shape: Any, shape: Any) -> list[int]:
    out = _int32([0] * len(shape))
    minitorch.broadcast_index(_int32(big_index), _int32(big_shape), _int32(shape), out)
    return out.tolist()


def _data(shape: Any, order: Any = None, start: float = 1.0) -> Any:
    """Numbers counted from start, in a shape, with memory in another order if one is given."""
    if order is None:
        size = int(np.prod(shape))
        return minitorch.TensorData([start + i for i in range(size)], shape)
    inner = tuple(shape[order.index(d)] for d in range(len(shape)))
    strides = minitorch.strides_from_shape(inner)
    values = np.arange(int(np.prod(shape)), dtype=float) + start
    return minitorch.TensorData(values, shape, [strides[order[d]] for d in range(len(shape))])


def _mapped(builder: Any, out: Any, a: Any) -> list[float]:
    builder(lambda x: 10.0 * x)(*out.tuple(), *a.tuple())
    return elements(out)


def mapped(out_shape: Any, shape: Any, out_order: Any = None, in_order: Any = None) -> list[float]:
    return _mapped(minitorch.tensor_map, _data(out_shape, out_order, 0.0), _data(shape, in_order))


def zipped(
    out_shape: Any, a: Any, b: Any, out_order: Any = None, b_order: Any = None
) -> list[float]:
    out = _data(out_shape, out_order, 0.0)
    kernel = minitorch.tensor_zip(lambda x, y: 100.0 * x + y)
    kernel(*out.tuple(), *_data(a).tuple(), *_data(b, b_order).tuple())
    return elements(out)


def reduced(
    shape: Any, dim: int, start: float, in_order: Any = None, out_order: Any = None
) -> list[float]:
    out = _data([1 if d == dim else n for d, n in enumerate(shape)], out_order)
    out._storage[:] = start
    kernel: Any = minitorch.tensor_reduce(operators.add)
    kernel(*out.tuple(), *_data(shape, in_order).tuple(), dim)
    return elements(out)


def numbers(t: Any) -> list[float]:
    return t.to_numpy().ravel().tolist()


def constant_tensor() -> Any:
    x = minitorch.tensor([1.0])
    x.requires_grad_(False)
    return x


def ramp(*shape: int, backend: Any = minitorch.SimpleBackend, start: float = 1.0) -> Any:
    """A tensor that counts up, and wants a gradient."""
    t = minitorch.Tensor(_data(shape, start=start), backend=backend)
    t.requires_grad_(True)
    return t


def tensor_back(name: str, g: float, *inputs: list[float]) -> Any:
    """The gradients that a function passes back, given g everywhere."""
    function = getattr(minitorch, name)
    ctx = minitorch.Context()
    given = [minitorch.Tensor(minitorch.TensorData(x, (len(x),))) for x in inputs]
    out = function.forward(ctx, *given)
    incoming = minitorch.Tensor(minitorch.TensorData([g] * out.size, out.shape))
    gradients = function._backward(ctx, incoming)
    return [numbers(x) if hasattr(x, "to_numpy") else x for x in gradients]


def permute_back(shape: Any, order: Any) -> list[float]:
    x = ramp(*shape)
    out = x.permute(*order)
    out.backward(ramp(*out.shape).detach())
    return numbers(x.grad)


def view_back() -> list[float]:
    x = ramp(2, 3)
    x.view(3, 2).backward(ramp(2, 3).detach().permute(1, 0))
    return numbers(x.grad)


def sum_back() -> list[float]:
    x = ramp(2, 2)
    x.sum(0).backward(ramp(1, 2, start=5.0).detach())
    return numbers(x.grad)


def gradient_of_two_uses() -> list[float]:
    x = ramp(2)
    (x * 3.0).sum().backward()
    (x * 3.0).sum().backward()
    return numbers(x.grad)


def gradient_is_its_own_tensor() -> list[float]:
    x = ramp(2)
    g = ramp(2).detach()
    (x + 0.0).backward(g)
    g[0] = 77.0
    return numbers(x.grad)


def constant_among_inputs() -> int:
    x, c = ramp(2), ramp(2).detach()
    return len(list((x * c).chain_rule(ramp(2).detach())))


def summed_where_copied() -> list[Any]:
    x = ramp(2, 1)
    (x + ramp(2, 3)).backward(ramp(2, 3).detach())
    return [x.grad.shape, numbers(x.grad)]


# --- Lessons 3 and 4, with kernels as plain Python -----------------------------------------


def _fast() -> Any:
    return minitorch.TensorBackend(minitorch.FastOps)


def fast_mapped(shape: Any, in_order: Any = None, to: Any = None) -> list[float]:
    out = _data(to or shape, None, 0.0)
    return _mapped(minitorch.fast_ops.tensor_map, out, _data(shape, in_order))


def fast_zipped(a: Any, b: Any, b_order: Any = None) -> list[float]:
    out = _data(np.broadcast_shapes(a, b), None, 0.0)
    kernel = minitorch.fast_ops.tensor_zip(lambda x, y: 100.0 * x + y)
    kernel(*out.tuple(), *_data(a).tuple(), *_data(b, b_order).tuple())
    return elements(out)


def fast_reduced(shape: Any, dim: int, start: float) -> list[float]:
    out = _data([1 if d == dim else n for d, n in enumerate(shape)])
    out._storage[:] = start
    kernel = minitorch.fast_ops.tensor_reduce(operators.add)
    kernel(*out.tuple(), *_data(shape).tuple(), dim)
    return elements(out)


def product(left: Any, right: Any, right_order: Any = None) -> list[float]:
    """A product on the fast backend, by each kernel there is: the first wrong one, if any."""
    a = ramp(*left, backend=_fast())
    b = minitorch.Tensor(_data(right, right_order), backend=_fast())
    expected = (a.to_numpy() @ b.to_numpy()).ravel().tolist()
    tried = numbers(a @ b)
    if text(tried) != text(expected):
        return tried
    if len(left) == len(right) == 3:
        for rung in minitorch.fast_ops.MATMUL_LADDER.values():
            out = a.zeros((max(left[0], right[0]), left[1], right[2]))
            rung(*out.tuple(), *a.tuple(), *b.tuple())
            if text(numbers(out)) != text(expected):
                return numbers(out)
    elif len(left) == len(right) == 2:
        for rung in minitorch.fast_ops.MATMUL_LADDER.values():
            out = a.zeros((1, left[0], right[1]))
            stacks = [t.view(1, *t.shape) for t in (a.detach(), b.contiguous())]
            rung(*out.tuple(), *stacks[0].tuple(), *stacks[1].tuple())
            if text(numbers(out)) != text(expected):
                return numbers(out)
    return tried


def product_back(left: Any, right: Any, out: Any, i: int) -> Any:
    a, b = ramp(*left), ramp(*right)
    (a @ b).backward(ramp(*out, start=5.0).detach())
    return numbers((a, b)[i].grad)


def _cuda() -> Any:
    return minitorch.TensorBackend(minitorch.CudaOps)


def _launched(kernel: Any, out: Any, *inputs: Any) -> list[float]:
    arguments = [out, *inputs]
    tuples = [minitorch.cuda_device.launch_arguments(a) for a in arguments]
    kernel[1, 32](*tuples[0], out.size, *[x for t in tuples[1:] for x in t])
    return elements(out)


def _on_device(data: Any) -> Any:
    data.to_cuda_()
    return data


def cuda_mapped(shape: Any, out_order: Any) -> list[float]:
    out, a = _on_device(_data(shape, out_order, 0.0)), _on_device(_data(shape))
    return _launched(minitorch.cuda_ops.tensor_map(operators.neg), out, a)


def cuda_zipped(a: Any, b: Any, b_order: Any) -> list[float]:
    data = [_on_device(_data(a, None, 0.0)), _on_device(_data(a)), _on_device(_data(b, b_order))]
    return _launched(minitorch.cuda_ops.tensor_zip(operators.mul), *data)


def cuda_reduced(shape: Any, dim: int, start: float) -> list[float]:
    t = minitorch.Tensor(_data(shape), backend=_cuda())
    return numbers(minitorch.CudaOps.reduce(operators.mul, start)(t, dim))


def sums_of_32(n: int) -> list[float]:
    return elements(minitorch.sum_practice(minitorch.Tensor(_data((n,)), backend=_cuda())))


def mm_practice(a: Any, b: Any) -> Any:
    return minitorch.mm_practice(a, b).to_numpy()


def matmul(a: Any, b: Any) -> Any:
    return (a @ b).to_numpy()


def cuda_product(multiply: Any, n: int) -> list[float]:
    a, b = (minitorch.Tensor(_data((n, n)), backend=_cuda()) for _ in range(2))
    return multiply(a, b).ravel().tolist()


def cuda_convolved(
    shape: Any, weight: Any, reverse: bool = False, out_order: Any = None
) -> list[float]:
    """A kernel of cuda_conv.py, by two threads to an output, and with threads to spare."""
    from minitorch import cuda_conv

    out = _on_device(_data((shape[0], weight[0], *shape[2:]), out_order, 0.0))
    data = [_on_device(_data(shape)), _on_device(_data(weight, None, 2.0))]
    tuples = [minitorch.cuda_device.launch_arguments(a) for a in (out, *data)]
    kernel = cuda_conv._tensor_conv1d if len(shape) == 3 else cuda_conv._tensor_conv2d
    threads = (2, cuda_conv.THREADS // 2)
    blocks = -(-out.size // threads[1])
    minitorch.cuda_device.jit(kernel)[blocks, threads](
        *tuples[0], out.size, *tuples[1], *tuples[2], reverse
    )
    return elements(out)


def conv1d_of(shape: Any, weight: Any) -> list[float]:
    return numbers(minitorch.conv1d(ramp(*shape), ramp(*weight)))


def conv2d_of(shape: Any, weight: Any) -> list[float]:
    return numbers(minitorch.conv2d(ramp(*shape), ramp(*weight)))


def conv1d_back(shape: Any, weight: Any, i: int) -> list[float]:
    inputs = ramp(*shape), ramp(*weight, start=2.0)
    out = minitorch.conv1d(*inputs)
    out.backward(ramp(*out.shape, start=5.0).detach())
    return numbers(inputs[i].grad)


def tiled(shape: Any, kernel: Any) -> list[Any]:
    tiles, _, _ = minitorch.tile(ramp(*shape), kernel)
    return [tiles.shape, numbers(tiles)]


def tile_sizes(shape: Any, kernel: Any) -> list[int]:
    return list(minitorch.tile(ramp(*shape), kernel)[1:])


def averaged(shape: Any, kernel: Any) -> list[float]:
    return numbers(minitorch.avgpool2d(ramp(*shape), kernel))


def max_back(g: float) -> list[float]:
    x = minitorch.tensor([1.0, 3.0, 2.0])
    minitorch.max(x, 0).backward(minitorch.tensor([g]).detach())
    return numbers(x.grad)


def kept(rate: float) -> str:
    """Whether about as many are kept as should be."""
    share = float(np.mean(minitorch.dropout(ramp(20, 20), rate).to_numpy() != 0.0))
    return "as many as should be" if abs(share - (1.0 - rate)) < 0.15 else f"about {share:.0%}"


def largest_kept(rate: float) -> float:
    return float(minitorch.dropout(minitorch.tensor([1.0] * 50), rate).to_numpy().max())


def rows_differ() -> bool:
    out = minitorch.dropout(ramp(4, 30), 0.5).to_numpy() != 0.0
    return bool((out != out[:, :1]).any())
