"""Gradient clipping."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...autograd.modes import no_grad
from ...interpreters import update
from ...ops.arithmetic import MUL
from ...ops.creation import tensor
from ...ops.linalg.norms import VECTOR_NORM
from ...ops.record import Op, bind
from ...tensor import Array, Tensor, bump_versions

Tensors = Tensor | Iterable[Tensor]


def _total_norm(*tensors: Array, ord: float) -> Array:
    norms = [VECTOR_NORM.compute(t, ord, tuple(range(t.ndim)), False) for t in tensors]
    on_cpu = isinstance(tensors[0], np.ndarray)
    return VECTOR_NORM.compute(np.array(norms) if on_cpu else np.stack(norms), ord, (0,), False)


TOTAL_NORM = Op("_total_norm", ("*tensors",), _total_norm, {"tensors": None})


@update(0)
def _foreach_mul_(tensors: list[Tensor], factor: Tensor) -> None:
    """Multiply tensors, in place, by a number."""
    if type(factor._array) is not np.ndarray:  # on a GPU, without synchronization
        for each in tensors:
            each.mul_(factor)
        return
    number = factor.item()
    if number == 1.0:
        return
    for each in tensors:
        array = each._array
        if array.dtype.kind == "f":
            MUL.ufunc(array, number, out=array)  # type: ignore[misc]
        else:
            np.multiply(array, factor._array, array, casting="same_kind")
    bump_versions(tensors)


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Tensors) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def _norm_of_all(tensors: list[Tensor], order: float) -> Tensor:
    """The norm of tensors, some of which may be sharded over ranks."""
    by_group: dict[Any, list[Tensor]] = {}
    for each in tensors:
        group = getattr(each, "group", None) if type(each) is not Tensor else None
        by_group.setdefault(group, []).append(each)
    norms = {group: bind(TOTAL_NORM, some, {"ord": order}) for group, some in by_group.items()}
    if list(norms) == [None]:
        return norms[None]
    from ...distributed.tensor.dtensor import norm_over_ranks

    mesh = next(t for t in tensors if hasattr(t, "device_mesh")).device_mesh
    return norm_over_ranks(norms, order, mesh)


@no_grad()
def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of tensors as if they were one vector.

    Args:
        tensors: one or several
        norm_type: which norm
        error_if_nonfinite: whether a norm that is infinite or NaN is an error
        foreach: accepted without effect
    """
    listed = _listed(tensors)
    norm_type = float(norm_type)
    if not listed:
        return tensor(0.0)
    total = _norm_of_all(listed, norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so "
            "it cannot be clipped. To disable this error and scale the gradients by the non-finite "
            "norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients of parameters, whose total norm is given, to a norm of at most `max_norm`."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    _foreach_mul_(_gradients(parameters), scale)


@no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of parameters so that their total norm is at most `max_norm`.

    Returns:
        the norm before
    """
    listed = _listed(parameters)
    if isinstance(parameters, types.GeneratorType) and not listed:
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3
        )
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """`clip_grad_norm_`, under its deprecated name."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(*args, **kwargs)


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp each element of the gradients to [-clip_value, clip_value]."""
    for gradient in _gradients(parameters):
        gradient.clamp_(min=-float(clip_value), max=float(clip_value))


_get_total_norm, _clip_grads_with_norm_ = get_total_norm, clip_grads_with_norm_
