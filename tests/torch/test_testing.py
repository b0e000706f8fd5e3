"""`testing.assert_close` says what PyTorch says; `make_tensor` draws PyTorch's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch

from .oracle import DRAWN_ULPS, compare_tensors

ours: Any = minitorch.torch

Case = Callable[[Any, Any], None]  # of a library and its assert_close

CASES: dict[str, Case] = {
    "near": lambda t, close: close(t.tensor([1.0]), t.tensor([1.0 + 1e-7])),
    "apart": lambda t, close: close(t.tensor([1.0, 2, 3]), t.tensor([1.0, 2.1, 3])),
    "matrix": lambda t, close: close(t.tensor([[1.0, 9], [3, 4]]), t.tensor([[1.0, 3], [2, 4]])),
    "whole numbers": lambda t, close: close(t.tensor([1, 2, 3]), t.tensor([1, 3, 3])),
    "bytes": lambda t, close: close(t.tensor([1], dtype=t.uint8), t.tensor([3], dtype=t.uint8)),
    "exact": lambda t, close: close(t.tensor([1.0, 2]), t.tensor([1.0, 2.1]), rtol=0, atol=0),
    "one tolerance": lambda t, close: close(t.tensor([1.0]), t.tensor([1.0]), rtol=1e-3),
    "wide": lambda t, close: close(t.tensor([1.0]), t.tensor([1.5]), rtol=1.0, atol=0.0),
    "no dimensions": lambda t, close: close(t.tensor(1.0), t.tensor(2.0)),
    "floats": lambda t, close: close(1.0, 2.0),
    "ints": lambda t, close: close(1, 2),
    "int and float": lambda t, close: close(1, 1.0),
    "int and float, types unchecked": lambda t, close: close(1, 1.0, check_dtype=False),
    "nan": lambda t, close: close(float("nan"), float("nan")),
    "nan in tensors": lambda t, close: close(t.tensor([float("nan")]), t.tensor([float("nan")])),
    "nan allowed": lambda t, close: close(t.tensor([float("nan")]), t.tensor([float("nan")]), equal_nan=True),
    "infinity": lambda t, close: close(t.tensor([float("inf"), 1]), t.tensor([1.0, 1])),
    "shapes": lambda t, close: close(t.tensor([1.0, 2]), t.tensor([1.0, 2, 3])),
    "types": lambda t, close: close(t.tensor([1.0]), t.tensor([1.0]).double()),
    "types unchecked": lambda t, close: close(t.tensor([1.0]), t.tensor([3.0]).double(), check_dtype=False),
    "half precision": lambda t, close: close(t.tensor([2.0]), t.tensor([2.2]).bfloat16(), check_dtype=False),
    "nested": lambda t, close: close([t.tensor(1.0), [t.tensor(2.0)]], [t.tensor(1.0), [t.tensor(3.0)]]),
    "lengths": lambda t, close: close([1], [1, 2]),
    "keys": lambda t, close: close({"a": 1}, {"b": 1}),
    "mapping": lambda t, close: close({"a": t.tensor(1.0)}, {"a": t.tensor(2.0)}),
    "None": lambda t, close: close(None, t.tensor(1.0)),
    "booleans": lambda t, close: close(True, False),
    "boolean tensors": lambda t, close: close(t.tensor([True, False]), t.tensor([True, True])),
    "message": lambda t, close: close(t.tensor([1.0]), t.tensor([3.0]), msg="hello"),
    "message made": lambda t, close: close(t.tensor([1.0]), t.tensor([3.0]), msg=lambda m: f"Look:\n{m}"),
    "strides": lambda t, close: close(t.ones(2, 3).t(), t.ones(3, 2), check_stride=True),
    "complex": lambda t, close: close(t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    "complex numbers": lambda t, close: close(1 + 1j, 1 + 2j),
    "arrays": lambda t, close: close(np.array([1.0, 2]), np.array([1.0, 3])),
    "text": lambda t, close: close([1, "a"], [1, "a"]),
    "relative to 0": lambda t, close: close(t.tensor([1.0, 2.0]), t.tensor([1.0, 0.0])),
    "sparse": lambda t, close: close(t.eye(2).to_sparse(), (t.eye(2) * 2).to_sparse()),
}  # fmt: skip


def said(library: Any, case: Case) -> str:
    try:
        case(library, library.testing.assert_close)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return "close"


@pytest.mark.parametrize("name", [n for n in CASES if n != "sparse"])
def test_assert_close_says_what_pytorch_says(name: str) -> None:
    theirs = said(real, CASES[name]).replace("torch.Tensor'", "minitorch.torch.tensor.Tensor'")
    assert said(ours, CASES[name]) == theirs


def test_assert_close_compares_sparse_tensors() -> None:
    assert said(ours, CASES["sparse"]).startswith("AssertionError: Tensor-likes are not close!")
    ours.testing.assert_close(ours.eye(2).to_sparse(), ours.eye(2).to_sparse())


@pytest.mark.parametrize(
    "kwargs", [{}, {"low": 0, "high": 3}, {"noncontiguous": True}, {"exclude_zero": True}]
)
@pytest.mark.parametrize(
    "name", ["float16", "float32", "float64", "complex64", "int8", "uint8", "int64", "bool"]
)
def test_make_tensor_draws_pytorchs_numbers(name: str, kwargs: dict[str, Any]) -> None:
    made = []
    for library in (real, ours):
        library.manual_seed(3)
        made.append(
            library.testing.make_tensor(
                (5, 3), dtype=getattr(library, name), device="cpu", **kwargs
            )
        )
    compare_tensors(made[1], made[0], name, ulps=DRAWN_ULPS)
    assert made[0].stride() == made[1].stride()


def test_make_tensor_can_require_grad() -> None:
    assert ours.testing.make_tensor(2, 3, dtype=ours.float32, requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="low"):
        ours.testing.make_tensor(2, dtype=ours.float32, low=2, high=1)
