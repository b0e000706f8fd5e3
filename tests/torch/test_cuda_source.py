"""Kernels for GPUs, as far as they can be tried without one: their code, compiled for the CPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minitorch.torch  # noqa: F401
from minitorch.torch.backends.cuda import philox
from minitorch.torch.backends.cuda.source import (
    HALVES,
    OF_HALVES,
    PRELUDE,
    Program,
    Unsupported,
    called,
)
from minitorch.torch.ops.record import REGISTRY
from minitorch.torch.optim import formulas

from .test_scalars import LOGICAL, SCALARS, WHOLE, constants_of, samples

COMPILER = shutil.which("g++") or shutil.which("c++")
UNSUPPORTED = {"logaddexp2", "logical_not", "logical_xor", "nextafter"}
"""What has a scalar function that is left to CuPy."""


def _function(name: str) -> tuple[str, bool]:
    """The code of a record's function of double precision numbers, and whether it answers yes or no."""
    op = REGISTRY[name]
    program = Program()
    elements = [program.variable(f"x{i}", LOGICAL.get(name) == i) for i in range(len(op.args))]
    constants = [program.variable(f"c{i}") for i in range(len(constants_of(op)))]
    out = called(SCALARS[name], *elements, *constants)
    params = [f"{'bool' if x.logical else 'T'} {x.name}" for x in (*elements, *constants)]
    kind = "bool" if out.logical else "T"
    return (
        f'extern "C" {kind} op_{name}({", ".join(params)}) {{\n{program.text()}\nreturn {out.name}; }}',
        out.logical,
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Any:
    """All functions, compiled."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    parts, logical = [], set()
    for name in SCALARS:
        if name in WHOLE | UNSUPPORTED:
            continue
        code, yes_or_no = _function(name)
        parts.append(code)
        logical |= {name} if yes_or_no else set()
    folder = tmp_path_factory.mktemp("source")
    head = "#include <cmath>\nusing namespace std;\n#define __device__ static\ntypedef double T;\n"
    (folder / "all.cpp").write_text(head + PRELUDE + "\n".join(parts))
    subprocess.run(
        [COMPILER, "-O1", "-shared", "-fPIC", "-o", folder / "all.so", folder / "all.cpp"],
        check=True,
    )
    return ctypes.CDLL(str(folder / "all.so")), logical


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_code_for_kernels_computes_what_records_compute(library):
    compiled, logical = library
    for name in SCALARS:
        if name in WHOLE | UNSUPPORTED | {"_to_copy", "fill"}:
            continue
        op = REGISTRY[name]
        arrays, constants = samples(op, np.float64), constants_of(op)
        expected = op.compute(*arrays, **({"constants": constants} if constants else {}))
        function = getattr(compiled, f"op_{name}")
        function.restype = ctypes.c_bool if name in logical else ctypes.c_double
        kinds = [ctypes.c_bool if x.dtype == bool else ctypes.c_double for x in arrays]
        function.argtypes = [*kinds, *[ctypes.c_double] * len(constants)]
        found = [function(*row, *constants) for row in zip(*arrays, strict=True)]
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15, err_msg=name)


HALVES_AS_C = """
#include <cmath>
using namespace std;
#define __device__ extern "C"
#define __expf expf
#define __fdividef(a, b) ((a) / (b))
"""


@pytest.mark.parametrize(("function", "name"), OF_HALVES.items())
def test_functions_of_halves_are_exact_to_more_than_their_digits(function, name, tmp_path):
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    (tmp_path / "halves.cpp").write_text(HALVES_AS_C + HALVES)
    subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-o", tmp_path / "halves.so", tmp_path / "halves.cpp"],
        check=True,
    )
    found = ctypes.CDLL(str(tmp_path / "halves.so"))[name]
    values = [np.linspace(-30, 30, 6001).astype(np.float16)]
    values = values if name == "gelu" else [np.full_like(values[0], 1.5), *values]
    found.restype, found.argtypes = ctypes.c_float, [ctypes.c_float] * len(values)
    expected = function(*(v.astype(np.float64) for v in values))
    got = np.array([found(*map(float, row)) for row in zip(*values, strict=True)])
    np.testing.assert_allclose(got, expected, rtol=5e-6, atol=1e-6)
    edges = [float("nan"), float("inf"), 1e30, -1e30]
    got = [found(*[1.0] * (len(values) - 1), x) for x in edges]
    expected = function(*[np.ones(4)] * (len(values) - 1), np.array(edges))
    np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_what_cannot_be_said_is_refused(name):
    with pytest.raises(Unsupported):
        _function(name)


AS_C = {
    np.float32: ("float", "{}", "{}"), np.float64: ("double", "{}", "{}"), np.int64: ("long long", "{}", "{}"),
}  # fmt: skip
ONE_THREAD_AFTER_ANOTHER = """
#include <cmath>
using namespace std;
#define __device__
#define __global__
struct Place { unsigned x; };
static Place blockIdx, threadIdx, blockDim, gridDim;
static void both(float x, float* s, float* c) { *s = sinf(x); *c = cosf(x); }
static void sincospi(double x, double* s, double* c) { *s = sin(M_PI * x); *c = cos(M_PI * x); }
#define __sincosf both
#define __logf logf
"""
ALL_THREADS = """
extern "C" void all(unsigned blocks, E* out, long long n, Long seed, Long offset, A a, A b) {
  gridDim.x = blocks; blockDim.x = 256;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < 256; ++threadIdx.x) draw(out, n, seed, offset, a, b);
}
"""
DRAWN = [
    ("uniform", np.float32, (2.0, 5.0), 1500), ("uniform", np.float64, (), 1500), ("normal", np.float32, (), 700),
    ("normal", np.float64, (1.0, 2.0), 1700), ("bernoulli", np.float32, (0.3,), 900), ("kept", np.float32, (0.3,), 4400),
    ("kept", np.float32, (0.3,), 2002), ("exponential", np.float32, (2.0,), 100), ("cauchy", np.float64, (), 100),
    ("integers", np.int64, (-3, 8), 3000), ("integers", np.int64, (-5, 1 << 40), 1100), ("geometric", np.float32, (0.2,), 100),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "args", "n"), DRAWN)
def test_random_numbers_of_the_kernel_are_those_of_numpy(name, kind, args, n, tmp_path):
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    gpu = SimpleNamespace(multi_processor_count=1, max_threads_per_multi_processor=512)
    recipe = philox.RECIPES[name](np.dtype(kind), *args)
    launch = philox.launch_of(recipe, n, np.dtype(kind), gpu)
    source = ONE_THREAD_AFTER_ANOTHER + philox.code_of(launch, *AS_C[kind]) + ALL_THREADS
    (tmp_path / "draw.cpp").write_text(source)
    built = tmp_path / "draw.so"
    subprocess.run(
        [COMPILER, "-O1", "-std=c++17", "-shared", "-fPIC", "-o", built, tmp_path / "draw.cpp"],
        check=True,
    )
    out = np.empty(n, kind)
    number = {"word": ctypes.c_uint64, "pair": ctypes.c_uint64}.get(
        recipe.base, ctypes.c_double if launch.wide == np.float64 else ctypes.c_float
    )
    seed, offset = 12345678901234567, 8
    a, b = (int(v) % (1 << 64) if number is ctypes.c_uint64 else v for v in (recipe.a, recipe.b))
    ctypes.CDLL(str(built)).all(
        launch.blocks, out.ctypes.data_as(ctypes.c_void_p), ctypes.c_longlong(n),
        ctypes.c_uint64(seed), ctypes.c_uint64(offset), number(a), number(b),
    )  # fmt: skip
    expected = philox.numbers(launch, seed, offset, kind)
    if kind is np.int64 or name in ("bernoulli", "kept"):
        np.testing.assert_array_equal(out, expected)
    else:
        np.testing.assert_allclose(out, expected, rtol=2e-5 if kind is np.float32 else 1e-12)


def test_a_branch_on_a_number_is_refused():
    x = Program().variable("x")
    with pytest.raises(Unsupported, match="branch"):
        _ = 1.0 if x > 0 else 2.0


def test_optimizers_are_code_too():
    program = Program()
    p, g, mean, square = (program.variable(n) for n in ("p", "g", "mean", "square"))
    results = formulas.adam(
        np, p, g, mean, square, 0.1, 0.0, 1.0, 1.0, 0.1, 0.999, 0.001, 0.5, 1e-8
    )
    assert len(results) == 3
    assert "sqrt(" in program.text()


SIGNATURES = """
import inspect
from tests.torch import host_cupy
host_cupy.install()
import minitorch.torch
from minitorch.torch.backends.cuda.kernels import KERNELS
from minitorch.torch.ops.record import REGISTRY
for name, kernel in KERNELS.items():
    op = REGISTRY[name]
    params = list(inspect.signature(op.compute).parameters)[len(op.args):]
    missing = set(params) - set(inspect.signature(kernel).parameters)
    if missing and not op.many:
        print(name, missing)
"""


def test_kernels_take_what_their_records_take():
    command = [sys.executable, "-c", SIGNATURES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""
