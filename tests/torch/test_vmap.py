"""`vmap`: functions of examples on batches, at once; the numbers are PyTorch's."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch as ours
from minitorch.torch.backends.interface import ARRAYS, others
from minitorch.torch.func.batched import BatchedArray
from minitorch.torch.interpreters import Interpreter

from . import opinfo, vmapped_operations

DIFFERENT = {
    "batch_norm", "nn.functional.batch_norm", "native_batch_norm", "_native_batch_norm_legit", "nn.functional.instance_norm",
    "index_fill", "linspace.tensor_overload", "cov", "diagonal_scatter", "select_scatter", "slice_scatter", "cholesky_inverse",
}  # fmt: skip
"""Operations that read values, or write batches into memory that is not one: they are refused."""


@pytest.fixture(scope="module", autouse=True)
def _leave_nothing_behind() -> Iterator[None]:
    yield
    if BatchedArray in ARRAYS:
        others.remove(ARRAYS.pop(BatchedArray))


@pytest.mark.parametrize("name", sorted(set(opinfo.core_operations()) - DIFFERENT))
def test_operations_on_batches(name: str) -> None:
    vmapped_operations.check(name, 1)


def data(lib: Any, *shape: int) -> Any:
    """The same numbers in both libraries."""
    return lib.from_numpy(np.random.default_rng(prod(shape)).standard_normal(shape))


def prod(shape: Any) -> int:
    """A seed for a shape."""
    return int(np.prod(shape))


def network(lib: Any) -> Any:
    """A small convolutional network of fixed weights."""
    nn = lib.nn
    made = nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.LayerNorm(12),
        nn.Linear(12, 4),
    ).double()
    for p in made.parameters():
        p.data = data(lib, *p.shape) * 0.3
    return made


def per_sample(lib: Any, chunk_size: int | None = None) -> Any:
    """The gradient of each example's loss."""
    model = network(lib)
    parameters = {k: v.detach() for k, v in model.named_parameters()}
    x, y = data(lib, 5, 2, 4, 4), lib.arange(5) % 4

    def loss(params: Any, x: Any, y: Any) -> Any:
        out = lib.func.functional_call(model, params, (x.unsqueeze(0),))
        return lib.nn.functional.cross_entropy(out, y.unsqueeze(0))

    return lib.func.vmap(lib.func.grad(loss), in_dims=(None, 0, 0), chunk_size=chunk_size)(
        parameters, x, y
    )


def ensemble(lib: Any) -> Any:
    """Several networks on one batch."""
    models = [network(lib) for _ in range(3)]
    for i, m in enumerate(models):
        for p in m.parameters():
            p.data = p.data * (i + 1)
    params, buffers = lib.func.stack_module_state(models)
    base = network(lib)
    return lib.vmap(
        lambda p, b, x: lib.func.functional_call(base, (p, b), (x,)), in_dims=(0, 0, None)
    )(params, buffers, data(lib, 2, 2, 4, 4))


def through(lib: Any, fn: Any, *shapes: Any, **options: Any) -> Any:
    """The value of a function of batches, and its gradients from outside."""
    inputs = [data(lib, *s).requires_grad_() for s in shapes]
    out = lib.vmap(fn, **options)(*inputs)
    grads = lib.autograd.grad((out * out.cos()).sum(), inputs, create_graph=True)
    more = lib.autograd.grad(sum(g.sin().sum() for g in grads), inputs)
    return [out, *grads, *more]


def closure(lib: Any) -> Any:
    """Gradients of what a function uses beside its arguments."""
    w = data(lib, 3, 3).requires_grad_()
    out = lib.vmap(lambda x: (w @ x).tanh().sum() * w.sum())(data(lib, 4, 3))
    (g,) = lib.autograd.grad(out.sum(), w, create_graph=True)
    return [out, g, *lib.autograd.grad(g.sin().sum(), w)]


