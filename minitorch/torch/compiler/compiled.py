"""`torch.compile`: a function that is traced on its first calls, and played from then on.

A call is played if a tape's guards hold. Otherwise it runs as ever, while a tracer writes its tape. A tape
is used once two calls that looked alike have given the same one: the function depends on nothing that the guards
do not see. Whatever is in doubt stays eager, and says why once.
"""

from __future__ import annotations

import copy
import functools
import sys
import threading
import warnings
from collections.abc import Callable
from types import CodeType, MethodType
from typing import TYPE_CHECKING, Any

from ..amp.autocast_mode import own_cache
from ..backends.interface import address_of
from ..generator import Generator
from ..nn.modules import calls
from ..tensor import Tensor, tracks
from . import config
from .arguments import Arguments
from .comparing import attributes_of, owner
from .differentiated import differentiated
from .equality import same_tape
from .exceptions import Unsupported
from .guards import Surroundings
from .names import may_suppress
from .passes import without_idle_copies
from .players import player_of, programs_of
from .reading import CannotTrace, Reading
from .state import compiled, is_watched, mode_state, thread
from .tape import Entry, Slot, Source, Tape, layout_of, slots_in
from .tracing import Tracer, check_containers

if TYPE_CHECKING:
    from .timeline import Timeline


def _not_yet(tensors: list[Tensor]) -> Any:
    raise RuntimeError("this tape is not played yet")


class Traced:
    """A tape, and when it may be played."""

    def __init__(self, given: Arguments, around: Surroundings, state: Any, tape: Tape) -> None:
        self.given, self.around, self.state, self.tape = given, around, state, tape
        self.play: Callable[..., Any] = _not_yet
        self.plays = 0
        self.once = threading.Lock()
        self.shared: Any = None
        self.gradients: list[Source] = []  # that the tape reads
        self.alike = self._alike(given.tensors)

    def prepare(self, tracer: Tracer) -> None:
        """Make the player of a tape that may be played; what only tracing asks for is let go."""
        self.around.forget()
        if self.tape.recorded:
            self.play = differentiated(self.tape, tracer) or player_of(self.tape)
        else:
            self.tape = without_idle_copies(self.tape)
            self.play = player_of(self.tape)

    def compile(self) -> None:
        """Let the tape be played by programs from now on; one that leaves a graph behind sees to that itself."""
        if not self.tape.recorded and self.once.acquire(blocking=False):
            self.play = programs_of(self.tape, ahead=True) or self.play

    def holds(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], state: Any, is_next: bool = False
    ) -> list[Tensor] | None:
        """The tensors of a call's arguments, if the tape may be played for it, and then will be: what can be started is."""
        if state != self.state:
            return None
        tensors = self.given.match(args, kwargs)
        if tensors is None:
            return None
        ahead = getattr(self.play, "ahead", None) if is_next else None  # a graph
        if ahead is None or not ahead.start(tensors):
            return tensors if self._holds_around(tensors) else None
        held = False
        try:
            held = self._holds_around(tensors)
        finally:
            ahead.decide(held)
        return tensors if held else None

    def _holds_around(self, tensors: list[Tensor]) -> bool:
        """Whether all but the arguments themselves is as it was."""
        if not self.around.hold():
            return False
        gradients = self._gradients(tensors)
        if gradients is None or self.memory(tensors, gradients) != self.shared:
            return False
        return self._alike(tensors) == self.alike

    def _alike(self, tensors: list[Tensor]) -> list[int]:
        """Where code may look at gradients: which of these and of all tensors are one object."""
        if not self.around.of_layouts:
            return []
        found = [*(facts.tensor for facts in self.around.tensors.values()), *tensors]
        found += [t._grad for t in found if t._grad is not None]
        first: dict[int, int] = {}
        return [first.setdefault(id(each), i) for i, each in enumerate(found)]

    def _gradients(self, tensors: list[Tensor]) -> list[Any] | None:
        """The arrays of the gradients that the tape reads, if they lie in memory as they did."""
        arrays = []
        for source in self.gradients:
            of = self.tape.sources[source.of]
            gradient = (of.of if of.kind == "tensor" else tensors[of.of])._grad
            if layout_of(gradient._array) != source.layout or gradient._requires_grad:
                return None
            arrays.append(gradient._array)
        return arrays

    def memory(self, tensors: list[Tensor], gradients: list[Any]) -> Any:
        """Which arguments and gradients share memory, with each other and with what was found."""
        arrays = [*(t._array for t in tensors), *gradients]
        if not arrays:
            return None
        owners = [id(owner(a)) for a in arrays]
        found = self.around.owners
        if len(set(owners)) == len(owners) and found.isdisjoint(owners):
            return None
        first = [owners.index(o) for o in owners]
        starts = [address_of(a) for a in arrays]
        alike = [next(i for i, other in enumerate(tensors) if other is t) for t in tensors]
        places = [
            (i, start if o in found else start - starts[i])
            for i, start, o in zip(first, starts, owners, strict=True)
        ]
        return alike, places


