"""Quantized tensors: whole numbers of 8 or 32 bits, with a scale and a zero point for all, or for each index of a dimension.

A number stands for `(number - zero_point) * scale`. The whole numbers are a plain tensor; views and indices are done to that. Functions that
have a form of their own for whole numbers are in `ANSWERS`, as PyTorch's x86 kernels compute them; all others are refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes
from .environment import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
)
from .nn import functional as F
from .ops import FUNCTIONS
from .ops.arguments import checked
from .ops.record import without_derivative
from .serialization.rebuild import rebuild_qtensor
from .size import Size
from .storage import TypedStorage, UntypedStorage, locate
from .tensor import Tensor, wrap

INTEGERS = {"qint8": dtypes.int8, "quint8": dtypes.uint8, "qint32": dtypes.int32}  # fmt: skip
"""The types of whole numbers, by the names of quantized types."""
PER_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)
"""Schemes with a scale for each index of a dimension."""


def limits(dtype: Any) -> tuple[int, int]:
    """The least and the largest whole number of a quantized type; RuntimeError for other types."""
    if dtype.name not in INTEGERS:
        raise RuntimeError(f"Tensors of the type {dtype} cannot be quantized here: qint8, quint8 and qint32 can")  # fmt: skip
    bounds = np.iinfo(INTEGERS[dtype.name].numpy)
    return int(bounds.min), int(bounds.max)


def _attribute(name: str, attribute: str, scheme: Any) -> Any:
    """A method that gives an attribute of tensors of one scheme."""

    def read(self: Any) -> Any:
        if self.qscheme() is not scheme:
            raise RuntimeError(f"Could not get {name}: the tensor is {self.qscheme()}, not {scheme}")  # fmt: skip
        value = getattr(self, attribute)
        return wrap(value) if isinstance(value, np.ndarray) else value

    read.__name__, read.__doc__ = name, f"The {attribute} of a tensor whose scheme is {scheme}."
    return read


class QuantizedTensor(Tensor):
    """Whole numbers that stand for others.

    Attributes:
        integers: the whole numbers, a plain tensor
        scale: a number, or an array of float64 with one for each index along `axis`
        zero_point: a whole number, or an array of int64
        axis: the dimension whose indices have scales of their own; None: there is one for all
    """

    def __new__(
        cls, integers: Tensor, scale: Any, zero_point: Any, dtype: Any, axis: int | None = None
    ) -> QuantizedTensor:
        """One over whole numbers as they are."""
        made = object.__new__(cls)
        made.__dict__.update(integers=integers, scale=scale, zero_point=zero_point, kind=dtype, axis=axis)  # fmt: skip
        return made

    def like(self, integers: Tensor) -> QuantizedTensor:
        """Other whole numbers that are read in the same way."""
        return QuantizedTensor(integers, self.scale, self.zero_point, self.kind, self.axis)

    _array = property(lambda self: self.integers._array)
    shape = property(lambda self: Size(self.integers.shape), doc="The sizes.")
    ndim = property(lambda self: self.integers.ndim, doc="How many dimensions there are.")
    dtype = property(lambda self: self.kind, doc="qint8, quint8 or qint32.")
    device = property(lambda self: self.integers.device, doc="Where the whole numbers are.")
    requires_grad = is_leaf = False  # type: ignore[assignment]
    is_quantized = True  # type: ignore[assignment]
    grad = grad_fn = None  # type: ignore[assignment]

    def __repr__(self, **_: Any) -> str:
        numbers = repr(self.dequantize()).removesuffix(")")
        pad, scheme = "\n       ", f"quantization_scheme={self.qscheme()},"
        if self.axis is None:
            how = f"{scheme} scale={self.scale}, zero_point={self.zero_point}"
        else:
            how = f"{scheme}{pad}scale={wrap(self.scale)},{pad}zero_point={wrap(self.zero_point)}, axis={self.axis}"  # fmt: skip
        return f"{numbers}, size={tuple(self.shape)}, dtype={self.dtype},{pad}{how})"

    def __deepcopy__(self, memo: Any) -> QuantizedTensor:
        return self.like(self.integers.clone())

    def __reduce_ex__(self, protocol: Any) -> Any:
        view = locate(self.integers._array)
        storage = TypedStorage(wrap_storage=UntypedStorage.over(view.memory, view.root), dtype=self.kind)  # fmt: skip
        one = self.axis is None
        scheme = (self.qscheme(), self.scale, self.zero_point) if one else (self.qscheme(), wrap(self.scale), wrap(self.zero_point), self.axis)  # fmt: skip
        return rebuild_qtensor, (storage, view.offset, view.shape, view.strides, scheme, False, OrderedDict())  # fmt: skip

    # --- What a quantized tensor is asked ------------------------------------------------------------------------

    def qscheme(self) -> Any:
        """Whether one scale is for all numbers."""
        return per_tensor_affine if self.axis is None else per_channel_affine

    q_scale = _attribute("q_scale", "scale", per_tensor_affine)
    q_zero_point = _attribute("q_zero_point", "zero_point", per_tensor_affine)
    q_per_channel_scales = _attribute("q_per_channel_scales", "scale", per_channel_affine)
    q_per_channel_zero_points = _attribute("q_per_channel_zero_points", "zero_point", per_channel_affine)  # fmt: skip
    q_per_channel_axis = _attribute("q_per_channel_axis", "axis", per_channel_affine)

    def int_repr(self) -> Tensor:
        """The whole numbers."""
        return self.integers.clone()

    def dequantize(self) -> Tensor:
        """What the numbers stand for."""
        scale, zero_point = self._along(self.scale), self._along(self.zero_point)
        values = self.integers._array.astype(np.float32) - np.asarray(zero_point, np.float32)
        return wrap(np.asarray(values * np.asarray(scale, np.float32)))

    def _along(self, values: Any) -> Any:
        """Numbers for each index along the axis, in a shape that broadcasts."""
        return values if self.axis is None else np.reshape(values, [-1 if d == self.axis else 1 for d in range(self.ndim)])  # fmt: skip

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        name = getattr(func, "__name__", "")
        name = func.__self__.fget.__name__ if name == "__get__" else name
        name = _OPERATORS.get(name, name)
        if name in ANSWERS:
            return ANSWERS[name](*args, **(kwargs or {}))
        own = cls.__dict__.get(name)
        if callable(own):
            return own(*args, **(kwargs or {}))
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'QuantizedCPU' backend: "
            "minitorch.torch has no form of it for quantized tensors; dequantize() them first"
        )


# --- Making them -----------------------------------------------------------------------------------------------


def rounded(values: Any, scale: Any, zero_point: Any, least: int, largest: int) -> Any:
    """Numbers as whole numbers: multiples of the scale after the zero point, the nearest, ties to even."""
    inverse = np.float32(1) / np.asarray(scale, np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        moved = np.asarray(values, np.float32) * inverse + np.asarray(zero_point, np.float32)
        return np.clip(np.nan_to_num(np.rint(moved).astype(np.float64), nan=least), least, largest)


def check_on_cpu(name: str, input: Any) -> None:
    """RuntimeError for numbers of another device."""
    if input.device.type != "cpu":
        raise RuntimeError(f"{name}: the CPU quantizes, but the input is on {input.device}; move it with .cpu()")  # fmt: skip


def _check_float(name: str, input: Any) -> None:
    check_on_cpu(name, input)
    if input.dtype is not dtypes.float32:
        raise RuntimeError(f"{name}: expected a tensor of torch.float32, but got {input.dtype}")


def _checked(fn: Callable[..., Any]) -> Any:
    """A function that checks its arguments, after it asked modes and their classes."""
    return checked(f"torch.{fn.__name__}", fn)


@_checked
def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: Any) -> Any:
    """Numbers as whole numbers, with one scale and zero point for all; of a list of tensors, one for each."""
    if isinstance(input, (list, tuple)):
        numbers = ((scale[i].item(), zero_point[i].item()) for i in range(len(input)))
        return tuple(quantize_per_tensor(x, *n, dtype) for x, n in zip(input, numbers, strict=True))
    _check_float("quantize_per_tensor", input)
    least, largest = limits(dtype)
    scale, zero_point = float(scale), int(zero_point)
    if not least <= zero_point <= largest:
        side = "above upper" if zero_point > largest else "below lower"
        raise RuntimeError(f"quantize_tensor: zero_point {zero_point} is {side} bound of {dtype}.")
    integers = rounded(input.detach()._array, scale, zero_point, least, largest)
    kept = wrap(np.asarray(integers, INTEGERS[dtype.name].numpy))
    return QuantizedTensor(kept, scale, zero_point, dtype)


@_checked
def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> QuantizedTensor:  # fmt: skip
    """Numbers as whole numbers, with a scale and a zero point for each index along `axis`."""
    _check_float("quantize_per_channel", input)
    if scales.ndim != 1 or zero_points.ndim != 1:
        raise RuntimeError("quantize_per_channel: scales and zero_points must have 1 dimension")
    if not scales.is_floating_point():
        raise RuntimeError(f"quantize_per_channel: scales must be floating point, but are {scales.dtype}")  # fmt: skip
    if not 0 <= axis < input.ndim:
        raise RuntimeError(f"quantize_per_channel: axis must be between 0 and {input.ndim - 1}, but got {axis}")  # fmt: skip
    if len(scales) != input.shape[axis] or len(zero_points) != input.shape[axis]:
        raise RuntimeError("quantize_per_channel: length of scales and zero_points must equal the size of the axis")  # fmt: skip
    least, largest = limits(dtype)
    s, z = scales.detach()._array.astype(np.float64), zero_points._array.astype(np.int64)
    made = QuantizedTensor(input.detach(), s, z, dtype, axis)
    integers = rounded(input.detach()._array, made._along(s), made._along(z), least, largest)
    return made.like(wrap(np.asarray(integers, INTEGERS[dtype.name].numpy)))


@_checked
def quantize_per_tensor_dynamic(input: Tensor, dtype: Any, reduce_range: bool) -> Tensor:
    """Numbers as whole numbers, with the scale and zero point that their range calls for; or as float16."""
    if dtype is dtypes.float16:
        made = input.to(dtype)
        return made if made is input else without_derivative("quantize_per_tensor_dynamic", made, input)  # fmt: skip
    if dtype.name not in ("qint8", "quint8"):
        raise RuntimeError(f"quantize_per_tensor_dynamic: dtype {dtype} is not supported")
    least, largest = limits(dtype)
    return quantize_per_tensor(input, *parameters(input, least, largest, reduce_range), dtype)


def parameters(
    input: Tensor, least: int, largest: int, reduce_range: bool = False
) -> tuple[float, int]:
    """The scale and the zero point for the range of some numbers, as PyTorch's dynamic kernels choose them."""
    values = input.detach()._array
    ends = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    if reduce_range:
        least, largest = int(least / 2), int(largest / 2)
    return range_parameters(*ends, least, largest)


