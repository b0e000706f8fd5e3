"""State that is found in less usual places: weak references, contexts, generators, closures."""

from __future__ import annotations

import contextvars
import gc
import os
import sys
import time
import weakref
from types import SimpleNamespace
from typing import Any, cast

import minitorch.torch as library

from .lookups import called
from .ways import data, way

torch: Any = library

CONTEXT: contextvars.ContextVar[float] = contextvars.ContextVar("scale", default=1.0)


class Thing:
    """With attributes."""

    def __init__(self, scale: float) -> None:
        self.scale = scale


@way("eager")
def a_weak_reference_that_dies(compile):
    thing = [Thing(2.0)]
    reference = weakref.ref(thing[0])

    def f(x):
        found = reference()
        return x * (0.5 if found is None else found.scale)

    def change(i):
        if i == 6:
            thing.clear()
            gc.collect()

    return called(compile(f), change)


@way("eager")
def a_weak_set_that_empties(compile):
    thing = [Thing(2.0)]
    things = weakref.WeakSet(thing)

    def change(i):
        if i == 6:
            thing.clear()
            gc.collect()

    return called(compile(lambda x: x * len(things)), change)


@way("eager")
def a_weak_dictionary_that_empties(compile):
    thing = [Thing(2.0)]
    things = weakref.WeakValueDictionary(one=thing[0])

    def change(i):
        if i == 6:
            thing.clear()
            gc.collect()

    return called(compile(lambda x: x * (2.0 if "one" in things else 3.0)), change)


