"""Calls at the edges that PyTorch takes: unusual numbers, empty and odd arguments, the ends of ranges.

A row is a function of a library; what it gives in ours must be what it gives in PyTorch:
values, types, shapes, plain answers, or the class of the error.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch as ours

from .oracle import Mismatch, _compare_error, compare_results, leaves

Call = Callable[[Any], Any]


def check(call: Call) -> None:
    """Make a call in both libraries and compare what comes out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = call(real)
        except Exception as e:
            _compare_error("row", e, lambda: call(ours))
            return
        got = call(ours)
    compare_results(got, expected, "row", ulps=8)
    if not leaves(expected) and repr(got) != repr(expected):
        raise Mismatch(f"{got!r}, expected {expected!r}")


def with_gradients(call: Callable[..., Any], *values: Any) -> Call:
    """The row of a function of tensors: its result, and the gradient of each tensor."""

    def run(t: Any) -> Any:
        inputs = [t.tensor(v, dtype=t.float64, requires_grad=True) for v in values]
        out = call(t, *inputs)
        weights = t.arange(1, out.numel() + 1, dtype=t.float64).reshape(out.shape)
        return out, *t.autograd.grad(out, inputs, weights, allow_unused=True)

    return run


# --- A tensor without dimensions is a number -------------------------------------------------------

NUMBERS: list[Call] = [
    lambda t: t.add(t.ones(2), t.ones(2), alpha=t.tensor(2.0)),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=np.float32(2)),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=t.tensor(2.0, requires_grad=True)),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=t.tensor([2.0])),
    lambda t: t.add(t.ones(2).int(), t.ones(2).int(), alpha=t.tensor(2.0)),
    lambda t: t.add(t.ones(2).int(), t.ones(2).int(), alpha=1.0),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=True),
    lambda t: t.ones(2).sub_(t.ones(2), alpha=t.tensor(2)),
    lambda t: t.rsub(t.ones(2), t.ones(2), alpha=t.tensor(2)),
    lambda t: t.addmm(t.ones(2, 2), t.ones(2, 2), t.ones(2, 2), alpha=t.tensor(2), beta=t.tensor(3)),
    lambda t: t.addcmul(t.ones(2), t.ones(2), t.ones(2), value=t.tensor(2.0)),
    lambda t: t.addcdiv(t.ones(2), t.ones(2), t.ones(2), value=t.tensor(2.0)),
    lambda t: t.roll(t.arange(4), t.tensor(1)),
    lambda t: t.roll(t.arange(4), t.tensor(1.0)),
    lambda t: t.roll(t.arange(4).view(2, 2), 1, t.tensor(0)),
    lambda t: t.roll(t.arange(4), True),
    lambda t: t.randperm(t.tensor(5)).sort()[0],
    lambda t: t.randperm(t.tensor(5.0)),
    lambda t: t.range(t.tensor(1.0), t.tensor(2.0)),
    lambda t: t.nn.functional.conv1d(t.ones(1, 1, 4), t.ones(1, 1, 2), stride=t.tensor(2)),
    lambda t: t.nn.functional.conv1d(t.ones(1, 1, 4), t.ones(1, 1, 2), padding=True),
    lambda t: t.nn.functional.max_pool1d(t.ones(1, 1, 4), t.tensor(2)),
    lambda t: t.nn.functional.nll_loss(t.ones(2, 3), t.tensor([0, 1]), ignore_index=t.tensor(0)),
    lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 1]), label_smoothing=t.tensor(0.1)),
    lambda t: t.matrix_power(t.ones(2, 2), t.tensor(2)),
    lambda t: t.ones(20).normal_(t.tensor(0.0), t.tensor(0.0)),
    lambda t: t.ones(3).broadcast_to(2, 3),
    lambda t: t.ones(3).broadcast_to(size=(2, 3)),
]  # fmt: skip


# --- What tensors and graphs say about themselves ---------------------------------------------------


def quietly(t: Any, call: Callable[[Any], Any]) -> Any:
    """An answer about a tensor that requires a gradient, under `no_grad`."""
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        return call(x)


def inputs_of(call: Callable[[Any], Any]) -> Call:
    """Which of a node's inputs have a node of their own, in order."""
    return lambda t: [
        n is not None for n, _ in call(t.ones(2, requires_grad=True)).grad_fn.next_functions
    ]


def second_backward(call: Callable[[Any, Any], Any]) -> Call:
    """Walk a graph twice."""

    def run(t: Any) -> Any:
        x = t.ones(4, requires_grad=True)
        out = call(t, x)
        out.sum().backward()
        out.sum().backward()
        return x.grad

    return run


def overwritten(t: Any, x: Any) -> Any:
    """A copy, one element of which is written."""
    copy = x.clone()
    copy[0] = 5.0
    return copy


ANSWERS: list[Call] = [
    lambda t: t.ones(2).layout == t.strided and t.ones(2).layout is t.strided,
    lambda t: [str(x) for x in (t.ones(2).layout, t.sparse_coo, t.sparse_csr, t.sparse_bsc)],
    lambda t: quietly(t, lambda x: x.numpy().tolist()),
    lambda t: quietly(t, lambda x: (x * 2).numpy().tolist()),
    lambda t: quietly(t, lambda x: np.asarray(x).tolist()),
    lambda t: t.ones(2, requires_grad=True).numpy(),
    inputs_of(lambda x: 2 * x),
    inputs_of(lambda x: x * 2),
    inputs_of(lambda x: 2 + x),
    *map(second_backward, [
        lambda t, x: x * 2, lambda t, x: 2 * x, lambda t, x: x / 2, lambda t, x: x + 2, lambda t, x: x[0],
        lambda t, x: x[1:], lambda t, x: x[[0, 1]], lambda t, x: x[t.tensor([0, 1])], lambda t, x: x[x > 0],
        lambda t, x: x.masked_select(x > 0), lambda t, x: t.zeros(4).masked_scatter(t.ones(4).bool(), x),
        lambda t, x: t.zeros(4).index_put((t.arange(4),), x), overwritten, lambda t, x: t.sub(x, x, alpha=3),
        lambda t, x: t.addmm(x.view(2, 2), t.ones(2, 2), t.ones(2, 2), beta=2), lambda t, x: (x * 1).zero_(),
    ]),
]  # fmt: skip


