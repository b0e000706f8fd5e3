"""A part of `python -m tests.torch.layouts`, and writes into memory of every layout."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch.torch as ours
from minitorch.torch.formulas.arrays import view_as

from .layouts import EXPANDING, LAYOUTS, check
from .oracle import compare_tensors

OPERATIONS = """
    cumsum index_add nn.functional.batch_norm nn.functional.conv2d nn.functional.max_pool2d
    nn.functional.scaled_dot_product_attention scatter_add stft sum unfold
""".split()


@pytest.mark.parametrize("name", OPERATIONS)
def test_layouts_change_no_numbers(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count, wrong = check(name, limit=1)
    assert count
    assert not wrong, wrong[0]


def test_the_gradient_of_unfolded_stride_0_memory_is_a_sum() -> None:
    x = ours.ones(1, dtype=ours.float64).expand(5).requires_grad_()
    (g,) = ours.autograd.grad(x.unfold(0, 3, 1).sum(), x)
    assert g.tolist() == [1.0, 2.0, 3.0, 2.0, 1.0]


SHAPE = (120, 300)
"""More elements than kernels that write by index take."""


def _write(t: Any) -> dict[str, Callable[[Any], Any]]:
    """Writes by kernels, by NumPy, by index, and through `out=`."""
    source = t.arange(36_000.0).reshape(SHAPE).sin()
    rows, places = t.arange(120).flip(0), t.arange(36_000).reshape(SHAPE) % 120
    return {
        "add_": lambda x: x.add_(source),
        "exp_": lambda x: x.exp_(),
        "cumsum_": lambda x: x.cumsum_(0),
        "addmm_": lambda x: x.addmm_(source[:, :50], source[:50]),
        "index_add_": lambda x: x.index_add_(0, rows, source),
        "index_copy_": lambda x: x.index_copy_(0, rows, source),
        "scatter_add_": lambda x: x.scatter_add_(0, places, source),
        "scatter_ last": lambda x: x.scatter_(1, t.arange(300).expand(SHAPE), source),
        "scatter_reduce_": lambda x: x.scatter_reduce_(0, places, source, "amax"),
        "put_": lambda x: x.put_(t.arange(36_000).reshape(SHAPE), source),
        "masked_fill_": lambda x: x.masked_fill_(source > 0, 3.0),
        "masked_scatter_": lambda x: x.masked_scatter_(source > 0, source),
        "index_put_": lambda x: x.index_put_((rows,), source, accumulate=True),
        "out of exp": lambda x: t.exp(source, out=x),
        "out of mm": lambda x: t.mm(source[:, :120], source, out=x),
        "out of gather": lambda x: t.gather(source, 0, places, out=x),
    }


@pytest.mark.parametrize("layout", [n for n, fn in LAYOUTS.items() if fn not in EXPANDING])
def test_writes_reach_the_memory_that_was_given(layout: str) -> None:
    start = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    for name, write in _write(ours).items():
        expected = write(ours.from_numpy(start.copy()))
        array = LAYOUTS[layout](start.copy())
        result = write(ours.from_numpy(array))
        compare_tensors(result, expected, f"{name} of {layout}: result")
        compare_tensors(ours.from_numpy(array), expected, f"{name} of {layout}: memory")


def test_no_view_is_given_where_only_a_copy_could_be() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(view_as(x, -1), x)
    with pytest.raises(RuntimeError, match="no view"):
        view_as(x.T, -1)
