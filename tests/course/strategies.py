"""What the course's tests draw from, and how they compare.

The fast backend is loaded when a test first asks for it, so that checking an early task does
not wait for it. What is right is said by NumPy: a function's values by the same formula on
arrays, its gradients by that formula on complex numbers (`derivative`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from math import prod
from typing import Any

import hypothesis
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


@cache
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
    return permuted_data(draw(_storage(numbers, prod(sizes))), sizes, draw(_orders(len(sizes))))


@cache  # a strategy that is made anew for each example is checked anew, which takes longer
def _storage(numbers: st.SearchStrategy[float], size: int) -> st.SearchStrategy[list[float]]:
    return st.lists(numbers, min_size=size, max_size=size)


@cache
def _orders(dims: int) -> st.SearchStrategy[Any]:
    return st.permutations(range(dims))


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


# --- Many tensors for one function, small ones first -----------------------------------

Sampler = Callable[[], float]


def smooth_number() -> float:
    """What `smooth_floats` draws."""
    while True:
        x = random.choice([_quarter, lambda: random.uniform(-1, 1), any_number])()
        if all(abs(x - kink) > 0.01 for kink in KINKS):
            return x


def any_number() -> float:
    """What `small_floats` draws."""
    return random.choice([0.0, 1.0, -100.0, 100.0, random.uniform(-100, 100), _quarter()])


def positive_number() -> float:
    """What `positive_floats` draws."""
    return random.choice([0.05, 1.0, random.uniform(0.05, 2), random.uniform(0.05, 100)])


def nonzero_number() -> float:
    """What `nonzero_floats` draws."""
    return positive_number() * random.choice([-1, 1])


def quarter() -> float:
    """What `quarters` draws."""
    while (x := _quarter()) in KINKS:
        pass
    return x


def _quarter() -> float:
    return random.randint(-40, 40) / 4


def sampled(sample: Sampler, shape: Sequence[int], backend_name: str = "simple") -> Tensor:
    """A leaf whose dimensions lie in storage in any order."""
    numbers = [sample() for _ in range(prod(shape))]
    order = random.sample(range(len(shape)), len(shape))
    made = Tensor(permuted_data(numbers, shape, order), backend=backend(backend_name))
    made.requires_grad_(True)
    return made


def growing_shapes(max_dims: int = 4, min_dims: int = 1) -> list[tuple[int, ...]]:
    """As many as other tests have examples; of several that fail, the smallest comes first."""
    made = [
        tuple(random.randint(1, 3) for _ in range(random.randint(min_dims, max_dims)))
        for _ in range(hypothesis.settings.default.max_examples)  # type: ignore[union-attr]
    ]
    return sorted(made, key=prod)


def some_tensors(sample: Sampler, backend_name: str = "simple") -> Iterator[tuple[Tensor]]:
    """Leaves of all shapes."""
    for shape in growing_shapes():
        yield (sampled(sample, shape, backend_name),)


def some_pairs(sample: Sampler, backend_name: str = "simple") -> Iterator[tuple[Tensor, Tensor]]:
    """Of one shape, or of two that broadcast: sizes turned to 1, dimensions dropped."""
    for i, full in enumerate(growing_shapes(3)):
        pair = []
        for _ in range(2):
            shape = full
            if i % 3:
                shape = tuple(random.choice([1, n, n]) for n in full[random.randrange(len(full)) :])
            pair.append(sampled(sample, shape, backend_name))
        yield pair[0], pair[1]


def for_all(
    check: Callable[..., None], examples: Iterable[tuple[Any, ...]], about: str = ""
) -> None:
    """Check each example; the error of one that fails says which it was."""
    for inputs in examples:
        try:
            check(*inputs)
        except Exception as error:
            error.add_note(f"Falsifying example: {about} {'; '.join(map(_in_words, inputs))}")
            raise


def _in_words(value: Any) -> str:
    if not isinstance(value, Tensor):
        return str(value)
    return f"shape {value.shape}, strides {value._tensor.strides}, {value.to_numpy().tolist()}"


# --- Comparing -------------------------------------------------------------------


def assert_close(got: Any, expected: Any, rtol: float = 1e-12, atol: float = 1e-14) -> None:
    """Same shape, and values apart by no more than rounding."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


