"""A store in one process that others reach over TCP; it also tells them when one of them is gone.

A message is a number of parts, each a length and bytes. A process that is *present* (`Presence`)
keeps one more connection open. When that breaks without a farewell, the process has ended, and the
store tells all the others which rank it was. One that takes its leave says how many collectives of each
group it has started: the others know then which ones it will never join.
"""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from .errors import DistNetworkError, DistStoreError
from .store import DEFAULT_TIMEOUT, HashStore, Store, as_bytes, waited_for

MAX_PART = 1 << 30


def send_message(connection: socket.socket, *parts: bytes) -> None:
    """Send parts as one message."""
    lengths = struct.pack(f"<{len(parts) + 1}I", len(parts), *map(len, parts))
    connection.sendall(lengths + b"".join(parts))


def receive_message(connection: socket.socket) -> list[bytes]:
    """The parts of the next message; ConnectionError where there is none."""
    (count,) = struct.unpack("<I", _receive(connection, 4))
    if count > 1 << 16:
        raise ConnectionError("this is no message of a store")
    lengths = struct.unpack(f"<{count}I", _receive(connection, 4 * count))
    if sum(lengths) > MAX_PART:
        raise ConnectionError("a message is too long")
    return [_receive(connection, length) for length in lengths]


def _receive(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(min(length - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("the connection was closed")
        parts += part
    return bytes(parts)


class Server(socketserver.ThreadingTCPServer):
    """The process that keeps the values, with a thread for each connection."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, _Connection)
        self.values = HashStore()
        self.changed = threading.Condition()
        self.present: dict[int, socket.socket] = {}
        self.known: set[int] = set()  # ranks that are, or were, present
        self.lost: dict[int, str] = {}
        self.on_loss: Callable[[int, str], None] | None = None
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def mark_lost(self, rank: int, reason: str) -> None:
        """Note that a rank has ended before its time, and tell the others."""
        with self.changed:
            if rank in self.lost:
                return
            self.lost[rank] = reason
        self.tell_others(rank, b"lost", reason.encode())
        if self.on_loss is not None:
            self.on_loss(rank, reason)

    def tell_others(self, rank: int, word: bytes, text: bytes) -> None:
        """Tell all others that are present something about a rank."""
        with self.changed:
            others = [c for r, c in self.present.items() if r != rank]
        for connection in others:
            _tell(connection, rank, word, text)

    def close_all(self) -> None:
        """Close the port and all connections: who counts on this server hears that it is gone."""
        self.server_close()
        with self.changed:
            connections = list(self.present.values())
        for connection in connections:
            with suppress(OSError):  # that one is gone already
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is no error of the store."""


def _tell(connection: socket.socket, rank: int, word: bytes, text: bytes) -> None:
    with suppress(OSError):  # that one is gone, too
        send_message(connection, word, str(rank).encode(), text)


class _Connection(socketserver.BaseRequestHandler):
    """What the server does for one connection."""

    server: Server  # type: ignore[assignment]

    def handle(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                command, *args = receive_message(self.request)
            except (OSError, struct.error):
                return
            if command == b"present":
                return self._watch(int(args[0]))
            try:
                answer = [b"ok", *self._answer(command.decode(), args)]
            except Exception as error:
                answer = [b"error", str(error).encode()]
            send_message(self.request, *answer)

    def _answer(self, command: str, args: list[bytes]) -> list[bytes]:
        values = self.server.values
        if command == "wait":
            return self._wait(float(args[0]), [key.decode() for key in args[1:]])
        if command == "check":
            return [b"1" if values.check([key.decode() for key in args]) else b"0"]
        if command == "count":
            return [str(values.num_keys()).encode()]
        if command == "list":
            return [key.encode() for key in values.list_keys()]
        key = args[0].decode()
        if command == "delete":
            return [b"1" if values.delete_key(key) else b"0"]
        with self.server.changed:
            if command == "set":
                values.set(key, args[1])
                answer = []
            elif command == "append":
                values.append(key, args[1])
                answer = []
            elif command == "add":
                answer = [str(values.add(key, int(args[1]))).encode()]
            elif command == "compare_set":
                answer = [values.compare_set(key, args[1], args[2])]
            else:
                raise ValueError(f"unknown command {command!r}")
            self.server.changed.notify_all()
        return answer

    def _wait(self, seconds: float, keys: list[str]) -> list[bytes]:
        """The values of keys, as soon as all are there."""
        values = self.server.values
        with self.server.changed:
            if not self.server.changed.wait_for(lambda: values.check(keys), seconds):
                raise TimeoutError(waited_for(keys, timedelta(seconds=seconds)))
            return [values.get(key) for key in keys]

    def _watch(self, rank: int) -> None:
        """Wait for a present process to leave, or to be lost."""
        server = self.server
        with server.changed:
            server.present[rank] = self.request
            server.known.add(rank)
            known = list(server.lost.items())
        for other, reason in known:
            _tell(self.request, other, b"lost", reason.encode())
        try:
            word, text = receive_message(self.request)
        except (OSError, ValueError, struct.error):
            word, text = b"error", b"its process has ended"
        with server.changed:
            server.present.pop(rank, None)
        if word == b"bye":
            server.tell_others(rank, b"left", text)
        else:
            server.mark_lost(rank, text.decode())


def connect(host: str, port: int, seconds: float) -> socket.socket:
    """A connection to a server, which may still be starting."""
    end = time.monotonic() + seconds
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=max(seconds, 0.1))
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except OSError as error:
            if time.monotonic() > end:
                raise DistNetworkError(
                    f"The client socket has timed out after {seconds * 1000:.0f}ms while trying to "
                    f"connect to ({host}, {port}): {error}"
                ) from None
            time.sleep(0.02)


class TCPStore(Store):
    """A dictionary that one process, the master, keeps, and others reach over TCP."""

    def __init__(
        self,
        host_name: str,
        port: int = 0,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__(timeout)
        self.server: Server | None = None
        if is_master:
            self.server = _serve(port, multi_tenant)
            port = self.server.server_address[1]
        self.host, self.port = host_name, port
        self._connections = threading.local()
        self._ask("count")
        if world_size and wait_for_workers:
            self.add("init/", 1)
            self._wait_for_all(world_size)

    def _wait_for_all(self, world_size: int) -> None:
        end = time.monotonic() + self._timeout.total_seconds()
        while (count := self.add("init/", 0)) < world_size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {self._timeout.total_seconds():.0f} seconds waiting for clients. "
                    f"{count}/{world_size} clients joined."
                )
            time.sleep(0.002)

    def _ask(self, command: str, *args: bytes) -> list[bytes]:
        """Send a command over this thread's connection, and return the answer."""
        connection = getattr(self._connections, "own", None)
        if connection is None:
            connection = connect(self.host, self.port, self._timeout.total_seconds())
            self._connections.own = connection
        try:
            send_message(connection, command.encode(), *args)
            status, *answer = receive_message(connection)
        except OSError as error:
            raise DistNetworkError(
                f"the store at {self.host}:{self.port} is gone: {error}"
            ) from None
        if status != b"ok":
            raise DistStoreError(answer[0].decode())
        return answer

    def set(self, key: str, value: str | bytes) -> None:
        self._ask("set", key.encode(), as_bytes(value))

    def get(self, key: str) -> bytes:
        return self.multi_get([key])[0]

    def append(self, key: str, value: str | bytes) -> None:
        self._ask("append", key.encode(), as_bytes(value))

    def add(self, key: str, amount: int) -> int:
        return int(self._ask("add", key.encode(), str(amount).encode())[0])

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:  # fmt: skip
        values = as_bytes(expected_value), as_bytes(desired_value)
        return self._ask("compare_set", key.encode(), *values)[0]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        seconds = (timeout or self._timeout).total_seconds()
        self._ask("wait", str(seconds).encode(), *(key.encode() for key in keys))

    def check(self, keys: Sequence[str]) -> bool:
        return self._ask("check", *(key.encode() for key in keys))[0] == b"1"

    def delete_key(self, key: str) -> bool:
        return self._ask("delete", key.encode())[0] == b"1"

    def num_keys(self) -> int:
        return int(self._ask("count")[0])

    def list_keys(self) -> list[str]:
        return [key.decode() for key in self._ask("list")]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        seconds = self._timeout.total_seconds()
        return self._ask("wait", str(seconds).encode(), *(key.encode() for key in keys))


_SERVERS: dict[int, Server] = {}
"""This process's servers by port, for stores that may share one."""


def _serve(port: int, shared: bool) -> Server:
    """A server on a port; where stores may share it, the one that this process has there."""
    if shared and port in _SERVERS:
        return _SERVERS[port]
    try:
        server = Server(("", port))
    except OSError as error:
        raise DistNetworkError(
            f"The server socket has failed to listen on any local network address. port: {port}, "
            f"error: {error}"
        ) from None
    if shared:
        _SERVERS[server.server_address[1]] = server
    return server


class Presence:
    """This process as one that others count on: they hear of its end, and it hears of theirs.

    Attributes:
        lost: ranks that have ended before their time, and why
        left: ranks that have taken their leave, and how many collectives of each group they had started
        store_is_gone: whether the process that keeps the store has ended
    """

    def __init__(self, store: TCPStore, rank: int) -> None:
        self.lost: dict[int, str] = {}
        self.left: dict[int, dict[str, int]] = {}
        self.store_is_gone = False
        self.on_store_gone: Callable[[], None] | None = None
        self._left = False
        self._connection = connect(store.host, store.port, store.timeout.total_seconds())
        send_message(self._connection, b"present", str(rank).encode())
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                word, rank, text = receive_message(self._connection)
            except (OSError, ValueError, struct.error):
                self.store_is_gone = True
                if self.on_store_gone is not None and not self._left:
                    self.on_store_gone()
                return
            if word == b"left":
                self.left[int(rank)] = json.loads(text)
            else:
                self.lost[int(rank)] = text.decode()

    def leave(self, error: str, started: dict[str, int]) -> None:
        """Say that this process ends: with an error, or as it should, after so many collectives of each group."""
        if self._left:
            return
        self._left = True
        words = (b"error", error.encode()) if error else (b"bye", json.dumps(started).encode())
        with suppress(OSError):  # nobody is left to be told
            send_message(self._connection, *words)
            self._connection.shutdown(socket.SHUT_WR)
