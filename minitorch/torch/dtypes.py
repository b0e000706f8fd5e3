"""Torch's dtypes over NumPy's, and the rules by which they meet."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)
"""Kinds of dtypes, in the order in which they win over each other."""


class dtype:  # noqa: N801
    """The type of a tensor's elements; compare with `is`."""

    __slots__ = ("c_name", "itemsize", "kind", "name", "numpy", "rank", "type_name")
    numpy: Any  # the NumPy dtype

    def __init__(self, name: str, c_name: str, kind: int, rank: int, type_name: str) -> None:
        self.name = name
        self.c_name = c_name
        self.kind = kind
        self.rank = rank
        self.type_name = type_name
        self.itemsize: int = 1 if name.startswith("float8") else 2
        if not self.is_extension:
            self.numpy = np.dtype(name)
            self.itemsize = self.numpy.itemsize

    @property
    def is_extension(self) -> bool:
        """Whether its numbers come from the package ml_dtypes, not from NumPy itself."""
        return self.name == "bfloat16" or self.name.startswith("float8")

    def __getattr__(self, name: str) -> Any:
        """The NumPy dtype of ml_dtypes, which loads when it is first asked for."""
        if name != "numpy":
            raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")
        import ml_dtypes

        self.numpy = np.dtype(getattr(ml_dtypes, self.name))
        _FROM_NUMPY[self.numpy] = self
        return self.numpy

    @property
    def is_floating_point(self) -> bool:
        """Whether it is a real floating point type."""
        return self.kind == FLOATING

    @property
    def is_complex(self) -> bool:
        """Whether it is a complex type."""
        return self.kind == COMPLEX

    @property
    def is_signed(self) -> bool:
        """Whether it has negative numbers."""
        return self.name != "bool" and not self.name.startswith("u")

    def to_real(self) -> dtype:
        """The type of the real part."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> dtype:
        """The complex type of the same precision."""
        return {"float32": complex64, "float64": complex128}.get(self.name, self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return "bool_" if self.name == "bool" else self.name


class _NamedOnly(dtype):
    """A type that programs name and compare with; no plain tensor is of it."""

    __slots__ = ()

    def __init__(self, name: str, kind: int = INTEGRAL, itemsize: int = 1) -> None:
        self.name, self.c_name, self.kind, self.rank, self.type_name = name, name, kind, -1, name
        self.itemsize = itemsize

    def __getattr__(self, name: str) -> Any:
        if name != "numpy":
            raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")
        raise TypeError(f"tensors of {self!r} are not supported by minitorch.torch")


# Names, C's names, kinds, ranks within a kind, names of the old tensor types.
bool_ = dtype("bool", "bool", BOOL, 0, "BoolTensor")
uint8 = dtype("uint8", "unsigned char", INTEGRAL, 0, "ByteTensor")
int8 = dtype("int8", "signed char", INTEGRAL, 1, "CharTensor")
int16 = dtype("int16", "short", INTEGRAL, 2, "ShortTensor")
int32 = dtype("int32", "int", INTEGRAL, 3, "IntTensor")
int64 = dtype("int64", "long", INTEGRAL, 4, "LongTensor")
uint16 = dtype("uint16", "unsigned short", INTEGRAL, 5, "UInt16Tensor")
uint32 = dtype("uint32", "unsigned int", INTEGRAL, 6, "UInt32Tensor")
uint64 = dtype("uint64", "unsigned long", INTEGRAL, 7, "UInt64Tensor")
float16 = dtype("float16", "c10::Half", FLOATING, 0, "HalfTensor")
bfloat16 = dtype("bfloat16", "c10::BFloat16", FLOATING, 1, "BFloat16Tensor")
float32 = dtype("float32", "float", FLOATING, 2, "FloatTensor")
float64 = dtype("float64", "double", FLOATING, 3, "DoubleTensor")
complex64 = dtype("complex64", "c10::complex<float>", COMPLEX, 0, "ComplexFloatTensor")
complex128 = dtype("complex128", "c10::complex<double>", COMPLEX, 1, "ComplexDoubleTensor")

float8_e4m3fn = dtype("float8_e4m3fn", "c10::Float8_e4m3fn", FLOATING, -1, "Float8_e4m3fnTensor")
float8_e4m3fnuz = dtype(
    "float8_e4m3fnuz", "c10::Float8_e4m3fnuz", FLOATING, -1, "Float8_e4m3fnuzTensor"
)
float8_e5m2 = dtype("float8_e5m2", "c10::Float8_e5m2", FLOATING, -1, "Float8_e5m2Tensor")
float8_e5m2fnuz = dtype(
    "float8_e5m2fnuz", "c10::Float8_e5m2fnuz", FLOATING, -1, "Float8_e5m2fnuzTensor"
)
float8_e8m0fnu = dtype(
    "float8_e8m0fnu", "c10::Float8_e8m0fnu", FLOATING, -1, "Float8_e8m0fnuTensor"
)

FLOAT8 = (float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu)
"""Types to keep numbers in and to convert from and to; there is no arithmetic on them."""

NAMED_ONLY = (
    _NamedOnly("complex32", COMPLEX, 4), _NamedOnly("qint32", itemsize=4),
    *map(_NamedOnly, ("qint8", "quint8", "quint4x2", "quint2x4")),
    *(_NamedOnly(f"{sign}int{bits}") for sign in ("", "u") for bits in range(1, 8)),
)  # fmt: skip
"""Half-precision complex numbers, quantized types and integers of less than a byte."""

ALL = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip
NAMES = {d.name: d for d in (*ALL, *FLOAT8, *NAMED_ONLY)} | {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32,
    "long": int64, "cfloat": complex64, "cdouble": complex128,
    "chalf": NAMED_ONLY[0],
}  # fmt: skip
"""What `minitorch.torch` calls them."""
_FROM_NUMPY: dict[Any, dtype] = {d.numpy: d for d in ALL if not d.is_extension}


def from_numpy_dtype(numpy_dtype: Any) -> dtype:
    """The dtype of a NumPy dtype; TypeError for those that tensors do not have."""
    found = _FROM_NUMPY.get(numpy_dtype)
    if found is None:
        ours = NAMES.get(np.dtype(numpy_dtype).name)
        if ours is not None and ours.is_extension:
            return from_numpy_dtype(ours.numpy)
        native = np.dtype(numpy_dtype).newbyteorder("=")
        found = _FROM_NUMPY.get(native)
        if found is None:
            raise TypeError(
                f"can't convert np.ndarray of type {numpy_dtype}. The only supported types are: "
                "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, "
                "uint64, uint32, uint16, uint8, and bool."
            )
    return found


class _Default:
    """The type of new floating point tensors; `set_default_dtype` changes it."""

    dtype = float32


def get_default_dtype() -> dtype:
    """The type of new floating point tensors."""
    return _Default.dtype


def set_default_dtype(d: dtype) -> None:
    """Set the type of new floating point tensors."""
    if not isinstance(d, dtype) or d.kind != FLOATING:
        raise TypeError(f"only floating-point types are supported as the default type, not {d}")
    _Default.dtype = d


def default_complex() -> dtype:
    """The type of new complex tensors."""
    return _Default.dtype.to_complex()


@lru_cache(maxsize=256)
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that holds what both hold, as Torch promotes them."""
    a, b = type1, type2
    check_types("promote_types", a, b)
    if a is b:
        return a
    if a in FLOAT8 or b in FLOAT8:
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {a.name} and {b.name}"
        )
    if a.kind != b.kind:
        high, low = (a, b) if a.kind > b.kind else (b, a)
        if high.kind == COMPLEX and low is float64:
            return complex128
        return high
    if a.kind == INTEGRAL and not (a.is_signed and b.is_signed):
        wide = (uint16, uint32, uint64)
        if a in wide or b in wide:
            names = f"{a.name} and {b.name}"
            raise RuntimeError(
                f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {names}"
            )
        other = b if a is uint8 else a
        return int16 if other is int8 else other
    if {a, b} == {float16, bfloat16}:
        return float32
    return a if a.rank > b.rank else b


