"""Large convolutions, compiled by Numba: products of matrices that are never written out.

`conv_plans` says where everything lies: sheets, taps, phases. A task takes some samples and
some rows of weights, lays the samples out in a sheet that stays in the cache of its core,
block by block, and multiplies tile by tile, the sums of a tile held in registers.
"""

from __future__ import annotations

from typing import Any

from .conv_plans import SHARED
from .kernels import from_source, kernel, share
from .vectors import BYTES, VERBS, evens, get, lanes, load, put, store

ROWS = 4
"""Rows of weights that meet three vectors of a sheet at once: twelve sums in registers."""

SLACK = SHARED + 8 * BYTES // 4
"""Elements after a sheet or a buffer that the last tile may touch: zeros of the last line, and eight vectors."""

LINE = 16
"""Elements of a line of a cache, or of two."""


# --- Laying out ----------------------------------------------------------------------------


def copy_lines(
    out: Any, o: int, o_line: int, o_step: int, source: Any, s: int, s_line: int, s_step: int, lines: int, count: int
) -> None:  # fmt: skip
    """Copy lines of elements, each at equal distances, by vectors where it can."""
    n = lanes(out)
    for _ in range(lines):
        i = 0
        if o_step == 1 and s_step == 1 and count >= n:
            while i < count - n:
                store(out, o + i, load(source, s + i))
                i += n
            store(out, o + count - n, load(source, s + count - n))
            i = count
        elif o_step == 1 and s_step == 2:
            while i < count - n:
                store(out, o + i, evens(load(source, s + 2 * i), load(source, s + 2 * i + n)))
                i += n
        while i < count:
            put(out, o + i * o_step, get(source, s + i * s_step))
            i += 1
        o += o_line
        s += s_line


