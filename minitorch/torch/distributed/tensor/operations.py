"""How functions of spread tensors are computed: by parts where that is the same, else on the whole.

An operation that works element by element gives each rank its part of the result from its parts of the arguments.
A linear layer does, too, for some placements of its weight. Everything else gathers the whole on every rank, computes there,
and every rank has the whole result.
"""

from __future__ import annotations

from typing import Any

from ...interpreters import Composite, Interpreter, Update
from ...ops.record import ELEMENTWISE, bind
from ...overriding import DisableTorchFunctionSubclass
from ...tensor import Tensor
from ...utils._pytree import tree_leaves, tree_map
from .exchange import REDUCE, REDUCE_GRADIENT, from_whole, to_whole
from .placements import Partial, Replicate, Shard

_SAME_LAYOUT = frozenset(
    ("bfloat16", "clone", "contiguous", "cpu", "cuda", "double", "empty_like", "float", "full_like", "half", "ones_like",
     "to", "type", "zeros_like", "zero_", "fill_")
)  # fmt: skip
"""Functions whose result lies as their argument does."""
_QUERIES = frozenset(
    ("__get__", "__set__", "__hash__", "backward", "data_ptr", "dim", "element_size", "get_device", "is_complex", "is_contiguous",
     "is_floating_point", "is_pinned", "is_shared", "ndimension", "register_hook", "requires_grad_", "retain_grad")
)  # fmt: skip
"""Functions that ask for nothing that differs between a part and the whole; also properties."""
_OF_THE_WHOLE = frozenset(("T", "mT", "H", "mH", "real", "imag"))
"""Properties that are tensors."""


class NotByPartsError(Exception):
    """An operation needs the whole."""


def _is_spread(value: Any) -> bool:
    return isinstance(value, Tensor) and hasattr(value, "placements")


class _ByParts(Interpreter):
    """Performs operations on this rank's parts."""

    def operation(self, op: Any, inputs: Any, params: dict[str, Any], perform: Any) -> Any:
        """The part of the result; NotByPartsError where there is none."""
        spread = [x for x in inputs if _is_spread(x)]
        if not spread or type(op) is Composite:
            return perform(op, inputs, params)
        if op.name == "linear":
            return _linear(op, inputs, perform)
        first = spread[0]
        kind = getattr(op, "kind", None)
        if (kind != ELEMENTWISE and not isinstance(op, Update)) or not _alike(inputs, first, op):
            raise NotByPartsError
        result = perform(op, [_local(x) for x in inputs], params)
        if op.writes:
            return inputs[op.writes[0]]
        return _wrapped(result, first)


def _alike(inputs: Any, first: Any, op: Any) -> bool:
    """Whether parts of the inputs belong together: all have one shape and lie alike, but for single numbers."""
    if isinstance(op, Update) and op.name.rstrip("_") not in _LINEAR:
        return False
    for x in inputs:
        if not isinstance(x, Tensor) or (x._array.ndim == 0 and not _is_spread(x)):
            continue
        if not _is_spread(x):
            raise RuntimeError(
                f"{op.name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before "
                "calling distributed operators!"
            )
        if x.placements != first.placements or x.shape != first.shape:
            return False
    return not any(isinstance(p, Partial) for p in first.placements)


_LINEAR = frozenset(("add", "sub", "mul", "div", "copy", "zero", "fill", "lerp", "addcmul", "addcdiv"))  # fmt: skip


def _local(value: Any) -> Any:
    return value.to_local() if _is_spread(value) else value


def _wrapped(result: Any, like: Any) -> Any:
    from .dtensor import as_part

    return as_part(result, like.device_mesh, like.placements, like.whole_shape)


def _linear(op: Any, inputs: Any, perform: Any) -> Any:
    """A linear layer on a mesh of one dimension: rows of the input, or columns or rows of the weight's transposed matrix."""
    x, weight, bias = inputs
    meshes = [v.device_mesh for v in inputs if _is_spread(v)]
    if meshes[0].ndim > 1 or not all(v is None or _is_spread(v) for v in inputs):
        raise NotByPartsError
    mesh, group = meshes[0], meshes[0].get_group(0)
    how = [None if v is None else v.placements[0] for v in inputs]
    last = Shard(x.ndim - 1)
    shape = [*x.shape[:-1], weight.shape[0]]
    from .dtensor import as_part

    def shared(value: Any) -> Any:
        """A tensor that all ranks have, each uses for its part, and whose gradient is the sum of theirs."""
        return None if value is None else bind(REDUCE_GRADIENT, (_local(value),), {"group": group})

    if how[:2] == [Replicate(), Shard(0)] and how[2] in (None, Shard(0)):
        out = perform(op, (shared(x), _local(weight), _local(bias)), {})
        return as_part(out, mesh, (last,), shape)
    if how[:2] == [last, Shard(1)] and how[2] in (None, Replicate()):
        out = perform(op, (_local(x), _local(weight), None), {})
        out = bind(REDUCE, (out,), {"how": "sum", "group": group})
        out = out if bias is None else out + _local(bias)
        return as_part(out, mesh, (Replicate(),), shape)
    if how[:2] == [Shard(0), Replicate()] and how[2] in (None, Replicate()) and x.ndim > 1:
        out = perform(op, (_local(x), shared(weight), shared(bias)), {})
        return as_part(out, mesh, (Shard(0),), shape)
    raise NotByPartsError


by_parts = _ByParts()


def answer_by_parts(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What a public function of spread tensors gives."""
    name = getattr(func, "__name__", "")
    with DisableTorchFunctionSubclass():
        if by_parts.is_asked():
            return func(*args, **kwargs)
        if name in _QUERIES and _property(func) not in _OF_THE_WHOLE:
            return func(*args, **kwargs)
        if name in _SAME_LAYOUT:
            result = func(_local(args[0]), *args[1:], **kwargs)
            return args[0] if name.endswith("_") else _wrapped(_unshared(result), args[0])
        by_parts.install()
        try:
            result = func(*args, **kwargs)
            if any(map(_is_spread, tree_leaves(result))):
                return result
        except NotByPartsError:
            pass
        finally:
            by_parts.remove()
        return _by_wholes(func, name, args, kwargs)


def _property(func: Any) -> str:
    """The name of a property whose getter a function is."""
    fget = getattr(getattr(func, "__self__", None), "fget", None)
    return getattr(fget, "__name__", "")


def _unshared(local: Tensor) -> Tensor:
    """A tensor that no program has: what is given back as it was is another object."""
    return local.view_as(local) if local._edge is None and local._base is None else local


def _by_wholes(func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """A function of whole tensors; every rank has the whole result."""
    first = next(x for x in tree_leaves((args, kwargs)) if _is_spread(x))
    writes = (name.endswith("_") and not name.endswith("__")) or name.startswith("__i")
    whole = tree_map(_whole, (args, kwargs))
    result = func(*whole[0], **whole[1])
    if writes and _is_spread(args[0]):
        target = args[0]
        part = from_whole(result, target.device_mesh, target.placements)
        target.to_local().copy_(part)
        return target
    from .dtensor import as_part

    placements = (Replicate(),) * first.device_mesh.ndim

    def spread(value: Any) -> Any:
        if not isinstance(value, Tensor) or _is_spread(value):
            return value
        return as_part(_unshared(value), first.device_mesh, placements, value.shape)

    return tree_map(spread, result)


def _whole(value: Any) -> Any:
    if not _is_spread(value):
        return value
    return to_whole(value.to_local(), value.shape, value.device_mesh, value.placements)
