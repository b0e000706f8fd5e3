"""Lesson 2: functions of tensors with their gradients, and ways to make tensors."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .autodiff import Context
from .tensor_checks import grad_central_difference as grad_central_difference
from .tensor_checks import grad_check as grad_check
from .tensor_data import IndexingError, TensorData, float64_array
from .tensor_ops import SimpleBackend, TensorBackend

if TYPE_CHECKING:
    from .tensor import Tensor
    from .tensor_data import UserShape


@dataclass
class History:
    """How a tensor came about; all empty for one that the user made (a leaf).

    `inputs` are all arguments of the function, tensors and plain values alike.
    """

    last_fn: type[Function] | None = None
    ctx: Context | None = None
    inputs: Sequence[Any] = ()


class Function:
    """A function of tensors that knows its gradient.

    `forward` takes tensors without history, and plain values such as a dimension;
    `backward` takes the gradient of the output and returns one entry per argument of
    `forward`. The entry of a plain value or a constant is ignored; `ctx.needs(i)` tells
    whether argument i wants one. Users call `apply`.
    """

    @staticmethod
    def forward(ctx: Context, *inputs: Any) -> Tensor:
        """Compute the value."""
        raise NotImplementedError("Function needs a forward")

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Any:
        """Compute the gradient for each argument."""
        raise NotImplementedError("Function needs a backward")

    @classmethod
    def _forward(cls, ctx: Context, *inputs: Any) -> Tensor:
        return cls.forward(ctx, *inputs)

    @classmethod
    def _backward(cls, ctx: Context, grad_output: Tensor) -> tuple[Any, ...]:
        gradients = cls.backward(ctx, grad_output)
        return gradients if isinstance(gradients, tuple) else (gradients,)

    @classmethod
    def apply(cls, *vals: Any) -> Tensor:
        """Compute the function, and remember it and its arguments if a gradient is wanted."""
        backend = common_backend(cls.__name__, vals)
        needs_grad = tuple(is_tensor(v) and v.history is not None for v in vals)
        wanted = any(needs_grad)
        ctx = Context(not wanted, needs_input_grad=needs_grad)
        inputs = [_as_input(v, backend) if is_tensor(v) else v for v in vals]
        out = cls._forward(ctx, *inputs)
        if not is_tensor(out):
            raise TypeError(f"[{cls.__name__}] forward returned {type(out).__name__}, not a Tensor")
        if wanted:
            out.history = History(cls, ctx, vals)
        return out


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor, as opposed to a number, a shape or a dimension."""
    return hasattr(value, "_tensor")


def common_backend(name: str, inputs: Sequence[Any]) -> TensorBackend:
    """The backend that computes a function: the first tensor's.

    TypeError without any tensor, RuntimeError where one is on the CPU and another on the GPU.
    """
    tensors = [v for v in inputs if is_tensor(v)]
    if not tensors:
        given = ", ".join(type(v).__name__ for v in inputs)
        raise TypeError(f"[{name}] needs a Tensor, got {given or 'nothing'}")
    first = tensors[0]
    for t in tensors[1:]:
        if t.backend.cuda is not first.backend.cuda:
            raise RuntimeError(
                f"[{name}] tensors on the CPU and on the GPU: {first.shape} on "
                f"{first.backend.ops.__name__} and {t.shape} on {t.backend.ops.__name__}; "
                "make both with the same backend"
            )
    return first.backend


def _as_input(t: Tensor, backend: TensorBackend) -> Tensor:
    """A tensor as `forward` gets it: without history, on the backend that computes."""
    if t.history is None and t.backend.ops is backend.ops:
        return t
    plain = t.detach()
    plain.backend = backend
    return plain


def _ints(values: Any) -> tuple[int, ...]:
    """A shape or an order, given as whole numbers or as the course's tensor of them."""
    if is_tensor(values):
        values = values.to_numpy().astype(int).ravel().tolist()
    for v in values:
        if not isinstance(v, (int, np.integer)):
            raise TypeError(f"a shape or an order must be whole numbers, found {v!r}")
    return tuple(values)


