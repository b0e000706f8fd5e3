"""The page of convolution: a window that slides, its sum spelled out, and pooling by tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from minitorch.app import kernels
from minitorch.app.components import board, flipbook
from minitorch.app.drawings import tiles, windows
from minitorch.app.drawings.picture import shorten
from minitorch.app.frame import View, begin, columns, show_difference

KINDS = {"1": "1-D convolution", "2": "2-D convolution", "pool": "Pooling"}
WAYS = {
    "forward": "Forward",
    "input": "Back to the input",
    "weight": "Back to the kernel",
}
CALLS = {"forward": "convolve", "input": "input_gradient", "weight": "weight_gradient"}
NOTES = {
    "forward": "The window **begins** at its place. Beyond the edge it reads zeros (dashed).",
    "input": "The window slides over the gradient of the output. It **ends** at its place, so it is "
    "anchored right and the kernel lies the other way round (`reverse`). The zeros are on the left.",
    "weight": "The gradient of the output is itself the window: for each number of the kernel it is "
    "laid over the input from there on, and the products are added up.",
}


# --- Places ------------------------------------------------------------------------------------


def choose_place(shape: tuple[int, int], key: str) -> tuple[int, int]:
    """The slider over all places of a result, which a click on a cell moves too."""
    count = shape[0] * shape[1]
    if f"{key}-next" in st.session_state:
        st.session_state[key] = st.session_state.pop(f"{key}-next")
    if st.session_state.get(key, 0) >= count:
        st.session_state[key] = 0
    if count == 1:
        return 0, 0
    number = st.slider("Position", 0, count - 1, key=key, bind="query-params")
    return divmod(number, shape[1])


def follow_click(clicked: str | None, place: tuple[int, int], width: int, key: str) -> None:
    """Go to the cell that was clicked, if it was clicked at this place and not before."""
    if clicked is None:
        return
    cell, _, mark = clicked.partition("@")
    row, column = map(int, cell.split(","))
    if mark == as_mark(place) and (row, column) != place:
        st.session_state[f"{key}-next"] = row * width + column
        st.rerun()


def as_mark(place: tuple[int, int]) -> str:
    """A place as the end of an id."""
    return f"{place[0]}.{place[1]}"


# --- Convolution -------------------------------------------------------------------------------


def choose_numbers(dims: int) -> tuple[Any, Any] | None:
    """Input (channel x height x width) and weight (out x in x window); None if they are no numbers."""
    own = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Input", kernels.INPUTS[dims], key=f"cin{dims}", bind="query-params")
        kernel = st.selectbox(
            "Kernel", [*kernels.KERNELS[dims], kernels.OWN], key=f"ck{dims}", bind="query-params"
        )
        with st.popover("Size and channels"):
            least, most, usual = (4, 10, 8) if dims == 1 else (4, 6, 6)
            size = st.slider("Size", least, most, usual, key=f"csize{dims}", bind="query-params")
            inner = st.slider("Input channels", 1, 3, key="cins", bind="query-params")
            outer = st.slider("Output channels", 1, 3, key="couts", bind="query-params")
    for role, chosen in (("input", name), ("kernel", kernel)):
        if chosen == kernels.OWN:
            usual = {"input": "1 2 3 4; 5 6 7 8; 9 10 11 12", "kernel": "1 2; 3 4"}[role]
            own[role] = st.text_input(
                f"Your {role}", usual if dims == 2 else usual.split(";")[0],
                key=f"cown{role}{dims}", bind="query-params",
                help="Numbers with spaces between; a semicolon begins the next row",
            )  # fmt: skip
    try:
        read = {role: kernels.read_numbers(text, dims, role) for role, text in own.items()}
    except kernels.NumbersError as error:
        st.warning(str(error))
        return None
    first = read.get("input")
    if first is None:
        first = kernels.make_input(name, dims, size)
    more = [kernels.random_numbers(first.shape, 0, 4, seed) for seed in range(1, inner)]
    window = read.get("kernel")
    if window is None:
        window = np.array(kernels.KERNELS[dims][kernel], float)
    return np.stack([first, *more]), kernels.with_channels(window, outer, inner, seed=7)


def patiently(view: View, call: str, **given: Any) -> Any | None:
    """What a lesson gives; kernels that were just written are compiled first."""
    with st.spinner("Compiling the kernels: this takes a moment after each change."):
        return view.ask(f"convolution.{call}", limit=240, **given)


def ask(view: View, way: str, dims: int, numbers: dict[str, Any]) -> Any | None:
    """What the library gives, always with a height: out x height x width, or what the way has."""
    given = {name: _flat(value, dims) for name, value in numbers.items()}
    answer = patiently(view, CALLS[way], **given)
    if answer is None:
        return None
    out = np.asarray(answer["out"], float)
    return out if dims == 2 else np.expand_dims(out, -2)


def _flat(value: Any, dims: int) -> Any:
    """Numbers as a lesson takes them: in one dimension without the height of 1."""
    if isinstance(value, tuple):
        return list(value[2 - dims :])
    return (value if dims == 2 else value.squeeze(-2)).tolist()


def as_slide(way: str, source: Any, weight: Any, gradient: Any, out: Any, at: list[int]) -> Any:
    """The numbers behind one channel of the result."""
    if way == "forward":
        return windows.Slide(source, weight[at[0]], out[at[0]])
    if way == "input":
        return windows.Slide(gradient, weight[:, at[0]], out[at[0]], reverse=True)
    return windows.Slide(source[at[1]][None], gradient[at[0]][None], out[at[0], at[1]])


def choose_channels(way: str, outer: int, inner: int) -> list[int]:
    """Which channel of the result is shown; of a kernel's gradient, which pair."""
    counts = {"forward": {"Output channel": outer}, "input": {"Input channel": inner}}
    names = counts.get(way, {"Output channel": outer, "Input channel": inner})
    chosen = []
    for name, count in names.items():
        key = f"c{name.split()[0].lower()}"
        if count > 1:
            chosen.append(_segment(name, count, key) - 1)
        else:
            chosen.append(0)
    return chosen


