"""What the course's tests draw from, and how they compare.

Torch and the fast backend are loaded when a test first asks for them, so that checking
an early task does not wait for them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import strategies as st

import minitorch
from minitorch import Tensor, TensorBackend, TensorData

Array = npt.NDArray[np.float64]

# --- Numbers -------------------------------------------------------------------

small_ints = st.integers(min_value=1, max_value=3)
med_ints = st.integers(min_value=1, max_value=20)
small_floats = st.floats(min_value=-100, max_value=100, allow_nan=False, allow_subnormal=False)
positive_floats = st.floats(min_value=0.05, max_value=100)
nonzero_floats = st.builds(lambda x, sign: x * sign, positive_floats, st.sampled_from([-1.0, 1.0]))
incoming = st.floats(min_value=0.1, max_value=3.0).filter(lambda d: abs(d - 1.0) > 0.05)
"""A derivative that comes in from the right: never 1, so that forgetting it shows."""

KINKS = (-5.5, -3.5, -0.7, -0.5, 0.0)
"""Where some function of MathTest has a pole, a kink or a step."""

smooth_floats = small_floats.filter(lambda x: all(abs(x - kink) > 0.01 for kink in KINKS))
quarters = st.integers(-40, 40).map(lambda i: i / 4).filter(lambda x: x not in KINKS)
"""Two of these are equal, differ by 5.5, or stay 0.05 away from MathTest's steps."""


def scalars(numbers: st.SearchStrategy[float] = small_floats) -> st.SearchStrategy[Any]:
    """Leaves of lesson 1."""
    return numbers.map(minitorch.Scalar)


# --- Shapes and tensors ----------------------------------------------------------


def shapes(min_dims: int = 1, max_dims: int = 4, max_size: int = 3) -> st.SearchStrategy[Any]:
    """Shapes without empty dimensions."""
    sizes = st.integers(min_value=1, max_value=max_size)
    return st.lists(sizes, min_size=min_dims, max_size=max_dims).map(tuple)


@st.composite
def broadcastable(draw: st.DrawFn, count: int = 2, max_dims: int = 3) -> tuple[Any, ...]:
    """Several shapes that broadcast together: sizes turned to 1, dimensions dropped."""
    full = draw(shapes(1, max_dims))
    made = []
    for _ in range(count):
        kept = full[draw(st.integers(0, len(full) - 1)) :]
        made.append(tuple(1 if draw(st.booleans()) else size for size in kept))
    return tuple(made)


@st.composite
def tensor_data(
    draw: st.DrawFn,
    numbers: st.SearchStrategy[float] = small_floats,
    shape: Sequence[int] | None = None,
) -> TensorData:
    """TensorData whose dimensions lie in storage in any order."""
    sizes: tuple[int, ...] = draw(shapes()) if shape is None else tuple(shape)
    size = prod(sizes)
    storage = draw(st.lists(numbers, min_size=size, max_size=size))
    order = draw(st.permutations(range(len(sizes))))
    return permuted_data(storage, sizes, order)


def permuted_data(storage: Any, shape: Sequence[int], order: Sequence[int]) -> TensorData:
    """TensorData of a shape, whose dimension order[0] moves slowest through storage."""
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return TensorData(np.array(storage, dtype=np.float64), shape, strides)


@cache
def backend(name: str) -> TensorBackend:
    """A backend by name; loading Numba only for those that need it."""
    if name == "simple":
        return minitorch.SimpleBackend
    return minitorch.TensorBackend(minitorch.FastOps)


def backends(simple: str, fast: str = "task3_1") -> pytest.MarkDecorator:
    """Run a test on both CPU backends, each under the task that writes it."""
    return pytest.mark.parametrize(
        "backend_name",
        [
            pytest.param("simple", marks=getattr(pytest.mark, simple)),
            pytest.param("fast", marks=getattr(pytest.mark, fast)),
        ],
    )


@st.composite
def tensors(
    draw: st.DrawFn,
    numbers: st.SearchStrategy[float] = small_floats,
    shape: Sequence[int] | None = None,
    backend_name: str = "simple",
) -> Tensor:
    """Leaves of lesson 2, often not contiguous."""
    made = Tensor(draw(tensor_data(numbers, shape)), backend=backend(backend_name))
    made.requires_grad_(True)
    return made


@st.composite
def shaped_tensors(
    draw: st.DrawFn,
    count: int = 2,
    numbers: st.SearchStrategy[float] = small_floats,
    backend_name: str = "simple",
) -> list[Tensor]:
    """Several tensors of one shape, each with strides of its own."""
    shape = draw(shapes())
    return [draw(tensors(numbers, shape, backend_name)) for _ in range(count)]


@st.composite
def broadcast_tensors(
    draw: st.DrawFn,
    numbers: st.SearchStrategy[float] = small_floats,
    second: st.SearchStrategy[float] | None = None,
    backend_name: str = "simple",
) -> tuple[Tensor, Tensor]:
    """Two tensors that broadcast together."""
    a, b = draw(broadcastable())
    return (
        draw(tensors(numbers, a, backend_name)),
        draw(tensors(numbers if second is None else second, b, backend_name)),
    )


def random_tensor(
    shape: Sequence[int],
    backend_name: str = "simple",
    order: Sequence[int] | None = None,
    low: float = -1.0,
    high: float = 1.0,
) -> Tensor:
    """A leaf of random numbers, for shapes too large to draw one by one."""
    numbers = np.random.default_rng(random.getrandbits(32)).uniform(low, high, prod(shape))
    order = range(len(shape)) if order is None else order
    made = Tensor(permuted_data(numbers, shape, order), backend=backend(backend_name))
    made.requires_grad_(True)
    return made


def random_order(dims: int) -> list[int]:
    """An order of dimensions, not the identity where there is another."""
    order = list(range(dims))
    while dims > 1 and order == sorted(order):
        random.shuffle(order)
    return order


# --- Comparing -------------------------------------------------------------------


def assert_close(got: Any, expected: Any, rtol: float = 1e-12, atol: float = 1e-14) -> None:
    """Same shape, and values apart by no more than rounding."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


def _to_torch(value: Any, requires_grad: bool) -> Any:
    import torch

    if not isinstance(value, Tensor):
        return value
    return torch.tensor(value.to_numpy(), dtype=torch.float64, requires_grad=requires_grad)


def assert_like_torch(
    ours: Callable[..., Tensor],
    theirs: Callable[..., Any],
    *inputs: Any,
    gradients: bool = True,
    rtol: float = 1e-12,
    atol: float = 1e-12,
) -> None:
    """Compare a function with Torch's: shape, values, and the gradient of every input.

    The incoming gradient is random and not contiguous. Inputs that are no tensors are
    handed to both functions as they are.
    """
    for x in inputs:
        if isinstance(x, Tensor):
            x.zero_grad_()
    torch_inputs = [_to_torch(x, gradients) for x in inputs]
    got, expected = ours(*inputs), theirs(*torch_inputs)
    assert_close(got.to_numpy(), expected.detach().numpy(), rtol, atol)
    if not gradients:
        return
    grad = random_tensor(got.shape, order=random_order(got.dims), low=0.5, high=1.5)
    grad._type_(got.backend)
    got.backward(grad)
    if expected.requires_grad:
        expected.backward(_to_torch(grad, False))
    for i, (x, t) in enumerate(zip(inputs, torch_inputs, strict=True)):
        if isinstance(x, Tensor):
            assert x.grad is not None, f"input {i} got no gradient"
            wanted = np.zeros(x.shape) if t.grad is None else t.grad.numpy()
            assert_close(x.grad.to_numpy(), wanted, rtol, atol)
