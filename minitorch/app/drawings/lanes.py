"""Pictures of threads on the CPU: who takes which turns of a loop, and how a race happens."""

from __future__ import annotations

from itertools import pairwise

from .picture import ACCENT, BLUE, FAINT, GREY, INK, PAPER, RED, SHADES, Picture

WIDTH, LANE = 600, 46
DARK = "#1f2937"


def share_out(turns: int, threads: int) -> list[tuple[int, int]]:
    """First turn and end of every thread: equal parts, one after the other.

    >>> share_out(10, 4)
    [(0, 3), (3, 6), (6, 8), (8, 10)]
    """
    part, rest = divmod(turns, threads)
    ends = [number * part + min(number, rest) for number in range(threads + 1)]
    return list(pairwise(ends))


def draw_lanes(turns: int, threads: int, working: int, noun: str) -> Picture:
    """A lane for each thread, with the turns it takes where they lie in the whole loop."""
    picture = Picture(WIDTH, LANE * threads + 26, "Which thread takes which turns")
    parts = share_out(turns, working)
    left, wide = 74, WIDTH - 84
    for number in range(threads):
        y = 4 + number * LANE
        picture.text(4, y + 17, f"thread {number}", anchor="start", size=13)
        picture.box(left, y, wide, LANE - 12, line=FAINT, round=4)
        first, end = parts[number] if number < working else (0, 0)
        if end == first:
            picture.text(left + 10, y + 17, "not used", anchor="start", size=13, color=GREY)
            continue
        x, width = left + wide * first / turns, wide * (end - first) / turns
        picture.box(x, y, width, LANE - 12, SHADES[number % 4], line=GREY, round=4)
        if turns <= 40:
            for turn in range(first, end):
                picture.text(left + wide * (turn + 0.5) / turns, y + 17, turn, size=12, color=DARK)
        else:
            words = f"{first:,} to {end - 1:,}"
            inside = width > 7 * len(words)
            at = x + width / 2 if inside else min(x + width + 6, WIDTH - 110)
            picture.text(
                at, y + 17, words, size=12, color=DARK if inside else INK,
                anchor="middle" if inside else "start",
            )  # fmt: skip
    picture.text(left, LANE * threads + 12, 0, anchor="start", size=11, color=GREY)
    picture.text(left + wide, LANE * threads + 12, f"{turns:,} {noun}", anchor="end", size=11, color=GREY)  # fmt: skip
    return picture


# --- How a race happens ----------------------------------------------------------------------


STORY: list[tuple[str, dict[str, str], str, dict[int, str]]] = [
    ("Two threads, one index. Thread 0 has cell (0, 1) to fill, thread 1 has cell (1, 2).",
     {}, "?, ?", {}),
    ("Thread 0 writes its cell into out_index: (0, 1).", {"0": "writes the index"}, "0, 1", {}),
    ("Before thread 0 goes on, thread 1 writes its own: (1, 2).",
     {"1": "writes the index"}, "1, 2", {}),
    ("Thread 0 reads out_index to find its cell, and finds (1, 2).",
     {"0": "reads the index"}, "1, 2", {}),
    ("Thread 0 fills cell (1, 2). Its own cell (0, 1) stays empty for ever.",
     {"0": "fills (1, 2)"}, "1, 2", {5: "0"}),
    ("Thread 1 fills (1, 2) as well. No error, no warning: just a wrong result, sometimes.",
     {"1": "fills (1, 2)"}, "1, 2", {5: "1"}),
]  # fmt: skip
"""A race step by step: words, who does what, what the shared index holds, who filled which cell."""


def draw_race() -> tuple[list[Picture], list[str]]:
    """A flip book of two threads that share an index."""
    pictures = [_race_frame(doing, index, filled) for _, doing, index, filled in STORY]
    return pictures, [words for words, _, _, _ in STORY]


def _race_frame(doing: dict[str, str], index: str, filled: dict[int, str]) -> Picture:
    picture = Picture(520, 190, "Two threads share an index")
    colors = {"0": SHADES[1], "1": SHADES[0]}
    for number, x in (("0", 10), ("1", 350)):
        busy = number in doing
        edge = (BLUE if number == "0" else ACCENT) if busy else FAINT
        picture.box(x, 8, 160, 56, colors[number], line=edge, thick=3 if busy else 1, round=6)
        cell = "(0, 1)" if number == "0" else "(1, 2)"
        picture.text(x + 80, 26, f"thread {number}: cell {cell}", size=13, bold=True, color=DARK)
        picture.text(x + 80, 48, doing.get(number, "waits"), size=13, color=DARK if busy else GREY)
    touched = any("index" in words for words in doing.values())
    picture.text(260, 16, "out_index", size=12, mono=True)
    picture.box(205, 26, 110, 36, PAPER, line=RED if touched else GREY, thick=2, round=4)
    picture.text(260, 44, f"({index})", size=15, mono=True)
    picture.text(170, 84, "out", size=12, mono=True)
    for cell in range(6):
        x, y = 190 + cell % 3 * 50, 78 + cell // 3 * 50
        who = filled.get(cell)
        picture.box(x, y, 46, 46, colors[who] if who else PAPER, line=GREY)
        words = f"by {who}" if who else "empty" if cell in (1, 5) else ""
        color = DARK if who else RED if cell == 1 and filled else GREY
        picture.text(x + 23, y + 23, words, size=12, color=color)
    return picture
