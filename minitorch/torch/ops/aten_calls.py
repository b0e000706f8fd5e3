"""Operations as calls of Torch's own: `sum` of a record with its parameters as `aten.sum.dim_IntList(x, [1], True)`.

What sees operations from outside (`__torch_dispatch__`, `make_fx`, `torch.export`) knows them by the names
of `torch.ops.aten` and the order of arguments there. `aten_call` says both. A record that Torch has no operation
for, or another one, is called by its own name, in `torch.ops.minitorch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends.interface import ARRAYS
from ..dtypes import from_numpy_dtype
from ..environment import contiguous_format
from ..tensor import Tensor, wrap
from .record import ELEMENTWISE, Op
from .writes import InPlace

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
"""An operation's name with its overload, its positional arguments, and its keyword arguments."""

Row = Callable[..., Call]
"""From the inputs and parameters of a record to the call."""


def _call(name: str, *args: Any, **kwargs: Any) -> Call:
    """A call, without trailing arguments that are None or empty."""
    given = list(args)
    while given and given[-1] is None:
        given.pop()
    return name, tuple(given), {key: value for key, value in kwargs.items() if value is not None}


def _torch_dtype(kind: Any) -> Any:
    return None if kind is None else from_numpy_dtype(np.dtype(kind))


def _unless(default: Any, value: Any) -> Any:
    """A value; None where it is the default."""
    return None if value == default else value


def flat(shape: Any) -> list[int]:
    """A shape that was given as several integers or as one list."""
    first = shape[0] if len(shape) == 1 else None
    return list(first if isinstance(first, (list, tuple)) else shape)


# --- Elementwise operations ------------------------------------------------------------------------------

