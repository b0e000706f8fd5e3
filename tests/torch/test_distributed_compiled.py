"""DistributedDataParallel under torch.compile: the numbers of eager ranks, and their errors."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from minitorch.torch.distributed import mpi

from .distributed_compiled import CASES
from .distributed_found import ROOT, environment

pytestmark = pytest.mark.skipif(
    mpi.find_mpiexec() is None or not mpi.is_installed(),
    reason="no mpiexec: pip install mpi4py mpich",
)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    launcher = [sys.executable, "-m", "minitorch.torch.distributed.run", "--nproc_per_node", "2"]
    program = str(ROOT / "tests/torch/distributed_compiled.py")
    return subprocess.run(
        [*launcher, program, *arguments], env=environment(), capture_output=True, text=True, timeout=200
    )  # fmt: skip


@pytest.fixture(scope="module")
def found() -> dict[tuple[int, str, str], Any]:
    """Losses, tensors, plays and notices by rank, case and what was compiled."""
    done = run()
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return {tuple(row[:3]): row[3:] for row in rows}


@pytest.mark.parametrize("how", ["step", "around", "inside"])
@pytest.mark.parametrize("case", CASES)
def test_ranks_play_what_eager_ranks_compute(found: Any, case: str, how: str) -> None:
    eager_step = how == "step" and case in (
        "branches",
        "views",
    )  # other ranks decide; views of buckets
    for rank in (0, 1):
        losses, tensors, plays, notices = found[rank, case, how]
        expected = found[rank, case, "eager"]
        np.testing.assert_allclose(losses, expected[0], rtol=2e-5)
        for one, other in zip(tensors, expected[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
        assert plays == 0 if eager_step else plays > 24, notices  # so programs have run
        assert len(notices) == int(eager_step), notices


def test_a_rank_that_dies_while_steps_are_played_ends_the_others() -> None:
    done = run("kill")
    assert done.returncode == 137, done.stderr
    assert "cannot complete. rank 1 is gone: its process has ended" in done.stderr
    assert "all_reduce (collective" in done.stderr
