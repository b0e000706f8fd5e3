"""Noting the shapes and types of all values of a graph."""

from __future__ import annotations

import traceback
from typing import Any, NamedTuple

from ... import environment
from ...dtypes import dtype
from ...tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its elements."""

    shape: Any
    dtype: dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    formats = {environment.channels_last: 4, environment.channels_last_3d: 5}
    fitting = [environment.contiguous_format, *(f for f, n in formats.items() if n == result.ndim)]
    found = [f for f in fitting if include_contiguity and result.is_contiguous(memory_format=f)]
    return TensorMetadata(
        result.shape,
        result.dtype,
        result.requires_grad,
        tuple(result.stride()),
        found[0] if found else None,
        False,
        {},
    )


class ShapeProp(Interpreter):
    """Runs a graph on an example, and notes in `node.meta["tensor_meta"]` what each value is."""

    def run_node(self, n: Node) -> Any:
        """The value of a node; what it is, is noted."""
        try:
            result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        found = False

        def extract(value: Any) -> Any:
            nonlocal found
            if not isinstance(value, Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, extract)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on an example."""
        return super().run(*args)
