"""The CUDA page: simulated threads, the language of the puzzles, traces of the library's kernels."""

from __future__ import annotations

import textwrap
import threading
from typing import Any

import numpy as np
import pytest

from minitorch.app.drawings.threads import Grid, blocks_of, draw_grid, flip, steps_of
from minitorch.app.inside import cuda
from minitorch.app.inside.threads import Cells, Place, Recorder, as_point, count, points
from minitorch.app.kernel_code import KernelError, run
from minitorch.app.puzzles import PUZZLES

from ..waiting import wait

# --- The language ----------------------------------------------------------------------------


def launch(code: str, *, blocks: Any = 1, threads: Any = 4, size=4, **numbers):
    """Run a kernel over `a` = 0, 1, 2, ... and give its trace."""
    recorder = Recorder()
    names = {"a": Cells(recorder, "a", size, [float(i) for i in range(size)])}
    names["out"] = Cells(recorder, "out", size)
    return run(textwrap.dedent(code), blocks, threads, {**names, **numbers}, recorder)


def out_of(trace) -> list:
    return next(array["end"] for array in trace["arrays"] if array["name"] == "out")


def faults_of(trace) -> list[str]:
    return [fault["kind"] for fault in trace["faults"]]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("i = cuda.grid(1)\nout[i] = a[i] * 2 + 1", [1, 3, 5, 7]),
        ("i: int = cuda.threadIdx.x\nout[i] = -a[i] / 2", [0, -0.5, -1, -1.5]),
        ("i = cuda.grid(1)\nout[i] = i // 2 + 7 % 4", [3, 3, 4, 4]),
        ("i = cuda.grid(1)\nout[i] = 1 if 0 < i < 3 else 0", [0, 1, 1, 0]),
        ("i = cuda.grid(1)\nout[i] = 5 if i == 0 or i > 2 and not i == 9 else 0", [5, 0, 0, 5]),
        ("i = cuda.grid(1)\nx, y = i, 10\nx += y\nout[i] = max(x, 12)", [12, 12, 12, 13]),
        ("i = cuda.grid(1)\nt = 0.0\nfor k in range(i):\n    t += a[k]\nout[i] = t", [0, 0, 1, 3]),
        (
            "i = cuda.grid(1)\nt = 0\nfor k in range(9):\n    if k > i:\n        break\n"
            "    if k == 1:\n        continue\n    t += 1\nout[i] = t",
            [1, 1, 2, 3],
        ),
        ("i = cuda.grid(1)\nout[i] = 1\nif i > 1:\n    return\nout[i] = 2", [2, 2, 1, 1]),
        ("i = cuda.grid(1)\nout[-1 - i] = a[i] + len(a) + a.size", [11, 10, 9, 8]),
    ],
)
def test_the_language_computes_as_python_does(code, expected) -> None:
    trace = launch(code)
    assert out_of(trace) == expected
    assert not trace["faults"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("while True:\n    pass", "range"),
        ("import os", "not in the language"),
        ("x = __import__('os')", "not in the language"),
        ("x = a.__class__", "no `a.__class__`"),
        ("x = (1).real", "real"),
        ("x = open", "no open"),
        ("x = [1, 2]", "not in the language"),
        ("x = (1, 1)\n" + "x = (x, x)\n" * 60 + "y = max(x, x)", "cannot hold another"),
        ("x = 'text'", "not in the language"),
        ("x = lambda: 1", "not in the language"),
        ("def f():\n    pass", "not in the language"),
        ("x = 2 ** 9", "signs are"),
        ("x = 9\nfor i in range(60):\n    x = x * x", "too large"),
        ("for i in range(10000000):\n    pass", "too long"),
        ("for i in range(100):\n    for j in range(100):\n        pass", "too long"),
        ("for i in a:\n    pass", "range"),
        ("for i in range(0, 4, 0):\n    pass", "must not be 0"),
        ("out[0.5] = 1", "whole number"),
        ("out[0:2] = 1", "whole number"),
        ("out[0, 1] = 1", "1 dimensions"),
        ("out = 1", "given"),
        ("x = y", "no y yet"),
        ("x = 1 / 0", "division by 0"),
        ("x = cuda.shared.array(100000, 1)", "at most 1024"),
        ("x = cuda.device", "no `cuda.device`"),
        ("break", "not inside a loop"),
        ("x = (", "not Python"),
        ("x = 1\n" * 1000, "characters"),
        ("x = " + "-" * 3000 + "1", "too deeply|can be read"),
        ("if cuda.syncthreads():\n    pass", "line of its own"),
    ],
)
def test_what_is_not_in_the_language_is_said_with_its_line(code, said) -> None:
    with pytest.raises(KernelError, match=said):
        launch(code)


