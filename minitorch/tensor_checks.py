"""Lesson 2: gradients of functions of tensors, compared with central differences."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .autodiff import one_sided_slopes, slope_agrees
from .tensor_data import TensorData

if TYPE_CHECKING:
    from .tensor import Tensor
    from .tensor_data import UserIndex


def grad_central_difference(
    f: Callable[..., Tensor],
    *vals: Tensor,
    arg: int = 0,
    epsilon: float = 1e-6,
    ind: UserIndex,
) -> float:
    """Approximate the derivative of f(...).sum() by element `ind` of argument `arg`."""
    value = _summed(f, vals, arg, ind)
    here = vals[arg][ind]
    return (value(here + epsilon) - value(here - epsilon)) / (2.0 * epsilon)


def _summed(
    f: Callable[..., Tensor], vals: Sequence[Tensor], arg: int, ind: UserIndex
) -> Callable[[float], float]:
    """f(...).sum() as a function of one element of one argument."""

    def value(x: float) -> float:
        shifted = [v.detach() for v in vals]
        copy = vals[arg].zeros()
        vals[arg].f.id_map(shifted[arg], copy)
        copy[ind] = x
        shifted[arg] = copy
        return f(*shifted).sum().item()

    return value


def grad_check(f: Callable[..., Tensor], *vals: Tensor) -> None:
    """Compare backward of f with central differences; AssertionError where they disagree.

    The gradient that comes in is random, so that a backward that forgets it is
    caught, and one element of each input is checked. At a kink or a step any slope
    between the left and the right one is accepted.
    """
    for x in vals:
        x.requires_grad_(True)
        x.zero_grad_()
    out = f(*vals)
    chosen = random.Random(10)
    incoming = out._new(TensorData([chosen.uniform(0.5, 1.5) for _ in range(out.size)], out.shape))
    incoming._type_(out.backend)
    (out * incoming).sum().backward()

    def weighted(*args: Tensor) -> Tensor:
        return f(*args) * incoming

    for i, x in enumerate(vals):
        if x.grad is None:
            raise AssertionError(f"grad_check: input {i} of shape {x.shape} got no gradient")
        if x.grad.shape != x.shape:
            raise AssertionError(
                f"grad_check: input {i} has shape {x.shape}, its gradient {x.grad.shape}"
            )
        if x.size == 0:
            continue
        ind = x._tensor.sample()
        got = x.grad[ind]
        expected = grad_central_difference(weighted, *vals, arg=i, ind=ind)
        slopes = one_sided_slopes(_summed(weighted, vals, i, ind), [x[ind]], 0)
        if not slope_agrees(got, expected, slopes):
            raise AssertionError(
                f"grad_check: input {i} of shape {x.shape} at index {ind}: backward gives {got:.6g}, "
                f"central difference {expected:.6g} (random incoming gradient)\ninputs: {vals}"
            )
