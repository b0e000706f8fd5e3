"""Files: `save` and `load` in Torch's own format, both ways.

    >>> import io
    >>> import minitorch.torch as torch
    >>> from minitorch.torch.serialization import load, save
    >>> file = io.BytesIO()
    >>> save({"weight": torch.ones(2, 3)}, file)
    >>> _ = file.seek(0)
    >>> load(file)["weight"].shape
    torch.Size([2, 3])

A file of ours opens in PyTorch and the reverse. `load` reads with a machine that cannot run
code (`unpickler.py`), unless `weights_only=False` asks for Python's own.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import ACCESS_COPY
from mmap import mmap as map_file
from typing import Any, BinaryIO

from .copying import deepcopy_tensor as deepcopy_tensor
from .copying import reduce_tensor as reduce_tensor
from .names import add_safe_globals as add_safe_globals
from .names import clear_safe_globals as clear_safe_globals
from .names import find_torch_object
from .names import get_safe_globals as get_safe_globals
from .names import safe_globals as safe_globals
from .pickler import dump
from .storages import MapLocation, StorageLoader
from .unpickler import PersistentLoad, SafeUnpickler

MAP_LOCATION = MapLocation
FileLike = str | os.PathLike[str] | BinaryIO | io.BytesIO | Any
DEFAULT_PROTOCOL = 2


class _Thread(threading.local):
    skips = False  # whether files are written without the numbers of tensors


_thread = _Thread()


class skip_data:  # noqa: N801
    """Within `with`, `save` leaves room for the numbers of tensors, with zeros in it."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.before = False

    def __enter__(self) -> None:
        self.before, _thread.skips = _thread.skips, True

    def __exit__(self, *_: object) -> None:
        _thread.skips = self.before


# --- Saving ------------------------------------------------------------------------------


def save(
    obj: Any,
    f: FileLike,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a path or an open file, in the format of PyTorch's `torch.save`.

    A path is written whole or not at all: a crash leaves the old file as it was.
    """
    if not _use_new_zipfile_serialization:
        raise ValueError("files in the format of Torch before 1.6 can be loaded, but not saved")
    from .archive import ArchiveWriter  # on first need: zipfile loads half of Python

    pickled, storages = dump(obj, pickle_module, pickle_protocol)
    with _opened_to_write(f) as (file, name), ArchiveWriter(file, name) as archive:
        archive.write("data.pkl", pickled)
        archive.write(".format_version", b"1")
        archive.write(".storage_alignment", b"64")
        if not _disable_byteorder_record:
            archive.write("byteorder", sys.byteorder.encode())
        for key, memory in storages.memories.items():
            archive.write(
                f"data/{key}", bytes(memoryview(memory).nbytes) if _thread.skips else memory
            )
        archive.finish()


@contextmanager
def _opened_to_write(f: FileLike) -> Iterator[tuple[BinaryIO, str]]:
    """A file to write to, and the name of the archive in it."""
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0]
        from .replacing import replacing

        with replacing(f) as file:
            yield file, name or "archive"
    elif hasattr(f, "write"):
        yield f, "archive"
    else:
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, "
            f"not {type(f).__name__}"
        )


# --- Loading -----------------------------------------------------------------------------


def load(
    f: FileLike,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that `save`, or PyTorch's `torch.save`, has written.

    Args:
        f: a path or an open file that can be searched
        map_location: where the tensors go: a device, a dict of devices, or a function
        pickle_module: what unpickles instead of `pickle`; only with `weights_only=False`
        weights_only: read tensors, plain containers and numbers only, so that no file can run
            code (the default); False: trust the file
        mmap: map the file instead of reading it; its pages load when they are touched
        pickle_load_args: for `pickle_module.Unpickler`, such as `encoding`
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if isinstance(f, (str, os.PathLike)) and os.fspath(f).endswith(".safetensors"):
        from ..safetensors import load_file

        return load_file(f)
    read = _Reader(None if weights_only else pickle_module or pickle, pickle_load_args)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _load_opened(file, read, map_location, bool(mmap))
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    _check_searchable(f)
    return _load_opened(f, read, map_location, False)


def _check_searchable(f: Any) -> None:
    """Refuse what cannot be read from any place."""
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the "
            "data into a buffer like io.BytesIO and try to load from it instead."
        ) from None


def _load_opened(file: BinaryIO, read: _Reader, map_location: MapLocation, mapped: bool) -> Any:
    """The object in an open file, of the present format or the old one."""
    from .archive import ArchiveReader
    from .legacy import load_legacy

    start = file.tell()
    is_archive = file.read(4) == b"PK\x03\x04"
    file.seek(start)
    if not is_archive:
        if mapped:
            raise RuntimeError("mmap can only be used with files in the format of Torch since 1.6")
        return load_legacy(memoryview(file.read()), read, map_location)
    with ArchiveReader(file) as archive:
        if "constants.pkl" in archive:
            raise RuntimeError("the file is a TorchScript archive: torch.jit.load reads it")
        pages = map_file(file.fileno(), 0, access=ACCESS_COPY) if mapped else None

        def read_storage(key: str, size: int) -> Any:
            name = f"data/{key}"
            return archive.read(name) if pages is None else archive.map(name, pages)

        storages = StorageLoader(read_storage, map_location, archive.is_foreign_order())
        return read(memoryview(archive.read("data.pkl")), 0, storages)[0]


class _Reader:
    """Reads one pickle: restricted, or with a pickle module and its arguments."""

    def __init__(self, pickle_module: Any, arguments: dict[str, Any]) -> None:
        self._module = pickle_module
        self._arguments = {"encoding": "utf-8", **arguments}

    def __call__(
        self, data: memoryview, position: int, persistent_load: PersistentLoad
    ) -> tuple[Any, int]:
        """The object, and where its pickle ends."""
        if self._module is None:
            machine = SafeUnpickler(data, persistent_load, position)
            return machine.load(), machine.position
        file = io.BytesIO(data[position:])
        unpickler = _trusting(self._module)(file, **self._arguments)
        unpickler.persistent_load = persistent_load
        return unpickler.load(), position + file.tell()


def _trusting(pickle_module: Any) -> type:
    """An unpickler that imports what the file names, and takes `torch` to be ours."""

    class Unpickler(pickle_module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            if module.partition(".")[0] == "torch":
                return find_torch_object(module, name)
            return super().find_class(module, name)

    return Unpickler
