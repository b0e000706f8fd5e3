"""Wrong calls: what PyTorch refuses we refuse, with its exception class, its numbers, no harm done.

Both libraries must raise; our exception is an instance of PyTorch's class; the sizes,
dimensions and indices of the call that PyTorch's message names are in ours too; and the
tensors that the call made are left as PyTorch leaves them.
"""

from __future__ import annotations

import inspect
import linecache
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real
from torch.autograd.gradcheck import GradcheckError

import minitorch.torch as ours
from minitorch.torch.autograd.gradcheck import GradcheckError as OurGradcheckError

from .oracle import numbers
from .wrong_calls import TABLE, Call

MAKERS = {"arange", "eye", "full", "linspace", "ones", "tensor", "zeros"}


class Watched:
    """A library that remembers the tensors which were made with it; `t.F` is its nn.functional."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.F = library.nn.functional
        self.made: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.library, name)
        return self._remembering(found) if name in MAKERS else found

    def _remembering(self, maker: Callable[..., Any]) -> Callable[..., Any]:
        def make(*args: Any, **kwargs: Any) -> Any:
            self.made.append(maker(*args, **kwargs))
            return self.made[-1]

        return make


def source(call: Call) -> str:
    """What a row says: the text of a lambda's body, or of a whole function."""
    if call.__name__ != "<lambda>":
        return inspect.getsource(call)
    places: list[Any] = [p for p in call.__code__.co_positions() if None not in p and p[3]]
    first = min((p[0], p[2]) for p in places)
    last = max((p[1], p[3]) for p in places)
    text = [linecache.getline(call.__code__.co_filename, n) for n in range(first[0], last[0] + 1)]
    text[-1] = text[-1][: last[1]]
    text[0] = text[0][first[1] :]
    return " ".join(" ".join(text).split())


def label(call: Call) -> str:
    return call.__name__ if call.__name__ != "<lambda>" else source(call)


def numerals(text: str) -> set[str]:
    """The numbers in a text: of sizes like 2x3 both, of names like mat1 and places none."""
    return set(re.findall(r"(?<![A-Za-wyz_.\d])(?<!position )\d+(?:\.\d+)?", text))


def outcome(library: Any, call: Call) -> tuple[Exception | None, list[Any]]:
    """The error that a call ends in, and the tensors that it made."""
    watched = Watched(library)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(watched)
    except Exception as error:
        return error, watched.made
    return None, watched.made


OWN_CLASSES: dict[type, type] = {
    real.linalg.LinAlgError: ours.linalg.LinAlgError,  # pyright: ignore[reportPrivateImportUsage]
    GradcheckError: OurGradcheckError,
}


def compare_left_behind(mine: list[Any], theirs: list[Any]) -> None:
    """The tensors of a failed call are what PyTorch's are after the same call."""
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        assert str(a.dtype) == str(b.dtype)
        assert a.requires_grad == b.requires_grad
        assert (a.grad is None) == (b.grad is None)
        np.testing.assert_array_equal(numbers(a), numbers(b))


ROWS = [pytest.param(call, id=label(call)) for calls in TABLE.values() for call in calls]


@pytest.mark.parametrize("call", ROWS)
def test_refused_as_pytorch_refuses(call: Call) -> None:
    expected, their_tensors = outcome(real, call)
    got, our_tensors = outcome(ours, call)
    assert expected is not None, "PyTorch allows this"
    assert got is not None, f"expected {type(expected).__name__}: {expected}"
    wanted = OWN_CLASSES.get(type(expected), type(expected))
    assert isinstance(got, wanted), f"{got!r}, expected {expected!r}"
    missing = (numerals(str(expected)) & numerals(source(call))) - numerals(str(got))
    assert not missing, f"{missing} not in {got}\nwhich is in {expected}"
    compare_left_behind(our_tensors, their_tensors)


def test_there_are_many() -> None:
    assert len(ROWS) >= 250
