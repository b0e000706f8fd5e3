"""Figures of module 0: set-up, learning, testing, functions, modules."""

from __future__ import annotations

import random

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import minitorch
from minitorch.datasets import Graph

from .style import (
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_RED,
    MUTED,
    ORANGE,
    RED,
    arrow,
    box,
    canvas,
    figure,
    grid,
    plots,
    words,
)


@figure("setup-loop")
def setup_loop() -> Figure:
    drawn, ax = canvas(17, 3.6)
    steps = [
        ("read", "the guide's section", LIGHT_BLUE, BLUE),
        ("write", "the body of a function", LIGHT_ORANGE, ORANGE),
        ("check", "pytest -m task0_1", LIGHT_GREEN, GREEN),
        ("look", "the app, a training run", LIGHT_BLUE, BLUE),
    ]
    for i, (what, how, fill, edge) in enumerate(steps):
        x = 2 + 4.3 * i
        box(ax, x, 2.3, what, 2.6, 1.1, fill, edge, fontweight="bold")
        words(ax, x, 1.4, how, MUTED, fontsize=9)
        if i:
            arrow(ax, (x - 2.9, 2.3), (x - 1.4, 2.3))
    arrow(ax, (10.6, 1.05), (6.3, 1.05), color=RED, bend=-0.25)
    words(ax, 8.45, 0.2, "red: read the message, try again", RED, fontsize=9)
    return drawn


@figure("app-processes")
def app_processes() -> Figure:
    drawn, ax = canvas(19, 5.0)
    box(ax, 2.4, 2.5, "browser", 3.6, 1.4, GREY, MUTED)
    box(ax, 8.4, 2.5, "minitorch app", 4.0, 1.4, fontweight="bold")
    box(ax, 15.4, 3.9, "your minitorch/", 5.4, 1.2, LIGHT_ORANGE, ORANGE)
    box(ax, 15.4, 1.1, "the reference", 5.4, 1.2, LIGHT_GREEN, GREEN)
    arrow(ax, (6.3, 2.8), (4.3, 2.8), "a drawing")
    arrow(ax, (4.3, 2.2), (6.3, 2.2), "a click", offset=(0.0, -0.35))
    for y in (3.9, 1.1):
        arrow(ax, (10.5, 2.5), (12.6, y), color=MUTED)
    words(
        ax,
        15.4,
        2.5,
        "each in a process of its own:\nit gets a question and answers with numbers",
        MUTED,
        fontsize=8.5,
    )
    return drawn


def _square(ax: Axes, title: str) -> None:
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 1], yticks=[0, 1], aspect="equal")
    ax.set_title(title)


def _points(ax: Axes, data: Graph) -> None:
    x, y = np.array(data.X), np.array(data.y)
    ax.scatter(*x[y == 1].T, marker="o", s=26, color=BLUE, edgecolor="white", linewidth=0.5)
    ax.scatter(*x[y == 0].T, marker="X", s=30, color=RED, edgecolor="white", linewidth=0.5)


@figure("primer-lines")
def primer_lines() -> Figure:
    """The same points and three choices of parameters."""
    random.seed(3)
    data = minitorch.datasets["Diag"](60)
    drawn, axes = plots(3, 2.5, 2.75)
    across = np.linspace(0, 1, 120)
    x1, x2 = np.meshgrid(across, across)
    for ax, (w1, w2, b, what) in zip(
        axes,
        [
            (-1.0, 0.0, 0.5, "another direction"),
            (-1.0, -1.0, 0.9, "turned: the weights"),
            (-1.0, -1.0, 0.5, "moved: the bias"),
        ],
        strict=True,
    ):
        m = w1 * x1 + w2 * x2 + b
        ax.contourf(x1, x2, m, levels=[-9, 0, 9], colors=[LIGHT_RED, LIGHT_BLUE])
        ax.contour(x1, x2, m, levels=[0], colors=[INK], linewidths=1.4)
        _points(ax, data)
        right = sum(
            (w1 * p + w2 * q + b > 0) == y for (p, q), y in zip(data.X, data.y, strict=True)
        )
        _square(ax, what)
        ax.set_xlabel(
            f"$w_1$={w1:g}  $w_2$={w2:g}  $b$={b:g}\n{right} of {data.N} right", fontsize=9.5
        )
    return drawn


