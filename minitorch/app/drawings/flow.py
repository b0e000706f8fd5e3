"""The walk through a graph as a person sees it: the moment, its picture, and what to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .grids import DARK, grid
from .layout import curve, place
from .picture import ACCENT, FAINT, GREY, INK, PAPER, RED, SHADES, VIOLET, Picture, shorten

Node = dict[str, Any]
Edge = tuple[int, int]

WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 108, 64, 170, 92, 14

_WORDS = {
    "Add": "{} + {}", "Mul": "{} × {}", "Neg": "-{}", "Inv": "1 / {}", "MatMul": "{} @ {}",
    "LT": "{} < {}", "EQ": "{} == {}", "Copy": "copy({})",
}  # fmt: skip
_SIGNS = {
    "Add": "+", "Mul": "×", "Neg": "-", "Inv": "1 / …", "MatMul": "@", "LT": "<", "EQ": "==",
}  # fmt: skip


# --- Names and numbers ---------------------------------------------------------------------------


def formulas(nodes: Sequence[Node], most: int = 16) -> list[str]:
    """What to call each box in a sentence: its name, its value, or what it computes."""
    found: list[str] = []
    for node in nodes:
        if node["name"]:
            found.append(node["name"])
        elif not node["function"]:
            found.append(number(node["value"]))
        else:
            words = computation(node, found)
            found.append(words if len(words) <= most else f"the {sign(node)} box")
    return found


def computation(node: Node, called: Sequence[str]) -> str:
    """What a box computes, from what its inputs are called."""
    inputs: list[str] = [called[int(i)] for i in node["inputs"]]
    loose = node["function"] == "Add"  # a sum needs no brackets around its parts
    inner = [f"({w})" if " " in w and not loose else w for w in inputs]
    if node["function"] in _WORDS and len(inputs) == _WORDS[node["function"]].count("{}"):
        return _WORDS[node["function"]].format(*inner)
    return f"{node['function'].lower()}({', '.join([*inputs, *map(_argument, node['more'])])})"


def quoted(name: str) -> str:
    """What a box is called, as code unless it is words."""
    return name if name.startswith("the ") else f"`{name}`"


def _argument(value: Any) -> str:
    return ", ".join(map(_argument, value)) if isinstance(value, list) else number(value)


def sign(node: Node) -> str:
    """A short name for what a box does."""
    name: str = node["function"]
    return _SIGNS.get(name, name.lower())


def number(value: Any) -> str:
    """A value in a few characters; a tensor of several numbers by its shape."""
    if value is None:
        return "nothing"
    array = np.array(value, dtype=float)
    if array.size == 1:
        x = float(array.ravel()[0])
        return str(int(x)) if x.is_integer() and abs(x) < 1e6 else f"{x:.4g}"
    return shape_words(array.shape)


def shape_words(shape: Sequence[int]) -> str:
    """A shape as Python writes it."""
    return str(tuple(shape))


def is_near(got: Any, slopes: dict[str, Any]) -> bool:
    """Whether a derivative is the central difference, or lies between two one-sided slopes."""
    try:
        found = np.broadcast_to(np.array(got, dtype=float), np.shape(slopes["central"]))
    except ValueError:
        return False
    central, left, right = (np.array(slopes[k]) for k in ("central", "left", "right"))
    margin = 1e-4 * (1 + np.abs(central))
    low, high = np.minimum(left, right), np.maximum(left, right)
    between = (high - low > margin) & (found >= low - margin) & (found <= high + margin)
    return bool(np.all((np.abs(found - central) <= margin) | between | np.isnan(central)))


def add(parts: Sequence[Any]) -> Any:
    """The sum of contributions."""
    return np.sum([np.array(p, dtype=float) for p in parts], axis=0)


def is_same(a: Any, b: Any) -> bool:
    """Whether two derivatives are equal up to rounding."""
    first, second = np.array(a, dtype=float), np.array(b, dtype=float)
    return first.shape == second.shape and np.allclose(first, second, rtol=1e-9, equal_nan=True)


# --- A moment of the walk -------------------------------------------------------------------------


@dataclass
class Moment:
    """How far the walk has come.

    Attributes:
        known: the boxes whose value is there
        sent: the derivative that went along each arrow so far
        parts: what each box has received so far
        taken: the derivative with which each box was taken
        active: the box of the present step
        held: the dictionary, or None where there is none to see
        backward: whether the walk back has begun
        step: the backward step that was just made
    """

    known: set[int] = field(default_factory=set)
    sent: dict[Edge, Any] = field(default_factory=dict)
    parts: dict[int, list[Any]] = field(default_factory=dict)
    taken: dict[int, list[Any]] = field(default_factory=dict)
    active: int | None = None
    held: list[Any] | None = None
    backward: bool = False
    step: dict[str, Any] | None = None


def results(nodes: Sequence[Node]) -> list[int]:
    """The boxes that are computed, in their order."""
    return [n for n, node in enumerate(nodes) if node["function"]]


def moments(nodes: Sequence[Node], walk: dict[str, Any] | None) -> int:
    """The number of the last position: all results, the start of the way back, its steps."""
    return len(results(nodes)) + (1 + len(walk["steps"]) if walk else 0)


def moment(nodes: Sequence[Node], walk: dict[str, Any] | None, position: int) -> Moment:
    """The walk at a position."""
    computed = results(nodes)
    now = Moment({n for n, node in enumerate(nodes) if not node["function"]})
    now.known |= set(computed[:position])
    if position <= len(computed) or walk is None:
        now.active = computed[min(position, len(computed)) - 1] if position and computed else None
        return now
    last = len(nodes) - 1
    now.backward, now.active, now.held = True, last, walk["start"]
    now.parts[last] = [np.ones(np.shape(nodes[last]["value"])).tolist()]
    for step in walk["steps"][: position - len(computed) - 1]:
        now.active, now.held, now.step = step["node"], step["held"], step
        now.taken.setdefault(step["node"], []).append(step["took"])
        for gift in step["gives"]:
            now.sent[step["node"], gift["slot"]] = gift["derivative"]
            now.parts.setdefault(gift["to"], []).append(gift["derivative"])
    return now


def users(nodes: Sequence[Node]) -> dict[int, set[int]]:
    """The boxes that use each box."""
    found: dict[int, set[int]] = {n: set() for n in range(len(nodes))}
    for n, node in enumerate(nodes):
        for source in node["inputs"]:
            found[source].add(n)
    return found


def early(nodes: Sequence[Node], order: Sequence[int] | None) -> dict[int, list[int]]:
    """Boxes that an order puts before a box that uses them, with those boxes."""
    where = {n: i for i, n in enumerate(order or [])}
    late = {
        n: [u for u in sorted(after) if u in where and where[u] > where[n]]
        for n, after in users(nodes).items()
        if n in where
    }
    return {n: after for n, after in late.items() if after}


# --- What to say -----------------------------------------------------------------------------------


def tell(nodes: Sequence[Node], walk: dict[str, Any] | None, now: Moment, position: int) -> str:
    """The present step in a sentence or two."""
    called = formulas(nodes)
    computed = results(nodes)
    if not now.backward:
        if now.active is None:
            return "**Forward.** The leaves have their values; nothing is computed yet."
        node = nodes[now.active]
        words = computation(node, called)
        name = f"{node['name']} = " if node["name"] else ""
        return (
            f"**Forward, step {position} of {len(computed)}.** `{name}{words}` "
            f"{'has shape' if _is_many(node) else 'gives'} {number(node['value'])}."
        )
    if now.step is None:
        start = "1" if not _is_many(nodes[-1]) else "a 1 for each of its numbers"
        return f"**Backward.** The result begins with the derivative {start}."
    steps = len(walk["steps"]) if walk else 0
    count = position - len(computed) - 1
    return f"**Backward, step {count} of {steps}.** " + _told_step(nodes, called, now)


def _told_step(nodes: Sequence[Node], called: list[str], now: Moment) -> str:
    step = now.step or {}
    name, took = called[step["node"]], number(step["took"])
    if not step["gives"]:
        return f"The leaf {quoted(name)} keeps its derivative: {took}."
    gifts = " and ".join(
        f"{number(gift['derivative'])} to {_called(called, gift['to'])}" for gift in step["gives"]
    )
    given = quoted(name)
    return f"{given[0].upper()}{given[1:]} is complete with {took}. Its chain rule gives {gifts}."


def _called(called: list[str], n: int) -> str:
    return quoted(called[n]) if n >= 0 else "a box that is not in the graph"


def _is_many(node: Node) -> bool:
    return np.size(node["value"]) > 1


def sums(nodes: Sequence[Node], now: Moment) -> list[str]:
    """For each box that received several derivatives: how they add up."""
    called = formulas(nodes)
    found = []
    for n, parts in now.parts.items():
        if len(parts) > 1 and n >= 0:
            times = {2: "twice", 3: "three times"}.get(len(parts), f"{len(parts)} times")
            added = f"{number(parts[0])} each, cell by cell"
            if np.size(parts[0]) == 1:
                added = f"{' + '.join(map(number, parts))} = {number(add(parts).tolist())}"
            found.append(
                f"{quoted(called[n])} is used {times}, so its derivatives are added: {added}."
            )
    return found


def faults(nodes: Sequence[Node], now: Moment) -> list[str]:
    """What is wrong with the present step, if anything."""
    step = now.step
    if step is None or step["node"] < 0:
        return []
    n = step["node"]
    called = formulas(nodes)
    found = []
    waiting = [
        u for u in sorted(users(nodes)[n]) if u not in now.taken and not nodes[u]["constant"]
    ]
    if waiting:
        names = " and ".join(quoted(called[u]) for u in waiting)
        found.append(
            f"{quoted(called[n])} was taken before {names}, which still had to send a derivative to it."
        )
    parts = now.parts.get(n, [])
    if not waiting and len(now.taken[n]) == 1 and parts and not _adds_up(parts, step["took"]):
        words = " + ".join(map(number, parts))
        found.append(
            f"{quoted(called[n])} received {words}, yet it went on with {number(step['took'])}. "
            "Was a contribution replaced instead of added?"
        )
    for gift in step["gives"]:
        to = gift["to"]
        if to >= 0 and np.shape(gift["derivative"]) != np.shape(nodes[to]["value"]):
            found.append(
                f"The derivative for {quoted(called[to])} has shape "
                f"{shape_words(np.shape(gift['derivative']))}, the box has "
                f"{shape_words(np.shape(nodes[to]['value']))}."
            )
    return found


def _adds_up(parts: list[Any], took: Any) -> bool:
    try:
        return is_same(add(parts), took)
    except ValueError:
        return False


# --- The picture -----------------------------------------------------------------------------------


def draw(
    nodes: Sequence[Node], walk: dict[str, Any] | None, now: Moment, chosen: int | None
) -> Picture:
    """The graph from left to right, as far as the walk has come."""
    layout = place([node["inputs"] for node in nodes])
    picture = Picture(
        MARGIN * 2 + (layout.columns - 1) * ACROSS + WIDTH,
        MARGIN * 2 + (layout.rows - 1) * DOWN + HEIGHT,
        "The graph of the expression",
    )
    corner = [(MARGIN + column * ACROSS, MARGIN + row * DOWN) for column, row in layout.places]
    for edge, route in layout.routes.items():
        _draw_arrow(picture, nodes, now, edge, [(c * ACROSS, r * DOWN) for c, r in route])
    order = walk["order"] if walk and now.backward else None
    wrong = early(nodes, order)
    for n, (x, y) in enumerate(corner):
        _draw_box(picture, nodes, now, n, x, y, chosen)
        if len(now.parts.get(n, [])) > 1:
            picture.circle(x + 4, y + 2, 11, VIOLET, line=PAPER, thick=2)
            picture.text(x + 4, y + 2, "Σ", size=13, color="#ffffff")
        if order and n in order:
            color = RED if n in wrong else ACCENT if n in now.taken else GREY
            picture.circle(x + WIDTH - 4, y + 2, 11, color, line=PAPER, thick=2)
            picture.text(x + WIDTH - 4, y + 2, order.index(n) + 1, size=12, color="#ffffff")
    return picture


def _draw_box(
    picture: Picture,
    nodes: Sequence[Node],
    now: Moment,
    n: int,
    x: float,
    y: float,
    chosen: int | None,
) -> None:
    node = nodes[n]
    called = formulas(nodes, 12)
    known = n in now.known
    shade = SHADES[5] if node["constant"] else SHADES[0] if node["function"] else SHADES[1]
    got = now.taken.get(n)
    wrong = bool(got) and "slopes" in node and not _agrees(got, node["slopes"])
    line = RED if wrong else ACCENT if n == now.active else INK if n == chosen else FAINT
    picture.box(
        x, y, WIDTH, HEIGHT, shade if known else PAPER, line=line, round=6, id=str(n),
        thick=2.5 if line != FAINT else 1, dash=None if known else "4 3",
        tip=f"box {called[n]}: {number(node['value']) if known else 'not computed yet'}",
    )  # fmt: skip
    middle, ink = x + WIDTH / 2, DARK if known else GREY
    title = node["name"] or (sign(node) if called[n].startswith("the ") else called[n])
    if node["name"] and node["function"]:
        words = computation(node, called)
        title = f"{title} = {words if len(words) < 10 else sign(node)}"
    if not node["name"] and not node["function"]:
        title = "constant" if node["constant"] else "number"
    picture.text(middle, y + 15, title, bold=True, color=ink, size=14)
    if known:
        picture.text(middle, y + 33, number(node["value"]), color=ink, size=13)
    if got:
        total = number(add(got).tolist()) if _one_shape(got) else "shapes differ"
        picture.text(middle, y + 50, f"d = {total}", color="#9a3412", size=13, bold=True)


def _agrees(got: list[Any], slopes: dict[str, Any]) -> bool:
    return _one_shape(got) and is_near(add(got), slopes)


def _one_shape(parts: list[Any]) -> bool:
    return len({np.shape(part) for part in parts}) == 1


def _draw_arrow(
    picture: Picture,
    nodes: Sequence[Node],
    now: Moment,
    edge: Edge,
    route: list[tuple[float, float]],
) -> None:
    box, slot = edge
    many = len(nodes[box]["inputs"])
    spread = HEIGHT * 0.45 * (slot - (many - 1) / 2) if many > 1 else 0.0
    start = (MARGIN + route[0][0] + WIDTH, MARGIN + route[0][1] + HEIGHT / 2)
    end = (MARGIN + route[-1][0], MARGIN + route[-1][1] + HEIGHT / 2 + spread)
    through = []
    for x, y in route[1:-1]:
        level = MARGIN + y + HEIGHT / 2
        through += [(MARGIN + x, level), (MARGIN + x + WIDTH, level)]
    points = curve([start, *through, end])
    source = nodes[box]["inputs"][slot]
    label, color = "", INK if {box, source} <= now.known else FAINT
    if edge in now.sent:
        label, color = number(now.sent[edge]), ACCENT
        points.reverse()
    elif nodes[box]["shape"] is not None and source in now.known:
        label = shape_words(nodes[source]["shape"])
    picture.line(points, color=color, thick=2 if edge in now.sent else 1.5, arrow=True)
    if label:
        x = end[0] - (ACROSS - WIDTH) / 2
        y = min(points, key=lambda point: abs(point[0] - x))[1]
        wide = 7.2 * len(label) + 4
        picture.box(x - wide / 2, y - 9, wide, 18, PAPER, line="none", round=3)
        words = color if edge in now.sent else GREY
        picture.text(x, y, label, size=12, color=words, bold=edge in now.sent)


def draw_details(parts: Sequence[tuple[str, Any]]) -> Picture:
    """Values of one tensor side by side, each under its title; up to four dimensions."""
    grids = [grid(np.shape(value), 46) for _, value in parts]
    widths = [max(g.width, 130) for g in grids]
    picture = Picture(
        sum(widths) + 30 * len(parts), max(g.height for g in grids) + 30, "Its numbers"
    )
    x = 4.0
    for (title, value), each, width in zip(parts, grids, widths, strict=True):
        picture.text(x, 10, title, anchor="start", size=13, bold=True)
        array = np.array(value, dtype=float)
        each.draw(picture, x, 26, lambda index, array=array: shorten(float(array[index])))
        x += width + 30
    return picture
