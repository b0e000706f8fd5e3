"""How the arguments of a kernel lie in memory, read off its declaration in CUDA C++: as a format of Python's `struct`.

>>> format_of(
...     "typedef float T; __global__ void scale(T* x, T by, bool twice, long long n) {", "scale"
... )
'@Pf?q'

A structure is given as its bytes, and begins where its widest member may.

>>> format_of(
...     "struct Pair { int here, there[2]; long long far; }; __global__ void move(const char* x, Pair by) {",
...     "move",
... )
'@P0q24s0q'
"""

from __future__ import annotations

import re
from struct import calcsize

CODES = {
    "bool": "?", "int": "i", "unsigned": "I", "long long": "q", "unsigned long long": "Q", "float": "f", "double": "d",
}  # fmt: skip
"""What `struct` calls types."""


def format_of(source: str, name: str) -> str:
    """The format of the arguments of a kernel."""
    found = re.search(rf"__global__ void (?:MOST_THREADS\(\w+\) )?{name}\(([^)]*)\) {{", source)
    if found is None:
        raise ValueError(f"no kernel {name!r}")
    declared = (" ".join(p.split()) for p in found[1].split(","))
    return "@" + "".join(_code(p.rpartition(" ")[0], source) for p in declared)


def _code(kind: str, source: str) -> str:
    """The format of a type, which the source may declare."""
    if kind.endswith("*"):
        return "P"
    if kind in CODES:
        return CODES[kind]
    other = re.search(rf"typedef ([\w ]+) {kind};", source)
    if other is not None:
        return _code(other[1], source)
    members = re.search(rf"struct {kind} {{ ([^}}]*) }};", source)
    if members is None:
        raise ValueError(f"what {kind!r} is, is not declared")
    codes = "".join(_members(m, source) for m in members[1].split(";") if m)
    widest = max(re.findall(r"\D", codes), key=calcsize)
    return f"0{widest}{calcsize(f'@{codes}0{widest}')}s0{widest}"


def _members(declaration: str, source: str) -> str:
    """The format of members of one type, of which some may be arrays."""
    first, *others = declaration.split(",")
    kind, _, name = first.strip().rpartition(" ")
    code = _code(kind, source)
    counts = (re.search(r"\[(\d+)\]", n) for n in (name, *others))
    return "".join(code if c is None else f"{c[1]}{code}" for c in counts)
