"""The page of modules: the tree of an example, with a switch at every branch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings.picture import ACCENT, FAINT, INK, SHADES, Picture
from minitorch.app.frame import View, begin, columns, show_difference, views, workspace
from minitorch.syntax import literal

ROW, INDENT, WIDE = 34, 36, 230
EXAMPLES = {
    "network": "Network of three layers",
    "nested": "Nested branches",
    "single": "One layer",
}
OWN = "A module of yours"
SAMPLE = """import minitorch


class Mine(minitorch.Module):
    def __init__(self, size=2):
        super().__init__()
        self.scale = minitorch.Parameter(0.5)
        self.parts = Part(size)


class Part(minitorch.Module):
    def __init__(self, size):
        super().__init__()
        for number in range(size):
            self.add_parameter(f"weight{number}", 0.0)
"""
Node = dict[str, Any]


# --- The picture ------------------------------------------------------------------------------


def draw_tree(tree: Node, counts: dict[str, int] | None, chosen: str) -> Picture:
    """The tree as indented rows: a module is a box, a parameter a line of its own; click either."""
    rows = list(_rows(tree, 0))
    deepest = max(depth for depth, _, _ in rows)
    picture = Picture(10 + deepest * INDENT + WIDE + 110, ROW * len(rows) + 10, "The module's tree")
    _draw_branches(picture, rows)
    for number, (depth, node, parameter) in enumerate(rows):
        x, y = 10 + depth * INDENT, 5 + number * ROW
        if parameter:
            _draw_parameter(picture, x, y, node, parameter, chosen)
        else:
            _draw_module(picture, x, y, node, counts, chosen)
    return picture


def _rows(node: Node, depth: int) -> Iterator[tuple[int, Node, Any]]:
    yield depth, node, None
    for parameter in node["parameters"].items():
        yield depth + 1, node, parameter
    for child in node["children"]:
        yield from _rows(child, depth + 1)


def _draw_branches(picture: Picture, rows: list[tuple[int, Node, Any]]) -> None:
    """A line from each row to the module it belongs to, the nearest above that is one less deep."""
    for number, (depth, _, _) in enumerate(rows):
        if depth:
            parent = max(above for above in range(number) if rows[above][0] == depth - 1)
            x, top, y = 10 + depth * INDENT - 18, 33 + parent * ROW, 19 + number * ROW
            picture.line([(x, top), (x, y), (x + 18, y)], color=FAINT)


def _draw_parameter(
    picture: Picture, x: float, y: float, node: Node, parameter: tuple[str, Any], chosen: str
) -> None:
    name, value = parameter
    path = join(node["path"], name)
    lit = path == chosen
    picture.circle(x + 8, y + 14, 6, SHADES[0], line=ACCENT, thick=3 if lit else 1)
    picture.text(x + 22, y + 14, name, anchor="start", mono=True, size=13, bold=lit)
    shown = value if isinstance(value, str) else f"{value:.1f}"
    picture.text(x + 120, y + 14, f"= {shown}", anchor="start", size=13)
    words = f"parameter {path}: {shown}"
    picture.box(x, y, 180, 28, "transparent", line="none", id=path, tip=words)


def _draw_module(
    picture: Picture, x: float, y: float, node: Node, counts: dict[str, int] | None, chosen: str
) -> None:
    on_the_way = chosen == node["path"] or f"{chosen}.".startswith(f"{node['path']}.")
    lit = on_the_way or not node["path"]
    fill = SHADES[2] if node["training"] else SHADES[5]
    picture.box(
        x, y, WIDE, 28, fill, line=ACCENT if lit else FAINT, thick=2.5 if lit else 1, round=5,
        id=node["path"] or "/", tip=f"module {node['path'] or node['name']}",
    )  # fmt: skip
    mode = "train" if node["training"] else "eval"
    words = f"{node['name']}: {node['kind']}"
    picture.text(x + 10, y + 14, words, anchor="start", bold=True, color="#1f2937")
    picture.text(x + WIDE - 10, y + 14, mode, anchor="end", color="#1f2937", size=12)
    if counts is not None:
        number = counts[node["path"]]
        count = f"{number} parameter{'s' if number != 1 else ''}"
        picture.text(x + WIDE + 12, y + 14, count, anchor="start", size=12, color=INK)


def join(path: str, name: str) -> str:
    """The name of a part of a module."""
    return f"{path}.{name}".lstrip(".")


# --- What was chosen ---------------------------------------------------------------------------


def chosen_path() -> str:
    """The module or parameter that was clicked last; the whole module before any click."""
    return st.session_state.get("mchosen", "")


def start_over() -> None:
    """Another example: nothing is chosen, nothing switched."""
    st.session_state.update(morders=[], mchosen="", mmodule="")


def switch(mode: str) -> None:
    """Remember that a branch was switched."""
    path = st.session_state.get("mmodule", "")
    st.session_state.morders = [*st.session_state.get("morders", []), (path, mode)]


def choose(path: str, tree: Node) -> None:
    """Remember what was clicked, and the module that it is or belongs to."""
    modules = {node["path"] for _, node, parameter in _rows(tree, 0) if parameter is None}
    module = path if path in modules else path.rpartition(".")[0]
    st.session_state.update(mchosen=path, mmodule=module)


def tell_way(path: str, tree: Node) -> str:
    """How a name comes about: the branches from the top, then the parameter."""
    modules = {node["path"] for _, node, parameter in _rows(tree, 0) if parameter is None}
    if not path:
        return "Click a module or a parameter to see the way that leads to it."
    steps = ", then ".join(f"`{step}`" for step in path.split("."))
    what = "module" if path in modules else "parameter"
    return f"The {what} **{path}**: from the top {steps}."


# --- The page -----------------------------------------------------------------------------------


def show_view(view: View) -> dict[str, Any] | None:
    """The tree, the names and the counts of one library, as far as it is written."""
    orders = st.session_state.get("morders", [])
    tree = view.ask("modules.tree", example=example, orders=orders, own=own)
    if tree is None:
        return None
    alone = len(views(room)) == 1
    left, right = st.columns([3, 2], gap="medium") if alone else (st.container(), st.container())
    with right:
        names = view.ask("modules.names", example=example, own=own)
        counts = None if names is None else view.ask("modules.counts", example=example, own=own)
        if names is not None:
            show_names(view, names, counts)
    with left:
        st.markdown(tell_way(chosen_path(), tree))
        picture = draw_tree(tree, counts, chosen_path())
        clicked = board(picture, key=f"tree-{view.name}-{example}")
        if clicked is not None and clicked != st.session_state.get(f"mclicked-{view.name}"):
            st.session_state[f"mclicked-{view.name}"] = clicked
            choose(clicked.strip("/"), tree)
            st.rerun()
        st.caption("Green is in training, grey is not.")
    return {"tree": tree, "named_parameters": names, "number of parameters": counts}


def show_names(view: View, names: list[Any], counts: dict[str, int] | None) -> None:
    """What `named_parameters` and `parameters` give."""
    st.markdown(f"`named_parameters()` gives {len(names)} names and values, in this order:")
    rows = {"name": [name for name, _ in names], "value": [value for _, value in names]}
    st.dataframe(
        rows, hide_index=True, key=f"names-{view.name}", height=min(38 + 35 * len(names), 460)
    )
    if counts is not None:
        st.markdown(f"`parameters()` gives **{counts['']}**.")
    if names:
        longest = max((name for name, _ in names), key=lambda name: name.count("."))
        st.caption(f"The longest way has {longest.count('.') + 1} steps: `{longest}`.")


def ask_own() -> dict[str, Any] | None:
    """A file of the workspace, a class in it and its arguments; None with a word about what lacks."""
    at = workspace()
    if at is None:
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        file = st.text_input(
            "File in your workspace", "my_module.py", key="mfile", bind="query-params"
        )
        path = (at.root / (file or "")).resolve()
        if not path.is_file() or not path.is_relative_to(at.root.resolve()):
            st.info(f"There is no `{file}` in {at.root}. It could begin like this:")
            st.code(SAMPLE, language="python")
            return None
        classes = views(room)[0].ask("modules.own_classes", file=str(path))
        if not classes:
            if classes is not None:
                st.warning(f"`{file}` has no class that is a `minitorch.Module`.")
            return None
        name = st.selectbox("Class", classes, key="mclass", on_change=start_over)
        text = st.text_input(
            "Arguments", "", key="marguments", bind="query-params", placeholder="none",
            help="What it is made with, such as 2, 3",
        )  # fmt: skip
    try:
        arguments = literal(f"[{text or ''}]")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        st.warning("Arguments are numbers, texts and lists with commas between them, such as 2, 3.")
        return None
    return {"file": str(path), "name": name, "arguments": arguments}


room = begin("modules")
offered = {**EXAMPLES, "own": OWN} if workspace() else EXAMPLES
example = st.segmented_control(
    "Example", list(offered), default="network", format_func=offered.__getitem__, required=True,
    key="example", bind="query-params", on_change=start_over,
)  # fmt: skip
own = ask_own() if example == "own" else None
if example == "own" and own is None:
    st.stop()
with st.container(horizontal=True, vertical_alignment="center"):
    module = st.session_state.get("mmodule", "")
    st.markdown(
        f"Switch {f'`{module}`' if module else 'the whole module'} and all below it to",
        width="content",
    )
    st.button("train", on_click=switch, args=("train",), key="mtrain")
    st.button("eval", on_click=switch, args=("eval",), key="meval")
answers = [show_view(view) for view in columns(room)]
show_difference(answers)
