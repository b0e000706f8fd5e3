"""`torch._foreach_add_` and its like: one operation on every tensor of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .ops import FUNCTIONS
from .ops.linalg.norms import vector_norm
from .tensor import Tensor

_NAMES = [
    "abs", "acos", "add", "addcdiv", "addcmul", "asin", "atan", "ceil", "clamp_max", "clamp_min",
    "clone", "cos", "cosh", "div", "erf", "erfc", "exp", "expm1", "floor", "frac", "lerp", "lgamma",
    "log", "log10", "log1p", "log2", "max", "maximum", "minimum", "mul", "neg", "norm", "pow",
    "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "sub", "tan", "tanh",
    "trunc",
]  # fmt: skip
_WITHOUT_IN_PLACE = {"clone", "max", "norm"}
_METHODS = {"maximum": "clamp_min", "minimum": "clamp_max"}
"""Operations that take what the lists may hold."""

_SHARED = {"alpha", "value", "ord", "dtype", "non_blocking"}
"""Arguments by name that are the same for all tensors."""


def _rows(*columns: Any) -> list[tuple[Any, ...]]:
    """The arguments for each tensor: lists give one to each, all else goes to all of them."""
    tensors = columns[0]
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"expected a tuple of Tensors, but got {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for column in columns:
        if isinstance(column, (list, tuple)) and len(column) != len(tensors):
            if not isinstance(column[0] if column else None, Tensor):
                raise RuntimeError("Tensor list must have same number of elements as scalar list.")
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(column)}"
            )
    return list(
        zip(
            *(c if isinstance(c, (list, tuple)) else [c] * len(tensors) for c in columns),
            strict=True,
        )
    )


def _function(name: str, in_place: bool) -> Callable[..., Any]:
    """The function of one operation."""
    method = _METHODS.get(name, name)
    compute = vector_norm if name == "norm" else getattr(Tensor, method + "_" * in_place)

    def foreach(self: Any, *args: Any, **kwargs: Any) -> list[Tensor] | None:
        shared = {key: value for key, value in kwargs.items() if key in _SHARED}
        args = (*args, *(value for key, value in kwargs.items() if key not in _SHARED))
        if name in ("addcdiv", "addcmul") and len(args) == 3:  # one factor for each, or for all
            factors = args[2].tolist() if isinstance(args[2], Tensor) else args[2]
            rows = _rows(self, *args[:2], factors)
            made = [compute(x, a, b, value=factor) for x, a, b, factor in rows]
        elif name == "pow" and not isinstance(self, (list, tuple)):  # a number to the power of each
            made = [FUNCTIONS["pow"](self, exponent) for (exponent,) in _rows(*args)]
        else:
            made = [compute(*row, **shared) for row in _rows(self, *args)]
        return None if in_place else made

    foreach.__name__ = foreach.__qualname__ = f"_foreach_{name}{'_' * in_place}"
    foreach.__doc__ = f"`{name}` of every tensor of a list{', in place' if in_place else ''}."
    return foreach


def _foreach_copy_(
    self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False
) -> None:
    """Write tensors into those of a list."""
    for into, value in _rows(self, src):
        into.copy_(value, non_blocking)


def _foreach_zero_(self: Sequence[Tensor]) -> None:
    """Set the tensors of a list to zero."""
    for (tensor,) in _rows(self):
        tensor.zero_()


FOREACH: dict[str, Callable[..., Any]] = {
    **{f"_foreach_{name}": _function(name, False) for name in _NAMES},
    **{
        f"_foreach_{name}_": _function(name, True)
        for name in _NAMES
        if name not in _WITHOUT_IN_PLACE
    },
    "_foreach_copy_": _foreach_copy_,
    "_foreach_zero_": _foreach_zero_,
}
