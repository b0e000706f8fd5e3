"""A traced training step: its optimizer, gradients and settings change."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch.torch as library

from .ways import data, network, way

torch: Any = library
nn = torch.nn
functional = torch.nn.functional


def trained(compile, make, steps=12, change=None, body=None, **options):
    """The losses and parameters of some steps; `change(i, model, optimizer)` is called between them."""
    model = options.pop("model", None) or network()
    optimizer = make(model.parameters())

    def step(x, y):
        optimizer.zero_grad(**options)
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        if body is not None:
            body(model)
        optimizer.step()
        return loss

    step, out = compile(step), []
    for i in range(steps):
        if change is not None:
            change(i, model, optimizer)
        out += [step(data(5, 3), data(5, 2)), *(p.detach().clone() for p in model.parameters())]
    return [*out, [p.grad for p in model.parameters()], list(map(str, optimizer.state.values()))]


@way("played")
def a_step_of_sgd(compile):
    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.1))


@way("played")
def a_step_with_momentum(compile):
    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True))


@way("played")
def steps_of_adam(compile):
    return trained(compile, lambda p: torch.optim.Adam(p, lr=0.01))


@way("played")
def steps_of_adamw_in_groups(compile):
    def make(params):
        first, *rest = params
        groups = [{"params": [first], "weight_decay": 0.1}, {"params": rest, "lr": 0.5}]
        return torch.optim.AdamW(groups, lr=0.01)

    return trained(compile, make)


@way("played")
def a_changed_learning_rate(compile):
    def change(i, model, optimizer):
        optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)

    return trained(compile, lambda p: torch.optim.Adam(p, lr=0.1), change=change)


@way("played")
def a_learning_rate_of_zero(compile):
    def change(i, model, optimizer):
        optimizer.param_groups[0]["lr"] = 0.1 * (i % 2)

    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.1), 16, change)


@way("played")
def a_scheduler(compile):
    made = []

    def make(params):
        optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
        made[:] = [torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=30)]
        return optimizer

    return trained(compile, make, change=lambda i, model, optimizer: i and made[0].step())


@way("played")
def momentum_that_comes_and_goes(compile):
    def change(i, model, optimizer):
        optimizer.param_groups[0]["momentum"] = 0.9 if 5 < i < 12 else 0.0

    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.1), 18, change)


@way("played")
def a_loaded_optimizer(compile):
    kept = []

    def change(i, model, optimizer):
        if i == 5:
            kept.append(optimizer.state_dict())
        if i == 9:
            optimizer.load_state_dict(kept[0])

    return trained(compile, lambda p: torch.optim.Adam(p, lr=0.1), 16, change)


@way("played")
def a_group_added(compile):
    def change(i, model, optimizer):
        if i == 6:
            optimizer.add_param_group({"params": [model[2].weight], "lr": 0.3})

    return trained(
        compile, lambda p: torch.optim.SGD([q for q in p if q.shape != (2, 4)], lr=0.1), 12, change
    )


@way("played")
def frozen_in_the_middle(compile):
    def change(i, model, optimizer):
        model[0].requires_grad_(i % 8 < 4)

    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.1), 24, change)


@way("played")
def gradients_made_zero(compile):
    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.1), set_to_none=False)


@way("played")
def accumulated_gradients(compile):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def part(x, y):
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    part, out = compile(part), []
    for i in range(16):
        out += [part(data(5, 3), data(5, 2)), *(p.grad.clone() for p in model.parameters())]
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
    return out


@way("played")
def gradients_taken_away(compile):
    kept = []

    def change(i, model, optimizer):
        if i % 5 == 4:
            model[0].weight.grad = None
        if i % 5 == 3:
            kept.append(model[0].bias.grad)

    return [trained(compile, lambda p: torch.optim.SGD(p, lr=0.1), 20, change), kept]


@way("played")
def clipped_norms(compile):
    body = lambda model: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)  # noqa: E731
    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.5), body=body)


@way("played")
def clipped_values(compile):
    body = lambda model: torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)  # noqa: E731
    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.5), body=body)


@way("played")
def dropout_in_a_step(compile):
    model = network(nn.Dropout(0.3))
    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.1), model=model)


@way("played")
def a_seed_between_steps(compile):
    def change(i, model, optimizer):
        if i == 8:
            torch.manual_seed(5)

    model = network(nn.Dropout(0.3))
    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.1), change=change, model=model)


@way("played")
def a_step_under_autocast(compile):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(x).float().square().mean()
        loss.backward()
        optimizer.step()
        return loss

    step = compile(step)
    return [step(data(5, 3)) for _ in range(8)]


@way("played")
def autocast_outside(compile):
    model = network()
    f, out = compile(model), []
    for i in range(12):
        with torch.autocast("cpu", enabled=i % 2 == 0), torch.no_grad():
            out.append(f(data(5, 3)))
    return out


@way("eager")
def a_rate_that_the_program_reads(compile):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).sum() * optimizer.param_groups[0]["lr"]
        loss.backward()
        optimizer.step()
        return loss

    step, out = compile(step), []
    for i in range(40):
        optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)
        out.append(step(data(5, 3)))
    return out


@way("eager")
def a_scheduler_inside(compile):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    step = compile(step)
    return [step(data(5, 3)) for _ in range(8)]


@way("played")
def two_optimizers(compile):
    one, two = network(), network()
    first = torch.optim.SGD(one.parameters(), lr=0.1)
    second = torch.optim.Adam(two.parameters(), lr=0.1)

    def step(x):
        first.zero_grad()
        a = one(x).square().sum()
        a.backward()
        first.step()
        second.zero_grad()
        b = (two(x) - one(x).detach()).square().sum()
        b.backward()
        second.step()
        return {"a": a, "b": b}

    step = compile(step)
    return [step(data(5, 3)) for _ in range(8)]


@way("played")
def a_freed_graph_stays_freed(compile):
    model = network()

    def f(x):
        loss = model(x).square().sum()
        loss.backward()
        return loss

    f, out = compile(f), []
    for _ in range(6):
        loss = f(data(5, 3))
        out += [loss, loss.grad_fn.name()]
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
    return out


@way("played")
def hooks_added_between_steps(compile):
    noted, handles = [], []

    def change(i, model, optimizer):
        weight = model[0].weight
        if i == 5:
            handles.append(weight.register_hook(lambda g: g * 2))
        if i == 10:
            handles.pop().remove()
            add = weight.register_post_accumulate_grad_hook
            handles.append(add(lambda p: noted.append(p.grad.sum())))
        if i == 15:
            handles.pop().remove()
            noted.append(torch.autograd.graph.get_gradient_edge(weight).node)
            noted[-1].register_hook(lambda grads, outs: None)

    out = trained(compile, lambda p: torch.optim.SGD(p, lr=0.1), 20, change)
    return out, [n for n in noted if isinstance(n, torch.Tensor)]


@way("played")
def hooks_of_all_optimizers(compile):
    handles = []

    def halve(optimizer, args, kwargs):
        optimizer.param_groups[0]["lr"] *= 0.5

    def change(i, model, optimizer):
        if i == 6:
            register = torch.optim.optimizer.register_optimizer_step_pre_hook
            handles.append(register(halve))
        if i == 14:
            handles.pop().remove()

    return trained(compile, lambda p: torch.optim.SGD(p, lr=0.1), 20, change)


def _errors_after_a_backward(compile, reads):
    """Calls that fail: before gradients are forgotten, between that and backward, and after backward."""
    model, out = network(), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    table = torch.arange(6.0)

    def step(x, places):
        first = table[places[:1]].sum()
        loss = model(x).square().sum() * first
        optimizer.zero_grad()
        loss = loss + table[places[1:2]].sum()
        loss.backward()
        loss = table[places[2:]].sum() + loss.detach()
        optimizer.step()
        return loss

    f = compile(step)
    for i in range(reads):
        places = torch.tensor([1, 2, 3])
        if i >= reads - 8:
            places[i % 4 % 3] = 9 if i % 4 < 3 else 4
        try:
            out.append(f(data(5, 3), places))
        except IndexError:
            out.append("an index is out of range")
        out += [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        out += [p.detach().clone() for p in model.parameters()]
    return out


@way("played")
def errors_after_a_backward(compile):
    return _errors_after_a_backward(compile, 14)


@way("played", exactly=False)
def errors_after_a_backward_in_programs(compile):
    return _errors_after_a_backward(compile, 40)


@way("played")
def a_closure_whose_optimizer_counts(compile):
    """Nothing that the closure runs reads what the optimizer keeps."""
    model, x, y = network(), data(5, 3), data(5, 2)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    closure = compile(closure)
    out = [optimizer.step(closure).detach() for _ in range(8)]
    assert len(getattr(closure, "tapes", ["of none"])) == 1
    return [*out, *model.parameters(), *map(str, optimizer.state.values())]


@way("played")
def a_closure_that_reads_the_optimizers_counts(compile):
    model, x, y = network(), data(5, 3), data(5, 2)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=2)

    def closure():
        optimizer.zero_grad()
        kept = optimizer.state[model[0].weight]
        loss = functional.mse_loss(model(x), y) * (1 + kept.get("n_iter", 0) // 6)
        loss.backward()
        return loss

    closure = compile(closure)
    out = []
    for i in range(14):
        step = optimizer.step if i % 2 else (lambda closure: closure())
        out.append(step(closure).detach())
    return [*out, *model.parameters()]