@figure("primer-loss")
def primer_loss() -> Figure:
    """Distance, probability, loss of a point with label 1."""
    drawn, axes = plots(3, 2.6, 2.3)
    m = np.linspace(-6, 6, 200)
    p = 1 / (1 + np.exp(-m))
    at = np.array([-3.0, 0.0, 3.0])
    p_at = 1 / (1 + np.exp(-at))
    colours = [RED, ORANGE, GREEN]
    curves = [
        (m, m, at, "$m(x)$: the distance", "$m$"),
        (m, p, p_at, "sigmoid: the probability", "$p$"),
        (m, -np.log(p), -np.log(p_at), "loss, if the label is 1", r"$-\log\,p$"),
    ]
    for ax, (x, y, y_at, title, label) in zip(axes, curves, strict=True):
        ax.axvline(0, color=FAINT, linewidth=1, zorder=0)
        ax.axhline(0, color=FAINT, linewidth=1, zorder=0)
        ax.plot(x, y, color=BLUE)
        ax.scatter(at, y_at, color=colours, s=36, zorder=3)
        ax.set(title=title, xlabel="$m$", xticks=[-6, 0, 6])
        ax.set_ylabel(label, rotation=0, labelpad=12)
    return drawn


@figure("primer-fold")
def primer_fold() -> Figure:
    """Points of Xor, and where two folded lines put them."""
    random.seed(5)
    data = minitorch.datasets["Xor"](70)
    X = np.array(data.X)
    y = np.array(data.y)
    h1 = np.maximum(X[:, 0] - X[:, 1], 0)
    h2 = np.maximum(X[:, 1] - X[:, 0], 0)
    keep = np.min(np.abs(X - 0.5), axis=1) > 0.16  # away from the borders: the idea, not the noise
    drawn, (left, right) = plots(2, 3.1, 3.0)
    for ax, first, second, names in (
        (left, X[:, 0], X[:, 1], ("$x_1$", "$x_2$")),
        (right, h1, h2, ("$h_1$ = ReLU$(x_1 - x_2)$", "$h_2$ = ReLU$(x_2 - x_1)$")),
    ):
        for label, marker, colour in ((1, "o", BLUE), (0, "X", RED)):
            here = keep & (y == label)
            ax.scatter(
                first[here],
                second[here],
                marker=marker,
                s=28,
                color=colour,
                edgecolor="white",
                linewidth=0.5,
            )
        ax.set(
            xlabel=names[0],
            ylabel=names[1],
            xlim=(-0.06, 1.06),
            ylim=(-0.06, 1.06),
            aspect="equal",
            xticks=[0, 1],
            yticks=[0, 1],
        )
    left.plot([0, 1], [0, 1], color=MUTED, linestyle="--", linewidth=1.2)
    left.set_title("no line separates these")
    right.plot([-0.06, 0.42], [0.42, -0.06], color=INK, linewidth=1.4)
    right.set_title("folded: one line does")
    return drawn


@figure("contributing-operators")
def contributing_operators() -> Figure:
    drawn, axes = plots(3, 2.6, 2.2)
    x = np.linspace(-4, 4, 300)
    s = 1 / (1 + np.exp(-x))
    positive = np.linspace(0.25, 4, 200)
    for ax, (title, at, value, slope) in zip(
        axes,
        [
            ("sigmoid", x, s, s * (1 - s)),
            ("relu", x, np.maximum(x, 0), (x > 0).astype(float)),
            ("inv, for $x > 0$", positive, 1 / positive, -1 / positive**2),
        ],
        strict=True,
    ):
        ax.axhline(0, color=FAINT, linewidth=1, zorder=0)
        ax.plot(at, value, color=BLUE, label="value")
        ax.plot(at, slope, color=ORANGE, linestyle="--", label="slope")
        ax.set_title(title)
    axes[2].set_ylim(-6, 4.5)
    axes[0].legend(fontsize=9, loc="upper left")
    return drawn


@figure("property-shrinking")
def property_shrinking() -> Figure:
    """A failing input becomes simpler as long as it still fails."""
    drawn, ax = canvas(18, 3.5)
    tries = [
        ("(3981, 4127)", False),
        ("(0, 4127)", False),
        ("(0, 2063)", False),
        ("(0, 999)", True),
        ("(0, 1000)", False),
    ]
    for i, (pair, passes) in enumerate(tries):
        x = 1.9 + 3.55 * i
        fill, edge = (LIGHT_GREEN, GREEN) if passes else (LIGHT_RED, RED)
        box(ax, x, 2.1, pair, 2.7, 1.0, fill, edge, fontsize=9.5)
        words(ax, x, 1.2, "passes: too simple" if passes else "fails", edge, fontsize=9)
        if i:
            arrow(ax, (x - 2.2, 2.1), (x - 1.4, 2.1))
    words(ax, 1.9, 3.1, "found at random", MUTED, fontsize=9)
    words(ax, 16.1, 3.1, "reported", MUTED, fontsize=9)
    words(
        ax, 9, 0.3, "shrink: try something simpler; keep it if it still fails", MUTED, fontsize=9.5
    )
    return drawn


