"""Softmax and log-softmax along a dimension."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..formulas import softmax as cpu
from ..tensor import Array, Tensor
from .layout import ordered
from .movement import wrap_dim
from .precision import require_floats
from .record import Op, bind
from .surface import function, into, method

# --- Records -----------------------------------------------------------------------------------


def _along_dimension(compute: Callable[..., Array], name: str = "") -> Callable[..., Array]:
    """A function of arrays along a dimension, which treats a zero-dimensional array as a vector of one."""
    kernel = f"{name}_lastdim_kernel_impl"

    def forward(input: Array, dim: int) -> Array:
        if input.dtype.kind not in "fV":
            require_floats(kernel, input)
        result = compute(input, dim) if input.ndim else compute(input.reshape(1), 0).reshape(())
        return result if result.flags.c_contiguous else result.copy()

    def backward(grad: Array, output: Array, dim: int) -> Array:
        if output.ndim:
            return ordered(compute(grad, output, dim))
        return compute(grad.reshape(1), output.reshape(1), 0).reshape(())

    return forward if name else backward


def _along(x: Any, dim: int) -> Any:
    return x.sum(dim, keepdim=True)


def _by_probabilities(g: Any, grad: Any, output: Any, dim: int) -> Any:
    return g * (grad - _along(grad * output, dim)) - grad * _along(g * output, dim)


SOFTMAX = Op(
    "softmax", ("input",), _along_dimension(cpu.softmax, "softmax"),
    {"input": lambda g, out, dim: bind(SOFTMAX_BACKWARD, (g, out), {"dim": dim})},
    doc="exp(x) divided by its sum along a dimension.",
)  # fmt: skip
SOFTMAX_BACKWARD = Op(
    "softmax_backward", ("grad", "output"), _along_dimension(cpu.softmax_backward),
    {"grad": lambda g, output, dim: bind(SOFTMAX_BACKWARD, (g, output), {"dim": dim}), "output": _by_probabilities},
)  # fmt: skip
LOG_SOFTMAX = Op(
    "log_softmax", ("input",), _along_dimension(cpu.log_softmax, "log_softmax"),
    {"input": lambda g, out, dim: bind(LOG_SOFTMAX_BACKWARD, (g, out), {"dim": dim})},
    doc="The logarithm of the softmax along a dimension.",
)  # fmt: skip
LOG_SOFTMAX_BACKWARD = Op(
    "log_softmax_backward", ("grad", "output"), _along_dimension(cpu.log_softmax_backward),
    {"grad": lambda g, output, dim: g - _along(g * output.exp(), dim),
     "output": lambda g, grad, output, dim: -(g * output.exp()) * _along(grad, dim)},
)  # fmt: skip


# --- Functions ---------------------------------------------------------------------------------


def _shares(op: Op, input: Tensor, dim: int, dtype: Any) -> Tensor:
    if dtype is not None:
        input = input.to(dtypes.given_type(dtype))
    array = input._array
    d = wrap_dim(dim, array.ndim)
    if not array.size and input.dtype.kind != dtypes.FLOATING:
        return input.clone()  # nothing is computed, so any dtype is accepted
    return bind(op, (input,), {"dim": d})


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """exp(x) divided by its sum along a dimension."""
    return _shares(SOFTMAX, input, _chosen("softmax", input, dim, _stacklevel), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The logarithm of the softmax along a dimension."""
    return _shares(LOG_SOFTMAX, input, _chosen("log_softmax", input, dim, _stacklevel), dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The softmax of -x along a dimension."""
    return _shares(SOFTMAX, -input, _chosen("softmin", input, dim, _stacklevel), dtype)


def _chosen(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    """The dimension, or Torch's deprecated default if none is given."""
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def _declare(op: Op) -> None:
    """Declare `torch.name(input, dim, dtype=None)`, and the method."""

    def call(input: Tensor, dim: int, dtype: Any = None, *, out: Any = None) -> Tensor:
        array = input._array
        if dtype is None and out is None and array.size:
            return bind(op, (input,), {"dim": wrap_dim(dim, array.ndim)})
        result = _shares(op, input, dim, dtype)
        return result if out is None else into(out, result, op.name)

    call.__name__, call.__doc__ = op.name, op.doc
    function(call)
    method(op.name, call)


_declare(SOFTMAX)
_declare(LOG_SOFTMAX)
