"""Set-up of every test run: one seed, and Numba's CUDA simulator where there is no GPU.

By default each property test sees the same examples in every run. With `--seed N` (or
`MINITORCH_TEST_SEED=N`) it sees the ones that seed N gives; try many:

    for n in $(seq 200); do pytest -q -x --seed $n || break; done
"""

from __future__ import annotations

import ctypes.util
import os
import random
import sys
from pathlib import Path

# Several processes share the cores: threads that wait must not keep others from working. To be
# set before NumPy loads; the processes that run the tests inherit it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pytest


def _gpu_found() -> bool:
    """Whether an NVIDIA driver is there; asking Numba would be too late for its simulator."""
    if sys.platform == "win32":
        return ctypes.util.find_library("nvcuda") is not None
    return Path("/dev/dxg").exists() or any(Path("/dev").glob("nvidia[0-9]*"))


if not _gpu_found():
    os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")
if (os.cpu_count() or 1) < 2:  # some tests compare one thread with two
    os.environ.setdefault("NUMBA_NUM_THREADS", "2")

# The mutation runner asks for fewer examples, and need not know the smallest that fails. Which
# lines a failing example runs through (Phase.explain) takes too long to find out.
_EXAMPLES = os.environ.get("MINITORCH_TEST_EXAMPLES")
_PHASES = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
_ALL_PHASES = [*_PHASES, hypothesis.Phase.shrink]

for _name, _derandomize in (("fixed", True), ("seeded", False)):
    hypothesis.settings.register_profile(
        _name,
        derandomize=_derandomize,
        deadline=None,
        database=None,
        max_examples=25 if _EXAMPLES is None else int(_EXAMPLES),
        phases=_ALL_PHASES if _EXAMPLES is None else _PHASES,
        report_multiple_bugs=False,
        suppress_health_check=[
            hypothesis.HealthCheck.too_slow,
            hypothesis.HealthCheck.function_scoped_fixture,
        ],
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    seed = os.environ.get("MINITORCH_TEST_SEED")
    parser.addoption(
        "--seed",
        type=int,
        default=None if seed is None else int(seed),
        help="draw other examples and random numbers than the usual ones",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    seed = config.getoption("--seed")
    hypothesis.settings.load_profile("fixed" if seed is None else "seeded")
    if seed is not None and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(seed)  # the plugin of Hypothesis takes it from here


def pytest_report_header(config: pytest.Config) -> str:
    seed = config.getoption("--seed")
    cuda = "in the simulator" if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1" else "on the GPU"
    return f"minitorch: seed {'fixed' if seed is None else seed}, CUDA tests {cuda}"


@pytest.fixture(autouse=True)
def seeded(request: pytest.FixtureRequest) -> None:
    """Every test starts from the same random numbers, whichever ran before it."""
    seed = request.config.getoption("--seed") or 0
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
