"""The lessons of the Torch floor's pages: graphs against PyTorch's, attention, writing, histograms."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from minitorch import torch
from minitorch.app.drawings import torch_floor
from minitorch.app.drawings.progress import draw_curves
from minitorch.app.inside import gpt, tapes, torch_models
from minitorch.torch import nn


def test_the_graph_is_that_of_pytorch() -> None:
    theirs = pytest.importorskip("torch")
    model = theirs.nn.Sequential(
        theirs.nn.Linear(2, 16), theirs.nn.ReLU(), theirs.nn.Linear(16, 16), theirs.nn.ReLU(),
        theirs.nn.Linear(16, 2),
    )  # fmt: skip
    loss = theirs.nn.functional.cross_entropy(model(theirs.rand(64, 2)), theirs.zeros(64).long())
    found = torch_models.graph("perceptron")
    operations, waiting = [], [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        operations.append(node.name())
        waiting += [n for n, _ in node.next_functions if n is not None]
    leaves = operations.count("torch::autograd::AccumulateGrad")
    boxes = found["nodes"]
    assert sum(box["kind"] == "parameter" for box in boxes) == leaves == 6
    mine = [box["label"] for box in boxes if box["kind"] == "operation"]
    assert {n for n in operations if n.startswith(("Addmm", "Relu", "Nll"))} <= set(mine)
    assert mine.count("AddmmBackward0") == operations.count("AddmmBackward0") == 3
    weight = next(n for n, box in enumerate(boxes) if box["label"] == "0.weight")
    arrow = next(arrow for arrow in found["arrows"] if arrow["from"] == weight)
    assert arrow["shape"] == boxes[weight]["shape"] == [16, 2]


@pytest.mark.parametrize("model", torch_models.EXAMPLES)
def test_every_model_has_a_graph_a_timeline_and_learns(model: str) -> None:
    found = torch_models.graph(model)
    dot = torch_floor.as_dot(found["nodes"], found["arrows"])
    assert dot.count("->") == len(found["arrows"]) >= len(found["nodes"]) - 1
    example = torch_models.make(model)
    named = {box["label"] for box in found["nodes"] if box["kind"] == "parameter"}
    assert named == {name for name, _ in example.model.named_parameters()}
    events = torch_models.profile(model)["events"]
    tops = [event for event in events if event["depth"] == 0]
    assert [event["name"] for event in tops] == ["forward", "backward", "optimizer"]
    assert sum(e["own"] for e in events) == pytest.approx(sum(e["time"] for e in tops))
    assert "forward: " in str(torch_floor.draw_timeline(events))
    assert sum(row["share"] for row in torch_floor.sum_by_name(events)) == pytest.approx(1)
    parts = list(torch_models.train(model, "Adam", 0.01, 40, 0))
    assert parts[-1]["loss"] < 0.8 * parts[0]["loss"]
    assert set(parts[0]["parameters"]) == named


def test_a_compiled_step_before_and_after_fusion() -> None:
    found = tapes.compiled_step("perceptron")
    before, after = found["before"], found["after"]
    assert [step["name"] for step in before].count("relu") == 2
    assert [step["name"] for step in after].count("add, relu") == 2
    assert (before[-1]["name"], after[-1]["name"]) == ("adam_", "adam_")
    relu = next(k for k, step in enumerate(before) if step["name"] == "relu")
    assert before[relu]["reads"] == [[relu - 1, [64, 16]]]
    assert {tuple(shape) for _, shape in after[-1]["reads"]} == {(16, 2), (16,), (16, 16), (2, 16), (2,)}  # fmt: skip
    assert all(source < k for steps in (before, after) for k, step in enumerate(steps) for source, _ in step["reads"])  # fmt: skip
    assert all(step["time"] > 0 for step in (*before, *after))
    assert "relu" in found["loops"]
    dot = torch_floor.steps_as_dot(after)
    assert dot.count("->") == sum(len(step["reads"]) for step in after)
    example = torch_models.make("perceptron")
    optimizer = torch.optim.AdamW(example.model.parameters())
    for loss in found["losses"]:
        optimizer.zero_grad()
        mine = example.loss()
        mine.backward()
        optimizer.step()
        assert mine.item() == pytest.approx(loss, rel=1e-5)


def test_histograms_count_every_number() -> None:
    values = np.random.default_rng(0).normal(size=500)
    found = torch_models.histogram(np.r_[values, np.nan, np.inf])
    assert (sum(found["counts"]), found["wild"]) == (500, 2)
    assert (found["low"], found["high"]) == (values.min(), values.max())
    assert found["counts"] == np.histogram(values, torch_models.BINS)[0].tolist()
    same = torch_models.histogram(np.full(7, 0.25, np.float32))
    assert sum(same["counts"]) == 7
    assert torch_models.histogram(np.array([np.nan]))["mean"] is None
    shares, low, high = torch_floor.over_steps([found, same])
    assert shares.shape == (torch_floor.ROWS, 2)
    assert (low, high) == (found["low"], found["high"])
    row = int((0.25 - low) / (high - low) * torch_floor.ROWS)
    assert shares[row, 1] == 1
    assert shares[:, 1].sum() == 1


def test_attention_looks_back_only_and_adds_up() -> None:
    steps = gpt.train(steps=0, layers=2, heads=2, width=16, length=16, rate=0.01, seed=0)
    next(steps)
    found = steps.send({"attention": "The loss"})["now"]["attention"]
    weights = np.array(found["weights"])
    assert weights.shape == (2, 2, 8, 8)
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)
    assert not np.triu(weights, 1).any()
    assert "looks at T (1): 1.00" in str(torch_floor.draw_attention(found["text"], weights[0, 0]))
    assert steps.send({"attention": "é"})["now"]["attention"]["text"] == ""


def test_attention_is_that_of_torch() -> None:
    """The block's own softmax gives what the fused attention does."""
    block = gpt.Block(16, 2)
    x = gpt.torch.randn(1, 5, 16)
    parts = block.attend(block.norm1(x)).view(1, 5, 3, 2, 8).permute(2, 0, 3, 1, 4)
    fused = gpt.F.scaled_dot_product_attention(*parts, is_causal=True)
    block(x)
    mine = block.weights @ parts[2]
    np.testing.assert_allclose(mine.detach().numpy(), fused.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_the_gpt_learns_and_writes() -> None:
    steps = gpt.train(steps=30, layers=1, heads=2, width=32, length=16, rate=0.01, seed=0)
    losses = [part["loss"] for part in (next(steps) for _ in range(4)) if "loss" in part]
    assert losses[0] < math.log(len(gpt.characters())) + 0.5
    assert losses[-1] < 0.9 * losses[0]
    asked = {"words": "The ", "count": 20, "temperature": 1.0, "top_k": 1, "seed": 0}
    first = steps.send({"write": asked})["now"]["written"]
    again = steps.send({"write": asked | {"seed": 9}})["now"]["written"]
    assert first == again, "from the likeliest one, dice do not matter"
    assert (first[:4], len(first)) == ("The ", 24)
    other = steps.send({"write": asked | {"top_k": 40}})["now"]["written"]
    assert other != first
    assert next(steps)["pause"]


def test_a_curve_over_steps_says_which_steps() -> None:
    losses = {"loss": [3.0, 2.0, 1.0]}
    picture = draw_curves(losses, "Loss", first=0, at=[10, 20, 25], last=50, width=164, unit="step")
    words = re.findall(r">([^<>]+)</text>", str(picture))
    assert {"0", "25", "50", "step"} <= set(words)
    assert 'd="M72.0 30.0 L92.0 91.3 L102.0 152.7"' in str(picture), "10, 20 and 25 of 50"


def test_the_models_are_modules() -> None:
    assert isinstance(torch_models.make("GPT").model, nn.Module)