# --- Integers of NumPy, which overflow, and places far away -------------------------------------------

I64, I8 = np.int64, np.int8

PLACES: list[Call] = [
    lambda t: t.arange(4.0).as_strided((I64(2), I64(2)), (I64(2), I64(1))),
    lambda t: t.arange(400.0).as_strided((I8(2),), (I8(100),), I8(100)),
    lambda t: t.arange(4.0).as_strided((I64(2**40), I64(2**40)), (I64(2**40), I64(2**40))),
    lambda t: t.arange(4.0).as_strided((2**63 - 1,), (2**62,)),
    lambda t: t.arange(4.0).as_strided((1,), (1,), I64(2**62)),
    lambda t: t.arange(4.0).as_strided((-1,), (1,)),
    lambda t: t.arange(4.0).as_strided((t.tensor(2),), (t.tensor(1),), t.tensor(1)),
    lambda t: t.arange(4.0).as_strided_((I64(2**31), I64(2**33)), (I64(2**30), I64(2**33))),
    lambda t: t.arange(4.0).set_(t.arange(6.0), I64(1), (I64(2**33), I64(2**33)), (I64(2**31), I64(2**31))),
    lambda t: t.as_strided_scatter(t.arange(4.0), t.zeros(2), (I64(2),), (I64(2**62),)),
    lambda t: t.arange(400.0).narrow(0, I8(100), I8(100)),
    lambda t: t.arange(4.0).narrow(0, I64(1), I64(2**63 - 1)),
    lambda t: t.arange(4.0).select(0, I64(2**63 - 1)),
    lambda t: t.arange(400.0).unfold(0, I8(100), I8(100)),
    lambda t: t.arange(4.0).unfold(0, 1, 2**62),
    lambda t: t.tensor(3.0).unfold(0, 1, 1),
    lambda t: t.ones(2, 2).diagonal(2**62),
    lambda t: t.ones(2, 2).diagonal(-(2**63)),
    lambda t: t.empty_strided((I8(2),), (I8(100),)).stride(),
    lambda t: t.ones(1).new_empty_strided((I8(2), I8(2)), (I8(100), I8(100))).stride(),
    lambda t: t.repeat_interleave(t.ones(2), I8(100)).shape == (200,),
    lambda t: t.arange(I8(100), I8(120), I8(10)),
    lambda t: t.nn.functional.unfold(t.ones(1, 1, 4, 4), I8(2)),
    lambda t: len(t.arange(4).tensor_split(1000)),
    lambda t: t.arange(4).chunk(2**62),
    lambda t: t.vander(t.arange(3.0), I8(4)),
    lambda t: t.linalg.vander(t.arange(3.0), N=I8(4)),
]  # fmt: skip


def test_what_no_memory_could_hold_is_refused_at_once() -> None:
    for call in (lambda x: x.tensor_split(2**40), lambda x: ours.vander(x, 2**62)):
        with pytest.raises((RuntimeError, ValueError, MemoryError)):
            call(ours.arange(4.0))


# --- Infinite and missing numbers, empty lists of dimensions, the ends of windows ---------------------

INF, NAN = float("inf"), float("nan")
FIRST = [[NAN, 1.0], [1.0, 2.0]]


def nll(reduction: str, target: list[int], **options: Any) -> Call:
    """The row of a loss with NaN in its first row."""
    return with_gradients(
        lambda t, x: t.nn.functional.nll_loss(x, t.tensor(target), reduction=reduction, **options),
        FIRST,
    )


def entropy(first: float, target: int, size: int, **options: Any) -> Call:
    """The row of a cross entropy whose first row holds an odd number; small, and as large as kernels take."""

    def run(t: Any) -> Any:
        x = t.arange(10.0 * size, dtype=t.float64).reshape(size, 10) / 1000
        x[0, 0] = first
        targets = t.arange(size) % 10
        targets[0] = target
        x.requires_grad_()
        loss = t.nn.functional.cross_entropy(x, targets, **options)
        return loss, *t.autograd.grad(loss, x)

    return run


def stepped(name: str, **options: Any) -> Call:
    """The row of an optimizer that meets parameters and gradients which are no numbers."""

    def run(t: Any) -> Any:
        p = t.nn.Parameter(t.tensor([INF, -INF, NAN, 1.0, 0.0, 1e38], dtype=t.float64))
        optimizer = getattr(t.optim, name)([p], **options)
        seen = []
        for g in (
            [1.0, 1.0, 1.0, INF, NAN, -1.0],
            [0.0, 1.0, -1.0, 1.0, 1.0, 1e30],
            [1.0, 0.0, 0.0, -INF, 1.0, 0.0],
        ):
            p.grad = t.tensor(g, dtype=t.float64)
            optimizer.step()
            seen.append(p.detach().clone())
        return seen

    return run


def deep(n: int) -> list[Any]:
    """A list in a list in a list."""
    made: list[Any] = []
    for _ in range(n):
        made = [made]
    return made


def pooled(name: str, size: int, *window: Any, **options: Any) -> Call:
    """The row of a pooling of a plane whose windows reach past its edges."""
    return lambda t: getattr(t.nn.functional, name)(
        t.arange(float(size * size)).reshape(1, 1, size, size), *window, ceil_mode=True, **options
    )


