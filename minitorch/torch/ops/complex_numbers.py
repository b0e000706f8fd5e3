"""Complex numbers: their parts, angles, conjugates, and how they are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import as_array, backend_of
from ..interpreters import composite
from ..tensor import Array, Tensor
from .elementwise import conj as conjugate
from .elementwise import kind_name, unary
from .layout import following
from .promotion import broadcast_shapes
from .record import Op
from .surface import (
    FUNCTIONS,
    as_functions,
    check_tensor,
    function,
    function_and_method,
    in_place,
    into,
    method,
    only_method,
)

# --- Conjugates ---------------------------------------------------------------------------------

CONJ = Op(
    "conj",
    ("input",),
    np.conjugate,
    {"input": lambda g: conjugate(g)},
    scalar=np.conjugate,
    doc="The complex conjugate.",
)


@function_and_method
def conj(input: Tensor) -> Tensor:
    """The complex conjugate of each element; a real tensor itself."""
    check_tensor("conj", input)
    return CONJ(input) if input._array.dtype.kind == "c" else input


@function_and_method
def conj_physical(input: Tensor, *, out: Any = None) -> Tensor:
    """The conjugate of each element."""
    result = conj(input)
    return result if out is None else into(out, result, "conj_physical")


in_place("conj_physical_", conj_physical)
as_functions("conj_physical_")


def _unchanged(name: str, doc: str) -> None:
    """Declare `resolve_conj` and `resolve_neg`, which return the tensor: conjugation is never lazy here."""

    def call(input: Tensor) -> Tensor:
        return input

    call.__name__, call.__doc__ = name, doc
    function_and_method(call)


def _never(name: str, doc: str) -> None:
    def call(input: Tensor) -> bool:
        return False

    call.__name__, call.__doc__ = name, doc
    function_and_method(call)


_unchanged("resolve_conj", "The tensor itself: conjugation is never lazy here.")
_unchanged("resolve_neg", "The tensor itself: negation is never lazy here.")
_never("is_conj", "Whether the tensor is lazily conjugated: here, never.")
_never("is_neg", "Whether the tensor is lazily negated: here, never.")


@function_and_method
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions transposed and conjugated."""
    return conj(input.mT)


def _hermitian(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor."
            " For batches of matrices, consider using tensor.mH"
        )
    return conj(self.t())


method("mH", property(adjoint, doc="`mT`, conjugated."))
method("H", property(_hermitian, doc="The conjugate transpose of a matrix."))

# --- Parts --------------------------------------------------------------------------------------

REAL = Op("real", ("input",), lambda input: input.real, {"input": lambda g: g + 0j}, view=True)
IMAG = Op("imag", ("input",), lambda input: input.imag, {"input": lambda g: g * 1j}, view=True)


def _part(name: str, op: Op, doc: str) -> None:
    """Declare `torch.real(x)` and `x.real`, which can be assigned."""

    def get(self: Tensor) -> Tensor:
        if self.dtype.is_complex:
            return op(self)
        if name == "real":
            return self
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")

    def put(self: Tensor, value: Any) -> None:
        get(self).copy_(value if isinstance(value, Tensor) else self.real.new_tensor(value))

    method(name, property(get, put, doc=doc))
    get.__name__, get.__doc__ = name, doc
    FUNCTIONS[name] = get


_part("real", REAL, "The real part of each element.")
_part("imag", IMAG, "The imaginary part of each element.")


def _view_as_real(input: Array) -> Array:
    parts = input.real
    return backend_of(parts).strided(parts, (*parts.shape, 2), (*parts.strides, parts.itemsize))


def _view_as_complex(input: Array) -> Array:
    return input.view(np.result_type(input.dtype, np.complex64))[..., 0]


VIEW_AS_REAL = Op("view_as_real", ("input",), _view_as_real,
                  {"input": lambda g: VIEW_AS_COMPLEX(g.contiguous())}, view=True)  # fmt: skip
VIEW_AS_COMPLEX = Op("view_as_complex", ("input",), _view_as_complex,
                     {"input": lambda g: VIEW_AS_REAL(g)}, view=True)  # fmt: skip


