"""Drawings of a sentence: what each word, and each window of words, does to the answer."""

from __future__ import annotations

from typing import Any

from .picture import BLUE, FAINT, GREY, INK, RED, SHADES, Picture

ROW, LEFT, HALF = 32, 140, 80


def draw_words(answer: dict[str, Any]) -> Picture:
    """Each word with two bars: what it changes, compared with leaving it out, and its part of the score."""
    words = answer["words"]
    picture = Picture(LEFT + 4 * HALF + 40, 34 + ROW * len(words), "What each word does")
    middles = (LEFT + HALF, LEFT + 3 * HALF + 24)
    picture.text(middles[0], 12, "changes probability by", size=14)
    picture.text(middles[1], 12, "adds to the score", size=14)
    effects = [answer["positive"] - word["without"] for word in words]
    largest = max([abs(effect) for effect in effects] + [0.02])
    strongest = max([abs(word["share"]) for word in words] + [0.02])
    for number, (word, effect) in enumerate(zip(words, effects, strict=True)):
        y = 28 + number * ROW
        fill = SHADES[5] if word["known"] else "none"
        dash = None if word["known"] else "4 3"
        picture.box(
            2, y, LEFT - 20, ROW - 6, fill, line=GREY if dash else "none", round=4, dash=dash
        )
        text = word["word"] if word["known"] else f"{word['word']} (unknown)"
        color = "#1f2937" if word["known"] else INK
        size = 15 if len(text) < 14 else 11
        picture.text(LEFT / 2 - 8, y + ROW / 2 - 3, text[:24], color=color, size=size)
        _bar(picture, middles[0], y, effect / largest, f"{100 * effect:+.0f} %")
        _bar(picture, middles[1], y, word["share"] / strongest, f"{word['share']:+.2f}")
    for middle in middles:
        picture.line([(middle, 24), (middle, 28 + ROW * len(words))], color=FAINT, thick=1)
    return picture


def _bar(picture: Picture, middle: float, y: float, share: float, words: str) -> None:
    """A bar to the right (positive) or to the left (negative) of a middle, with a number beside it."""
    length = abs(share) * (HALF - 42)
    start = middle if share >= 0 else middle - length
    picture.box(start, y + 3, length, ROW - 12, BLUE if share >= 0 else RED, line="none")
    beside = (middle + length + 4, "start") if share >= 0 else (middle - length - 4, "end")
    picture.text(beside[0], y + ROW / 2 - 3, words, size=13, anchor=beside[1])


def draw_verdict(positive: float) -> Picture:
    """The probability that the sentence is positive, as a bar from negative to positive."""
    picture = Picture(500, 44, "Negative or positive")
    picture.box(2, 4, 496, 20, "none", line=FAINT)
    picture.box(2, 4, 496 * (1 - positive), 20, RED, line="none")
    picture.box(2 + 496 * (1 - positive), 4, 496 * positive, 20, BLUE, line="none")
    picture.text(2, 36, f"negative {1 - positive:.0%}", anchor="start", size=15)
    picture.text(498, 36, f"positive {positive:.0%}", anchor="end", size=15)
    return picture
