"""Convolutions in one, two and three dimensions, and transposed ones.

Three records, each the derivative of the others: the convolution of an input with a
weight, the transposed convolution (the gradient of the input), and the gradient of the
weight. They are products of two arguments, so that is all there is to double backward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..formulas.conv import conv_forward, conv_input_gradient, conv_weight_gradient
from ..interpreters import composite
from ..tensor import Array, Tensor
from .elementwise import conj
from .layout import as_image
from .padding import pad
from .precision import is_half, kind_name, require_floats
from .promotion import plain_integers
from .record import PRODUCT, Op, bind
from .surface import check_tensor, function

Sizes = tuple[int, ...]

# --- Records ---------------------------------------------------------------------------------


def _convolution(
    input: Array,
    weight: Array,
    bias: Any,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Array:
    return conv_forward(input, weight, bias, stride, padding, dilation, groups)


def _transposed(
    input: Array,
    weight: Array,
    bias: Any,
    shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Array:
    out = conv_input_gradient(input, weight, shape, stride, padding, dilation, groups)
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (out.ndim - 2))
    return out


def _weight(
    grad: Array,
    input: Array,
    shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Array:
    return conv_weight_gradient(grad, input, shape, stride, padding, dilation, groups)


def _convolve(x: Any, weight: Any, *steps: Any) -> Any:
    return bind(CONVOLUTION, (x, conj(weight), None), dict(zip(_STEPS, steps, strict=True)))


def _transpose(x: Any, weight: Any, shape: Sizes, *steps: Any) -> Any:
    params = dict(zip(_STEPS, steps, strict=True), shape=shape)
    return bind(TRANSPOSED, (x, conj(weight), None), params)


def _weigh(grad: Any, x: Any, shape: Sizes, *steps: Any) -> Any:
    return bind(WEIGHT, (grad, conj(x)), dict(zip(_STEPS, steps, strict=True), shape=shape))


def _cropped(x: Any, shape: Sizes) -> Any:
    """The output without positions that exist only because of a transposed convolution's `output_padding`."""
    return x if x._array.shape == shape else x[tuple(slice(n) for n in shape)]


def _per_channel(g: Any) -> Any:
    return g.sum([d for d in range(g.ndim) if d != 1])


_STEPS = ("stride", "padding", "dilation", "groups")
CONVOLUTION = Op(
    "convolution", ("input", "weight", "bias"), as_image(_convolution),
    {
        "input": lambda g, weight, shapes, stride, padding, dilation, groups:
            _transpose(g, weight, shapes[0], stride, padding, dilation, groups),
        "weight": lambda g, input, shapes, stride, padding, dilation, groups:
            _weigh(g, input, shapes[1], stride, padding, dilation, groups),
        "bias": _per_channel,
    },
    doc="The convolution of the input with the weight.", kind=PRODUCT,
)  # fmt: skip
TRANSPOSED = Op(
    "conv_transpose", ("input", "weight", "bias"), as_image(_transposed),
    {
        "input": lambda g, weight, shapes, stride, padding, dilation, groups:
            _cropped(_convolve(g, weight, stride, padding, dilation, groups), shapes[0]),
        "weight": lambda g, input, shapes, stride, padding, dilation, groups:
            _weigh(conj(input), conj(g), shapes[1], stride, padding, dilation, groups),
        "bias": _per_channel,
    },
    node="ConvolutionBackward0", doc="The transposed convolution of the input with the weight.", kind=PRODUCT,
)  # fmt: skip
WEIGHT = Op(
    "convolution_backward_weight", ("grad", "input"), _weight,
    {
        "grad": lambda g, input, shapes, stride, padding, dilation, groups:
            _cropped(_convolve(conj(input), conj(g), stride, padding, dilation, groups), shapes[0]),
        "input": lambda g, grad, shapes, stride, padding, dilation, groups:
            _transpose(conj(grad), conj(g), shapes[1], stride, padding, dilation, groups),
    }, kind=PRODUCT,
)  # fmt: skip


# --- Arguments -------------------------------------------------------------------------------


def per_dimension(name: str, value: Any, dims: int) -> Sizes:
    """One number for each dimension, from one for all or one for each."""
    if type(value) is tuple and len(value) == dims and all(map(_is_small, value)):
        return value
    values = plain_integers(value, "conv", name)
    if len(values) == 1:
        return values * dims
    if len(values) != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the "
            f"convolution dimensions, but got {name}={list(values)}"
        )
    return values


def _is_small(value: Any) -> bool:
    return type(value) is int and -(1 << 31) < value < 1 << 31


def _same_type(input: Tensor, bias: Any, padding: Any) -> Any:
    """The bias, in the input's dtype if padding is a string: Torch does not compare the dtypes then."""
    if not isinstance(bias, Tensor) or not isinstance(padding, str) or is_half(input._array):
        return bias
    return bias.to(input.dtype)


