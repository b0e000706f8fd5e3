"""What a kind of device is to the rest of the library: the arrays it keeps, and what computes on them.

A record computes with NumPy's functions, and those leave foreign arrays to the arrays' own class
(`__array_ufunc__`, `__array_function__`). So a device needs little: a class of arrays that answers
NumPy so, the methods below, and kernels, under the names of records, for what it does better or what
NumPy cannot pass on. `register` makes it known; then `device("its type")` and `tensor.to("its type")`
find it. The CPU (`cpu/backend.py`) is the first of them. While it is the only one, operations do not ask whose an array is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..device import CPU, KINDS, STANDARD_KINDS, DeviceError, device

Array = Any
Shape = tuple[int, ...]


class Backend:
    """One kind of device.

    Attributes:
        kind: the devices' type, as in `device("cuda")`
        array: the class of its arrays
        only: the device, where there is one of the kind
        makes_views: whether records that make views can be called on its arrays as they are
        holds_arrays: whether its arrays hold those of other devices, so that it computes where both are given
        is_traced: whether `torch.compile` may write tapes of what is done with its arrays
        kernels: what computes a record there in place of the record's `compute`, by its name
        formulas: what computes a function of `formulas/` there in its place, by its name
    """

    kind: str
    array: type
    only: device | None = None
    makes_views = True
    holds_arrays = False
    is_traced = False
    kernels: Mapping[str, Callable[..., Any]] = {}
    formulas: Mapping[str, Callable[..., Any]] = {}

    def count(self) -> int:
        """How many of its devices are here."""
        return 1

    def current(self) -> int | None:
        """Which of its devices is meant where none is named; None where there is one, without a number."""
        return 0

    def device_of(self, array: Array) -> device:
        """Where an array's memory is."""
        return device(self.kind, 0)

    def empty(self, shape: Shape, dtype: Any, where: device) -> Array:
        """A new array, not filled."""
        raise NotImplementedError

    def zeros(self, shape: Shape, dtype: Any, where: device) -> Array:
        """A new array of zeros."""
        return self.full(shape, dtype, where, 0)

    def ones(self, shape: Shape, dtype: Any, where: device) -> Array:
        """A new array of ones."""
        return self.full(shape, dtype, where, 1)

    def full(self, shape: Shape, dtype: Any, where: device, value: Any) -> Array:
        """A new array with every element set to a number."""
        made = self.empty(shape, dtype, where)
        made.fill(value)
        return made

    def address(self, array: Array) -> int:
        """Where in memory an array begins."""
        return id(array)

    def owner(self, array: Array) -> Any:
        """What holds an array's memory: one object for all arrays that share it."""
        return array if array.base is None else array.base

    def is_alone(self, array: Array) -> bool:
        """Whether no other array shows an array's memory, but for its base, and no two elements lie in one place."""
        return True

    def fills(self, array: Array) -> bool:
        """Whether an array's elements are all of the memory that its owner holds."""
        return self.owner(array).nbytes == array.nbytes

    def strided(self, array: Array, shape: Shape, strides: Shape) -> Array:
        """A view of an array's memory, from where it begins, in any shape and strides (in bytes)."""
        raise NotImplementedError

    def from_numpy(self, array: np.ndarray, where: device) -> Array:
        """A copy of an array of the CPU."""
        raise NotImplementedError

    def to_numpy(self, array: Array) -> np.ndarray:
        """A copy of an array, for the CPU."""
        raise NotImplementedError

    def readable(self, array: Array) -> Array:
        """An array to read numbers of, one by one: itself, or a copy for the CPU."""
        return array

    def from_dlpack(self, lender: Any) -> Array:
        """An array over memory of the device that another library lends."""
        raise NotImplementedError

    def computing(self, op: Any, where: device) -> Callable[..., Any]:
        """What computes a record from arrays of a device."""
        return self.kernels.get(op.name) or partial(self.compute, op, where)

    def compute(self, op: Any, where: device, *arrays: Any, **params: Any) -> Any:
        """What a record without a kernel computes: NumPy's functions, left to the arrays' own class."""
        result = op.compute(*arrays, **params)
        if any(isinstance(r, np.ndarray) for r in (result if type(result) is tuple else (result,))):
            raise NotImplementedError(f"'{op.name}' has no kernel for the device {where}")
        return result

    def compute_into(self, op: Any, arrays: Sequence[Any], params: dict[str, Any]) -> bool:
        """Let a kernel write an elementwise record's result into its first input; False where there is none."""
        return False

    def write(self, op: Any, where: device, *arrays: Any, **params: Any) -> None:
        """Let a record that has a way of its own to write into its first input do so."""
        op.write(*arrays, **params)

    def draw(
        self, distribution: Callable[..., Array], shape: Shape, dtype: Any, where: device, *args: Any, **named: Any
    ) -> Array:  # fmt: skip
        """Numbers of a distribution of `sampling.py`: unless a device has its own, those of the CPU."""
        return self.from_numpy(distribution(shape, dtype, *args, **named), where)

    def permutation(self, n: int, dtype: Any, where: device, generator: Any) -> Array:
        """The numbers below n in a random order."""
        from ..sampling import permutation

        return self.from_numpy(permutation(n, dtype, generator), where)

    def accelerate(self, formula: Callable[..., Any]) -> Callable[..., Any]:
        """A formula of NumPy's functions, or what computes the same sooner on the device's arrays."""
        return formula

    def map(
        self, scalar: Callable[..., Any], formula: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """A scalar function of arrays and numbers that broadcast together, with `out=`, where the device has more than a formula.

        Args:
            scalar: as in `scalars.py`
            formula: the same for arrays, by NumPy's functions
        """
        return None

    def update(
        self, formula: Callable[..., tuple[Array, ...]], columns: Sequence[list[Array]], numbers: Sequence[Any]
    ) -> None:  # fmt: skip
        """A step of an optimizer, which writes into all arrays but the gradients.

        Args:
            formula: of NumPy's functions, a parameter, its gradient, what is remembered, and numbers
            columns: the parameters, their gradients, and what is remembered of each
            numbers: those of each parameter
        """
        for arrays, own in zip(zip(*columns, strict=True), numbers, strict=True):
            if arrays[0].dtype.kind == "c":  # a complex number is two
                parts = [[x.real for x in arrays], [x.imag for x in arrays]]
            else:
                parts = [arrays]
            for p, g, *kept in parts:
                for old, new in zip((p, *kept), formula(np, p, g, *kept, *own), strict=True):
                    old[...] = new

    def is_pinned(self, array: np.ndarray) -> bool:
        """Whether an array of the CPU is in memory that the device reads by itself."""
        return False

    def set_precision(self, precision: str) -> None:
        """Be told how exact products in float32 must be: "highest", "high", "medium"."""

    def expect_many_steps(self, formula: Callable[..., Any], dtype: Any) -> None:
        """Be told that steps of a formula will be taken often: time to compile what it needs."""


# --- Which there are --------------------------------------------------------------------------------

_by_kind: dict[str, Backend] = {}
ARRAYS: dict[type, Backend] = {}
"""The classes of arrays, and whose they are."""

others: list[Backend] = []
"""The backends besides the CPU: while there are none, operations do not ask whose an array is."""


def register(backend: Backend) -> None:
    """Make a kind of device known."""
    KINDS.add(backend.kind)
    _by_kind[backend.kind] = ARRAYS[backend.array] = backend
    if backend.array is not np.ndarray:
        others.append(backend)
    resolve.cache_clear()


def unregister(backend: Backend) -> None:
    """Forget a kind of device."""
    KINDS.difference_update({backend.kind} - STANDARD_KINDS)
    del _by_kind[backend.kind], ARRAYS[backend.array]
    others.remove(backend)
    resolve.cache_clear()


@lru_cache(maxsize=64)
def resolve(given: device | str | int | None) -> device:
    """The device that was asked for; an error, saying what to do, if it is not here."""
    if given is None:
        return CPU
    found = given if isinstance(given, device) else device(given)
    backend = _by_kind.get(found.type)
    if backend is None and found.type == "cuda":
        from .cuda.backend import require_cuda

        backend = require_cuda()
    if backend is None and found.type == "meta":
        from .meta.backend import meta as backend

        register(backend)
    if backend is None:
        raise DeviceError(
            f"device '{found}' is not available: tensors live on the CPU and on NVIDIA's GPUs; "
            "write device='cpu', or choose with torch.cuda.is_available()"
        )
    if found.type == "cpu":
        return CPU
    if (found.index or 0) >= backend.count():
        raise DeviceError(f"device '{found}' is not here: there are {backend.count()} of its kind")
    numbered = found.index is not None and backend.current() is not None
    return device(found.type, found.index if numbered else backend.current())


def accelerator() -> Backend | None:
    """The GPUs, if there are any here."""
    from .cuda.backend import find_cuda

    return find_cuda()[0]


def backend_for(where: device) -> Backend:
    """What makes arrays on a device."""
    return _by_kind[where.type]


def accelerated(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A formula of NumPy's functions that the CPU may have a kernel for, under the same name."""
    return _by_kind["cpu"].accelerate(formula)


def cpu_map(scalar: Callable[..., Any], formula: Callable[..., Any]) -> Callable[..., Any] | None:
    """What the CPU has for a scalar function beside the formula of its arrays, if anything."""
    return _by_kind["cpu"].map(scalar, formula)


def formula_of(array: Array, name: str) -> Callable[..., Any] | None:
    """What a device has in the place of a formula, for its arrays; None where it has nothing."""
    return None if type(array) is np.ndarray else backend_of(array).formulas.get(name)


def from_numpy(array: np.ndarray, where: device) -> Array:
    """An array of the CPU on a device: itself, or a copy."""
    return _by_kind[where.type].from_numpy(array, where)


def backend_of(array: Array) -> Backend:
    """What computes on an array; TypeError if that is nobody's."""
    backend = ARRAYS.get(type(array))
    if backend is None:
        raise TypeError(f"no device has arrays of the class {type(array).__name__}")
    return backend


def address_of(array: Array) -> int:
    """Where in memory an array begins."""
    if isinstance(array, np.ndarray):
        return array.__array_interface__["data"][0]
    return backend_of(array).address(array)


def as_array(value: Any) -> Array:
    """What a record computed, as an array: NumPy gives numbers for arrays without dimensions."""
    return value if type(value) in ARRAYS else np.asarray(value)


def strided(array: Array, shape: Shape, strides: Shape) -> Array:
    """A view of an array's memory, from where it begins, in any shape and strides (in bytes)."""
    has_numbers = type(array) is np.ndarray and array.size and array.dtype.kind != "V"
    if has_numbers and array.flags.c_contiguous:
        return np.ndarray(shape, array.dtype, array, 0, strides)  # much cheaper than the other
    return backend_of(array).strided(array, shape, strides)


_METHODS = {
    np.maximum: "max", np.minimum: "min", np.logical_and: "all", np.logical_or: "any",
    np.add: "sum", np.multiply: "prod",
}  # fmt: skip


def reduce(ufunc: Any, array: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """A ufunc's reduction, as an array; those of other devices may have it as a method only."""
    if type(array) is np.ndarray:
        result = ufunc.reduce(array, axis, None, None, keepdims)
        return result if type(result) is np.ndarray else np.asarray(result)
    return getattr(array, _METHODS[ufunc])(axis=axis, keepdims=keepdims)


def as_numpy(array: Array) -> np.ndarray:
    """An array's elements on the CPU: itself, or a copy."""
    return array if isinstance(array, np.ndarray) else backend_of(array).to_numpy(array)


def readable(array: Array) -> Array:
    """An array to read numbers of, one by one."""
    return array if isinstance(array, np.ndarray) else backend_of(array).readable(array)


def implementation(
    op: Any, arrays: list[Any], method: str = "compute", holder: Array | None = None
) -> Callable[..., Any]:
    """What computes a record from arrays of one device, or writes; numbers of the CPU among them are moved there.

    Args:
        op: the record
        arrays: what it is given
        method: `compute` or `write`
        holder: one of the arrays that holds those of another device, if there is one
    """
    for first in arrays if holder is None else (holder,):
        if type(first) is not np.ndarray and type(first) in ARRAYS:
            break
    else:
        return getattr(op, method)
    backend = ARRAYS[type(first)]
    if op.crosses or (op.view and method == "compute" and backend.makes_views):
        return op.compute
    where = backend.device_of(first)
    for i, x in enumerate(arrays):
        kind = type(x)
        if kind is backend.array:
            if backend.only is None and x is not first:
                _check_same(where, backend.device_of(x))
        elif kind is np.ndarray and not x.ndim:
            arrays[i] = backend.from_numpy(x, where)
        elif kind in ARRAYS:
            _check_same(where, ARRAYS[kind].device_of(x))
            if ARRAYS[kind].holds_arrays:
                return implementation(op, arrays, method, x)
    return (
        backend.computing(op, where) if method == "compute" else partial(backend.write, op, where)
    )


def computed(op: Any, arrays: list[Any], params: dict[str, Any]) -> Any:
    """What a record computes from arrays of one device."""
    return implementation(op, arrays)(*arrays, **params)


def _check_same(where: device, other: device) -> None:
    """RuntimeError unless two arrays of an operation are on one device."""
    if other is not where and other != where:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{where} and {other}!"
        )


def move(array: Array, where: device) -> Array:
    """A copy of an array on another device, its dimensions in memory in the same order."""
    order = sorted(range(array.ndim), key=lambda d: -abs(array.strides[d]))
    found = backend_of(array).to_numpy(array.transpose(order))
    return backend_for(where).from_numpy(found, where).transpose(np.argsort(order).tolist())
