"""Pictures from files and to files, as tensors of bytes of shape (channels, height, width)."""

from __future__ import annotations

import io
import os
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from .. import torch
from ..torch import Tensor
from .pillow import load
from .transforms.functional import pil_to_tensor, to_pil_image


class ImageReadMode(Enum):
    """Which channels a picture shall have."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def read_file(path: str | os.PathLike[str]) -> Tensor:
    """The bytes of a file."""
    return torch.from_numpy(np.frombuffer(Path(path).read_bytes(), np.uint8).copy())


def write_file(filename: str | os.PathLike[str], data: Tensor) -> None:
    """Write bytes to a file."""
    Path(filename).write_bytes(data.numpy().tobytes())


def decode_image(
    input: Tensor | str | os.PathLike[str],
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> Tensor:
    """The picture of a file, or of the bytes of one.

    Args:
        input: its name, or its bytes
        mode: which channels it shall have, also by name
        apply_exif_orientation: whether to turn it as the camera noted
    """
    data = input if isinstance(input, Tensor) else read_file(input)
    if data.dtype is not torch.uint8 or data.dim() != 1:
        raise RuntimeError("Expected a non empty 1-dimensional tensor of uint8")
    picture = load().open(io.BytesIO(data.numpy().tobytes()))
    if apply_exif_orientation:
        picture = load("ImageOps").exif_transpose(picture)
    mode = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    if mode is not ImageReadMode.UNCHANGED:
        picture = picture.convert(_MODES[mode.value])
    elif picture.mode not in _MODES.values():
        picture = picture.convert("RGB")
    return pil_to_tensor(picture)


read_image = decode_jpeg = decode_png = decode_image


def _encoded(input: Tensor, form: str, **options: Any) -> Tensor:
    """The bytes of a file of a form."""
    if input.dtype is not torch.uint8 or input.dim() != 3:
        raise RuntimeError("Input tensor must be a 3-dimensional tensor of uint8")
    file = io.BytesIO()
    to_pil_image(input).save(file, form, **options)
    return torch.from_numpy(np.frombuffer(file.getvalue(), np.uint8).copy())


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """The bytes of a PNG file of a picture."""
    return _encoded(input, "PNG", compress_level=compression_level)


def encode_jpeg(input: Tensor, quality: int = 75) -> Tensor:
    """The bytes of a JPEG file of a picture."""
    return _encoded(input, "JPEG", quality=quality)


def write_png(input: Tensor, filename: str, compression_level: int = 6) -> None:
    """Write a picture to a PNG file."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input: Tensor, filename: str, quality: int = 75) -> None:
    """Write a picture to a JPEG file."""
    write_file(filename, encode_jpeg(input, quality))