_PYTHON_TYPES: dict[Any, dtype] = {bool: bool_, int: int64, float: float64, complex: complex128}


def given_type(given: Any, default: Any = None) -> Any:
    """What a `dtype=` argument says: a type, or one of Python's; a default where it is None."""
    if given is None:
        return default
    if not isinstance(given, dtype):
        given = _PYTHON_TYPES.get(given, given)
        check_types("dtype", given)
    return given


def check_types(name: str, *given: Any) -> None:
    """TypeError unless all are types of elements."""
    for kind in given:
        if not isinstance(kind, dtype):
            raise TypeError(f"{name}(): expected torch.dtype, not {type(kind).__name__}")


def of_number(value: Any) -> dtype:
    """The type that a plain number brings to a meeting with tensors."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return _Default.dtype
    if isinstance(value, complex):
        return default_complex()
    raise TypeError(f"expected a number, got {type(value).__name__}")


def result_of(dimensioned: dtype | None, zero_dim: dtype | None, number: dtype | None) -> dtype:
    """The type of an operation on tensors with dimensions, without, and on plain numbers.

    What has fewer dimensions decides only if its kind is higher.
    """
    best: dtype | None = None
    for candidate in (dimensioned, zero_dim, number):
        if candidate is None:
            continue
        if best is None:
            best = candidate
        elif candidate.kind > best.kind:
            best = _weak(best, candidate)
    assert best is not None
    return best


def _weak(strong: dtype, other: dtype) -> dtype:
    """A number's kind, or that of a tensor without dimensions, in the precision of the tensors it meets."""
    if other.kind == COMPLEX and strong.kind == FLOATING:
        return complex128 if strong is float64 else complex64
    return other


class finfo:  # noqa: N801
    """The limits of a floating point type: `eps`, `max`, `min`, `tiny`, `bits`, `resolution`."""

    def __init__(self, type: dtype | None = None) -> None:
        kind = _Default.dtype if type is None else type
        if kind.kind < FLOATING:
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{kind}'"
            )
        if kind.is_extension:
            import ml_dtypes

            limits = ml_dtypes.finfo(kind.numpy)
        else:
            limits = np.finfo(kind.numpy)
        self.dtype = kind.to_real().name
        self.bits = kind.to_real().itemsize * 8
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = 1.0 if kind in FLOAT8 else float(limits.resolution)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:  # noqa: N801
    """The limits of a whole number type: `max`, `min`, `bits`."""

    def __init__(self, type: dtype) -> None:
        if type.kind != INTEGRAL:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'"
            )
        limits = np.iinfo(type.numpy)
        self.dtype = type.name
        self.bits, self.max, self.min = limits.bits, int(limits.max), int(limits.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
