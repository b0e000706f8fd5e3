"""Interpreters see every operation, at the door, and nothing is replaced for it."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import nullcontext

import pytest

import minitorch.torch as torch
from minitorch.torch.interpreters import Interpreter, is_interpreted
from minitorch.torch.ops.record import REGISTRY


class Counting(Interpreter):
    """Counts what is performed."""

    def __init__(self):
        self.seen: Counter[str] = Counter()
        self.written: set[str] = set()
        self.nodes: list[str] = []

    def operation(self, op, inputs, params, perform):
        self.seen[op.name] += 1
        if op.writes:
            self.written.add(op.name)
        return perform(op, inputs, params)

    def backward(self, node, gradients, perform):
        self.nodes.append(node.name())
        return perform(node, gradients)

    def __enter__(self):
        self.install()
        return self

    def __exit__(self, *_):
        self.remove()


class Refusing(Counting):
    """Performs nothing."""

    def operation(self, op, inputs, params, perform):
        raise PermissionError(op.name)


def test_operations_derivatives_and_writes_are_seen():
    w = torch.randn(3, 4, requires_grad=True)
    with Counting() as counting:
        x = torch.nn.functional.linear(torch.ones(2, 4), w)
        loss = (x.exp() + 1).mul_(2).sum()
        loss.backward()
    assert counting.written == {"mul_"}
    assert counting.nodes == [
        "SumBackward0", "MulBackward0", "AddBackward0", "ExpBackward0", "MmBackward0",
    ]  # fmt: skip
    assert counting.seen["linear"] == 2  # the composite, and the record within it
    assert {"exp", "add", "sum", "linear_backward"} <= set(counting.seen)
    seen = counting.seen.total()
    w.exp()
    assert counting.seen.total() == seen
    assert not is_interpreted()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_fused_operation_is_its_composition_to_the_bit_and_interpreters_see_that(dtype):
    x, y = torch.randn(40, 30).to(dtype).t(), torch.rand(30, 40).to(dtype)
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    results = []
    counting = Counting()
    for around in (nullcontext(), counting):
        score, target = x.detach().requires_grad_(), y.detach().requires_grad_()
        with around:
            mean = loss(score, target)
            first = torch.autograd.grad(mean, (score, target), create_graph=True)
            second = torch.autograd.grad(first[0].sum(), (score, target))
        assert mean.grad_fn.name() == "BinaryCrossEntropyWithLogitsBackward0"
        results.append([mean, *first, *second])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
    assert counting.seen["logistic_loss"]
    assert counting.seen["mean"]
    assert "mean_logistic_loss" not in counting.seen


def test_refused_operations_write_nothing():
    x, y = torch.ones(3), torch.ones(3)
    with Refusing():
        for call in (lambda: x.add_(y), lambda: x.mul_(2.0), lambda: x.relu_(), lambda: x + y):
            with pytest.raises(PermissionError):
                call()
    assert x.tolist() == [1, 1, 1]
    assert x._version == 0


def test_the_last_one_is_asked_first_and_may_answer():
    class Doubling(Interpreter):
        def operation(self, op, inputs, params, perform):
            order.append("doubling")
            result = perform(op, inputs, params)
            return result * 2 if op.name == "exp" else result  # this product is not seen by itself

    class Watching(Interpreter):
        def operation(self, op, inputs, params, perform):
            order.append(op.name)
            return perform(op, inputs, params)

    order: list[str] = []
    x = torch.zeros(2)
    below, above = Watching(), Doubling()
    below.install()
    above.install()
    try:
        result = x.exp()
    finally:
        above.remove()
        below.remove()
    assert result.tolist() == [2, 2]
    assert order == ["doubling", "exp", "mul"]


def test_an_error_leaves_the_interpreters_as_they_were():
    with Counting() as counting:
        with pytest.raises(RuntimeError):
            torch.matmul(torch.ones(2), torch.ones(3))
        torch.ones(2).exp()
    assert counting.seen["exp"] == 1


def test_other_threads_are_not_seen():
    with Counting() as counting:
        thread = threading.Thread(target=lambda: torch.ones(2).exp())
        thread.start()
        thread.join()
    assert not counting.seen


def test_autocast_reaches_functions_held_anywhere_and_replaces_nothing():
    profile = torch.profiler.profile  # loads when it is first asked for
    before = {n: (op.compute, op.write) for n, op in REGISTRY.items()}
    functions = dict(vars(torch)), dict(vars(torch.nn.functional)), dict(vars(torch.Tensor))
    held = {
        "mm": torch.mm,
        "linear": torch.nn.functional.linear,
        "method": vars(torch.Tensor)["mm"],
    }

    def by_default(a, product=torch.mm):
        return product(a, a)

    x = torch.ones(2, 2)
    with torch.autocast("cpu"), profile():
        found = [fn(x, x).dtype for fn in held.values()] + [by_default(x).dtype, (x @ x).dtype]
        assert {n: (op.compute, op.write) for n, op in REGISTRY.items()} == before
        now = vars(torch), vars(torch.nn.functional), vars(torch.Tensor)
        assert [dict(n) for n in now] == list(functions)
    assert set(found) == {torch.bfloat16}
    assert torch.mm(x, x).dtype is torch.float32


OPTIMIZERS = {
    "SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}, "AdamW": {}, "Adadelta": {}, "Adagrad": {},
    "Adamax": {}, "ASGD": {}, "NAdam": {}, "RAdam": {}, "RMSprop": {"centered": True, "momentum": 0.9},
    "Rprop": {}, "Adafactor": {}, "Muon": {}, "SparseAdam": {}, "LBFGS": {"max_iter": 2},
}  # fmt: skip


def _memory(optimizer):
    """All that a step may change."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    tensors = [*params, *(p.grad for p in params)]
    states = [dict(optimizer.state[p]) if p in optimizer.state else None for p in params]
    tensors += [v for s in states if s for v in s.values() if isinstance(v, torch.Tensor)]
    return states, [(t.to_dense().tolist(), t._version) for t in tensors]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers_are_seen_and_can_be_refused(name):
    params = [torch.ones(2, 3), torch.full((3, 2), 2.0)]
    for p in params:
        p.grad = torch.full_like(p, 0.5)
        if name == "SparseAdam":
            p.grad = p.grad.to_sparse(1)
    optimizer = vars(torch.optim)[name](params, **OPTIMIZERS[name])
    loss = torch.ones(())
    counting = Counting()
    closure = (lambda: loss) if name == "LBFGS" else None
    for _ in range(2):  # with a state that is to be made, and with one that is there
        before = _memory(optimizer)
        with Refusing(), pytest.raises(PermissionError):
            optimizer.step(closure)
        assert _memory(optimizer) == before
        with counting:
            optimizer.step(closure)
        assert counting.written
        assert _memory(optimizer) != before
    if name not in ("Adafactor", "Muon", "SparseAdam", "LBFGS"):
        assert [counting.seen[written] for written in counting.written] == [2]


