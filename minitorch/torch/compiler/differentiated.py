"""A tape whose results have a history: forward is one tape, and each way back another one.

At first the tape is played on tensors, operations are recorded, and behind its results stands one node. When gradients
reach that node, it walks the graph that was recorded, and a tracer writes what this does. Two walks that wrote the same
are a tape: from then on forward keeps what that tape reads, no graph is recorded, and the node plays it.

A walk that no tape fits (a gradient for other results, one that is itself to be differentiated) needs the graph: the
node makes it by another forward, from what forward was given. Programs that need this are recorded from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..autograd.graph import Edge, Node, backward_pass, modes, numbers, reachable
from ..autograd.saved import FREED, written_since
from ..generator import default_generator
from ..tensor import Tensor, bump_version, counter_of, edge_of, tracks, wrap
from . import config
from .comparing import owner
from .equality import same_tape
from .passes import without_idle_copies
from .player import generators_of
from .players import player_of, programs_of
from .reading import CannotTrace, Reading
from .state import is_watched, mode_state, thread
from .tape import Slot, Source, Tape, layout_of, rebuilt, slots_in
from .tracing import Tracer

Play = Callable[[Sequence[Tensor]], Any]

LEARNS = 8
"""How many plays of forward wait for a way back; from then on only those whose number is a power of two."""


class Boundary(Node):
    """Where a graph that was recorded within a tape meets the one around it."""

    def __init__(self, source: Tensor) -> None:
        super().__init__([edge_of(source)])
        self.layout = source._array.shape, source._array.dtype

    def backward(self, gradients: list[Tensor | None]) -> list[Tensor | None]:
        return gradients

    def inside(self, source: Tensor) -> Tensor:
        """The source as the recorded graph sees it."""
        alias = wrap(source._array)
        alias._counter = counter_of(source)
        alias._edge, alias._requires_grad = (self, 0), True
        return alias


@dataclass
class Graph:
    """A graph that was recorded within a tape.

    Attributes:
        tensors: by slot
        roots: the edges of the results that have a history
        ends: the boundaries, one for each source that is differentiated
        places: of its nodes in the order in which they were made
    """

    tensors: Sequence[Tensor]
    roots: list[Edge]
    ends: list[Boundary]
    places: dict[Node, int]

    def walked(self, gradients: list[Tensor | None]) -> list[Node]:
        """The nodes that a walk goes through."""
        ends = [r[0] for r, g in zip(self.roots, gradients, strict=False) if g is not None]
        return [node for node in reachable(ends) if node in self.places]  # type: ignore[misc]


class WayBack:
    """The tape of a walk.

    Attributes:
        tape: its arguments are gradients, then what forward kept
        reads: the slots of forward's tape that were kept, in order
        keeping: the places of walked nodes that keep tensors, and are freed afterwards
    """

    def __init__(self, tape: Tape, reads: list[Slot], keeping: frozenset[int]) -> None:
        self.tape, self.keeping = tape, keeping
        self.reads = dict.fromkeys(reads).keys()
        self.plays = 0
        self.play: Any = player_of(without_idle_copies(tape))

    def __call__(self, given: Sequence[Tensor]) -> Any:
        if self.plays == config.plays_before_programs:
            shorter = without_idle_copies(self.tape)
            self.play = programs_of(shorter) or self.play
            self.tape.listed = shorter.listed
        self.plays += 1
        found = self.play(given)
        machines = getattr(self.play, "machines", None)
        if (
            machines
        ):  # leaves may keep arrays that the machine keeps, too: it looks before it writes
            held = {id(array) for array in machines[-1].left}
            for gradient in found:
                if gradient is not None and id(gradient._array) in held:
                    gradient._lent = 1
        return found


class CompiledNode(Node):
    """Stands behind the results of a play."""

    def __init__(self, of: Differentiated, sources: list[Tensor]) -> None:
        self.number = next(numbers)
        self.of, self.sources = of, sources
        self.edges = [edge_of(sources[i]) for i in of.wanted]
        self.walked: frozenset[int] = frozenset()
        self.freed: frozenset[int] = frozenset()
        self.graph: Graph | None = None
        self.entered = False  # whether gradients have a history that leads into the graph
        self.kept: list[Tensor] = []
        self.places: dict[Slot, int] = {}  # of slots there
        self.results: list[tuple[list[int], int]] = []  # their versions, as they are and were

    def name(self) -> str:
        return "CompiledFunctionBackward"

    def layout_of(self, output: int) -> Any:
        return self.of.layouts[output]

    def keep(self, live: Sequence[Tensor], kept: Sequence[Tensor], before: Any) -> None:
        """Note what a walk will need: of what forward was given and what it made."""
        sources, of = self.sources, self.of
        self.before = before
        self.versions = [counter_of(s)[0] for s in sources]
        self.kept = [*sources, *kept]
        self.places = of.places
        for tensor in live:
            counter = counter_of(tensor)
            self.results.append((counter, counter[0]))

    def backward(self, gradients: list[Tensor | None]) -> Sequence[Tensor | None]:
        given = gradients + [None] * (len(self.of.layouts) - len(gradients))
        key = _key_of(given)
        way = None if modes.grad or self.graph is not None else self.of.ways.get(key)
        if way is None or not way.reads <= self.places.keys():
            return self.of.walk(self, given, key)
        self.walked = way.keeping
        if self.freed & way.keeping:
            raise RuntimeError(FREED)
        places = [self.places[slot] for slot in way.reads]
        self._check(places)
        return way([*(g for g in given if g is not None), *[self.kept[i] for i in places]])

    def release(self) -> None:
        self.freed |= self.walked & self.of.all_keeping
        self.release_graph()
        if self.freed >= self.of.all_keeping and self.graph is None:
            self.kept = []

    def release_graph(self) -> None:
        """Let the nodes of the graph forget what was freed, unless gradients lead to them, too."""
        if self.graph is not None and not self.entered:
            for node, place in self.graph.places.items():
                if place in self.freed:
                    node.release()

    def _check(self, places: list[int]) -> None:
        """RuntimeError if what was kept has been written since."""
        for i in places:
            if i < len(self.sources):
                source = self.sources[i]
                if counter_of(source)[0] != self.versions[i]:
                    raise RuntimeError(written_since(source, source._edge, self.versions[i]))
        for i in self.of.seen:
            counter, version = self.results[i]
            if counter[0] != version:
                tensor = wrap(np.empty(*self.of.layouts[i]))
                tensor._counter = counter
                raise RuntimeError(written_since(tensor, (self, i), version))


def _key_of(gradients: list[Tensor | None]) -> Any:
    """What the tape of a walk depends on: which gradients there are, how they lie, and the settings."""
    first = {id(g): i for i, g in reversed(list(enumerate(gradients)))}
    shown = [None if g is None else (layout_of(g._array), first[id(g)]) for g in gradients]
    return (*shown, mode_state())


class Differentiated:
    """Plays a tape whose results have a history.

    Attributes:
        order: the slots of sources
        wanted: the places of those that are differentiated
        live: the slots of results that have a history
        layouts: of these
        ways: tapes of walks
        made: slots that forward keeps for these, besides sources
        places: of all that it keeps
        seen: places of results whose memory these read
        forward: plays forward without recording, once there is a tape for a way back
        recorded: whether forward is recorded for good
        changed: the places of sources that forward writes
    """

    def __init__(self, tape: Tape, tracer: Tracer) -> None:
        tensors = [tensor for tensor, _ in tracer.kept]
        self.tape = tape
        self.order = list(tape.sources)
        slots = dict.fromkeys(slots_in(tape.result))
        self.live = [s for s in slots if s not in tape.sources and tracks(tensors[s])]
        self.wanted = _differentiated_places(tensors, self.order, self.live)
        arrays = [tensors[s]._array for s in self.live]
        self.layouts = [(a.shape, a.dtype) for a in arrays]
        self.owners = [id(owner(array)) for _, array in tracer.kept]
        changed = _written_owners(tape, self.owners)
        self.changed = [i for i, slot in enumerate(self.order) if self.owners[slot] in changed]
        self.generators = generators_of(tape)
        self.ways: dict[Any, WayBack] = {}
        self.candidates: dict[Any, WayBack] = {}
        self.made: list[Slot] = []
        self.places: dict[Slot, int] = {}
        self.seen: list[int] = []
        self.all_keeping: frozenset[int] = frozenset()
        self.count = self.plays = 0
        self.forward: Play | None = None
        self.recorded = False
        self._plain = player_of(tape)
        whole = {
            slot: Source("argument", i, source.layout)
            for i, (slot, source) in enumerate(tape.sources.items())
        }
        everything = tuple(Slot(i) for i in range(len(tensors)))
        self._on_tensors = player_of(replace(tape, sources=whole, result=everything))

    def __call__(self, given: Sequence[Tensor]) -> Any:
        self.count += 1
        learns = self.count <= LEARNS or self.count & (self.count - 1) == 0
        if self.recorded or (self.forward is None and not learns):
            return self._plain(given)
        node = CompiledNode(self, [_source(s, given) for s in self.tape.sources.values()])
        if self.forward is None:
            return self._play_recorded(node)
        if self.plays == config.plays_before_programs:
            forward = self._forward_tape()
            self.forward = programs_of(forward) or self.forward
            self.tape.listed = forward.listed
        self.plays += 1
        before = (
            [g.state_array() for g in self.generators],
            {i: node.sources[i]._array.copy() for i in self.changed},
        )
        result, live, kept = self.forward(given)
        for i, tensor in enumerate(live):
            tensor._edge, tensor._requires_grad = (node, i), True
        node.keep(live, kept, before)
        return result

    # --- Forward ---------------------------------------------------------------------------------

    def _play_recorded(self, node: CompiledNode) -> Any:
        """Forward with recording, and a node in front of the graph."""
        before = default_generator.state_array()
        graph = node.graph = self._record(node.sources)
        node.number = next(numbers)  # it is walked before those of its graph
        drawn = self.count == 1 and default_generator.state_array().tobytes() != before.tobytes()
        if drawn and default_generator not in self.generators:
            self.generators.append(default_generator)
        shown = dict(enumerate(graph.tensors))
        shown.update(zip(map(int, self.order), node.sources, strict=True))
        for i, slot in enumerate(self.live):
            made = shown[int(slot)] = wrap(graph.tensors[slot]._array)
            made._counter = counter_of(graph.tensors[slot])
            made._edge, made._requires_grad = (node, i), True
        return rebuilt(self.tape.result, lambda v: shown[int(v)] if isinstance(v, Slot) else v)

    def _record(self, sources: list[Tensor]) -> Graph:
        """Play forward on tensors; its graph ends where sources are."""
        inside, ends = list(sources), []
        for i in self.wanted:
            ends.append(Boundary(sources[i]))
            inside[i] = ends[-1].inside(sources[i])
        tensors = self._on_tensors(inside)
        roots = [edge_of(tensors[slot]) for slot in self.live]
        first = ends[-1].number
        made = [n for n in reachable([r[0] for r in roots if r]) if isinstance(n, Node)]
        places = {n: i for i, n in enumerate(reversed(made)) if n.number > first}
        self.all_keeping = frozenset(i for n, i in places.items() if n.keeps_tensors())
        return Graph(tensors, roots, ends, places)  # type: ignore[arg-type]

    def record_again(self, node: CompiledNode) -> Graph:
        """The graph of a play that was not recorded."""
        states, arrays = node.before
        sources = list(node.sources)
        for i, source in enumerate(sources):
            if i in arrays:
                sources[i] = wrap(arrays[i].copy())
            elif counter_of(source)[0] != node.versions[i]:
                raise RuntimeError(
                    f"torch.compile: the graph of {self.tape.name!r} is needed, which was not recorded, and cannot be "
                    f"recorded now: {written_since(source, source._edge, node.versions[i])}"
                )
        now = [g.state_array() for g in self.generators]
        try:
            for generator, state in zip(self.generators, states, strict=True):
                generator.set_state_array(state)
            graph = self._record(sources)
        finally:
            for generator, state in zip(self.generators, now, strict=True):
                generator.set_state_array(state)
        inner = [*graph.ends, *graph.places]
        for i, each in enumerate(inner):  # as if they had been made just before
            each.number = node.number - 1 + (i + 1) / (len(inner) + 1)
        for slot, (counter, version) in zip(self.live, node.results, strict=True):
            if counter[0] != version:
                bump_version(graph.tensors[slot])
        return graph

    def _forward_tape(self) -> Tape:
        result = self.tape.result, tuple(self.live), tuple(self.made)
        return without_idle_copies(replace(self.tape, recorded=False, result=result))

    # --- Backward --------------------------------------------------------------------------------

    def walk(self, node: CompiledNode, gradients: list[Tensor | None], key: Any) -> Any:
        """Walk the graph, and write what that does."""
        graph = node.graph
        if graph is None:
            graph = node.graph = self.record_again(node)
            node.release_graph()
        roots = [(*r, g) for r, g in zip(graph.roots, gradients, strict=True) if g is not None]
        targets: list[Edge] = [(end, 0) for end in graph.ends]
        node.walked = frozenset(graph.places[n] for n in graph.walked(gradients))
        if node.entered and node.freed & node.walked:
            raise RuntimeError(FREED)
        if modes.grad:
            self.recorded = node.entered = True
        if self.recorded or thread.reading is not None or is_watched() or key in self.ways:
            return backward_pass(roots, targets, True, modes.grad)
        return self._learn(graph, roots, targets, gradients, key, node.walked)

    def _learn(
        self, graph: Graph, roots: Any, targets: Any, gradients: list[Tensor | None], key: Any, walked: frozenset[int]
    ) -> Any:  # fmt: skip
        reading = Reading()
        tracer = Tracer(f"backward of {self.tape.name}", reading)
        tracer.begin_behind(self.tape, graph.tensors)
        given = [g for g in gradients if g is not None]
        if any(id(owner(g._array)) in tracer.owners for g in given):
            return backward_pass(roots, targets, True, False)
        count = len(graph.tensors)
        for i, gradient in enumerate(given):
            if tracer._known(gradient) is None:
                tracer.source("argument", i, gradient)
        with tracer.tracing():
            found = backward_pass(roots, targets, True, False)
        try:
            way = self._way(tracer, reading, found, count, len(given), walked & self.all_keeping)
        except CannotTrace:
            self.recorded = True
            return found
        candidate = self.candidates.pop(key, None)
        if candidate is None or not same_tape(candidate.tape, way.tape):
            self.candidates[key] = way
        else:
            self._add(key, way)
        self.recorded = max(len(self.ways), len(self.candidates)) > config.cache_size_limit
        return found

    def _way(
        self, tracer: Tracer, reading: Reading, found: Sequence[Tensor | None], count: int, given: int,
        keeping: frozenset[int],
    ) -> WayBack:  # fmt: skip
        """The tape of a walk."""
        tape = tracer.tape
        tape.result = tuple(None if g is None else tracer.slot(g) for g in found)
        reason = tracer.broken or reading.reason
        if reason is not None:
            raise reason
        if any(source.kind != "argument" for source in tape.sources.values()):
            raise CannotTrace("backward uses a tensor that forward does not have", None)
        slots = slots_in([tape.result, *((e.inputs, e.params) for e in tape.entries)])
        reads = sorted({int(slot) for slot in slots if slot < count})
        for i, slot in enumerate(reads):
            layout = layout_of(tracer.kept[slot][1])
            tape.sources[Slot(slot)] = Source("argument", given + i, layout)
        return WayBack(tape, [Slot(slot) for slot in reads], keeping)

    def _add(self, key: Any, way: WayBack) -> None:
        """Let forward keep what a way back reads."""
        self.ways[key] = way
        self.tape.backwards.append(way.tape)
        reads = {int(slot) for each in self.ways.values() for slot in each.reads}
        self.made = [Slot(s) for s in sorted(reads - {int(s) for s in self.order})]
        self.places = {slot: i for i, slot in enumerate([*self.order, *self.made])}
        owners = {self.owners[s] for s in reads}
        self.seen = [i for i, slot in enumerate(self.live) if self.owners[slot] in owners]
        self.forward = player_of(self._forward_tape())
        self.plays = 0


def differentiated(tape: Tape, tracer: Tracer) -> Differentiated | None:
    """A player of a tape whose results have a history, unless its memory is too entangled with what is around it."""
    tensors = [tensor for tensor, _ in tracer.kept]
    owners = [id(owner(array)) for _, array in tracer.kept]
    results = set(map(int, slots_in(tape.result)))
    sources = set(map(int, tape.sources))
    made = [owners[s] for s in results - sources]
    apart = len(set(made)) == len(made) and not {owners[s] for s in sources} & set(made)
    gradients = tape.gradients or any(s.kind == "gradient" for s in tape.sources.values())
    if not apart or gradients:
        return None
    try:
        tracked = {owners[s] for s in sources if tracks(tensors[s])}
        wanted = tracked and any(tracks(tensors[s]) for s in results - sources)
    except RuntimeError:  # a view that has lost its history
        return None
    if not wanted or _written_owners(tape, owners) & tracked:
        return None
    return Differentiated(tape, tracer)


def _differentiated_places(tensors: list[Tensor], order: list[Slot], live: list[Slot]) -> list[int]:
    """The places of sources that results with a history were made of."""
    ends = [edge[0] for slot in live if (edge := edge_of(tensors[slot])) is not None]
    reached = set(map(id, reachable(ends)))
    edges = [edge_of(tensors[slot]) for slot in order]
    return [i for i, edge in enumerate(edges) if edge is not None and id(edge[0]) in reached]


def _written_owners(tape: Tape, owners: list[int]) -> set[int]:
    """The memory that a tape writes into."""
    inputs = [e.inputs[i : i + 1] for e in tape.entries for i in e.op.writes]
    return {owners[slot] for slot in slots_in(inputs)}


def _source(source: Source, given: Sequence[Tensor]) -> Tensor:
    if source.kind == "argument":
        return given[source.of]
    return source.of.detach() if source.detached else source.of
