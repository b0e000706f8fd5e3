"""A traced module changes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import minitorch.torch as library

from .ways import data, network, way

torch: Any = library
nn = torch.nn


@way("played")
def train_and_eval(compile):
    model = network(nn.Dropout(0.5), nn.BatchNorm1d(4))
    f, out = compile(model), []
    for i in range(16):
        model.train(i % 4 < 2)
        out += [f(data(5, 3)), model[3].running_mean.clone(), model[3].num_batches_tracked.clone()]
    return out


@way("played")
def one_layer_in_eval(compile):
    model = network(nn.Dropout(0.5))
    f, out = compile(model), []
    for i in range(12):
        model[2].train(i < 6)
        out.append(f(data(5, 3)))
    return out


@way("played")
def a_changed_attribute(compile):
    model = network(nn.Dropout(0.5))
    f, out = compile(model), []
    for i in range(12):
        model[2].p = 0.5 if i < 6 else 0.1
        out.append(f(data(5, 3)))
    return out


@way("played")
def a_replaced_parameter(compile):
    model = network()
    f, out = compile(model), []
    for i in range(12):
        if i == 6:
            model[0].weight = nn.Parameter(torch.ones(4, 3))
        out.append(f(data(5, 3)))
    return out


@way("played")
def other_memory_for_a_parameter(compile):
    model = network()
    f, out = compile(model), []
    for i in range(12):
        if i == 6:
            model[0].weight.data = torch.ones(4, 3)
        out.append(f(data(5, 3)))
    return out


@way("played")
def a_parameter_written(compile):
    model = network()
    f, out = compile(model), []
    for _ in range(8):
        with torch.no_grad():
            model[0].weight.mul_(1.1)
        out.append(f(data(5, 3)))
    return out


@way("played")
def a_replaced_layer(compile):
    model = network()
    f, out = compile(model), []
    for i in range(12):
        if i == 6:
            model[1] = nn.Tanh()
        out.append(f(data(5, 3)))
    return out


@way("played")
def a_layer_added(compile):
    model = network()
    f, out = compile(model), []
    for i in range(12):
        if i == 6:
            model.append(nn.Sigmoid())
        out.append(f(data(5, 3)))
    return out


@way("played")
def layers_of_a_model_in_another_order(compile):
    model = nn.Sequential(OrderedDict(a=nn.Linear(3, 3), b=nn.Tanh()))
    f, out = compile(model), []
    for i in range(12):
        if i == 6:
            a = model._modules.pop("a")
            model._modules["a"] = a
        out.append(f(data(5, 3)))
    return out


@way("played")
def flipped_requires_grad(compile):
    model = network()
    f, out = compile(model), []
    for i in range(12):
        model[0].requires_grad_(i < 6)
        model.zero_grad()
        f(data(5, 3)).sum().backward()
        out += [p.grad for p in model.parameters()]
    return out


@way("played")
def a_forward_hook_added(compile):
    model = network()
    f, out = compile(model), []
    handle = model[0].register_forward_hook(lambda m, a, y: y)
    for i in range(18):
        if i in (6, 12):
            handle.remove()
        if i == 6:
            handle = model[0].register_forward_hook(lambda m, a, y: y * 2)
        out.append(f(data(5, 3)))
    return out


@way("played")
def a_hook_for_all_modules(compile):
    model = network()
    f, out = compile(lambda x: model(x)), []
    handle = nn.modules.module.register_module_forward_hook(lambda m, a, y: None)
    handle.remove()
    for i in range(12):
        if i == 6:
            handle = nn.modules.module.register_module_forward_hook(lambda m, a, y: y + 1)
        out.append(f(data(5, 3)))
    handle.remove()
    return out


@way("played")
def a_loaded_state(compile):
    model, other = network(), network()
    f, out = compile(model), []
    for i in range(12):
        if i == 6:
            model.load_state_dict(other.state_dict())
        if i == 9:
            model.load_state_dict(other.state_dict(), assign=True)
        out.append(f(data(5, 3)))
    return out


@way("played")
def another_type_of_parameters(compile):
    model = network()
    f, out = compile(model), []
    for i in range(12):
        if i == 6:
            model.double()
        out.append(f(data(5, 3).to(model[0].weight.dtype)))
    return out


@way("played")
def tied_weights(compile):
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    f, out = compile(model), []
    for i in range(12):
        if i == 6:
            model[1].weight = nn.Parameter(torch.eye(3))
        model.zero_grad()
        f(data(5, 3)).sum().backward()
        out += [p.grad for p in model.parameters()]
    return out


@way("played")
def a_buffer_that_forward_writes(compile):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    model = Counting()
    f = compile(model)
    return [f(torch.ones(2)) for _ in range(8)]


@way("eager")
def a_number_that_forward_counts(compile):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    model = Counting()
    f = compile(model)
    return [f(torch.ones(2)) for _ in range(12)] + [model.calls]


@way("eager")
def a_tensor_that_forward_keeps(compile):
    class Remembering(nn.Module):
        def forward(self, x):
            self.last = x * 2
            return self.last + 1

    model = Remembering()
    f, out = compile(model), []
    for _ in range(12):
        out += [f(data(2)), model.last]
    return out


@way("played")
def methods(compile):
    class Net:
        def __init__(self, by):
            self.by = by

        def scaled(self, x):
            return x * self.by

    Net.scaled = compile(Net.scaled)
    nets, out = [Net(2.0), Net(3.0)], []
    for i in range(16):
        nets[0].by = 2.0 + i // 8
        out.append(nets[i % 2].scaled(torch.ones(2)))
    return out
