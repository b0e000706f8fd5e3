"""Figures of module 1: slopes, boxes, the walk back."""

from __future__ import annotations

import random

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import minitorch

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
    PAPER,
    RED,
    arrow,
    box,
    canvas,
    figure,
    plots,
    words,
)


@figure("derivatives-tangent")
def derivatives_tangent() -> Figure:
    """A tangent, and the lines through two points that estimate it."""
    drawn, axes = plots(2, 3.6, 2.9)
    x = np.linspace(-0.2, 2.4, 200)
    f = np.sin(2 * x)
    at, step = 0.45, 0.55
    slope = 2 * np.cos(2 * at)
    for ax in axes:
        ax.plot(x, f, color=BLUE)
        ax.scatter([at], [np.sin(2 * at)], color=INK, s=34, zorder=4)
        ax.set(xlim=(-0.3, 2.4), ylim=(-1.25, 1.7), xticks=[], yticks=[])
    near = np.array([at - 0.75, at + 0.75])
    axes[0].plot(near, np.sin(2 * at) + slope * (near - at), color=ORANGE)
    axes[0].set_title(r"$f(x) = \sin(2x)$ and its tangent")
    axes[0].text(1.05, 1.35, "slope f′(x) = 2 cos(2x)", color=ORANGE)
    lines = [
        (at, at + step, RED, "forward"),
        (at - step, at, MUTED, "backward"),
        (at - step, at + step, GREEN, "central"),
    ]
    for left, right, colour, name in lines:
        ends = np.array([left, right])
        rise = (np.sin(2 * right) - np.sin(2 * left)) / (right - left)
        reach = np.array([ends[0] - 0.12, ends[1] + 0.12])
        axes[1].plot(reach, np.sin(2 * left) + rise * (reach - left), color=colour, label=name)
        axes[1].scatter(ends, np.sin(2 * ends), color=colour, s=22, zorder=3)
    axes[1].plot(
        near, np.sin(2 * at) + slope * (near - at), color=ORANGE, linestyle=":", label="tangent"
    )
    axes[1].legend(fontsize=9, loc="upper right")
    axes[1].set_title("three estimates of its slope")
    return drawn


@figure("derivatives-error")
def derivatives_error() -> Figure:
    """The error of both differences of sin at 1, against the step."""
    drawn, (ax,) = plots(1, 4.6, 2.8)
    steps = np.logspace(-13, -0.5, 90)
    forward = np.abs((np.sin(1 + steps) - np.sin(1)) / steps - np.cos(1))
    central = np.abs((np.sin(1 + steps) - np.sin(1 - steps)) / (2 * steps) - np.cos(1))
    ax.loglog(steps, forward, color=RED, label="forward")
    ax.loglog(steps, central, color=GREEN, label="central")
    ax.axvline(1e-6, color=MUTED, linestyle=":", linewidth=1.2)
    ax.text(1.4e-6, 3e-1, "ours", color=MUTED, fontsize=9)
    ax.text(2e-12, 4e-10, "rounding", color=MUTED, fontsize=9)
    ax.set(xlabel=r"step $\epsilon$", ylabel="error of the slope", ylim=(1e-13, 2))
    ax.legend(loc="lower right", fontsize=9)
    return drawn


@figure("descent-rates")
def descent_rates() -> Figure:
    """Ten steps down (w - 3)² with four learning rates."""
    drawn, axes = plots(4, 2.3, 2.3)
    for ax, rate, what in zip(
        axes, (0.01, 0.1, 0.9, 1.1), ("too small", "good", "large", "too large"), strict=True
    ):
        path = [0.0]
        for _ in range(10):
            path.append(path[-1] - rate * 2 * (path[-1] - 3))
        reach = max(4.0, *(abs(w - 3) for w in path))
        w = np.linspace(3 - reach, 3 + reach, 200)
        ax.plot(w, (w - 3) ** 2, color=FAINT, zorder=0)
        ax.plot(path, [(w - 3) ** 2 for w in path], color=ORANGE, linewidth=1.0)
        ax.scatter(path, [(w - 3) ** 2 for w in path], color=ORANGE, s=14, zorder=3)
        ax.scatter([3], [0], color=GREEN, marker="x", s=40, zorder=4)
        ax.set(title=f"rate {rate}: {what}", xlabel=f"w after 10 steps: {path[-1]:.2f}")
        ax.set(xticks=[3], yticks=[])
    axes[0].set_ylabel("loss")
    return drawn


