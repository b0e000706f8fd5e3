"""The device `meta`: a backend whose arrays have no elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...device import device
from ...ops.layout import laid_out
from ...ops.record import ELEMENTWISE
from ..interface import Array, Backend, Shape
from .array import NO_DATA, MetaArray, new_array
from .rules import of_matrices

META = device("meta")

OF_MATRICES = frozenset(
    [
        "linalg_lu_factor_ex",
        "lu_permutation",
        "linalg_solve_triangular",
        "linalg_ldl_factor_ex",
        "linalg_ldl_solve",
        "linalg_matrix_exp",
    ]
)
"""Records that call LAPACK, or look at values, for each matrix of a stack."""


class Meta(Backend):
    """Shapes, strides and types, without memory."""

    kind = "meta"
    array = MetaArray

    def __init__(self) -> None:
        self.kernels = {"histc": _histogram, "normal": _normal}

    def current(self) -> int | None:
        return None

    def device_of(self, array: Array) -> device:
        return getattr(array, "where", META)  # a wrapper speaks for another device

    def empty(self, shape: Shape, dtype: Any, where: device) -> Array:
        return new_array(shape, dtype)

    def address(self, array: Array) -> int:
        return array.shadow.__array_interface__["data"][0]

    def strided(self, array: Array, shape: Shape, strides: Shape) -> Array:
        return array.view_of(as_strided(array.shadow, shape, strides))

    def from_numpy(self, array: np.ndarray, where: device) -> Array:
        return new_array(array.shape, array.dtype, array.strides)

    def to_numpy(self, array: Array) -> np.ndarray:
        raise NotImplementedError(NO_DATA)

    def compute(self, op: Any, where: device, *arrays: Any, **params: Any) -> Any:
        if op.kind == ELEMENTWISE:
            return _of_elements(op, arrays, params)
        if op.name in OF_MATRICES:
            return of_matrices(op.compute, arrays, params)
        result = op.compute(*arrays, **params)
        if type(result) is tuple:
            return tuple([_without_memory(r) for r in result])
        return _without_memory(result)

    def draw(
        self, distribution: Callable[..., Array], shape: Shape, dtype: Any, where: device, *args: Any, **named: Any
    ) -> Array:  # fmt: skip
        return new_array(shape, dtype)

    def permutation(self, n: int, dtype: Any, where: device, generator: Any) -> Array:
        return new_array((n,), dtype)

    def update(
        self, formula: Callable[..., tuple[Array, ...]], columns: Sequence[list[Array]], numbers: Sequence[Any]
    ) -> None:  # fmt: skip
        """Nothing changes."""


def _of_elements(op: Any, arrays: Any, params: dict[str, Any]) -> Any:
    """What an elementwise record gives: shapes broadcast, and the type is that of one element."""

    def sample(x: Any) -> Any:
        return np.ones((1,) * x.ndim, x.dtype) if isinstance(x, (MetaArray, np.ndarray)) else x

    given = [x for x in arrays if isinstance(x, (MetaArray, np.ndarray))]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    result = op.compute(*map(sample, arrays), **{name: sample(v) for name, v in params.items()})
    return laid_out(new_array(shape, result.dtype), given)


def _histogram(input: Array, bins: int, **_: Any) -> Array:
    return new_array((bins,), input.dtype)


def _normal(mean: Any, std: Any, generator: Any) -> Array:
    kind = (mean if isinstance(mean, MetaArray) else std).dtype
    return new_array(np.broadcast_shapes(np.shape(mean), np.shape(std)), kind)


def _without_memory(value: Any) -> Any:
    return (
        new_array(value.shape, value.dtype)
        if isinstance(value, (np.ndarray, np.generic))
        else value
    )


meta = Meta()
