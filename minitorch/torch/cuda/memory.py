"""How much of a GPU's memory tensors take."""

from __future__ import annotations

from typing import Any

from ..backends.cuda.backend import find_cuda, require_cuda
from ..device import OutOfMemoryError as OutOfMemoryError

_GIB = 1 << 30


def _index(device: Any) -> int:
    from . import index_of

    return index_of(require_cuda(), device)


def _numbers(device: Any) -> tuple[int, int, int, int]:
    """Bytes in use now and at most, bytes held now and at most; zeros where there is no GPU."""
    if find_cuda()[0] is None:
        return 0, 0, 0, 0
    return require_cuda().memory(_index(device))


def memory_allocated(device: Any = None) -> int:
    """How many bytes tensors take on a GPU."""
    return _numbers(device)[0]


def max_memory_allocated(device: Any = None) -> int:
    """How many bytes tensors took at most on a GPU."""
    return _numbers(device)[1]


def memory_reserved(device: Any = None) -> int:
    """How many bytes of a GPU the memory pool has reserved, in use or not."""
    return _numbers(device)[2]


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes of a GPU that the memory pool has reserved."""
    return _numbers(device)[3]


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset the peak of allocated bytes."""
    if find_cuda()[0] is not None:
        require_cuda().reset_peak(_index(device))


reset_max_memory_allocated = reset_peak_memory_stats


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """How many bytes of a GPU are free, and how many it has."""
    return require_cuda().free_and_total(_index(device))


def empty_cache() -> None:
    """Give back the memory that no tensor takes."""
    if find_cuda()[0] is not None:
        require_cuda().release()


def memory_stats(device: Any = None) -> dict[str, int]:
    """Allocated and reserved bytes, now and at most, by Torch's names."""
    now, most, held, most_held = _numbers(device)
    return {
        "allocated_bytes.all.current": now,
        "allocated_bytes.all.peak": most,
        "reserved_bytes.all.current": held,
        "reserved_bytes.all.peak": most_held,
    }


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Allocated and reserved bytes, as a table."""
    now, most, held, most_held = _numbers(device)
    rows = [("in use", now, most), ("held", held, most_held)]
    lines = [f"{'memory':<10}{'now':>14}{'at most':>14}"]
    lines += [f"{name:<10}{a / _GIB:>10.3f} GiB{b / _GIB:>10.3f} GiB" for name, a, b in rows]
    return "\n".join(lines)