def _dim(value: Any) -> int:
    """A dimension, given as a whole number or as the course's tensor of one."""
    return int(value.item()) if is_tensor(value) else value


class Neg(Function):
    """-x."""

    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        """Negate."""
        return t1.f.neg_map(t1)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        """-g."""
        return grad_output.f.neg_map(grad_output)


class Inv(Function):
    """1 / x."""

    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        """Take reciprocals."""
        ctx.save_for_backward(t1)
        return t1.f.inv_map(t1)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        """-g / x²."""
        (t1,) = ctx.saved_values
        return grad_output.f.inv_back_zip(t1, grad_output)


class Add(Function):
    """x + y."""

    @staticmethod
    def forward(ctx: Context, t1: Tensor, t2: Tensor) -> Tensor:
        """Add."""
        return t1.f.add_zip(t1, t2)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        """Both inputs receive g."""
        return grad_output, grad_output


class Mul(Function):
    """x y, element by element."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        """Multiply."""
        ctx.save_for_backward(a, b)
        return a.f.mul_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Each input receives g times the other."""
        a, b = ctx.saved_values
        f = grad_output.f
        return (
            f.mul_zip(b, grad_output) if ctx.needs(0) else None,
            f.mul_zip(a, grad_output) if ctx.needs(1) else None,
        )


class Sigmoid(Function):
    """1 / (1 + exp(-x))."""

    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        """Squash into (0, 1)."""
        out = t1.f.sigmoid_map(t1)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        """s (1 - s) g, where s is the output."""
        (out,) = ctx.saved_values
        f = grad_output.f
        rest = f.add_zip(f.neg_map(out), out._ensure_tensor(1.0))
        return f.mul_zip(f.mul_zip(out, rest), grad_output)


class ReLU(Function):
    """max(0, x)."""

    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        """Cut off below 0."""
        ctx.save_for_backward(t1)
        return t1.f.relu_map(t1)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        """G where x is positive, else 0."""
        (t1,) = ctx.saved_values
        return grad_output.f.relu_back_zip(t1, grad_output)


class Log(Function):
    """log(x)."""

    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        """Take logarithms."""
        ctx.save_for_backward(t1)
        return t1.f.log_map(t1)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        """G / x."""
        (t1,) = ctx.saved_values
        return grad_output.f.log_back_zip(t1, grad_output)


class Exp(Function):
    """e to the power of x."""

    @staticmethod
    def forward(ctx: Context, t1: Tensor) -> Tensor:
        """Exponentiate."""
        out = t1.f.exp_map(t1)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        """The output times g."""
        (out,) = ctx.saved_values
        return grad_output.f.mul_zip(out, grad_output)


class Sum(Function):
    """Sum over one dimension, which stays with size 1."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int | Tensor) -> Tensor:
        """Add up."""
        return a.f.add_reduce(a, _dim(dim))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, float]:
        """G, which broadcasts back over the dimension."""
        return grad_output, 0.0


class All(Function):
    """1.0 where all elements along a dimension are true (their product)."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, dim: int | Tensor) -> Tensor:
        """Multiply up."""
        return a.f.mul_reduce(a, _dim(dim))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, float]:
        """Flat almost everywhere."""
        return grad_output.zeros(), 0.0


class LT(Function):
    """1.0 where x < y."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        """Compare."""
        return a.f.lt_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        """A step is flat on both sides."""
        return grad_output.zeros(), grad_output.zeros()


class EQ(Function):
    """1.0 where x == y."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        """Compare."""
        return a.f.eq_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        """Flat almost everywhere."""
        return grad_output.zeros(), grad_output.zeros()


class IsClose(Function):
    """1.0 where x and y differ by less than 0.01."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        """Compare."""
        return a.f.is_close_zip(a, b)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        """Flat almost everywhere."""
        return grad_output.zeros(), grad_output.zeros()


class Permute(Function):
    """The dimensions in another order."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, order: Sequence[int] | Tensor) -> Tensor:
        """Look at the same storage through reordered strides."""
        order = _ints(order)
        ctx.save_for_backward(order)
        return a._new(a._tensor.permute(*order))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, float]:
        """Put the dimensions back: forward took dimension order[i] to place i."""
        (order,) = ctx.saved_values
        inverse = np.argsort(order).tolist()
        return grad_output._new(grad_output._tensor.permute(*inverse)), 0.0


