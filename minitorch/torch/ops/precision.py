"""In which types arrays are computed: two-byte floats in four bytes, others as they are."""

from __future__ import annotations

from .. import dtypes
from ..formulas.half_precision import in_single as in_single
from ..formulas.half_precision import is_half as is_half
from ..formulas.half_precision import widened as widened
from ..tensor import Array


def kind_name(array: Array) -> str:
    """What Torch calls an array's type in errors: Float, Long, Bool."""
    return dtypes.from_numpy_dtype(array.dtype).type_name.removesuffix("Tensor")


def require_floats(name: str, array: Array, kinds: str = "fV") -> None:
    """NotImplementedError, as Torch words it, for arrays that are not of these NumPy kinds."""
    if array.dtype.kind not in kinds:
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind_name(array)}'")
