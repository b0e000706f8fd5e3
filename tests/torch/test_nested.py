"""`torch.nested`: the same calls in both libraries, in both layouts, compared component by component."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
import torch as real

import minitorch.torch as library

from .oracle import compare_results

ours: Any = library
real_torch: Any = real


def made(t: Any, layout: str, requires_grad: bool = False) -> Any:
    parts = [
        (t.arange(2.0 * 4).view(2, 4) - 3) / 7,
        (t.arange(3.0 * 4).view(3, 4) - 5) / 9,
        t.ones(1, 4),
    ]
    return t.nested.nested_tensor(parts, layout=getattr(t, layout), requires_grad=requires_grad)


def weight(t: Any, *shape: int) -> Any:
    return t.linspace(-1, 1, math.prod(shape)).view(shape)


def compare(here: Any, there: Any) -> None:
    """Components, if nested; else the values."""
    if isinstance(there, tuple):
        for one, other in zip(here, there, strict=True):
            compare(one, other)
    elif isinstance(there, real.Tensor) and there.is_nested:
        assert here.is_nested
        assert here.dim() == there.dim()
        for one, other in zip(here.unbind(), there.unbind(), strict=True):
            compare_results(one, other, "component")
    else:
        compare_results(here, there, "result")


BOTH_LAYOUTS = {
    "add a number": lambda t, x: x + 1,
    "times itself": lambda t, x: x * x,
    "relu": lambda t, x: t.relu(x),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "silu": lambda t, x: t.nn.functional.silu(x),
    "linear": lambda t, x: t.nn.functional.linear(x, weight(t, 3, 4), weight(t, 3)),
    "layer norm": lambda t, x: t.nn.functional.layer_norm(x, (4,), weight(t, 4), weight(t, 4)),
    "softmax": lambda t, x: t.softmax(x, -1),
    "transpose": lambda t, x: x.transpose(1, 2),
    "padded": lambda t, x: t.nested.to_padded_tensor(x, -1.0),
    "one component": lambda t, x: x[1],
    "unbind": lambda t, x: x.unbind(),
    "chunk": lambda t, x: x.chunk(2, -1),
    "detach": lambda t, x: x.detach(),
    "double": lambda t, x: x.double(),
    "zeros": lambda t, x: t.zeros_like(x),
    "sizes": lambda t, x: (x.size(0), x.size(-1), x.dim(), x.numel(), x.is_nested),
    "padded further": lambda t, x: t.nested.to_padded_tensor(x, 0.0, (3, 5, 4)),
    "dropout in eval": lambda t, x: t.nn.functional.dropout(x, 0.5, False),
}
JAGGED = {
    "exp": lambda t, x: x.exp(),
    "a vector added": lambda t, x: x + weight(t, 4),
    "a row for each": lambda t, x: x * weight(t, 3, 1, 4),
    "where it is positive": lambda t, x: t.where(x > 0, x, -x),
    "sum over what is ragged": lambda t, x: x.sum(1),
    "mean over the last": lambda t, x: x.mean(-1),
    "values": lambda t, x: (x.values(), x.offsets()),
    "heads": lambda t, x: x.view(3, -1, 2, 2).transpose(1, 2),
    "product": lambda t, x: x @ weight(t, 4, 2),
}


def run(t: Any, fn: Any, layout: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fn(t, made(t, layout))


@pytest.mark.parametrize("layout", ["strided", "jagged"])
@pytest.mark.parametrize("name", BOTH_LAYOUTS)
def test_functions(name, layout):
    compare(run(ours, BOTH_LAYOUTS[name], layout), run(real_torch, BOTH_LAYOUTS[name], layout))


@pytest.mark.parametrize("name", JAGGED)
def test_functions_of_the_jagged_layout(name):
    compare(run(ours, JAGGED[name], "jagged"), run(real_torch, JAGGED[name], "jagged"))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_within_components(causal):
    def attention(t: Any, x: Any) -> Any:
        heads = [
            t.nn.functional.linear(x, weight(t, 4, 4) * s).unflatten(-1, [2, 2]).transpose(1, 2) for s in (1, 2, 3)
        ]  # fmt: skip
        result = t.nn.functional.scaled_dot_product_attention(*heads, is_causal=causal)
        return result.transpose(1, 2)

    here = attention(ours, made(ours, "jagged"))
    for part, x in zip(here.unbind(), made(ours, "jagged").unbind(), strict=True):
        compare_results(part, attention(real_torch, real.tensor(x.tolist())[None])[0], "component")


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_gradients(layout):
    gradients = []
    for t in (ours, real_torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = made(t, layout, requires_grad=True)
            loss = t.nested.to_padded_tensor(t.nn.functional.linear(x, weight(t, 3, 4)).relu(), 0.0).square().sum()  # fmt: skip
            loss.backward()
        gradients.append(x.grad)
    compare(*gradients)
    parts = [ours.ones(2, 3, requires_grad=True), ours.ones(1, 3, requires_grad=True)]
    joined = ours.nested.as_nested_tensor(parts, layout=getattr(ours, layout))
    (joined * 3).to_padded_tensor(0.0).sum().backward()
    assert parts[1].grad.tolist() == [[3.0, 3.0, 3.0]]


def test_from_values_and_from_rows():
    for t in (ours, real_torch):
        values = t.arange(10.0).view(5, 2)
        by_offsets = t.nested.nested_tensor_from_jagged(values, offsets=t.tensor([0, 2, 5]))
        by_lengths = t.nested.nested_tensor_from_jagged(values, lengths=t.tensor([2, 3]))
        for nested in (by_offsets, by_lengths):
            assert [p.tolist() for p in nested.unbind()] == [
                values[:2].tolist(),
                values[2:].tolist(),
            ]
        rows = t.nested.narrow(
            t.arange(12).view(3, 4), 1, t.tensor([0, 1, 2]), t.tensor([1, 2, 2]), layout=t.jagged
        )
        assert [p.tolist() for p in rows.unbind()] == [[0], [5, 6], [10, 11]]


def test_shapes_are_shown():
    nested = made(ours, "jagged")
    assert str(nested.shape) == "torch.Size([3, j1, 4])"
    assert nested.shape[0] == 3
    assert "size=(3, j1, 4)" in repr(nested)
    with pytest.raises(RuntimeError, match="is irregular"):
        made(ours, "strided").size(1)


def test_what_is_not_there_says_so():
    nested = made(ours, "jagged")
    with pytest.raises(NotImplementedError, match=r"torch\.nested: .*svd"):
        ours.svd(nested)
    with pytest.raises(NotImplementedError, match="unbind"):
        nested.cumsum(1)
    with pytest.raises(RuntimeError, match="different sizes"):
        _ = nested + ours.nested.nested_tensor(
            [ours.ones(3, 4), ours.ones(2, 4), ours.ones(1, 4)], layout=ours.jagged
        )
    with pytest.raises(RuntimeError, match="same dimension"):
        ours.nested.nested_tensor([ours.ones(2), ours.ones(2, 3)])
    with pytest.raises(RuntimeError, match="jagged layout"):
        ours.nested.nested_tensor([ours.ones(2, 3), ours.ones(2, 4)], layout=ours.jagged)
    with pytest.raises(RuntimeError, match="Truncation"):
        ours.nested.to_padded_tensor(nested, 0.0, (3, 1, 4))
