"""To add an elementwise operation is one edit in one file: one call of `unary` or `binary`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch.torch
from docs import torch_coverage
from minitorch.torch.ops import FUNCTIONS
from minitorch.torch.ops.elementwise import binary, unary
from minitorch.torch.ops.record import REGISTRY

torch: Any = minitorch.torch


@pytest.fixture
def declared() -> Iterator[Callable[[Any], None]]:
    """Let `minitorch.torch` offer what was declared, as it does on import; then forget it all."""
    names: list[str] = []

    def offer(op: Any) -> None:
        names.extend((op.name, f"{op.name}_"))
        for name in names:
            setattr(torch, name, FUNCTIONS[name])

    yield offer
    for name in names:
        delattr(torch, name)
        delattr(torch.Tensor, name)
        FUNCTIONS.pop(name)
        REGISTRY.pop(name, None)


def test_unary(declared: Callable[[Any], None]) -> None:
    declared(unary("softsquare", lambda x: x * x / (1 + np.abs(x)),
                   lambda g, input: g * input * (2 + input.abs()) / (1 + input.abs()) ** 2,
                   "x² / (1 + |x|).", to_float=True))  # fmt: skip
    x = torch.tensor([[-2.0, 0.5], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    expected = x.detach() ** 2 / (1 + x.detach().abs())

    assert torch.softsquare(x).allclose(expected)  # the function
    assert x.softsquare().allclose(expected)  # the method
    assert x.softsquare().grad_fn.name() == "SoftsquareBackward0"

    y = x.detach().clone()
    assert y.softsquare_() is y  # the in-place form
    assert y.allclose(expected)
    assert torch.softsquare_(x.detach().clone()).allclose(expected)

    out = torch.empty(0, dtype=torch.float64)
    assert torch.softsquare(x.detach(), out=out) is out  # out=
    assert out.allclose(expected)

    assert torch.softsquare(torch.arange(3)).dtype is torch.float32  # whole numbers become floats
    assert torch.softsquare(torch.ones(2, dtype=torch.float16)).dtype is torch.float16

    assert torch.autograd.gradcheck(torch.softsquare, x)
    assert torch.autograd.gradgradcheck(torch.softsquare, x)
    with pytest.raises(TypeError, match="softsquare"):
        torch.softsquare(3.0)


def test_binary(declared: Callable[[Any], None]) -> None:
    declared(binary("waver", lambda a, b: a * np.sin(b),
                    (lambda g, other: g * other.sin(), lambda g, input, other: g * input * other.cos()),
                    "a sin(b).", to_float=True))  # fmt: skip
    a = torch.tensor([[1.0], [2.0]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64, requires_grad=True)
    expected = a.detach() * b.detach().sin()

    assert torch.waver(a, b).allclose(expected)
    assert a.waver(b).allclose(expected)
    assert a.waver(0.5).shape == (2, 1)

    y = torch.ones(2, 3, dtype=torch.float64)
    assert y.waver_(b.detach()) is y
    assert y.allclose(b.detach().sin().expand(2, 3))
    assert torch.waver(a.detach(), b.detach(), out=y) is y
    assert y.allclose(expected)

    assert torch.waver(torch.arange(3), torch.ones(3, dtype=torch.float64)).dtype is torch.float64
    assert torch.waver(torch.arange(3), 2).dtype is torch.float32
    assert torch.waver(torch.ones(3), torch.tensor(2.0, dtype=torch.float64)).dtype is torch.float32

    assert torch.autograd.gradcheck(torch.waver, (a, b))
    assert torch.autograd.gradgradcheck(torch.waver, (a, b))
    with pytest.raises(RuntimeError, match=r"\(2\).*\(3\)"):
        torch.waver(torch.ones(2), torch.ones(3))


def test_docs_row(declared: Callable[[Any], None]) -> None:
    declared(unary("tripled", lambda x: 3 * x, lambda g: 3 * g, "Three times each element."))
    page = torch_coverage.render({torch_coverage.BEYOND: torch_coverage.beyond()})
    assert "| `tripled` | Three times each element. |" in page
    assert "| `Tensor.tripled` | Three times each element. |" in page
    assert "| `tripled_` | `tripled`, in place. |" in page


EDIT = 'unary("tripled", lambda x: 3 * x, lambda g: 3 * g, "Three times each element.")\n'
PROGRAM = """
import minitorch.torch as torch
x = torch.ones(2, requires_grad=True)
torch.tripled(x.tripled()).sum().backward()
assert x.grad.tolist() == [9, 9]
assert torch.ones(2).tripled_().tolist() == [3, 3]
"""


def test_one_edit_in_one_file(tmp_path: Path) -> None:
    """A copy of the library with one line more in the file of elementwise operations."""
    library = Path(torch.__file__).parents[1]
    copy = tmp_path / library.name
    shutil.copytree(library, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "torch/ops/elementwise.py").open("a") as file:
        file.write(EDIT)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