_SMALLEST = float(np.float32(6.1e-5))


def range_parameters(low: float, high: float, least: int, largest: int, symmetric: bool = False) -> tuple[float, int]:  # fmt: skip
    """The scale and the zero point for a range; `symmetric`: with zero in the middle, where the range has both signs."""
    middle = symmetric and low < 0 < high
    steps = largest - least
    if middle:
        half = steps // 2
        one = np.float32
        most = float(max(abs(one(low) / one(-half - 1)), abs(one(high) / one(half))))
        low, high = float(np.float32(-most * (half + 1))), float(np.float32(most * half))
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / steps
    with np.errstate(over="ignore", divide="ignore"):
        if np.float32(scale) == 0 or np.isinf(np.float32(1) / np.float32(scale)):
            scale = 0.1
    if scale < _SMALLEST:
        factor, scale = float(np.float32(_SMALLEST) / np.float32(scale)), _SMALLEST
        if low == 0:
            high = _SMALLEST * steps
        elif high == 0:
            low = -_SMALLEST * steps
        else:
            low, high = low * factor, high * factor
    from_low = abs(least) - abs(low / scale) < abs(largest) - abs(high / scale)
    zero_point = least - low / scale if from_low else largest - high / scale
    if middle:
        zero_point = (least + largest) / 2
    return scale, int(np.clip(np.rint(zero_point), least, largest))


