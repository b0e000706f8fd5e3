"""Pictures of a run, drawn with Matplotlib, which is loaded only here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..datasets import Graph
from .checkpoint import History

_COLOURS = ("#d1495b", "#00798c")  # label 0, label 1


def draw_curves(
    path: Path, history: History, points: int, validation_points: int = 0, title: str = ""
) -> None:
    """Loss on the left, accuracy on the right."""
    figure, (left, right) = _figure(title)
    _draw_losses(left, history)
    epochs = range(1, history.epoch + 1)
    right.plot(epochs, [100 * n / points for n in history.correct], label="training")
    if history.validation and validation_points:
        share = [100 * n / validation_points for n in history.validation]
        right.plot(epochs[-len(share) :], share, label="validation")
    right.set(xlabel="epoch", ylabel="correct, %")
    _count_epochs(right)
    right.legend()
    _save(figure, path)


def draw_points(
    path: Path | None,
    history: History,
    data: Graph,
    predict: Callable[[list[tuple[float, float]]], npt.ArrayLike],
    title: str = "",
    grid: int = 40,
) -> Any:
    """Loss on the left, the points on what the model says of every place on the right.

    That is computed at grid x grid places. Returns the figure, which is saved if a path is given.
    """
    figure, (left, right) = _figure(title)
    _draw_losses(left, history)
    draw_boundary(right, data, predict, grid)
    if path is not None:
        _save(figure, path)
    return figure


def draw_boundary(
    axes: Any, data: Graph, predict: Callable[[list[tuple[float, float]]], npt.ArrayLike], grid: int
) -> None:
    """The points on what the model says of every place, computed at grid x grid places."""
    values = [v for x in data.X for v in x]
    low, high = min([0.0, *(v - 0.03 for v in values)]), max([1.0, *(v + 0.03 for v in values)])
    ticks = np.linspace(low, high, grid)
    places = [(float(x1), float(x2)) for x2 in ticks for x1 in ticks]
    surface = np.array(predict(places), dtype=float).reshape(grid, grid)
    axes.contourf(ticks, ticks, surface, levels=np.linspace(0, 1, 11), cmap="coolwarm_r", alpha=0.5)
    if surface.min() < 0.5 < surface.max():
        axes.contour(ticks, ticks, surface, levels=[0.5], colors="black", linewidths=1)
    for label, (colour, marker) in enumerate(zip(_COLOURS, "ox", strict=True)):
        chosen = [x for x, y in zip(data.X, data.y, strict=True) if y == label]
        if chosen:
            axes.scatter(*zip(*chosen, strict=True), c=colour, marker=marker, label=f"y = {label}")
    axes.set(xlabel="x1", ylabel="x2", xlim=(low, high), ylim=(low, high), aspect="equal")
    if data.X:
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))


def _figure(title: str) -> tuple[Any, Any]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("Matplotlib is not installed") from None
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    FigureCanvasAgg(figure)  # draws into memory: no window, no global state
    if title:
        figure.suptitle(title)
    return figure, figure.subplots(1, 2)


def _draw_losses(axes: Any, history: History) -> None:
    axes.plot(range(1, history.epoch + 1), history.losses)
    axes.set(xlabel="epoch", ylabel="loss", ylim=(0, None))
    _count_epochs(axes)


def _count_epochs(axes: Any) -> None:
    """Whole numbers along the epochs."""
    axes.xaxis.get_major_locator().set_params(integer=True)


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
