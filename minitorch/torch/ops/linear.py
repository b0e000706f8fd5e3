"""Linear layers: a product with a weight, and a bias."""

from __future__ import annotations

import math
from itertools import compress
from typing import Any

import numpy as np

from ..autograd.graph import ShownNode
from ..formulas.matmul import matmul
from ..interpreters import composite
from ..tensor import Array, Tensor
from .elementwise import conj
from .precision import in_single, kind_name
from .products import MM
from .record import PRODUCT, Op, bind
from .surface import check_tensor, function, into


def _linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """input @ weightᵀ + bias, with all leading dimensions of the input flattened to one product."""
    rows = input
    if input.ndim > 2:
        rows = input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    out = matmul(rows, weight.T, bias)
    return out if input.ndim < 3 else out.reshape(*input.shape[:-1], *weight.shape[:-1])


def _gradients(g: Any, input: Any, weight: Any, needs: Any) -> Any:
    """The gradients that are wanted, computed by one operation."""
    found = bind(LINEAR_BACKWARD, (g, input, weight), {"wanted": tuple(needs)})
    if len(found) == len(needs):
        return found
    each = iter(found)
    return [next(each) if needed else None for needed in needs]


def _backward(grad: Array, input: Array, weight: Array, wanted: tuple[bool, ...]) -> Any:
    """The wanted gradients of input, weight and bias; other shapes are flattened to matrices."""
    if input.ndim == weight.ndim == 2:
        return _backward_of_matrices(grad, input, weight, wanted)
    rows = input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    columns = weight.reshape(math.prod(weight.shape[:-1]), weight.shape[-1])
    g = grad.reshape(rows.shape[0], columns.shape[0])
    found = _backward_of_matrices(g, rows, columns, wanted)
    shapes = compress((input.shape, weight.shape, weight.shape[:-1]), wanted)
    return tuple([x.reshape(shape) for x, shape in zip(found, shapes, strict=True)])


def _backward_of_matrices(g: Array, rows: Array, columns: Array, wanted: tuple[bool, ...]) -> Any:
    """Those of g W, gᵀ x and the sum of g's rows that are wanted."""
    if g.dtype.kind == "c":
        rows, columns = rows.conj(), columns.conj()
    found = []
    if wanted[0]:
        found.append(matmul(g, columns))
    if wanted[1]:
        found.append(matmul(g.T, rows))
    if wanted[2]:
        found.append(np.add.reduce(g, 0))
    return tuple(found)


def _again(g: Any, grad: Any, input: Any, weight: Any, wanted: tuple[bool, ...]) -> Any:
    """The derivatives of the backward (double backward)."""
    arrived = iter(g)
    by_input, by_weight, by_bias = (next(arrived) if w else None for w in wanted)
    by_grad = grad.new_zeros(grad.shape)
    other_input = other_weight = None
    if by_input is not None:
        by_grad = by_grad + LINEAR(by_input, weight, None)
        other_weight = _products(grad, conj(by_input), weight._array.shape)
    if by_weight is not None:
        by_grad = by_grad + LINEAR(input, by_weight, None)
        other_input = _back(grad, conj(by_weight))
    return by_grad if by_bias is None else by_grad + by_bias, other_input, other_weight


def _back(g: Any, weight: Any) -> Any:
    if weight.ndim == 1:
        return g.unsqueeze(-1) * weight
    return LINEAR(g, weight.t(), None)


def _products(g: Any, input: Any, shape: tuple[int, ...]) -> Any:
    rows = input.reshape(math.prod(input.shape[:-1]), shape[-1])
    columns = g.reshape(rows._array.shape[0], math.prod(shape[:-1]))
    return MM(columns.t(), rows).reshape(shape)


def _shown_as(node: Any) -> Any:
    """The nodes that programs see: Torch transposes the weight, and flattens more dimensions to a matrix."""
    input, weight, bias = node.edges
    dims = len(node.layout[0])
    if dims < 2:
        return None
    transposed = None if weight is None else (ShownNode("TBackward0", [weight]), 0)
    rows = input if dims == 2 or input is None else (ShownNode("ViewBackward0", [input]), 0)
    product = ("MmBackward0", [rows, transposed])
    if bias is not None:
        product = ("AddmmBackward0", [bias, rows, transposed])
    if dims == 2:
        return product
    return "ViewBackward0" if bias else "UnsafeViewBackward0", [(ShownNode(*product), 0)]


