"""Arrays without elements: what NumPy's functions need of an array to say what shape and type they would give.

A `MetaArray` has a *shadow*: an array of NumPy's with the right shape, strides and type, over the memory of one
element. Its elements are never looked at: only functions that make views are called on it. All
other functions of NumPy's have a rule in `rules.py`, which says what the result would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

NO_DATA = "Cannot copy out of meta tensor; no data!"
NO_ITEM = "Tensor.item() cannot be called on meta tensors"

METHODS = frozenset(
    [
        "all",
        "any",
        "argmax",
        "argmin",
        "argpartition",
        "argsort",
        "clip",
        "cumprod",
        "cumsum",
        "diagonal",
        "max",
        "mean",
        "min",
        "nonzero",
        "partition",
        "prod",
        "repeat",
        "round",
        "searchsorted",
        "sort",
        "std",
        "sum",
        "swapaxes",
        "take",
        "trace",
        "var",
    ]
)
"""Methods that are NumPy's functions of the same name."""


class MetaArray(NDArrayOperatorsMixin):
    """An array's shape, strides and type.

    Attributes:
        shadow: the same, as an array of NumPy's that must not be read
        base: of a view, the array that it is a view of
        truth: what an operation is told that asks whether it is true. Operations ask so whether something is wrong
            with the values: whether `any` is wrong, or not all is right. With no values, nothing is wrong.
    """

    __slots__ = ("base", "shadow", "truth")

    shadow: Any

    def __init__(self, shadow: np.ndarray, base: MetaArray | None = None) -> None:
        self.shadow = shadow
        self.base = base
        self.truth = True

    def view_of(self, shadow: np.ndarray) -> MetaArray:
        """A view of this array."""
        return MetaArray(shadow, self if self.base is None else self.base)

    # --- What is known -----------------------------------------------------------------------------------

    shape = property(lambda self: self.shadow.shape)
    strides = property(lambda self: self.shadow.strides)
    dtype = property(lambda self: self.shadow.dtype)
    ndim = property(lambda self: self.shadow.ndim)
    size = property(lambda self: self.shadow.size)
    itemsize = property(lambda self: self.shadow.itemsize)
    nbytes = property(lambda self: self.shadow.nbytes)
    flags = property(lambda self: self.shadow.flags)
    T = property(lambda self: self.view_of(self.shadow.T))
    mT = property(lambda self: self.view_of(self.shadow.mT))  # noqa: N815

    @property
    def real(self) -> MetaArray:
        """The real part: a view."""
        return self.view_of(self.shadow.real)

    @real.setter
    def real(self, value: Any) -> None:
        """Nothing is written."""

    @property
    def imag(self) -> MetaArray:
        """The imaginary part: a view, of complex numbers."""
        return self.view_of(self.shadow.imag) if self.dtype.kind == "c" else self.copy()

    @imag.setter
    def imag(self, value: Any) -> None:
        """Nothing is written."""

    def __len__(self) -> int:
        return len(self.shadow)

    def __iter__(self) -> Iterator[MetaArray]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"MetaArray(shape={self.shape}, dtype={self.dtype})"

    # --- What is not ---------------------------------------------------------------------------------------

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(NO_DATA)

    def item(self, *_: Any) -> Any:
        """No element is there."""
        raise RuntimeError(NO_ITEM)

    __int__ = __float__ = __complex__ = __index__ = item

    def tolist(self) -> Any:
        """No element is there."""
        raise NotImplementedError(NO_DATA)

    tobytes = tolist

    def __bool__(self) -> bool:
        return self.truth

    # --- NumPy's functions -----------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from .rules import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .rules import apply_function

        return apply_function(function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(f"an array of the device meta has no '{name}'")
        from .rules import apply_function

        function = getattr(np, name)
        return lambda *args, **kwargs: apply_function(function, (self, *args), kwargs)

    # --- Methods that make views, or copies -----------------------------------------------------------------

    def transpose(self, *axes: Any) -> MetaArray:
        """As NumPy's."""
        return self.view_of(self.shadow.transpose(*axes))

    def squeeze(self, axis: Any = None) -> MetaArray:
        """As NumPy's."""
        return self.view_of(self.shadow.squeeze(axis))

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> MetaArray:
        """A view where strides allow it, else a copy."""
        wanted = shape[0] if len(shape) == 1 else shape
        try:
            return self.view_of(np.reshape(self.shadow, wanted, order=order, copy=False))
        except ValueError:
            whole = new_array((self.size,), self.dtype)
            return whole.view_of(np.reshape(whole.shadow, wanted, copy=False))

    def ravel(self, order: Any = "C") -> MetaArray:
        """As NumPy's."""
        return self.reshape(-1)

    def flatten(self, order: Any = "C") -> MetaArray:
        """As NumPy's."""
        return new_array((self.size,), self.dtype)

    def copy(self, order: Any = "C") -> MetaArray:
        """A new array, in C's order or laid out as this one."""
        return new_array(self.shape, self.dtype, self.strides if order == "K" else None)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> MetaArray:
        return self.copy("K")

    def astype(self, dtype: Any, order: Any = "K", copy: bool = True, **_: Any) -> MetaArray:
        """As NumPy's."""
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return new_array(self.shape, dtype, self.strides if order == "K" else None)

    def view(self, dtype: Any = None) -> MetaArray:
        """The same memory as another type."""
        return self.view_of(self.shadow.view() if dtype is None else self.shadow.view(dtype))

    def conj(self) -> MetaArray:
        """As NumPy's."""
        return self.copy()

    conjugate = conj

    def dot(self, other: Any) -> Any:
        """As NumPy's, of vectors and matrices."""
        return np.matmul(self, other)

    def fill(self, value: Any) -> None:
        """Nothing is written."""

    def __getitem__(self, key: Any) -> MetaArray:
        keys = key if isinstance(key, tuple) else (key,)
        if all(isinstance(k, (int, np.integer, slice, type(None), type(...))) for k in keys):
            keys = keys if any(k is Ellipsis for k in keys) else (*keys, ...)
            return self.view_of(self.shadow[keys])
        return new_array(indexed_shape(self.shape, keys), self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not any(_is_mask(k) for k in (key if isinstance(key, tuple) else (key,))):
            np.broadcast_shapes(self[key].shape, np.shape(value))


def new_array(shape: Any, dtype: Any, strides: tuple[int, ...] | None = None) -> MetaArray:
    """A new array: in C's order, or in the order of the strides of another one."""
    shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(n < 0 for n in shape):
        raise ValueError("negative dimensions are not allowed")
    kind = np.dtype(dtype)
    order = list(range(len(shape)))
    if strides is not None:
        order.sort(key=lambda d: -abs(strides[d]))
    made, step = [0] * len(shape), kind.itemsize
    for d in reversed(order):
        made[d] = step
        step *= max(shape[d], 1)
    return MetaArray(as_strided(np.empty(1, kind), shape, tuple(made)))


def _is_mask(key: Any) -> bool:
    return isinstance(key, MetaArray) and key.dtype == np.bool_


def indexed_shape(shape: tuple[int, ...], keys: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape of what an index with arrays takes out of an array."""
    parts: list[Any] = []
    for k in keys:
        if isinstance(k, (list, np.ndarray)) and np.asarray(k).dtype == np.bool_:
            parts += np.nonzero(np.asarray(k)) if np.ndim(k) else [k]
        elif _is_mask(k):
            from .rules import refuse_nonzero

            refuse_nonzero()
        else:
            parts.append(k)
    used = sum(k is not None and k is not Ellipsis for k in parts)
    if not any(k is Ellipsis for k in parts):
        parts.append(Ellipsis)
    at = next(i for i, k in enumerate(parts) if k is Ellipsis)
    parts[at : at + 1] = [slice(None)] * (len(shape) - used)
    is_array = [not isinstance(k, (slice, type(None))) for k in parts]
    places = [i for i, chosen in enumerate(is_array) if chosen]
    together = places == list(range(places[0], places[-1] + 1))
    try:
        taken = np.broadcast_shapes(*(np.shape(parts[i]) for i in places))
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together"
        ) from None
    kept: list[tuple[int, ...]] = []
    d = 0
    for i, k in enumerate(parts):
        if k is None:
            kept.append((1,))
            continue
        if isinstance(k, slice):
            kept.append((len(range(*k.indices(shape[d]))),))
        elif together and i == places[0]:
            kept.append(taken)
        d += 1
    rest = tuple(n for sizes in kept for n in sizes)
    return rest if together else (*taken, *rest)
