"""The page of tensors: cells, strides, and the one row of numbers that they all lie in."""

from __future__ import annotations

import itertools
from typing import Any

import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings.grids import (
    DARK,
    Index,
    ShapeError,
    cube_size,
    draw_cube,
    grid,
    indices,
    read_list,
    read_numbers,
    read_shape,
)
from minitorch.app.drawings.picture import ACCENT, FAINT, GREY, INK, SHADES, Picture, shorten
from minitorch.app.frame import View, begin, columns, show_difference, views

PER_ROW, CELL, SLOT = 12, 44, 40


# --- What is asked for ------------------------------------------------------------------------------


def ask() -> dict[str, Any] | None:
    """Shape, order, copy and view; None, with a word about it, where they cannot be read."""
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    own = ask_own()
    try:
        shape = read_shape(
            first.text_input(
                "Shape", "3, 4", key="tshape", bind="query-params", on_change=forget,
                help="1 to 4 dimensions, up to 64 cells",
            )
            or ""
        )  # fmt: skip
        orders = [str(order) for order in itertools.permutations(range(len(shape)))]
        order = second.selectbox(
            "Permute", orders, key="torder", bind="query-params", on_change=forget,
            help="The dimensions in another order",
        )  # fmt: skip
        view = fourth.text_input(
            "Then view as", "", key="tview", bind="query-params", on_change=forget,
            placeholder="as it is",
        )  # fmt: skip
        contiguous = third.toggle(
            "Then contiguous()", key="tcopy", bind="query-params", on_change=forget
        )
        asked = {
            "shape": shape,
            "order": read_numbers(order or orders[0]),
            "contiguous": contiguous,
        }
        return asked | {"view": read_shape(view) if view else ()} | read_own(*own)
    except ShapeError as error:
        st.warning(f"{error}.")
        return None


def ask_own() -> tuple[str, str]:
    """The numbers and strides that a user typed."""
    with st.popover("Your own numbers and strides"):
        numbers = st.text_input(
            "Numbers of the storage", "", key="tnumbers", bind="query-params", on_change=forget,
            placeholder="10, 11, 12, …", help="One for each cell, with commas between",
        )  # fmt: skip
        strides = st.text_input(
            "Strides", "", key="tstrides", bind="query-params", on_change=forget,
            placeholder="contiguous", help="How far one step in each dimension goes in the storage",
        )  # fmt: skip
    return numbers or "", strides or ""


def read_own(numbers: str, strides: str) -> dict[str, Any]:
    """The same as lists, None where nothing was typed; ShapeError says what cannot be read."""
    return {
        "numbers": read_list(numbers) if numbers.strip() else None,
        "strides": read_numbers(strides, "a list of strides") if strides.strip() else None,
    }


def forget() -> None:
    """Another tensor: no cell is chosen."""
    st.session_state.ti = ""
    retype()


def retype() -> None:
    """An index was typed: clicks before no longer count."""
    st.session_state.tturn = st.session_state.get("tturn", 0) + 1


def ask_index() -> Index | None:
    """The index that was typed or clicked, if any; ShapeError if it is none."""
    if "tpending" in st.session_state:
        st.session_state.ti = st.session_state.pop("tpending")
    text = st.text_input(
        "Index", "", key="ti", bind="query-params", on_change=retype, width=260,
        placeholder="type one, or click a cell",
        help="Try one that is out of range, too",
    )  # fmt: skip
    return read_numbers(text, "an index") if text else None


# --- The picture ---------------------------------------------------------------------------------------


