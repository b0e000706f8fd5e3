"""Lesson 5: embeddings, layer normalization, attention and a GPT, on both CPU backends.

What is right is said by NumPy, in formulas that work on complex numbers too. `tests/torch` compares
with PyTorch.
"""

from __future__ import annotations

import math
import random
from functools import partial
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import Tensor, tensor, transformer

from .strategies import (
    assert_close,
    assert_like_numpy,
    backend,
    random_tensor,
    sigmoid_in_numpy,
)

both = pytest.mark.parametrize("backend_name", ["simple", "fast"])
TOLERANCE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}


def some_ids(rows: int, length: int, size: int) -> list[list[int]]:
    return [[random.randrange(size) for _ in range(length)] for _ in range(rows)]


def set_at_random(model: minitorch.Module) -> None:
    """Give every parameter random numbers: some start at 0 or 1, which hides mistakes."""
    for parameter in model.parameters():
        value = parameter.value
        fresh = random_tensor(value.shape)
        fresh._type_(value.backend)
        parameter.update(fresh)


def with_parameters(model: minitorch.Module, call: Any) -> Any:
    """A function of all parameters in place of those of a model."""
    names = [name for name, _ in model.named_parameters()]

    def function(*values: Tensor) -> Tensor:
        for (_, parameter), value in zip(model.named_parameters(), values, strict=True):
            parameter.value = value
        return call(model)

    function.__name__ = type(model).__name__ + " of " + ", ".join(names)
    return function


def values_of(model: minitorch.Module) -> list[Tensor]:
    return [parameter.value for parameter in model.parameters()]


# --- Task 5.1: embeddings --------------------------------------------------------------


@pytest.mark.task5_1
@both
def test_one_hot(backend_name: str) -> None:
    rows = transformer.one_hot([2, 0, 2], 4, backend(backend_name))
    assert rows.to_numpy().tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    assert rows.backend is backend(backend_name)
    assert rows.is_constant()


