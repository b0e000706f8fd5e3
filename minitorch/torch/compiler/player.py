"""The player: a tape as one Python function.

A tape that leaves no graph behind is played on arrays: what records compute, one call after the other, with
nothing in between, and each array is dropped after its last use. A tape whose results have a history
is played on tensors, and operations are recorded as ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.graph import Node, modes, numbers
from ..autograd.saved import FREED
from ..backends.cuda.backend import require_cuda
from ..backends.interface import as_array
from ..generator import Generator
from ..ops.record import OPAQUE, bind
from ..ops.writes import InPlace, bind_in_place
from ..tensor import Tensor, bump_version, mark_inference, new_object, wrap
from .tape import ALIAS, Entry, Layout, Slot, Tape, slots_in
from .tracing import Constant, Places

if TYPE_CHECKING:
    pass


class FreedNode(Node):
    """Stands for a graph that was walked within a tape: its values are not there any more."""

    def __init__(self, name: str, layout: Any) -> None:
        self.number = next(numbers)
        self._name, self.layout = name, layout

    def name(self) -> str:
        return self._name

    def backward(self, gradients: list[Tensor | None]) -> Sequence[Tensor | None]:
        raise RuntimeError(FREED)


def generators_of(tape: Tape) -> list[Generator]:
    """The generators that a tape is given, and those of the GPUs that it uses."""
    given = [v for e in tape.entries for v in e.params.values() if isinstance(v, Generator)]
    devices = dict.fromkeys(tape.elsewhere.values())
    given += [require_cuda().generator(device.index or 0) for device in devices]
    return list({id(each): each for each in given}.values())


class Player:
    """Writes the source of a player."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.names: dict[str, Any] = {
            "__name__": __name__, "as_array": as_array, "ndarray": np.ndarray, "wrap": wrap, "new_object": new_object, "Tensor": Tensor, "bump_version": bump_version, "bind": bind,
            "bind_in_place": bind_in_place, "modes": modes, "copyto": np.copyto, "refuse": _refuse,
        }  # fmt: skip
        self.lines: list[str] = []
        left = tape.result, [gradient for *_, gradient in tape.gradients]
        self.returned = {int(slot) for slot in slots_in(left)}
        self.wrapped: set[int] = set()  # slots of these that are tensors already
        self.fixed: set[int] = set()  # slots whose arrays are kept from play to play
        self.gradients = list(tape.gradients)
        self.cleared: set[int] = set()  # slots whose gradients are known to be None
        self.layouts: dict[Slot, Layout] = {s: of.layout for s, of in tape.sources.items()}
        for entry in tape.entries:
            self.layouts.update(zip(entry.outputs, entry.layouts, strict=True))

    def function(self) -> Callable[[Sequence[Tensor]], Any]:
        """Compile the source."""
        source = self.source()
        exec(compile(source, f"<tape of {self.tape.name}>", "exec"), self.names)
        return self.names["play"]

    def source(self) -> str:
        """The player as text."""
        return "\n    ".join(["def play(given):", *self.body()])

    def body(self) -> list[str]:
        """The lines of the player."""
        self.begin()
        self.entries()
        self.end()
        self.lines.append(f"return {self.result(self.tape.result)}")
        return self.lines

    def entries(self) -> None:
        """Play all entries."""
        last = self._last_uses()
        for i, entry in enumerate(self.tape.entries):
            self.leave(entry.number)
            with self.chosen(entry.unless, entry.slots()):
                self.entry(entry)
            for slot in last.get(i, ()):
                self.lines.append(f"del {self.variable(slot)}")

    @contextmanager
    def chosen(self, unless: Slot | None, used: Iterable[Slot]) -> Iterator[None]:
        """Let lines be left out where the number of a slot is not 0; what they use is there in any case."""
        if unless is None:
            yield
            return
        for slot in used:
            if int(slot) in self.returned:
                self.tensor(slot)
        lines, self.lines = self.lines, []
        yield
        self.lines = [
            *lines,
            f"if not {self.array(unless)}:",
            *(f"    {line}" for line in self.lines),
        ]

    def begin(self) -> None:
        """Name the tensors that come from outside."""
        for slot, source in self.tape.sources.items():
            if source.kind == "argument":
                self.lines.append(f"t{int(slot)} = given[{source.of}]")
            elif source.detached:
                self.lines.append(f"t{int(slot)} = {self.constant(source.of)}.detach()")
            elif source.kind == "tensor":
                self.names[f"t{int(slot)}"] = source.of
            else:
                self.lines.append(f"t{int(slot)} = t{int(source.of)}._grad")

    def leave(self, number: float = math.inf) -> None:
        """Leave gradients as they are before the entry of a number: an error there finds them."""
        due = {slot: gradient for _, slot, gradient in _taken(self.gradients, number)}
        for slot, gradient in due.items():
            if gradient is None:
                self._clear(int(slot))
            else:
                self.lines.append(f"t{int(slot)}._grad = {self.tensor(gradient)}")
                self.cleared.discard(int(slot))

    def forget_gradients(self, number: float) -> None:
        """Let go of gradients that are replaced before the entry of a number, and are not read."""
        read = {int(s.of) for s in self.tape.sources.values() if s.kind == "gradient"}
        due = {int(slot) for before, slot, _ in self.gradients if before <= number}
        for slot in sorted(due - read):
            self._clear(slot)

    def _clear(self, slot: int) -> None:
        if slot not in self.cleared:
            self.lines.append(f"t{slot}._grad = None")
            self.cleared.add(slot)

    def tensor(self, slot: Slot) -> str:
        """A slot that is left behind, as a tensor."""
        return f"t{int(slot)}"

    def variable(self, slot: Slot) -> str:
        """What stands for a slot."""
        raise NotImplementedError

    def entry(self, entry: Entry) -> None:
        """Play an entry."""
        raise NotImplementedError

    def end(self) -> None:
        """Leave gradients, and return the result."""
        raise NotImplementedError

    def _last_uses(self) -> dict[int, list[Slot]]:
        """By entries, the slots that nobody reads after them."""
        kept = self.returned | self.fixed | {int(s) for s in self.tape.sources}
        last: dict[int, tuple[int, Slot]] = {}
        for i, entry in enumerate(self.tape.entries):
            for slot in (*entry.outputs, *entry.slots()):
                if int(slot) not in kept:
                    last[int(slot)] = i, slot
        found: dict[int, list[Slot]] = {}
        for i, slot in last.values():
            found.setdefault(i, []).append(slot)
        return found

    # --- Expressions -----------------------------------------------------------------------------

    def constant(self, value: Any) -> str:
        """A name for a value."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def text(self, value: Any) -> str:
        """A value as an expression."""
        if isinstance(value, Slot):
            return self.array(value) if value.of_array else self.variable(value)
        if isinstance(value, Constant):
            name = self.constant(value.array)
            return name if isinstance(value, Places) else f"{name}.copy()"
        if not _has_parts(value):
            inline = value is None or type(value) in (bool, int, str)
            inline = inline or (type(value) is float and math.isfinite(value))
            return repr(value) if inline else self.constant(value)
        if type(value) is dict:
            return "{" + ", ".join(f"{k!r}: {self.text(v)}" for k, v in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self.text, (value.start, value.stop, value.step)))})"
        items = ", ".join(map(self.text, value))
        if hasattr(value, "_fields"):
            return f"{self.constant(type(value))}({items})"
        return f"[{items}]" if isinstance(value, list) else f"({items},)"

    def array(self, slot: Slot) -> str:
        """The array of a slot."""
        raise NotImplementedError

    def result(self, value: Any) -> str:
        """The result as an expression: tensors, and new containers around them."""
        if isinstance(value, Slot):
            return f"t{int(value)}"
        if isinstance(value, (tuple, list)):
            items = "".join(f"{self.result(each)}, " for each in value)
            if hasattr(value, "_fields"):
                return f"{self.constant(type(value))}({items})"
            text = f"[{items}]" if isinstance(value, list) else f"({items})"
            plain = type(value) in (tuple, list)
            return text if plain else f"{self.constant(type(value))}({text})"
        if isinstance(value, dict):
            items = "".join(f"{self.constant(k)}: {self.result(v)}, " for k, v in value.items())
            text = f"{{{items}}}"
            return text if type(value) is dict else f"{self.constant(type(value))}({text})"
        return self.constant(value)

    def call(self, fn: Any, inputs: Sequence[Any], params: dict[str, Any], more: str = "") -> str:
        """A call with slots in their places."""
        given = [self.text(x) for x in inputs]
        given += [f"{name}={self.text(value)}" for name, value in params.items()]
        return f"{self.constant(fn)}({', '.join([*given, *([more] if more else [])])})"


class OnArrays(Player):
    """Plays on arrays, without a graph."""

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape)
        self.written = list(tape.written)

    def leave(self, number: float = math.inf) -> None:
        super().leave(number)
        for _, slot in _taken(self.written, number):  # operations on tensors count this themselves
            self.lines.append(f"bump_version(t{int(slot)})")

    def begin(self) -> None:
        super().begin()
        for slot, source in self.tape.sources.items():
            if source.kind == "tensor":
                self.names[f"v{int(slot)}"] = source.of._array
            else:
                self.lines.append(f"v{int(slot)} = t{int(slot)}._array")

    def tensor(self, slot: Slot) -> str:
        number = int(slot)
        if slot not in self.tape.sources and number not in self.wrapped:
            self.lines += [f"t{number} = new_object(Tensor)", f"t{number}._array = v{number}"]
            self.wrapped.add(number)
        return f"t{number}"

    def variable(self, slot: Slot) -> str:
        return f"v{int(slot)}"

    def array(self, slot: Slot) -> str:
        return self.variable(slot)

    def entry(self, entry: Entry) -> None:
        op = entry.op
        made = [f"v{int(s)}" for s in entry.outputs]
        if op is ALIAS:
            self.lines.append(f"{made[0]} = {self.text(entry.inputs[0])}")
        elif isinstance(op, InPlace):
            self._write(op.op, entry)
        elif op.writes or not entry.outputs:
            self._update(entry)
        else:
            call = self.call(op.compute, entry.inputs, entry.params)
            self.lines.append(f"{', '.join(made)}{',' if entry.several and made else ''} = {call}")
            for name, (shape, _, _) in zip(made, entry.layouts, strict=True):
                if not shape:
                    self.lines.append(f"if type({name}) is not ndarray: {name} = as_array({name})")
                if op.kind == OPAQUE:
                    self.lines.append(f"if {name}.shape != {shape!r}: refuse({op.name!r})")

    def _write(self, op: Any, entry: Entry) -> None:
        """An in-place write, in the way that eager calls choose."""
        target = self.text(entry.inputs[0])
        if op.write is not None:
            self.lines.append(self.call(op.write, entry.inputs, entry.params))
        elif op.ufunc is not None and self._fits(entry.inputs):
            self.lines.append(self.call(op.ufunc, entry.inputs, entry.params, f"out={target}"))
        else:
            call = self.call(op.compute, entry.inputs, entry.params)
            self.lines.append(f"copyto({target}, as_array({call}), casting='unsafe')")

    def _fits(self, inputs: Sequence[Any]) -> bool:
        """Whether a ufunc can write straight into the first of its inputs."""
        shape, _, kind = self.layouts[inputs[0]]
        if kind.kind != "f" or kind.itemsize < 4:
            return False
        for other in inputs[1:]:
            if isinstance(other, Slot):
                own = self.layouts[other]
                if own[2] != kind or own[0] != shape:
                    return False
            elif type(other) not in (float, int):
                return False
        return True

    def _update(self, entry: Entry) -> None:
        """An update, which takes tensors."""
        wrapped = {}
        for slot in entry.slots():
            number = int(slot)
            if slot in self.tape.sources or number in self.wrapped:
                wrapped[number] = f"t{number}"
            elif number in self.returned:
                wrapped[number] = self.tensor(slot)
            else:
                wrapped[number] = f"wrap(v{number})"
        variable = self.variable
        self.variable = lambda slot: wrapped[int(slot)]  # type: ignore[method-assign]
        self.lines.append(self.call(entry.op.compute, entry.inputs, entry.params))
        self.variable = variable  # type: ignore[method-assign]

    def end(self) -> None:
        tape = self.tape
        for slot in sorted(self.returned - {int(s) for s in tape.sources}):
            self.tensor(Slot(slot))
            if slot in tape.freed:
                name, output = tape.freed[Slot(slot)]
                layout = self.layouts[Slot(slot)]
                about = self.constant((layout[0], layout[2]))
                self.names["FreedNode"] = FreedNode
                self.lines.append(
                    f"t{slot}._edge, t{slot}._requires_grad = (FreedNode({name!r}, {about}), {output}), True"
                )
            if slot in tape.versions:
                self.lines.append(f"t{slot}._counter = [{tape.versions[Slot(slot)]}]")
            if slot in tape.inference:
                self.lines.append(f"{self.constant(mark_inference)}(t{slot})")
        self.leave()


class OnTensors(Player):
    """Plays on tensors, recording what is differentiated."""

    def variable(self, slot: Slot) -> str:
        return f"t{int(slot)}"

    def array(self, slot: Slot) -> str:
        return f"t{int(slot)}._array"

    def body(self) -> list[str]:
        lines = [f"    {line}" for line in super().body()]
        before = "modes.grad, modes.inference"
        return [f"before = {before}", "try:", *lines, "finally:", f"    {before} = before"]

    def begin(self) -> None:
        super().begin()
        self.modes: Any = None

    def entry(self, entry: Entry) -> None:
        if entry.modes != self.modes:
            self.modes = entry.modes
            self.lines.append(f"modes.grad, modes.inference = {entry.modes!r}")
        op = entry.op
        made = ", ".join(f"t{int(s)}" for s in entry.outputs)
        if op is ALIAS:
            self.lines.append(f"{made} = {self.text(entry.inputs[0])}.detach()")
        elif isinstance(op, InPlace):
            target, *others = map(self.text, entry.inputs)
            given = "".join(f"{x}, " for x in others)
            record, params = self.constant(op.op), self._params(entry)
            self.lines.append(f"bind_in_place({record}, {target}, ({given}), {params}, True)")
        elif op.writes or not entry.outputs:
            self.lines.append(self.call(op.compute, entry.inputs, entry.params))
        else:
            given = "".join(f"{self.text(x)}, " for x in entry.inputs)
            call = f"bind({self.constant(op)}, ({given}), {self._params(entry)}, True)"
            self.lines.append(f"{made}{',' if entry.several and made else ''} = {call}")
            for slot, (shape, _, _) in zip(entry.outputs, entry.layouts, strict=True):
                name = f"t{int(slot)}._array"
                self.lines.append(f"if {name}.shape != {shape!r}: refuse({op.name!r})")

    def _params(self, entry: Entry) -> str:
        items = [f"{name!r}: {self.text(value)}" for name, value in entry.params.items()]
        return "{" + ", ".join(items) + "}"

    def end(self) -> None:
        self.leave()


def _has_parts(value: Any) -> bool:
    """Whether a value has slots, or numbers of the program, in it."""
    if isinstance(value, (tuple, list)):
        return any(map(_has_parts, value))
    if isinstance(value, dict):
        return any(map(_has_parts, value.values()))
    if isinstance(value, slice):
        return _has_parts((value.start, value.stop, value.step))
    return isinstance(value, (Slot, Constant))


def _taken(waiting: list[Any], number: float) -> list[Any]:
    """Take from a list what comes before a number."""
    due = [each for each in waiting if each[0] <= number]
    waiting[:] = waiting[len(due) :]
    return due


def _refuse(name: str) -> None:
    raise RuntimeError(
        f"torch.compile: {name!r} gave another shape than when it was traced. Wrap the function that calls it in "
        "torch.compiler.disable"
    )