LINEAR = Op(
    "linear", ("input", "weight", "bias"), in_single(_linear), _gradients,
    node="AddmmBackward0", last_leaf=1, shown_as=_shown_as, doc="input @ weightᵀ + bias.", kind=PRODUCT,
)  # fmt: skip
LINEAR_BACKWARD = Op(
    "linear_backward", ("grad", "input", "weight"), in_single(_backward), _again, kind=PRODUCT
)


@composite
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Any = None) -> Tensor:
    """input @ weightᵀ + bias."""
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor)):
        check_tensor("linear", input)
        check_tensor("linear", weight, "weight")
    added = _check_linear(input._array, weight._array, None if bias is None else bias._array)
    result = bind(LINEAR, (input, weight, None if added else bias), {})
    if added:
        result = result + bias
    return result if out is None else into(out, result, "linear")


def _check_linear(x: Array, weight: Array, bias: Array | None) -> bool:
    """Check shapes and dtypes; return whether the bias is more than a row, so that it is added afterwards."""
    kind = x.dtype
    if kind != weight.dtype or (bias is not None and kind != bias.dtype):
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {kind_name(x)} and "
            f"{kind_name(weight if bias is None or kind != weight.dtype else bias)}"
        )
    if kind.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    if not x.ndim or not 1 <= weight.ndim <= 2:
        raise RuntimeError(
            f"linear: both arguments need to be at least 1D and the weight at most 2D, but they are "
            f"{list(x.shape)} and {list(weight.shape)}"
        )
    if x.shape[-1] != weight.shape[-1]:
        rows = x.size // x.shape[-1] if x.shape[-1] else 0
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and "
            f"{weight.shape[-1]}x{weight.shape[0]}): linear of {list(x.shape)} with weight {list(weight.shape)}"
        )
    if bias is not None and weight.ndim == 1 and (x.ndim == 2 or bias.ndim == 1):
        raise RuntimeError("linear: with a bias, the weight must be a matrix, got 1-D tensor")
    if bias is None or bias.shape in ((), (1,), weight.shape[:-1]):
        return False
    shape = (*x.shape[:-1], *weight.shape[:-1])
    try:
        if np.broadcast_shapes(bias.shape, shape) == shape:
            return True
    except ValueError:
        pass
    raise RuntimeError(
        f"linear: a bias of {list(bias.shape)} does not fit a weight of {list(weight.shape)} "
        f"[input {list(x.shape)}]"
    )


@function
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1ᵀ W input2 + bias, for each matrix W of the weight."""
    _check_bilinear(input1, input2, weight, bias)
    outputs, left, right = weight.shape
    products = input1.reshape(-1, left) @ weight.permute(1, 0, 2).reshape(left, outputs * right)
    pairs = products.reshape(-1, outputs, right) @ input2.reshape(-1, right, 1)
    out = pairs.reshape(*input1.shape[:-1], outputs)
    return out if bias is None else out + bias


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    given = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    kinds = {name: kind_name(x._array) for name, x in given.items() if x is not None}
    if len(set(kinds.values())) > 1:
        raise RuntimeError(f"All tensors must have the same dtype, got {kinds}")
    shapes = f"{list(input1.shape)}, {list(input2.shape)} with weight {list(weight.shape)}"
    if input1.ndim != input2.ndim or input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: {shapes}")
    if weight.ndim != 3 or (input1.shape[-1], input2.shape[-1]) != tuple(weight.shape[1:]):
        raise RuntimeError(f"bilinear(): input sizes do not match weight sizes: {shapes}")
    if bias is not None and bias.size(0) != weight.shape[0]:  # it may have more dimensions
        raise RuntimeError(f"bilinear(): bias of {list(bias.shape)} does not match {shapes}")
