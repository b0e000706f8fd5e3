"""`torch.export.export`: run a module on an example, and keep what it computed as a graph."""

from __future__ import annotations

import inspect
from itertools import islice, product
from typing import Any

from ..autograd.modes import no_grad
from ..compiler.exceptions import UserError
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..fx.recording import Recorder, take_first_results
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..tensor import Tensor
from ..utils._pytree import tree_flatten, tree_unflatten
from .dynamic_shapes import Symbol, symbols_of
from .exported_program import CallSpec, ExportedProgram
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from .sizes import generalize, resized


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    **_: Any,
) -> ExportedProgram:
    """A module as a graph of Torch's own operations.

    Args:
        mod: the module
        args: an example of what it is called with, by place
        kwargs: and by name
        dynamic_shapes: which sizes of arguments may change: for names or places of arguments, dicts from dimensions to `Dim`s
        strict: unused: the program is always run as it is
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")  # fmt: skip
    named = dict(kwargs or {})
    by_place = names_of(mod, len(args))
    leaves, in_spec = tree_flatten((args, named))
    symbols = symbols_of(dynamic_shapes, [*by_place, *named], [*args, *named.values()])
    traces = [
        _Trace(mod, leaf_names([*by_place, *named], [*args, *named.values()]), leaves, in_spec)
    ]
    if symbols:
        traces += _with_other_sizes(traces[0], symbols)
        names = {
            tuple(t.leaves[s.places[0][0]].shape[s.places[0][1]] for t in traces): s.name
            for s in symbols
        }
        generalize([(t.recorder.graph, t.recorder.constants) for t in traces], names)
    first = traces[0]
    first.recorder.graph.eliminate_dead_code()
    return first.program(
        CallSpec(in_spec, first.out_spec), symbols, (args, named), (by_place, list(named))
    )


def names_of(mod: Module, count: int) -> list[str]:
    """Names of the arguments by place, as `forward` spells them."""
    parameters = inspect.signature(mod.forward).parameters.values()
    names = [p.name for p in parameters if p.kind < p.VAR_POSITIONAL]
    rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None)
    if rest is not None:
        names += [f"{rest}_{i}" for i in range(count - len(names))]
    if count > len(names):
        raise UserError(
            f"{type(mod).__name__}.forward takes {len(names)} arguments, but {count} were given"
        )
    return names[:count]


def leaf_names(names: list[str], values: list[Any]) -> list[str]:
    """A name for each value in arguments: that of the argument, numbered where it holds several."""
    made = []
    for name, value in zip(names, values, strict=True):
        count = len(tree_flatten(value)[0])
        whole = count == 1 and not isinstance(value, (list, tuple, dict))
        made += [name] if whole else [f"{name}_{i}" for i in range(count)]
    return made


_STEPS = [(1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2), (1, 4), (4, 1), (3, 4), (4, 3)]
"""By how much sizes differ in two more traces: for each size in another proportion, so that none is taken for another."""

_SIGNS = [(1, 1), (-1, -1), (1, -1)]


def _with_other_sizes(first: _Trace, symbols: list[Symbol]) -> list[_Trace]:
    """The program traced with the changing sizes larger; with some of them smaller, where it does not take that."""
    if len(symbols) > len(_STEPS):
        raise UserError(f"at most {len(_STEPS)} sizes may change, but {len(symbols)} are named")
    problem: Exception | None = None
    for signs in islice(product(_SIGNS, repeat=len(symbols)), 27):
        offsets = [
            [step[which] * sign[which] for step, sign in zip(_STEPS, signs, strict=False)]
            for which in (0, 1)
        ]
        try:
            return [first.resized(symbols, each) for each in offsets]
        except (RuntimeError, ValueError, IndexError, AssertionError) as error:
            problem = problem or error
    raise UserError(
        f"Constraints violated ({', '.join(s.name for s in symbols)})! The program does not run with other sizes "
        f"than the example's: {str(problem).splitlines()[0] if str(problem) else type(problem).__name__}"
    ) from problem


class _Trace:
    """One run of a module, as a graph that takes parameters, buffers and arguments."""

    def __init__(self, mod: Module, names: list[str], leaves: list[Any], in_spec: Any) -> None:
        self.mod, self.names, self.leaves, self.in_spec = mod, names, leaves, in_spec
        self.recorder = Recorder(lambda tensor: self.state.get(id(tensor)))
        self.inputs: list[InputSpec] = []
        self.state: dict[int, Node] = {}
        self.tensors = self._place_state()
        given = [self._place(n, leaf) for n, leaf in zip(names, leaves, strict=True)]
        call_args, call_kwargs = tree_unflatten(given, in_spec)
        with self.recorder.recording(), no_grad():
            result = mod(*call_args, **call_kwargs)
        results, self.out_spec = tree_flatten(result)
        self.outputs = [self.recorder.node_of(x) if isinstance(x, Tensor) else x for x in results]
        self.recorder.graph.output(tuple(self.outputs))
        take_first_results(self.recorder.graph)

    def _place_state(self) -> dict[str, Tensor]:
        """Parameters and buffers as inputs."""
        mod = self.mod
        state: dict[str, Tensor] = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
        saved = set(mod.state_dict())
        for name, tensor in state.items():
            own = isinstance(tensor, Parameter)
            node = self.recorder.graph.placeholder(
                f"{'p' if own else 'b'}_{name.replace('.', '_')}"
            )
            node.meta["val"] = tensor
            self.state[id(tensor)] = node
            kind = InputKind.PARAMETER if own else InputKind.BUFFER
            kept = None if own else name in saved
            self.inputs.append(InputSpec(kind, TensorArgument(node.name), name, kept))
        return state

    def _place(self, name: str, leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            given = leaf.detach()
            node = self.recorder.place(name, given)
            arg: Any = TensorArgument(node.name)
        else:
            given = leaf
            node = self.recorder.graph.placeholder(name)
            arg = ConstantArgument(node.name, leaf)
        self.inputs.append(InputSpec(InputKind.USER_INPUT, arg))
        return given

    def resized(self, symbols: list[Symbol], offsets: list[int]) -> _Trace:
        """The same with other sizes."""
        leaves = list(self.leaves)
        for symbol, offset in zip(symbols, offsets, strict=True):
            for place, dim in symbol.places:
                size = self.leaves[place].shape[dim] + offset
                lower, upper = symbol.range
                if size < max(lower, 1) or size > upper:
                    raise ValueError(f"{symbol.name} cannot be {size}")
                leaves[place] = resized(leaves[place], dim, size)
        return _Trace(self.mod, self.names, leaves, self.in_spec)

    def program(self, call_spec: CallSpec, symbols: list[Symbol], example: Any, names: Any) -> ExportedProgram:  # fmt: skip
        """What was traced, as a program."""
        graph, constants = self.recorder.graph, {}
        for node in list(graph.nodes):
            if node.op == "get_attr" and isinstance(self.recorder.constants[node.target], Tensor):
                self._lift(node, constants)
        used = {
            n.target: self.recorder.constants[n.target] for n in graph.nodes if n.op == "get_attr"
        }
        kept = self.mod.state_dict(keep_vars=True)
        constants |= {n: t for n, t in self.tensors.items() if n not in kept}
        last = next(n for n in graph.nodes if n.op == "output")
        outputs = [
            OutputSpec(
                OutputKind.USER_OUTPUT,
                TensorArgument(x.name) if isinstance(x, Node) else ConstantArgument("", x),
            )
            for x in last.args[0]
        ]
        signature = ExportGraphSignature(self.inputs, outputs)
        module = GraphModule(used, graph)
        return ExportedProgram(
            module, signature, kept, constants, call_spec, symbols, example, names
        )

    def _lift(self, node: Node, constants: dict[str, Any]) -> None:
        """Make a tensor that the program wrote down an input, before the arguments."""
        graph = self.recorder.graph
        name = f"lifted_tensor_{len(constants)}"
        constants[name] = self.recorder.constants[node.target]
        place = sum(spec.kind is not InputKind.USER_INPUT for spec in self.inputs)
        with graph.inserting_before(list(graph.nodes)[place]):
            made = graph.placeholder(f"c_{name}")
        made.meta.update(node.meta)
        node.replace_all_uses_with(made)
        graph.erase_node(node)
        self.inputs.insert(
            place, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(made.name), name)
        )


def draft_export(*args: Any, **kwargs: Any) -> ExportedProgram:
    """The same as `export`: what cannot be exported is an error."""
    return export(*args, **kwargs)
