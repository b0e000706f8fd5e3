"""Legacy tensor types: `torch.FloatTensor(2, 3)`, `isinstance(x, torch.LongTensor)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .tensor import Size, Tensor, wrap


class TypedTensor(type):
    """A class whose instances are the tensors of one dtype."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        kind = cls.dtype.numpy
        if len(args) == 1 and isinstance(args[0], Tensor):
            return args[0].to(cls.dtype)
        if (
            len(args) == 1
            and isinstance(args[0], (list, tuple, np.ndarray))
            and not isinstance(args[0], Size)
        ):
            return wrap(np.array(args[0], dtype=kind))
        return wrap(
            np.empty(args[0] if args and isinstance(args[0], Size) else args or (0,), dtype=kind)
        )


TYPES: dict[str, Any] = {
    d.type_name: TypedTensor(
        d.type_name, (), {"dtype": d, "__module__": "torch", "__doc__": f"Tensors of {d}."}
    )
    for d in dtypes.ALL
    if not d.type_name.startswith(("UInt", "Complex"))
}
