"""The text of a tensor, as PyTorch prints it.

All numbers of a tensor are written in one format and width: as integers, with a fixed number
of digits, or, if they differ too much for that, in scientific notation. Of a large
tensor only the edges are written, and only they decide the notation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from . import dtypes

Array = Any
"""A NumPy array."""


# --- Options ---------------------------------------------------------------------------------------


@dataclass
class _Options:
    """What `set_printoptions` sets."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


OPTIONS = _Options()
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {},
    "short": {"precision": 2, "edgeitems": 2},
    "full": {"threshold": math.inf},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; options that are None stay unchanged, except for `sci_mode`.

    Args:
        precision: number of digits after the decimal point
        threshold: tensors with more elements are printed in part
        edgeitems: number of elements printed at each end of each dimension
        linewidth: number of characters in a line
        profile: "default", "short" or "full"
        sci_mode: whether to use scientific notation; None: if the numbers need it
    """
    chosen: dict[str, Any] = {}
    if profile in _PROFILES:
        chosen = asdict(_Options()) | _PROFILES[profile]
    given = {"precision": precision, "threshold": threshold}
    given |= {"edgeitems": edgeitems, "linewidth": linewidth}
    chosen |= {name: value for name, value in given.items() if value is not None}
    chosen["sci_mode"] = sci_mode
    for name, value in chosen.items():
        setattr(OPTIONS, name, value)


def get_printoptions() -> dict[str, Any]:
    """The present options."""
    return asdict(OPTIONS)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Use other options within a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


# --- Columns: how all numbers of a tensor are written ------------------------------------------------


class _Wholes:
    """The format of integers and booleans."""

    def __init__(self, values: Array) -> None:
        self.width = max((len(str(value)) for value in values.tolist()), default=1)

    def write(self, value: Any) -> str:
        """One number, in the width of all."""
        return str(value).rjust(self.width)


class _Reals:
    """The format of floating point numbers; zeros, infinities and NaN do not influence it."""

    def __init__(self, values: Array) -> None:
        values = values.astype(np.float64)
        telling = values[np.isfinite(values) & (values != 0)]
        scientific = telling.size > 0 and _is_scientific(telling)
        self.whole = not scientific and bool((telling == np.ceil(telling)).all())
        notation = "e" if scientific else "f"
        self.pattern = ".0f" if self.whole else f".{OPTIONS.precision}{notation}"
        self.width = max((len(self._digits(value)) for value in telling.tolist()), default=1)

    def _digits(self, value: float) -> str:
        """The digits of a number; integers get a decimal point."""
        point = "." if self.whole and math.isfinite(value) else ""
        return format(value, self.pattern) + point

    def write(self, value: float) -> str:
        """One number, in the width of all."""
        return self._digits(value).rjust(self.width)


class _Pairs:
    """The format of complex numbers; each part has its own."""

    def __init__(self, values: Array) -> None:
        self.real, self.imag = _Reals(values.real), _Reals(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def write(self, value: complex) -> str:
        """One number; its real part is in the width of all."""
        imag = self.imag.write(value.imag).lstrip()
        return self.real.write(value.real) + ("" if imag[0] in "+-" else "+") + imag + "j"


def _is_scientific(numbers: Array) -> bool:
    """Whether numbers need scientific notation, or the user wants it."""
    if OPTIONS.sci_mode is not None:
        return OPTIONS.sci_mode
    sizes = np.abs(numbers)
    least, most = float(sizes.min()), float(sizes.max())
    return most / least > 1000.0 or most > 1.0e8 or least < 1.0e-4


def _column(values: Array) -> _Wholes | _Reals | _Pairs:
    """The format for a flat array."""
    if values.dtype.kind == "c":
        return _Pairs(values)
    return _Wholes(values) if values.dtype.kind in "biu" else _Reals(values)


# --- Brackets and lines --------------------------------------------------------------------------------


def contents_text(array: Array, indent: int) -> str:
    """The numbers of an array in brackets; lines after the first are indented."""
    if array.size == 0:
        return "[]"
    shown = _edges(array) if array.size > OPTIONS.threshold else array
    return _nested(_listed(shown), array.shape, indent, _column(shown.reshape(-1)))


def _edges(array: Array) -> Array:
    """The part of a large array that is printed."""
    edge = OPTIONS.edgeitems
    for dim, size in enumerate(array.shape):
        if size > 2 * edge:
            array = array.take([*range(edge), *range(size - edge, size)], axis=dim)
    return array


def _listed(array: Array) -> Any:
    """An array as nested lists of Python's numbers."""
    if array.dtype.kind not in "biufc":  # bfloat16
        array = array.astype(np.float64)
    return array.tolist()