@_checked
def dequantize(input: Any) -> Any:
    """What quantized tensors stand for; others as float32."""
    if isinstance(input, (list, tuple)):
        if not any(isinstance(x, QuantizedTensor) for x in input):
            raise NotImplementedError("dequantize(): expected at least one quantized tensor in a list")  # fmt: skip
        return tuple(map(dequantize, input))
    return input.dequantize()


# --- Products --------------------------------------------------------------------------------------------------


def requantized(values: Any, scale: float, zero_point: int, relu: bool = False) -> QuantizedTensor:
    """Results of a product, in float32, as a quint8 tensor."""
    low = zero_point if relu else 0
    integers = np.asarray(rounded(values, scale, zero_point, low, 255), np.uint8)
    return QuantizedTensor(wrap(integers), scale, zero_point, dtypes.NAMES["quint8"])


def product(
    input: QuantizedTensor,
    weight: QuantizedTensor,
    bias: Tensor | None,
    multiply: Callable[[Tensor, Tensor], Tensor],
    dim: int,
) -> Any:
    """A linear function of whole numbers, exact in float64, times the scales, plus the bias, in float32.

    Args:
        input: quantized by one scale
        weight: quantized by one scale, or by one for each output along its dimension 0
        bias: one number for each output
        multiply: of plain tensors, linear in both
        dim: the dimension of the result that counts outputs
    """
    x = wrap(input.integers._array.astype(np.float64) - input.zero_point)
    w = wrap(weight.integers._array.astype(np.float64) - weight._along(weight.zero_point))
    sums = multiply(x, w)._array.astype(np.float32)
    shape = [-1 if d == dim % sums.ndim else 1 for d in range(sums.ndim)]
    scales = np.asarray(np.asarray(weight.scale) * input.scale, np.float32)
    result = sums * (scales if weight.axis is None else scales.reshape(shape))
    return result if bias is None else result + bias.detach()._array.reshape(shape)


