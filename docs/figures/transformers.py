"""Figures of module 5: embeddings, layer normalization, attention, the GPT."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from .style import (
    BLUE,
    GREEN,
    GREY,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    MUTED,
    ORANGE,
    PAPER,
    arrow,
    box,
    canvas,
    figure,
    grid,
    plots,
    words,
)


@figure("embeddings-lookup")
def embeddings_lookup() -> Figure:
    """Three characters as one-hot rows, times the table, plus the rows of their places."""
    drawn, ax = canvas(24, 6.4)
    text, table = "aba", [[2, 1], [0, 4], [3, 3]]
    places = [[10, 0], [20, 0], [30, 0]]
    ids = [0, 1, 0]
    for i, (character, number) in enumerate(zip(text, ids, strict=True)):
        words(ax, 0.7, 4.4 - i, character, family="monospace", fontsize=12)
        words(ax, 1.6, 4.4 - i, str(number), MUTED)
    hot = [[1 if j == number else 0 for j in range(3)] for number in ids]
    grid(ax, 2.4, 4.9, hot, lambda i, j: LIGHT_ORANGE if hot[i][j] else PAPER)
    words(ax, 3.9, 5.5, "one-hot (3, 3)", MUTED, fontsize=9)
    words(ax, 6.1, 3.4, "@", fontsize=13)
    grid(ax, 6.9, 4.9, table, lambda i, j: LIGHT_BLUE if i < 2 else PAPER)
    words(ax, 7.9, 5.5, "table (3, 2)", MUTED, fontsize=9)
    words(ax, 9.6, 3.4, "=", fontsize=13)
    rows = (np.array(hot) @ np.array(table)).tolist()
    grid(ax, 10.4, 4.9, rows, LIGHT_BLUE)
    words(ax, 11.4, 5.5, "characters", MUTED, fontsize=9)
    words(ax, 13.2, 3.4, "+", fontsize=13)
    grid(ax, 14.0, 4.9, places, LIGHT_GREEN)
    words(ax, 15.0, 5.5, "places 0, 1, 2", MUTED, fontsize=9)
    words(ax, 16.8, 3.4, "=", fontsize=13)
    grid(ax, 17.6, 4.9, (np.array(rows) + places).tolist(), LIGHT_ORANGE)
    words(ax, 18.6, 5.5, "(T, C) = (3, 2)", MUTED, fontsize=9)
    words(ax, 12.0, 0.9, "the two a's have one row in the table, and two in the sum", MUTED)
    return drawn


@figure("layer-norm-row")
def layer_norm_row() -> Figure:
    """One row, step by step."""
    drawn, ax = canvas(23, 5.0)
    row = np.array([1.0, 2.0, 6.0])
    centred = row - row.mean()
    variance = (centred**2).mean()
    normal = centred / math.sqrt(variance + 1e-6)
    steps = [
        (row, "x", f"mean {row.mean():.0f}", LIGHT_BLUE),
        (centred, "x − mean", f"variance {variance:.2f}", PAPER),
        (normal, "divided by its root", "mean 0, variance 1", LIGHT_GREEN),
        (normal * 2 + 1, "· weight + bias", "here 2 and 1", LIGHT_ORANGE),
    ]
    for i, (values, above, below, shade) in enumerate(steps):
        x = 0.4 + 5.8 * i
        grid(ax, x, 3.4, [[f"{v:.2f}" for v in values]], shade, cell=1.4, fontsize=10)
        words(ax, x + 2.1, 4.0, above)
        words(ax, x + 2.1, 1.3, below, MUTED, fontsize=9.5)
        if i < 3:
            arrow(ax, (x + 4.35, 2.7), (x + 5.65, 2.7))
    return drawn


@figure("layer-norm-gelu")
def layer_norm_gelu() -> Figure:
    """GELU and its slope beside ReLU's."""
    drawn, axes = plots(2, 3.4, 2.5)
    x = np.linspace(-3.5, 3.5, 281)
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    gelu = x / (1 + np.exp(-2 * u))
    for ax, ours, theirs, title in (
        (axes[0], gelu, np.maximum(x, 0), "values"),
        (axes[1], np.gradient(gelu, x), (x > 0).astype(float), "slopes"),
    ):
        ax.plot(x, theirs, color=MUTED, linewidth=1.2, label="ReLU")
        ax.plot(x, ours, color=BLUE, label="GELU")
        ax.set(title=title)
        ax.legend(fontsize=9)
    return drawn


