"""Loops: neighbouring elementwise entries of a tape, and sums over what they compute, as one function.

A loop goes once over all elements of a shape. What it computes on the way stays in registers unless somebody else
reads it. Its text is Python: it is printed for readers, and compiled by Numba. Sizes, strides, addresses and
numbers are not in the text but in the block of words that it is given, so equal chains of operations are one function.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .memory import LENT, OWN, Memory, Place, Root
from .tape import Slot


def bits_of(value: float) -> int:
    """A float64 as a word."""
    return struct.unpack("<q", struct.pack("<d", value))[0]


Number = float | int | bool
Strides = tuple[int, ...]


@dataclass(slots=True)
class Operation:
    """One elementwise operation: a scalar function of slots and numbers."""

    made: Slot
    scalar: Callable[..., Any]
    name: str
    given: tuple[Slot | Number, ...]


@dataclass(slots=True)
class Sum:
    """A sum along some dimensions, or a mean if it is divided."""

    made: Slot
    of: Slot
    dims: tuple[int, ...]
    divisor: int


@dataclass(slots=True)
class Loop:
    """A step of a program: operations over one shape, and sums of what they compute.

    Attributes:
        shape: of all that is computed
        real: the type that it is computed in
        operations: in order
        sums: of results of these, or of what is read
        stored: results that others read; the rest stays in registers
    """

    shape: tuple[int, ...]
    real: Any
    operations: list[Operation] = field(default_factory=list)
    sums: list[Sum] = field(default_factory=list)
    stored: set[Slot] = field(default_factory=set)

    @property
    def made(self) -> list[Slot]:
        """The slots that it computes."""
        return [o.made for o in self.operations] + [s.made for s in self.sums]

    def read(self) -> list[Slot]:
        """The slots that it reads from memory."""
        own = {o.made for o in self.operations}
        given = [x for o in self.operations for x in o.given if isinstance(x, Slot)]
        given += [s.of for s in self.sums]
        return [slot for slot in dict.fromkeys(given) if slot not in own]

    def written(self) -> list[Slot]:
        """The slots that it leaves in memory."""
        return [o.made for o in self.operations if o.made in self.stored] + [
            s.made for s in self.sums
        ]


@dataclass(slots=True)
class Operand:
    """Something in memory that a loop reads or writes: its place, and its strides over the loop's dimensions."""

    slot: Slot
    place: Place
    strides: Strides
    role: str  # "read", "stored", "sum"

    @property
    def kind(self) -> str:
        """The name of its type."""
        return self.place.layout[2].name


