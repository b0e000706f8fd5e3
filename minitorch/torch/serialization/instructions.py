"""The instructions of pickles, each as a step of the machine in `unpickler.py`.

What is not here, such as INST, OBJ and EXT1, the machine refuses.
"""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError, decode_long
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .unpickler import SafeUnpickler

MARK = object()
"""What stands on the stack where a container begins."""

INSTRUCTIONS: dict[int, Callable[[SafeUnpickler], object]] = {}
"""What each instruction does."""

_LARGEST_KEY = 1000  # values in the key of a dict


def instruction(name: str) -> Callable[[Callable[[SafeUnpickler], object]], Any]:
    """Register the meaning of one of pickle's instructions."""

    def register(step: Callable[[SafeUnpickler], object]) -> Callable[[SafeUnpickler], object]:
        INSTRUCTIONS[getattr(pickle, name)[0]] = step
        return step

    return register


def check_keys(keys: Any) -> None:
    """Refuse keys so deep or large that hashing them would not end well."""
    for key in keys:
        waiting, seen = [key], 0
        while waiting:
            value = waiting.pop()
            seen += 1
            if seen > _LARGEST_KEY:
                raise UnpicklingError("the key of a dict or set is too large")
            if isinstance(value, (tuple, frozenset)):
                waiting.extend(value)


# --- Instructions: values --------------------------------------------------------------------


def _constant(name: str, value: Any) -> None:
    instruction(name)(lambda machine: machine.push(value))


def _empty(name: str, kind: type) -> None:
    instruction(name)(lambda machine: machine.push(kind()))


def _numeric(name: str, code: str, size: int) -> None:
    instruction(name)(lambda machine: machine.push(machine.number(code, size)))


def _sized(name: str, code: str, size: int, decode: Callable[[bytes], Any]) -> None:
    """An instruction with a length and that many bytes."""

    def step(machine: SafeUnpickler) -> None:
        length = machine.number(code, size)
        if length < 0:
            raise UnpicklingError(f"the pickle is damaged: {name} of negative length")
        machine.push(decode(bytes(machine.read(length))))

    instruction(name)(step)


def _text(data: bytes) -> str:
    return str(data, "utf-8", "surrogatepass")


def _old_text(data: bytes) -> str | bytes:
    """A string of Python 2, which may be either."""
    try:
        return data.decode("ascii")
    except UnicodeDecodeError:
        return data


_constant("NONE", None)
_constant("NEWTRUE", True)
_constant("NEWFALSE", False)
_constant("EMPTY_TUPLE", ())
_constant("MARK", MARK)
_empty("EMPTY_LIST", list)
_empty("EMPTY_DICT", dict)
_empty("EMPTY_SET", set)
_numeric("BININT", "<i", 4)
_numeric("BININT1", "<B", 1)
_numeric("BININT2", "<H", 2)
_numeric("BINFLOAT", ">d", 8)
_sized("LONG1", "<B", 1, decode_long)
_sized("LONG4", "<i", 4, decode_long)
_sized("SHORT_BINUNICODE", "<B", 1, _text)
_sized("BINUNICODE", "<I", 4, _text)
_sized("BINUNICODE8", "<Q", 8, _text)
_sized("SHORT_BINBYTES", "<B", 1, bytes)
_sized("BINBYTES", "<I", 4, bytes)
_sized("BINBYTES8", "<Q", 8, bytes)
_sized("BYTEARRAY8", "<Q", 8, bytearray)
_sized("SHORT_BINSTRING", "<B", 1, _old_text)
_sized("BINSTRING", "<i", 4, _old_text)


# --- Instructions: the stack and the memo ----------------------------------------------------


@instruction("PROTO")
def _proto(machine: SafeUnpickler) -> None:
    machine.protocol = machine.number("<B", 1)
    if machine.protocol > pickle.HIGHEST_PROTOCOL:
        raise UnpicklingError(f"unsupported pickle protocol: {machine.protocol}")


instruction("FRAME")(lambda machine: machine.read(8))
instruction("POP")(lambda machine: machine.stack.pop())
instruction("POP_MARK")(lambda machine: machine.pop_to_mark())
instruction("DUP")(lambda machine: machine.push(machine.top()))


