"""Attention with changed scores and masks of functions, against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch as real
from torch.nn.attention import flex_attention as theirs

import minitorch.torch as torch
from minitorch.torch.nn.attention import flex_attention as ours

from .oracle import DEVICE, compare_results, to_ours

SLOPES = [0.5, 0.25]


@pytest.fixture(autouse=True)
def plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch computes without its compiler, which changes settings of the process for good."""
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def alibi(lib: Any) -> Any:
    slopes = lib.as_tensor(SLOPES)
    return lambda score, b, h, q, kv: score + slopes[h] * (kv - q)


SCORES: dict[str, Any] = {
    "none": lambda lib: None,
    "alibi": alibi,
    "soft cap": lambda lib: lambda score, b, h, q, kv: (score / 2).tanh() * 2,
    "per sample": lambda lib: lambda score, b, h, q, kv: score * (b + 1),
}
MASKS: dict[str, Any] = {
    "none": None,
    "causal": lambda b, h, q, kv: q >= kv,
    "window": lambda b, h, q, kv: (q >= kv) & (q - kv <= 3),
    "heads": lambda b, h, q, kv: (h == 0) | (q >= kv),
    "nothing for some": lambda b, h, q, kv: (q > 1) & (kv < 4),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("mask", MASKS)
def test_attention(score: str, mask: str) -> None:
    real.manual_seed(0)
    inputs = [real.randn(2, 2, length, 8) for length in (7, 9, 9)]
    results = []
    for lib, flex, given in ((torch, ours, to_ours(inputs)), (real, theirs, inputs)):
        made = None
        if MASKS[mask] is not None:
            heads = 2 if mask == "heads" else None
            made = flex.create_block_mask(
                MASKS[mask],
                None,
                heads,
                7,
                9,
                device=DEVICE if lib is torch else "cpu",
                BLOCK_SIZE=4,
            )
        results.append(flex.flex_attention(*given, SCORES[score](lib), made))
    compare_results(results[0], results[1], "attention", ulps=64)


@pytest.mark.filterwarnings("ignore")
def test_shared_heads_and_gradients() -> None:
    real.manual_seed(0)
    query, key = (
        real.randn(2, 4, 5, 8, requires_grad=True),
        real.randn(2, 2, 6, 8, requires_grad=True),
    )
    own = to_ours(query), to_ours(key)
    got, lse = ours.flex_attention(own[0], own[1], own[1], enable_gqa=True, return_lse=True)
    q, k = query.detach(), key.detach()
    expected = theirs.flex_attention(q, k, k, enable_gqa=True, return_lse=True)
    compare_results((got.detach(), lse.detach()), expected, "attention", ulps=64)
    got.sum().backward()
    real.nn.functional.scaled_dot_product_attention(
        query, key, key, enable_gqa=True
    ).sum().backward()
    for mine, other in zip(own, (query, key), strict=True):
        compare_results(mine.grad, other.grad, "gradient", ulps=256)


def test_masks() -> None:
    causal, window = MASKS["causal"], lambda b, h, q, kv: q - kv <= 3
    for name in ("and_masks", "or_masks"):
        dense = [
            lib.create_mask(getattr(lib, name)(causal, window), None, None, 6, 7, device="cpu")
            for lib in (ours, theirs)
        ]
        compare_results(dense[0], dense[1], name)
    mine, other = (
        lib.create_block_mask(causal, 2, None, 10, 12, "cpu", BLOCK_SIZE=4)
        for lib in (ours, theirs)
    )
    compare_results(mine.to_dense(), other.to_dense(), "blocks")
    compare_results(mine.kv_num_blocks, other.kv_num_blocks, "in part")
    assert mine.sparsity() == pytest.approx(other.sparsity())
    assert mine.shape == tuple(other.shape)


def test_wrong_shapes() -> None:
    x = torch.zeros(2, 2, 3, 4)
    with pytest.raises(ValueError, match="enable_gqa"):
        ours.flex_attention(x, x[:, :1], x[:, :1])
    with pytest.raises(ValueError, match="4 dimensions"):
        ours.flex_attention(x[0], x, x)
