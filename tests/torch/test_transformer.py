"""Attention and Transformers against PyTorch: values, gradients, seeds, state dicts, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch as real

import minitorch.torch as ours
from tests.torch.oracle import DRAWN_ULPS, compare, compare_tensors, leaves, to_ours

MINE = ours.nn.functional.scaled_dot_product_attention
THEIRS = real.nn.functional.scaled_dot_product_attention


def random(*shape: int, dtype: Any = real.float64) -> Any:
    return real.randn(shape, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [(real.float64, (2, 3, 20, 8)), (real.float64, (3, 25, 8)), (real.float64, (30, 8)),
     (real.float32, (2, 3, 40, 8)), (real.float32, (3, 60, 8)), (real.float32, (100, 8))],
)  # fmt: skip
def test_attention(dtype: Any, shape: tuple[int, ...]) -> None:
    """Masks, scales, dropout; small, differentiated twice, and as large as kernels take."""
    real.manual_seed(0)
    q, k, v = (random(*shape, dtype=dtype) for _ in range(3))
    length = shape[-2]
    blind = real.ones(length, length).tril().bool().logical_and(real.arange(length) > 3)
    cases: list[dict[str, Any]] = [
        {}, {"is_causal": True}, {"scale": 0.3}, {"scale": -0.3}, {"attn_mask": blind},
        {"attn_mask": random(length, length, dtype=dtype)}, {"is_causal": True, "dropout_p": 0.3},
    ]  # fmt: skip
    double = dtype is real.float64
    for case in cases:
        compare(MINE, THEIRS, (q, k, v), case, double=double, what=f"{list(case)}")
    longer = random(*shape[:-2], length + 5, 8, dtype=dtype)
    values = random(*shape[:-2], length + 5, 4, dtype=dtype)
    compare(MINE, THEIRS, (q, longer, values), {"is_causal": True}, double=double, what="more keys")
    compare(MINE, THEIRS, (longer, k, v), {"is_causal": True}, double=double, what="fewer keys")


def test_attention_of_groups_and_views() -> None:
    q, k, v = random(2, 6, 20, 8), random(2, 2, 20, 8), random(2, 2, 20, 8)
    compare(MINE, THEIRS, (q, k, v), {"enable_gqa": True}, double=True, what="groups")
    views = tuple(random(2, 40, 3, 8).detach().transpose(1, 2).requires_grad_() for _ in range(3))
    compare(MINE, THEIRS, views, {"is_causal": True}, strides=True, what="views")
    compare(MINE, THEIRS, (random(4, 1, 9, 8), random(1, 3, 9, 8), v[:1, :1, :9]), what="broadcast")


@pytest.mark.parametrize("shape", [(4, 2, 96, 16), (4, 2, 300, 64), (3, 2, 2, 60, 8)])
def test_attention_of_permuted_batches(shape: tuple[int, ...]) -> None:
    """Values and gradients are those of contiguous copies, whatever kernel computes them."""
    ours.manual_seed(0)
    q, k, v, g = (ours.randn(shape).transpose(0, 1) for _ in range(4))
    for case in ({}, {"is_causal": True}, {"attn_mask": ours.randn(shape[-2], shape[-2])}):
        found = []
        for change in (lambda x: x, lambda x: x.contiguous()):
            inputs = [change(x.detach()).requires_grad_() for x in (q, k, v)]
            out = MINE(*inputs, **case)
            found.append([out, *ours.autograd.grad(out, inputs, change(g))])
        for a, b in zip(*found, strict=True):
            assert (a - b).abs().max() < 1e-5, case


Make = Callable[[Any], Any]
Call = Callable[[Any, Any, Any], Any]

MASK = real.nn.Transformer.generate_square_subsequent_mask(5)
PADDING = real.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] * 4 + [True]])
STEPS = real.randn(5, 3, 8, generator=real.Generator().manual_seed(1))
BATCH = STEPS.transpose(0, 1).contiguous()
MEMORY = real.randn(6, 3, 8, generator=real.Generator().manual_seed(2))

MODULES: dict[str, tuple[Make, Call, tuple[Any, ...]]] = {
    "heads": (lambda nn: nn.MultiheadAttention(8, 2), lambda m, x, y: m(x, y, y), (STEPS, MEMORY)),
    "no weights": (
        lambda nn: nn.MultiheadAttention(8, 2, dropout=0.2),
        lambda m, x, mask: m(x, x, x, need_weights=False, attn_mask=mask, is_causal=True), (STEPS, MASK)),
    "every weight": (
        lambda nn: nn.MultiheadAttention(8, 4, dropout=0.2, bias=False, batch_first=True),
        lambda m, x, p: m(x, x, x, key_padding_mask=p, average_attn_weights=False), (BATCH, PADDING)),
    "more keys": (
        lambda nn: nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True),
        lambda m, x, mask: m(x, x, x, attn_mask=mask), (STEPS, MASK)),
    "other widths": (
        lambda nn: nn.MultiheadAttention(4, 2, kdim=8, vdim=8),
        lambda m, x, y: m(x[..., :4], y, y), (STEPS, MEMORY)),
    "one sequence": (
        lambda nn: nn.MultiheadAttention(8, 2), lambda m, x, y: m(x, x, y), (STEPS[:, 0], STEPS[:, 1])),
    "encoder layer": (
        lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, activation="gelu"),
        lambda m, x, mask: m(x, mask), (STEPS, MASK)),
    "norm first": (
        lambda nn: nn.TransformerEncoderLayer(8, 2, 16, norm_first=True, batch_first=True, bias=False),
        lambda m, x, p: m(x, src_key_padding_mask=p), (BATCH, PADDING)),
    "decoder layer": (
        lambda nn: nn.TransformerDecoderLayer(8, 2, 16, norm_first=True),
        lambda m, x, y: m(x, y), (STEPS, MEMORY)),
    "encoder": (
        lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, nn.LayerNorm(8)),
        lambda m, x, p: m(x, src_key_padding_mask=p), (BATCH, PADDING)),
    "decoder": (
        lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2),
        lambda m, x, y: m(x, y, tgt_is_causal=False), (STEPS, MEMORY)),
    "transformer": (
        lambda nn: nn.Transformer(8, 2, 2, 2, 16, dropout=0.2),
        lambda m, x, y: m(x, y[:5], tgt_mask=m.generate_square_subsequent_mask(5)), (STEPS, MEMORY)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:The PyTorch API of nested")
def test_modules(name: str) -> None:
    """From one seed: parameters, text, outputs, all gradients, in training and out of it."""
    make, call, inputs = MODULES[name]
    real.manual_seed(7)
    ours.manual_seed(7)
    theirs, mine = make(real.nn), make(ours.nn)
    assert repr(mine) == repr(theirs)
    for (n, a), (m, b) in zip(mine.named_parameters(), theirs.named_parameters(), strict=True):
        assert n == m
        compare_tensors(a, b, n, ulps=DRAWN_ULPS)
    real.manual_seed(8)
    ours.manual_seed(8)
    got, expected = call(mine, *to_ours(inputs)), call(theirs, *inputs)
    _same(got, expected, name)
    weights = real.randn(leaves(expected)[0].shape)
    (leaves(got)[0] * to_ours(weights)).sum().backward()
    (leaves(expected)[0] * weights).sum().backward()
    for (n, a), b in zip(mine.named_parameters(), theirs.parameters(), strict=True):
        compare_tensors(a.grad, b.grad, n, ulps=256, scale=1.0)
    with real.no_grad(), ours.no_grad():
        _same(call(mine.eval(), *to_ours(inputs)), call(theirs.eval(), *inputs), f"{name}, eval")
    mine.load_state_dict(to_ours(dict(theirs.state_dict())))


def _same(got: Any, expected: Any, what: str) -> None:
    for a, b in zip(leaves(got), leaves(expected), strict=True):
        compare_tensors(a, b, what, ulps=128)


WRONG: dict[str, Callable[[Any], Any]] = {
    "heads": lambda lib: lib.nn.MultiheadAttention(8, 3),
    "width": lambda lib: lib.nn.MultiheadAttention(0, 3),
    "activation": lambda lib: lib.nn.TransformerEncoderLayer(8, 2, activation="sin"),
    "batch": lambda lib: lib.nn.Transformer(8, 2, 1, 1, 8)(lib.zeros(2, 3, 8), lib.zeros(2, 4, 8)),
    "features": lambda lib: lib.nn.Transformer(8, 2, 1, 1, 8)(lib.zeros(2, 3, 4), lib.zeros(2, 3, 8)),
    "hint": lambda lib: lib.nn.MultiheadAttention(8, 2)(*(lib.zeros(2, 3, 8),) * 3, is_causal=True),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_errors(what: str) -> None:
    with pytest.raises((ValueError, RuntimeError, AssertionError)) as expected:
        WRONG[what](real)
    with pytest.raises(expected.type) as got:
        WRONG[what](ours)
    assert str(got.value) == str(expected.value)


def test_warnings() -> None:
    for nn in (real.nn, ours.nn):
        with pytest.warns(UserWarning, match=r"norm_first was True"):
            nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 8, norm_first=True), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer = ours.nn.TransformerEncoderLayer(8, 2, 8, norm_first=True)
        ours.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
