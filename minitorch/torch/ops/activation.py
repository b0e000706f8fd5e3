"""Activations: the nonlinear functions between the layers of a network.

`activation` turns a scalar function, its slope and its second derivative into two records: the
function, and its backward, which can itself be differentiated.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, sampling, scalars
from ..backends.interface import as_numpy, cpu_map
from ..interpreters import composite
from ..tensor import Array, Tensor, wrap_beside
from .comparison import where
from .elementwise import not_for, unary
from .movement import wrap_dim
from .precision import in_single, kind_name, require_floats
from .promotion import SMALL, exact_number, wide_type
from .record import REGISTRY, Op, Scalar, bind
from .softmax import softmax
from .surface import check_tensor, function, function_and_method, into, with_out
from .writes import bind_in_place

Curve = Callable[..., Any]


def activation(
    scalar: Scalar,
    slope: Scalar,
    curve: Curve | None,
    doc: str,
    *,
    name: str = "",
    kernel: str = "",
    kinds: str = "fV",
    node: str = "",
    numpy: Callable[..., Array] | None = None,
) -> Op:
    """Declare an elementwise activation with constant parameters.

    Args:
        scalar: from a number and the constants to a number
        slope: from g, the number and the constants to g times the derivative
        curve: from a tensor and the constants to the second derivative; None if it is 0
        doc: one line
        name: of the record, unless it is the scalar function's
        kernel: the name in the error for unsupported dtypes
        kinds: NumPy's kind letters of the supported dtypes
        node: as in `Op`
        numpy: the same on arrays, where the scalar function is not right for all dtypes
    """
    name = name or scalar.__name__
    forward, fused = (
        cpu_map(f, g) or in_single(g) for f, g in ((scalar, numpy or scalar), (slope, slope))
    )

    def run(input: Array, constants: tuple[Any, ...] = ()) -> Array:
        require_floats(kernel or f"{name}_cpu", input, kinds)
        return forward(input, *constants)

    def gradient(g: Any, input: Any, constants: tuple[Any, ...]) -> Any:
        return bind(backward, (g, input), {"constants": constants})

    def by_input(g: Any, grad: Any, input: Any, constants: tuple[Any, ...]) -> Any:
        return g.mul(0) if curve is None else g * grad * curve(input, *constants)

    backward = Op(
        f"{name}_backward", ("grad", "input"),
        lambda grad, input, constants=(): fused(grad, input, *constants),
        {"grad": gradient, "input": by_input}, scalar=slope,
    )  # fmt: skip
    return Op(name, ("input",), run, {"input": gradient}, scalar=scalar, node=node, doc=doc)


def _within(op: Op, kind: dtypes.dtype, constants: tuple[Any, ...]) -> tuple[Any, ...]:
    """The constants, as the dtype can represent them; RuntimeError if it cannot."""
    if kind.kind == dtypes.COMPLEX or (
        kind.kind < dtypes.FLOATING and op is not THRESHOLD and op is not HARDTANH
    ):
        return constants  # unsupported: the call raises an error later
    wide = kind if op is HARDSHRINK else wide_type(kind)
    return tuple([exact_number(v, wide) for v in constants])


def _apply(op: Op, input: Tensor, constants: tuple[Any, ...], inplace: bool = False) -> Tensor:
    check_tensor(op.name, input)
    for value in constants:
        if type(value) is not float or not -SMALL <= value <= SMALL:
            constants = _within(op, input.dtype, constants)
            break
    if inplace:
        return bind_in_place(op, input, (), {"constants": constants})
    return bind(op, (input,), {"constants": constants})


# --- Straight pieces -------------------------------------------------------------------------


THRESHOLD = activation(
    scalars.threshold, scalars.threshold_backward, None, "x where it is above `threshold`, else `value`.",
    kinds="fViu", numpy=lambda x, threshold, value: np.where(x <= threshold, x.dtype.type(value), x),
)  # fmt: skip
THRESHOLD_BACKWARD = REGISTRY["threshold_backward"]
RELU = unary(
    "relu", scalars.relu, lambda g, out: bind(THRESHOLD_BACKWARD, (g, out), {"constants": (0, 0)}), "x where positive, else 0.",
    numpy=not_for("clamp_min_scalar_cpu", "bc", lambda x: np.maximum(x.dtype.type(0), x)),
)  # fmt: skip
HARDTANH = activation(
    scalars.clamp, scalars.hardtanh_backward, None, "The input, clipped to a range.", name="hardtanh", kinds="fViu",
    numpy=lambda x, low, high: np.clip(x, x.dtype.type(low), x.dtype.type(high)),
)  # fmt: skip
LEAKY_RELU = activation(scalars.leaky_relu, scalars.leaky_relu_backward, None,
                        "x where positive, else a small part of it.")  # fmt: skip
HARDSIGMOID = activation(
    scalars.hardsigmoid, scalars.hardsigmoid_backward, None, "A sigmoid of three straight lines."
)
HARDSWISH = activation(scalars.hardswish, scalars.hardswish_backward,
                       lambda x: ((x > -3) & (x < 3)).to(x.dtype) / 3, "x times its hardsigmoid.")  # fmt: skip
HARDSHRINK = activation(scalars.hardshrink, scalars.hardshrink_backward, None, "0 near 0, else x.")
SOFTSHRINK = activation(
    scalars.softshrink, scalars.softshrink_backward, None, "x moved towards 0, and 0 near it."
)


def threshold(
    input: Tensor, threshold: float, value: float, inplace: bool = False, *, out: Any = None
) -> Tensor:
    """x where it is above `threshold`, else `value`."""
    kind = input.dtype
    if dtypes.INTEGRAL <= kind.kind <= dtypes.FLOATING:
        value = exact_number(value, kind)
    if isinstance(threshold, float) and kind.kind == dtypes.INTEGRAL and math.isfinite(threshold):
        threshold = exact_number(threshold, kind)
    result = _apply(THRESHOLD, input, (threshold, value), inplace)
    return result if out is None else into(out, result, "threshold")


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x clamped to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _hardtanh_any(input, min_val, max_val, inplace)


def _hardtanh_any(input: Tensor, min_val: float, max_val: float, inplace: bool) -> Tensor:
    """`hardtanh` with bounds in any order: where they cross, the upper one wins."""
    if input.dtype is dtypes.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if input.dtype.kind == dtypes.INTEGRAL and not input.dtype.is_signed:
        min_val, max_val = (exact_number(bound, dtypes.int64) for bound in (min_val, max_val))
        if min(min_val, max_val) < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    for bound in (min_val, max_val):
        exact_number(bound, input.dtype)
    return _apply(HARDTANH, input, (min_val, max_val), inplace)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """x where positive, else 0."""
    check_tensor("relu", input)
    return bind_in_place(RELU, input, (), {}) if inplace else bind(RELU, (input,), {})


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x clamped to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, else `negative_slope` times x."""
    return _apply(LEAKY_RELU, input, (negative_slope,), inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6, a piecewise linear sigmoid."""
    return _apply(HARDSIGMOID, input, (), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x times its hardsigmoid."""
    return _apply(HARDSWISH, input, (), inplace)


@function_and_method
def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """x where |x| is above `lambd`, else 0."""
    result = _apply(HARDSHRINK, input, (lambd,))
    return result if out is None else into(out, result, "hardshrink")


@with_out
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by `lambd`; 0 where |x| is at most `lambd`."""
    exact_number(lambd, dtypes.float64)
    if input.dtype.is_floating_point and not 0 <= lambd <= dtypes.finfo(input.dtype).max:
        raise RuntimeError(
            f"lambda must be in range [0, {dtypes.finfo(input.dtype).max:g}] for input dtype "
            f"{kind_name(input._array)}, but found {lambd}"
        )
    return _apply(SOFTSHRINK, input, (lambd,))


# --- Exponentials ----------------------------------------------------------------------------


def _elu_curve(x: Any, alpha: float, scale: float, steepness: float) -> Any:
    low = (x.clamp(max=0) * steepness).exp() * (alpha * scale * steepness * steepness)
    return low.masked_fill(x > 0, 0)


def _softplus_curve(x: Any, beta: float, threshold: float) -> Any:
    s = (x * beta).sigmoid()
    return (beta * s * (1 - s)).masked_fill(x * beta > threshold, 0)


def _silu_curve(x: Any) -> Any:
    s = x.sigmoid()
    return s * (1 - s) * (2 + x * (1 - 2 * s))


def _mish_curve(x: Any) -> Any:
    s, t = x.sigmoid(), x.exp().log1p().tanh()
    return s * (1 - t * t) * (2 + x * ((1 - s) - 2 * t * s))


def _log_sigmoid_curve(x: Any) -> Any:
    s = x.sigmoid()
    return s * (s - 1)


ELU = activation(
    scalars.elu, scalars.elu_backward, _elu_curve, "x where positive, else alpha (exp(x) - 1)."
)
SOFTPLUS = activation(scalars.softplus, scalars.softplus_backward, _softplus_curve,
                      "log(1 + exp(x)): a smooth relu.")  # fmt: skip
SILU = activation(scalars.silu, scalars.silu_backward, _silu_curve, "x times its sigmoid.")
MISH = activation(scalars.mish, scalars.mish_backward, _mish_curve, "x tanh(softplus(x)).")
LOG_SIGMOID = activation(scalars.log_sigmoid, scalars.log_sigmoid_backward, _log_sigmoid_curve,
                         "The logarithm of the sigmoid.")  # fmt: skip

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, else `alpha * (exp(x) - 1)`."""
    return _apply(ELU, input, (alpha, 1.0, 1.0), inplace)


@function
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """A scaled elu whose constants keep mean and variance from layer to layer."""
    return _apply(ELU, input, (SELU_ALPHA, SELU_SCALE, 1.0), inplace)


@function
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, else `alpha * (exp(x / alpha) - 1)`."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _apply(ELU, input, (alpha, 1.0, 1.0 / alpha), inplace)


@with_out
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta, and x itself from `threshold` on."""
    return _apply(SOFTPLUS, input, (beta, threshold))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x times its sigmoid."""
    if input.dtype.is_complex:
        result = input * input.sigmoid()
        return input.copy_(result) if inplace else result
    return _apply(SILU, input, (), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(softplus(x))."""
    return _apply(MISH, input, (), inplace)


@with_out
def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid."""
    return _apply(LOG_SIGMOID, input, ())


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - input.tanh()


# --- Gelu: x times the share of a normal distribution that lies below x ------------------------

_DENSITY, _SLANT, _CUBIC = 1 / math.sqrt(2 * math.pi), math.sqrt(2 / math.pi), 0.044715


def _gelu_curve(x: Any) -> Any:
    return (x * x * -0.5).exp() * (2 - x * x) * _DENSITY


def _gelu_tanh_curve(x: Any) -> Any:
    t, inner_slope = (_SLANT * (x + _CUBIC * x * x * x)).tanh(), _SLANT * (1 + 3 * _CUBIC * x * x)
    return (1 - t * t) * (
        inner_slope + x * (3 * _SLANT * _CUBIC * x - t * inner_slope * inner_slope)
    )


GELU = activation(
    scalars.gelu, scalars.gelu_backward, _gelu_curve,
    "x times the normal distribution function of x.", kernel="GeluKernelImpl",
)  # fmt: skip
GELU_TANH = activation(
    scalars.gelu_tanh, scalars.gelu_tanh_backward, _gelu_tanh_curve,
    "gelu with a tanh in place of erf.", kernel="GeluKernelImpl", node=GELU.node_name,
)  # fmt: skip


@with_out
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x, exact or approximated with tanh."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _apply(GELU if approximate == "none" else GELU_TANH, input, ())


# --- Learned, random and gated -----------------------------------------------------------------

PRELU = Op(
    "_prelu_kernel", ("input", "weight"),
    in_single(scalars.prelu),
    {
        "input": lambda g, input, weight: where(input > 0, g, weight * g),
        "weight": lambda g, input: where(input > 0, 0, input * g),
    },
    scalar=scalars.prelu,
)  # fmt: skip


@function_and_method
@composite
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where positive, else x times `weight`: one number, or one per channel."""
    check_tensor("prelu", weight, "weight")
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}"
        )
    require_floats("prelu_cpu", input._array)
    if weight.numel() != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    if input.ndim > 1 and weight.ndim:
        weight = weight.reshape([-1] + [1] * (input.ndim - 2))
    elif input.ndim == 0:
        weight = weight.reshape(())
    return PRELU(input, weight)


@function
def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """A leaky relu with a random slope for each element in training, and the mean slope in evaluation."""
    for label, bound in (("lower", lower), ("upper", upper)):
        if isinstance(bound, complex):
            raise RuntimeError("value cannot be converted to type double without overflow")
        if not inplace and not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {label} bound must be finite, got {bound}")
    if not lower <= upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound, but got lower={lower}, upper={upper}"
        )
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    require_floats("rrelu_with_noise_out_cpu", input._array)
    for bound in (lower, upper):
        exact_number(bound, input.dtype)
    slopes = np.ones(input._array.shape, input._array.dtype)
    with np.errstate(invalid="ignore"):  # NaN is on neither side
        down = as_numpy(input._array) <= 0
    if down.any():  # without a draw, the bounds may be infinite
        slopes[down] = sampling.uniform((int(down.sum()),), np.float64, lower, upper)
    return input.mul_(wrap_beside(slopes, input)) if inplace else input * wrap_beside(slopes, input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dimension times the sigmoid of the second half."""
    require_floats("glu_cpu", input._array)
    if input.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, input.ndim)
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}"
        )
    values, gates = input.chunk(2, dim)
    return values * gates.sigmoid()


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """The softmax of logits plus Gumbel noise; `hard` makes it one-hot, with the softmax's gradient."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    if logits.dtype.kind != dtypes.FLOATING and logits._array.size:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {kind_name(logits._array)}"
        )
    drawn = logits.dtype if logits.dtype.kind == dtypes.FLOATING else dtypes.get_default_dtype()
    noise = logits.new_empty(logits.shape, dtype=drawn).exponential_().log().neg()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    choice = soft.new_zeros(soft.shape).scatter(dim, soft.argmax(dim, keepdim=True), 1.0)
    return choice - soft.detach() + soft


# --- Twins that write into their input -------------------------------------------------------------


def _twin(fn: Callable[..., Tensor], public: bool = True) -> Callable[..., Tensor]:
    """`name_(input, ...)`: the function with `inplace=True`."""

    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return fn(input, *args, **kwargs, inplace=True)

    call.__name__ = f"{fn.__name__}_"
    call.__doc__ = f"`{fn.__name__}`, in place."
    return function(call) if public else call


celu_, selu_, rrelu_, threshold_ = map(_twin, (celu, selu, rrelu, threshold))
relu_, leaky_relu_ = _twin(relu, False), _twin(leaky_relu, False)


def elu_(input: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    """`scale` times x where positive, else `alpha scale (exp(input_scale x) - 1)`, in place."""
    return _apply(ELU, input, (alpha, scale, input_scale), True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh`, in place."""
    return _hardtanh_any(input, min_val, max_val, True)


function(threshold)
