"""Lesson 5, the last task: the GPT on the Torch floor against the one on the ground floor."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from minitorch import transformer

from .strategies import assert_close
from .test_transformer import (
    block_in_numpy,
    gpt_in_numpy,
    self_attention_in_numpy,
    set_at_random,
    some_ids,
)

pytestmark = pytest.mark.task5_5
SIZES = (5, 4, 4, 2, 2)
"""Vocabulary, length, width, heads and layers of a small model."""


def torch() -> Any:
    """The Torch floor, which takes a moment to load."""
    from minitorch import torch

    return torch


def upper() -> Any:
    """What the student wrote on it."""
    from minitorch import torch_transformer

    return torch_transformer


def at_random(module: Any) -> Any:
    """A module of float64 whose parameters are all random."""
    rng = np.random.default_rng(random.getrandbits(32))
    with torch().no_grad():
        for parameter in module.double().parameters():
            parameter.copy_(torch().tensor(rng.uniform(-1.0, 1.0, tuple(parameter.shape))))
    return module


def arrays(module: Any) -> list[Any]:
    """The parameters as the ground floor has them: weights of Linear transposed."""
    made = []
    for name, parameter in module.named_parameters():
        array = parameter.detach().numpy()
        layer = module.get_submodule(name.rpartition(".")[0])
        made.append(array.T if isinstance(layer, torch().nn.Linear) else array)
    return made


def of_numbers(module: Any, x: Any) -> Any:
    return module(torch().tensor(x)).detach().numpy()


def ground_model() -> Any:
    model = transformer.GPT(*SIZES)
    set_at_random(model)
    return model


def test_text_embedding() -> None:
    layer, ids = at_random(upper().TextEmbedding(5, 4, 3)), some_ids(2, 3, 5)
    characters, places = arrays(layer)
    assert_close(of_numbers(layer, ids), characters[np.array(ids)] + places[:3], 1e-9, 1e-9)


def test_self_attention() -> None:
    layer = at_random(upper().CausalSelfAttention(6, 3))
    x = np.random.default_rng(random.getrandbits(32)).uniform(-1, 1, (2, 4, 6))
    expected = self_attention_in_numpy(3)(x, *arrays(layer))
    assert_close(of_numbers(layer, x), expected, 1e-9, 1e-9)


def test_block() -> None:
    block = at_random(upper().Block(4, 2))
    x = np.random.default_rng(random.getrandbits(32)).uniform(-1, 1, (2, 3, 4))
    assert_close(of_numbers(block, x), block_in_numpy(2)(x, *arrays(block)), 1e-8, 1e-8)


def carried_over() -> tuple[Any, Any]:
    ground, model = ground_model(), upper().GPT(*SIZES).double()
    upper().carry_over(ground, model)
    return ground, model


def test_weights_carried_over_give_the_same_scores() -> None:
    (ground, model), ids = carried_over(), some_ids(2, 3, 5)
    for ours, theirs in zip(arrays(model), ground.parameters(), strict=True):
        assert_close(ours, theirs.value.to_numpy())
    assert_close(of_numbers(model, ids), gpt_in_numpy(ground, ids), 1e-8, 1e-8)
    assert_close(of_numbers(model, ids), ground(ids).to_numpy(), 1e-8, 1e-8)


def test_carry_over_leaves_parameters_that_can_learn() -> None:
    _, model = carried_over()
    for name, parameter in model.named_parameters():
        assert parameter.is_leaf, name
        assert parameter.requires_grad, name


def lengths(gradients: list[Any]) -> float:
    return math.sqrt(sum(float((g**2).sum()) for g in gradients))


def test_train_step() -> None:
    """The loss and the gradient are those of the ground floor, the latter cut to length 1."""
    (ground, model), ids, targets = carried_over(), some_ids(2, 3, 5), some_ids(2, 3, 5)
    loss = transformer.cross_entropy(ground(ids), targets)
    loss.backward()
    expected = [p.value.grad.to_numpy() for p in ground.parameters()]
    scale = min(1.0, 1.0 / lengths(expected))
    before = arrays(model)
    before = [array.copy() for array in before]
    for parameter in model.parameters():
        parameter.grad = torch().ones_like(parameter)  # of a step before: to be forgotten
    optimizer = torch().optim.SGD(model.parameters(), lr=0.5)
    got = upper().train_step(model, optimizer, torch().tensor(ids), torch().tensor(targets))
    assert type(got) is float
    assert_close(got, loss.item(), rtol=1e-5, atol=3e-6)
    for now, old, gradient in zip(arrays(model), before, expected, strict=True):
        assert_close(now, old - 0.5 * scale * gradient, rtol=1e-4, atol=1e-5)


def test_train_step_cuts_long_gradients() -> None:
    _, model = carried_over()
    with torch().no_grad():
        model.head.weight *= 30.0  # a large gradient for all that comes before
    optimizer = torch().optim.SGD(model.parameters(), lr=1.0)
    ids, targets = some_ids(2, 3, 5), some_ids(2, 3, 5)
    before = [array.copy() for array in arrays(model)]
    upper().train_step(model, optimizer, torch().tensor(ids), torch().tensor(targets))
    moved = [now - old for now, old in zip(arrays(model), before, strict=True)]
    assert lengths(moved) < 1.0 + 1e-6


@pytest.mark.parametrize("temperature", [0.6, 4.0])
def test_generate(temperature: float) -> None:
    model = at_random(upper().GPT(*SIZES))
    torch().manual_seed(11)
    start = torch().tensor([1, 3])
    got = model.generate(start, 12, temperature)
    torch().manual_seed(11)
    expected = start
    for _ in range(12):
        scores = model(expected[-4:][None])[0, -1].detach()
        drawn = torch().multinomial((scores / temperature).softmax(0), 1)
        expected = torch().cat([expected, drawn])
    assert got.tolist() == expected.tolist()
    assert start.tolist() == [1, 3]


def test_it_learns() -> None:
    """abcabc...: after 25 steps of AdamW the next character is nearly certain."""
    torch().manual_seed(0)
    model = upper().GPT(3, 6, 16, 2, 1)
    optimizer = torch().optim.AdamW(model.parameters(), lr=0.02)
    rows = torch().tensor([[(start + i) % 3 for i in range(7)] for start in range(3)])
    losses = [upper().train_step(model, optimizer, rows[:, :-1], rows[:, 1:]) for _ in range(25)]
    assert losses[0] > 1.0
    assert losses[-1] < 0.1
    assert model.generate(torch().tensor([0]), 5, 0.1).tolist() == [0, 1, 2, 0, 1, 2]
