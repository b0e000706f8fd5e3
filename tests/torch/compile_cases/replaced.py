"""What is replaced, or added where it hides something: methods of the library, special methods, names of modules, gradients."""

from __future__ import annotations

import abc
import sys
from collections.abc import Callable
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Protocol, cast, runtime_checkable

import minitorch.torch as library

from .lookups import called
from .ways import network, way

torch: Any = library
nn = torch.nn
functional = nn.functional

SETTINGS = ModuleType("settings_of_a_case")
sys.modules[SETTINGS.__name__] = SETTINGS


class Plain:
    """With nothing."""


def once(change: Callable[[], Any]) -> Callable[[int], None]:
    """A change before the seventh call."""
    return lambda i: change() if i == 6 else None


@contextmanager
def restored(owner: Any, name: str) -> Any:
    """Put an attribute back at the end."""
    before = vars(owner).get(name)
    try:
        yield
    finally:
        if before is None:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


# --- Classes of the program --------------------------------------------------------------------------


def _with_class(compile: Any, fn: Any, name: str, value: Any) -> Any:
    """Results of a function of an object whose class gets an attribute."""
    own: Any = type("Own", (), {})
    f = compile(fn(own()))
    return called(f, once(lambda: setattr(own, name, value)))


@way("played")
def an_attribute_that_a_class_gets(compile):
    return _with_class(compile, lambda own: lambda x: x * (2 if hasattr(own, "more") else 3), "more", 1)  # fmt: skip


@way("played")
def an_attribute_that_a_class_gets_and_is_tried(compile):
    def made(own):
        def f(x):
            try:
                return x * own.more
            except AttributeError:
                return x * 7

        return f

    return _with_class(compile, made, "more", 5)


@way("played")
def a_truth_that_a_class_gets(compile):
    return _with_class(compile, lambda own: lambda x: x * (2 if own else 3), "__bool__", lambda own: False)  # fmt: skip


@way("played")
def a_length_that_a_class_gets(compile):
    return _with_class(compile, lambda own: lambda x: x * (2 if own else 3), "__len__", lambda own: 0)  # fmt: skip


@way("played")
def an_equality_that_a_class_gets(compile):
    return _with_class(compile, lambda own: lambda x: x * (2 if own == 1 else 3), "__eq__", lambda own, other: True)  # fmt: skip


@way("played")
def a_call_that_a_class_gets(compile):
    return _with_class(compile, lambda own: lambda x: x * (2 if callable(own) else 3), "__call__", lambda own: 0)  # fmt: skip


@way("played")
def a_class_that_is_registered(compile):
    class Abstract(abc.ABC):  # noqa: B024
        pass

    thing = Plain()
    f = compile(lambda x: x * (2 if isinstance(thing, Abstract) else 3))
    return called(f, once(lambda: Abstract.register(Plain)))


@way("played")
def a_protocol_that_a_class_comes_to_fit(compile):
    @runtime_checkable
    class Goes(Protocol):
        def go(self): ...

    def made(own):
        return lambda x: x * (2 if isinstance(own, Goes) else 3)

    return _with_class(compile, made, "go", lambda own: 0)


# --- Classes and functions of the library -------------------------------------------------------------


@way("both")
def a_method_of_tensors_replaced(compile):
    def change():
        torch.Tensor.relu = lambda x: x * 5

    with restored(torch.Tensor, "relu"):
        return called(compile(lambda x: x.relu() * 2), once(change))


@way("both")
def an_operator_of_tensors_replaced(compile):
    def change():
        torch.Tensor.__mul__ = lambda x, other: x + 5

    with restored(torch.Tensor, "__mul__"):
        return called(compile(lambda x: x * 2), once(change))


@way("both")
def a_function_that_layers_call_replaced(compile):
    def change():
        functional.relu = lambda x, inplace=False: x * 5

    with restored(functional, "relu"):
        return called(compile(nn.ReLU()), once(change))


@way("both")
def a_call_that_a_class_of_layers_gets(compile):
    model = nn.Sequential(nn.Linear(2, 2))

    def change():
        nn.Linear.__call__ = lambda layer, x: x * 3

    with restored(nn.Linear, "__call__"):
        return called(compile(lambda x: model(x).detach()), once(change))


