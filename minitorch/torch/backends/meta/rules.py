"""What NumPy's functions would give for arrays without elements.

Most of them are asked: a function of single elements is called on one element of each array, for the
type, and shapes broadcast; a function along axes, or of matrices, is called on stacks of *no* arrays of the
right shapes, which take no memory. Views are made of shadows. The rest has a rule here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from ...ops.layout import laid_out
from ..stacks import argument_names, default_of, from_the_end
from .array import MetaArray, new_array

Rule = Callable[..., Any]


def _refuse(name: str) -> Rule:
    """What raises Torch's error for an operation that has no form without values."""

    def rule(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"aten::{name}: attempted to run this operator with Meta tensors, but there was no fake impl or "
            "Meta kernel registered."
        )

    return rule


def refuse_nonzero(*_: Any, **__: Any) -> Any:
    """The error, as Torch's, of what finds elements by their values."""
    raise NotImplementedError(
        "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct "
        "data-independent implementation does not exist."
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, (MetaArray, np.ndarray))


def _sample(value: Any) -> Any:
    """One element in the place of an array."""
    if isinstance(value, (list, tuple)):
        return type(value)(_sample(v) for v in value)
    return np.ones(1, value.dtype) if _is_array(value) else value


def _made(result: Any, shape: Any, inputs: Any) -> Any:
    """New arrays of a shape, with the types of results, laid out as their inputs."""
    if isinstance(result, (tuple, list)):
        return type(result)(_made(r, shape, inputs) for r in result)
    return laid_out(new_array(shape, result.dtype), inputs)


# --- Functions of elements ------------------------------------------------------------------------------


