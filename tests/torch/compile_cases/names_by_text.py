"""Attributes that C or Python's own library look up by text, and what depends on who calls."""

from __future__ import annotations

import functools
import inspect
import threading
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import minitorch.torch as library

from .hidden_state import Thing
from .lookups import called
from .replaced import once
from .ways import way

torch: Any = library


def _scaled(compile: Any, fn: Any, thing: Any = None) -> Any:
    """Results of a function of an object whose scale becomes another one."""
    thing = Thing(1.0) if thing is None else thing
    return called(compile(fn(thing)), once(lambda: setattr(thing, "scale", 100.0)))


@way("played")
def an_attribute_in_a_format(compile):
    return _scaled(compile, lambda thing: lambda x: x * len("{.scale}".format(thing)))  # noqa: UP032


@way("played")
def an_attribute_in_a_format_by_name(compile):
    return _scaled(compile, lambda thing: lambda x: x * len("{a.scale}".format_map({"a": thing})))  # fmt: skip


@way("played")
def attributes_by_a_path(compile):
    path = ["sca" + "le"]
    return _scaled(compile, lambda thing: lambda x: x * functools.reduce(getattr, path, thing))


@way("eager")
def an_attribute_by_a_partial(compile):
    def made(thing):
        get = functools.partial(getattr, thing)
        return lambda x: x * get("scale")

    return _scaled(compile, made)


@way("played")
def all_attributes_by_inspect(compile):
    return _scaled(compile, lambda thing: lambda x: x * dict(inspect.getmembers(thing))["scale"])  # fmt: skip


@way("played")
def namespaces_that_are_compared(compile):
    other = SimpleNamespace(scale=1.0)
    made = SimpleNamespace(scale=1.0)
    return _scaled(compile, lambda thing: lambda x: x * (2 if thing == other else 3), made)


@way("played")
def the_text_of_a_namespace(compile):
    made = SimpleNamespace(scale=1.0)
    return _scaled(compile, lambda thing: lambda x: x * len(repr(thing)), made)


@way("eager")
def an_attribute_set_by_its_class(compile):
    thing, out = Thing(1.0), []

    def f(x):
        object.__setattr__(thing, "scale", 7.0)
        return x * 2

    f = compile(f)
    for _ in range(12):
        vars(thing)["scale"] = 1.0
        out += [f(torch.ones(2)), vars(thing)["scale"]]
    return out


class Hidden:
    """A private slot, and slots that were named by an iterator."""

    __slots__ = iter(["__scale", "shift"])

    def __init__(self) -> None:
        self.__scale, self.shift = 2.0, 1.0

    def of(self, x: Any) -> Any:
        """Scaled and shifted."""
        return x * self.__scale + self.shift

    def change(self) -> None:
        """Another scale."""
        self.__scale = 5.0


@way("played")
def a_private_slot(compile):
    hidden = Hidden()
    return called(compile(lambda x: hidden.of(x)), once(hidden.change))


@way("played")
def a_slot_named_by_an_iterator(compile):
    hidden = Hidden()
    return called(compile(lambda x: hidden.of(x)), once(lambda: setattr(hidden, "shift", 5.0)))


# --- Who calls, and from where -----------------------------------------------------------------------


@way("eager")
def the_line_that_runs(compile):
    def f(x):
        frame: Any = inspect.currentframe()
        return x * (frame.f_lineno > 0)

    return called(compile(f))


@way("eager")
def the_name_of_the_thread(compile):
    f, out = compile(lambda x: x * len(threading.current_thread().name)), []
    for i in range(12):
        thread = threading.Thread(target=lambda: out.append(f(torch.ones(2))), name="a" * (1 + i // 6))  # fmt: skip
        thread.start()
        thread.join()
    return out


@way("eager")
def how_many_threads_run(compile):
    done, threads = threading.Event(), []

    def change():
        threads.append(threading.Thread(target=done.wait))
        threads[0].start()

    out = called(compile(lambda x: x * threading.active_count()), once(change))
    done.set()
    threads[0].join()
    return out


# --- Context managers that let a program go on after an error ------------------------------------------


def _suppressed(compile: Any, manager: Any) -> Any:
    """Results of a function that goes on after an index out of range."""

    def f(x, i):
        y = x
        with manager():
            y = x[i]
        return y * 2

    f = compile(f)
    return [f(torch.arange(3.0), torch.tensor([70 if i == 8 else i % 3])) for i in range(12)]


class Goes:
    """Goes on after errors."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> bool:
        return True


@contextmanager
def going() -> Any:
    """Goes on after errors."""
    try:  # noqa: SIM105  # `suppress` is another case
        yield
    except IndexError:
        pass


@contextmanager
def ending() -> Any:
    """Goes on after none."""
    try:
        yield
    finally:
        pass


def stacked() -> Any:
    """Goes on after errors, as a stack was told to."""
    stack = ExitStack()
    stack.push(lambda *error: True)
    return stack


@way("eager")
def a_manager_that_goes_on(compile):
    return _suppressed(compile, Goes)


@way("eager")
def a_generator_that_goes_on(compile):
    return _suppressed(compile, going)


@way("eager")
def a_stack_that_goes_on(compile):
    return _suppressed(compile, stacked)


@way("played")
def a_generator_that_does_not_go_on(compile):
    def f(x, i):
        with ending():
            return x[i] * 2

    f = compile(f)
    return [f(torch.arange(3.0), torch.tensor([i % 3])) for i in range(12)]