EXTREMES: list[Call] = [
    *(nll(r, [-100, 1]) for r in ("none", "mean", "sum")),
    *(nll(r, [-100, -100]) for r in ("none", "mean", "sum")),
    *(nll(r, [0, 1], ignore_index=0) for r in ("none", "mean", "sum")),
    lambda t: t.nn.functional.nll_loss(t.tensor([[[NAN], [1.0]], [[1.0], [2.0]]]), t.tensor([[-100], [1]])),
    *(entropy(x, at, n, label_smoothing=s) for x in (NAN, INF) for at in (-100, 0, 1) for n in (3, 1000) for s in (0.0, 0.1)),
    *(stepped("SGD", lr=0.1, **o) for o in ({}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"weight_decay": 0.1})),
    *(stepped("Adam", **o) for o in ({}, {"amsgrad": True}, {"weight_decay": 0.1}, {"maximize": True})),
    *(stepped(n) for n in ("AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD")),
    stepped("RMSprop", momentum=0.9, centered=True),
    *(pooled("max_pool2d", n, k, s, k // 2) for n in (1, 2, 5) for k in (1, 2, 3) for s in (1, 2, 3)),
    *(pooled("avg_pool2d", n, k, s, k // 2) for n in (1, 2, 5) for k in (1, 2, 3) for s in (1, 2, 3)),
    pooled("max_pool2d", 1, 2, 1, 1, 2),
    lambda t: pooled("max_pool2d", 3, 2, 1, 2, 4, return_indices=True)(t)[0],
    lambda t: t.angle(t.tensor([-0.0, 0.0, -1.0, 1.0, NAN, -INF, INF])),
    lambda t: t.angle(t.tensor([-0.0, -1.0], dtype=t.bfloat16)),
    lambda t: t.angle(t.tensor([complex(-0.0, 0.0), complex(-0.0, -0.0), complex(-1, -0.0)])),
    *(lambda t, n=n, x=x: getattr(t, n)(t.arange(6.0).reshape(2, 3), x) for n in ("all", "any", "sum", "mean") for x in ([], ())),
    lambda t: t.all(t.ones(0), []), lambda t: t.ones(2, 3).any(dim=(), keepdim=True),
    lambda t: t.std_mean(t.arange(6.0).reshape(2, 3), axis=1, keepdims=True),
    lambda t: t.var_mean(t.arange(6.0).reshape(2, 3), axis=0),
    lambda t: t.linspace(False, True, 3), lambda t: t.linspace(True, 3.0, 5, dtype=t.int64),
    lambda t: t.linspace(t.tensor(False), t.tensor(True), 3), lambda t: t.linspace(0, 1, 3, dtype=t.bool),
    lambda t: t.logspace(0, 1, 3, dtype=t.bool),
    *(with_gradients(lambda t, x, m=m, p=p: t.nn.functional.pad(x, p, mode=m), [[[1.0, 2.0, 3.0, 4.0]]])
      for m in ("reflect", "replicate", "constant")
      for p in ((-1, 0), (-2, 1), (1, -2), (-3, 3), (-1, -1), (2, -5), (-5, 2), (-2, -2))),
    *(with_gradients(lambda t, x, m=m: t.nn.functional.pad(x, (-1, 1, 1, -1), mode=m), [[[[1.0, 2.0], [3.0, 4.0]]]])
      for m in ("reflect", "replicate", "circular")),
    lambda t: (t.manual_seed(0), list(t.nn.Conv2d(0, 8, 1).bias.shape), t.rand(1))[1:],
    lambda t: t.save(deep(100_000), io.BytesIO()),
    *(lambda t, k=k: t.hash_tensor(t.arange(6).to(getattr(t, k)).reshape(2, 3), 1)
      for k in ("float32", "float16", "bfloat16", "int64", "int8", "uint8", "bool", "complex64")),
    lambda t: t.hash_tensor(-t.arange(6.0)), lambda t: t.ones(2, 3).hash_tensor([0, 1], keepdim=True),
    lambda t: t.hash_tensor(t.ones(0)), lambda t: t.hash_tensor(t.ones(0, 3), 0), lambda t: t.hash_tensor(t.ones(2), mode=1),
]  # fmt: skip


# --- What random calls found ----------------------------------------------------------------------------


def grown(call: Callable[[Any, Any], Any]) -> Call:
    """Whether what a call makes of a tensor that requires grad does so, too."""
    return lambda t: call(t, t.ones(2, 2, requires_grad=True)).requires_grad


def drawn(call: Call) -> Call:
    """A call that draws random numbers."""
    return lambda t: (t.manual_seed(3), call(t))[1:]


CALLS: list[Call] = [
    # operands by place, and truth values
    lambda t: t.ones(2).sub(-129, 0.5), lambda t: t.ones(2).int().add(2, 2.5), lambda t: t.add(t.ones(2).int(), 2.5, 2),
    lambda t: t.ones(2).sub_(True, 2), lambda t: t.subtract(t.ones(2), 3, 2), lambda t: t.subtract(t.ones(2), 3, t.ones(2)),
    lambda t: t.ones(2) - False, lambda t: t.rsub(t.ones(2).bool(), 1, alpha=2), lambda t: t.ones(2).sub(t.ones(2).bool(), alpha=2),
    lambda t: t.ones(2).bfloat16() / 2**63, lambda t: t.ones(2).true_divide(t.ones(2), out=t.ones(2)),
    # what stands for a whole number, a type, a device, a tensor
    lambda t: t.ones(2, 2).sum(t.tensor([0])), lambda t: t.ones(2, 2).view(t.tensor([4])), lambda t: t.ones(2, 2).sum([t.tensor([[1]])]),
    lambda t: t.ones(2, 2).argmax(t.tensor([0])), lambda t: t.ones(2).to(1.5), lambda t: t.ones(2).to(True, False),
    lambda t: t.randperm(4, device=True), lambda t: t.ones(2).is_pinned("word"), lambda t: t.Tensor.polygamma(4, t.ones(2)),
    lambda t: t.Tensor.sum(), lambda t: t.ones(2).nonzero(as_tuple=1), lambda t: t.unique(t.ones(2), 1), lambda t: t.meshgrid(2),
    lambda t: t.norm(t.ones(2), dtype=3), lambda t: t.ones(2).norm(out=t.ones(2)), lambda t: t.linspace(0, 1, 2**63),
    lambda t: str(t.promote_types(type1=t.int32, type2=t.float32)), lambda t: t.smm(t.ones(2, 2), t.ones(2, 2)),
    # shapes, strides and places
    lambda t: t.zeros(2, 3, 0, 3).stride(), lambda t: t.zeros(4, 3)[:, :0].stride(), lambda t: t.zeros(0).stride(),
    lambda t: t.norm_except_dim(t.ones(2, 3), 2, -2), lambda t: t.norm_except_dim(t.ones(2, 3), 2, 2), lambda t: t.norm_except_dim(t.ones(())),
    lambda t: t.repeat_interleave(t.ones(()), 2, dim=0), lambda t: t.repeat_interleave(t.ones(2), 2, output_size=3),
    lambda t: t.repeat_interleave(t.tensor([1, 2]), output_size=4), lambda t: t.nuclear_norm(t.ones(4, 2, 1)),
    lambda t: t.ones(2, 2).index_fill(0, t.tensor([[0]]), 1), lambda t: t.ones(4, 3).index_add(1, t.tensor([0]), t.ones(1, 1)),
    lambda t: t.ones(3).index_copy(0, t.tensor([0, 1]), t.ones(())), lambda t: t.ones(()).index_copy(0, t.tensor([0, 0]), t.ones(2)),
    lambda t: t.arange(25.0).reshape(5, 5).take_along_dim(t.tensor([[-6]]), 1), lambda t: t.ones(5).take_along_dim(t.tensor([-1])),
    lambda t: t.ones(2).scatter_add(0, t.tensor([0, 1]), t.ones(())), lambda t: t.ones(2, 2).to_sparse(dense_dim=1).to_dense(),
    lambda t: t.ones(2, 2).to_sparse(dense_dim=3), lambda t: t.ones(2, 2).to_sparse(dense_dim=1).indices(),
    lambda t: t.lu_unpack(t.ones(2, 3), t.ones(5), True, False), lambda t: t.ormqr(t.ones(5, 0), t.ones(0), t.ones(5, 0).char()),
    # types, and where to write
    *(lambda t, kinds=kinds: t.native_group_norm(t.ones(1, 6, 3).to(getattr(t, kinds[0])), t.ones(6).to(getattr(t, kinds[1])),
      t.ones(6).to(getattr(t, kinds[2])), 1, 6, 3, 2, 0.5)[0] for kinds in (("float32",) * 3, ("float16", "float32", "float32"),
      ("float16", "float16", "float32"), ("float32", "float64", "float64"), ("float16", "float64", "float64"), ("float64", "float64", "int16"))),
    lambda t: t.native_batch_norm(t.ones(2, 1), t.ones(1), t.ones(1), t.ones(1), t.ones(1).double(), True, 0.5, 1e-5),
    lambda t: t.searchsorted(t.tensor([0.5, 1.5]), t.tensor([1, 2]).int()), lambda t: t.bucketize(t.ones(2).int(), t.tensor([0.5, 1.5])),
    lambda t: t.margin_ranking_loss(t.ones(2, 2).int(), t.ones(2, 2).int(), t.ones(2).int()), lambda t: t.triplet_margin_loss(t.ones(2), t.ones(2), t.ones(2), -1.0),
    lambda t: t.segment_reduce(t.arange(3.0), "amax", lengths=t.tensor([2, 1]), offsets=t.tensor([0, 3])), lambda t: t.range(1, 3, out=t.ones(2).int()),
    lambda t: t.nonzero(t.ones(2), as_tuple=True, out=t.ones(2)), lambda t: t.nonzero(t.ones(2), out=t.ones(2)), lambda t: t.threshold(t.arange(2.0), 0.5, 3, out=t.ones(3)),
    lambda t: t.slice_scatter(t.ones(2), t.zeros(1), 0, 1, out=t.ones(3)), lambda t: t.split_copy(t.ones(2), 1, out=(t.ones(1), t.ones(1))),
    *(drawn(c) for c in (
        lambda t: t.rand_like(t.ones(1, 3, 2, 2), memory_format=t.channels_last), lambda t: t.randint_like(t.ones(1, 3, 2, 2), 9, memory_format=t.channels_last),
        lambda t: t.randint_like(t.ones(1, 3, 2, 2).transpose(1, 2), 9), lambda t: t.rand_like(t.ones(2), memory_format=t.channels_last),
        lambda t: t.ones(2).cfloat().random_(), lambda t: t.ones(2).cfloat().random_(3), lambda t: t.randint(3, (2,), dtype=t.cfloat),
    )),
    lambda t: t.trapezoid(t.ones(3), t.ones(2, 3)), lambda t: t.randint(3, (2, -1)), lambda t: t.native_dropout(t.ones(2), 3, False), lambda t: t.ones(2, 2).lu(1),
    lambda t: t.norm_except_dim(t.ones(2).byte()), lambda t: t.scatter_add(t.ones(2), 0, t.ones(0).long(), t.ones(2).double()),
    lambda t: t.logit(t.tensor([0.25, 2.0]), NAN), lambda t: t.threshold(t.tensor([-2, -3, 4]), -2.5, 1.5),
    *(lambda t, kinds=kinds: t.lerp(t.ones(kinds[0]), t.zeros(kinds[0]), t.tensor(0.25).to(getattr(t, kinds[1])))
      for kinds in (((), "float64"), ((2,), "float64"), ((2,), "float16"), ((2,), "complex64"))),
    lambda t: t.lerp(t.ones(2), t.zeros(2), t.tensor([0.25]).half()), lambda t: t.ones(2).lerp_(t.zeros(2), t.tensor(0.25).double()),
    lambda t: t.tensordot(b"x", t.ones(2), ([0], [0])), lambda t: t.split(t.ones(2), True), lambda t: t.rsub(t.ones(2), -1, 3), lambda t: t.std(t.ones(0), correction=-INF),
    lambda t: t.pow(input=2, exponent=t.ones(2)), lambda t: t.pow(self=2, exponent=t.ones(2)), lambda t: t.where(t.ones(2).bool(), self=2.0, other=t.ones(2)),
    lambda t: t.nuclear_norm(t.tensor([[[1.0, INF], [2.0, 3.0]], [[1.0, 0.0], [2.0, 3.0]]])), lambda t: t.linalg.svdvals(t.tensor([[1.0, NAN], [2.0, 3.0]])),
    lambda t: t.ones(2).cfloat() % t.ones(2).cfloat(), lambda t: 1 // t.ones(2).cfloat(), lambda t: t.fmod(t.ones(2).cfloat(), 2),
    lambda t: t.arange(2.0).__rmatmul__(t.ones(2, 2)), lambda t: t.ones(2).__rmatmul__(t.ones(3)), lambda t: t.ones(2).sparse_mask(t.ones(2).bool()),
    # what requires grad
    *(grown(c) for c in (
        lambda t, x: x.view(t.int32), lambda t, x: x.view(t.float32), lambda t, x: t.ones(2, 2).logical_and_(x), lambda t, x: t.ones(2, 2).lt_(x),
        lambda t, x: t.segment_reduce(x, "sum", offsets=t.tensor([0, 0])), lambda t, x: t.vander(x[0], 1),
    )),
    with_gradients(lambda t, x: x.xlogy(t.tensor(4, dtype=t.int32)), [1.0, 0.0, -2.0]),
]  # fmt: skip


# --- Numbers that a type does not reach to -------------------------------------------------------------

TAKING = {
    "full": lambda t, x, v: t.full_like(x, v), "new_full": lambda t, x, v: x.new_full((2,), v),
    "fill_": lambda t, x, v: x.fill_(v), "clamp": lambda t, x, v: x.clamp(v, None),
    "clamp_max": lambda t, x, v: x.clamp_max(v), "add": lambda t, x, v: x.add(x, alpha=v),
    "addcmul": lambda t, x, v: t.addcmul(x, x, x, value=v), "addmm": lambda t, x, v: t.addmm(x, x, x, alpha=v),
    "addmv": lambda t, x, v: t.addmv(x[0], x, x[0], beta=v), "addr": lambda t, x, v: t.addr(x, x[0], x[0], alpha=v),
    "where": lambda t, x, v: t.where(x > 0, x, v), "masked_fill": lambda t, x, v: x.masked_fill(x > 0, v),
    "index_fill": lambda t, x, v: x.index_fill(0, t.tensor([0]), v), "lerp": lambda t, x, v: t.lerp(x, x, v),
    "scatter": lambda t, x, v: x.scatter(0, t.tensor([[0]]), v), "pow": lambda t, x, v: x.pow(v),
    "pad": lambda t, x, v: t.constant_pad_nd(x, (1, 1), v), "hardshrink": lambda t, x, v: t.hardshrink(x, v),
    "threshold": lambda t, x, v: t.nn.functional.threshold(x, 0, v), "set": lambda t, x, v: (x.__setitem__(0, v), x)[1],
    "leaky_relu": lambda t, x, v: t.nn.functional.leaky_relu(x, v),
}  # fmt: skip
VALUES = (300, -1, -300, 2**40, 2.5, -3.7, 1e10, 1e300, INF, NAN, 1j, 3 + 0j, True)
REACH: list[Call] = [
    lambda t, call=call, k=k, v=v: call(t, t.ones(2, 2, dtype=getattr(t, k)), v)
    for name, call in TAKING.items()
    for k in ("uint8", "int8", "int32", "float16", "float32", "complex64", "bool")
    for v in VALUES
    if not ((v is True or isinstance(v, complex)) and name[:5] in ("clamp", "pow", "where"))
]


# --- Types that functions ask for -----------------------------------------------------------------------


def into_other_types(name: str, *arguments: Any) -> list[Call]:
    """Rows of a function that writes a result of float32 or int32 where tensors of other types are given."""

    def row(t: Any, own: str, other: str) -> Any:
        args = [t.ones(2, 2, dtype=getattr(t, own)) if a is ONES else a for a in arguments]
        result = getattr(t, name)(*args)
        several = isinstance(result, tuple)
        outs = [
            t.zeros(r.shape, dtype=getattr(t, other)) for r in (result if several else [result])
        ]
        return getattr(t, name)(*args, out=tuple(outs) if several else outs[0])

    return [
        lambda t, own=own, other=other: row(t, own, other)
        for own in ("float32", "int32")
        for other in ("float64", "int64", "bool", "uint8", "complex64")
    ]


ONES = object()
TYPES: list[Call] = [
    *into_other_types("all", ONES), *into_other_types("any", ONES, 0), *into_other_types("amax", ONES, 0),
    *into_other_types("argmax", ONES), *into_other_types("bmm", ONES, ONES), *into_other_types("mm", ONES, ONES),
    *into_other_types("abs", ONES), *into_other_types("sort", ONES), *into_other_types("tril", ONES),
    *into_other_types("sum", ONES, 0), *into_other_types("add", ONES, ONES), *into_other_types("cumsum", ONES, 0),
    lambda t: t.zeros(2, dtype=t.int32, out=t.ones(2)), lambda t: t.full((2,), 1, dtype=t.int32, out=t.ones(2)),
    lambda t: t.cumprod(t.ones(2, requires_grad=True), 0, dtype=t.int32, out=t.ones(2).int()),
    *(lambda t, n=n, k=k: getattr(t.ones(3, dtype=getattr(t, k)), n)().shape
      for n in ("cauchy_", "exponential_", "normal_", "log_normal_", "uniform_") for k in ("int32", "bool", "float16")),
    lambda t: t.heaviside(t.ones(2), t.tensor(1)), lambda t: t.cross(t.ones(3), t.ones(3).double()),
    lambda t: t.einsum("i,i", t.ones(2), t.ones(2).double()), lambda t: t.einsum("i,j", t.ones(2), t.ones(2).double()),
    lambda t: t.addr(t.ones(2, 2).int(), t.ones(2), t.ones(2).double(), alpha=0.5),
    lambda t: t.addr(t.ones(2, 2).int(), t.ones(2).int(), t.ones(2).int(), alpha=0.5),
    lambda t: t.cosine_similarity(t.ones(2, 2, dtype=t.complex64), t.ones(2, 2)),
    lambda t: t.hinge_embedding_loss(t.arange(4), t.tensor([1, -1, 1, -1]), margin=2.5),
    lambda t: t.searchsorted(t.tensor([1, 2]), t.tensor([1.5])), lambda t: t.bucketize(t.ones(2).bool(), t.ones(2).bool()),
    lambda t: t.feature_dropout(t.ones(2), 0.5, True), lambda t: t.alpha_dropout(t.ones(2, 2).int(), 0.5, True),
    lambda t: t.alpha_dropout_(t.ones(2).bool(), 1.0, True), lambda t: t.ones(2).double().copy_(1e-5),
]  # fmt: skip

# --- Shapes, lists and numbers of arguments --------------------------------------------------------------

MIXED: list[Call] = [
    *(lambda t, n=n: getattr(t.ones(2), n)(t.tensor([254, 2], dtype=t.uint8), alpha=2) for n in ("add", "sub_")),
    *(lambda t, k=k: t.linalg.vecdot(t.ones(3, dtype=getattr(t, k)), t.ones(3, dtype=getattr(t, k)))
      for k in ("float16", "bfloat16", "int32", "complex64")),
    *(lambda t, n=n: getattr(t, n)(t.tensor([1 + 1j]), t.tensor([2.0])) for n in ("atan2", "copysign", "fmod", "nextafter")),
    lambda t: t.ones(1).atan2_(t.tensor([1j])), lambda t: t.tensor([1j]).copysign(2.0),
    *(lambda t, m=m: t.div(t.ones(1), 1j, rounding_mode=m) for m in ("floor", "trunc")),
]  # fmt: skip
"""Types that meet, and complex numbers where there is no kernel for them."""

GIVEN: list[Call] = [
    lambda t: t.broadcast_tensors([t.ones(2)]), lambda t: t.broadcast_tensors(), lambda t: t.chain_matmul([t.ones(2, 2)]),
    lambda t: [x is y for x in [t.ones(2)] for y in t.broadcast_tensors(x, t.ones(1))],
    lambda t: t.chain_matmul(t.ones(2, 2)), lambda t: t.chain_matmul(t.ones(2), t.ones(2, 2)), lambda t: t.full(3, 1.0),
    lambda t: t.frobenius_norm(t.ones(2, 2, 2), [0, 1, 2]), lambda t: t.ones(2, 2).div(t.ones(3), rounding_mode="floor"),
    *(lambda t, a=a: t.ones(2).add(*a) for a in ((1, 2), (1.5, 2.5), (2, True))),
    lambda t: t.add(t.ones(2).int(), 2, True), lambda t: t.ones(2).sub_(1.5, 2.5), lambda t: t.bincount(t.arange(2), minlength=2**63),
    *(lambda t, f=f: t.empty(2, 2, 2, 2, memory_format=getattr(t, f)).stride() for f in ("channels_last", "preserve_format")),
    lambda t: t.empty(2, 2, memory_format=t.channels_last),
    *(lambda t, s=s, c=c: t.ones(s).dim_order(ambiguity_check=c) for s in ((2, 2), (2, 1), (1, 1), (0, 2)) for c in (True, False, 3, None)),
    *(lambda t, s=s: t.ones(s).dim_order(ambiguity_check=[t.contiguous_format, t.channels_last]) for s in ((2, 3, 2, 2), (2, 1, 2, 2))),
    lambda t: t.grid_sampler_2d(t.ones(1, 1, 2, 2, 2), t.ones(1, 1, 1, 1, 3), 0, 0, True),
    lambda t: t.as_strided_scatter(t.arange(6).view(2, 3).t(), t.zeros(2).long(), (2,), (2,), 1),
    lambda t: t.as_strided_scatter(t.arange(12)[1::2], t.zeros(2).long(), (2,), (2,), 1), lambda t: t.frobenius_norm(t.ones(2, 3), 0),
    lambda t: t.histogram(t.ones(2))[0].sum(), lambda t: t.gradient(t.tensor([1.0, -INF, 0.5, NAN, 2.0])),
    lambda t: t.tensor(1j, dtype=t.complex128) + t.ones(2, dtype=t.bfloat16), lambda t: t.tensor(1j, dtype=t.complex128) * t.ones(2),
    lambda t: t.diff(t.ones(2), 0, 0, t.ones(2, 2)), lambda t: t.ones(3).expand(4, 3).dim_order(),
    lambda t: t.cosine_similarity(t.ones(2, 2), t.ones(2, 2), eps=NAN), lambda t: t.einsum("i,i", t.ones(2), None),
    lambda t: t.argsort(t.tensor([2, 1]), stable=True, out=t.zeros(2).long()),
    lambda t: t.allclose(t.tensor(3).to(t.uint8), t.tensor(5).to(t.uint8), atol=3),
    lambda t: t.ones(0, 2, 3).stride(), lambda t: t.arange(2, dtype=t.int32, out=t.ones(2)),
    lambda t: t.binomial(t.ones(3), t.ones(3).double()), lambda t: t.binomial(t.ones(3).int(), t.ones(3)),
    lambda t: t.binomial(t.full((3,), 5.0), t.tensor([1e-38, -INF, 1.5])), lambda t: t.ones(0).int().bernoulli(),
    lambda t: t.cholesky(t.ones(0, 3)), lambda t: t.cholesky_inverse(t.zeros(3, 2, 2)),
    *(lambda t, w=w: t.nn.functional.binary_cross_entropy_with_logits(t.ones(2), t.ones(2), **{w: t.ones(2, requires_grad=True)})
      for w in ("weight", "pos_weight")),
    with_gradients(lambda t, x: t.cumprod(x, 0), [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [3.0, INF, 4.0], [0.0, 0.0, 2.0]]),
    with_gradients(lambda t, x: (t.acosh(t.complex(x, -x)) * (2 + 1j)).abs(), [-2.0, 3.0]),
]  # fmt: skip


# --- Arguments that stand for others, and types where nothing is computed -----------------------------------

ODD: list[Call] = [
    *(lambda t, k=k: t.full([2], t.tensor(1, dtype=getattr(t, k))) for k in ("int8", "float64", "bool", "complex128")),
    *(lambda t, n=n: t.scalar_tensor(n, dtype=t.uint8) for n in (-1, -300, -2.5, 2)),
    *(lambda t, n=n: t.bartlett_window(n, dtype=t.complex64) for n in (0, 1, 2)), lambda t: t.hamming_window(2**63),
    *(lambda t, n=n: t.triu(t.ones(3, 3), n) for n in (2**63 - 1, -(2**63), 2**63, 1)), lambda t: t.tril_indices(3, 2**40),
    lambda t: t.tril_indices(2, 3, dtype=None), lambda t: t.polygamma(2**63, t.ones(1)), lambda t: t.ones(1).round(decimals=2**63),
    *(lambda t, x=x: t.cov(t.arange(3.0), aweights=t.tensor(x)) for x in ([1.0, NAN, 1.0], [0.0, 0.0, 0.0])),
    *(lambda t, x=x: t.isin(x, t.arange(2)) for x in (True, 1j, 1.5)), lambda t: t.searchsorted(t.arange(3).to(t.uint8), 2**62),
    *(lambda t, x=x: t.broadcast_shapes((1, 2), x) for x in (3, 1.5, (2,), (1.5,), "a")),
    lambda t: t.broadcast_shapes((1, 2), t.ones(1).long()), *(lambda t, n=n: t.ones(1).is_pinned(n) for n in ((-1, 2**63) if real.version.cuda else (-1, 1, 2**63))),
    *(lambda t, n=n: t.tensor(1.0).index_add(0, t.zeros(n).long(), t.tensor(2.0)) for n in (1, 2)),
    *(lambda t, a=a: t.ones(1).long().index_add(0, t.zeros(1).long(), t.ones(1).long(), alpha=a) for a in (2.5, 1j, 1e300)),
    *(lambda t, n=n: getattr(t.ones(4, 1, 0), n)(1, t.tensor([7]), t.ones(4, 1, 0)) for n in ("index_add", "index_copy")),
    *(lambda t, n=n: getattr(t.ones(0, 2), n)(0, t.tensor([7]), t.ones(1, 2)) for n in ("index_add", "index_copy")),
    lambda t: t.ones(4, 1, 0).index_fill(1, t.tensor([7, -9]), 1.0), lambda t: t.ones(0).index_fill(0, t.tensor([7]), 1.0), lambda t: t.ones(2).bool().index_reduce(0, t.arange(1), t.ones(1).bool(), "prod"),
    *(lambda t, n=n: t.tensor(1.0).index_select(0, t.zeros(n).long()) for n in (0, 1, 2)),
    lambda t: t.ones(0).index_select(0, t.ones(0).to(t.int8)), lambda t: t.gather(t.ones(2, requires_grad=True), 0, t.ones(2, 0)),
    *(lambda t, s=s: t.ones(s).t().dim_order() for s in ((1, 3), (3, 1), (0, 1))), *(lambda t, n=n: t.ones(n, 2).t().contiguous(memory_format=t.preserve_format) for n in (1, 2)),
    *(lambda t, n=n: t.tensor_split(t.ones(4), t.tensor(n)) for n in (2, 2.0)), lambda t: t.hsplit(t.ones(2, 4), t.tensor(3)),
    lambda t: t.ones(4, 4).vsplit(1, 3), lambda t: t.diff(t.ones(5, 1), 0, 1, t.ones(1, 3)), lambda t: t.ones(2).requires_grad_(requires_grad=True),
    *(lambda t, e=e: t.gradient(t.arange(4.0) ** 2, spacing=t.tensor([1.0, 3.0, 3.0, 5.0]), edge_order=e) for e in (1, 2)),
    *(lambda t, x=x: t.trapezoid(t.tensor([INF, 1.0, 2.0]), **x) for x in ({}, {"dx": 2.0})), lambda t: t.trapezoid(t.arange(4), dx=2),
    lambda t: t.histc(t.tensor([2.0, 1.7e308]).double(), 2), lambda t: t.histogram(t.ones(2), t.ones(1)),
    lambda t: t.histogram(t.ones(2), 1, weight=t.ones(2, requires_grad=True))[0].requires_grad,
    lambda t: t.addr(leaf(t, NAN), t.ones(1), t.ones(1), beta=0.0).requires_grad, lambda t: t.argsort(t.ones(2), stable=True, out=t.ones(2)),
    *(lambda t, p=p: t.nn.functional.feature_alpha_dropout(t.ones(2), p, True) for p in (0.0, 1.0, 0.5)),
    *(lambda t, s=s: (t.manual_seed(3), t.nn.functional.dropout3d(t.ones(s)))[1] for s in ((3,), (2, 3), (2, 3, 1))),
    *(lambda t, k=k: t.nn.functional.gumbel_softmax(t.ones(0, 2, dtype=getattr(t, k))) for k in ("int16", "bool", "complex64")),
    *(lambda t, b=b: t.nn.functional.rrelu(t.ones(1), *b) for b in ((0.1, INF), (NAN, 0.1), (0.2, 0.1))), lambda t: t.rrelu_(t.ones(1), NAN, 0.1),
    *(lambda t, k=k: t.softmax(t.ones(0, 2), -1, dtype=getattr(t, k)) for k in ("bool", "uint8", "complex64")),
    *(lambda t, f=f: f(t.nn.functional)(t.tensor([True]), t.tensor([1.0])) for f in (lambda n: n.mse_loss, lambda n: n.smooth_l1_loss, lambda n: n.huber_loss)),
    *(lambda t, n=n: getattr(t.nn.functional, n)(t.ones(1), t.ones(1).double(), reduction="none") for n in ("huber_loss", "smooth_l1_loss")),
    *(lambda t, k=k: t.nn.functional.mse_loss(t.ones(1, dtype=k(t)), t.ones(1), weight=t.ones(1)) for k in (lambda t: t.int64, lambda t: t.complex64)),
    lambda t: t.nn.functional.huber_loss(t.ones(1).long(), t.ones(1)), lambda t: t.nn.functional.huber_loss(t.ones(1), t.ones(1), delta=NAN),
    *(lambda t, k=k: t.nn.functional.smooth_l1_loss(t.ones(2, dtype=getattr(t, k)), t.zeros(2).long(), beta=0.0, reduction="sum") for k in ("int64", "complex64")),
    *(lambda t, a=a: t.nn.functional.l1_loss(t.ones(2), t.zeros(2), a, reduction="none") for a in ((), [], [1], 0)),
    *(lambda t, s=s: t.nn.functional.linear(t.ones(3, 2), t.ones(4, 2), t.ones(s)) for s in ((3, 1), (3, 4), (1, 4), (2, 4))),
    lambda t: t.nn.functional.soft_margin_loss(t.ones(3, 1), t.ones(1, 3)), lambda t: t.nn.functional.gaussian_nll_loss(*[t.ones(1).long()] * 3),
    *(lambda t, x=x: t.threshold(t.ones(2, dtype=t.float16), *x) for x in ((2**62, 1), (1e300, 1), (2, 1e300))),
    *(lambda t, x=x: t.threshold(t.ones(2, dtype=t.uint8), x, 0.2) for x in (-3.5, -3)), lambda t: t.hardshrink(t.ones(1), out=t.ones(1)),
    lambda t: (t.manual_seed(1), t.nn.init.sparse_(t.ones(3, 2, dtype=t.bfloat16), 0.5))[1].shape, lambda t: put(t.ones(3).half()),
    lambda t: (t.manual_seed(1), t.randint_like(t.ones(5), 1, high=4))[1], lambda t: t.randperm(2, dtype=t.complex64), lambda t: t.normal(0.0, 1.0, [-1]),
    lambda t: t.topk(t.ones(2).bool(), 1), lambda t: t.where(t.ones(1).bool(), leaf(t, 1.0), 1.0, out=t.ones(1)),
    with_gradients(lambda t, x: t.clip(t.ones(2).double(), max=x), [0.5, 2.0]), with_gradients(lambda t, x: t.ones(2).double().clip_(max=x), [0.5, 2.0]),
    with_gradients(lambda t, x: t.special.xlog1py(x, -2.5), [0.5]), lambda t: t.poisson_nll_loss(t.ones(1).half(), t.ones(1).long(), True, True, 1.0, 0),
    *(lambda t, x=x: t.std(t.tensor(x), 0) for x in ([3e38, -3e38, 1.0], [[3e38, 1.0], [2.0, 3.0]])), lambda t: t.std(t.tensor([65504.0, 1.0]).half()),
    lambda t: t.lcm(t.tensor([-4, 6, 0, 3]), t.tensor([2**63 - 2, 4, 5, 0])), lambda t: t.ones(1, 2, 1).squeeze(0, 2).shape,
    lambda t: t.ones(2).new_ones(size=(2, 2), dtype=t.int8), lambda t: t.ones(4).split(split_size=2), lambda t: t.ones(2).norm(2, keepdim=1),
    *(lambda t, x=x: t.tensor(x, dtype=t.uint8) for x in (-1, [-1, 3], [-1, 300])), lambda t: t.tensor([1.0], requires_grad=1),
    *(lambda t, x=x: t.logit(t.ones(1).half(), x) for x in (0.1, 1e30)), lambda t: t.ones(2).nanmean(dtype=t.int8), lambda t: t.linalg.vander(t.ones(2).bool()),
    *(lambda t, n=n: getattr(t.fft, n)(t.ones(2), out=t.ones(2).cfloat()) for n in ("hfft", "irfft")), lambda t: t.native_dropout(t.ones(1).int(), 0.0, True),
    lambda t: t.ones(2).bool().scatter_reduce(0, t.arange(1), t.ones(1).bool(), "mean"), lambda t: t.full((2,), 1, dtype=3),
    lambda t: t.stft(t.ones(8), 4, return_complex=np.int64(1)), lambda t: t.ones(2).unique(dim=True),
    *(lambda t, k=k: t.native_layer_norm(t.ones(2, 3), [3], t.ones(3, dtype=k(t)), None, 1e-5) for k in (lambda t: t.float64, lambda t: t.float32)),
    lambda t: t.nn.functional.rms_norm(t.ones(2, 3), [3], t.ones(3).cfloat()), lambda t: t.cov(t.ones(2), aweights=t.ones(2).bool()),
    *(lambda t, n=n: t.segment_reduce(t.ones(1, 2), "sum", lengths=t.tensor(n), axis=1) for n in ([2], [[2]])),
    lambda t: t.cdist(t.ones(1, 2), t.ones(1, 2).double(), 1.0), lambda t: t.nn.functional.multilabel_margin_loss(t.ones(1), t.zeros(1).int()),
    with_gradients(lambda t, x: t.nn.functional.grid_sample(t.ones(1, 1, 2, 2).double(), x, "nearest", "border", True), [[[[0.1, 0.2]]]]),
    *(lambda t, r=r: t.nn.functional.max_pool1d(t.arange(4).view(1, 4), 2, return_indices=r) for r in (True, False)),
    *(lambda t, x=x: t.nn.functional.embedding_bag(t.arange(2), t.ones(3, 2), x(t), mode="sum") for x in (lambda t: t.zeros(1), lambda t: t.zeros(1).long())),
    lambda t: t.nn.functional.embedding_bag(t.arange(2), t.ones(3, 2), t.zeros(1).long(), mode="sum", per_sample_weights=t.ones(2).double()),
    lambda t: t.nn.functional.local_response_norm(t.ones(1, 2, 3), 2, alpha=t.tensor(0.5)), lambda t: t.stft(t.ones(8), 4, center=1, return_complex=True),
    *(lambda t, x=x: t.nn.functional.softshrink(t.ones(1).half(), x) for x in (0.5, -1.0, NAN, INF, 1e30)), lambda t: t.normal(0.0, t.tensor([NAN])),
    *(lambda t, n=n: t.nn.functional.embedding(t.zeros(1).long(), t.ones(1, 1).expand(3, 2), max_norm=n) for n in (1.0, None)),
    lambda t: t.ones(2).index_copy(0, t.zeros(1).int(), t.ones(1)), lambda t: t.segment_reduce(t.ones(0, 2), "mean", offsets=t.zeros(0).long()),
    *(lambda t, o=o: t.slice_copy(t.arange(2), 0, 0, 1, out=t.ones(1, dtype=o(t))) for o in (lambda t: t.int64, lambda t: t.float32)),
    lambda t: (t.manual_seed(2), t.multinomial(t.tensor([1.0, 2.0, 8.0, 0.5]).expand(3, 4), 4))[1],
    lambda t: (t.manual_seed(3), t.bernoulli(t.linspace(0.1, 0.9, 12).view(3, 4).t()))[1], lambda t: t.bernoulli(t.ones(3, 4).t()).stride(),
    lambda t: t.histc(t.ones(3, requires_grad=True), 2).requires_grad, lambda t: t.nn.functional.celu(t.ones(2), t.tensor(2.0)), lambda t: t.fft.rfftfreq(3, device="cpu", out=t.ones(2)),
]  # fmt: skip


def leaf(t: Any, value: float) -> Any:
    """One number that requires grad."""
    return t.tensor([value], requires_grad=True)


def put(x: Any) -> Any:
    """A number written at places that an index lists."""
    x[[0, 2]] = 0.1
    return x


@pytest.mark.parametrize(
    "table",
    [
        "NUMBERS",
        "ANSWERS",
        "PLACES",
        "EXTREMES",
        "CALLS",
        "REACH",
        "TYPES",
        "MIXED",
        "GIVEN",
        "ODD",
    ],
)
def test_edges(table: str) -> None:
    for i, call in enumerate(globals()[table]):
        try:
            check(call)
        except Exception as e:
            raise AssertionError(f"row {i} of {table}: {e}") from e