class Compiled:
    """A function that is traced and played.

    Attributes:
        tape: the tape that was played or traced last
        tapes: all that may be played
        eager: why calls stay eager, or ""
        full: whether calls were eager because there are too many tapes
    """

    def __init__(self, fn: Callable[..., Any], fullgraph: bool, name: str = "") -> None:
        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        self.fullgraph = fullgraph
        self.name = name or getattr(fn, "__qualname__", type(fn).__name__)
        self.forget()
        compiled.add(self)

    def forget(self) -> None:
        """Begin anew."""
        self.traced: list[Traced] = []
        self.candidates: list[Traced] = []
        self.codes: dict[CodeType, str] = {}
        self.dynamic = False
        self.unstable = 0
        self.eager = ""
        self.full = False
        self.tape: Tape | None = None

    @property
    def tapes(self) -> list[Tape]:
        """All tapes that may be played."""
        return [each.tape for each in self.traced]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.eager or thread.reading is not None or is_watched() or config.disable:
            return self.fn(*args, **kwargs)
        state = mode_state()
        for each in self.traced:
            tensors = each.holds(args, kwargs, state, each.tape is self.tape)
            if tensors is not None:
                self.tape = each.tape
                if each.plays == config.plays_before_programs:
                    each.compile()
                each.plays += 1
                return each.play(tensors)
        if len(self.traced) >= min(config.cache_size_limit, config.recompile_limit):
            self._note_limit()
            return self.fn(*args, **kwargs)
        return self._trace(args, kwargs, state)

    def timeline(self, *args: Any, **kwargs: Any) -> Timeline:
        """Call the function once more, from its tape, and say how long each step of the program took."""
        return self._timed(args, kwargs, fused=True)

    def unfused_timeline(self, *args: Any, **kwargs: Any) -> Timeline:
        """The same before fusion: how long each entry of the tape took, when Python played it."""
        return self._timed(args, kwargs, fused=False)

    def _timed(self, args: tuple[Any, ...], kwargs: dict[str, Any], fused: bool) -> Timeline:
        from .timeline import Timeline

        state = mode_state()
        for each in self.traced:
            tensors = each.holds(args, kwargs, state)
            if tensors is not None and not each.tape.recorded and not each.tape.elsewhere:
                return Timeline(each.tape, tensors, fused)
        raise RuntimeError(f"{self.name!r} has no tape on the CPU that fits this call and leaves no graph behind; call it a few times before")  # fmt: skip

    def __deepcopy__(self, memo: Any) -> Compiled:
        return Compiled(copy.deepcopy(self.fn, memo), self.fullgraph, self.name)

    def __reduce__(self) -> Any:
        module = sys.modules.get(str(getattr(self, "__module__", None)))
        if getattr(module, self.name, None) is self:  # a decorated function is found by its name
            return self.name
        return Compiled, (self.fn, self.fullgraph, self.name)

    def __repr__(self) -> str:
        return f"<compiled {self.name}: {len(self.traced)} tapes>"

    # --- Tracing ---------------------------------------------------------------------------------

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any], state: Any) -> Any:
        """Run the call as ever, and write its tape."""
        matches = (c for c in self.candidates if c.holds(args, kwargs, state) is not None)
        partner = next(matches, None)
        try:
            traced, tracer = self._begin(args, kwargs, state)
        except CannotTrace as reason:
            self._stay_eager(str(reason))
            return self.fn(*args, **kwargs)
        result = self._run(tracer, args, kwargs)
        try:
            if self._is_settled(traced, tracer, result):
                self._consider(traced, partner, tracer)
        except CannotTrace as reason:
            self._stay_eager(str(reason))
        return result

    def _begin(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], state: Any
    ) -> tuple[Traced, Tracer]:
        """What a call finds around it, and a tracer that knows that."""
        around = Surroundings(self.codes, self.dynamic)
        given = Arguments(args, kwargs, around)
        around.follow(self.fn, self.name)
        for registry in hooks_of_all():
            around.follow(registry)
        around.close()
        given.settle()
        suppresses = any(may_suppress(code) for code, whose in self.codes.items() if whose == "program" or code.co_qualname == "ExitStack.__exit__")  # fmt: skip
        tracer = Tracer(self.name, Reading(), around.tensors, suppresses)
        for i, tensor in enumerate(given.tensors):
            if tracer._known(tensor) is None:
                tracer.source("argument", i, tensor)
        found = [tensor for tensor, *_ in around.tensors.values()]
        tracer.watch({id(t): t for t in (*found, *given.tensors)}.values())
        return Traced(given, around, state, tracer.tape), tracer

    def _run(self, tracer: Tracer, args: Any, kwargs: Any) -> Any:
        with own_cache(), tracer.tracing():
            return self.fn(*args, **kwargs)

    def _is_settled(self, traced: Traced, tracer: Tracer, result: Any) -> bool:
        """Whether a call ran no other code than guards know of, and changed nothing but tensors; then its tape is finished."""
        if traced.around.early:
            self._note_unstable("it runs before its parameters have shapes")
            return False
        reading = tracer.reading
        reason = tracer.broken or reading.reason
        if reason is not None:
            raise reason
        if mode_state() != traced.state:
            raise CannotTrace("it leaves other settings behind", None)
        if tracer.incomplete:
            self._note_unstable(tracer.incomplete)
            return False
        new = any(code not in self.codes for code in reading.codes)
        if new:
            self.codes = {**self.codes, **reading.codes}
        self.dynamic = self.dynamic or reading.dynamic
        if new:
            self._note_unstable("it runs other code each time")
            return False
        around = traced.around
        if around.opaque:
            raise CannotTrace(around.opaque, None)
        changed = around.change() or traced.given.change()
        if changed:
            self._note_unstable(f"it changes {changed}")
            return False
        check_containers(result, around.seen | traced.given.containers)
        tracer.close(result)
        finish(traced, tracer)
        self.tape = traced.tape
        return True

    def _consider(self, traced: Traced, partner: Traced | None, tracer: Tracer) -> None:
        """Keep a tape if it may be played."""
        if partner is None:
            self.candidates.append(traced)
            if len(self.candidates) > 4 * config.cache_size_limit:
                raise CannotTrace("it is called in another way each time", None)
        elif not self._take(partner):
            return
        elif same_tape(partner.tape, traced.tape):
            traced.prepare(tracer)
            self.tape = traced.tape
            self.traced.append(traced)
            self.unstable = 0
        else:
            self.candidates.append(traced)
            self._note_unstable("it does something else each time")

    def _take(self, candidate: Traced) -> bool:
        """Take a candidate; False if another thread has done so."""
        try:
            self.candidates.remove(candidate)
        except ValueError:
            return False
        return True

    def _note_unstable(self, why: str) -> None:
        self.unstable += 1
        if self.unstable > 6:
            raise CannotTrace(why, None)

    def _note_limit(self) -> None:
        """There are as many tapes as there may be: calls that fit none are eager."""
        why = f"it has {len(self.traced)} tapes already (torch._dynamo.config.cache_size_limit)"
        if self.fullgraph:
            raise Unsupported(f"torch.compile cannot trace {self.name!r} once more: {why}")
        if not (self.full or config.suppress_errors):
            warnings.warn(
                f"torch.compile: calls of {self.name!r} that fit none of its tapes are eager, because {why}",
                UserWarning, stacklevel=3,
            )  # fmt: skip
        self.full = True

    def _stay_eager(self, why: str) -> None:
        self.eager = why
        self.candidates.clear()
        if self.fullgraph:
            self.eager = ""
            raise Unsupported(f"torch.compile cannot trace {self.name!r}: {why}")
        if config.suppress_errors:
            return
        warnings.warn(
            f"torch.compile: {self.name!r} stays eager, because {why}", UserWarning, stacklevel=4
        )


