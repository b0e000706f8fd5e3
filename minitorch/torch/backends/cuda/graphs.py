"""Work of a GPU as one graph, which is captured once and then started by one call.

What a kernel was given when it was captured stays as it was: addresses and numbers. What changes from play to play lies
in memory: `words`, 8 bytes each, which the first launch of a play writes (learning rates, the counter of random numbers),
and buffers, into which it copies the arguments. While a graph is captured, nothing is computed, and what would
need the CPU is refused.

A graph has two halves. The first one may be empty. If not, it writes memory that nobody sees, and no other: it can be started before it is
known whether the graph is to be played at all. The second one gives out what the first one made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from ..interface import Array

MOST_WORDS = 256
MOST_CHECKS = 64


class CannotCapture(RuntimeError):  # noqa: N818
    """Why work cannot be a graph."""


class CannotSplit(CannotCapture):
    """Why the first half of a graph must be empty."""


class _Thread(threading.local):
    graph: Graph | None = None


recording = _Thread()
"""The graph that this thread captures or, where it is simulated, plays."""


def refuse_reading() -> None:
    """CannotCapture if a graph is being captured: there are no values yet."""
    if recording.graph is not None:
        raise CannotCapture("values of the GPU are read")


def refuse_writing() -> None:
    """CannotCapture if a graph is being captured: it would always copy what the CPU has now."""
    if recording.graph is not None:
        raise CannotCapture("values of the CPU are copied to the GPU")


def refuse_in_graph(name: str, error: Exception) -> None:
    """CannotCapture if a graph is being captured: what a record computes has failed, and the CPU cannot help."""
    if isinstance(error, CannotCapture):
        raise error
    if recording.graph is not None:
        raise CannotCapture(f"{name!r} fails with {type(error).__name__}: {error}") from error


class Draw:
    """The counter of a generator, for one launch that draws numbers."""

    def __init__(self, generator: Any, count: int, place: int) -> None:
        self.generator, self.count, self.place = generator, count, place

    def fits(self) -> bool:
        """Whether the graph can be played: always."""
        return True

    def done(self) -> None:
        """Nothing is counted but the words."""

    def undo(self) -> None:
        """Let the counter be where it was before `put`."""
        self.generator.advance(-(-(-self.count // 4) * 4))

    def put(self, words: np.ndarray) -> None:
        """Write the seed and the counter, which moves on."""
        state = self.generator.initial_seed(), self.generator.advance(self.count)
        words[self.place : self.place + 2] = np.array(state, np.uint64).view(np.int64)


class Graph:
    """Captured work.

    Attributes:
        words: the numbers that kernels read
        parts: what writes them before a play; each is asked first whether the graph still fits, and counts afterwards
        messages: of the errors that kernels may note, in the order of the checks
        kept: what must live as long as the graph
        split: whether the first half has work
        first: how many parts belong to the first half; None while that is captured
        outside: the owners of memory from outside
    """

    def __init__(self, split: bool = False) -> None:
        self.split = split
        self.first: int | None = None
        self.outside: list[Any] = []
        self.words = np.zeros(MOST_WORDS, np.int64)
        self.parts: list[Any] = []
        self.messages: list[str] = []
        self.kept: list[Any] = []
        self.used = 0

    def room(self, count: int) -> int:
        """The number of the first of `count` new words."""
        first = self.used
        self.used += count
        if self.used > MOST_WORDS:
            raise CannotCapture("too many of its numbers change from play to play")
        return first

    def add(self, part: Any) -> None:
        """Let a part write its words before each play."""
        if self.split and self.first is not None and isinstance(part, Draw):
            raise CannotSplit("random numbers are drawn after memory was written")
        self.parts.append(part)

    def draw(self, generator: Any, count: int) -> int:
        """The place of the seed and the counter of a launch whose threads draw so many words."""
        place = self.room(2)
        self.add(Draw(generator, count, place))
        return place

    def constant(self, array: np.ndarray, where: Any) -> Array:
        """An array of the CPU that stays as it is, on a GPU."""
        raise NotImplementedError

    def note(self, message: str) -> int:
        """The address of two numbers for the next check, whose error has a message: whether a place is wrong, and which."""
        raise NotImplementedError

    def capture(self, work: Callable[[], Generator[None, None, Any]], written: Sequence[Array]) -> Any:  # fmt: skip
        """Note the launches of a function, and return the arrays that it returns; CannotCapture if that cannot be.

        Args:
            work: what is captured; it yields once, between the halves
            written: the arrays from outside that it may write
        """
        raise NotImplementedError

    def given_out(self, arrays: Sequence[Array]) -> list[Array]:
        """The results: of a split graph, copies in memory that its first half does not write; CannotSplit if they share memory."""
        owners = {id(owner) for owner in (*map(self.memory_of, arrays), *self.outside)}
        if self.split and len(owners) < len(arrays) + len(self.outside):
            raise CannotSplit("results share memory")
        return list(arrays)

    def start(self, copies: Sequence[tuple[Array, Array]]) -> None:
        """Copy arrays to others, and start the first half."""
        raise NotImplementedError

    def finish(self) -> None:
        """Start the second half."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Let it be as if the first half had not been started."""
        for part in self.parts[: self.first]:
            part.undo()

    def copy_out(self, copies: Sequence[tuple[Array, Array]]) -> None:
        """Copy arrays to others after it."""
        for source, target in copies:
            np.copyto(target, source)

    def check(self) -> None:
        """The error that a kernel has noted in a play that has ended, if there is one."""

    def memory_of(self, array: Array) -> Any:
        """What holds an array's memory: whoever looks at it has a reference to this, or to the array."""
        raise NotImplementedError

    def about(self) -> str:
        """The graph in words."""
        return f"{len(self.parts)} parts change from play to play"
