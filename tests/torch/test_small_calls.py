"""Small inputs are computed in ways of their own; values and two derivatives are PyTorch's there, and where these ways end."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch as ours

TENSORS = np.random.default_rng(0)


def values(*shape: int) -> np.ndarray:
    return np.asarray(TENSORS.random(shape))


def derivatives(torch: Any, call: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The result, its gradients, and the gradients of these."""
    inputs = [torch.tensor(a, requires_grad=True) for a in arrays]
    out = call(torch, *inputs)
    first = torch.autograd.grad(out.sin().sum(), inputs, create_graph=True)
    again = [g for g in first if g.requires_grad]
    total = sum((g * g).sum() for g in again)
    second = torch.autograd.grad(total, inputs, allow_unused=True) if again else []
    found = [out, *first, *(g for g in second if g is not None)]
    return [x.detach().numpy() for x in found]


def agree(call: Any, *arrays: np.ndarray) -> None:
    mine, theirs = (derivatives(torch, call, [*arrays]) for torch in (ours, real))
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("one", "other"),
    [((30, 2), (3, 2)), ((2, 30, 4), (4, 4)), ((30, 4), (3, 30, 4)), ((300, 2), (300, 2))],
)
def test_distances(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    agree(lambda torch, x, y: torch.cdist(x, y + 1), values(*one), values(*other))


def test_distances_of_equal_points_have_no_gradient() -> None:
    x = ours.ones(30, 2, requires_grad=True)
    ours.cdist(x, x).sum().backward()
    assert x.grad is not None
    assert not x.grad.any()
    assert ours.cdist(x, x).grad_fn.name() == "EuclideanDistBackward0"  # type: ignore[union-attr]


@pytest.mark.parametrize("width", [1, 3, 399, 400, 500])
@pytest.mark.parametrize("dim", [0, 1])
def test_rows_are_added_in_order(width: int, dim: int) -> None:
    """To the bit: sums of float32 depend on the order."""
    index, rows = np.random.default_rng(1).integers(0, 4, 40), np.float32(values(40, width))
    into = np.float32(values(4, width))
    found = []
    for torch in (ours, real):
        x, source, at = torch.tensor(into), torch.tensor(rows), torch.tensor(index)
        x, source = (x, source) if dim == 0 else (x.t(), source.t())
        found.append(x.index_add(dim, at, source).contiguous().numpy().tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_elements_along_a_dimension(order: tuple[int, ...], dim: int) -> None:
    """Of an input that is contiguous, and of one that is not."""
    index = np.random.default_rng(2).integers(0, 3, (2, 3, 2))

    def call(torch: Any, x: Any, y: Any) -> Any:
        x, at = x.permute(*order), torch.tensor(index)
        return x.gather(dim, at).sum() * x.scatter_add(dim, at, y).sort(dim)[0].topk(2, dim)[0]

    agree(call, values(3, 3, 3), values(2, 3, 2))


@pytest.mark.parametrize("images", [1, 64])
@pytest.mark.parametrize("size", [(2, 4), (8, 1), (4, 4), (3, 5)])
def test_means_of_windows(images: int, size: tuple[int, int]) -> None:
    """Of windows side by side, few and many, and of windows that overlap."""
    x = values(images, 1, 8, 12)
    agree(lambda torch, x: torch.nn.functional.adaptive_avg_pool2d(x, size), x)
    agree(lambda torch, x: torch.nn.functional.avg_pool2d(x, size), x)
    agree(lambda torch, x: torch.nn.functional.avg_pool2d(x, size, (1, 2)), x)


@pytest.mark.parametrize("seed", range(60))
def test_equations(seed: int) -> None:
    """Sums of random products: sizes of 1 and 0, diagonals, letters of one operand alone."""
    rng = random.Random(seed)
    sizes = {c: rng.choice([1, 2, 3, 3, 0] if seed % 5 == 0 else [1, 2, 3]) for c in "abcd"}
    terms = ["".join(rng.sample("abcd", rng.randint(0, 3))) for _ in range(rng.randint(1, 3))]
    if seed % 3 == 0 and terms[0]:
        terms[0] += terms[0][0]
    letters = sorted(set("".join(terms)))
    equation = f"{','.join(terms)}->{''.join(rng.sample(letters, rng.randint(0, len(letters))))}"
    arrays = [values(*[sizes[c] for c in term]) for term in terms]
    agree(lambda torch, *x: torch.einsum(equation, *x), *arrays)


def test_an_equation_is_planned_again_for_other_shapes() -> None:
    for rows, columns in ((2, 3), (3, 2), (1, 2), (2, 1)):
        agree(
            lambda torch, x, y: torch.einsum("ij,jk->ki", x, y), values(rows, 4), values(4, columns)
        )
