"""`torch.compile(backend=a function)`: it is given the graph that PyTorch's backends are given, and its answer is what runs."""

import operator
import warnings

import numpy as np
import pytest
import torch as pytorch

import minitorch.torch as torch

SCALE = 2.0


def functions(t):
    return (lambda x, y: t.sin(x) + t.cos(y)), lambda: (t.ones(4), t.ones(4))


def methods_and_operators(t):
    def f(x, n):
        a, _ = x.max(0)
        b = x[0] * n - 1
        return {"a": a, "n": n}, (2 - b) @ x, (-x).clamp(min=0.5) / 3, x.shape[1]

    return f, lambda: (t.arange(9.0).reshape(3, 3), 3)


def without_gradients(t):
    def f(x, y):
        with t.no_grad():
            a = x.exp()
        return a * y["one"], [y["two"][0] ** 2]

    return f, lambda: (t.ones(2, requires_grad=True), {"one": t.ones(2), "two": (t.ones(2),)})


def module(t):
    t.manual_seed(0)
    net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.ReLU(), t.nn.Dropout(0.5))
    return net.double(), lambda: (t.sin(t.arange(24.0)).reshape(8, 3).double(),)


def written(t):
    def f(x, y):
        x.add_(1)
        y += x
        return t.cat([x, y]).sum(), t.rand(2) + x.mean()

    return f, lambda: (t.zeros(3), t.ones(3))


CASES = [functions, methods_and_operators, without_gradients, module, written]


def described(gm):
    return [
        (n.op, n.target if isinstance(n.target, str) else n.target.__name__)
        for n in gm.graph.nodes
        if n.op != "placeholder"
    ]


def leaves(value):
    if hasattr(value, "detach"):
        return [value.detach().numpy()]
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, (list, tuple)) else [value]  # fmt: skip


def tried(t, case):
    """Graphs, results and what was written, of three calls."""
    graphs, found = [], []

    def backend(gm, inputs):
        graphs.append((described(gm), len(inputs), type(gm).__name__))
        return gm.forward

    function, arguments = case(t)
    compiled = t.compile(function, backend=backend)
    t.manual_seed(3)
    for _ in range(3):
        args = arguments()
        result = compiled(*args)
        found += leaves(result) + leaves(args)
        if isinstance(function, t.nn.Module):
            result.sum().backward()
            found += [p.grad.numpy().copy() for p in function.parameters()]
            found += [b.numpy().copy() for b in function.buffers()]
    return graphs, found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_graphs_and_results_are_those_of_pytorch(case):
    ours, theirs = tried(torch, case), tried(pytorch, case)
    assert ours[0] == theirs[0]
    for a, b in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_what_a_backend_makes_of_the_graph_runs_from_the_first_call_on():
    def product(gm, inputs):
        for node in gm.graph.nodes:
            if node.target is operator.add:
                node.target = operator.mul
        gm.recompile()
        return gm

    f = torch.compile(lambda x, y: x + y, backend=product)
    for _ in range(3):
        assert f(torch.full((2,), 3.0), torch.full((2,), 4.0)).tolist() == [12.0, 12.0]


def test_a_graph_is_captured_anew_for_other_shapes_and_other_values_around_it():
    global SCALE
    shapes = []

    def backend(gm, inputs):
        shapes.append(tuple(inputs[0].shape))
        return gm

    f = torch.compile(lambda x: x * SCALE, backend=backend)
    assert [f(torch.ones(n)).sum().item() for n in (2, 3, 2)] == [4.0, 6.0, 4.0]
    SCALE = 5.0
    try:
        assert f(torch.ones(2)).sum().item() == 10.0
    finally:
        SCALE = 2.0
    assert shapes == [(2,), (3,), (2,)]


def test_what_the_call_keeps_is_kept_once():
    seen = []

    def f(x):
        seen.append(1)
        return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g = torch.compile(f, backend=lambda gm, inputs: gm)
        for n in range(1, 5):
            g(torch.ones(2))
            assert len(seen) == n


def test_what_is_no_graph_stays_eager_and_says_why():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 7

    def own(x):
        return Twice.apply(x)

    def reads(x):
        return x * 2 if x.sum() > 0 else x

    def cast(x):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x

    for fn, words in ((own, "backward of its own"), (reads, "values"), (cast, "settings")):
        x = torch.ones(2, 2, requires_grad=True)
        fn(x)  # loads what it needs
        with pytest.warns(UserWarning, match=words):
            torch.compile(fn, backend=lambda gm, inputs: gm)(x)
        with pytest.raises(torch._dynamo.exc.Unsupported, match=words):
            torch.compile(fn, backend=lambda gm, inputs: gm, fullgraph=True)(x)


def test_backends_have_names_and_options():
    @torch._dynamo.register_backend
    def counted(gm, inputs, mode=None, options=None):
        given.append((mode, options))
        return gm

    given = []
    assert "counted" in torch._dynamo.list_backends()
    torch.compile(torch.sin, backend="counted")(torch.ones(2))
    torch.compile(torch.sin, backend="counted", mode="reduce-overhead")(torch.ones(2))
    torch.compile(torch.sin, backend=counted, options={"a": 1})(torch.ones(2))
    assert given == [(None, None), ("reduce-overhead", None), (None, {"a": 1})]
    with pytest.raises(torch._dynamo.exc.InvalidBackend):
        torch.compile(torch.sin, backend="nobody")
