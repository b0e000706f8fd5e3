"""Products of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..formulas.matmul import matmul as multiplied
from ..interpreters import composite, installed
from ..overriding import NOBODY, is_watched, watched
from ..tensor import Array, Tensor
from .arithmetic import check_kind, scaled
from .einsum import contract
from .elementwise import conj
from .layout import ordered
from .memory import FILL
from .movement import wrap_dim
from .precision import kind_name
from .promotion import broadcast_shapes, exact_number, plain_number, wide_type
from .record import PRODUCT, Op, bind
from .surface import (
    FUNCTIONS,
    PLAIN_OPERANDS,
    alias,
    answer_operator,
    check_tensor,
    function,
    function_and_method,
    in_place,
    into,
    method,
    only_method,
    with_out,
)


def _product(a: Array, b: Array, left: bool = False, right: bool = False) -> Array:
    """A product of vectors or matrices, with the conjugate transpose of the `left` or `right` ones."""
    if left:
        a = _conjugate_transposed(a)
    if right:
        b = _conjugate_transposed(b)
    kind = a.dtype
    if kind.itemsize == 2 and kind.kind in "fV":  # half precision is multiplied in float32
        return multiplied(a.astype(np.float32), b.astype(np.float32)).astype(kind)
    if kind.kind == "b":
        raise NotImplementedError(f"\"addmm_impl_cpu_\" not implemented for '{kind_name(a)}'")
    return ordered(multiplied(a, b))


def _conjugate_transposed(x: Array) -> Array:
    return (x.conj() if x.dtype.kind == "c" else x).swapaxes(-2, -1)


def _product_of_matrices(name: str, doc: str) -> Op:
    """Declare a product; its derivatives are products with the same matrices, transposed or not."""

    def by_input(g: Any, other: Any, left: bool, right: bool) -> Any:
        if left:
            return bind(op, (other, g), {"left": right, "right": True})
        return bind(op, (g, other), {"right": not right})

    def by_other(g: Any, input: Any, left: bool, right: bool) -> Any:
        if right:
            return bind(op, (g, input), {"left": True, "right": left})
        return bind(op, (input, g), {"left": not left})

    op = Op(
        name,
        ("input", "other"),
        _product,
        {"input": by_input, "other": by_other},
        kind=PRODUCT,
        doc=doc,
    )
    return op


MM = _product_of_matrices("mm", "The product of two matrices.")
BMM = _product_of_matrices("bmm", "The products of two batches of matrices.")
MATMUL = _product_of_matrices("matmul", "The products of batches of matrices that broadcast.")


def _left_gradient(g: Any, other: Any, shapes: Any) -> Any:
    """g otherᵀ, with vectors as matrices."""
    left, right = map(len, shapes)
    if right == 1:
        return (g.unsqueeze(-1) if left > 1 else g) * conj(other)
    return MATMUL(g.unsqueeze(-2), other, right=True).squeeze(-2)


def _right_gradient(g: Any, input: Any, shapes: Any) -> Any:
    """inputᵀ g, with vectors as matrices."""
    left, right = map(len, shapes)
    if left == 1:
        return conj(input).unsqueeze(-1) * g.unsqueeze(-2) if right > 1 else g * conj(input)
    return MATMUL(input, g.unsqueeze(-1), left=True).squeeze(-1)


MV = Op("mv", ("input", "other"), _product, {"input": _left_gradient, "other": _right_gradient},
        doc="The product of a vector and a matrix, or a batch of them, in either order.", kind=PRODUCT)  # fmt: skip


def _dot(input: Array, other: Array) -> Array:
    """The dot product; vectors with stride 0 are copied, since NumPy sums them without BLAS and less accurately."""
    rows = (x.copy() if x.strides == (0,) else x for x in (input, other))
    return _product(*rows)


DOT = Op("dot", ("input", "other"), _dot,
         {"input": lambda g, other: g * conj(other), "other": lambda g, input: g * conj(input)},
         doc="The dot product of two vectors.", kind=PRODUCT)  # fmt: skip


# --- What can be multiplied --------------------------------------------------------------------


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _same_type(name: str, a: Tensor, b: Tensor) -> None:
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"{name}: expected m1 and m2 to have the same dtype, but got: "
            f"{a.dtype.c_name} != {b.dtype.c_name}"
        )


def _check_inner(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """RuntimeError, with the shapes, unless the summed dimensions have the same size."""
    if a[-1] == b[-2 if len(b) > 1 else 0]:
        return
    if len(a) == len(b) == 1:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(a)} and src {list(b)} to have the same "
            "number of elements"
        )
    raise RuntimeError(f"{name}: mat1 and mat2 shapes cannot be multiplied ({_by(a)} and {_by(b)})")


def _check_matrices(name: str, ndim: int, a: Tensor, b: Tensor) -> None:
    """RuntimeError, with the shapes, unless two tensors are matrices that can be multiplied."""
    check_tensor(name, b, "mat2")
    one, two = a._array.shape, b._array.shape
    for label, shape in (("self", one), ("mat2", two)):
        if len(shape) != ndim:
            what = "a matrix" if ndim == 2 else f"a {ndim}D tensor"
            raise RuntimeError(f"{label} must be {what}, got shape {list(shape)} in {name}")
    _same_type(name, a, b)
    _check_inner(name, one, two)
    if ndim == 3 and one[0] != two[0]:
        raise RuntimeError(f"{name}: batches must be of one size, got {list(one)} and {list(two)}")


def _check_vectors(name: str, a: Tensor, b: Tensor) -> None:
    check_tensor(name, b, "tensor")
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"{name} : expected both vectors to have same dtype, but found {kind_name(a._array)} and "
            f"{kind_name(b._array)}"
        )
    _check_inner(name, a._array.shape, b._array.shape)


# --- Products ------------------------------------------------------------------------------------


def _multiply(input: Tensor, other: Tensor) -> Tensor:
    return bind(_kind_of_product(input, other), (input, other), {})


_interpreted = composite(_multiply, "matmul")


@function_and_method
def matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The product of vectors, matrices, or batches of them."""
    check_tensor("matmul", other, "other")
    result = (_interpreted if installed else _multiply)(input, other)
    return result if out is None else into(out, result, "matmul")


