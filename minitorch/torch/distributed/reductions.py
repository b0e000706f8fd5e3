"""How the tensors of several ranks become one: SUM, AVG, MIN, ..., in MPI's terms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from .. import dtypes
from .mpi import load


class ReduceOp(Enum):
    """How the tensors of several ranks become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"


class PremulSum:
    """SUM of tensors that are multiplied by a factor first."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor


_NAMES = {"SUM": "SUM", "AVG": "SUM", "PRODUCT": "PROD"}
_OF_BOOLS = {"SUM": "MAX", "AVG": "MAX", "PRODUCT": "MIN"}
_UFUNCS: dict[str, Callable[..., Any]] = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
}
BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def check(op: Any, name: str, dtype: dtypes.dtype) -> None:
    """Refuse what Torch refuses: bits of fractions, an order of complex numbers."""
    if op is ReduceOp.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM without a factor, nor with Gloo")
    if not isinstance(op, ReduceOp):
        raise TypeError(
            f"{name}(): incompatible function arguments: expected a torch.distributed.ReduceOp, "
            f"not {type(op).__name__}"
        )
    if dtype.is_complex and op not in (ReduceOp.SUM, ReduceOp.AVG):
        refused = ValueError if name == "all_reduce" else RuntimeError
        raise refused(f"{name} does not support {op} on complex tensors")
    if op in BITWISE and dtype.is_floating_point:
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op is ReduceOp.AVG and dtype.kind < dtypes.FLOATING:
        wanted = dtype.type_name.removesuffix("Tensor")
        raise RuntimeError(f"result type Float can't be cast to the desired output type {wanted}")


@functools.cache
def for_mpi(op: ReduceOp, dtype: dtypes.dtype) -> tuple[Any, Any, Any]:
    """The type of elements, MPI's type and MPI's operation for a reduction.

    Complex numbers are added as pairs, booleans are compared as bytes. MPI has no half precision: a
    function adds it in float32 and rounds.
    """
    mpi = load()
    name = _NAMES.get(op.name, op.name)
    if dtype is dtypes.bool_:
        return np.uint8, mpi.UINT8_T, getattr(mpi, _OF_BOOLS.get(op.name, op.name))
    if dtype in (dtypes.float16, dtypes.bfloat16):
        half = mpi.BYTE.Create_contiguous(2).Commit()
        return dtype.numpy, half, mpi.Op.Create(_in_float32(_UFUNCS[name], dtype.numpy), True)
    kind = dtype.to_real().numpy
    return kind, mpi.Datatype.fromcode(kind.char), getattr(mpi, name)


def _in_float32(ufunc: Callable[..., Any], kind: Any) -> Callable[[Any, Any, Any], None]:
    def reduce(given: Any, into: Any, datatype: Any) -> None:
        """Reduce one buffer into another, as MPI asks."""
        target = np.frombuffer(into, kind)
        other = np.frombuffer(given, kind).astype(np.float32)
        target[:] = ufunc(target.astype(np.float32), other)

    return reduce


# NCCL's own numbers, as its header nccl.h has them.
NCCL_BYTE = 1
NCCL_TYPES = {
    dtypes.int8: 0, dtypes.uint8: NCCL_BYTE, dtypes.int32: 2, dtypes.uint32: 3, dtypes.int64: 4, dtypes.uint64: 5,
    dtypes.float16: 6, dtypes.float32: 7, dtypes.float64: 8, dtypes.bfloat16: 9,
}  # fmt: skip
NCCL_OPS = {"SUM": 0, "PRODUCT": 1, "MAX": 2, "MIN": 3, "AVG": 4}


def for_nccl(op: ReduceOp, dtype: dtypes.dtype) -> tuple[Any, int, int] | None:
    """The type of elements, NCCL's type and NCCL's operation for a reduction; None where it has none."""
    if dtype is dtypes.bool_:
        number = NCCL_OPS.get(_OF_BOOLS.get(op.name, op.name))
        return None if number is None else (np.uint8, NCCL_BYTE, number)
    real = dtype.to_real() if dtype.is_complex else dtype
    if real not in NCCL_TYPES or op.name not in NCCL_OPS:
        return None
    return real.numpy, NCCL_TYPES[real], NCCL_OPS[op.name]
