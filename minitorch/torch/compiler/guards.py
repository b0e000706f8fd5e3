"""Guards: what a traced function found in the program around it, and whether that is still so.

From the function, whatever its code names is followed: globals, closures, attributes, modules, optimizers,
lists. Plain values must stay equal and objects the same; tensors must stay the same ones, over the same
memory. The code that ran says which names count. What cannot be followed (an iterator, an array of NumPy) is
`opaque`, and then there is no tape.
"""

from __future__ import annotations

import abc
import builtins
import enum
import functools
import gc
import re
import sys
import threading
import types
import weakref
from collections import deque, namedtuple
from collections.abc import Iterable
from fractions import Fraction
from importlib.util import resolve_name
from io import IOBase
from operator import attrgetter, is_
from pathlib import PurePath
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..attributes import all_attributes
from ..backends.interface import ARRAYS
from ..device import device
from ..dtypes import dtype
from ..generator import Generator
from ..interpreters import Composite
from ..nn.modules.module import Module
from ..nn.parameter import is_lazy
from ..tensor import Tensor
from .classes import (
    claims_another_class,
    code_of,
    dict_of,
    has_own_attributes,
    hides_state,
    is_elementwise,
    is_group,
    is_of_library,
    is_of_program,
    is_optimizer,
    is_ours,
    slots_of,
)
from .comparing import (
    MISSING,
    PLAIN,
    Free,
    attributes_of,
    contents_of,
    hooks_of,
    is_number,
    is_traced,
    owner,
    same,
)
from .facts import DictFacts, TensorFacts, dict_facts, gradient_facts, same_gradients, tensor_change
from .library_facts import BACKENDS, class_facts, module_facts
from .names import (
    ALWAYS,
    NAMES_OF_CLASSES,
    NAMES_OF_FUNCTIONS,
    OF_CLASSES,
    names_in,
    nested,
)
from .reading import owner_of
from .watching import Watch

LIMIT = 50_000
"""The most facts that a guard keeps."""

IMMUTABLE = (
    *PLAIN, enum.Enum, dtype, device, Generator, np.dtype, np.generic, re.Pattern, PurePath, Fraction,
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType, types.EllipsisType, types.NotImplementedType, CodeType,
    np.ufunc, type(np.sum), types.GenericAlias, types.UnionType, Composite,
    type(vars(namedtuple("_", "field"))["field"]),
)  # fmt: skip


# --- What was found ------------------------------------------------------------------------------


