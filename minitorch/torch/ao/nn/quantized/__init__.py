"""Layers on whole numbers: what `convert` puts in place of layers that were observed."""

from __future__ import annotations

from typing import Any

from .... import dtypes, nn
from ....lazy_attributes import lazy_attributes
from ....nn import functional as F
from ....nn.modules.module import Module
from ....nn.utils.fusion import fuse_conv_bn_weights
from ....ops import FUNCTIONS
from ....quantized_tensor import (
    PER_CHANNEL,
    QuantizedTensor,
    dequantize,
    product,
    quantize_per_channel,
    quantize_per_tensor,
    requantized,
)
from ....tensor import Tensor


class Quantize(Module):
    """Numbers to whole numbers."""

    def __init__(self, scale: float, zero_point: int, dtype: Any) -> None:
        super().__init__()
        self.register_buffer("scale", Tensor([scale]).float())
        self.register_buffer("zero_point", Tensor([zero_point]).long())
        self.dtype = dtype

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """One with what the observer found."""
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return cls(scale.item(), zero_point.item(), mod.activation_post_process.dtype)

    def forward(self, x: Tensor) -> Any:
        return quantize_per_tensor(x, self.scale.item(), self.zero_point.item(), self.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Whole numbers to numbers."""

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """One."""
        return cls()

    def forward(self, x: Any) -> Tensor:
        return dequantize(x)


class Dropout(nn.Dropout):
    """Nothing: whole numbers are not trained on."""

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """One that prints as another."""
        return cls(mod.p, mod.inplace)

    def forward(self, input: Any) -> Any:
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"


def quantized_weight(weight: Tensor, observer: Any) -> QuantizedTensor:
    """A weight by the scale and zero point that an observer finds for it."""
    scale, zero_point = observer.calculate_qparams()
    if observer.qscheme in PER_CHANNEL:
        return quantize_per_channel(weight, scale.double(), zero_point.long(), observer.ch_axis, dtypes.NAMES["qint8"])  # fmt: skip
    return quantize_per_tensor(weight, scale.item(), zero_point.item(), dtypes.NAMES["qint8"])


class _Quantizing(Module):
    """A module with quantized results.

    Attributes:
        scale: of the results
        zero_point: of the results
    """

    scale, zero_point = 1.0, 0

    def _take_parameters(self, observed: Any) -> None:
        """Take the scale and the zero point that a module's observer found, if it has one."""
        if hasattr(observed, "activation_post_process"):
            scale, zero_point = observed.activation_post_process.calculate_qparams()
            self.scale, self.zero_point = float(scale), int(zero_point)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in ("scale", "zero_point"):
            destination[prefix + name] = FUNCTIONS["tensor"](getattr(self, name))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, *args)


class WeightedQuantizedModule(_Quantizing):
    """A linear function of whole numbers, with a quantized weight."""

    _version = 3
    relu = False
    _options: tuple[str, ...] = ()

    def weight(self) -> QuantizedTensor:
        """The quantized weight."""
        return self._weight

    def bias(self) -> Tensor | None:
        """The bias, in float."""
        return self._bias

    def set_weight_bias(self, w: QuantizedTensor, b: Tensor | None) -> None:
        """Put another weight and bias in."""
        self._weight, self.__dict__["_bias"] = w, b

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """One with the weight of an observed layer, or of one that was trained with rounded weights."""
        layer = mod[0] if hasattr(mod, "__getitem__") else mod
        weight, bias = layer.weight.detach(), None if layer.bias is None else layer.bias.detach()
        if hasattr(layer, "bn"):
            bn = layer.bn
            weight, bias = (t.detach() for t in fuse_conv_bn_weights(weight, bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias))  # fmt: skip
        observer = getattr(layer, "weight_fake_quant", None) or mod.qconfig.weight()
        observer(weight)
        made = cls._empty(layer)
        made.set_weight_bias(quantized_weight(weight, observer), bias)
        made._take_parameters(mod)
        return made

    @classmethod
    def _empty(cls, layer: Any) -> Any:
        made = cls.__new__(cls)
        Module.__init__(made)
        made.training = layer.training
        for name in cls._options:
            setattr(made, name, getattr(layer, name))
        return made

    def _multiply(self, x: Tensor, weight: Tensor) -> Tensor:
        raise NotImplementedError

    _output_dim = 1

    def forward(self, x: Any) -> Any:
        if not isinstance(x, QuantizedTensor):
            raise NotImplementedError(
                f"Could not run 'quantized::{self._get_name()}' with arguments from the 'CPU' backend: the input is not "
                "quantized; a QuantStub before it does that"
            )
        sums = product(x, self._weight, self._bias, self._multiply, self._output_dim)
        return requantized(sums, self.scale, self.zero_point, self.relu)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        destination.update({prefix + "weight": self._weight, prefix + "bias": self._bias})
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        options = ", ".join(f"{name}={getattr(self, name)}" for name in self._options)
        return f"{options}, scale={self.scale}, zero_point={self.zero_point}"


