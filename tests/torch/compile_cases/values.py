"""A traced function looks at values, or at the world."""

from __future__ import annotations

import random
import time
from itertools import count
from typing import Any

import numpy as np

import minitorch.torch as library

from .ways import data, way

torch: Any = library
nn = torch.nn


@way("eager")
def an_item(compile):
    f = compile(lambda x: x * x.sum().item())
    return [f(data(2)) for _ in range(6)]


@way("eager")
def a_branch_on_a_value(compile):
    f = compile(lambda x: x * 2 if x.sum() > 0 else x * 3)
    return [f(data(2)) for _ in range(10)]


@way("eager")
def a_loop_over_values(compile):
    def f(x):
        while x.abs().max() > 0.1:
            x = x / 2
        return x

    f = compile(f)
    return [f(data(2)) for _ in range(10)]


@way("eager")
def a_list_of_values(compile):
    f = compile(lambda x: x * len([v for v in x.tolist() if v > 0]))
    return [f(data(5)) for _ in range(10)]


@way("eager")
def numpy_inside(compile):
    f = compile(lambda x: torch.from_numpy(np.sort(x.numpy())) * 2)
    return [f(data(5)) for _ in range(10)]


@way("eager")
def an_index_from_a_tensor(compile):
    f = compile(lambda x, i: x[i])
    return [f(data(5), torch.tensor(i)) for i in (1, 1, 1, 1, 2, 3)]


@way("eager")
def a_slice_up_to_a_tensor(compile):
    f = compile(lambda x, n: x[:n].sum())
    return [f(data(5), torch.tensor(n)) for n in (2, 2, 2, 2, 3, 4)]


@way("played")
def places_from_a_tensor(compile):
    f = compile(lambda x, i: x[i] + x[[0, 1]].sum() if False else x[i])
    return [f(data(5), torch.tensor([n, 0])) for n in (2, 2, 2, 2, 3, 4)]


@way("eager")
def a_mask(compile):
    f = compile(lambda x: x[x > 0] * 2)
    return [f(data(5)) for _ in range(10)]


@way("played")
def a_mask_that_is_written(compile):
    def f(x):
        y = x.clone()
        y[x > 0] = 7.0
        y[0] = 1
        return y

    f = compile(f)
    return [f(data(5)) for _ in range(10)]


@way("eager")
def nonzero(compile):
    f = compile(lambda x: (x > 0).nonzero())
    return [f(data(5)) for _ in range(10)]


@way("eager")
def unique(compile):
    f = compile(lambda x: torch.unique((x * 2).round()))
    return [f(data(5)) for _ in range(10)]


@way("eager")
def a_tensor_of_tensors(compile):
    f = compile(lambda x: torch.tensor([x.sum(), x.max()]))
    return [f(data(5)) for _ in range(10)]


@way("eager")
def equal_tensors(compile):
    f = compile(lambda x, y: x + 1 if torch.equal(x, y) else y)
    x = data(3)
    return [f(x, x.clone() if i != 5 else data(3)) for i in range(8)]


@way("eager")
def a_print(compile):
    def f(x):
        print(end="")
        return x + 1

    f = compile(f)
    return [f(data(2)) for _ in range(6)]


@way("eager")
def pythons_random_numbers(compile):
    f = compile(lambda x: x * random.random())
    return [f(data(2)) for _ in range(6)]


@way("eager")
def numpys_random_numbers(compile):
    f = compile(lambda x: x * np.random.rand())  # noqa: NPY002
    return [f(data(2)) for _ in range(6)]


@way("eager")
def the_clock(compile):
    f = compile(lambda x: x * (time.time() > 0))
    return [f(data(2)) for _ in range(6)]


@way("eager")
def a_list_that_grows(compile):
    kept = []

    def f(x):
        kept.append(x.sum())
        return x + 1

    f = compile(f)
    return [[f(data(2)) for _ in range(10)], kept]


@way("eager")
def an_iterator(compile):
    numbers = count()
    f = compile(lambda x: x * next(numbers))
    return [f(data(2)) for _ in range(6)]


@way("eager")
def a_global_that_it_sets(compile):
    def f(x):
        global COUNTED
        COUNTED += 1
        return x * COUNTED

    global COUNTED
    COUNTED = 0
    f = compile(f)
    return [f(data(2)) for _ in range(6)]


COUNTED = 0


@way("eager")
def a_seed_inside(compile):
    def f(x):
        torch.manual_seed(3)
        return x + torch.rand(2)

    f = compile(f)
    return [f(data(2)) for _ in range(6)]


@way("played")
def random_draws(compile):
    f = compile(lambda x: x + torch.rand(2) + torch.randn(2) + torch.randperm(2))
    return [f(torch.zeros(2)) for _ in range(8)]


@way("played")
def draws_of_a_generator(compile):
    generator, out = torch.Generator().manual_seed(1), []
    f = compile(lambda x: x + torch.rand(2, generator=generator))
    for i in range(10):
        if i == 8:
            generator.manual_seed(1)
        out.append(f(torch.zeros(2)))
    return out


