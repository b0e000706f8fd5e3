"""The page of broadcasting: two shapes become one, cells are copied, and gradients are summed."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings.grids import (
    DARK,
    Grid,
    Index,
    ShapeError,
    grid,
    indices,
    read_numbers,
    read_shape,
)
from minitorch.app.drawings.picture import FAINT, GREEN, GREY, INK, PAPER, RED, SHADES, Picture
from minitorch.app.frame import View, begin, columns, show_difference

EXAMPLES = (("3, 1", "1, 4"), ("2, 3, 4", "4"), ("2, 1, 3", "2, 1"), ("3, 4", "3"))
NAMES = ("first", "second")
ORIGINAL = {"first": SHADES[1], "second": SHADES[0]}
COPY = {"first": "#eff6ff", "second": "#fff7ed"}


# --- The rules -----------------------------------------------------------------------------------------


def pairs(first: Index, second: Index) -> list[tuple[int | None, int | None]]:
    """The sizes of two shapes side by side, from the right; None where one has no more."""
    longest = max(len(first), len(second))
    padded = [(None,) * (longest - len(shape)) + shape for shape in (first, second)]
    return list(zip(*padded, strict=True))[::-1]


def rule(a: int | None, b: int | None) -> tuple[int | None, str]:
    """The size that two sizes make, None if none, and why."""
    if a is None or b is None:
        name, size = ("first", b) if a is None else ("second", a)
        return size, f"the {name} shape has no such dimension, so it counts as 1 and is copied"
    if a == b:
        return a, "both are equal"
    if 1 in (a, b):
        name, size = ("first", b) if a == 1 else ("second", a)
        return size, f"the {name} has 1, so it is copied {size} times"
    return None, f"{a} and {b} differ and neither is 1, so the shapes do not fit"


def result_shape(first: Index, second: Index) -> Index | None:
    """The shape that two shapes make; None if they do not fit."""
    sizes = [rule(a, b)[0] for a, b in pairs(first, second)]
    return None if None in sizes else tuple(size for size in reversed(sizes) if size is not None)


def draw_rules(first: Index, second: Index) -> Picture:
    """The two shapes over each other, aligned at the right, and what they make."""
    sides = pairs(first, second)
    left, across = 92, 72
    picture = Picture(left + across * len(sides) + 10, 188, "The shapes, aligned from the right")
    for row, name in enumerate(("first", "second", "result")):
        picture.text(4, (28, 80, 144)[row], name, anchor="start", bold=True)
    end = left + across * len(sides)
    picture.line([(left - 6, 112), (end, 112)], color=FAINT)
    failed = False
    for number, (a, b) in enumerate(sides):
        x = end - (number + 1) * across
        made, _ = rule(a, b)
        for row, (size, name) in enumerate(((a, "first"), (b, "second"))):
            copied = size != made
            shade = COPY[name] if copied else ORIGINAL[name]
            line = RED if made is None else INK if size is not None else GREY
            picture.box(
                x, 8 + row * 52, 60, 40, shade, line=line, round=5,
                thick=2.5 if made is None else 1, dash=None if size is not None else "4 3",
            )  # fmt: skip
            picture.text(x + 30, 28 + row * 52, 1 if size is None else size, size=17, color=DARK)
        line = RED if made is None else FAINT if failed else GREEN
        picture.box(x, 124, 60, 40, "none", line=line, round=5, thick=2)
        words = "fails" if made is None else "" if failed else made
        color = RED if made is None else INK
        picture.text(x + 30, 144, words, size=17, color=color, bold=True)
        failed = failed or made is None
        picture.text(x + 30, 176, f"dimension -{number + 1}", size=10, color=GREY)
    return picture


def show_rules(first: Index, second: Index) -> None:
    """The rules in words, from the right."""
    lines = []
    for number, (a, b) in enumerate(pairs(first, second)):
        made, why = rule(a, b)
        sizes = f"{'nothing' if a is None else a} and {'nothing' if b is None else b}"
        outcome = f"**{made}**" if made is not None else ":red[**it fails here**]"
        lines.append(f"{number + 1}. Dimension -{number + 1}: {sizes} → {outcome}; {why}.")
        if made is None:
            break
    st.markdown("\n".join(lines))


# --- Forward: which cells are copies -----------------------------------------------------------------------


def place_side_by_side(
    grids: list[Grid], least: float = 120
) -> tuple[list[tuple[float, float]], float, float]:
    """Corners for grids with room for a sign between them, and the size of the whole."""
    wide = sum(max(g.width, least) for g in grids) + 40 * (len(grids) - 1)
    corners, x, y = [], 4.0, 26.0
    for each in grids:
        corners.append((x, y))
        if wide <= 760:
            x += max(each.width, least) + 40
        else:
            y += each.height + 46
    if wide <= 760:
        return corners, wide + 10, max(g.height for g in grids) + 34
    return corners, max(g.width for g in grids) + 10, y


def draw_copies(
    big: Index, shapes: dict[str, Index], taken: dict[str, dict[Index, Index]], chosen: Index | None
) -> Picture:
    """Both inputs as large as the result, copies pale, and the result."""
    cells = grid(big, 42)
    corners, width, height = place_side_by_side([cells] * 3)
    picture = Picture(width, height, "Which cells are copies")
    signs = ("", "+", "=")
    lit = [chosen] if chosen is not None else []
    for name, (x, y), sign in zip((*NAMES, "result"), corners, signs, strict=True):
        title = f"{name}, seen as {big}" if name in NAMES else f"result {big}"
        picture.text(x, y - 14, title, anchor="start", size=12, bold=True)
        if sign and y == corners[0][1]:
            picture.text(x - 20, y + cells.height / 2, sign, size=20)
        fill, words = _copies(big, shapes, taken, name)
        cells.draw(picture, x, y, words.__getitem__, fill=fill.__getitem__, id=_cell_id, lit=lit)
    return picture


def _cell_id(index: Index) -> str:
    return f"o:{','.join(map(str, index))}"


def _copies(
    big: Index, shapes: dict[str, Index], taken: dict[str, dict[Index, Index]], name: str
) -> tuple[dict[Index, str], dict[Index, float]]:
    """Shade and number of each cell of an input seen as large as the result, or of the result."""
    numbers = {n: {at: number(n, shapes[n], taken[n][at]) for at in indices(big)} for n in NAMES}
    if name not in NAMES:
        added = {at: numbers["first"][at] + numbers["second"][at] for at in indices(big)}
        return dict.fromkeys(indices(big), PAPER), added
    seen: set[Index] = set()
    shades = {}
    for at in indices(big):
        shades[at] = COPY[name] if taken[name][at] in seen else ORIGINAL[name]
        seen.add(taken[name][at])
    return shades, numbers[name]


def number(name: str, shape: Index, index: Index) -> float:
    """What stands in a cell of an input: 1, 2, 3, ... in the first, 10, 20, ... in the second."""
    if any(not 0 <= i < size for i, size in zip(index, shape, strict=True)):
        return float("nan")
    ordinal = int(np.ravel_multi_index(index, shape)) + 1
    return float(ordinal if name == "first" else 10 * ordinal)


def true_source(big_index: Index, shape: Index) -> Index:
    """The cell of a smaller shape that an index of the big one falls on."""
    last = big_index[len(big_index) - len(shape) :]
    return tuple(0 if size == 1 else i for i, size in zip(last, shape, strict=True))


def show_copies(view: View, big: Index, shapes: dict[str, Index]) -> dict[str, Any] | None:
    """The copied cells; where the library takes each from."""
    taken: dict[str, dict[Index, Index]] = {}
    for name in NAMES:
        answer = view.ask("broadcasting.sources", big=list(big), shape=list(shapes[name]))
        if answer is None:
            return None
        taken[name] = dict(zip(indices(big), map(tuple, answer), strict=True))
    chosen = st.session_state.get("bcell")
    chosen = chosen if chosen in taken["first"] else tuple(size - 1 for size in big)
    st.markdown("##### Forward: pale cells are copies")
    picture = draw_copies(big, shapes, taken, chosen)
    take_click(board(picture, key=f"bcopies-{view.name}-{big}", least=340), "bcell", view.name)
    copies = {name: prod(big) - len(set(taken[name].values())) for name in NAMES}
    words = " and ".join(f"{copies[name]} of the {name}" for name in NAMES)
    first, second = (taken[name][chosen] for name in NAMES)
    a, b = (number(name, shapes[name], taken[name][chosen]) for name in NAMES)
    st.markdown(
        f"Copies: {words}. The cell {chosen} of the result takes {first} of the first and "
        f"{second} of the second: {a:g} + {b:g} = **{a + b:g}**. Click another."
    )
    for name in NAMES:
        wrong = [at for at in indices(big) if taken[name][at] != true_source(at, shapes[name])]
        if wrong:
            st.warning(
                f"`broadcast_index` takes another cell of the {name} in {len(wrong)} of "
                f"{prod(big)} cases: index {wrong[0]} falls on "
                f"{true_source(wrong[0], shapes[name])}, it gives {taken[name][wrong[0]]}."
            )
    return {name: {str(at): list(to) for at, to in taken[name].items()} for name in NAMES}


# --- Backward: which cells are summed -----------------------------------------------------------------------


def draw_sums(
    big: Index,
    shape: Index,
    incoming: dict[Index, float],
    got: dict[Index, float],
    name: str,
    chosen: Index,
) -> Picture:
    """The gradient that comes in, coloured by the cell of the input that it goes to, and the sums."""
    large, small = grid(big, 42), grid(shape, 42)
    corners, width, height = place_side_by_side([large, small], 170)
    picture = Picture(width, height, "Which cells of the gradient are summed")
    shades = {at: SHADES[n % len(SHADES)] for n, at in enumerate(indices(shape))}
    groups = {at: true_source(at, shape) for at in indices(big)}
    (x, y), (u, v) = corners
    picture.text(x, y - 14, f"gradient of the result {big}", anchor="start", size=12, bold=True)
    picture.text(u, v - 14, f"gradient of the {name} {shape}", anchor="start", size=12, bold=True)
    if y == v:
        picture.line([(u - 34, y + 21), (u - 8, y + 21)], arrow=True)
    large.draw(
        picture, x, y, incoming.__getitem__, fill=lambda at: shades[groups[at]],
        id=lambda at: f"g:{','.join(map(str, groups[at]))}",
        lit=[at for at in indices(big) if groups[at] == chosen],
    )  # fmt: skip
    small.draw(
        picture, u, v, got.__getitem__, fill=shades.__getitem__,
        id=lambda at: f"g:{','.join(map(str, at))}", lit=[chosen],
    )  # fmt: skip
    return picture


def show_sums(view: View, big: Index, shapes: dict[str, Index], name: str) -> Any:
    """Where copies were made forward, their gradients are added."""
    st.markdown("##### Backward: copies are added up")
    answer = view.ask(
        "broadcasting.gradients", first=list(shapes["first"]), second=list(shapes["second"])
    )
    if answer is None:
        return None
    shape = shapes[name]
    if len(answer[name]) != prod(shape):
        st.warning(
            f"The gradient of the {name} has {len(answer[name])} numbers; its shape {shape} "
            f"needs {prod(shape)}."
        )
        return answer
    incoming = dict(zip(indices(big), answer["incoming"], strict=True))
    got = dict(zip(indices(shape), answer[name], strict=True))
    chosen = st.session_state.get("bgroup")
    chosen = chosen if chosen in got else next(iter(got))
    picture = draw_sums(big, shape, incoming, got, name, chosen)
    take_click(
        board(picture, key=f"bsums-{view.name}-{big}-{name}", least=340), "bgroup", view.name
    )
    expected = dict.fromkeys(got, 0.0)
    for at, g in incoming.items():
        expected[true_source(at, shape)] += g
    terms = [f"{g:g}" for at, g in incoming.items() if true_source(at, shape) == chosen]
    added = f"{' + '.join(terms)} = " if len(terms) > 1 else ""
    st.markdown(
        f"The cell {chosen} of the {name} was used {len(terms)} "
        f"time{'s' if len(terms) > 1 else ''}: {added}{expected[chosen]:g}. The library gives "
        f"**{got[chosen]:g}**."
    )
    wrong = [at for at in got if abs(got[at] - expected[at]) > 1e-9]
    if wrong:
        st.warning(
            f"{len(wrong)} of {len(got)} numbers differ from these sums: the cell {wrong[0]} has "
            f"{got[wrong[0]]:g}, and should have {expected[wrong[0]]:g}."
        )
    return answer


# --- Controls ------------------------------------------------------------------------------------------------


def take_click(clicked: str | None, key: str, name: str) -> None:
    """Remember the cell that was clicked."""
    if clicked is None or clicked == st.session_state.get(f"{key}-{name}"):
        return
    st.session_state[f"{key}-{name}"] = clicked
    st.session_state[key] = read_numbers(clicked.partition(":")[2] + ",")
    st.rerun()


def take_example(first: str, second: str) -> None:
    """Put two shapes into the fields."""
    st.session_state.bfirst, st.session_state.bsecond = first, second


def ask() -> dict[str, Index] | None:
    """The two shapes; None, with a word about it, where they cannot be read."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = st.text_input("First shape", "3, 1", key="bfirst", bind="query-params", width=180)
        second = st.text_input(
            "Second shape", "1, 4", key="bsecond", bind="query-params", width=180
        )
        for number, example in enumerate(EXAMPLES):
            words = " and ".join(f"({e}{',' if e.isdigit() else ''})" for e in example)
            st.button(
                words, type="tertiary", key=f"bex{number}", on_click=take_example, args=example
            )
    try:
        shapes = {"first": read_shape(first or ""), "second": read_shape(second or "")}
        big = result_shape(shapes["first"], shapes["second"])
        if big is not None and prod(big) > 64:
            raise ShapeError(f"the result {big} has {prod(big)} cells: up to 64 can be drawn here")
        return shapes
    except ShapeError as error:
        st.warning(f"{str(error)[0].upper()}{str(error)[1:]}.")
        return None


