"""The page of parallel loops: lanes, Numba's diagnosis, races, memory, speed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from minitorch.app.components import board, flipbook
from minitorch.app.diagnosis import in_words, read_report
from minitorch.app.drawings.bars import draw_bars
from minitorch.app.drawings.lanes import draw_lanes, draw_race
from minitorch.app.drawings.picture import ACCENT, BLUE, FAINT, GREEN, GREY, Picture
from minitorch.app.frame import View, begin, columns
from minitorch.app.library import Run
from minitorch.app.rooms import Room

PARTS = {
    "lanes": "Lanes",
    "diagnosis": "Diagnosis",
    "race": "Race",
    "memory": "Memory",
    "speed": "Speed",
}
KERNELS = {"map": "map", "zip": "zip", "reduce": "reduce", "matmul": "matrix product"}
SIZES = [1_000, 10_000, 30_000, 32_768, 50_000, 100_000, 1_000_000]
RACERS = {"shared": "A map that shares its index", **{k: f"The {w} of the library" for k, w in KERNELS.items()}}  # fmt: skip
WRONG_MAP = """out_index = np.zeros(len(out_shape), np.int32)   # one for all turns: wrong
for i in prange(len(out)):
    to_index(i, out_shape, out_index)
    position = index_to_position(out_index, in_strides)
    out[index_to_position(out_index, out_strides)] = fn(in_storage[position])
