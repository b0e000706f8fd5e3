"""The page of CUDA: the grid, a trace of the kernels, their score, and puzzles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from minitorch.app.components import board, flipbook
from minitorch.app.drawings.bars import draw_bars
from minitorch.app.drawings.picture import ACCENT, BLUE
from minitorch.app.drawings.threads import Grid, blocks_of, draw_grid, flip
from minitorch.app.frame import begin, columns
from minitorch.app.inside.threads import Trace, count, name_thread
from minitorch.app.kernel_code import KernelError
from minitorch.app.puzzles import PUZZLES, Puzzle
from minitorch.app.rooms import Room

PARTS = {"grid": "Grid", "trace": "Trace", "score": "Score", "puzzles": "Puzzles"}
KERNELS = {
    "flat_map": "flat_map: negate a row",
    "map": "tensor_map: negate a transposed matrix",
    "zip": "tensor_zip: add a row to a matrix",
    "sum_practice": "_sum_practice: sum in shared memory",
    "reduce": "tensor_reduce: sum the rows of a matrix",
    "mm_practice": "_mm_practice: a product in one block",
    "naive": "naive: a product from global memory",
    "tiled": "tiled: a product by tiles",
}
SQUARE = ("mm_practice", "naive", "tiled")
KINDS = ("outside", "race", "barrier", "empty")
LEGEND = (
    "Blue cells are read, orange ones written; a red thread is out of bounds. A small number in a "
    "cell is its position, ×4 says that four threads touch it at once, and ? that nothing has been "
    "written there."
)


# --- Grid --------------------------------------------------------------------------------------


def show_grid() -> None:
    """Blocks and threads for chosen sizes, and the arithmetic of one thread."""
    shape = st.segmented_control(
        "Elements", ["A row", "A matrix"], default="A row", required=True, key="gshape",
        bind="query-params", label_visibility="collapsed",
    )  # fmt: skip
    grid = _row_grid() if shape == "A row" else _matrix_grid()
    chosen = st.session_state.get("gchosen", "")
    known = {_id(*pair) for pair in grid.everyone()}
    if chosen not in known:
        chosen = _id(*list(grid.everyone())[-1])
    clicked = board(draw_grid(grid, chosen), key=f"grid-{grid}")
    if clicked and clicked in known and clicked != chosen:
        st.session_state.gchosen = clicked
        st.rerun()
    _explain_thread(grid, chosen)
    everyone, idle = len(known), grid.idle()
    st.markdown(
        f"**{everyone} threads** for **{grid.size[0] * grid.size[1]} elements**: {idle} "
        f"do{'es' if idle == 1 else ''} nothing ({idle / everyone:.0%}). Green threads show their "
        f"element; the grey ones lie past the end, and a guard must stop them."
    )
    st.caption("Click a thread to see its arithmetic.")


def _row_grid() -> Grid:
    left, middle, right = st.columns(3)
    size = left.slider("Size", 1, 64, 10, key="gsize", bind="query-params")
    threads = middle.select_slider(
        "Threads in a block", [1, 2, 4, 8, 16, 32], 4, key="gthreads", bind="query-params"
    )
    needed = -(-size // threads)
    fewer = right.slider(
        "Blocks fewer than needed", 0, 8, 0, key="gfewer", bind="query-params",
        help="With fewer blocks each thread takes several elements, in steps of the whole grid",
    )  # fmt: skip
    return Grid((size, 1), (threads, 1), (max(needed - fewer, 1), 1))


def _matrix_grid() -> Grid:
    left, middle, right = st.columns(3)
    rows = left.slider("Rows", 2, 10, 4, key="grows", bind="query-params")
    wide = middle.slider("Columns", 1, 10, 5, key="gcolumns", bind="query-params")
    side = right.select_slider("Side of a block", [1, 2, 3, 4], 3, key="gside", bind="query-params")
    return Grid((wide, rows), (side, side), (-(-wide // side), -(-rows // side)))


def _id(block: Sequence[int], thread: Sequence[int]) -> str:
    return ",".join(map(str, (*block, *thread)))


def _explain_thread(grid: Grid, chosen: str) -> None:
    bx, by, tx, ty = map(int, chosen.split(","))
    covered = grid.covers((bx, by), (tx, ty))
    x, y = bx * grid.threads[0] + tx, by * grid.threads[1] + ty
    who = name_thread((tx, ty, 0), (bx, by, 0)).capitalize()
    if grid.size[1] == 1:
        lines = [
            f"i = blockIdx.x * blockDim.x + threadIdx.x = {bx} * {grid.threads[0]} + {tx} = {x}"
        ]
        step = grid.blocks[0] * grid.threads[0]
        if len(covered) > 1:
            lines.append(f"then on in steps of gridDim.x * blockDim.x = {step}: "
                         + ", ".join(str(i) for i, _ in covered))  # fmt: skip
        verdict = (
            f"{x} < {grid.size[0]}: it works on element {x}" if covered
            else f"{x} >= {grid.size[0]}: past the end, so it must do nothing"
        )  # fmt: skip
    else:
        lines = [
            f"column = blockIdx.x * blockDim.x + threadIdx.x = {bx} * {grid.threads[0]} + {tx} = {x}",
            f"row    = blockIdx.y * blockDim.y + threadIdx.y = {by} * {grid.threads[1]} + {ty} = {y}",
        ]
        if covered:
            at = y * grid.size[0] + x
            verdict = f"position = row * {grid.size[0]} + column = {at}: it works on element {at}"
        else:
            past = (
                f"row {y} >= {grid.size[1]}"
                if y >= grid.size[1]
                else f"column {x} >= {grid.size[0]}"
            )
            verdict = f"{past}: outside the matrix, so it must do nothing"
    st.code("\n".join([f"{who}:", *lines, verdict]), language=None, wrap_lines=True)


# --- Trace -------------------------------------------------------------------------------------


def show_trace(room: Room) -> None:
    """What every thread of a kernel of the library reads and writes."""
    kernel = st.selectbox(
        "Kernel", list(KERNELS), format_func=KERNELS.__getitem__, key="kernel", bind="query-params"
    )
    left, right = st.columns(2)
    if kernel in SQUARE:
        size = left.slider("Rows and columns", 2, 5, 3, key="tside", bind="query-params")
        threads = right.select_slider(
            "Side of a block", [2, 3, 4], 2, key="tblock", bind="query-params"
        )
    else:
        size = left.slider("Numbers", 2, 24, 10, 2, key="tnumbers", bind="query-params")
        threads = right.select_slider(
            "Threads in a block", [2, 4, 8], 4, key="tthreads", bind="query-params"
        )
    for view in columns(room):
        answer = view.ask("cuda.trace", kernel=kernel, size=size, threads=threads)
        if answer is None:
            continue
        st.markdown(f"`{answer['launch']}`: {_counts(answer)}")
        verdict(answer["faults"], answer["wrong"], "The result is right in every cell.")
        show_flipbook(answer, f"trace-{view.name}-{kernel}-{size}-{threads}", view.name)


def _counts(trace: Trace) -> str:
    counts, outputs = trace["counts"], trace["outputs"]
    words = f"{counts['global read']} reads and {counts['global write']} writes of global memory"
    if counts["shared read"]:
        words += f", {counts['shared read']} and {counts['shared write']} of shared memory"
    return f"{words}, for {outputs} output{'s' if outputs != 1 else ''}."


def show_flipbook(trace: Trace, key: str, name: str) -> None:
    """One block at a time, step by step."""
    if not trace["events"]:
        st.info("No thread has read or written anything.")
        return
    blocks = blocks_of(trace)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {_point(block): block for block in blocks}
        block = blocks[0]
        if len(blocks) > 1:
            faulty = [_point(fault["block"]) for fault in trace["faults"]]
            chosen = st.select_slider(
                "Block", list(names), (faulty or list(names))[0], key=f"block-{key}", width=280
            )
            block = names[chosen]
        has_sizes = any(array["space"] == "sizes" for array in trace["arrays"])
        sizes = has_sizes and st.toggle("Show shapes and strides", key=f"sizes-{name}")
    frames, captions = flip(trace, block, sizes=sizes)
    if frames:
        flipbook(frames, key=f"{key}-{block}-{sizes}", captions=captions, seconds=0.9)
        st.caption(LEGEND)
    else:
        st.info("The threads of this block read and write nothing.")


def _point(point: Sequence[int]) -> str:
    return f"({','.join(map(str, point))})"


def verdict(faults: list[dict[str, Any]], wrong: list[str], success: str) -> None:
    """What went wrong, one sentence of each kind, or that nothing did."""
    for kind in KINDS:
        texts = [fault["text"] for fault in faults if fault["kind"] == kind]
        if texts:
            more = f" ({len(texts) - 1} more like this.)" if len(texts) > 1 else ""
            st.warning(texts[0] + more, icon=":material/report:")
    for text in wrong:
        st.warning(text, icon=":material/close:")
    if not faults and not wrong:
        st.success(success, icon=":material/check:")


# --- Score ---------------------------------------------------------------------------------------


def show_score(room: Room) -> None:
    """Reads of global memory for each output: plain against tiled."""
    left, right = st.columns(2)
    size = left.slider("Rows and columns", 2, 8, 8, key="ssize", bind="query-params")
    side = right.select_slider("Side of a tile", [2, 4], 4, key="sside", bind="query-params")
    for view in columns(room):
        rows = []
        for kernel, words in (("naive", "plain product"), ("tiled", f"tiles of {side} x {side}")):
            answer = view.ask("cuda.score", kernel=kernel, size=size, side=side)
            if answer is None:
                continue
            rows.append((words, answer))
            if not answer["right"] or answer["faults"]:
                st.warning(f"The {words} is not right yet; the trace shows where.")
        if rows:
            _draw_score(rows, view.name)
    st.markdown(
        f"The plain product reads a row of `a` and a column of `b` for every output: 2 x {size} = "
        f"{2 * size} numbers. In tiles, {side} threads share every number that is read: "
        f"2 x {-(-size // side) * side} / {side} or fewer. Global memory is many times slower "
        f"than shared memory: on a GPU these reads decide how fast a product is."
    )


def _draw_score(rows: list[tuple[str, dict[str, Any]]], name: str) -> None:
    def each(answer: dict[str, Any], kind: str) -> float:
        return answer["counts"][kind] / answer["outputs"]

    st.markdown("**Reads of global memory for each output**")
    bars = [(words, each(a, "global read"), f"{each(a, 'global read'):.3g}") for words, a in rows]
    board(draw_bars(bars, "Reads for each output", (ACCENT, BLUE)), key=f"score-{name}")
    st.dataframe(
        {
            "product": [words for words, _ in rows],
            **{
                f"{space} {kind}s": [each(a, f"{space} {kind}") for _, a in rows]
                for space in ("global", "shared")
                for kind in ("read", "write")
            },
        },
        hide_index=True,
        column_config={
            f"{space} {kind}s": st.column_config.NumberColumn(format="%.3g")
            for space in ("global", "shared")
            for kind in ("read", "write")
        },
    )


# --- Puzzles ---------------------------------------------------------------------------------------


def show_puzzles() -> None:
    """Write what one thread does."""
    names = [f"{number}. {puzzle.name}" for number, puzzle in enumerate(PUZZLES, 1)]
    chosen = st.selectbox("Puzzle", names, key="puzzle", bind="query-params")
    puzzle = PUZZLES[names.index(chosen)]
    st.markdown(f"{puzzle.task}\n\n{puzzle.given}")
    st.html("<style>textarea { font-family: var(--st-code-font, monospace) !important; }</style>")
    text = st.text_area(
        "What one thread does",
        puzzle.skeleton,
        height=26 * (puzzle.skeleton.count("\n") + 4),
        key=f"answer-{puzzle.name}",
        help="Assignments, if, for ... in range(...), arithmetic and cuda; it is read, not executed",
    )
    with st.container(horizontal=True):
        st.button("Run it", key="prun", type="primary")
        st.button("Show a solution", key="psolution", on_click=_solve, args=(puzzle,))
        st.button("Start again", key="pagain", on_click=_start_again, args=(puzzle,))
    with st.expander("A hint"):
        st.markdown(puzzle.hint)
    _check(puzzle, text)


def _solve(puzzle: Puzzle) -> None:
    st.session_state[f"answer-{puzzle.name}"] = puzzle.solution


def _start_again(puzzle: Puzzle) -> None:
    st.session_state[f"answer-{puzzle.name}"] = puzzle.skeleton


def _check(puzzle: Puzzle, text: str) -> None:
    if text.strip() == puzzle.skeleton.strip():
        st.info("Write your lines in place of the comment, then run it.")
        return
    try:
        trace, wrong = puzzle.check(text)
    except KernelError as error:
        st.warning(str(error), icon=":material/edit:")
        return
    counts = count(trace)
    verdict(
        trace["faults"], wrong,
        f"Solved. {counts['global read']} reads and {counts['global write']} writes of global "
        f"memory.",
    )  # fmt: skip
    show_flipbook(trace, f"puzzle-{puzzle.name}-{hash(text)}", "puzzle")


room = begin("cuda")
part = st.segmented_control(
    "Show", list(PARTS), default="grid", format_func=PARTS.__getitem__, required=True, key="part",
    bind="query-params", label_visibility="collapsed",
)  # fmt: skip
if part == "grid":
    show_grid()
elif part == "trace":
    show_trace(room)
elif part == "score":
    show_score(room)
else:
    show_puzzles()
