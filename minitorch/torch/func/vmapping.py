"""`vmap`: a function of single examples, called with a batch of them.

The function is called once for each example, and the results are stacked: all that a function may
do is right, gradients and random numbers too, and a batch takes as long as its examples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.joining import stack
from ..tensor import Tensor
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

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
        randomness: what becomes of random numbers: "different" for each example, or the "same" for all;
            "error" draws different ones too
        chunk_size: unused: examples are computed one by one
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )

    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten(args)
        dims = _broadcast_to_and_flatten(in_dims, spec) if args else []
        if dims is None and isinstance(in_dims, list):
            dims = _broadcast_to_and_flatten(tuple(in_dims), spec)
        if dims is None:
            raise ValueError(
                f"vmap(..., in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure "
                f"of inputs. in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
            )
        size = _batch_size(leaves, dims)
        results = [
            func(*tree_unflatten(_example(leaves, dims, i), spec), **kwargs)
            for i in _examples(size, randomness)
        ]
        return _together(results, out_dims)

    return batched


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


def _examples(size: int, randomness: str) -> Any:
    """The numbers of the examples; each begins with the same random state if that is asked for."""
    from ..random import get_rng_state, set_rng_state

    if randomness != "same":
        yield from range(size)
        return
    state = get_rng_state()
    for i in range(size):
        set_rng_state(state)
        yield i


def _example(leaves: list[Any], dims: list[Any], index: int) -> list[Any]:
    """The arguments of one example."""
    pairs = zip(leaves, dims, strict=True)
    return [leaf if dim is None else leaf.select(dim, index) for leaf, dim in pairs]


def _together(results: list[Any], out_dims: Any) -> Any:
    """Results of examples as those of a batch."""
    if not results:
        raise ValueError("vmap: the batch has no examples")
    columns, spec = [], None
    for result in results:
        leaves, spec = tree_flatten(result)
        columns.append(leaves)
    assert spec is not None
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap(..., out_dims={out_dims}): out_dims is not compatible with the structure of outputs."
        )
    made = []
    for values, dim in zip(zip(*columns, strict=True), dims, strict=True):
        if not isinstance(values[0], Tensor):
            raise ValueError(
                f"vmap: `func` must only return Tensors, got type {type(values[0])} as a return."
            )
        made.append(values[0] if dim is None else stack(list(values), dim))
    return tree_unflatten(made, spec)