class Text:
    """The source of a loop, and the words that it is given.

    Attributes:
        source: of a function `loop(block, task, tasks)`
        scalars: the names of scalar functions in it
        slots: the numbers that slots have in its names: `v3` is computed, `x3` is memory
        words: whole numbers, places, and numbers as float64
        parallel: whether tasks may share the work
    """

    def __init__(self, loop: Loop, memory: Memory) -> None:
        self.loop = loop
        operands = [_operand(slot, loop, memory, "read") for slot in loop.read()]
        operands += [
            _operand(o.made, loop, memory, "stored")
            for o in loop.operations
            if o.made in loop.stored
        ]
        operands += [_sum_operand(s, loop, memory) for s in loop.sums]
        arrays = [o.strides for o in operands if o.role != "sum"]
        self.sizes, rows = joined_dimensions(loop.shape, [o.strides for o in operands], arrays)
        for operand, strides in zip(operands, rows, strict=True):
            operand.strides = strides
            if self.sizes == [1] and operand.role != "sum":
                operand.strides = (operand.place.layout[2].itemsize,)
        self.operands = operands
        self.words: list[int | Place] = list(self.sizes)
        self.over, self.early = self._overwritten()
        self.slots: dict[Slot, int] = {}  # numbers in names
        self.steps: dict[int, str] = {}  # strides in elements
        self.scalars: dict[str, Any] = {}
        self.numbers: dict[int, str] = {}  # by their bits
        self.before: list[str] = []  # lines before all loops
        self.opening: list[str] = []  # lines before the innermost loop
        self.first: list[str] = []  # lines at its beginning
        self.closing: list[str] = []  # lines after it
        self.after: list[str] = []
        self.expressions: dict[Slot, str] = {}
        self._choose_split()
        for operand in operands:
            self._open(operand)
        body = self._body()
        self.source = self._assemble(body)

    def _overwritten(self) -> tuple[dict[Slot, Slot], set[Slot]]:
        """By slots that are stored where something lies that is read, what that is; and all that is read there."""
        read, stored = (
            [(o.slot, (o.place.root, o.place.offset, o.strides, o.kind)) for o in self.operands if o.role == role]
            for role in ("read", "stored")
        )  # fmt: skip
        slots = {place: slot for slot, place in read}
        over = {slot: slots[place] for slot, place in stored if place in slots}
        places = {place for _, place in stored}
        return over, {slot for slot, place in read if place in places}

    # --- How tasks share the work ------------------------------------------------------------------

    def _choose_split(self) -> None:
        """Tasks share the first dimension in which each has sums of its own, next to each other in memory."""
        sums = [o.strides for o in self.operands if o.role == "sum"]
        shared = [
            d for d in range(len(self.sizes)) if all(s[d] and s[d] == max(s) for s in sums)
        ]  # fmt: skip
        self.split, self.parallel = shared[0] if shared else 0, bool(shared)
        self.columns = self.split == len(self.sizes) - 1

    # --- Operands ----------------------------------------------------------------------------------

    def _word(self, value: int | Place) -> str:
        self.words.append(value)
        return f"w[{len(self.words) - 1}]"

    def _open(self, operand: Operand) -> None:
        """Where a row of an operand begins, and what stands for an element."""
        if operand.slot in self.over:
            return
        name, kind, inner = f"x{self._number(operand.slot)}", operand.kind, operand.strides[-1]
        size = operand.place.layout[2].itemsize
        start = self._word(operand.place)
        for d, stride in enumerate(operand.strides[:-1]):
            if stride:
                start += f" + i{d} * {self._word(stride)}"
        if self.columns and inner:
            start += f" + first * {size if inner == size else self._word(inner)}"
        if operand.role == "sum":
            self._open_sum(operand, name, start)
            return
        if not inner:
            value = f"{kind}({start}, 1)[0]"
            self.opening.append(f"{name} = {self._cast(value, kind)}")
            element = name
        else:
            self.opening.append(f"{name} = {kind}({start}, {self._length(operand)})")
            element = self._cast(self._element(operand), kind)
        if operand.slot in self.early:  # it is read before something is stored there
            self.first.append(f"{name}_ = {element}")
            element = f"{name}_"
        if operand.role == "read":
            self.expressions[operand.slot] = element

    def _number(self, slot: Slot) -> int:
        """A number for a slot within the text, so that equal loops have equal texts."""
        return self.slots.setdefault(slot, len(self.slots))

    def _length(self, operand: Operand) -> str:
        """How many elements of its memory a row of an operand spans."""
        step = operand.strides[-1] // operand.place.layout[2].itemsize
        return "n" if step == 1 else f"(n - 1) * {self._step(step)} + 1"

    def _element(self, operand: Operand) -> str:
        """An operand's element in its row."""
        step = operand.strides[-1] // operand.place.layout[2].itemsize
        array = self._number(self.over.get(operand.slot, operand.slot))
        return f"x{array}[{'i' if step == 1 else f'i * {self._step(step)}'}]"

    def _step(self, step: int) -> str:
        if step not in self.steps:
            self.steps[step] = name = f"step{len(self.steps)}"
            self.before.append(f"{name} = {self._word(step)}")
        return self.steps[step]

    def _cast(self, value: str, kind: str) -> str:
        return value if kind == self.loop.real.__name__ else f"number({value})"

    def _open_sum(self, operand: Operand, name: str, start: str) -> None:
        """A sum is kept in a register along a row, or added up in memory."""
        kind = operand.kind
        divisor = next(s.divisor for s in self.loop.sums if s.made == operand.slot)
        over = f" / wide({self._word(divisor)})" if divisor != 1 else ""
        rows = [s for s, size in zip(operand.strides, self.sizes, strict=True) if size > 1]
        register = operand.strides[-1] == 0
        direct = register and all(rows[:-1])  # each row has an element of its own
        if register:
            self.opening += [f"{name} = {kind}({start}, 1)", f"total{name} = wide(0)"]
            value = f"number(total{name}{over if direct else ''})"
            self.closing.append(f"{name}[0] {'' if direct else '+'}= {value}")
        else:
            self.opening.append(f"{name} = {kind}({start}, {self._length(operand)})")
        if direct:
            return
        address, own = self._word(operand.place), operand.strides[self.split]
        if not self.parallel:
            count = self._word(math.prod(operand.place.layout[0]))
        elif own == operand.place.layout[2].itemsize:
            count, address = "(last - first)", f"{address} + first * {own}"
        else:
            count = f"(last - first) * {self._word(own // operand.place.layout[2].itemsize)}"
            address = f"{address} + first * {self._word(own)}"
        self.before += [
            f"{name} = {kind}({address}, {count})",
            f"for i in range({count}):",
            f"    {name}[i] = number(0)",
        ]
        if over:
            self.after += [
                f"{name} = {kind}({address}, {count})",
                f"for i in range({count}):",
                f"    {name}[i] = number(wide({name}[i]){over})",
            ]

    # --- The body ------------------------------------------------------------------------------------

    def _value(self, given: Slot | Number) -> str:
        if isinstance(given, Slot):
            return self.expressions[given]
        bits = bits_of(float(given))
        if bits not in self.numbers:
            self.words.append(bits)
            place = f"block + {8 * (len(self.words) - 1)}"
            self.numbers[bits] = name = f"c{len(self.numbers)}"
            self.before.append(f"{name} = number(double({place}, 1)[0])")
        return self.numbers[bits]

    def _body(self) -> list[str]:
        lines = list(self.first)
        by_slot = {o.slot: o for o in self.operands if o.role == "stored"}
        for operation in self.loop.operations:
            name = f"v{self._number(operation.made)}"
            given = ", ".join(map(self._value, operation.given))
            fn = self._scalar(operation)
            lines.append(f"{name} = {fn}({given})")
            self.expressions[operation.made] = name
            operand = by_slot.get(operation.made)
            if operand is not None:
                lines.append(f"{self._element(operand)} = {name}")
                if operand.kind == "bool":
                    self.expressions[operation.made] = f"number({name})"
        for each in self.loop.sums:
            name, value = f"x{self._number(each.made)}", self.expressions[each.of]
            operand = next(o for o in self.operands if o.slot == each.made)
            if operand.strides[-1] == 0:
                lines.append(f"total{name} = plus(total{name}, {value})")
            else:
                lines.append(f"{self._element(operand)} += {value}")
        return lines

    def _scalar(self, operation: Operation) -> str:
        name = operation.name
        while self.scalars.get(name, operation.scalar) is not operation.scalar:
            name += "_"
        self.scalars[name] = operation.scalar
        return name

    def _assemble(self, body: list[str]) -> str:
        depth = len(self.sizes)
        begin = [f"w = words(block, {len(self.words)})"]
        if self.columns:
            begin += [f"first, last = share(task, tasks, w[{depth - 1}])", "n = last - first"]
        else:
            begin += [f"first, last = share(task, tasks, w[{self.split}])", f"n = w[{depth - 1}]"]
        lines = begin + self.before
        pad = ""
        for d in range(depth - 1):
            span = "first, last" if d == self.split else f"w[{d}]"
            lines.append(f"{pad}for i{d} in range({span}):")
            pad += "    "
        lines += [pad + line for line in self.opening]
        lines += [f"{pad}for i in range(n):", *(f"{pad}    {line}" for line in body)]
        lines += [pad + line for line in self.closing]
        lines += self.after
        return "\n    ".join(["def loop(block, task, tasks):", *lines]) + "\n"


