"""`vmap`: a function of single examples, called with a batch of them.

The function is called once, with tensors that have the shape of one example over arrays of all of them (`batched.py`, `batching.py`).
Going in and out of a batch are operations with derivatives, so that functions of batches can be differentiated, and
batches of gradients computed. A tensor that is the same for all examples is expanded where it meets a batch
and its history counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..autograd.graph import modes
from ..interpreters import Interpreter
from ..ops.joining import cat
from ..ops.movement import wrap_dim
from ..ops.record import Op
from ..tensor import Tensor, tracks
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from .batched import BatchedArray, Level, NoRuleError, values_of
from .batching import RANDOM_ERROR, active, register

_RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function of batches from a function of examples.

    Args:
        func: of examples
        in_dims: the dimension of the batch in each argument, None for those that are the same for all
        out_dims: where results have it
        randomness: what becomes of random numbers: "different" for each example, the "same" for all, or an "error"
        chunk_size: how many examples are computed at once; None: all
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )

    def batched(*args: Any, **kwargs: Any) -> Any:
        size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
        if chunk_size is not None and size > chunk_size:
            return _in_chunks(batched_once, leaves, dims, spec, size, chunk_size, out_dims, kwargs)
        return batched_once(leaves, dims, spec, size, kwargs)

    def batched_once(leaves: Any, dims: Any, spec: Any, size: int, kwargs: Any) -> Any:
        register()
        level = Level(size, randomness, len(active))
        given = _create_batched_inputs(dims, leaves, level, spec)
        batching = _Batching(level)
        batching.install()
        active.append(level)
        try:
            output = func(*given, **kwargs)
        finally:
            active.pop()
            batching.remove()
        return _unwrap_batched(output, out_dims, level, size, func)

    return batched


def _in_chunks(
    call: Callable[..., Any], leaves: Any, dims: Any, spec: Any, size: int, chunk_size: int, out_dims: Any, kwargs: Any
) -> Any:  # fmt: skip
    """A batch in parts of a size, one after the other."""
    parts = []
    for start in range(0, size, chunk_size):
        length = min(chunk_size, size - start)
        pairs = zip(leaves, dims, strict=True)
        given = [x if d is None else x.narrow(d, start, length) for x, d in pairs]
        parts.append(tree_flatten(call(given, dims, spec, length, kwargs)))
    out_spec = parts[0][1]
    places = _broadcast_to_and_flatten(out_dims, out_spec)
    columns = zip(*(values for values, _ in parts), strict=True)
    joined = [
        c[0] if d is None else cat(list(c), d) for c, d in zip(columns, places or [], strict=True)
    ]
    return tree_unflatten(joined, out_spec)


# --- In and out: by Torch's names, which libraries replace in this module to batch what is no tensor ------------


def _process_batched_inputs(in_dims: Any, args: Any, func: Any) -> tuple[int, Any, list[Any], Any]:
    """How many examples there are, and the leaves of arguments with the dimension of the batch in each."""
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec) if args else []
    if dims is None and isinstance(in_dims, list):
        dims = _broadcast_to_and_flatten(tuple(in_dims), spec)
    if dims is None:
        raise ValueError(
            f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure "
            f"of inputs. in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    return _batch_size(leaves, dims), dims, leaves, spec


def _create_batched_inputs(flat_in_dims: Any, flat_args: Any, vmap_level: Level, args_spec: Any) -> Any:  # fmt: skip
    """The arguments of one example."""
    pairs = zip(flat_in_dims, flat_args, strict=True)
    given = [x if d is None else _add_batch_dim(x, d, vmap_level) for d, x in pairs]
    return tree_unflatten(given, args_spec)


def _unwrap_batched(
    batched_outputs: Any, out_dims: Any, vmap_level: Level, batch_size: int, func: Any
) -> Any:
    """The output of a function of batches, with the batch where it is asked for."""
    leaves, spec = tree_flatten(batched_outputs)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    name = _get_name(func)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    pairs = zip(leaves, dims, strict=True)
    made = [_maybe_remove_batch_dim(name, x, vmap_level, batch_size, d) for x, d in pairs]
    return tree_unflatten(made, spec)


def _add_batch_dim(tensor: Tensor, dim: int, level: Level) -> Tensor:
    """One example of a tensor."""
    return BATCH(tensor, dim=dim % tensor.ndim, level=level)


def _remove_batch_dim(tensor: Tensor, level: Level, batch_size: int, dim: int) -> Tensor:
    """All examples of a tensor."""
    return UNBATCH(tensor, dim=wrap_dim(dim, tensor.ndim + 1), level=level)


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: Level, batch_size: int, out_dim: int | None
) -> Any:
    """All examples of an output; one that is the same for all, where there is no dimension for them."""
    if out_dim is None:
        if _is_batched(batched_output, vmap_level):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")  # fmt: skip
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. "
            "Did you mean to set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _get_name(func: Any) -> str:
    """The name of a function in errors."""
    if isinstance(func, partial):
        return f"functools.partial({_get_name(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def _batch_size(leaves: list[Any], dims: list[Any]) -> int:
    """How many examples there are; an error if arguments disagree."""
    sizes = []
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is None:
            continue
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"vmap: Got in_dim={dim} for an input but the input is of type {type(leaf)}. "
                "We cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"vmap: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                f"{leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        sizes.append(leaf.shape[dim])
    if not sizes:
        raise ValueError(
            "vmap: got no inputs to map over: at least one in_dim must be a number, not None"
        )
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} "
            "for the mapped dimension"
        )
    return sizes[0]


class _Batching(Interpreter):
    """Sees what a function does to batches: draws random numbers for them, and takes other tensors in."""

    def __init__(self, level: Level) -> None:
        self.level = level

    def operation(self, op: Any, inputs: Any, params: Any, perform: Callable[..., Any]) -> Any:
        if "generator" in params and not getattr(op, "args", ()):
            return self._drawn(op, inputs, params, perform)
        if any(_is_batched(v, self.level) for v in values_of((list(inputs), params))):
            given = list(inputs)
            apart = not any(_is_batched(x, self.level) for x in given)
            for i, x in enumerate(given):
                recorded = isinstance(x, Tensor) and modes.grad and tracks(x)
                if isinstance(x, Tensor) and (apart or recorded) and not _is_batched(x, self.level):
                    given[i] = EXPAND(x, level=self.level)
            inputs = given
        try:
            return perform(op, inputs, params)
        except NoRuleError as error:
            raise RuntimeError(
                f"vmap: '{op.name}' has no form for a batch, or writes one into memory that is the same for all examples: {error}"
            ) from None

    def _drawn(self, op: Any, inputs: Any, params: Any, perform: Callable[..., Any]) -> Any:
        """Random numbers: the same for all examples, or other ones for each."""
        if self.level.randomness == "error":
            raise RuntimeError(RANDOM_ERROR)
        if self.level.randomness == "same" or "size" not in params:
            return perform(op, inputs, params)
        drawn = perform(op, inputs, {**params, "size": (self.level.size, *params["size"])})
        return BATCH(drawn, dim=0, level=self.level)


def in_batches(tensor: Tensor) -> Tensor:
    """A tensor as a batch of every function of batches that is under way: each example has a gradient of its own."""
    for level in active:
        if not _is_batched(tensor, level):
            tensor = EXPAND(tensor, level=level)
    return tensor


def _is_batched(value: Any, level: Level) -> bool:
    array = value._array if isinstance(value, Tensor) else value
    while isinstance(array, BatchedArray):
        if array.level is level:
            return True
        array = array.stack
    return False


def _to_batch(input: Any, dim: int, level: Level) -> Any:
    return BatchedArray(np.moveaxis(input, dim, 0), level)


def _from_batch(input: Any, dim: int, level: Level) -> Any:
    """The arrays of a batch as one; of an array that is the same for all, as many copies."""
    if not _is_batched(input, level):
        stack = np.broadcast_to(input, (level.size, *input.shape))
    elif input.level is level:
        stack = input.stack
    else:  # a batch of an inner function, made of batches of this one
        inner = _from_batch(input.stack, 0, level)
        return BatchedArray(np.moveaxis(np.moveaxis(inner, 0, 1), 1, dim + 1), input.level)
    return np.moveaxis(stack, 0, dim) if dim else stack


def _summed(input: Any, level: Level) -> Any:
    return _from_batch(input, 0, level).sum(axis=0)


BATCH = Op(
    "vmap_batch",
    ("input",),
    _to_batch,
    {"input": lambda g, dim, level: UNBATCH(g, dim=dim, level=level)},
    crosses=True,
)
UNBATCH = Op(
    "vmap_unbatch",
    ("input",),
    _from_batch,
    {"input": lambda g, dim, level: BATCH(g, dim=dim, level=level)},
    crosses=True,
)
EXPAND = Op(
    "vmap_expand", ("input",), lambda input, level: BatchedArray(np.broadcast_to(input, (level.size, *input.shape)), level),
    {"input": lambda g, level: SUM(g, level=level)}, crosses=True,
)  # fmt: skip
SUM = Op(
    "vmap_sum",
    ("input",),
    _summed,
    {"input": lambda g, level: EXPAND(g, level=level)},
    crosses=True,
)
