"""The player of tapes on a GPU: by Python, one launch after another, and then as one graph.

A graph is captured by playing the tape once, with arguments in buffers of the graph. At a play, Python looks whether the graph
still fits and whether somebody still has what it gave out the last time, starts it, and leaves gradients and
results as every player does. What the graph gives out is its own memory; who keeps a result beyond the next call gets a copy
from then on.

What writes nothing that others see, such as the ways forward and back, is the first half of a graph, and is started
ahead: while the GPU computes, the CPU looks whether the tape's guards hold. If they do not, the half is as if it had not been.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from sys import getrefcount
from typing import Any

import numpy as np

from ..backends.cuda.graphs import CannotCapture, CannotSplit, Graph
from ..backends.interface import as_array, backend_for, backend_of, computed, implementation
from ..device import device
from ..ops.creation import LIFT
from ..ops.writes import InPlace
from ..optim.elementwise import Step
from ..tensor import Tensor
from .passes import with_constants, with_writes_last
from .player import OnArrays, generators_of
from .tape import ALIAS, Entry, Layout, Slot, Tape, slots_in

MOST_CAPTURES = 8
"""How often a tape is captured before it is left to Python."""

MOST_CANCELLED = 2
"""How often the first half of a graph is started in vain before none is started ahead."""

WORTH_SPLITTING = 8
"""How many entries the first half of a graph has at least."""

Arrays = Sequence[Any]


def compute_on_device(op: Any, inputs: list[Any], params: dict[str, Any]) -> Any:
    """What a record computes, by what its device has for it."""
    return computed(op, inputs, params)


def write_on_device(op: Any, inputs: list[Any], params: dict[str, Any]) -> None:
    """A record's result, written into the memory of its first input."""
    target = inputs[0]
    if op.write is not None:
        implementation(op, inputs, "write")(*inputs, **params)
    elif not backend_of(target).compute_into(op, inputs, params):
        np.copyto(target, as_array(computed(op, inputs, params)), casting="unsafe")


class OnDevice(OnArrays):
    """Plays on arrays of a device, without a graph."""

    def __init__(self, tape: Tape) -> None:
        super().__init__(tape)
        self.names |= {"computed": compute_on_device, "written": write_on_device}

    def entry(self, entry: Entry) -> None:
        op = entry.op
        if op is ALIAS or (not isinstance(op, InPlace) and (op.writes or not entry.outputs)):
            super().entry(entry)
            return
        given = ", ".join(map(self.text, entry.inputs))
        named = ", ".join(f"{name!r}: {self.text(value)}" for name, value in entry.params.items())
        if isinstance(op, InPlace):
            self.lines.append(f"written({self.constant(op.op)}, [{given}], {{{named}}})")
            return
        made = [f"v{int(s)}" for s in entry.outputs]
        several = "," if entry.several and made else ""
        self.lines.append(
            f"{', '.join(made)}{several} = computed({self.constant(op)}, [{given}], {{{named}}})"
        )
        for name, (shape, _, _) in zip(made, entry.layouts, strict=True):
            if not shape:
                self.lines.append(f"{name} = as_array({name})")
            self.lines.append(f"if {name}.shape != {shape!r}: refuse({op.name!r})")


# --- A graph -------------------------------------------------------------------------------------


class StepNumbers:
    """The numbers of an optimizer's step, which are words of a graph.

    Attributes:
        groups: the places of parameters that share their numbers, and which of these are 0
        places: of each group's numbers among the words
    """

    def __init__(self, step: Step, size: int, counts: Any, options: Any) -> None:
        self.step, self.size, self.counts, self.options = step, size, counts, options
        self.everyone = list(range(size))
        self.now = self._read()
        self.groups = self._pattern()
        self.places: list[int] = []

    def _read(self) -> list[tuple[list[float], list[int]]]:
        """Numbers, and the parameters that share them; the new counts are noted."""
        numbers, self.after = self.step._count(self.options, self.size, self.counts)
        if numbers[0] is numbers[-1]:  # all have one count
            return [(list(map(float, numbers[0])), self.everyone)]
        groups: dict[tuple[float, ...], list[int]] = {}
        for k, own in enumerate(numbers):
            groups.setdefault(tuple(map(float, own)), []).append(k)
        return [(list(own), members) for own, members in groups.items()]

    def _pattern(self) -> list[tuple[list[bool], list[int]]]:
        return [(list(map(bool, own)), members) for own, members in self.now]

    def fits(self) -> bool:
        """Read the numbers; whether the same parameters share them, and the same are 0."""
        self.now = self._read()
        return self._pattern() == self.groups

    def put(self, words: np.ndarray) -> None:
        """Write the numbers."""
        as_floats = words.view(np.float64)
        for place, (own, _) in zip(self.places, self.now, strict=True):
            as_floats[place : place + len(own)] = own

    def done(self) -> None:
        """Note the new counts."""
        for tensors, values in zip(self.counts, self.after, strict=True):
            for tensor, value in zip(tensors, values, strict=True):
                tensor._array[...] = value


