"""The named tuples of results, such as `torch.return_types.sort`."""

from __future__ import annotations

from typing import Any

from .ops.results import named

_PAIRS = (
    "cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk",
)  # fmt: skip
_FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_PAIRS, ("values", "indices")),
    "aminmax": ("min", "max"),
    "frexp": ("mantissa", "exponent"),
    "histogram": ("hist", "bin_edges"),
    "histogramdd": ("hist", "bin_edges"),
}

all_return_types = [named(name, *fields) for name, fields in _FIELDS.items()]


def __getattr__(name: str) -> Any:
    if name in _FIELDS:
        return named(name, *_FIELDS[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
