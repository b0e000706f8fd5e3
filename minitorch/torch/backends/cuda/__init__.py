"""Torch's switches for products on NVIDIA's GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ... import environment


class _Products:
    """How products are computed there."""

    allow_fp16_reduced_precision_reduction = False
    allow_bf16_reduced_precision_reduction = False

    @property
    def allow_tf32(self) -> bool:
        """Whether products in float32 may round their factors to 10 bits: `set_float32_matmul_precision("high")`."""
        return environment.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        environment.set_float32_matmul_precision("high" if allowed else "highest")

    def __setattr__(self, name: str, value: object) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"Unknown attribute {name}")
        super().__setattr__(name, value)


matmul = _Products()


def is_built() -> bool:
    """Whether tensors can live on such GPUs: where CuPy is, and a GPU."""
    from .backend import find_cuda

    return find_cuda()[0] is not None


# --- Ways to compute attention ---------------------------------------------------------------------------

_WAYS = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
"""Which ways a program allows. There is one here, so the choice is kept and changes nothing."""


def _enable(way: str) -> Callable[[bool], None]:
    def enable(enabled: bool) -> None:
        _WAYS[way] = bool(enabled)

    enable.__name__, enable.__doc__ = (
        f"enable_{way}_sdp",
        "Allow, or do not allow, a way to compute attention.",
    )
    return enable


def _enabled(way: str) -> Callable[[], bool]:
    def enabled() -> bool:
        return _WAYS[way]

    enabled.__name__, enabled.__doc__ = (
        f"{way}_sdp_enabled",
        "Whether a way to compute attention is allowed.",
    )
    return enabled


enable_flash_sdp, flash_sdp_enabled = _enable("flash"), _enabled("flash")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = (
    _enable("mem_efficient"),
    _enabled("mem_efficient"),
)
enable_math_sdp, math_sdp_enabled = _enable("math"), _enabled("math")
enable_cudnn_sdp, cudnn_sdp_enabled = _enable("cudnn"), _enabled("cudnn")


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:  # fmt: skip
    """Allow ways to compute attention for the length of a `with` block."""
    before = dict(_WAYS)
    wanted = {
        "flash": enable_flash,
        "math": enable_math,
        "mem_efficient": enable_mem_efficient,
        "cudnn": enable_cudnn,
    }
    _WAYS.update(wanted)
    try:
        yield
    finally:
        _WAYS.update(before)


def is_flash_attention_available() -> bool:
    """Whether Torch's kernels of that name are here: no, attention is computed by this library's own."""
    return False


def can_use_flash_attention(params: object, debug: bool = False) -> bool:
    """Whether attention would be computed by them: no."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention
