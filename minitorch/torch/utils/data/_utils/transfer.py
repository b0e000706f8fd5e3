"""Batches from one process to another: small ones through a pipe, large ones in shared memory.

A message is pickled with the arrays of its tensors left out. All that goes into a file that lives in
memory; the receiver maps it and takes its name away, so the memory is given back when the last
tensor in it is.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import tempfile
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ....tensor import Tensor, wrap

Array = Any

SHARED = 16_384
"""From this many bytes on, a message goes through shared memory: pipes are never full for long."""

ALIGNMENT = 64


def make_folder() -> str:
    """A folder for the messages of one loader, in memory if there is such a place."""
    memory = "/dev/shm"
    usable = os.path.isdir(memory) and os.access(memory, os.W_OK)
    return tempfile.mkdtemp(prefix="minitorch-", dir=memory if usable else None)


class Sender:
    """One end: sends messages, and names the files of their arrays."""

    def __init__(self, connection: Connection, folder: str, name: str) -> None:
        self.connection, self.folder, self.name = connection, folder, name
        self.count = 0

    def send(self, message: Any) -> None:
        """Send anything that can be pickled."""
        buffer = io.BytesIO()
        pickler = _Pickler(buffer)
        pickler.dump(message)
        arrays = [np.frombuffer(buffer.getbuffer(), np.uint8), *pickler.arrays]
        path = ""
        if sum(array.nbytes for array in arrays) >= SHARED:
            self.count += 1
            path = os.path.join(self.folder, f"{self.name}-{self.count}")
            _write(path, arrays)
        described = [(a.dtype, a.shape, None if path else a.tobytes()) for a in arrays]
        self.connection.send_bytes(pickle.dumps((path, described)))


def receive(connection: Connection) -> Any:
    """The next message of a Sender."""
    content, *arrays = _arrays(*pickle.loads(connection.recv_bytes()))
    return _Unpickler(io.BytesIO(content), arrays).load()


class _Pickler(pickle.Pickler):
    """Leaves out the arrays of tensors."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.arrays: list[Array] = []

    def persistent_id(self, obj: Any) -> int | None:
        """The number of a tensor's array; other objects are pickled as always."""
        if type(obj) is not Tensor or obj._edge is not None:
            return None
        self.arrays.append(np.asarray(obj._array, order="C"))
        return (len(self.arrays) - 1) * 2 + obj._requires_grad


class _Unpickler(pickle.Unpickler):
    """Puts the arrays of tensors back."""

    def __init__(self, file: io.BytesIO, arrays: list[Array]) -> None:
        super().__init__(file)
        self.arrays = arrays

    def persistent_load(self, pid: int) -> Tensor:
        """The tensor of an array."""
        made = wrap(self.arrays[pid // 2])
        made._requires_grad = bool(pid % 2)
        return made


def _places(sizes: list[int]) -> list[int]:
    """The offsets in a file of arrays of these sizes, each aligned."""
    places, end = [], 0
    for size in sizes:
        places.append(end)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return places


def _write(path: str, arrays: list[Array]) -> None:
    with open(path, "xb", buffering=0) as file:
        for array, place in zip(arrays, _places([a.nbytes for a in arrays]), strict=True):
            if array.nbytes:
                file.seek(place)
                left = memoryview(array.reshape(-1).view(np.uint8))
                while left:
                    left = left[file.write(left) :]


def _arrays(path: str, described: list[tuple[Any, tuple[int, ...], bytes | None]]) -> list[Array]:
    """The arrays of a message, from its file or from the message itself."""
    if not path:
        return [
            np.frombuffer(bytearray(content or b""), dtype).reshape(shape)
            for dtype, shape, content in described
        ]
    with open(path, "r+b") as file:
        os.unlink(path)
        memory = mmap.mmap(file.fileno(), 0)
    counts = [int(np.prod(shape)) for _, shape, _ in described]
    sizes = [n * dtype.itemsize for n, (dtype, _, _) in zip(counts, described, strict=True)]
    return [
        np.frombuffer(memory, dtype, count, place if count else 0).reshape(shape)
        for count, place, (dtype, shape, _) in zip(counts, _places(sizes), described, strict=True)
    ]