"""
HOWS = ("plain", "fast, one core", "fast, all cores", "NumPy, one core")


# --- Runs that take a while --------------------------------------------------------------------


def follow(view: View, name: str, draw: Callable[[Run, str], None]) -> None:
    """Draw a run while it goes on, and once more when it has ended."""
    run = view.run(name)
    if run is None:
        return
    if run.state != "running":
        _show_run(view, run, draw)
        return

    def show() -> None:
        _show_run(view, run, draw)
        if run.state == "running":
            st.caption(f":material/hourglass_top: {run.latest.get('stage', 'It starts.')}")
        else:
            st.rerun()

    st.fragment(show, run_every=0.5)()


def _show_run(view: View, run: Run, draw: Callable[[Run, str], None]) -> None:
    draw(run, view.name)
    if run.failure is not None:
        view.checked(run.failure)


def start_button(view: View, name: str, words: str, call: str, **args: Any) -> None:
    """A button that begins a run, or stops it."""
    run = view.run(name)
    if run is not None and run.state == "running":
        st.button("Stop", key=f"{name}-{view.name}-stop", on_click=run.stop)
    elif st.button(words, key=f"{name}-{view.name}-go", type="primary"):
        view.start(name, call, **args)
        st.rerun()


# --- Lanes ---------------------------------------------------------------------------------------


def show_lanes(room: Room) -> None:
    """Which turns of a loop each thread takes."""
    left, middle, right = st.columns(3)
    kernel = left.selectbox(
        "Loop", list(KERNELS), format_func=KERNELS.__getitem__, key="plkernel", bind="query-params"
    )
    if kernel == "matmul":
        size = middle.select_slider(
            "Rows and columns", [16, 48, 64, 128, 256, 512, 1024], 512, key="plside",
            bind="query-params",
        )  # fmt: skip
    else:
        size = middle.select_slider(
            "Elements", SIZES, 100_000, format_func=lambda n: f"{n:,}", key="plsize",
            bind="query-params",
        )  # fmt: skip
    threads = right.slider("Threads", 1, 8, 4, key="plthreads", bind="query-params")
    for view in columns(room):
        limits = view.ask("parallel.limits")
        if limits is not None:
            _draw_lanes(kernel, size, threads, limits)


def _draw_lanes(kernel: str, size: int, threads: int, limits: dict[str, int]) -> None:
    work, limit = size, limits["PARALLEL_SIZE"]
    turns, noun = size, "elements"
    if kernel == "reduce":
        turns, noun = -(-size // limits["CHUNK"]), f"chunks of {limits['CHUNK']:,} elements"
    if kernel == "matmul":
        work, limit = size**3, limits["PARALLEL_PRODUCTS"]
        down, across = -(-size // limits["BLOCK_ROWS"]), -(-size // limits["BLOCK_COLUMNS"])
        turns = down * across
        noun = f"blocks of {limits['BLOCK_ROWS']} x {limits['BLOCK_COLUMNS']} outputs"
    parallel = work >= limit
    working = min(threads, turns) if parallel else 1
    unit = "multiplications" if kernel == "matmul" else "elements"
    board(draw_lanes(turns, threads, working, noun), key="lanes")
    if parallel:
        st.markdown(
            f"**{work:,} {unit}** are at least the threshold of {limit:,}, so the loop runs on "
            f"**{working} thread{'s' if working != 1 else ''}**. Numba cuts its {turns:,} turns "
            f"into equal parts, one after the other in memory."
        )
    else:
        st.markdown(
            f"**{work:,} {unit}** are below the threshold of {limit:,}: **one thread**. Handing work "
            f"to threads takes a few microseconds, longer than the loop itself."
        )
    st.caption(f"This machine has {limits['cores']} core{'s' if limits['cores'] != 1 else ''}.")


# --- Diagnosis -----------------------------------------------------------------------------------


def show_diagnosis(room: Room) -> None:
    """What Numba made of a kernel, in words."""
    kernel = st.segmented_control(
        "Kernel", list(KERNELS), default="map", format_func=KERNELS.__getitem__, required=True,
        key="pdkernel", bind="query-params",
    )  # fmt: skip
    for view in columns(room):
        name = f"diagnosis-{kernel}"
        if view.run(name) is None:
            st.markdown("Numba compiles the kernel once more and reports what it did. This takes some seconds.")  # fmt: skip
        start_button(view, name, "Ask Numba", "parallel.diagnose", kernel=kernel)
        follow(view, name, _draw_diagnosis)


def _draw_diagnosis(run: Run, _name: str) -> None:
    text = run.latest.get("text")
    if text is None:
        return
    found = read_report(text)
    st.markdown("\n".join(f"- {sentence}" for sentence in in_words(found)))
    with st.expander("The report of Numba"):
        st.code(text, language=None)


# --- Race ------------------------------------------------------------------------------------------


def show_race(room: Room) -> None:
    """The same kernel on one thread and on four."""
    kernel = st.selectbox(
        "Kernel", list(RACERS), format_func=RACERS.__getitem__, key="prkernel", bind="query-params"
    )
    if kernel == "shared":
        st.code(WRONG_MAP, language="python")
        frames, captions = draw_race()
        flipbook(frames, key="race-story", captions=captions, seconds=2.0)
    size = 400 if kernel == "matmul" else 1500
    for view in columns(room):
        start_button(
            view, f"race-{kernel}", "Run with 1 and with 4 threads", "parallel.race",
            kernel=kernel, size=size, settings={"NUMBA_NUM_THREADS": "4"},
        )  # fmt: skip
        follow(view, f"race-{kernel}", _draw_race)


def _draw_race(run: Run, name: str) -> None:
    runs = [part for part in run.parts if "threads" in part]
    if not runs:
        return
    worst = {}
    for threads in sorted({part["threads"] for part in runs}):
        mine = [part for part in runs if part["threads"] == threads]
        worst[threads] = max(mine, key=lambda part: part["wrong"])
        counts = ", ".join(f"{part['wrong']:,}" for part in mine)
        words = f"{threads} thread{'s' if threads > 1 else ''}"
        st.markdown(f"**{words}**, {len(mine)} runs, wrong cells in each: {counts}")
    if run.state == "running" or len(worst) < 2:
        return
    _race_verdict(run.args["kernel"], worst)
    if any(part["wrong"] for part in worst.values()):
        board(_wrong_cells(worst), key=f"wrong-{name}")
        st.caption("Where cells were wrong in the worst run: red.")


def _race_verdict(kernel: str, worst: dict[int, dict[str, Any]]) -> None:
    alone, together = worst[min(worst)]["wrong"], worst[max(worst)]["wrong"]
    threads = max(worst)
    if alone:
        st.warning("This is wrong on one thread already: look for the mistake there first.")
    elif together:
        st.warning(
            f"Right with 1 thread, wrong with {threads}: the threads share something that each "
            f"should have for itself. Make `out_index` inside the `prange` loop."
        )
    elif kernel == "shared":
        st.info(
            "No cell was wrong this time. The race is still there: it shows only when two threads "
            "meet. Run it again."
        )
    else:
        st.success(f"Right in every cell, with 1 thread and with {threads}.")


def _wrong_cells(worst: dict[int, dict[str, Any]]) -> Picture:
    """Where the wrong cells lay, for each number of threads."""
    picture = Picture(470, 240, "Wrong cells")
    for place, (threads, part) in enumerate(sorted(worst.items())):
        x = 10 + place * 235
        share = np.array(part["where"])
        pixels = np.full((*share.shape, 3), 240, np.uint8)
        pixels[share > 0] = (220, 38, 38)
        picture.text(x + 100, 12, f"{threads} thread{'s' if threads > 1 else ''}", size=13)
        picture.image(x, 26, 205, 205, pixels)
        picture.box(x, 26, 205, 205, line=FAINT)
    return picture


# --- Memory ----------------------------------------------------------------------------------------


def show_memory(room: Room) -> None:
    """What a product needs: as zip and reduce, and fused."""
    left, middle, right = st.columns(3)
    options = [8, 16, 32, 64, 128, 256]
    rows = left.select_slider("Rows of a", options, 64, key="pmrows", bind="query-params")
    inner = middle.select_slider("Inner size", options, 64, key="pminner", bind="query-params")
    across = right.select_slider("Columns of b", options, 64, key="pmcolumns", bind="query-params")
    between, result = 8 * rows * inner * across, 8 * rows * across
    bars = [
        ("zip, then reduce: products and result", between + result, _bytes(between + result)),
        ("fused: the result alone", result, _bytes(result)),
    ]
    board(draw_bars(bars, "Memory of a product", (ACCENT, BLUE)), key="pmbars")
    st.markdown(
        f"`zip` writes all {rows} x {inner} x {across} = **{rows * inner * across:,} products** "
        f"before `reduce` adds them up: {inner} times as many numbers as the result has. The fused "
        f"loop keeps one sum at a time and writes only the result."
    )
    for view in columns(room):
        start_button(
            view, "memory", "Measure it", "parallel.memory", rows=rows, inner=inner, columns=across
        )
        follow(view, "memory", _draw_memory)


def _draw_memory(run: Run, name: str) -> None:
    measured = [
        (words, run.latest[key], _bytes(run.latest[key]))
        for key, words in (("zip", "measured: zip, then reduce"), ("fused", "measured: fused"))
        if key in run.latest
    ]
    if measured:
        shape = "{rows} x {inner} times {inner} x {columns}".format(**run.args)
        st.markdown(f"At its peak, a product of {shape} took")
        board(draw_bars(measured, "Measured memory", (ACCENT, BLUE)), key=f"pmm-{name}")
        st.caption("Arrays that Python made; what a kernel keeps for itself is small, and not counted.")  # fmt: skip


def _bytes(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000 or unit == "MB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return ""


# --- Speed -----------------------------------------------------------------------------------------


def show_speed(room: Room) -> None:
    """Every loop, plain and compiled, on one core and on all, beside NumPy."""
    left, right = st.columns(2)
    size = left.select_slider(
        "Elements", [10_000, 100_000, 1_000_000], 1_000_000, format_func=lambda n: f"{n:,}",
        key="pssize", bind="query-params",
    )  # fmt: skip
    side = right.select_slider("Side of the matrices", [64, 128, 256, 512], 256, key="psside", bind="query-params")  # fmt: skip
    st.markdown(
        "Time for one element, or for one multiplication of the product. The first time, the "
        "kernels must be compiled; that is not counted."
    )
    for view in columns(room):
        start_button(view, "speed", "Measure", "parallel.speed", size=size, side=side)
        follow(view, "speed", _draw_speed)


def _draw_speed(run: Run, name: str) -> None:
    times = {(p["kernel"], p["how"]): p["nanoseconds"] for p in run.parts if "kernel" in p}
    for kernel, words in KERNELS.items():
        mine = [(how, times[kernel, how]) for how in HOWS if (kernel, how) in times]
        if not mine:
            continue
        least = min(times.values())
        bars = [(how, 0.3 + math.log10(t / least), _nanoseconds(t)) for how, t in mine]
        st.markdown(f"**{words}**{_gain(dict(mine))}")
        board(
            draw_bars(bars, f"Time of {words}", (GREY, BLUE, GREEN, ACCENT)),
            key=f"ps-{name}-{kernel}",
        )
    if times:
        st.caption("The bars are logarithmic: each equal step to the right is the same factor.")


def _gain(times: dict[str, float]) -> str:
    fast = min((t for how, t in times.items() if how.startswith("fast")), default=None)
    if fast is None or "plain" not in times:
        return ""
    gain = float(f"{times['plain'] / fast:.2g}")
    return f": compiled, {gain:,.0f} times faster than plain"


def _nanoseconds(value: float) -> str:
    return f"{value:,.0f} ns" if value >= 100 else f"{value:.3g} ns"


room = begin("parallel")
part = st.segmented_control(
    "Show", list(PARTS), default="lanes", format_func=PARTS.__getitem__, required=True,
    key="ppart", bind="query-params", label_visibility="collapsed",
)  # fmt: skip
{
    "lanes": show_lanes,
    "diagnosis": show_diagnosis,
    "race": show_race,
    "memory": show_memory,
    "speed": show_speed,
}[part](room)