def record_step(graph: Graph, step: Step, columns: list[list[Any]], counts: Any, options: Any) -> None:  # fmt: skip
    """A step of an optimizer in a graph that is captured."""
    backend: Any = backend_of(columns[0][0])
    numbers = StepNumbers(step, len(columns[0]), counts, options)
    for own, members in numbers.now:
        place = graph.room(len(own))
        numbers.places.append(place)
        part = [[column[k] for k in members] for column in columns]
        if not backend.update_from_words(step.formula, part, own, graph, place):
            raise CannotCapture(f"{step.name!r} has no kernel for its parameters")
    graph.add(numbers)


class Recorder(OnDevice):
    """Plays a tape while its graph is captured: it launches, and leaves nothing."""

    def __init__(self, tape: Tape, graph: Graph, changing: list[Slot], early: int) -> None:
        super().__init__(tape)
        self.changing = changing
        self.second = tape.entries[early].number if early < len(tape.entries) else math.inf
        self.outputs = sorted(self.returned - {int(s) for s in tape.sources})
        self.names |= {"graph": graph, "step": record_step}

    def begin(self) -> None:
        for k, slot in enumerate(self.changing):
            self.lines.append(f"v{int(slot)} = given[{k}]")
        for slot, source in self.tape.sources.items():
            if slot not in self.changing:
                self.names[f"v{int(slot)}"] = source.of._array
            self.lines.append(f"t{int(slot)} = wrap(v{int(slot)})")

    def leave(self, number: float = math.inf) -> None:
        """Gradients and versions are left at each play; before the entry of a number, the second half of the graph begins."""
        if number in (self.second, math.inf) and "yield" not in self.lines:
            self.lines.append("yield")

    def end(self) -> None:
        self.leave()

    def result(self, value: Any) -> str:
        return f"graph.given_out(({''.join(f'v{n}, ' for n in self.outputs)}))"

    def entry(self, entry: Entry) -> None:
        if entry.op is LIFT:
            data, made = entry.params["data"].array, entry.outputs[0]
            where = self.constant(self.tape.elsewhere[made])
            self.lines.append(f"v{int(made)} = graph.constant({self.constant(data)}, {where}).copy()")  # fmt: skip
        else:
            super().entry(entry)

    def _update(self, entry: Entry) -> None:
        if not isinstance(entry.op, Step):
            super()._update(entry)
            return
        places = 2 + len(entry.op.state)
        columns = ", ".join(self.text(list(column)) for column in entry.inputs[:places])
        tensors = [[self.tape.sources[s].of for s in column] for column in entry.inputs[places:]]
        counts, options = self.constant(tensors), self.constant(entry.params["options"])
        self.lines.append(
            f"step(graph, {self.constant(entry.op)}, [{columns}], {counts}, {options})"
        )


def refusal(tape: Tape) -> str:
    """Why the entries of a tape cannot be work of one GPU; "" if they can."""
    if len(set(tape.elsewhere.values())) != 1:
        return "it uses several devices"
    if tape.entangled and any(entry.op.writes for entry in tape.entries):
        return "it writes while arguments share memory"
    for entry in tape.entries:
        slots = [*entry.slots(), *entry.outputs]
        if isinstance(entry.op, Step):
            places = 2 + len(entry.op.state)
            slots = list(slots_in(entry.inputs[:places]))
            counts = list(slots_in(entry.inputs[places:]))
            sources = [tape.sources.get(slot) for slot in counts]
            if not all(s is not None and s.kind == "tensor" for s in sources):
                return f"{entry.op.name!r} counts in tensors that the step makes"
            if any(slot in tape.elsewhere for slot in counts):
                return f"{entry.op.name!r} counts on the GPU"
        if not all(slot in tape.elsewhere for slot in slots):
            return f"{entry.op.name!r} computes on the CPU"
    return ""


