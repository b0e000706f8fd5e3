"""`torch.autocast`: within it, products run in bfloat16, and losses in float32.

Which functions are cast, and how, is a table. While a region is open, an interpreter sees them
before they are performed; a program without regions pays nothing.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.modes import _Mode
from ..device import device
from ..interpreters import Interpreter
from ..tensor import Tensor

# --- Which functions are cast ------------------------------------------------------------------

FAST = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "linear", "prelu", "mm", "bmm", "matmul",
    "addmm", "addbmm", "baddbmm", "scaled_dot_product_attention", "vecdot",
]  # fmt: skip
"""Functions that run in the region's own type."""

EXACT = [
    "avg_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "grid_sample", "polar",
    "prod", "quantile", "nanquantile", "stft", "cdist", "trace", "view_as_complex", "cholesky",
    "cholesky_inverse", "cholesky_solve", "inv", "lu_solve", "householder_product", "ormqr", "pinverse",
    "max_pool3d", "max_unpool2d", "max_unpool3d", "adaptive_avg_pool3d", "mse_loss", "nll_loss",
    "cosine_embedding_loss", "hinge_embedding_loss", "poisson_nll_loss", "smooth_l1_loss",
    "cross_entropy", "l1_loss", "huber_loss", "margin_ranking_loss", "soft_margin_loss",
    "triplet_margin_loss", "multi_margin_loss", "ctc_loss", "kl_div", "multilabel_margin_loss",
]  # fmt: skip
"""Functions that run in float32."""

RECURRENT = ["lstm", "gru", "rnn_tanh", "rnn_relu"]
"""Functions that run in float32, and whose results are cast to the region's type."""

AS_THEY_ARE = ["mv", "addmv"]
"""Functions that are not cast, though what they are made of is."""

SUPPORTED = (dtypes.bfloat16, dtypes.float16)
DEVICES: tuple[str, ...] = (
    "cpu",
    "cuda",
    "xpu",
    "hpu",
    "mtia",
    "mps",
    "xla",
    "ipu",
    "privateuseone",
)


class _State(threading.local):
    """What this thread casts."""

    def __init__(self) -> None:
        self.enabled = dict.fromkeys(DEVICES, False)
        self.types = {**dict.fromkeys(DEVICES, dtypes.float16), "cpu": dtypes.bfloat16}
        self.types["xla"] = dtypes.bfloat16
        self.caching = True
        self.depth = 0
        self.installed = False
        self.cache: dict[int, tuple[Tensor, Tensor]] = {}


_state = _State()


class _Autocast(Interpreter):
    """Casts what goes into the functions of the tables while a region is open."""

    def operation(self, op: Any, inputs: Any, params: dict[str, Any], perform: Any) -> Any:
        how = _HOW.get(op.name)
        if how is None or not _state.enabled["cpu"]:
            return perform(op, inputs, params)
        with _outside():  # what it is made of runs in the same type
            return how(op, inputs, params, perform)


def _in_type(wanted: Callable[[], dtypes.dtype]) -> Callable[..., Any]:
    """Perform a function in a type."""

    def how(op: Any, inputs: Any, params: dict[str, Any], perform: Any) -> Any:
        kind = wanted()
        given = tuple([_cast(x, kind) for x in inputs])
        return perform(op, given, {name: _cast(x, kind) for name, x in params.items()})

    return how


def _recurrent(op: Any, inputs: Any, params: dict[str, Any], perform: Any) -> Any:
    """A recurrent network: inside in float32, what comes out in the region's type."""
    states = [_cast_all(x, "cpu", dtypes.float32) for x in inputs[:3]]
    result = perform(op, (*states, *inputs[3:]), params)
    return _cast_all(result, "cpu", _state.types["cpu"])


_HOW: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(FAST, _in_type(lambda: _state.types["cpu"])),
    **dict.fromkeys(EXACT, _in_type(lambda: dtypes.float32)),
    **dict.fromkeys(RECURRENT, _recurrent),
    **dict.fromkeys(AS_THEY_ARE, lambda op, inputs, params, perform: perform(op, inputs, params)),
}
"""What is done with a function."""

_interpreter = _Autocast()


def _enable(place: str, enabled: bool) -> None:
    """Cast operations on a device, or not; the interpreter is there while any are to be cast."""
    _state.enabled[place] = enabled
    wanted = is_any_autocast_enabled()
    if wanted and not _state.installed:
        _interpreter.install()
        _state.installed = True
    elif not wanted and _interpreter.is_asked():
        _interpreter.remove()
        _state.installed = False


@contextmanager
def _outside() -> Iterator[None]:
    """As if no region were open."""
    _state.enabled["cpu"] = False
    try:
        yield
    finally:
        _state.enabled["cpu"] = True


@contextmanager
def own_cache() -> Iterator[None]:
    """Cast parameters anew: what was cast before is not used, nor what is cast here afterwards."""
    before, _state.cache = _state.cache, {}
    try:
        yield
    finally:
        _state.cache = before