def inside(first: int, step: int, size: int, length: int) -> Any:
    """The first place of a split that lies in the source, and how many follow."""
    before = min(max(0, -(first // step)), length)
    return before, max(0, min(length, -((first - size) // step)) - before)


def clear_lines(out: Any, o: int, o_line: int, lines: int, count: int) -> None:
    """Fill lines of elements with zeros."""
    for j in range(lines):
        for i in range(count):
            put(out, o + j * o_line + i, out.dtype.type(0))


def lay_out(
    source: Any, start: int, sample: int, count: int, line: int, layout: Any, splits: Any, sheet: Any
) -> None:  # fmt: skip
    """Copy `count` samples, `sample` elements apart, into a sheet, from a line of the result on.

    Zeros before and after each line are there from the beginning; whole lines of zeros are
    written, as they lie elsewhere in each band.
    """
    block, channels, depth, height, width = layout[:5]
    slices, lines, length, d_step, h_step, w_step, distance, _ = layout[5:]
    for s in range(len(splits)):
        first_d, first_h, first_w = splits[s, 0], splits[s, 1] + line * h_step, splits[s, 2]
        d_before, d_places = inside(first_d, d_step, depth, slices)
        h_before, h_places = inside(first_h, h_step, height, lines)
        w_before, w_places = inside(first_w, w_step, width, length)
        in_plane = (first_h + h_before * h_step) * width + first_w + w_before * w_step
        for c in range(channels):
            for b in range(count):
                for i in range(d_before, d_before + d_places):
                    p = start + b * sample + (c * depth + first_d + i * d_step) * height * width
                    q = c * distance + ((s * block + b) * slices + i) * lines * length + w_before
                    after = h_before + h_places
                    clear_lines(sheet, q, length, h_before, w_places)
                    copy_lines(
                        sheet, q + h_before * length, length, 1,
                        source, p + in_plane, h_step * width, w_step, h_places, w_places,
                    )  # fmt: skip
                    clear_lines(sheet, q + after * length, length, lines - after, w_places)


def pack(weight: Any, start: int, row: int, rows: int, tall: int, places: Any, packed: Any) -> None:
    """Lay rows of weights, `row` elements apart, side by side in tiles of `tall` rows.

    Where rows are missing in a tile the last one is there again.
    """
    for tile in range(0, rows, tall):
        for k in range(len(places)):
            for r in range(tall):
                p = start + min(tile + r, rows - 1) * row + get(places, k)
                put(packed, tile * len(places) + k * tall + r, get(weight, p))


# --- Tiles of the product ------------------------------------------------------------------


def _multiplying(rows: int, wide: int) -> Any:
    """A function that multiplies so many rows of weights by `count` positions of a sheet, in tiles of so many vectors.

    It is written out with a variable for each sum: those stay in registers. The last tile may overlap the one before.
    """
    tile = [(r, v) for r in range(rows) for v in range(wide)]
    lines = [
        "def multiply(packed, w, bias, b, offsets, taps, sheet, p, out, pitch, count):",
        " n = lanes(sheet)",
        f" for t in range(0, count, {wide} * n):",
        f"  t = max(0, min(t, count - {wide} * n))",
        *(f"  sum_{r}_{v} = spread(bias, b + {r})" for r, v in tile),
        "  q = w",
        "  for k in range(taps[0], taps[1]):",
        "   i = p + t + get(offsets, k)",
        *(f"   x_{v} = load(sheet, i + {v} * n)" for v in range(wide)),
        *(f"   w_{r} = spread(packed, q + {r})" for r in range(rows)),
        *(f"   sum_{r}_{v} = multiply_add(w_{r}, x_{v}, sum_{r}_{v})" for r, v in tile),
        f"   q += {rows}",
        *(f"  store(out, t + {r} * pitch + {v} * n, sum_{r}_{v})" for r, v in tile),
    ]
    return from_source("\n".join(lines), **VERBS)


multiply_four, multiply_one = _multiplying(ROWS, 3), _multiplying(1, 8)


# --- Convolution, forward and transposed ---------------------------------------------------


def write(
    buffer: Any, pitch: int, rows: int, first: int, last: int, length: int, width: int, out: Any, o: int, result: Any
) -> None:  # fmt: skip
    """Copy positions first to last of the buffer's rows to the result, but none between lines."""
    volume, _, h_step, w_step = result
    j = first // length
    line = j * length
    while line < last:
        low, high = max(first - line, 0), min(last - line, width)
        p, q = line - first + low, o + j * h_step + low * w_step
        copy_lines(out, q, volume, w_step, buffer, p, pitch, 1, rows, high - low)
        j += 1
        line += length


def convolve_block(
    sheet: Any, count: int, line: int, packed: Any, bias: Any, rows: int, tall: int, out: Any, o: int, sample: int,
    layout: Any, chunk: int, result: Any, phases: Any, offsets: Any, buffer: Any,
) -> None:  # fmt: skip
    """All outputs of a block of samples, or of the band from a line on, for some rows of weights.

    The sheet is taken in chunks that stay in the inner cache while all rows pass.
    """
    slices, lines, length, band = layout[5], layout[6], layout[7], layout[12]
    pitch = len(buffer) // tall
    for f in range(len(phases)):
        taps, begins = (phases[f, 0], phases[f, 1]), phases[f, 2] + line * result[2]
        deep, high, width = phases[f, 3], min(band, phases[f, 4] - line), phases[f, 5]
        run = max(0, (high - 1) * length + width)
        chunks = max(1, run // chunk)
        for n in range(count * deep * chunks if high > 0 else 0):
            b, i, first = n // chunks // deep, n // chunks % deep, n % chunks * chunk
            last = run if n % chunks == chunks - 1 else first + chunk
            p = (b * slices + i) * lines * length + first
            q = o + b * sample + begins + i * result[1]
            for r in range(0, rows, tall):
                w = r * len(offsets) + taps[0] * tall
                if tall == 1:
                    multiply_one(packed, w, bias, r, offsets, taps, sheet, p, buffer, pitch, last - first)  # fmt: skip
                else:
                    multiply_four(packed, w, bias, r, offsets, taps, sheet, p, buffer, pitch, last - first)  # fmt: skip
                some = min(tall, rows - r)
                write(buffer, pitch, some, first, last, length, width, out, q + r * result[0], result)  # fmt: skip


def workspace(layout: Any, work: Any, taps: int) -> tuple[int, int, int, int]:
    """How many elements a task needs for its sheet, a buffer of results, packed weights and biases, in whole lines."""
    _, groups, rows, _, chunk, _, row_parts = work
    tall = 1 if rows == 1 else ROWS
    tiles = (rows + tall - 1) // tall
    most = min(tiles, (groups * tiles + row_parts - 1) // row_parts)
    return (
        in_lines(layout[1] * layout[11] + SLACK),
        in_lines(tall * (2 * chunk + SLACK)),
        in_lines(most * tall * taps),
        in_lines(tiles * tall),
    )


def in_lines(count: int) -> int:
    """So many elements as whole lines of a cache."""
    return (count + LINE - 1) // LINE * LINE


def convolve_task(
    task: int, source: Any, weight: Any, bias: Any, out: Any, room: Any, layout: Any, work: Any, result: Any,
    splits: Any, phases: Any, offsets: Any, weights: Any,
) -> None:  # fmt: skip
    """The share of one task: some samples, and some tiles of rows in some groups."""
    batch, groups, rows, row, chunk, sample_parts, row_parts = work
    block, channels, band = layout[0], layout[1], layout[12]
    volume, places = channels * layout[2] * layout[3] * layout[4], rows * result[0]
    tall = 1 if rows == 1 else ROWS
    tiles = (rows + tall - 1) // tall
    part, share = task // row_parts, task % row_parts
    first, last = share * groups * tiles // row_parts, (share + 1) * groups * tiles // row_parts
    end = (part + 1) * batch // sample_parts
    sizes = workspace(layout, work, len(offsets))
    at_buffer, at_packed = sizes[0], sizes[0] + sizes[1]
    at_biases = at_packed + sizes[2]
    sheet, packed, biases = room[:at_buffer], room[at_packed:at_biases], room[at_biases:]
    buffer = room[at_buffer : at_buffer + tall * (2 * chunk + SLACK)]
    clear_lines(room, 0, 0, 1, len(sheet))
    clear_lines(biases, 0, 0, 1, len(biases))
    for group in range(first // tiles, (last + tiles - 1) // tiles):
        low = max(first - group * tiles, 0) * tall
        some = min((last - group * tiles) * tall, rows) - low
        pack(weight, group * (len(weight) // groups) + low * row, row, some, tall, weights, packed)
        for r in range(some if len(bias) else 0):
            biases[r] = bias[group * rows + low + r]
        for b in range(part * batch // sample_parts, end, block):
            p, o = (b * groups + group) * volume, (b * groups + group) * places + low * result[0]
            count = min(block, end - b)
            for line in range(0, phases[0, 4], band):
                lay_out(source, p, groups * volume, count, line, layout, splits, sheet)
                convolve_block(
                    sheet, count, line, packed, biases, some, tall, out, o, groups * places,
                    layout, chunk, result, phases, offsets, buffer,
                )  # fmt: skip


@kernel
def convolve_all(
    task: int, tasks: int, source: Any, weight: Any, bias: Any, out: Any, room: Any, layout: Any, work: Any,
    result: Any, splits: Any, phases: Any, offsets: Any, weights: Any,
) -> None:  # fmt: skip
    """Convolutions, plain and transposed, as planned.

    source, weight, bias (or nothing), out and room, the `workspace` of all parts, are 1-d; layout, result, splits, phases, offsets and
    weights are those of a `Plan`; work is samples, groups, rows of weights in each, their
    distance, chunk, parts of samples and of rows.
    """
    first, last = share(task, tasks, work[5] * work[6])
    size = len(room) // (work[5] * work[6])
    for part in range(first, last):
        own = room[part * size : (part + 1) * size]
        convolve_task(
            part, source, weight, bias, out, own, layout, work, result, splits, phases, offsets, weights
        )  # fmt: skip
