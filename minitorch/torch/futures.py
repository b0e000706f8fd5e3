"""Futures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Future(Generic[T]):
    """A value that is set later; `then` and `add_done_callback` register continuations."""

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        self._done = threading.Condition()
        self._value: Any = None
        self._error: BaseException | None = None
        self._is_done = False
        self._callbacks: list[Callable[[Future[Any]], Any]] = []

    def done(self) -> bool:
        """Whether the value, or an error, was set."""
        return self._is_done

    def wait(self) -> T:
        """Wait for the value; an error that was set is raised."""
        with self._done:
            self._done.wait_for(lambda: self._is_done)
        if self._error is not None:
            raise self._error
        return self._value

    def value(self) -> T:
        """The value, which must have been set."""
        if not self._is_done:
            raise RuntimeError("Future is not complete: call wait() for its value")
        return self.wait()

    def set_result(self, result: T) -> None:
        """Set the value, once."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an exception in place of the value."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._done:
            if self._is_done:
                raise RuntimeError("Future can only be completed once")
            self._value, self._error, self._is_done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._done.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call a function with this future once the value is set; immediately if it is."""
        with self._done:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of the result of a function that is called with this one."""
        made: Future[Any] = Future()

        def go_on(done: Future[T]) -> None:
            try:
                value = callback(done)
            except Exception as error:
                made.set_exception(error)
            else:
                made.set_result(value)

        self.add_done_callback(go_on)
        return made


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future that is done when all of these are; its value is the list of them."""
    waiting, lock, made = [len(futures)], threading.Lock(), Future()

    def one_less(_: Future[Any]) -> None:
        with lock:
            waiting[0] -= 1
            last = waiting[0] == 0
        if last:
            made.set_result(list(futures))

    for future in futures:
        future.add_done_callback(one_less)
    if not futures:
        made.set_result([])
    return made


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The values of all futures."""
    return [future.wait() for future in futures]
