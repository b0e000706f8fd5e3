"""NumPy warns of infinities and NaN where PyTorch says nothing: no operation lets that through."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

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
