"""Questions about classes: whose they are, and where their objects keep what they have."""

from __future__ import annotations

import functools
import gc
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from types import MemberDescriptorType, ModuleType
from typing import Any

from . import reading

_OPEN = (OrderedDict, defaultdict)
"""Classes of Python's own library that are looked at as if a program had written them."""

_SEEN = (
    object, type, dict, list, tuple, set, frozenset, deque, int, float, complex, str, bytes, bool, property,
    staticmethod, classmethod, functools.partial, functools.cached_property, types.SimpleNamespace, weakref.ref,
    types.GenericAlias, *_OPEN,
)  # fmt: skip
"""Classes written in C whose objects show all that they have."""

_HEAP_TYPE = 1 << 9
"""The flag of classes that a `class` statement made, and of some that are written in C."""


@functools.cache
def slots_of(cls: type) -> tuple[str, ...]:
    """The names of a class's own slots, as its objects have them: `__name` with the class before it."""
    own = vars(cls)
    named = own if "__slots__" in own else ()  # classes written in C have such attributes, too
    return tuple([name for name in named if type(own[name]) is MemberDescriptorType])


def dict_of(cls: type) -> dict[str, Any]:
    """The dictionary of a class itself, of which `vars` only gives a view: versions are its own."""
    return gc.get_referents(vars(cls))[0]


@functools.cache
def is_ours(cls: type) -> bool:
    """Whether a class is the library's."""
    return is_of_library(sys.modules.get(cls.__module__))


def is_of_library(module: ModuleType | None) -> bool:
    """Whether a module is the library's."""
    return reading.is_of_library(getattr(module, "__file__", None) or "")


@functools.cache
def is_of_program(cls: type) -> bool:
    """Whether a class is neither the library's nor Python's own."""
    top = cls.__module__.partition(".")[0]
    return not is_ours(cls) and (top not in sys.stdlib_module_names or cls in _OPEN)


@functools.cache
def hides_state(cls: type) -> bool:
    """Whether objects may have what no attribute shows: a class is written in C, and is none that we know."""
    return any(
        not (_is_written_in_python(base) or base in _SEEN or issubclass(base, BaseException))
        for base in cls.__mro__
    )


def _is_written_in_python(cls: type) -> bool:
    """Whether objects of a class have no more memory of its own than slots, attributes and weak references take."""
    if cls.__base__ is None or not cls.__flags__ & _HEAP_TYPE:
        return False
    own = cls.__basicsize__ - cls.__base__.__basicsize__
    return own <= (len(slots_of(cls)) + 2) * tuple.__itemsize__


def has_own_attributes(value: Any) -> bool:
    """Whether a value of a plain kind belongs to a class of a program, and may have attributes."""
    cls = type(value)
    written = bool(cls.__flags__ & _HEAP_TYPE)
    return written and is_of_program(cls) and hasattr(value, "__dict__")


def code_of(value: Any) -> Any:
    """The code of a function, or of one that a class has as a method."""
    return getattr(getattr(value, "__func__", value), "__code__", None)


def is_optimizer(value: Any) -> bool:
    """Whether a value is an optimizer."""
    module = sys.modules.get("minitorch.torch.optim.optimizer")
    return module is not None and isinstance(value, module.Optimizer)


def is_group(value: Any) -> bool:
    """Whether a value is a group of ranks, which counts its collectives and else stays as it is."""
    module = sys.modules.get("minitorch.torch.distributed.process_group")
    return module is not None and isinstance(value, module.ProcessGroup)


def is_elementwise(value: Any) -> bool:
    """Whether a value is an optimizer of the library whose step is one formula."""
    module = sys.modules.get("minitorch.torch.optim.elementwise")
    known = module is not None and isinstance(value, module.ElementwiseOptimizer)
    return known and is_ours(type(value))


def claims_another_class(value: Any) -> bool:
    """Whether `isinstance` may say something else of a value than its type does."""
    if type(value) is types.GenericAlias:  # is known, and is asked for the class that it is made of
        return False
    try:
        return value.__class__ is not type(value)
    except Exception:  # a program's attributes may raise whatever they like
        return True
