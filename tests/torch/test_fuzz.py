"""Random calls compared with PyTorch: a few hundred here; `python -m tests.torch.fuzz` makes many."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch as ours

from . import native_signatures
from .fuzz.calls import Call
from .fuzz.differences import DIFFERENCES, reason_for
from .fuzz.drawing import draw_call
from .fuzz.judging import Finding, judge
from .fuzz.memory import GuardedMemory
from .oracle import Mismatch, compare_tensors, numbers, to_ours

SEED = 11
CALLS = 300
PAGE = Path(__file__).parents[2] / "docs" / "torch-differences.md"


def test_random_calls() -> None:
    memory = GuardedMemory()
    unexplained = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index in range(CALLS):
            call = draw_call(SEED, index)
            code = call.code()
            try:
                judge(call, memory)
            except Finding as e:
                if reason_for(call, e) is None:
                    unexplained.append(f"call {index}: {e}\n{code}")
    assert not unexplained, "\n\n".join(unexplained)


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        ("values", lambda x: x.exp() * 1.001),
        ("dtype", lambda x: x.exp().double()),
        ("shape", lambda x: x.exp()[None]),
        ("refused", lambda x: x.exp(1)),
        ("gradient values", lambda x: x.exp() + (x - x.detach())),
        ("requires_grad", lambda x: x.exp().detach()),
        ("written values", lambda x: (x.exp(), x.data.add_(1))[0]),
        ("aliasing", lambda x: x.data.copy_(x.exp()).requires_grad_()),
    ],
)
def test_a_wrong_function_is_found(kind: str, broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call("exp", [real.tensor([0.5, -1.0]).requires_grad_()])
    assert judge(call, GuardedMemory()) == "returned"
    monkeypatch.setattr(ours, "exp", broken)
    with pytest.raises(Finding) as found:
        judge(call, GuardedMemory())
    assert found.value.kind in (kind, "written values")


@pytest.mark.parametrize(
    ("mine", "theirs"), [(1.0, np.inf), (-np.inf, np.inf), (complex(1, np.inf), complex(2, np.inf))]
)
def test_infinity_is_no_number(mine: Any, theirs: Any) -> None:
    expected = real.tensor([theirs])
    compare_tensors(to_ours(expected), expected, "itself")
    with pytest.raises(Mismatch):
        compare_tensors(to_ours(real.tensor([mine])), expected, "another")


def test_infinity_hides_no_wrong_number(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call("mm", [real.tensor([[1.0, 2.0], [np.inf, 1.0]]), real.eye(2)])
    known = Finding("values", "result: np.float32(nan), expected np.float32(inf)")
    assert reason_for(call, known) is not None
    right = ours.mm
    monkeypatch.setattr(ours, "mm", lambda a, b: right(a, b) * 1.5)
    assert reason_for(call, known) is None


@pytest.mark.parametrize(
    ("a", "x"), [([1e4, 1e4], [1e4, 1e308]), ([1e4, 1e308], [1e4, 1.0]), ([1e4, -1.0], [1e4, 2.0])]
)
def test_only_where_pytorch_rounds_more_may_numbers_differ(
    a: list[float], x: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Call("igamma", [real.tensor(v, dtype=real.float64) for v in (a, x)])
    with pytest.raises(Finding, match=r"0\.501329808") as found:
        judge(call, GuardedMemory())
    assert reason_for(call, found.value) is not None
    right = ours.igamma
    for off in ([1e-12, 0.0], [0.0, 0.5], [0.0, np.inf]):
        wrong = to_ours(real.tensor(off, dtype=real.float64))
        monkeypatch.setattr(ours, "igamma", lambda *n, w=wrong: right(*n).nan_to_num(3.0) + w)
        assert reason_for(call, found.value) is None


def test_an_error_from_inside_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call("exp", [real.ones(2), 3])
    monkeypatch.setattr(ours, "exp", lambda x, n: [][n])
    with pytest.raises(Finding, match="fell over IndexError") as found:
        judge(call, GuardedMemory())
    assert reason_for(call, found.value) is None


def test_what_pytorch_leaves_behind_is_freed_in_its_own_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    phases: list[str] = []
    freed: list[str] = []

    class Memory:
        def __del__(self) -> None:
            freed.append(phases[-1])

    def fails(x: Any) -> None:
        memory = Memory()
        raise RuntimeError(f"no room beside {memory}")

    for library in (real, ours):
        monkeypatch.setattr(library, "exp", fails)
    judge(Call("exp", [real.ones(2)]), GuardedMemory(), phases.append)
    assert freed[0] == "theirs"


def test_a_call_is_made_again_from_its_code() -> None:
    compared = 0
    for index in range(40):
        call = draw_call(SEED, index)
        given: dict[str, Any] = {}
        exec(call.code().rpartition("\n")[0], given)
        first = next((a for a in call.args if isinstance(a, real.Tensor)), None)
        if first is not None:
            made, wanted = given["a"].detach(), first.detach()
            assert made.dtype == wanted.dtype
            assert made.is_contiguous() == wanted.is_contiguous()
            assert given["a"].requires_grad == first.requires_grad
            np.testing.assert_array_equal(numbers(made), numbers(wanted))
            compared += 1
    assert compared > 20


@pytest.mark.parametrize("at_end", [True, False])
def test_reading_past_guarded_memory_is_a_crash(at_end: bool) -> None:
    memory = GuardedMemory()
    placed = memory.place(np.arange(100, dtype=np.uint8), at_end)
    assert placed.tolist() == list(range(100))
    beyond = placed.ctypes.data + (100 if at_end else -1)
    child = os.fork()
    if not child:
        faulthandler.disable()
        ctypes.string_at(beyond, 1)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGSEGV


def test_the_page_lists_all_known_differences() -> None:
    page = " ".join(PAGE.read_text().split())
    missing = [d.reason for d in DIFFERENCES if d.reason not in page]
    assert not missing


def test_signatures_are_those_of_pytorch() -> None:
    assert native_signatures.PAGE.read_text() == native_signatures.text()
