"""Globals, closures, classes and functions that a traced function names change."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import minitorch.torch as library

from .ways import data, way

torch: Any = library
nn = torch.nn
functional = torch.nn.functional


SCALE = 1.0
SETTINGS = {"depth": 1, "names": ["a"]}


@way("played")
def a_global_number(compile):
    global SCALE
    f, out = compile(lambda x: x * SCALE), []
    for i in range(12):
        SCALE = float(i // 6)
        out.append(f(torch.ones(2)))
    return out


@way("played")
def a_global_dictionary(compile):
    f, out = compile(lambda x: x * SETTINGS["depth"] + len(SETTINGS["names"])), []
    for i in range(12):
        SETTINGS["depth"] = i // 6
        if i == 9:
            SETTINGS["names"].append("b")
        out.append(f(torch.ones(2)))
    SETTINGS["names"] = ["a"]
    return out


@way("played")
def a_variable_of_the_enclosing_function(compile):
    scale, out = 1, []
    f = compile(lambda x: x * scale)
    for i in range(12):
        scale = i // 6
        out.append(f(torch.ones(2)))
    return out


@way("played")
def a_tensor_of_the_enclosing_function(compile):
    w, out = torch.ones(2), []
    f = compile(lambda x: x * w)
    for i in range(12):
        if i == 6:
            w = torch.full((2,), 5.0)
        w += 1
        out.append(f(torch.ones(2)))
    return out


@way("played")
def default_arguments(compile):
    def f(x, by=(2, 3)):
        return x * by[0] + by[1]

    g, out = compile(f), []
    for i in range(12):
        if i == 6:
            f.__defaults__ = ((7, 8),)
        out.append(g(torch.ones(2)))
    return out


@way("played")
def a_function_that_it_calls(compile):
    tools, out = SimpleNamespace(act=torch.relu), []
    f = compile(lambda x: tools.act(x) + _helper(x))
    for i in range(12):
        if i == 6:
            tools.act = torch.tanh
        out.append(f(data(2)))
    return out


def _helper(x):
    return x * HELP


HELP = 2.0


@way("played")
def a_global_of_a_function_that_it_calls(compile):
    global HELP
    f, out = compile(lambda x: _helper(x) + 1), []
    for i in range(12):
        HELP = float(i // 6)
        out.append(f(torch.ones(2)))
    return out


@way("played")
def an_attribute_of_a_class(compile):
    class Scaler:
        by = 2.0

        def __call__(self, x):
            return x * self.by

    scaler, out = Scaler(), []
    f = compile(lambda x: scaler(x))
    for i in range(18):
        if i == 6:
            Scaler.by = 3.0
        if i == 12:
            scaler.by = 4.0
        out.append(f(torch.ones(2)))
    return out


@way("played")
def a_method_replaced(compile):
    class Net(nn.Module):
        def forward(self, x):
            return x + 1

    net, out = Net(), []
    f = compile(lambda x: net(x))
    for i in range(18):
        if i == 6:
            Net.forward = lambda self, x: x + 2
        if i == 12:
            net.forward = lambda x: x + 3
        out.append(f(torch.ones(2)))
    return out


@way("played")
def names_looked_up_while_running(compile):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w0, self.w1 = 1.0, 2.0

        def forward(self, x):
            for i in range(2):
                x = x * getattr(self, f"w{i}")
            return x

    net, out = Net(), []
    f = compile(net)
    for i in range(12):
        net.w1 = float(i // 6)
        out.append(f(torch.ones(2)))
    return out


@way("played")
def a_set_and_a_deque(compile):
    names, queue, out = {"a"}, deque([1.0], maxlen=3), []
    f = compile(lambda x: x * len(names) + sum(queue))
    for i in range(18):
        if i == 6:
            names.add("b")
        if i == 12:
            queue.append(5.0)
        out.append(f(torch.ones(2)))
    return out


@way("played")
def a_library_function_replaced(compile):
    f, out, relu = compile(lambda x: functional.relu(x)), [], functional.relu
    try:
        for i in range(12):
            if i == 6:
                functional.relu = lambda x: x * 100
            out.append(f(data(2)))
    finally:
        functional.relu = relu
    return out