def _kind_of_product(input: Tensor, other: Tensor) -> Op:
    """The record that multiplies two tensors; RuntimeError, with the shapes, if there is none."""
    if input._array.dtype is not other._array.dtype:
        _same_type("matmul", input, other)
    a, b = input._array.shape, other._array.shape
    if len(a) == len(b) == 2 and a[1] == b[0]:
        return MM
    if not a or not b:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D"
        )
    _check_inner("matmul", a, b)
    if len(a) == 1 or len(b) == 1:
        return DOT if len(a) == len(b) else MV
    broadcast_shapes("matmul", a[:-2], b[:-2])
    return MATMUL


@function_and_method
@composite
def mm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """The product of two matrices."""
    _check_matrices("mm", 2, input, mat2)
    result = bind(MM, (input, mat2), {})
    return result if out is None else into(out, result, "mm")


@function_and_method
@composite
def bmm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """The matrix products of two batches."""
    _check_matrices("bmm", 3, input, mat2)
    result = bind(BMM, (input, mat2), {})
    return result if out is None else into(out, result, "bmm")


@function_and_method
@with_out
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The dot product of two vectors."""
    _check_vectors("dot", input, tensor)
    return DOT(input, tensor)


@function_and_method
@with_out
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """`dot` with the first vector conjugated."""
    _check_vectors("vdot", input, other)
    return DOT(conj(input), other)


@function_and_method
@with_out
@composite
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector."""
    check_tensor("mv", vec, "vec")
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({input.shape[0]}), mat ({_by(input._array.shape)}), vec ({vec.shape[0]})"
        )
    return matmul(input, vec)