def hooks_of_all() -> list[Any]:
    """The hooks of all modules, and of all optimizers if there are any."""
    optim = sys.modules.get("minitorch.torch.optim.optimizer")
    of_optimizers = [optim._before_every_step, optim._after_every_step] if optim else []
    return [
        calls._global_forward_hooks, calls._global_forward_pre_hooks, calls._global_backward_hooks,
        calls._global_backward_pre_hooks, *of_optimizers,
    ]  # fmt: skip


def traced_once(
    function: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Tape | None, str]:
    """Call a function once; return its result, and its tape or why there is none."""
    reading = Reading()
    tracer = Tracer(function.name, reading)
    given = Arguments(args, kwargs, Surroundings({}, False))
    for i, tensor in enumerate(given.tensors):
        if tracer._known(tensor) is None:
            tracer.source("argument", i, tensor)
    result = function._run(tracer, args, kwargs)
    reason = tracer.broken or reading.reason
    try:
        if reason is not None:
            raise reason
        tracer.close(result)
    except CannotTrace as reason:
        return result, None, str(reason)
    return result, tracer.tape, ""


# --- After the call ------------------------------------------------------------------------------


def finish(traced: Traced, tracer: Tracer) -> None:
    """Find out where tensors from outside came from, and what the call left in them."""
    around, tape, tensors = traced.around, traced.tape, traced.given.tensors
    tracer.note_gradients()
    for number, tensor, gradient in tracer.changes:
        made = None if gradient is None else _gradient_slot(gradient, tracer)
        tape.gradients.append((number, _source_of(tensor, tracer), made))
    by_array = {id(t._array): t for t, _ in tracer.watched}
    by_gradient = {id(g): t for t, g in tracer.watched if g is not None}
    for source in list(tape.sources.values()):
        if source.kind != "tensor" or id(source.of) in around.tensors:
            continue
        if id(source.of) in by_gradient:
            source.kind, source.of = "gradient", _source_of(by_gradient[id(source.of)], tracer)
        elif id(source.of._array) in by_array:
            seen, source.of = source.of, by_array[id(source.of._array)]
            source.detached = tracks(source.of) and not tracks(seen)
        else:
            raise CannotTrace("it uses a tensor that nothing it names leads to", None)
    _check_params(tape, around)
    tape.written = _written(tape, tracer)
    slots = [slot for slot, source in tape.sources.items() if source.kind == "gradient"]
    traced.gradients = [tape.sources[slot] for slot in slots]
    traced.shared = traced.memory(tensors, [tracer.kept[slot][1] for slot in slots])
    tape.entangled = traced.shared is not None


