"""The kernels of `backends/cuda` without a GPU: compiled for the CPU, where `cuda_threads.hpp` runs a block's threads, against the formulas."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from minitorch.torch.backends.cuda import mean_sources, reduction_sources, row_sources, sources
from minitorch.torch.formulas import (
    attention,
    conv,
    indexing,
    losses,
    norms,
    pool,
    recurrent,
    softmax,
)
from minitorch.torch.formulas.geometry import Geometry

from .kernels_on_cpu import Numbers, Parts, Places, compiled, run

ALL = (
    row_sources.COMBINE, reduction_sources.SUMS_OF_ROWS, sources.JOIN, sources.PUT, sources.CROSS_ENTROPY, sources.EMBEDDING, sources.WINDOWS, mean_sources.MEANS, sources.ATTENTION, sources.SHARES, sources.RECURRENT,
)  # fmt: skip
RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Any:
    """All kernels that do not depend on sizes."""
    return compiled(tmp_path_factory.mktemp("kernels"), sources.JOINS, sources.OF_BLOCK, *ALL)


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


class Bytes(ctypes.Structure):
    _fields_ = [("of", ctypes.c_longlong * 480)]


@pytest.mark.parametrize("size", [1, 7, 3840])
def test_bytes_that_travel_with_a_launch(library, size):
    given = RANDOM.integers(0, 256, size, dtype=np.uint8)
    out = np.full(size + 1, 77, np.uint8)
    held = Bytes.from_buffer_copy(given.tobytes().ljust(3840, b"\0"))
    run(library, "put", 1, 64, held, out, ctypes.c_int(size))
    assert (out[:size] == given).all()
    assert out[size] == 77


def test_sums_of_rows(library):
    x, out = normal(7, 45), normal(45)
    wide = np.empty((7, 45))
    run(library, "spread", 2, 256, out, wide, 45, wide.size)
    close(wide, np.broadcast_to(out, (7, 45)))
    run(library, "sum_of_rows", 6, (8, 4), x, out, 7, 45)
    close(out, x.sum(0))
    g, means, scales, by_weight, by_bias = (
        normal(7, 45),
        normal(7),
        normal(7),
        *np.empty((2, 2, 45)),
    )
    run(library, "layer_norm_sums", (2, 2), (32, 4), g, x, means, scales, by_weight, by_bias, 7, 45, 4)  # fmt: skip
    close(by_weight.sum(0), (g * (x - means[:, None]) * scales[:, None]).sum(0))
    close(by_bias[0], g[:4].sum(0))
    close(by_bias[1], g[4:].sum(0))


REDUCED = """
#define HOW Plus
#define NONE 0.0
#define PUT(x) (x)
#define PACK 2
typedef double O;
"""


def test_reductions(tmp_path):
    texts = sources.JOINS, sources.OF_BLOCK, sources.RAW, REDUCED, reduction_sources.REDUCE
    library = compiled(tmp_path, *texts)
    x = normal(3, 37, 10)
    for parts, threads in ((1, (4, 64)), (4, (8, 32))):  # columns: blocks of 8 or 16
        each, out = -(-37 // parts), np.empty((3, parts, 10))
        grid = 3 * (-(-10 // (2 * threads[0]))), parts
        run(library, "reduce_columns", grid, threads, x, out, 3, 37, 10, each, 2.0)
        right = [x[:, p * each : (p + 1) * each].sum(1) / 2 for p in range(parts)]
        close(out, np.stack(right, 1))
    for parts, threads in ((1, (32, 8)), (3, (64, 1))):  # rows: a warp or a block for each
        each, out = -(-370 // parts // 2) * 2, np.empty((3, parts))
        grid = -(-3 // threads[1]), parts
        run(library, "reduce_rows", grid, threads, x, out, 3, 370, 1, each, 2.0)
        flat = x.reshape(3, 370)
        right = [flat[:, p * each : (p + 1) * each].sum(1) / 2 for p in range(parts)]
        close(out, np.stack(right, 1))


@pytest.mark.parametrize(
    ("pack", "packs", "n", "threads"),
    [(1, 0, 7, (64, 1)), (2, 8, 28, (2, 16)), (4, 2, 260, (64, 1))],
)
def test_rows_in_memory_and_in_registers(pack, packs, n, threads, tmp_path):
    sizes = f"#undef EACH\n{sources.JOINS}{sources.OF_BLOCK}{sources.RAW}#define PACK {pack}\n#define PACKS {packs}\n#define EXACT 1\n"
    library = compiled(tmp_path, sizes, row_sources.ROWS, row_sources.SOFTMAX, row_sources.LAYER_NORM)  # fmt: skip
    x, g, out, by_x = normal(3, n), normal(3, n), *np.empty((2, 3, n))
    blocks = -(-3 // threads[1])
    for name, right in (("softmax", softmax.softmax(x, 1)), ("log_softmax", softmax.log_softmax(x, 1))):  # fmt: skip
        run(library, name, blocks, threads, x, out, n, 3)
        close(out, right)
        run(library, f"{name}_backward", blocks, threads, g, out, by_x, n, 3)
        close(by_x, getattr(softmax, f"{name}_backward")(g, out, 1))
    weight, bias, means, scales = normal(n), normal(n), *np.empty((2, 3, 1))
    for w, b in ((weight, bias), (None, None)):
        right = norms.layer_norm(x, (n,), w, b, 1e-5)
        run(library, "layer_norm", blocks, threads, x, w, b, out, means, scales, 1e-5, n, 3)
        for found, each in zip((out, means, scales), right, strict=True):
            close(found, each)
        run(library, "layer_norm_backward", blocks, threads, g, x, w, means, scales, by_x, n, 3)
        close(by_x, norms.layer_norm_backward(g, x, (n,), means, scales, w)[0])


@pytest.mark.parametrize("how", range(4))
def test_values_are_combined_at_places(library, how):
    target, values, places = normal(5), normal(9), RANDOM.integers(0, 5, 9)
    values[2] = np.nan
    right = target.copy()
    (np.add, np.multiply, np.maximum, np.minimum)[how].at(right, places, values)
    run(library, "combine", 1, 16, target, places, values, ctypes.c_int(how), 9)
    close(target, right)


def test_arrays_are_joined(library):
    arrays = [normal(3, n, 2) for n in (2, 1, 4)]
    out, parts = np.empty((3, 7, 2)), Parts()
    parts.numbers[:3] = [x.ctypes.data for x in arrays]
    parts.numbers[16:19] = [4, 6, 14]
    run(library, "join", 2, 32, parts, out, 14, out.size)
    np.testing.assert_array_equal(out, np.concatenate(arrays, 1))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(library, weighted, smoothing):
    x, target = 3 * normal(6, 5), np.array([0, 4, 2, -1, 1, 2])
    weight = RANDOM.random(5) if weighted else None
    each, sums, shares, wrong = np.empty(6), np.empty((6, 2)), np.empty(6), np.zeros(2, np.int64)
    run(
        library,
        "cross_entropy",
        6,
        32,
        x,
        target,
        weight,
        each,
        sums,
        shares,
        wrong,
        5,
        -1,
        smoothing,
    )
    expected, expected_sums = losses.cross_entropy(x, target, weight, -1, smoothing)
    close(each, expected)
    close(sums, expected_sums)
    assert not wrong[0]
    out, count = np.empty(()), np.empty(())
    run(library, "reduced", 1, 64, each, shares, out, count, 6, True)
    total = 5 if weight is None else weight[target[target >= 0]].sum()
    close([out, count], [expected.sum() / total, total])
    g, by_x = np.array(1.7), np.empty_like(x)
    args = (g, x, target, weight, sums, count, by_x, 5, -1, smoothing, True)
    run(library, "cross_entropy_backward", 6, 32, *args)
    rows = np.full(6, 1.7 / total)
    close(by_x, losses.cross_entropy_backward(rows, x, sums, target, weight, -1, smoothing))
    target[2] = 5
    run(
        library,
        "cross_entropy",
        6,
        32,
        x,
        target,
        weight,
        each,
        sums,
        shares,
        wrong,
        5,
        -1,
        smoothing,
    )
    assert wrong.tolist() == [1, 5]


def test_rows_of_tables(library):
    table, places, wrong = normal(6, 4), np.array([[0, 5, 2], [2, 2, 1]]), np.zeros(2, np.int64)
    out = np.empty((2, 3, 4))
    run(library, "embedding", 1, 32, table, places, out, wrong, 6, 4, out.size)
    close(out, table[places])
    g, by_table = normal(2, 3, 4), np.zeros((6, 4))
    run(library, "embedding_backward", 1, 32, g, places, by_table, 5, 6, 4, g.size)
    close(by_table, indexing.embedding_backward(g, places, 6, 5))
    places[0, 0] = 6
    run(library, "embedding", 1, 32, table, places, out, wrong, 6, 4, out.size)
    assert wrong.tolist() == [1, 6]


GEOMETRIES = [
    ((7, 6), Geometry((3, 2), (2, 1), (1, 0), (1, 2))), ((5,), Geometry((3,), (1,), (1,), (1,))),
    ((4, 5, 3), Geometry((2, 3, 1), (1, 2, 1), (1, 1, 0), (2, 1, 1))),
]  # fmt: skip


def packed(channels: int, sizes: Any, outs: Any, geometry: Geometry) -> Numbers:
    numbers = [channels]
    more = 3 - len(sizes)
    for fill, own in zip((1, 1, 1, 1, 0, 1), (sizes, outs, *geometry[:4]), strict=True):
        numbers += [fill] * more + list(own)
    return Numbers((ctypes.c_int * 19)(*numbers))


@pytest.mark.parametrize(("sizes", "geometry"), GEOMETRIES)
def test_convolutions(library, sizes, geometry):
    x, weight, bias = normal(2, 3, *sizes), normal(4, 3, *geometry.kernel), normal(3)
    expected = conv.conv_forward(
        x, weight, None, geometry.stride, geometry.padding, geometry.dilation, 1
    )
    outs = expected.shape[2:]
    taps, windows = int(np.prod(geometry.kernel)), int(np.prod(outs))
    columns, g = np.empty((2, 3 * taps, windows)), packed(3, sizes, outs, geometry)
    threads = 2 * 3 * windows
    run(library, "unroll", -(-threads // 256), 256, x, columns, g, threads)
    close((weight.reshape(4, -1) @ columns).reshape(expected.shape), expected)
    grad = normal(*expected.shape)
    rolled = np.ascontiguousarray(weight.reshape(4, -1).T @ grad.reshape(2, 4, -1))
    found = np.empty_like(x)
    run(library, "roll", -(-x.size // 256), 256, rolled, bias, found, g, x.size)
    right = conv.conv_input_gradient(
        grad, weight, x.shape, geometry.stride, geometry.padding, geometry.dilation, 1
    )
    close(found, right + bias.reshape(-1, *(1,) * len(sizes)))


@pytest.mark.parametrize(("sizes", "geometry"), GEOMETRIES)
def test_pooling(library, sizes, geometry):
    x = normal(2, 3, *sizes)
    x.flat[5] = np.nan
    expected, right = pool.max_pool_forward(x, *geometry)
    out, places = np.empty(expected.shape), np.empty(right.shape, np.int64)
    g = packed(1, sizes, expected.shape[2:], geometry)
    run(library, "max_pool", -(-out.size // 256), 256, x, out, places, g, out.size)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(places, right)
    grad, found, dims = normal(*out.shape), np.zeros_like(x), len(sizes)
    counts = int(np.prod(out.shape[2:])), int(np.prod(sizes)), out.size
    run(library, "max_pool_backward", -(-out.size // 256), 256, grad, places, found, *counts)
    close(found, pool.max_pool_gradient(grad, right, x.shape, dims))


@pytest.mark.parametrize(
    ("sizes", "window"),
    [
        ((7,), ((3,), (2,), (1,), False, True, None)), ((6, 7), ((3, 2), (2, 2), (1, 1), True, False, None)),
        ((6, 7), ((3, 3), (2, 3), (1, 1), True, True, None)), ((4, 5, 3), ((2, 2, 3), (2, 1, 1), (0, 1, 1), False, True, 5)),
    ],
)  # fmt: skip
def test_average_pooling(library, sizes, window):
    x, (*_, padded, divisor) = normal(2, 3, *sizes), window
    expected = pool.avg_pool_forward(x, *window)
    geometry, shape = pool.avg_pool_windows(x.shape, window)
    assert shape == expected.shape
    end = packed(1, sizes, shape[2:], geometry), ctypes.c_int(divisor or 0), padded
    out = np.empty(shape)
    run(library, "avg_pool", -(-out.size // 256), 256, x, out, *end, out.size)
    close(out, expected)
    found = np.empty_like(x)
    run(library, "avg_pool_backward", -(-x.size // 256), 256, out, found, *end, x.size)
    close(found, pool.avg_pool_gradient(out, x.shape, *window))


def test_means(library):
    x, out = normal(2, 3, 5, 4), np.empty((2, 3, 1, 1))
    run(library, "mean_pool", 6, 64, x, out, 20)
    close(out, x.mean((2, 3), keepdims=True))
    found = np.empty_like(x)
    run(library, "mean_pool_backward", 1, 256, out, found, 20, x.size)
    close(found, pool.adaptive_avg_pool_gradient(out, x.shape, (1, 1)))
    y, bias = x.copy(), normal(3)
    run(library, "add_bias", 1, 256, y, bias, 3, 20, y.size)
    close(y, x + bias[:, None, None])


def places(x: Any) -> Places:
    return Places((ctypes.c_longlong * 3)(*(s // 8 for s in x.strides[:3])))


@pytest.mark.parametrize("causal", [False, True])
def test_attention(library, causal):
    made = normal(2, 7, 3, 4, 5)  # (samples, positions, parts, heads, width)
    query, key, value = made.transpose(2, 0, 3, 1, 4)
    key, value = key[:, :, :6], np.ascontiguousarray(value[:, :, :6, :3])
    out, sums = np.empty((2, 4, 7, 3)), np.empty((2, 4, 7, 2))
    ints = [ctypes.c_int(n) for n in (4, 7, 6, 5, 3)]
    end = (*ints, 0.3, causal)
    where = [places(a) for a in (query, key, value)]
    run(library, "attention", 14, 128, query, key, value, out, sums, *where, places(out), *end, ctypes.c_int(56))  # fmt: skip
    expected, shares = attention.attention(query, key, value, None, 0.3, causal)
    close(out, expected)
    g, dots = normal(2, 4, 7, 3), np.empty((2, 4, 7))
    by_query, by_key, by_value = (
        np.empty((2, 4, 7, 5)),
        np.empty((2, 4, 6, 5)),
        np.empty((2, 4, 6, 3)),
    )
    args = (g, query, key, value, sums, by_query, dots, places(g), *where, places(by_query), *end)
    run(library, "attention_by_query", 14, 128, *args, ctypes.c_int(56))
    to = places(by_key), places(by_value)
    args = (g, query, key, value, sums, dots, by_key, by_value, places(g), *where, *to, *end)
    run(library, "attention_by_key", 12, 128, *args, ctypes.c_int(48))
    right = attention.attention_backward(g, query, key, value, None, shares, 0.3, causal)
    for found, each in zip((by_query, by_key, by_value), right, strict=True):
        close(found, each)


@pytest.mark.parametrize("causal", [False, True])
def test_shares_of_long_sequences(library, causal):
    scores, d, shares, slopes = normal(2, 3, 7), normal(2, 3, 7), *np.empty((2, 2, 3, 7))
    first, sums = 4, np.zeros((2, 9, 2))  # queries 4 to 6 of 9
    end = 0.3, causal, *map(ctypes.c_int, (first, 9, 3, 7))
    run(library, "shares_of", 6, 64, scores, shares, sums, *end)
    hidden = np.arange(7) > np.arange(4, 7)[:, None] if causal else np.zeros((3, 7), bool)
    right = softmax.softmax(np.where(hidden, -np.inf, 0.3 * scores), 2)
    close(shares, right)
    close(np.exp(0.3 * scores - sums[:, 4:7, :1]).sum(2, where=~hidden), sums[:, 4:7, 1])
    shares[...] = 0
    run(library, "slopes_of", 6, 64, scores, d, shares, slopes, sums, *end)
    close(shares, right)
    close(slopes, 0.3 * softmax.softmax_backward(d, right, 2))


def test_steps_of_recurrent_layers(library):
    sizes = ctypes.c_int(4), ctypes.c_int(12)
    gates, h, c, bias, w = normal(3, 16), normal(3, 4), normal(3, 4), normal(16), normal(16, 4)
    arrays = [normal(3, 4) for _ in range(4)]  # before, cells, tanhs, out
    expected = [x.copy() for x in (gates, h, c, *arrays)]
    g, h2, c2, before, cells, tanhs, out = expected
    recurrent.lstm_steps(g, [3], False, (w, bias, None), (h2, c2), (out, before, cells, tanhs))
    product = h @ w.T
    run(library, "lstm_step", 1, 16, gates, product, bias, h, c, *arrays, *sizes)
    for found, each in zip((gates, h, c, *arrays), expected, strict=True):
        close(found, each)
    gy, dh, dc, slopes = normal(3, 4), normal(3, 4), normal(3, 4), np.empty((3, 16))
    dh2, dc2, right = dh.copy(), dc.copy(), np.empty((3, 16))
    recurrent.lstm_steps_backward(g, [3], True, (w, None), (dh2, dc2), (gy, cells, tanhs), (right, None))  # fmt: skip
    run(library, "lstm_step_backward", 1, 16, gates, cells, tanhs, gy, dh, dc, slopes, *sizes)
    close(slopes, right)
    close(dc, dc2)


def test_all_steps_of_a_layer(library):
    sizes, hidden = [3, 3, 2, 1], 5
    starts = np.array([(rows.start, n) for rows, n in recurrent.walk(sizes, False)])
    shape = ctypes.c_int(len(sizes)), ctypes.c_int(hidden)
    gates, h, c, bias, w = normal(9, 20), normal(3, 5), normal(3, 5), normal(20), normal(20, 5)
    arrays = [normal(9, 5) for _ in range(4)]  # before, cells, tanhs, out
    expected = [x.copy() for x in (gates, h, c, *arrays)]
    g, h2, c2, before, cells, tanhs, out = expected
    recurrent.lstm_steps(g, sizes, False, (w, bias, None), (h2, c2), (out, before, cells, tanhs))
    run(library, "lstm_layer", 3, 20, gates, w.T.copy(), bias, h, c, *arrays, starts, *shape)
    for found, each in zip((gates, h, c, *arrays), expected, strict=True):
        close(found, each)
    gy, dh, dc, slopes, right = normal(9, 5), normal(3, 5), normal(3, 5), *np.empty((2, 9, 20))
    dh2, dc2 = dh.copy(), dc.copy()
    recurrent.lstm_steps_backward(g, sizes, True, (w, None), (dh2, dc2), (gy, cells, tanhs), (right, None))  # fmt: skip
    back = np.ascontiguousarray(starts[::-1])
    run(library, "lstm_layer_backward", 3, 20, gates, w, cells, tanhs, gy, dh, dc, slopes, back, *shape)  # fmt: skip
    for found, each in ((slopes, right), (dh, dh2), (dc, dc2)):
        close(found, each)


def test_steps_of_gated_units(library):
    sizes = ctypes.c_int(4), ctypes.c_int(12)
    gates, h, bias, w = normal(3, 12), normal(3, 4), normal(12), normal(12, 4)
    arrays = [normal(3, 4) for _ in range(3)]  # before, inner, out
    expected = [x.copy() for x in (gates, h, *arrays)]
    g, h2, before, inner, out = expected
    recurrent.gru_steps(g, [3], False, (w, bias), h2, (out, before, inner))
    product = h @ w.T
    run(library, "gru_step", 1, 16, gates, product, bias, h, *arrays, *sizes)
    for found, each in zip((gates, h, *arrays), expected, strict=True):
        close(found, each)
    gy, dh, made = normal(3, 4), normal(3, 4), np.empty((2, 3, 12))
    dh2, right = dh.copy(), np.empty((2, 3, 12))
    recurrent.gru_steps_backward(g, [3], True, w, dh2, (gy, before, inner), tuple(right))
    run(library, "gru_step_backward", 1, 16, gates, before, inner, gy, dh, made[0], made[1], *sizes)
    close(made, right)
    close(dh + made[1] @ w, dh2)
