"""What is left out of a tape before it is played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Any

from ..backends.interface import as_array, computed
from ..ops.copies import CLONE
from ..ops.creation import LIFT
from ..ops.record import ELEMENTWISE, MOVEMENT, REDUCTION, Op
from ..ops.reduce import SUM
from .comparing import owner
from .tape import ALIAS, Entry, Layout, Slot, Tape, rebuilt, slots_in
from .tracing import Constant

CREATED = frozenset(("ones", "zeros", "full", "arange"))
"""Records without inputs that always make the same."""

CONVOLUTIONS = frozenset(("convolution", "conv_transpose"))
"""What the gradient of a convolution's input is, too."""


def with_constants(tape: Tape) -> tuple[Tape, dict[Slot, Any]]:
    """What depends on no input, computed once: the tape without those entries, and their arrays.

    An array that is kept from play to play must never be written, nor be seen from outside: only
    operations that make new memory may read it.
    """
    exposed = {int(s) for s in slots_in((tape.result, [g for *_, g in tape.gradients]))}
    for entry in tape.entries:
        kind = getattr(entry.op, "kind", "")
        makes = isinstance(entry.op, Op) and entry.outputs and kind != MOVEMENT
        if not makes or not all(entry.fresh):
            made = {int(slot) for slot in entry.outputs}
            if kind != MOVEMENT or exposed & made or entry.several:
                exposed |= {int(slot) for slot in entry.slots()}
    changed = True
    while changed:  # what is looked at through a view that is exposed is exposed
        before = len(exposed)
        for entry in tape.entries:
            if exposed & {int(slot) for slot in entry.outputs} and not all(entry.fresh):
                exposed |= {int(slot) for slot in entry.slots()}
        changed = len(exposed) != before
    arrays: dict[Slot, Any] = {}
    entries = []
    for entry in tape.entries:
        if _is_constant(entry, arrays) and not exposed & {int(slot) for slot in entry.outputs}:
            values = partial(_value, arrays)
            given, params = rebuilt(entry.inputs, values), rebuilt(entry.params, values)
            arrays[entry.outputs[0]] = as_array(computed(entry.op, given, params))
        else:
            entries.append(entry)
    return replace(tape, entries=entries), arrays


def _value(arrays: dict[Slot, Any], leaf: Any) -> Any:
    """What stands for a slot or for numbers of the program."""
    if isinstance(leaf, Slot):
        return arrays[leaf]
    return leaf.array.copy() if isinstance(leaf, Constant) else leaf


def _is_constant(entry: Entry, arrays: dict[Slot, Any]) -> bool:
    """Whether an entry reads nothing but constants, and gives one array that these decide."""
    op = entry.op
    if not isinstance(op, Op) or len(entry.outputs) != 1 or entry.several:
        return False
    if any(slot not in arrays or slot.of_array for slot in entry.slots()):
        return False
    if not op.args:
        return op.name in CREATED or op is LIFT
    return op.kind in (ELEMENTWISE, MOVEMENT, REDUCTION)


def without_idle_copies(tape: Tape) -> Tape:
    """Copies of what nobody else uses, left out: such as those that leaves keep as gradients.

    An eager walk back sees by the references to a gradient that it may be kept without a copy. While it is
    traced, the tape holds everything. Memory that a play makes anew, and that only the copy reads, can stand
    for the copy if it lies as the copy does.
    """
    uses = Counter(int(slot) for entry in tape.entries for slot in entry.slots())
    uses.update(int(s) for s in slots_in((tape.result, [g for *_, g in tape.gradients])))
    fresh = {}
    entries = []
    for entry in tape.entries:
        for slot, layout, own in zip(entry.outputs, entry.layouts, entry.fresh, strict=False):
            if own and entry.op is not ALIAS:
                fresh[int(slot)] = layout
        idle = False
        if entry.op is CLONE:
            given = int(entry.inputs[0])
            idle = uses[given] == 1 and fresh.get(given) == entry.layouts[0]
        entries.append(replace(entry, op=ALIAS, params={}) if idle else entry)
    return replace(tape, entries=entries)


def for_programs(tape: Tape) -> Tape:
    """The tape with what saves memory where nobody looks into it."""
    return slopes_over_gates(masks_before_pools(tape))


def slopes_over_gates(tape: Tape) -> Tape:
    """Gradients of an LSTM's gates are written over the gates, where nobody else reads these."""
    uses = Counter(slot for entry in tape.entries for slot in entry.slots())
    uses.update(slots_in((tape.result, [g for *_, g in tape.gradients])))
    made = {slot for e in tape.entries if e.op.name == "lstm_layer" for slot in e.outputs}
    entries = []
    for entry in tape.entries:
        if entry.op.name == "lstm_layer_backward":
            gates = entry.inputs[entry.op.args.index("gates")]
            own = gates in made and uses[gates] == 1
            entry = replace(entry, params=entry.params | {"over_gates": own})
        entries.append(entry)
    return replace(tape, entries=entries)


