"""The lesson of tensors, against NumPy: positions, counting, permute, copy and view."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch.app.drawings.grids import ShapeError, grid, indices, read_numbers, read_shape
from minitorch.app.inside.tensors import FIRST, counting, look_up, positions, stages


@pytest.mark.parametrize(
    ("shape", "order", "contiguous", "view"),
    [
        ((5,), (0,), False, ()),
        ((2, 3), (1, 0), False, ()),
        ((2, 3, 4), (2, 0, 1), True, (6, 4)),
        ((2, 3, 2, 2), (3, 1, 0, 2), True, ()),
        ((2, 6), (0, 1), False, (3, 2, 2)),
    ],
)
def test_cells_lie_where_numpy_says(shape, order, contiguous, view) -> None:
    array = np.arange(FIRST, FIRST + np.prod(shape), dtype=float).reshape(shape).transpose(order)
    array = np.ascontiguousarray(array) if contiguous else array
    array = array.reshape(view) if view else array
    answer = stages(list(shape), list(order), contiguous, list(view))
    last = answer["stages"][-1]
    assert tuple(last["shape"]) == array.shape
    assert [8 * s for s in last["strides"]] == list(array.strides)
    assert last["contiguous"] == array.flags.c_contiguous
    found = positions(last["shape"], last["strides"])
    assert [answer["storage"][p] for p in found] == array.ravel().tolist()
    assert counting(last["shape"]) == [list(index) for index in np.ndindex(array.shape)]


def test_a_view_of_what_is_not_contiguous_is_refused_in_words() -> None:
    last = stages([2, 3], [1, 0], False, [6])["stages"][-1]
    assert "contiguous" in last["problem"]


def test_an_index_out_of_range_is_refused() -> None:
    assert look_up([2, 3], [3, 1], [1, 2]) == {"position": 5, "refusal": ""}
    assert "out of range" in look_up([2, 3], [3, 1], [1, 3])["refusal"]


def test_shapes_are_read_and_never_executed() -> None:
    assert read_shape("(2, 3)") == read_shape("2, 3") == (2, 3)
    assert read_numbers("") == ()
    for wrong in ("two", "2.5", "True", "(2,", "f(2)", "[[1]]"):
        with pytest.raises(ShapeError):
            read_numbers(wrong)
    for wrong in ("0, 2", "1, 1, 1, 1, 1", "100", ""):
        with pytest.raises(ShapeError):
            read_shape(wrong)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (3, 2, 2), (2, 2, 3, 2)])
def test_cells_do_not_overlap_and_fit(shape) -> None:
    cells = grid(shape, 40)
    corners = {index: cells.at(index) for index in indices(shape)}
    assert len(set(corners.values())) == len(corners)
    assert all(
        0 <= x <= cells.width - 40 and 0 <= y <= cells.height - 40 for x, y in corners.values()
    )