@function_and_method
def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts as a last dimension of 2."""
    if not input.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return VIEW_AS_REAL(input)


@function_and_method
@composite
def view_as_complex(input: Tensor) -> Tensor:
    """A last dimension of 2 as real and imaginary parts."""
    if input.dtype is dtypes.float16:
        raise RuntimeError("view_as_complex: minitorch.torch has no ComplexHalf type")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor "
            f"of scalar type: {kind_name(input._array)}"
        )
    if not input.ndim or input._array.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input.stride(-1) != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if input._array.size and input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return VIEW_AS_COMPLEX(input)


# --- Making them --------------------------------------------------------------------------------


def _complex(real: Array, imag: Array) -> Array:
    shape = broadcast_shapes("complex", real.shape, imag.shape)
    out = np.empty(shape, np.result_type(real.dtype, np.complex64), like=real)
    out.real, out.imag = real, imag
    return out


COMPLEX = Op(
    "complex",
    ("real", "imag"),
    following(_complex),
    {"real": lambda g: g.real, "imag": lambda g: g.imag},
)


def _check_parts(name: str, labels: tuple[str, str], a: Tensor, b: Tensor, out: Any) -> None:
    """RuntimeError unless two parts, and where the result goes, are of matching types."""
    for label, x in zip(labels, (a, b), strict=True):
        check_tensor(name, x, label)
    kinds = kind_name(a._array), kind_name(b._array)
    if not all(x.dtype.is_floating_point and x.dtype is not dtypes.bfloat16 for x in (a, b)):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {kinds[0]} and {kinds[1]}"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {kinds[0]} but got scalar type {kinds[1]} for second argument"
        )
    if out is not None and out.dtype is not a.dtype.to_complex():
        raise RuntimeError(
            f"Expected object of scalar type Complex{kinds[0]} but got scalar type {kind_name(out._array)} for argument 'out'"
        )


def from_parts(real: Tensor, imag: Tensor, *, out: Any = None) -> Tensor:
    """A complex tensor from its real and imaginary parts."""
    _check_parts("complex", ("real", "imag"), real, imag, out)
    made = COMPLEX(real, imag)
    return made if out is None else into(out, made, "complex")


FUNCTIONS["complex"] = from_parts


def _polar(abs: Array, angle: Array) -> Array:
    broadcast_shapes("polar", abs.shape, angle.shape)
    return _complex(as_array(abs * np.cos(angle)), as_array(abs * np.sin(angle)))


POLAR = Op(
    "polar",
    ("abs", "angle"),
    following(_polar),
    {
        "abs": lambda g, angle: g.real * angle.cos() + g.imag * angle.sin(),
        "angle": lambda g, out: g.imag * out.real - g.real * out.imag,
    },
)


@function
def polar(abs: Tensor, angle: Tensor, *, out: Any = None) -> Tensor:
    """A complex tensor from lengths and angles."""
    _check_parts("polar", ("abs", "angle"), abs, angle, out)
    made = POLAR(abs, angle)
    return made if out is None else into(out, made, "polar")


def _angle(input: Array) -> Array:
    """The angle of real numbers: 0 or pi, and NaN for NaN."""
    if input.dtype.kind == "c":
        return np.angle(input)
    pi = np.where(input < 0, input.dtype.type(np.pi), input.dtype.type(0))
    return np.where(np.isnan(input), input, pi)


def _angle_gradient(g: Any, input: Any) -> Any:
    """The gradient of `angle`: i z / |z|², 0 at 0 and for real numbers."""
    if not input.dtype.is_complex:
        return g * 0
    size = input.abs()
    return (g * 1j * input / (size * size)).masked_fill(size == 0, 0)


unary("angle", None, _angle_gradient, "The angle of each number in the complex plane.", numpy=_angle,
      to_float=True, has_twin=False)  # fmt: skip


@only_method
def is_complex(self: Tensor) -> bool:
    """Whether the elements are complex numbers."""
    return self.dtype.is_complex


FUNCTIONS["is_complex"] = is_complex
