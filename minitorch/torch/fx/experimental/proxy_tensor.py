"""`make_fx`: a function as a graph of Torch's own operations, with its backward where it has one.

>>> import minitorch.torch as torch
>>> traced = make_fx(lambda x: (x.sin() * 2).sum())(torch.ones(3))
>>> print(traced.code.strip())
def forward(self, x_1):
    sin = torch.ops.aten.sin.default(x_1);  x_1 = None
    mul = torch.ops.aten.mul.Tensor(sin, 2);  sin = None
    sum_1 = torch.ops.aten.sum.default(mul);  mul = None
    return sum_1
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...nn.modules.module import Module
from ...tensor import Tensor
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten
from ..graph_module import GraphModule
from ..recording import Recorder


def make_fx(
    f: Callable[..., Any],
    decomposition_table: dict[Any, Any] | None = None,
    tracing_mode: str = "real",
    **_: Any,
) -> Callable[..., GraphModule]:
    """A function that runs `f` once on its arguments and returns what it computed as a module with a graph.

    Args:
        f: a function or module of tensors
        decomposition_table: must be empty: operations are those of this library
        tracing_mode: "real", "fake" or "symbolic": sizes are those of the arguments in each of them
    """
    if decomposition_table:
        raise NotImplementedError("make_fx: decomposition_table must be empty")
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"Unexpected tracing type: {tracing_mode}")

    def trace(*args: Any) -> GraphModule:
        leaves, structure = tree_flatten(args)
        recorder = Recorder()
        given = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        for leaf, original in zip(given, leaves, strict=True):
            if isinstance(leaf, Tensor):
                leaf.requires_grad_(original.requires_grad)
        for name, leaf in zip(_names(f, args, len(leaves)), given, strict=True):
            if isinstance(leaf, Tensor):
                recorder.place(f"{name}_1", leaf)
            else:
                recorder.graph.placeholder(f"{name}_1")
        with recorder.recording():
            result = f(*tree_unflatten(given, structure))
        recorder.graph.output(tree_map(_returned(recorder), result))
        recorder.graph.eliminate_dead_code()
        return GraphModule(recorder.constants, recorder.graph, type(f).__name__ if isinstance(f, Module) else f.__name__)  # fmt: skip

    return trace


def _names(f: Any, args: tuple[Any, ...], count: int) -> list[str]:
    """Names of arguments, as the function spells them, if each is one value."""
    fn = f.forward if isinstance(f, Module) else f
    try:
        names = [p.name for p in inspect.signature(fn).parameters.values() if p.kind < p.VAR_POSITIONAL]  # fmt: skip
    except (TypeError, ValueError):
        names = []
    fits = count == len(args) and len(names) >= count
    return names[:count] if fits else [f"arg{place}" for place in range(count)]


def _returned(recorder: Recorder) -> Callable[[Any], Any]:
    return lambda value: recorder.node_of(value) if isinstance(value, Tensor) else value


def get_proxy_mode() -> None:
    """What traces just now: nothing."""
