"""Ways to break a traced program: each gives what eager calls give, to the bit.

A case is a function of `compile`, which is `torch.compile` or nothing at all, and returns what it saw. It says whether
its functions are expected to be played from a tape, to stay eager, or to do one after the other.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch.compiler import watching
from minitorch.torch.compiler.compiled import Compiled

from .compile_cases import (
    arguments,
    containers,
    dictionaries,
    edges,
    gradients,
    hidden_state,
    lookups,
    modules,
    names_by_text,
    objects,
    replaced,
    results,
    surroundings,
    training_steps,
    values,
)
from .compile_cases.ways import CASES, agree, seen

FILES = (
    arguments, containers, dictionaries, edges, gradients, hidden_state, lookups, modules, names_by_text, objects, replaced, results, surroundings, training_steps, values,
)  # fmt: skip
"""They note their cases when they are loaded."""


def outcome(case: Any, compile: Any) -> Any:
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    return seen(case(compile))


@pytest.mark.parametrize("name", CASES)
def test_a_way_to_break_a_tape(name: str) -> None:
    """One case, eager and compiled."""
    case, expected, exactly = CASES[name]
    made: list[Compiled] = []

    def compile(fn: Any, **options: Any) -> Any:
        form = torch.compile(fn, **options)
        inner = form._compiled if isinstance(form, torch.nn.Module) else form
        if isinstance(inner, Compiled):
            made.append(inner)
        return form

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager = outcome(case, lambda fn, **_: fn)
        compiled = outcome(case, compile)
    assert agree(compiled, eager, exactly)
    played = any(each.traced for each in made)
    if expected == "played":
        assert played, [(each.name, each.eager, each.unstable) for each in made]
    elif expected == "eager":
        assert not played
    if expected != "played":
        assert all(each.eager for each in made), [each.unstable for each in made]


@pytest.mark.parametrize("name", [n for n, (c, *_) in CASES.items() if c.__module__ in (dictionaries.__name__, replaced.__name__)])  # fmt: skip
def test_dictionaries_without_versions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a Python that does not number the versions of dictionaries, where operators of tensors are not watched."""
    if name == "an_operator_of_tensors_replaced":
        return
    monkeypatch.setattr(watching, "NUMBERED", False)
    test_a_way_to_break_a_tape(name)


def test_there_are_cases_in_all_files() -> None:
    """None was left out, and there are as many ways as were asked for."""
    assert {case.__module__ for case, _, _ in CASES.values()} == {f.__name__ for f in FILES}
    assert len(CASES) >= 356