@figure("descent-fit")
def descent_fit() -> Figure:
    """The line of the primer, fitted to Simple with rate 5, as the guide does."""
    random.seed(1)
    data = minitorch.datasets["Simple"](50)
    x, y = np.array([(1.0, *point) for point in data.X]), np.array(data.y)
    drawn, axes = plots(4, 2.3, 2.5)
    w, losses = np.zeros(3), []
    across = np.linspace(0, 1, 120)
    x1, x2 = np.meshgrid(across, across)
    panels = iter(axes)
    for round_ in range(101):
        p = 1 / (1 + np.exp(-x @ w))
        losses.append(-np.mean(np.log(np.where(y == 1, p, 1 - p))))
        if round_ in (0, 10, 100):
            ax = next(panels)
            if round_:
                m = w[0] + w[1] * x1 + w[2] * x2
                ax.contourf(x1, x2, m, levels=[-99, 0, 99], colors=[LIGHT_RED, LIGHT_BLUE])
            ax.scatter(*x[y == 1, 1:].T, marker="o", s=16, color=BLUE)
            ax.scatter(*x[y == 0, 1:].T, marker="X", s=20, color=RED)
            ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], aspect="equal")
            ax.set(title=f"round {round_}", xlabel=f"loss {losses[-1]:.2f}")
        w = w - 5 * x.T @ (p - y) / len(y)
    ax = next(panels)
    ax.plot(losses, color=BLUE)
    ax.set(title="the loss", xlabel="round", ylim=(0, 0.72))
    return drawn


def _leaf(ax: Axes, x: float, y: float, name: str) -> None:
    box(ax, x, y, name, 1.5, 0.9, LIGHT_ORANGE, ORANGE)


@figure("scalars-boxes")
def scalars_boxes() -> Figure:
    drawn, ax = canvas(15, 4.6)
    _leaf(ax, 1.2, 3.6, "x")
    _leaf(ax, 1.2, 1.2, "y")
    box(ax, 6.0, 2.6, "Mul", 1.8, 1.1)
    box(ax, 10.6, 2.0, "Add", 1.8, 1.1)
    arrow(ax, (2.0, 3.5), (5.05, 2.85), "3")
    arrow(ax, (2.0, 1.3), (5.05, 2.35), "5", offset=(0.1, -0.35))
    arrow(ax, (6.95, 2.5), (9.65, 2.15), "15")
    arrow(ax, (2.0, 3.8), (9.7, 2.45), "", bend=-0.28)
    words(ax, 6.2, 4.4, "3", fontsize=9.5)
    arrow(ax, (11.55, 2.0), (13.2, 2.0), "18")
    words(ax, 13.9, 2.0, "z", fontweight="bold")
    words(ax, 1.2, 0.3, "leaves", ORANGE, fontsize=9)
    words(ax, 8.3, 0.3, "each result remembers its box and what went in", BLUE, fontsize=9)
    return drawn


@figure("scalars-composed")
def scalars_composed() -> Figure:
    drawn, ax = canvas(17, 4)
    for x, title, inner, outer in ((0.0, "x - y", "Neg", "Add"), (8.8, "x / y", "Inv", "Mul")):
        words(ax, x + 4.0, 3.7, title, fontweight="bold")
        _leaf(ax, x + 1.0, 2.6, "x")
        _leaf(ax, x + 1.0, 0.8, "y")
        box(ax, x + 3.6, 0.8, inner, 1.5, 0.9)
        box(ax, x + 6.2, 1.8, outer, 1.5, 1.0)
        arrow(ax, (x + 1.8, 2.6), (x + 5.4, 2.0))
        arrow(ax, (x + 1.8, 0.8), (x + 2.8, 0.8))
        arrow(ax, (x + 4.4, 0.9), (x + 5.4, 1.55))
        arrow(ax, (x + 7.0, 1.8), (x + 7.8, 1.8))
    return drawn