def _segment(name: str, count: int, key: str, last: str = "") -> int:
    options = [*range(1, count + 1), *([0] if last else [])]
    return st.segmented_control(
        name, options, default=1, required=True, key=f"{key}{count}", bind="query-params",
        format_func=lambda number: str(number) if number else last,
    )  # fmt: skip


def show_convolution(dims: int, way: str) -> None:
    """The page in one or two dimensions, forward or backward."""
    numbers = choose_numbers(dims)
    if numbers is None:
        return
    source, weight = numbers
    outer, inner = weight.shape[:2]
    gradient = kernels.random_numbers((outer, *source.shape[1:]), -1, 4, seed=3)
    given = {
        "forward": {"input": source, "weight": weight},
        "input": {"gradient": gradient, "weight": weight},
        "weight": {"input": source, "gradient": gradient, "window": weight.shape[2:]},
    }[way]
    shape = weight.shape[2:] if way == "weight" else source.shape[1:]
    added = {"forward": inner, "input": outer, "weight": 1}[way]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        how = st.segmented_control(
            "Look", ["one", "book"], default="one", required=True, key="clook", bind="query-params",
            format_func={"one": "One position", "book": "Flip book"}.__getitem__,
        )  # fmt: skip
        at = choose_channels(way, outer, inner)
        shown = 1
        if added > 1:
            name = "Channels of the input" if way == "forward" else "Channels of the gradient"
            shown = _segment(name, added, "cone", "all")
        key = f"cat{dims}"
        place = choose_place(shape, key) if how == "one" else (0, 0)
    st.markdown(NOTES[way])
    answers = []
    for view in columns(room):
        out = ask(view, way, dims, given)
        answers.append(None if out is None else {CALLS[way]: out.tolist()})
        if out is None:
            continue
        slide = as_slide(way, source, weight, gradient, out, at)
        if how == "one":
            show_place(view, slide, way, shown, place, key)
        else:
            show_book(view, slide, shown)
        tell_wrong(slide, way, dims)
    show_difference(answers)


NAMES = {
    "forward": ("Input", "Kernel", "Output"),
    "input": ("Gradient of the output", "Kernel, flipped", "Gradient of the input"),
    "weight": ("Input", "Gradient of the output", "Gradient of the kernel"),
}


