"""Sparse tensors against PyTorch: values, gradients, printing, errors."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
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


# --- Rows and columns of values and blocks ------------------------------------------------------

MATRIX = [[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 4.0, 0.0], [5.0, 0.0, 0.0, 0.0]]
COMPRESSED: dict[str, Callable[[Any], Any]] = {
    "csr": lambda t: t.tensor(MATRIX).to_sparse_csr(),
    "csc": lambda t: t.tensor(MATRIX).to_sparse_csc(),
    "bsr": lambda t: t.tensor(MATRIX).to_sparse_bsr((2, 2)),
    "bsc": lambda t: t.tensor(MATRIX).to_sparse_bsc((2, 2)),
    "csr of parts": lambda t: t.sparse_csr_tensor([0, 1, 3], [2, 0, 1], [3.0, 4.0, 5.0]),
    "csc of parts": lambda t: t.sparse_csc_tensor(
        [0, 1, 1], [2], [3.0], size=(4, 2), dtype=t.float64
    ),
    "bsr of parts": lambda t: t.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0], [3.0, 4.0]]]),
}
USES: dict[str, Callable[[Any, Any], Any]] = {
    "itself": lambda t, s: s,
    "facts": lambda t, s: (s.shape, s.layout, s.is_sparse, s.is_sparse_csr, s.sparse_dim(), s.dense_dim(), s._nnz(), s.numel()),
    "dense": lambda t, s: s.to_dense(),
    "coordinates": lambda t, s: s.to_sparse_coo(),
    "transposed": lambda t, s: s.t(),
    "doubled": lambda t, s: s * 2,
    "negative": lambda t, s: -s,
    "sine": lambda t, s: t.sin(s),
    "plus": lambda t, s: s + s,
    "sum": lambda t, s: s.sum(),
    "a row": lambda t, s: s.to_sparse_coo()[0],
    "double": lambda t, s: s.double(),
    "copy": lambda t, s: s.clone(),
    "values": lambda t, s: s.values(),
    "is a tensor": lambda t, s: (t.is_tensor(s), isinstance(s, t.Tensor)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made", COMPRESSED)
def test_rows_and_columns(made: str, use: str) -> None:
    assert repr(USES[use](ours, COMPRESSED[made](ours))) == repr(USES[use](real, COMPRESSED[made](real)))  # fmt: skip


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_products_by_rows_and_columns(layout: str) -> None:
    uses: list[Any] = [
        lambda t, s: s @ t.arange(8.0).reshape(4, 2),
        lambda t, s: s @ t.arange(4.0),
        lambda t, s: t.sparse.mm(s, t.ones(4, 1)),
        lambda t, s: (s @ s.t()).to_dense(),
        lambda t, s: t.ones(4, 4) + s,
        lambda t, s: t.addmm(t.ones(4, 2), s, t.ones(4, 2), beta=2, alpha=3),
    ]
    for use in uses:
        assert repr(use(ours, COMPRESSED[layout](ours))) == repr(use(real, COMPRESSED[layout](real)))  # fmt: skip


@pytest.mark.parametrize("made", ["csr", "csc", "bsr", "bsc"])
def test_gradients_reach_the_values_of_rows_and_columns(made: str) -> None:
    dense: Any = ours.tensor(MATRIX, requires_grad=True)
    rows = dense.to_sparse(layout=getattr(ours, f"sparse_{made}"), blocksize=(2, 2) if made[0] == "b" else None)  # fmt: skip
    weight = ours.arange(12.0).reshape(4, 3).requires_grad_()
    ((rows * 2) @ weight).square().sum().backward()
    twin: Any = real.tensor(MATRIX, requires_grad=True)
    other: Any = real.arange(12.0).reshape(4, 3).requires_grad_()
    ((twin * 2) @ other).square().sum().backward()
    kept = np.array(MATRIX) != 0
    assert dense.grad.numpy()[kept].tolist() == twin.grad.numpy()[kept].tolist()
    assert weight.grad.tolist() == other.grad.tolist()


WRONG_PARTS: dict[str, Callable[[Any], Any]] = {
    "too few starts": lambda t: t.sparse_csr_tensor([0, 1], [0], [1.0], size=(2, 2)),
    "not from 0": lambda t: t.sparse_csr_tensor([1, 1], [0], [1.0]),
    "falling": lambda t: t.sparse_csr_tensor([0, 2, 1, 2], [0, 1], [1.0, 2.0]),
    "outside": lambda t: t.sparse_csr_tensor([0, 1], [5], [1.0], size=(1, 2)),
    "counts": lambda t: t.sparse_csr_tensor([0, 1], [0], [1.0, 2.0]),
    "twice": lambda t: t.sparse_csr_tensor([0, 2], [1, 1], [1.0, 2.0]),
    "blocks that do not fit": lambda t: t.tensor(MATRIX).to_sparse_bsr((3, 2)),
    "blocks of no size": lambda t: t.tensor(MATRIX).to_sparse(
        layout=t.sparse_bsr, blocksize=(2, 0)
    ),
    "three sizes of blocks": lambda t: t.tensor(MATRIX).to_sparse_bsc((1, 1, 1)),
    "blocks of coordinates": lambda t: t.tensor(MATRIX).to_sparse(blocksize=(2, 2)),
    "dense dimensions": lambda t: t.tensor(MATRIX).to_sparse_csr(dense_dim=1),
    "one size": lambda t: t.sparse_csr_tensor([0, 1], [0], [1.0], size=(1,)),
    "coordinates of rows": lambda t: COMPRESSED["csr"](t).indices(),
    "columns' parts of rows": lambda t: COMPRESSED["csr"](t).row_indices(),
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", WRONG_PARTS)
def test_wrong_parts(name: str) -> None:
    with real.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError):
        WRONG_PARTS[name](real)
    with pytest.raises(RuntimeError):
        WRONG_PARTS[name](ours)


@pytest.mark.parametrize("made", ["csr", "csc", "bsr", "bsc", "coo"])
def test_files_and_copies(made: str, tmp_path: Path) -> None:
    made_by: Any = {**COMPRESSED, "coo": lambda t: t.tensor(MATRIX).to_sparse()}[made]
    mine = made_by(ours)
    for copied in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert repr(copied) == repr(mine)
    ours.save(mine, tmp_path / "ours.pt")
    assert repr(ours.load(tmp_path / "ours.pt")) == repr(mine)
    assert repr(real.load(tmp_path / "ours.pt", map_location="cpu")) == repr(mine)
    real.save(made_by(real), tmp_path / "theirs.pt")
    assert repr(ours.load(tmp_path / "theirs.pt")) == repr(mine)


# --- Sparse gradients ----------------------------------------------------------------------------


def _tables(t: Any, **options: Any) -> Any:
    table = t.nn.Embedding(6, 3, sparse=True, **options)
    with t.no_grad():
        table.weight.copy_(t.arange(18.0).reshape(6, 3) / 10)
    return table


def test_a_table_gets_the_rows_that_were_used() -> None:
    def gradients(t: Any) -> list[str]:
        table = _tables(t, padding_idx=0)
        index = t.tensor([[1, 4], [1, 0]])
        (table(index) * t.arange(12.0).reshape(2, 2, 3)).sum().backward()
        once = repr(table.weight.grad)
        table(t.tensor([2])).sum().backward()
        again = repr(table.weight.grad.coalesce())
        table.weight.square().sum().backward()  # a dense gradient on top
        bags = t.nn.functional.embedding_bag(
            index, table.weight.detach().requires_grad_(), mode="mean", sparse=True
        )
        return [once, again, repr(table.weight.grad), repr(bags.detach())]

    assert gradients(ours) == gradients(real)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_rows(mode: str) -> None:
    def gradient(t: Any) -> str:
        bag = t.nn.EmbeddingBag(6, 3, mode=mode, sparse=True)
        bag(t.tensor([1, 2, 4, 1]), t.tensor([0, 2])).sum().backward()
        return repr(bag.weight.grad)

    assert gradient(ours) == gradient(real)


SPARSE_OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}), ("SGD", {"lr": 0.1, "maximize": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}), ("SparseAdam", {"lr": 0.1}), ("SparseAdam", {"lr": 0.1, "maximize": True}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), SPARSE_OPTIMIZERS)
def test_optimizers_take_sparse_gradients(name: str, options: dict[str, Any]) -> None:
    def trained(t: Any) -> Any:
        table = _tables(t)
        optimizer = getattr(t.optim, name)(list(table.parameters()), **options)
        for rows in ([1, 2, 2], [5, 1, 0], [3, 3, 3]):
            optimizer.zero_grad()
            loss = table(t.tensor(rows)).square().sum()
            loss.backward()
            optimizer.step()
        return table.weight.detach().numpy()

    np.testing.assert_allclose(trained(ours), trained(real), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "name",
    ["Adam", "AdamW", "RMSprop", "NAdam", "RAdam", "Rprop", "ASGD", "Adadelta", "Adamax", "Adafactor", "Muon"],
)  # fmt: skip
def test_other_optimizers_refuse_them(name: str) -> None:
    messages = []
    for t in (ours, real):
        table = _tables(t)
        optimizer = getattr(t.optim, name)(list(table.parameters()))
        table(t.tensor([1])).sum().backward()
        with pytest.raises(RuntimeError) as error:
            optimizer.step()
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_what_has_no_sparse_form_says_so() -> None:
    s = ours.tensor(MATRIX).to_sparse()
    for call in (
        lambda: ours.cumsum(s, 0),
        lambda: s.exp(),
        lambda: ours.mm(input=s, mat2=s),
        lambda: ours.ones(4, 4) / s,
    ):
        with pytest.raises((NotImplementedError, RuntimeError), match="sparse"):
            call()