@way("both")
def how_layers_are_listed_replaced(compile):
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())

    def f(x):
        for layer in model:
            x = layer(x)
        return x.detach()

    def change():
        nn.Sequential.__iter__ = lambda layers: iter([])

    with restored(nn.Sequential, "__iter__"):
        return called(compile(f), once(change))


def _with_optimizer(compile: Any, name: str) -> Any:
    """Parameters after steps, before some of which a method of optimizers is replaced."""
    w, out = torch.ones(2, requires_grad=True), []
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()

    f = compile(step)
    with restored(torch.optim.SGD, name):
        for i in range(12):
            if i == 6:
                setattr(torch.optim.SGD, name, lambda optimizer: None)
            f(torch.ones(2))
            out.append(w.detach().clone())
    return out


@way("both")
def the_step_of_optimizers_replaced(compile):
    return _with_optimizer(compile, "step")


@way("both")
def what_takes_gradients_away_replaced(compile):
    return _with_optimizer(compile, "zero_grad")


# --- Modules -------------------------------------------------------------------------------------------


def _with_module(compile: Any, fn: Any) -> Any:
    """Results of a function of a module that gets `scale`."""
    vars(SETTINGS).pop("scale", None)
    return called(compile(fn), once(lambda: setattr(SETTINGS, "scale", 5)))


@way("played")
def a_name_that_a_module_gets_and_is_tried(compile):
    def f(x):
        try:
            return x * SETTINGS.scale
        except AttributeError:
            return x * 7

    return _with_module(compile, f)


@way("played")
def a_name_that_a_module_gets(compile):
    return _with_module(compile, lambda x: x * (2 if hasattr(SETTINGS, "scale") else 3))


@way("played")
def a_name_that_a_module_gets_by_default(compile):
    return _with_module(compile, lambda x: x * getattr(SETTINGS, "scale", 3))


@way("eager")
def names_of_a_module(compile):
    return _with_module(compile, lambda x: x * len(dir(SETTINGS)))


@way("eager")
def a_module_by_import_as_a_function(compile):
    vars(SETTINGS)["scale"] = 2
    f = compile(lambda x: x * __import__(SETTINGS.__name__).scale)
    return called(f, once(lambda: setattr(SETTINGS, "scale", 5)))


@way("eager")
def a_variable_by_the_globals_of_a_function(compile):
    own = globals()
    own["SCALE"] = 2.0
    f = compile(lambda x: x * once.__globals__["SCALE"])
    return called(f, once(lambda: own.__setitem__("SCALE", 5.0)))


# --- Gradients that the program looks at ---------------------------------------------------------------


@way("played")
def whether_a_gradient_requires_a_gradient(compile):
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.ones(2)

    def change():
        w.grad = torch.ones(2, requires_grad=True)

    return called(compile(lambda x: x * (2 if w.grad.requires_grad else 3)), once(change))


@way("played")
def how_a_gradient_lies_in_memory(compile):
    w = torch.ones(2, 2, requires_grad=True)
    w.grad = torch.ones(2, 2)

    def change():
        w.grad = torch.ones(2, 2).t()

    return called(compile(lambda x: x * w.grad.stride()[0]), once(change))


@way("played")
def how_the_gradient_of_an_argument_lies_in_memory(compile):
    def given(i):
        w = torch.ones(2, 2, requires_grad=True)
        w.grad = torch.ones(2, 2) if i < 6 else torch.ones(2, 2).t()
        return w

    return called(compile(lambda x: x.detach() * x.grad.stride()[0]), given=given)


# --- Parameters that get their shape ---------------------------------------------------------------------


@way("played")
def layers_that_are_lazy(compile):
    model = nn.Sequential(nn.LazyLinear(2), nn.ReLU())
    f = compile(model)
    return called(lambda x: f(x).detach(), given=lambda i: torch.ones(2, 3))


@way("played")
def a_step_after_a_parametrization(compile):
    model, out = network(), []
    f = compile(model)
    for i in range(12):
        if i == 6:
            cast(Any, torch.nn.utils.parametrizations).weight_norm(model[0])
        out.append(f(torch.ones(2, 3)).detach())
    return out
