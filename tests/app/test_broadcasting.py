"""The lesson of broadcasting, against NumPy: shapes, sources, sums."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch.app.inside.broadcasting import gradients, join, sources

FIT = [((3, 1), (1, 4)), ((2, 3, 4), (4,)), ((2, 1, 3), (2, 1)), ((5,), (5,)), ((1,), (2, 2))]


@pytest.mark.parametrize(("first", "second"), FIT)
def test_shapes_and_sources(first, second) -> None:
    big = np.broadcast_shapes(first, second)
    assert join(list(first), list(second)) == {"result": list(big), "refusal": ""}
    for shape in (first, second):
        ordinals = np.broadcast_to(np.arange(np.prod(shape)).reshape(shape), big).ravel()
        found = sources(list(big), list(shape))
        assert [np.ravel_multi_index(index, shape) for index in found] == ordinals.tolist()


@pytest.mark.parametrize(("first", "second"), FIT)
def test_copies_are_added_up(first, second) -> None:
    big = np.broadcast_shapes(first, second)
    answer = gradients(list(first), list(second))
    incoming = np.arange(1.0, np.prod(big) + 1)
    for name, shape in (("first", first), ("second", second)):
        owner = np.broadcast_to(np.arange(np.prod(shape)).reshape(shape), big).ravel()
        assert answer[name] == np.bincount(owner, incoming).tolist()


def test_what_does_not_fit_is_refused() -> None:
    answer = join([3, 4], [3])
    assert answer["result"] is None
    assert "do not broadcast" in answer["refusal"]
