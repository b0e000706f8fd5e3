"""Lesson 2: what a student's tensors are asked."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

import minitorch
from minitorch import operators

from .values import values


def counted(*shape: int) -> Any:
    return minitorch.TensorData([float(i) for i in range(prod(shape))], shape)


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


def filled(shape: Any, order: Any = None, start: float = 1.0) -> Any:
    """Numbers counted from start, in a shape, with memory in another order if one is given."""
    row = np.array(values(prod(shape), start))
    if order is None:
        return minitorch.TensorData(row, shape)
    inner = tuple(shape[order.index(d)] for d in range(len(shape)))
    strides = minitorch.strides_from_shape(inner)
    return minitorch.TensorData(row, shape, [strides[order[d]] for d in range(len(shape))])


@cache
def _compiled(name: str) -> Any:
    """An index function as kernels call it."""
    import numba

    return numba.njit(getattr(minitorch, name))


def compiled_index(ordinal: int, shape: Any, strides: Any) -> list[Any]:
    out = _int32([-1] * (len(shape) + 1))
    _compiled("to_index")(ordinal, _int32(shape), out)
    return [out.tolist(), _compiled("index_to_position")(out, _int32(strides))]


def compiled_broadcast(big_index: Any, big_shape: Any, shape: Any) -> list[int]:
    out = _int32([-1] * (len(shape) + 1))
    _compiled("broadcast_index")(_int32(big_index), _int32(big_shape), _int32(shape), out)
    return out.tolist()


def looked_up(shape: Any, order: Any, *index: int) -> list[Any]:
    """Shape, strides and elements of data that is permuted, and one of its elements."""
    moved = filled(shape).permute(*order)
    return [list(moved.shape), list(moved.strides), elements(moved), moved.get(index)]


def changed(shape: Any, index: Any, value: float) -> list[float]:
    """All elements after one was set."""
    made = filled(shape)
    made.set(index, value)
    return elements(made)


def indices_of(shape: Any) -> list[Any]:
    """The index of each ordinal, in a buffer that is too long."""
    out, found = _int32([-1] * (len(shape) + 1)), []
    for ordinal in range(prod(shape)):
        minitorch.to_index(ordinal, _int32(shape), out)
        found.append(out.tolist())
    return found


def mapped(out_shape: Any, shape: Any, out_order: Any = None, in_order: Any = None) -> list[float]:
    out = filled(out_shape, out_order, 0.0)
    minitorch.tensor_map(lambda x: 10.0 * x)(*out.tuple(), *filled(shape, in_order).tuple())
    return elements(out)


def zipped(
    out_shape: Any, a: Any, b: Any, out_order: Any = None, b_order: Any = None
) -> list[float]:
    out = filled(out_shape, out_order, 0.0)
    kernel = minitorch.tensor_zip(lambda x, y: 100.0 * x + y)
    kernel(*out.tuple(), *filled(a).tuple(), *filled(b, b_order).tuple())
    return elements(out)


def without(shape: Any, dim: int) -> list[int]:
    """A shape with one dimension reduced to size 1."""
    return [1 if d == dim else n for d, n in enumerate(shape)]


def reduced(
    shape: Any, dim: int, start: float, in_order: Any = None, out_order: Any = None
) -> list[float]:
    out = filled(without(shape, dim), out_order)
    out._storage[:] = start
    kernel: Any = minitorch.tensor_reduce(operators.add)
    kernel(*out.tuple(), *filled(shape, in_order).tuple(), dim)
    return elements(out)


def numbers(t: Any) -> list[float]:
    return t.to_numpy().ravel().tolist()


def shaped(t: Any) -> list[Any]:
    """The shape and the numbers of a tensor."""
    return [list(t.shape), numbers(t)]


def computed_tensor(t: Any) -> list[Any]:
    """A tensor's numbers, and whether it is a constant or a leaf."""
    return [numbers(t), t.is_constant(), t.is_leaf()]


def constant_tensor() -> Any:
    x = minitorch.tensor([1.0])
    x.requires_grad_(False)
    return x


def ramp(*shape: int, backend: Any = minitorch.SimpleBackend, start: float = 1.0) -> Any:
    """A tensor that counts up, and wants a gradient."""
    t = minitorch.Tensor(filled(shape, start=start), backend=backend)
    t.requires_grad_(True)
    return t


def leaf(shape: Any, order: Any = None) -> Any:
    """A tensor that wants a gradient, with memory in any order."""
    made = minitorch.Tensor(filled(shape, order), backend=minitorch.SimpleBackend)
    made.requires_grad_(True)
    return made


def given(*rows: Any) -> Any:
    """A constant tensor of these numbers."""
    made = minitorch.tensor(list(rows))
    made.requires_grad_(False)
    return made


def tensor_gradients(fn: Any, *inputs: Any, times: int = 1) -> list[Any]:
    """The value of a function of tensors, and the gradient for each input."""
    out: Any = None
    for _ in range(times):
        out = fn(*inputs)
        out.backward(minitorch.Tensor(filled(out.shape), backend=out.backend))
    return [shaped(out), *[None if x.grad is None else shaped(x.grad) for x in inputs]]


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