def check_shape(answer: dict[str, Any], shapes: dict[str, Index], big: Index | None) -> bool:
    """Say what `shape_broadcast` gives; whether the page can go on with it."""
    given = answer["result"] and tuple(answer["result"])
    if big is None:
        if given is None:
            st.info(f"`shape_broadcast` refuses these shapes: “{answer['refusal']}”")
        else:
            st.warning(f"`shape_broadcast` gives {given}, although these shapes do not fit.")
        return False
    if given == big:
        st.markdown(f"`shape_broadcast` gives **{given}**.")
    elif given is None:
        st.warning(f"`shape_broadcast` refuses these shapes, which make {big}: {answer['refusal']}")
    else:
        st.warning(f"`shape_broadcast` gives {given}; by the rules it is {big}.")
    return True


# --- The page --------------------------------------------------------------------------------------------------

room = begin("broadcasting")
shapes = ask()
if shapes is not None:
    left, right = st.columns([2, 3], vertical_alignment="center")
    with left:
        board(draw_rules(shapes["first"], shapes["second"]), key="brules")
    with right:
        show_rules(shapes["first"], shapes["second"])
    big = result_shape(shapes["first"], shapes["second"])
    side = "first"
    if big is not None:
        side = st.segmented_control(
            "Follow the gradient of", NAMES, default="first", required=True,
            key="bside", bind="query-params",
        )  # fmt: skip
    answers = []
    for view in columns(room):
        answer = view.ask(
            "broadcasting.join", first=list(shapes["first"]), second=list(shapes["second"])
        )
        answers.append(answer and {"shape_broadcast": answer["result"]})
        if answer is not None and check_shape(answer, shapes, big) and big is not None:
            copies = show_copies(view, big, shapes)
            sums = None if copies is None else show_sums(view, big, shapes, side)
            answers[-1] = sums and {
                "shape_broadcast": answer["result"], "broadcast_index": copies, "gradient": sums,
            }  # fmt: skip
    show_difference(answers)
