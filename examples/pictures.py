"""Pictures without a picture library: a grid of grey images as a PNG file."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from torch import Tensor


def save_grid(path: Path, images: Tensor, columns: int = 8) -> None:
    """Write images (N, 1, H, W) from 0 to 1, N a multiple of `columns`, as one picture."""
    count, _, height, width = images.shape
    rows = count // columns
    tiles = images[: rows * columns].reshape(rows, columns, height, width)
    picture = tiles.permute(0, 2, 1, 3).reshape(rows * height, columns * width)  # (H, W) of all
    save_png(path, (picture.clamp(0, 1) * 255).round().cpu().numpy().astype(np.uint8))


def save_png(path: Path, pixels: np.ndarray) -> None:
    """Write grey pixels (H, W) of type uint8."""
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # each begins with its filter: none
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits, grey
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts))


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
