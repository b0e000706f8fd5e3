"""Numba's report on parallel loops, put into words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass
class Diagnosis:
    """What a report says.

    Attributes:
        loops: the code of every loop that Numba found, by its number
        serial: numbers of loops that one thread runs alone, inside another parallel loop
        fused: how many loops were joined to others
        hoisted: allocations that are made once, before the loop, as code and loop
        moved: how many computations were moved out of loops
    """

    loops: dict[int, str] = field(default_factory=dict)
    serial: set[int] = field(default_factory=set)
    fused: int = 0
    hoisted: list[tuple[str, int]] = field(default_factory=list)
    moved: int = 0


def read_report(text: str) -> Diagnosis:
    """Read the text that `parallel_diagnostics` prints."""
    found = Diagnosis()
    for line in text.splitlines():
        if match := re.match(r"(.*?)-*\| ((?:#\d+(?:, )?)+)\s*$", line):
            for number in re.findall(r"\d+", match[2]):
                found.loops[int(number)] = match[1].strip()
    found.serial = {int(n) for n in re.findall(r"\+--(\d+) --> rewritten as a serial", text)}
    found.serial |= {int(n) for n in re.findall(r"\+--(\d+) \(serial\b", text)}
    joined = " ".join(text.split())
    found.fused = sum(int(n) for n in re.findall(r"had (\d+) loop\(s\) fused", joined))
    hoists = re.findall(
        r"hoisted out of the parallel loop\s+labelled #(\d+).*?Allocation:: ([^\n]*)", text, re.S
    )
    found.hoisted = [(code.strip(), int(number)) for number, code in hoists]
    for part in re.findall(r"Has the following hoisted:\n((?:[ \t]+.*\n?)*)", text):
        found.moved += len(part.strip().splitlines())
    return found


def in_words(found: Diagnosis) -> list[str]:
    """A diagnosis as sentences."""
    parallel = {n: code for n, code in found.loops.items() if n not in found.serial}
    if not parallel:
        return ["Nothing runs in parallel. Is there a `prange` in the kernel?"]
    return [
        *(_loop_in_words(code) for code in _unique(parallel.values())),
        *(_serial_in_words(found.loops.get(n, ""), n) for n in sorted(found.serial)),
        _fusion_in_words(found.fused),
        *_memory_in_words(found),
        *([_moves_in_words(found.moved)] if found.moved else []),
    ]


def _unique(codes: object) -> list[str]:
    return list(dict.fromkeys(codes))  # type: ignore[call-overload]


def _loop_in_words(code: str) -> str:
    if "prange" in code:
        return f"`{code}` runs in parallel: its turns are shared out among the threads."
    return f"`{code}` is a loop over an array, and runs in parallel as well."


def _serial_in_words(code: str, number: int) -> str:
    what = f"`{code}`" if code else f"Loop {number}"
    return (
        f"{what} could run in parallel, but it stands inside a parallel loop: each thread does its "
        f"own alone. One level of threads is enough."
    )


def _fusion_in_words(fused: int) -> str:
    if fused:
        return f"{fused} loop{'s were' if fused > 1 else ' was'} joined with another into one."
    return "No loops were joined into one."


def _memory_in_words(found: Diagnosis) -> list[str]:
    if not found.hoisted:
        return ["No allocation was moved out of a parallel loop."]
    return [
        f"The memory for `{code}` is allocated once for each thread before the loop, and used again "
        f"in every turn: asking for memory in each turn would be slow."
        for code, _ in found.hoisted
    ]


def _moves_in_words(moved: int) -> str:
    many = f"{moved} computations that are" if moved > 1 else "1 computation that is"
    return f"{many} the same in every turn happen{'' if moved > 1 else 's'} once, before the loop."
