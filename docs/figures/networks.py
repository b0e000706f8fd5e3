"""Figures of module 4: convolution, pooling, classes, sentences."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from .style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_RED,
    MUTED,
    ORANGE,
    PAPER,
    arrow,
    blank,
    box,
    canvas,
    figure,
    grid,
    plots,
    words,
)


@figure("conv-slide")
def conv_slide() -> Figure:
    """The window at three places, the last one over the edge."""
    drawn, ax = canvas(23, 5.4)
    row, weight = [1, 2, 3, 4, 5, 6], [5, 2, 3]
    out = [int(row_sum) for row_sum in np.correlate([*row, 0, 0], weight)]
    for panel, at in enumerate((0, 1, 4)):
        x = 0.3 + 7.7 * panel
        cells = [*row, "0", "0"] if at == 4 else row
        grid(ax, x, 5.1, [cells], lambda i, j: PAPER if j < 6 else GREY, cell=0.85)
        for j, w in enumerate(weight):
            grid(ax, x + 0.85 * (at + j), 3.9, [[w]], LIGHT_ORANGE, cell=0.85)
        grid(
            ax,
            x,
            1.5,
            [[str(o) if i <= at else "" for i, o in enumerate(out)]],
            lambda i, j, a=at: LIGHT_GREEN if j == a else PAPER,
            cell=0.85,
            fontsize=9,
        )
        arrow(ax, (x + 0.85 * at + 0.42, 3.0), (x + 0.85 * at + 0.42, 1.55), color=GREEN)
        products = " + ".join(f"{cells[at + j]} · {weight[j]}" for j in range(3))
        words(ax, x + 2.8, 0.1, f"{products} = {out[at]}", MUTED, fontsize=9)
    return drawn


@figure("conv-unroll")
def conv_unroll() -> Figure:
    drawn, ax = canvas(18, 6.6)
    row, weight = [1, 2, 3, 4, 5, 6, 0, 0], [5, 2, 3]
    table = [[row[i + j] for j in range(3)] for i in range(6)]
    grid(ax, 0.4, 3.8, [row[:6]], LIGHT_BLUE, cell=0.85)
    arrow(ax, (5.8, 3.4), (7.4, 3.4), "unroll")
    grid(ax, 8.0, 5.9, table, lambda i, j: GREY if i + j > 5 else LIGHT_BLUE, cell=0.85)
    words(ax, 11.1, 3.4, "·", fontsize=15)
    grid(ax, 11.8, 4.65, [[w] for w in weight], LIGHT_ORANGE, cell=0.85)
    words(ax, 13.4, 3.4, "=", fontsize=13)
    products = [[sum(a * w for a, w in zip(cells, weight, strict=True))] for cells in table]
    grid(ax, 14.2, 5.9, products, LIGHT_GREEN, cell=0.85)
    words(ax, 9.3, 6.3, "(6, 3)", MUTED, fontsize=9)
    words(ax, 12.2, 5.05, "(3, 1)", MUTED, fontsize=9)
    words(ax, 14.6, 6.3, "(6, 1)", MUTED, fontsize=9)
    return drawn


@figure("conv-channels")
def conv_channels() -> Figure:
    drawn, ax = canvas(21.6, 6.6)
    shades = (LIGHT_RED, LIGHT_GREEN, LIGHT_BLUE)
    words(ax, 3.2, 6.2, "input: 3 channels", fontsize=10)
    for c, shade in enumerate(shades):
        grid(
            ax,
            0.5,
            5.6 - 1.3 * c,
            blank(1, 6),
            lambda i, j, s=shade: s if 1 <= j <= 3 else PAPER,
            cell=0.9,
        )
    words(ax, 10.2, 6.2, "weight of output channel 1", fontsize=10)
    for c, shade in enumerate(shades):
        y = 5.6 - 1.3 * c
        grid(ax, 8.9, y, blank(1, 3), shade, cell=0.9)
        arrow(ax, (6.1, y - 0.45), (8.7, y - 0.45), color=MUTED)
        arrow(ax, (11.8, y - 0.45), (13.9, 3.85), color=MUTED)
    words(ax, 14.3, 3.85, "+", fontsize=15)
    arrow(ax, (14.7, 3.85), (15.6, 3.85))
    words(ax, 18.4, 6.2, "output: 2 channels", fontsize=10)
    grid(ax, 15.7, 4.3, blank(1, 6), lambda i, j: LIGHT_ORANGE if j == 1 else PAPER, cell=0.9)
    grid(ax, 15.7, 2.1, blank(1, 6), PAPER, cell=0.9, edge=MUTED)
    words(ax, 18.4, 0.8, "the next one: the same input, another weight", MUTED, fontsize=9)
    return drawn


@figure("conv-backward")
def conv_backward() -> Figure:
    drawn, ax = canvas(19, 5.0)
    words(ax, 4.0, 4.7, "forward: anchored at the left", fontweight="bold")
    words(ax, 14.4, 4.7, "backward: anchored at the right", fontweight="bold")
    for left, back in ((1.2, False), (11.6, True)):
        lit = 3
        span = range(lit - 2, lit + 1) if back else range(lit, lit + 3)
        upper, lower = ("gradient of out", "gradient of in") if back else ("input", "out")
        grid(
            ax,
            left,
            3.8,
            [[str(i) for i in range(6)]],
            lambda i, j, s=span: LIGHT_ORANGE if j in s else PAPER,
            cell=0.95,
            fontsize=9,
        )
        grid(
            ax,
            left,
            1.4,
            [[str(i) for i in range(6)]],
            lambda i, j: LIGHT_GREEN if j == 3 else PAPER,
            cell=0.95,
            fontsize=9,
        )
        words(ax, left + 2.85, 4.12, upper, MUTED, fontsize=8.5)
        words(ax, left + 2.85, 0.1, lower, MUTED, fontsize=8.5)
        for k, j in enumerate(sorted(span, reverse=back)):
            x = left + 0.95 * j + 0.47
            words(ax, x, 2.58, f"$w_{k}$", ORANGE, fontsize=9)
            arrow(ax, (x, 2.35), (left + 0.95 * lit + 0.47, 1.45), color=ORANGE)
    return drawn


@figure("pooling-view")
def pooling_view() -> Figure:
    drawn, ax = canvas(19, 4.4)
    shades = (LIGHT_BLUE, LIGHT_ORANGE, LIGHT_GREEN, LIGHT_RED)
    grid(ax, 0.4, 2.7, [list(range(1, 9))], lambda i, j: shades[j // 2], cell=0.9)
    arrow(ax, (7.9, 2.25), (9.5, 2.25), "view")
    grid(ax, 10.0, 4.05, [[1, 2], [3, 4], [5, 6], [7, 8]], lambda i, j: shades[i], cell=0.9)
    arrow(ax, (12.1, 2.25), (13.9, 2.25), "mean(1)")
    grid(
        ax,
        14.4,
        4.05,
        [["1.5"], ["3.5"], ["5.5"], ["7.5"]],
        lambda i, j: shades[i],
        cell=0.9,
        fontsize=9,
    )
    words(ax, 4.0, 1.2, "(8,)", MUTED, fontsize=9)
    words(ax, 10.9, 0.1, "(4, 2)", MUTED, fontsize=9)
    words(ax, 14.85, 0.1, "(4, 1)", MUTED, fontsize=9)
    return drawn


@figure("pooling-tile")
def pooling_tile() -> Figure:
    drawn, ax = canvas(22, 5.6)
    shades = ((LIGHT_BLUE, LIGHT_ORANGE), (LIGHT_GREEN, LIGHT_RED))
    numbers = [[4 * i + j for j in range(4)] for i in range(4)]
    grid(ax, 0.4, 4.6, numbers, lambda i, j: shades[i // 2][j // 2], cell=0.9)
    words(ax, 2.2, 5.1, "(4, 4)")
    arrow(ax, (4.4, 2.8), (6.0, 2.8), "view")
    for a in range(2):
        for b in range(2):
            part = [row[2 * b : 2 * b + 2] for row in numbers[2 * a : 2 * a + 2]]
            grid(ax, 6.5 + 2.2 * b, 4.7 - 2.1 * a, part, shades[a][b], cell=0.9)
    words(ax, 8.6, 5.1, "(2, 2, 2, 2)")
    arrow(ax, (11.2, 2.8), (14.2, 2.8), "permute, view")
    for n, (a, b) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        part = [numbers[2 * a + i][2 * b + j] for i in range(2) for j in range(2)]
        grid(ax, 14.8, 4.9 - 1.1 * n, [part], shades[a][b], cell=0.9)
        arrow(ax, (18.5, 4.45 - 1.1 * n), (19.5, 4.45 - 1.1 * n), color=MUTED)
        grid(ax, 19.6, 4.9 - 1.1 * n, [[""]], shades[a][b], cell=0.9)
    words(ax, 16.6, 5.3, "(2, 2, 4)")
    words(ax, 20.1, 5.3, "pooled")
    words(ax, 8.6, 0.2, "which tile, where in the tile, twice", MUTED, fontsize=9)
    return drawn


@figure("multiclass-softmax")
def multiclass_softmax() -> Figure:
    drawn, axes = plots(3, 2.5, 2.3)
    scores = np.array([1.0, 3.0, 2.0, -0.5])
    soft = np.exp(scores) / np.exp(scores).sum()
    hard = (scores == scores.max()).astype(float)
    for ax, values, title in zip(
        axes, (scores, hard, soft), ("scores", "argmax", "softmax"), strict=True
    ):
        colours = [GREEN if v == values.max() else BLUE for v in values]
        bars = ax.bar(range(4), values, color=colours, width=0.65)
        ax.bar_label(bars, [f"{v:.2g}" for v in values], fontsize=9, color=INK, padding=2)
        ax.axhline(0, color=MUTED, linewidth=0.8)
        ax.set(title=title, xticks=range(4), xticklabels=["0", "1", "2", "3"], yticks=[])
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.margins(y=0.18)
    return drawn


@figure("multiclass-max")
def multiclass_max() -> Figure:
    drawn, ax = canvas(17, 4.6)
    words(ax, 4.0, 4.3, "forward", fontweight="bold")
    grid(
        ax,
        0.6,
        3.5,
        [[1, 5, 3], [4, 2, 6]],
        lambda i, j: LIGHT_GREEN if (i, j) in ((0, 1), (1, 2)) else PAPER,
    )
    arrow(ax, (3.8, 2.5), (6.0, 2.5), "max, dim 1")
    grid(ax, 6.3, 3.5, [[5], [6]], LIGHT_GREEN)
    words(ax, 12.9, 4.3, "backward", fontweight="bold")
    grid(
        ax,
        9.6,
        3.5,
        [[0, "d₁", 0], [0, 0, "d₂"]],
        lambda i, j: LIGHT_ORANGE if (i, j) in ((0, 1), (1, 2)) else PAPER,
    )
    arrow(ax, (14.3, 2.5), (12.8, 2.5), color=ORANGE)
    grid(ax, 14.7, 3.5, [["d₁"], ["d₂"]], LIGHT_ORANGE)
    words(
        ax,
        8.4,
        0.6,
        "only the winner had an influence, so only the winner gets the gradient",
        MUTED,
        fontsize=9,
    )
    return drawn


@figure("sentiment-onehot")
def sentiment_onehot() -> Figure:
    drawn, ax = canvas(18, 5.2)
    grid(ax, 0.5, 3.0, [[0, 0, 1, 0]], lambda i, j: LIGHT_ORANGE if j == 2 else PAPER, cell=0.9)
    words(ax, 2.3, 3.6, "the word, one-hot", MUTED, fontsize=9)
    words(ax, 4.7, 2.55, "·", fontsize=15)
    table = [
        ["0.2", "0.9", "0.4"],
        ["0.1", "0.1", "0.7"],
        ["-0.8", "0.3", "0.5"],
        ["0.6", "-0.2", "0.0"],
    ]
    grid(ax, 7.4, 4.4, table, lambda i, j: LIGHT_ORANGE if i == 2 else PAPER, cell=0.9, fontsize=9)
    for i, word in enumerate(("good", "film", "dull", "great")):
        words(ax, 7.2, 3.95 - 0.9 * i, word, MUTED, ha="right", fontsize=9.5)
    words(ax, 8.75, 4.75, "the table", MUTED, fontsize=9)
    words(ax, 10.9, 2.55, "=", fontsize=13)
    grid(ax, 11.8, 3.0, [["-0.8", "0.3", "0.5"]], LIGHT_ORANGE, cell=0.9, fontsize=9)
    words(ax, 13.2, 3.6, "its row: the embedding", MUTED, fontsize=9)
    return drawn


@figure("sentiment-network")
def sentiment_network() -> Figure:
    drawn, ax = canvas(23, 7.0)
    sentence = ["not", "a", "dull", "film", "at", "all"]
    for i, word in enumerate(sentence):
        y = 5.9 - 0.9 * i
        words(ax, 1.9, y - 0.4, word, ha="right", fontsize=9.5)
        grid(ax, 2.1, y, blank(1, 4), LIGHT_BLUE, cell=0.8)
    words(ax, 3.7, 6.4, "embeddings", fontsize=9.5)
    ax.add_patch(Rectangle((2.0, 2.32), 3.4, 2.76, fill=False, edgecolor=ORANGE, linewidth=2.0))
    arrow(ax, (5.5, 3.7), (7.5, 3.7), "convolve")
    for i in range(6):
        grid(
            ax,
            7.9,
            5.9 - 0.9 * i,
            blank(1, 3),
            lambda r, c, k=i: LIGHT_ORANGE if k == 1 else PAPER,
            cell=0.8,
        )
    words(ax, 9.1, 6.4, "features", fontsize=9.5)
    arrow(ax, (10.6, 3.7), (13.4, 3.7), "max over words")
    grid(ax, 13.7, 4.1, blank(1, 3), LIGHT_GREEN, cell=0.8)
    words(ax, 14.9, 4.6, "one per channel", fontsize=9.5)
    arrow(ax, (16.3, 3.7), (18.4, 3.7), "layer, sigmoid")
    box(ax, 20.4, 3.7, "praise: 0.81", 3.4, 1.0, LIGHT_GREEN, GREEN)
    words(ax, 3.7, 0.1, "a window of three words", ORANGE, fontsize=9)
    return drawn
