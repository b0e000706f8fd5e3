"""Names of types, for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from .device import device as _device_type
from .dtypes import dtype as _dtype_type
from .environment import layout as _layout_type
from .generator import Generator as Generator
from .storage import TypedStorage, UntypedStorage
from .symbols import SymBool, SymFloat, SymInt
from .tensor import Size as Size
from .tensor import Tensor

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_dtype = _dtype_type
_device = _device_type
_layout = _layout_type
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = Size | Sequence[int | SymInt]
_int: TypeAlias = int
_float: TypeAlias = float
_bool: TypeAlias = bool
_complex: TypeAlias = complex
Number: TypeAlias = int | float | bool
Device: TypeAlias = _device_type | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | Any
IntLikeType: TypeAlias = int | SymInt
FloatLikeType: TypeAlias = float | SymFloat
BoolLikeType: TypeAlias = bool | SymBool
Storage: TypeAlias = UntypedStorage | TypedStorage
