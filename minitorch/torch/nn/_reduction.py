"""The `reduction` of losses, from the deprecated arguments `size_average` and `reduce`."""

from __future__ import annotations

import warnings


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The name of the reduction that the two deprecated arguments mean."""
    name = "mean" if size_average is None or size_average else "sum"
    if reduce is not None and not reduce:
        name = "none"
    if emit_warning:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{name}' instead.",
            stacklevel=2,
        )
    return name


def get_enum(reduction: str) -> int:
    """The number of a reduction."""
    numbers = {"none": 0, "mean": 1, "sum": 2}
    if reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return numbers[reduction]
