"""Files of points for TensorBoard's projector: coordinates, labels, and a picture of each point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.plugins.projector.projector_config_pb2 import (  # type: ignore[import-not-found]
    EmbeddingInfo,
)

from .summary import as_array, png, side_by_side

Array = Any


def folder_name(tag: str, step: int) -> str:
    """The folder of the files, below that of the log."""
    for letter in "%/\\":
        tag = tag.replace(letter, f"%{ord(letter):02x}")
    return f"{step:05}/{tag}"


def write(
    folder: Path, points: Array, labels: Sequence[Any] | None, header: Any, pictures: Any
) -> None:
    """Write the files; labels are texts, or rows of texts under a header."""
    for told, given in (("labels", labels), ("images", pictures)):
        if given is not None and len(given) != len(points):
            raise AssertionError(f"#{told} should equal with #data points")
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    if labels is not None and header and len(header) != len(labels[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tensors.tsv").write_text(_table(points.tolist()))
    if labels is not None:
        rows = [header, *labels] if header else [[label] for label in labels]
        (folder / "metadata.tsv").write_text(_table(rows), encoding="utf-8")
    if pictures is not None:
        (folder / "sprite.png").write_bytes(_sprite(as_array(pictures)))


def _table(rows: Any) -> str:
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def _sprite(pictures: Array) -> bytes:
    """Pictures (N, C, H, W) of values 0..1 in as many rows as columns, as a PNG file."""
    arranged = side_by_side(pictures.transpose(0, 2, 3, 1), math.ceil(len(pictures) ** 0.5))
    square = np.zeros((arranged.shape[1], arranged.shape[1], 3))
    square[: len(arranged)] = arranged
    return png(np.uint8((square * 255).clip(0, 255)))


def entry(tag: str, step: int, labels: Any, pictures: Any) -> Any:
    """What the projector is told of the files."""
    folder = folder_name(tag, step)
    info = EmbeddingInfo(tensor_name=f"{tag}:{step:05}", tensor_path=f"{folder}/tensors.tsv")
    if labels is not None:
        info.metadata_path = f"{folder}/metadata.tsv"
    if pictures is not None:
        info.sprite.image_path = f"{folder}/sprite.png"
        info.sprite.single_image_dim.extend([pictures.shape[3], pictures.shape[2]])
    return info
