"""Lines that another process writes, waited for only so long, on every system.

`select` waits for pipes on Linux and macOS but not on Windows; a thread that reads does.
"""

from __future__ import annotations

from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO


class Lines:
    """The lines of a pipe, in the order in which they come."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._waiting: SimpleQueue[bytes] = SimpleQueue()
        Thread(target=_read, args=(pipe, self._waiting), daemon=True).start()

    def next(self, limit: float | None = None) -> bytes | None:
        """The next line, without its end; None if there is none after so many seconds.

        Raises:
            EOFError: no more will come
        """
        try:
            line = self._waiting.get(timeout=limit)
        except Empty:
            return None
        if not line:
            self._waiting.put(line)
            raise EOFError
        return line.rstrip(b"\r\n")


def _read(pipe: IO[bytes], waiting: SimpleQueue[bytes]) -> None:
    """Put every line of a pipe into a queue, and an empty one at the end.

    Nobody else closes the pipe: whoever tried would wait for the one that reads.
    """
    with pipe:
        for line in pipe:
            waiting.put(line)
    waiting.put(b"")