def test_threads_find_their_place() -> None:
    code = "x, y = cuda.grid(2)\nout[y * 4 + x] = cuda.blockIdx.x * 10 + cuda.threadIdx.y"
    trace = launch(code, blocks=(2, 1), threads=(2, 2), size=8)
    assert out_of(trace) == [0, 0, 10, 10, 1, 1, 11, 11]
    place = Place((1, 2, 0), (3, 1, 0), (4, 5, 1), (8, 2, 1))
    assert (place.grid(1), place.grid(2), place.gridsize(2)) == (11, (11, 5), (32, 10))
    assert points(as_point((2, 2))) == [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]


# --- What may go wrong -----------------------------------------------------------------------


def test_out_of_bounds_is_said_in_the_words_of_the_catalogue() -> None:
    trace = launch("i = cuda.grid(1)\nout[i] = a[i]", blocks=2, size=6)
    assert trace["faults"][0]["text"] == (
        "Thread (2,0,0) of block (1,0,0) read a[6]; a has length 6. "
        "A real GPU returns an arbitrary number here."
    )
    written = launch("out[cuda.grid(1) + 1] = 1")
    assert "Thread (3,0,0) of block (0,0,0) wrote out[4]" in written["faults"][0]["text"]


SHARE = "cells = cuda.shared.array(4, 1)\ni = cuda.threadIdx.x\ncells[i] = a[i]\n"


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        (SHARE + "cuda.syncthreads()\nout[i] = cells[3 - i]", []),
        (SHARE + "out[i] = cells[i]", []),
        (SHARE + "out[i] = cells[max(i - 1, 0)]", ["race"]),
        (SHARE + "out[i] = cells[3 - i]", ["empty", "empty", "race"]),
        (SHARE + "if i < 2:\n    cuda.syncthreads()\nout[i] = i", ["barrier"]),
        (SHARE + "if i < 2:\n    cuda.syncthreads()\nelse:\n    cuda.syncthreads()", ["barrier"]),
        ("out[0] = cuda.grid(1)", ["race"]),
        ("out[0] = 0\ncuda.syncthreads()\nout[0] = 0", ["race"]),
        (
            "if cuda.grid(1) == 0:\n    out[0] = 0\ncuda.syncthreads()\ncuda.atomic.add(out, 0, 2)",
            [],
        ),
        ("i = cuda.grid(1)\nout[i] += 1", ["empty"] * 4),
    ],
)
def test_races_barriers_and_unwritten_memory_are_found(code, kinds) -> None:
    assert faults_of(launch(code)) == kinds


def test_blocks_race_through_global_memory_but_not_through_their_own() -> None:
    assert faults_of(launch("out[cuda.threadIdx.x] = 1", blocks=2)) == ["race"]
    shared = SHARE + "cuda.syncthreads()\nif cuda.blockIdx.x == 0:\n    out[i] = cells[3 - i]"
    assert faults_of(launch(shared, blocks=2)) == []


# --- Puzzles -----------------------------------------------------------------------------------


@pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda puzzle: puzzle.name)
def test_a_puzzle_has_a_solution_and_its_skeleton_is_none(puzzle) -> None:
    trace, wrong = puzzle.check(puzzle.solution)
    assert not wrong
    assert not trace["faults"]
    assert puzzle.check(puzzle.skeleton)[1]
    for block in blocks_of(trace):
        frames, captions = flip(trace, block)
        assert len(frames) == len(captions) > 0


@pytest.mark.parametrize("puzzle", PUZZLES[3:], ids=lambda puzzle: puzzle.name)
def test_a_puzzle_without_its_barriers_is_a_race(puzzle) -> None:
    code = puzzle.solution.replace("cuda.syncthreads()", "pass")
    assert "race" in faults_of(puzzle.check(code)[0])


# --- Drawing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "threads", "blocks"), [(10, 4, 3), (64, 8, 2), (1, 32, 1)])
def test_every_element_has_one_thread(size, threads, blocks) -> None:
    grid = Grid((size, 1), (threads, 1), (blocks, 1))
    covered = [x for pair in grid.everyone() for x, _ in grid.covers(*pair)]
    assert sorted(covered) == list(range(size))
    assert str(draw_grid(grid, "0,0,0,0")).count("data-id") == threads * blocks


def test_steps_are_taken_together_and_keep_each_threads_order() -> None:
    code = "i = cuda.grid(1)\nout[i] = a[i] if i < 2 else 0.0\ncuda.syncthreads()\nout[i] += 1"
    trace = launch(code)
    steps = steps_of(trace["events"])
    shape = [(step.kind, len(step.events)) for step in steps]
    assert shape == [("read", 2), ("write", 4), ("barrier", 1), ("read", 4), ("write", 4)]


# --- The library's kernels -----------------------------------------------------------------------


@pytest.mark.parametrize("kernel", cuda.KERNELS)
@pytest.mark.parametrize(("size", "threads"), [(4, 2), (5, 4)])
def test_the_kernels_of_the_library_are_right_and_clean(kernel, size, threads) -> None:
    answer = cuda.trace(kernel, size, threads)
    assert answer["wrong"] == []
    assert answer["faults"] == []
    assert answer["counts"]["global write"] == answer["outputs"]


def test_tiles_read_as_often_as_the_formula_says() -> None:
    size, side = 8, 4
    plain, tiled = (cuda.score(kernel, size, side) for kernel in ("naive", "tiled"))
    assert plain["counts"]["global read"] == 2 * size**3
    assert tiled["counts"]["global read"] == 2 * size**3 // side


def test_a_wrong_kernel_is_seen(monkeypatch) -> None:
    ops = cuda.kernels().cuda_ops

    def without_guard(out, a, size):
        cells = ops.cuda.shared.array(ops.PRACTICE_BLOCK, np.float64)
        i = ops.cuda.grid(1)
        cells[ops.cuda.threadIdx.x] = a[i]
        out[ops.cuda.blockIdx.x] = cells[0]

    monkeypatch.setattr(ops, "_sum_practice", without_guard)
    answer = cuda.trace("sum_practice", 6, 4)
    assert "read a[6]; a has length 6" in answer["faults"][0]["text"]
    assert {fault["kind"] for fault in answer["faults"]} == {"outside", "race"}
    assert answer["wrong"]
    assert count(answer)["shared write"] == 8


def test_an_open_kernel_and_an_error_come_through(monkeypatch) -> None:
    ops = cuda.kernels().cuda_ops

    def waits_and_fails(out, a, size):
        if ops.cuda.threadIdx.x == 1:
            raise NotImplementedError("Need to implement for Task 3.3")
        ops.cuda.syncthreads()

    monkeypatch.setattr(ops, "_sum_practice", waits_and_fails)
    before = threading.active_count()
    with pytest.raises(NotImplementedError, match=r"Task 3\.3"):
        cuda.trace("sum_practice", 6, 4)
    wait(lambda: threading.active_count() <= before)  # the thread at the barrier has gone home