@function_and_method
@with_out
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The outer product of two vectors."""
    check_tensor("outer", vec2, "vec2")
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D argument, but got {input.ndim}-D and {vec2.ndim}-D"
        )
    return input.unsqueeze(1) * vec2


alias("ger", "outer")


def _times(x: Tensor, number: Any) -> Tensor:
    return x if number == 1 else scaled(x, number)


def _plus_product(name: str, product: Any, *labels: str, wide: bool = True) -> None:
    """`beta * input + alpha * (a @ b)`, as Torch's add... functions.

    Args:
        name: as in Torch
        product: of the factors
        labels: the factors' names
        wide: whether `beta` and `alpha` beside half precision may exceed its range
    """

    def call(
        input: Tensor, *factors: Tensor, beta: Any = 1, alpha: Any = 1, **named: Tensor
    ) -> Tensor:
        if len(factors) > len(labels):  # old programs write `addmm(beta, input, alpha, mat1, mat2)`
            given: tuple[Any, ...] = input, *factors
            input, *tensors = (each for each in given if isinstance(each, Tensor))
            factors = tuple(tensors)
            beta, alpha, *_ = *(each for each in given if not isinstance(each, Tensor)), 1
        factors = *factors, *(named[label] for label in labels[len(factors) :])
        result = product(*factors)
        if name == "addr":
            input, result = _promoted(input, result, beta=beta, alpha=alpha)
        elif input._array.dtype != result._array.dtype:
            raise RuntimeError(
                f"{name}: self and mat2 must have the same dtype, but got {kind_name(input._array)} "
                f"and {kind_name(result._array)}"
            )
        try:
            target = input.expand(result._array.shape)
        except RuntimeError:
            shapes = ", ".join(str(list(x.shape)) for x in (input, *factors))
            raise RuntimeError(f"{name}: size mismatch, got {shapes}") from None
        kind = wide_type(input.dtype) if wide else input.dtype
        by_input = exact_number(plain_number(beta, name, "beta"), kind)
        by_product = exact_number(plain_number(alpha, name, "alpha"), kind)
        # Torch ignores an input that is multiplied by 0: it may be uninitialized.
        return _times(result, by_product) + (
            _times(target, by_input) if by_input else FILL(target, 0)
        )

    call.__name__ = name
    call.__doc__ = "`beta * input + alpha * product`."
    call = composite(call)
    FUNCTIONS[name] = with_out(call)
    method(name, call)
    in_place(f"{name}_", call)


def _promoted(input: Tensor, result: Tensor, **numbers: Any) -> tuple[Tensor, Tensor]:
    """Two tensors in their common dtype; RuntimeError if a number is of a higher kind than it."""
    kind = dtypes.promote_types(input.dtype, result.dtype)
    for label, number in numbers.items():
        if kind.kind < dtypes.FLOATING or not isinstance(number, complex):
            check_kind(label, plain_number(number, "addr", label), kind.kind)
    return input.to(kind), result.to(kind)


_plus_product("addmm", mm, "mat1", "mat2")
_plus_product("addmv", mv, "mat", "vec", wide=False)
_plus_product("addr", outer, "vec1", "vec2", wide=False)
_plus_product("baddbmm", bmm, "batch1", "batch2")
_plus_product("addbmm", lambda a, b: bmm(a, b).sum(0, dtype=a.dtype), "batch1", "batch2")


@function
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices."""
    for x in matrices:
        check_tensor("chain_matmul", x, "matrices")
        if x.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {x.ndim}, expected 2 instead.")
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(matrices)


def multi_dot(tensors: Any) -> Tensor:
    """The product of several matrices, in the order with the fewest multiplications."""
    given = list(tensors)
    if len(given) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(given)}")
    first, last = given[0].ndim == 1, given[-1].ndim == 1
    if first:
        given[0] = given[0].unsqueeze(0)
    if last:
        given[-1] = given[-1].unsqueeze(-1)
    for i, x in enumerate(given):
        if x.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {x.ndim}D")
    sizes = [x.shape[0] for x in given] + [given[-1].shape[1]]
    result = _multiplied(given, _cheapest(sizes), 0, len(given) - 1)
    if first and last:
        return result.reshape(())
    return result.squeeze(0) if first else result.squeeze(-1) if last else result


