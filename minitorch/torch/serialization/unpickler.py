"""A machine that reads pickles and cannot run code.

A pickle is a program for a small stack machine. Python's own machine imports and calls
whatever the program names. This one has no way to do so: names are looked up in tables
(`names.py`), only what comes from those tables is called, only lists, dicts and sets grow,
and every other instruction is an error.
"""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from pickle import UnpicklingError
from reprlib import repr as brief
from struct import unpack_from
from typing import Any

from ..tensor import Size
from .instructions import INSTRUCTIONS, MARK, check_keys
from .names import BUILDERS, CONSTANTS, is_blocked, modern_name, safe_by_name

PersistentLoad = Callable[[Any], Any]
_LONGEST_NAME = 300  # to be shown whole
_PLAIN = (str, bytes, list, tuple, dict, set, OrderedDict)
_TAKES_PLAIN = (Size, OrderedDict, Counter, set, frozenset)  # which go through what they are given


def _refused_global(name: str) -> UnpicklingError:
    name = name if len(name) < _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
    if is_blocked(name):
        module = name.rpartition(".")[0]
        return UnpicklingError(
            f"Trying to load unsupported GLOBAL {name} whose module {module} is blocked."
        )
    return UnpicklingError(
        f"Weights only load failed. Unsupported global: GLOBAL {name} was not an allowed global by "
        f"default. If you trust it, allow it with `torch.serialization.add_safe_globals([{name}])` "
        f"or the context manager `torch.serialization.safe_globals([{name}])`; if you trust "
        "everything in the file, load it with weights_only=False, which can run code from it."
    )


class SafeUnpickler:
    """Reads one pickle from `data`, beginning at `position`; afterwards `position` is its end.

    Args:
        data: bytes with the pickle in them
        persistent_load: gives the storage for what the pickle says about it
        position: where the pickle begins
        names: what it may name and call besides
    """

    def __init__(
        self,
        data: bytes | memoryview,
        persistent_load: PersistentLoad,
        position: int = 0,
        names: Mapping[str, Any] | None = None,
    ) -> None:
        self.data = memoryview(data)
        self.position = position
        self.persistent_load = persistent_load
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.protocol = 0
        self.safe = safe_by_name() | dict(names or {})
        self.callable = {id(f): f for f in (*BUILDERS.values(), *self.safe.values())}

    def load(self) -> Any:
        """The object; UnpicklingError if the pickle is damaged or wants what is not allowed."""
        try:
            while (code := self.read(1)[0]) != pickle.STOP[0]:
                if code not in INSTRUCTIONS:
                    raise UnpicklingError(f"Unsupported operand {code} ({_name_of(code)})")
                INSTRUCTIONS[code](self)
            result = self.pop()
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise UnpicklingError(f"the pickle is damaged: {error}") from error
        if self.stack:
            raise UnpicklingError("the pickle is damaged: it ends in the middle of an object")
        return result

    # --- Bytes and the stack ---------------------------------------------------------

    def read(self, count: int) -> memoryview:
        """The next bytes."""
        start, self.position = self.position, self.position + count
        if self.position > len(self.data):
            raise UnpicklingError("the pickle is cut off")
        return self.data[start : self.position]

    def number(self, code: str, size: int) -> int:
        """The next number, in the notation of `struct`."""
        return unpack_from(code, self.read(size))[0]

    def line(self) -> str:
        """The text up to the next end of a line."""
        end = self.position
        while self.data[end : end + 1] not in (b"\n", b""):
            end += 1
        text = bytes(self.read(end - self.position)).decode()
        self.read(1)
        return text

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def pop(self) -> Any:
        """Take the last value from the stack."""
        value = self.stack.pop()
        if value is MARK:
            raise UnpicklingError("the pickle is damaged: a mark stands where a value should")
        return value

    def top(self) -> Any:
        """The last value on the stack."""
        value = self.pop()
        self.push(value)
        return value

    def pop_to_mark(self) -> list[Any]:
        """Take all values after the last mark, and the mark."""
        for start in range(len(self.stack) - 1, -1, -1):
            if self.stack[start] is MARK:
                values = self.stack[start + 1 :]
                del self.stack[start:]
                return values
        raise UnpicklingError("the pickle is damaged: a mark is missing")

    # --- What could run code, and does not ---------------------------------------------

    def find(self, module: str, name: str) -> Any:
        """What a name stands for, if it is allowed."""
        if self.protocol < 3:
            module, name = modern_name(module, name)
        full = f"{module}.{name}"
        if is_blocked(full):
            raise _refused_global(full)
        for table in (CONSTANTS, BUILDERS, self.safe):
            if full in table:
                return table[full]
        raise _refused_global(full)

    def call(self, function: Any, args: Any) -> Any:
        """Call a function from the tables."""
        if id(function) not in self.callable:
            raise UnpicklingError(
                f"Trying to call reduce for unrecognized function {brief(function)}"
            )
        _check_arguments(function, args)
        return function(*args)

    def new(self, cls: Any, args: Any, kwargs: Any) -> Any:
        """Make an empty object of a class from the tables."""
        if id(cls) not in self.callable or not isinstance(cls, type):
            raise UnpicklingError(
                "Can only create new object for classes allowlisted via `add_safe_globals` "
                f"but got {brief(cls)}"
            )
        _check_arguments(cls, args)
        return cls.__new__(cls, *args, **kwargs)

    def build(self, instance: Any, state: Any) -> None:
        """Give an object its attributes: an OrderedDict, or what a program has declared safe."""
        if type(instance) is OrderedDict:
            instance.__dict__.update(state)
        elif any(type(instance) is cls for cls in self.safe.values()):
            _set_state(instance, state)
        else:
            raise UnpicklingError(
                "Can only build OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {type(instance)}"
            )

    def grow(self, kinds: tuple[type, ...], instruction: str) -> Any:
        """The value on top of the stack, which must be of one of these very types."""
        value = self.top()
        if type(value) not in kinds:
            names = ", ".join(kind.__name__ for kind in kinds)
            raise UnpicklingError(f"Can only {instruction} for {names}, but got {type(value)}")
        return value


def _check_arguments(function: Any, args: Any) -> None:
    """Refuse arguments that are no tuple, and containers made of what may have no end."""
    if type(args) is not tuple:
        raise UnpicklingError(f"a call needs a tuple of arguments, not {type(args).__name__}")
    if any(function is kind for kind in _TAKES_PLAIN):
        for value in args:
            if type(value) not in _PLAIN:
                raise UnpicklingError(f"a {function.__name__} cannot be made of a {type(value)}")
            check_keys(value)


def _set_state(instance: Any, state: Any) -> None:
    """Set an object's attributes as pickle does."""
    if hasattr(instance, "__setstate__"):
        instance.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        instance.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(instance, name, value)


def _name_of(code: int) -> str:
    """What pickle calls an instruction."""
    for name in pickle.__all__:
        value = getattr(pickle, name)
        if isinstance(value, bytes) and value == bytes([code]):
            return name
    return "no instruction of pickle"
