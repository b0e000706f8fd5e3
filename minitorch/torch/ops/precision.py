"""The dtypes in which arrays are computed: half precision in float32, others as they are."""

from __future__ import annotations

from .. import dtypes
from ..formulas.half_precision import in_single as in_single
from ..formulas.half_precision import is_half as is_half
from ..formulas.half_precision import widened as widened
from ..tensor import Array


def kind_name(array: Array) -> str:
    """Torch's name for an array's dtype in errors: Float, Long, Bool."""
    return dtypes.from_numpy_dtype(array.dtype).type_name.removesuffix("Tensor")


def require_floats(name: str, array: Array, kinds: str = "fV") -> None:
    """Torch's NotImplementedError for arrays that are not of these NumPy kinds."""
    if array.dtype.kind not in kinds:
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind_name(array)}'")
