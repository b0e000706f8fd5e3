"""Ranks in a grid: `init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))`, with a group along each dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from . import groups, world


class DeviceMesh:
    """Ranks in a grid, one group for each line of it along each dimension.

    Args:
        device_type: "cpu" or "cuda"
        mesh: the ranks, in as many dimensions as the grid has
        mesh_dim_names: names of the dimensions
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        _groups: Sequence[Any] | None = None,
        **_: Any,
    ) -> None:
        self.device_type = device_type
        given = mesh._array if isinstance(mesh, Tensor) else mesh
        self._ranks = np.asarray(given, np.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self.ndim:
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length, got "
                f"{self.ndim} dimensions and the names {self.mesh_dim_names}"
            )
        if not world.is_initialized():
            world.init_process_group()
        self._groups = self._make_groups() if _groups is None else list(_groups)

    def _make_groups(self) -> list[Any]:
        """This rank's group along each dimension. All ranks make all groups, in the same order."""
        own = []
        for dim in range(self.ndim):
            lines = np.moveaxis(self._ranks, dim, -1).reshape(-1, self.shape[dim])
            mine = None
            for line in lines:
                ranks = line.tolist()
                everyone = ranks == list(range(world.get_world_size()))
                made = world.default_group() if everyone else groups.new_group(ranks)
                mine = made if world.get_rank() in ranks else mine
            own.append(mine)
        return own

    @property
    def mesh(self) -> Tensor:
        """The ranks."""
        return wrap(self._ranks.copy())

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranks there are along each dimension."""
        return self._ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, in all or along a dimension."""
        return self._ranks.size if mesh_dim is None else self.shape[mesh_dim]

    def _dimension(self, mesh_dim: int | str | None) -> int:
        """A dimension by number or name; None: the only one."""
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions: Optional kwarg `mesh_dim` needs to be "
                    "specified when device_mesh.ndim > 1."
                )
            return 0
        if isinstance(mesh_dim, int):
            return mesh_dim
        if self.mesh_dim_names is None or mesh_dim not in self.mesh_dim_names:
            raise KeyError(
                f"Invalid mesh_dim_name {mesh_dim!r}: the dimensions are {self.mesh_dim_names}"
            )
        return self.mesh_dim_names.index(mesh_dim)

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """This rank's group along a dimension."""
        return self._groups[self._dimension(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """This rank's groups along all dimensions."""
        return list(self._groups)

    def get_rank(self) -> int:
        """This process's rank among all."""
        return world.get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's place along a dimension."""
        return world.get_rank(self.get_group(mesh_dim))

    def get_coordinate(self) -> list[int] | None:
        """This rank's place in the grid; None outside of it."""
        found = np.argwhere(self._ranks == world.get_rank())
        return found[0].tolist() if len(found) else None

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the grid along some dimensions that this rank is in."""
        chosen = (names,) if isinstance(names, str) else tuple(names)
        dims = [self._dimension(name) for name in chosen]
        here = self.get_coordinate() or [0] * self.ndim
        place = tuple(slice(None) if i in dims else here[i] for i in range(self.ndim))
        groups = [self._groups[dim] for dim in dims]
        return DeviceMesh(
            self.device_type, self._ranks[place], mesh_dim_names=chosen, _groups=groups
        )

    @staticmethod
    def from_group(
        group: Any,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """A mesh over groups that are there: one, or one for each dimension of `mesh`."""
        groups = group if isinstance(group, list) else [group]
        ranks = world.get_process_group_ranks(groups[0]) if mesh is None else mesh
        return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=groups)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (
            self.device_type == other.device_type and np.array_equal(self._ranks, other._ranks)
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self._ranks.tobytes(), self._ranks.shape))

    def __repr__(self) -> str:
        shape = str(self.shape)
        if self.mesh_dim_names is not None:
            shape = f"({', '.join(f'{n}={s}' for n, s in zip(self.mesh_dim_names, self.shape, strict=True))})"
        return f"DeviceMesh({shape}, {self.device_type!r}, stride={self._strides()})"

    def _strides(self) -> tuple[int, ...]:
        return tuple(math.prod(self.shape[i + 1 :]) for i in range(self.ndim))


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """All ranks in a grid of a shape. All of them call this."""
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError(f"Each mesh_dim_name must be unique, found {tuple(mesh_dim_names)}")
    if not world.is_initialized():
        world.init_process_group()
    count = math.prod(mesh_shape)
    if count > world.get_world_size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {world.get_world_size()}, but found {count} ranks!"
        )
    ranks = np.arange(count).reshape(tuple(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
