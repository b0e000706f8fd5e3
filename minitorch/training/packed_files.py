"""Files from strangers: gzip, zip, and arrays in npz, read in bounded memory.

What a header claims is compared with the file's own size before memory is taken for it. What is
packed may unpack to `most_unpacked` bytes; text and images of real data sets take up to ten times
their packed size, a bomb a thousand times.
"""

from __future__ import annotations

import gzip
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

_FREE = 16 << 20
_RATIO = 20
_CHUNK = 1 << 20


def most_unpacked(packed: int) -> int:
    """How many bytes `packed` bytes may unpack to: 20 times as many, and 16 MB in any case."""
    return _FREE + _RATIO * packed


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A file to read, unpacked if its name ends in .gz, and how many bytes it may have at most.

    Raises:
        ValueError: if what is unpacked is damaged
    """
    size = Path(path).stat().st_size
    if Path(path).suffix != ".gz":
        with open(path, "rb") as file:
            yield file, size
        return
    try:
        with gzip.open(path) as file:
            yield cast(BinaryIO, file), most_unpacked(size)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: not gzip, damaged or cut off ({error})") from None


# --- Zip -----------------------------------------------------------------------------------


@contextmanager
def opened_zip(path: Path | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """An archive whose members, read piece by piece, take no more memory than it may unpack to.

    Raises:
        ValueError: with the path, for whatever is wrong with the archive
    """
    try:
        with zipfile.ZipFile(path) as archive:
            size = (os.stat(path) if isinstance(path, Path) else os.fstat(path.fileno())).st_size
            _check_members(archive.infolist(), size)
            yield archive
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        OSError,  # a place in the file that cannot be
        OverflowError,
        ValueError,
    ) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise ValueError(f"{path}: {_brief(error)}") from None


def _brief(error: Exception) -> str:
    """The message of an error, without most of a long name in it."""
    text = str(error).encode("utf-8", "backslashreplace").decode()
    return text if len(text) < 500 else f"{text[:500]} ..."


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse an archive whose members could not be what they say."""
    names = {member.filename for member in members}
    if len(names) < len(members):
        raise ValueError("the archive has a name twice")
    packed = unpacked = 0
    for member in members:
        if member.flag_bits & 1:
            raise ValueError(f"{member.filename} is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{member.filename} is packed by method {member.compress_type}")
        if member.compress_type == zipfile.ZIP_STORED and member.file_size != member.compress_size:
            raise ValueError(f"{member.filename} says two things about its size")
        packed += member.compress_size
        unpacked += member.file_size
    if packed > size:
        raise ValueError(f"the members take {packed} bytes together, the file has {size}")
    if unpacked > most_unpacked(packed):
        raise ValueError(f"{packed} bytes would unpack to {unpacked}")


# --- Arrays ----------------------------------------------------------------------------------

_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufcSU]\d{1,9})', 'fortran_order': (False|True), "
    rb"'shape': \(((?:\d{1,19}, )*(?:\d{1,19},?)?)\), \} *\n"
)


def read_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of numbers and texts in an .npz file.

    Raises:
        ValueError: with the path, for whatever is wrong with the file
    """
    with opened_zip(path) as archive:
        return {
            member.filename.removesuffix(".npy"): _read_array(archive, member)
            for member in archive.infolist()
        }


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """An array as NumPy writes it; its header is matched, never evaluated."""
    with archive.open(member) as file:
        start, length = _header_length(file.read(12))
        if length > 1 << 16:
            raise ValueError(f"{member.filename} has a header of {length} bytes")
        file.seek(start)
        header = _HEADER.fullmatch(file.read(length))
        if header is None:
            raise ValueError(f"{member.filename} is not an array of numbers or texts")
        dtype, shape = (
            _dtype(header[1].decode()),
            [int(n) for n in header[3].split(b",") if n.strip()],
        )
        needed, there = prod(shape) * dtype.itemsize, member.file_size - start - length
        if needed != there:
            raise ValueError(
                f"{member.filename} has {there} bytes of elements, but the shape {tuple(shape)} of "
                f"{dtype} in its header needs {needed}"
            )
        memory = np.empty(needed, np.uint8)
        _fill(memory, file, member.filename)
    if dtype.kind == "b":
        np.minimum(memory, 1, out=memory)  # NumPy counts on 0 or 1
    return memory.view(dtype).reshape(shape, order="F" if header[2] == b"True" else "C")


def _header_length(start: bytes) -> tuple[int, int]:
    """Where the text of an array's header begins, and how long it is."""
    if len(start) == 12 and start.startswith(b"\x93NUMPY"):
        if start[6] == 1:
            return 10, int.from_bytes(start[8:10], "little")
        if start[6] in (2, 3):
            return 12, int.from_bytes(start[8:12], "little")
    raise ValueError(f"an array starts with {start[:8].hex(' ') or 'nothing'}")


def _dtype(code: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(code)
    except TypeError as error:
        raise ValueError(str(error)) from None
    if dtype.itemsize == 0:
        raise ValueError(f"elements of {code} have no bytes")
    return dtype


def _fill(memory: npt.NDArray[np.uint8], file: IO[bytes], name: str) -> None:
    """Read as many bytes as the memory has, which must be the last ones."""
    done = 0
    while done < memory.size and (chunk := file.read(min(_CHUNK, memory.size - done))):
        memory[done : done + len(chunk)] = np.frombuffer(chunk, np.uint8)
        done += len(chunk)
    if done < memory.size or file.read(1):
        raise ValueError(f"{name} unpacks to another size than it says")
