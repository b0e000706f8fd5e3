"""Recurrent networks against PyTorch: functions, modules, cells, packed sequences."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest
import torch as real

import minitorch.torch as ours
from minitorch.torch.nn.utils import rnn as packed_sequences
from tests.torch.oracle import DRAWN_ULPS, compare, compare_tensors, to_ours

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
INPUT, HIDDEN, BATCH, STEPS = 5, 6, 3, 4


def weights(kind: str, layers: int, two_ways: bool, bias: bool, projected: int) -> list[Any]:
    gates, state, ways = GATES[kind] * HIDDEN, projected or HIDDEN, 1 + two_ways
    shapes: list[tuple[int, ...]] = []
    for k in range(layers):
        given = INPUT if k == 0 else ways * state
        one: list[tuple[int, ...]] = [(gates, given), (gates, state)]
        one += [(gates,), (gates,)] if bias else []
        one += [(projected, HIDDEN)] if projected else []
        shapes += one * ways
    return [(real.randn(s, dtype=real.float64) * 0.4).requires_grad_() for s in shapes]


def random(*shape: int) -> Any:
    return real.randn(shape, dtype=real.float64, requires_grad=True)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize(
    ("layers", "two_ways", "bias", "batch_first", "projected"),
    [(1, False, True, False, 0), (2, True, True, True, 0), (3, False, False, True, 0), (2, True, True, False, 3)],
)  # fmt: skip
def test_functions(
    kind: str, layers: int, two_ways: bool, bias: bool, batch_first: bool, projected: int
) -> None:
    """Padded and packed, with dropout between layers, differentiated twice."""
    if projected and kind != "lstm":
        return
    real.manual_seed(1)
    params = weights(kind, layers, two_ways, bias, projected)
    shape = (BATCH, STEPS, INPUT) if batch_first else (STEPS, BATCH, INPUT)
    count = layers * (1 + two_ways)
    h, c = random(count, BATCH, projected or HIDDEN), random(count, BATCH, HIDDEN)
    hx = [h, c] if kind == "lstm" else h
    options = bias, layers, 0.3, True, two_ways
    mine, theirs = getattr(ours, kind), getattr(real, kind)
    compare(
        mine, theirs, (random(*shape), hx, params, *options, batch_first), double=True, what=kind
    )
    sizes = real.tensor([3, 3, 2, 1])
    packed = (random(9, INPUT), sizes, hx, params, *options)
    compare(mine, theirs, packed, double=True, what=f"packed {kind}")
    if count == 1:
        cell = (random(BATCH, INPUT), [h[0], c[0]] if kind == "lstm" else h[0], *params)
        names = f"{kind}_cell"
        compare(getattr(ours, names), getattr(real, names), cell, double=True, what=names)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_modules_of_working_size(name: str) -> None:
    """Single precision, large enough for kernels: same seed, same numbers, names, state dicts."""
    real.manual_seed(3)
    ours.manual_seed(3)
    options: dict[str, Any] = {"num_layers": 2, "batch_first": True, "dropout": 0.25}
    theirs, mine = (
        getattr(real.nn, name)(40, 48, **options),
        getattr(ours.nn, name)(40, 48, **options),
    )
    assert repr(mine) == repr(theirs)
    assert [n for n, _ in mine.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    for (n, a), b in zip(mine.state_dict().items(), theirs.state_dict().values(), strict=True):
        compare_tensors(a, b, n, ulps=DRAWN_ULPS)
    x = real.randn(16, 32, 40)
    own = to_ours(x).requires_grad_()
    x.requires_grad_()
    ours.manual_seed(4)
    real.manual_seed(4)
    (out, _), (expected, _) = mine(own), theirs(x)
    compare_tensors(out, expected, "output")
    (out * out).sum().backward()
    (expected * expected).sum().backward()
    compare_tensors(own.grad, x.grad, "input", 512)
    for (n, a), b in zip(mine.named_parameters(), theirs.parameters(), strict=True):
        compare_tensors(a.grad, b.grad, n, 512)
    again = pickle.loads(pickle.dumps(mine)).eval()
    compare_tensors(again(own)[0], theirs.eval()(x)[0], "pickled")


@pytest.mark.parametrize(
    ("name", "hidden", "projected"),
    [("LSTM", 20, 0), ("LSTM", 136, 24), ("LSTM", 80, 67), ("GRU", 20, 0), ("GRU", 152, 0)],
)
def test_products_by_tiles_and_by_the_blas(name: str, hidden: int, projected: int) -> None:
    """Weights that stay in a core's cache, and others; sequences that fill no tile, narrow and wide states."""
    options: dict[str, Any] = (
        {"bidirectional": True, "proj_size": projected} if name == "LSTM" else {}
    )
    theirs = getattr(real.nn, name)(12, hidden, **options)
    mine = getattr(ours.nn, name)(12, hidden, **options)
    mine.load_state_dict({n: to_ours(p) for n, p in theirs.state_dict().items()})
    sizes = [9, 9, 7, 5, 2, 1]
    x = real.randn(sum(sizes), 12)
    given = to_ours(x), to_ours(real.tensor(sizes))
    out = mine(ours.nn.utils.rnn.PackedSequence(*given))[0].data
    expected = theirs(real.nn.utils.rnn.PackedSequence(x, real.tensor(sizes)))[0].data
    compare_tensors(out, expected, "output", 64)
    (out * out).sum().backward()
    (expected * expected).sum().backward()
    for (n, a), b in zip(mine.named_parameters(), theirs.parameters(), strict=True):
        compare_tensors(a.grad, b.grad, n, 512)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_packed_modules(name: str) -> None:
    """Sequences in any order of length, with a state of their own, and one without a batch."""
    theirs = getattr(real.nn, name)(4, 5, bidirectional=True)
    mine = getattr(ours.nn, name)(4, 5, bidirectional=True)
    mine.load_state_dict(to_ours(dict(theirs.state_dict())))
    pieces = [real.randn(n, 4) for n in (2, 5, 3)]
    state = real.randn(2, 3, 5)
    hx = (state, state * 2) if name == "LSTM" else state

    def run(lib: Any, module: Any, pieces: Any, hx: Any) -> Any:
        rnn = lib.nn.utils.rnn
        packed, last = module(rnn.pack_sequence(pieces, enforce_sorted=False), hx)
        padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=7.0)
        return padded, lengths, last, module(pieces[0]), packed.double().float().data

    got = run(ours, mine, to_ours(pieces), to_ours(hx))
    expected = run(real, theirs, pieces, hx)
    for i, (a, b) in enumerate(zip(_flat(got), _flat(expected), strict=True)):
        compare_tensors(a, b, f"output {i}")


