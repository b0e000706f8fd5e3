"""The page of map, zip and reduce: the loops, step by step, as the library runs them."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np
import streamlit as st

from minitorch.app.components import board, flipbook
from minitorch.app.drawings import visits
from minitorch.app.drawings.grids import Index, ShapeError, read_numbers, read_shape
from minitorch.app.frame import begin, columns, show_difference, views
from minitorch.app.inside.operations import MAP, REDUCE, ZIP

FUNCTIONS = {"map": list(MAP), "zip": list(ZIP), "reduce": list(REDUCE)}
WORDS = {
    "map": "`tensor_map` applies a function to every cell: one read, one call, one write a step.",
    "zip": "`tensor_zip` pairs the cells of two tensors; what is copied is read again and again.",
    "reduce": "`tensor_reduce` reduces one dimension: all its cells are combined into one cell of the result.",
}
MOST = 24


def ask() -> dict[str, Any] | None:
    """Which loop on which tensors; None, with a word about it, where they cannot be read."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.segmented_control(
            "Loop", list(FUNCTIONS), default="map", required=True, key="okind", bind="query-params"
        )
        function = st.selectbox(
            "Function", FUNCTIONS[kind], key=f"of{kind}", bind="query-params", width=150
        )
        text = st.text_input("Shape of a", "2, 3", key="oshape", bind="query-params", width=130)
        try:
            shape = read_shape(text or "", MOST, 3)
            orders = [str(order) for order in itertools.permutations(range(len(shape)))]
            chosen = st.selectbox("Permute a", orders, key="oorder", bind="query-params", width=150)
            order = read_numbers(chosen or orders[0])
            seen = tuple(shape[d] for d in order)
            asked = {"kind": kind, "function": function, "shape": shape, "order": order}
            return asked | ask_more(kind, seen)
        except ShapeError as error:
            st.warning(f"{error}.")
            return None


def ask_more(kind: str, shape: Index) -> dict[str, Any]:
    """What only one of the loops needs: a second tensor, or a dimension."""
    if kind == "zip":
        text = st.text_input(
            "Shape of b", "", key="osecond", bind="query-params", width=130,
            placeholder=f"{shape[-1]}", help="Left empty, b is as long as the last dimension of a",
        )  # fmt: skip
        second = read_shape(text or f"{shape[-1]}", MOST, 3)
        try:
            result = np.broadcast_shapes(shape, second)
        except ValueError:
            raise ShapeError(f"{shape} and {second} do not broadcast together") from None
        if prod(result) > MOST:
            raise ShapeError(f"the result {result} has {prod(result)} cells: up to {MOST} fit here")
        return {"second": second}
    if kind == "reduce":
        dims = list(range(len(shape)))
        dim = st.segmented_control(
            "Dimension", dims, default=0, required=True, key="odim", bind="query-params"
        )
        return {"dim": dim}
    return {}


def show_loop(answer: dict[str, Any], function: str, key: str, wide: bool) -> None:
    """The flip book, what is wrong with the loop, and the order of all its visits."""
    left, right = st.columns([3, 2], gap="large") if wide else (st.container(), st.container())
    with left:
        pictures, captions = visits.frames(answer, function)
        flipbook(pictures, key=f"oflip-{key}", captions=captions, seconds=0.9)
        st.caption("Blue is read, orange is written, green was written before.")
    with right:
        for line in visits.faults(answer):
            st.warning(line, icon=":material/priority_high:")
        count = len(visits.steps(answer["events"]))
        reads = sum(event[0] == "read" for event in answer["events"])
        writes = sum(event[0] == "write" for event in answer["events"])
        st.markdown(
            f"##### The order of the visits\n{count} steps: {reads} reads, {writes} writes."
        )
        board(visits.draw_order(answer), key=f"oorder-{key}", least=330)


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """What one library's loop gave and where it went, by words that say what it is."""
    cells = {
        f"out{list(index)}": answer["out"][place]
        for place, index in visits.cells(answer["tensors"]["out"]).items()
    }
    visited = [f"{what} {name}[{at}]" for what, name, at, *_ in answer["events"] if what != "call"]
    return {"result": cells, "visits": dict(enumerate(visited, 1))}


room = begin("operations")
asked = ask()
if asked is not None:
    kind = asked.pop("kind")
    st.markdown(WORDS[kind])
    answers = []
    for view in columns(room):
        answer = view.ask(f"operations.run_{kind}", **asked)
        answers.append(answer and comparable(answer))
        if answer is not None:
            show_loop(answer, asked["function"], f"{view.name}-{kind}", len(views(room)) == 1)
    show_difference(answers)
