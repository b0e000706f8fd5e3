"""Values that a traced function finds in roundabout ways: by name, in classes, in modules, on functions and threads."""

from __future__ import annotations

import array
import builtins
import ctypes
import decimal
import functools
import operator
import sys
import threading
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import minitorch.torch as library

from .ways import way

torch: Any = library
nn = torch.nn

SETTINGS: Any = ModuleType("tests.torch.compile_cases.settings")
sys.modules[SETTINGS.__name__] = SETTINGS


def called(f, change=lambda i: None, given=None):
    """Results of twelve calls, with something changed before each."""
    out = []
    for i in range(12):
        change(i)
        out.append(f(torch.ones(2) if given is None else given(i)))
    return out


def scaled(compile, holder, fn):
    """Results of a function that finds `scale` in an object, which becomes another one in the middle."""
    holder.scale = 0.0
    return called(compile(fn), lambda i: setattr(holder, "scale", float(i // 6)))


class Config(dict):
    pass


class Names(list):
    pass


class Degrees(float):
    pass


class Numbers(array.array):
    pass


class Pair(tuple):  # noqa: SLOT001
    pass


class Colour(Enum):
    RED = 1


class Kind(type):
    scale = 1.0


class OfKind(metaclass=Kind):
    pass


class Base:
    scale = 2.0

    def of(self, x):
        return x * self.scale


class Derived(Base):
    pass


class Tripled(Base):
    def of(self, x):
        return x * 3


class Doubles(nn.Module):
    def forward(self, x):
        return x * 2


class Triples(Doubles):
    def forward(self, x):
        return x * 3


# --- By name -------------------------------------------------------------------------------------


@way("played")
def the_dictionary_of_an_object(compile):
    box = SimpleNamespace()
    return scaled(compile, box, lambda x: x * box.__dict__["scale"])


@way("played")
def an_attribute_by_attrgetter(compile):
    box = SimpleNamespace()
    return scaled(compile, box, lambda x: x * operator.attrgetter("scale")(box))


@way("played")
def attributes_by_map(compile):
    boxes = [SimpleNamespace(scale=1.0), SimpleNamespace()]
    return scaled(compile, boxes[1], lambda x: x * sum(map(operator.attrgetter("scale"), boxes)))


@way("played")
def an_attribute_by_getattribute(compile):
    box = SimpleNamespace()
    return scaled(compile, box, lambda x: x * box.__getattribute__("scale"))


@way("played")
def a_class_attribute_by_name(compile):
    name = "scale"
    return scaled(compile, OfKind, lambda x: x * getattr(OfKind, name))


@way("played")
def an_attribute_that_a_pattern_asks_for(compile):
    box = SimpleNamespace()

    def f(x):
        match box:
            case SimpleNamespace(scale=1.0):
                return x
            case _:
                return x * 3

    return scaled(compile, box, f)


@way("played")
def a_module_imported_inside(compile):
    def f(x):
        from tests.torch.compile_cases import settings  # type: ignore[attr-defined]

        return x * settings.scale

    sys.modules[__package__].settings = SETTINGS  # type: ignore[attr-defined]
    return scaled(compile, SETTINGS, f)


@way("played")
def a_name_imported_inside(compile):
    def f(x):
        from .settings import scale  # type: ignore[import-not-found]

        return x * scale

    return scaled(compile, SETTINGS, f)


@way("eager")
def a_module_looked_up(compile):
    return scaled(compile, SETTINGS, lambda x: x * sys.modules[SETTINGS.__name__].scale)


@way("played")
def a_list_of_pythons_library(compile):
    before = list(sys.argv)
    try:
        return called(
            compile(lambda x: x * len(sys.argv)), lambda i: sys.argv.extend(["x"] * (i == 6))
        )
    finally:
        sys.argv[:] = before


@way("played")
def a_builtin_replaced(compile):
    before, f, out = abs, compile(lambda x: x * abs(-2)), []
    for i in range(12):
        if i >= 6:
            builtins.abs = lambda _: 7  # type: ignore[assignment]
        try:
            out.append(f(torch.ones(2)))
        finally:
            builtins.abs = before
    return out


# --- On functions and containers -----------------------------------------------------------------


@way("played")
def an_attribute_of_a_function(compile):
    def helper(x):
        return x * helper.scale  # type: ignore[attr-defined]

    return scaled(compile, helper, lambda x: helper(x))


@way("played")
def an_attribute_of_the_function_itself(compile):
    def f(x):
        return x * f.scale  # type: ignore[attr-defined]

    return scaled(compile, f, f)


@way("eager")
def a_function_that_counts_its_calls(compile):
    def helper(x):
        helper.calls += 1  # type: ignore[attr-defined]
        return x * 2

    helper.calls = 0  # type: ignore[attr-defined]
    return [called(compile(lambda x: helper(x))), helper.calls]  # type: ignore[attr-defined]


@way("played")
def an_attribute_of_a_partial(compile):
    part: Any = functools.partial(torch.mul, torch.full((2,), 3.0))
    return scaled(compile, part, lambda x: part(x) * part.scale)


@way("played")
def attributes_of_containers_and_numbers(compile):
    holders: tuple[Any, ...] = Config(), Names(), Degrees(2), Pair((1,)), Colour.RED
    out = []
    for each in holders:
        out += scaled(compile, each, lambda x, each=each: x * each.scale)
    return out


@way("played")
def objects_in_a_frozen_set(compile):
    box = Base()
    boxes = frozenset((box,))
    return scaled(compile, box, lambda x: x * next(iter(boxes)).scale)


@way("played")
def an_attribute_of_an_argument(compile):
    def given(i):
        x = torch.ones(2)
        x.scale = float(i // 6)
        return x

    return called(compile(lambda x: x * x.scale), given=given)


@way("eager")
def an_object_on_an_argument(compile):
    box = SimpleNamespace(scale=1.0)

    def given(i):
        x = torch.ones(2)
        x.box, box.scale = box, float(i // 6)
        return x

    return called(compile(lambda x: x * x.box.scale), given=given)


@way("played")
def a_private_attribute_of_a_tensor(compile):
    w = torch.ones(2)
    return called(compile(lambda x: x * w._scale), lambda i: setattr(w, "_scale", i // 6))


@way("played")
def a_cache_that_is_cleared(compile):
    box = SimpleNamespace(scale=0.0)

    @functools.lru_cache
    def kept():
        return box.scale

    def change(i):
        box.scale = float(i // 6)
        if i == 9:
            kept.cache_clear()

    return called(compile(lambda x: x * kept()), change)


@way("eager")
def a_number_of_ctypes(compile):
    number = ctypes.c_float(1.0)
    return called(compile(lambda x: x * number.value), lambda i: setattr(number, "value", i // 6))


@way("eager")
def numbers_of_ctypes(compile):
    numbers = (ctypes.c_float * 2)(1.0)
    return called(
        compile(lambda x: x * numbers[0]), lambda i: numbers.__setitem__(0, float(i // 6))
    )


@way("eager")
def an_array_of_a_class_of_its_own(compile):
    numbers = Numbers("d", [1.0])
    return called(
        compile(lambda x: x * numbers[0]), lambda i: numbers.__setitem__(0, float(i // 6))
    )


@way("eager")
def a_context_of_decimals(compile):
    context = decimal.Context(prec=3)
    return called(
        compile(lambda x: x * context.prec), lambda i: setattr(context, "prec", 3 + i // 6)
    )


# --- Classes -------------------------------------------------------------------------------------


@way("played")
def an_attribute_that_hides_another(compile):
    box = Derived()

    def change(i):
        if i == 6:
            Derived.scale = 3.0

    try:
        return called(compile(lambda x: x * box.scale), change)
    finally:
        del Derived.scale


@way("played")
def an_attribute_of_a_class_of_classes(compile):
    return scaled(compile, Kind, lambda x: x * OfKind.scale)


@way("played")
def another_class_of_an_object(compile):
    box = Base()

    def change(i):
        box.__class__ = Tripled if i >= 6 else Base

    return called(compile(lambda x: box.of(x)), change)


@way("played")
def another_class_of_a_module(compile):
    module = Doubles()

    def change(i):
        module.__class__ = Triples if i >= 6 else Doubles

    return called(compile(module), change)


# --- Threads and settings ------------------------------------------------------------------------


@way("played")
def what_a_thread_has_for_itself(compile):
    local, out = threading.local(), []
    local.scale = 1.0
    f = compile(lambda x: x * local.scale)

    def other(scale):
        local.scale = scale
        out.append(f(torch.ones(2)))

    for i in range(12):
        if i < 6:
            out.append(f(torch.ones(2)))
        else:
            thread = threading.Thread(target=other, args=(float(i),))
            thread.start()
            thread.join()
    return out


@way("eager")
def a_thread_that_is_started(compile):
    count = torch.zeros(())

    def f(x):
        thread = threading.Thread(target=lambda: count.add_(1))
        thread.start()
        thread.join()
        return x * 2

    return [called(compile(f)), count]


@way("eager")
def how_many_threads_there_are(compile):
    before = torch.get_num_threads()
    try:
        f = compile(lambda x: x * torch.get_num_threads())
        return called(f, lambda i: torch.set_num_threads(1 + i // 6))
    finally:
        torch.set_num_threads(before)


@way("eager")
def whether_algorithms_are_deterministic(compile):
    f = compile(lambda x: x * (1 + torch.are_deterministic_algorithms_enabled()))
    try:
        return called(f, lambda i: torch.use_deterministic_algorithms(i >= 6))
    finally:
        torch.use_deterministic_algorithms(False)


@way("eager")
def the_name_of_a_node(compile):
    def given(i):
        x = torch.ones(2, requires_grad=True)
        return x.sigmoid() if i % 3 == 1 else x * 1

    return called(compile(lambda x: x * len(x.grad_fn.name())), given=given)


@way("eager")
def whether_a_gradient_is_kept(compile):
    def given(i):
        x = torch.ones(2, requires_grad=True) * 1
        if i >= 6:
            x.retain_grad()
        return x

    return called(compile(lambda x: x * (1 + x.retains_grad)), given=given)