@figure("autodiff-box")
def autodiff_box() -> Figure:
    drawn, ax = canvas(18, 4.6)
    words(ax, 4.2, 4.3, "forward", fontweight="bold")
    box(ax, 4.2, 2.3, "Mul", 2.2, 1.8)
    arrow(ax, (0.8, 2.8), (3.05, 2.8), "x")
    arrow(ax, (0.8, 1.8), (3.05, 1.8), "y")
    arrow(ax, (5.35, 2.3), (7.6, 2.3), "x · y")
    words(ax, 13.6, 4.3, "backward", fontweight="bold")
    box(ax, 13.6, 2.3, "Mul", 2.2, 1.8, LIGHT_ORANGE, ORANGE)
    arrow(ax, (12.45, 2.8), (10.2, 2.8), "y · d", ORANGE)
    arrow(ax, (12.45, 1.8), (10.2, 1.8), "x · d", ORANGE)
    arrow(ax, (17.0, 2.3), (14.75, 2.3), "d", ORANGE)
    words(ax, 8.9, 0.5, "the box has kept x and y in its context", MUTED, fontsize=9)
    return drawn


@figure("autodiff-twice")
def autodiff_twice() -> Figure:
    drawn, ax = canvas(16, 6.2)
    _leaf(ax, 1.2, 3.1, "z")
    box(ax, 6.0, 5.2, "Log", 1.9, 1.0)
    box(ax, 6.0, 1.0, "Exp", 1.9, 1.0)
    box(ax, 10.8, 3.1, "Add", 1.9, 1.0)
    arrow(ax, (1.6, 3.6), (5.0, 5.35))
    arrow(ax, (1.6, 2.6), (5.0, 0.85))
    arrow(ax, (7.0, 5.35), (10.5, 3.65))
    arrow(ax, (7.0, 0.85), (10.5, 2.55))
    arrow(ax, (11.8, 3.25), (13.6, 3.25))
    arrow(ax, (13.6, 2.95), (11.8, 2.95), "1", ORANGE, offset=(0, -0.38))
    arrow(ax, (9.85, 3.3), (7.0, 4.8), "1", ORANGE, offset=(-0.3, -0.3))
    arrow(ax, (9.85, 2.9), (7.0, 1.4), "1", ORANGE, offset=(-0.3, 0.3))
    arrow(ax, (5.0, 4.8), (2.0, 3.3), "1/z", ORANGE, offset=(0.45, -0.35))
    arrow(ax, (5.0, 1.4), (2.0, 2.9), "$e^z$", ORANGE, offset=(0.45, 0.35))
    words(ax, 1.2, 0.9, "arrives at z:\n$1/z + e^z$", ORANGE, fontsize=10)
    return drawn


# --- Backpropagation, frame by frame -------------------------------------------------

_PLACES = {
    "x": (0.8, 3.0),
    "y": (0.8, 1.0),
    "z": (3.1, 2.0),
    "log": (5.4, 3.0),
    "exp": (5.4, 1.0),
    "out": (7.6, 2.0),
}
_EDGES = [("x", "z"), ("y", "z"), ("z", "log"), ("z", "exp"), ("log", "out"), ("exp", "out")]


