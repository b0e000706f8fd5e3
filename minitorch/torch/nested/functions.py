"""What functions of Torch do to nested tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import environment
from ..nn import functional
from ..ops import FUNCTIONS
from ..ops.record import ELEMENTWISE, REGISTRY
from ..tensor import Tensor
from .nested_tensor import NestedTensor, pack

Answer = Callable[..., Any]

ANSWERS: dict[str, Answer] = {}
"""What functions do, by their names."""

_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__mul__": "mul", "__rmul__": "mul", "__sub__": "sub", "__truediv__": "div",
    "__pow__": "pow", "__neg__": "neg", "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt",
    "__ge__": "ge", "__rsub__": "rsub", "__matmul__": "matmul", "__getitem__": "getitem", "__and__": "bitwise_and",
    "__or__": "bitwise_or", "__invert__": "bitwise_not", "__abs__": "abs", "true_divide": "div", "multiply": "mul", "subtract": "sub",
}  # fmt: skip

PACKED = frozenset(
    ("dropout", "clone", "detach", "to", "float", "double", "half", "bfloat16", "long", "int", "bool", "contiguous", "type", "cpu",
     "cuda", "zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like", "requires_grad_", "gelu", "silu", "relu",
     "elu", "selu", "celu", "leaky_relu", "softplus", "hardtanh", "relu6", "logsigmoid", "hardswish", "hardsigmoid", "mish", "tanhshrink",
     "nan_to_num", "clamp", "masked_fill", "where", "softsign", "rsub")
)  # fmt: skip
"""Functions that look at each element by itself, besides the elementwise records."""


def answer(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What a function gives for arguments of which some are nested."""
    name = getattr(func, "__name__", "")
    name = _OPERATORS.get(name, name)
    found = ANSWERS.get(name)
    if found is not None:
        return found(*args, **kwargs)
    record = REGISTRY.get(name.removesuffix("_"))
    if name in PACKED or (record is not None and record.kind == ELEMENTWISE):
        return _elementwise(_plain(name, func), args, kwargs)
    what = name if name != "__get__" else "this attribute"
    raise NotImplementedError(
        f"torch.nested: {what} is not there for nested tensors; unbind() gives their components, "
        "to_padded_tensor(0.0) one tensor of all"
    )


def _plain(name: str, func: Any) -> Callable[..., Any]:
    return FUNCTIONS.get(name) or getattr(functional, name, None) or getattr(Tensor, name, func)


