"""Arrays that stand for a batch of arrays: a function of one example, called with them, computes all examples at once.

A `BatchedArray` has the shape of one example and a *stack* of all of them, the batch first. Axes are counted from
the end, where the batch does not show, and shapes are aligned before they broadcast, so most functions of NumPy's work on stacks
as on examples. For what is not so, `NoRuleError` is raised, and `batching.py` computes each example by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..backends.interface import ARRAYS, as_numpy
from ..backends.stacks import argument_names, default_of, from_the_end

NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)


NO_TRUTH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)


class NoRuleError(NotImplementedError):
    """What cannot be done with stacks."""


class Level:
    """One call of a function that `vmap` made: how many examples it has, and what becomes of random numbers."""

    def __init__(self, size: int, randomness: str, depth: int) -> None:
        self.size, self.randomness, self.depth = size, randomness, depth


class BatchedArray(NDArrayOperatorsMixin):
    """A batch of arrays, in the place of one.

    Attributes:
        stack: all of them, along the first axis
        level: whose batch it is
        base: of a view, the array that it is a view of
    """

    __slots__ = ("base", "level", "stack")

    def __init__(self, stack: Any, level: Level, base: BatchedArray | None = None) -> None:
        self.stack, self.level, self.base = stack, level, base

    def like(self, stack: Any) -> BatchedArray:
        """Another batch of the same level."""
        return BatchedArray(stack, self.level)

    def view_of(self, stack: Any) -> BatchedArray:
        """A view of this batch."""
        return BatchedArray(stack, self.level, self if self.base is None else self.base)

    shape = property(lambda self: self.stack.shape[1:])
    strides = property(lambda self: self.stack.strides[1:])
    dtype = property(lambda self: self.stack.dtype)
    ndim = property(lambda self: self.stack.ndim - 1)
    size = property(lambda self: prod(self.shape))
    itemsize = property(lambda self: self.stack.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    flags = property(lambda self: self.stack[0].flags)
    T = property(lambda self: self.transpose())
    mT = property(lambda self: self.swapaxes(-1, -2))  # noqa: N815
    real = property(lambda self: self.view_of(self.stack.real))
    imag = property(lambda self: self.view_of(self.stack.imag))

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[BatchedArray]:
        return (self[i] for i in range(len(self)))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NoRuleError("the arrays of a batch are not one array")

    def item(self, *_: Any) -> Any:
        """No one element is there."""
        raise RuntimeError(NO_ITEM)

    def decide(self) -> bool:
        """Nor is it true or false."""
        raise RuntimeError(NO_TRUTH)

    tolist = __int__ = __float__ = __complex__ = __index__ = item

    def __bool__(self) -> bool:
        nested = isinstance(self.stack, BatchedArray)
        found = [] if nested else np.unique(as_numpy(self.stack).astype(bool))
        if len(found) != 1:
            raise NoRuleError("the examples of a batch differ")
        return bool(found[0])

    # --- Views and copies ------------------------------------------------------------------------------------

    def transpose(self, *axes: Any) -> BatchedArray:
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = range(self.ndim)[::-1] if not axes or order is None else order
        return self.view_of(self.stack.transpose((0, *(a % self.ndim + 1 for a in order))))

    def swapaxes(self, a: int, b: int) -> BatchedArray:
        return self.view_of(
            self.stack.swapaxes(from_the_end(a, self.ndim), from_the_end(b, self.ndim))
        )

    def squeeze(self, axis: Any = None) -> BatchedArray:
        alone = tuple(d for d, n in enumerate(self.shape) if n == 1) if axis is None else axis
        return self.view_of(self.stack.squeeze(from_the_end(alone, self.ndim)))

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> BatchedArray:
        """A view where strides allow it, else a copy."""
        wanted = shape[0] if len(shape) == 1 else shape
        sizes = (wanted,) if isinstance(wanted, (int, np.integer)) else tuple(wanted)
        if -1 in sizes:
            rest = prod(s for s in sizes if s != -1)
            if sizes.count(-1) > 1 or not rest or self.size % rest:
                raise ValueError(f"cannot reshape array of size {self.size} into shape {sizes}")
            sizes = tuple(self.size // rest if s == -1 else s for s in sizes)
        made = self.stack.reshape((len(self.stack), *sizes))
        shared = np.may_share_memory(made, self.stack) or not self.size
        return self.view_of(made) if shared else BatchedArray(made, self.level, self.like(made))

    def ravel(self, order: Any = "C") -> BatchedArray:
        return self.reshape(-1)

    def copy(self, order: Any = "C") -> BatchedArray:
        return self.like(self.stack.copy(order=order))

    def astype(self, dtype: Any, **options: Any) -> BatchedArray:
        made = self.stack.astype(dtype, **options)
        return self if made is self.stack else self.like(made)

    def view(self, dtype: Any = None) -> BatchedArray:
        return self.view_of(self.stack.view() if dtype is None else self.stack.view(dtype))

    def conj(self) -> BatchedArray:
        return self.like(self.stack.conj())

    conjugate = conj

    def fill(self, value: Any) -> None:
        self[...] = value

    def _key(self, key: Any) -> tuple[Any, ...]:
        keys = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(k, (int, np.integer, slice, type(None), type(...))) for k in keys):
            raise NoRuleError("an index with arrays")
        return (slice(None), *keys)

    def __getitem__(self, key: Any) -> BatchedArray:
        return self.view_of(self.stack[self._key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        part = self.stack[
            (*self._key(key), ...) if Ellipsis not in self._key(key) else self._key(key)
        ]
        part[...] = aligned(value, self.level, part.ndim - 1)

    # --- NumPy's functions -----------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        level = innermost((*inputs, *options.get("out", ())))
        if method in ("reduce", "accumulate"):
            options.setdefault("axis", 0)
            return along_axes(getattr(ufunc, method), inputs, options)
        if method != "__call__":
            raise NoRuleError(f"{ufunc.__name__}.{method}")
        ndim = max(np.ndim(x) for x in inputs)
        if ufunc.signature is not None and (
            ufunc is not np.matmul or any(np.ndim(x) < 2 for x in inputs)
        ):
            raise NoRuleError(ufunc.__name__)
        out = options.pop("out", None)
        if out is not None:
            if not is_of(out[0], level):
                raise NoRuleError("a batch written into one array")
            options["out"] = tuple(aligned(o, level, ndim) for o in out)
        result = ufunc(*[aligned(x, level, ndim) for x in inputs], **options)
        return _batched(result, level) if out is None else out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply_function(function, args, dict(kwargs))

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(f"a batch of arrays has no '{name}'")
        function = getattr(np, name)
        return lambda *args, **kwargs: apply_function(function, (self, *args), kwargs)


_METHODS = frozenset([
    "all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "max", "mean", "min",
    "prod", "sort", "std", "sum", "var",
])  # fmt: skip


def values_of(value: Any) -> Iterator[Any]:
    """A value, or what lists and dicts of them hold."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from values_of(v)
    else:
        yield value


