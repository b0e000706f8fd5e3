"""Lesson 2: map, zip and reduce over tensors, in plain Python.

A backend is these verbs and nothing more. This one is slow and defines what the
verbs mean; the fast ones (`fast_ops`, `cuda_ops`) are tested against it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from . import operators
from .tensor_data import (
    IndexingError,
    TensorData,
    broadcast_index,
    index_to_position,
    shape_broadcast,
    to_index,
)

if TYPE_CHECKING:
    from .tensor import Tensor
    from .tensor_data import Shape, Storage, Strides


class MapProto(Protocol):
    """A map over a tensor; given `out`, the input is broadcast into it."""

    def __call__(self, x: Tensor, out: Tensor | None = ..., /) -> Tensor:
        """Apply the map."""
        ...


class TensorOps:
    """The verbs that a backend implements, and where its numbers live."""

    @staticmethod
    def zeros(size: int) -> Any:
        """Storage filled with 0."""
        return np.zeros(size)

    @staticmethod
    def number(value: float) -> Any:
        """Storage of one number, which nobody writes to."""
        return np.array([value], dtype=np.float64)

    @staticmethod
    def map(fn: Callable[[float], float]) -> MapProto:
        """Make a function of a tensor from a function of a number."""
        raise NotImplementedError("map")

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[[Tensor, Tensor], Tensor]:
        """Make a function of two tensors, broadcast together, from one of two numbers."""
        raise NotImplementedError("zip")

    @staticmethod
    def reduce(
        fn: Callable[[float, float], float], start: float = 0.0
    ) -> Callable[[Tensor, int], Tensor]:
        """Make a function that reduces one dimension of a tensor to size 1.

        `fn` must not care about grouping or order, and `start` must change nothing
        under it: fast backends reduce parts in parallel and combine them.
        """
        raise NotImplementedError("reduce")

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """Multiply the last two dimensions as matrices; broadcast the rest."""
        raise NotImplementedError("matrix_multiply")

    cuda = False


class TensorBackend:
    """All the functions of tensors that the library needs, made by one set of verbs."""

    def __init__(self, ops: type[TensorOps]) -> None:
        if not (isinstance(ops, type) and issubclass(ops, TensorOps)):
            raise TypeError(f"TensorBackend takes a class of TensorOps, not {ops!r}")
        self.ops = ops
        self.cuda = ops.cuda

        self.neg_map = ops.map(operators.neg)
        self.sigmoid_map = ops.map(operators.sigmoid)
        self.relu_map = ops.map(operators.relu)
        self.log_map = ops.map(operators.log)
        self.exp_map = ops.map(operators.exp)
        self.id_map = ops.map(operators.id)
        self.inv_map = ops.map(operators.inv)

        self.add_zip = ops.zip(operators.add)
        self.mul_zip = ops.zip(operators.mul)
        self.lt_zip = ops.zip(operators.lt)
        self.eq_zip = ops.zip(operators.eq)
        self.is_close_zip = ops.zip(operators.is_close)
        self.relu_back_zip = ops.zip(operators.relu_back)
        self.log_back_zip = ops.zip(operators.log_back)
        self.inv_back_zip = ops.zip(operators.inv_back)

        self.add_reduce = ops.reduce(operators.add, 0.0)
        self.mul_reduce = ops.reduce(operators.mul, 1.0)
        self.max_reduce = ops.reduce(operators.max, -math.inf)

        self.matrix_multiply = ops.matrix_multiply

    def __repr__(self) -> str:
        return f"TensorBackend({self.ops.__name__})"


# --- Shapes of results, and what to say where there is none --------------------


def map_output(a: Tensor, out: Tensor | None) -> Tensor:
    """Where a map of `a` is written: a new tensor, or `out` if `a` broadcasts into it."""
    if out is None:
        return a.zeros(a.shape)
    if out.shape != a.shape and shape_broadcast(a.shape, out.shape) != out.shape:
        raise IndexingError(f"map: input of shape {a.shape} does not broadcast into {out.shape}")
    return out


def reduced_dim(shape: tuple[int, ...], dim: int) -> int:
    """The dimension to reduce, counted from the front; IndexingError if it does not exist."""
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)):
        raise TypeError(f"reduce: dim must be an integer, it is {dim!r}")
    if not -len(shape) <= dim < len(shape):
        raise IndexingError(f"reduce: dim {dim} does not exist in shape {shape}")
    return int(dim) % len(shape)


def reduced_shape(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    """The shape with dimension `dim` reduced to size 1."""
    return (*shape[:dim], 1, *shape[dim + 1 :])


def matmul_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a matrix product; IndexingError where it is not defined."""
    if len(a) < 2 or len(b) < 2:
        raise IndexingError(f"matmul: both inputs need two dimensions or more, got {a} and {b}")
    if a[-1] != b[-2]:
        raise IndexingError(
            f"matmul: the last dimension of the first input {a} must equal "
            f"the second to last of the second {b}: {a[-1]} and {b[-2]}"
        )
    return (*shape_broadcast(a[:-2], b[:-2]), a[-2], b[-1])


