"""Gradients of a traced function: outside it, within it, twice, with hooks."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch.torch as library

from .lookups import called
from .ways import data, network, way

torch: Any = library


@way("played")
def gradients_outside(compile):
    model = network()
    f, out = compile(model), []
    for i in range(8):
        if i % 3 == 0:
            model.zero_grad()
        x = data(5, 3).requires_grad_()
        f(x).square().mean().backward()
        out += [x.grad, *(p.grad.clone() for p in model.parameters())]
    return out


@way("played")
def a_graph_walked_twice(compile):
    model = network()
    f, out = compile(model), []
    for _ in range(6):
        loss = f(data(5, 3)).square().sum()
        loss.backward(retain_graph=True)
        loss.backward()
        out += [p.grad.clone() for p in model.parameters()]
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
    return out


@way("played")
def second_derivatives(compile):
    f, out = compile(lambda x: (x**3).sum()), []
    for _ in range(6):
        x = data(3).requires_grad_()
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        g.sum().backward()
        out += [g, x.grad]
    return out


@way("played")
def hooks_on_parameters(compile):
    model, noted = network(), []
    f = compile(model)

    def note(g):
        noted.append(g.sum())
        return g * 2

    for i in range(8):
        if i == 4:
            model[0].weight.register_hook(note)
        model.zero_grad()
        f(data(5, 3)).sum().backward()
        noted += [p.grad for p in model.parameters()]
    return noted


@way("played")
def no_grad_outside(compile):
    model = network()
    f, out = compile(model), []
    for i in range(15):
        with torch.set_grad_enabled(i % 3 == 0), torch.inference_mode(i % 3 == 2):
            out.append(f(data(5, 3)))
    return out


@way("played")
def no_grad_inside(compile):
    model = network()

    def f(x):
        with torch.no_grad():
            y = model(x)
        return model(x + y.sum()) * y.detach()

    f, out = compile(f), []
    for _ in range(6):
        model.zero_grad()
        f(data(5, 3)).sum().backward()
        out += [p.grad for p in model.parameters()]
    return out


@way("played")
def a_function_of_its_own(compile):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3 + ctx.saved_tensors[0]

    def step(x, w):
        loss = Double.apply(x * w).sum()
        return torch.autograd.grad(loss, w)[0]

    step, w = compile(step), data(3).requires_grad_()
    return [step(data(3), w) for _ in range(6)]


@way("eager")
def a_function_of_its_own_outside(compile):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    f, out = compile(lambda x: Double.apply(x) + 1), []
    for _ in range(6):
        x = data(3).requires_grad_()
        f(x).sum().backward()
        out.append(x.grad)
    return out


@way("played")
def a_leaf_made_inside(compile):
    def f(x):
        leaf = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(leaf.square().sum(), leaf)
        return x - g

    f = compile(f)
    return [f(data(3)) for _ in range(6)]


@way("eager")
def backward_into_an_older_graph(compile):
    w = data(3).requires_grad_()

    def f(y):
        (y * 2).sum().backward()
        return y.detach() + 1

    f, out = compile(f), []
    for _ in range(6):
        w.grad = None
        out += [f(w * w), w.grad]
    return out


@way("played")
def the_memory_of_a_parameter_alone(compile):
    w, out = data(2).requires_grad_(), []
    f = compile(lambda x: (w.data * x).sum() + (w * 2 * x).sum())
    for _ in range(6):
        w.grad = None
        f(data(2)).backward()
        out.append(w.grad)
    return out


@way("played")
def statistics_and_dropout_before_a_backward_outside(compile):
    model, out = network(torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.4)), []
    f = compile(model)
    for i in range(12):
        first, second = f(data(5, 3)), f(data(5, 3))
        if i % 3 == 0:
            model.zero_grad()
        (first.square().mean() + second.sum()).backward()
        out += [p.grad.clone() for p in model.parameters()]
        out += [b.clone() for b in model.buffers()]
    return out


@way("played")
def results_of_which_one_is_walked(compile):
    a, b = data(3).requires_grad_(), data(3).requires_grad_()
    f, out = compile(lambda x: (a.exp() * x, b.sin() * x, x * 2)), []
    for i in range(14):
        a.grad = b.grad = None
        results = f(data(3))
        if i != 9:
            results[i // 6 % 2].sum().backward()
        if i in (5, 9, 13):
            results[1 - i // 6 % 2].sum().backward()
        out += [*results, a.grad, b.grad]
    return out


@way("played", exactly=False)
def second_derivatives_now_and_then(compile):
    model = network(torch.nn.Dropout(0.4), torch.nn.Tanh())
    f, out = compile(model), []
    for i in range(14):
        model.zero_grad()
        x = data(5, 3).requires_grad_()
        y = f(x).square().sum()
        if i in (8, 11):
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            y = (g.square().sum() - 1) ** 2
        y.backward()
        out += [x.grad, *(p.grad for p in model.parameters())]
    return out


@way("played")
def a_graph_that_is_needed_after_a_write(compile):
    x, out = data(3).requires_grad_(), []
    scale = torch.ones(3)
    f = compile(lambda y: (y * scale).exp())
    for i in range(10):
        scale.fill_(1.5)
        y = f(x)
        if i > 6:
            scale.fill_(2.0)
        try:
            out += torch.autograd.grad(y.sum(), x, create_graph=i == 8)
        except RuntimeError as error:
            out.append("modified by an inplace operation" in str(error))
    return out


@way("played")
def results_with_hooks_and_kept_gradients(compile):
    model, out = network(), []
    f = compile(model)
    for _ in range(8):
        model.zero_grad()
        y = f(data(5, 3))
        y.register_hook(lambda g: g * 3)
        y.retain_grad()
        y.square().sum().backward()
        out += [y.grad, *(p.grad for p in model.parameters())]
    return out


@way("played")
def results_that_are_written(compile):
    model, out = network(torch.nn.Sigmoid()), []
    f = compile(lambda x: model(x).exp())
    for i in range(12):
        model.zero_grad()
        y = f(data(5, 3))
        try:
            if i % 4 == 3:
                y.mul_(2)
            (y * 3 if i % 2 else y.add(1)).sum().backward()
            out += [p.grad for p in model.parameters()]
        except RuntimeError as error:
            out.append("modified by an inplace operation" in str(error))
    return out


@way("played")
def results_that_go_on_as_arguments(compile):
    layer, out = torch.nn.Linear(3, 3), []
    f = compile(lambda x: layer(x).tanh())
    for _ in range(8):
        layer.zero_grad()
        f(f(f(data(5, 3)))).sum().backward()
        out += [p.grad for p in layer.parameters()]
    return out


@way("both")
def hooks_of_modules_that_see_gradients(compile):
    model, noted = network(), []
    f = compile(model)

    def note(module, gradients, behind):
        noted.append(behind[0])

    for i in range(10):
        if i == 5:
            model[2].register_full_backward_hook(note)
        model.zero_grad()
        f(data(5, 3)).sum().backward()
        noted += [p.grad for p in model.parameters()]
    return noted


@way("played")
def gradients_that_lie_in_other_ways(compile):
    model, out = network(), []
    f = compile(model)
    for i in range(24):
        model.zero_grad()
        y = f(data(5, 3))
        g = data(2, 5).T if i % 3 == 0 else data(5, 2) if i % 3 == 1 else torch.ones(1).expand(5, 2)
        y.backward(g)
        out += [p.grad for p in model.parameters()]
    return out


@way("played")
def a_gradient_that_is_another_tensor(compile):
    w, mine = torch.zeros(2), torch.ones(2)

    def change(i):
        w.grad = mine if i < 6 else torch.ones(2)

    return called(compile(lambda x: x * (2.0 if w.grad is mine else 3.0)), change)


@way("played")
def a_gradient_that_is_an_argument(compile):
    w, f, out = torch.zeros(2), compile(lambda x, g: x * (2.0 if w.grad is g else 3.0)), []
    for i in range(12):
        g = torch.ones(2)
        w.grad = g if i < 6 else torch.ones(2)
        out.append(f(torch.ones(2), g))
    return out


@way("played")
def a_gradient_that_two_tensors_have(compile):
    v, w = torch.zeros(2), torch.zeros(2)

    def change(i):
        v.grad = torch.ones(2)
        w.grad = v.grad if i < 6 else torch.ones(2)

    return called(compile(lambda x: x * (2.0 if v.grad is w.grad else 3.0)), change)


@way("played")
def a_gradient_of_an_argument_that_another_argument_is(compile):
    f, out = compile(lambda x, g: x * (2.0 if x.grad is g else 3.0)), []
    for i in range(12):
        x, g = torch.ones(2), torch.ones(2)
        x.grad = g if i < 6 else torch.ones(2)
        out.append(f(x, g))
    return out
