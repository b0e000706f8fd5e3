"""Gradients of a traced function: outside it, within it, twice, with hooks."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch.torch as library

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
