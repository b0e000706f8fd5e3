"""Ways to break a traced program: each gives what eager calls give, to the bit.

A case is a function of `compile`, which is `torch.compile` or nothing at all, and returns what it saw. It says whether
its functions are expected to be played from a tape, to stay eager, or to do one after the other.
"""

from __future__ import annotations

import random
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torch.compiler import watching
from minitorch.torch.compiler.compiled import Compiled
from minitorch.torch.compiler.versions import NUMBERED, Versions

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
    assert len(CASES) >= 363


class Holder:
    """Has attributes that an instance may keep without a dictionary."""

    def __init__(self) -> None:
        self.value = 1.0


def write_directly(holder: Any, i: int) -> None:
    vars(holder)["value"] = float(i)


def come_and_go(holder: Any, i: int) -> None:
    holder.passing = i
    del holder.passing


CHANGES = {
    "an attribute": lambda holder, i: setattr(holder, "value", float(i)),
    "a new attribute": lambda holder, i: setattr(holder, f"value_{i}", i),
    "an item": write_directly,
    "several": lambda holder, i: vars(holder).update(value=float(i)),
    "a moment": come_and_go,
}


@pytest.mark.skipif(not NUMBERED, reason="this Python numbers no versions that can be trusted")
@pytest.mark.parametrize(
    "make", [Holder, SimpleNamespace, lambda: ModuleType("made"), lambda: lambda: 0]
)
@pytest.mark.parametrize("what", CHANGES)
def test_versions_tell_of_every_change(make: Any, what: str) -> None:
    """Also once the interpreter has specialized the code that writes."""
    for _ in range(50):
        holder = make()
        versions = Versions([vars(holder)])
        for i in range(4):
            versions.known = versions.now()
            CHANGES[what](holder, i)
            assert versions.changed(versions.now()) == [0]
