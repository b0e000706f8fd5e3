"""What became of a function: its tape, or why it has none."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..backends.cpu.dispatch import COMPILES
from ..nn.modules.module import Module
from .compiled import Compiled, traced_once
from .players import listing
from .tape import Tape


class Explanation:
    """One call of a function, traced.

    Attributes:
        out: what the call returned
        tape: what it did, if that is all on a tape
        break_reasons: why it is not
    """

    def __init__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        call = type(fn).__call__.__get__(fn) if isinstance(fn, Module) else fn
        compiled = call if isinstance(call, Compiled) else Compiled(call, False)
        self.out, self.tape, reason = traced_once(compiled, args, kwargs)
        self.break_reasons = [reason] if reason else []
        if self.tape is not None and COMPILES:
            self.tape.listed = partial(listing, self.tape)

    tape: Tape | None

    @property
    def graph_count(self) -> int:
        """How many tapes there are: one or none."""
        return int(self.tape is not None)

    @property
    def graph_break_count(self) -> int:
        """How many reasons there are against a tape."""
        return len(self.break_reasons)

    @property
    def op_count(self) -> int:
        """How many entries the tape has."""
        return 0 if self.tape is None else len(self.tape.entries)

    def __str__(self) -> str:
        if self.tape is None:
            return f"no tape: {self.break_reasons[0]}"
        return f"{self.op_count} entries\n{self.tape}"

    __repr__ = __str__