@figure("functional-verbs")
def functional_verbs() -> Figure:
    drawn, ax = canvas(21.4, 7.2)
    # map
    words(ax, 2.8, 6.8, "map(f)", fontweight="bold")
    for i, (a, b) in enumerate([("a", "f(a)"), ("b", "f(b)"), ("c", "f(c)")]):
        y = 5.6 - 1.6 * i
        grid(ax, 0.4, y + 0.5, [[a]], LIGHT_BLUE)
        box(ax, 2.9, y, "f", 1.0, 0.9, GREY, MUTED)
        grid(ax, 4.4, y + 0.5, [[b]], LIGHT_GREEN, fontsize=9)
        arrow(ax, (1.45, y), (2.35, y))
        arrow(ax, (3.45, y), (4.35, y))
    # zip
    words(ax, 9.6, 6.8, "zipWith(f)", fontweight="bold")
    for i, (a, b) in enumerate([("a", "p"), ("b", "q"), ("c", "r")]):
        y = 5.6 - 1.6 * i
        grid(ax, 6.9, y + 0.5, [[a]], LIGHT_BLUE)
        grid(ax, 8.1, y + 0.5, [[b]], LIGHT_ORANGE)
        box(ax, 10.3, y, "f", 1.0, 0.9, GREY, MUTED)
        grid(ax, 11.7, y + 0.5, [[f"f({a},{b})"]], LIGHT_GREEN, fontsize=7.5)
        arrow(ax, (9.15, y), (9.75, y))
        arrow(ax, (10.85, y), (11.65, y))
    # reduce
    words(ax, 16.8, 6.8, "reduce(f, s)", fontweight="bold")
    words(ax, 14.3, 5.6, "s", MUTED)
    for i, a in enumerate("abc"):
        x = 15.5 + 1.7 * i
        box(ax, x, 5.6, "f", 0.9, 0.9, GREY, MUTED)
        grid(ax, x - 0.5, 4.3, [[a]], LIGHT_BLUE)
        arrow(ax, (x, 4.35), (x, 5.1))
        arrow(ax, (x - 1.1 if i == 0 else x - 1.2, 5.6), (x - 0.5, 5.6))
    box(ax, 17.4, 2.4, "f(f(f(s,a),b),c)", 4.2, 1.0, LIGHT_GREEN, GREEN, fontsize=9)
    arrow(ax, (19.4, 5.6), (19.6, 2.4), bend=-0.6)
    words(ax, 2.8, 0.7, "one in, one out", MUTED, fontsize=9)
    words(ax, 9.6, 0.7, "two in step, one out", MUTED, fontsize=9)
    words(ax, 17.2, 0.7, "all in, one out", MUTED, fontsize=9)
    return drawn


@figure("modules-tree")
def modules_tree() -> Figure:
    drawn, ax = canvas(17, 7)
    box(ax, 8.5, 6.2, "Pair", 2.4, 1.0, fontweight="bold")
    box(ax, 8.5, 3.9, "left: Line", 3.0, 1.0)
    box(ax, 13.8, 3.9, "right: Line", 3.0, 1.0)

    def leaf(x: float, y: float, name: str) -> None:
        box(ax, x, y, name, 2.2, 0.9, LIGHT_ORANGE, ORANGE, fontsize=9.5)

    leaf(3.4, 3.9, "scale")
    for x, parent in ((7.2, 8.5), (9.8, 8.5), (12.5, 13.8), (15.1, 13.8)):
        leaf(x, 1.6, "slope" if x in (7.2, 12.5) else "offset")
        arrow(ax, (parent, 3.4), (x, 2.08), color=MUTED)
    for x in (3.4, 8.5, 13.8):
        arrow(ax, (8.5, 5.7), (x, 4.42), color=MUTED)
    for x, name in (
        (3.4, "scale"),
        (7.2, "left.slope"),
        (9.8, "left.offset"),
        (12.5, "right.slope"),
        (15.1, "right.offset"),
    ):
        words(ax, x, 3.1 if x == 3.4 else 0.8, name, MUTED, fontsize=8.5, family="monospace")
    return drawn
