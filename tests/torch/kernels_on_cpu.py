"""Kernels of GPUs on the CPU: compiled by a C++ compiler, where `cuda_threads.hpp` runs a block's threads."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

COMPILER = shutil.which("g++") or shutil.which("c++")
THREADS = (Path(__file__).parent / "cuda_threads.hpp").read_text()
HEAD = """
#define LANES 32
#define EACH 2
#define READ(x) (x)
#define WRITE(x) (x)
#define EXP(x) exp(x)
typedef double E;
typedef double T;
"""
KERNEL = re.compile(r'extern "C" __global__ void (?:MOST_THREADS\(\w+\) )?(\w+)\(([^)]*)\)')


def compiled(folder: Any, *texts: str, head: str = HEAD) -> Any:
    """Kernels, each with a function that runs all its blocks."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    runners = []
    for name, params in KERNEL.findall("\n".join(texts)):
        names = ", ".join(re.findall(r"(\w+)(?=,|$)", params))
        runners.append(
            f'extern "C" void run_{name}(Place blocks, Place threads, {params}) {{ gridDim = blocks; blockDim = threads;'
            " for (blockIdx.z = 0; blockIdx.z < blocks.z; ++blockIdx.z) for (blockIdx.y = 0; blockIdx.y < blocks.y; ++blockIdx.y) for (blockIdx.x = 0; blockIdx.x < blocks.x; ++blockIdx.x)"
            f" threads::run_block([=] {{ {name}({names}); }}); }}"
        )
    (folder / "all.cpp").write_text("\n".join([THREADS, head, *texts, *runners]))
    subprocess.run(
        [COMPILER, "-O0", "-w", "-shared", "-fPIC", "-o", folder / "all.so", folder / "all.cpp"],
        check=True,
    )
    return ctypes.CDLL(str(folder / "all.so"))


class Numbers(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_int * 19)]


class Places(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_longlong * 3)]


class Parts(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_longlong * 32)]


class Sizes(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_int * 5)]


class Place(ctypes.Structure):
    _fields_ = [(axis, ctypes.c_uint) for axis in "xyz"]


def place(sizes: int | tuple[int, ...]) -> Place:
    return Place(*((*sizes, 1, 1) if isinstance(sizes, tuple) else (sizes, 1, 1))[:3])


def run(library: Any, name: str, blocks: Any, threads: Any, *args: Any) -> None:
    """Run a kernel; a Python int is a `long long`, an array its address."""
    given: list[Any] = []
    for x in args:
        if x is None:
            given.append(ctypes.c_void_p(0))
        elif isinstance(x, np.ndarray):
            given.append(ctypes.c_void_p(x.ctypes.data))
        elif isinstance(x, bool):
            given.append(ctypes.c_bool(x))
        elif isinstance(x, int):
            given.append(ctypes.c_longlong(x))
        else:
            given.append(ctypes.c_double(x) if isinstance(x, float) else x)
    getattr(library, f"run_{name}")(place(blocks), place(threads), *given)
