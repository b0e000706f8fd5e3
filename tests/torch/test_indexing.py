"""Random indices into random shapes: what is read, whether it is a view, what is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch as real
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch.torch as ours

from .oracle import compare, to_ours

SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)


@st.composite
def shape_and_key(draw: Any) -> tuple[tuple[int, ...], Any]:
    """A shape, and an index into it that is mostly right."""
    shape = draw(SHAPES)
    parts: list[Any] = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        parts.append(draw(_part(size)))
    for extra in draw(st.sampled_from([(), (None,), (...,), (None, None), (None, ...)])):
        parts.insert(draw(st.integers(0, len(parts))), extra)
    return shape, tuple(parts) if len(parts) != 1 or draw(st.booleans()) else parts[0]


def _part(size: int) -> Any:
    """An index of one dimension; now and then one place too far."""
    near = st.integers(-size - 1, size)
    places = st.lists(st.integers(-size, max(size - 1, 0)), min_size=1, max_size=3)
    tensors = places if size else st.just([])
    return st.one_of(
        near,
        st.builds(slice, st.none() | near, st.none() | near, st.none() | st.integers(1, 3)),
        tensors.map(lambda p: real.tensor(p, dtype=real.int64)),
        tensors.map(lambda p: real.tensor(p, dtype=real.int64).reshape(-1, 1)),
        st.lists(st.booleans(), min_size=size, max_size=size).map(
            lambda m: real.tensor(m, dtype=real.bool)
        ),
        places.map(lambda p: [max(v, 0) for v in p]) if size else st.just([]),
    )


def _numbers(shape: tuple[int, ...]) -> Any:
    return real.arange(int(np.prod(shape)), dtype=real.float64).reshape(shape).requires_grad_()


@settings(max_examples=80, deadline=None)
@given(shape_and_key())
def test_reading(case: tuple[tuple[int, ...], Any]) -> None:
    """The same elements, errors and gradients; a view where PyTorch's is one."""
    shape, key = case
    compare(_read, _read, (_numbers(shape), key), what=f"x{list(shape)}[{key}]", double=True)
    mine, theirs = ours.zeros(shape), real.zeros(shape)
    try:
        seen = theirs[key]
    except Exception:
        return
    seen.add_(1)
    mine[to_ours(key)].add_(1)
    assert np.array_equal(mine.numpy(), theirs.numpy()), f"written through x{list(shape)}[{key}]"


def _read(x: Any, key: Any) -> Any:
    return (x * 1)[key] * 2


@settings(max_examples=50, deadline=None)
@given(shape_and_key(), st.booleans())
def test_writing(case: tuple[tuple[int, ...], Any], number: bool) -> None:
    """The same elements written, the same refusals, the same gradients."""
    shape, key = case
    value: Any = 2.5
    if not number:
        try:
            value = real.randn(
                real.zeros(shape)[key].shape[-1:], dtype=real.float64
            ).requires_grad_()
        except Exception:
            value = real.ones(1, dtype=real.float64)
    what = f"x{list(shape)}[{key}] = {'2.5' if number else list(value.shape)}"
    if _writes_twice(shape, key):
        return
    compare(_write, _write, (_numbers(shape), key, value), what=what)


def _write(x: Any, key: Any, value: Any) -> Any:
    y = x * 1
    y[key] = value
    return y


def _writes_twice(shape: tuple[int, ...], key: Any) -> bool:
    """Whether an index names a place twice: which of two values stays there is not defined."""
    try:
        places = real.arange(int(np.prod(shape))).reshape(shape)[key].reshape(-1).tolist()
    except Exception:
        return False
    return len(set(places)) < len(places)
