"""Numbers to slide windows over: inputs and kernels by name, or as the user types them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

OWN = "own numbers"
INPUTS = {1: ("counting", "a step", "random", OWN), 2: ("a seven", "counting", "random", OWN)}
KERNELS = {
    1: {
        "difference": [[1, 0, -1]],
        "sum of three": [[1, 1, 1]],
        "the next number": [[0, 1]],
        "a pattern": [[1, -2, 1]],
        "one number": [[2]],
    },
    2: {
        "vertical edges": [[1, 0, -1], [1, 0, -1], [1, 0, -1]],
        "horizontal edges": [[1, 1, 1], [0, 0, 0], [-1, -1, -1]],
        "sum of four": [[1, 1], [1, 1]],
        "corners": [[1, -1], [-1, 1]],
        "one row": [[1, 0, -1]],
    },
}
SEVEN = "111111 000011 000110 001100 011000 011000 011000 011000"
LARGEST = {"input": (7, 12), "kernel": (4, 5)}
"""Rows and columns that the user's own numbers may have."""


class NumbersError(ValueError):
    """What the user typed are no numbers in rows; the text says what is allowed."""


def read_numbers(text: str, dims: int, role: str) -> Array:
    """Rows of numbers from text: `1 2 3; 4 5 6`; in one dimension there is one row.

    >>> read_numbers("1 2; 3, 4", 2, "input")
    array([[1., 2.],
           [3., 4.]])
    """
    rows, columns = LARGEST[role]
    rows = rows if dims == 2 else 1
    example = "1 0 -1; 2 0 -2" if dims == 2 else "1 0 -1"
    try:
        found = [[float(n) for n in row.replace(",", " ").split()] for row in text.split(";")]
    except ValueError:
        raise NumbersError(f"Numbers and spaces only, please, such as `{example}`.") from None
    found = [row for row in found if row]
    if not found or len(found) > rows or max(map(len, found)) > columns:
        few = f"1 to {rows} rows of " if dims == 2 else ""
        raise NumbersError(f"The {role} can have {few}1 to {columns} numbers: `{example}`.")
    if len({len(row) for row in found}) > 1:
        raise NumbersError("All rows must have the same number of numbers.")
    values = np.array(found)
    if not (np.abs(values) < 1000).all():
        raise NumbersError("The numbers must lie between -1000 and 1000.")
    return values


def make_input(name: str, dims: int, size: int) -> Array:
    """The first channel of an input, rows x columns."""
    shape = (size, size) if dims == 2 else (1, size)
    if name == "counting":
        return 1.0 + np.arange(float(np.prod(shape))).reshape(shape)
    if name == "a step":
        return (np.arange(size) >= size // 2).astype(float)[None]
    if name == "a seven":
        rows = [[float(c) for c in row] for row in SEVEN.split()]
        return np.pad(np.array(rows), ((0, 0), (0, 2)))[:size, :size]
    return random_numbers(shape, 0, 5, 0)


def random_numbers(shape: tuple[int, ...], low: int, high: int, seed: int) -> Array:
    """Whole numbers, the same each time."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(float)


def with_channels(first: Array, outer: int, inner: int, seed: int) -> Array:
    """A kernel of many channels: the given one first, then random ones, -2 to 2."""
    weights = random_numbers((outer, inner, *first.shape), -2, 3, seed)
    weights[0, 0] = first
    return weights
