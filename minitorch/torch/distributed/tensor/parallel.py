"""Tensor parallelism: the weights of linear layers in parts, each rank with some columns or rows.

    parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})

Between the two, each rank has some of the hidden numbers; after the second, sums over the ranks are the result.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any

from ...nn.modules.linear import Linear
from ...nn.modules.sparse import Embedding
from .dtensor import DTensor, distribute_module, distribute_tensor
from .placements import Placement, Replicate, Shard


class ParallelStyle:
    """How a module is spread."""

    def apply(self, module: Any, mesh: Any) -> Any:
        """Spread a module, and return it."""
        raise NotImplementedError


class _Layers(ParallelStyle):
    """A layer whose parameters lie in a certain way.

    Args:
        input_layouts: how inputs that are plain tensors lie
        output_layouts: how outputs are to lie
        use_local_output: whether an output is this rank's part, as a plain tensor
    """

    placements: Mapping[type, Mapping[str, Placement]]
    inputs: Placement
    outputs: Placement

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts, self.desired_input_layouts = (input_layouts or self.inputs,), (self.inputs,)  # fmt: skip
        self.output_layouts, self.use_local_output = (output_layouts or self.outputs,), use_local_output  # fmt: skip

    def apply(self, module: Any, mesh: Any) -> Any:
        kind = next((k for k in self.placements if isinstance(module, k)), None)
        if kind is None:
            raise NotImplementedError(
                f"{type(self).__name__} currently only supports nn.Linear and nn.Embedding, not {type(module).__name__}"
            )
        where = self.placements[kind]
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                made = distribute_tensor(parameter, mesh, [where[name]])
                module._parameters[name] = made
        return distribute_module(module, mesh, None, self._take, self._give)

    def _take(self, module: Any, inputs: Any, mesh: Any) -> Any:
        given = inputs[0]
        if not isinstance(given, DTensor):
            given = DTensor.from_local(given, mesh, self.input_layouts)
        return (given.redistribute(mesh, self.desired_input_layouts), *inputs[1:])

    def _give(self, module: Any, output: Any, mesh: Any) -> Any:
        placed = output.redistribute(mesh, self.output_layouts)
        return placed.to_local() if self.use_local_output else placed


class ColwiseParallel(_Layers):
    """Each rank computes some of the outputs of a linear layer (or some numbers of an embedding)."""

    placements = {
        Linear: {"weight": Shard(0), "bias": Shard(0)},
        Embedding: {"weight": Shard(1)},
    }
    inputs, outputs = Replicate(), Shard(-1)


class RowwiseParallel(_Layers):
    """Each rank computes with some of the inputs of a linear layer; the outputs are summed."""

    placements = {
        Linear: {"weight": Shard(1), "bias": Replicate()},
        Embedding: {"weight": Shard(0)},
    }
    inputs, outputs = Shard(-1), Replicate()

    def _take(self, module: Any, inputs: Any, mesh: Any) -> Any:
        if isinstance(module, Embedding):
            given = inputs[0]
            whole = given if isinstance(given, DTensor) else DTensor.from_local(given, mesh)
            return (whole, *inputs[1:])
        return super()._take(module, inputs, mesh)


def parallelize_module(module: Any, device_mesh: Any = None, parallelize_plan: Any = None) -> Any:
    """Spread parts of a module over the ranks of a mesh of one dimension. All ranks call this.

    Args:
        module: changed, and returned
        device_mesh: the ranks
        parallelize_plan: a style for the module, or styles by the names of its parts; `*` stands for any one
    """
    if device_mesh is not None and device_mesh.ndim > 1:
        raise ValueError("parallelize_module needs a mesh of one dimension: name it, as mesh['tp']")
    if isinstance(parallelize_plan, ParallelStyle):
        return parallelize_plan.apply(module, device_mesh)
    for pattern, style in (parallelize_plan or {}).items():
        parts = dict(module.named_modules())
        names = [n for n in parts if n.count(".") == pattern.count(".") and fnmatch.fnmatch(n, pattern)]  # fmt: skip
        if not names:
            raise ValueError(f"parallelize_module: there is no part called {pattern!r}")
        for name in names:
            style.apply(parts[name], device_mesh)
    return module
