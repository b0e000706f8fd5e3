"""The generators of GPUs: seeding them, and keeping their states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..backends.cuda.backend import Cuda, find_cuda, require_cuda
from ..generator import Generator
from ..tensor import Tensor


def _generator(device: Any = None) -> Generator:
    from . import index_of

    backend = require_cuda()
    return backend.generator(index_of(backend, device))


def _all() -> list[Generator]:
    """All GPUs' generators; none where there is no GPU."""
    backend = find_cuda()[0]
    return [] if backend is None else [backend.generator(i) for i in range(backend.count())]


def manual_seed(seed: int) -> None:
    """Seed the generator of the GPU in use; without one there is nothing to do, as in Torch."""
    if find_cuda()[0] is not None:
        _generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed all GPUs' generators, also those that are first used later."""
    Cuda.first_seed = int(seed)
    if find_cuda.cache_info().currsize:
        for generator in _all():
            generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the generator of the GPU in use with a random number."""
    if find_cuda()[0] is not None:
        _generator().seed()


def seed_all() -> None:
    """Seed all GPUs' generators with one random number."""
    generators = _all()
    for generator in generators:
        generator.manual_seed(generators[0].seed())


def initial_seed() -> int:
    """The number that the generator of the GPU in use started from."""
    return _generator().initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a GPU's generator."""
    return _generator(device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """The states of all GPUs' generators."""
    return [generator.get_state() for generator in _all()]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Set the state of a GPU's generator."""
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the states of all GPUs' generators."""
    for generator, state in zip(_all(), new_states, strict=False):
        generator.set_state(state)
