"""Lesson 5's transformer on both floors against PyTorch: values and gradients, near rounding."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import minitorch
import minitorch.torch as torch
from minitorch import torch_transformer, transformer
from minitorch.training.layers import fast_backend

F = pytorch.nn.functional
SIZES = {"length": 6, "width": 8, "heads": 2, "layers": 2}


def some_ids(rows: int = 3, length: int = 5, size: int = 7) -> list[list[int]]:
    return [[random.randrange(size) for _ in range(length)] for _ in range(rows)]


def ground_gpt() -> Any:
    model = transformer.GPT(7, **SIZES, backend=fast_backend())
    for parameter in model.parameters():  # biases and scales start at 0 and 1, which hides mistakes
        value = parameter.value
        fresh = minitorch.rand(value.shape, backend=value.backend) - 0.5
        parameter.update(fresh.detach())
    return model


def leaf(array: Any) -> Any:
    return minitorch.tensor(array.detach().numpy().tolist(), backend=fast_backend())


def assert_same(ours: Any, theirs: Any, rtol: float = 1e-10) -> None:
    np.testing.assert_allclose(ours.to_numpy(), theirs.detach().numpy(), rtol, atol=1e-11)


def double(*shape: int) -> Any:
    return pytorch.randn(*shape, dtype=pytorch.float64, requires_grad=True)


def compare(ours: Any, theirs: Any, *shapes: tuple[int, ...], rtol: float = 1e-10) -> None:
    """Values, and gradients for a random gradient that comes in."""
    pytorch.manual_seed(0)
    inputs = [double(*shape) for shape in shapes]
    mine = [leaf(x) for x in inputs]
    expected, got = theirs(*inputs), ours(*mine)
    assert_same(got, expected, rtol)
    incoming = pytorch.randn_like(expected)
    expected.backward(incoming)
    got.backward(leaf(incoming))
    for x, y in zip(mine, inputs, strict=True):
        assert_same(x.grad, y.grad, rtol)


# --- The ground floor -----------------------------------------------------------------------


def test_embedding() -> None:
    ids = some_ids()

    def ours(weight: Any) -> Any:
        table = transformer.Embedding(7, 4, fast_backend())
        table.weight.value = weight
        return table(ids)

    compare(ours, lambda w: F.embedding(pytorch.tensor(ids), w), (7, 4))


def test_layer_norm() -> None:
    def ours(x: Any, weight: Any, bias: Any) -> Any:
        layer = transformer.LayerNorm(6, fast_backend())
        layer.weight.value, layer.bias.value = weight, bias
        return layer(x)

    def theirs(x: Any, weight: Any, bias: Any) -> Any:
        return F.layer_norm(x, (6,), weight, bias, eps=minitorch.EPS)

    compare(ours, theirs, (2, 3, 6), (6,), (6,), rtol=1e-9)


def test_gelu() -> None:
    compare(transformer.gelu, lambda x: F.gelu(x, approximate="tanh"), (4, 5))


def test_attention() -> None:
    def theirs(q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    compare(transformer.attention, theirs, (4, 5, 3), (4, 5, 3), (4, 5, 3))


def test_cross_entropy() -> None:
    targets = some_ids()

    def theirs(scores: Any) -> Any:
        right = pytorch.tensor(targets).flatten()
        return F.cross_entropy(scores.flatten(0, 1), right).view(1)

    compare(lambda s: transformer.cross_entropy(s, targets), theirs, (3, 5, 7))


class PyTorchGPT(pytorch.nn.Module):
    """The model once more, from PyTorch's own parts."""

    def __init__(self, source: transformer.GPT) -> None:
        super().__init__()
        self.source = {n: self._parameter(n, p.value) for n, p in source.named_parameters()}

    def _parameter(self, name: str, value: Any) -> Any:
        return pytorch.tensor(value.to_numpy(), requires_grad=True)

    def _linear(self, name: str, x: Any) -> Any:
        return x @ self.source[f"{name}.weight"] + self.source[f"{name}.bias"]

    def _norm(self, name: str, x: Any) -> Any:
        weight, bias = self.source[f"{name}.weight"], self.source[f"{name}.bias"]
        return F.layer_norm(x, x.shape[-1:], weight, bias, eps=minitorch.EPS)

    def forward(self, ids: Any) -> Any:
        s = self.source
        x = s["embedding.characters.weight"][ids] + s["embedding.places.weight"][: ids.shape[1]]
        for block in ("blocks.0", "blocks.1"):
            y = self._norm(f"{block}.norm1", x)
            parts = [
                self._linear(f"{block}.attention.{n}", y).unflatten(2, (2, 4)).transpose(1, 2)
                for n in ("query", "key", "value")
            ]
            y = F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
            x = x + self._linear(f"{block}.attention.merge", y)
            y = self._linear(f"{block}.widen", self._norm(f"{block}.norm2", x))
            x = x + self._linear(f"{block}.narrow", F.gelu(y, approximate="tanh"))
        return self._linear("head", self._norm("norm", x))


