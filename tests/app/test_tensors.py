"""The lesson of tensors, against NumPy: positions, counting, permute, copy and view."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch.app.drawings.grids import (
    ShapeError,
    draw_cube,
    grid,
    indices,
    read_list,
    read_numbers,
    read_shape,
)
from minitorch.app.drawings.picture import Picture
from minitorch.app.inside.tensors import FIRST, counting, look_up, positions, stages
from minitorch.app.opening import app_on, end_libraries


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


def test_own_numbers_and_strides() -> None:
    answer = stages([2, 3], [0, 1], False, [], [5.0, 6, 7, 8, 9, 10], [1, 2])
    assert answer["stages"][0]["strides"] == [1, 2]
    found = positions([2, 3], [1, 2])
    array = np.arange(5.0, 11).reshape(3, 2).T
    assert [answer["storage"][p] for p in found] == array.ravel().tolist()
    assert (
        "leave the storage"
        in stages([2, 3], [0, 1], False, [], None, [3, 2])["stages"][0]["problem"]
    )
    assert "holds 2 numbers" in stages([3], [0], False, [], [1.0, 2.0])["stages"][0]["problem"]
    assert read_list("[1, 2.5]") == [1.0, 2.5]
    for wrong in ("one", "1,,2", "inf", ""):
        with pytest.raises(ShapeError):
            read_list(wrong)


def test_a_view_that_is_refused_leaves_the_index_of_the_tensor_before(tmp_path) -> None:
    with app_on(tmp_path, "tensors", torder="(1, 0)", tview="2, 6") as app:
        words = "".join(part.value for part in [*app.markdown, *app.warning])
        assert "is not possible" in words
        assert "Index (2, 1) lies at position 6" in words
    end_libraries()


def test_a_cell_inside_a_cube_is_laid_open() -> None:
    """Its number is drawn within its box, not those of the cells in front of it."""
    picture = Picture(300, 300)
    draw_cube(
        picture, 0, 0, (3, 3, 3), 50, lambda at: "".join(map(str, at)), fill=lambda at: "red",
        id=lambda at: None, lit=[(1, 1, 1)],
    )  # fmt: skip
    faces = [part for part in picture.parts if "<title>index (1, 1, 1): 111</title>" in part]
    assert len(faces) == 1
    assert any(">111</text>" in part for part in picture.parts)


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