def _flat(value: Any) -> list[Any]:
    return [t for v in value for t in _flat(v)] if isinstance(value, tuple) else [value]


def test_sequences() -> None:
    a, b, c = (ours.arange(float(n)) for n in (3, 1, 2))
    rnn, theirs = packed_sequences, real.nn.utils.rnn
    left = rnn.pad_sequence([a, b, c], padding_value=-1, padding_side="left")
    expected = theirs.pad_sequence(
        [real.arange(3.0), real.arange(1.0), real.arange(2.0)], False, -1.0, "left"
    )
    compare_tensors(left, expected, "left")
    packed = rnn.pack_sequence([a, c, b])
    assert packed.data.tolist() == [0, 0, 0, 1, 1, 2]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert [s.tolist() for s in rnn.unpack_sequence(packed)] == [[0, 1, 2], [0, 1], [0]]
    assert rnn.pad_packed_sequence(packed, total_length=5)[0].shape == (5, 3)
    with pytest.raises(ValueError, match="total_length"):
        rnn.pad_packed_sequence(packed, total_length=2)
    with pytest.raises(RuntimeError, match="sorted"):
        rnn.pack_sequence([b, a])
    with pytest.raises(RuntimeError, match="greater than 0"):
        rnn.pack_padded_sequence(ours.zeros(3, 2), [2, 0])


@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells(name: str) -> None:
    real.manual_seed(5)
    ours.manual_seed(5)
    theirs, mine = getattr(real.nn, name)(4, 3), getattr(ours.nn, name)(4, 3)
    assert repr(mine) == repr(theirs)
    x = real.randn(4)
    got, expected = mine(to_ours(x)), theirs(x)
    for a, b in zip(_flat(got), _flat(expected), strict=True):
        compare_tensors(a, b, name)
    with pytest.raises(ValueError, match="1D or 2D"):
        mine(ours.zeros(1, 1, 4))


