"""How far submissions are kept apart from the system: what is wanted, what is so, and saying it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .sandbox import LAYERS, probe, usable
from .workspace import CourseError

MODES = ("auto", "full", "none")
KERNEL = ("namespaces", "bubblewrap", "landlock", "seccomp", "cgroup", "uid")
"""Layers that the operating system sees to."""

_APART = ({"namespaces"}, {"bubblewrap"})
FILES = "your files can be neither read nor changed"
GUARANTEES: dict[str, tuple[set[str], ...]] = {
    FILES: (*_APART, {"landlock", "seccomp"}),
    "there is no network": (*_APART, {"seccomp"}),
    "other processes cannot be touched": (*_APART, {"seccomp"}, {"uid"}),
    "no process is left": (*_APART, {"seccomp"}, {"cgroup"}),
    "memory is bounded in sum": ({"cgroup"}, {"seccomp", "limits"}),
    "disk space is bounded in sum": _APART,
}
"""What the operating system sees to, by the sets of layers of which one is enough."""


def missing(layers: Collection[str]) -> list[str]:
    """What the operating system does not see to, with these layers."""
    held = set(layers)
    return [what for what, sets in GUARANTEES.items() if not any(need <= held for need in sets)]


def choose(mode: str = "auto", without: Collection[str] = ()) -> frozenset[str]:
    """The layers for a run.

    Args:
        mode: "auto" for all that work here, "full" for an error where these leave a gap, "none"
            for those that need nothing of the operating system
        without: layers that are not wanted
    """
    unwanted = {*without, *(KERNEL if mode == "none" else ())}
    layers = usable(frozenset(unwanted))
    if mode == "full" and (gaps := missing(layers)):
        raise CourseError(
            f"not so here: {'; '.join(gaps)}. `minitorch course grade --isolation` says why; "
            "docs/grading.md has a container in which all of it holds"
        )
    return layers


def describe(mode: str = "auto", without: Collection[str] = ()) -> Iterator[str]:
    """Lines that say which layers work here, and what they hold."""
    layers = choose("auto" if mode == "full" else mode, without)
    problems = probe(frozenset({*without, *(KERNEL if mode == "none" else ())}))
    yield "Layers:"
    for name, what in LAYERS.items():
        state = "on " if name in layers else "off"
        yield f"  {state}  {name:<12}{what if name in layers else problems[name]}"
    yield "Seen to by the operating system:"
    gaps = missing(layers)
    for what in GUARANTEES:
        yield f"  {'no ' if what in gaps else 'yes'}  {what}"
    if FILES in gaps:
        yield "Notes do not quote submissions here: they could have read your files."
    if gaps:
        yield "Grade only people you trust here, or in a container: docs/grading.md."
