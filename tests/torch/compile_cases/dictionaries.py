"""Dictionaries that change: in all ways that Python has, in order only, and those of objects, optimizers and tensors."""

from __future__ import annotations

import functools
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import minitorch.torch as library

from .lookups import called
from .ways import data, network, way

torch: Any = library
nn = torch.nn


class Box:
    scale: float


def set_in_place(d, value):
    d |= {"scale": value}


CHANGES: tuple[Any, ...] = (
    lambda d, value: d.__setitem__("scale", value),
    lambda d, value: d.update(scale=value),
    lambda d, value: (d.pop("scale"), d.setdefault("scale", value)),
    lambda d, value: (d.popitem(), d.update({"scale": value})),
    lambda d, value: (d.clear(), d.update(scale=value)),
    lambda d, value: (d.__delitem__("scale"), d.__setitem__("scale", value)),
    lambda d, value: dict.__setitem__(d, "scale", value),
    set_in_place,
)


@way("played")
def a_dictionary_changed_in_every_way(compile):
    out = []
    for change in CHANGES:
        settings = {"scale": 0.0}
        f = compile(lambda x, s=settings: x * s["scale"])
        out += called(f, lambda i, s=settings, c=change: c(s, float(i // 6)) if i % 6 == 0 else 0)
    return out


def in_order(compile, settings, change):
    """A function that uses all values of a dictionary in order."""

    def f(x):
        for value in settings.values():
            x = x * 2 + value
        return x

    return called(compile(f), lambda i: change(settings) if i == 6 else None)


@way("played")
def keys_in_another_order(compile):
    return in_order(compile, {"a": 1.0, "b": 3.0}, lambda d: d.update(a=d.pop("a")))


@way("played")
def an_ordered_dictionary_in_another_order(compile):
    return in_order(compile, OrderedDict(a=1.0, b=3.0), lambda d: d.move_to_end("a"))


@way("played")
def layers_in_another_order(compile):
    layers = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Tanh()})

    def f(x):
        for layer in layers.values():
            x = layer(x)
        return x

    def change(i):
        if i == 6:
            layers._modules["a"] = layers._modules.pop("a")

    return called(compile(f), change)


@way("played")
def a_key_renamed(compile):
    settings = {"a": 1.0}

    def change(i):
        if i == 6:
            settings["long"] = settings.pop("a")

    return called(compile(lambda x: x * len(next(iter(settings)))), change)


@way("played")
def empty_dictionaries_that_are_filled(compile):
    out = []
    for kind in (dict, OrderedDict):
        found = kind()
        f = compile(lambda x, found=found: x * (len(found) + 1))
        out += called(f, lambda i, found=found: found.update(key=1) if i == 6 else None)
    return out


@way("played")
def a_dictionary_changed_and_changed_back(compile):
    settings = {"scale": 1.0}
    f, out = compile(lambda x: x * settings["scale"]), []
    for i in range(24):
        settings["scale"] = 2.0
        settings["scale"] = 2.0 if i % 8 == 7 else 1.0
        out.append(f(torch.ones(2)))
    return out


@way("played")
def an_attribute_set_by_one_statement(compile):
    box = SimpleNamespace(scale=0.0, other=0)
    module = nn.Module()

    def change(i):
        for k in range(40):  # Python makes such statements quicker after some turns
            box.other = module.other = k
            box.scale = module.scale = float(i // 6)

    return called(compile(lambda x: x * box.scale + module.scale), change)


@way("played")
def another_dictionary_of_attributes(compile):
    box, model = Box(), network()
    box.scale = model.scale = 1.0

    def change(i):
        if i == 4:
            box.__dict__ = {"scale": 3.0}
        if i == 8:
            model.__dict__ = {**model.__dict__, "scale": 2.0}

    given = [data(2, 3) for _ in range(12)]
    return called(compile(lambda x: model(x) * model.scale * box.scale), change, given.__getitem__)


# --- Optimizers and tensors ----------------------------------------------------------------------


def trained(compile, change):
    """Steps of Adam with a change of its state before the seventh."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()

    f, x = compile(step), data(2, 3)
    for i in range(12):
        if i == 6:
            change(optimizer, optimizer.state[model[0].weight])
        f(x)
    return list(model.parameters())


@way("played")
def the_memory_of_a_state(compile):
    def change(_, state):
        state["exp_avg"].data = torch.ones(4, 3)

    return trained(compile, change)


@way("played")
def a_state_replaced(compile):
    return trained(compile, lambda _, state: state.update(exp_avg=torch.ones(4, 3)))


@way("played")
def a_count_set_back(compile):
    return trained(compile, lambda _, state: state["step"].fill_(1.0))


@way("played")
def a_group_with_a_rate_of_zero(compile):
    return trained(compile, lambda optimizer, _: optimizer.param_groups[0].update(lr=0.0))


@way("played")
def a_found_tensor_that_gets_a_gradient(compile):
    found = torch.ones(2)

    def change(i):
        if i == 6:
            found.grad = torch.ones(2)

    return called(compile(lambda x: x * (1.0 if found.grad is None else 2.0)), change)


@way("played")
def a_found_tensor_that_requires_a_gradient_and_has_a_hook(compile):
    found, out = torch.ones(2), []

    def f(x):
        loss = (x * found).sum()
        if found.requires_grad:
            loss.backward()
        return loss.detach()

    f = compile(f)
    for i in range(18):
        if i == 6:
            found.requires_grad_()
        if i == 12:
            found.register_hook(lambda g: g * 3)
        out.append(f(torch.ones(2)))
        if found.grad is not None:
            out.append(found.grad.clone())
            found.grad = None
    return out


# --- Functions that keep results -----------------------------------------------------------------


@way("played")
def a_cache_that_is_cleared_and_filled_again(compile):
    out = []
    for size in (None, 4):
        box = SimpleNamespace(scale=1.0)

        @functools.lru_cache(size)
        def kept(key, box=box):
            return box.scale * key

        def change(i, kept=kept, box=box):
            if i == 6:
                box.scale = 5.0
                kept.cache_clear()
                for key in range(20, -1, -1):
                    kept(key / 4)
                box.scale = 1.0

        out += called(compile(lambda x, kept=kept: x * kept(2.0) + kept(1.0)), change)
    return out
