"""Elementwise operations on three operands and more: clamp, lerp, addcmul."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, scalars
from ..backends.interface import ARRAYS, as_array
from ..tensor import Array, Tensor
from .comparison import where
from .elementwise import conj
from .layout import laid_out
from .precision import in_single, kind_name, require_floats
from .promotion import (
    broadcast_error,
    exact_number,
    fits_floats,
    meet,
    plain_number,
    result_type,
    wide_type,
)
from .record import ELEMENTWISE, Op, bind
from .surface import FUNCTIONS, alias, as_functions, check_tensor, in_place, into, method, with_out


def together(name: str, compute: Callable[..., Array]) -> Callable[..., Array]:
    """A computation on arrays promoted to their common dtype and broadcast first."""
    single = in_single(compute)
    return broadcasting(name, lambda *arrays, **params: single(*meet(arrays), **params))


def broadcasting(name: str, compute: Callable[..., Array]) -> Callable[..., Array]:
    """A computation that raises Torch's error if its arrays do not broadcast."""

    def run(*arrays: Any, **params: Any) -> Array:
        try:
            return laid_out(as_array(compute(*arrays, **params)), arrays)
        except ValueError:
            raise broadcast_error(name, arrays) from None

    return run


# --- Bounds -----------------------------------------------------------------------------------


def _clamp(input: Array, min: Any, max: Any) -> Array:
    """Clamp to bounds that are numbers or arrays; if they cross, the upper one wins."""
    given = [v for v in (min, max) if v is not None]
    plain = input.dtype.char in "fd" and all(map(fits_floats, given))
    if not plain:
        _check_bounds(input, given)
    try:
        met = iter((input, *given) if plain else meet((input, *given)))
        out = next(met)
        if min is not None:
            out = np.maximum(next(met), out)
        out = out if max is None else np.minimum(next(met), out)
        return laid_out(out, (input, *given))
    except ValueError:
        raise broadcast_error("clamp", [input, *given]) from None


def _check_bounds(input: Array, bounds: list[Any]) -> None:
    """Torch's error for unsupported dtypes, and for bounds that the dtype cannot represent."""
    if input.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    one_array = len(bounds) == 1 and type(bounds[0]) in ARRAYS
    if input.dtype.kind == "b" and not one_array and result_type(input, *bounds) is dtypes.bool_:
        raise NotImplementedError("\"clamp_scalar_cpu\" not implemented for 'Bool'")
    for bound in bounds:
        if type(bound) in ARRAYS and bound.dtype.kind == "c":
            raise NotImplementedError("clamp is not supported for complex types")
        if isinstance(bound, complex):
            exact_number(bound, dtypes.float64)
            raise NotImplementedError("clamp is not supported for complex types")
        if type(bound) not in ARRAYS:
            exact_number(bound, result_type(input, *bounds))


def _where(mask: Any, g: Any) -> Any:
    """The gradient where a mask is True, else 0 (even if the gradient is infinite)."""
    return where(mask, g, 0)


def _inside(g: Any, input: Any, min: Any, max: Any) -> Any:
    if min is None:
        return _where(input <= max, g)
    return _where(input >= min if max is None else (input >= min) & (input <= max), g)


def _below(g: Any, input: Any, min: Any, max: Any) -> Any:
    below = input < min
    return _where(below if max is None else below & (min < max), g)


def _above(g: Any, input: Any, min: Any, max: Any) -> Any:
    above = input > max
    return _where(above if min is None else above | (max < min), g)


