"""Kernels that training steps need, without a GPU: small products, convolutions and attention by tiles, batch norm by parts, LSTM layers."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from minitorch.torch.backends.cuda import (
    channel_sources,
    direct_sources,
    grouped_sources,
    product_sources,
    recurrent_sources,
    sources,
    tiled_sources,
)
from minitorch.torch.formulas import attention, conv, recurrent

from .kernels_on_cpu import Places, compiled, run
from .test_cuda_kernels import GEOMETRIES, close, normal, packed, places

COMMON = sources.JOINS, sources.OF_BLOCK


class Matrix(ctypes.Structure):
    _fields_ = [
        ("first", ctypes.c_void_p), ("row", ctypes.c_int), ("column", ctypes.c_int), ("next", ctypes.c_longlong),
    ]  # fmt: skip

    @staticmethod
    def of(x: Any) -> Matrix:
        (step, *strides), size = x.strides, x.itemsize
        return Matrix(x.ctypes.data, *(s // size for s in strides), step // size)


@pytest.mark.parametrize(("m", "k", "n"), [(5, 3, 2), (17, 130, 33)])
def test_small_products(m, k, n, tmp_path):
    library = compiled(tmp_path, product_sources.PRODUCT)
    stacks = [(normal(2, m, k), normal(2, k, n)), (normal(2, k, m).transpose(0, 2, 1), normal(2, n, k).transpose(0, 2, 1))]  # fmt: skip
    for a, b in stacks:
        out, bias = np.ones((2, m, n)), normal(n)
        grid = -(-n // 16), -(-m // 16), 2
        sizes = [*map(ctypes.c_int, (m, k, n, n))]
        args = Matrix.of(a), Matrix.of(b), bias, out, *sizes, m * n
        run(library, "small_product", grid, 256, *args, True)
        close(out, a @ b + bias + 1)
        run(library, "small_product", grid, 256, *args[:2], None, *args[3:], False)
        close(out, a @ b)


def test_batch_norm_by_several_blocks(tmp_path):
    texts = "#undef EACH\n", channel_sources.SOURCE, "#undef EACH\n", channel_sources.PARTS
    library = compiled(tmp_path, *COMMON, *texts)
    x, g, weight, bias = normal(5, 3, 7), normal(5, 3, 7), normal(3), normal(3)
    out, facts = np.empty_like(x), [np.empty(3) for _ in range(3)]
    sizes, parts = [*map(ctypes.c_uint, (3, 7, 35, 9))], np.empty((3, 4, 2))
    run(library, "batch_norm_parts", (4, 3), 64, x, parts, *sizes)
    run(library, "batch_norm_of_parts", (4, 3), 64, x, parts, weight, bias, out, *facts, *sizes, 1e-5)  # fmt: skip
    one, alone = np.empty_like(x), [np.empty(3) for _ in range(3)]
    run(library, "batch_norm", 3, 64, x, weight, bias, one, *alone, 3, 7, 35, 1e-5)
    mean, variance = x.mean((0, 2), keepdims=True), x.var((0, 2), keepdims=True)
    normalized = (x - mean) / np.sqrt(variance + 1e-5)
    close(one, normalized * weight[:, None] + bias[:, None])
    for a, b in zip((out, *facts), (one, *alone), strict=True):
        close(a, b)
    by_x, sums = np.empty_like(x), [np.empty(3) for _ in range(2)]
    run(library, "batch_norm_backward_parts", (4, 3), 64, g, x, *facts[:2], parts, *sizes)
    run(library, "batch_norm_backward_of_parts", (4, 3), 64, g, x, weight, *facts[:2], parts, by_x, *sums, *sizes)  # fmt: skip
    one, alone = np.empty_like(x), [np.empty(3) for _ in range(2)]
    run(library, "batch_norm_backward", 3, 64, g, x, weight, *facts[:2], one, *alone, 3, 7, 35)
    close(sums[1], g.sum((0, 2)))
    close(sums[0], (g * normalized).sum((0, 2)))
    for a, b in zip((by_x, *sums), (one, *alone), strict=True):
        close(a, b)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(7, 6), (70, 41)])
def test_attention_by_tiles(queries, keys, causal, tmp_path):
    library = compiled(tmp_path, *COMMON, sources.ATTENTION, "#define WIDTH 32\n", tiled_sources.TILED)  # fmt: skip
    made = normal(2, queries, 3, 2, 5)  # (samples, positions, parts, heads, width)
    query, key, value = made.transpose(2, 0, 3, 1, 4)
    key, value = key[:, :, :keys], np.ascontiguousarray(value[:, :, :keys, :3])
    out, sums = np.empty((2, 2, queries, 3)), np.empty((2, 2, queries, 2))
    end = (*map(ctypes.c_int, (2, queries, keys, 5, 3)), 0.3, causal)
    where = [places(a) for a in (query, key, value)]

    def launch(name: str, rows: int, *args: Any) -> None:
        grid = -(-rows // 32), 4, 2 if name == "attention_by_key" else 1
        run(library, f"tiled_{name}", grid, 64, *args, *end)

    launch("attention", queries, query, key, value, out, sums, *where, places(out))
    expected, shares = attention.attention(query, key, value, None, 0.3, causal)
    close(out, expected)
    g, dots = normal(*out.shape), np.empty(out.shape[:-1])
    by_query, by_key, by_value = (np.empty(x.shape) for x in (query, key, value))
    args = (g, query, key, value, sums, by_query, dots, places(g), *where, places(by_query))
    launch("attention_by_query", queries, *args)
    to: tuple[Places, Places] = places(by_key), places(by_value)
    args = (g, query, key, value, sums, dots, by_key, by_value, places(g), *where, *to)
    launch("attention_by_key", keys, *args)
    right = attention.attention_backward(g, query, key, value, None, shares, 0.3, causal)
    for found, each in zip((by_query, by_key, by_value), right, strict=True):
        close(found, each)


@pytest.mark.parametrize(("sizes", "geometry"), GEOMETRIES)
def test_convolutions_without_columns(sizes, geometry, tmp_path):
    x, weight, bias = normal(2, 3, *sizes), normal(4, 3, *geometry.kernel), normal(4)
    steps = geometry.stride, geometry.padding, geometry.dilation, 1
    expected = conv.conv_forward(x, weight, bias, *steps)
    outs, taps = expected.shape[2:], int(np.prod(geometry.kernel))
    g = packed(3, sizes, outs, geometry)
    grad = normal(*expected.shape)
    right = conv.conv_input_gradient(grad, weight, x.shape, *steps)
    for back, given, own, wanted in ((False, x, bias, expected), (True, grad, None, right)):
        depth = given.shape[1] * taps
        text = f"#define CHANNELS 8\n#define DEPTH {depth}\n{direct_sources.DIRECT}"
        (tmp_path / str(back)).mkdir()
        library = compiled(tmp_path / str(back), *COMMON, sources.WINDOWS, text)
        out, count = np.empty_like(wanted), wanted.size // wanted.shape[1]
        channels = [ctypes.c_int(a.shape[1]) for a in (given, wanted)]
        grid = -(-count // 32), 1
        run(library, "direct", grid, 32, given, weight, own, out, g, *channels, back, count)
        close(out, wanted)


def test_all_steps_of_a_layer_with_weights_in_registers(tmp_path):
    text = f"{sources.RECURRENT}\n#define HIDDEN 8\n{recurrent_sources.HELD}"
    library = compiled(tmp_path, text)
    sizes, hidden = [3, 3, 2, 1], 8
    starts = np.array([(0, 3), (3, 3), (6, 2), (8, 1)], np.int64)
    shape = [ctypes.c_int(n) for n in (len(sizes), hidden)]
    gates, w, bias = normal(9, 4 * hidden), normal(4 * hidden, hidden), normal(4 * hidden)
    h, c, arrays = normal(3, hidden), normal(3, hidden), [np.empty((9, hidden)) for _ in range(4)]
    expected = [x.copy() for x in (gates, h, c, *arrays)]
    g, h2, c2, before, cells, tanhs, out = expected
    recurrent.lstm_steps(g, sizes, False, (w, bias, None), (h2, c2), (out, before, cells, tanhs))
    run(library, "held_lstm_layer", 3, 32, gates, w.T.copy(), bias, h, c, *arrays, starts, *shape)
    for found, each in zip((gates, h, c, *arrays), expected, strict=True):
        close(found, each)
    gy, dh, dc, slopes, right = normal(9, 8), normal(3, 8), normal(3, 8), *np.empty((2, 9, 32))
    dh2, dc2 = dh.copy(), dc.copy()
    recurrent.lstm_steps_backward(g, sizes, True, (w, None), (dh2, dc2), (gy, cells, tanhs), (right, None))  # fmt: skip
    back = np.ascontiguousarray(starts[::-1])
    run(library, "held_lstm_layer_backward", 3, 32, gates, w, cells, tanhs, gy, dh, dc, slopes, back, *shape)  # fmt: skip
    for found, each in ((slopes, right), (dh, dh2), (dc, dc2)):
        close(found, each)


@pytest.mark.parametrize(("sizes", "geometry"), GEOMETRIES[:2])
def test_convolutions_of_many_groups(sizes, geometry, tmp_path):
    library = compiled(tmp_path, *COMMON, sources.WINDOWS, grouped_sources.GROUPED)
    groups, given, made = 3, 2, 4
    x, weight = normal(2, 6, *sizes), normal(12, given, *geometry.kernel)
    bias, back = normal(12), normal(6)
    steps = geometry.stride, geometry.padding, geometry.dilation, groups
    expected = conv.conv_forward(x, weight, bias, *steps)
    out, g = np.empty(expected.shape), packed(6, sizes, expected.shape[2:], geometry)
    ints = [*map(ctypes.c_int, (12, given, made))]
    run(library, "grouped", -(-out.size // 64), 64, x, weight, bias, out, g, *ints, out.size)
    close(out, expected)
    grad, by_x, by_weight = normal(*out.shape), np.empty_like(x), np.empty_like(weight)
    run(library, "grouped_by_input", -(-x.size // 64), 64, grad, weight, back, by_x, g, *ints, x.size)  # fmt: skip
    right = conv.conv_input_gradient(grad, weight, x.shape, *steps)
    close(by_x, right + back.reshape(-1, *(1,) * len(sizes)))
    run(library, "grouped_by_weight", weight.size, 64, grad, x, by_weight, g, *ints, 2)
    close(by_weight, conv.conv_weight_gradient(grad, x, weight.shape, *steps))
