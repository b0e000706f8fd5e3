"""How a program is printed: its steps, what they read and write, where that lies, and the loops as Python."""

from __future__ import annotations

import math
from typing import Any

from .kernel_forms import Kernel
from .loops import Loop
from .lowering import Call, Update
from .memory import LEFT, LENT, OWN
from .native_player import Plan
from .product_forms import Product
from .tape import Slot


def listing_of(plan: Plan) -> list[str]:
    """A program as lines of text."""
    memory, steps = plan.lowering.memory, plan.lowering.steps
    own = {id(p.root): p.root for p in memory.places.values() if p.root.whose == OWN}
    written = {int(slot) for step in steps for slot in step.written()}
    used = [root for root in own.values() if int(root.slot) in written]
    lines = [
        f"program: {len(steps)} steps, {len(plan.segments)} runs without Python; {memory.size:,} bytes for "
        f"{len(used)} temporary arrays of {sum(r.nbytes for r in used):,} bytes"
    ]
    known: dict[str, str] = {}
    for k, step in enumerate(steps):
        names = ", ".join(f"{slot!r}{_where(plan, slot)}" for slot in step.written())
        lines.append(f"  {names + ' = ' if names else ''}{step_text(plan, k, step, known)}")
    for source, name in known.items():
        lines += ["", *source.rstrip().replace("def loop", f"def {name}", 1).splitlines()]
    return lines


def kernels_in(plan: Plan) -> int:
    """How many different functions a program calls."""
    loops = {text.source for text in plan.texts.values()}
    steps = [step for step in plan.lowering.steps if isinstance(step, (Kernel, Update))]
    return len(loops) + len({s.name if isinstance(s, Kernel) else s.entry.op.name for s in steps})


def _where(plan: Plan, slot: Slot) -> str:
    root = plan.lowering.memory.place(slot).root
    where = {OWN: f"[{root.offset:,}]", LENT: f"[{root.offset:,}, lent]", LEFT: " (left)"}
    return where.get(root.whose, "")


def step_text(plan: Plan, k: int, step: Any, known: dict[str, str]) -> str:
    """A step as a line; loops get names, which are noted by their sources."""
    bytes_of = plan.lowering.memory.place
    moved = sum(
        math.prod(p.layout[0]) * p.layout[2].itemsize
        for p in map(bytes_of, (*step.read(), *step.written()))
    )
    given = ", ".join(map(repr, step.read()))
    about = f"  # {moved:,} bytes{', all threads' if not isinstance(step, Call) and plan.is_parallel(k) else ''}"
    if isinstance(step, Loop):
        text = plan.texts[k]
        name = known.setdefault(text.source, f"loop{len(known)}")
        slots = ", ".join(f"{number}: {slot!r}" for slot, number in text.slots.items())
        return f"{name}({slots}) over {list(step.shape)}{about}"
    if isinstance(step, Product):
        a, b = (f"{slot!r}{'.T' if transposed else ''}" for slot, transposed in (step.a, step.b))
        return f"{a} @ {b}{about}"
    if isinstance(step, Kernel):
        return f"{step.name}({given}){about}"
    name = step.entry.op.name
    count = len(step.entry.inputs[0]) if isinstance(step, Update) else 0
    return f"{name} of {count} parameters{about}" if count else f"{name}({given}), by Python{about}"
