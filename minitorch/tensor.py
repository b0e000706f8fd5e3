"""Lesson 2: the tensor that users hold."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .autodiff import Variable, backpropagate
from .tensor_data import (
    IndexingError,
    Shape,
    Storage,
    Strides,
    TensorData,
    UserIndex,
    UserShape,
    UserStrides,
    shape_broadcast,
)
from .tensor_functions import (
    EQ,
    LT,
    Add,
    All,
    Copy,
    Exp,
    History,
    Inv,
    IsClose,
    Log,
    MatMul,
    Mul,
    Neg,
    Permute,
    ReLU,
    Sigmoid,
    Sum,
    View,
    common_backend,
    is_tensor,
)
from .tensor_ops import SimpleBackend, TensorBackend

_unique_ids = itertools.count(1)


class Tensor:
    """Many numbers in a shape, with a gradient and the history that leads to it.

    `minitorch.tensor` makes one from lists. With no history it is a constant.

    >>> t = Tensor.make([1, 2, 3, 4, 5, 6], (2, 3))
    >>> t
    [
        [1.00 2.00 3.00]
        [4.00 5.00 6.00]]
    >>> t.sum(1).view(2)
    [6.00 15.00]
    """

    def __init__(
        self,
        v: TensorData,
        back: History | None = None,
        name: str | None = None,
        backend: TensorBackend | None = None,
    ) -> None:
        if not isinstance(v, TensorData):
            raise TypeError(
                f"Tensor takes TensorData, not {type(v).__name__}; see minitorch.tensor"
            )
        self.unique_id = next(_unique_ids)
        self._tensor = v
        self.history = back
        self.backend = SimpleBackend if backend is None else backend
        if not isinstance(self.backend, TensorBackend):
            raise TypeError(
                f"backend must be a TensorBackend, such as TensorBackend(SimpleOps), "
                f"not the {type(backend).__name__} {backend!r}"
            )
        self.grad: Tensor | None = None
        self._name = name
        if self.backend.cuda:
            v.to_cuda_()

    @property
    def name(self) -> str:
        """The name it was given, else its unique number."""
        return str(self.unique_id) if self._name is None else self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def f(self) -> TensorBackend:
        """The backend, under the short name that functions use."""
        return self.backend

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self._tensor.shape

    @property
    def size(self) -> int:
        """How many elements there are."""
        return self._tensor.size

    @property
    def dims(self) -> int:
        """How many dimensions there are."""
        return self._tensor.dims

    def requires_grad_(self, x: bool) -> None:
        """Make this a leaf that keeps its gradient, or a constant that does not."""
        if not x:
            self.history = None
        elif not self.is_leaf():
            self.history = History()

    def requires_grad(self) -> bool:
        """Whether backward computes a gradient for this tensor."""
        return self.history is not None

    # --- Operators -------------------------------------------------------------

    def __add__(self, b: TensorLike) -> Tensor:
        return Add.apply(self, self._ensure_tensor(b))

    def __radd__(self, b: TensorLike) -> Tensor:
        return Add.apply(self._ensure_tensor(b), self)

    def __sub__(self, b: TensorLike) -> Tensor:
        return Add.apply(self, Neg.apply(self._ensure_tensor(b)))

    def __rsub__(self, b: TensorLike) -> Tensor:
        return Add.apply(self._ensure_tensor(b), Neg.apply(self))

    def __mul__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self, self._ensure_tensor(b))

    def __rmul__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self._ensure_tensor(b), self)

    def __truediv__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self, Inv.apply(self._ensure_tensor(b)))

    def __rtruediv__(self, b: TensorLike) -> Tensor:
        return Mul.apply(self._ensure_tensor(b), Inv.apply(self))

    def __matmul__(self, b: Tensor) -> Tensor:
        if not is_tensor(b):
            raise TypeError(f"matmul: the second input must be a Tensor, not {type(b).__name__}")
        return MatMul.apply(self, b)

    def __neg__(self) -> Tensor:
        return Neg.apply(self)

    def __lt__(self, b: TensorLike) -> Tensor:
        return LT.apply(self, self._ensure_tensor(b))

    def __gt__(self, b: TensorLike) -> Tensor:
        return LT.apply(self._ensure_tensor(b), self)

    def __eq__(self, b: TensorLike) -> Tensor:  # type: ignore[override]
        return EQ.apply(self, self._ensure_tensor(b))

    def __hash__(self) -> int:
        return self.unique_id

    def __bool__(self) -> bool:
        if self.size != 1:
            raise RuntimeError(
                f"a tensor of shape {self.shape} is neither true nor false; see all()"
            )
        return bool(self.item())

    __array_ufunc__ = None  # NumPy leaves `array * tensor` to Tensor, which says what it takes

    def is_close(self, y: TensorLike) -> Tensor:
        """1.0 where this and y differ by less than 0.01."""
        return IsClose.apply(self, self._ensure_tensor(y))

    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x)) of every element."""
        return Sigmoid.apply(self)

    def relu(self) -> Tensor:
        """Every element where positive, else 0."""
        return ReLU.apply(self)

    def log(self) -> Tensor:
        """Natural logarithm of every element."""
        return Log.apply(self)

    def exp(self) -> Tensor:
        """E to the power of every element."""
        return Exp.apply(self)

    def sum(self, dim: int | None = None) -> Tensor:
        """Sum over a dimension, which stays with size 1; over everything, shape (1,)."""
        if dim is None:
            return Sum.apply(self.contiguous().view(self.size), 0)
        return Sum.apply(self, dim)

    def mean(self, dim: int | None = None) -> Tensor:
        """Mean over a dimension, which stays with size 1; over everything, shape (1,)."""
        total = self.sum(dim)
        return total / (self.size / total.size) if total.size else total

    def all(self, dim: int | None = None) -> Tensor:
        """1.0 where every element along a dimension, or of all, is true."""
        if dim is None:
            return All.apply(self.contiguous().view(self.size), 0)
        return All.apply(self, dim)

    def permute(self, *order: int) -> Tensor:
        """The dimensions in another order, on the same storage."""
        return Permute.apply(self, order)

    def view(self, *shape: int) -> Tensor:
        """The same elements in another shape, on the same storage; must be contiguous."""
        return View.apply(self, shape)

    def contiguous(self) -> Tensor:
        """This tensor if its elements lie in counting order, else a copy where they do."""
        return self if self._tensor.is_contiguous() else Copy.apply(self)

    # --- Elements --------------------------------------------------------------

    def item(self) -> float:
        """The only element of a tensor that has one."""
        if self.size != 1:
            raise ValueError(f"item: needs exactly one element, shape {self.shape} has {self.size}")
        return float(self._tensor._storage[0])

    def __getitem__(self, key: int | UserIndex) -> float:
        return self._tensor.get(key)

    def __setitem__(self, key: int | UserIndex, val: float) -> None:
        self._tensor.set(key, val)

    def to_numpy(self) -> npt.NDArray[np.float64]:
        """A copy as a NumPy array."""
        return self._tensor.to_numpy()

    def tuple(self) -> tuple[Storage, Shape, Strides]:
        """Storage, shape and strides, as kernels take them."""
        return self._tensor.tuple()

    def __repr__(self) -> str:
        return self._tensor.to_string()

    # --- Making tensors like this one -------------------------------------------

    @staticmethod
    def make(
        storage: Storage | Sequence[float],
        shape: UserShape,
        strides: UserStrides | None = None,
        backend: TensorBackend | None = None,
    ) -> Tensor:
        """A tensor, without history, from flat storage and a shape."""
        return Tensor(TensorData(storage, shape, strides), backend=backend)

    def _new(self, tensor_data: TensorData) -> Tensor:
        return Tensor(tensor_data, backend=self.backend)

    def _ensure_tensor(self, b: TensorLike) -> Tensor:
        if is_tensor(b):
            return b  # type: ignore[return-value]
        if isinstance(b, (int, float, np.number)):
            return Tensor.make(self.f.ops.number(float(b)), (1,), backend=self.backend)
        raise TypeError(f"a Tensor and a {type(b).__name__} cannot be combined")

    def zeros(self, shape: UserShape | None = None) -> Tensor:
        """Zeros of a shape, this tensor's unless given, on this tensor's backend."""
        shape = self.shape if shape is None else shape
        storage = self.f.ops.zeros(max(prod(shape), 0))
        return Tensor.make(storage, shape, backend=self.backend)

    def detach(self) -> Tensor:
        """The same storage without history."""
        return Tensor(self._tensor, backend=self.backend)

    def _type_(self, backend: TensorBackend) -> None:
        """Move this tensor to another backend, in place."""
        self.backend = backend
        if backend.cuda:
            self._tensor.to_cuda_()
        else:
            self._tensor.to_cpu_()

    # --- Variable --------------------------------------------------------------

    def expand(self, other: Tensor) -> Tensor:
        """Turn a gradient that broadcasts with this tensor into one of this tensor's shape.

        Where forward copied elements of this tensor, their gradients add up; where the
        gradient is smaller, it is copied.
        """
        if self.backend.ops is not other.backend.ops:
            other = self._new(other._tensor)
        if self.shape == other.shape:
            return other
        full_shape = shape_broadcast(self.shape, other.shape)
        if other.shape != full_shape:
            other = self.f.id_map(other, self.zeros(full_shape))
        missing = len(full_shape) - self.dims
        for dim, size in enumerate(full_shape):
            if size != 1 and (dim < missing or self.shape[dim - missing] == 1):
                other = self.f.add_reduce(other, dim)
        if other.size != self.size:
            raise IndexingError(f"a gradient of shape {other.shape} does not fit {self.shape}")
        return self._new(TensorData(other.contiguous()._tensor._storage, self.shape))

    def accumulate_derivative(self, x: Any) -> None:
        """Add x to the gradient of this leaf."""
        if not self.is_leaf():
            raise RuntimeError(f"tensor {self.name}: only leaf variables keep a gradient")
        self.grad = self.f.id_map(x) if self.grad is None else self.f.add_zip(self.grad, x)

    def is_leaf(self) -> bool:
        """Whether the user made this tensor."""
        return self.history is not None and self.history.last_fn is None

    def is_constant(self) -> bool:
        """Whether no gradient is wanted."""
        return self.history is None

    @property
    def parents(self) -> Iterable[Variable]:
        """The tensors this one was computed from."""
        return [] if self.history is None else [t for t in self.history.inputs if is_tensor(t)]

    def chain_rule(self, d_output: Any) -> list[tuple[Variable, Any]]:
        """Pair each input that wants one with its gradient, in the input's shape."""
        h = self.history
        if h is None or h.last_fn is None or h.ctx is None:
            raise RuntimeError(f"tensor {self.name}: chain_rule needs the result of an operation")
        gradients = h.last_fn._backward(h.ctx, d_output)
        if len(gradients) != len(h.inputs):
            raise RuntimeError(
                f"{h.last_fn.__name__}.backward returned {len(gradients)} gradients "
                f"for {len(h.inputs)} arguments"
            )
        return [
            (value, value.expand(self._ensure_tensor(gradient)))
            for value, gradient in zip(h.inputs, gradients, strict=True)
            if is_tensor(value) and not value.is_constant()
        ]

    def backward(self, grad_output: Tensor | None = None) -> None:
        """Compute the gradient of this tensor for every leaf it depends on.

        Args:
            grad_output: the gradient to start from; 1 for a tensor of shape (1,), else needed
        """
        if self.is_constant():
            raise RuntimeError(
                f"backward: tensor of shape {self.shape} has no history; nothing it was computed "
                f"from requires a gradient"
            )
        if grad_output is None:
            if self.shape not in ((1,), ()):
                raise RuntimeError(f"backward: shape {self.shape} is not (1,), pass grad_output")
            grad_output = Tensor.make([1.0], self.shape, backend=self.backend)
        elif not is_tensor(grad_output):
            raise TypeError(f"backward: grad_output must be a Tensor, not {grad_output!r}")
        elif grad_output.shape != self.shape and not grad_output.size == self.size == 1:
            raise RuntimeError(
                f"backward: grad_output must have shape {self.shape}, it has {grad_output.shape}"
            )
        common_backend("backward", [self, grad_output])
        backpropagate(self, self.expand(grad_output.detach()))

    def zero_grad_(self) -> None:
        """Forget the gradient."""
        self.grad = None


TensorLike: TypeAlias = float | int | Tensor