def test_gpt_and_the_gradient_of_every_parameter() -> None:
    model, ids, targets = ground_gpt(), some_ids(), some_ids()
    theirs: Any = PyTorchGPT(model)
    scores, expected = model(ids), theirs(pytorch.tensor(ids))
    assert_same(scores, expected, rtol=1e-8)
    loss = transformer.cross_entropy(scores, targets)
    loss.backward()
    right = F.cross_entropy(expected.flatten(0, 1), pytorch.tensor(targets).flatten())
    right.backward()
    assert abs(loss.item() - right.item()) < 1e-10
    for name, parameter in model.named_parameters():
        got, want = parameter.value.grad.to_numpy(), theirs.source[name].grad.numpy()
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9, err_msg=name)


# --- The Torch floor --------------------------------------------------------------------------


def carried_over(dtype: Any = None) -> tuple[transformer.GPT, Any]:
    ground, upper = ground_gpt(), torch_transformer.GPT(7, **SIZES)
    upper.to(dtype or torch.float32)
    torch_transformer.carry_over(ground, upper)
    return ground, upper


def test_names_of_parameters_are_the_same() -> None:
    ground, upper = carried_over()
    assert [n for n, _ in ground.named_parameters()] == [n for n, _ in upper.named_parameters()]


def test_weights_carried_over_give_the_same_scores() -> None:
    ids = some_ids()
    for dtype, atol in ((torch.float64, 1e-10), (torch.float32, 2e-5)):
        ground, upper = carried_over(dtype)
        got = upper(torch.as_tensor(ids)).detach().numpy()
        np.testing.assert_allclose(got, ground(ids).to_numpy(), rtol=0, atol=atol)


def test_gradients_on_both_floors() -> None:
    ids, targets = some_ids(), some_ids()
    ground, upper = carried_over(torch.float64)
    transformer.cross_entropy(ground(ids), targets).backward()
    optimizer = torch.optim.SGD(upper.parameters(), lr=0.0)
    torch.nn.utils.clip_grad_norm_(upper.parameters(), 1.0)
    torch_transformer.train_step(upper, optimizer, torch.as_tensor(ids), torch.as_tensor(targets))
    gradients = {n: p.value.grad.to_numpy() for n, p in ground.named_parameters()}
    length = np.sqrt(sum((g**2).sum() for g in gradients.values()))
    for name, parameter in upper.named_parameters():
        want = gradients[name] / max(1.0, length + 1e-6)
        got = parameter.grad.numpy()
        want = want.T if got.shape != want.shape or _is_linear(upper, name) else want
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=name)


def _is_linear(model: Any, name: str) -> bool:
    layer, _, kind = name.rpartition(".")
    return kind == "weight" and isinstance(model.get_submodule(layer), torch.nn.Linear)


def test_the_torch_floor_writes_as_pytorch_would() -> None:
    _, upper = carried_over()
    theirs: Any = PyTorchGPT(ground_gpt())
    for name in theirs.source:
        value = upper.get_parameter(name).detach().numpy()
        value = value.T if _is_linear(upper, name) else value
        theirs.source[name] = pytorch.tensor(value)
    torch.manual_seed(3)
    got = upper.generate(torch.as_tensor([1, 2]), 20, 0.8)
    pytorch.manual_seed(3)
    ids = pytorch.tensor([1, 2])
    for _ in range(20):
        scores = theirs(ids[-6:][None])[0, -1]
        ids = pytorch.cat([ids, pytorch.multinomial((scores / 0.8).softmax(0), 1)])
    assert got.tolist() == ids.tolist()


@pytest.mark.parametrize("steps", [25])
def test_it_learns(steps: int) -> None:
    torch.manual_seed(0)
    model: Any = torch_transformer.GPT(3, 6, 16, 2, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    rows = torch.as_tensor([[(start + i) % 3 for i in range(7)] for start in range(3)])
    losses = [
        torch_transformer.train_step(model, optimizer, rows[:, :-1], rows[:, 1:])
        for _ in range(steps)
    ]
    assert losses[0] > 1.0
    assert losses[-1] < 0.1
    assert model.generate(torch.as_tensor([0]), 5, 0.1).tolist() == [0, 1, 2, 0, 1, 2]