def _frame(
    ax: Axes,
    left: float,
    low: float,
    number: int,
    now: str,
    done: str,
    table: list[str],
    title: str,
) -> None:
    """One frame: the graph, what is processed, what was, and the dictionary."""
    finished = done.split()
    ax.add_patch(Rectangle((left, low), 13.3, 5.3, facecolor=PAPER, edgecolor=FAINT, linewidth=1.0))
    words(
        ax, left + 0.3, low + 4.8, f"{number}.  {title}", ha="left", fontsize=9.5, fontweight="bold"
    )
    for a, b in _EDGES:
        (ax1, ay1), (bx1, by1) = _PLACES[a], _PLACES[b]
        back = b == now
        start = left + ax1 + 0.6, low + ay1
        end = left + bx1 - 0.75, low + by1
        if back:
            arrow(ax, end, start, color=ORANGE)
        else:
            arrow(ax, start, end, color=GREEN if b in finished else FAINT)
    for name, (x, y) in _PLACES.items():
        fill, edge = (PAPER, MUTED)
        if name == now:
            fill, edge = LIGHT_ORANGE, ORANGE
        elif name in finished:
            fill, edge = LIGHT_GREEN, GREEN
        box(ax, left + x + 0.05, low + y, name, 1.3, 0.8, fill, edge, fontsize=9.5)
    box(ax, left + 11.1, low + 2.1, "", 3.7, 3.4, GREY, FAINT)
    words(ax, left + 11.1, low + 3.45, "waiting", MUTED, fontsize=8.5)
    for i, line in enumerate(table):
        words(ax, left + 11.1, low + 2.75 - 0.62 * i, line, fontsize=8.5)


@figure("backprop-frames")
def backprop_frames() -> Figure:
    """log(z) + exp(z) with z = x y, at x = 2 and y = 0.5: six steps."""
    drawn, ax = canvas(27.4, 17.2)
    x, y = 2, 0.5
    by_log, by_exp = 1 / (x * y), np.exp(x * y)
    at_z = by_log + by_exp
    to_x, to_y = f"{at_z * y:.2f}", f"{at_z * x:.2f}"
    frames = [
        ("out", "", ["log: 1", "exp: 1"], "start: d = 1; Add passes it on"),
        ("log", "out", ["exp: 1", f"z: 1/1 = {by_log:g}"], "Log sends 1/z; z is not complete yet"),
        (
            "exp",
            "out log",
            [f"z: {by_log:g} + {by_exp:.2f} = {at_z:.2f}"],
            f"Exp adds e, about {by_exp:.2f}: z is complete",
        ),
        (
            "z",
            "out log exp",
            [f"x: {at_z:.2f} · {y} = {to_x}", f"y: {at_z:.2f} · {x} = {to_y}"],
            "Mul sends to both of its inputs",
        ),
        ("x", "out log exp z", [f"y: {to_y}"], f"x is a leaf: it keeps {to_x}"),
        ("y", "out log exp z x", ["(empty)"], f"y is a leaf: it keeps {to_y}"),
    ]
    for i, (now, done, table, title) in enumerate(frames):
        _frame(ax, 0.2 + 13.7 * (i % 2), 11.6 - 5.7 * (i // 2), i + 1, now, done, table, title)
    return drawn


@figure("backprop-order")
def backprop_order() -> Figure:
    """A graph with a short and a long way, and two orders of it."""
    drawn, ax = canvas(17, 5.4)
    places = {"a": (1.2, 3.2), "b": (4.6, 4.3), "c": (8.0, 4.3), "d": (11.4, 3.2)}
    for name, (x, y) in places.items():
        _leaf(ax, x, y, name) if name == "a" else box(ax, x, y, name, 1.5, 0.9)
    arrow(ax, (2.0, 3.5), (3.8, 4.2))
    arrow(ax, (5.4, 4.3), (7.2, 4.3))
    arrow(ax, (8.8, 4.2), (10.6, 3.4))
    arrow(ax, (2.0, 3.0), (10.6, 3.0), bend=0.12)
    words(ax, 1.2, 1.3, "right:", ha="left")
    words(ax, 4.0, 1.3, "d   c   b   a", GREEN, fontweight="bold")
    words(ax, 6.2, 1.3, "each after all that use it", MUTED, ha="left", fontsize=9.5)
    words(ax, 1.2, 0.5, "wrong:", ha="left")
    words(ax, 4.0, 0.5, "d   a   c   b", RED, fontweight="bold")
    words(
        ax,
        6.2,
        0.5,
        "a is taken when only the short way has arrived",
        MUTED,
        ha="left",
        fontsize=9.5,
    )
    return drawn
