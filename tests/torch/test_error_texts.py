"""What programs read of an error: the same class and the same words as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as pytorch

import minitorch.torch as torch


def _pad(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda t: t.nn.functional.pad(t.ones(args[0]), *args[1:], **kwargs)


def _einsum(equation: Any, *shapes: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda t: t.einsum(equation, *map(t.ones, shapes))


CALLS: dict[str, Callable[[Any], Any]] = {
    **{f"vmap: {f}": lambda t, f=f: t.vmap({"if": lambda x: x if x > 0 else -x, "and": lambda x: x.sum() and x,
       "item": lambda x: x.item(), "float": float}[f])(t.ones(3)) for f in ("if", "and", "item")},
    **{f"einsum: {q!r} {s}": _einsum(q, *s) for q, *s in (
        ("ij,jk", (3, 4, 5), (3, 5, 6)), ("ij->ijk", (2, 2)), ("i$->i", (2,)), ("i->$", (2,)), ("i j$", (2,)), ("i->i->i", (2,)), ("i-i", (2,)),
        ("ij,jk->ii", (2, 2), (2, 2)), ("ij,jk->ik", (2, 3), (4, 5)), ("ij,j", (2, 2)), ("i,j", (2,), (2,), (2,)), ("i..->i", (2,)),
        ("i....->i", (2,)), ("i...j...->i", (2,)), ("i->i..", (2,)), ("i->...i...", (2,)), ("ij...->ij", (2,)), ("i->i",), (5, (2,)))},
    **{f"embedding: {k}": lambda t, k=k: t.nn.functional.embedding(t.tensor([1]).to(getattr(t, k)), t.ones(3, 2))
       for k in ("float32", "int16", "uint8", "float16")},
    "embedding: beyond": lambda t: t.nn.functional.embedding(t.tensor([50]), t.ones(3, 2)),
    "embedding_bag: float32": lambda t: t.nn.functional.embedding_bag(t.tensor([0.5]), t.ones(3, 2), t.tensor([0])),
    "embedding_bag: offsets": lambda t: t.nn.functional.embedding_bag(t.tensor([1]), t.ones(3, 2), t.tensor([0.0])),
    "histc: no bins": lambda t: t.histc(t.ones(3), 0),
    "histc: bounds": lambda t: t.histc(t.ones(3), 5, 4, 1),
    "histc: nan": lambda t: t.histc(t.tensor([float("nan")]), 5),
    "histc: bins": lambda t: t.histc(t.ones(3), 2.5),
    **{f"quantile: {q}": lambda t, q=q: t.quantile(t.ones(3), q) for q in (2.0, -0.25, float("nan"))},
    "quantile: tensor": lambda t: t.quantile(t.ones(3), t.tensor([2.0])),
    "quantile: type": lambda t: t.quantile(t.ones(3), t.tensor([0.5]).double()),
    "pad: odd": _pad(3, (1,)),
    "pad: odd mirror": _pad((1, 1, 3), (1, 1, 1), mode="reflect"),
    "pad: long": _pad(3, (1, 1, 1, 1)),
    "pad: dimensions": _pad(3, (1, 1), mode="reflect"),
    "pad: four dimensions": _pad((1, 1, 3, 3), (1, 1), mode="replicate"),
    "pad: value": _pad((1, 1, 3), (1, 1), mode="reflect", value=2.0),
    "pad: number": _pad((1, 1, 3), 1),
    "pad: fractions": _pad((1, 1, 3), (1.5, 1)),
    "add: object": lambda t: t.add(object(), 1),
    "add: word": lambda t: t.add(t.ones(2), "a"),
    "add: method": lambda t: t.ones(1).add("a"),
    "add: keyword": lambda t: t.add(t.ones(2), 1, beta=2),
    "sub: object": lambda t: t.sub(object(), 1),
    "mul: list": lambda t: t.mul([1], 2),
    "mul: None": lambda t: t.mul(t.ones(2), None),
    "exp: number": lambda t: t.exp(1),
    "exp: nothing": lambda t: t.exp(),
    "exp: two": lambda t: t.exp(t.ones(1), 2),
    "addcmul: number": lambda t: t.addcmul(t.ones(1), 1, 1),
    "matmul: number": lambda t: t.matmul(t.ones(2), 1),
    "permute: fractions": lambda t: t.permute(t.ones(2), [1.5]),
    "cat: tensor": lambda t: t.cat(t.ones(2)),
    "cat: numbers": lambda t: t.cat([1, 2]),
    "cat: number": lambda t: t.cat((t.ones(2), 1)),
    "stack: nothing": lambda t: t.stack([]),
}  # fmt: skip


def completed(call: Callable[[Any], Any], library: Any) -> None:
    """Call, and wait for the GPU: what kernels have noted is raised then."""
    call(library)
    if torch.cuda.is_available():
        torch.cuda.synchronize()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_words_are_those_of_pytorch(call: Callable[[Any], Any]) -> None:
    def refused(library: Any) -> tuple[str, str]:
        with pytest.raises(Exception) as found:  # noqa: PT011
            completed(call, library)
        return found.type.__name__, str(found.value)

    assert refused(torch) == refused(pytorch)
