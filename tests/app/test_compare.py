"""The comparison with Torch: the models agree, a wrong one is found out, digits are marked."""

from __future__ import annotations

import sys

import pytest

from minitorch.app.drawings.agreement import (
    draw_digits,
    same_digits,
    stand,
    verdict,
    weight_differences,
)
from minitorch.app.inside import compare

SMALL = {"data": "Circle", "points": 20, "units": [3, 3], "rate": 0.3, "epochs": 3, "seed": 4}


@pytest.fixture(scope="module")
def torch() -> list:
    pytest.importorskip("torch")
    return compare.train_all(backend="torch", **SMALL)


@pytest.mark.parametrize("backend", ["scalar", "tensor"])
def test_models_agree_with_torch(backend: str, torch: list) -> None:
    mine = list(compare.train(backend=backend, **SMALL))
    assert torch[0]["torch"].startswith("PyTorch 2")
    assert weight_differences(mine, torch)[0] == 0.0
    assert max(weight_differences(mine, torch)) < 1e-13
    assert [row["correct"] for row in mine[1:]] == [row["correct"] for row in torch[1:]]
    assert mine[-1]["loss"] == pytest.approx(torch[-1]["loss"], rel=1e-13)
    good, words = verdict("Tensor", mine, torch)
    assert good
    assert words.startswith("Tensor: after 3 epochs")


def test_without_pytorch_our_own_torch_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    theirs = compare.train_all(backend="torch", **SMALL)
    mine = compare.train_all(backend="scalar", **SMALL)
    assert theirs[0]["torch"] == "minitorch.torch"
    assert max(weight_differences(mine, theirs)) < 1e-13


def test_a_difference_is_found_where_it_begins() -> None:
    one = [{"weights": [1.0, 2.0]}, {"weights": [1.5, 2.5]}, {"weights": [2.0, 3.0]}]
    other = [{"weights": [1.0, 2.0]}, {"weights": [1.5, 2.5]}, {"weights": [2.0, 3.25]}]
    assert verdict("Fast", one, other) == (
        False,
        "Fast: the weights differ from epoch 2 on; the largest difference in 2 epochs is 2.5e-01.",
    )
    assert verdict("Fast", one, one)[1].startswith("Fast: after 2 epochs no weight differs")
    broken = [{"weights": [float("nan"), 2.0]}]
    assert not verdict("Fast", broken, other)[0]


def test_while_kernels_compile_the_page_says_so() -> None:
    assert stand([{"epoch": 0}], 30, 12.3).startswith("getting ready, 12 s so far. The first time")
    assert stand([{"epoch": 0}, {"epoch": 1}], 30, 50.0) == "epoch 1 of 30."


def test_digits_that_differ_are_marked() -> None:
    assert same_digits("1.25", "1.25") == 4
    picture = str(draw_digits({"Torch": [1.25, 2.0], "Fast": [1.27, 2.0]}))
    assert picture.count('font-weight="600" font-family') == 14  # 1.2 is the same
    assert "The first losses, in full" in picture
