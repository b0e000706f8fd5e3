"""What operations that move elements, and make new ones, become in ONNX."""

from __future__ import annotations

from typing import Any

from ..dtypes import bool_, int64
from ..fx.node import Node
from .building import FORMS, Builder, argument, arguments, form, rank, shape_of, type_of
from .errors import UnsupportedOperatorError

END = 2**63 - 1


form("view", "_unsafe_view", "reshape")(
    lambda b, node: b.add("Reshape", b.of(node.args[0]), b.ints(node.args[1]))
)


@form("squeeze")
def _squeeze(b: Builder, node: Node) -> str:
    dims = argument(node, 1, [])
    dims = [dims] if isinstance(dims, int) else list(dims)
    shape = shape_of(node.args[0])
    dims = [d for d in dims if shape[d] == 1]
    return b.add("Squeeze", b.of(node.args[0]), b.constant(dims)) if dims else b.of(node.args[0])


form("unsqueeze")(
    lambda b, node: b.add("Unsqueeze", b.of(node.args[0]), b.constant([node.args[1] % rank(node)]))
)


@form("expand")
def _expand(b: Builder, node: Node) -> str:
    sizes = [1 if isinstance(s, int) and s == -1 else s for s in node.args[1]]
    return b.add("Expand", b.of(node.args[0]), b.ints(sizes))


@form("permute")
def _permute(b: Builder, node: Node) -> str:
    n = rank(node.args[0])
    return b.add("Transpose", b.of(node.args[0]), perm=[d % n for d in node.args[1]])


@form("transpose", "t")
def _transpose(b: Builder, node: Node) -> str:
    n = rank(node.args[0])
    order = list(range(n))
    if n >= 2:
        one, other = node.args[1:] if len(node.args) == 3 else (0, 1)
        order[one], order[other] = order[other], order[one]
    return b.add("Transpose", b.of(node.args[0]), perm=order)


@form("slice")
def _slice(b: Builder, node: Node) -> str:
    x, dim, start, end, step = arguments(node, None, 0, 0, END, 1)
    bounds = [b.as_list(0 if start is None else start), b.as_list(END if end is None else end)]
    return b.add("Slice", b.of(x), *bounds, b.constant([dim]), b.as_list(step))


@form("select")
def _select(b: Builder, node: Node) -> str:
    x, dim, index = node.args
    place = b.add("Squeeze", b.as_list(index)) if isinstance(index, Node) else b.constant(index)
    return b.add("Gather", b.of(x), place, axis=dim)


@form("split", "split_with_sizes")
def _split(b: Builder, node: Node) -> list[str]:
    x, sizes, dim = node.args[0], node.args[1], argument(node, 2, 0)
    count = len(node.meta["results"])
    if isinstance(sizes, (list, tuple)):
        given = b.ints(sizes)
    else:
        total = shape_of(x)[dim]
        if isinstance(sizes, Node):
            raise UnsupportedOperatorError(
                "split into parts of a size that changes has no ONNX form"
            )
        given = b.constant([min(sizes, total - i * sizes) for i in range(count)])
    made = b.add("Split", b.of(x), given, outputs=count, axis=dim)
    return [made] if count == 1 else made


@form("unbind")
def _unbind(b: Builder, node: Node) -> list[str]:
    dim = argument(node, 1, 0)
    count = len(node.meta["results"])
    return [b.add("Gather", b.of(node.args[0]), b.constant(i), axis=dim) for i in range(count)]


@form("cat")
def _cat(b: Builder, node: Node) -> str:
    dim = argument(node, 1, 0) % rank(node)
    parts = [x for x in node.args[0] if shape_of(x) != [0]]
    return b.add("Concat", *(b.of(x, type_of(node)) for x in parts), axis=dim)


@form("stack")
def _stack(b: Builder, node: Node) -> str:
    dim = argument(node, 1, 0) % rank(node)
    parts = [b.add("Unsqueeze", b.of(x, type_of(node)), b.constant([dim])) for x in node.args[0]]
    return b.add("Concat", *parts, axis=dim)


@form("flip")
def _flip(b: Builder, node: Node) -> str:
    n = len(node.args[1])
    last, first = b.constant([-1] * n), b.constant([-END] * n)
    return b.add("Slice", b.of(node.args[0]), last, first, b.constant(list(node.args[1])), last)


@form("repeat")
def _repeat(b: Builder, node: Node) -> str:
    x, times = node.args[0], list(node.args[1])
    value = b.of(x)
    added = len(times) - rank(x)
    if added:
        value = b.add("Unsqueeze", value, b.constant(list(range(added))))
    return b.add("Tile", value, b.ints(times))


@form("roll")
def _roll(b: Builder, node: Node) -> str:
    value = b.of(node.args[0])
    for shift, dim in zip(node.args[1], node.args[2], strict=True):
        at, axis = b.constant([-shift]), b.constant([dim])
        parts = (
            b.add("Slice", value, at, b.constant([END]), axis),
            b.add("Slice", value, b.constant([0]), at, axis),
        )
        value = b.add("Concat", *parts, axis=dim) if shift else value
    return value


