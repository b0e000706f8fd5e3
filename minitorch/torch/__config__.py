"""What this library is built of."""

from __future__ import annotations

import importlib.metadata
import platform

from ..threads import get_num_threads


def show() -> str:
    """The versions of what computes."""
    lines = [f"MiniTorch on Python {platform.python_version()}, {platform.machine()}"]
    for package in ("numpy", "numba", "scipy", "ml-dtypes"):
        lines.append(f"  - {package} {importlib.metadata.version(package)}")
    return "\n".join(lines) + "\n"


def parallel_info() -> str:
    """How many threads compute."""
    return f"threads: {get_num_threads()}\n"