def attention_example() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, weights and results of the guide's three places."""
    query = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    key = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    value = np.array([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]])
    scores = query @ key.T / math.sqrt(2.0)
    masked = np.where(np.tril(np.ones((3, 3))) > 0, scores, -np.inf)
    weights = np.exp(masked - masked.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    return scores, weights, weights @ value


@figure("attention-steps")
def attention_steps() -> Figure:
    """Scores, mask, softmax, mean of values, for three places."""
    drawn, ax = canvas(25, 6.6)
    scores, weights, out = attention_example()

    def table(x: float, values: np.ndarray, above: str, below: str, shaded: bool) -> None:
        texts = [[f"{v:.2f}" for v in row] for row in values]
        if shaded:
            texts = [
                [t if j <= i else "−∞" for j, t in enumerate(row)] for i, row in enumerate(texts)
            ]
        grid(
            ax,
            x,
            5.2,
            texts,
            lambda i, j: GREY if shaded and j > i else LIGHT_BLUE,
            cell=1.45,
            fontsize=10,
        )
        words(ax, x + 0.725 * len(texts[0]), 5.8, above)
        words(ax, x + 0.725 * len(texts[0]), 0.4, below, MUTED, fontsize=9)

    table(0.3, scores, "query @ keyᵀ / √2", "row: who looks", False)
    arrow(ax, (4.8, 3.0), (5.9, 3.0), "mask", color=MUTED)
    table(6.1, scores, "nobody looks ahead", "column: at whom", True)
    arrow(ax, (10.6, 3.0), (12.0, 3.0), "softmax", color=MUTED)
    table(12.2, weights, "weights", "each row adds up to 1", False)
    arrow(ax, (16.7, 3.0), (18.3, 3.0), "@ value", color=MUTED)
    table(18.6, out, "result", "means of values", False)
    return drawn


@figure("attention-heads")
def attention_heads() -> Figure:
    """A width of six in two heads, and back."""
    drawn, ax = canvas(23, 5.8)
    row = [[f"{i}{j}" for j in range(6)] for i in range(2)]
    grid(ax, 0.4, 4.2, row, lambda i, j: LIGHT_BLUE if j < 3 else LIGHT_ORANGE)
    words(ax, 3.4, 4.8, "(1, 2, 6): two places, width 6")
    arrow(ax, (6.8, 3.2), (9.2, 3.2), "split_heads")
    for head, shade, y in ((0, LIGHT_BLUE, 5.0), (1, LIGHT_ORANGE, 2.4)):
        part = [r[3 * head : 3 * head + 3] for r in row]
        grid(ax, 9.6, y, part, shade)
        words(ax, 13.4, y - 1.0, f"head {head}: attention by itself", MUTED, ha="left", fontsize=9)
    words(ax, 11.1, 5.45, "(2, 2, 3)")
    words(ax, 17.8, 0.5, "join_heads puts the columns back, merge mixes them", MUTED, fontsize=9)
    return drawn


@figure("gpt-block")
def gpt_block() -> Figure:
    """From ids to scores: embedding, blocks, norm, head; and what a block does."""
    drawn, ax = canvas(24, 7.0)
    chain = [
        ("embedding", LIGHT_GREEN, GREEN, "(B, T, C)"),
        ("block", LIGHT_BLUE, BLUE, "(B, T, C)"),
        ("block", LIGHT_BLUE, BLUE, "(B, T, C)"),
        ("norm, head", LIGHT_ORANGE, ORANGE, "(B, T, V)"),
    ]
    words(ax, 0.9, 5.9, "ids\n(B, T)", fontsize=9.5)
    for i, (name, fill, edge, shape) in enumerate(chain):
        x = 4.6 + 5.2 * i
        box(ax, x, 5.9, name, 3.2, 1.1, fill, edge)
        arrow(ax, (x - 3.3 if i else 1.7, 5.9), (x - 1.7, 5.9))
        words(ax, x, 4.95, shape, MUTED, fontsize=9)
    arrow(ax, (21.9, 5.9), (23.2, 5.9))
    words(ax, 22.5, 6.5, "scores", fontsize=9.5)
    words(ax, 0.9, 2.2, "x", fontsize=12)
    parts = [("norm1", 4.0), ("attention", 7.6), ("norm2", 13.6), ("widen, gelu,\nnarrow", 17.6)]
    for name, x in parts:
        box(ax, x, 1.2, name, 2.9, 1.2, LIGHT_BLUE, BLUE, fontsize=9.5)
    for start, end in ((2.0, 2.5), (5.5, 6.1), (11.6, 12.1), (15.1, 16.1)):
        arrow(ax, (start, 1.2), (end, 1.2))
    for x, left in ((10.6, 2.0), (20.6, 11.6)):
        box(ax, x, 2.9, "+", 0.8, 0.8, PAPER, MUTED, fontsize=12)
        arrow(ax, (left, 2.9), (x - 0.45, 2.9), color=MUTED)
        arrow(ax, (x - 1.5, 1.2), (x, 2.45), color=MUTED, bend=0.25)
    arrow(ax, (1.2, 2.2), (2.0, 2.9), color=MUTED)
    arrow(ax, (1.2, 2.1), (2.0, 1.2), color=MUTED)
    arrow(ax, (11.05, 2.9), (11.6, 2.9), color=MUTED)
    arrow(ax, (11.2, 2.8), (11.6, 1.3), color=MUTED)
    arrow(ax, (21.05, 2.9), (23.0, 2.9))
    words(ax, 12.0, 0.2, "inside a block: both parts add to what passes by", MUTED, fontsize=9.5)
    return drawn


@figure("gpt-temperature")
def gpt_temperature() -> Figure:
    """The same scores at three temperatures."""
    drawn, axes = plots(3, 2.3, 2.1)
    scores = np.array([0.0, 1.0, 2.0, 0.5])
    for ax, temperature in zip(axes, (0.5, 1.0, 3.0), strict=True):
        e = np.exp(scores / temperature)
        bars = ax.bar(list("abcd"), e / e.sum(), color=BLUE)
        ax.bar_label(bars, fmt="%.2f", fontsize=8)
        ax.set(title=f"temperature {temperature:g}", ylim=(0, 1), yticks=[0, 0.5, 1])
    return drawn


@figure("gpt-two-floors")
def gpt_two_floors() -> Figure:
    """What each step is on both floors."""
    drawn, ax = canvas(25, 7.4)
    rows = [
        ("numbers", "float64", "float32"),
        ("ids to rows", "one-hot @ table", "rows are taken out"),
        ("heads", "view, permute, copy", "a view; strides do it"),
        ("attention", "10 operations, 10 tensors", "one call"),
        ("layer norm, loss", "13 operations each", "one kernel each"),
        ("step", "SGD, a new tensor each", "AdamW, one pass in place"),
    ]
    for x, title, fill, edge in (
        (9.6, "ground floor", LIGHT_BLUE, BLUE),
        (19.2, "Torch floor", LIGHT_ORANGE, ORANGE),
    ):
        box(ax, x, 6.9, title, 8.4, 0.8, fill, edge, fontweight="bold")
    for i, (what, ground, torch) in enumerate(rows):
        y = 5.8 - 1.03 * i
        words(ax, 0.3, y, what, ha="left", fontsize=10)
        box(ax, 9.6, y, ground, 8.4, 0.8, PAPER, MUTED, fontsize=9.5)
        arrow(ax, (13.9, y), (14.9, y), color=MUTED)
        box(ax, 19.2, y, torch, 8.4, 0.8, PAPER, MUTED, fontsize=9.5)
    return drawn
