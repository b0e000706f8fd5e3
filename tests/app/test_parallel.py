"""The page of parallel loops: lanes, Numba's report in words, races, memory, speed."""

from __future__ import annotations

import textwrap
from typing import Any

import numba
import numpy as np
import pytest

import minitorch
from minitorch.app.diagnosis import in_words, read_report
from minitorch.app.drawings.lanes import draw_lanes, draw_race, share_out
from minitorch.app.inside import parallel

REPORT = textwrap.dedent("""\
    Parallel loop listing for  Function multiply, /somewhere/fast_ops.py (567)
    ------------------------------------------------------|loop #ID
    def multiply(out, a, b):                              |
        for task in prange(down * across):----------------| #5
            total = np.zeros((height + 3, width + 2))-----| #4
            out[task] = total[0, 0]                       |
    --------------------------------- Fusing loops ---------------------------------
    Following the attempted fusion of parallel for-loops there are 2 parallel for-
    loop(s) (originating from loops labelled: #5, #4).
    ---------------------------- Optimising loop nests -----------------------------
    +--5 is a parallel loop
       +--4 --> rewritten as a serial loop
    ------------------------------ After Optimisation ------------------------------
    Parallel region 0:
    +--5 (parallel)
       +--4 (serial)

    Parallel region 0 (loop #5) had 0 loop(s) fused and 1 loop(s) serialized as part
     of the larger parallel loop (#5).
    ---------------------------Loop invariant code motion---------------------------
    Allocation hoisting:
    The memory allocation derived from the instruction at
    /somewhere/fast_ops.py (593) is hoisted out of the parallel loop
    labelled #5 (it will be performed before the loop is executed and reused inside
    the loop):
       Allocation:: total = np.zeros((height + 3, width + 2))
        - numpy.empty() is used for the allocation.
    Instruction hoisting:
    loop #5:
      Has the following hoisted:
        $const1 = const(int, 3)
        $const2 = const(int, 2)
    """)


def test_a_report_in_words() -> None:
    found = read_report(REPORT)
    total = "total = np.zeros((height + 3, width + 2))"
    assert found.loops == {5: "for task in prange(down * across):", 4: total}
    assert (found.serial, found.fused, found.moved) == ({4}, 0, 2)
    assert found.hoisted == [(total, 5)]
    words = in_words(found)
    assert "prange(down * across):` runs in parallel" in words[0]
    assert "stands inside a parallel loop" in words[1]
    assert any("allocated once for each thread" in sentence for sentence in words)


def test_a_report_without_loops_and_one_with_a_fused_loop() -> None:
    assert "Nothing runs in parallel" in in_words(read_report("No parallel loops"))[0]
    text = (
        "  x = a + b----| #0, #1\nParallel region 0 (loop #0) had 1 loop(s)\n fused and 0 loop(s)"
    )
    words = in_words(read_report(text))
    assert "loop over an array" in words[0]
    assert "1 loop was joined" in words[1]


@pytest.mark.parametrize(("turns", "threads"), [(1, 4), (10, 4), (103, 3), (100_000, 8)])
def test_turns_are_shared_out_as_numpy_splits(turns, threads) -> None:
    parts = np.array_split(np.arange(turns), threads)
    assert [end - first for first, end in share_out(turns, threads)] == [len(p) for p in parts]
    assert f"{turns:,} elements" in str(draw_lanes(turns, threads, threads, "elements"))


def test_the_race_is_told_to_its_end() -> None:
    frames, captions = draw_race()
    assert len(frames) == len(captions)
    assert "by 1" in str(frames[-1])


# --- Lessons ---------------------------------------------------------------------------------


def test_limits_are_those_of_the_library() -> None:
    limits = parallel.limits()
    assert limits["PARALLEL_SIZE"] == minitorch.fast_ops.PARALLEL_SIZE
    assert limits["cores"] >= 1


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", ["map", "zip", "reduce", "matmul"])
def test_what_kernels_are_called_with(name, transposed) -> None:
    arguments, expected = parallel.CALLS[name](6, transposed)
    operands = [
        np.lib.stride_tricks.as_strided(storage, shape, 8 * strides)
        for storage, shape, strides in zip(
            *[iter(arguments[: len(arguments) // 3 * 3])] * 3, strict=True
        )
    ]
    compute: Any = {
        "map": np.negative,
        "zip": np.multiply,
        "reduce": lambda a: a.sum(1, keepdims=True),
        "matmul": np.matmul,
    }[name]
    assert operands[0].shape == expected.shape
    assert (compute(*operands[1:]) == expected).all()


def test_the_wrong_map_is_right_on_one_thread() -> None:
    arguments, expected = parallel.CALLS["shared"](3, True)
    parallel.wrong_map.py_func(*arguments)  # type: ignore[attr-defined]
    assert (arguments[0] == expected.ravel()).all()


def test_a_race_is_seen(monkeypatch) -> None:
    def racing(out, shape, strides, a, a_shape, a_strides):
        out[:] = -a.reshape(tuple(a_shape)).T.ravel()
        if numba.get_num_threads() > 1:
            out[:2] = 99

    before = numba.get_num_threads()
    monkeypatch.setattr(parallel, "kernel_of", lambda name: racing)
    parts = [part for part in parallel.race("map", 50, times=2) if "threads" in part]
    numba.set_num_threads(before)
    several = min(parallel.THREADS, numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    assert [part["threads"] for part in parts] == [1, 1, several, several]
    assert [part["wrong"] for part in parts][:2] == [0, 0]
    if several > 1:
        assert parts[-1]["wrong"] == 2
        assert np.argwhere(np.array(parts[-1]["where"])).tolist() == [[0, 0]]


def test_the_memory_of_a_product(monkeypatch) -> None:
    monkeypatch.setattr(minitorch, "FastOps", minitorch.SimpleOps)
    measured: dict[str, Any] = {}
    for part in parallel.memory(6, 20, 6):
        measured |= part
    assert measured["zip"] >= 8 * 6 * 20 * 6
    assert measured["fused"] > 0


def test_speed_measures_every_loop_in_every_way(monkeypatch) -> None:
    monkeypatch.setattr(parallel, "kernel_of", lambda name, on: lambda *args: None)
    monkeypatch.setattr(parallel, "_per_step", lambda call, steps: 1e9 / steps)
    parts = [part for part in parallel.speed(100, 8) if "kernel" in part]
    assert len(parts) == 16
    assert {part["how"] for part in parts} == {
        "plain",
        "fast, one core",
        "fast, all cores",
        "NumPy, one core",
    }
    assert all(part["nanoseconds"] > 0 for part in parts)
