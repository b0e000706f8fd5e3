"""How records are computed for a batch: on stacks of all examples, or for each example by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..backends.interface import (
    ARRAYS,
    Array,
    Backend,
    Shape,
    address_of,
    backend_for,
    backend_of,
    implementation,
    others,
)
from ..device import device
from ..ops.record import ELEMENTWISE
from .batched import NO_ITEM, BatchedArray, Level, NoRuleError, aligned, innermost, is_of, values_of

RANDOM_ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)


class Batched(Backend):
    """Computes records for whole batches."""

    kind = "vmap"
    array = BatchedArray
    makes_views = False
    holds_arrays = True

    def device_of(self, array: Array) -> device:
        return backend_of(array.stack).device_of(array.stack)

    def address(self, array: Array) -> int:
        return address_of(array.stack)

    def strided(self, array: Array, shape: Shape, strides: Shape) -> Array:
        stack = array.stack
        return array.view_of(as_strided(stack, (len(stack), *shape), (stack.strides[0], *strides)))

    def from_numpy(self, array: np.ndarray, where: device) -> Array:
        return array

    def to_numpy(self, array: Array) -> np.ndarray:
        raise RuntimeError(NO_ITEM)

    def compute(self, op: Any, where: device, *arrays: Any, **params: Any) -> Any:
        level = innermost(arrays, params)
        if op.kind == ELEMENTWISE and not any(
            isinstance(v, BatchedArray) for v in values_of(params)
        ):
            return _of_elements(op, level, list(arrays), params)
        try:
            return op.compute(*arrays, **params)
        except RuntimeError as error:
            if str(error) == RANDOM_ERROR:
                raise
        except Exception:  # not every formula takes stacks; an error of the call comes again below
            pass
        result = one_by_one(op, level, arrays, params)
        if op.view:  # it is a copy: a write into it would be lost
            for made in result if type(result) is tuple else (result,):
                made.stack.flags.writeable = False
        return result

    def write(self, op: Any, where: device, target: Any, *rest: Any, **params: Any) -> None:
        level = innermost(target, rest, params)
        if not is_of(target, level):
            raise RuntimeError(
                f"vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
                f"that has more elements than `self` ({op.name}_). Please use out-of-place operators instead of inplace arithmetic."
            )
        for i in range(level.size):
            op.write(target.stack[i, ...], *_example(rest, level, i), **_example(params, level, i))

    def draw(
        self, distribution: Callable[..., Array], shape: Shape, dtype: Any, where: device, *args: Any, **named: Any
    ) -> Array:  # fmt: skip
        level = active[-1]
        if level.randomness == "error":
            raise RuntimeError(RANDOM_ERROR)
        if level.randomness == "same":
            if any(isinstance(v, BatchedArray) for v in values_of((args, named))):
                raise NoRuleError("chances of each example, drawn the same")
            return backend_for(where).draw(distribution, shape, dtype, where, *args, **named)
        if any(isinstance(v, BatchedArray) for v in values_of((args, named))):
            args = tuple(aligned(v, level, len(shape)) for v in args)
        whole = level.size, *shape
        drawn = backend_for(where).draw(distribution, whole, dtype, where, *args, **named)
        return BatchedArray(drawn, level)


def _of_elements(op: Any, level: Level, arrays: list[Any], params: dict[str, Any]) -> Any:
    """An elementwise record of aligned stacks, in the type that it has for one example."""
    known = [x for x in arrays if type(x) in ARRAYS]
    ndim = max((x.ndim for x in known), default=0)
    stacks = [aligned(x, level, ndim) for x in arrays]
    if (
        any(not x.ndim for x in known) or ndim == 0
    ):  # numbers count for less than arrays in the type of a result
        samples = [np.ones((1,) * x.ndim, x.dtype) if type(x) in ARRAYS else x for x in arrays]
        kind = np.asarray(op.compute(*samples, **params)).dtype
        result = implementation(op, stacks)(*stacks, **params)
        return BatchedArray(result.astype(kind, copy=False), level)
    return BatchedArray(implementation(op, stacks)(*stacks, **params), level)


def _example(value: Any, level: Level, index: int) -> Any:
    """Values of one example."""
    if is_of(value, level):
        return value.stack[index, ...]  # an array, also of one element
    if isinstance(value, dict):
        return {k: _example(v, level, index) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_example(v, level, index) for v in value)
    return value


def one_by_one(op: Any, level: Level, arrays: Any, params: dict[str, Any]) -> Any:
    """A record computed for each example by itself."""
    results, several = [], False
    for i in range(level.size):
        given = list(_example(tuple(arrays), level, i))
        found = implementation(op, given)(*given, **_example(params, level, i))
        several = type(found) is tuple
        results.append(found if several else (found,))
    made = [
        BatchedArray(np.stack([np.asarray(r) if np.isscalar(r) else r for r in c]), level)
        for c in zip(*results, strict=True)
    ]
    return tuple(made) if several else made[0]


active: list[Level] = []
"""The calls of functions that `vmap` made that are under way, the innermost last."""

backend = Batched()


def register() -> None:
    """Let operations ask whose an array is, from the first call on."""
    if BatchedArray not in ARRAYS:
        ARRAYS[BatchedArray] = backend
        others.append(backend)
