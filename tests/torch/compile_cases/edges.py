"""What lies at the edge of a tape: scaled losses, casts that are kept, masks, arrays of NumPy, and errors half way."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch.torch as library

from .ways import data, network, way

torch: Any = library


def _scaled(compile, calls):
    """Steps with a scaled loss, some of which are left out, since gradients are not finite."""
    model, out = network(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=3)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        return loss

    step = compile(step)
    for i in range(calls):
        x = data(5, 3)
        if i in (6, calls - 3):
            x[0, 0] = float("inf")
        out += [step(x), scaler.get_scale(), *(p.clone() for p in model.parameters())]
    return out


@way("played")
def a_scaled_loss(compile):
    return _scaled(compile, 14)


@way("played", exactly=False)
def a_scaled_loss_in_programs(compile):
    return _scaled(compile, 40)


@way("played")
def a_loss_that_is_scaled_outside(compile):
    model, out = network(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=3)
    f = compile(model)
    for i in range(12):
        x = data(5, 3)
        if i == 8:
            x[0, 0] = float("inf")
        optimizer.zero_grad()
        scaler.scale(f(x).square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        out += [scaler.get_scale(), *(p.clone() for p in model.parameters())]
    return out


@way("played")
def casts_that_are_kept_within_a_step(compile):
    model, out = network(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = (model(x) + model(x * 2)).float().square().mean()
        loss.backward()
        optimizer.step()
        return loss

    step = compile(step)
    for _ in range(8):
        out += [step(data(5, 3)), *(p.clone() for p in model.parameters())]
    return out


@way("played")
def casts_that_are_kept_around_a_call(compile):
    model, out = network(), []
    f = compile(model)
    for i in range(12):
        with torch.no_grad():
            model[0].weight.mul_(1.1)
        model.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=i % 3 != 2):
            y = f(data(5, 3))
            out.append(f(data(5, 3)).detach() if i % 2 else y)
        y.float().sum().backward()
        out += [y, *(p.grad for p in model.parameters())]
    return out


@way("eager")
def a_mask_from_outside(compile):
    f = compile(lambda x, mask: x[mask].sum() + x.masked_select(mask).mean())
    return [f(data(6), torch.arange(6) % (2 + i % 3) == 0) for i in range(10)]


@way("played")
def masks_that_keep_the_shape(compile):
    def f(x, mask):
        y = torch.where(mask, x, -x).masked_fill(~mask, 0.5)
        y[mask] = 2.0
        return y * mask

    f = compile(f)
    return [f(data(6), torch.arange(6) % (2 + i % 3) == 0) for i in range(10)]


@way("played")
def values_at_a_mask(compile):
    def f(x, mask, values):
        y = x.clone()
        y[mask] = values
        return y

    f = compile(f)
    return [f(data(6), torch.arange(6) % (2 + i % 2) == 0, data(3 - i % 2)) for i in range(10)]


@way("eager")
def arrays_of_numpy_as_arguments(compile):
    f = compile(lambda x, a: x + torch.from_numpy(a))
    return [f(data(3), np.full(3, i, np.float32)) for i in range(8)]


@way("eager")
def an_array_that_is_written_between_calls(compile):
    a, out = np.zeros(3, np.float32), []
    f = compile(lambda x: x + torch.as_tensor(a))
    for i in range(8):
        a[:] = i
        out.append(f(data(3)))
    return out


@way("played")
def numbers_of_numpy_as_arguments(compile):
    f = compile(lambda x, n: x * n)
    return [f(data(3), n) for n in (np.float32(2), np.float64(3), np.int64(2), np.float32(4)) * 3]


@way("played")
def lists_as_indices(compile):
    places, out = [0, 2], []
    f = compile(lambda x: x[places] + x[[1, 0]] * x[:, [0, 1]][[0, 1]].sum())
    for i in range(12):
        if i == 6:
            places[1] = 1
        out.append(f(data(3, 3)))
    return out


@way("played")
def places_that_are_written(compile):
    def f(x, i):
        x[[0, 1]] = 0.0
        x[i] += 1
        return x

    f = compile(f)
    return [f(data(4), torch.tensor([n % 4, 3])) for n in range(8)]


@way("played")
def an_error_in_the_middle(compile):
    model, table = network(), torch.nn.Embedding(4, 3)
    optimizer = torch.optim.SGD([*model.parameters(), *table.parameters()], lr=0.1)
    calls, out = torch.zeros(()), []

    def step(i, target):
        optimizer.zero_grad()
        calls.add_(1)
        loss = torch.nn.functional.cross_entropy(model(table(i)), target)
        loss.backward()
        optimizer.step()
        return loss

    step = compile(step)
    for i, t in ((0, 0), (1, 1), (2, 1), (3, 0), (4, 0), (3, 0), (3, 2), (2, 1), (1, -5), (1, 1)):
        try:
            out.append(step(torch.tensor([i, 0]), torch.tensor([t, 0])))
        except IndexError as error:
            out.append(str(error))
        out += [calls.clone(), *(p.clone() for p in model.parameters())]
        out += [p.grad for p in model.parameters()]
    return out


@way("played")
def an_error_after_gradients_were_added_up(compile):
    layer, table, out = torch.nn.Linear(3, 2), torch.nn.Embedding(4, 3), []

    def step(x, i):
        layer(x).sum().backward()
        with torch.no_grad():
            return table(i)

    step = compile(step)
    for i in (0, 1, 2, 3, 1, 4, 2, 5, 0, 1):
        try:
            out.append(step(data(4, 3), torch.tensor([i])))
        except IndexError as error:
            out.append(str(error))
        out += [p.grad.clone() for p in layer.parameters()]
    return out


@way("played")
def an_error_of_the_program(compile):
    calls, out = torch.zeros(2), []

    def f(x, bad):
        calls.add_(1)
        if bad:
            raise ValueError("bad")
        return x * calls

    f = compile(f)
    for i in range(12):
        try:
            out.append(f(data(2), i % 4 == 3))
        except ValueError as error:
            out.append(str(error))
        out.append(calls.clone())
    return out