CLAMP = Op("clamp", ("input", "min", "max"), _clamp, {"input": _inside, "min": _below, "max": _above},
           scalar=scalars.clamp, node="ClampBackward1", doc="Each element clamped to [min, max].")  # fmt: skip


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Each element clamped to [min, max]."""
    check_tensor("clamp", input)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return bind(CLAMP, (input, min, max), {})


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Each element clamped to at least `min`."""
    check_tensor("clamp_min", input)
    return bind(CLAMP, (input, min, None), {})


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Each element clamped to at most `max`."""
    check_tensor("clamp_max", input)
    return bind(CLAMP, (input, None, max), {})


def _nan_to_num(input: Array, nan: float, posinf: float | None, neginf: float | None) -> Array:
    limits = dtypes.finfo(dtypes.from_numpy_dtype(input.dtype))
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    wide = (
        input.astype(np.float32) if input.dtype.kind == "V" else input
    )  # which NumPy does not support
    with np.errstate(over="ignore"):  # a number too large for the dtype is infinite
        return np.nan_to_num(wide, nan=nan, posinf=high, neginf=low).astype(input.dtype, copy=False)


NAN_TO_NUM = Op("nan_to_num", ("input",), _nan_to_num,
                {"input": lambda g, input: g * input.isfinite().to(g.dtype)}, kind=ELEMENTWISE)  # fmt: skip


def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """NaN replaced by `nan`, infinities by the largest and smallest numbers, or by given ones."""
    check_tensor("nan_to_num", input)
    if input.dtype.kind < dtypes.FLOATING:
        return input.clone()
    return NAN_TO_NUM(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


def _logit(input: Array, eps: float | None) -> Array:
    if input.dtype.kind in "biu":
        input = input.astype(dtypes.get_default_dtype().numpy)
    require_floats("logit_cpu", input)
    x = input
    if eps is not None and eps >= 0:
        low = input.dtype.type(eps)
        high = input.dtype.type(1) - low
        x = np.where(input < low, low, np.where(input > high, high, input))
    return _log_odds(x)


@in_single
def _log_odds(x: Array) -> Array:
    return np.log(x / (1 - x))


def _logit_gradient(g: Any, input: Any, eps: float | None) -> Any:
    low, high, elsewhere = (0, 1, math.nan) if eps is None or eps < 0 else (eps, 1 - eps, 0)
    outside = (input < low) | (input > high)
    return (g / (input * (1 - input))).masked_fill(outside, elsewhere)


LOGIT = Op("logit", ("input",), _logit, {"input": _logit_gradient}, kind=ELEMENTWISE)


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid; x is first clamped to [eps, 1 - eps]."""
    check_tensor("logit", input)
    if eps is not None and not input.dtype.is_complex:
        floating = input.dtype.is_floating_point
        exact_number(eps, input.dtype if floating else dtypes.get_default_dtype())
    return LOGIT(input, eps=eps)


# --- Mixtures and products ----------------------------------------------------------------------


def _lerp(input: Array, end: Array, weight: Any) -> Array:
    """Linear interpolation, computed from the nearer end as in Torch."""
    way = end - input
    if type(weight) not in ARRAYS:
        return input + weight * way if abs(weight) < 0.5 else end - way * (1 - weight)
    return np.where(np.abs(weight) < 0.5, input + weight * way, end - way * (1 - weight))


LERP = Op("lerp", ("input", "end", "weight"), broadcasting("lerp", in_single(_lerp)), {
    "input": lambda g, weight: g * conj(1 - weight),
    "end": lambda g, weight: g * conj(weight),
    "weight": lambda g, input, end: g * conj(end - input),
}, scalar=scalars.lerp, doc="Linear interpolation: `input + weight * (end - input)`.")  # fmt: skip


def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """Linear interpolation: `input + weight * (end - input)`."""
    check_tensor("lerp", end, "end")
    kind = input.dtype
    if end.dtype is not kind:
        raise RuntimeError(f"expected dtype {kind} for `end` but got dtype {end.dtype}")
    if isinstance(weight, Tensor):
        if not weight.ndim:
            kind = result_type(input, weight)
            input, end, weight = input.to(kind), end.to(kind), weight.to(kind)
        elif weight.dtype is not kind:
            raise RuntimeError(f"expected dtype {kind} for `weight` but got dtype {weight.dtype}")
    if kind.kind < dtypes.FLOATING:
        raise NotImplementedError(
            f"\"lerp_kernel_scalar\" not implemented for '{kind_name(input._array)}'"
        )
    if not isinstance(weight, Tensor):
        weight = exact_number(weight, wide_type(kind))
    return bind(LERP, (input, end, weight), {})