def draw(
    last: dict[str, Any],
    storage: list[float],
    places: dict[Index, int],
    index: Index | None,
    cube: bool,
) -> Picture:
    """The cells of the tensor over its storage; the chosen cell lit in both, and joined."""
    shape = tuple(last["shape"])
    cells = grid(shape, CELL)
    wide, high = cube_size(shape, 58) if cube else (cells.width, cells.height)
    rows = -(-len(storage) // PER_ROW)
    below = 24 + high + 56
    picture = Picture(
        max(wide, SLOT * min(PER_ROW, len(storage)), 330) + 20, below + rows * (SLOT + 20) + 6,
        "The cells of the tensor and their places in the storage",
    )  # fmt: skip
    picture.text(4, 10, f"The tensor, shape {shape}", anchor="start", size=13, bold=True)
    picture.text(4, below - 18, "Its storage", anchor="start", size=13, bold=True)
    shades = {index: SHADES[index[0] % len(SHADES)] for index in indices(shape)}
    lit = [index] if index in places else []

    def value(at: Index) -> str:
        return shorten(storage[places[at]]) if 0 <= places[at] < len(storage) else "?"

    def name(at: Index) -> str:
        return f"i:{','.join(map(str, at))}"

    if cube:
        draw_cube(picture, 6, 28, shape, 58, value, fill=shades.__getitem__, id=name, lit=lit)
    else:
        cells.draw(picture, 6, 26, value, fill=shades.__getitem__, id=name, lit=lit)
    owners: dict[int, list[Index]] = {}
    for at, place in places.items():
        owners.setdefault(place, []).append(at)
    for place, number in enumerate(storage):
        x, y = _slot(place, below)
        mine = owners.get(place, [])
        shade = shades[mine[0]] if mine else "none"
        picture.box(
            x,
            y,
            SLOT,
            SLOT,
            shade,
            line=FAINT,
            id=f"s:{place}",
            tip=f"position {place} of the storage: {shorten(number)}",
        )
        picture.text(x + SLOT / 2, y + SLOT / 2, shorten(number), color=DARK if mine else INK)
        picture.text(x + SLOT / 2, y + SLOT + 8, place, size=10, color=GREY)
    if lit and 0 <= places[lit[0]] < len(storage):
        x, y = _slot(places[lit[0]], below)
        picture.box(x, y, SLOT, SLOT, line=ACCENT, thick=3)
        if not cube:
            left, top = cells.at(lit[0])
            start = (6 + left + CELL / 2, 26 + top + CELL)
            picture.line([start, (x + SLOT / 2, y)], color=ACCENT, dash="5 4", arrow=True)
    return picture


def _slot(place: int, below: float) -> tuple[float, float]:
    return 6 + (place % PER_ROW) * SLOT, below + (place // PER_ROW) * (SLOT + 20)


# --- What is said ----------------------------------------------------------------------------------------


def show_stages(found: list[dict[str, Any]]) -> None:
    """A line for each step, and what the last one did."""
    lines = ["| step | shape | strides | |", "|---|---|---|---|"]
    for stage in found:
        if "problem" not in stage:
            kept = "" if stage is found[0] else ", copied" if stage["copied"] else ", same storage"
            lines.append(
                f"| `{stage['name']}` | {tuple(stage['shape'])} | {tuple(stage['strides'])} | "
                f"{'contiguous' if stage['contiguous'] else 'not contiguous'}{kept} |"
            )
    st.markdown("\n".join(lines))
    if "problem" in found[-1]:
        before = " The picture shows the tensor before it." if len(found) > 1 else ""
        st.warning(f"`{found[-1]['name']}` is not possible: {found[-1]['problem']}.{before}")


def explain_index(
    view: View,
    last: dict[str, Any],
    storage: list[float],
    index: Index,
    places: dict[Index, int],
) -> None:
    """The way from an index to its position, or why there is none."""
    shape, strides = tuple(last["shape"]), tuple(last["strides"])
    if len(index) != len(shape):
        st.warning(
            f"The index {index} has {len(index)} entries, and shape {shape} has {len(shape)} "
            "dimensions: an index needs one entry for each."
        )
        return
    products = [i * s for i, s in zip(index, strides, strict=True)]
    words = " + ".join(f"{i} × {s}" for i, s in zip(index, strides, strict=True))
    added = f" = {' + '.join(map(str, products))}" if len(index) > 1 else ""
    wrong = [d for d, (i, size) in enumerate(zip(index, shape, strict=True)) if not 0 <= i < size]
    if not wrong:
        got = places[index]
        number = shorten(storage[got]) if 0 <= got < len(storage) else "outside the storage"
        given = "" if got == sum(products) else f"; `index_to_position` gives **{got}**"
        st.markdown(
            f"##### Index {index} lies at position {got}\n"
            f"{words}{added} = **{sum(products)}**{given}\n\n"
            f"Each entry times the stride of its dimension, then the sum: from one cell to the "
            f"next in dimension d it is strides[d] places in the storage. The number there is "
            f"**{number}**."
        )
        return
    d = wrong[0]
    landed = sum(products)
    inside = 0 <= landed < len(storage)
    st.warning(
        f"The index {index} is out of range: dimension {d} has size {shape[d]}, so its entries run "
        f"from 0 to {shape[d] - 1}, and {index[d]} is not among them."
    )
    st.markdown(
        f"The strides alone would not notice: {words} = {landed} is "
        + (
            f"a place in the storage, that of another cell (number {shorten(storage[landed])})."
            if inside
            else f"outside the storage, whose places run from 0 to {len(storage) - 1}."
        )
    )
    said = view.ask("tensors.look_up", shape=list(shape), strides=list(strides), index=list(index))
    if said and said["refusal"]:
        st.caption(f"The tensor refuses it: “{said['refusal']}”")


def show_mistakes(last: dict[str, Any], places: dict[Index, int]) -> None:
    """Cells that the library looks for in the wrong place."""
    strides = last["strides"]
    wrong = [
        (index, sum(i * s for i, s in zip(index, strides, strict=True)), place)
        for index, place in places.items()
        if place != sum(i * s for i, s in zip(index, strides, strict=True))
    ]
    if wrong:
        index, right, got = wrong[0]
        st.warning(
            f"`index_to_position` looks in the wrong place for {len(wrong)} of {len(places)} cells: "
            f"for index {index} with strides {tuple(strides)} it gives {got}, not {right}."
        )


def show_counting(view: View, shape: Index) -> list[Any] | None:
    """The order in which `to_index` counts."""
    counted = view.ask("tensors.counting", shape=list(shape))
    if counted is None:
        return None
    right = [list(index) for index in indices(shape)]
    bad = [n for n, (got, want) in enumerate(zip(counted, right, strict=True)) if got != want]
    if bad:
        n = bad[0]
        st.warning(
            f"`to_index` counts differently: ordinal {n} gives {tuple(counted[n])}, and the last "
            f"dimension counting fastest it is {tuple(right[n])}. "
            + (
                "Some cells are met twice, others never."
                if len(set(map(tuple, counted))) < len(right)
                else ""
            )
        )
    with st.expander("Counting through the cells with `to_index`"):
        words = [f"{n} → {tuple(index)}" for n, index in enumerate(counted)]
        st.code(
            "\n".join("   ".join(words[i : i + 4]) for i in range(0, len(words), 4)), language=None
        )
    return counted


def show_tensor(
    view: View, answer: dict[str, Any], index: Index | None, cube: bool, wide: bool
) -> dict[str, Any] | None:
    """Cells and storage of one library's tensor; what its functions gave."""
    found, storage = answer["stages"], answer["storage"]
    show_stages(found)
    made = [stage for stage in found if "problem" not in stage]
    if not made:
        return {"made": None}
    last = made[-1]
    shape = tuple(last["shape"])
    index = tuple(size // 2 for size in shape) if index is None else index  # in the middle
    given = view.ask("tensors.positions", shape=list(shape), strides=last["strides"])
    if given is None:
        return None
    places = dict(zip(indices(shape), given, strict=True))
    key = f"{view.name}-{st.session_state.get('tturn', 0)}"
    picture = draw(last, storage, places, index, cube and len(shape) == 3)
    left, right = st.columns([3, 2], gap="large") if wide else (st.container(), st.container())
    with left:
        clicked = board(picture, key=f"tboard-{key}", least=round(0.6 * picture.width))
        take_click(clicked, key, places)
        st.caption(
            "Click a cell, or a place in the storage. One colour is one step of dimension 0."
        )
    with right:
        explain_index(view, last, storage, index, places)
        show_mistakes(last, places)
    counted = show_counting(view, shape)
    return {
        "storage": storage,
        "position of index": {str(index): place for index, place in places.items()},
        "to_index of ordinal": counted and dict(enumerate(counted)),
    }


def take_click(clicked: str | None, key: str, places: dict[Index, int]) -> None:
    """Choose the cell that was clicked, or the one whose storage place was."""
    if clicked is None or clicked == st.session_state.get(f"tclicked-{key}"):
        return
    st.session_state[f"tclicked-{key}"] = clicked
    kind, _, words = clicked.partition(":")
    if kind == "i":
        st.session_state.tpending = words.replace(",", ", ")
        st.rerun()
    found = [at for at, place in places.items() if place == int(words)]
    if found:
        st.session_state.tpending = ", ".join(map(str, found[0]))
        st.rerun()
    st.toast(f"No index leads to position {words}.")


# --- The page ------------------------------------------------------------------------------------------------

room = begin("tensors")
asked = ask()
if asked is not None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        index = None
        try:
            index = ask_index()
        except ShapeError as error:
            st.warning(f"{error}.")
        as_cube = 3 in (len(asked["shape"]), len(asked["view"])) and st.segmented_control(
            "Draw as", ["slices", "cube"], default="slices", required=True,
            key="tdraw", bind="query-params",
        ) == "cube"  # fmt: skip
    answers = []
    for view in columns(room):
        answer = view.ask("tensors.stages", **asked)
        if answer is None:  # a copy or a view may be open still: show the tensor before it
            before = view.library.ask("tensors.stages", **asked | {"contiguous": False, "view": ()})
            answer = before if isinstance(before, dict) else None
        wide = len(views(room)) == 1
        answers.append(answer and show_tensor(view, answer, index, as_cube, wide))
    show_difference(answers)
