"""Kernels for GPUs, as far as they can be tried without one: their code, compiled for the CPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

import minitorch.torch  # noqa: F401
from minitorch.torch.backends.cuda.source import PRELUDE, Program, Unsupported, called
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


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_what_cannot_be_said_is_refused(name):
    with pytest.raises(Unsupported):
        _function(name)


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
