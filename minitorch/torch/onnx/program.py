"""A program in ONNX's form: what `torch.onnx.export` gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..export.exported_program import ExportedProgram
from ..export.graph_signature import InputKind
from ..fx.node import Node
from ..tensor import Tensor, wrap
from ..utils._pytree import tree_flatten
from . import elementwise_forms as elementwise_forms
from . import movement_forms as movement_forms
from . import network_forms as network_forms
from . import protobuf
from .building import Builder, type_of
from .errors import OnnxExporterError


def _package(name: str) -> Any:
    """A package that is needed to look at models or to run them, not to write them."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"this needs the package {name}: pip install {name}") from error


class ONNXProgram:
    """A model as ONNX: it can be saved, looked at, and run.

    Attributes:
        exported_program: what it was made from
        input_names: of its arguments
        output_names: of its results
    """

    def __init__(
        self,
        exported_program: ExportedProgram,
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        opset: int = 18,
    ) -> None:
        self.exported_program = exported_program
        self._session: Any = None
        builder = Builder(opset)
        self.input_names, inputs = _add_inputs(builder, exported_program, list(input_names or ()))
        nodes = [n for n in exported_program.graph.nodes if n.op not in ("placeholder", "output")]
        for node in nodes:
            builder.translate(node)
        self.output_names, outputs = _add_outputs(
            builder, exported_program, list(output_names or ())
        )
        self._bytes = protobuf.model(
            "main_graph", builder.nodes, builder.read_weights(), inputs, outputs, opset
        )

    def save(self, destination: Any, *, include_initializers: bool = True, external_data: Any = None, **_: Any) -> None:  # fmt: skip
        """Write it to a file, whole.

        Args:
            destination: the path, or an open file
            include_initializers: must be True: weights are part of the file
            external_data: unused: weights are part of the file
        """
        if not include_initializers:
            raise NotImplementedError("ONNXProgram.save writes weights into the file")
        if hasattr(destination, "write"):
            destination.write(self._bytes)
        else:
            Path(destination).write_bytes(self._bytes)

    @property
    def model_proto(self) -> Any:
        """The model as an object of the package onnx."""
        return _package("onnx").load_from_string(self._bytes)

    def initialize_inference_session(self, initializer: Any = None) -> None:
        """Make ready to run it, with the package onnxruntime."""
        runtime = _package("onnxruntime")
        make = initializer or (
            lambda model: runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
        )
        self._session = make(self._bytes)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        """Run it, with the package onnxruntime; the results, one after the other."""
        if self._session is None:
            self.initialize_inference_session()
        leaves = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        given = dict(zip(self.input_names, (x.detach().numpy() for x in leaves), strict=True))
        session: Any = self._session
        return tuple(wrap(result) for result in session.run(None, given))

    def optimize(self) -> None:
        """Nothing: the graph is what the program computed."""

    def release(self) -> None:
        """Let go of the session that ran it."""
        self._session = None

    def __repr__(self) -> str:
        return f"ONNXProgram(inputs={self.input_names}, outputs={self.output_names}, {len(self._bytes)} bytes)"  # fmt: skip


def _add_inputs(builder: Builder, program: ExportedProgram, wanted: list[str]) -> tuple[list[str], list[bytes]]:  # fmt: skip
    """Weights, and the inputs that are left."""
    names, infos = [], []
    free: dict[Any, int | str] = {
        place: symbol.name for symbol in program._symbols for place in symbol.places
    }
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    count = 0
    users = [s.kind is InputKind.USER_INPUT for s in program.graph_signature.input_specs]
    if len(wanted) > sum(users):
        raise OnnxExporterError(f"there are {sum(users)} inputs, but {len(wanted)} input_names: {wanted}")  # fmt: skip
    for node, spec in zip(nodes, program.graph_signature.input_specs, strict=True):
        if spec.kind is not InputKind.USER_INPUT:
            if node.users:
                builder.names[node] = builder.weight(str(spec.target), program._tensor(str(spec.target)))  # fmt: skip
            continue
        if "val" in node.meta:
            name = builder.name(wanted[count] if count < len(wanted) else node.name)
            builder.names[node] = name
            sizes = node.meta["val"].shape
            shape = [_size(free, count, d, size) for d, size in enumerate(sizes)]
            names.append(name)
            infos.append(protobuf.value_info(name, type_of(node).name, shape))
        count += 1
    return names, infos


def _add_outputs(builder: Builder, program: ExportedProgram, wanted: list[str]) -> tuple[list[str], list[bytes]]:  # fmt: skip
    """The results, each under a name of its own."""
    last = next(node for node in program.graph.nodes if node.op == "output")
    results = [x for x in last.args[0] if isinstance(x, Node)]
    if len(wanted) > len(results):
        raise OnnxExporterError(f"there are {len(results)} outputs, but {len(wanted)} output_names: {wanted}")  # fmt: skip
    names, infos = [], []
    for i, node in enumerate(results):
        name = builder.name(wanted[i] if i < len(wanted) else f"output_{node.name}")
        builder.write("Identity", [builder.names[node]], [name], {})
        names.append(name)
        infos.append(protobuf.value_info(name, type_of(node).name, _output_shape(node)))
    return names, infos


def _output_shape(node: Node) -> list[int | str]:
    """The shape of a result; sizes that differ from call to call have names."""
    changing = node.meta.get("changing", {})
    return [changing.get(d, size) for d, size in enumerate(node.meta["val"].shape)]


def _size(free: dict[Any, int | str], place: int, dim: int, size: int) -> int | str:
    """The size of an input's dimension, or the name of one that may change."""
    return free.get((place, dim), size)