CASES: dict[str, Any] = {
    "per sample gradients": per_sample,
    "in chunks": lambda lib: per_sample(lib, 2),
    "an ensemble": ensemble,
    "a closure": closure,
    "products": lambda lib: through(lib, lambda a, b: a @ b, (4, 2, 3), (4, 3, 5)),
    "vectors": lambda lib: through(lib, lib.dot, (4, 3), (4, 3)),
    "other places": lambda lib: through(lib, lambda a, b: a * b.T, (2, 4, 3), (3, 2, 4), in_dims=(1, 2), out_dims=-1),
    "one for all": lambda lib: through(lib, lambda a, b: (a - b).norm(), (4, 3), (3,), in_dims=(0, None)),
    "nested": lambda lib: through(lib, lambda a, b: lib.vmap(lambda x: (x * b).sum() + x[0])(a), (4, 5, 3), (4, 3)),
    "outer product": lambda lib: through(lib, lambda a: lib.vmap(lambda b: a * b)(a), (4, 3)),
    "views": lambda lib: through(lib, lambda a: a.t().reshape(-1)[1:].view(-1, 1).expand(-1, 2).unsqueeze(0).flatten(), (4, 2, 4)),
    "indices": lambda lib: through(lib, lambda a: a[lib.tensor([0, 1, 1])] * a[..., [1, 0]].sum(), (4, 2, 2)),
    "indices of each": lambda lib: lib.vmap(lambda a, i: a[i] + a.gather(0, i))(data(lib, 3, 4), lib.arange(6).view(3, 2) % 4),
    "a table": lambda lib: lib.vmap(lambda i: data(lib, 5, 2)[i])(lib.tensor([[0, 1], [4, 4]])),
    "softmax": lambda lib: through(lib, lambda a: a.softmax(-1).log().logsumexp(0), (4, 2, 3)),
    "writes": lambda lib: through(lib, lambda a: _written(a), (4, 3)),
    "types": lambda lib: lib.vmap(lambda a, b: a * b)(lib.ones(3, 2, dtype=lib.float32), lib.ones(3, dtype=lib.float64)),
    "convolution": lambda lib: through(lib, lambda x, w: lib.nn.functional.conv2d(x, w, padding=1), (2, 1, 2, 3, 3), (2, 2, 2, 3, 3)),
    "attention": lambda lib: through(lib, lib.nn.functional.scaled_dot_product_attention, *[(3, 2, 4, 2)] * 3),
    "second derivatives": lambda lib: lib.vmap(lib.func.hessian(lambda x: x.prod()))(data(lib, 2, 3)),
    "jacobians": lambda lib: lib.vmap(lib.func.jacrev(lambda x: x.sin().cumsum(0)))(data(lib, 2, 3)),
    "products with jacobians": lambda lib: _batched_vjp(lib),
    "sorting": lambda lib: lib.vmap(lambda a: a.sort(0).values[:2].sum() + a.max())(data(lib, 3, 4)),
    "cases": lambda lib: lib.vmap(lambda a: lib.where(a > 0, a, 0).clamp(max=0.5))(data(lib, 3, 4)),
    "item": lambda lib: lib.vmap(lambda a: a * a.sum().item())(data(lib, 3, 4)),
    "truth": lambda lib: lib.vmap(lambda a: a if a.sum() > 0 else -a)(data(lib, 3, 4)),
    "out_dims None": lambda lib: lib.vmap(lambda a: a, out_dims=None)(data(lib, 3, 4)),
    "random error": lambda lib: lib.vmap(lambda a: a + lib.rand(2))(data(lib, 3, 2)),
    "random dropout error": lambda lib: lib.vmap(lambda a: lib.nn.functional.dropout(a))(data(lib, 3, 2)),
}  # fmt: skip


def _written(a: Any) -> Any:
    b = a.clone()
    b[1] = b[0] * 2
    b[2:].mul_(3)
    return b


def _batched_vjp(lib: Any) -> Any:
    x = data(lib, 3).requires_grad_()
    y = x.sin() * x.sum()
    return lib.vmap(lambda v: lib.autograd.grad(y, x, v, retain_graph=True)[0])(
        lib.eye(3, dtype=lib.float64)
    )


