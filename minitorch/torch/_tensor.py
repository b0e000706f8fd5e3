"""Torch's name for the module of tensors."""

from .serialization.rebuild import rebuild_from_type_v2 as _rebuild_from_type_v2
from .tensor import Tensor

__all__ = ["Tensor", "_rebuild_from_type_v2"]