def test_a_step_names_what_it_writes_and_reads_its_options_anew():
    class Keeping(Counting):
        def operation(self, op, inputs, params, perform):
            self.kept = op, inputs, params
            return perform(op, inputs, params)

    p = torch.ones(2)
    p.grad = torch.ones(2)
    optimizer = torch.optim.Adam([p], lr=0.5)
    with Keeping() as keeping:
        optimizer.step()
    op, inputs, params = keeping.kept
    state = optimizer.state[p]
    assert (op.name, op.writes) == ("adam_", (0, 2, 3, 4))
    assert [x[0] for x in inputs] == [
        p,
        p.grad,
        state["exp_avg"],
        state["exp_avg_sq"],
        state["step"],
    ]
    optimizer.param_groups[0]["lr"] = 0.0
    before = p.tolist()
    op.perform(inputs, params)
    assert p.tolist() == before
    assert state["step"].item() == 2


def test_scaled_and_clipped_gradients_are_seen_and_can_be_refused():
    p = torch.ones(3, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([p], lr=0.1), torch.amp.GradScaler("cpu")
    scaler.scale(p.sum()).backward()
    calls = (
        lambda: torch.nn.utils.clip_grad_norm_([p], 1.0),
        lambda: torch.nn.utils.clip_grad_value_([p], 1.0),
        lambda: scaler.unscale_(optimizer),
        lambda: scaler.step(optimizer),
        scaler.update,
    )
    for call in calls:
        before = _memory(optimizer), scaler.get_scale()
        with Refusing(), pytest.raises(PermissionError):
            call()
        assert (_memory(optimizer), scaler.get_scale()) == before
        with Counting() as counting:
            call()
        assert counting.written


MAKERS = {
    "zeros": lambda x: torch.zeros(2),
    "ones": lambda x: torch.ones_like(x),
    "full": lambda x: x.new_full((2,), 3.0),
    "empty": lambda x: torch.empty(2),
    "lift_fresh": lambda x: torch.as_tensor([1.0]),
    "rand": lambda x: torch.rand(2),
    "randn": lambda x: torch.randn_like(x),
    "randint": lambda x: torch.randint(3, (2,)),
    "randperm": lambda x: torch.randperm(3),
    "dropout_noise": lambda x: torch.nn.functional.dropout(x),
    "multinomial": lambda x: x.multinomial(1),
}
WRITERS = {
    "uniform_": lambda x: x.uniform_(),
    "normal_functional_": lambda x: x.normal_(),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "copy_": lambda x: x.copy_(torch.arange(3.0)),
    "copy_out": lambda x: torch.exp(x, out=x),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_makes_tensors_is_seen(name):
    x = torch.ones(3)
    with Counting() as counting:
        MAKERS[name](x)
    assert counting.seen[name] == 1


@pytest.mark.parametrize("name", WRITERS)
def test_what_writes_is_seen_and_can_be_refused(name):
    class NotWriting(Counting):
        def operation(self, op, inputs, params, perform):
            if op.writes:
                self.written.add(op.name)
                raise PermissionError(op.name)
            return perform(op, inputs, params)

    x = torch.ones(3)
    state = torch.get_rng_state()
    with NotWriting() as refusing, pytest.raises(PermissionError):
        WRITERS[name](x)
    assert refusing.written == {name}
    assert (x.tolist(), x._version) == ([1, 1, 1], 0)
    assert torch.get_rng_state().equal(state)


def test_what_training_keeps_is_written_through_the_door():
    class NotWriting(Interpreter):
        def operation(self, op, inputs, params, perform):
            if op.writes:
                raise PermissionError(op.name)
            return perform(op, inputs, params)

    norm, x = torch.nn.BatchNorm1d(3), torch.arange(6.0).reshape(2, 3)
    weight = torch.ones(3, requires_grad=True)
    weight.grad = torch.ones(3)
    loss = (weight * x).sum()
    before = [t.clone() for t in (*norm.buffers(), weight.grad)]
    interpreter = NotWriting()
    interpreter.install()
    try:
        for call in (lambda: norm(x), loss.backward):
            with pytest.raises(PermissionError):
                call()
    finally:
        interpreter.remove()
    after = [*norm.buffers(), weight.grad]
    assert all(a.equal(b) for a, b in zip(after, before, strict=True))