def _nested(values: Any, shape: Sequence[int], indent: int, column: Any) -> str:
    """The text of a nested list: one number, or brackets."""
    if not shape:
        return column.write(values)
    if len(shape) == 1:
        texts = [column.write(value) for value in values]
        return _lines(_with_gap(texts, shape[0], " ..."), indent, column.width)
    texts = [_nested(value, shape[1:], indent + 1, column) for value in values]
    between = "," + "\n" * (len(shape) - 1) + " " * (indent + 1)
    return "[" + between.join(_with_gap(texts, shape[0], "...")) + "]"


def _with_gap(texts: list[str], size: int, gap: str) -> list[str]:
    """Texts, with an ellipsis in the middle if they are fewer than `size`."""
    if len(texts) == size:
        return texts
    middle = len(texts) // 2
    return [*texts[:middle], gap if texts else "...", *texts[middle:]]


def _lines(texts: list[str], indent: int, width: int) -> str:
    """Texts in brackets, wrapped to lines."""
    per_line = max(1, math.floor((OPTIONS.linewidth - indent) / (width + 2)))
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


# --- Tensors ---------------------------------------------------------------------------------------------


def tensor_text(
    array: Array,
    *,
    dtype_name: str | None = None,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    device: str = "cpu",
    type_name: str = "tensor",
) -> str:
    """The text of a tensor.

    Args:
        array: its numbers
        dtype_name: the name of its type; None: that of the array's type
        requires_grad: whether it requires a gradient
        grad_fn_name: the name of its `grad_fn`, if it has one
        device: its device
        type_name: the name before the parenthesis
    """
    name: str = dtype_name or array.dtype.name
    suffixes = [f"device='{device}'"] if device != "cpu" else []
    if device == "meta" or (array.ndim != 1 if array.size == 0 else not OPTIONS.edgeitems):
        suffixes.append(f"size={tuple(array.shape)}")
    if not _goes_without_saying(name, empty=array.size == 0 or device == "meta"):
        suffixes.append(f"dtype=torch.{name}")
    suffixes += _graph_suffixes(requires_grad, grad_fn_name)
    start = f"{type_name}("
    contents = "..." if device == "meta" else contents_text(array, len(start))
    return with_suffixes(start + contents, suffixes, len(start))


def sparse_text(
    parts: dict[str, Array],
    shape: Sequence[int],
    layout: str = "torch.sparse_coo",
    *,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
) -> str:
    """The text of a sparse tensor: its arrays by name, values last."""
    indent = len("tensor(")
    texts = []
    for name, array in parts.items():
        start = f"{name}=tensor("
        size = "" if array.size else f", size={tuple(array.shape)}"
        texts.append(start + contents_text(array, indent + len(start)) + size + ")")
    values = parts["values"]
    suffixes = [f"size={tuple(shape)}", f"nnz={len(values)}"]
    if not _goes_without_saying(values.dtype.name, empty=False):
        suffixes.append(f"dtype=torch.{values.dtype.name}")
    suffixes += [f"layout={layout}", *_graph_suffixes(requires_grad, grad_fn_name)]
    text = "tensor(" + (",\n" + " " * indent).join(texts)
    return with_suffixes(text, suffixes, indent, new_line="indices" in parts)


def format_scalar(array: Array, spec: str) -> str:
    """`f"{tensor:spec}"` of a zero-dimensional tensor."""
    return format(_listed(array), spec)


def _goes_without_saying(dtype_name: str, empty: bool) -> bool:
    """Whether the dtype is omitted because the numbers show it; for empty tensors, only the default's."""
    default = dtypes.get_default_dtype().name
    if dtype_name == default or empty:
        return dtype_name == default
    return dtype_name in ("int64", "bool", "complex128" if default == "float64" else "complex64")


def _graph_suffixes(requires_grad: bool, grad_fn_name: str | None) -> list[str]:
    """The suffixes `grad_fn=` and `requires_grad=`."""
    if grad_fn_name is not None:
        return [f"grad_fn=<{grad_fn_name}>"]
    return ["requires_grad=True"] if requires_grad else []


def with_suffixes(text: str, suffixes: list[str], indent: int, new_line: bool = False) -> str:
    """The text with suffixes, each on the last line if there is room."""
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if new_line or length + len(suffix) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
            new_line = False
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"