# --- Memory ----------------------------------------------------------------------------------------------


def overwrite(loop: Loop, k: int, memory: Memory) -> None:
    """Let what a loop, step k, stores lie where something lies that it reads element by element, and nobody afterwards."""

    def way(place: Place) -> Any:
        return place.offset, spread_strides(place.layout, loop.shape), place.layout[2]

    read: dict[Root, set[Any]] = {}
    for place in map(memory.place, loop.read()):
        read.setdefault(place.root, set()).add(way(place))
    for place in [memory.place(o.made) for o in loop.operations if o.made in loop.stored]:
        new = place.root
        if new.first != k or new.whose not in (OWN, LENT):
            continue
        for old, ways in read.items():
            is_free = old.whose == OWN and old.first < k and old.last == k
            if is_free and old.nbytes == new.nbytes and ways == {way(place)}:
                memory.merge(old, new)
                break


# --- Dimensions ------------------------------------------------------------------------------------------


def _operand(slot: Slot, loop: Loop, memory: Memory, role: str) -> Operand:
    place = memory.place(slot)
    return Operand(slot, place, spread_strides(place.layout, loop.shape), role)


def _sum_operand(each: Sum, loop: Loop, memory: Memory) -> Operand:
    """The strides of a sum over the dimensions of what is summed: 0 along those that are."""
    place = memory.place(each.made)
    own, step = [0] * len(loop.shape), place.layout[2].itemsize
    for d in reversed(range(len(loop.shape))):
        if d not in each.dims:
            own[d] = step
            step *= loop.shape[d]
    return Operand(each.made, place, tuple(own), "sum")


def spread_strides(layout: Any, shape: tuple[int, ...]) -> Strides:
    """An array's strides over a shape that it broadcasts to."""
    own, strides, _ = layout
    missing = len(shape) - len(own)
    return (0,) * missing + tuple(
        0 if n == 1 else s for n, s in zip(own, strides, strict=True)
    )  # fmt: skip


def joined_dimensions(
    shape: tuple[int, ...], rows: Sequence[Strides], arrays: Sequence[Strides]
) -> tuple[list[int], list[Strides]]:
    """Dimensions in the order of memory, with neighbours as one where all operands allow it.

    Args:
        shape: their sizes
        rows: the strides of all operands
        arrays: the strides of those whose memory may decide the order; the last one without gaps does

    Returns:
        the sizes, and for each operand its strides
    """
    dims = [d for d, size in enumerate(shape) if size > 1]
    first = next((r for r in reversed(arrays) if all(r[d] for d in dims)), rows[0])
    dims.sort(key=lambda d: -abs(first[d]))
    sizes: list[int] = []
    strides: list[list[int]] = []  # by dimension
    for d in dims:
        own = [r[d] for r in rows]
        if sizes and all(a == b * shape[d] for a, b in zip(strides[-1], own, strict=True)):
            sizes[-1] *= shape[d]
            strides[-1] = own
        else:
            sizes.append(shape[d])
            strides.append(own)
    if not sizes:
        sizes, strides = [1], [[0] * len(rows)]
    return sizes, [tuple(s[k] for s in strides) for k in range(len(rows))]
