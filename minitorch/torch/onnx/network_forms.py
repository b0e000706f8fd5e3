"""What reductions, products, convolutions, norms, attention and recurrent layers become in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import bool_, float32, int64
from ..fx.node import Node
from .building import FORMS, Builder, argument, arguments, form, rank, shape_of, type_of
from .errors import UnsupportedOperatorError

# --- Reductions ------------------------------------------------------------------------------------------

_REDUCTIONS = {
    "sum": "ReduceSum", "mean": "ReduceMean", "amax": "ReduceMax", "amin": "ReduceMin",
    "prod": "ReduceProd", "logsumexp": "ReduceLogSumExp",
}  # fmt: skip
for _name, _kind in _REDUCTIONS.items():
    FORMS[_name] = lambda b, node, kind=_kind: _reduced(b, node, kind)


def reduce(b: Builder, kind: str, value: str, dims: Any, keep: bool) -> str:
    """A reduction over some dimensions; over all, where none are given."""
    given = [b.constant(list(dims))] if dims else []
    return b.add(kind, value, *given, keepdims=int(keep))


def _dims(node: Node) -> tuple[list[int], bool]:
    dims = argument(node, 1, [])
    keep = bool(argument(node, 2, False, "keepdim"))
    return [dims] if isinstance(dims, int) else list(dims or []), keep


def _reduced(b: Builder, node: Node, kind: str) -> str:
    return reduce(b, kind, b.of(node.args[0], type_of(node)), *_dims(node))


@form("any", "all")
def _truth(b: Builder, node: Node) -> str:
    kind = "ReduceMax" if node.target.overloadpacket.__name__ == "any" else "ReduceMin"
    made = reduce(b, kind, b.cast(b.of(node.args[0], bool_), int64), *_dims(node))
    return b.cast(made, bool_)


@form("max", "min")
def _extreme(b: Builder, node: Node) -> Any:
    kind = node.target.overloadpacket.__name__.capitalize()
    x = b.of(node.args[0])
    if len(node.args) == 1:
        return reduce(b, f"Reduce{kind}", x, [], False)
    (dim,), keep = _dims(node)
    places = b.add(f"Arg{kind}", x, axis=dim, keepdims=int(keep))
    return [reduce(b, f"Reduce{kind}", x, [dim], keep), places]


@form("argmax", "argmin")
def _arg_extreme(b: Builder, node: Node) -> str:
    kind = f"Arg{node.target.overloadpacket.__name__.removeprefix('arg').capitalize()}"
    dims, keep = _dims(node)
    value = b.of(node.args[0])
    if not dims:
        return b.add("Squeeze", b.add(kind, b.add("Reshape", value, b.constant([-1])), axis=0, keepdims=1))  # fmt: skip
    return b.add(kind, value, axis=dims[0], keepdims=int(keep))


@form("var", "std")
def _var(b: Builder, node: Node) -> str:
    dims, keep = list(argument(node, 1, []) or range(rank(node.args[0]))), bool(node.kwargs.get("keepdim"))  # fmt: skip
    x, kind = b.of(node.args[0]), type_of(node)
    centered = b.add("Sub", x, reduce(b, "ReduceMean", x, dims, True))
    total = reduce(b, "ReduceSumSquare", centered, dims, keep)
    sizes = b.add("Gather", b.add("Shape", x), b.constant(dims), axis=0)
    count = b.add("Sub", reduce(b, "ReduceProd", sizes, [0], False), b.constant(node.kwargs.get("correction", 1)))  # fmt: skip
    made = b.add("Div", total, b.cast(count, kind))
    return b.add("Sqrt", made) if node.target.overloadpacket.__name__ == "std" else made


@form("linalg_vector_norm")
def _vector_norm(b: Builder, node: Node) -> str:
    order = argument(node, 1, 2)
    kind = {1: "ReduceL1", 2: "ReduceL2"}.get(order)
    if kind is None:
        raise UnsupportedOperatorError(f"linalg_vector_norm of order {order} has no ONNX form here")
    dims, keep = argument(node, 2, []), bool(argument(node, 3, False, "keepdim"))
    return reduce(b, kind, b.of(node.args[0]), dims, keep)


form("cumsum")(
    lambda b, node: b.add("CumSum", b.of(node.args[0], type_of(node)), b.constant(node.args[1]))
)


@form("softmax", "log_softmax")
def _softmax(b: Builder, node: Node) -> str:
    kind = "Softmax" if node.target.overloadpacket.__name__ == "softmax" else "LogSoftmax"
    return b.add(kind, b.of(node.args[0]), axis=node.args[1])


@form("topk")
def _topk(b: Builder, node: Node) -> list[str]:
    x, k, dim, largest = node.args[0], node.args[1], argument(node, 2, -1), argument(node, 3, True)
    return b.add("TopK", b.of(x), b.as_list(k), outputs=2, axis=dim, largest=int(largest), sorted=1)


@form("sort")
def _sort(b: Builder, node: Node) -> list[str]:
    x, dim = node.args[0], argument(node, 1, -1, "dim")
    count = b.as_list(shape_of(x)[dim])
    down = int(bool(argument(node, 2, False, "descending")))
    return b.add("TopK", b.of(x), count, outputs=2, axis=dim, largest=down, sorted=1)


# --- Products --------------------------------------------------------------------------------------------


form("mm", "bmm", "matmul", "mv", "dot")(
    lambda b, node: b.add("MatMul", *(b.of(x, type_of(node)) for x in node.args))
)


@form("linear")
def _linear(b: Builder, node: Node) -> str:
    x, weight, bias = arguments(node, None, None, None)
    if rank(x) == 2:
        given = [] if bias is None else [b.of(bias)]
        return b.add("Gemm", b.of(x), b.of(weight), *given, transB=1)
    made = b.add("MatMul", b.of(x), b.add("Transpose", b.of(weight), perm=[1, 0]))
    return made if bias is None else b.add("Add", made, b.of(bias))


def _batched(b: Builder, node: Node, dims: int) -> tuple[str, bool]:
    """The first argument with a dimension of examples, and whether that was added."""
    alone = rank(node.args[0]) == dims + 1
    value = b.of(node.args[0])
    return (b.add("Unsqueeze", value, b.constant([0])) if alone else value), alone


def _unbatched(b: Builder, value: str, alone: bool) -> str:
    return b.add("Squeeze", value, b.constant([0])) if alone else value


@form("conv1d", "conv2d", "conv3d")
def _conv(b: Builder, node: Node) -> str:
    n = rank(node.args[1]) - 2
    _, weight, bias, stride, padding, dilation, groups = arguments(
        node, None, None, None, [1] * n, [0] * n, [1] * n, 1
    )
    x, alone = _batched(b, node, n)
    given = [] if bias is None else [b.of(bias)]
    made = b.add(
        "Conv", x, b.of(weight), *given, kernel_shape=shape_of(weight)[2:], strides=list(stride),
        pads=[*padding, *padding], dilations=list(dilation), group=groups,
    )  # fmt: skip
    return _unbatched(b, made, alone)


@form("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(b: Builder, node: Node) -> str:
    _, weight, bias, stride, padding, extra, groups, dilation = node.args
    x, alone = _batched(b, node, len(stride))
    given = [] if bias is None else [b.of(bias)]
    made = b.add(
        "ConvTranspose", x, b.of(weight), *given, kernel_shape=shape_of(weight)[2:], strides=list(stride),
        pads=[*padding, *padding], output_padding=list(extra), dilations=list(dilation), group=groups,
    )  # fmt: skip
    return _unbatched(b, made, alone)


# --- Pooling and resizing --------------------------------------------------------------------------------


@form("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(b: Builder, node: Node) -> str:
    size: Any = node.args[1]
    n = len(size)
    _, _, stride, padding, dilation, ceil = arguments(
        node, None, None, size, [0] * n, [1] * n, False
    )
    x, alone = _batched(b, node, n)
    made = b.add(
        "MaxPool", x, kernel_shape=list(size), strides=list(stride), pads=[*padding, *padding], dilations=list(dilation),
        ceil_mode=int(ceil),
    )  # fmt: skip
    return _unbatched(b, made, alone)


@form("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(b: Builder, node: Node) -> str:
    size: Any = node.args[1]
    _, _, stride, padding, ceil, count, divisor = arguments(
        node, None, None, size, [0] * len(size), False, True, None
    )
    if divisor is not None:
        raise UnsupportedOperatorError("avg_pool with divisor_override has no ONNX form")
    x, alone = _batched(b, node, len(size))
    made = b.add(
        "AveragePool", x, kernel_shape=list(size), strides=list(stride), pads=[*padding, *padding], ceil_mode=int(ceil),
        count_include_pad=int(count),
    )  # fmt: skip
    return _unbatched(b, made, alone)


@form("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive_avg_pool(b: Builder, node: Node) -> str:
    sizes = node.args[1]
    n = len(sizes)
    if all(size == 1 for size in sizes):
        return reduce(b, "ReduceMean", b.of(node.args[0]), range(-n, 0), True)
    given = shape_of(node.args[0])[-n:]
    if any(isinstance(s, Node) or g % s for g, s in zip(given, sizes, strict=True)):
        raise UnsupportedOperatorError(
            f"adaptive_avg_pool{n}d from {given} to {list(sizes)} has no ONNX form: windows differ in size"
        )
    window = [g // s for g, s in zip(given, sizes, strict=True)]
    x, alone = _batched(b, node, n)
    return _unbatched(b, b.add("AveragePool", x, kernel_shape=window, strides=window), alone)


@form(
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d", "upsample_bilinear2d",
    "upsample_trilinear3d", "upsample_bicubic2d",
)  # fmt: skip
def _upsample(b: Builder, node: Node) -> str:
    name = node.target.overloadpacket.__name__
    mode = {"n": "nearest", "l": "linear", "b": "linear", "t": "linear"}[name[9]]
    x, sizes, *options = node.args
    if "bicubic" in name:
        mode = "cubic"
    factors = options[-1]
    aligned = mode != "nearest" and options[0]
    way = "asymmetric" if mode == "nearest" else "align_corners" if aligned else "half_pixel"
    more: dict[str, Any] = {"nearest_mode": "floor"} if mode == "nearest" else {}
    more = {**more, "cubic_coeff_a": -0.75} if mode == "cubic" else more
    if sizes is None:
        scales = b.constant([1.0, 1.0, *map(float, factors)], float32)
        return b.add("Resize", b.of(x), "", scales, mode=mode, coordinate_transformation_mode=way, **more)  # fmt: skip
    first = [b.size(x, 0), b.size(x, 1)]
    target = b.add("Concat", *first, *map(b.as_list, sizes), axis=0)
    return b.add("Resize", b.of(x), "", "", target, mode=mode, coordinate_transformation_mode=way, **more)  # fmt: skip


# --- Norms -----------------------------------------------------------------------------------------------


@form("batch_norm")
def _batch_norm(b: Builder, node: Node) -> str:
    x, weight, bias, mean, var, training, _, eps, *_rest = node.args
    if training:
        raise UnsupportedOperatorError("batch_norm in training has no ONNX form: call model.eval()")
    kind, channels = type_of(node), shape_of(mean)
    scale = b.constant(np.ones(channels), kind) if weight is None else b.of(weight)
    shift = b.constant(np.zeros(channels), kind) if bias is None else b.of(bias)
    return b.add(
        "BatchNormalization", b.of(x), scale, shift, b.of(mean), b.of(var), epsilon=float(eps)
    )


@form("layer_norm")
def _layer_norm(b: Builder, node: Node) -> str:
    x, shape, weight, bias, eps = arguments(node, None, None, None, None, 1e-5)
    kind = type_of(node)
    scale = b.constant(np.ones(shape), kind) if weight is None else b.of(weight)
    given = [] if bias is None else [b.of(bias)]
    return b.add("LayerNormalization", b.of(x), scale, *given, axis=-len(shape), epsilon=float(eps))


@form("rms_norm")
def _rms_norm(b: Builder, node: Node) -> str:
    x, shape, weight, eps = arguments(node, None, None, None, 1e-5)
    value, kind = b.of(x), type_of(node)
    mean = reduce(b, "ReduceMean", b.add("Mul", value, value), range(-len(shape), 0), True)
    made = b.add("Div", value, b.add("Sqrt", b.add("Add", mean, b.constant(eps, kind))))
    return made if weight is None else b.add("Mul", made, b.of(weight))


@form("group_norm")
def _group_norm(b: Builder, node: Node) -> str:
    x, groups, weight, bias, eps = arguments(node, None, None, None, None, 1e-5)
    value, kind = b.of(x), type_of(node)
    shape = b.add("Shape", value)
    grouped = b.add("Reshape", value, b.constant([0, groups, -1]))
    ones, zeros = b.constant(np.ones(groups), kind), b.constant(np.zeros(groups), kind)
    made = b.add("InstanceNormalization", grouped, ones, zeros, epsilon=float(eps))
    made = b.add("Reshape", made, shape)
    axes = b.constant(list(range(1, rank(x) - 1)))
    for tensor, kind_of in ((weight, "Mul"), (bias, "Add")):
        if tensor is not None:
            spread = b.add("Unsqueeze", b.of(tensor), axes) if rank(x) > 2 else b.of(tensor)
            made = b.add(kind_of, made, spread)
    return made


# --- Attention -------------------------------------------------------------------------------------------


@form("scaled_dot_product_attention")
def _attention(b: Builder, node: Node) -> str:
    query, key, value = node.args[:3]
    mask, causal = argument(node, 3), argument(node, 5, False)
    n, kind = rank(query), type_of(node)
    order = [*range(n - 2), n - 1, n - 2]
    scaled = b.add("Mul", b.of(query), b.constant(node.kwargs["scale"], kind))
    scores = b.add("MatMul", scaled, b.add("Transpose", b.of(key), perm=order))
    if causal:
        sizes = b.add("Concat", b.size(query, -2), b.size(key, -2), axis=0)
        allowed = b.add("Trilu", b.add("Expand", b.constant(1), sizes), b.constant(0), upper=0)
        scores = b.add("Where", b.cast(allowed, bool_), scores, b.constant(float("-inf"), kind))
    if mask is not None and type_of(mask) is bool_:
        scores = b.add("Where", b.of(mask), scores, b.constant(float("-inf"), kind))
    elif mask is not None:
        scores = b.add("Add", scores, b.of(mask))
    weights = b.add("Softmax", scores, axis=n - 1)
    if mask is not None:  # a query that may look at no key gets zeros
        weights = b.add("Where", b.add("IsNaN", weights), b.constant(0.0, kind), weights)
    return b.add("MatMul", weights, b.of(value))


# --- Recurrent layers ------------------------------------------------------------------------------------

_GATES = {"lstm": ("LSTM", [0, 3, 1, 2]), "gru": ("GRU", [1, 0, 2]), "rnn_tanh": ("RNN", [0]), "rnn_relu": ("RNN", [0])}  # fmt: skip
"""ONNX's name, and the places that its gates have among Torch's."""


@form("lstm", "gru", "rnn_tanh", "rnn_relu")
def _recurrent(b: Builder, node: Node) -> list[str]:
    name = node.target.overloadpacket.__name__
    x, state, params, biases, layers, _, training, both, batch_first = node.args
    if training and node.args[5]:
        raise UnsupportedOperatorError(f"{name} with dropout in training has no ONNX form: call model.eval()")  # fmt: skip
    states = list(state) if isinstance(state, (list, tuple)) else [state]
    ways = 2 if both else 1
    each = 4 if biases else 2
    if len(params) != layers * ways * each:
        raise UnsupportedOperatorError(f"{name} with projections has no ONNX form")
    value = b.of(x)
    if rank(x) != 3:
        raise UnsupportedOperatorError(f"{name} of one sequence without a dimension of examples has no ONNX form")  # fmt: skip
    if batch_first:
        value = b.add("Transpose", value, perm=[1, 0, 2])
    finals: list[list[str]] = [[] for _ in states]
    for layer in range(layers):
        own = params[layer * ways * each : (layer + 1) * ways * each]
        first = [_rows(b, b.of(s), layer * ways, ways) for s in states]
        value, ends = _layer(b, name, value, own, each, first, both)
        for end, final in zip(ends, finals, strict=True):
            final.append(end)
    out = b.add("Transpose", value, perm=[1, 0, 2]) if batch_first else value
    return [out, *(b.add("Concat", *f, axis=0) if layers > 1 else f[0] for f in finals)]


def _rows(b: Builder, value: str, start: int, count: int) -> str:
    bounds = b.constant([start]), b.constant([start + count]), b.constant([0])
    return b.add("Slice", value, *bounds)


def _layer(
    b: Builder, name: str, value: str, params: Any, each: int, first: list[str], both: bool
) -> tuple[str, list[str]]:
    """One layer: its output as (time, batch, directions * hidden), and its last states."""
    kind, gates = _GATES[name]
    ways = [params[i : i + each] for i in range(0, len(params), each)]
    size = shape_of(ways[0][1])[1]
    w, r = (_stacked(b, [[way[i]] for way in ways], gates) for i in (0, 1))
    bias = _stacked(b, [[way[2], way[3]] for way in ways], gates) if each == 4 else ""
    more: dict[str, Any] = {"linear_before_reset": 1} if kind == "GRU" else {}
    if name == "rnn_relu":
        more["activations"] = ["Relu"] * len(ways)
    direction = "bidirectional" if both else "forward"
    made = b.add(
        kind, value, w, r, bias, "", *first, outputs=1 + len(first), hidden_size=size, direction=direction, **more
    )  # fmt: skip
    joined = b.add("Transpose", made[0], perm=[0, 2, 1, 3])
    return b.add("Reshape", joined, b.constant([0, 0, -1])), list(made[1:])


def _stacked(b: Builder, ways: list[list[Node]], gates: list[int]) -> str:
    """Weights of both directions, with their gates in ONNX's order."""
    stacked = []
    for tensors in ways:
        arrays = [b.arrays.get(b.of(t)) for t in tensors]
        if any(a is None for a in arrays):
            raise UnsupportedOperatorError("recurrent layers with weights that are computed have no ONNX form")  # fmt: skip
        parts = [np.concatenate([np.split(a, len(gates))[g] for g in gates]) for a in arrays]  # type: ignore[arg-type]
        stacked.append(np.concatenate(parts))
    return b.constant(np.stack(stacked), type_of(ways[0][0]))
