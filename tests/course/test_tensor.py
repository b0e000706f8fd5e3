"""Lesson 2: the tensor that users hold. What both backends must do is in test_tensor_general."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import (
    Context,
    Function,
    History,
    IndexingError,
    Parameter,
    Tensor,
    TensorData,
    grad_central_difference,
    grad_check,
    operators,
    tensor,
    tensor_map,
    tensor_reduce,
    tensor_zip,
)

from .strategies import assert_close, broadcast_tensors, random_tensor, shapes, tensors

# --- Task 2.3: making and reading ------------------------------------------------------


@pytest.mark.task2_3
def test_tensor_from_lists() -> None:
    t = tensor([[1, 2, 3], [4, 5, 6]])
    assert t.shape == (2, 3)
    assert t.size == 6
    assert t.dims == 2
    assert t[1, 0] == 4.0
    assert type(t[1, 0]) is float
    assert t.requires_grad()
    assert t.is_leaf()


@pytest.mark.task2_3
def test_tensor_of_one_number() -> None:
    t = tensor(3.0)
    assert t.shape == ()
    assert t[0] == 3.0
    assert t[()] == 3.0
    assert t.item() == 3.0
    assert str(t) == "3.00"
    assert (t + 1.0).item() == 4.0
    assert (t * tensor([1.0, 2.0])).to_numpy().tolist() == [3.0, 6.0]
    t[0] = 5.0
    assert t.item() == 5.0


@pytest.mark.task2_3
@given(shapes(), st.data())
def test_lists_and_numpy_both_ways(shape: Any, draw: st.DataObject) -> None:
    array = np.arange(float(np.prod(shape))).reshape(shape)
    t = tensor(array.tolist())
    assert_close(t.to_numpy(), array)
    for index in itertools.product(*[range(n) for n in shape]):
        assert t[index] == array[index]


@pytest.mark.task2_3
def test_builders() -> None:
    z = minitorch.zeros((2, 3))
    assert z.to_numpy().tolist() == [[0.0] * 3] * 2
    r = minitorch.rand((100,))
    assert 0.0 <= r.to_numpy().min() < r.to_numpy().max() < 1.0
    assert not r.requires_grad()
    assert minitorch.rand((2,), requires_grad=True).requires_grad()
    made = minitorch.tensor_functions._tensor([1, 2, 3, 4], (2, 2))
    assert made[1, 0] == 3.0
    assert Tensor.make([1, 2, 3, 4, 5, 6], (3, 2), (1, 3))[0, 1] == 4.0
    assert not tensor([1.0], requires_grad=False).requires_grad()


@pytest.mark.task2_3
def test_setting_an_element() -> None:
    t = tensor([[1, 2], [3, 4]]).permute(1, 0)
    t[0, 1] = 9.0
    assert t.to_numpy().tolist() == [[1.0, 9.0], [2.0, 4.0]]


@pytest.mark.task2_3
def test_printing() -> None:
    assert str(tensor([1, 2, 3])) == "[1.00 2.00 3.00]"
    assert repr(tensor([[1, 2], [3, 4]])) == "[\n    [1.00 2.00]\n    [3.00 4.00]]"


@pytest.mark.task2_3
def test_zeros_and_detach() -> None:
    t = tensor([[1, 2], [3, 4]])
    assert t.zeros().shape == (2, 2)
    assert t.zeros((3,)).to_numpy().tolist() == [0.0] * 3
    assert t.detach()._tensor is t._tensor
    assert t.detach().is_constant()


@pytest.mark.task2_3
def test_item_needs_one_element() -> None:
    assert tensor([[7.0]]).item() == 7.0
    with pytest.raises(ValueError, match=r"\(2,\)"):
        tensor([1.0, 2.0]).item()


# --- Task 2.3: view, permute, contiguous -----------------------------------------------


@pytest.mark.task2_3
def test_view() -> None:
    t = tensor([[2, 3, 4], [4, 5, 7]])
    for shape in ((6,), (1, 6), (6, 1), (3, 2), (1, 2, 3)):
        assert t.view(*shape).shape == shape
        assert t.view(*shape).to_numpy().ravel().tolist() == [2, 3, 4, 4, 5, 7]
    assert t.view(6)._tensor._storage is t._tensor._storage


@pytest.mark.task2_3
def test_view_needs_contiguous_storage_and_the_same_size() -> None:
    t = tensor([[2, 3, 4], [4, 5, 7]])
    with pytest.raises(IndexingError):
        t.permute(1, 0).view(6)
    with pytest.raises(IndexingError, match=r"\(2, 3\)"):
        t.view(7)
    assert t.permute(1, 0).contiguous().view(6).to_numpy().tolist() == [2, 4, 3, 5, 4, 7]


@pytest.mark.task2_3
@given(tensors(), st.data())
def test_permute_and_contiguous(t: Tensor, draw: st.DataObject) -> None:
    order = draw.draw(st.permutations(range(t.dims)))
    moved = t.permute(*order)
    assert moved._tensor._storage is t._tensor._storage
    expected = t.to_numpy().transpose(order)
    assert_close(moved.to_numpy(), expected)
    assert moved.contiguous()._tensor.is_contiguous()
    assert_close(moved.contiguous().to_numpy(), expected)


# --- Task 2.3: the low-level loops ---------------------------------------------------------


def f64(*values: float) -> Any:
    return np.array(values, dtype=np.float64)


def i32(*values: int) -> Any:
    return np.array(values, dtype=np.int32)


@pytest.mark.task2_3
def test_tensor_map_loop() -> None:
    """A (1, 3) input into a (2, 3) output that is stored column by column, and holds other numbers."""
    out = np.full(6, 7.0)
    tensor_map(lambda x: 10 * x)(out, i32(2, 3), i32(1, 2), f64(1, 2, 3), i32(1, 3), i32(3, 1))
    assert out.tolist() == [10, 10, 20, 20, 30, 30]


@pytest.mark.task2_3
def test_tensor_map_loop_drops_dimensions() -> None:
    out = np.full(6, 7.0)
    tensor_map(lambda x: -x)(out, i32(2, 3), i32(3, 1), f64(1, 2, 3), i32(3), i32(1))
    assert out.tolist() == [-1, -2, -3, -1, -2, -3]


@pytest.mark.task2_3
def test_tensor_zip_loop() -> None:
    """(2, 1) and (3,) into a (2, 3) output that is stored column by column."""
    out = np.full(6, 7.0)
    tensor_zip(lambda x, y: x - y)(
        out, i32(2, 3), i32(1, 2), f64(10, 20), i32(2, 1), i32(1, 1), f64(1, 2, 3), i32(3), i32(1)
    )
    assert out.tolist() == [9, 19, 8, 18, 7, 17]


@pytest.mark.task2_3
@pytest.mark.parametrize(("dim", "expected"), [(0, [105, 107, 109]), (1, [103, 112])])
def test_tensor_reduce_loop(dim: int, expected: list[float]) -> None:
    """Of a (2, 3) input stored column by column; the output holds the starting value."""
    out_shape = (1, 3) if dim == 0 else (2, 1)
    out = np.full(len(expected), 100.0)
    strides = minitorch.strides_from_shape(out_shape)
    storage = f64(0, 3, 1, 4, 2, 5) if dim == 1 else f64(1, 4, 2, 5, 3, 6)
    tensor_reduce(operators.add)(
        out, i32(*out_shape), i32(*strides), storage, i32(2, 3), i32(1, 2), dim
    )
    assert out.tolist() == expected


@pytest.mark.task2_3
def test_tensor_reduce_loop_writes_through_output_strides() -> None:
    out = np.zeros(6)
    values = np.arange(12.0)
    tensor_reduce(operators.add)(
        out, i32(2, 1, 3), i32(1, 6, 2), values, i32(2, 2, 3), i32(6, 3, 1), 1
    )
    expected = values.reshape(2, 2, 3).sum(1)
    assert out.reshape(3, 2).T.tolist() == expected.tolist()


@pytest.mark.task2_3
def test_reduce_is_any_fold() -> None:
    t = tensor([[3.0, -1.0, 7.0], [2.0, 9.0, -4.0]])
    largest = minitorch.SimpleOps.reduce(operators.max, -np.inf)
    assert largest(t, 1).to_numpy().tolist() == [[7.0], [9.0]]
    product = minitorch.SimpleOps.reduce(operators.mul, 1.0)
    assert product(t, 0).to_numpy().tolist() == [[6.0, -9.0, -28.0]]


@pytest.mark.task2_3
def test_map_into_a_given_output() -> None:
    t, out = tensor([1.0, 2.0, 3.0]), tensor([[7.0, 8.0, 9.0], [7.0, 8.0, 9.0]])
    made = minitorch.SimpleOps.map(operators.neg)(t, out)
    assert made is out
    assert out.to_numpy().tolist() == [[-1, -2, -3], [-1, -2, -3]]
    with pytest.raises(IndexingError):
        minitorch.SimpleOps.map(operators.neg)(out, t)


@pytest.mark.task2_3
def test_backend_has_every_function() -> None:
    for name in [
        "neg_map",
        "sigmoid_map",
        "relu_map",
        "log_map",
        "exp_map",
        "id_map",
        "inv_map",
        "add_zip",
        "mul_zip",
        "lt_zip",
        "eq_zip",
        "is_close_zip",
        "relu_back_zip",
        "log_back_zip",
        "inv_back_zip",
        "add_reduce",
        "mul_reduce",
        "matrix_multiply",
    ]:
        assert callable(getattr(minitorch.SimpleBackend, name))


@pytest.mark.task2_3
def test_the_left_tensors_backend_computes() -> None:
    class OtherOps(minitorch.SimpleOps):
        pass

    class DeviceOps(minitorch.SimpleOps):
        cuda = True

    a, b = tensor([1.0]), tensor([1.0], backend=minitorch.TensorBackend(OtherOps))
    assert (a + b).backend is a.backend
    assert (b + a).backend is b.backend
    c = tensor([1.0])
    c.backend = minitorch.TensorBackend(DeviceOps)
    with pytest.raises(RuntimeError, match=r"SimpleOps.*DeviceOps"):
        operator.add(a, c)


@pytest.mark.task2_3
def test_history_of_an_operation() -> None:
    a, b = tensor([1.0]), tensor([2.0])
    out = a * b
    assert out.history is not None
    assert out.history.last_fn is minitorch.Mul
    assert [t.unique_id for t in out.parents] == [a.unique_id, b.unique_id]
    assert not out.is_leaf()
    assert (a.detach() * b.detach()).is_constant()
    assert (a * b.detach()).requires_grad()


@pytest.mark.task2_3
def test_requires_grad_means_what_it_says() -> None:
    t = tensor([1.0])
    t.requires_grad_(False)
    assert not t.requires_grad()
    assert t.is_constant()
    assert not (t * 2.0).requires_grad()
    t.requires_grad_(True)
    assert t.is_leaf()
    out = t * 2.0
    out.requires_grad_(True)
    assert out.is_leaf()


@pytest.mark.task2_3
def test_parameter_of_a_tensor() -> None:
    p = Parameter(minitorch.rand((2, 2)), name="weight")
    assert p.value.requires_grad()
    assert p.value.name == "weight"


@pytest.mark.task2_3
def test_name_and_unique_id() -> None:
    a = Tensor(TensorData([1.0], (1,)), name="a")
    assert a.name == "a"
    b = Tensor(TensorData([1.0], (1,)))
    assert b.name == str(b.unique_id)
    assert a.unique_id != b.unique_id


# --- Task 2.4: gradients -------------------------------------------------------------------


@pytest.mark.task2_4
def test_gradient_of_a_sum() -> None:
    t = tensor([1, 2, 3])
    t.sum().backward()
    assert str(t.grad) == "[1.00 1.00 1.00]"
    assert t.grad is not None
    assert t.grad.shape == (3,)


@pytest.mark.task2_4
@pytest.mark.parametrize(
    "order", [o for dims in (1, 2, 3, 4) for o in itertools.permutations(range(dims))], ids=str
)
def test_permute_backward_for_every_order(order: tuple[int, ...]) -> None:
    """Distinct numbers and distinct sizes: the right shape is not enough."""
    shape = (2, 3, 4, 5)[: len(order)]
    t = random_tensor(shape)
    out = t.permute(*order)
    grad = np.arange(float(t.size)).reshape(out.shape)
    out.backward(tensor(grad.tolist()))
    assert t.grad is not None
    assert_close(t.grad.to_numpy(), grad.transpose(np.argsort(order)))


@pytest.mark.task2_4
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_permute_backward_where_every_shape_is_equal(order: tuple[int, ...]) -> None:
    t = random_tensor((3, 3, 3))
    grad = np.arange(27.0).reshape(3, 3, 3)
    t.permute(*order).backward(tensor(grad.tolist()))
    assert t.grad is not None
    assert_close(t.grad.to_numpy(), grad.transpose(np.argsort(order)))


@pytest.mark.task2_4
def test_view_backward_takes_a_gradient_that_is_not_contiguous() -> None:
    t = random_tensor((2, 6))
    grad = np.arange(12.0).reshape(4, 3)
    t.view(3, 4).permute(1, 0).backward(tensor(grad.tolist()))
    assert t.grad is not None
    assert_close(t.grad.to_numpy(), grad.T.reshape(2, 6))


@pytest.mark.task2_4
@given(broadcast_tensors(), st.data())
def test_expand_sums_what_was_copied(pair: Any, draw: st.DataObject) -> None:
    t, other = pair
    shape = minitorch.shape_broadcast(t.shape, other.shape)
    big = draw.draw(tensors(shape=shape))
    got = t.expand(big)
    expected = big.to_numpy()
    missing = len(shape) - t.dims
    expected = expected.sum(tuple(range(missing)))
    ones = tuple(d for d, n in enumerate(t.shape) if n == 1)
    expected = expected.sum(ones, keepdims=True)
    assert_close(got.to_numpy(), expected, atol=1e-11)


@pytest.mark.task2_4
def test_expand_copies_a_smaller_gradient() -> None:
    t = random_tensor((2, 3))
    got = t.expand(tensor([[5.0], [7.0]]))
    assert got.to_numpy().tolist() == [[5.0] * 3, [7.0] * 3]


@pytest.mark.task2_4
def test_chain_rule_leaves_out_constants_and_plain_values() -> None:
    a, c = tensor([1.0, 2.0]), tensor([3.0, 4.0], requires_grad=False)
    d = tensor([10.0, 100.0])
    ((variable, grad),) = (a * c).chain_rule(d)
    assert variable is a
    assert grad.to_numpy().tolist() == [30.0, 400.0]
    ((variable, grad),) = (c * a).chain_rule(d)
    assert variable is a
    ((variable, grad),) = a.sum(0).chain_rule(tensor([5.0]))
    assert variable is a
    assert grad.to_numpy().tolist() == [5.0, 5.0]


@pytest.mark.task2_4
def test_constants_get_no_gradient() -> None:
    a, c = tensor([1.0, 2.0]), tensor([3.0, 4.0])
    c.requires_grad_(False)
    (a * c).sum().backward()
    assert a.grad is not None
    assert a.grad.to_numpy().tolist() == [3.0, 4.0]
    assert c.grad is None


@pytest.mark.task2_4
def test_only_leaves_keep_gradients() -> None:
    a = tensor([1.0, 2.0])
    z = a * 2.0
    z.sum().backward()
    assert z.grad is None
    with pytest.raises(RuntimeError):
        z.accumulate_derivative(tensor([1.0, 1.0]))


@pytest.mark.task2_4
def test_relu_passes_nothing_on_at_zero() -> None:
    a = tensor([-1.0, 0.0, 1.0])
    a.relu().backward(tensor([2.0, 3.0, 4.0]))
    assert a.grad is not None
    assert a.grad.to_numpy().tolist() == [0.0, 0.0, 4.0]


@pytest.mark.task2_4
def test_used_twice_adds_up() -> None:
    a = tensor([1.0, 2.0, 3.0])
    (a * a + a).backward(tensor([1.0, 10.0, 100.0]))
    assert a.grad is not None
    assert a.grad.to_numpy().tolist() == [3.0, 50.0, 700.0]


@pytest.mark.task2_4
def test_gradients_of_two_runs_add_up_and_are_forgotten() -> None:
    a = tensor([1.0, 2.0])
    for _ in range(2):
        (a * 3.0).sum().backward()
    assert a.grad is not None
    assert a.grad.to_numpy().tolist() == [6.0, 6.0]
    a.zero_grad_()
    assert a.grad is None


@pytest.mark.task2_4
def test_the_gradient_is_no_view_of_what_came_in() -> None:
    a = tensor([1.0, 2.0])
    incoming = tensor([5.0, 6.0])
    (a + 0.0).backward(incoming)
    incoming[0] = 99.0
    assert a.grad is not None
    assert a.grad.to_numpy().tolist() == [5.0, 6.0]


@pytest.mark.task2_4
def test_backward_of_a_larger_tensor_needs_a_gradient() -> None:
    a = tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"\(2,\)"):
        (a * 2.0).backward()
    with pytest.raises(RuntimeError, match=r"\(2,\)"):
        (a * 2.0).backward(tensor([1.0, 2.0, 3.0]))
    with pytest.raises(RuntimeError):
        (a.detach() * 2.0).sum().backward()


@pytest.mark.task2_4
@pytest.mark.parametrize("number", [[3.0], pytest.param(3.0, marks=pytest.mark.extra)])
def test_backward_of_one_number(number: Any) -> None:
    """Without dimensions, too: a gradient that was added to 0.0 would have one."""
    t = tensor(number)
    (t * t).backward()
    assert t.grad is not None
    assert t.grad.item() == 6.0
    assert t.grad.shape == t.shape


@pytest.mark.task2_4
def test_topological_sort_of_tensors() -> None:
    a, c = tensor([1.0]), tensor([2.0], requires_grad=False)
    z = a * c
    h = z.exp() + z.log()
    order: list[Any] = list(minitorch.topological_sort(h))
    places = {t.unique_id: i for i, t in enumerate(order)}
    assert len(order) == 5
    assert c.unique_id not in places
    assert order[0] is h
    assert order[-1] is a
    assert order[-2] is z


@pytest.mark.task2_4
@pytest.mark.extra
def test_graph_5_000_operations_deep() -> None:
    a = tensor([3.0])
    out = a
    for _ in range(5_000):
        out = -out
    out.backward()
    assert a.grad is not None
    assert a.grad.item() == 1.0
    del out


@pytest.mark.task2_4
def test_defining_a_function() -> None:
    """A function of a tensor and a plain value, with a gradient that broadcasts back."""

    class Scale(Function):
        @staticmethod
        def forward(ctx: Context, a: Tensor, factor: float) -> Tensor:
            ctx.save_for_backward(factor)
            return a * factor

        @staticmethod
        def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, float]:
            (factor,) = ctx.saved_values
            return grad_output * factor, 0.0

    a = tensor([1.0, 2.0])
    out = Scale.apply(a, 4.0)
    assert out.history == History(Scale, out.history.ctx if out.history else None, (a, 4.0))
    out.backward(tensor([1.0, 10.0]))
    assert a.grad is not None
    assert a.grad.to_numpy().tolist() == [4.0, 40.0]


# --- grad_check itself -----------------------------------------------------------------------


class WrongSquare(Function):
    """Forgets what comes in: right only if that is 1."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.mul_zip(a, a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return a.f.add_zip(a, a)


@pytest.mark.task2_4
def test_grad_check_is_not_fooled_by_ones() -> None:
    with pytest.raises(AssertionError, match="input 0"):
        grad_check(lambda a: WrongSquare.apply(a), tensor([[1.0, 2.0], [3.0, 4.0]]))


@pytest.mark.task2_4
def test_grad_check_accepts_right_ones() -> None:
    grad_check(
        lambda a, b: (a * b).sigmoid() + a.sum(0), random_tensor((2, 3)), random_tensor((3,))
    )
    grad_check(lambda a: a.relu(), tensor([0.0, 0.0]))


@pytest.mark.task2_4
def test_grad_central_difference() -> None:
    t = tensor([[1.0, 2.0], [3.0, 4.0]])
    got = grad_central_difference(lambda a: a * a, t, ind=(1, 0))
    assert_close(got, 6.0, rtol=1e-6)
    got = grad_central_difference(lambda a, b: a * b, t, t * 2.0, arg=1, ind=(0, 1))
    assert_close(got, 2.0, rtol=1e-6)
