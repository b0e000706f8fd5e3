"""The tests that depend on the processor, once more as on other machines.

    python -m tests.machines                all settings
    python -m tests.machines numba oracle   some of them

NumPy, Numba and PyTorch each choose their instructions by the processor they find. Each
setting makes one of them work as on another one; what must not depend on it is tested anew.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from typing import Any

RANDOM = "test_generator test_testing"
LAYERS = "test_nn test_recurrent test_transformer test_optim"
KERNELS = "test_cpu_kernels test_cpu_conv"
FORMULAS = "test_special test_fft test_linalg"

SETTINGS: dict[str, tuple[str, dict[str, str]]] = {
    "numpy": (f"{RANDOM} {FORMULAS} test_nn", {}),  # its features are named below
    "avx2": (f"{RANDOM} {FORMULAS}", {"ATEN_CPU_CAPABILITY": "avx2"}),
    "numba": (f"{RANDOM} {KERNELS} test_training", {"NUMBA_CPU_NAME": "generic"}),
    "oracle": (f"{RANDOM} {KERNELS} {LAYERS}", {"ATEN_CPU_CAPABILITY": "default"}),
    "one-thread": (
        f"{KERNELS} test_training",
        {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    ),
}
"""By name: files of `tests/torch`, and what is set in their environment."""

AVX2 = {"X86_V3", "AVX2", "FMA3"}
"""What NumPy calls the instructions that most processors have."""


def numpy_loops() -> Any:
    """The module of NumPy that knows the processor."""
    return importlib.import_module("numpy._core._multiarray_umath")


def disabled_features(setting: str) -> str:
    """The instructions that NumPy is not to use: all it can do without, or all beyond AVX2."""
    known: list[str] = numpy_loops().__cpu_dispatch__
    return " ".join(name for name in known if setting == "numpy" or name not in AVX2)


def has_more_than_avx2() -> bool:
    """Whether NumPy finds instructions here beyond those of AVX2."""
    found: dict[str, bool] = numpy_loops().__cpu_features__
    return any(found.get(name) for name in disabled_features("avx2").split())


def run(setting: str) -> int:
    """Run a setting's tests; the status of pytest."""
    files, environment = SETTINGS[setting]
    if setting in ("numpy", "avx2"):
        environment = {**environment, "NPY_DISABLE_CPU_FEATURES": disabled_features(setting)}
    print(f"\n{setting}: {' '.join(f'{k}={v!r}' for k, v in environment.items())}", flush=True)
    began = time.monotonic()
    status = subprocess.call(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"),
            *(f"tests/torch/{file}.py" for file in files.split()),
        ],
        env={**os.environ, **environment},
    )
    print(f"{setting}: {time.monotonic() - began:.0f} s", flush=True)
    return status


def main() -> int:
    """Run the settings that the command line names, or all."""
    chosen = sys.argv[1:] or list(SETTINGS)
    if unknown := set(chosen) - set(SETTINGS):
        print(f"no such setting: {', '.join(sorted(unknown))} (of {', '.join(SETTINGS)})")
        return 2
    if "avx2" in chosen and not has_more_than_avx2():
        print("avx2: nothing to switch off, the whole suite runs so here")
        chosen.remove("avx2")
    failed = [setting for setting in chosen if run(setting)]
    print(f"\nFailed: {', '.join(failed)}" if failed else "\nAll settings passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
