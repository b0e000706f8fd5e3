"""What `torch.export.export` gives: a graph without Python, with the parameters that it takes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..fx.codegen import CodeGen
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..nn.parameter import Parameter
from ..tensor import Tensor
from ..utils._pytree import TreeSpec, tree_flatten, tree_unflatten
from .dynamic_shapes import Symbol, ValueRanges
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind


@dataclass
class CallSpec:
    """The structure of arguments, as (args, kwargs), and of results."""

    in_spec: TreeSpec
    out_spec: TreeSpec


class _Structured(CodeGen):
    """Code that takes and returns values in the structure of the program's."""

    def __init__(self, names: list[str], keywords: list[str]) -> None:
        self.names, self.keywords = names, keywords

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function, and one that takes its arguments apart."""
        named = ["*", *self.keywords] if self.keywords else []
        flat = "".join(f"{name}, " for name in free_vars)
        by_place = "".join(f"{name}, " for name in self.names)
        by_name = ", ".join(f"'{name}': {name}" for name in self.keywords)
        line = (
            f"\n    {flat.strip()} = self._flat_inputs(({by_place}), {{{by_name}}})" if flat else ""
        )
        return f"{super().gen_fn_def([*self.names, *named], maybe_return_annotation)}{line}"

    def generate_output(self, output_args: Any, *, repr_fn: Any = repr) -> str:
        """The line that puts the results together and ends it."""
        return f"return self._structured({repr_fn(output_args)})"


class ExportedModule(GraphModule):
    """The module of an exported program: it takes what the program took."""

    def _flat_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        leaves, structure = tree_flatten((args, kwargs))
        if structure != self._call_spec.in_spec:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: {self._call_spec.in_spec} but actually got "
                f"inputs with tree spec of: {structure}"
            )
        self._check(leaves)
        return leaves

    def _structured(self, results: Any) -> Any:
        return tree_unflatten(list(results), self._call_spec.out_spec)


class ExportedProgram:
    """A program as a graph that takes its parameters, buffers and arguments.

    Attributes:
        graph_module: the graph as a module; all that it needs is an input of it
        graph_signature: which inputs and outputs it has
        state_dict: parameters and buffers
        constants: tensors that are no part of that: written down by the program, buffers that are not saved
        call_spec: the structure of arguments and results
        example_inputs: the arguments that it was exported with, as (args, kwargs)
    """

    def __init__(
        self,
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        constants: dict[str, Any],
        call_spec: CallSpec,
        symbols: list[Symbol],
        example_inputs: Any = None,
        argument_names: tuple[list[str], list[str]] = ([], []),
    ) -> None:
        self.graph_module, self.graph_signature = graph_module, graph_signature
        self._state_dict, self._constants, self.call_spec = state_dict, constants, call_spec
        self._symbols, self.example_inputs = symbols, example_inputs
        self._argument_names = argument_names
        self._shapes = [
            list(node.meta["val"].shape) if "val" in node.meta else None
            for node in self._user_nodes()
        ]

    @property
    def graph(self) -> Graph:
        """What it computes."""
        return self.graph_module.graph

    @property
    def state_dict(self) -> dict[str, Any]:
        """Parameters and buffers, by their names in the module."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Any]:
        """Tensors that the program wrote down."""
        return self._constants

    tensor_constants = constants

    @property
    def range_constraints(self) -> dict[str, ValueRanges]:
        """The sizes that may change, by name."""
        return {symbol.name: symbol.range for symbol in self._symbols}

    @property
    def dialect(self) -> str:
        """Which operations it is made of."""
        return "TRAINING"

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """The parameters, with their names."""
        return ((name, self.state_dict[name]) for name in self.graph_signature.parameters)

    def parameters(self) -> Iterator[Parameter]:
        """The parameters."""
        return (parameter for _, parameter in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers, with their names."""
        return ((name, self._tensor(name)) for name in self.graph_signature.buffers)

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        return (buffer for _, buffer in self.named_buffers())

    def _tensor(self, target: str) -> Any:
        found = self._state_dict.get(target)
        return self._constants[target] if found is None else found

    def _user_nodes(self) -> list[Any]:
        inputs = [node for node in self.graph.nodes if node.op == "placeholder"]
        specs = self.graph_signature.input_specs
        return [n for n, s in zip(inputs, specs, strict=True) if s.kind is InputKind.USER_INPUT]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def module(self, check_guards: bool = True) -> ExportedModule:
        """A module that computes it: with the program's parameters as its own, and its arguments.

        Args:
            check_guards: whether sizes and values of arguments are compared with those it was exported for
        """
        graph = Graph()
        copies: dict[Any, Any] = {}
        inputs = [node for node in self.graph.nodes if node.op == "placeholder"]
        tensors: dict[str, Any] = {}
        for node, spec in zip(inputs, self.graph_signature.input_specs, strict=True):
            if spec.kind is InputKind.USER_INPUT:
                copies[node] = graph.placeholder(node.name)
            elif node.users:
                tensors[str(spec.target)] = self._tensor(str(spec.target))
                copies[node] = graph.get_attr(str(spec.target))
            copies[node].meta.update(node.meta) if node in copies else None
        for node in self.graph.nodes:
            if node.op == "output":
                graph.output(tuple(copies.get(x, x) for x in node.args[0]))
            elif node.op != "placeholder":
                copies[node] = graph.node_copy(node, lambda n: copies[n])
        graph.set_codegen(_Structured(*self._argument_names))
        module: Any = ExportedModule({**tensors, **self._objects()}, graph)
        module._call_spec = self.call_spec
        module._check = self._check_inputs if check_guards else lambda leaves: None
        return module

    def _objects(self) -> dict[str, Any]:
        used = {node.target for node in self.graph.nodes if node.op == "get_attr"}
        return {name: getattr(self.graph_module, name) for name in used}

    def _check_inputs(self, leaves: list[Any]) -> None:
        """An error if arguments are not what the graph is for."""
        specs = [s.arg for s in self.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
        free = {place: symbol for symbol in self._symbols for place in symbol.places}
        sizes: dict[str, int] = {}
        for i, (leaf, spec, shape) in enumerate(zip(leaves, specs, self._shapes, strict=True)):
            if isinstance(spec, ConstantArgument):
                if leaf != spec.value:
                    raise AssertionError(f"Guard failed: {spec.name} == {spec.value!r}")
                continue
            if not isinstance(leaf, Tensor) or shape is None or leaf.ndim != len(shape):
                raise AssertionError(f"Guard failed: {spec.name}.dim() == {len(shape or ())}")
            for dim, size in enumerate(leaf.shape):
                symbol = free.get((i, dim))
                if symbol is None and size != shape[dim]:
                    raise AssertionError(f"Guard failed: {spec.name}.size()[{dim}] == {shape[dim]}")
                if symbol is not None:
                    _check_size(spec.name, dim, size, symbol, sizes)

    def run_decompositions(self, decomp_table: dict[Any, Any] | None = None) -> ExportedProgram:
        """The program in smaller operations: a copy, as operations of this library are what they are."""
        if decomp_table:
            raise NotImplementedError("run_decompositions: decomp_table must be empty")
        return copy.copy(self)

    def __str__(self) -> str:
        code = "    ".join(self.graph_module.print_readable(print_output=False).splitlines(True))
        return (
            f"ExportedProgram:\n    {code}\nGraph signature: {self.graph_signature}\n"
            f"Range constraints: {self.range_constraints}\n"
        )

    __repr__ = __str__


def _check_size(name: str, dim: int, size: int, symbol: Symbol, sizes: dict[str, int]) -> None:
    lower, upper = symbol.range
    if size > upper:
        raise AssertionError(f"Guard failed: {name}.size()[{dim}] <= {upper}")
    if size < lower:
        raise AssertionError(f"Guard failed: {name}.size()[{dim}] >= {lower}")
    if sizes.setdefault(symbol.name, size) != size:
        raise AssertionError(
            f"Guard failed: {name}.size()[{dim}] == {sizes[symbol.name]} ({symbol.name})"
        )
