"""A record's scalar function says what the record computes, and compiles where the CPU has kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch import scalars
from minitorch.torch.backends.cpu import loops, primitives
from minitorch.torch.ops import record
from minitorch.torch.ops.record import REGISTRY

KINDS = {record.ELEMENTWISE, record.REDUCTION, record.MOVEMENT, record.PRODUCT, record.OPAQUE}
SCALARS = {name: op.scalar for name, op in REGISTRY.items() if op.scalar is not None}
NUMBERS = [-2.5, -1.0, -0.7, -0.0, 0.0, 0.3, 0.5, 1.0, 1.9, 4.0]
CONSTANTS = (0.25, 0.75, 1.5)
LOGICAL = {"where": 0, "masked_fill": 1}
"""Which input is a mask."""


def samples(op: Any, kind: Any) -> list[np.ndarray]:
    """All pairs of sample numbers in the first two inputs, and others in the rest."""
    grid = np.meshgrid(*[np.array(NUMBERS, kind)] * min(len(op.args), 2))
    arrays = [g.ravel() for g in grid]
    arrays += [np.roll(arrays[0], 3) for _ in op.args[2:]]
    if op.name in LOGICAL:
        arrays[LOGICAL[op.name]] = arrays[0] > 0.4
    return arrays


def constants_of(op: Any) -> tuple[float, ...]:
    """As many numbers as the scalar function takes beside the elements."""
    return CONSTANTS[: arity(op.scalar) - len(op.args)]


def arity(scalar: Any) -> int:
    if isinstance(scalar, np.ufunc):
        return scalar.nin
    return (
        3
        if scalar is np.where
        else 1
        if scalar in scalars.C_LIBRARY
        else scalar.__code__.co_argcount
    )


WHOLE = {
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "bitwise_not",
    "gcd",
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SCALARS)
def test_a_scalar_function_is_what_its_record_computes(name: str) -> None:
    op = REGISTRY[name]
    kind = np.int64 if name in WHOLE else np.float64
    arrays = samples(op, kind)
    if name in WHOLE:
        arrays = [np.abs(x) for x in arrays]
    constants = constants_of(op)
    params: dict[str, Any] = {"constants": constants} if constants else {}
    if name == "_to_copy":
        params = {"kind": np.dtype(kind)}
    if name == "fill":
        arrays[1] = np.array(0.4)
    computed = op.compute(*arrays, **params)
    rows = zip(*np.broadcast_arrays(*arrays), strict=True)
    expected = [SCALARS[name](*row, *constants) for row in rows]
    np.testing.assert_allclose(computed, np.array(expected), rtol=1e-14, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("name", SCALARS)
def test_kernels_compute_it_too(name: str, real: Any) -> None:
    op, scalar = REGISTRY[name], SCALARS[name]
    if primitives.start_of(scalar) is None or name in ("clamp", *LOGICAL) or name.startswith("is"):
        return  # which kernels of one type do not compute
    arrays, constants = samples(op, real), constants_of(op)
    computed = loops.elementwise(scalar, *arrays, *constants)
    with np.errstate(all="ignore"):
        expected = scalar(*[x.astype(np.float64) for x in arrays], *constants)
    eps = np.finfo(real).eps
    np.testing.assert_allclose(computed, expected.astype(real), rtol=8 * eps, atol=8 * eps)


def test_every_record_has_a_kind() -> None:
    assert {op.kind for op in REGISTRY.values()} == KINDS
    assert all(REGISTRY[name].kind == record.ELEMENTWISE for name in SCALARS)
    assert all(op.kind != record.OPAQUE for op in REGISTRY.values() if op.view)


def test_a_new_operation_has_its_kernel() -> None:
    """Whole numbers and named constants in a body are of the type of the kernel."""

    def softsquare(x: Any) -> Any:
        return 3 * x * x / (1 + np.absolute(x))

    x = np.linspace(-4, 4, 200, dtype=np.float32)
    assert primitives.start_of(softsquare) == primitives.CHEAP
    np.testing.assert_array_almost_equal_nulp(loops.elementwise(softsquare, x), softsquare(x), 2)
    assert primitives.start_of(lambda x: np.sinh(x)) is None


def test_large_answers_are_boolean() -> None:
    x = torch.zeros(200_000)
    x[3], x[4] = torch.inf, -torch.inf
    assert (x.isposinf().dtype, x.isposinf().sum().item()) == (torch.bool, 1)
    assert (x.isneginf().dtype, (x == torch.inf).dtype) == (torch.bool, torch.bool)


def test_elementwise_results_keep_types() -> None:
    for name in ("exp", "gelu", "elu", "deg2rad", "rad2deg", "hardsigmoid", "softshrink"):
        fn = getattr(torch, name, None) or getattr(torch.nn.functional, name)
        for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            assert fn(torch.ones(3, dtype=kind)).dtype is kind, name
