"""The operations of a model as TensorBoard's page of graphs shows them."""

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue  # type: ignore[import-not-found]
from tensorboard.compat.proto.graph_pb2 import GraphDef  # type: ignore[import-not-found]
from tensorboard.compat.proto.node_def_pb2 import NodeDef  # type: ignore[import-not-found]
from tensorboard.compat.proto.tensor_shape_pb2 import (  # type: ignore[import-not-found]
    TensorShapeProto,
)
from tensorboard.compat.proto.versions_pb2 import VersionDef  # type: ignore[import-not-found]

from ... import export
from ...autograd.modes import no_grad
from ...tensor import Tensor


def graph_of(model: Any, inputs: tuple[Any, ...]) -> Any:
    """What a model computes from inputs: its parameters, by their names, and its operations."""
    with no_grad():
        program = export.export(model, inputs)
    signature = program.graph_signature
    known = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    names = {
        node: known.get(node.name, node.name).replace(".", "/") for node in program.graph.nodes
    }
    nodes = [
        NodeDef(
            name=names[node],
            op="Parameter" if node.name in known else str(node.target),
            input=[names[each] for each in node.all_input_nodes],
            attr=_shape(node.meta.get("val")),
        )
        for node in program.graph.nodes
    ]
    return GraphDef(node=nodes, versions=VersionDef(producer=22))


def _shape(value: Any) -> dict[str, Any]:
    """The shape of a result, where it is one tensor."""
    if not isinstance(value, Tensor):
        return {}
    sizes = [TensorShapeProto.Dim(size=n) for n in value.shape]
    shapes = AttrValue.ListValue(shape=[TensorShapeProto(dim=sizes)])
    return {"_output_shapes": AttrValue(list=shapes)}
