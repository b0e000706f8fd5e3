"""What may be passed to a function: one check for all that Torch checks, from a table of signatures.

`signatures.txt` has a line for each way to call a function, as in `sum(Tensor input, int|ints? dim,
bool keepdim=, *, dtype? dtype=)`: kinds before names, `?` where None is allowed, `=` where the
argument may be left out. A call whose arguments fit none of them is a TypeError that lists them.
Which kinds fit depends on the classes of the arguments alone, except for tensors that stand for
numbers, so a function remembers the classes that it has seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, cached_property, wraps
from inspect import unwrap
from os.path import dirname, join
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ..interpreters import installed, unseen
from ..overriding import NOBODY, answer, asking, function_modes, is_plain
from ..tensor import Tensor
from .argument_kinds import CHECKS

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]

_STAND_INS = (Tensor, np.generic)
_FLOAT = ("float",)

ONE_BY_ONE = frozenset({"einsum"})
"""Functions whose tensors may be given as one list; overrides get them one by one."""

NUMPY_NAMES = {
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "a": "input",
    "x1": "input",
    "x2": "other",
}
"""NumPy's names for arguments, which Torch accepts, and Torch's."""


_WORDS = {"ints": "tuple of ints", "floats": "tuple of floats", "numbers": "tuple of numbers",
          "Tensors": "tuple of Tensors", "bools": "tuple of bools", "number": "Number", "index": "int"}  # fmt: skip


class Parameter(NamedTuple):
    """One argument of a signature."""

    name: str
    kinds: tuple[str, ...]
    optional: bool
    required: bool

    def takes(self, value: Any) -> bool:
        """Whether a value is of one of the kinds."""
        if value is None:
            return self.optional
        return any(CHECKS[k](value) for k in self.kinds)

    @property
    def wanted(self) -> str:
        """The names of the kinds, for error messages."""
        return (
            "Tensor"
            if "Tensor" in self.kinds
            else " or ".join(_WORDS.get(k, k) for k in self.kinds)
        )

    def fault(self, value: Any, place: str = "") -> str:
        """The error text for a value that is of none of the kinds."""
        several = isinstance(value, (list, tuple))
        if several and self.kinds == ("Tensors",):
            i, wrong = next((i, v) for i, v in enumerate(value) if not isinstance(v, Tensor))
            return f"expected Tensor as element {i} in argument 0, but got {type(wrong).__name__}"
        found = f", not {type(value).__name__}"
        if several and value and "ints" in self.kinds and not CHECKS["index"](value[0]):
            found = f", but found element of type {type(value[0]).__name__} at pos 0"
        return f"argument '{self.name}'{place} must be {self.wanted}{found}"

    def is_by_value(self, value: Any) -> bool:
        """Whether a value is converted: a tensor or NumPy number to a Python number, or a boolean to a float."""
        if isinstance(value, (list, tuple)):
            by_value = (*_STAND_INS, bool) if "ints" in self.kinds else _STAND_INS
            return "Tensors" not in self.kinds and any(isinstance(v, by_value) for v in value)
        if isinstance(value, Tensor):
            return "Tensor" not in self.kinds
        if isinstance(value, bytes):
            return "str" in self.kinds
        return isinstance(value, np.generic) or (isinstance(value, bool) and self.kinds == _FLOAT)

    def plain(self, value: Any) -> Any:
        """The value as a plain Python number, if it stands for one."""
        if isinstance(value, (list, tuple)):
            if type(value) in (list, tuple) and any(
                isinstance(v, (np.generic, bool)) for v in value
            ):
                value = type(value)(v.item() if isinstance(v, np.generic) else v for v in value)
                whole = "ints" in self.kinds
                return type(value)(int(v) if whole and isinstance(v, bool) else v for v in value)
        elif isinstance(value, bytes) and "str" in self.kinds:
            return value.decode()
        elif isinstance(value, np.generic) and "any" not in self.kinds:
            value = value.item()
        elif isinstance(value, Tensor) and not {"Tensor", "any"}.intersection(self.kinds):
            value = value.__index__() if {"int", "index"}.intersection(self.kinds) else value.item()
            if isinstance(value, complex) and self.kinds == _FLOAT:
                raise RuntimeError("value cannot be converted to type double without overflow")
        return float(value) if isinstance(value, bool) and self.kinds == _FLOAT else value


class Signature(NamedTuple):
    """One way to call a function."""

    text: str
    positional: tuple[Parameter, ...]
    rest: Parameter | None
    keywords: tuple[Parameter, ...]

    def takes(self, args: Arguments, kwargs: Keywords) -> bool:
        """Whether a call matches the signature."""
        given = len(args)
        if given > len(self.positional) and self.rest is None:
            return False
        if not all(p.takes(a) for p, a in zip(self.positional, args, strict=False)):
            return False
        if self.rest is not None:
            others = args[len(self.positional) :]
            if not others or not self.rest.takes(others):
                return False
        left = {NUMPY_NAMES.get(k, k) if k not in self.names else k: v for k, v in kwargs.items()}
        for p in (*self.positional[given:], *self.keywords):
            if p.name in left:
                if not p.takes(left.pop(p.name)):
                    return False
            elif p.required:
                return False
        return not left

    def by_value(self, args: Arguments, kwargs: Keywords) -> bool:
        """Whether some argument is converted to a Python number, so that classes alone do not decide."""
        pairs = [*zip(self.positional, args, strict=False)]
        pairs += [
            (p, kwargs[p.name]) for p in (*self.positional, *self.keywords) if p.name in kwargs
        ]
        if self.rest is not None:
            pairs.append((self.rest, args[len(self.positional) :]))
        return any(p.is_by_value(value) for p, value in pairs)

    def plain(self, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords]:
        """The arguments, those that stand for numbers as plain Python numbers."""
        named = {p.name: p for p in (*self.positional, *self.keywords)}
        found = [p.plain(a) for p, a in zip(self.positional, args, strict=False)]
        others = args[len(found) :]
        return (*found, *(self.rest.plain(others) if self.rest else others)), {
            k: named[NUMPY_NAMES.get(k, k) if k not in named else k].plain(v)
            for k, v in kwargs.items()
        }

    def fault(self, args: Arguments, kwargs: Keywords) -> str:
        """The error text for a call that does not match."""
        if len(args) > len(self.positional) and self.rest is None:
            count = len(self.positional)
            return (
                f"takes {count} positional argument{'s' * (count != 1)} but {len(args)} were given"
            )
        for i, (p, value) in enumerate(zip(self.positional, args, strict=False)):
            if not p.takes(value):
                return p.fault(value, f" (position {i + 1})")
        left = {NUMPY_NAMES.get(k, k) if k not in self.names else k: v for k, v in kwargs.items()}
        missing = [
            f'"{p.name}"' for p in self.positional[len(args) :] if p.required and p.name not in left
        ]
        if missing:
            return f"missing {len(missing)} required positional arguments: {', '.join(missing)}"
        for p in (*self.positional[len(args) :], *self.keywords):
            if p.name in left and not p.takes(value := left.pop(p.name)):
                return p.fault(value)
        return f"got an unexpected keyword argument '{next(iter(left), None)}'"

    def placed(
        self, args: Arguments, kwargs: Keywords, known: set[str]
    ) -> tuple[Arguments, Keywords]:
        """Positional arguments, up to the last whose name the function does not know, and keyword arguments."""
        later = self.positional[len(args) :]
        unknown = [i for i, p in enumerate(later) if p.name in kwargs and p.name not in known]
        found, left = list(args), dict(kwargs)
        for p in later[: max(unknown, default=-1) + 1]:
            if p.name not in kwargs:
                break
            found.append(left.pop(p.name))
        return tuple(found), left

    @property
    def names(self) -> set[str]:
        """The names of its arguments."""
        return {p.name for p in (*self.positional, *self.keywords)}


# --- The table --------------------------------------------------------------------------------------


@cache
def _lines() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with open(join(dirname(__file__), "signatures.txt")) as lines:
        for line in lines:
            name, _, text = line.rstrip().partition("(")
            found.setdefault(name, []).append(text.removesuffix(")"))
    return found


def _parsed(text: str) -> Signature:
    positional: list[Parameter] = []
    keywords: list[Parameter] = []
    rest, after = None, False
    for part in text.split(", ") if text else ():
        if part == "*":
            after = True
            continue
        kinds, name = part.split(" ")
        optional, required = kinds.endswith("?"), not name.endswith("=")
        words = tuple(kinds.strip("*?").split("|"))
        if "ints" in words:
            words = tuple("index" if w == "int" else w for w in words)
        if kinds.startswith("*"):
            words = tuple(f"{w}s" for w in words)
        parameter = Parameter(name.removesuffix("="), words, optional, required)
        if kinds.startswith("*"):
            rest, after = parameter, True
        else:
            (keywords if after else positional).append(parameter)
    return Signature(text, tuple(positional), rest, tuple(keywords))


# --- The check --------------------------------------------------------------------------------------


_ABSENT = object()
_SINGLE = {Tensor, float, int, bool, str, type(None)}
_OLD_FORM = re.compile("number (alpha|beta|value), Tensor")
"""Marks signatures that PyTorch still accepts but no longer lists in its errors."""
_TOO_LARGE = re.compile(
    "array is too big|Maximum allowed dimension exceeded|negative dimensions are not"
)
"""NumPy's error texts for shapes that are too large for memory."""


