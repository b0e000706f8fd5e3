"""The default random number generator: its seed and its state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import cuda
from .generator import Generator as Generator
from .generator import default_generator as default_generator
from .tensor import Tensor


def manual_seed(seed: int) -> Generator:
    """Seed the default generator and those of GPUs."""
    generator = default_generator.manual_seed(int(seed))
    cuda.manual_seed_all(seed)
    return generator


def seed() -> int:
    """Seed the default generator with a random number, and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **_: Any) -> Iterator[None]:
    """Restore the generators' states at the end of a `with` block."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
