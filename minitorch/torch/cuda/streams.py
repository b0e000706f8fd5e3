"""Streams and events: the order of work on a GPU, and moments in it."""

from __future__ import annotations

from typing import Any

from ..backends.cuda.backend import require_cuda
from ..device import device as _device


class Stream:
    """A queue of work; work in two streams may run at the same time."""

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.native = require_cuda().new_stream(priority)
        self.device = _device("cuda", require_cuda().current())
        self.priority = priority

    @classmethod
    def of(cls, native: Any) -> Stream:
        """A stream of the backend's as one of Torch's."""
        made = object.__new__(cls)
        made.native, made.priority = native, 0
        made.device = _device("cuda", require_cuda().current())
        return made

    @property
    def cuda_stream(self) -> int:
        """The driver's own number for it."""
        return self.native.ptr

    def synchronize(self) -> None:
        """Wait for all work in it."""
        self.native.synchronize()

    def query(self) -> bool:
        """Whether all its work is done."""
        return self.native.done

    def record_event(self, event: Event | None = None) -> Event:
        """Note this moment of it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let what follows in it wait for an event."""
        self.native.wait_event(event.native)

    def wait_stream(self, stream: Stream) -> None:
        """Let what follows in it wait for what another stream has to do now."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        self._context = StreamContext(self)
        self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class StreamContext:
    """Lets new work join a stream for a while; None leaves things as they are."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before = require_cuda().current_stream()
            require_cuda().set_stream(self.stream.native)

    def __exit__(self, *error: Any) -> None:
        if self.stream is not None:
            require_cuda().set_stream(self._before)


def stream(stream: Stream | None) -> StreamContext:
    """Let new work join a stream for a while."""
    return StreamContext(stream)


def set_stream(stream: Stream) -> None:
    """Let new work join a stream from now on."""
    require_cuda().set_stream(stream.native)


def current_stream(device: Any = None) -> Stream:
    """The current stream."""
    return Stream.of(require_cuda().current_stream())


def default_stream(device: Any = None) -> Stream:
    """The default stream."""
    return Stream.of(require_cuda().default_stream())


class Event:
    """A point in the work of a stream."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.native = require_cuda().new_event(enable_timing)
        self.enable_timing = enable_timing

    def record(self, stream: Stream | None = None) -> None:
        """Note the moment when what a stream has to do now is done."""
        self.native.record(current_stream().native if stream is None else stream.native)

    def wait(self, stream: Stream | None = None) -> None:
        """Let what follows in a stream wait for it."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether it has come."""
        return self.native.done

    def synchronize(self) -> None:
        """Wait until it has come."""
        self.native.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this moment to another."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        return require_cuda().milliseconds(self.native, end_event.native)
