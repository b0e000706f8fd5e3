"""NumPy warns of infinities and NaN where PyTorch says nothing: no operation lets that through."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch

from .fuzz.calls import function
from .fuzz.signatures import all_names

EXTREMES = [[0.0, -0.0, 1.0], [math.inf, -math.inf, math.nan], [3e38, 1e-45, -1.0]]


def _call(name: str, args: tuple[Any, ...]) -> bool:
    """Whether a function takes such arguments; RuntimeWarning, as an error, where NumPy warns."""
    try:
        result = function(torch, name)(*args)
        if getattr(result, "requires_grad", False):
            result.sum().backward()
    except RuntimeWarning:
        raise
    except Exception:
        return False
    return True


def test_functions_and_gradients_of_extreme_numbers() -> None:
    warned, returned = [], set()
    names = {n.removeprefix("Tensor.") for n in all_names()} & set(all_names())
    for name in sorted(names):
        if "nomial" in name:  # draws for a while
            continue
        x, y, z = (torch.Tensor(EXTREMES).requires_grad_() for _ in range(3))
        for args in ((x,), (x, y), (x, y, z), (x, 0), (x, -1)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", RuntimeWarning)
                try:
                    if _call(name, args):
                        returned.add(name)
                except RuntimeWarning as e:
                    warned.append(f"{name}{args}: {e}")
    assert not warned
    assert len(returned) > 300


@pytest.mark.parametrize("change", [warnings.resetwarnings, lambda: warnings.simplefilter("error")])
def test_filters_that_a_program_adds_change_nothing(change: Callable[[], None]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        change()
        x = torch.zeros(3)
        x.log()
        x.div_(0)
        compiled = torch.compile(lambda x: x.log() * 2)
        for _ in range(4):
            compiled(torch.zeros(3))
    assert not [w for w in caught if w.category is RuntimeWarning]


NORMS: list[Callable[[Any], Any]] = [
    lambda x: torch.nn.functional.group_norm(x, 2, eps=-1.0),
    lambda x: torch.nn.functional.layer_norm(x, (4,), eps=-1.0),
    lambda x: torch.nn.functional.rms_norm(x, (4,), eps=-1.0),
]


@pytest.mark.parametrize("norm", NORMS)
def test_sums_in_gradients_overflow_without_a_word(norm: Callable[[Any], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = torch.rand(3, 4, requires_grad=True)
        out = norm(x)
        out.backward(torch.full((3, 4), 3e38) * torch.Tensor([[1.0, 1.0, -1.0, 1.0]]))
        assert x.grad.isnan().any()


def _results() -> list[Any]:
    """What functions, writes, gradients, random numbers and an optimizer make of extreme numbers."""
    lib: Any = torch
    lib.manual_seed(0)
    x, y = lib.tensor(EXTREMES, requires_grad=True), lib.tensor(EXTREMES)
    (x.log() / x).sum().backward()
    y.div_(0).copy_(lib.tensor([1e300], dtype=torch.float64))
    y.index_add_(0, lib.tensor([0]), torch.full((1, 3), 3e38))
    weight = torch.nn.Parameter(torch.full((3,), 3e38))
    weight.grad = torch.full((3,), -3e38)
    torch.optim.SGD([weight], lr=1e38).step()
    return [x.exp(), x.grad, y, weight, torch.randn(40), torch.empty(5).exponential_()]


def test_errors_that_a_program_asks_numpy_for_change_nothing() -> None:
    usual = _results()
    with np.errstate(all="raise"):
        found = _results()
    for a, b in zip(usual, found, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