def show_place(view: View, slide: Any, way: str, shown: int, place: Any, key: str) -> None:
    """One position: where the window lies, the result to click, and the sum unrolled."""
    source_name, kernel_name, result_name = NAMES[way]
    chosen = range(slide.channels) if shown == 0 else [shown - 1]
    flat = slide.source.shape[1] == 1
    left, right = (st.container(), st.container()) if flat else st.columns([3, 2])
    with left:
        for channel in chosen:
            number = f", channel {channel + 1}" if slide.channels > 1 else ""
            st.caption(source_name + number)
            board(
                windows.draw_source(slide, channel, place), key=f"src-{view.name}-{channel}-{flat}"
            )
    with right:
        st.caption(f"{result_name}: click a cell to see its window")
        picture = windows.draw_result(slide, place, as_mark(place))
        clicked = board(picture, key=f"res-{view.name}-{flat}-{way}")
        follow_click(clicked, place, slide.result.shape[1], key)
        if not flat and way != "weight":
            for channel in chosen:
                number = f", channel {channel + 1}" if slide.channels > 1 else ""
                st.caption(kernel_name + number)
                board(windows.draw_kernel(slide, channel), key=f"ker-{view.name}-{channel}")
    st.markdown("**Unrolled**: the window's numbers in a row, times the kernel's, added up.")
    for channel in chosen:
        if slide.channels > 1:
            st.caption(f"Channel {channel + 1}")
        times = "gradient" if way == "weight" else "kernel"
        picture = windows.draw_unrolled(slide, channel, place, times)
        board(picture, key=f"unr-{view.name}-{channel}-{flat}")
    tell_sum(slide, place)


def tell_sum(slide: Any, place: Any) -> None:
    """The channels' sums, and what they add up to."""
    parts = [shorten(slide.part(channel, place)) for channel in range(slide.channels)]
    gives = shorten(float(slide.result[place]))
    if slide.channels > 1:
        named = [f"channel {n + 1} adds {part}" for n, part in enumerate(parts)]
        st.markdown(f"C{', '.join(named)[1:]}: together **{shorten(slide.sum(place))}**.")
    st.markdown(f"The library gives **{gives}** at ({place[0]}, {place[1]}).")


def tell_wrong(slide: Any, way: str, dims: int) -> None:
    """Say where the library's numbers are not the sums on this page."""
    if slide.wrong:
        row, column = slide.wrong[0]
        st.warning(
            f"`conv{dims}d`{' with reverse' if way == 'input' else ''} gives "
            f"{shorten(float(slide.result[row, column]))} at ({row}, {column}); the products there "
            f"add up to {shorten(slide.sum((row, column)))}. {len(slide.wrong)} of "
            f"{slide.result.size} cells differ; they are underlined in red."
        )


def show_book(view: View, slide: Any, shown: int) -> None:
    """All positions, one after the other, and within each the channels that are asked for."""
    chosen = range(slide.channels) if shown == 0 else [shown - 1]
    frames, captions = [], []
    for number, place in enumerate(np.ndindex(*slide.result.shape)):
        for channel in chosen:
            done = number + (channel == chosen[-1])
            frames.append(windows.draw_frame(slide, channel, place, done - 1))
            name = f"channel {channel + 1}: " if slide.channels > 1 else ""
            captions.append(
                f"({place[0]}, {place[1]})  {name}{windows.spell(slide, channel, place)}"
            )
    flipbook(frames, key=f"book-{view.name}-{slide.source.shape[1] == 1}", captions=captions)


# --- Pooling -----------------------------------------------------------------------------------


TILES = {
    "6 × 6": ["2 × 2", "3 × 3", "2 × 3", "1 × 2"],
    "4 × 4": ["2 × 2", "1 × 2", "2 × 1", "4 × 4"],
    "4 × 8": ["2 × 2", "2 × 4", "4 × 2"],
}