def _elementwise(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """A function of single elements: of all at once, where the others have the same structure or none."""
    values = (*args, *kwargs.values())
    first = next(v for v in values if isinstance(v, NestedTensor))
    if all(_goes_along(v, first) for v in values):
        unpacked = [v.packed if isinstance(v, NestedTensor) else v for v in args]
        named = {k: v.packed if isinstance(v, NestedTensor) else v for k, v in kwargs.items()}
        result = fn(*unpacked, **named)
        return first if result is first.packed else first.like(result)
    columns = [_rows(v, first) for v in args]
    return pack([fn(*each, **kwargs) for each in zip(*columns, strict=True)], first.layout)


def _goes_along(value: Any, first: NestedTensor) -> bool:
    if isinstance(value, NestedTensor):
        if value.shapes != first.shapes and len(value.shapes) == len(first.shapes):
            same_rank = len(value.shapes[0]) == len(first.shapes[0])
            if not same_rank or any(a[0] != b[0] for a, b in zip(value.shapes, first.shapes, strict=True)):  # fmt: skip
                raise RuntimeError(
                    "cannot call binary pointwise function on nested tensors of different sizes"
                )
        return value.is_jagged == first.is_jagged and (
            first.is_jagged or value.shapes == first.shapes
        )
    if not isinstance(value, Tensor) or value.ndim == 0:
        return True
    return first.is_jagged and value.ndim < first.ndim - 1


def _rows(value: Any, first: NestedTensor) -> list[Any]:
    """What a value is for each component: its component, or, of a tensor with a dimension for them, its row."""
    count = len(first)
    if isinstance(value, NestedTensor):
        return value.parts()
    if isinstance(value, Tensor) and value.ndim == first.ndim:
        return list(value.expand(count, *value.shape[1:]).unbind(0))
    return [value] * count


def _answers(*names: str) -> Callable[[Answer], Answer]:
    def note(fn: Answer) -> Answer:
        ANSWERS.update(dict.fromkeys(names, fn))
        return fn

    return note


def _inner(nested: NestedTensor, dim: int, name: str) -> int:
    """A dimension as components count it."""
    found = dim % nested.ndim
    if found == 0:
        raise RuntimeError(f"{name}: the dimension of the components of a nested tensor cannot be used")  # fmt: skip
    return found - 1


# --- Layers ----------------------------------------------------------------------------------------------


@_answers("linear")
def _linear(input: Any, weight: Tensor, bias: Any = None) -> Any:
    if input.is_jagged:
        return input.like(functional.linear(input.packed, weight, bias))
    return input.map(lambda part: functional.linear(part, weight, bias))


@_answers("layer_norm")
def _layer_norm(input: Any, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    def fn(value: Tensor) -> Tensor:
        return functional.layer_norm(value, normalized_shape, *args, **kwargs)

    fits = input.is_jagged and len(normalized_shape) < input.packed.ndim
    return input.like(fn(input.packed)) if fits else input.map(fn)


@_answers("rms_norm")
def _rms_norm(input: Any, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    return input.map(lambda part: functional.rms_norm(part, normalized_shape, *args, **kwargs))


@_answers("embedding")
def _embedding(input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    nested, table = (input, weight) if isinstance(input, NestedTensor) else (weight, input)
    return nested.map(lambda part: functional.embedding(part, table, *args, **kwargs))


@_answers("softmax", "log_softmax")
def _softmax(input: Any, dim: int, *args: Any, **kwargs: Any) -> Any:
    inner = _inner(input, dim, "softmax")
    return input.map(lambda part: part.softmax(inner))


ANSWERS["log_softmax"] = lambda input, dim, *_, **__: input.map(
    lambda part: part.log_softmax(_inner(input, dim, "log_softmax"))
)


@_answers("scaled_dot_product_attention")
def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, **kwargs: Any
) -> Any:  # fmt: skip
    """Attention of each component to its own keys alone."""
    if attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention of nested tensors takes no attn_mask")
    return query.map(
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, None, dropout_p, is_causal, **kwargs),
        key, value,
    )  # fmt: skip


@_answers("matmul", "bmm")
def _matmul(input: Any, other: Any) -> Any:
    if not isinstance(input, NestedTensor):
        raise RuntimeError("matmul: the first tensor must be nested")
    if isinstance(other, NestedTensor):
        return input.map(lambda a, b: a @ b, other)
    rows = _rows(other, input)
    return pack([a @ b for a, b in zip(input.parts(), rows, strict=True)], input.layout)


# --- Shapes and reductions -------------------------------------------------------------------------------


@_answers("transpose")
def _transpose(input: Any, dim0: int, dim1: int) -> Any:
    one, other = _inner(input, dim0, "transpose"), _inner(input, dim1, "transpose")
    return input.map(lambda part: part.transpose(one, other))


@_answers("view", "reshape")
def _view(input: Any, *shape: Any) -> Any:
    sizes = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
    if sizes[0] not in (len(input), -1):
        raise RuntimeError(f"view: a nested tensor of {len(input)} components cannot be viewed as {sizes[0]}")  # fmt: skip
    return input.map(lambda part: part.reshape(_filled(part, sizes[1:])))


def _filled(part: Tensor, sizes: list[Any]) -> list[Any]:
    """Sizes for a component: the first that is left open is its own first one, where another is open, too."""
    left = [i for i, size in enumerate(sizes) if size == -1]
    return [part.shape[0] if i == left[0] and len(left) > 1 else s for i, s in enumerate(sizes)]


ANSWERS["unflatten"] = lambda input, dim, sizes: input.map(
    lambda part: part.unflatten(_inner(input, dim, "unflatten"), sizes)
)
ANSWERS["flatten"] = lambda input, start_dim=0, end_dim=-1: input.map(
    lambda part: part.flatten(
        _inner(input, start_dim, "flatten"), _inner(input, end_dim, "flatten")
    )
)
ANSWERS["squeeze"] = lambda input, dim: input.map(
    lambda p: p.squeeze(_inner(input, dim, "squeeze"))
)
ANSWERS["unsqueeze"] = lambda input, dim: input.map(
    lambda p: p.unsqueeze((dim if dim >= 0 else dim + input.ndim + 1) - 1)
)
ANSWERS["chunk"] = lambda input, chunks, dim=0: tuple(
    pack(list(each), input.layout)
    for each in zip(
        *(p.chunk(chunks, _inner(input, dim, "chunk")) for p in input.parts()), strict=True
    )
)
ANSWERS["dim"] = lambda input: input.ndim
ANSWERS["is_floating_point"] = lambda input: input.dtype.is_floating_point
ANSWERS["is_contiguous"] = lambda input, *_, **__: True
ANSWERS["element_size"] = lambda input: input.packed.element_size()
ANSWERS["backward"] = lambda input, gradient=None, **kwargs: input.packed.backward(
    gradient.packed if isinstance(gradient, NestedTensor) else gradient, **kwargs
)


@_answers("getitem", "select")
def _getitem(input: Any, key: Any, index: Any = None) -> Any:
    """One component, or the same part of all."""
    if index is not None:
        key = (slice(None),) * (key % input.ndim) + (index,)
    if isinstance(key, int):
        return input.parts()[key]
    if isinstance(key, tuple) and key and isinstance(key[0], int):
        return input.parts()[key[0]][key[1:]]
    if isinstance(key, tuple) and key and key[0] == slice(None):
        return input.map(lambda part: part[key[1:]])
    raise NotImplementedError("torch.nested: an index begins with a whole number, or with a colon")


def _reduction(name: str) -> Answer:
    def reduce(input: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
        if dim is None:
            return getattr(input.packed, name)(**kwargs)
        dims = [_inner(input, d, name) for d in ([dim] if isinstance(dim, int) else dim)]
        parts = [getattr(p, name)(dims if len(dims) > 1 else dims[0], keepdim=keepdim) for p in input.parts()]  # fmt: skip
        if len({p.shape for p in parts}) == 1 and not keepdim and input.layout is environment.jagged and 0 in dims:  # fmt: skip
            return FUNCTIONS["stack"](parts)
        return pack(parts, input.layout)

    return reduce


for _name in ("sum", "mean", "amax", "amin"):
    ANSWERS[_name] = _reduction(_name)


@_answers("cat")
def _cat(tensors: Any, dim: int = 0) -> Any:
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    if dim % first.ndim == 0:
        return pack([p for t in tensors for p in t.unbind(0)], first.layout)
    inner = _inner(first, dim, "cat")
    rows = zip(*(t.parts() for t in tensors), strict=True)
    return pack([FUNCTIONS["cat"](list(each), inner) for each in rows], first.layout)


@_answers("equal", "allclose")
def _equal(input: Any, other: Any, **kwargs: Any) -> bool:
    same = input.shapes == other.shapes
    return same and all(a.allclose(b, **kwargs) for a, b in zip(input.parts(), other.parts(), strict=True))  # fmt: skip