class Surroundings:
    """What code that ran can see from a function, as it is now.

    Attributes:
        dicts: facts about dictionaries
        empty: dictionaries in which nothing is
        lists: lists and their items
        cells: variables of enclosing functions and their values
        attributes: objects, names, and what `getattr` gives
        tensors: facts about tensors, by their addresses
        labels: tensors, and the names of what the program has set on them
        typed: objects whose class must stay, and these classes
        holders: objects with attributes of their own, and the dictionaries of these
        registered: if code asks for abstract classes, a number that tells of another one that is `register`ed
        early: whether a parameter has no shape yet
        opaque: the first thing that cannot be followed
        of_classes: whether code may ask of which class an object is
        of_gradients: whether code looks at gradients
        of_layouts: whether it may ask how these lie in memory, and whether they require gradients
        of_labels: whether code may ask whether a tensor has an attribute
    """

    def __init__(self, codes: dict[CodeType, str], dynamic: bool) -> None:
        self.codes = codes
        self.names = frozenset().union(*[names_in(code).attributes for code in codes])
        programs = [names_in(c) for c, owner in codes.items() if owner == "program"]
        self.own_names = frozenset().union(*[each.attributes for each in programs])
        self.dynamic = dynamic = dynamic or any(each.looks_up for each in programs)
        self.of_labels = dynamic or any(c.co_exceptiontable for c, owner in codes.items() if owner == "program")  # fmt: skip
        self.of_classes = dynamic or any(each.loads & OF_CLASSES for each in programs)
        self.of_layouts = dynamic or "grad" in self.own_names
        self.of_gradients = self.of_layouts or "_grad" in self.names
        self.dicts: list[DictFacts] = []
        self.empty: list[Any] = []
        self.lists: list[tuple[Any, tuple[Any, ...]]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.attributes: list[tuple[Any, str, Any]] = []
        self.places: list[tuple[Any, str, Any]] = []  # of dictionaries: one key each
        self.tensors: dict[int, TensorFacts] = {}
        self.labels: list[tuple[Tensor, list[str]]] = []
        self.typed: list[Any] = []
        self.types: list[type] = []
        self.holders: list[Any] = []
        self.owned: list[dict[str, Any]] = []
        self.registered: Any = None
        self.opaque = ""
        self.early = False
        self.seen: set[int] = set()
        self.kept: list[Any] = []
        self.covered: set[CodeType] = set()
        self.owners: frozenset[int] = frozenset()
        self.waiting: list[tuple[Any, str]] = []
        for code, whose in codes.items():
            if whose == "program" and names_in(code).stores:
                self._refuse(f"{code.co_name!r} sets a global variable")
            elif whose == "program" and names_in(code).of_frames:
                self._refuse(f"{code.co_name!r} looks at variables by {names_in(code).of_frames!r}")

    def _refuse(self, why: str) -> None:
        self.opaque = self.opaque or why

    def follow(self, value: Any, name: str = "") -> None:
        """Note a value and all that is reached from it."""
        self.waiting.append((value, name))
        while self.waiting:
            value, name = self.waiting.pop()
            if len(self.kept) > LIMIT:
                self._refuse("there is too much to watch around it")
                return
            if id(value) not in self.seen:
                self.seen.add(id(value))
                self.kept.append(value)
                self._look(value, name)

    def close(self) -> None:
        """Note what the library's code names, and code that ran and was found nowhere."""
        self.follow(Tensor)
        self.dicts += module_facts(self.codes, self.names)
        self.owners = frozenset(id(owner(array)) for _, array, *_ in self.tensors.values())
        self.watch = Watch(self)
        for code, whose in self.codes.items():
            if whose == "program" and code not in self.covered:
                line = f"{code.co_filename}:{code.co_firstlineno}"
                self._refuse(f"{code.co_name!r} ({line}) ran, and cannot be found again")

    def forget(self) -> None:
        """Let go of what only finding needs."""
        self.seen, self.kept, self.covered, self.codes = set(), [], set(), {}
        self.names = self.own_names = frozenset()

    # --- By type ---------------------------------------------------------------------------------

    def _look(self, value: Any, name: str) -> None:  # noqa: C901
        if issubclass(type(value), (weakref.ref, *weakref.ProxyTypes)):
            self._look_at_weak_reference(value, name)
        elif claims_another_class(value):
            self._refuse(f"{name or 'something'!r} claims another class than its own, {type(value).__name__}")  # fmt: skip
        elif isinstance(value, Tensor):
            self._look_at_tensor(value)
        elif isinstance(value, Module):
            self._look_at_object(value, everything=is_ours(type(value)))
        elif isinstance(value, FunctionType):
            self._look_at_function(value)
        elif isinstance(value, type):
            self._look_at_class(value)
        elif isinstance(value, ModuleType):
            self._look_at_module(value)
        elif isinstance(value, IMMUTABLE) or is_group(value):
            if has_own_attributes(value):
                self._look_at_object(value)
            if isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
                self._all((value.__self__,))
        elif isinstance(value, (IOBase, np.ndarray)) or type(value) in ARRAYS:
            self._refuse(f"{name or 'something'!r} is of the class {type(value).__name__}")
        elif type(value).__module__ == f"{__package__}.compiled":
            self._all((value.fn,))
        elif isinstance(value, (types.MethodType, staticmethod, classmethod)):
            self._all((getattr(value, "__self__", None), value.__func__))
        elif isinstance(value, property):
            self._all((value.fget, value.fset))
        elif isinstance(value, functools.partial):
            if value.func in (getattr, setattr, hasattr, delattr):
                self._refuse(f"it looks up attributes by a partial {value.func.__name__}")
            self._all((value.func, value.args, value.keywords))
            self._look_at_attributes(value)
        elif isinstance(value, functools._lru_cache_wrapper):
            self._look_at_cache(value)
        elif isinstance(value, (dict, types.MappingProxyType)):
            self._look_at_dict(value)
            self._look_at_subclass(value)
        elif isinstance(value, (tuple, frozenset)):
            self._all(value)
            self._look_at_subclass(value)
        elif isinstance(value, (list, deque, set)):
            self.lists.append((value, tuple(value)))
            self._all(value)
            self._look_at_subclass(value)
        elif isinstance(value, threading.local):
            self._look_at_local(value)
        elif isinstance(value, functools.cached_property):
            self._all((value.func,))
        elif is_optimizer(value):
            self._look_at_optimizer(value)
        elif hasattr(value, "__dict__") or hasattr(type(value), "__slots__"):
            everything = is_ours(type(value)) or type(value) is types.SimpleNamespace
            self._look_at_object(value, everything)
        else:
            self._refuse(f"{name or 'something'!r} is of the class {type(value).__name__}")

    def _all(self, values: Iterable[Any], name: str = "") -> None:
        self.waiting += [(value, name) for value in values]

    def _look_at_dict(self, value: Any) -> None:
        if not value:
            self.empty.append(value)
            return
        self.dicts.append(dict_facts(value))
        self._all(key for key in value if type(key) is not str)
        self.waiting += [(each, key if type(key) is str else "") for key, each in value.items()]

    def _look_at_tensor(self, tensor: Tensor) -> None:
        if is_lazy(tensor):
            self.early = True
            return
        own = all_attributes(tensor)
        of_base = tensor._base is not None and tensor._base._requires_grad
        hooks = hooks_of(tensor)
        self.tensors[id(tensor)] = TensorFacts(
            tensor,
            own.get("_array"),
            tensor._requires_grad,
            of_base,
            gradient_facts(tensor, self.of_layouts),
            hooks,
        )
        if "_array" not in own or not is_traced(own["_array"]):
            self._refuse("a tensor has no memory of the CPU or a GPU")
        self.labels.append((tensor, list(attributes_of(tensor))))
        self._all(hook for each in hooks for hook in each)
        for key, each in own.items():
            if key not in Tensor.__annotations__ and (key in self.names or self.dynamic):
                self.places.append((own, key, each))
                self._all((each,), key)

    def _look_at_cache(self, value: Any) -> None:
        """A function that keeps results: those that it has must stay the ones that they are."""
        self._all((value.__wrapped__,))
        own = vars(value)
        kept = [each for each in gc.get_referents(value) if type(each) is dict and each is not own]
        for results in kept:
            self.places += [(results, key, each) for key, each in results.items()]

    def _look_at_object(self, value: Any, everything: bool = False) -> None:
        if hides_state(type(value)):
            self._refuse(f"an object of the class {type(value).__name__} keeps what cannot be seen")
        if isinstance(value, BaseException):
            self.attributes.append((value, "args", value.args))
            self._all(value.args)
        self._look_at_attributes(value, everything)
        for cls in type(value).__mro__:
            for name in slots_of(cls):
                each = getattr(value, name, MISSING)
                self.attributes.append((value, name, each))
                self._all(() if each is MISSING else (each,), name)
        self.typed.append(value)
        self.types.append(type(value))
        self._all((type(value),))

    def _look_at_attributes(self, value: Any, everything: bool = False) -> None:
        """Note which attributes an object has of its own, and those that code names."""
        own = getattr(value, "__dict__", None)
        if own is None:
            return
        everything = everything or self.dynamic
        names = [key for key in own if key in self.names or key in ALWAYS]
        facts = dict_facts(own, None if everything else names)
        self.dicts.append(facts)
        self.holders.append(value)
        self.owned.append(own)
        self.waiting += zip(facts.values, facts.names, strict=True)

    def _look_at_weak_reference(self, value: Any, name: str) -> None:
        """Guards would keep alive what it leads to; optimizers, whose steps schedulers wrap, live as long as their steps."""
        if type(value) is weakref.ref and is_optimizer(value()):
            self._all((value(),))
        else:
            self._refuse(f"{name or 'something'!r} is a weak reference")

    def _look_at_subclass(self, value: Any) -> None:
        """A container of a class that a program or a library wrote."""
        if has_own_attributes(value):
            self._look_at_object(value)

    def _look_at_local(self, value: threading.local) -> None:
        """Attributes that each thread has for itself."""
        for name in sorted({*vars(value), *self.own_names}):
            each = getattr(value, name, MISSING)
            self.attributes.append((value, name, each))
            self._all(() if each is MISSING else (each,), name)
        self._all((type(value),))

    def _look_at_optimizer(self, value: Any) -> None:
        """An optimizer: the numbers of its groups are read at each step, unless the program reads them; its state, if code does."""
        own = vars(value)
        apart = {"param_groups", "defaults"}
        if not (self.dynamic or "state" in self.names):
            apart.add("state")
        kept = [(key, each) for key, each in own.items() if key not in apart]
        self.dicts.append(dict_facts(own))
        self.waiting += [(each, key) for key, each in kept]
        self._all((type(value),))
        groups = value.param_groups
        self.lists.append((groups, tuple(groups)))
        free = is_elementwise(value) and "param_groups" not in self.own_names
        for group in groups:
            facts = dict_facts(group)
            values = [Free(v) if free and is_number(v) else v for v in facts.values]
            self.dicts.append(facts._replace(values=tuple(values)))
            self.waiting += [(each, key) for key, each in group.items()]

    def _look_at_function(self, value: FunctionType) -> None:
        code = value.__code__
        of_program = owner_of(code, value.__module__) == "program"
        ran = [c for c in (code, *nested(code)) if c in self.codes]
        if (of_program and not ran) or (value.__module__ or "").startswith(BACKENDS):
            return
        for cell in value.__closure__ or ():
            contents = contents_of(cell)
            self.cells.append((cell, contents))
            self._all(() if contents is MISSING else (contents,), value.__name__)
        if not of_program:
            return
        self._all((value.__defaults__, value.__kwdefaults__))
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.attributes.append((value, name, getattr(value, name)))
        self._look_at_attributes(value)
        self._look_at_named(value, NAMES_OF_FUNCTIONS)
        self.covered.update(ran)
        for name in sorted(frozenset().union(*[names_in(c).loads for c in ran])):
            self._place(value.__globals__, name)
            if name not in value.__globals__:
                self._place(vars(builtins), name)
        for name, dots in sorted(frozenset().union(*[names_in(c).imports for c in ran])):
            self._look_at_import("." * dots + name, value.__globals__.get("__package__"))

    def _look_at_import(self, name: str, package: Any) -> None:
        """A module that code imports while it runs, and those that it is part of."""
        name = resolve_name(name, package)
        while name:
            self._place(sys.modules, name)
            name = name.rpartition(".")[0]

    def _place(self, where: Any, name: str) -> None:
        """Note what a dictionary has under a name, or that it has nothing."""
        each = where.get(name, MISSING)
        self.places.append((where, name, each))
        if each is not MISSING:
            self.waiting.append((each, name))

    def _look_at_class(self, cls: type) -> None:
        """What a class has: it may get an attribute that hides another one's."""
        if is_ours(cls):
            self.dicts.append(class_facts(cls, self.names))
        of_program = is_of_program(cls)
        if of_program:
            own = dict_of(cls)
            facts = dict_facts(own, [n for n in own if self.dynamic or n in self.names or code_of(own[n]) in self.codes])  # fmt: skip
            self.dicts.append(facts)
            self._all(facts.values)
        self._all((type(cls), *cls.__mro__))
        if of_program:
            self.attributes.append((cls, "__mro__", cls.__mro__))
        if isinstance(cls, abc.ABCMeta) and self.of_classes:
            self.registered = abc.get_cache_token()
        self._look_at_named(cls, NAMES_OF_CLASSES)

    def _look_at_named(self, value: Any, names: frozenset[str]) -> None:
        """Note what Python keeps for a class or a function, where code names it."""
        for name in sorted(names & self.own_names):
            self.attributes.append((value, name, getattr(value, name)))

    def _look_at_module(self, module: ModuleType) -> None:
        top = module.__name__.partition(".")[0]
        if top == "numpy":
            if "random" in self.own_names:
                self._refuse("it draws numbers of NumPy")
            return
        of_program = top not in sys.stdlib_module_names and not is_of_library(module)
        named = vars(module).keys() if self.dynamic and of_program else self.own_names
        if of_program and self.of_labels:
            self._look_at_absent(module)
        for name in sorted(named & vars(module).keys()):
            if top not in sys.stdlib_module_names:
                self._place(vars(module), name)
            elif vars(module)[name] is sys.modules:
                self._refuse("it looks for modules")
            else:
                each = vars(module)[name]
                self.places.append((vars(module), name, each))
                self._all((each,) if isinstance(each, (list, dict, set, deque)) else (), name)

    def _look_at_absent(self, module: ModuleType) -> None:
        """Note what a module does not have, where code may ask for it."""
        if self.dynamic:
            self.dicts.append(dict_facts(vars(module), ()))
        for name in self.own_names - vars(module).keys():
            self.places.append((vars(module), name, MISSING))

    # --- Whether it is still so ------------------------------------------------------------------

    def hold(self) -> bool:
        """Whether all is as it was, gradients included: by looking at objects, and only then at values."""
        watch = self.watch
        if not self.same_gradients(watch.tensors):
            return False
        return watch.holds() or (not self.change() and self.same_gradients(self.tensors.values()))

    def same_gradients(self, tensors: Iterable[TensorFacts]) -> bool:
        """Whether code does not look at gradients, or these tensors have them where they had."""
        return not self.of_gradients or same_gradients(tensors, self.of_layouts)

    def change(self) -> str:
        """What is no longer as it was; "" if nothing."""
        if any(map(len, self.empty)):
            return "the names in an empty dictionary"
        changed = next(filter(None, (facts.change() for facts in self.dicts)), "")
        if changed:
            return changed
        for where, name, value in self.places:
            now = where.get(name, MISSING)
            if now is not value and not same(now, value):
                return f"{name!r}"
        for where, items in self.lists:
            if len(where) != len(items) or not all(map(same, where, items)):
                return f"a {type(where).__name__} of {len(items)} items"
        for cell, value in self.cells:
            now = contents_of(cell)
            if now is not value and not same(now, value):
                return "a variable of an enclosing function"
        for holder, name, value in self.attributes:
            now = getattr(holder, name, MISSING)
            if now is not value and not same(now, value):
                return f"{name!r}"
        return self.changed_label() or self.changed_class() or tensor_change(self.tensors.values())

    def changed_label(self) -> str:
        """Whether a tensor has got or lost an attribute of the program's."""
        changed = any(list(attributes_of(tensor)) != names for tensor, names in self.labels)
        return "an attribute of a tensor" if changed else ""

    def changed_class(self) -> str:
        """Whether an object has another class, or another dictionary of attributes."""
        if self.registered is not None and self.registered != abc.get_cache_token():
            return "what abstract classes there are"
        if list(map(type, self.typed)) != self.types:
            return "the class of an object"
        if not all(map(is_, map(_dict_of, self.holders), self.owned)):
            return "all attributes of an object"
        return ""


_dict_of = attrgetter("__dict__")
