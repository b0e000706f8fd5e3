"""`torch.fx`: the same programs are traced, changed and run in both libraries, and graphs and code are equal."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from types import SimpleNamespace
from typing import Any

import pytest
import torch as real
import torch.fx as real_fx
import torch.fx.passes.shape_prop as real_shapes

import minitorch.torch as ours
import minitorch.torch.fx as our_fx
import minitorch.torch.fx.passes.shape_prop as our_shapes

LIBRARIES = [
    SimpleNamespace(torch=ours, fx=our_fx, shapes=our_shapes, nn=ours.nn, name="ours"),
    SimpleNamespace(torch=real, fx=real_fx, shapes=real_shapes, nn=real.nn, name="pytorch"),
]


def network(lib: Any) -> Any:
    """A module that does a bit of everything."""
    torch, nn = lib.torch, lib.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.first = nn.Linear(3, 4)
            self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))
            self.scale = nn.Parameter(torch.ones(2))
            self.register_buffer("shift", torch.full((2,), 0.5))
            self.constant = torch.arange(2.0)

        def forward(self, x, y=2, *, k=None):  # noqa: ANN001, ANN202
            z = self.rest(self.first(x)) + self.scale * y
            z = torch.cat([z, z + self.shift], dim=1)
            z = z.view(z.size(0), -1).t()[0:1, ..., None]
            n = z.shape[0]
            q = -z @ z.transpose(1, 0).transpose(2, 1)
            q = ((2 - q**2) // 3 % 2 < 1).to(torch.float32)
            q = torch.add(q, 1, alpha=2).masked_fill(q > 0, float("inf")) * self.constant[1]
            a, b = q.split(1)[0], z
            return {"a": a, "b": (math.sqrt(2) * b, n)}

    return Network()


@pytest.mark.parametrize("what", ["code", "graph", "module", "readable"])
def test_the_text_of_a_graph_is_pytorchs(what: str) -> None:
    texts = []
    for lib in LIBRARIES:
        traced = lib.fx.symbolic_trace(network(lib))
        texts.append({"code": traced.code, "graph": str(traced.graph), "module": str(traced),
                      "readable": traced.print_readable(print_output=False)}[what])  # fmt: skip
    assert texts[0] == texts[1]


def test_a_traced_module_computes_the_same() -> None:
    model = network(LIBRARIES[0])
    traced = our_fx.symbolic_trace(model)
    x = ours.randn(5, 3)
    for form in (
        traced,
        copy.deepcopy(traced),
        pickle.loads(pickle.dumps(traced)),
        our_fx.Transformer(traced).transform(),
    ):
        found, expected = form(x, 3), model(x, 3)
        assert ours.equal(found["a"], expected["a"])
        assert ours.equal(found["b"][0], expected["b"][0])
        assert form.state_dict().keys() >= {"first.weight", "scale", "shift"}
    found = our_fx.Interpreter(traced).run(x, 3)
    assert ours.equal(found["a"], model(x, 3)["a"])
    assert traced.scale is model.scale


FUNCTIONS = """
lambda x: x[x.shape[0]]
lambda *a, **k: a[0] + k["x"]
lambda x: torch.relu(x).sum(dim=0).item()
lambda x, y=(1, 2): [x.T, {"k": x}, None, y]
lambda x: torch.zeros(3, device=torch.device("cpu"), dtype=torch.int64) + x
lambda x: operator.iadd(x, 1) & ~x
lambda x: x if x else 2
lambda x: [i for i in x]
lambda x: len(x)
lambda x: int(x)
lambda x: x.size()[0] * 2 + math.floor(x)
lambda x: x.nn + getattr(x, "a b")
lambda x: {x: 1}
lambda x: torch.stack((x, x), -1).max(1)
"""


@pytest.mark.parametrize("text", [t for t in FUNCTIONS.split("\n") if t])
def test_functions_are_traced_as_pytorch_traces_them(text: str) -> None:
    found = []
    for lib in LIBRARIES:
        fn = eval(text, {"torch": lib.torch, "operator": operator, "math": math})
        try:
            found.append(lib.fx.symbolic_trace(fn).code)
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    assert found[0] == found[1]


def test_values_of_arguments_can_be_fixed() -> None:
    codes = []
    for lib in LIBRARIES:

        def fn(x: Any, y: Any, z: Any = None) -> Any:
            a, b = x
            return a + b + y if z is None else a

        traced = lib.fx.symbolic_trace(fn, concrete_args={"y": 2})
        codes.append(
            lib.fx.symbolic_trace(lambda x, y: x if y else -x, concrete_args={"y": True}).code
        )
        with pytest.raises(AssertionError, match="specialized"):
            traced((1, 2), 3)
    assert codes[0] == codes[1]


def _mixed(torch: Any) -> Any:
    return lambda x, y: torch.relu(x + y) * (x - y)


def _sums(torch: Any) -> Any:
    return lambda x, w1, w2: (torch.cat([w1, w2]).sum() + x + torch.cat([w2, w1]).sum()).relu()


def _sum_and_stack(torch: Any) -> Any:
    return lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b])


def _linear_as_leaf(lib: Any) -> Any:
    class Everything(lib.fx.Tracer):
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return isinstance(m, lib.nn.Linear)

    return Everything()


def _negating(lib: Any) -> Any:
    class Negate(lib.fx.Transformer):
        def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
            return lib.torch.neg(super().call_module(target, args, kwargs))

    return Negate


def test_graphs_are_changed() -> None:
    texts = []
    for lib in LIBRARIES:
        torch: Any = lib.torch
        traced = lib.fx.symbolic_trace(_mixed(torch))
        for node in traced.graph.nodes:
            if node.op == "call_function" and node.target is operator.add:
                with traced.graph.inserting_after(node):
                    new = traced.graph.call_function(torch.mul, node.args)
                    node.replace_all_uses_with(new)
                traced.graph.erase_node(node)
            if node.target is operator.sub:
                node.target = operator.truediv
                node.update_arg(1, 3)
        traced.graph.lint()
        with traced.graph.inserting_before(traced.graph.output_node()):
            traced.graph.call_method("neg", (next(iter(traced.graph.nodes)),))
        assert traced.graph.eliminate_dead_code()
        traced.recompile()
        texts.append(
            (traced.code, str(traced.graph), float(traced(torch.tensor(3.0), torch.tensor(2.0))))
        )
        with pytest.raises(RuntimeError, match="still had"):
            traced.graph.erase_node(next(iter(traced.graph.nodes)))
        with pytest.raises((TypeError, NotImplementedError), match="mutation"):
            traced.graph.output_node().kwargs["a"] = 1
    assert texts[0] == texts[1]


def test_patterns_are_replaced() -> None:
    texts = []
    for lib in LIBRARIES:
        torch = lib.torch
        traced = lib.fx.symbolic_trace(_sums(torch))
        matches = lib.fx.replace_pattern(traced, *_sum_and_stack(torch))
        traced.graph.lint()
        texts.append((len(matches), traced.code))
    assert texts[0] == texts[1]


def test_custom_tracers_and_interpreters() -> None:
    texts = []
    for lib in LIBRARIES:
        nn = lib.nn
        model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.Linear(2, 2))
        graph = _linear_as_leaf(lib).trace(model)
        made = lib.fx.GraphModule(model, graph)
        stacks = [str(n.meta.get("nn_module_stack", "")).count("torch.nn") for n in graph.nodes]
        texts.append((made.code, _negating(lib)(made).transform().code, stacks))
    assert texts[0][:2] == texts[1][:2]
    assert texts[0][2] == texts[1][2]


def test_shapes_are_noted() -> None:
    found = []
    for lib in LIBRARIES:
        traced = lib.fx.symbolic_trace(lib.nn.Sequential(lib.nn.Conv2d(3, 4, 3), lib.nn.Flatten()))
        lib.shapes.ShapeProp(traced).propagate(lib.torch.ones(2, 3, 5, 5))
        found.append([str(n.meta["tensor_meta"]) for n in traced.graph.nodes])
    assert found[0] == found[1]


def test_a_graph_without_memory_has_shapes() -> None:
    with ours.device("meta"):
        model = ours.nn.Sequential(ours.nn.Linear(10_000, 50_000), ours.nn.ReLU())
    traced = our_fx.symbolic_trace(model)
    our_shapes.ShapeProp(traced).propagate(ours.empty(8, 10_000, device="meta"))
    assert [tuple(n.meta["tensor_meta"].shape) for n in traced.graph.nodes][1:] == [(8, 50_000)] * 3


def test_modules_of_a_graph_module() -> None:
    traced = our_fx.symbolic_trace(network(LIBRARIES[0]))
    assert traced.add_submodule("rest.more", ours.nn.ReLU())
    assert isinstance(traced.rest.more, ours.nn.ReLU)
    traced.delete_all_unused_submodules()
    assert {n for n, _ in traced.named_modules()} == {"", "first", "rest", "rest.0", "rest.1"}
    assert not traced.delete_submodule("rest.more")