_BY_TENSOR = frozenset(("add", "sub", "mul", "div"))  # numbers count as tensors there
_PLAIN = frozenset(("floor_divide", "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "nextafter"))  # fmt: skip


def _elementwise(name: str, inputs: Sequence[Any], constants: tuple[Any, ...] = (), **params: Any) -> Call:  # fmt: skip
    """The call of an elementwise record that is not in the table."""
    if len(inputs) == 2 and not isinstance(inputs[0], Tensor):
        if name == "sub":
            return _call("rsub.Scalar", inputs[1], inputs[0])
        if name in ("add", "mul"):
            inputs = inputs[1], inputs[0]
    numbers = len(inputs) == 2 and not isinstance(inputs[1], Tensor)
    overload = "default"
    if len(inputs) == 2 and name not in _PLAIN and not constants:
        overload = "Scalar" if numbers and name not in _BY_TENSOR else "Tensor"
    return _call(f"{name}.{overload}", *inputs, *constants, **params)


def _pow(input: Any, other: Any) -> Call:
    kinds = ["Tensor" if isinstance(x, Tensor) else "Scalar" for x in (input, other)]
    return _call(f"pow.{'Scalar' if kinds[0] == 'Scalar' else '_'.join(kinds)}", input, other)


def _where(condition: Any, input: Any, other: Any) -> Call:
    numbers = not isinstance(input, Tensor), not isinstance(other, Tensor)
    overload = {(False, False): "self", (True, False): "ScalarSelf", (False, True): "ScalarOther"}
    return _call(f"where.{overload.get(numbers, 'Scalar')}", condition, input, other)


def _clamp(input: Any, min: Any, max: Any) -> Call:
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    return _call("clamp.Tensor" if tensors else "clamp.default", input, min, max)


def _by_value(name: str) -> Row:
    def row(input: Any, *others: Any) -> Call:
        overload = "Tensor" if isinstance(others[-1], Tensor) else "Scalar"
        return _call(f"{name}.{overload}", input, *others)

    return row


def _elu(input: Any, constants: tuple[float, float, float]) -> Call:
    alpha, scale, input_scale = constants
    if input_scale == 1 and scale == 1:
        return _call("elu.default", input, alpha)
    if scale == 1 and input_scale == 1 / alpha:
        return _call("celu.default", input, alpha)
    return _call("elu.default", input, alpha, scale, None if input_scale == 1 else input_scale)


# --- Movement --------------------------------------------------------------------------------------------


def key_steps(ndim: int, key: tuple[Any, ...]) -> list[tuple[str, tuple[Any, ...]]]:
    """Basic indexing (integers, slices, None) as a sequence of calls, each on the result of the one before."""
    taken = sum(part is not None and part is not Ellipsis for part in key)
    steps: list[tuple[str, tuple[Any, ...]]] = []
    dim = 0
    for part in key:
        if part is Ellipsis:
            dim += ndim - taken
        elif part is None:
            steps.append(("unsqueeze.default", (dim,)))
            dim += 1
        elif isinstance(part, slice):
            if part != slice(None):
                start, stop = part.start or 0, 2**63 - 1 if part.stop is None else part.stop
                step = () if part.step in (None, 1) else (part.step,)
                steps.append(("slice.Tensor", (dim, start, stop, *step)))
            dim += 1
        else:
            steps.append(("select.int", (dim, int(part))))
    return steps


def _split(input: Any, sizes: Sequence[int], dim: int) -> Call:
    first = sizes[0] if sizes else 0
    equal = all(size == first for size in sizes[:-1]) and 0 < sizes[-1] <= first
    if equal:
        return _call("split.Tensor", input, first, dim)
    return _call("split_with_sizes.default", input, list(sizes), dim)


def _index(input: Any, key: tuple[Any, ...]) -> Call | None:
    parts = [wrap(part) if type(part) in ARRAYS else part for part in key]
    if not all(part == slice(None) if isinstance(part, slice) else isinstance(part, Tensor) for part in parts):  # fmt: skip
        return None
    while isinstance(parts[-1], slice):
        parts.pop()
    return _call("index.Tensor", input, [None if isinstance(p, slice) else p for p in parts])


def _pad(input: Any, widths: Any, value: Any) -> Call:
    pairs = [tuple(pair) for pair in widths]
    while pairs and pairs[0] == (0, 0):
        pairs.pop(0)
    flat_widths = [width for pair in reversed(pairs) for width in pair]
    return _call("constant_pad_nd.default", input, flat_widths, value or None)


# --- Products and windows --------------------------------------------------------------------------------


def _convolution(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Call:  # fmt: skip
    n = len(stride)
    options = [list(stride), list(padding), list(dilation), groups]
    for default in (1, [1] * n, [0] * n, [1] * n):
        if options and options[-1] == default:
            options.pop()
        else:
            break
    return _call(f"conv{n}d.default", input, weight, bias, *options)


def _conv_transpose(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, shape: Any
) -> Call:  # fmt: skip
    n = len(stride)
    sizes = zip(
        shape[-n:], input.shape[-n:], weight.shape[-n:], stride, padding, dilation, strict=True
    )
    extra = [out - ((i - 1) * s - 2 * p + d * (k - 1) + 1) for out, i, k, s, p, d in sizes]
    return _call(
        f"conv_transpose{n}d.{'default' if n == 1 else 'input'}", input, weight, bias,
        list(stride), list(padding), extra, groups, list(dilation),
    )  # fmt: skip


def _max_pool(name: str) -> Row:
    def row(input: Any, window: Any, dims: int) -> Call:
        size, stride, padding, dilation, ceil = window
        given = [list(size), list(stride), list(padding), list(dilation), ceil]
        for default in (False, [1] * dims, [0] * dims):
            if given[-1] == default:
                given.pop()
            else:
                break
        return _call(f"max_pool{dims}d{name}.default", input, *given)

    return row


def _avg_pool(input: Any, window: Any) -> Call:
    size, stride, padding, ceil, count, divisor = window
    given: list[Any] = [list(size), list(stride), list(padding), ceil, count, divisor]
    for default in (None, True, False, [0] * len(size)):
        if given[-1] == default:
            given.pop()
        else:
            break
    return _call(f"avg_pool{len(size)}d.default", input, *given)


# --- Reductions ------------------------------------------------------------------------------------------


def _reduction(name: str, by_dim: str, one: bool = False, **options: Any) -> Row:
    """The table row of a reduction: all dimensions and some dimensions are different overloads."""

    def row(input: Any, dim: Any = (), keepdim: bool = False, dtype: Any = None) -> Call:
        dims = list(dim)
        if len(dims) == input.ndim and not keepdim and name:
            return _call(f"{name}.default", input, dtype=_torch_dtype(dtype))
        if one and len(dims) > 1:
            by = f"{name}.dims"
        else:
            by, dims = f"{name}.{by_dim}", dims[0] if one else dims
        return _call(by, input, dims, keepdim or None, dtype=_torch_dtype(dtype))

    return row


def _by_dims(name: str) -> Row:
    return lambda input, dim, keepdim=False: _call(name, input, list(dim), keepdim or None)


def _with_correction(name: str) -> Row:
    return lambda input, dim, correction, keepdim=False: _call(
        f"{name}.correction", input, list(dim), correction=correction, keepdim=keepdim or None
    )


def _with_index(name: str) -> Row:
    return lambda input, dim, keepdim=False: _call(name, input, dim, keepdim or None)


_REDUCTIONS = ["none", "mean", "sum"]


def _new(name: str) -> Row:
    return lambda size, dtype, **_: _call(f"{name}.default", list(size), dtype=_torch_dtype(dtype))


ROWS: dict[str, Row] = {
    # elementwise
    "pow": _pow,
    "where": _where,
    "clamp": _clamp,
    "masked_fill": _by_value("masked_fill"),
    "lerp": _by_value("lerp"),
    "fill": _by_value("fill"),
    "elu": _elu,
    "square": lambda input: _call("pow.Tensor_Scalar", input, 2),
    "scale": lambda input, constants: _call("mul.Tensor", input, *constants),
    "div_trunc": lambda input, other: _call("div.Tensor_mode", input, other, rounding_mode="trunc"),
    "div_floor": lambda input, other: _call("div.Tensor_mode", input, other, rounding_mode="floor"),
    "softplus": lambda input, constants: _call(
        "softplus.default", input, *(() if constants == (1.0, 20.0) else constants)
    ),
    "gelu": lambda input, constants: _call("gelu.default", input),
    "gelu_tanh": lambda input, constants: _call("gelu.default", input, approximate="tanh"),
    "addcmul": lambda a, b, c, constants: _call("addcmul.default", a, b, c, value=_unless(1, constants[0])),
    "addcdiv": lambda a, b, c, constants: _call("addcdiv.default", a, b, c, value=_unless(1, constants[0])),
    "copy": lambda input, other: _call("copy.default", input, other),
    "_to_copy": lambda input, kind: _call("_to_copy.default", input, dtype=_torch_dtype(kind)),
    # movement
    "clone": lambda input, order: _call(
        "clone.default", input, memory_format=contiguous_format if order == "C" else None
    ),
    "view": lambda input, shape: _call("view.default", input, flat(shape)),
    "_unsafe_view": lambda input, shape: _call("_unsafe_view.default", input, flat(shape)),
    "squeeze": lambda input, dims: (
        _call("squeeze.dim", input, dims[0])
        if len(dims) == 1
        else _call("squeeze.dims", input, list(dims))
    ),
    "unsqueeze": lambda input, dim: _call("unsqueeze.default", input, dim),
    "expand": lambda input, shape: _call("expand.default", input, list(shape)),
    "permute": lambda input, dims: _call("permute.default", input, list(dims)),
    "transpose": lambda input, dim0, dim1: _call("transpose.int", input, dim0, dim1),
    "t": lambda input: _call("t.default", input),
    "slice": lambda input, at: _call("slice.Tensor", input, *at[:3], None if at[3] == 1 else at[3]),
    "select": lambda input, at: _call("select.int", input, *at),
    "split": _split,
    "unbind": lambda input, dim: _call("unbind.int", input, dim or None),
    "cat": lambda *tensors, dim: _call("cat.default", list(tensors), dim or None),
    "stack": lambda *tensors, dim: _call("stack.default", list(tensors), dim or None),
    "flip": lambda input, dims: _call("flip.default", input, list(dims)),
    "repeat": lambda input, times: _call("repeat.default", input, list(times)),
    "roll": lambda input, shifts, dims: _call("roll.default", input, list(shifts), list(dims)),
    "gather": lambda input, index, dim: _call("gather.default", input, dim, index),
    "index_select": lambda input, index, dim: _call("index_select.default", input, dim, index),
    "constant_pad_nd": _pad,
    "embedding": lambda weight, indices, padding_idx, by_frequency, sparse: _call(
        "embedding.default", weight, indices, padding_idx
    ),
    "tril": lambda input, diagonal: _call("tril.default", input, diagonal or None),
    "triu": lambda input, diagonal: _call("triu.default", input, diagonal or None),
    "scatter": lambda input, index, src, dim: _call(
        f"scatter.{'src' if isinstance(src, Tensor) else 'value'}", input, dim, index, src
    ),
    "scatter_add": lambda input, index, src, dim: _call("scatter_add.default", input, dim, index, src),
    "index_add": lambda input, index, source, dim: _call("index_add.default", input, dim, index, source),
    # reductions
    "sum": _reduction("sum", "dim_IntList"),
    "mean": _reduction("mean", "dim"),
    "all": _reduction("all", "dim", one=True),
    "any": _reduction("any", "dim", one=True),
    "prod": _reduction("prod", "dim_int", one=True),
    "amax": _by_dims("amax.default"),
    "amin": _by_dims("amin.default"),
    "logsumexp": _by_dims("logsumexp.default"),
    "var": _with_correction("var"),
    "std": _with_correction("std"),
    "max": lambda input, dim: _call("max.default", input),
    "min": lambda input, dim: _call("min.default", input),
    "max_dim": _with_index("max.dim"),
    "min_dim": _with_index("min.dim"),
    "argmax": _with_index("argmax.default"),
    "argmin": _with_index("argmin.default"),
    "linalg_vector_norm": lambda input, ord, dim, keepdim=False: _call(
        "linalg_vector_norm.default", input, ord, list(dim), keepdim or None
    ),
    "cumsum": lambda input, dim, dtype: _call("cumsum.default", input, dim, dtype=_torch_dtype(dtype)),
    "softmax": lambda input, dim: _call("softmax.int", input, dim),
    "log_softmax": lambda input, dim: _call("log_softmax.int", input, dim),
    "topk": lambda input, dim, k, largest: _call("topk.default", input, k, dim, None if largest else False),
    "sort": lambda input, dim, descending, stable: _call("sort.default", input, dim, descending or None)
    if not stable
    else _call("sort.stable", input, stable=True, dim=dim, descending=descending),
    # products and windows
    "convolution": _convolution,
    "conv_transpose": _conv_transpose,
    "max_pool1d_with_indices": _max_pool("_with_indices"),
    "max_pool2d_with_indices": _max_pool("_with_indices"),
    "max_pool3d_with_indices": _max_pool("_with_indices"),
    "avg_pool": _avg_pool,
    "adaptive_avg_pool": lambda input, size: _call(
        f"adaptive_avg_pool{len(size)}d.default", input, list(size)
    ),
    "native_layer_norm": lambda input, weight, bias, by, eps: _call(
        "native_layer_norm.default", input, list(by), weight, bias, eps
    ),
    "batch_norm_eval": lambda input, mean, var, weight, bias, eps: _call(
        "batch_norm.default", input, weight, bias, mean, var, False, 0.1, eps, True
    ),
    # new tensors
    "zeros": _new("zeros"),
    "ones": _new("ones"),
    "randn": _new("randn"),
    "rand": _new("rand"),
    "empty": lambda size, dtype, **_: _call("empty.memory_format", list(size), dtype=_torch_dtype(dtype)),
    "full": lambda size, value, dtype: _call("full.default", list(size), value, dtype=_torch_dtype(dtype)),
    "uniform": lambda input, args, generator: _call("uniform.default", input, *args, generator=generator),
}  # fmt: skip
"""The call in `aten` for each record."""

FIRST: dict[str, Row] = {
    "native_layer_norm": lambda input, weight, bias, by, eps: _call(
        "layer_norm.default", input, list(by), weight, bias, eps
    ),
    "rms_norm": lambda input, weight, bias, by, eps: _call(
        "rms_norm.default", input, list(by), weight, eps
    ),
    "native_group_norm": lambda input, weight, bias, by, eps: _call(
        "group_norm.default", input, by, weight, bias, eps
    ),
    "scaled_dot_product_attention": lambda query, key, value, mask, scale, causal: _call(
        "scaled_dot_product_attention.default", query, key, value, mask, 0.0, causal, scale=scale
    ),
    "cross_entropy_loss": lambda input, target, weight, reduction, ignore_index, smoothing: _call(
        "cross_entropy_loss.default", input, target, weight, _REDUCTIONS.index(reduction), ignore_index, smoothing
    ),
    "max_pool1d_with_indices": _max_pool(""),
    "max_pool2d_with_indices": _max_pool(""),
    "max_pool3d_with_indices": _max_pool(""),
}  # fmt: skip
"""The call for records with several results where only the first is used."""


def aten_call(op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Call | None:
    """The call in Torch that corresponds to an operation, or None."""
    if isinstance(op, InPlace):
        found = aten_call(op.op, inputs, params)
        if found is None:
            return None
        name, overload = found[0].split(".")
        return f"{name}_.{overload}", *found[1:]
    if not isinstance(op, Op):
        return None
    if op.name == "slice_by_key":
        steps = key_steps(inputs[0].ndim, params["at"])
        return _call(steps[0][0], inputs[0], *steps[0][1]) if len(steps) == 1 else None
    if op.name == "index":
        return _index(inputs[0], params["key"])  # type: ignore[return-value]
    row = ROWS.get(op.name)
    if row is not None:
        return row(*inputs, **params)
    if op.kind == ELEMENTWISE and set(params) <= {"constants"}:
        return _elementwise(op.name, inputs, **params)
    if not params and op.outputs == () and not op.many and op.name in _SAME_NAME:
        return _call(f"{op.name}.default", *inputs)
    return None


_SAME_NAME = frozenset(("mm", "bmm", "matmul", "mv", "dot", "linear"))


def _interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
    recompute_scale_factor: Any = None, antialias: bool = False,
) -> Call | None:  # fmt: skip
    if mode in ("area", "lanczos") or antialias or recompute_scale_factor:
        return None
    n = input.ndim - 2
    many = lambda value: [value] * n if isinstance(value, (int, float)) else value and list(value)  # noqa: E731
    aligned = () if mode in ("nearest", "nearest-exact") else (bool(align_corners),)
    return (
        f"upsample_{mode.replace('-', '_')}{n}d.vec",
        (input, many(size), *aligned, many(scale_factor)),
        {},
    )


def _recurrent(name: str) -> Row:
    def row(input: Any, hx: Any, params: Any, *options: Any) -> Call | None:
        if not isinstance(params, (list, tuple)):  # a packed sequence
            return None
        state = list(hx) if isinstance(hx, (list, tuple)) else hx
        return f"{name}.input", (input, state, list(params), *options), {}

    return row  # type: ignore[return-value]


_COMPOSITES: dict[str, Callable[..., Call | None]] = {
    "interpolate": _interpolate,
    "lstm": _recurrent("lstm"),
    "gru": _recurrent("gru"),
    "rnn_tanh": _recurrent("rnn_tanh"),
    "rnn_relu": _recurrent("rnn_relu"),
}


def composite_call(op: Any, inputs: Sequence[Any], params: dict[str, Any]) -> Call | None:
    """The call for a composite function that is one node in graphs; None if it is decomposed."""
    row = _COMPOSITES.get(op.name)
    return None if row is None else row(*inputs, **params)
