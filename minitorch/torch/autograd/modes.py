"""Turning recording on and off."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .graph import inferring, modes


class _Mode:
    """A context manager that is also a decorator, for functions and generators."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *_: object) -> None:
        raise NotImplementedError

    def clone(self) -> _Mode:
        """One like this, for a call of its own."""
        return self.__class__()

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return within(self.clone, fn)


class _PlainMode(_Mode):
    """A mode without arguments: its class itself is a decorator, too."""

    def __new__(cls, fn: Callable[..., Any] | None = None) -> Any:
        made = object.__new__(cls)
        return made if fn is None else made(fn)


def within(context: Callable[[], Any], fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls each run in a context of their own; a generator's, while it runs."""
    import inspect

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context():
            return fn(*args, **kwargs)

    @functools.wraps(fn)
    def generate(*args: Any, **kwargs: Any) -> Any:
        walk = fn(*args, **kwargs)
        step = functools.partial(next, walk)
        while True:
            with context():
                try:
                    value = step()
                except StopIteration as stop:
                    return stop.value
            try:
                sent = yield value
            except GeneratorExit:
                with context():
                    walk.close()
                raise
            except BaseException as error:
                step = functools.partial(walk.throw, error)
            else:
                step = functools.partial(walk.send, sent)

    return generate if inspect.isgeneratorfunction(fn) else call


class no_grad(_PlainMode):  # noqa: N801
    """Do not record: `with torch.no_grad():` or `@torch.no_grad()`."""

    def __enter__(self) -> None:
        self.before, modes.grad = modes.grad, False

    def __exit__(self, *_: object) -> None:
        modes.grad = self.before


class enable_grad(_PlainMode):  # noqa: N801
    """Record again, within `no_grad`."""

    def __enter__(self) -> None:
        self.before, modes.grad = modes.grad, not modes.inference

    def __exit__(self, *_: object) -> None:
        modes.grad = self.before


def _set_grad_enabled(mode: bool) -> None:
    """Record or not, from now on: the function that captured graphs call."""
    modes.grad = mode


class set_grad_enabled(_Mode):  # noqa: N801
    """Record or not, at once and, as a context manager, until its end."""

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.before, modes.grad = modes.grad, self.mode

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        modes.grad = self.before
        return super().__call__(fn)

    def __enter__(self) -> None:
        modes.grad = self.mode

    def __exit__(self, *_: object) -> None:
        modes.grad = self.before


class inference_mode(_Mode):  # noqa: N801
    """Do not record, now or later: what is made here can never be part of a graph."""

    def __new__(cls, mode: Any = True) -> Any:
        made = object.__new__(cls)
        if callable(mode):
            made.mode = True
            return made(mode)
        return made

    def __init__(self, mode: Any = True) -> None:
        self.mode = bool(mode)

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self.before = modes.grad, modes.inference
        modes.inference = self.mode
        modes.grad = not self.mode
        if self.mode and not inferring:
            inferring.append(True)

    def __exit__(self, *_: object) -> None:
        modes.grad, modes.inference = self.before


def is_grad_enabled() -> bool:
    """Whether operations are recorded."""
    return modes.grad


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on."""
    return modes.inference


class detect_anomaly(_Mode):  # noqa: N801
    """Remember where each operation was called, and look for NaN in gradients."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan

    def clone(self) -> detect_anomaly:
        return detect_anomaly(self.check_nan)

    def __enter__(self) -> None:
        self.before = modes.anomaly, modes.check_nan
        modes.anomaly, modes.check_nan = True, self.check_nan

    def __exit__(self, *_: object) -> None:
        modes.anomaly, modes.check_nan = self.before


class set_detect_anomaly(detect_anomaly):  # noqa: N801
    """`detect_anomaly` on or off, at once and, as a context manager, until its end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        self.mode = mode
        self.before = modes.anomaly, modes.check_nan
        modes.anomaly, modes.check_nan = mode, check_nan

    def __enter__(self) -> None:
        modes.anomaly, modes.check_nan = self.mode, self.check_nan


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on."""
    return modes.anomaly
