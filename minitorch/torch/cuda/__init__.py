"""Questions about GPUs: on this floor tensors live on the CPU so far, and this says so."""

from __future__ import annotations

from typing import Any

NOT_HERE = "minitorch.torch has no CUDA device: tensors live on the CPU (use device='cpu')"


def is_available() -> bool:
    """Whether tensors can live on a GPU: not yet."""
    return False


def device_count() -> int:
    """How many GPUs there are for tensors."""
    return 0


def is_initialized() -> bool:
    """Whether a GPU is in use."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes with bfloat16."""
    return False


def manual_seed(seed: int) -> None:
    """Seed a GPU's generator; without one there is nothing to do, as in Torch."""


def manual_seed_all(seed: int) -> None:
    """Seed all GPUs' generators; without one there is nothing to do, as in Torch."""


def empty_cache() -> None:
    """Give memory back; there is none to give."""


def synchronize(device: Any = None) -> None:
    """Wait for a GPU."""
    raise RuntimeError(NOT_HERE)


def current_device() -> int:
    """Which GPU is in use."""
    raise RuntimeError(NOT_HERE)


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    raise RuntimeError(NOT_HERE)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """What a GPU can do."""
    raise RuntimeError(NOT_HERE)


def set_device(device: Any) -> None:
    """Choose a GPU."""
    raise RuntimeError(NOT_HERE)


def memory_allocated(device: Any = None) -> int:
    """How many bytes tensors take on a GPU."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """How many bytes tensors took at most on a GPU."""
    return 0
