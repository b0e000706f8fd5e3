"""Observers: modules that look at tensors and find a scale and a zero point for them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import dtypes
from ...environment import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
)
from ...nn.modules.module import Module
from ...ops import FUNCTIONS
from ...quantized_tensor import check_on_cpu, limits
from ...tensor import Tensor, wrap

qint8, quint8, qint32 = (dtypes.NAMES[n] for n in ("qint8", "quint8", "qint32"))
SYMMETRIC = (per_tensor_symmetric, per_channel_symmetric)
_EPSILON = float(np.finfo(np.float32).eps)
_histc, _aminmax = FUNCTIONS["histc"], FUNCTIONS["aminmax"]


class _PartialWrapper:
    """A class with some of its arguments."""

    def __init__(self, p: Callable[..., Any]) -> None:
        self.p: Any = p

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.p(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.p)

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """The class with more of them."""
        return _PartialWrapper(partial(self.p, **kwargs))


def _with_args(cls: Any, **kwargs: Any) -> _PartialWrapper:
    """The class with some of its arguments, to be called with the rest."""
    return _PartialWrapper(partial(cls, **kwargs))


class ObserverBase(ABC, Module):
    """A module that looks at tensors and finds a scale and a zero point for them."""

    def __init__(self, dtype: Any, is_dynamic: bool = False, **_: Any) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Look at a tensor, and give it back."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point for what was seen."""

    with_args = classmethod(_with_args)


class UniformQuantizationObserverBase(ObserverBase):
    """An observer that finds them from a least and a largest value.

    Args:
        dtype: the quantized type
        qscheme: whether there is one scale, and whether the zero point is in the middle
        reduce_range: use one bit less
        quant_min: the least whole number; None: the type's
        quant_max: the largest whole number
        eps: the least scale
    """

    def __init__(
        self, dtype: Any = quint8, qscheme: Any = per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = _EPSILON, is_dynamic: bool = False, **_: Any,
    ) -> None:  # fmt: skip
        super().__init__(dtype, is_dynamic)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", wrap(np.array([eps], np.float32)))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if quant_min is not None and quant_max is not None:
            if not quant_min <= 0 <= quant_max:
                raise AssertionError("Used-specified quantization range must include 0.")
            least, largest = quant_min, quant_max
        else:
            least, largest = limits(dtype)
        halved = reduce_range and dtype is not qint32
        self.quant_min, self.quant_max = (least // 2, largest // 2) if halved else (least, largest)
        self.register_buffer("min_val", wrap(np.array(np.inf, np.float32)))
        self.register_buffer("max_val", wrap(np.array(-np.inf, np.float32)))

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = wrap(np.array(np.inf, np.float32)), wrap(np.array(-np.inf, np.float32))  # fmt: skip

    def _unseen(self) -> bool:
        return self.min_val.numel() == 0 or bool(np.all(self.min_val._array == np.inf))

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point for what was seen."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        """A scale and a zero point for a least and a largest value, or one for each of several."""
        low, high = np.atleast_1d(min_val._array), np.atleast_1d(max_val._array)
        if low.size == 0 or (low.size == 1 and low[0] == np.inf and high[0] == -np.inf):
            warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=3)  # fmt: skip
            return wrap(np.ones(1, np.float32)), wrap(np.zeros(1, np.int64))
        least, largest, eps = self.quant_min, self.quant_max, self.eps._array
        below, above = np.minimum(low, np.float32(0)), np.maximum(high, np.float32(0))
        if self.qscheme in SYMMETRIC:
            scale = np.maximum(np.maximum(-below, above) / np.float32((largest - least) / 2), eps)
            middle = 0 if self.dtype is not quint8 else (least + largest) // 2 if self.has_customized_qrange else 128  # fmt: skip
            zero_point = np.full(scale.shape, middle, np.int64)
        elif self.qscheme is per_channel_affine_float_qparams:
            scale = (high - low) / np.float32(largest - least)
            scale = np.where(scale > eps, scale, np.float32(1))
            return wrap(scale), wrap(-low / scale)
        else:
            scale = np.maximum((above - below) / np.float32(largest - least), eps)
            zero_point = np.clip(least - np.rint(below / scale).astype(np.int32), least, largest)
        return wrap(scale.astype(np.float32)), wrap(zero_point)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class MinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the least and the largest value of all tensors."""

    def forward(self, x: Tensor) -> Tensor:
        check_on_cpu(type(self).__name__, x)
        if x.numel():
            low, high = self._extremes(x.detach().to(dtypes.float32)._array)
            if not self._unseen():
                low, high = self._merged(self.min_val._array, low, np.minimum), self._merged(self.max_val._array, high, np.maximum)  # fmt: skip
            self.min_val, self.max_val = wrap(np.asarray(low)), wrap(np.asarray(high))
        return x

    def _extremes(self, values: Any) -> Any:
        return values.min(), values.max()

    def _merged(self, before: Any, now: Any, extreme: Any) -> Any:
        return extreme(before, now)


class _Averaging(MinMaxObserver):
    """Keeps an average that forgets."""

    def __init__(self, averaging_constant: float = 0.01, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.averaging_constant = averaging_constant

    def _merged(self, before: Any, now: Any, extreme: Any) -> Any:
        return before + np.float32(self.averaging_constant) * (now - before)


class PerChannelMinMaxObserver(MinMaxObserver):
    """Keeps the least and the largest value for each index of a dimension."""

    def __init__(self, ch_axis: int = 0, qscheme: Any = per_channel_affine, **kwargs: Any) -> None:
        super().__init__(qscheme=qscheme, **kwargs)
        self.ch_axis = ch_axis
        self.reset_min_max_vals()

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = wrap(np.empty(0, np.float32)), wrap(np.empty(0, np.float32))

    def _extremes(self, values: Any) -> Any:
        rows = np.moveaxis(values, self.ch_axis, 0).reshape(values.shape[self.ch_axis], -1)
        return rows.min(1), rows.max(1)


class MovingAverageMinMaxObserver(_Averaging):
    """Keeps averages of the least and the largest values that forget."""


class MovingAveragePerChannelMinMaxObserver(_Averaging, PerChannelMinMaxObserver):
    """The same for each index of a dimension."""


class HistogramObserver(UniformQuantizationObserverBase):
    """Counts values in bins, and finds the range that loses least."""

    upsample_rate = 16

    def __init__(self, bins: int = 2048, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.qscheme not in (per_tensor_affine, per_tensor_symmetric):
            raise NotImplementedError("HistogramObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine.")  # fmt: skip
        self.bins = bins
        self.register_buffer("histogram", wrap(np.zeros(bins, np.float32)))
        self.dst_nbins = 2 ** (32 if self.dtype is qint32 else 8)

    def forward(self, x: Tensor) -> Tensor:
        check_on_cpu(type(self).__name__, x)
        seen = x.detach()
        if seen.isinf().any():
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            seen = seen[seen.abs() != np.inf]
        if seen.numel() == 0:
            return x
        low, high = _aminmax(seen)
        if self._unseen():
            self.min_val, self.max_val = low, high
            self.histogram = self._counted(seen, low, high)
            return x
        new_low, new_high = low.minimum(self.min_val), high.maximum(self.max_val)
        counted = self._counted(seen, new_low, new_high)
        self.histogram = counted + self._rescaled(new_low, new_high)
        self.min_val, self.max_val = new_low, new_high
        return x

    def _counted(self, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        return _histc(x, self.bins, min=float(low), max=float(high))

    def _rescaled(self, low: Tensor, high: Tensor) -> Tensor:
        """The counts so far in bins of a wider range."""
        before_low, before_high = self.min_val, self.max_val
        if low == before_low and high == before_high:
            return self.histogram
        if before_low == before_high:
            return self._counted(before_low, low, high) * self.histogram.sum()
        rate, bins = self.upsample_rate, self.bins
        parts = self.histogram.repeat_interleave(rate) / rate
        width = (before_high - before_low) / (bins * rate)
        linspace = FUNCTIONS["linspace"]
        middles = (
            linspace(before_low.item(), before_high.item(), bins * rate + 1)[:-1] + 0.5 * width
        )
        places = FUNCTIONS["bucketize"](middles, linspace(low.item(), high.item(), bins + 1), right=True) - 1  # fmt: skip
        return FUNCTIONS["bincount"](places.clamp(0, bins - 1), weights=parts, minlength=bins)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point for the range that loses least."""
        if self._unseen():
            return super().calculate_qparams()
        return self._calculate_qparams(*self._non_linear_param_search())

    def _non_linear_param_search(self) -> tuple[Tensor, Tensor]:
        """Narrow the range from either side while that makes the error less."""
        total, sums = self.histogram.sum().item(), self.histogram.cumsum(0)._array
        step, alpha, beta, least = 1e-5, 0.0, 1.0, float("inf")
        start, end = 0, self.bins - 1
        while alpha < beta:
            next_alpha, next_beta = alpha + step, beta - step
            left = min(max(int(np.searchsorted(sums, np.float32(next_alpha * total))), start), end)
            right = max(min(int(np.searchsorted(sums, np.float32(next_beta * total), "right")) - 1, end), start)  # fmt: skip
            new_start, new_end = start, end
            if left - start > end - right:
                new_start, alpha = left, next_alpha
            else:
                new_end, beta = right, next_beta
            if (new_start, new_end) == (start, end):
                continue
            error = self._error(new_start, new_end)
            if error > least:
                break
            least, start, end = error, new_start, new_end
        width = (self.max_val - self.min_val) / self.bins
        return self.min_val + width * start, self.min_val + width * (end + 1)

    def _error(self, start: int, end: int) -> float:
        """The squared error of quantizing to the range of some bins, if values are even within each."""
        width = (self.max_val.item() - self.min_val.item()) / self.bins
        step = width * (end - start + 1) / self.dst_nbins
        if step == 0.0:
            return 0.0
        one = np.float32
        begins = (np.arange(self.bins) - start).astype(one) * one(width)
        ends = begins + one(width)
        first = np.clip(np.floor_divide(begins, one(step)), 0, self.dst_nbins - 1)
        last = np.clip(np.floor_divide(ends, one(step)), 0, self.dst_nbins - 1)
        density = self.histogram._array / one(width)
        half = one(step / 2)
        norm = _norm(begins - (first + one(0.5)) * one(step), np.full(self.bins, half), density)
        norm = norm + (last - first - 1) * _norm(-half, half, density)
        norm = norm + _norm(-half, ends - (last * one(step) + half), density)
        return float(norm.sum())


def _norm(begin: Any, end: Any, density: Any) -> Any:
    """The sum of squares of numbers spread evenly between two."""
    return density * ((end * end * end - begin * begin * begin) / np.float32(3))


class PlaceholderObserver(ObserverBase):
    """Looks at nothing: the scale is found when numbers are quantized."""

    def __init__(self, dtype: Any = dtypes.float32, is_dynamic: bool = False, **_: Any) -> None:
        super().__init__(dtype, is_dynamic)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """An error: there are none."""
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")  # noqa: TRY002


class NoopObserver(PlaceholderObserver):
    """Looks at nothing."""


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=qint8, qscheme=per_channel_symmetric)  # fmt: skip
default_dynamic_quant_observer = PlaceholderObserver.with_args(dtype=quint8, is_dynamic=True)