class _Pools:
    """What masks_before_pools knows of a tape.

    Attributes:
        same: what aliases show
        layouts: of what entries make
        fresh: what has memory of its own
        uses: how often each slot is read, or left behind
    """

    def __init__(self, tape: Tape) -> None:
        self.same: dict[Slot, Slot] = {}
        self.layouts: dict[Slot, Layout] = {}
        self.fresh: set[Slot] = set()
        self.uses = Counter(slot for entry in tape.entries for slot in entry.slots())
        self.uses.update(slots_in((tape.result, [g for *_, g in tape.gradients])))
        for entry in tape.entries:
            self.layouts.update(zip(entry.outputs, entry.layouts, strict=True))
            if entry.op is ALIAS:
                self.same[entry.outputs[0]] = self.shown(entry.inputs[0])
            else:
                self.fresh |= {s for s, own in zip(entry.outputs, entry.fresh, strict=False) if own}

    def shown(self, slot: Any) -> Any:
        """What an alias shows; a slot that is none shows itself."""
        return self.same.get(slot, slot)

    def may_swap(self, mask: Entry, back: Entry, pool: Entry) -> bool:
        """Whether a mask of what is put back tells, for each window, whether its largest number is above 0."""
        return (
            mask.params == {"constants": (0, 0)}
            and self.shown(mask.inputs[1]) == self.shown(pool.inputs[0])
            and self.uses[back.outputs[0]] == 1
            and mask.layouts == back.layouts
            and self.layouts.get(back.inputs[0]) == pool.layouts[0]
        )


def masks_before_pools(tape: Tape) -> Tape:
    """Gradients of max pooling over relu are masked before they are put back, by what was pooled: what relu made may be let go of.

    The largest number of a window is the one at the place to which its gradient goes, and elsewhere gradients are 0.
    """
    known, entries = _Pools(tape), list(tape.entries)
    following = max([*known.layouts, *tape.sources], default=-1) + 1
    pools: dict[Slot, Entry] = {}  # by their indices
    backs: dict[Slot, int] = {}
    masked: dict[Slot, tuple[Slot, int]] = {}  # by what is put back: what is, and its dimensions
    for i, entry in enumerate(tape.entries):
        first = (
            entry.inputs[0] if entry.inputs else None
        )  # a list, where an operation takes several
        given: Any = known.shown(first) if isinstance(first, Slot) else None
        name = entry.op.name
        if any(s not in tape.sources for k in entry.op.writes for s in slots_in(entry.inputs[k : k + 1])):  # fmt: skip
            pools.clear()
        elif name == "max_pool2d_with_indices" and {given, *entry.outputs} <= known.fresh:
            pools[entry.outputs[1]] = entry
        elif name == "max_pool_backward":
            backs[entry.outputs[0]] = i
        elif name == "threshold_backward" and given in backs:
            back = entries[backs[given]]
            pool = pools.get(known.shown(back.inputs[1]))
            if pool is not None and known.may_swap(entry, back, pool):
                made, following = Slot(following), following + 1
                before = {"outputs": (made,), "layouts": pool.layouts[:1], "number": back.number}
                entries[backs[given]] = replace(entry, inputs=[back.inputs[0], pool.outputs[0]], **before)  # fmt: skip
                entries[i] = replace(back, inputs=[made, back.inputs[1]], outputs=entry.outputs, number=entry.number)  # fmt: skip
                masked[entry.outputs[0]] = made, back.params["dims"]
        elif entry.op is SUM and given in masked and entry.params["dtype"] is None:
            made, dims = masked[given]
            count = len(known.layouts[given][0])
            if {d % count for d in entry.params["dim"]} >= set(range(count - dims, count)):
                entries[i] = replace(entry, inputs=[made])
    return replace(tape, entries=entries)


def weights_first(entries: Iterable[Entry]) -> list[Entry]:
    """Gradients of a convolution's weight before those of its input, which may lie where the input lies then."""
    found: list[Entry] = []
    for entry in entries:
        before = found[-1] if found else entry
        found.append(entry)
        if entry.op.name == "convolution_backward_weight" and before.op.name in CONVOLUTIONS:
            reads_it = {int(s) for s in before.outputs} & {int(s) for s in entry.slots()}
            if before.inputs[0] == entry.inputs[0] and not reads_it:
                found[-2:] = replace(entry, number=before.number), before
    return found


def with_writes_last(tape: Tape) -> tuple[Tape, int]:
    """The tape with entries that write memory from outside at its end, and how many come before.

    With them go entries that read what they write, and those that write what they read.
    """
    memory: dict[int, set[int]] = {}  # by slots: the owners of the memory that it may show
    for slot, source in tape.sources.items():
        memory[int(slot)] = {id(owner(source.of._array)) if source.kind == "tensor" else -int(slot) - 1}  # fmt: skip
    outside = set().union(*memory.values())
    early, late = [], []
    read: set[int] = set()
    written: set[int] = set()
    for entry in tape.entries:
        shown = set().union(*(memory.get(int(slot), ()) for slot in entry.slots()))
        changed = {m for i in entry.op.writes for s in slots_in(entry.inputs[i]) for m in memory.get(int(s), ())}  # fmt: skip
        for slot, own in zip_longest(entry.outputs, entry.fresh[: len(entry.outputs)]):
            memory[int(slot)] = {-int(slot) - 1} if own and entry.op is not ALIAS else shown
        checks = not (entry.outputs or entry.op.writes)
        if checks or changed & outside or shown & written or changed & read:
            late.append(entry)
            read |= shown
            written |= changed.union(*(memory[int(slot)] for slot in entry.outputs))
        else:
            early.append(entry)
    return replace(tape, entries=[*early, *late]), len(early)
