"""Calls at the edges that PyTorch takes: unusual numbers, empty and odd arguments, the ends of ranges.

A row is a function of a library; what it gives in ours must be what it gives in PyTorch:
values, types, shapes, plain answers, or the class of the error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch as ours

from .oracle import Mismatch, _compare_error, compare_results, leaves

Call = Callable[[Any], Any]


def check(call: Call) -> None:
    """Make a call in both libraries and compare what comes out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = call(real)
        except Exception as e:
            _compare_error("row", e, lambda: call(ours))
            return
        got = call(ours)
    compare_results(got, expected, "row", ulps=4)
    if not leaves(expected) and repr(got) != repr(expected):
        raise Mismatch(f"{got!r}, expected {expected!r}")


def with_gradients(call: Callable[..., Any], *values: Any) -> Call:
    """The row of a function of tensors: its result, and the gradient of each tensor."""

    def run(t: Any) -> Any:
        inputs = [t.tensor(v, dtype=t.float64, requires_grad=True) for v in values]
        out = call(t, *inputs)
        weights = t.arange(1, out.numel() + 1, dtype=t.float64).reshape(out.shape)
        return out, *t.autograd.grad(out, inputs, weights, allow_unused=True)

    return run


# --- A tensor without dimensions is a number -------------------------------------------------------

NUMBERS: list[Call] = [
    lambda t: t.add(t.ones(2), t.ones(2), alpha=t.tensor(2.0)),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=np.float32(2)),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=t.tensor(2.0, requires_grad=True)),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=t.tensor([2.0])),
    lambda t: t.add(t.ones(2).int(), t.ones(2).int(), alpha=t.tensor(2.0)),
    lambda t: t.add(t.ones(2).int(), t.ones(2).int(), alpha=1.0),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=True),
    lambda t: t.ones(2).sub_(t.ones(2), alpha=t.tensor(2)),
    lambda t: t.rsub(t.ones(2), t.ones(2), alpha=t.tensor(2)),
    lambda t: t.addmm(t.ones(2, 2), t.ones(2, 2), t.ones(2, 2), alpha=t.tensor(2), beta=t.tensor(3)),
    lambda t: t.addcmul(t.ones(2), t.ones(2), t.ones(2), value=t.tensor(2.0)),
    lambda t: t.addcdiv(t.ones(2), t.ones(2), t.ones(2), value=t.tensor(2.0)),
    lambda t: t.roll(t.arange(4), t.tensor(1)),
    lambda t: t.roll(t.arange(4), t.tensor(1.0)),
    lambda t: t.roll(t.arange(4).view(2, 2), 1, t.tensor(0)),
    lambda t: t.roll(t.arange(4), True),
    lambda t: t.randperm(t.tensor(5)).sort()[0],
    lambda t: t.randperm(t.tensor(5.0)),
    lambda t: t.range(t.tensor(1.0), t.tensor(2.0)),
    lambda t: t.nn.functional.conv1d(t.ones(1, 1, 4), t.ones(1, 1, 2), stride=t.tensor(2)),
    lambda t: t.nn.functional.conv1d(t.ones(1, 1, 4), t.ones(1, 1, 2), padding=True),
    lambda t: t.nn.functional.max_pool1d(t.ones(1, 1, 4), t.tensor(2)),
    lambda t: t.nn.functional.nll_loss(t.ones(2, 3), t.tensor([0, 1]), ignore_index=t.tensor(0)),
    lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 1]), label_smoothing=t.tensor(0.1)),
    lambda t: t.matrix_power(t.ones(2, 2), t.tensor(2)),
    lambda t: t.ones(20).normal_(t.tensor(0.0), t.tensor(0.0)),
    lambda t: t.ones(3).broadcast_to(2, 3),
    lambda t: t.ones(3).broadcast_to(size=(2, 3)),
]  # fmt: skip


# --- What tensors and graphs say about themselves ---------------------------------------------------


def quietly(t: Any, call: Callable[[Any], Any]) -> Any:
    """An answer about a tensor that requires a gradient, under `no_grad`."""
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        return call(x)


def inputs_of(call: Callable[[Any], Any]) -> Call:
    """Which of a node's inputs have a node of their own, in order."""
    return lambda t: [
        n is not None for n, _ in call(t.ones(2, requires_grad=True)).grad_fn.next_functions
    ]


def second_backward(call: Callable[[Any, Any], Any]) -> Call:
    """Walk a graph twice."""

    def run(t: Any) -> Any:
        x = t.ones(4, requires_grad=True)
        out = call(t, x)
        out.sum().backward()
        out.sum().backward()
        return x.grad

    return run


def overwritten(t: Any, x: Any) -> Any:
    """A copy, one element of which is written."""
    copy = x.clone()
    copy[0] = 5.0
    return copy


ANSWERS: list[Call] = [
    lambda t: t.ones(2).layout == t.strided and t.ones(2).layout is t.strided,
    lambda t: [str(x) for x in (t.ones(2).layout, t.sparse_coo, t.sparse_csr, t.sparse_bsc)],
    lambda t: quietly(t, lambda x: x.numpy().tolist()),
    lambda t: quietly(t, lambda x: (x * 2).numpy().tolist()),
    lambda t: quietly(t, lambda x: np.asarray(x).tolist()),
    lambda t: t.ones(2, requires_grad=True).numpy(),
    inputs_of(lambda x: 2 * x),
    inputs_of(lambda x: x * 2),
    inputs_of(lambda x: 2 + x),
    *map(second_backward, [
        lambda t, x: x * 2, lambda t, x: 2 * x, lambda t, x: x / 2, lambda t, x: x + 2, lambda t, x: x[0],
        lambda t, x: x[1:], lambda t, x: x[[0, 1]], lambda t, x: x[t.tensor([0, 1])], lambda t, x: x[x > 0],
        lambda t, x: x.masked_select(x > 0), lambda t, x: t.zeros(4).masked_scatter(t.ones(4).bool(), x),
        lambda t, x: t.zeros(4).index_put((t.arange(4),), x), overwritten, lambda t, x: t.sub(x, x, alpha=3),
        lambda t, x: t.addmm(x.view(2, 2), t.ones(2, 2), t.ones(2, 2), beta=2), lambda t, x: (x * 1).zero_(),
    ]),
]  # fmt: skip


@pytest.mark.parametrize("table", ["NUMBERS", "ANSWERS"])
def test_edges(table: str) -> None:
    for i, call in enumerate(globals()[table]):
        try:
            check(call)
        except Exception as e:
            raise AssertionError(f"row {i} of {table}: {e}") from e