def innermost(*values: Any) -> Level:
    """The level that was entered last, of all batches among some values."""
    return max(
        (v.level for v in values_of(values) if isinstance(v, BatchedArray)), key=lambda x: x.depth
    )


def is_of(value: Any, level: Level) -> bool:
    """Whether a value is a batch of a level."""
    return isinstance(value, BatchedArray) and value.level is level


def aligned(value: Any, level: Level, ndim: int) -> Any:
    """The stack of a batch with as many axes behind the first as a number says; other values as they are."""
    if not is_of(value, level):
        return value
    stack, own = value.stack, value.ndim
    return (
        stack
        if own >= ndim
        else stack.reshape((len(stack), *(1,) * (ndim - own), *stack.shape[1:]))
    )


def _batched(result: Any, level: Level) -> Any:
    if isinstance(result, (tuple, list)):
        values = [_batched(r, level) for r in result]
        return type(result)(*values) if hasattr(result, "_fields") else type(result)(values)
    return BatchedArray(result, level) if type(result) in ARRAYS else result


def _stacked(value: Any, level: Level) -> Any:
    """Stacks in the place of batches, and of arrays that are the same for all examples."""
    if isinstance(value, (list, tuple)):
        return type(value)(_stacked(v, level) for v in value)
    if is_of(value, level):
        return value.stack
    return np.broadcast_to(value, (level.size, *value.shape)) if type(value) in ARRAYS else value


