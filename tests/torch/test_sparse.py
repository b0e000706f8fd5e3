"""Sparse tensors against PyTorch: values, gradients, printing, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch.torch

ours: Any = minitorch.torch

PLACES, VALUES, SIZE = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, -1.0], (2, 3)
Case = Callable[[Any, Any], Any]  # of a library and a sparse matrix of it


def both(case: Case, values: Any = VALUES) -> tuple[Any, Any]:
    return tuple(case(t, t.sparse_coo_tensor(PLACES, values, SIZE)) for t in (ours, real))  # type: ignore[return-value]


CASES: dict[str, Case] = {
    "itself": lambda t, s: s,
    "coalesced": lambda t, s: s.coalesce(),
    "dense": lambda t, s: s.to_dense(),
    "indices": lambda t, s: (s.coalesce().indices(), s._indices(), s._values()),
    "shape": lambda t, s: (s.shape, s.sparse_dim(), s.dense_dim(), s._nnz(), s.is_coalesced(), s.is_sparse, s.layout),
    "plus": lambda t, s: (s + s).coalesce(),
    "minus": lambda t, s: (s - s.coalesce()).coalesce(),
    "dense plus": lambda t, s: t.ones(2, 3) + s,
    "times": lambda t, s: s * 2,
    "divided": lambda t, s: s / 2,
    "times dense": lambda t, s: s.coalesce() * t.arange(6.0).reshape(2, 3),
    "times sparse": lambda t, s: s.coalesce() * t.eye(2, 3).to_sparse(),
    "transposed": lambda t, s: s.t(),
    "swapped": lambda t, s: s.transpose(0, 1),
    "sum": lambda t, s: (s.sum(), t.sparse.sum(s)),
    "sum of rows": lambda t, s: t.sparse.sum(s, 1),
    "sum of columns": lambda t, s: s.sum(0),
    "times matrix": lambda t, s: s @ t.ones(3, 2),
    "times vector": lambda t, s: s @ t.arange(3.0),
    "matrix times": lambda t, s: t.ones(4, 2) @ s,
    "mm": lambda t, s: t.sparse.mm(s, t.ones(3, 2)),
    "sparse times sparse": lambda t, s: t.sparse.mm(s, s.t()).to_dense(),
    "addmm": lambda t, s: t.sparse.addmm(t.ones(2, 2), s, t.ones(3, 2), beta=2, alpha=3),
    "softmax": lambda t, s: t.sparse.softmax(s, 1),
    "log_softmax": lambda t, s: t.sparse.log_softmax(s, 0),
    "abs": lambda t, s: (-s).abs(),
    "pow": lambda t, s: s.pow(2),
    "one row": lambda t, s: s[1].coalesce(),
    "rows": lambda t, s: s.index_select(0, t.tensor([1, 0])).coalesce(),
    "a dimension more": lambda t, s: s.coalesce().unsqueeze(0),
    "double": lambda t, s: s.double(),
    "norm": lambda t, s: s.coalesce().norm(),
    "to_sparse": lambda t, s: t.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse(),
    "rows dense": lambda t, s: t.tensor([[0.0, 0.0], [2.0, 3.0]]).to_sparse(1),
    "empty": lambda t, s: t.sparse_coo_tensor(size=(2, 3)),
    "dense values": lambda t, s: t.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]]),
    "mask": lambda t, s: t.arange(6.0).reshape(2, 3).sparse_mask(s.coalesce()),
    "diagonals": lambda t, s: t.sparse.spdiags(t.arange(6.0).reshape(2, 3), t.tensor([0, -1]), (3, 3)).to_dense(),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_prints_what_pytorch_prints(name: str) -> None:
    mine, theirs = both(CASES[name])
    assert repr(mine) == repr(theirs)


def test_gradients_reach_values_and_dense_operand() -> None:
    def gradients(t: Any, _: Any) -> list[Any]:
        values = t.tensor(VALUES, requires_grad=True)
        dense = t.arange(6.0).reshape(3, 2).requires_grad_()
        s = t.sparse_coo_tensor(PLACES, values, SIZE)
        weight = t.tensor([[1.0, 2.0], [3.0, 4.0]])
        ((t.sparse.mm(s, dense) * weight).sum() + t.sparse.sum(s * 2)).backward()
        return [values.grad.tolist(), dense.grad.tolist()]

    mine, theirs = both(gradients)
    assert mine == theirs


def test_gradients_of_to_dense_coalesce_and_products() -> None:
    values: Any = ours.tensor(VALUES, requires_grad=True)
    s = ours.sparse_coo_tensor(PLACES, values, SIZE)
    (s.coalesce().to_dense() * ours.arange(6.0).reshape(2, 3)).sum().backward()
    assert values.grad.tolist() == [2, 3, 5, 2]
    del values.grad
    s.matmul(s.t()).to_dense().sum().backward()
    dense: Any = real.tensor(VALUES, requires_grad=True)
    m = real.zeros(2, 3).index_put(tuple(real.tensor(PLACES)), dense, accumulate=True)
    (m @ m.t()).sum().backward()
    assert values.grad.tolist() == dense.grad.tolist()


def test_a_sparse_leaf_keeps_a_sparse_gradient() -> None:
    s: Any = ours.sparse_coo_tensor(PLACES, VALUES, SIZE, requires_grad=True)
    assert s.is_leaf
    assert s.requires_grad
    assert s.grad is None
    (s @ ours.ones(3, 1)).sum().backward()
    gradient: Any = s.grad
    assert gradient._values().tolist() == [1, 1, 1, 1]
    assert "requires_grad=True" in repr(s)
    dense = ours.eye(2, requires_grad=True)
    dense.to_sparse().to_dense().sum().backward()
    assert dense.grad.tolist() == [[1, 0], [0, 1]]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 8), st.integers(0, 2**31))
def test_a_sparse_product_is_the_dense_one(rows: int, columns: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = np.stack([rng.integers(rows, size=count), rng.integers(columns, size=count)])
    s = ours.sparse_coo_tensor(
        ours.from_numpy(places), ours.from_numpy(rng.standard_normal(count)), (rows, columns)
    )
    dense = ours.from_numpy(rng.standard_normal((columns, 3)))
    ours.testing.assert_close(s @ dense, s.to_dense() @ dense)
    ours.testing.assert_close(s.matmul(s.t()).to_dense(), s.to_dense() @ s.to_dense().t())
    ours.testing.assert_close((s + s).to_dense(), s.to_dense() * 2)


WRONG: dict[str, Case] = {
    "indices before coalescing": lambda t, s: s.indices(),
    "sparse plus dense": lambda t, s: s + t.ones(2, 3),
    "product shapes": lambda t, s: s @ t.ones(2, 2),
    "product types": lambda t, s: s @ t.ones(3, 2, dtype=t.float64),
    "counts": lambda t, s: t.sparse_coo_tensor([[0, 1], [0, 0]], [1.0, 2.0, 3.0]),
    "negative": lambda t, s: t.sparse_coo_tensor([[0, -1], [0, 0]], [1.0, 2.0]),
    "dimensions": lambda t, s: t.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2, 2)),
    "divided by dense": lambda t, s: s / t.ones(2, 3),
    "exp": lambda t, s: s.exp(),
    "view": lambda t, s: s.view(6),
    "equal": lambda t, s: s == s,
    "outside": lambda t, s: t.sparse_coo_tensor(
        [[0, 3], [0, 0]], [1.0, 2.0], (2, 2), check_invariants=True
    ),
    "index": lambda t, s: s.index_select(0, t.tensor([5])),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_raises_what_pytorch_raises(name: str) -> None:
    raised = []
    for t in (ours, real):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            WRONG[name](t, t.sparse_coo_tensor(PLACES, VALUES, SIZE))
        raised.append(caught.type)
    assert issubclass(raised[0], raised[1])
