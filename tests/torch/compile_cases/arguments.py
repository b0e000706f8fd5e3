"""What is given to a traced function changes."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np

import minitorch.torch as library

from .ways import data, way

torch: Any = library
nn = torch.nn


@way("played")
def other_values(compile):
    f = compile(lambda x: (x * 2).sin() + 1)
    return [f(data(3)) for _ in range(6)]


@way("played")
def other_shapes(compile):
    f = compile(lambda x: x.reshape(-1) * x.numel())
    return [f(data(*shape)) for shape in [(2, 3), (3, 2), (4,)] * 5]


@way("played")
def other_types(compile):
    f = compile(lambda x: x + 1)
    return [f(data(3).to(kind)) for kind in (torch.float32, torch.float64, torch.int64) * 5]


@way("played")
def other_strides(compile):
    f = compile(lambda x: x.contiguous().view(-1) if x.is_contiguous() else x.t().sum(0))
    return [f(x) for x in (data(2, 3), data(3, 2).t()) * 5]


@way("played")
def numbers_as_arguments(compile):
    f = compile(lambda x, n: x * n)
    return [f(data(3), n) for n in (2, 2.0, True, 2, 2.0, True) * 3]


@way("played")
def minus_zero(compile):
    f = compile(lambda x, n: x * n)
    return [f(torch.ones(2), n) for n in (0.0, -0.0) * 5]


@way("played")
def strings_and_none(compile):
    def f(x, how=None):
        return x.sum() if how == "sum" else x.mean() if how is None else x.prod()

    f = compile(f)
    return [f(data(3), how) for how in ("sum", None, "prod") * 5]


@way("played")
def by_name_or_by_place(compile):
    f = compile(lambda a, b: a - b)
    x, y = data(2), data(2)
    return [g() for g in [lambda: f(x, y), lambda: f(a=x, b=y), lambda: f(b=x, a=y)] * 5]


@way("played")
def nested_arguments(compile):
    f = compile(lambda batch: batch["x"][0] * batch["x"][1] + batch["n"])
    return [f({"x": [data(2), data(2)], "n": i // 5}) for i in range(10)]


@way("played")
def lists_of_other_lengths(compile):
    f = compile(lambda xs: sum(xs))
    return [f([data(2)] * n) for n in (1, 2, 3) * 5]


@way("played")
def keys_of_an_argument_in_another_order(compile):
    f = compile(lambda d: [v * i for i, v in enumerate(d.values())])
    x, y = data(2), data(2)
    return [f(d) for d in ({"a": x, "b": y}, {"b": y, "a": x}) * 5]


@way("played")
def a_number_or_a_tensor(compile):
    f = compile(lambda x, n: x + n)
    return [f(data(2), n) for n in (1, torch.tensor(1), 1.0, torch.tensor(2.0)) * 4]


@way("played")
def one_argument_twice(compile):
    def f(x, y):
        x.add_(1)
        return x * y

    f = compile(f)
    out = []
    for i in range(12):
        x = data(3)
        out += [f(x, x if i % 2 else x.clone()), x]
    return out


@way("played")
def arguments_that_overlap(compile):
    def f(x, y):
        x.mul_(2)
        return x + y

    f = compile(f)
    out = []
    for i in range(15):
        base = data(6)
        x, y = [(base[:3], base[3:]), (base[:3], base[1:4]), (data(3), data(3))][i % 3]
        out += [f(x, y), base]
    return out


@way("played")
def an_argument_that_is_a_parameter(compile):
    model = nn.Linear(2, 2)
    f = compile(lambda x: model(x) * 2)
    return [f(x) for x in (data(2, 2), model.weight.detach(), model.weight) * 5]


@way("played")
def requires_grad_of_arguments(compile):
    f = compile(lambda x: x * 2 if x.requires_grad else x * 3)
    return [f(data(2).requires_grad_(bool(i % 2))) for i in range(10)]


@way("played")
def an_input_changed_in_place(compile):
    def f(x):
        x += 1
        return x.sum()

    f = compile(f)
    x, out = data(3), []
    for _ in range(6):
        out += [f(x), x.clone(), x._version]
    return out


@way("played")
def an_input_returned(compile):
    f = compile(lambda x: (x, x + 1))
    x = data(2)
    return [f(x)[0] is x for _ in range(6)]


@way("played")
def a_view_returned(compile):
    f = compile(lambda x: x[1:].t())
    out = []
    for _ in range(6):
        x = data(3, 2)
        y = f(x)
        y.mul_(10)
        out += [y, x, y._is_view()]
    return out


@way("played")
def dataclass_arguments(compile):
    f = compile(lambda batch: batch.x * batch.scale)
    batch, out = Batch(data(2), 2.0), []
    for i in range(12):
        batch.scale = 2.0 + i // 6
        out.append(f(batch))
    return out


@dataclass
class Batch:
    x: Any
    scale: float


@way("played")
def named_tuples(compile):
    f = compile(lambda p: Pair(p.y, p.x * 2))
    return [f(Pair(data(2), data(2))) for _ in range(6)]


Pair = namedtuple("Pair", "x y")


@way("eager")
def arrays_of_numpy(compile):
    f = compile(lambda a: torch.from_numpy(a) * 2)
    return [f(np.full(2, float(i))) for i in range(6)]


@way("played")
def parts_of_a_larger_tensor(compile):
    data_of_all, out = torch.arange(48.0).reshape(24, 2), []
    f = compile(lambda x: x * 2 + x.sum())
    for i in range(12):
        out.append(f(data_of_all[2 * i : 2 * i + 2]))
    return out


@way("eager")
def parts_that_are_written(compile):
    everything, out = torch.arange(48.0).reshape(24, 2), []
    f = compile(lambda x: x.mul_(2).t())
    for i in range(12):
        out.append(f(everything[2 * i : 2 * i + 2]))
    return [*out, everything]


@way("eager")
def memory_around_a_part(compile):
    everything, out = torch.arange(24.0), []
    f = compile(lambda x: x + x.as_strided((2,), (1,), 3))
    g = compile(lambda x, y: x.sum() + y + y.as_strided((2,), (1,), 3))
    h = compile(lambda x: x + x.as_strided((2,), (1,)))
    for i in range(12):
        part = everything[i : i + 2]
        out += [f(part), g(everything, part), h(part)]
    return out


@way("played")
def parts_of_two_and_the_whole(compile):
    everything, out = torch.arange(48.0).reshape(24, 2), []

    def f(x, y):
        x.add_(1)
        return x * y + everything.sum()

    g = compile(f)
    for i in range(12):
        out.append(g(everything[i // 6 : i // 6 + 2], everything[5:7]))
    return out


@way("played")
def parts_of_what_requires_a_gradient(compile):
    out = []

    def f(x):
        x.mul_(2)
        return x * x.sum()

    g = compile(f)
    for i in range(12):
        w = torch.ones(24, 2, requires_grad=True)
        y = (w * 2)[i // 4 : i // 4 + 2]
        g(y).sum().backward()
        out.append(w.grad)
    return out
