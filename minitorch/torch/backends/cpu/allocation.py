"""Memory that is freed stays with the process: the next step of a training needs as much again.

By default the C library gives large blocks back to the system when they are freed, and the system hands out new ones
page by page, each filled with zeros first. A training step frees all it has allocated, so that each step would
pay for its memory anew: a fifth of the time of a small CNN's step.
"""

from __future__ import annotations

import ctypes
import os

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LARGEST_KEPT = 32 << 20  # bytes of an array; larger ones go back to the system at once
MOST_KEPT = 512 << 20  # bytes in all, at the end of the heap
CHOSEN_BY_USER = (
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TOP_PAD_",
    "GLIBC_TUNABLES",
)


def keep_freed_memory() -> bool:
    """Ask the C library to keep freed memory; False where it has no such setting, or the user has made one."""
    if any(name in os.environ for name in CHOSEN_BY_USER):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT) and mallopt(M_TRIM_THRESHOLD, MOST_KEPT))
