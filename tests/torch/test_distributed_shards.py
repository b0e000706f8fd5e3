"""State that is shared out among ranks: the numbers of PyTorch and of one process, and less memory."""

from __future__ import annotations

from typing import Any

import pytest

from minitorch.torch.distributed import mpi

from .distributed_found import results, same

pytestmark = pytest.mark.skipif(
    mpi.find_mpiexec() is None or not mpi.is_installed(),
    reason="no mpiexec: pip install mpi4py mpich",
)


@pytest.fixture(scope="module")
def shards() -> list[tuple[Any, Any]]:
    """For each rank, what PyTorch and what we have."""
    theirs, ours = results()
    return [(t["shards"], o["shards"]) for t, o in zip(theirs, ours, strict=True)]


def test_a_shared_optimizer_takes_the_steps_of_a_plain_one(shards: Any) -> None:
    for _, ours in shards:
        shared, plain = ours["zero"], ours["plain"]
        assert shared["losses"] == plain["losses"]
        assert shared["parameters"] == plain["parameters"]
        assert shared["state"] == plain["state"]


def test_a_shared_optimizer_is_pytorchs(shards: Any) -> None:
    for theirs, ours in shards:
        assert same(theirs["zero"], ours["zero"], 2e-6)


def test_each_rank_remembers_its_part_alone(shards: Any) -> None:
    parts = [ours["zero"]["elements"] for _, ours in shards]
    whole = shards[0][1]["plain"]["elements"]
    assert sum(parts) == whole
    assert max(parts) < 1.2 * whole / len(parts)  # no tensor is divided
