"""Which player a tape gets: of Python, compiled, or one graph of a GPU.

Compilers load when the first tape needs them.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...garbage import uncollected
from ..backends.cpu.dispatch import COMPILES
from ..tensor import Tensor
from .passes import for_programs, with_constants
from .player import OnArrays, OnTensors
from .tape import Slot, Tape, layout_of

if TYPE_CHECKING:
    from .native_player import Plan

log = logging.getLogger(__name__)
"""Says, at the level INFO, what is compiled."""


def player_of(
    tape: Tape, native: bool = False, timed: list[Any] | None = None
) -> Callable[[Sequence[Tensor]], Any]:
    """A function that plays a tape for the tensors of its arguments; a native one is compiled first.

    One that is to be timed calls `mark` after each step, or each entry; events that tell of these are appended to `timed`.
    """
    if tape.recorded:
        return OnTensors(tape).function()
    shorter, arrays = with_constants(for_programs(tape) if native else tape)
    if tape.elsewhere:
        from .graph_player import OnDevice

        player: OnArrays = OnDevice(shorter)
    elif native:
        from .native_player import NativePlayer
        from .timeline import TimedPlayer

        player = NativePlayer(shorter, arrays) if timed is None else TimedPlayer(shorter, arrays, timed)  # fmt: skip
    elif timed is not None:
        from .timeline import TimedEntries

        player = TimedEntries(shorter, timed)
    else:
        player = OnArrays(shorter)
    return _function_of(player, arrays)


def _function_of(player: OnArrays, constants: dict[Slot, Any]) -> Callable[[Sequence[Tensor]], Any]:
    """What a player plays; constants are the same at each play."""
    for slot, array in constants.items():
        player.layouts[slot] = layout_of(array)
        player.names[f"v{int(slot)}"] = array
        player.fixed.add(int(slot))
    play: Any = player.function()
    if hasattr(player, "native"):
        play.machines = player.machines.idle  # type: ignore[attr-defined]
    return play


def programs_of(tape: Tape, ahead: bool = False) -> Callable[[Sequence[Tensor]], Any] | None:
    """A native player of a tape that leaves no graph behind, which is noted on it; None, with a warning, if there is none.

    On a GPU that is one graph; what of it changes nothing may be started ahead of guards.
    """
    if not COMPILES and not tape.elsewhere:
        return None
    try:
        if tape.elsewhere:
            from .graph_player import graph_of

            return graph_of(tape, player_of(tape), ahead)
        plan = _plan_of(tape)
        from .listing import kernels_in
        from .native_player import NativePlayer

        log.info("compiling %d kernels for %r", kernels_in(plan), tape.name)
        player = NativePlayer(plan.tape, plan.constants, plan, partial(_plan_of, tape))
        tape.listed = partial(listing, tape)
        return _function_of(player, plan.constants)
    except Exception as error:
        warnings.warn(
            f"torch.compile: {tape.name!r} is played by Python, because {_reason(tape, error)}",
            UserWarning, stacklevel=4,
        )  # fmt: skip
        return None


def _reason(tape: Tape, error: Exception) -> str:
    if tape.elsewhere:
        return f"it cannot be one graph of the GPU: {error}"
    return f"its program cannot be compiled: {type(error).__name__}: {error}"


def listing(tape: Tape) -> list[str]:
    """What a native player of a tape does, as text; nothing for one that leaves a graph behind, or is on a GPU."""
    if tape.recorded or tape.elsewhere:
        return []
    from .listing import listing_of

    return listing_of(_plan_of(tape))


def _plan_of(tape: Tape) -> Plan:
    with uncollected():  # the first plan imports the compiler
        from .native_player import Plan

        shorter, arrays = with_constants(for_programs(tape))
        return Plan(shorter, arrays, OnArrays(shorter).returned)
