"""The page of modules: the tree of an example, with a switch at every branch."""

from __future__ import annotations

from typing import Any

import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawing import ACCENT, FAINT, INK, SHADES, Picture
from minitorch.app.frame import begin, columns, show_difference

ROW, INDENT = 34, 36
NAMES = {"network": "Network of three layers", "nested": "Nested branches", "single": "One layer"}


def draw_tree(tree: dict[str, Any], chosen: str) -> Picture:
    """The tree as indented rows: a module is a box to click, a parameter a line of its own."""
    rows = list(_rows(tree, 0))
    picture = Picture(560, ROW * len(rows) + 10, "The tree of the module")
    for number, (depth, node, parameter) in enumerate(rows):
        x, y = 10 + depth * INDENT, 5 + number * ROW
        if depth:
            picture.line([(x - 18, y - ROW / 2 + 12), (x - 18, y + 14), (x, y + 14)], color=FAINT)
        if parameter:
            picture.circle(x + 8, y + 14, 5, SHADES[0], line=ACCENT)
            picture.text(x + 22, y + 14, parameter[0], anchor="start", mono=True, size=13)
            picture.text(x + 120, y + 14, f"= {parameter[1]:.1f}", anchor="start", size=13)
        else:
            lit = node["path"] == chosen
            fill = SHADES[2] if node["training"] else SHADES[5]
            picture.box(
                x, y, 250, 28, fill, line=ACCENT if lit else FAINT, thick=2.5 if lit else 1,
                round=5, id=node["path"] or "/",
            )  # fmt: skip
            mode = "train" if node["training"] else "eval"
            words = f"{node['name']}: {node['kind']}"
            picture.text(x + 10, y + 14, words, anchor="start", bold=True, color="#1f2937")
            picture.text(x + 240, y + 14, mode, anchor="end", color="#1f2937", size=12)
            count = f"{node['count']} parameter{'s' if node['count'] != 1 else ''}"
            picture.text(x + 262, y + 14, count, anchor="start", size=12, color=INK)
    return picture


def _rows(node: dict[str, Any], depth: int) -> Any:
    yield depth, node, None
    for parameter in node["parameters"].items():
        yield depth + 1, node, parameter
    for child in node["children"]:
        yield from _rows(child, depth + 1)


def order(mode: str) -> None:
    """Remember that a branch was switched."""
    st.session_state.orders = [*st.session_state.get("orders", []), (chosen_path(), mode)]


def chosen_path() -> str:
    """The module that was clicked last; the whole one before any click."""
    return st.session_state.get("chosen", "")


room = begin("modules")
example = st.segmented_control(
    "Example", list(NAMES), default="network", format_func=NAMES.__getitem__, required=True,
    key="example", bind="query-params", on_change=lambda: st.session_state.update(orders=[], chosen=""),
)  # fmt: skip
with st.container(horizontal=True, vertical_alignment="center"):
    st.markdown(f"Switch `{chosen_path() or 'the whole module'}` and all below it to")
    st.button("train", on_click=order, args=("train",), key="train")
    st.button("eval", on_click=order, args=("eval",), key="eval")

answers = []
for view in columns(room):
    answer = view.ask(
        "modules.describe", example=example, orders=st.session_state.get("orders", [])
    )
    answers.append(answer)
    if answer is None:
        continue
    clicked = board(draw_tree(answer["tree"], chosen_path()), key=f"tree-{view.name}-{example}")
    if clicked is not None and clicked.strip("/") != chosen_path():
        st.session_state.chosen = clicked.strip("/")
        st.rerun()
    st.caption("Click a module to choose it. Green is in training, grey is not.")
    st.markdown(f"`parameters()` gives **{answer['count']}**, `named_parameters()` these names:")
    st.dataframe({"name": answer["names"]}, hide_index=True, key=f"names-{view.name}", height=250)
show_difference(answers)