class View(Function):
    """The same elements, in the same order, in another shape."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, shape: Sequence[int] | Tensor) -> Tensor:
        """Look at contiguous storage through another shape."""
        shape = _ints(shape)
        ctx.save_for_backward(a.shape)
        if not a._tensor.is_contiguous():
            raise IndexingError(
                f"view: a tensor of shape {a.shape} and strides {a._tensor.strides} is not "
                f"contiguous; call contiguous() first"
            )
        if prod(shape) != a.size:
            raise IndexingError(
                f"view: shape {a.shape} holds {a.size} numbers, {shape} would hold {prod(shape)}"
            )
        return a._new(TensorData(a._tensor._storage, shape))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, float]:
        """View the gradient in the shape of the input."""
        (shape,) = ctx.saved_values
        contiguous = grad_output.detach().contiguous()
        return grad_output._new(TensorData(contiguous._tensor._storage, shape)), 0.0


class Copy(Function):
    """The same elements in fresh, contiguous storage."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        """Copy."""
        return a.f.id_map(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        """g."""
        return grad_output


class MatMul(Function):
    """The product of matrices in the last two dimensions."""

    @staticmethod
    def forward(ctx: Context, t1: Tensor, t2: Tensor) -> Tensor:
        """Multiply."""
        ctx.save_for_backward(t1, t2)
        return t1.f.matrix_multiply(t1, t2)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """G times the second transposed, and the first transposed times g."""
        t1, t2 = ctx.saved_values
        f = grad_output.f
        return (
            f.matrix_multiply(grad_output, _transposed(t2)) if ctx.needs(0) else None,
            f.matrix_multiply(_transposed(t1), grad_output) if ctx.needs(1) else None,
        )


def _transposed(a: Tensor) -> Tensor:
    """The last two dimensions swapped."""
    order = [*range(a.dims - 2), a.dims - 1, a.dims - 2]
    return a._new(a._tensor.permute(*order))


# --- Making tensors ----------------------------------------------------------


def _make(storage: Any, shape: UserShape, backend: TensorBackend, requires_grad: bool) -> Tensor:
    from .tensor import Tensor  # Tensor's operators apply the functions above

    out = Tensor.make(storage, shape, backend=backend)
    out.requires_grad_(requires_grad)
    return out


def zeros(shape: UserShape, backend: TensorBackend = SimpleBackend) -> Tensor:
    """A tensor of zeros.

    >>> zeros((2,))
    [0.00 0.00]
    """
    return _make(np.zeros(max(prod(shape), 0)), shape, backend, False)


def rand(
    shape: UserShape, backend: TensorBackend = SimpleBackend, requires_grad: bool = False
) -> Tensor:
    """A tensor of random numbers in [0, 1), from Python's `random`."""
    return _make([random.random() for _ in range(prod(shape))], shape, backend, requires_grad)


def _tensor(
    ls: Any,
    shape: UserShape,
    backend: TensorBackend = SimpleBackend,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of a given shape from a flat list of numbers."""
    return _make(ls, shape, backend, requires_grad)


def tensor(ls: Any, backend: TensorBackend = SimpleBackend, requires_grad: bool = True) -> Tensor:
    """A tensor from a number or from nested lists of numbers.

    It is a leaf: backward fills its `grad`. For data that needs no gradient,
    `requires_grad=False` saves the work.

    >>> tensor([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    array = float64_array(ls, "tensor: needs a number or evenly nested lists of numbers")
    return _make(array.ravel().copy(), array.shape, backend, requires_grad)