def checked(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that raises TypeError for arguments that fit none of its signatures.

    Most calls have arguments of classes that were seen before: they have a fast path, since the check
    must not cost more than the smallest operation.
    """
    check = Check(name, fn)
    known = check.known
    plain = unseen.get(fn, fn)

    @wraps(fn)
    def call(
        a: Any = _ABSENT, b: Any = _ABSENT, c: Any = _ABSENT, /, *rest: Any, **kwargs: Any
    ) -> Any:
        args: Arguments
        try:
            if b is _ABSENT:
                if type(a) in known and not (kwargs or function_modes or installed):
                    return plain(a)
                args = () if a is _ABSENT else (a,)
            elif c is _ABSENT:
                if (type(a), type(b)) in known and not (kwargs or function_modes or installed):
                    return plain(a, b)
                args = (a, b)
            elif rest or kwargs:
                args = (a, b, c, *rest)
            elif (type(a), type(b), type(c)) in known and not (function_modes or installed):
                return plain(a, b, c)
            else:
                args = (a, b, c)
            if kwargs and type(a) is Tensor:
                seen = (*map(type, args), *kwargs, *map(type, kwargs.values())) in known
                if seen and not (function_modes or installed):
                    return plain(*args, **kwargs)
            classes = tuple(map(_classes, args))
            if kwargs:
                classes += (*kwargs, *[_classes(v) for v in kwargs.values()])
            if classes not in known or function_modes:
                result, args, kwargs = check(call, args, kwargs, classes)
                if result is not NOBODY:
                    return result
            return fn(*args, **kwargs)
        except ValueError as error:
            if _TOO_LARGE.match(str(error)):
                raise RuntimeError(
                    f"{check.name}(): Storage size calculation overflowed"
                ) from error
            raise

    call.asks = True  # type: ignore[attr-defined]
    return call


class Check:
    """The check of one function.

    Attributes:
        known: classes of arguments that fit; of one argument alone, also its class by itself
    """

    def __init__(self, name: str, fn: Callable[..., Any]) -> None:
        self.name = name.rpartition(".")[2]
        self.first = 1 if name.startswith("Tensor.") else 0
        self.texts = _lines().get(name, [])
        self.known: set[Any] = set()
        self.fn = fn

    @cached_property
    def names(self) -> set[str]:
        """The names of the function's parameters."""
        return _argument_names(self.fn)

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The names of its positional parameters, in order."""
        fn = unwrap(self.fn)
        return fn.__code__.co_varnames[: fn.__code__.co_argcount]

    @cached_property
    def signatures(self) -> list[Signature]:
        """Its signatures."""
        return [_parsed(text) for text in self.texts]

    def __call__(
        self, call: Callable[..., Any], args: Arguments, kwargs: Keywords, classes: Any
    ) -> tuple[Any, Arguments, Keywords]:
        """The result of an override (a mode, or a class of the arguments); else `NOBODY` and the arguments.

        Arguments are renamed to the function's own names. TypeError if they do not fit. Classes of
        arguments that always fit are remembered.
        """
        if self.name in ONE_BY_ONE and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = args[0], *args[1]
        result = answer(call, args, kwargs)
        if result is not NOBODY:
            return result, args, kwargs
        given = args[self.first :]
        if self.first and not (args and isinstance(args[0], Tensor)):
            what = type(args[0]).__name__ if args else "nothing"
            raise TypeError(f"the method '{self.name}' of tensors doesn't apply to {what}")
        fitting = [s for s in self.signatures if s.takes(given, kwargs)]
        if not fitting and self.texts:
            raise self.refusal(given, kwargs)
        by_value = bool(fitting) and all(s.by_value(given, kwargs) for s in fitting)
        if by_value:
            given, kwargs = fitting[0].plain(given, kwargs)
        taken = kwargs.keys() & {*self.places[: len(args)]}  # by place, under another name
        free = self.names - {*self.places} if taken else self.names
        if fitting and not kwargs.keys() <= free:
            kwargs = {k if k in self.names else NUMPY_NAMES.get(k, k): v for k, v in kwargs.items()}
            given, kwargs = fitting[0].placed(given, kwargs, free)
        elif is_plain((*args, *kwargs.values())) and not by_value:
            self.known.update((classes, *classes) if len(args) == 1 and not kwargs else (classes,))
        return NOBODY, (*args[: self.first], *given), kwargs

    def refusal(self, args: Arguments, kwargs: Keywords) -> TypeError:
        """The error for arguments that do not fit."""
        shown = [s for s in self.signatures if not _OLD_FORM.search(s.text)]
        if len(shown) == 1:
            fault = shown[0].fault(args, kwargs)
            colon = ":" if fault.startswith("argument") else ""
            return TypeError(
                fault if fault.startswith("expected") else f"{self.name}(){colon} {fault}"
            )
        given = [type(v).__name__ for v in args]
        given += [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
        expected = "\n".join(f" * ({s.text})" for s in shown)
        return TypeError(
            f"{self.name}() received an invalid combination of arguments - got ({', '.join(given)}), "
            f"but expected one of:\n{expected}"
        )


def _argument_names(fn: Any) -> set[str]:
    """The names of a function's parameters, including those of a function that it wraps."""
    names: set[str] = set()
    while fn is not None:
        code = fn.__code__
        names.update(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        fn = getattr(fn, "__wrapped__", None)
    return names


def _classes(value: Any) -> Any:
    """The class of a value; of a list, also those of its elements."""
    cls = type(value)
    if cls in _SINGLE or not isinstance(value, (list, tuple)):
        return cls
    return (cls, *map(type, value)) if len(value) < 5 else (cls, frozenset(map(type, value)))


def checked_functions(section: str, functions: dict[str, Any]) -> dict[str, Any]:
    """The functions of a section, with the check; methods and what is no operation without signature as they are."""
    names = {n.rpartition(".")[2]: n for n in _lines() if n.rpartition(".")[0] == section}
    if section != "Tensor":
        names |= {
            n: f"{section}.{n}"
            for n in functions.keys() - names.keys()
            if _is_operation(functions[n])
        }
    found = {n: functions[n] for n in names if isinstance(functions.get(n), FunctionType)}
    found = {n: fn for n, fn in found.items() if n not in _OF_ANY_VALUE}
    return {
        n: checked(names[n], fn)
        for n, fn in found.items()
        if not _takes_nothing(section, names[n], fn)
    }


_OF_ANY_VALUE = {"is_storage", "is_tensor", "typename"}
"""Queries that are never overridden by a class."""


def _is_operation(fn: Any) -> bool:
    """Whether a function is an operation, or composed of operations."""
    return isinstance(fn, FunctionType) and fn.__module__.startswith(__package__ or "")


def _takes_nothing(section: str, name: str, fn: FunctionType) -> bool:
    """Whether Python itself refuses any argument but the tensor."""
    alone = (
        fn.__code__.co_argcount == 1
        and not fn.__code__.co_flags & 12
        and not fn.__code__.co_kwonlyargcount
    )
    return section == "Tensor" and _lines()[name] == [""] and alone


def check_methods() -> None:
    """Wrap the methods of tensors so that they check their arguments and call overrides."""
    for name, fn in checked_functions("Tensor", dict(vars(Tensor))).items():
        setattr(Tensor, name, fn)
    for name, fn in list(vars(Tensor).items()):
        if isinstance(fn, FunctionType) and not hasattr(fn, "asks") and name not in _UNASKED:
            setattr(Tensor, name, asking(fn))


_UNASKED = frozenset(
    [
        "__new__",
        "__hash__",
        "__setstate__",
        "_owns_memory",
        "_own_copy",
        "_add_in_place",
        "_ones",
        "as_subclass",
    ]
)
"""Methods that are never overridden."""
