"""What a program may replace in the library: functions and classes that the library's own code names, and methods of its classes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

from ..nn import functional
from . import watching
from .classes import dict_of, is_of_library
from .facts import DictFacts, dict_facts
from .names import names_in

BACKENDS = f"{__name__.rpartition('.compiler.')[0]}.backends."
"""Functions of devices keep counts and choices in their variables; what they compute does not depend on these."""

_classes: dict[type, DictFacts] = {}
"""What classes of the library had when somebody last asked: all tapes share it."""


def class_facts(cls: type, attributes: frozenset[str]) -> DictFacts:
    """How many attributes a class of the library has, and its methods; where dictionaries have no versions, those that code names."""
    if not watching.NUMBERED:
        own = dict_of(cls)
        return dict_facts(own, sorted(attributes & own.keys()))._replace(keys=())
    known = _classes.get(cls)
    if known is None or known.change():
        own = dict_of(cls)
        methods = [name for name, each in own.items() if hasattr(type(each), "__get__")]
        known = _classes[cls] = dict_facts(own, methods)._replace(keys=())
    return known


def module_facts(codes: dict[CodeType, str], attributes: frozenset[str]) -> Iterator[DictFacts]:
    """The functions and classes that code of the library names, by itself or as attributes of modules."""
    loads: dict[str, set[str]] = {}
    for code, whose in codes.items():
        if whose == "library":
            loads.setdefault(code.co_filename, set()).update(names_in(code).loads)
    layers: Any = vars(functional)  # their `forward` is written from its functions, in no file
    named: dict[int, tuple[Any, set[str]]] = {id(layers): (layers, set(attributes))}
    for title, module in list(sys.modules.items()):
        if not isinstance(module, ModuleType) or title.startswith(BACKENDS):
            continue
        own = vars(module)
        for name in loads.get(own.get("__file__") or "", ()):
            each = own.get(name)
            if not isinstance(each, ModuleType):
                named.setdefault(id(own), (own, set()))[1].add(name)
            elif is_of_library(each):
                named.setdefault(id(vars(each)), (vars(each), set()))[1].update(attributes)
    for where, names in named.values():
        chosen = sorted(name for name in names if callable(where.get(name)))
        yield dict_facts(where, chosen)._replace(size=None, keys=())
