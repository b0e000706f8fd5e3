"""Exported programs as files: the graph as JSON text, its tensors as `torch.save` writes them.

Reading one runs no code of the file's: nodes may call operations of `torch.ops` and a few of Python's operators, by name.
"""

from __future__ import annotations

import io
import json
import operator
import zipfile
from typing import Any

from .. import dtypes, environment
from ..device import device
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..library import namespace
from ..serialization import load as load_tensors
from ..serialization import save as save_tensors
from ..utils._pytree import tree_structure
from .dynamic_shapes import Symbol, ValueRanges
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

VERSION = 1
_OPERATORS = {
    f.__name__: f for f in (operator.getitem, operator.mul, operator.add, operator.floordiv)
}
_FORMATS = {
    str(f): f
    for f in (
        environment.contiguous_format,
        environment.preserve_format,
        environment.channels_last,
        environment.channels_last_3d,
    )
}


def save(
    ep: ExportedProgram, f: Any, *, extra_files: dict[str, Any] | None = None, **_: Any
) -> None:
    """Write a program to a file.

    Args:
        ep: the program
        f: the path, or an open file
        extra_files: texts to be kept beside it, by name
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")  # fmt: skip
    tensors = io.BytesIO()
    save_tensors({"state": dict(ep.state_dict), "constants": dict(ep.constants)}, tensors)
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr("program.json", json.dumps(_program(ep)))
        archive.writestr("tensors.pt", tensors.getvalue())
        for name, text in (extra_files or {}).items():
            archive.writestr(f"extra/{name}", text)


def load(f: Any, *, extra_files: dict[str, Any] | None = None, **_: Any) -> ExportedProgram:
    """Read a program from a file; `extra_files` is filled with the texts of its names."""
    with zipfile.ZipFile(f) as archive:
        if not {"program.json", "tensors.pt"} <= set(archive.namelist()):
            raise ValueError(
                "not a file of torch.export.save: it has no program.json and tensors.pt"
            )
        written = json.loads(archive.read("program.json"))
        tensors = load_tensors(io.BytesIO(archive.read("tensors.pt")), weights_only=True)
        for name in extra_files or {}:
            extra_files[name] = archive.read(f"extra/{name}").decode()  # type: ignore[index]
    if written.get("version") != VERSION:
        raise ValueError(f"torch.export.load: version {written.get('version')!r} is not known")
    return _read(written, tensors)


# --- Writing ---------------------------------------------------------------------------------------------


def _program(ep: ExportedProgram) -> dict[str, Any]:
    if ep._objects():
        raise NotImplementedError(f"torch.export.save: {sorted(ep._objects())} are values that a file cannot hold")  # fmt: skip
    signature = ep.graph_signature
    return {
        "version": VERSION,
        "nodes": [_node(node) for node in ep.graph.nodes],
        "inputs": [[s.kind.name, s.arg.name, _value(getattr(s.arg, "value", None)), isinstance(s.arg, TensorArgument),
                    s.target, s.persistent] for s in signature.input_specs],
        "outputs": [[s.arg.name, _value(getattr(s.arg, "value", None)), isinstance(s.arg, TensorArgument)]
                    for s in signature.output_specs],
        "symbols": [[s.name, list(s.range), s.places] for s in ep._symbols],
        "structures": [_structure(spec) for spec in (ep.call_spec.in_spec, ep.call_spec.out_spec)],
        "names": ep._argument_names,
        "shapes": ep._shapes,
    }  # fmt: skip


def _node(node: Node) -> dict[str, Any]:
    target = node.target
    if node.op == "call_function":
        target = str(target) if hasattr(target, "overloadpacket") else f"operator.{target.__name__}"
    return {"op": node.op, "name": node.name, "target": target, "args": _value(node.args), "kwargs": _value(dict(node.kwargs))}  # fmt: skip


def _value(value: Any) -> Any:
    """A value as JSON: what that has no form for is a list that begins with its kind."""
    if isinstance(value, Node):
        return ["node", value.name]
    if isinstance(value, (list, tuple)):
        return ["tuple" if isinstance(value, tuple) else "list", *map(_value, value)]
    if isinstance(value, dict):
        return ["dict", *([k, _value(v)] for k, v in value.items())]
    if isinstance(value, slice):
        return ["slice", *map(_value, (value.start, value.stop, value.step))]
    if isinstance(value, dtypes.dtype):
        return ["dtype", value.name]
    if isinstance(value, environment.memory_format):
        return ["format", str(value)]
    if isinstance(value, device):
        return ["device", str(value)]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise NotImplementedError(f"torch.export.save: a file cannot hold a {type(value).__name__}")


def _structure(spec: Any) -> Any:
    """Nested tuples, lists and dicts, with None for values."""
    if not spec.children_specs and spec.type is None:
        return None
    inside = [_structure(child) for child in spec.children_specs]
    if spec.type is dict:
        return ["dict", *([key, each] for key, each in zip(spec.context, inside, strict=True))]
    if spec.type in (tuple, list):
        return [spec.type.__name__, *inside]
    raise NotImplementedError(f"torch.export.save: a file cannot hold the structure {spec.type}")


# --- Reading ---------------------------------------------------------------------------------------------


def _read(written: dict[str, Any], tensors: dict[str, Any]) -> ExportedProgram:
    graph, nodes = Graph(), {}
    for each in written["nodes"]:
        args, kwargs = _values(each["args"], nodes), _values(each["kwargs"], nodes)
        target = _target(each["target"]) if each["op"] == "call_function" else each["target"]
        if each["op"] not in ("placeholder", "call_function", "output"):
            raise ValueError(f"torch.export.load: a graph has no {each['op']!r}")
        nodes[each["name"]] = graph.create_node(each["op"], target, args, kwargs, each["name"])
    inputs = [
        InputSpec(InputKind[kind], _argument(name, value, nodes, own), target, kept)
        for kind, name, value, own, target, kept in written["inputs"]
    ]
    outputs = [
        OutputSpec(OutputKind.USER_OUTPUT, _argument(name, value, nodes, own))
        for name, value, own in written["outputs"]
    ]
    symbols = [
        Symbol(name, ValueRanges(*span), [(i, d) for i, d in places])
        for name, span, places in written["symbols"]
    ]
    spec = CallSpec(*(tree_structure(_structured(s)) for s in written["structures"]))
    placed = [n for n in graph.nodes if n.op == "placeholder"]
    users = [n for n, s in zip(placed, inputs, strict=True) if s.kind is InputKind.USER_INPUT]
    for node, s in zip(placed, inputs, strict=True):
        if s.kind is not InputKind.USER_INPUT:
            node.meta["val"] = tensors["state"].get(s.target, tensors["constants"].get(s.target))
    ep = ExportedProgram(
        GraphModule({}, graph), ExportGraphSignature(inputs, outputs), tensors["state"], tensors["constants"], spec,
        symbols, None, tuple(written["names"]),
    )  # fmt: skip
    ep._shapes = written["shapes"]
    if len(users) != len(ep._shapes):
        raise ValueError("torch.export.load: the shapes of the arguments are not all there")
    return ep


def _argument(name: str, value: Any, nodes: Any, own: bool) -> TensorArgument | ConstantArgument:
    return TensorArgument(name) if own else ConstantArgument(name, _values(value, nodes))


def _target(name: str) -> Any:
    package, _, rest = name.partition(".")
    if package == "operator" and rest in _OPERATORS:
        return _OPERATORS[rest]
    if package in ("aten", "minitorch") and rest.count(".") == 1:
        packet, way = rest.split(".")
        return getattr(getattr(namespace(package), packet), way)
    raise ValueError(f"torch.export.load: a graph does not call {name!r}")


def _values(value: Any, nodes: dict[str, Node]) -> Any:
    if not isinstance(value, list):
        return value
    kind, *rest = value
    if kind == "node":
        return nodes[rest[0]]
    if kind == "dict":
        return {key: _values(each, nodes) for key, each in rest}
    if kind == "dtype":
        return dtypes.NAMES[rest[0]]
    if kind == "format":
        return _FORMATS[rest[0]]
    if kind == "device":
        return device(rest[0])
    made = [_values(each, nodes) for each in rest]
    return {"list": list, "tuple": tuple, "slice": lambda parts: slice(*parts)}[kind](made)


def _structured(value: Any) -> Any:
    if value is None:
        return 0
    kind, *rest = value
    if kind == "dict":
        return {key: _structured(each) for key, each in rest}
    return (tuple if kind == "tuple" else list)(_structured(each) for each in rest)