WRONG = {
    "no rank": lambda lib: lib.nn.LSTM(3, 4)(lib.zeros(2, 2, 2, 3)),
    "width": lambda lib: lib.nn.GRU(3, 4)(lib.zeros(2, 2, 5)),
    "type": lambda lib: lib.nn.RNN(3, 4)(lib.zeros(2, 2, 3, dtype=lib.float64)),
    "state": lambda lib: lib.nn.LSTM(3, 4)(lib.zeros(2, 2, 3), (lib.zeros(1, 2, 4), lib.zeros(1, 3, 4))),
    "rank of state": lambda lib: lib.nn.GRU(3, 4)(lib.zeros(2, 2, 3), lib.zeros(2, 4)),
    "dropout": lambda lib: lib.nn.LSTM(3, 4, dropout=1.5),
    "projection": lambda lib: lib.nn.GRU(3, 4, proj_size=2),
    "wide projection": lambda lib: lib.nn.LSTM(3, 4, proj_size=4),
    "size": lambda lib: lib.nn.LSTM(0, 4),
    "curve": lambda lib: lib.nn.RNN(3, 4, nonlinearity="sin"),
    "bias": lambda lib: lib.nn.RNN(3, 4, bias=1),
    "cell": lambda lib: lib.nn.LSTMCell(3, 4)(lib.zeros(2, 5)),
    "cell's state": lambda lib: lib.nn.GRUCell(3, 4)(lib.zeros(2, 3), lib.zeros(2, 5)),
    "weight": lambda lib: lib.gru(
        lib.zeros(64, 8, 3), lib.zeros(1, 8, 8), [lib.zeros(24, 3), lib.zeros(24, 5)], False, 1, 0.0, False, False, False),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_errors(what: str) -> None:
    with pytest.raises((ValueError, RuntimeError, TypeError)) as expected:
        WRONG[what](real)
    with pytest.raises(expected.type) as got:
        WRONG[what](ours)
    if what not in ("cell", "cell's state", "weight"):
        assert str(got.value) == str(expected.value)


def test_dropout_of_one_layer_warns() -> None:
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        ours.nn.LSTM(3, 4, dropout=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.nn.LSTM(3, 4, 2, dropout=0.5)


def test_output_can_be_written() -> None:
    """What the derivative needs is not the output itself."""
    net = ours.nn.RNN(3, 4)
    x = ours.ones(2, 2, 3)
    out, _ = net(x)
    out.mul_(2).sum().backward()
    doubled = net.weight_ih_l0.grad.clone()
    net.zero_grad()
    net(x)[0].sum().backward()
    assert ours.allclose(doubled, 2 * net.weight_ih_l0.grad)


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize(
    ("name", "options"), [("LSTM", {"proj_size": 5}), ("LSTM", {}), ("GRU", {})]
)
def test_kernels(name: str, options: dict[str, Any]) -> None:
    """Packed sequences that are large enough for kernels, both ways."""
    theirs = getattr(real.nn, name)(12, 40, 2, bidirectional=True, **options)
    mine = getattr(ours.nn, name)(12, 40, 2, bidirectional=True, **options)
    mine.load_state_dict(to_ours(dict(theirs.state_dict())))
    sizes = real.tensor([13] * 30 + [9] * 20 + [2] * 20 + [1] * 5)
    data = real.randn(int(sizes.sum()), 12)

    def run(lib: Any, module: Any, data: Any, sizes: Any) -> list[Any]:
        data.requires_grad_()
        packed, last = module(lib.nn.utils.rnn.PackedSequence(data, sizes))
        out = packed.data
        ((out * out).sum() + sum(state.sum() for state in _flat(last))).backward()
        return [out.detach(), data.grad, *(p.grad for p in module.parameters())]

    got, expected = run(ours, mine, to_ours(data), to_ours(sizes)), run(real, theirs, data, sizes)
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        compare_tensors(a, b, f"{name}: {i}", ulps=512)
