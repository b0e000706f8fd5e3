"""A collective under way: waiting for it, with a limit, and with an eye on the other ranks."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ..futures import Future
from . import mpi
from .errors import DistBackendError, DistError

GRACE = 1.0
"""Seconds for which a collective may still complete after a rank has ended."""
_LOOK_EVERY = 0.1
_BURST = 1e-4
"""Seconds of asking in a row: where ranks cannot copy out of each other's memory, each question moves only a few kilobytes."""


Watch = Callable[[str, float, timedelta], None]
"""Called while a collective is waited for, with its name, the seconds so far and the limit: raises an error if it cannot complete."""


class Work:
    """A collective that was started: `wait`, or ask whether `is_completed`."""

    def __init__(
        self,
        name: str,
        requests: Sequence[Any],
        watch: Watch,
        timeout: timedelta,
        finish: Callable[[], Any] | None = None,
        result: Sequence[Any] = (),
    ) -> None:
        """Args are MPI's requests, who looks after the others meanwhile, and what is done at the end."""
        self.name = name
        self._requests = list(requests)
        self._watch = watch
        self._timeout = timeout
        self._finish = finish
        self._result = list(result)
        self._done = False
        self._error: Exception | None = None
        self._lock = threading.Lock()
        self.status: Any = None

    def is_completed(self) -> bool:
        """Whether it is over."""
        if self._done or self._error is not None:
            return True
        if not self._lock.acquire(blocking=False):
            return False  # another thread is just looking
        try:
            if self._done:
                return True
            module = mpi.load()
            statuses = [module.Status() for _ in self._requests]
            if not module.Request.Testall(self._requests, statuses):
                return False
            self.status = statuses[0] if statuses else None
            if self._finish is not None:
                self._finish()
            self._requests, self._finish, self._done = [], None, True
        except Exception as error:
            self._error = _readable(self.name, error)
            mpi.failed.append(str(self._error))
        finally:
            self._lock.release()
        return True

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is over; an error if it takes too long or a rank is gone."""
        limit = timeout or self._timeout
        if not self.is_completed():
            self._keep_looking(limit)
        if self._error is not None:
            raise self._error
        return True

    def _keep_looking(self, limit: timedelta) -> None:
        start = time.monotonic()
        next_look, pause_at = start + _LOOK_EVERY, start + _first_burst()
        while not self.is_completed():
            now = time.monotonic()
            waited = now - start
            if now >= pause_at:
                time.sleep(2e-5 if waited < 0.02 else 2e-4)
                pause_at = time.monotonic() + _BURST
            if now < next_look:
                continue
            next_look = now + _LOOK_EVERY
            try:
                self._watch(self.name, waited, limit)
            except DistError as error:
                self._error = error
                mpi.failed.append(str(error))
                return

    def is_success(self) -> bool:
        """Whether it is over, without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """The error that it ended with."""
        return self._error

    def synchronize(self) -> None:
        """Wait until it is over."""
        self.wait()

    def source_rank(self) -> int:
        """The rank, in the group, that a received tensor came from."""
        self.wait()
        return int(self.status.Get_source())

    def result(self) -> list[Any]:
        """The tensors that it has filled."""
        self.wait()
        return self._result

    def get_future(self) -> Future[Any]:
        """The result as a future."""
        return _WorkFuture(self.result, self.is_completed)


class _WorkFuture(Future[Any]):
    """A result that is there when it is waited for: who waits moves MPI on, and minds the time limit."""

    def __init__(self, result: Callable[[], Any], done: Callable[[], bool]) -> None:
        super().__init__()
        self._result, self._is_over = result, done

    def done(self) -> bool:
        return self._is_over()

    def wait(self) -> Any:
        return self._result()

    def value(self) -> Any:
        return self._result()

    def then(self, callback: Callable[[Future[Any]], Any]) -> Future[Any]:
        """What a function makes of this future, when that is waited for."""
        return _WorkFuture(functools.cache(lambda: callback(self)), self._is_over)

    def add_done_callback(self, callback: Callable[[Future[Any]], None]) -> None:
        self._result()
        callback(self)


@functools.cache
def _first_burst() -> float:
    """Seconds of asking before the first pause: more where each rank has a core to itself."""
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return 20 * _BURST if ranks <= (os.cpu_count() or 1) else _BURST


def _readable(name: str, error: Exception) -> Exception:
    """MPI's error with the collective's name."""
    if isinstance(error, mpi.load().Exception):
        return DistBackendError(f"{name}: {str(error).splitlines()[0]}")
    return error


class Progress:
    """A thread that moves collectives on while the program computes: MPI does so only when called."""

    def __init__(self) -> None:
        self._works: list[Work] = []
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, work: Work) -> None:
        """Look after a collective until it is over."""
        self._works.append(work)
        self._wake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            if not self._works:
                self._wake.wait()
                self._wake.clear()
            for work in list(self._works):
                if work.is_completed():
                    self._works.remove(work)
            time.sleep(2e-4)


progress = Progress()