@pytest.mark.task5_1
@pytest.mark.parametrize("wrong", [[3], [0, -1]])
def test_one_hot_refuses_ids_that_are_none(wrong: list[int]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  words are the student's
        transformer.one_hot(wrong, 3)


@pytest.mark.task5_1
@both
def test_embedding_takes_rows_of_the_table(backend_name: str) -> None:
    table = transformer.Embedding(5, 3, backend(backend_name))
    ids = [[4, 0], [1, 4], [4, 4]]
    call = with_parameters(table, lambda model: model(ids))
    assert_like_numpy_all(call, lambda weight: weight[np.array(ids)], values_of(table))


def assert_like_numpy_all(ours: Any, theirs: Any, inputs: list[Tensor], **options: Any) -> None:
    assert_like_numpy(ours, theirs, *inputs, **(TOLERANCE | options))


@pytest.mark.task5_1
def test_embedding_adds_up_gradients_of_a_row_used_twice() -> None:
    table = transformer.Embedding(3, 2)
    table([[1, 0, 1]]).backward(tensor([[[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]]))
    grad = table.weight.value.grad
    assert grad is not None
    assert grad.to_numpy().tolist() == [[10, 20], [101, 202], [0, 0]]


@pytest.mark.task5_1
@both
def test_text_embedding_adds_characters_and_places(backend_name: str) -> None:
    layer = transformer.TextEmbedding(5, 4, 3, backend(backend_name))
    ids = some_ids(2, 3, 5)
    call = with_parameters(layer, lambda model: model(ids))

    def theirs(characters: Any, places: Any) -> Any:
        return characters[np.array(ids)] + places[:3]

    assert_like_numpy_all(call, theirs, values_of(layer))


# --- Task 5.2: layer normalization, GELU -----------------------------------------------


def norm_in_numpy(x: Any, weight: Any, bias: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + minitorch.EPS) * weight + bias


@pytest.mark.task5_2
@both
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_layer_norm_like_numpy(shape: tuple[int, ...], backend_name: str) -> None:
    layer = transformer.LayerNorm(4, backend(backend_name))
    set_at_random(layer)
    x = random_tensor(shape, backend_name, low=-3.0, high=5.0)

    def ours(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        layer.weight.value, layer.bias.value = weight, bias
        return layer(x)

    assert_like_numpy_all(ours, norm_in_numpy, [x, *values_of(layer)], rtol=1e-7)


@pytest.mark.task5_2
def test_layer_norm_gives_mean_0_and_variance_1() -> None:
    out = transformer.LayerNorm(50)(random_tensor((3, 50), low=7.0, high=9.0)).to_numpy()
    assert_close(out.mean(1), np.zeros(3), atol=1e-9)
    assert_close(out.var(1), np.ones(3), atol=1e-4)


@pytest.mark.task5_2
def test_layer_norm_of_equal_numbers_is_finite() -> None:
    layer = transformer.LayerNorm(3)
    x = tensor([[2.0, 2.0, 2.0]])
    layer(x).sum().backward()
    assert layer(x).to_numpy().tolist() == [[0.0, 0.0, 0.0]]
    assert x.grad is not None
    assert np.isfinite(x.grad.to_numpy()).all()


def gelu_in_numpy(x: Any) -> Any:
    return x * sigmoid_in_numpy(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


@pytest.mark.task5_2
@both
def test_gelu_like_numpy(backend_name: str) -> None:
    x = random_tensor((3, 5), backend_name, low=-4.0, high=4.0)
    assert_like_numpy_all(transformer.gelu, gelu_in_numpy, [x])


@pytest.mark.task5_2
def test_gelu_by_hand() -> None:
    got = transformer.gelu(tensor([0.0, 1.0, -1.0, 100.0, -100.0])).to_numpy()
    assert_close(got, np.array([0.0, 0.8411920, -0.1588080, 100.0, 0.0]), atol=1e-6)


# --- Task 5.3: attention -----------------------------------------------------------------


@pytest.mark.task5_3
def test_causal_mask() -> None:
    mask = transformer.causal_mask(3)
    no = -math.inf
    assert mask.to_numpy().tolist() == [[0, no, no], [0, 0, no], [0, 0, 0]]
    assert mask.is_constant()


def attention_in_numpy(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[2])
    allowed = np.tril(np.ones(scores.shape[1:]))
    weights = np.exp(scores - scores.real.max(-1, keepdims=True)) * allowed
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.task5_3
@both
def test_attention_like_numpy(backend_name: str) -> None:
    inputs = [random_tensor((2, 4, 3), backend_name, order=(0, 2, 1)) for _ in range(3)]
    assert_like_numpy_all(transformer.attention, attention_in_numpy, inputs)


@pytest.mark.task5_3
def test_attention_does_not_look_ahead() -> None:
    """What is at the last place changes its own result, and no other."""
    q, k, v = (random_tensor((1, 4, 2)) for _ in range(3))
    for column in range(2):
        q[0, 3, column] = 1.0  # it asks for what will be there
    before = transformer.attention(q, k, v).to_numpy()
    for t in (k, v):
        for column in range(2):
            t[0, 3, column] = 50.0
    after = transformer.attention(q, k, v).to_numpy()
    assert_close(after[0, :3], before[0, :3])
    assert_close(after[0, 3], np.array([50.0, 50.0]))


@pytest.mark.task5_3
def test_attention_of_huge_scores_is_finite() -> None:
    q = tensor([[[1000.0], [1000.0]]])
    out = transformer.attention(q, q, tensor([[[1.0], [3.0]]]))
    assert_close(out.to_numpy(), np.array([[[1.0], [2.0]]]))


@pytest.mark.task5_3
@both
def test_heads_are_columns(backend_name: str) -> None:
    x = random_tensor((2, 3, 6), backend_name, order=(1, 0, 2))
    array = x.to_numpy()
    out = transformer.split_heads(x, 2)
    assert out.shape == (4, 3, 3)
    for row in range(2):
        for head in range(2):
            part = array[row, :, 3 * head : 3 * head + 3]
            assert_close(out.to_numpy()[2 * row + head], part)
    assert_close(transformer.join_heads(out, 2).to_numpy(), array)


@pytest.mark.task5_3
def test_heads_pass_gradients_back() -> None:
    def back_and_forth(x: Tensor) -> Tensor:
        return transformer.join_heads(transformer.split_heads(x, 3) * 2.0, 3)

    assert_like_numpy_all(back_and_forth, lambda x: 2.0 * x, [random_tensor((2, 2, 6))])


def self_attention_in_numpy(heads: int) -> Any:
    def function(x: Any, *parameters: Any) -> Any:
        (qw, qb, kw, kb, vw, vb, mw, mb) = parameters
        size = x.shape[2] // heads
        made = []
        for head in range(heads):
            columns = slice(head * size, (head + 1) * size)
            q, k, v = ((x @ w + b)[..., columns] for w, b in ((qw, qb), (kw, kb), (vw, vb)))
            made.append(attention_in_numpy(q, k, v))
        return np.concatenate(made, axis=2) @ mw + mb

    return function


@pytest.mark.task5_3
@both
def test_self_attention_like_numpy(backend_name: str) -> None:
    layer = transformer.CausalSelfAttention(4, 2, backend(backend_name))
    set_at_random(layer)

    def ours(x: Tensor, *values: Tensor) -> Tensor:
        return with_parameters(layer, lambda model: model(x))(*values)

    x = random_tensor((2, 3, 4), backend_name)
    assert_like_numpy_all(ours, self_attention_in_numpy(2), [x, *values_of(layer)])


# --- Task 5.4: the GPT ---------------------------------------------------------------------


def block_in_numpy(heads: int) -> Any:
    attend = self_attention_in_numpy(heads)

    def function(x: Any, w1: Any, b1: Any, *rest: Any) -> Any:
        *attention, w2, b2, widen, widen_bias, narrow, narrow_bias = rest
        x = x + attend(norm_in_numpy(x, w1, b1), *attention)
        wide = gelu_in_numpy(norm_in_numpy(x, w2, b2) @ widen + widen_bias)
        return x + wide @ narrow + narrow_bias

    return function


@pytest.mark.task5_4
def test_block_like_numpy() -> None:
    block = transformer.Block(4, 2, backend("fast"))
    set_at_random(block)

    def ours(x: Tensor, *values: Tensor) -> Tensor:
        return with_parameters(block, lambda model: model(x))(*values)

    inputs = [random_tensor((1, 3, 4), "fast"), *values_of(block)]
    assert_like_numpy_all(ours, block_in_numpy(2), inputs, rtol=1e-6, atol=1e-7)


def tiny_gpt(backend_name: str = "fast", layers: int = 2) -> Any:
    model = transformer.GPT(5, 4, 4, 2, layers, backend(backend_name))
    set_at_random(model)
    return model


def gpt_in_numpy(model: Any, ids: list[list[int]]) -> Any:
    arrays = [value.to_numpy() for value in values_of(model)]
    characters, places, *rest = arrays
    x = characters[np.array(ids)] + places[: len(ids[0])]
    while len(rest) > 4:
        x = block_in_numpy(2)(x, *rest[:16])
        rest = rest[16:]
    return norm_in_numpy(x, *rest[:2]) @ rest[2] + rest[3]


@pytest.mark.task5_4
@both
def test_gpt_like_numpy(backend_name: str) -> None:
    model, ids = tiny_gpt(backend_name), some_ids(2, 3, 5)
    assert_close(model(ids).to_numpy(), gpt_in_numpy(model, ids), **TOLERANCE)


def cross_entropy_in_numpy(scores: Any, targets: Any) -> Any:
    shifted = scores - scores.real.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -np.take_along_axis(logs, targets[..., None], 2).mean().reshape(1)


@pytest.mark.task5_4
@both
def test_cross_entropy_like_numpy(backend_name: str) -> None:
    targets = np.array(some_ids(2, 3, 5))
    ours = partial(transformer.cross_entropy, targets=targets.tolist())
    theirs = partial(cross_entropy_in_numpy, targets=targets)
    scores = random_tensor((2, 3, 5), backend_name, low=-5.0, high=5.0)
    # A logsoftmax that calls log plainly is off by EPS.
    assert_like_numpy(ours, theirs, scores, rtol=1e-6, atol=3e-6)


@pytest.mark.task5_4
def test_cross_entropy_of_guessing() -> None:
    loss = transformer.cross_entropy(minitorch.zeros((2, 3, 7)), some_ids(2, 3, 7))
    assert loss.shape == (1,)
    assert_close(loss.item(), math.log(7), atol=3e-6)


@pytest.mark.task5_4
def test_pick_by_hand() -> None:
    """Scores log 1, log 2, log 5: probabilities 1/8, 2/8, 5/8."""
    scores = [math.log(1.0), math.log(2.0), math.log(5.0)]
    chances = (0.0, 0.12, 0.13, 0.37, 0.38, 0.99)
    assert [transformer.pick(scores, 1.0, c) for c in chances] == [0, 0, 1, 1, 2, 2]


@pytest.mark.task5_4
def test_pick_at_other_temperatures() -> None:
    """At 0.5 the probabilities are squared: 1/30, 4/30, 25/30. At 1000 they are nearly even."""
    scores = [math.log(1.0), math.log(2.0), math.log(5.0)]
    assert [transformer.pick(scores, 0.5, c) for c in (0.03, 0.04, 0.16, 0.17)] == [0, 1, 1, 2]
    assert [transformer.pick(scores, 1000.0, c) for c in (0.33, 0.34, 0.66, 0.67)] == [0, 1, 1, 2]
    assert transformer.pick([0.0, 0.0], 1.0, 1.0) == 1


@pytest.mark.task5_4
def test_generate_sees_the_last_places_only(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_gpt("simple", layers=1)
    chances = [random.random() for _ in range(12)]
    start = [1, 3, 0, 2, 4, 1]
    expected = list(start)
    for chance in chances:
        scores = gpt_in_numpy(model, [expected[-4:]])[0, -1]
        expected.append(transformer.pick(scores.tolist(), 1.5, chance))
    waiting = iter(chances)
    monkeypatch.setattr(random, "random", lambda: next(waiting))
    forward, seen = model.forward, []

    def watched(ids: Any) -> Tensor:
        seen.append([list(row) for row in ids])
        return forward(ids)

    model.forward = watched
    assert model.generate(start, 12, 1.5) == expected
    assert seen == [[expected[:end][-4:]] for end in range(6, 18)]
    assert start == [1, 3, 0, 2, 4, 1]


@pytest.mark.task5_4
def test_gpt_learns_a_text_by_heart() -> None:
    """abcabc...: after 30 steps the next character is nearly certain."""
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    model = transformer.GPT(3, 6, 8, 2, 1, backend("fast"))
    optimizer = minitorch.SGD(model.parameters(), 0.5)
    rows = [[(start + i) % 3 for i in range(7)] for start in range(3)]
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = transformer.cross_entropy(model([r[:-1] for r in rows]), [r[1:] for r in rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 0.7
    assert losses[-1] < 0.1
    assert model.generate([0], 5, 0.1) == [0, 1, 2, 0, 1, 2]