def flat(result: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(result, dict):
        return [result[k] for k in sorted(result)]
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_pytorchs(name: str) -> None:
    found = []
    for lib in (ours, real):
        try:
            found.append([(t.detach().numpy(), str(t.dtype)) for t in flat(CASES[name](lib))])
        except Exception as error:
            found.append((type(error), str(error)[:60]))
    if isinstance(found[1], tuple):
        assert found[0][0] is found[1][0]
        assert found[0][1].startswith("vmap")
        return
    for (a, kind), (b, expected) in zip(*found, strict=True):
        assert (a.shape, kind) == (b.shape, expected)
        np.testing.assert_allclose(a, b, 1e-12, 1e-12)


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("kind", ["rand", "dropout", "normal_"])
def test_random_numbers_are_pytorchs(randomness: str, kind: str) -> None:
    found = []
    for lib in (ours, real):
        fn = {"rand": lambda a, lib=lib: a + lib.rand(3), "dropout": lambda a, lib=lib: lib.nn.functional.dropout(a, 0.5),
              "normal_": lambda a: a.clone().uniform_()}[kind]  # fmt: skip
        lib.manual_seed(3)
        found.append(lib.vmap(fn, randomness=randomness)(lib.ones(4, 3)).numpy())
    if (kind, randomness) == ("normal_", "same"):
        assert (found[0] == found[0][0]).all()
    else:
        np.testing.assert_allclose(found[0], found[1], 1e-6)


def test_a_batch_is_computed_at_once() -> None:
    class Count(Interpreter):
        names: list[str] = []  # noqa: RUF012

        def operation(self, op: Any, inputs: Any, params: Any, perform: Any) -> Any:
            self.names.append(op.name)
            return perform(op, inputs, params)

    count = Count()
    count.install()
    try:
        ours.vmap(lambda a, b: (a @ b).relu().sum(0))(ours.ones(100, 2, 3), ours.ones(100, 3, 2))
    finally:
        count.remove()
    assert len(count.names) < 10


def test_a_write_into_what_is_no_view_of_a_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ours.vmap(lambda a: a.clone().diagonal().fill_(0))(ours.ones(2, 3, 3))


def test_tangents_of_a_batch_are_each_their_own() -> None:
    """`jvp` of what is the same for all examples, with tangents that are not: nothing may be summed over the batch."""
    found = []
    for lib in (ours, real):
        weight, x, tangents = data(lib, 3, 4), data(lib, 4), data(lib, 5, 3, 4)

        def along(t: Any, lib: Any = lib, weight: Any = weight, x: Any = x) -> Any:
            return lib.func.jvp(lambda v: (v @ x).tanh(), (weight,), (t,))[1]

        found.append(lib.vmap(along)(tangents).numpy())
        np.testing.assert_allclose(found[-1], np.stack([along(t).numpy() for t in tangents]))
    np.testing.assert_allclose(*found)


def test_libraries_replace_how_values_go_in_and_out(monkeypatch):
    module = importlib.import_module("minitorch.torch._functorch").vmap
    put_in, take_out = module._create_batched_inputs, module._maybe_remove_batch_dim

    class Pair:
        def __init__(self, one: Any, other: Any) -> None:
            self.one, self.other = one, other

    def with_pairs(dims, leaves, level, spec):
        leaves = [
            Pair(module._add_batch_dim(x.one, d, level), module._add_batch_dim(x.other, d, level)) if isinstance(x, Pair) else x
            for x, d in zip(leaves, dims, strict=True)
        ]  # fmt: skip
        return put_in([None] * len(dims), leaves, level, spec)

    def of_pairs(name, value, level, size, dim):
        if not isinstance(value, Pair):
            return take_out(name, value, level, size, dim)
        return Pair(*(module._remove_batch_dim(x, level, size, dim) for x in (value.one, value.other)))  # fmt: skip

    monkeypatch.setattr(module, "_batch_size", lambda leaves, dims: leaves[0].one.shape[dims[0]])
    monkeypatch.setattr(module, "_create_batched_inputs", with_pairs)
    monkeypatch.setattr(module, "_maybe_remove_batch_dim", of_pairs)
    x = ours.arange(6.0).reshape(3, 2)
    made = ours.vmap(lambda pair: Pair(pair.one.sum(), pair.other * 2))(Pair(x, x[:, 0]))
    assert made.one.tolist() == [1.0, 5.0, 9.0]
    assert made.other.tolist() == [0.0, 4.0, 8.0]


def test_examples_are_known_as_such():
    def look(module, x, seen):
        seen += [module.is_batchedtensor(x), module.get_unwrapped(x).tolist()]
        return x

    seen: list[list[Any]] = [[], []]
    values = [[1.0, 2.0], [3.0, 4.0]]
    mine = importlib.import_module("minitorch.torch._C._functorch")
    theirs = importlib.import_module("torch._C._functorch")
    ours.vmap(lambda x: look(mine, x, seen[0]))(ours.as_tensor(values))
    real.vmap(lambda x: look(theirs, x, seen[1]))(real.tensor(values))
    assert seen[0] == seen[1]
    assert not mine.is_batchedtensor(ours.ones(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.vmap(lambda a: "text")(x),
        lambda t, x: t.vmap(lambda a: a, out_dims=None)(x),
        lambda t, x: t.vmap(lambda a: a, out_dims=(0, 0))(x),
        lambda t, x: t.vmap(partial(t.add, other=1), out_dims=(0, 0))(x),
    ],
)
def test_errors_of_outputs_are_pytorchs(call):
    texts = []
    for t in (ours, real):
        with pytest.raises(ValueError, match="vmap") as caught:
            call(t, t.ones(2, 3))
        texts.append(str(caught.value).split(" has structure")[0])
    assert texts[0] == texts[1]
    assert ours.vmap(lambda a: (a, "text"), out_dims=(0, None))(ours.ones(2))[1] == "text"
