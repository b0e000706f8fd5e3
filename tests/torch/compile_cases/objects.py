"""Objects of classes that a program wrote: descriptors, data classes, enumerations, attributes that come and go."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from types import SimpleNamespace
from typing import Any, cast

import minitorch.torch as library

from .hidden_state import Thing
from .lookups import called
from .ways import way

torch: Any = library
nn = torch.nn


class Described:
    """A descriptor that keeps values by itself."""

    def __init__(self) -> None:
        self.kept: dict[int, float] = {}

    def __get__(self, instance: Any, owner: Any = None) -> float:
        return self.kept.get(id(instance), 1.0)

    def __set__(self, instance: Any, value: float) -> None:
        self.kept[id(instance)] = value


class WithDescriptor:
    """Has one."""

    scale = Described()


@way("eager")
def a_descriptor(compile):
    thing = WithDescriptor()
    return called(compile(lambda x: x * thing.scale), lambda i: setattr(thing, "scale", i // 6))


class WithProperty:
    """A property that counts or reads what is hidden."""

    def __init__(self) -> None:
        self._scale = 1.0

    @property
    def scale(self) -> float:
        return self._scale * 2


@way("played")
def a_property(compile):
    thing = WithProperty()
    return called(compile(lambda x: x * thing.scale), lambda i: setattr(thing, "_scale", i // 6))


@way("both")
def a_property_replaced(compile):
    thing, owner = WithProperty(), cast(Any, WithProperty)
    before = owner.scale

    def change(i):
        if i == 6:
            owner.scale = property(lambda self: 7.0)

    out = called(compile(lambda x: x * thing.scale), change)
    owner.scale = before
    return out


class WithGetattr:
    """Makes attributes up."""

    def __init__(self) -> None:
        self.inner = {"scale": 1.0}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["inner"][name]
        except KeyError:
            raise AttributeError(name) from None


@way("played")
def attributes_made_up(compile):
    thing = WithGetattr()

    def change(i):
        thing.inner["scale"] = float(i // 6)

    return called(compile(lambda x: x * thing.scale), change)


@dataclass
class Options:
    """Plain."""

    scale: float = 1.0
    depths: list[int] = field(default_factory=lambda: [1])


@dataclass(frozen=True, slots=True)
class Fixed:
    """Frozen, with slots."""

    scale: float = 1.0


@way("played")
def a_data_class(compile):
    options = Options()

    def change(i):
        options.scale = float(i // 6)
        if i == 9:
            options.depths.append(2)

    return called(compile(lambda x: x * options.scale + len(options.depths)), change)


@way("played")
def a_frozen_data_class(compile):
    box = SimpleNamespace(options=Fixed())

    def change(i):
        if i == 4:
            object.__setattr__(box.options, "scale", 5.0)
        if i == 8:
            box.options = replace(box.options, scale=3.0)

    return called(compile(lambda x: x * box.options.scale), change)


@way("played")
def replaced_inside(compile):
    options = Options()

    def change(i):
        options.scale = float(i // 6)

    return called(compile(lambda x: x * replace(options, depths=[]).scale), change)


class Colour(Enum):
    """With a method."""

    RED = 1
    BLUE = 2

    def weight(self) -> float:
        return float(self.value)


class Level(IntEnum):
    """Numbers."""

    LOW = 1
    HIGH = 2


@way("played")
def members_of_enumerations(compile):
    box = SimpleNamespace(colour=Colour.RED, level=Level.LOW)

    def change(i):
        if i == 4:
            box.colour = Colour.BLUE
        if i == 8:
            box.level = Level.HIGH

    return called(compile(lambda x: x * box.colour.weight() + box.level), change)


@way("played")
def members_as_arguments(compile):
    f, out = compile(lambda x, level, colour: x * level + colour.weight()), []
    for i in range(12):
        out.append(f(torch.ones(2), Level(1 + i // 6), list(Colour)[i // 3 % 2]))
    return out


@way("both")
def a_forward_replaced_on_its_class(compile):
    class Own(nn.Module):
        def forward(self, x):
            return x * 2

    model = Own()

    def change(i):
        if i == 6:
            Own.forward = lambda self, x: x * 3

    return called(compile(model), change)


@way("played")
def a_call_replaced_on_its_class(compile):
    class Own(nn.Module):
        def forward(self, x):
            return x * 2

    inner = Own()
    model = nn.Sequential(inner)

    def change(i):
        if i == 6:
            Own.__call__ = lambda self, x: x * 3

    return called(compile(model), change)


@way("eager")
def a_class_attribute_counted_inside(compile):
    class Own:
        calls = 0

    def f(x):
        Own.calls += 1
        return x * Own.calls

    return [called(compile(f)), Own.calls]


@way("played")
def a_class_made_inside(compile):
    def f(x):
        class Own:
            scale = 2.0

        return x * Own.scale

    return called(compile(f))


@way("eager")
def a_subclass_registry(compile):
    class Base:
        pass

    made = []

    def change(i):
        if i == 6:
            made.append(type("More", (Base,), {}))

    return called(compile(lambda x: x * len(Base.__subclasses__())), change)


@way("played")
def the_name_of_a_class(compile):
    class Own:
        pass

    def change(i):
        if i == 6:
            Own.__name__ = "Longer"

    return called(compile(lambda x: x * len(Own.__name__)), change)


@way("played")
def the_defaults_of_keywords(compile):
    def f(x, *, by=2.0):
        return x * by

    defaults: Any = f.__kwdefaults__

    def change(i):
        if i == 6:
            defaults["by"] = 5.0

    return called(compile(f), change)


@way("played")
def the_length_of_an_object(compile):
    class Own:
        def __init__(self):
            self.items = [1]

        def __len__(self):
            return len(self.items)

        def __bool__(self):
            return len(self.items) > 1

    own = Own()

    def change(i):
        if i == 6:
            own.items.append(2)

    return called(compile(lambda x: x * len(own) if own else x - 1), change)


@way("played")
def other_bases_of_a_class(compile):
    class One:
        scale = 1.0

    class Two:
        scale = 2.0

    class Own(One):
        pass

    def change(i):
        if i == 6:
            Own.__bases__ = (Two,)

    thing = Own()
    return called(compile(lambda x: x * thing.scale), change)


@way("played")
def the_name_of_a_function(compile):
    def inner(x):
        return x

    def change(i):
        if i == 6:
            inner.__name__ = "longer_name"

    return called(compile(lambda x: inner(x) * len(inner.__name__)), change)


@way("played")
def a_module_attribute_by_default(compile):
    model = nn.Linear(2, 2)
    model.weight.requires_grad_(False)

    def change(i):
        if i == 6:
            model.extra = 5

    return called(compile(lambda x: model(x).detach() * getattr(model, "extra", 1)), change)


@way("played")
def names_of_dimensions_and_pages(compile):
    w = torch.ones(2, 2)
    return called(
        compile(lambda x: x * w if w.is_contiguous() else x), lambda i: w.t_() if i == 6 else None
    )


@way("played")
def formatted_text(compile):
    thing = Thing(1.0)
    return called(
        compile(lambda x: x * len(f"{thing.scale}")),
        lambda i: setattr(thing, "scale", 10.0 ** (i // 3)),
    )


@way("played")
def the_text_of_an_object(compile):
    thing = [Thing(1.0)]
    return called(
        compile(lambda x: x * len(str(thing[0].scale))),
        lambda i: setattr(thing[0], "scale", 10.0 ** (i // 3)),
    )


@way("eager")
def the_hash_of_an_object(compile):
    things = [SimpleNamespace(), object()]
    return called(compile(lambda x: x * (hash(things[1]) == hash(things[1]))))


@way("played")
def an_exception_with_state(compile):
    error = ValueError(1.0)

    def change(i):
        error.args = (float(i // 6),)

    return called(compile(lambda x: x * error.args[0]), change)


@way("played")
def notes_of_an_exception(compile):
    error = ValueError(1.0)

    def change(i):
        if i == 6:
            error.add_note("more")

    return called(compile(lambda x: x * len(getattr(error, "__notes__", ()))), change)


class Claims:
    """Says that it is a dictionary."""

    __class__ = property(lambda self: dict)  # type: ignore[assignment]
    scale = 2.0


class ClaimsNothing:
    """Says nothing, loudly."""

    scale = 2.0

    @property
    def __class__(self):
        raise RuntimeError("it has none")


@way("eager")
def an_object_that_claims_another_class(compile):
    claims = Claims()
    return called(compile(lambda x: x * claims.scale))


@way("eager")
def an_argument_that_claims_another_class(compile):
    claims, f = Claims(), compile(lambda x, by: x * by.scale)
    return called(lambda x: f(x, claims))


@way("eager")
def an_object_whose_class_is_an_error(compile):
    claims = ClaimsNothing()
    return called(compile(lambda x: x * claims.scale))