def _source_of(tensor: Tensor, tracer: Tracer) -> Slot:
    """The slot of a tensor from outside, which may not have been used yet."""
    slot = tracer._known(tensor)
    if slot is None:
        slot = tracer.source("tensor", tensor, tensor)
    if slot not in tracer.tape.sources:
        raise CannotTrace("a gradient is left in a tensor that the call made", None)
    return slot


def _gradient_slot(gradient: Tensor, tracer: Tracer) -> Slot:
    if gradient._edge is not None or gradient._base is not None or type(gradient) is not Tensor:
        raise CannotTrace("it leaves a gradient that has a history", None)
    if attributes_of(gradient):
        raise CannotTrace("it sets an attribute of a gradient", None)
    slot = tracer._known(gradient)
    if slot is None:
        raise CannotTrace("it leaves a gradient that no operation made", None)
    return slot


def _check_params(tape: Tape, around: Surroundings) -> None:
    """Objects that entries are given must be ones that guards see."""
    groups = {id(facts.where) for facts in around.dicts}
    for entry in tape.entries:
        for value in entry.params.values():
            if isinstance(value, Generator) and id(value) not in around.seen:
                raise CannotTrace("it draws from a generator that it made", entry.place)
        options = entry.params.get("options")
        if type(options) is dict and id(options) not in groups:
            raise CannotTrace("it uses an optimizer that it made", entry.place)


def _written(tape: Tape, tracer: Tracer) -> list[tuple[int, Slot]]:
    """The sources whose versions count the writes of a tape, in order."""
    counters = {}
    tensor_of = {int(slot): tensor for slot, (tensor, _) in enumerate(tracer.kept)}
    for slot in tape.sources:
        counter = tensor_of[int(slot)]._counter
        if counter is not None:
            counters.setdefault(id(counter), slot)
    written = []
    for entry in tape.entries:
        for i in entry.op.writes:
            for slot in slots_in(entry.inputs[i : i + 1]):
                source = counters.get(id(tensor_of[int(slot)]._counter))
                updated = slot in tape.sources and not _is_in_place(entry)
                if source is not None and not updated:
                    written.append((entry.number + 1, source))
    return written


def _is_in_place(entry: Entry) -> bool:
    return entry.op.writes == (0,) and hasattr(entry.op, "op")