def _addcmul(input: Array, a: Array, b: Array, constants: tuple[Any]) -> Array:
    (value,) = constants
    return input + (a if value == 1 else value * a) * b


def _addcdiv(input: Array, a: Array, b: Array, constants: tuple[Any]) -> Array:
    (value,) = constants
    return input + (a if value == 1 else value * a) / b


ADDCMUL = Op("addcmul", ("input", "tensor1", "tensor2"),
             together("addcmul", _addcmul),
             {"input": lambda g: g,
              "tensor1": lambda g, tensor2, constants: g * conj(tensor2 * constants[0]),
              "tensor2": lambda g, tensor1, constants: g * conj(tensor1 * constants[0])}, scalar=scalars.addcmul)  # fmt: skip
ADDCDIV = Op("addcdiv", ("input", "tensor1", "tensor2"),
             together("addcdiv", _addcdiv),
             {"input": lambda g: g,
              "tensor1": lambda g, tensor2, constants: g * conj(constants[0] / tensor2),
              "tensor2": lambda g, tensor1, tensor2, constants: -g * conj(constants[0] * tensor1 / (tensor2 * tensor2))},
             scalar=scalars.addcdiv)  # fmt: skip


def _factor(name: str, value: Any, tensors: tuple[Tensor, ...]) -> Any:
    """A factor in the dtype that it multiplies, or in float32 for half precision."""
    if fits_floats(value) and tensors[0].dtype.kind >= dtypes.FLOATING:
        return value
    value = plain_number(value, name, "value")
    if type(value) is int and value == 1:
        return value
    return exact_number(value, wide_type(result_type(*tensors)))


def addcmul(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *rest: Tensor, value: Any = 1
) -> Tensor:
    """`input + value * tensor1 * tensor2`."""
    if rest:  # old programs write `addcmul(input, value, tensor1, tensor2)`
        value, tensor1, tensor2 = tensor1, tensor2, *rest
    tensors = input, tensor1, tensor2
    if input.dtype is tensor1.dtype is tensor2.dtype is dtypes.bool_:
        raise NotImplementedError("\"addcmul_cpu_out\" not implemented for 'Bool'")
    return bind(ADDCMUL, tensors, {"constants": (_factor("addcmul", value, tensors),)})


def addcdiv(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *rest: Tensor, value: Any = 1
) -> Tensor:
    """`input + value * tensor1 / tensor2`."""
    if rest:  # old programs write `addcdiv(input, value, tensor1, tensor2)`
        value, tensor1, tensor2 = tensor1, tensor2, *rest
    if all(t.dtype.kind < dtypes.FLOATING for t in (tensor1, tensor2)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future release addcdiv "
            "will perform a true division of tensor1 and tensor2."
        )
    tensors = input, tensor1, tensor2
    return bind(ADDCDIV, tensors, {"constants": (_factor("addcdiv", value, tensors),)})


def _in_its_type(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function whose `out=` must have the result's dtype if bounds are numbers or a weight is a tensor."""

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Tensor:
        result = fn(*args, **kwargs)
        if out is None:
            return result
        given = [v for v in (*args, *kwargs.values()) if isinstance(v, Tensor)]
        exact = (len(given) == 3 and given[2]._array.ndim) if fn is lerp else len(given) == 1
        if exact and isinstance(out, Tensor) and out.dtype is not result.dtype:
            names = [kind_name(x._array) for x in (out, result)]
            raise RuntimeError(f"Found dtype {names[0]} but expected {names[1]}")
        return into(out, result, fn.__name__, *given)

    call.__name__, call.__doc__, call.__wrapped__ = fn.__name__, fn.__doc__, fn  # type: ignore[attr-defined]
    return call


for _fn in (clamp, clamp_min, clamp_max, nan_to_num, logit, lerp, addcmul, addcdiv):
    in_place(f"{_fn.__name__}_", _fn)
    as_functions(f"{_fn.__name__}_")
    FUNCTIONS[_fn.__name__] = (
        _in_its_type if _fn is lerp or "clamp" in _fn.__name__ else with_out
    )(_fn)
    method(_fn.__name__, _fn)
alias("clip", "clamp")
