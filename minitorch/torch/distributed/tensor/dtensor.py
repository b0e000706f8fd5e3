"""Tensors that are spread over ranks: a `DTensor` has the whole's shape and this rank's memory.

    mesh = init_devicemesh_of("cpu", (4,))
    rows = distribute_tensor(matrix, mesh, [Shard(0)])

Operations that work element by element compute on this rank's part; all others gather the whole first
(`operations.py`). The graph is that of this rank's parts, so optimizers step on them as on any tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...nn.parameter import Parameter
from ...ops.joining import stack
from ...ops.linalg.norms import vector_norm
from ...ops.record import bind
from ...size import Size
from ...tensor import Tensor, counter_of, wrap
from .. import collectives
from ..device_mesh import DeviceMesh
from ..reductions import ReduceOp
from ..world import default_group, get_rank, get_world_size
from .exchange import ALIAS, from_whole, to_whole
from .operations import answer_by_parts
from .placements import Partial, Placement, Replicate, Shard, part_of


class DTensor(Tensor):
    """A tensor that is spread over the ranks of a mesh.

    Attributes:
        device_mesh: the ranks
        placements: how it lies on them, along each dimension of the mesh
        shape: of the whole; `to_local().shape` is that of this rank's part
    """

    device_mesh: DeviceMesh
    placements: tuple[Placement, ...]
    whole_shape: Size
    parameter_class: type[Any]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Functions of spread tensors compute by parts, or gather the whole."""
        return answer_by_parts(func, args, kwargs or {})

    @property
    def shape(self) -> Size:
        """The size of each dimension of the whole."""
        return self.whole_shape

    def size(self, dim: int | None = None) -> Any:
        """The size of each dimension of the whole, or of one."""
        return self.whole_shape if dim is None else self.whole_shape[dim]

    def numel(self) -> int:
        """How many elements the whole has."""
        return self.whole_shape.numel()

    nelement = numel

    def __len__(self) -> int:
        return self.whole_shape[0]

    @property
    def grad(self) -> Tensor | None:
        """What backward has accumulated: it lies on the ranks as the tensor does."""
        if self._grad is not None and not isinstance(self._grad, DTensor):
            self._grad = spread_as(wrap(self._grad._array), self)
        return self._grad

    @grad.setter
    def grad(self, gradient: Tensor | None) -> None:
        if gradient is not None and gradient._array.shape != self._array.shape:
            raise RuntimeError(
                f"assigned grad has data of a different size: {list(gradient.shape)} for a tensor of {list(self.shape)}"
            )
        self._grad = gradient

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> DTensor:
        """The same memory, outside the graph."""
        return spread_as(wrap(self._array), self)

    @data.setter
    def data(self, other: Tensor) -> None:
        self._array = other._array

    @property
    def group(self) -> Any:
        """The ranks that have parts of it; None where each has the whole."""
        axes = [i for i, p in enumerate(self.placements) if not isinstance(p, Replicate)]
        if len(axes) > 1:
            raise NotImplementedError("a tensor in parts along several dimensions of a mesh")
        return self.device_mesh.get_group(axes[0]) if axes else None

    @property
    def first_row(self) -> int:
        """Where this rank's rows begin; NotImplementedError unless it is in rows, or whole."""
        if any((p.is_shard() and not p.is_shard(0)) or p.is_partial() for p in self.placements):
            raise NotImplementedError(
                f"{self.placements}: only rows, or the whole, are saved and loaded"
            )
        group = self.group
        if group is None:
            return 0
        return part_of(get_rank(group), get_world_size(group), self.whole_shape[0])[0]

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This rank's part, as a plain tensor over the same memory; gradients flow through it."""
        local = bind(ALIAS, (self,), {})
        local._counter = counter_of(self)
        return local

    def detach(self) -> DTensor:
        """The same memory, outside the graph."""
        made = spread_as(wrap(self._array), self)
        made._counter = counter_of(self)
        return made

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole tensor, gathered from all ranks. All of them call this."""
        local = self.to_local()
        whole = to_whole(local, self.whole_shape, self.device_mesh, self.placements)
        return whole.clone() if whole is local else whole

    def redistribute(
        self, device_mesh: Any = None, placements: Any = None, *, async_op: bool = False
    ) -> DTensor:
        """The same tensor, placed in another way. All ranks call this."""
        mesh = self.device_mesh if device_mesh is None else device_mesh
        chosen = _settled(placements, mesh, self.ndim)
        if mesh == self.device_mesh and chosen == self.placements:
            return self
        if mesh != self.device_mesh:
            raise NotImplementedError("redistribute: to another mesh")
        whole = to_whole(self.to_local(), self.whole_shape, mesh, self.placements)
        return as_part(from_whole(whole, mesh, chosen), mesh, chosen, self.whole_shape)

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: Any = None,
        placements: Any = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Any = None,
    ) -> DTensor:
        """A tensor whose part on this rank is given. All ranks call this.

        Args:
            local_tensor: this rank's part; gradients flow to it
            device_mesh: the ranks; by default all
            placements: how the parts lie; by default each is the whole
            shape: of the whole, where parts are not equally large
        """
        mesh = mesh_of(device_mesh)
        chosen = _settled(placements, mesh, local_tensor.ndim)
        whole = list(local_tensor.shape)
        for axis, placement in enumerate(chosen):
            if isinstance(placement, Shard):
                whole[placement.dim] *= mesh.size(axis)
        return as_part(bind(ALIAS, (local_tensor,), {}), mesh, chosen, shape or whole)

    def __repr__(self, **kwargs: Any) -> str:
        local = wrap(self._array).__repr__()
        return f"DTensor(local_tensor={local}, device_mesh={self.device_mesh!r}, placements={self.placements})"

    def __deepcopy__(self, memo: dict[int, Any]) -> DTensor:
        if id(self) not in memo:
            made = spread_as(wrap(self._array.copy()), self)
            made._requires_grad = self._requires_grad
            memo[id(self)] = made
        return memo[id(self)]


class DParameter(DTensor, Parameter):
    """A parameter that is spread over ranks."""

    def __new__(cls, data: Any, requires_grad: bool = True) -> DParameter:
        made = as_part(wrap(data._array), data.device_mesh, data.placements, data.shape, cls)
        made._counter = counter_of(data)
        made._requires_grad = requires_grad
        return made


DTensor.parameter_class = DParameter
DParameter.__name__ = DParameter.__qualname__ = "DTensor"  # as programs that print it expect


def as_part(local: Tensor, mesh: Any, placements: Any, shape: Any, kind: type[Any] = DTensor) -> Any:  # fmt: skip
    """A tensor of this rank, which nobody else has, as its part of a spread one."""
    local.__class__ = kind
    made: Any = local
    made.device_mesh, made.placements, made.whole_shape = mesh, tuple(placements), Size(shape)
    return made


def spread_as(local: Tensor, other: DTensor) -> DTensor:
    """A tensor of this rank, spread as another."""
    return as_part(local, other.device_mesh, other.placements, other.whole_shape)


def mesh_of(given: Any) -> DeviceMesh:
    """A mesh; of all ranks, or of a group, where none was given."""
    if isinstance(given, DeviceMesh):
        return given
    return DeviceMesh.from_group(default_group() if given is None else given, "cpu")


def _settled(placements: Any, mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """Placements, one for each dimension of the mesh, with dimensions counted from the front."""
    given = [Replicate()] * mesh.ndim if placements is None else list(placements)
    if len(given) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(given)}, "
            f"and device_mesh.ndim: {mesh.ndim}."
        )
    found: list[Placement] = []
    for placement in given:
        if isinstance(placement, Shard):
            if not -ndim <= placement.dim < ndim:
                raise IndexError(f"a tensor of {ndim} dimensions has no parts along {placement}")
            placement = Shard(placement.dim % ndim)
        found.append(placement)
    return tuple(found)


def distribute_tensor(
    tensor: Tensor,
    device_mesh: Any = None,
    placements: Any = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """Spread a tensor over the ranks. All of them call this.

    Args:
        tensor: the whole
        device_mesh: the ranks; by default all
        placements: how it lies on them; by default each has the whole
        src_data_rank: whose tensor counts, in each group of the mesh; None: all have the same
    """
    mesh = mesh_of(device_mesh)
    if isinstance(tensor, DTensor):
        return tensor.redistribute(mesh, placements)
    chosen = _settled(placements, mesh, tensor.ndim)
    if any(isinstance(p, Partial) for p in chosen):
        raise RuntimeError("Trying to distribute a tensor as Partial: its terms are unknown")
    whole = wrap(tensor.detach()._array.copy())
    if src_data_rank is not None:
        for group in mesh.get_all_groups():
            collectives.broadcast(whole, group=group, group_src=src_data_rank)
    made = as_part(from_whole(whole, mesh, chosen), mesh, chosen, tensor.shape)
    made._requires_grad = tensor.requires_grad
    return DParameter(made, tensor.requires_grad) if isinstance(tensor, Parameter) else made


def distribute_module(
    module: Any,
    device_mesh: Any = None,
    partition_fn: Any = None,
    input_fn: Any = None,
    output_fn: Any = None,
) -> Any:
    """Spread a module's parameters: as a function says for each part of it, or every rank has all of them.

    Args:
        module: changed, and returned
        device_mesh: the ranks; by default all
        partition_fn: `partition_fn(name, part, mesh)` spreads the parameters of a part
        input_fn: `input_fn(module, inputs, mesh)` is called before the module
        output_fn: `output_fn(module, outputs, mesh)` is called after it
    """
    mesh = mesh_of(device_mesh)
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for key, parameter in list(part._parameters.items()):
            if parameter is not None and not isinstance(parameter, DTensor):
                part._parameters[key] = distribute_tensor(parameter, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda made, inputs: input_fn(made, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda made, _, outputs: output_fn(made, outputs, mesh))
    return module


def shard_rows(tensor: Tensor, mesh: Any, kind: type[Any] = DTensor) -> Any:
    """This rank's rows of a tensor that all ranks have, in memory of their own."""
    first, last = part_of(mesh.get_local_rank(0), mesh.size(), tensor.shape[0])
    return as_rows(tensor.detach()[first:last].clone()._array, tensor.shape, mesh, kind)


def as_rows(rows: Any, shape: Sequence[int], mesh: Any, kind: type[Any] = DTensor) -> Any:
    """An array as this rank's rows of a tensor."""
    return as_part(wrap(rows), mesh, (Shard(0),), shape, kind)


def norm_over_ranks(norms: dict[Any, Tensor], order: float, mesh: Any) -> DTensor:
    """The norm of all from the norms of each group's parts; the key None stands for tensors that are whole here."""
    totals = []
    for group, norm in norms.items():
        if group is None:
            totals.append(norm)
            continue
        if order == float("inf"):
            total = norm.clone()
            collectives.all_reduce(total, ReduceOp.MAX, group)
            totals.append(total)
        else:
            total = norm**order
            collectives.all_reduce(total, ReduceOp.SUM, group)
            totals.append(total ** (1 / order))
    norm = vector_norm(stack(totals), order)
    return as_part(norm, mesh, (Replicate(),) * mesh.ndim, norm.shape)
