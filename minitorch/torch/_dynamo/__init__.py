"""Torch's names for the settings, errors and functions of its tracer."""

from __future__ import annotations

from typing import Any

from ..compiler import allow_in_graph as allow_in_graph
from ..compiler import assume_constant_result as assume_constant_result
from ..compiler import compile
from ..compiler import config as config
from ..compiler import disable as disable
from ..compiler import exceptions as exc
from ..compiler import explain as explain
from ..compiler import is_compiling as is_compiling
from ..compiler import list_backends as list_backends
from ..compiler import lookup_backend as lookup_backend
from ..compiler import register_backend as register_backend
from ..compiler import reset as reset
from ..compiler.modules import OptimizedModule as OptimizedModule
from ..compiler.state import break_tape
from . import eval_frame as eval_frame


def graph_break(msg: str = "") -> None:
    """Let the function that is traced have no tape."""
    break_tape(f"it asks for a graph break{': ' if msg else ''}{msg}")


def mark_dynamic(tensor: Any, index: Any, **_: Any) -> None:
    """Accepted: there is a tape for each shape."""


def mark_static(tensor: Any, index: Any = None) -> None:
    """Accepted: there is a tape for each shape."""


def optimize(backend: Any = "inductor", *, nopython: bool = False, **_: Any) -> Any:
    """The older name of `torch.compile`, as a decorator."""
    return compile(backend=backend, fullgraph=nopython)


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Accepted: a tape has the addresses that it was made with, and looks at them."""


__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "exc", "explain", "graph_break", "is_compiling",
    "list_backends", "lookup_backend", "mark_dynamic", "mark_static", "mark_static_address", "optimize", "register_backend", "reset",
]  # fmt: skip