def _check_operands(name: str, dims: int, input: Tensor, weight: Tensor, bias: Any) -> None:
    check_tensor(name, input)
    check_tensor(name, weight, "weight")
    array = input._array
    if array.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of "
            f"size: {list(input.shape)}"
        )
    if weight._array.ndim != dims + 2:
        raise RuntimeError(
            f"{name}: expected a {dims + 2}-dimensional weight, but got one of size {list(weight.shape)} "
            f"for input of size {list(input.shape)}"
        )
    for other in (weight, bias):
        if other is not None and other._array.dtype != array.dtype:
            raise RuntimeError(
                f"Input type ({kind_name(input._array)}) and weight or bias type "
                f"({kind_name(other._array)}) should be the same in {name}"
            )
    if array.dtype.kind not in "fcV":
        whole = "transpose" not in name or input.dtype is dtypes.int64
        require_floats(f"slow_{name}_cpu", array, "iu" if whole else "")


def _same_padding(
    input: Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes
) -> tuple[Tensor, Sizes]:
    """Padding that keeps the size; if it is odd, the input is padded by one more at its end."""
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if any(t % 2 for t in total):
        input = pad(input, [v for t in reversed(total) for v in (0, t % 2)])
    return input, tuple(t // 2 for t in total)


# --- Functions ---------------------------------------------------------------------------------


def _declare_convolution(dims: int) -> Callable[..., Tensor]:
    name = f"conv{dims}d"

    def call(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        check_tensor(name, input)
        bias = _same_type(input, bias, padding)
        _check_operands(name, dims, input, weight, bias)
        steps, reach = (
            per_dimension("stride", stride, dims),
            per_dimension("dilation", dilation, dims),
        )
        batched = input if input._array.ndim == dims + 2 else input.unsqueeze(0)
        if padding == "same":
            batched, edges = _same_padding(batched, weight.shape[2:], steps, reach)
        elif isinstance(padding, str) and padding != "valid":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        else:
            edges = per_dimension("padding", 0 if padding == "valid" else padding, dims)
        params = {"stride": steps, "padding": edges, "dilation": reach, "groups": groups}
        out = bind(CONVOLUTION, (batched, weight, bias), params)
        if not batched._array.shape[1]:  # of no channels come none, in Torch
            out = out[:, :0]
        return out if batched is input or batched.ndim == input.ndim else out.squeeze(0)

    call.__name__ = name
    call.__doc__ = f"The convolution of an input with {dims} spatial dimensions."
    return function(composite(call))


def _declare_transposed(dims: int) -> Callable[..., Tensor]:
    name = f"conv_transpose{dims}d"

    def call(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Tensor:  # fmt: skip
        _check_operands(name, dims, input, weight, bias)
        steps, edges = (
            per_dimension("stride", stride, dims),
            per_dimension("padding", padding, dims),
        )
        reach, extra = (
            per_dimension("dilation", dilation, dims),
            per_dimension("output_padding", output_padding, dims),
        )
        if any(e >= max(s, d) for e, s, d in zip(extra, steps, reach, strict=True)):
            raise RuntimeError(
                f"output padding must be smaller than either stride or dilation, but got output_padding={extra}, "
                f"stride={steps}, dilation={reach}"
            )
        batched = input if input.ndim == dims + 2 else input.unsqueeze(0)
        kernel, sizes = weight._array.shape[2:], batched._array.shape[2:]
        geometry = zip(sizes, steps, edges, reach, kernel, extra, strict=True)
        out_sizes = tuple(
            (n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, s, p, d, k, e in geometry
        )
        shape = (batched._array.shape[0], weight._array.shape[1] * groups, *out_sizes)
        params = {
            "stride": steps,
            "padding": edges,
            "dilation": reach,
            "groups": groups,
            "shape": shape,
        }
        if bias is not None and bias._array.shape != shape[1:2]:
            raise RuntimeError(
                f"Given transposed=1, weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
                f"{shape[1]} elements, but got bias of size {list(bias.shape)} instead"
            )
        out = bind(TRANSPOSED, (batched, weight, bias), params)
        return out if input.ndim == dims + 2 else out.squeeze(0)

    call.__name__ = name
    call.__doc__ = f"The transposed convolution of an input with {dims} spatial dimensions."
    return function(composite(call))


conv1d, conv2d, conv3d = map(_declare_convolution, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_declare_transposed, (1, 2, 3))


@function
@composite
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of an input (time, batch, channels) with a weight (width, channels, outputs)."""
    if input.ndim != 3 or weight.ndim != 3:
        raise RuntimeError(
            f"conv_tbc: input and weight must have 3 dims: time, batch, channels, got {list(input.shape)} "
            f"and {list(weight.shape)}"
        )
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(
        2, 0, 1
    )