def along_axes(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A function along some axes of examples, along the same axes of stacks."""
    level = innermost(args, kwargs)
    named = dict(zip(argument_names(function), args, strict=False)) | kwargs
    if named.pop("out", None) is not None or named.get("where", True) is not True:
        raise NoRuleError(function.__name__)
    name = next(iter(named))
    first: Any = named.pop(name)
    axis = named.pop("axis", default_of(function, "axis"))
    several = isinstance(first, (list, tuple))
    ndim = (first[0] if several else first).ndim
    if axis is None and function in _FLATTENING:
        first, ndim, axis = first.reshape(-1), 1, 0
    if not ndim and axis not in (None, ()):
        raise NoRuleError(function.__name__)
    named["axis"] = from_the_end(axis, ndim + (function is np.stack))
    values = {k: _stacked(v, level) for k, v in named.items()}
    return _batched(function(_stacked(first, level), **values), level)


def _elementwise(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    level = innermost(args, kwargs)
    ndim = max(np.ndim(x) for x in (*args, *kwargs.values()))
    values = [aligned(x, level, ndim) for x in args]
    return _batched(
        function(*values, **{k: aligned(v, level, ndim) for k, v in kwargs.items()}), level
    )


def _new(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A new batch, `like` another one."""
    like = kwargs.pop("like")
    shape = args[0] if args else kwargs.pop("shape")
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    level = innermost(like)
    inner = {"like": like.stack} if isinstance(like.stack, BatchedArray) else {}
    return BatchedArray(function((level.size, *sizes), *args[1:], **kwargs, **inner), level)


def _like(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    array, *rest = args
    if kwargs.pop("shape", None) is not None or any(isinstance(v, BatchedArray) for v in rest):
        raise NoRuleError(function.__name__)
    return array.like(function(array.stack, *rest, **kwargs))


def _broadcast_to(array: Any, shape: Any, **_: Any) -> Any:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    stack = aligned(array, array.level, len(sizes))
    return array.view_of(np.broadcast_to(stack, (len(stack), *sizes)))


def _expand_dims(a: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return a.view_of(np.expand_dims(a.stack, from_the_end(tuple(axes), a.ndim + len(axes))))


def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return a.view_of(
        np.moveaxis(a.stack, *(from_the_end(x, a.ndim) for x in (source, destination)))
    )


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    parts = np.split(ary.stack, indices_or_sections, from_the_end(axis, ary.ndim))
    return [ary.view_of(p) for p in parts]


def _as_array(a: Any, dtype: Any = None, **options: Any) -> Any:
    if options.pop("like", None) is not None and not isinstance(a, BatchedArray):
        return np.asarray(a, dtype)
    return a if dtype is None or a.dtype == dtype else a.astype(dtype)


def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, BatchedArray) or where is not True:
        raise NoRuleError("a batch copied into one array")
    np.copyto(dst.stack, aligned(src, dst.level, dst.ndim), casting=casting)


def _share(a: Any, b: Any, *_: Any) -> bool:
    return (
        isinstance(a, BatchedArray)
        and isinstance(b, BatchedArray)
        and np.may_share_memory(a.stack, b.stack)
    )


_RULES: dict[Any, Callable[..., Any]] = {
    np.broadcast_to: _broadcast_to, np.expand_dims: _expand_dims, np.moveaxis: _moveaxis, np.split: _split,
    np.asarray: _as_array, np.copyto: _copyto, np.may_share_memory: _share, np.shares_memory: _share,
    np.transpose: lambda a, axes=None: a.transpose(axes), np.swapaxes: lambda a, axis1, axis2: a.swapaxes(axis1, axis2),
    np.squeeze: lambda a, axis=None: a.squeeze(axis), np.reshape: lambda a, shape, **o: a.reshape(shape, **o),
    np.ravel: lambda a, order="C": a.ravel(), np.ascontiguousarray: lambda a, **_: a if a.flags.c_contiguous else a.copy(),
    np.real: lambda val: val.real, np.imag: lambda val: val.imag, np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim,
    np.result_type: lambda *args: np.result_type(*(x.dtype if isinstance(x, BatchedArray) else x for x in args)),
}  # fmt: skip
_FLATTENING = frozenset((np.argmax, np.argmin, np.cumsum, np.cumprod))
_ALONG_AXES = frozenset(
    (np.sum, np.prod, np.max, np.min, np.mean, np.any, np.all, np.std, np.var, np.argmax, np.argmin, np.sort, np.argsort,
     np.cumsum, np.cumprod, np.concatenate, np.stack, np.flip, np.take_along_axis)
)  # fmt: skip
_ELEMENTWISE = frozenset((np.where, np.clip, np.nan_to_num, np.sinc, np.i0, np.angle))
_MATRICES = frozenset(
    (np.linalg.svd, np.linalg.qr, np.linalg.inv, np.linalg.slogdet, np.linalg.eigvalsh, np.linalg.eigvals, np.linalg.eigh,
     np.linalg.eig, np.linalg.det, np.linalg.cholesky, np.tril, np.triu)
)  # fmt: skip


def apply_function(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function of NumPy's gives for batches; `NoRuleError` where stacks cannot say."""
    rule = _RULES.get(function)
    if rule is not None:
        return rule(*args, **kwargs)
    if function in (np.empty, np.zeros, np.ones, np.full):
        return _new(function, args, kwargs)
    if function in (np.empty_like, np.zeros_like, np.ones_like, np.full_like):
        return _like(function, args, kwargs)
    if function in _ELEMENTWISE:
        return _elementwise(function, args, kwargs)
    if function in _ALONG_AXES:
        return along_axes(function, args, kwargs)
    if function in _MATRICES:
        level = innermost(args)
        return _batched(function(*[_stacked(x, level) for x in args], **kwargs), level)
    raise NoRuleError(function.__name__)
