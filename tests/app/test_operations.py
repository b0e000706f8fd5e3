"""The lesson of map, zip and reduce: results against NumPy, visits in the order of the code."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch import tensor_ops
from minitorch.app.drawings import visits
from minitorch.app.inside.operations import run_map, run_reduce, run_zip
from minitorch.app.opening import app_on, end_libraries


def test_a_map_visits_in_counting_order() -> None:
    answer = run_map([2, 3], [1, 0], "negate")
    assert answer["out"] == (-np.arange(1.0, 7).reshape(2, 3).T).ravel().tolist()
    assert [e[2] for e in answer["events"] if e[0] == "read"] == [0, 3, 1, 4, 2, 5]
    assert [e[2] for e in answer["events"] if e[0] == "write"] == [0, 1, 2, 3, 4, 5]
    assert not visits.faults(answer)
    pictures, captions = visits.frames(answer, "negate")
    assert len(pictures) == len(captions) == 7
    assert captions[2].startswith("Step 2 reads a[0, 1] (position 3) = 4; negate(4) = -4")


def test_a_zip_reads_what_is_copied_again() -> None:
    answer = run_zip([2, 1], [0, 1], [3], "add")
    assert answer["out"] == [11, 21, 31, 12, 22, 32]
    assert [e[2] for e in answer["events"] if e[:2] == ["read", "a"]] == [0, 0, 0, 1, 1, 1]
    assert len(visits.steps(answer["events"])) == 6


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize(("name", "fold"), [("sum", np.sum), ("max", np.max), ("product", np.prod)])
def test_a_reduce_folds_one_dimension(dim, name, fold) -> None:
    answer = run_reduce([2, 2, 3], [2, 0, 1], dim, name)
    array = np.arange(1.0, 13).reshape(2, 2, 3).transpose(2, 0, 1)
    np.testing.assert_allclose(answer["out"], fold(array, axis=dim).ravel())
    assert len(visits.steps(answer["events"])) == 12
    assert not visits.faults(answer)


def test_the_loop_of_another_library_is_shown_as_it_is(monkeypatch) -> None:
    def wrong_map(fn):
        def run(out, out_shape, out_strides, storage, shape, strides):
            for i in reversed(range(len(out))):  # ignores the strides, and goes too far
                out[i] = fn(storage[i + 1])

        return run

    monkeypatch.setattr(tensor_ops, "tensor_map", wrong_map)
    answer = run_map([2, 2], [0, 1], "double")
    words = " ".join(visits.faults(answer))
    assert "position 4 of a, whose places run from 0 to 3" in words
    assert "4 of 4 cells of out were never written" in words

    def backwards(fn):
        def run(out, out_shape, out_strides, storage, shape, strides):
            for i in reversed(range(len(out))):
                out[i] = fn(storage[i])

        return run

    monkeypatch.setattr(tensor_ops, "tensor_map", backwards)
    answer = run_map([2, 2], [1, 0], "double")
    assert [e[2] for e in answer["events"] if e[0] == "write"] == [3, 2, 1, 0]
    assert "2 of 4 results are wrong: out[0, 1] is 4, and should be 6" in visits.faults(answer)[0]


def test_b_fits_a_after_a_permute(tmp_path) -> None:
    """The usual b follows the shape of a, so that no permute leaves an empty page."""
    with app_on(tmp_path, "operations", okind="zip", oorder="(1, 0)") as app:
        assert not app.warning
        assert "6 steps: 12 reads, 6 writes" in "".join(part.value for part in app.markdown)
    end_libraries()


def test_a_loop_over_whole_arrays_has_no_order(monkeypatch) -> None:
    monkeypatch.setattr(
        tensor_ops, "tensor_map", lambda fn: lambda out, *more: np.copyto(out, 2 * more[2])
    )
    assert "no order to show" in visits.faults(run_map([3], [0], "double"))[0]
    monkeypatch.setattr(
        tensor_ops, "tensor_map", lambda fn: lambda out, *more: out.__setitem__(slice(None), 0)
    )
    assert [e[:3] for e in run_map([2], [0], "double")["events"]] == [
        ["write", "out", 0],
        ["write", "out", 1],
    ]