STEP = 1e-100
WHOLE = 100
"""Inputs of up to so many elements have each element's gradient compared."""


def derivative(fn: Callable[..., Any], inputs: Sequence[Any], i: int, direction: Array) -> Any:
    """How the output moves when input i moves in a direction, exact but for rounding.

    f(x + ih) = f(x) + ih f'(x) - ..., and with h as small as 1e-100 nothing follows: the
    imaginary part is h f'(x), and no two near numbers are subtracted to get it. So `fn` must
    take complex arrays; where it compares, it compares their real parts.
    """
    moved = [*inputs[:i], inputs[i] + 1j * STEP * direction, *inputs[i + 1 :]]
    return np.imag(fn(*moved)) / STEP


def assert_like_numpy(
    ours: Callable[..., Tensor],
    theirs: Callable[..., Any],
    *inputs: Any,
    gradients: bool = True,
    rtol: float = 1e-12,
    atol: float = 1e-12,
) -> None:
    """Compare a function with one of NumPy arrays: shape, values, the gradient of every input.

    The incoming gradient is random and not contiguous. Inputs that are no tensors are
    handed to both functions as they are.
    """
    for x in inputs:
        if isinstance(x, Tensor):
            x.zero_grad_()
    arrays = [x.to_numpy() if isinstance(x, Tensor) else x for x in inputs]
    got = ours(*inputs)
    assert_close(got.to_numpy(), np.asarray(theirs(*arrays), np.float64), rtol, atol)
    if not gradients:
        return
    grad = random_tensor(got.shape, order=random_order(got.dims), low=0.5, high=1.5)
    incoming = grad.to_numpy()
    grad._type_(got.backend)
    got.backward(grad)
    for i, x in enumerate(inputs):
        if isinstance(x, Tensor):
            assert x.grad is not None, f"input {i} got no gradient"
            assert x.grad.shape == x.shape, f"gradient of input {i}: shape {x.grad.shape}"

            def along(direction: Array, i: int = i) -> float:
                return float((incoming * derivative(theirs, arrays, i, direction)).sum())

            _assert_gradient(x.grad.to_numpy(), along, rtol, atol)


def _assert_gradient(got: Array, along: Callable[[Array], float], rtol: float, atol: float) -> None:
    """Each element is the slope along its own axis; in large ones, slopes in random directions."""
    if got.size <= WHOLE:
        axes = np.eye(got.size).reshape(got.size, *got.shape)
        assert_close(got, np.reshape([along(axis) for axis in axes], got.shape), rtol, atol)
        return
    rng = np.random.default_rng(random.getrandbits(32))
    for _ in range(8):
        direction = rng.uniform(-1.0, 1.0, got.shape)
        assert_close((got * direction).sum(), along(direction), rtol, atol)


# --- In NumPy, for complex numbers too ---------------------------------------------


def sigmoid_in_numpy(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    right = x.real >= 0
    small = np.exp(np.where(right, -x, x))
    return np.where(right, 1.0, small) / (1.0 + small)


def relu_in_numpy(x: Any) -> Any:
    """x where it is positive, else 0."""
    return np.where(x.real > 0, x, 0.0)


def conv_in_numpy(x: Any, w: Any) -> Any:
    """Of sequences or images, anchored at the first corner: zeros follow the input."""
    sizes, window = x.shape[2:], w.shape[2:]
    padded = np.zeros((*x.shape[:2], *np.add(sizes, window) - 1), x.dtype)
    padded[(..., *map(slice, sizes))] = x
    out: Any = 0.0
    for k in np.ndindex(*window):
        seen = padded[(..., *[slice(i, i + n) for i, n in zip(k, sizes, strict=True)])]
        out = out + np.einsum("bc...,oc->bo...", seen, w[(..., *k)])
    return out