def _put(name: str, code: str, size: int) -> None:
    def step(machine: SafeUnpickler) -> None:
        machine.memo[machine.number(code, size)] = machine.top()

    instruction(name)(step)


def _get(name: str, code: str, size: int) -> None:
    def step(machine: SafeUnpickler) -> None:
        machine.push(machine.memo[machine.number(code, size)])

    instruction(name)(step)


_put("BINPUT", "<B", 1)
_put("LONG_BINPUT", "<I", 4)
_get("BINGET", "<B", 1)
_get("LONG_BINGET", "<I", 4)


@instruction("MEMOIZE")
def _memoize(machine: SafeUnpickler) -> None:
    machine.memo[len(machine.memo)] = machine.top()


# --- Instructions: containers ------------------------------------------------------------------


def _short_tuple(name: str, length: int) -> None:
    def step(machine: SafeUnpickler) -> None:
        values = [machine.pop() for _ in range(length)]
        machine.push(tuple(reversed(values)))

    instruction(name)(step)


_short_tuple("TUPLE1", 1)
_short_tuple("TUPLE2", 2)
_short_tuple("TUPLE3", 3)


instruction("TUPLE")(lambda machine: machine.push(tuple(machine.pop_to_mark())))
instruction("LIST")(lambda machine: machine.push(machine.pop_to_mark()))


@instruction("FROZENSET")
def _frozenset(machine: SafeUnpickler) -> None:
    values = machine.pop_to_mark()
    check_keys(values)
    machine.push(frozenset(values))


instruction("DICT")(lambda machine: machine.push(_pairs(machine.pop_to_mark())))


@instruction("APPEND")
def _append(machine: SafeUnpickler) -> None:
    value = machine.pop()
    machine.grow((list,), "APPEND").append(value)


@instruction("APPENDS")
def _appends(machine: SafeUnpickler) -> None:
    values = machine.pop_to_mark()
    machine.grow((list,), "APPENDS").extend(values)


@instruction("ADDITEMS")
def _add_items(machine: SafeUnpickler) -> None:
    values = machine.pop_to_mark()
    check_keys(values)
    machine.grow((set,), "ADDITEMS").update(values)


@instruction("SETITEM")
def _set_item(machine: SafeUnpickler) -> None:
    value, key = machine.pop(), machine.pop()
    check_keys([key])
    machine.grow((dict, OrderedDict, Counter), "SETITEM")[key] = value


@instruction("SETITEMS")
def _set_items(machine: SafeUnpickler) -> None:
    items = machine.pop_to_mark()
    target = machine.grow((dict, OrderedDict, Counter), "SETITEMS")
    for key, value in _pairs(items).items():
        target[key] = value


def _pairs(items: list[Any]) -> dict[Any, Any]:
    """Keys and values that follow each other."""
    check_keys(items[::2])
    return dict(zip(items[::2], items[1::2], strict=True))


# --- Instructions: names and calls -----------------------------------------------------------


@instruction("GLOBAL")
def _global(machine: SafeUnpickler) -> None:
    module = machine.line()
    machine.push(machine.find(module, machine.line()))


@instruction("STACK_GLOBAL")
def _stack_global(machine: SafeUnpickler) -> None:
    name, module = machine.pop(), machine.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpicklingError("STACK_GLOBAL requires str")
    machine.push(machine.find(module, name))


@instruction("REDUCE")
def _reduce(machine: SafeUnpickler) -> None:
    args, function = machine.pop(), machine.pop()
    machine.push(machine.call(function, args))


@instruction("NEWOBJ")
def _newobj(machine: SafeUnpickler) -> None:
    args, cls = machine.pop(), machine.pop()
    machine.push(machine.new(cls, args, {}))


@instruction("NEWOBJ_EX")
def _newobj_ex(machine: SafeUnpickler) -> None:
    kwargs, args, cls = machine.pop(), machine.pop(), machine.pop()
    machine.push(machine.new(cls, args, kwargs))


@instruction("BUILD")
def _build(machine: SafeUnpickler) -> None:
    state = machine.pop()
    machine.build(machine.top(), state)


instruction("BINPERSID")(lambda machine: machine.push(machine.persistent_load(machine.pop())))