class Linear(WeightedQuantizedModule):
    """A linear layer."""

    _options = ("in_features", "out_features")
    _output_dim = -1

    def _multiply(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.linear(x, weight)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        pair = destination.pop(prefix + "weight"), destination.pop(prefix + "bias")
        destination[f"{prefix}_packed_params.dtype"] = self._weight.dtype
        destination[f"{prefix}_packed_params._packed_params"] = pair
        destination._metadata[f"{prefix}_packed_params"] = {"version": 3}

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        pair = state_dict.pop(f"{prefix}_packed_params._packed_params")
        state_dict.pop(f"{prefix}_packed_params.dtype", None)
        state_dict[prefix + "weight"], state_dict[prefix + "bias"] = pair
        super()._load_from_state_dict(state_dict, prefix, *args)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, qscheme={self.weight().qscheme()}"


class _Conv(WeightedQuantizedModule):
    _options = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode")  # fmt: skip

    @classmethod
    def _empty(cls, layer: Any) -> Any:
        if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
            raise NotImplementedError(f"a quantized convolution pads by numbers of zeros, not {layer.padding!r}, {layer.padding_mode!r}")  # fmt: skip
        return super()._empty(layer)

    def _multiply(self, x: Tensor, weight: Tensor) -> Tensor:
        fn = FUNCTIONS[f"conv{weight.ndim - 2}d"]
        return fn(x, weight, None, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        usual = {"padding": 0, "dilation": 1, "groups": 1}
        shown = []
        for name in ("kernel_size", "stride", "scale", "zero_point", *usual):
            value, plain = getattr(self, name), usual.get(name)
            if value not in (plain, (plain,) * len(self.kernel_size)):
                shown.append(f"{name}={value}")
        if self._bias is None:
            shown.append("bias=False")
        return f"{self.in_channels}, {self.out_channels}, {', '.join(shown)}"


class Conv1d(_Conv):
    """A convolution of sequences."""


class Conv2d(_Conv):
    """A convolution of pictures."""


class Conv3d(_Conv):
    """A convolution of volumes."""


# --- Functions as modules -------------------------------------------------------------------------------------


class FloatFunctional(Module):
    """Functions that an observer looks at."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def forward(self, x: Any) -> Any:
        """An error: it has functions."""
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")  # fmt: skip

    def _done(self, result: Any) -> Any:
        return self.activation_post_process(result)

    def _plain(self, x: Any) -> Any:
        return x

    def add(self, x: Any, y: Any) -> Any:
        """The sum."""
        return self._done(self._plain(x) + self._plain(y))

    def mul(self, x: Any, y: Any) -> Any:
        """The product of elements."""
        return self._done(self._plain(x) * self._plain(y))

    def matmul(self, x: Any, y: Any) -> Any:
        """The product of matrices."""
        return self._done(self._plain(x) @ self._plain(y))

    def add_relu(self, x: Any, y: Any) -> Any:
        """ReLU of the sum."""
        return self._done(F.relu(self._plain(x) + self._plain(y)))

    def cat(self, x: Any, dim: int = 0) -> Any:
        """Tensors in a row."""
        return self._done(FUNCTIONS["cat"]([self._plain(each) for each in x], dim))


class QFunctional(_Quantizing, FloatFunctional):
    """The same on whole numbers."""

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> QFunctional:
        """One with what the observer found."""
        made = cls()
        made._take_parameters(mod)
        return made

    def _plain(self, x: Any) -> Any:
        return dequantize(x)

    def _done(self, result: Any) -> Any:
        return quantize_per_tensor(result, self.scale, self.zero_point, dtypes.NAMES["quint8"])

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"


__getattr__ = lazy_attributes(__name__, ("dynamic",))
