"""Stores: small dictionaries that several processes share, by which they find each other.

Values are bytes. `get` waits until a key is there. What is sent over a socket is lengths and bytes,
never pickled objects.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from .errors import DistStoreError

DEFAULT_TIMEOUT = timedelta(seconds=300)


def as_bytes(value: Any) -> bytes:
    """A value as a store keeps it."""
    if isinstance(value, int):  # of which bytes() makes so many zeros
        raise TypeError(
            "set(): incompatible function arguments: a store keeps str or bytes, not int"
        )
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """A dictionary that processes share. Subclasses define the methods that begin with an underscore."""

    def __init__(self, timeout: timedelta = DEFAULT_TIMEOUT) -> None:
        self._timeout = timeout

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Say how long `get` and `wait` wait."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Set a key."""
        self._change(key, lambda _: as_bytes(value))

    def get(self, key: str) -> bytes:
        """The value of a key, waited for."""
        self.wait([key])
        return self._read()[key]

    def append(self, key: str, value: str | bytes) -> None:
        """Add bytes to the end of a value."""
        self._change(key, lambda old: (old or b"") + as_bytes(value))

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which begins with 0, and return the sum."""
        return int(self._change(key, lambda old: str(int(old or b"0") + amount).encode()))

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        """Set a key if its value is the expected one (or "" and it is not there); return what it is then."""  # fmt: skip
        expected, desired = as_bytes(expected_value), as_bytes(desired_value)

        def compare(old: bytes | None) -> bytes | None:
            return desired if old == expected or (old is None and not expected) else old

        found = self._change(key, compare)
        return expected if found is None else found

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are there; DistStoreError after the timeout."""
        limit = self._timeout if timeout is None else timeout
        end, pause = time.monotonic() + limit.total_seconds(), 0.0005
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(waited_for(keys, limit))
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        there = self._read()
        return all(key in there for key in keys)

    def delete_key(self, key: str) -> bool:
        """Remove a key, and say whether it was there."""
        there = self.check([key])
        self._change(key, lambda _: None)
        return there

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self._read())

    def list_keys(self) -> list[str]:
        """All keys."""
        return list(self._read())

    def clone(self) -> Store:
        """Another store of the same keys, for another thread: here the same one, which threads may share."""
        return self

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`."""
        return True

    def _read(self) -> dict[str, bytes]:
        raise NotImplementedError

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> Any:
        raise NotImplementedError


def waited_for(keys: Sequence[str], limit: timedelta) -> str:
    """The message for keys that did not come."""
    return f"wait timeout after {limit // timedelta(milliseconds=1)}ms, keys: {', '.join('/' + k for k in keys)}"


class HashStore(Store):
    """A dictionary in this process; threads share it."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def _read(self) -> dict[str, bytes]:
        return self._values

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> Any:
        with self._lock:
            value = change(self._values.get(key))
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
            return value


class FileStore(Store):
    """A dictionary in a file that all processes can open: lines of JSON, the last one of a key counts."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = str(file_name)
        self._known: dict[str, bytes] = {}
        self._offset = 0
        self._thread_lock = threading.Lock()

    @contextmanager
    def _locked(self) -> Iterator[Any]:
        """The file, which no other process writes meanwhile, after what is new in it was read."""
        with self._thread_lock, open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_size < self._offset:
                self._known, self._offset = {}, 0  # another program's file by the same name
            file.seek(self._offset)
            for line in file:
                key, value = json.loads(line)
                if value is None:
                    self._known.pop(key, None)
                else:
                    self._known[key] = base64.b64decode(value)
            self._offset = file.tell()
            yield file

    def _read(self) -> dict[str, bytes]:
        with self._locked():
            return dict(self._known)

    def _change(self, key: str, change: Callable[[bytes | None], bytes | None]) -> Any:
        with self._locked() as file:
            value = change(self._known.get(key))
            text = None if value is None else base64.b64encode(value).decode()
            file.write(json.dumps([key, text]).encode() + b"\n")
        return value


class PrefixStore(Store):
    """A part of another store: keys that begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__(store.timeout)
        self.prefix, self.underlying_store = prefix, store

    def _named(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def set(self, key: str, value: str | bytes) -> None:
        self.underlying_store.set(self._named(key), value)

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self.underlying_store.get(self._named(key))

    def append(self, key: str, value: str | bytes) -> None:
        self.underlying_store.append(self._named(key), value)

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._named(key), amount)

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:  # fmt: skip
        return self.underlying_store.compare_set(self._named(key), expected_value, desired_value)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self.underlying_store.wait([self._named(key) for key in keys], timeout or self._timeout)

    def check(self, keys: Sequence[str]) -> bool:
        return self.underlying_store.check([self._named(key) for key in keys])

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._named(key))

    def num_keys(self) -> int:
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        return self.underlying_store.list_keys()
