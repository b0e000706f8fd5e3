"""Lessons 2 and 3: every backend does the same, compared with plain Python and with NumPy.

The plain backend is checked under tasks 2.3 (forward) and 2.4 (backward), the compiled
one under task 3.1. Its loops are the same around every function, and each is to be compiled:
there, what is drawn goes through all functions.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import MathTestVariable, Tensor, grad_check, operators, shape_broadcast

from .strategies import (
    any_number,
    assert_close,
    assert_like_numpy,
    backend,
    backends,
    broadcast_tensors,
    for_all,
    nonzero_floats,
    nonzero_number,
    positive_floats,
    positive_number,
    quarter,
    quarters,
    random_order,
    random_tensor,
    relu_in_numpy,
    sigmoid_in_numpy,
    small_floats,
    smooth_number,
    some_pairs,
    some_tensors,
    tensors,
)

forward = backends("task2_3")
backward = backends("task2_4")

Triple = tuple[str, Callable[..., Any], Callable[..., Any]]
_one, _two, _red = MathTestVariable._comp_testing()
one_argument = pytest.mark.parametrize("fn", _one, ids=lambda fn: fn[0])
two_arguments = pytest.mark.parametrize("fn", _two, ids=lambda fn: fn[0])
reductions = pytest.mark.parametrize("fn", _red, ids=lambda fn: fn[0])


def on(backend_name: str, values: Any) -> Tensor:
    return minitorch.tensor(values, backend=backend(backend_name))


# --- MathTest's functions in NumPy, where they use methods or comparisons ----------------


def _log(x: Any) -> Any:
    return np.log(x + operators.EPS)


def _complex(a: Any) -> Any:
    inner = relu_in_numpy(relu_in_numpy(a * 10 + 7) * 6 + 5)
    return _log(sigmoid_in_numpy(inner * 10)) / 50


IN_NUMPY: dict[str, Callable[..., Any]] = {
    "sig": sigmoid_in_numpy,
    "log": lambda a: _log(a + 100000),
    "relu": lambda a: relu_in_numpy(a + 5.5),
    "exp": lambda a: np.exp(a - 200),
    "explog": lambda a: _log(a + 100000) + np.exp(a - 200),
    "complex": _complex,
    "gt2": lambda a, b: a.real + 1.2 > b.real,
    "lt2": lambda a, b: a.real + 1.2 < b.real,
    "eq2": lambda a, b: a.real == b.real + 5.5,
    "sum_red": lambda a: a.sum(0, keepdims=True),
    "mean_red": lambda a: a.mean(0, keepdims=True),
    "mean_full_red": lambda a: a.mean().reshape(1),
}


def in_numpy(fn: Triple) -> Callable[..., Any]:
    return IN_NUMPY.get(fn[0], fn[2])


# --- Forward, against plain Python and NumPy -------------------------------------------


def check_one_argument(fn: Triple, t: Tensor) -> None:
    _, base, variable = fn
    got = variable(t)
    expected = np.reshape([base(x) for x in t.to_numpy().ravel().tolist()], t.shape)
    assert_close(got.to_numpy(), expected)
    assert_like_numpy(variable, in_numpy(fn), t, gradients=False)


def check_two_arguments(fn: Triple, a: Tensor, b: Tensor) -> None:
    _, base, variable = fn
    x, y = np.broadcast_arrays(a.to_numpy(), b.to_numpy())
    values = [base(*pair) for pair in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)]
    assert_close(variable(a, b).to_numpy(), np.reshape(values, x.shape))
    assert_like_numpy(variable, in_numpy(fn), a, b, gradients=False)


def check_reduction(fn: Triple, t: Tensor) -> None:
    name, base, variable = fn
    got, array = variable(t), t.to_numpy()
    if name == "mean_full_red":
        assert_close(got.to_numpy(), [base(array.ravel().tolist())], atol=1e-11)
        return
    columns = array.reshape(t.shape[0], -1)
    expected = [base(columns[:, i].tolist()) for i in range(columns.shape[1])]
    assert_close(got.to_numpy(), np.reshape(expected, (1, *t.shape[1:])), atol=1e-11)


@pytest.mark.task2_3
@one_argument
def test_one_argument(fn: Triple) -> None:
    for_all(partial(check_one_argument, fn), some_tensors(smooth_number))


@pytest.mark.task2_3
@two_arguments
def test_two_arguments(fn: Triple) -> None:
    for_all(partial(check_two_arguments, fn), some_pairs(quarter))


@pytest.mark.task2_3
@reductions
def test_reductions(fn: Triple) -> None:
    for_all(partial(check_reduction, fn), some_tensors(any_number))


@forward
@given(st.data())
def test_sum_mean_all_over_every_dimension(backend_name: str, data: st.DataObject) -> None:
    t = data.draw(tensors(backend_name=backend_name))
    array = t.to_numpy()
    for dim in range(t.dims):
        assert_close(t.sum(dim).to_numpy(), array.sum(dim, keepdims=True), atol=1e-11)
        assert_close(t.mean(dim).to_numpy(), array.mean(dim, keepdims=True), atol=1e-11)
        assert_close((t > 0.0).all(dim).to_numpy(), (array > 0).all(dim, keepdims=True))
    assert_close(t.sum().to_numpy(), [array.sum()], atol=1e-10)
    assert_close(t.mean().to_numpy(), [array.mean()], atol=1e-10)
    assert_close((t > 0.0).all().to_numpy(), [float((array > 0).all())])


@forward
@given(st.data())
def test_maps(backend_name: str, data: st.DataObject) -> None:
    t = data.draw(tensors(small_floats, backend_name=backend_name))
    array = t.to_numpy()
    assert_close((-t).to_numpy(), -array)
    assert_close(t.relu().to_numpy(), np.maximum(array, 0))
    assert_close(t.sigmoid().to_numpy(), 0.5 * (1 + np.tanh(array / 2)), atol=1e-15)
    assert_close(t.exp().to_numpy(), np.exp(array))
    p = data.draw(tensors(positive_floats, backend_name=backend_name))
    assert_close(p.log().to_numpy(), np.log(p.to_numpy() + 1e-6), atol=1e-15)
    assert_close((1.0 / p).to_numpy(), 1.0 / p.to_numpy())


@forward
@given(st.data())
def test_comparisons(backend_name: str, data: st.DataObject) -> None:
    a, b = data.draw(broadcast_tensors(quarters, backend_name=backend_name))
    x, y = a.to_numpy(), b.to_numpy()
    assert_close((a < b).to_numpy(), np.less(x, y))
    assert_close((a > b).to_numpy(), np.greater(x, y))
    assert_close((a == b).to_numpy(), np.equal(x, y))
    assert_close(a.is_close(b).to_numpy(), np.abs(x - y) < 1e-2)


@forward
@given(st.data(), quarters)
def test_plain_numbers_on_either_side(backend_name: str, data: st.DataObject, y: float) -> None:
    t: Any = data.draw(tensors(nonzero_floats, backend_name=backend_name))
    x = t.to_numpy()
    assert_close((t + y).to_numpy(), x + y)
    assert_close((y + t).to_numpy(), y + x)
    assert_close((t - y).to_numpy(), x - y)
    assert_close((y - t).to_numpy(), y - x)
    assert_close((t * y).to_numpy(), x * y)
    assert_close((y * t).to_numpy(), y * x)
    assert_close((t / y).to_numpy(), x / y)
    assert_close((y / t).to_numpy(), y / x)
    assert_close((t < y).to_numpy(), x < y)
    assert_close((t > y).to_numpy(), x > y)
    assert_close((y < t).to_numpy(), y < x)
    assert_close((t == y).to_numpy(), x == y)


@forward
def test_is_close_has_tolerance(backend_name: str) -> None:
    a, b = on(backend_name, [1.0, 1.0, 1.0]), on(backend_name, [1.009, 0.991, 1.02])
    assert a.is_close(b).to_numpy().tolist() == [1.0, 1.0, 0.0]


@forward
@pytest.mark.parametrize("x", [1000.0, -1000.0])
def test_sigmoid_is_stable(backend_name: str, x: float) -> None:
    assert on(backend_name, [x]).sigmoid().item() == (1.0 if x > 0 else 0.0)


@forward
def test_one_number_without_dimensions(backend_name: str) -> None:
    t = on(backend_name, 3.0)
    assert (-t).item() == -3.0
    assert (t + t).shape == ()
    assert (t * on(backend_name, [[1.0, 2.0]])).to_numpy().tolist() == [[3.0, 6.0]]
    assert t.sum().to_numpy().tolist() == [3.0]


@forward
@pytest.mark.parametrize("shape", [(3, 50), (50, 3), (2, 50, 2)])
def test_reducing_a_long_dimension(backend_name: str, shape: tuple[int, ...]) -> None:
    t = random_tensor(shape, backend_name, random_order(len(shape)))
    for dim in range(len(shape)):
        assert_close(t.sum(dim).to_numpy(), t.to_numpy().sum(dim, keepdims=True), atol=1e-12)


@forward
def test_operations_leave_their_inputs_alone(backend_name: str) -> None:
    a, b = random_tensor((3, 2), backend_name), random_tensor((2,), backend_name)
    before = a.to_numpy(), b.to_numpy()
    for out in (a + b, a * b, -a, a.sum(0), a.relu(), a < b, a.permute(1, 0).contiguous()):
        out.sum()
    assert_close(a.to_numpy(), before[0])
    assert_close(b.to_numpy(), before[1])


@forward
def test_map_broadcasts_into_a_given_output(backend_name: str) -> None:
    t = random_tensor((3, 1), backend_name)
    out = Tensor.make(np.full(24, 7.0), (2, 3, 4), (1, 2, 6), backend=backend(backend_name))
    t.f.neg_map(t, out)
    assert_close(out.to_numpy(), np.broadcast_to(-t.to_numpy(), (2, 3, 4)))


# --- Backward: random incoming gradients, broadcast, not contiguous ------------------------


def check_gradients(fn: Triple, *inputs: Tensor, atol: float = 1e-12) -> None:
    """Against NumPy, and against central differences."""
    assert_like_numpy(fn[2], in_numpy(fn), *inputs, atol=atol)
    if fn[0] == "eq2":  # away from the step
        inputs = inputs[0], (inputs[1] + 0.1).detach()
    grad_check(fn[2], *inputs)


@pytest.mark.task2_4
@one_argument
def test_gradient_of_one_argument(fn: Triple) -> None:
    for_all(partial(check_gradients, fn), some_tensors(smooth_number))


@pytest.mark.task2_4
@two_arguments
def test_gradients_of_two_arguments(fn: Triple) -> None:
    for_all(partial(check_gradients, fn), some_pairs(quarter))


def check_gradient_of_reduction(fn: Triple, t: Tensor) -> None:
    assert_like_numpy(fn[2], in_numpy(fn), t, atol=1e-10)


@pytest.mark.task2_4
@reductions
def test_gradient_of_reductions(fn: Triple) -> None:
    for_all(partial(check_gradient_of_reduction, fn), some_tensors(any_number))


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Any]] = {
    "Neg": (lambda a: -a, lambda a: -a, smooth_number),
    "Inv": (lambda a: 1.0 / a, lambda a: 1.0 / a, nonzero_number),
    "Sigmoid": (lambda a: a.sigmoid(), sigmoid_in_numpy, smooth_number),
    "ReLU": (lambda a: a.relu(), relu_in_numpy, smooth_number),
    "Log": (lambda a: a.log(), _log, positive_number),
    "Exp": (lambda a: a.exp(), np.exp, lambda: random.uniform(-5, 5)),
    "Copy": (lambda a: minitorch.Copy.apply(a), lambda a: a, smooth_number),
    "contiguous": (lambda a: a.contiguous(), lambda a: a, smooth_number),
    "View": (
        lambda a: a.contiguous().view(1, a.size),
        lambda a: a.reshape(1, -1),
        smooth_number,
    ),
    "Permute": (
        lambda a: a.permute(*range(1, a.dims), 0),
        lambda a: a.transpose(*range(1, a.ndim), 0),
        smooth_number,
    ),
    "Sum": (lambda a: a.sum(), lambda a: a.sum().reshape(1), smooth_number),
    "last sum": (lambda a: a.sum(a.dims - 1), lambda a: a.sum(-1, keepdims=True), smooth_number),
    "last mean": (lambda a: a.mean(a.dims - 1), lambda a: a.mean(-1, keepdims=True), smooth_number),
    "All": (
        lambda a: (a > 0.0).all(0),
        lambda a: (a.real > 0).all(0, keepdims=True),
        smooth_number,
    ),
    "mixed": (
        lambda a: (a * a.sum(0) - a.sigmoid() / 3.0) * a.permute(*reversed(range(a.dims))).sum(),
        lambda a: (a * a.sum(0, keepdims=True) - sigmoid_in_numpy(a) / 3.0) * a.sum(),
        quarter,
    ),
}


def check_function(name: str, t: Tensor) -> None:
    ours, theirs, _ = FUNCTIONS[name]
    assert_like_numpy(ours, theirs, t, atol=1e-9 if name == "mixed" else 1e-10)


@pytest.mark.task2_4
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_of_functions(name: str) -> None:
    for_all(partial(check_function, name), some_tensors(FUNCTIONS[name][2]))


PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Any]] = {
    "Add": (lambda a, b: a + b, lambda a, b: a + b, smooth_number),
    "Sub": (lambda a, b: a - b, lambda a, b: a - b, smooth_number),
    "Mul": (lambda a, b: a * b, lambda a, b: a * b, smooth_number),
    "Div": (lambda a, b: a / b, lambda a, b: a / b, nonzero_number),
    "LT": (lambda a, b: a < b, lambda a, b: a.real < b.real, quarter),
    "GT": (lambda a, b: a > b, lambda a, b: a.real > b.real, quarter),
    "EQ": (lambda a, b: a == b, lambda a, b: a.real == b.real, quarter),
    "IsClose": (
        lambda a, b: a.is_close(b),
        lambda a, b: np.abs((a - b).real) < 1e-2,
        quarter,
    ),
}


def check_pair(name: str, a: Tensor, b: Tensor) -> None:
    ours, theirs, _ = PAIRS[name]
    assert_like_numpy(ours, theirs, a, b, atol=1e-10)


@pytest.mark.task2_4
@pytest.mark.parametrize("name", PAIRS)
def test_gradient_of_pairs(name: str) -> None:
    for_all(partial(check_pair, name), some_pairs(PAIRS[name][2]))


@backward
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_gradient_of_permute(order: tuple[int, ...], backend_name: str) -> None:
    t = random_tensor((2, 3, 4), backend_name)
    grad = np.arange(24.0).reshape([t.shape[d] for d in order])
    t.permute(*order).backward(on(backend_name, grad.tolist()))
    assert t.grad is not None
    assert_close(t.grad.to_numpy(), grad.transpose(np.argsort(order)))


@backward
def test_requires_grad_false_gets_nothing(backend_name: str) -> None:
    a, b = random_tensor((2,), backend_name), random_tensor((2,), backend_name)
    b.requires_grad_(False)
    (a * b).sum().backward()
    assert a.grad is not None
    assert_close(a.grad.to_numpy(), b.to_numpy())
    assert b.grad is None


# --- Task 3.1: the compiled backend ---------------------------------------------------------


@pytest.mark.task3_1
def test_fast_functions_of_one_argument() -> None:
    for fn in _one:
        for_all(partial(check_one_argument, fn), some_tensors(smooth_number, "fast"), fn[0])
        for_all(partial(check_gradients, fn), some_tensors(smooth_number, "fast"), fn[0])


@pytest.mark.task3_1
def test_fast_functions_of_two_arguments() -> None:
    for fn in _two:
        for_all(partial(check_two_arguments, fn), some_pairs(quarter, "fast"), fn[0])
        for_all(partial(check_gradients, fn), some_pairs(quarter, "fast"), fn[0])


@pytest.mark.task3_1
def test_fast_reductions() -> None:
    for fn in _red:
        for_all(partial(check_reduction, fn), some_tensors(any_number, "fast"), fn[0])
        for_all(partial(check_gradient_of_reduction, fn), some_tensors(any_number, "fast"), fn[0])


@pytest.mark.task3_1
def test_fast_gradients_of_functions() -> None:
    for name, (_, _, sample) in FUNCTIONS.items():
        for_all(partial(check_function, name), some_tensors(sample, "fast"), name)


@pytest.mark.task3_1
def test_fast_gradients_of_pairs() -> None:
    for name, (_, _, sample) in PAIRS.items():
        for_all(partial(check_pair, name), some_pairs(sample, "fast"), name)


@pytest.mark.task3_0
def test_import_of_fast_ops() -> None:
    assert issubclass(minitorch.FastOps, minitorch.TensorOps)
    assert minitorch.FastOps.cuda is False
    assert minitorch.fast_ops.FastOps is minitorch.FastOps
    assert minitorch.tensor_map is not minitorch.fast_ops.tensor_map
    assert minitorch.to_index is minitorch.tensor_data.to_index


def i32(*values: int) -> Any:
    return np.array(values, dtype=np.int32)


@pytest.mark.task3_1
def test_fast_map_loop() -> None:
    """A (1, 3) input into a (2, 3) output that is stored column by column."""
    out = np.full(6, 7.0)
    kernel = minitorch.fast_ops.tensor_map(operators.neg)
    kernel(out, i32(2, 3), i32(1, 2), np.array([1.0, 2, 3]), i32(1, 3), i32(3, 1))
    assert out.tolist() == [-1, -1, -2, -2, -3, -3]


@pytest.mark.task3_1
def test_fast_zip_loop() -> None:
    out, a, b = np.full(6, 7.0), np.array([10.0, 20.0]), np.array([1.0, 2.0, 3.0])
    kernel = minitorch.fast_ops.tensor_zip(operators.mul)
    kernel(out, i32(2, 3), i32(1, 2), a, i32(2, 1), i32(1, 1), b, i32(3), i32(1))
    assert out.tolist() == [10, 20, 20, 40, 30, 60]


@pytest.mark.task3_1
def test_fast_reduce_loop() -> None:
    """Of a (2, 3) input stored column by column; the output holds the starting value."""
    out, storage = np.full(2, 100.0), np.array([0.0, 3, 1, 4, 2, 5])
    kernel = minitorch.fast_ops.tensor_reduce(operators.add)
    kernel(out, i32(2, 1), i32(1, 1), storage, i32(2, 3), i32(1, 2), 1)
    assert out.tolist() == [103, 112]
    out = np.full(3, 100.0)
    kernel(out, i32(1, 3), i32(3, 1), storage, i32(2, 3), i32(1, 2), 0)
    assert out.tolist() == [103, 105, 107]


LAYOUTS = [  # shape of a, order of a in storage, shape of b, order of b
    ((7, 5), (0, 1), (7, 5), (0, 1)),
    ((7, 5), (1, 0), (7, 5), (0, 1)),
    ((7, 5), (1, 0), (7, 5), (1, 0)),
    ((7, 5), (0, 1), (1,), (0,)),
    ((7, 5), (0, 1), (5,), (0,)),
    ((7, 5), (0, 1), (7, 1), (0, 1)),
    ((7, 1), (0, 1), (1, 5), (0, 1)),
    ((2, 3, 4), (0, 1, 2), (3, 1), (1, 0)),
    ((2, 3, 4), (2, 0, 1), (2, 1, 4), (2, 1, 0)),
    ((2, 3, 1, 4), (3, 1, 2, 0), (3, 2, 1), (2, 0, 1)),
]


def larger(shape: tuple[int, ...], factor: int) -> tuple[int, ...]:
    return tuple(n if n == 1 else n * factor for n in shape)


@pytest.mark.task3_1
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("parallel", [False, True], ids=["small", "large"])
def test_fast_against_numpy_in_every_layout(layout: Any, parallel: bool) -> None:
    a_shape, a_order, b_shape, b_order = layout
    factor = 1
    while parallel and np.prod(
        shape_broadcast(larger(a_shape, factor), larger(b_shape, factor))
    ) < (minitorch.fast_ops.PARALLEL_SIZE):
        factor += 1
    a = random_tensor(larger(a_shape, factor), "fast", a_order)
    b = random_tensor(larger(b_shape, factor), "fast", b_order)
    x, y = a.to_numpy(), b.to_numpy()
    assert_close((a + b).to_numpy(), x + y)
    assert_close((b * a).to_numpy(), y * x)
    out = a.zeros((a + b).shape)
    a.f.neg_map(a, out)
    assert_close(out.to_numpy(), np.broadcast_to(-x, out.shape))
    assert_close((-a).to_numpy(), -x)


@pytest.mark.task3_1
@pytest.mark.parametrize(
    "shape",
    [(5, 40_000), (40_000, 5), (3, 10_001, 2), (200, 300), (70_000,), (1, 33_000), (33_000, 1)],
    ids=str,
)
def test_fast_reductions_of_large_tensors(shape: tuple[int, ...]) -> None:
    """Longer than a chunk, wider than a chunk, and in every storage order of two dimensions."""
    for order in itertools.permutations(range(len(shape))):
        t = random_tensor(shape, "fast", order)
        array = t.to_numpy()
        for dim in range(len(shape)):
            assert_close(t.sum(dim).to_numpy(), array.sum(dim, keepdims=True), atol=1e-10)
            largest = t.f.max_reduce(t, dim)
            assert_close(largest.to_numpy(), array.max(dim, keepdims=True))
        assert_close(t.sum().to_numpy(), [array.sum()], atol=1e-9)
        assert_close(t.mean().to_numpy(), [array.mean()], atol=1e-12)


@pytest.mark.task3_1
@pytest.mark.parametrize("shape", [(2, 40_000), (40_000, 2)], ids=str)
def test_fast_reduction_of_a_large_tensor_begins_with_what_is_there(shape: Any) -> None:
    t = random_tensor(shape, "fast")
    dim = int(np.argmax(shape))
    kernel = minitorch.fast_ops.tensor_reduce(operators.add)
    out = t.zeros(tuple(1 if d == dim else n for d, n in enumerate(shape)))
    out._tensor._storage[:] = 100.0
    kernel(*out.tuple(), *t.tuple(), dim)
    assert_close(out.to_numpy(), 100.0 + t.to_numpy().sum(dim, keepdims=True), atol=1e-9)


@pytest.mark.task3_1
def test_fast_gradients_of_large_tensors() -> None:
    a = random_tensor((200, 300), "fast", (1, 0))
    b = random_tensor((300,), "fast", low=0.5, high=2.0)
    assert_like_numpy(
        lambda a, b: (a * b + b) * -a + (a * a).sum(0) * b,
        lambda a, b: (a * b + b) * -a + (a * a).sum(0, keepdims=True) * b,
        a,
        b,
        rtol=1e-10,
        atol=1e-9,
    )


@pytest.mark.task3_1
def test_one_thread_and_two_agree() -> None:
    """What parallel iterations share, they spoil for each other: found by counting threads."""
    import numba

    a = random_tensor((180, 190), "fast", (1, 0))
    b = random_tensor((190,), "fast")
    results = []
    most = numba.get_num_threads()
    try:
        for threads in (1, 2, 2, 2):
            numba.set_num_threads(threads)
            results.append([(-a), a + b, a * a, a.sum(0), a.sum(1), a.sum()])
    finally:
        numba.set_num_threads(most)
    for again in results[1:]:
        for one, two in zip(results[0], again, strict=True):
            assert (one.to_numpy() == two.to_numpy()).all()


@pytest.mark.task3_1
def test_fast_follows_ieee_where_python_raises() -> None:
    import numba

    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        pytest.skip("kernels run as plain Python")
    t = on("fast", [0.0, 1.0])
    assert (1.0 / t).to_numpy().tolist() == [np.inf, 1.0]
    assert np.isinf(on("fast", [1000.0]).exp().item())
    assert np.isnan((on("fast", [np.inf]) - on("fast", [np.inf])).item())


@pytest.mark.task3_1
@pytest.mark.parametrize(("first", "second"), [("fast", "simple"), ("simple", "fast")])
def test_the_first_of_two_backends_computes(first: str, second: str) -> None:
    a, b = on(first, [1.0, 2.0]), on(second, [3.0])
    out = a * b
    out.sum().backward()
    assert out.backend is a.backend
    assert out.to_numpy().tolist() == [3.0, 6.0]
    for leaf, grad in ((a, [3.0, 3.0]), (b, [3.0])):
        assert leaf.grad is not None
        assert leaf.grad.backend is leaf.backend
        assert leaf.grad.to_numpy().tolist() == grad


@pytest.mark.task3_1
@pytest.mark.extra
def test_graph_5_000_operations_deep_on_fast() -> None:
    a = on("fast", [3.0])
    out = a
    for _ in range(5_000):
        out = -out
    out.backward()
    assert a.grad is not None
    assert a.grad.item() == 1.0
