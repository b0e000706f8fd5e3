"""The container of `.pt` files: a zip of uncompressed records, each at a multiple of 64 bytes.

name/data.pkl               the object, with storages by number
name/.format_version        1
name/.storage_alignment     64
name/byteorder              little or big
name/data/0, data/1, ...    the bytes of each storage
name/version                3
name/.data/serialization_id a number that names the content
"""

from __future__ import annotations

import hashlib
import struct
import sys
import zipfile
import zlib
from contextlib import nullcontext, suppress
from mmap import mmap
from typing import Any, BinaryIO

import numpy as np

Array = Any
"""A NumPy array of bytes."""

ALIGNMENT = 64
_LOCAL_HEADER = 30  # bytes before the name
_ZIP64_EXTRA = 20
_PADDING_ID = b"FB"
_NUMBER = 16  # bytes of the largest number
_TEXT, _TEXT_RATIO = (
    16 << 20,
    20,
)  # what a compressed record may unpack to: bytes, and times its size


class ArchiveWriter:
    """Writes the records of a `.pt` file one after the other."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._name = name
        self._content = hashlib.sha256()

    def write(self, name: str, data: Any) -> None:
        """Write a record: bytes, or an array of bytes."""
        view = memoryview(data)
        info = zipfile.ZipInfo(f"{self._name}/{name}")
        info.file_size = view.nbytes
        info.extra = self._padding(info)
        with self._zip.open(info, "w") as record:
            record.write(view)
        info.extra = b""  # the padding is of use in the local header only
        self._content.update(f"{name} {info.CRC}\n".encode())

    def _padding(self, info: zipfile.ZipInfo) -> bytes:
        """An extra field after which the data begins at a multiple of the alignment."""
        start = self._zip.start_dir + _LOCAL_HEADER + len(info.filename.encode())
        start += len(_PADDING_ID) + 2
        if info.file_size * 1.05 > zipfile.ZIP64_LIMIT:
            start += _ZIP64_EXTRA
        fill = -start % ALIGNMENT
        return _PADDING_ID + struct.pack("<H", fill) + b"Z" * fill

    def finish(self) -> None:
        """Write what stands at the end of every archive."""
        self.write("version", b"3\n")
        identity = int.from_bytes(self._content.digest()) % 10**40
        self.write(".data/serialization_id", f"{identity:040d}".encode())

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        # After an error, that error is the one to show.
        with nullcontext() if kind is None else suppress(Exception):
            self._zip.close()


class ArchiveReader:
    """Reads the records of a `.pt` file, each checked against the file's length and its checksum."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        try:
            self._zip = zipfile.ZipFile(file)
        except (
            zipfile.BadZipFile,
            ValueError,
            OSError,
            NotImplementedError,
            struct.error,
        ) as error:
            raise damaged(f"it has no readable list of contents ({error})") from None
        members = self._zip.infolist()
        if sum(member.compress_size for member in members) > self._size:
            raise damaged("its records overlap, or are larger together than the file")
        names = self._zip.namelist()
        pickles = [name for name in names if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise damaged("there is no data.pkl in it: was it saved with torch.save?")
        self._prefix = pickles[0].removesuffix("data.pkl")

    def __enter__(self) -> ArchiveReader:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._zip.NameToInfo

    def names(self) -> list[str]:
        """The names of all records."""
        return [name.removeprefix(self._prefix) for name in self._zip.namelist()]

    def read(self, name: str) -> Array:
        """The bytes of a record, in memory of their own."""
        info, start = self._find(name)
        memory: Array = np.empty(info.file_size, np.uint8)
        self._file.seek(start)
        _fill(memory, self._file, name)
        if info.CRC and zlib.crc32(memory) != info.CRC:  # 0: saved without checksums
            raise damaged(f"the checksum of its record {name} is wrong")
        return memory

    def read_text(self, name: str) -> str:
        """A record as text; it may be compressed, but not by more than text can be."""
        info = self._zip.NameToInfo.get(self._prefix + name)
        if info is None or info.compress_type == zipfile.ZIP_STORED:
            return self.read(name).tobytes().decode()
        limit = _TEXT + _TEXT_RATIO * info.compress_size
        try:
            with self._zip.open(info) as record:
                text = record.read(limit + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise damaged(f"its record {name} cannot be unpacked ({error})") from None
        if len(text) > limit:
            raise damaged(f"its record {name} unpacks to more than {limit} bytes")
        return text.decode()

    def map(self, name: str, mapped: mmap) -> Array:
        """The bytes of a record as part of the mapped file, or a copy if numbers would lie askew."""
        info, start = self._find(name)
        if start % _NUMBER or not info.file_size:
            return self.read(name)
        return np.frombuffer(mapped, np.uint8, info.file_size, start)

    def is_foreign_order(self) -> bool:
        """Whether the numbers in the file have the other byte order than this machine's."""
        if "byteorder" not in self:
            return sys.byteorder != "little"
        return self.read("byteorder").tobytes().decode("ascii", "replace") != sys.byteorder

    def _find(self, name: str) -> tuple[zipfile.ZipInfo, int]:
        """A record's entry and where its data begins."""
        info = self._zip.NameToInfo.get(self._prefix + name)
        if info is None:
            raise damaged(f"its record {name} is missing")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise damaged(f"its record {name} is compressed or encrypted")
        if not 0 <= info.header_offset < self._size:
            raise damaged(f"its record {name} begins outside of it")
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
            raise damaged(f"its record {name} has no header")
        start = info.header_offset + _LOCAL_HEADER + sum(struct.unpack_from("<HH", header, 26))
        if start + info.file_size > self._size:
            raise damaged(f"its record {name} goes past the end")
        return info, start


def damaged(reason: str) -> RuntimeError:
    """The error for a file that is not, or no longer, an archive."""
    return RuntimeError(
        f"PytorchStreamReader failed reading zip archive: {reason}. "
        "The file is cut off or damaged, or it is no file of torch.save."
    )


def _fill(memory: Array, file: BinaryIO, name: str) -> None:
    """Read as many bytes as the memory has."""
    view = memoryview(memory)
    into = getattr(file, "readinto", None)
    while view.nbytes:
        if into is not None:
            count = into(view)
        else:
            chunk = file.read(min(view.nbytes, 1 << 24))
            count = len(chunk)
            view[:count] = chunk
        if not count:
            raise damaged(f"its record {name} ends early")
        view = view[count:]
