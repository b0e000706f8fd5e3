"""Masked tensors: the same calls in both libraries, with gradients and what is printed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch as real

import minitorch.torch as library

ours: Any = library
Call = Callable[[Any, Any], Any]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Without the warning that each new masked tensor gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def data(t: Any) -> Any:
    return t.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])


def mask(t: Any) -> Any:
    return t.tensor([[True, False, True], [False, True, True]])


def made(t: Any, **options: Any) -> Any:
    return t.masked.masked_tensor(data(t), mask(t), **options)


def told(value: Any) -> Any:
    """What a value prints, type and shape included."""
    if isinstance(value, (tuple, list)):
        return [told(v) for v in value]
    if hasattr(value, "get_data"):
        return repr(value), str(value.dtype), str(value.layout), tuple(value.shape), value.requires_grad  # fmt: skip
    return repr(value.detach()) if hasattr(value, "detach") else repr(value)


FORWARD: dict[str, Call] = {
    "numbers": lambda t, x: (x + 1, 2 * x, x / 2, 2 / x, -x, x**2, x % 0.4, abs(x), x // 0.2),
    "a dense tensor": lambda t, x: (x + data(t), data(t) * x, t.maximum(x, data(t).flip(0))),
    "comparisons": lambda t, x: (x < 0.3, x == x, x >= data(t), t.isnan(x), t.eq(x, 0.1)),
    "elements": lambda t, x: (x.sin(), t.exp(x), x.clamp(0.2, 0.5), t.clamp(x, min=0.2), x.logit()),
    "truth values": lambda t, x: (~(x > 0.2), (x > 0.2) & (x < 0.6), (x > 0).all(), (x > 0).all(0)),
    "parts": lambda t, x: (x[0], x[:, 1:], x[0, 1], x[:, None], x[mask(t)], x.narrow(1, 0, 2)),
    "shapes": lambda t, x: (x.view(-1), x.t(), x.mT, x.reshape(3, 2), x.expand(2, 2, 3), x.unfold(1, 2, 1)),
    "several": lambda t, x: (t.cat([x, x]), t.stack([x, x]), x.split(1), t.chunk(x, 2, 1)),
    "sums": lambda t, x: (x.sum(), x.sum(0), x.sum((0, 1), keepdim=True), x.mean(1), x.prod(0), t.sum(x, -1)),
    "extremes": lambda t, x: (x.amax(), t.amin(x, 1), x.argmax(), x.argmin(1), x.amax(1, True)),
    "moments": lambda t, x: (x.var(1), x.std(), x.sum(dim=0, dtype=t.float64)),
    "softmax": lambda t, x: (x.softmax(1), t.nn.functional.softmax(x, 0)),
    "where": lambda t, x: (t.where(mask(t), x, 0.0), t.where(x.get_data() > 0.3, x, data(t))),
    "types": lambda t, x: (x.double(), x.to(t.float16), x.long(), x.clone(), x.detach(), t.ones_like(x)),
    "in place": lambda t, x: (x.clone().add_(1), x.clone().sin_().mul_(x), x.clone().copy_(x * 3)),
    "parts of it": lambda t, x: (x.get_data(), x.get_mask(), x.to_tensor(9), len(x), x.dim(), x.numel(), x.size(1)),
    "nothing counts": lambda t, x: (t.masked.masked_tensor(data(t), mask(t) & False).sum(1), x[0, 1].sum()),
    "whole numbers": lambda t, x: t.masked.masked_tensor(t.arange(6).view(2, 3) * 10**10, mask(t)),
    "many dimensions": lambda t, x: t.masked.masked_tensor(t.arange(8.0).view(2, 2, 2), t.arange(8).view(2, 2, 2) % 3 == 0),
    "one number": lambda t, x: (x[0, 0].item(), float(x[1, 1]), bool(x[1, 1] > 0), x[0, 0], x[0, 1]),
    "reductions of torch.masked": lambda t, x: (t.masked.sum(x), t.masked.mean(x, 1), t.masked.softmax(x, 1)),
    "by coordinates": lambda t, x: (x.to_sparse(), x.to_sparse().get_data(), x.to_sparse().sin() * 2, x.to_sparse().to_dense()),
    "by rows": lambda t, x: (x.to_sparse_csr(), x.to_sparse_csr() + x.to_sparse_csr(), x.to_sparse().to_sparse_csr()),
    "sparse reductions": lambda t, x: (x.to_sparse().sum(), x.to_sparse_csr().mean(), x.to_sparse().argmax(), x.to_sparse().prod()),
    "sparse with fewer that count": lambda t, x: t.masked.masked_tensor(data(t).to_sparse(), mask(t).to_sparse()),
    "sparse of masked values": lambda t, x: t.sparse_coo_tensor(t.tensor([[0, 1], [1, 0]]), x[0, 1:]),
    "sparse parts": lambda t, x: (x.to_sparse()[0], x.to_sparse().transpose(0, 1), x.to_sparse().is_sparse_coo()),
    "facts": lambda t, x: (x.is_sparse, x.is_sparse_coo(), x.is_sparse_csr(), x.to_sparse_csr().is_sparse_csr(), t.masked.is_masked_tensor(x)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORWARD)
def test_functions(name: str) -> None:
    assert told(FORWARD[name](ours, made(ours))) == told(FORWARD[name](real, made(real)))


BACKWARD: dict[str, Call] = {
    "sum": lambda t, x: x.sum(),
    "products": lambda t, x: (x * x * t.tensor([2.0, 3.0, 4.0])).mean(1),
    "quotient": lambda t, x: 2 / x,
    "extremes": lambda t, x: x.amax(1),
    "product of all": lambda t, x: x.prod(0),
    "moments": lambda t, x: x.std(),
    "softmax": lambda t, x: x.softmax(1) * t.tensor([2.0, 3.0, 4.0]),
    "one row": lambda t, x: x[0].exp(),
    "columns": lambda t, x: x[:, 1:] * 2,
    "view": lambda t, x: x.view(-1).sin(),
    "transposed": lambda t, x: x.transpose(0, 1).cos(),
    "expanded": lambda t, x: x[0].expand(2, 3) * data(t),
    "broadcast": lambda t, x: x[:1] + t.zeros(2, 3),
    "several": lambda t, x: t.cat([x, x * 2]),
    "chosen by itself": lambda t, x: t.where(data(t) > 0.35, x, t.zeros(())),
    "both chosen": lambda t, x: t.where(data(t) > 0.35, x.exp(), x),
    "another type": lambda t, x: x.double().sqrt().log(),
    "data": lambda t, x: x.get_data() * 2,
    "plain": lambda t, x: x.to_tensor(0.0),
    "sparse": lambda t, x: (x.to_sparse() * 2).to_dense(),
    "in place": lambda t, x: x.clone().mul_(2).add_(1),
    "of torch.masked": lambda t, x: t.masked.mean(x * 2, 1),
}


def run(call: Call, t: Any, leaf: bool) -> Any:
    """The gradient of a masked leaf, or of a plain one in a masked tensor; or the error."""
    start = made(t, requires_grad=True) if leaf else data(t).requires_grad_()
    x = start if leaf else t.masked.as_masked_tensor(start, mask(t))
    try:
        y = call(t, x)
        (y if y.dim() == 0 else y.sum()).backward()
    except (RuntimeError, ValueError) as error:
        return type(error), str(error)
    return told(start.grad)


@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("name", BACKWARD)
def test_gradients(name: str, leaf: bool) -> None:
    here, there = (run(BACKWARD[name], t, leaf) for t in (ours, real))
    assert here == there


def test_gradients_of_what_pytorch_does_not_differentiate() -> None:
    x = made(ours, requires_grad=True)
    x.tanh().clamp(0.2, 0.5).sum().backward()
    wanted = (1 - data(ours).tanh() ** 2) * (data(ours).tanh() > 0.2) * (data(ours).tanh() < 0.5)
    assert ours.allclose(x.grad.to_tensor(0.0), wanted * mask(ours))
    x = made(ours, requires_grad=True)
    (x.split(1)[1] * 3).sum().backward()
    assert x.grad.get_mask().tolist() == [[False] * 3, [False, True, True]]
    assert x.grad.to_tensor(0.0).tolist() == [[0, 0, 0], [0, 3, 3]]


WRONG: dict[str, Call] = {
    "other masks": lambda t, x: x + t.masked.masked_tensor(data(t), ~mask(t)),
    "other layouts": lambda t, x: x.to_sparse() + x,
    "other coordinates": lambda t, x: x.to_sparse() * t.masked.masked_tensor(data(t), mask(t).flip(0)).to_sparse(),
    "keywords": lambda t, x: x.add(x, alpha=2),
    "rounding": lambda t, x: t.div(x, x, rounding_mode="floor"),
    "decimals": lambda t, x: t.round(x, decimals=1),
    "a number less it": lambda t, x: 1 - x,
    "a power of a number": lambda t, x: 2**x,
    "numbers for a mask": lambda t, x: t.masked.masked_tensor(data(t), data(t)),
    "a smaller mask": lambda t, x: t.masked.masked_tensor(data(t), mask(t)[0]),
    "another type": lambda t, x: t.masked.masked_tensor(data(t).bfloat16(), mask(t)),
    "a list": lambda t, x: t.masked.masked_tensor([1.0], mask(t)),
    "a sparse mask": lambda t, x: t.masked.masked_tensor(data(t), mask(t).to_sparse()),
    "a masked tensor": lambda t, x: t.masked.masked_tensor(x, mask(t)),
    "a masked mask": lambda t, x: t.masked.masked_tensor(data(t), x),
    "a masked number": lambda t, x: x[0, 1].item(),
    "numpy": lambda t, x: x.numpy(),
    "a list of it": lambda t, x: x.tolist(),
    "a leaf in place": lambda t, x: x.add_(1),
    "rows of a vector": lambda t, x: x[0].to_sparse_csr(),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name: str) -> None:
    said = []
    for t in (ours, real):
        with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
            WRONG[name](t, made(t, requires_grad=name == "a leaf in place"))
        said.append((caught.type, str(caught.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize("name", ["relu", "cumsum", "sort", "any", "median", "zeros_like"])
def test_functions_without_a_meaning_are_refused(name: str) -> None:
    for t in (ours, real):
        with pytest.raises(
            TypeError, match=f"Multiple dispatch failed for 'torch._ops.aten.{name}"
        ):
            getattr(t, name)(made(t), *([0] if name == "cumsum" else []))


def test_a_masked_tensor_warns_once_that_it_is_a_prototype() -> None:
    with pytest.warns(UserWarning, match="prototype stage"):
        made(ours)
    with pytest.warns(UserWarning, match="not recommended to create a MaskedTensor"):
        ours.masked.masked_tensor(data(ours).requires_grad_(), mask(ours))
