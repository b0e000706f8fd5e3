"""What a call returns, and who has it: containers, views that are kept, copies of compiled functions, errors on the way."""

from __future__ import annotations

import contextlib
import copy
import pickle
import threading
from typing import Any

import minitorch.torch as library

from .ways import data, network, way

torch: Any = library
nn = torch.nn


# --- Containers ----------------------------------------------------------------------------------


@way("eager")
def a_list_that_was_there(compile):
    notes: list[int] = []
    f, out = compile(lambda x: (x * (1 + len(notes)), notes)), []
    for _ in range(12):
        y, same = f(torch.ones(2))
        same.append(1)
        out.append(y)
    return out


@way("eager")
def a_list_that_was_given(compile):
    f = compile(lambda xs: xs)
    lists = [[torch.ones(2)] for _ in range(8)]
    return [f(xs) is xs for xs in lists]


@way("eager")
def one_list_in_two_places(compile):
    def f(x):
        made = [x * 2]
        return made, made

    f = compile(f)
    return [a is b for a, b in (f(torch.ones(2)) for _ in range(8))]


class Labelled(list):
    label = ""


@way("eager")
def a_list_with_attributes(compile):
    def f(x):
        made = Labelled([x * 2])
        made.label = "twice"
        return made

    f = compile(f)
    return [(type(r).__name__, r.label, r[0]) for r in (f(torch.ones(2)) for _ in range(8))]


# --- Memory of results ---------------------------------------------------------------------------


@way("played")
def parts_of_results_that_are_kept(compile):
    f, kept, out = compile(lambda x: (x * 2, x + 1)), [], []
    for i in range(40):
        a, b = f(torch.full((4,), float(i)))
        a[1:].add_(100)
        ways = a[1:], b.view(2, 2), a.numpy()[1:], memoryview(b.numpy()), b.detach(), a.untyped_storage()  # fmt: skip
        kept.append(ways[i % len(ways)])
        del a, b, ways
        out.append([bytes(memoryview(_memory(each))) for each in kept[-8:]])
    return out


def _memory(value):
    if isinstance(value, torch.UntypedStorage):
        return torch.tensor(value.tolist()).numpy()
    return value.contiguous().numpy() if isinstance(value, torch.Tensor) else value.copy() if hasattr(value, "copy") else value  # fmt: skip


@way("played", exactly=False)
def parts_of_gradients_that_are_kept(compile):
    model, kept, out = network(), [], []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    step = compile(step)
    for i in range(40):
        step(torch.full((2, 3), 0.1 * (i % 5)))
        gradient = model[0].weight.grad
        kept.append(torch.as_tensor(gradient.numpy()[1:]) if i % 2 else gradient.T)
        out.append([each.clone() for each in kept[-5:]])
    return out


@way("played")
def a_list_of_places_of_numbers_written_down(compile):
    def f(x):
        ramp = torch.ones(3, 2) * 2
        return x + ramp[[0, 2]] + ramp[[]].sum()

    f = compile(f)
    return [f(data(2, 2)) for _ in range(30)]


@way("played")
def a_view_that_has_lost_its_history(compile):
    def f(x):
        a, b = x.unbind(0)
        with torch.no_grad():
            x.add_(1)
        return x * 2, a, b

    f = compile(f)
    return [[y.detach() for y in f(torch.ones(2, 3, requires_grad=True))[:1]] for _ in range(6)]


# --- Copies --------------------------------------------------------------------------------------


@way("played")
def a_copied_function(compile):
    scale, out = [2.0], []
    f = compile(lambda x: x * scale[0])
    out += [f(torch.ones(2)) for _ in range(4)]
    other = copy.deepcopy(f)
    for _ in range(4):
        out.append(other(torch.ones(2)))
        scale[0] += 1
    return out


class Inner(nn.Module):
    def __init__(self, compile):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.quick = compile(self._slow)

    def _slow(self, x):
        return self.layer(x).relu()

    def forward(self, x):
        return self.quick(x)


def _copied(make, model):
    x, out = data(2, 3), []
    out += [model(x) for _ in range(6)]
    other = make(model)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    return [*out, *([other(x), model(x)] for _ in range(6))]


@way("played")
def a_copied_module_with_a_compiled_method(compile):
    return _copied(copy.deepcopy, Inner(compile))


@way("played")
def a_copied_compiled_module(compile):
    return _copied(copy.deepcopy, compile(network()))


@way("played")
def a_pickled_compiled_module(compile):
    return _copied(lambda model: pickle.loads(pickle.dumps(model)), compile(network()))


def doubled(x):
    return x * 2


@way("played")
def a_pickled_function(compile):
    f = compile(doubled)
    out = [f(data(2)) for _ in range(4)]
    other = pickle.loads(pickle.dumps(f))
    return [*out, *(other(data(2)) for _ in range(4))]


# --- Errors on the way ---------------------------------------------------------------------------


def _roots(compile, f):
    out = []
    f = compile(f)
    for i in range(12):
        x = torch.eye(2) * (1 + i)
        try:
            out.append(f(-x if i % 4 == 3 else x))
        except RuntimeError as error:
            out.append(type(error).__name__)
    return out


@way("eager")
def an_error_that_is_caught(compile):
    def f(x):
        try:
            return torch.linalg.cholesky_ex(x, check_errors=True).L
        except RuntimeError:
            return x * 0 - 1

    return _roots(compile, f)


@way("eager")
def an_index_that_is_caught(compile):
    table = torch.arange(4.0)

    def f(i):
        try:
            return table[i]
        except IndexError:
            return table.sum()

    f = compile(f)
    return [f(torch.tensor([i % 4 if i < 8 else 7])) for i in range(12)]


@way("eager")
def an_error_that_is_suppressed(compile):
    def f(x):
        with contextlib.suppress(RuntimeError):
            return torch.linalg.cholesky(x)
        return x * 0 - 1

    return _roots(compile, f)


@way("eager")
def a_write_that_follows_in_any_case(compile):
    calls = torch.zeros(())

    def f(x):
        try:
            return torch.linalg.cholesky(x)
        finally:
            calls.add_(1)

    return [_roots(compile, f), calls]


@way("played")
def an_except_around_what_cannot_fail(compile):
    def f(x):
        try:
            return torch.relu(x @ x)
        except RuntimeError:
            return x

    return _roots(compile, f)


# --- Threads -------------------------------------------------------------------------------------


@way("played", exactly=False)
def threads_that_play_one_tape(compile):
    model, given = network(), [data(4, 3) for _ in range(4)]
    f, results = compile(lambda x: model(x).relu() * 2 + model(x).sum()), {}

    def work(i):
        with torch.no_grad():
            results[i] = [f(given[i]) for _ in range(20)][-1]

    work(0)
    work(0)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return [results[i] for i in range(4)]