def _cheapest(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each chain of matrices, so that the number of multiplications is smallest."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    part = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], part[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return part


def _multiplied(given: list[Tensor], part: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return given[i]
    k = part[i, j]
    return mm(_multiplied(given, part, i, k), _multiplied(given, part, k + 1, j))


@function_and_method
def inner(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Sums of products along the last dimensions."""
    plain = not input.ndim or not other.ndim
    result = input * other if plain else _inner(input, other)
    return result if out is None else into(out, result, "mul" if plain else "inner", input, other)


def _inner(input: Tensor, other: Tensor) -> Tensor:
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, dims=([-1], [-1]))


def _contracted(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    """The dimensions of each tensor that are contracted."""
    if isinstance(dims, Tensor):
        dims = int(dims) if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(a.ndim - dims, a.ndim)), list(range(dims))
    if not isinstance(dims, (list, tuple)):
        raise RuntimeError(
            f"tensordot expects dims to be int or tuple[list[int], list[int]], but got dims={dims}"
        )
    if len(dims) != 2:
        raise ValueError(f"tensordot expects two lists of dimensions, got {dims}")
    left, right = dims
    if isinstance(left, int) or isinstance(right, int):
        raise TypeError(f"tensordot(): argument 'dims' must be two lists of ints, not {dims}")
    left, right = [wrap_dim(d, a.ndim) for d in left], [wrap_dim(d, b.ndim) for d in right]
    if len(left) != len(right):
        raise RuntimeError(f"both dimension lists should have same length, got {left} and {right}")
    return left, right


@function
@with_out
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The contraction of dimensions of two tensors, as one matrix product."""
    check_tensor("tensordot", a)
    check_tensor("tensordot", b, "other")
    left, right = _contracted(a, b, dims)
    for x, y in zip(left, right, strict=True):
        if a.shape[x] == 1:
            b = b.sum(y, keepdim=True, dtype=b.dtype)
        elif b.shape[y] == 1:
            a = a.sum(x, keepdim=True, dtype=a.dtype)
        elif a.shape[x] != b.shape[y]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[x]} in dim {x} and "
                f"second has size {b.shape[y]} in dim {y}"
            )
    rows = [d for d in range(a.ndim) if d not in left]
    columns = [d for d in range(b.ndim) if d not in right]
    shape = [a.shape[d] for d in rows], [b.shape[d] for d in columns]
    summed = math.prod(a.shape[d] for d in left)
    first = a.permute([*rows, *left]).reshape(math.prod(shape[0]), summed)
    second = b.permute([*right, *columns]).reshape(summed, math.prod(shape[1]))
    return (first @ second).reshape(shape[0] + shape[1])


@function_and_method
@with_out
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: each element of the first times the whole second."""
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + input._array.shape
    b = (1,) * (ndim - other.ndim) + other._array.shape
    left = input.reshape([v for s in a for v in (s, 1)])
    right = other.reshape([v for s in b for v in (1, s)])
    return (left * right).reshape([x * y for x, y in zip(a, b, strict=True)])


@function
def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products in Einstein notation."""
    given = (
        operands[0] if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands
    )
    if isinstance(equation, str):
        for x in given:
            check_tensor("einsum", x, "operands")
    return contract(equation, list(given))


def __matmul__(self: Tensor, other: Any) -> Any:  # noqa: N807
    """`self @ other`"""
    if type(other) not in PLAIN_OPERANDS or (watched and is_watched(self, other)):
        result = answer_operator(vars(Tensor)["matmul"], None, self, other)
        if result is not NOBODY:
            return result
    if not isinstance(other, Tensor):
        return NotImplemented
    return (_interpreted if installed else _multiply)(self, other)


__matmul__.asks = True  # type: ignore[attr-defined]
only_method(__matmul__)
method(
    "__rmatmul__",
    lambda self, other: matmul(other, self) if isinstance(other, Tensor) else NotImplemented,
)
method("__imatmul__", lambda self, other: self.copy_(matmul(self, other)))
