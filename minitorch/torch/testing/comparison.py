"""`assert_close`: are two values, or two structures of them, near enough?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..ops.comparison import isclose
from ..ops.conversion import from_numpy
from ..tensor import Tensor

_PRECISIONS = {  # rtol and atol by dtype; whole numbers must be equal
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}


class Limits(NamedTuple):
    """What `assert_close` was asked to let pass."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def for_types(self, *kinds: dtypes.dtype) -> tuple[float, float]:
        """The tolerances given, or the widest that belong to some types."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_PRECISIONS.get(kind, (0.0, 0.0)) for kind in kinds]
        return max(r for r, _ in known), max(a for _, a in known)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """AssertionError unless `|actual - expected| <= atol + rtol |expected|` everywhere.

    Tensors, arrays, numbers, None, and sequences and mappings of them. Without `rtol` and
    `atol` the types decide.

    >>> import minitorch.torch as torch
    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    limits = Limits(rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    for a, b, place in list(_pairs(actual, expected, "")):
        wrong = _difference(a, b, limits)
        if wrong is not None:
            text = f"{wrong}\n\nThe failure occurred for item {place}" if place else wrong
            raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg)


def _pairs(actual: Any, expected: Any, place: str) -> Iterator[tuple[Any, Any, str]]:
    """The values of two structures, with their place; AssertionError where those differ."""
    if _both(actual, expected, Sequence) and not _both(actual, expected, str):
        if len(actual) != len(expected):
            raise AssertionError(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{_at(place)}"
            )
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(a, b, f"{place}[{i}]")
    elif _both(actual, expected, Mapping):
        _check_keys(actual, expected, place)
        for key in sorted(actual.keys(), key=str):
            yield from _pairs(actual[key], expected[key], f"{place}[{key!r}]")
    elif _comparable(actual, expected):
        yield actual, expected, place
    else:
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.{_at(place)}"
        )


def _both(a: object, b: object, kind: Any) -> bool:
    return isinstance(a, kind) and isinstance(b, kind)


def _at(place: str) -> str:
    return f"\n\nThe failure occurred for item {place}" if place else ""


_NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def _comparable(a: Any, b: Any) -> bool:
    """Whether two values are None, numbers, or tensors of one family."""
    if a is None or b is None or _both(a, b, _NUMBERS):
        return True
    return _both(a, b, (Tensor, np.ndarray)) or (hasattr(a, "to_dense") and hasattr(b, "to_dense"))


def _check_keys(actual: Any, expected: Any, place: str) -> None:
    missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or additional:
        raise AssertionError(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(missing, key=str)}\n"
            f"Additional keys in the actual mapping: {sorted(additional, key=str)}{_at(place)}"
        )


# --- Of two values ------------------------------------------------------------------------------


def _difference(a: Any, b: Any, limits: Limits) -> str | None:
    """What is wrong with a value, or None."""
    if a is None or b is None:
        return None if a is b else f"None mismatch: {a} is not {b}"
    if _both(a, b, (bool, np.bool_)):
        return None if bool(a) is bool(b) else f"Booleans mismatch: {a} is not {b}"
    if _both(a, b, _NUMBERS):
        if limits.check_dtype and type(a) is not type(b):
            return f"The (d)types do not match: {type(a)} != {type(b)}."
        return _scalars(
            a, b, *limits.for_types(*(_type_of_number(v) for v in (a, b))), limits.equal_nan
        )
    return _tensors(_as_tensor(a), _as_tensor(b), limits)


def _type_of_number(value: Any) -> dtypes.dtype:
    if isinstance(value, (complex, np.complexfloating)):
        return dtypes.complex128
    return dtypes.float64 if isinstance(value, (float, np.floating)) else dtypes.int64


def _as_tensor(value: Any) -> Any:
    return from_numpy(value) if isinstance(value, np.ndarray) else value


def _scalars(a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> str | None:
    same = a == b or (equal_nan and a != a and b != b)
    apart = abs(a - b)
    if same or (math.isfinite(apart) and apart <= atol + rtol * abs(b)):
        return None
    exact = rtol == 0 and atol == 0
    share = apart / abs(b) if abs(b) != 0 else math.inf
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {b} but got {a}.\n"
        f"Absolute difference: {apart}{_allowed(atol, exact)}\n"
        f"Relative difference: {share}{_allowed(rtol, exact)}"
    )


def _allowed(limit: float, exact: bool) -> str:
    return "" if exact else f" (up to {limit} allowed)"


def _tensors(a: Any, b: Any, limits: Limits) -> str | None:
    for name, wanted in [
        ("shape", True), ("layout", limits.check_layout), ("device", limits.check_device), ("dtype", limits.check_dtype),
    ]:  # fmt: skip
        mine, theirs = (getattr(x, name, None) for x in (a, b))
        if wanted and mine != theirs:
            return f"The values for attribute '{name}' do not match: {mine} != {theirs}."
    a, b = (x.detach().to_dense() for x in (a, b))
    if limits.check_stride and a.stride() != b.stride():
        return f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}."
    rtol, atol = limits.for_types(a.dtype, b.dtype)
    kind = dtypes.promote_types(a.dtype, b.dtype)
    a, b = a.to(kind), b.to(kind)
    near = isclose(a, b, rtol=rtol, atol=atol, equal_nan=limits.equal_nan)
    if near._array.all():
        return None
    if not a.ndim:
        return _scalars(a.item(), b.item(), rtol, atol, limits.equal_nan)
    return _elements(a, b, ~near._array, rtol, atol)


def _elements(a: Tensor, b: Tensor, wrong: Any, rtol: float, atol: float) -> str:
    """How many elements differ, and where most."""
    exact = rtol == 0 and atol == 0
    if a.dtype.kind < dtypes.FLOATING:
        a, b = a.to(dtypes.int64), b.to(dtypes.int64)
    apart = (a - b).abs()
    share = apart / b.abs()
    count, total = int(wrong.sum()), wrong.size
    lines = [
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n",
        f"Mismatched elements: {count} / {total} ({count / total:.1%})",
        _greatest("absolute", apart, wrong, atol, exact),
        _greatest("relative", share, wrong, rtol, exact),
    ]
    return "\n".join(lines)


def _greatest(which: str, differences: Tensor, wrong: Any, limit: float, exact: bool) -> str:
    array = differences._array
    counted = np.where(wrong, array, array.dtype.type(0))
    at = np.unravel_index(int(np.argmax(counted)), array.shape)
    place = tuple(int(i) for i in at)
    return (
        f"Greatest {which} difference: {array[at].item()} at index {place}{_allowed(limit, exact)}"
    )
