"""Attention by tensor cores without a GPU, against the formula."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from minitorch.torch.backends.cuda import flash_sources
from minitorch.torch.formulas import attention

from .kernels_on_cpu import Places, Sizes, compiled, run

FLASH = """
typedef unsigned short E;
#define READ(x) from_bfloat16(x)
#define WIDTH 32
#define GROUPS 2
#define BLOCKS 1
"""


@pytest.fixture(scope="module")
def flash(tmp_path_factory) -> Any:
    """Attention by tensor cores, of bfloat16."""
    return compiled(tmp_path_factory.mktemp("flash"), flash_sources.FLASH, head=FLASH)


def halves(x: Any) -> Any:
    """The first two bytes of each float32: numbers of bfloat16."""
    return np.ascontiguousarray(x, np.float32).view(np.uint16)[..., 1::2].copy()


def wide(x: Any) -> Any:
    return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


@pytest.mark.parametrize(("queries", "keys", "causal"), [(70, 66, False), (130, 130, True)])
def test_attention_by_tensor_cores(flash, queries, keys, causal):
    heads, width, last = 1 if causal else 2, 24, 32
    random = np.random.default_rng(0)
    arrays = [random.standard_normal((1, n, heads, w)) for n, w in ((queries, width), (keys, width), (keys, last), (queries, last))]  # fmt: skip
    arrays[0] *= 12 if causal else 1  # scores that grow from tile to tile
    query, key, value, g = (halves(x).transpose(0, 2, 1, 3) for x in arrays)

    def at(x: Any) -> Places:
        return Places((ctypes.c_longlong * 3)(*(s // 2 for s in x.strides[:3])))

    sizes = Sizes((ctypes.c_int * 5)(heads, queries, keys, width, last))
    out, columns = np.zeros((1, heads, queries, last), np.uint16), 2 + last // 2
    sums = np.zeros((heads, queries, columns), np.float32)
    end, given = (sizes, ctypes.c_float(0.2), causal), (query, key, value)
    blocks = (heads, -(-queries // 128))
    run(flash, "flash", blocks, 128, *given, out, sums, *map(at, (*given, out)), *end)
    full = [wide(x) for x in given]
    expected, shares = attention.attention(*full, None, 0.2, causal)
    np.testing.assert_allclose(wide(out), expected, rtol=0.02, atol=0.01)
    facts = np.zeros((heads, -(-queries // 64) * 64, 2), np.float32)
    count = heads * queries
    run(
        flash, "flash_facts", -(-count // 8), 256, g, sums, facts, at(g), sizes, ctypes.c_int(count)
    )
    made = [np.zeros((1, heads, n, w), np.uint16) for n, w in ((queries, width), (keys, width), (keys, last))]  # fmt: skip
    read = g, *given
    run(flash, "flash_by_query", blocks, 128, *read, facts, made[0], *map(at, (*read, made[0])), *end)  # fmt: skip
    blocks = (heads, -(-keys // 128))
    run(flash, "flash_by_key", blocks, 128, *read, facts, *made[1:], *map(at, (*read, *made[1:])), *end)  # fmt: skip
    right = attention.attention_backward(wide(g), *full, None, shares, 0.2, causal)
    for found, each in zip(made, right, strict=True):
        np.testing.assert_allclose(wide(found), each, rtol=0.02, atol=0.02 * np.abs(each).max())
