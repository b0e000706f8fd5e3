"""Torch's names for the container of `.pt` files: its records, one by one.

>>> import io
>>> file = io.BytesIO()
>>> writer = PyTorchFileWriter(file)
>>> writer.write_record("data.pkl", b"N.", 2)
>>> writer.write_end_of_file()
>>> PyTorchFileReader(file).get_record("data.pkl")
b'N.'
"""

from __future__ import annotations

import os
from typing import Any

from ..ops.conversion import from_numpy
from ..storage import UntypedStorage
from .archive import ArchiveReader, ArchiveWriter


def _opened(file: Any, mode: str) -> Any:
    """A file that is open: the one at a path, or the one that is given."""
    return open(file, mode) if isinstance(file, (str, os.PathLike)) else file  # noqa: SIM115


class PyTorchFileReader:
    """The records of a file that `torch.save` has written, given by its path or open."""

    def __init__(self, file: Any) -> None:
        self._archive = ArchiveReader(_opened(file, "rb"))

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return name in self._archive

    def get_all_records(self) -> list[str]:
        """The names of the records."""
        return self._archive.names()

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self._archive.read(name).tobytes()

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """A record as a tensor of bytes; its storage is what counts."""
        return from_numpy(self._archive.read(name))


class PyTorchFileWriter:
    """Writes records to a file, given by its path or open; `write_end_of_file` closes it."""

    def __init__(self, file: Any, *_: Any) -> None:
        self._file = _opened(file, "wb")
        self._is_ours = self._file is not file
        name = (
            os.path.splitext(os.path.basename(os.fspath(file)))[0] if self._is_ours else "archive"
        )
        self._archive = ArchiveWriter(self._file, name)

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write bytes, or the bytes of a storage."""
        if isinstance(data, UntypedStorage):
            data = bytes(data)
        self._archive.write(name, memoryview(data)[:size])

    def write_end_of_file(self) -> None:
        """Write what stands at the end of every archive."""
        with self._archive:
            self._archive.finish()
        if self._is_ours:
            self._file.close()
