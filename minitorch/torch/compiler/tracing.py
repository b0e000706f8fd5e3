"""The tracer: an interpreter that lets everything happen as it does, and writes a tape of it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import is_not
from typing import Any

import numpy as np

from ..autograd.graph import Node, modes, numbers
from ..backends.interface import ARRAYS, address_of
from ..fixed import is_fixed
from ..interpreters import Composite, Exchange, Interpreter, Update
from ..ops.creation import LIFT
from ..ops.record import ELEMENTWISE, MOVEMENT, PRODUCT, REDUCTION
from ..tensor import Size, Tensor
from .comparing import attributes_of, fills_memory, is_traced, owner
from .names import is_caught
from .reading import COMPILER, CannotTrace, Reading, is_of_program, place_of
from .state import thread
from .tape import (
    ALIAS,
    CONTAINERS,
    ArraySlot,
    Entry,
    Layout,
    Slot,
    Source,
    Tape,
    layout_of,
    rebuilt,
    slots_in,
)

SHAPE_FROM_VALUES = frozenset(
    ("nonzero", "masked_select", "unique", "unique_consecutive", "unique_dim", "bincount",
     "repeat_interleave", "argwhere", "histogram", "take_masked")
)  # fmt: skip
"""Operations whose results have a shape that depends on values."""


class Tracer(Interpreter):
    """Writes the tape of one call.

    Attributes:
        tape: so far
        found: tensors that guards know, by their addresses
        suppresses: whether context managers of the program may let it go on after errors
        broken: why it can be none, once that is known
        unrecorded: why operations cannot be recorded at a play, if they cannot
        unless: the slot that says whether what happens now is left out
        incomplete: why this call's tape cannot be played, though a later one's may
    """

    def __init__(
        self, name: str, reading: Reading, found: Any = (), suppresses: bool = False
    ) -> None:
        self.tape = Tape(name)
        self.reading = reading
        self.found = found
        self.suppresses = suppresses
        self.broken: CannotTrace | None = None
        self.unrecorded = ""
        self.unless: Slot | None = None
        self.incomplete = ""
        self.layouts: dict[Any, Any] = {}  # each once
        self.first_node = next(numbers)
        self.walked: set[Node] = set()  # nodes that a backward went through
        self.tensors: dict[int, tuple[Slot, Tensor, Any]] = {}
        self.arrays: dict[int, Slot] = {}
        self.grads: dict[Slot, bool] = {}  # whether a slot requires a gradient, when last seen
        self.owners: set[int] = set()  # arrays whose memory slots have
        self.kept: list[Any] = []  # so that no address is given twice
        self.watched: list[
            tuple[Tensor, Tensor | None]
        ] = []  # tensors, and the gradients that they had
        self.gradients: list[Tensor | None] = []  # that they have
        self.changes: list[tuple[int, Tensor, Tensor | None]] = []  # of these, before which entry

    # --- Around the call -------------------------------------------------------------------------

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Write what happens, and watch it."""
        thread.reading = self.reading
        self.install_last()
        try:
            with self.reading:
                yield
        finally:
            self.remove()
            thread.reading = None

    def watch(self, tensors: Iterable[Tensor]) -> None:
        """Note from now on which gradients these tensors have."""
        self.watched = [(tensor, tensor._grad) for tensor in tensors]
        self.gradients = [gradient for _, gradient in self.watched]

    def note_gradients(self) -> None:
        """Note which tensors have another gradient than before the last entry."""
        now = [tensor._grad for tensor, _ in self.watched]
        if any(map(is_not, now, self.gradients)):
            pairs = zip(self.watched, now, self.gradients, strict=True)
            number = len(self.tape.entries)
            self.changes += [
                (number, tensor, new) for (tensor, _), new, old in pairs if new is not old
            ]
            self.gradients = now

    def begin_behind(self, tape: Tape, tensors: Sequence[Tensor]) -> None:
        """Let what another tape has be known here: its tensors, in the order of its slots, and its lists."""
        self.first_node = 0
        for tensor in tensors:
            self._new(tensor)
            self.owners.add(id(owner(tensor._array)))

    def operation(self, op: Any, inputs: Any, params: dict[str, Any], perform: Any) -> Any:
        if type(op) is Composite or self.broken or self.reading.inside:
            return perform(op, inputs, params)
        self.note_gradients()
        self.reading.inside += 1
        try:
            entry = self._entry(op, inputs, params)
        except CannotTrace as reason:
            self.broken = reason
            entry = None
        finally:
            self.reading.inside -= 1
        arrays = [t._array for t in tensors_in(inputs)] if isinstance(op, Update) else ()
        self.reading.inside += 1
        try:
            result = perform(op, inputs, params)
        finally:
            self.reading.inside -= 1
        if entry is not None:
            try:
                self._finish(entry, inputs, result, arrays)
            except CannotTrace as reason:
                self.broken = reason
        return result

    def backward(self, node: Any, gradients: Any, perform: Any) -> Any:
        self.walked.add(node)
        if node.number < self.first_node and not self.broken:
            self.broken = self._reason("backward reaches what was computed before the call")
        return perform(node, gradients)

    @contextmanager
    def choosing(self, found: Tensor, skips: bool) -> Iterator[None]:
        """Let a play leave out what follows where a tensor says so: updates, which make nothing."""
        changes = len(self.changes)
        self.unless = self._known(found)
        if skips or self.unless is None:
            self.incomplete = "a tensor decides what is done, and it was not done"
        try:
            yield
        finally:
            self.unless = None
        self.note_gradients()
        if len(self.changes) > changes:
            self.incomplete = "gradients are set if a tensor says so"

    # --- Entries ---------------------------------------------------------------------------------

    def _reason(self, why: str) -> CannotTrace:
        return CannotTrace(why, place_of(sys._getframe()))

    def _entry(self, op: Any, inputs: Any, params: dict[str, Any]) -> Entry:
        """What is about to be performed, with slots for tensors."""
        name = getattr(getattr(op, "op", op), "name", "")
        if name in SHAPE_FROM_VALUES or (name == "index" and _has_mask(params)):
            raise self._reason(f"the shape of what {name!r} gives depends on values")
        if op is LIFT:
            params = {**params, "data": Constant(params["data"].copy())}
        given = rebuilt(list(inputs), self._input)
        by_name = {key: self._param(key, value) for key, value in params.items()}
        if _depends_on_values(op, (inputs, params)) and _goes_on(self.suppresses):
            raise self._reason("it goes on after errors, and this operation may raise one")
        state = modes.grad, modes.inference
        return Entry(op, given, by_name, (), (), state, place_of(sys._getframe()))

    def _finish(self, entry: Entry, inputs: Any, result: Any, arrays: Any) -> None:
        """Note what was made."""
        if any(t._array is not a for t, a in zip(tensors_in(inputs), arrays, strict=False)):
            raise self._reason(f"{entry.op.name!r} gave a tensor other memory")
        entry.several = isinstance(result, (tuple, list))
        made = [t for t in tensors_in(result) if self._known(t) is None]
        entry.outputs = tuple([self._new(t) for t in made])
        entry.layouts = tuple([self._layout(t._array) for t in made])
        entry.fresh = self._fresh([t._array for t in made])
        if getattr(entry.op, "kind", "") == MOVEMENT and isinstance(inputs[0], Tensor):
            entry.offsets = tuple([_offset(t._array, inputs[0]._array) for t in made])
        self._append(entry)
        for i in entry.op.writes:
            for target in tensors_in(inputs[i : i + 1]):
                self._note_grad(target)
                if target._base is not None:
                    self._note_grad(target._base)

    def _append(self, entry: Entry) -> None:
        entry.number, entry.unless = len(self.tape.entries), self.unless
        if self.unless is not None and (entry.outputs or not isinstance(entry.op, Update)):
            self.incomplete = f"{entry.op.name!r} is performed if a tensor says so"
        self.tape.entries.append(entry)

    def _fresh(self, arrays: list[Any]) -> tuple[bool, ...]:
        """Which of the arrays that an entry made have memory that nothing else has, all of it."""
        ids = [id(owner(a)) for a in arrays]
        fresh = [
            own not in self.owners and ids.count(own) == 1 and fills_memory(a)
            for own, a in zip(ids, arrays, strict=True)
        ]
        self.owners.update(ids)
        return tuple(fresh)

    def _input(self, value: Any) -> Any:
        return self.slot(value) if isinstance(value, Tensor) else self._plain(value)

    def _param(self, name: str, value: Any) -> Any:
        if name == "options" and type(value) is dict:
            return value  # a group of an optimizer: its numbers are read at each play
        return rebuilt(value, self._input)

    def _plain(self, value: Any) -> Any:
        """A value that is no tensor: an array that is one's memory as its slot."""
        if isinstance(value, np.ndarray) or type(value) in ARRAYS:
            slot = self.arrays.get(id(value))
            if slot is None and is_fixed(value):
                return Places(value)
            if slot is None:
                raise self._reason("an operation is given an array of NumPy or CuPy")
            return ArraySlot(slot)
        if isinstance(value, slice) and tensors_in((value.start, value.stop, value.step)):
            raise self._reason("a slice ends where a tensor says")
        return value

    # --- Slots -----------------------------------------------------------------------------------

    def slot(self, tensor: Tensor) -> Slot:
        """The slot of a tensor; a new one comes from outside, or shows memory that is known."""
        slot = self._known(tensor)
        if slot is None:
            same = self.arrays.get(id(tensor._array))
            if same is None and is_fixed(tensor._array):
                slot = self._fixed(tensor)
            elif same is None or id(tensor) in self.found:
                slot = self.source("tensor", tensor, tensor)
            else:
                if tensor._requires_grad or tensor._base is not None:
                    self.unrecorded = "a tensor changes its place in the graph"
                slot = self._new(tensor)
                layout = layout_of(tensor._array)
                state = modes.grad, modes.inference
                place = place_of(sys._getframe())
                self._append(Entry(ALIAS, [same], {}, (slot,), (layout,), state, place))
        if tensor._requires_grad is not self.grads[slot]:
            self.unrecorded = "a tensor begins or ceases to require a gradient"
        return slot

    def _fixed(self, tensor: Tensor) -> Slot:
        """A slot for a table that is the same at each play."""
        slot, array, state = self._new(tensor), tensor._array, (modes.grad, modes.inference)
        made = Entry(LIFT, [], {"data": Places(array)}, (slot,), (layout_of(array),), state, place_of(sys._getframe()), fresh=(False,))  # fmt: skip
        self._append(made)
        return slot

    def source(self, kind: str, of: Any, tensor: Tensor) -> Slot:
        """A slot for a tensor from outside."""
        if not is_traced(tensor._array):
            raise self._reason(f"a tensor is on the device {tensor.device}")
        slot = self._new(tensor)
        self.owners.add(id(owner(tensor._array)))
        self.tape.sources[slot] = Source(kind, of, self._layout(tensor._array))
        return slot

    def _layout(self, array: Any) -> Layout:
        """An array's layout, which the tape has once."""
        found = layout_of(array)
        return self.layouts.setdefault(found, found)

    def _known(self, tensor: Tensor) -> Slot | None:
        found = self.tensors.get(id(tensor))
        return None if found is None or found[2] is not tensor._array else found[0]

    def _new(self, tensor: Tensor) -> Slot:
        if id(tensor) in self.tensors:
            self.unrecorded = "a tensor takes over other memory"
        slot = Slot(len(self.kept))
        self.kept.append((tensor, tensor._array))
        if type(tensor._array) is not np.ndarray:
            self.tape.elsewhere[slot] = tensor.device
        self.tensors[id(tensor)] = slot, tensor, tensor._array
        self.arrays.setdefault(id(tensor._array), slot)
        self.grads[slot] = tensor._requires_grad
        return slot

    def _note_grad(self, tensor: Tensor) -> None:
        slot = self._known(tensor)
        if slot is not None:
            self.grads[slot] = tensor._requires_grad

    # --- The end of the call ---------------------------------------------------------------------

    def close(self, result: Any) -> None:
        """Note what was returned, and how its graph stands."""
        tape = self.tape
        tape.result = rebuilt(result, self._returned)
        live = []
        seen = set(slots_in(tape.result)) | tape.sources.keys()
        owners = Counter(id(owner(self.kept[slot][1])) for slot in seen)
        for tensor in tensors_in(result):
            slot = self._known(tensor)
            if slot is None or slot in tape.sources:
                continue
            if attributes_of(tensor):
                raise CannotTrace("it sets an attribute of a result", None)
            if tensor._is_inference:
                tape.inference.add(slot)
            if tensor._counter is not None and tensor._counter[0]:
                tape.versions[slot] = tensor._counter[0]
            base = tensor._base
            if tensor._requires_grad or (base is not None and base._requires_grad):
                end = tensor._edge
                if end is not None and self._is_freed(end[0]):
                    tape.freed[slot] = end[0].name(), end[1]
                else:
                    live.append(tensor)
            if (base is not None or self._is_alias(slot)) and owners[id(owner(tensor._array))] > 1:
                tape.recorded = True  # who writes into one must reach the other
        tape.recorded = tape.recorded or bool(live)
        if (tape.recorded or tape.elsewhere) and any(
            isinstance(e.op, Exchange) for e in tape.entries
        ):
            where = "on a GPU" if tape.elsewhere else "and returns a graph"
            raise CannotTrace(f"it exchanges tensors with other ranks, {where}", None)
        if tape.recorded and any(entry.unless is not None for entry in tape.entries):
            raise CannotTrace("it returns a graph, and a tensor decides what is done", None)
        if tape.recorded and self.unrecorded:
            raise CannotTrace(self.unrecorded, None)
        if tape.recorded and (self.walked or tape.freed):
            raise CannotTrace("it returns a graph after a backward pass", None)

    def _returned(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            if type(value) is not Tensor and self._known(value) not in self.tape.sources:
                raise CannotTrace(f"it returns a new {type(value).__name__}", None)
            return self.slot(value)
        if value is None or type(value) in PLAIN:
            return value
        raise CannotTrace(f"it returns an object of the class {type(value).__name__}", None)

    def _is_alias(self, slot: Slot) -> bool:
        return any(e.op is ALIAS and slot in e.outputs for e in self.tape.entries)

    def _is_freed(self, node: Any) -> bool:
        """Whether a graph was walked, and what it had saved is freed."""
        if node not in self.walked:
            return False
        stack, seen = [node], set()
        while stack:
            each = stack.pop()
            if each in seen or not isinstance(each, Node):
                continue
            seen.add(each)
            if getattr(each, "saved", ()) is None:
                return True
            stack += [edge[0] for edge in each.edges if edge is not None]
        raise CannotTrace("it returns a graph that was walked and kept", None)


class Constant:
    """Numbers that the program wrote down: each play gets a copy of them."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        same = layout_of(self.array) == layout_of(other.array)
        return same and self.array.tobytes() == other.array.tobytes()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        small = self.array.size <= 6
        return repr(self.array.tolist()) if small else f"numbers{list(self.array.shape)}"


class Places(Constant):
    """An index that the program wrote down as a list, or another table: nobody writes it."""


PLAIN = frozenset((bool, int, float, complex, str, bytes))
"""Values that never change."""


def _depends_on_values(op: Any, given: Any) -> bool:
    """Whether an operation may raise an error for some values of its inputs."""
    if getattr(op, "kind", "") not in (ELEMENTWISE, MOVEMENT, PRODUCT, REDUCTION):
        return True
    kinds = {t._array.dtype.kind for t in tensors_in(given)}
    return not kinds <= set("fc") or _has_array(given)


def _goes_on(managed: bool) -> bool:
    """Whether an error that an operation raises now would not end the traced call at once."""
    frame = sys._getframe()
    while frame is not None and not (
        frame.f_code.co_name == "_run" and frame.f_code.co_filename.startswith(COMPILER)
    ):
        if (
            frame.f_code.co_filename[:1] != "<"
            and is_caught(frame, managed)
            and is_of_program(frame)
        ):
            return True
        frame = frame.f_back
    return False


def check_containers(result: Any, known: set[int]) -> None:
    """A play makes new containers; CannotTrace if somebody has one of them already, or would find it twice."""
    if not isinstance(result, (list, tuple, dict)):
        return
    kind = type(result)
    if kind not in CONTAINERS and kind is not Size and not hasattr(result, "_fields"):
        raise CannotTrace(f"it returns an object of the class {kind.__name__}", None)
    if not isinstance(result, tuple):
        if id(result) in known:
            raise CannotTrace(f"it returns a {kind.__name__} that it was given or found, or twice", None)  # fmt: skip
        known.add(id(result))
    for each in result.values() if isinstance(result, dict) else result:
        check_containers(each, known)


def _offset(array: Any, of: Any) -> int | None:
    """Where in the memory of another array an array begins; None if it does not lie there."""
    if owner(array) is not owner(of) or array.dtype != of.dtype:
        return None
    return address_of(array) - address_of(of)


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in a value, however nested."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for each in value for t in tensors_in(each)]
    if isinstance(value, dict):
        return [t for each in value.values() for t in tensors_in(each)]
    return []


def _has_array(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_array, value))
    if isinstance(value, dict):
        return any(map(_has_array, value.values()))
    return isinstance(value, np.ndarray) or type(value) in ARRAYS


def _has_mask(params: dict[str, Any]) -> bool:
    key = params.get("key", ())
    parts = key if isinstance(key, tuple) else (key,)
    return any(type(p) in ARRAYS and p.dtype == np.bool_ for p in parts)
