"""A digit drawn with mouse or finger, made to look as the images of a data set do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

INK = 0.25
"""The share of an image that is ink, at least: in scikit-learn's digits it is about 0.3."""


def prepare(drawing: npt.ArrayLike, dataset: str) -> Array | None:
    """A drawing as an image of the data set; None if nothing is drawn.

    MNIST fits a digit into 20 x 20 pixels and puts its centre of mass into the middle of 28 x 28.
    scikit-learn's digits stand upright, 32 points high and about 20 wide, in strokes of like
    thickness; each pixel is the share of ink in 4 x 4 points.
    """
    cut = cut_out(np.asarray(drawing, float))
    if cut is None:
        return None
    if dataset == "mnist":
        return centre(fit(cut, 20), 28)
    cut = upright(cut)
    height, width = cut.shape
    narrow = width < 0.35 * height  # a one stays narrow
    bitmap = (resize(cut, 32, max(4, 32 * width // height) if narrow else 20) > 0.4).astype(float)
    left = (32 - bitmap.shape[1]) // 2
    points = np.pad(bitmap, ((0, 0), (left, 32 - left - bitmap.shape[1])))
    for _ in range(4):
        if points.mean() < INK:
            points = thicken(points)
    return points.reshape(8, 4, 8, 4).mean((1, 3))


def cut_out(drawing: Array) -> Array | None:
    """The part of a drawing that has ink in it."""
    rows, columns = (np.flatnonzero(drawing.max(axis) > 0.1) for axis in (1, 0))
    if not len(rows):
        return None
    return drawing[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def upright(image: Array) -> Array:
    """A digit sheared so that it does not lean: its rows are shifted against each other."""
    rows, columns = np.indices(image.shape)
    row, column = (float((image * place).sum() / image.sum()) for place in (rows, columns))
    spread = float((image * (rows - row) ** 2).sum())
    lean = float((image * (rows - row) * (columns - column)).sum()) / (spread or 1.0)
    wide = np.pad(image, ((0, 0), (image.shape[0], image.shape[0])))
    places = np.arange(wide.shape[1])
    lines = [np.interp(places + lean * (i - row), places, line) for i, line in enumerate(wide)]
    found = cut_out(np.array(lines))
    return image if found is None else found


def fit(image: Array, size: int) -> Array:
    """An image made larger or smaller, so that its longer side has `size` pixels."""
    height, width = (max(1, round(n * size / max(image.shape))) for n in image.shape)
    return resize(image, height, width)


def resize(image: Array, height: int, width: int) -> Array:
    """An image of another size; a new pixel is the mean of what it covers."""
    return _shares(image.shape[0], height) @ image @ _shares(image.shape[1], width).T


def _shares(before: int, after: int) -> Array:
    """How much of each old pixel goes into each new one, along one side: (after, before)."""
    edges = np.linspace(0, before, after + 1)
    old = np.arange(before)
    low = np.maximum(edges[:-1, None], old)
    high = np.minimum(edges[1:, None], old + 1)
    covered = np.clip(high - low, 0, None)
    return covered / covered.sum(1, keepdims=True)


def thicken(bitmap: Array) -> Array:
    """Strokes one point thicker on all four sides, within the same box."""
    padded = np.pad(bitmap, 1)
    sides = (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:])
    return np.maximum.reduce([bitmap, *sides])


def centre(image: Array, size: int) -> Array:
    """An image in the middle of a larger one, by its centre of mass."""
    out = np.zeros((size, size))
    starts = []
    for axis in (0, 1):
        mass = image.sum(1 - axis)
        middle = float((mass * (np.arange(len(mass)) + 0.5)).sum() / mass.sum())
        starts.append(int(np.clip(round(size / 2 - middle), 0, size - image.shape[axis])))
    top, left = starts
    out[top : top + image.shape[0], left : left + image.shape[1]] = image
    return out
