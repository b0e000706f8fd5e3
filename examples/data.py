"""Digits and text for the examples.

The files are looked for in the folder that the variable MINITORCH_DATA names: MNIST's four idx
files in `mnist/`, Shakespeare in `tinyshakespeare/input.txt`, gzipped (`.gz`) or not. Without them
the examples still run: on scikit-learn's 1,797 small digits, and on the guides of this project in
place of Shakespeare.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import torch
from torch import Tensor


def find(name: str) -> Path | None:
    """A file below the data folder, gzipped or not; None if it is not there."""
    folder = Path(os.environ.get("MINITORCH_DATA", "data"))
    places = (folder / name, folder / f"{name}.gz")
    return next((path for path in places if path.is_file()), None)


def read(path: Path) -> bytes:
    """The content of a file, unpacked."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def digits(train: bool) -> tuple[Tensor, Tensor]:
    """Handwritten digits: images (N, 1, 28, 28) from 0 to 1, and labels (N,)."""
    part = "train" if train else "t10k"
    images = find(f"mnist/{part}-images-idx3-ubyte")
    labels = find(f"mnist/{part}-labels-idx1-ubyte")
    if images is None or labels is None:
        return small_digits(train)
    pixels = np.frombuffer(read(images), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    classes = np.frombuffer(read(labels), np.uint8, offset=8)
    return as_floats(pixels / np.float32(255)), torch.from_numpy(classes.astype(np.int64))


def as_floats(values: np.ndarray) -> Tensor:
    """A tensor of the type that is computed in."""
    return torch.from_numpy(values).to(torch.get_default_dtype())


def small_digits(train: bool) -> tuple[Tensor, Tensor]:
    """Scikit-learn's digits of 8 x 8 pixels, enlarged to MNIST's size: 1,500 or the other 297."""
    from sklearn.datasets import load_digits

    pixels, classes = load_digits(return_X_y=True)
    rows = slice(0, 1500) if train else slice(1500, None)
    images = pixels[rows].reshape(-1, 1, 8, 8).astype(np.float32) / 16
    enlarged = images.repeat(3, axis=2).repeat(3, axis=3)  # (N, 1, 24, 24)
    padded = np.pad(enlarged, ((0, 0), (0, 0), (2, 2), (2, 2)))
    return as_floats(padded), torch.from_numpy(classes[rows].astype(np.int64))


def shakespeare() -> str:
    """A million characters of plays; without them, the guides of this project."""
    path = find("tinyshakespeare/input.txt")
    if path is not None:
        return read(path).decode("ascii")
    guides = sorted((Path(__file__).parents[1] / "docs" / "guide").glob("*.md"))
    if not guides:
        raise FileNotFoundError("no text: put tinyshakespeare/input.txt below $MINITORCH_DATA")
    return "\n".join(guide.read_text("utf-8") for guide in guides)


class Characters:
    """The characters of a text, numbered."""

    def __init__(self, text: str) -> None:
        self.alphabet = sorted(set(text))
        self.numbers = {character: number for number, character in enumerate(self.alphabet)}

    def __len__(self) -> int:
        return len(self.alphabet)

    def encode(self, text: str) -> Tensor:
        """Numbers of characters, (T,)."""
        return torch.tensor([self.numbers[character] for character in text])

    def decode(self, numbers: Tensor) -> str:
        """The text that numbers (T,) stand for."""
        return "".join(self.alphabet[number] for number in numbers.tolist())