@way("eager")
def a_generator_made_inside(compile):
    f = compile(lambda x: x + torch.rand(2, generator=torch.Generator().manual_seed(1)))
    return [f(torch.zeros(2)) for _ in range(6)]


@way("played")
def another_default_type(compile):
    f, out = compile(lambda x: x + torch.ones(2)), []
    try:
        for i in range(12):
            torch.set_default_dtype(torch.float64 if i % 2 else torch.float32)
            out.append(f(torch.zeros(2, dtype=torch.float32)))
    finally:
        torch.set_default_dtype(torch.float32)
    return out


@way("played")
def numbers_written_down(compile):
    def f(x):
        weights = torch.tensor([1.0, 2.0])
        weights += x
        return weights

    f = compile(f)
    return [f(data(2)) for _ in range(8)]


@way("played")
def a_function_marked_disabled(compile):
    inner = compile(lambda x: x + 1)
    disabled = torch.compiler.disable(lambda x: x * 2)
    outer = compile(lambda x: disabled(inner(x)))
    return [[outer(data(2)) for _ in range(6)], [inner(data(2)) for _ in range(6)]]


@way("played")
def compiled_within_compiled(compile):
    inner = compile(lambda x: x.sin())
    outer = compile(lambda x: inner(x) + inner(x * 2))
    return [outer(data(2)) for _ in range(6)]


@way("played")
def too_many_shapes(compile):
    f = compile(lambda x: x * 2)
    return [f(data(n)) for n in (*range(1, 14), *range(1, 14), *range(1, 14))]


@way("played")
def errors_in_between(compile):
    f, out = compile(lambda x, y: x @ y), []
    for i in range(12):
        try:
            out.append(f(data(2, 3), data(3 + i % 2, 2)))
        except RuntimeError as error:
            out.append(str(error))
    return out


@way("played")
def an_index_that_is_out_of_range(compile):
    table = nn.Embedding(4, 2)
    f, out = compile(lambda i: table(i)), []
    for i in (0, 1, 2, 3, 4, 1):
        try:
            out.append(f(torch.tensor([i])))
        except IndexError as error:
            out.append(str(error))
    return out


@way("played")
def constants_that_are_written(compile):
    def f(x):
        ones = torch.ones(3)
        total = (ones * 2 + x).sum()
        view = ones[1:]
        view += total
        kept = torch.zeros(2) + 1
        return ones, kept, torch.full((2,), 3.0).neg()

    f, out = compile(f), []
    for _ in range(6):
        results = f(data(3))
        out += [r.clone() for r in results]
        for r in results:
            r.mul_(5)
    return out


@way("played")
def gradients_that_are_written(compile):
    model = torch.nn.Linear(3, 3)

    def f(x):
        model.zero_grad()
        model(x).square().sum().backward()
        return [p.grad for p in model.parameters()]

    f, out = compile(f), []
    for _ in range(6):
        grads = f(data(2, 3))
        out += [g.clone() for g in grads]
        for g, p in zip(grads, model.parameters(), strict=True):
            g.zero_()
            out.append(p.grad.clone())
    return out


@way("played")
def tables_that_follow_from_sizes(compile):
    functional = torch.nn.functional

    def f(x):
        wider = functional.interpolate(x, scale_factor=2, mode="bilinear")
        padded = functional.pad(functional.interpolate(x, size=3), (1, 1, 1, 1), mode="reflect")
        return (wider.sum() + padded.square().sum() + x.repeat_interleave(2, 0).sum()) * torch.linspace(0, 1, 3)  # fmt: skip

    f, out = compile(f), []
    for i in range(12):
        x = torch.full((1, 2, 4, 4 + i // 6), 0.1 * i, requires_grad=True)
        f(x).sum().backward()
        out.append(x.grad)
    return out


@way("played")
def draws_by_the_values_of_others(compile):
    functional = torch.nn.functional
    f = compile(lambda x: (torch.bernoulli(x.sigmoid()), functional.gumbel_softmax(x, dim=0)))
    return [f(torch.full((4,), float(i))) for i in range(8)]


@way("played")
def classes_that_are_counted(compile):
    functional, out = torch.nn.functional, []
    f = compile(lambda i: functional.one_hot(i, 3).float())
    for i in range(10):
        try:
            out.append(f(torch.tensor([0, i % 4])))
        except RuntimeError as error:
            out.append(str(error))
    return out


@way("played")
def variances_that_are_checked(compile):
    f, out = compile(lambda x, v: torch.nn.functional.gaussian_nll_loss(x, x * 0, v)), []
    for i in range(10):
        try:
            out.append(f(torch.full((2,), float(i)), torch.tensor([1.0, -1.0 if i == 7 else 2.0])))
        except ValueError as error:
            out.append(str(error))
    return out
