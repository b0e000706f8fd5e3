"""Parameters of distributions: brought to one shape, between probabilities and logits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from .. import dtypes
from ..autograd.modes import enable_grad
from ..nn import functional as F
from ..ops.creation import empty, tensor
from ..ops.movement import broadcast_tensors
from ..ops.random import rand
from ..ops.ranges import arange
from ..tensor import Tensor

euler_constant = 0.5772156649015329
NUMBERS: tuple[type, ...] = (int, float, bool, complex)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape; numbers take the type of the first tensor."""
    if not all(isinstance(v, (Tensor, *NUMBERS)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    kinds = [v.dtype for v in values if isinstance(v, Tensor)]
    kind = kinds[0] if kinds else dtypes.get_default_dtype()
    tensors = [v if isinstance(v, Tensor) else tensor(v, dtype=kind) for v in values]
    return tuple(broadcast_tensors(*tensors))


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from their logarithms, or from log odds."""
    return logits.sigmoid() if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept off 0 and 1."""
    eps = dtypes.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logarithms of probabilities, or their log odds."""
    safe = clamp_probs(probs)
    return safe.log() - (-safe).log1p() if is_binary else safe.log()


class lazy_property(cached_property[Any]):  # noqa: N801
    """A value that is computed, and recorded for gradients, when it is first asked for."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        super().__init__(func)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            return super().__get__(instance, owner)


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over so many last dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def standard_normal(shape: Any, dtype: Any) -> Tensor:
    """Numbers with mean 0 and variance 1."""
    return empty(shape, dtype=dtype).normal_()


def uniform(shape: Any, dtype: Any) -> Tensor:
    """Numbers between 0 and 1."""
    return rand(shape, dtype=dtype)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangle of matrices, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _triangle(n, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Matrices from their lower triangles; elsewhere 0."""
    count = vec.shape[-1]
    n = next(
        (n for n in range(count + abs(diag) + 2) if int(_triangle(n, diag).sum()) == count), None
    )
    if n is None:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part "
            "of a square D x D matrix."
        )
    out = vec.new_zeros((*vec.shape[:-1], n, n))
    out[..., _triangle(n, diag)] = vec
    return out


def _triangle(n: int, diag: int) -> Tensor:
    places = arange(n)
    return places < places.view(-1, 1) + (diag + 1)


_sum_rightmost = sum_rightmost


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Torch's name for normally distributed numbers without a history."""
    return standard_normal(shape, dtype).to(device)