@way("eager")
def a_variable_of_the_context(compile):
    return called(
        compile(lambda x: x * CONTEXT.get()), lambda i: CONTEXT.set(float(i // 6)) and None
    )


@way("eager")
def a_variable_of_the_environment(compile):
    def change(i):
        os.environ["MINITORCH_SCALE"] = str(i // 6)

    return called(compile(lambda x: x * float(os.environ["MINITORCH_SCALE"])), change)


@way("eager")
def a_setting_read_by_getenv(compile):
    def change(i):
        os.environ["MINITORCH_SCALE"] = str(i // 6)

    return called(compile(lambda x: x * float(os.getenv("MINITORCH_SCALE", "3"))), change)


@way("eager")
def a_generator_outside(compile):
    numbers = iter(range(100))
    several = (float(n) for n in numbers)
    return called(compile(lambda x: x * next(several)))


@way("played")
def a_generator_inside(compile):
    box = Thing(1.0)

    def parts(x):
        for k in range(3):
            yield x * k * box.scale

    def change(i):
        box.scale = float(i // 6)

    return called(compile(lambda x: sum(parts(x))), change)


@way("eager")
def a_sent_generator(compile):
    def averaged():
        total = 0.0
        while True:
            total += yield total

    running = averaged()
    next(running)
    return called(compile(lambda x: x * running.send(1.0)))


@way("eager")
def the_clock_by_name(compile):
    clock = SimpleNamespace(now=0.0)
    before = time.perf_counter
    time.perf_counter = lambda: clock.now
    try:
        return called(
            compile(lambda x: x * time.perf_counter()), lambda i: setattr(clock, "now", float(i))
        )
    finally:
        time.perf_counter = before


@way("eager")
def a_closure_that_counts(compile):
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * count

    return called(compile(f))


@way("eager")
def a_closure_over_a_list(compile):
    kept = [1.0]

    def f(x):
        kept[0] += 1
        return x * kept[0]

    return called(compile(f))


@way("eager")
def a_flag_set_to_what_it_is(compile):
    box = SimpleNamespace(done=True)

    def f(x):
        box.done = True
        return x * 2

    def change(i):
        box.done = False

    return [called(compile(f), change), box.done]


@way("eager")
def a_key_set_to_what_it_is(compile):
    kept = {"a": 1}

    def f(x):
        kept["a"] = 1
        return x * 2

    out = []
    g = compile(f)
    for _ in range(12):
        kept["a"] = 7
        out += [g(torch.ones(2)), kept["a"]]
    return out


@way("eager")
def an_attribute_that_nobody_reads(compile):
    box = SimpleNamespace(last=None)

    def f(x):
        box.last = "called"
        return x * 2

    g, out = compile(f), []
    for _ in range(12):
        box.last = None
        out += [g(torch.ones(2)), box.last]
    return out


@way("eager")
def a_tensor_kept_on_the_side(compile):
    box: Any = SimpleNamespace(last=None)

    def f(x):
        box.last = x * 3
        return x * 2

    g, out = compile(f), []
    for i in range(12):
        out += [g(torch.full((2,), float(i))), box.last.clone()]
        box.last = cast(Any, None)
    return out


@way("eager")
def an_attribute_set_on_an_argument(compile):
    def f(x):
        x.seen = True
        return x * 2

    g, out = compile(f), []
    for _ in range(12):
        x = data(2)
        out += [g(x), hasattr(x, "seen")]
    return out


@way("eager")
def an_attribute_set_on_a_result(compile):
    def f(x):
        y = x * 2
        y.scale = 3
        return y

    g = compile(f)
    return [getattr(g(data(2)), "scale", None) for _ in range(12)]


@way("eager")
def how_many_refer_to_it(compile):
    kept = [object()]
    more: list[Any] = []

    def change(i):
        if i == 6:
            more.append(kept[0])

    return called(compile(lambda x: x * (sys.getrefcount(kept[0]) > 0)), change)


@way("played")
def an_attribute_that_a_tensor_gets(compile):
    w = torch.ones(2)

    def change(i):
        if i == 6:
            w.label = 1

    return called(compile(lambda x: x * w * (3 if hasattr(w, "label") else 2)), change)


@way("played")
def an_attribute_that_a_tensor_gets_by_default(compile):
    w = torch.ones(2)

    def change(i):
        if i == 6:
            w.label = 5

    return called(compile(lambda x: x * w * getattr(w, "label", 2)), change)


@way("played")
def an_attribute_that_is_tried(compile):
    w = torch.ones(2)

    def f(x):
        try:
            return x * w.label
        except AttributeError:
            return x * w

    def change(i):
        if i == 6:
            w.label = 5

    return called(compile(f), change)


@way("eager")
def an_attribute_set_on_a_parameter(compile):
    w = torch.ones(2)

    def f(x):
        w.label = 5
        return x * w

    g, out = compile(f), []
    for _ in range(12):
        out += [g(torch.ones(2)), w.label]
        del w.label
    return out


@way("eager")
def an_attribute_set_on_a_gradient(compile):
    w, nothing = torch.ones(2, requires_grad=True), cast(Any, None)

    def f(x):
        w.grad = nothing
        (x * w).sum().backward()
        w.grad.label = 5

    g, out = compile(f), []
    for _ in range(12):
        g(torch.ones(2))
        out += [w.grad, getattr(w.grad, "label", None)]
    return out


@way("eager")
def a_proxy_that_dies(compile):
    thing = [Thing(2.0)]
    proxy = weakref.proxy(thing[0])

    def f(x):
        try:
            return x * proxy.scale
        except ReferenceError:
            return x - 1

    def change(i):
        if i == 6:
            thing.clear()
            gc.collect()

    return called(compile(f), change)


@way("played")
def a_stack_of_contexts(compile):
    entered = []

    class Scaled:
        def __enter__(self):
            entered.append(1)

        def __exit__(self, *_):
            entered.pop()

    def f(x):
        with Scaled():
            return x * len(entered)

    out = called(compile(f))
    entered.append(1)
    return out + called(compile(f))


@way("played")
def an_item_got_by_a_method_kept(compile):
    kept = {"scale": 1.0}
    get = kept.__getitem__

    def change(i):
        kept["scale"] = float(i // 6)

    return called(compile(lambda x: x * get("scale")), change)
