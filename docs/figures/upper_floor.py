"""Figures of the way to Torch."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from .style import (
    BLUE,
    GREEN,
    GREY,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    MUTED,
    ORANGE,
    arrow,
    box,
    canvas,
    figure,
    words,
)


@figure("torch-floors")
def torch_floors() -> Figure:
    drawn, ax = canvas(21, 6.2)
    for y, title in ((4.4, "minitorch.torch"), (1.5, "minitorch")):
        ax.add_patch(
            Rectangle((0.3, y - 1.25), 20.4, 2.5, facecolor=GREY, edgecolor=MUTED, linewidth=1.0)
        )
        words(ax, 0.6, y + 0.85, title, ha="left", fontweight="bold", fontsize=10)
    rooms = [
        ("TensorData", "an array"),
        ("Function", "a record: Op"),
        ("apply", "the door: bind"),
        ("backpropagate", "autograd"),
        ("Module, SGD", "nn, optim"),
    ]
    for i, (below, above) in enumerate(rooms):
        x = 2.5 + 4.0 * i
        box(ax, x, 1.3, below, 3.4, 1.0, LIGHT_BLUE, BLUE, fontsize=9.5)
        box(ax, x, 4.2, above, 3.4, 1.0, LIGHT_ORANGE, ORANGE, fontsize=9.5)
        arrow(ax, (x, 1.85), (x, 3.65), color=MUTED)
    return drawn


@figure("torch-door")
def torch_door() -> Figure:
    drawn, ax = canvas(20, 6.0)
    for i, name in enumerate(("torch.exp(x)", "x.exp()", "x * y", "x[0]")):
        y = 5.3 - 1.45 * i
        box(ax, 2.2, y, name, 3.6, 0.95, LIGHT_BLUE, BLUE, family="monospace", fontsize=9.5)
        arrow(ax, (4.05, y), (7.1, 3.1 + 0.25 * (1.5 - i)), color=MUTED)
    box(ax, 8.6, 3.1, "bind", 2.8, 2.4, LIGHT_ORANGE, ORANGE, fontweight="bold", fontsize=12)
    box(ax, 15.6, 4.5, "compute on arrays", 6.0, 1.1, LIGHT_GREEN, GREEN)
    box(ax, 15.6, 1.7, "record a node", 6.0, 1.1, LIGHT_GREEN, GREEN)
    arrow(ax, (10.1, 3.5), (12.5, 4.5), "always", offset=(-0.4, 0.35))
    arrow(ax, (10.1, 2.7), (12.5, 1.7), "if a gradient is wanted", MUTED, offset=(1.7, 0.5))
    words(ax, 15.6, 0.7, "not within no_grad()", MUTED, fontsize=9)
    return drawn