def show_pooling() -> None:
    """The page of pooling."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.segmented_control(
            "Pooling", ["average", "max"], default="average", required=True, key="pkind",
            bind="query-params",
        )  # fmt: skip
        size = st.selectbox("Image", list(TILES), key="psize", bind="query-params")
        tile = st.selectbox("Tile", TILES[size], key="ptile", bind="query-params")
        filling = st.selectbox("Numbers", ["random", "counting"], key="pnum", bind="query-params")
    height, width = (int(n) for n in size.split(" × "))
    kernel = (int(tile[0]), int(tile[-1]))
    image = kernels.random_numbers((height, width), 0, 10, seed=5)
    if filling == "counting":
        image = np.arange(float(height * width)).reshape(height, width)
    shape = (height // kernel[0], width // kernel[1])
    gradient = kernels.random_numbers(shape, 1, 5, seed=2)
    place = choose_place(shape, "pat")
    answers = []
    for view in columns(room):
        answers.append(show_pool(view, image, kernel, kind, place, gradient))
    show_difference(answers)


def show_pool(view: View, image: Any, kernel: Any, kind: str, place: Any, gradient: Any) -> Any:
    """An image, what its tiles become, the way back, and how `tile` gets there."""
    given = {"image": image.tolist(), "kernel": list(kernel)}
    pooled = patiently(view, "pool", kind=kind, **given)
    if pooled is None:
        return None
    out = np.asarray(pooled["out"], float)
    name = "avgpool2d" if kind == "average" else "maxpool2d"
    left, right = st.columns(2)
    with left:
        st.caption("The image, cut into tiles")
        board(tiles.draw_image(image, kernel, place), key=f"pimg-{view.name}")
    with right:
        st.caption(f"`{name}` gives: click a cell to see its tile")
        clicked = board(tiles.draw_pooled(out, place, as_mark(place)), key=f"pout-{view.name}")
        follow_click(clicked, place, out.shape[1], "pat")
    inside = image[
        place[0] * kernel[0] : (place[0] + 1) * kernel[0],
        place[1] * kernel[1] : (place[1] + 1) * kernel[1],
    ]
    gives = shorten(float(out[place]))
    st.markdown(
        f"`{tiles.spell(inside.reshape(-1).tolist(), kind)}`, and the library gives **{gives}**."
    )
    back = patiently(view, "pool_gradient", kind=kind, gradient=gradient.tolist(), **given)
    if back is None:
        return None
    st.markdown("**Backward.** " + BACKWARD[kind])
    left, right = st.columns(2)
    with left:
        st.caption("The gradient of the image")
        picture = tiles.draw_image(np.asarray(back["out"], float), kernel, place, plain=True)
        board(picture, key=f"pgrad-{view.name}")
    with right:
        st.caption("The gradient that comes in")
        board(tiles.draw_pooled(gradient, place), key=f"pg-{view.name}")
    made = patiently(view, "tile", **given)
    if made is None:
        return None
    steps = patiently(view, "tile_steps", **given)
    if steps is None:
        return None
    st.markdown("**How `tile` does it**: by view and permute, without a loop.")
    captions = [f"{n + 1}. {name}: {words}" for n, (name, words) in enumerate(tiles.STEPS)]
    flipbook(tiles.draw_steps(steps, kernel), f"psteps-{view.name}", captions=captions, seconds=1.5)
    expected = np.asarray(steps[-1]["storage"]).reshape(steps[-1]["shape"])
    given_shape = np.shape(made["tiles"])
    if given_shape == expected.shape and np.allclose(made["tiles"], expected):
        st.markdown(f"`tile` gives just this, in the shape {given_shape}.")
    else:
        st.warning(
            f"`tile` gives the shape {given_shape} here; these steps lead to "
            f"{expected.shape}{'' if given_shape != expected.shape else ' with other numbers'}."
        )
    return {name: pooled["out"], "gradient of the image": back["out"], "tile": made["tiles"]}


BACKWARD = {
    "average": "Each number of a tile had the same share in the mean, so each gets the same share "
    "of the gradient.",
    "max": "Only the largest number of a tile went on, so the gradient goes to it alone.",
}

room = begin("convolution")
way = "forward"
with st.container(horizontal=True, gap="medium"):
    page = st.segmented_control(
        "Show", list(KINDS), default="1", format_func=KINDS.__getitem__, required=True,
        key="ckind", bind="query-params",
    )  # fmt: skip
    if page != "pool":
        way = st.segmented_control(
            "Direction", list(WAYS), default="forward", format_func=WAYS.__getitem__,
            required=True, key="cway", bind="query-params",
        )  # fmt: skip
if page == "pool":
    show_pooling()
else:
    show_convolution(int(page), way)