def _cast(x: Any, wanted: dtypes.dtype) -> Any:
    """A tensor of at most 32 bits in another type; anything else as it is."""
    if not isinstance(x, Tensor):
        return x
    have = x.dtype
    if have is wanted or have.kind != dtypes.FLOATING or have is dtypes.float64:
        return x
    is_weight = have is dtypes.float32 and x._requires_grad and x._edge is None
    if not is_weight or not _state.caching or x._base is not None:
        return x.to(wanted)
    known = _state.cache.get(id(x))
    if known is None:
        known = _state.cache[id(x)] = x, x.to(wanted)
    return known[1]


# --- Settings -----------------------------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Whether a device has regions of mixed precision."""
    return device_type in DEVICES


def _check_device(device_type: str) -> None:
    if not isinstance(device_type, str):
        raise TypeError(f"argument 'device_type' must be str, not {type(device_type).__name__}")
    if device_type not in DEVICES:
        raise RuntimeError(f"unknown device type for autocast: {device_type}")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations are cast on a device."""
    _check_device(device_type)
    return _state.enabled[device_type]


def is_any_autocast_enabled() -> bool:
    """Whether operations are cast on some device."""
    return any(_state.enabled.values())


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Cast operations on a device, or not."""
    if enabled is None:
        device_type, enabled = "cuda", bool(device_type)
    _check_device(device_type)
    _enable(device_type, enabled)


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The type that operations are cast to on a device."""
    _check_device(device_type)
    return _state.types[device_type]


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Set the type that operations are cast to on a device."""
    _check_device(device_type)
    _state.types[device_type] = dtype


def is_autocast_cpu_enabled() -> bool:
    """Whether operations are cast on the CPU."""
    return _state.enabled["cpu"]


def get_autocast_cpu_dtype() -> dtypes.dtype:
    """The type that operations are cast to on the CPU."""
    return _state.types["cpu"]


def get_autocast_gpu_dtype() -> dtypes.dtype:
    """The type that operations are cast to on a GPU."""
    return _state.types["cuda"]


def is_autocast_cache_enabled() -> bool:
    """Whether weights are cast once in a region."""
    return _state.caching


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Cast weights once in a region, or each time."""
    _state.caching = enabled


def clear_autocast_cache() -> None:
    """Forget weights that were cast."""
    _state.cache.clear()


FUNCTIONS = {
    fn.__name__: fn
    for fn in (
        is_autocast_enabled, set_autocast_enabled, get_autocast_dtype, set_autocast_dtype,
        is_autocast_cpu_enabled, get_autocast_cpu_dtype, get_autocast_gpu_dtype,
        is_autocast_cache_enabled, set_autocast_cache_enabled, clear_autocast_cache,
    )
}  # fmt: skip
"""What `torch` itself offers of this."""


# --- Regions -------------------------------------------------------------------------------------


class autocast(_Mode):  # noqa: N801
    """A region of mixed precision: `with torch.autocast("cpu"):`, or a decorator."""

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        device(device_type)  # refuses unknown names
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = _state.caching if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._is_possible()

    def _is_possible(self) -> bool:
        if self.device == "cuda":
            warnings.warn(
                "CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=4
            )
            return False
        if self.fast_dtype in SUPPORTED:
            return True
        name = self.device.upper()
        warnings.warn(
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{name} Autocast only supports dtypes of {', '.join(map(str, SUPPORTED))} currently.",
            stacklevel=4,
        )
        return False

    def __enter__(self) -> autocast:
        place = self.device
        self.before = _state.enabled[place], _state.types[place], _state.caching
        _enable(place, self._enabled)
        _state.types[place], _state.caching = self.fast_dtype, self._cache_enabled
        _state.depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        place = self.device
        enabled, _state.types[place], _state.caching = self.before
        _enable(place, enabled)
        _state.depth -= 1
        if _state.depth == 0:
            clear_autocast_cache()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you "
                "mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n        output = model(input)"
            )
        return super().__call__(func)

    def clone(self) -> autocast:
        """The same region again."""
        return self


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs within a region."""
    return autocast_instance(func)


# --- For autograd functions ----------------------------------------------------------------------


def _cast_all(value: Any, device_type: str, dtype: dtypes.dtype) -> Any:
    """Tensors in a type, also within containers."""
    from ..nn.utils.rnn import PackedSequence

    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.dtype is not dtypes.float64
        return value.to(dtype) if eligible and value.device.type == device_type else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, PackedSequence):
        return value.to(dtype)
    if isinstance(value, Mapping):
        return {k: _cast_all(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        cast = (_cast_all(v, device_type, dtype) for v in value)
        return type(value)(cast) if isinstance(value, (list, tuple)) else cast  # type: ignore[call-arg]
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: dtypes.dtype | None = None,
) -> Any:
    """Decorate `forward` of an autograd Function: its inputs are cast, and regions end."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def call(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        inside = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = inside and cast_inputs is None
        if cast_inputs is None or not inside:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            args, kwargs = (_cast_all(v, device_type, cast_inputs) for v in (args, kwargs))
            return fwd(ctx, *args, **kwargs)

    return call


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorate `backward` of an autograd Function: it is in a region if `forward` was."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def call(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return call