class SimpleOps(TensorOps):
    """The plain-Python verbs."""

    @staticmethod
    def map(fn: Callable[[float], float]) -> MapProto:
        """Apply fn to every element."""
        kernel = tensor_map(fn)

        def apply(a: Tensor, out: Tensor | None = None) -> Tensor:
            out = map_output(a, out)
            kernel(*out.tuple(), *a.tuple())
            return out

        return apply

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[[Tensor, Tensor], Tensor]:
        """Apply fn to every pair of elements."""
        kernel = tensor_zip(fn)

        def apply(a: Tensor, b: Tensor) -> Tensor:
            out = a.zeros(shape_broadcast(a.shape, b.shape))
            kernel(*out.tuple(), *a.tuple(), *b.tuple())
            return out

        return apply

    @staticmethod
    def reduce(
        fn: Callable[[float, float], float], start: float = 0.0
    ) -> Callable[[Tensor, int], Tensor]:
        """Reduce one dimension with fn."""
        kernel = tensor_reduce(fn)

        def apply(a: Tensor, dim: int) -> Tensor:
            dim = reduced_dim(a.shape, dim)
            out = a.zeros(reduced_shape(a.shape, dim))
            out._tensor._storage[:] = start
            kernel(*out.tuple(), *a.tuple(), dim)
            return out

        return apply

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """A product of matrices is a zip and a reduce: multiply all pairs, sum over the middle.

        The intermediate of shape (..., n, k, m) is what the fast backends do without.
        """
        shape = matmul_shape(a.shape, b.shape)
        columns = _viewed(a, (*a.shape, 1))  # (..., n, k, 1)
        rows = _viewed(b, (*b.shape[:-2], 1, *b.shape[-2:]))  # (..., 1, k, m)
        products = SimpleOps.zip(operators.mul)(columns, rows)  # (..., n, k, m)
        return _viewed(SimpleOps.reduce(operators.add)(products, -2), shape)


def _viewed(a: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The elements of a, in order, in another shape."""
    contiguous = a if a._tensor.is_contiguous() else SimpleOps.map(operators.id)(a)
    return a._new(TensorData(contiguous._tensor._storage, shape))


# --- Task 2.3: the low-level loops -------------------------------------------


def tensor_map(
    fn: Callable[[float], float],
) -> Callable[[Storage, Shape, Strides, Storage, Shape, Strides], None]:
    """A loop that fills `out` with fn of `in`, whose shape broadcasts to `out_shape`.

    The strides of the two may differ.
    """

    def _map(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        in_storage: Storage,
        in_shape: Shape,
        in_strides: Strides,
    ) -> None:
        out_index = np.zeros(len(out_shape), dtype=np.int32)
        in_index = np.zeros(len(in_shape), dtype=np.int32)
        for i in range(len(out)):
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, in_shape, in_index)
            x = in_storage[index_to_position(in_index, in_strides)]
            out[index_to_position(out_index, out_strides)] = fn(float(x))

    return _map


def tensor_zip(
    fn: Callable[[float, float], float],
) -> Callable[[Storage, Shape, Strides, Storage, Shape, Strides, Storage, Shape, Strides], None]:
    """A loop that fills `out` with fn of `a` and `b`, whose shapes broadcast to `out_shape`."""

    def _zip(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        a_storage: Storage,
        a_shape: Shape,
        a_strides: Strides,
        b_storage: Storage,
        b_shape: Shape,
        b_strides: Strides,
    ) -> None:
        out_index = np.zeros(len(out_shape), dtype=np.int32)
        a_index = np.zeros(len(a_shape), dtype=np.int32)
        b_index = np.zeros(len(b_shape), dtype=np.int32)
        for i in range(len(out)):
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, a_shape, a_index)
            broadcast_index(out_index, out_shape, b_shape, b_index)
            x = a_storage[index_to_position(a_index, a_strides)]
            y = b_storage[index_to_position(b_index, b_strides)]
            out[index_to_position(out_index, out_strides)] = fn(float(x), float(y))

    return _zip


def tensor_reduce(
    fn: Callable[[float, float], float],
) -> Callable[[Storage, Shape, Strides, Storage, Shape, Strides, int], None]:
    """A loop that reduces dimension `reduce_dim` of `a` into `out`.

    `out_shape` is `a_shape` with that dimension reduced to size 1, and `out` holds
    the starting value.
    """

    def _reduce(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        a_storage: Storage,
        a_shape: Shape,
        a_strides: Strides,
        reduce_dim: int,
    ) -> None:
        index: Any = np.zeros(len(out_shape), dtype=np.int32)
        for i in range(len(out)):
            to_index(i, out_shape, index)
            position = index_to_position(index, out_strides)
            total = float(out[position])
            for k in range(a_shape[reduce_dim]):
                index[reduce_dim] = k
                total = fn(total, float(a_storage[index_to_position(index, a_strides)]))
            out[position] = total

    return _reduce


SimpleBackend = TensorBackend(SimpleOps)