def elementwise(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function of elements gives: shapes broadcast, and the type is that of one element."""
    out, _ = kwargs.pop("out", None), kwargs.pop("where", None)
    arrays = [x for x in (*args, *kwargs.values()) if _is_array(x)]
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    result = function(*map(_sample, args), **{k: _sample(v) for k, v in kwargs.items()})
    if out is None:
        return _made(result, shape, arrays)
    outs = out if isinstance(out, tuple) else (out,)
    for o in outs:
        if o is not None and np.broadcast_shapes(shape, o.shape) != o.shape:
            raise ValueError(f"non-broadcastable output operand with shape {o.shape}")
    return outs[0] if len(outs) == 1 else outs


def apply_ufunc(ufunc: Any, method: str, inputs: Any, options: Any) -> Any:
    """A ufunc, or one of its methods."""
    if method == "at":
        return None
    if method == "outer":
        shape = [n for x in inputs for n in np.shape(x)]
        return new_array(shape, ufunc(*map(_sample, inputs)).dtype)
    if method != "__call__":
        options.setdefault("axis", 0)
        result = along_axes(getattr(ufunc, method), inputs, options)
        result.truth = ufunc is not np.logical_or
        return result
    if ufunc.signature is not None:
        return _of_stacks(ufunc, inputs, options)
    return elementwise(ufunc, inputs, options)


def _of_stacks(ufunc: Any, inputs: Any, options: Any) -> Any:
    """A ufunc of vectors and matrices, called on stacks of none of them."""
    cores = [
        len(core.split(",")) for core in ufunc.signature.split("->")[0].strip("()").split("),(")
    ]
    vectors = [ufunc is np.matmul and x.ndim == 1 for x in inputs]
    shapes = [x.shape for x in inputs]
    if any(vectors):
        shapes = [
            ((1, *s) if i == 0 else (*s, 1)) if v else s
            for i, (s, v) in enumerate(zip(shapes, vectors, strict=True))
        ]
    loops = max(len(s) - c for s, c in zip(shapes, cores, strict=True))
    stacks = [
        np.empty((0, *(1,) * (loops - len(s) + c), *s), x.dtype)
        for x, s, c in zip(inputs, shapes, cores, strict=True)
    ]
    out = options.pop("out", None)
    result = ufunc(*stacks, **options)
    if any(vectors):
        sizes = result.shape[1:-2] + result.shape[-2:][vectors[0] : 2 - vectors[1]]
        return new_array(sizes, result.dtype)
    return _unstacked(result) if out is None else out[0]


# --- Functions along axes, and of matrices ---------------------------------------------------------------


def _stacked(value: Any) -> Any:
    """A stack of no arrays in the place of each array."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_stacked, value))
    return np.empty((0, *value.shape), value.dtype) if _is_array(value) else value


def _unstacked(result: Any) -> Any:
    """New arrays in the place of stacks of none."""
    if isinstance(result, (list, tuple)):
        values = [_unstacked(r) for r in result]
        return type(result)(*values) if hasattr(result, "_fields") else type(result)(values)
    return new_array(result.shape[1:], result.dtype) if isinstance(result, np.ndarray) else result


_FLATTENING = frozenset(
    (np.argmax, np.argmin, np.cumsum, np.cumprod, np.sort, np.argsort, np.repeat, np.diff)
)


def along_axes(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function of whole arrays gives along some of their axes."""
    names = argument_names(function)
    named = dict(zip(names, args, strict=False)) | kwargs
    named.pop("out", None)
    name = next(iter(named))
    first: Any = named.pop(name)
    which = "axes" if "axes" in names else "axis"
    axis = named.pop(which, default_of(function, which))
    several = isinstance(first, (list, tuple))
    ndim = (first[0] if several else first).ndim
    if axis is None and function in _FLATTENING:
        first, ndim, axis = first.reshape(-1), 1, 0
    if not ndim and axis not in (
        None,
        (),
    ):  # a number may be reduced along the axis that it has not
        result = function(np.ones((), first.dtype), **named, **{which: axis})
        return new_array(np.shape(result), result.dtype)
    named[which] = from_the_end(axis, ndim + (function is np.stack))
    return _unstacked(function(_stacked(first), **{k: _stacked(v) for k, v in named.items()}))


def of_matrices(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function of stacks of matrices gives."""
    return _unstacked(function(*map(_stacked, args), **kwargs))


# --- The rest -------------------------------------------------------------------------------------------


def _view(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Views of the first array, made of its shadow."""
    array, *rest = args
    result = function(array.shadow, *rest, **kwargs)
    return (
        type(result)(map(array.view_of, result))
        if isinstance(result, (list, tuple))
        else array.view_of(result)
    )


def _new(shape: Any, dtype: Any = float, order: Any = "C", **_: Any) -> MetaArray:
    return new_array(shape, dtype)


def _full(shape: Any, fill_value: Any, dtype: Any = None, **_: Any) -> MetaArray:
    return new_array(shape, np.asarray(_sample(fill_value)).dtype if dtype is None else dtype)


def _like(
    a: Any, *value: Any, dtype: Any = None, order: Any = "K", shape: Any = None, **_: Any
) -> MetaArray:
    kind = a.dtype if dtype is None else dtype
    if shape is not None:
        return new_array(shape, kind)
    return new_array(a.shape, kind, a.strides if order == "K" else None)


def _as_meta(a: Any, dtype: Any = None, copy: Any = None, order: Any = "K", **_: Any) -> MetaArray:
    if isinstance(a, MetaArray):
        same = dtype is None or np.dtype(dtype) == a.dtype
        if order == "C" and not a.flags.c_contiguous:
            return new_array(a.shape, a.dtype if dtype is None else dtype)
        return a if same and not copy else a.astype(a.dtype if dtype is None else dtype)
    found = np.asarray(a, dtype)
    return new_array(found.shape, found.dtype)


def _contiguous(a: Any, dtype: Any = None, requirements: Any = None, **_: Any) -> MetaArray:
    return _as_meta(a, dtype, order="C")


def _take(
    a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise"
) -> MetaArray:
    if axis is None:
        return new_array(np.shape(indices), a.dtype)
    d = axis % a.ndim
    return new_array((*a.shape[:d], *np.shape(indices), *a.shape[d + 1 :]), a.dtype)


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> MetaArray:
    if axis is None:
        return new_array(indices.shape, arr.dtype)
    d = axis % arr.ndim
    others = [(*x.shape[:d], 1, *x.shape[d + 1 :]) for x in (arr, indices)]
    shape = list(np.broadcast_shapes(*others))
    shape[d] = indices.shape[d]
    return new_array(shape, arr.dtype)


def _tile(a: Any, reps: Any) -> MetaArray:
    times = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    ndim = max(len(times), a.ndim)
    sizes = [(1,) * (ndim - len(s)) + s for s in (times, a.shape)]
    return new_array([m * n for m, n in zip(*sizes, strict=True)], a.dtype)


def _pad(array: Any, pad_width: Any, *_: Any, **__: Any) -> MetaArray:
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).sum(axis=1).tolist()
    return new_array([n + w for n, w in zip(array.shape, widths, strict=True)], array.dtype)


def _diag(v: Any, k: int = 0) -> MetaArray:
    if v.ndim == 1:
        return new_array((len(v) + abs(k),) * 2, v.dtype)
    return new_array(v.shadow.diagonal(k).shape, v.dtype)


def _eye(n: int, m: int | None = None, k: int = 0, dtype: Any = float, **_: Any) -> MetaArray:
    return new_array((n, n if m is None else m), dtype)


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if np.broadcast_shapes(dst.shape, np.shape(src)) != dst.shape:
        raise ValueError(
            f"could not broadcast input array from shape {np.shape(src)} into shape {dst.shape}"
        )


def _broadcast_arrays(*args: Any, **_: Any) -> tuple[Any, ...]:
    shape = _broadcast(args)
    return tuple(_view(np.broadcast_to, (_as_meta(x), shape), {}) for x in args)


def _result_type(*args: Any) -> Any:
    return np.result_type(*map(_sample, args))


def _broadcast(arrays: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*(np.shape(x) for x in arrays))


def _root(array: Any) -> Any:
    return array if array.base is None else array.base


def _share(a: Any, b: Any, *_: Any) -> bool:
    return isinstance(a, MetaArray) and isinstance(b, MetaArray) and _root(a) is _root(b)


def _meshgrid(*xi: Any, indexing: str = "xy", **_: Any) -> tuple[MetaArray, ...]:
    shape = [x.size for x in xi]
    if indexing == "xy":
        shape[:2] = shape[1::-1]
    return tuple(new_array(shape, x.dtype) for x in xi)


def _stack_rows(arrays: Any, axis: int) -> MetaArray:
    rows = [x.reshape(1) if not x.ndim else x for x in arrays]
    return along_axes(np.concatenate, (rows,), {"axis": 0 if rows[0].ndim == 1 else axis})


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> MetaArray:
    shape = list(a.shape)
    more = [x.shape[axis] if np.ndim(x) else 1 for x in (prepend, append) if x is not None]
    shape[axis] = max(shape[axis] + sum(more) - n, 0)
    return new_array(
        shape, np.subtract(_sample(a), _sample(a)).dtype if a.dtype != bool else a.dtype
    )


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> MetaArray:
    arrays = [x for x in (*condlist, *choicelist, default) if _is_array(x)]
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return new_array(
        shape, np.select(_sample(condlist), _sample(choicelist), _sample(default)).dtype
    )


def _moved_rows(a: Any, *_: Any, **__: Any) -> MetaArray:
    return a.copy()


_NEW = dict.fromkeys((np.empty, np.zeros, np.ones), _new)
_LIKE = dict.fromkeys((np.empty_like, np.zeros_like, np.ones_like, np.full_like), _like)
_FINDING = dict.fromkeys((np.nonzero, np.flatnonzero, np.argwhere, np.compress), refuse_nonzero)
_RULES: dict[Any, Rule] = {
    **_NEW, **_LIKE, **_FINDING,
    np.full: _full, np.asarray: _as_meta, np.array: _as_meta, np.asanyarray: _as_meta, np.eye: _eye,
    np.ascontiguousarray: _contiguous, np.require: _contiguous, np.copy: lambda a, **_: a.copy("K"),
    np.take: _take, np.take_along_axis: _take_along_axis, np.put_along_axis: lambda *_, **__: None,
    np.tile: _tile, np.pad: _pad, np.diag: _diag, np.copyto: _copyto, np.broadcast_arrays: _broadcast_arrays,
    np.result_type: _result_type, np.may_share_memory: _share, np.shares_memory: _share, np.meshgrid: _meshgrid,
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: lambda a: a.size,
    np.reshape: lambda a, shape, **options: a.reshape(shape, **options), np.ravel: lambda a, order="C": a.ravel(),
    np.real: lambda val: val.real, np.imag: lambda val: val.imag,
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.searchsorted: lambda a, v, side="left", sorter=None: new_array(np.shape(v), np.int64),
    np.hstack: lambda tup, **_: _stack_rows(tup, 1), np.vdot: lambda a, b: new_array((), _result_type(a, b)),
    np.lexsort: lambda keys, axis=-1: new_array(keys[-1].shape, np.int64),
    np.isin: lambda element, test_elements, **_: new_array(element.shape, np.bool_),
    np.diff: _diff, np.select: _select, np.roll: _moved_rows, np.tril: _moved_rows, np.triu: _moved_rows,
    np.ravel_multi_index: lambda multi_index, dims, **_: new_array(_broadcast(multi_index), np.int64),
    np.array_equal: _refuse("equal"), np.unique: _refuse("_unique2"), np.bincount: _refuse("bincount"),
}  # fmt: skip
_ELEMENTWISE = frozenset(
    (np.where, np.clip, np.nan_to_num, np.sinc, np.i0, np.angle, np.round, np.isclose)
)
_VIEWS = frozenset(
    (np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.broadcast_to, np.squeeze, np.diagonal,
     np.split, np.array_split, np.flip, np.rot90, as_strided, sliding_window_view)
)  # fmt: skip
_MATRICES = frozenset(
    (np.linalg.svd, np.linalg.qr, np.linalg.inv, np.linalg.solve, np.linalg.slogdet, np.linalg.eigvalsh,
     np.linalg.eigvals, np.linalg.eigh, np.linalg.eig, np.linalg.det, np.linalg.cholesky, np.linalg.pinv)
)  # fmt: skip
_FROM_NUMBERS = frozenset((np.arange, np.linspace, np.tri, np.identity, np.fromiter, np.frombuffer))


def apply_function(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function of NumPy's gives."""
    rule = _RULES.get(function)
    if rule is not None:
        return rule(*args, **kwargs)
    if function in _ELEMENTWISE:
        return elementwise(function, args, dict(kwargs))
    if function in _VIEWS:
        return _view(function, args, kwargs)
    if function in _MATRICES:
        return of_matrices(function, args, kwargs)
    if function in _FROM_NUMBERS:
        return _as_meta(function(*args, **kwargs))
    result = along_axes(function, args, dict(kwargs))
    if function is np.any:
        result.truth = False
    return result