class Captured:
    """A tape as a graph, which is captured anew when it no longer fits.

    Attributes:
        changing: the slots of arguments and of gradients, which are copied into buffers
        back: the places of those that the tape writes
        copied: the places of results that somebody keeps, and that are given out as copies
        splits: whether the graph may have two halves
        cancelled: how often the first one was started in vain
        confirmed: the thread that is to finish what was started ahead, or 0
    """

    def __init__(self, tape: Tape, constants: dict[Slot, Any], ahead: bool) -> None:
        reason = refusal(tape)
        if reason:
            raise CannotCapture(reason)
        self.tape, self.constants = tape, constants
        self.where: device = next(iter(tape.elsewhere.values()))
        self.backend: Any = backend_for(self.where)
        self.changing = [s for s, source in tape.sources.items() if source.kind != "tensor"]
        written = {int(slot) for _, slot in tape.written}
        written |= {
            int(s) for e in tape.entries for i in e.op.writes for s in slots_in(e.inputs[i : i + 1])
        }
        self.back = [k for k, slot in enumerate(self.changing) if int(slot) in written]
        self.lock = threading.Lock()
        self.copied: set[int] = set()
        self.captures = self.cancelled = self.confirmed = 0
        self.graph: Graph | None = None
        self.splits = ahead and all(s.kind != "gradient" for s in tape.sources.values())
        self._capture()

    def _capture(self) -> None:
        """Capture the tape, in two halves if that can be."""
        self.captures += 1
        if self.splits:
            tape, early = with_writes_last(self.tape)
            try:
                if early >= WORTH_SPLITTING:
                    self._capture_in_order(tape, early)
                    return
            except CannotSplit:
                pass
            self.splits = False
        self._capture_in_order(self.tape, 0)

    def _capture_in_order(self, tape: Tape, early: int) -> None:
        """Capture the entries of a tape, the early ones as the first half."""
        graph = self.backend.new_graph(self.where, early > 0)
        recorder = Recorder(tape, graph, self.changing, early)
        for slot, array in self.constants.items():
            recorder.names[f"v{int(slot)}"] = array
            recorder.fixed.add(int(slot))
        self.outputs = recorder.outputs
        sources = self.tape.sources
        self.buffers = [self._buffer(sources[slot].layout) for slot in self.changing]
        fixed = [s.of._array for s in sources.values() if s.kind == "tensor"]
        outside = [x for x in fixed if type(x) is self.backend.array] + self.buffers
        generators = generators_of(self.tape)
        states = [generator.state_array() for generator in generators]
        try:
            self.made = list(graph.capture(partial(recorder.function(), self.buffers), outside))
        finally:  # what could not be captured may have drawn
            for generator, state in zip(generators, states, strict=True):
                generator.set_state_array(state)
        self.memories = [graph.memory_of(array) for array in self.made]
        self.graph = graph
        self.free = self._references()

    def _buffer(self, layout: Layout) -> Any:
        """Memory for an argument."""
        shape, strides, dtype = layout
        made = self.backend.zeros(shape, dtype, self.where)
        if made.strides == strides:
            return made
        if any(s < 0 for s in strides):
            raise CannotCapture("an argument lies backwards in memory")
        span = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
        whole = self.backend.zeros((span // dtype.itemsize if math.prod(shape) else 0,), dtype, self.where)  # fmt: skip
        return self.backend.strided(whole, shape, strides)

    def _references(self) -> list[int]:
        """How many references there are to each result, and to its memory."""
        return [*map(getrefcount, self.made), *map(getrefcount, self.memories)]

    def start(self, tensors: Sequence[Tensor]) -> bool:
        """Start the first half of the graph for the tensors of arguments, ahead of guards; whether it was.

        `decide` must follow, in the same thread.
        """
        graph = self.graph
        if graph is None or not graph.split or self.cancelled >= MOST_CANCELLED:
            return False
        if self.backend.current() != self.where.index or not self.lock.acquire(blocking=False):
            return False
        try:
            graph.check()
            sources = self.tape.sources
            arrays = [tensors[sources[slot].of]._array for slot in self.changing]
            graph.start(list(zip(arrays, self.buffers, strict=True)))
        except BaseException:
            self.lock.release()
            raise
        return True

    def decide(self, held: bool) -> None:
        """Say whether what was started ahead is to be finished: by the next call of this thread."""
        if held:
            self.confirmed = threading.get_ident()
            return
        assert self.graph is not None
        try:
            self.cancelled += 1
            self.graph.cancel()
        finally:
            self.lock.release()

    def __call__(self, arrays: Arrays) -> list[Any] | None:
        """Play the graph with arrays of arguments and gradients; None where Python must play the tape."""
        started = self.confirmed == threading.get_ident()
        if not started and not self.lock.acquire(blocking=False):
            return None
        self.confirmed = 0
        try:
            return self._play(arrays, started)
        finally:
            self.lock.release()

    def _captured_again(self) -> Graph | None:
        """A new graph, unless there were many."""
        if self.captures < MOST_CAPTURES:
            try:
                self._capture()
            except CannotCapture as reason:
                self.captures = MOST_CAPTURES
                warnings.warn(
                    f"torch.compile: {self.tape.name!r} is played by Python from now on, because {reason}",
                    UserWarning, stacklevel=6,
                )  # fmt: skip
        return self.graph

    def _fits(self, graph: Graph) -> bool:
        """Whether the graph can be played: nobody has its results, and its numbers are as many as they were."""
        now = self._references()
        if now != self.free:
            count = len(self.made)
            self.copied.update(k % count for k, n in enumerate(now) if n != self.free[k])
            return False
        return all(part.fits() for part in graph.parts)

    def _play(self, arrays: Arrays, started: bool) -> list[Any] | None:
        graph = self.graph
        if graph is None:
            graph = self._captured_again()
            if graph is None:
                return None
        if not started:
            if self.backend.current() != self.where.index:
                return None
            graph.check()
        if not self._fits(graph):
            self.graph = None
            if started:
                graph.cancel()
            return None
        if not started:
            graph.start(list(zip(arrays, self.buffers, strict=True)))
        graph.finish()
        made = list(self.made)
        copies = [(self.buffers[k], arrays[k]) for k in self.back]
        for k in sorted(self.copied):
            array = made[k]
            made[k] = self.backend.empty(array.shape, array.dtype, self.where)
            if made[k].strides == array.strides:
                copies.append((array, made[k]))
            else:
                made[k] = array.copy(order="K")
        if copies:
            graph.copy_out(copies)
        return made


class GraphPlayer(OnArrays):
    """Plays a tape by its graph; by Python where somebody keeps what the graph would write, or it no longer fits."""

    def __init__(self, tape: Tape, captured: Captured, python: Callable[..., Any]) -> None:
        super().__init__(tape)
        self.captured = captured
        self.names |= {"captured": captured, "python": python}

    def entries(self) -> None:
        self.forget_gradients(math.inf)
        arrays = "".join(f"v{int(slot)}, " for slot in self.captured.changing)
        self.lines.append(f"made = captured(({arrays}))")
        self.lines.append("if made is None: return python(given)")
        if self.captured.outputs:
            self.lines.append("".join(f"v{n}, " for n in self.captured.outputs) + "= made")
        for entry in self.tape.entries:
            if isinstance(entry.op, InPlace):
                continue
            for i in entry.op.writes:
                for slot in slots_in(entry.inputs[i : i + 1]):
                    if slot in self.tape.sources:
                        self.lines.append(f"bump_version(t{int(slot)})")


def graph_of(
    tape: Tape, python: Callable[..., Any], ahead: bool
) -> Callable[[Sequence[Tensor]], Any]:
    """A player of a tape as one graph, which may be started ahead of guards or not; CannotCapture where there is none."""
    shorter, constants = with_constants(tape)
    captured = Captured(shorter, constants, ahead)
    play: Any = GraphPlayer(shorter, captured, python).function()
    play.ahead = captured
    assert captured.graph is not None
    tape.listed = partial(list, [f"graph: {captured.graph.about()}"])
    return play
