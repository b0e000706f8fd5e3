"""What the code of a TorchScript file may call: Torch's operations by name, and functions of plain values.

There is no way from here to anything else: a name that is in neither table is an error.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

from ..aten_functions import FORMATS, FORMS, aten_function, code_of, dtype_of
from ..autograd.graph import modes
from ..device import device
from ..nn import functional
from ..ops import FUNCTIONS
from ..tensor import Tensor

HERE = __name__.removesuffix(".jit.calls")
_OUTSIDE = frozenset(("from_file", "from_numpy", "frombuffer", "share_memory_", "numpy", "tofile", "apply_", "map_", "map2_"))  # fmt: skip
"""Functions of Torch's that reach files, other memory or Python."""


class ScriptError(RuntimeError):
    """Code of a file, or of a program, that this library cannot run."""


# --- Tensors -------------------------------------------------------------------------------------------------


def operation(name: str) -> Callable[..., Any]:
    """The function for one of Torch's operations; ScriptError if there is none."""
    found = _SPECIAL.get(name)
    if found is None and name not in _OUTSIDE and not name.startswith("__"):
        known = name in FUNCTIONS or name in FORMS or not name.startswith("_")
        found = aten_function(name) if known else None
    if not callable(found) or isinstance(found, type) or inspect.ismodule(found):
        raise ScriptError(f"the code calls torch.{name}, which minitorch.torch does not have")
    return found


def call_operation(name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """Perform one of Torch's operations as a file writes it: with numbers for types, formats and reductions."""
    fn = operation(name)
    options = {k: _OPTIONS[k](v) if k in _OPTIONS else v for k, v in kwargs.items()}
    options = {k: v for k, v in options.items() if k not in ("layout", "pin_memory")}
    return fn(*args, **options)


def _format(code: Any) -> Any:
    return FORMATS[code] if isinstance(code, int) else code


_OPTIONS: dict[str, Callable[[Any], Any]] = {"dtype": dtype_of, "memory_format": _format}


def _to(input: Tensor, *args: Any, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
    """Of a tensor, a dtype, or a device and a dtype; options that follow are flags of copying."""
    if args and isinstance(args[0], Tensor):
        return input.to(args[0])
    places = [a for a in args if type(a) is not bool and a is not None]
    kinds = [dtype_of(a) for a in places if isinstance(a, int)]
    where = [a for a in places if not isinstance(a, int)]
    return input.to(device=device or next(iter(where), None), dtype=dtype or next(iter(kinds), None))  # fmt: skip


def _size(input: Any, dim: int | None = None) -> Any:
    return list(input.shape) if dim is None else input.shape[dim]


_SPECIAL: dict[str, Callable[..., Any]] = {
    "to": _to,
    "size": _size,
    "stride": lambda input, *dim: list(input.stride()) if not dim else input.stride(*dim),
    "len": len,
    "is_autocast_enabled": lambda *_: False,
    "is_grad_enabled": lambda: modes.grad,
    "device": lambda *args: device(*args),
    **dict.fromkeys(("Int", "IntImplicit"), int),
    **dict.fromkeys(("Float", "FloatImplicit"), float),
    "Bool": bool,
    "ScalarImplicit": lambda value: value.item() if isinstance(value, Tensor) else value,
    **{n: getattr(operator, n) for n in ("__and__", "__or__", "__xor__")},
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    "contiguous": lambda input, order=0, memory_format=None: input.contiguous(memory_format=_format(memory_format or order)),
    "gelu": lambda input, approximate="none": functional.gelu(input, approximate=approximate),
}  # fmt: skip

PRIM: dict[str, Callable[..., Any]] = {
    **{n: operator.attrgetter(n) for n in ("is_cuda", "is_cpu", "is_nested", "is_quantized", "is_sparse", "is_mkldnn", "is_meta", "requires_grad")},
    "dtype": lambda input: code_of(input.dtype),
    "device": lambda input: input.device,
    "layout": lambda input: 0,
    "data": lambda input: input.detach(),
    "shape": _size,
    "ndim": lambda input: input.ndim,
    "NumToTensor": FUNCTIONS["tensor"],
    "unchecked_unwrap_optional": lambda value: value,
    "min": min,
    "max": max,
    "abs": abs,
    "type": lambda where: where.type,
}  # fmt: skip
"""Functions of `ops.prim`."""


# --- Plain values --------------------------------------------------------------------------------------------


def _in_place(change: Callable[..., Any]) -> Callable[..., Any]:
    def call(target: Any, *args: Any) -> Any:
        change(target, *args)
        return target

    return call


def _method(name: str) -> Callable[..., Any]:
    return lambda target, *args: getattr(target, name)(*args)


def format_text(text: str, *values: Any) -> str:
    """A text with values in place of braces; attributes of values are never looked at."""
    parts = text.split("{}")
    filled = [str(v) for v in values[: len(parts) - 1]] + ["{}"] * (len(parts) - 1 - len(values))
    return "".join(a + b for a, b in zip(parts, [*filled, ""], strict=True))


VALUES: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (round, abs, len, list, dict, str, sorted, sum, all, any, min, max, ord, chr)},
    **{n: getattr(operator, n) for n in ("add", "sub", "mul", "floordiv", "mod", "neg", "eq", "ne", "lt", "le", "gt", "ge", "pow")},
    **{n: getattr(math, n) for n in "sqrt exp log log2 log10 sin cos tan asin acos atan atan2 sinh cosh tanh floor ceil erf gamma lgamma fabs isnan isinf isfinite".split()},  # noqa: SIM905
    "div": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "__not__": operator.not_,
    "__contains__": operator.contains,
    "__getitem__": operator.getitem,
    "_set_item": _in_place(operator.setitem),
    "Delete": operator.delitem,
    "__derive_index": lambda index, start, step: start + index * step,
    "__range_length": lambda start, end, step: len(range(start, end, step)),
    "warn": lambda *_, **__: None,
    "slice": lambda values, start=None, end=None, step=1: values[start:end:step],
    "append": _in_place(list.append),
    "extend": _in_place(lambda target, values: target.extend(values)),
    "sort": lambda target, reverse=False: target.sort(reverse=reverse),
    **{n: _method(n) for n in ("insert", "reverse", "clear", "copy", "count", "pop", "update")},
    "keys": lambda target: list(target.keys()),
    "values": lambda target: list(target.values()),
    "items": lambda target: list(target.items()),
    "get": lambda target, key, default=None: target.get(key, default),
    "format": format_text,
    **{n: getattr(str, n) for n in "join split strip lower upper startswith endswith replace find isdigit".split()},  # noqa: SIM905
}  # fmt: skip
"""Functions of numbers, texts, lists and dicts, by Torch's names and as methods."""

BUILTINS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (int, float, bool, str, len, range, list, tuple, dict, min, max, abs, sum, sorted, round, enumerate, zip, any, all, reversed, print)
}  # fmt: skip


def call_torch(name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """`torch.name(...)` as a file writes it: of plain values, or of tensors."""
    if name in VALUES and args:
        plain = not any(isinstance(a, Tensor) for a in (*args, *kwargs.values()))
        if isinstance(args[0], (list, dict, str)) or plain:
            return VALUES[name](*args, **kwargs)
    return call_operation(name, args, kwargs)
