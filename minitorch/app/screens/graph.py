"""The page of graphs: an expression as boxes and arrows, walked forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings import flow
from minitorch.app.frame import begin, columns, show_difference, views
from minitorch.app.inside.expression import ExpressionError
from minitorch.app.inside.graph import variables
from minitorch.app.library import Missing, Problem
from minitorch.syntax import literal, undisturbed

KINDS = {"numbers": "Numbers", "tensors": "Tensors"}
EXAMPLES = {
    "numbers": (
        "z = x * y; log(z) + exp(z)",
        "x * x * y",
        "sigmoid(w * x + b)",
        "relu(x - y) / (x + 1)",
    ),
    "tensors": (
        "z = x * y; sum(z + exp(z))",
        "sigmoid(x @ w + b).sum()",
        "sum(permute(x, 1, 0) * b)",
        "mean(relu(x - y), 0)",
    ),
}
VALUES = {
    "numbers": {"x": 2.0, "y": 1.5, "w": -1.0, "b": 0.5},
    "tensors": {
        "x": "[[1, 2, 3], [0, -1, 0.5]]",
        "y": "[0.5, -1, 0.4]",
        "w": "[[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]]",
        "b": "[0.5, -0.5]",
    },
}
MOST_NUMBERS, MOST_NAMES = 12, 6


# --- What is typed -------------------------------------------------------------------------------


def restart() -> None:
    """Begin the walk anew, for another expression."""
    st.session_state.pop("gs", None)
    st.session_state.pop("gchosen", None)


def take_example(text: str) -> None:
    """Put an example into the field."""
    st.session_state.ge = text
    restart()


def change_kind() -> None:
    """Numbers or tensors: each begins with its own first example."""
    take_example(EXAMPLES[st.session_state.gk][0])


def read_tensor(name: str, text: str) -> Any:
    """The lists that a user typed; ExpressionError with what is allowed."""
    try:
        value = np.array(literal(text.strip()[:300]), dtype=float)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ExpressionError(
            f"{name} needs numbers in even lists, such as [[1, 2], [3, 4]]"
        ) from None
    if not 1 <= value.size <= MOST_NUMBERS or not 1 <= value.ndim <= 3:
        raise ExpressionError(
            f"{name} may have 1 to {MOST_NUMBERS} numbers in at most 3 dimensions"
        )
    return value.tolist()


def ask_values(kind: str, names: list[str]) -> dict[str, Any]:
    """A field for each variable."""
    values = {}
    with st.container(horizontal=True):
        for name in names:
            if kind == "numbers":
                values[name] = st.number_input(
                    name, value=VALUES[kind].get(name, 1.0), step=0.1, format="%g",
                    key=f"g_{name}", bind="query-params", width=140,
                )  # fmt: skip
            else:
                text = st.text_input(
                    name, VALUES[kind].get(name, "[1, 2, 3]"),
                    key=f"gt_{name}", bind="query-params", width=260,
                )  # fmt: skip
                values[name] = read_tensor(name, text or "")
    return values


def ask_expression() -> tuple[str, str, dict[str, Any]] | None:
    """What to draw; None, with a word about it, where it cannot be read."""
    kind = st.segmented_control(
        "Over", list(KINDS), default="numbers", format_func=KINDS.__getitem__, required=True,
        key="gk", bind="query-params", on_change=change_kind,
    )  # fmt: skip
    text = st.text_input(
        "Expression", EXAMPLES[kind][0], key="ge", bind="query-params", on_change=restart,
        help="Names, numbers, + - * / ** @ < >, and functions such as log(x). "
        "A line that is used again gets a name: z = x * y; log(z) + exp(z)",
    )  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        for number, example in enumerate(EXAMPLES[kind]):
            st.button(
                f"`{example}`", type="tertiary", key=f"gex{number}", on_click=take_example,
                args=(example,),
            )  # fmt: skip
    try:
        with undisturbed():
            names = variables(text)
        if len(names) > MOST_NAMES:
            raise ExpressionError(f"at most {MOST_NAMES} variables, these are {len(names)}")
        return kind, text, ask_values(kind, names)
    except ExpressionError as error:
        st.warning(f"This cannot be drawn: {error}.")
        return None


# --- Steps ------------------------------------------------------------------------------------------


def move(to: int) -> None:
    """Go to a position of the walk."""
    st.session_state.gs = to
    st.session_state.pop("gchosen", None)


def ask_position(first: int, last: int) -> int:
    """Buttons and a slider; the walk begins after its forward part."""
    if st.session_state.get("gs", 0) > last:
        st.session_state.gs = last
    place = st.container(horizontal=True)
    now = st.slider(
        "Step", 0, max(last, 1), min(first, last), key="gs", bind="query-params",
        help="First the boxes are computed from left to right, then the derivatives go back.",
    )  # fmt: skip
    steps = (
        ("Start", "first_page", 0, now == 0),
        ("Back", "chevron_left", now - 1, now == 0),
        ("Next", "chevron_right", now + 1, now >= last),
        ("End", "last_page", last, now >= last),
    )
    for label, icon, to, off in steps:
        place.button(
            label, icon=f":material/{icon}:", key=f"go{label}", disabled=off,
            on_click=move, args=(to,),
        )  # fmt: skip
    return min(now, last)


# --- One library's walk -------------------------------------------------------------------------------


def show_dictionary(nodes: list[Any], now: flow.Moment) -> None:
    """What waits in `backpropagate` after the step."""
    st.markdown("##### The dictionary after this step")
    if not now.backward:
        st.caption("It is filled on the way back: press **Next** until the derivatives move.")
    elif now.held is None:
        st.caption(
            "This `backpropagate` keeps no dictionary that can be looked into. "
            "The arrows show what each chain rule gave."
        )
    elif not now.held:
        st.caption("Empty: every derivative has arrived.")
    else:
        called = flow.formulas(nodes)
        lines = ["| box | derivative so far |", "|---|---|"]
        lines += [
            f"| {flow.quoted(called[n]) if n >= 0 else '?'} | {flow.number(d)} |"
            for n, d in now.held
        ]
        st.markdown("\n".join(lines))


def show_words(nodes: list[Any], now: flow.Moment) -> None:
    """Sums of several derivatives, and what is wrong with the step."""
    for line in flow.sums(nodes, now):
        st.info(line, icon=":material/add_circle_outline:")
    for line in flow.faults(nodes, now):
        st.warning(line, icon=":material/priority_high:")


def show_order(nodes: list[Any], walk: dict[str, Any]) -> None:
    """The topological order in words, and where it is wrong."""
    order = walk["order"]
    if order is None:
        st.caption("`topological_sort` was not called on the way back, so no box has a number.")
        return
    called = flow.formulas(nodes)
    for n, late in flow.early(nodes, order).items():
        st.warning(
            f"`topological_sort`: {flow.quoted(called[n])} comes before "
            f"{flow.quoted(called[late[0]])}, which still "
            "needs to give it a derivative."
        )
    missing = [n for n, node in enumerate(nodes) if not node["constant"] and n not in order]
    if missing:
        names = ", ".join(flow.quoted(called[n]) for n in missing)
        st.warning(f"`topological_sort` leaves out {names}.")


def show_check(nodes: list[Any], now: flow.Moment) -> None:
    """Each box: its derivative by backward, and by a small change of its value."""
    called = flow.formulas(nodes)
    lines = ["| box | by backward | by central difference | |", "|---|---|---|---|"]
    for n, node in enumerate(nodes):
        if "slopes" not in node:
            continue
        took = now.taken.get(n)
        got = flow.add(took).tolist() if took and len({np.shape(t) for t in took}) == 1 else None
        verdict = (
            "" if not took else "agrees" if flow.is_near(got, node["slopes"]) else "**differs**"
        )
        by_walk = flow.number(got) if took else "not yet"
        lines.append(
            f"| {flow.quoted(called[n])} | {by_walk} | {flow.number(node['slopes']['central'])} | {verdict} |"
        )
    st.markdown("##### Numeric check, box by box")
    st.markdown("\n".join(lines))
    st.caption("Central difference: change the box a little up and down, and see the result move.")


def show_details(nodes: list[Any], now: flow.Moment, chosen: int | None, key: str) -> None:
    """The numbers of the box that was clicked, or of the present step, where there are several."""
    n = chosen if chosen is not None and chosen < len(nodes) else now.active
    if n is None or n < 0 or nodes[n]["shape"] is None or n not in now.known:
        return
    node = nodes[n]
    parts = [("value", node["value"])]
    parts += [("derivative", d) for d in now.taken.get(n, [])[:1]]
    if len(parts) > 1 and "slopes" in node:
        parts.append(("central difference", node["slopes"]["central"]))
    st.markdown(f"##### The numbers of {flow.quoted(flow.formulas(nodes)[n])}")
    board(flow.draw_details(parts), key=f"gnumbers-{key}", least=340)


def show_walk(
    nodes: list[Any], walk: dict[str, Any] | None, position: int, key: str, wide: bool
) -> None:
    """The graph at a position, with everything beside it."""
    now = flow.moment(nodes, walk, position)
    chosen = st.session_state.get("gchosen")
    st.markdown(flow.tell(nodes, walk, now, position))
    picture = flow.draw(nodes, walk, now, chosen)
    beside = wide and picture.width <= 720
    left, right = st.columns([5, 3], gap="large") if beside else (st.container(), st.container())
    with left:
        clicked = board(
            picture, key=f"gpicture-{key}", least=round((0.7 if wide else 0.5) * picture.width)
        )
        if clicked is not None and clicked != st.session_state.get(f"gclicked-{key}"):
            st.session_state[f"gclicked-{key}"] = clicked
            st.session_state.gchosen = int(clicked)
            st.rerun()
        st.caption(
            "Blue are the leaves. On the way back each arrow carries its derivative, the numbers in "
            "circles are the topological order, and Σ marks a sum of several derivatives."
        )
    with right:
        if walk is not None:
            show_dictionary(nodes, now)
            show_words(nodes, now)
            show_order(nodes, walk)
    show_details(nodes, now, chosen, key)
    if walk is not None:
        show_check(nodes, now)


def comparable(nodes: list[Any], walk: dict[str, Any]) -> dict[str, Any]:
    """What the boxes compute, and the derivatives of the leaves, by their names."""
    called = flow.formulas(nodes)
    values = {called[number]: nodes[number]["value"] for number in flow.results(nodes)}
    return values | {f"derivative of {called[number]}": slope for number, slope in walk["leaves"]}


# --- The page -------------------------------------------------------------------------------------------

room = begin("graph")
asked = ask_expression()
if asked is not None:
    given = dict(zip(("kind", "text", "values"), asked, strict=True))
    chosen_views = views(room)
    ahead = [view.library.ask("graph.forward", **given) for view in chosen_views]
    back = [view.library.ask("graph.backward", **given) for view in chosen_views]
    drawn = [answer for answer in ahead if isinstance(answer, dict) and "nodes" in answer]
    walks = [answer if isinstance(answer, dict) and "steps" in answer else None for answer in back]
    position = 0
    if drawn:
        last = max(flow.moments(drawn[0]["nodes"], walk) for walk in walks)
        position = ask_position(len(flow.results(drawn[0]["nodes"])), last)
    for number, view in enumerate(columns(room)):
        answer = view.checked(ahead[number])
        if answer is None:
            continue
        if "wrong" in answer:
            st.warning(f"This has no value here: {answer['wrong']}.")
            continue
        show_walk(
            answer["nodes"],
            walks[number],
            position,
            f"{view.name}-{given['kind']}",
            len(chosen_views) == 1,
        )
        if isinstance(back[number], (Missing, Problem)):
            view.checked(back[number])
    if len(drawn) == len(walks):
        both = zip(drawn, walks, strict=True)
        show_difference([walk and comparable(answer["nodes"], walk) for answer, walk in both])