# --- Functions --------------------------------------------------------------------------------------------------

_CHANNELS = "quantized per channel: dequantize() it first"
_OPERATORS = {"__add__": "add", "__mul__": "mul", "__eq__": "eq"}


def _of_integers(name: str) -> Callable[..., Any]:
    """A method of the whole numbers, of the tensor."""
    return lambda input, *args, **kwargs: getattr(input.integers, name)(*args, **kwargs)


def _moved(name: str) -> Callable[..., Any]:
    """A method that moves elements, done to the whole numbers; scales along an axis allow copies only."""

    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        if input.axis is not None and name not in ("clone", "detach", "contiguous", "cpu"):
            raise NotImplementedError(f"{name} of a tensor that is {_CHANNELS}")
        done = getattr(input.integers, name)(*args, **kwargs)
        return input.like(done) if isinstance(done, Tensor) else type(done)(map(input.like, done))

    return call


def _through_numbers(fn: Callable[..., Tensor]) -> Callable[..., QuantizedTensor]:
    """A function whose results are read in the same way as its argument: of the numbers, and back."""

    def call(input: Any, *args: Any, **kwargs: Any) -> QuantizedTensor:
        return quantize_per_tensor(fn(input.dequantize(), *args, **kwargs), input.scale, input.zero_point, input.kind)  # fmt: skip

    return call


def _exact(fn: Callable[..., Tensor]) -> Callable[..., QuantizedTensor]:
    """A function that chooses among elements: of the whole numbers themselves."""

    def call(input: Any, *args: Any, **kwargs: Any) -> QuantizedTensor:
        done = fn(input.integers.to(dtypes.float64), *args, **kwargs)
        return input.like(done.to(input.integers.dtype))

    return call


def _relu(input: Any, inplace: bool = False) -> QuantizedTensor:
    if input.axis is not None:
        raise NotImplementedError(f"relu of a tensor that is {_CHANNELS}")
    done = input.integers.clamp(min=input.zero_point)
    if inplace:
        input.integers.copy_(done)
        return input
    return input.like(done)


def _to(input: Any, *args: Any, **kwargs: Any) -> QuantizedTensor:
    done = input.integers.to(*args, **kwargs)
    if done.dtype is not input.integers.dtype or done.device.type != "cpu":
        raise NotImplementedError("quantized tensors have one type, on the CPU: dequantize() them first")  # fmt: skip
    return input


def _dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if training:
        raise NotImplementedError("dropout of a quantized tensor in training: dequantize() it first")  # fmt: skip
    return input


def _cat(tensors: Any, dim: int = 0) -> QuantizedTensor:
    first = tensors[0]
    done = FUNCTIONS["cat"]([x.dequantize() for x in tensors], dim)
    return quantize_per_tensor(done, first.scale, first.zero_point, first.kind)


def _equal(a: Any, b: Any) -> bool:
    """Whether two have equal whole numbers that are read in the same way."""
    same = a.kind is b.kind and a.axis == b.axis and np.array_equal(a._array, b._array)
    return same and np.array_equal(a.scale, b.scale) and np.array_equal(a.zero_point, b.zero_point)


MOVING = """__getitem__ select narrow transpose t view reshape flatten unflatten unsqueeze squeeze permute expand chunk split unbind
    clone detach contiguous cpu""".split()  # noqa: SIM905

ANSWERS: dict[str, Callable[..., Any]] = {
    **{n: _moved(n) for n in MOVING},
    **{n: _exact(getattr(F, n)) for n in ("max_pool1d", "max_pool2d")},
    **{n: _through_numbers(getattr(F, n)) for n in ("avg_pool2d", "adaptive_avg_pool2d", "interpolate", "hardtanh", "leaky_relu")},
    "mean": _through_numbers(FUNCTIONS["mean"]),
    "relu": _relu,
    "relu_": lambda input: _relu(input, inplace=True),
    "dropout": _dropout,
    "cat": _cat,
    "equal": _equal,
    **{n: _of_integers(n) for n in ("size", "numel", "__len__", "dim", "stride", "is_contiguous", "element_size")},
    "is_floating_point": lambda input: False,
    "to": _to,
    "tolist": lambda input: input.dequantize().tolist(),
    "dequantize": dequantize.__wrapped__,
    "eq": lambda a, b: a.dequantize() == dequantize(b),
}  # fmt: skip
"""What functions give for quantized tensors, by their names."""
