"""How kernels are started, without a GPU: what CUDA would read as their arguments."""

from __future__ import annotations

import re
import subprocess
import sys
from struct import calcsize

import pytest

from minitorch.torch.backends.cuda import (
    channel_sources,
    direct_sources,
    flash_sources,
    product_sources,
    sources,
)
from minitorch.torch.backends.cuda.signatures import format_of

from .kernels_on_cpu import COMPILER, KERNEL

HEAD = "typedef float E;\ntypedef double T;\n"
SOURCES = [
    channel_sources.PARTS,
    channel_sources.RUNNING,
    sources.WINDOWS + direct_sources.DIRECT,
    product_sources.PRODUCT,
    sources.JOIN,
    sources.CROSS_ENTROPY,
    flash_sources.FLASH,
]


def test_arguments_lie_where_a_compiler_puts_them(tmp_path):
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    structs = re.compile(r"^struct \w+ \{ .*\};", re.MULTILINE)
    for k, source in enumerate(SOURCES):
        text, expected = HEAD + "\n".join(structs.findall(source)), []
        for name, params in KERNEL.findall(source):
            members = re.sub(r",\s*", ";\n", params)
            text += f"\nstruct Of_{name} {{ {members}; }};"
            # the end of all, as a multiple of the widest: a pointer
            size = calcsize(format_of(HEAD + source, name) + "0P")
            text += f"\nstatic_assert(sizeof(Of_{name}) == {size});"
            expected.append(name)
        assert expected
        (tmp_path / f"{k}.cpp").write_text(text)
        subprocess.run([COMPILER, "-std=c++17", "-fsyntax-only", tmp_path / f"{k}.cpp"], check=True)


def _run(code: str) -> str:
    """What a program prints that finds `host_cupy` in CuPy's place."""
    head = "from tests.torch import host_cupy; host_cupy.install()\nimport numpy as np, cupy, minitorch.torch\n"
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


ARGUMENTS = """
import struct
from minitorch.torch.backends.cuda.launching import Kernel
kernel = Kernel("struct Two { long long a, b; };\\n__global__ void k(const float* x, bool yes, Two two, float y, int n) {", "k")
x = cupy.asarray(np.zeros(3, np.float32))
kernel((0, 2), (64,), (x, True, struct.pack("qq", 5, 6), np.float32(1.5), 7))
(sizes, given), = host_cupy.launches
print(sizes, struct.unpack("P?qqfi", given) == (x.data.ptr, True, 5, 6, 1.5, 7))
"""


def test_arguments_are_packed_and_a_grid_has_a_block_at_least():
    assert _run(ARGUMENTS) == "(1, 2, 1, 64, 1, 1) True\n"


UPDATES = """
from minitorch.torch.backends.cuda import elementwise
tables = []
def kernel(grid, block, args): tables.append(args[0].tolist()[2:3])
memory = [cupy.asarray(np.zeros(9, np.float32)) for _ in range(2)]
for n in (9, 4):  # two models, one after the other, in the same memory
    elementwise._launch_update(kernel, [[m[:n]] for m in memory], float, (0.1,))
print(tables)
"""


def test_steps_know_arrays_by_their_sizes_too():
    assert _run(UPDATES) == "[[9], [4]]\n"


PLACES = """
from minitorch.torch.backends.cuda import checks
one, other = checks.note("Target {} is out of bounds."), checks.note("index out of range in self")
checks.check()  # waits for nothing
checks.raise_wrong()
checks._noted()[1][:2] = 1, 7  # as a kernel does
for _ in range(2):
    try:
        checks.raise_wrong()
        print("right", other - one)
    except IndexError as error:
        print(error)
"""


def test_places_out_of_range_are_told_when_somebody_waits():
    assert _run(PLACES) == "Target 7 is out of bounds.\nright 16\n"
