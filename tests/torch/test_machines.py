"""The settings of `python -m tests.machines` name what there is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machines import SETTINGS, disabled_features


@pytest.mark.parametrize("setting", SETTINGS)
def test_files_are_there(setting: str) -> None:
    for name in SETTINGS[setting][0].split():
        assert (Path(__file__).parent / f"{name}.py").is_file()


@pytest.mark.parametrize("setting", ["numpy", "avx2"])
def test_numpy_knows_what_it_is_not_to_use(setting: str) -> None:
    """It warns of names that it does not know, and of those that it cannot do without."""
    settings = {"NPY_DISABLE_CPU_FEATURES": disabled_features(setting)}
    program = "import numpy; assert numpy.exp(0.0) == 1"
    subprocess.run(
        [sys.executable, "-W", "error", "-c", program], env={**os.environ, **settings}, check=True
    )