@form("gather")
def _gather(b: Builder, node: Node) -> str:
    return b.add("GatherElements", b.of(node.args[0]), b.of(node.args[2]), axis=node.args[1])


form("index_select")(
    lambda b, node: b.add("Gather", b.of(node.args[0]), b.of(node.args[2]), axis=node.args[1])
)
form("embedding")(lambda b, node: b.add("Gather", b.of(node.args[0]), b.of(node.args[1]), axis=0))


@form("index")
def _index(b: Builder, node: Node) -> str:
    """Places of several dimensions that follow each other, or of one."""
    x, indices = node.args
    dims = [i for i, index in enumerate(indices) if index is not None]
    given = [indices[d] for d in dims]
    if any(type_of(i) is bool_ for i in given):
        raise UnsupportedOperatorError("index with a mask of truth values has no ONNX form")
    if len(dims) == 1:
        return b.add("Gather", b.of(x), b.of(given[0]), axis=dims[0])
    if dims != list(range(dims[0], dims[0] + len(dims))):
        raise UnsupportedOperatorError(
            "index of dimensions that do not follow each other has no ONNX form"
        )
    n, first = rank(x), dims[0]
    rest = [d for d in range(n) if d not in dims]
    value = b.add("Transpose", b.of(x), perm=[*dims, *rest])
    shape = b.add("Shape", b.add("Add", b.of(given[0]), b.of(given[1])))
    for other in given[2:]:
        shape = b.add("Shape", b.add("Add", b.add("Expand", b.of(given[0]), shape), b.of(other)))
    last = max(rank(i) for i in given)
    parts = [
        b.add("Unsqueeze", b.add("Expand", b.of(i, int64), shape), b.constant([last]))
        for i in given
    ]
    made = b.add("GatherND", value, b.add("Concat", *parts, axis=last))
    if not first:
        return made
    order = [*range(last, last + first), *range(last), *range(last + first, last + len(rest))]
    return b.add("Transpose", made, perm=order)


@form("constant_pad_nd")
def _pad(b: Builder, node: Node) -> str:
    x, widths = node.args[:2]
    n = rank(x)
    pairs = [widths[i : i + 2] for i in range(0, len(widths), 2)]
    pairs += [[0, 0]] * (n - len(pairs))
    pairs.reverse()
    given = b.ints([p[0] for p in pairs] + [p[1] for p in pairs])
    return b.add("Pad", b.of(x), given, b.constant(argument(node, 2, 0) or 0, type_of(x)))


@form("tril", "triu")
def _triangle(b: Builder, node: Node) -> str:
    upper = int(node.target.overloadpacket.__name__ == "triu")
    return b.add("Trilu", b.of(node.args[0]), b.constant(argument(node, 1, 0)), upper=upper)


@form("scatter", "scatter_add")
def _scatter(b: Builder, node: Node) -> str:
    x, dim, index, source = node.args
    places = b.of(index)
    if not isinstance(source, Node):
        values = b.add("Expand", b.constant(source, type_of(x)), b.add("Shape", places))
    elif shape_of(source) == shape_of(index):
        values = b.of(source)
    else:  # its part of the places' shape
        start = b.constant([0] * rank(index))
        values = b.add("Slice", b.of(source), start, b.add("Shape", places))
    how = "add" if node.target.overloadpacket.__name__ == "scatter_add" else "none"
    return b.add("ScatterElements", b.of(x), places, values, axis=dim, reduction=how)


# --- Sizes and new tensors -------------------------------------------------------------------------------


form("sym_size")(lambda b, node: b.size(node.args[0], node.args[1]))


for _name, _kind in {"mul": "Mul", "add": "Add", "floordiv": "Div"}.items():
    FORMS[f"size_{_name}"] = lambda b, node, kind=_kind: b.add(kind, *map(b.as_list, node.args))


@form("arange")
def _arange(b: Builder, node: Node) -> str:
    ends = [
        b.add("Squeeze", b.as_list(x)) if isinstance(x, Node) else b.constant(x)
        for x in node.args[:3]
    ]
    made = b.add("Range", *ends)
    return made if type_of(node) is int64 else b.cast(made, type_of(node))


@form("zeros", "ones", "full", "empty")
def _full(b: Builder, node: Node) -> str:
    name = node.target.overloadpacket.__name__
    value: Any = node.args[1] if name == "full" else float(name == "ones")
    kind = node.kwargs.get("dtype") or type_of(node)
    return b.add("Expand", b.constant(value, kind), b.ints(node.args[0]))


form("lift_fresh_copy")(lambda b, node: b.of(node.args[0]))


@form("copy", "fill")
def _copy(b: Builder, node: Node) -> str:
    x, value = node.args[:2]
    return b.add("Expand", b.of(value, type_of(x)), b.add("Shape", b.of(x)))
