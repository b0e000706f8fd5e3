"""Freed memory stays with the process: steps of a training ask the system for none."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys

import pytest

from minitorch.torch.backends.cpu import allocation

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the C library has no setting for freed memory"
)

STEPS = """
import resource
import minitorch.torch as torch

x, w = torch.randn(32, 16, 32, 32), torch.randn(16, 16, 3, 3, requires_grad=True)

def step():
    torch.nn.functional.conv2d(x, w, padding=1).relu().mul(2).sum().backward()

for _ in range(5):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    step()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 20)
"""


def page_faults(**variables: str) -> int:
    """How many pages a step takes from the system, in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if k not in allocation.CHOSEN_BY_USER}
    done = subprocess.run(
        [sys.executable, "-c", STEPS], capture_output=True, text=True, check=True, env=environment | variables
    )  # fmt: skip
    return int(done.stdout)


def test_steps_take_no_new_memory() -> None:
    assert page_faults() < 20


def test_a_setting_of_the_user_is_kept() -> None:
    assert page_faults(MALLOC_TRIM_THRESHOLD_="0", MALLOC_MMAP_THRESHOLD_="65536") > 200


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_other_c_libraries_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fails(name: None) -> None:
        raise error

    for name in allocation.CHOSEN_BY_USER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(ctypes, "CDLL", fails)
    assert not allocation.keep_freed_memory()
