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
    sources.PUT,
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
import ctypes, pathlib, tempfile
from minitorch.torch.backends.cuda import elementwise
from minitorch.torch.optim import formulas
from tests.torch.kernels_on_cpu import compiled, run

class Table(ctypes.Structure):
    _fields_ = [("of", ctypes.c_longlong * elementwise.TABLE)]

class OnCpu:
    launches = 0
    def __init__(self, source, name):
        folder = pathlib.Path(tempfile.mkdtemp())
        text = "#include <cmath>\\nusing namespace std;" + source.replace(elementwise.HEAD, "")
        self.library = compiled(folder, text, head="")
    def __call__(self, grid, block, args):
        OnCpu.launches += 1
        table, count, *numbers = args
        table = Table.from_buffer_copy(table.ljust(ctypes.sizeof(Table), bytes(1)))
        run(self.library, "kernel", grid, block, table, ctypes.c_int(count), *numbers)

elementwise.Kernel = OnCpu
random = np.random.default_rng(0)
sizes = [2500, 0, 1, *range(1, 91)]
columns = [[cupy.asarray(random.random(n)) for n in sizes] for _ in range(4)]
expected = [[x.copy() for x in column] for column in columns]
count = formulas.adam.__code__.co_argcount - 5
shared, other = (tuple(random.uniform(0.1, 0.9, count)) for _ in range(2))
for numbers in ([shared] * len(sizes), [(shared, other)[k % 2] for k in range(len(sizes))]):
    assert elementwise.update(formulas.adam, columns, numbers)
    for k, own in enumerate(numbers):
        p, g, *kept = (column[k] for column in expected)
        for old, new in zip((p, *kept), formulas.adam(np, p, g, *kept, *own), strict=True):
            old[...] = new
    for one, two in zip(columns, expected, strict=True):
        for a, b in zip(one, two, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)
print(OnCpu.launches)
assert not elementwise.update(formulas.adam, [[x[::2] for x in c] for c in columns], numbers)
"""


def test_one_launch_updates_as_many_parameters_as_its_table_holds():
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    assert _run(UPDATES) == "4\n"


GPUS = """
from minitorch.torch.backends.cuda.launching import Kernel
kernel = Kernel("__global__ void k(int n) {", "k", 1 << 16)
for gpu in (0, 1, 0):
    host_cupy.gpu_in_use[0] = gpu
    kernel((1,), (64,), (7,))
print(host_cupy.functions)
"""


def test_each_gpu_starts_a_function_of_its_own():
    assert _run(GPUS) == "[100, 101, 100]\n"


WRONG = """
from minitorch.torch.backends.cuda import attention, products, windows
new = lambda *shape: cupy.asarray(np.zeros(shape, np.float32))
steps = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
weight, places = new(4, 3, 3, 3), cupy.asarray(np.zeros((2, 1), np.int64))
made = [
    products.linear(new(4, 3), new(5, 3), new(1)),
    attention.attention(new(2, 4, 8), new(2, 6, 8), new(2, 5, 8), None, 1.0, False),
    windows.convolution(new(2, 3, 8, 8), weight, new(3), **steps),
    windows.transposed(new(2, 4, 6, 6), weight, new(2), shape=(2, 3, 8, 8), **steps),
    windows.max_pool_backward(new(2, 2), places, (2, 4), 1),
]
steps, one = ((1, 1), (256, 256), (1, 1), 1), (1, 1 << 14, 1, 1)
made += [windows._sized(one, one, (1, 1, 513, 513), steps, np.dtype(np.float32))]
print(made == [None] * 6, len(host_cupy.launches))
"""


def test_no_kernel_takes_wrong_shapes_or_counts_past_its_integers():
    """Formulas tell what is wrong, or broadcast."""
    assert _run(WRONG) == "True 0\n"


PUTS = """
from minitorch.torch.backends.cuda import kernels
small = np.arange(5, dtype=np.int16)
assert kernels.put(small).shape == (5,)
print(host_cupy.launches[0][1].startswith(small.tobytes()), len(host_cupy.launches))
others = np.zeros(1000), np.zeros((2, 3)).T, np.zeros(0), np.zeros(2, ">i4"), np.zeros(2, "V2"), np.zeros(2, "g")
print([kernels.put(x) for x in others] == [None] * 6, len(host_cupy.launches))
"""


def test_small_arrays_travel_with_a_launch():
    assert _run(PUTS) == "True 1\nTrue 1\n"


WORKSPACES = """
from minitorch.torch.backends.cuda import fused_products
of = fused_products._workspace
print(of(0, 0) == of(0, 0), len({of(0, 0), of(1, 0), of(0, 7)}))
"""


def test_workspaces_of_products_are_of_one_gpu_and_one_stream():
    assert _run(WORKSPACES) == "True 3\n"


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
