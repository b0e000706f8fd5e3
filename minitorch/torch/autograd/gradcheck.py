"""Derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .backward import grad


class GradcheckError(RuntimeError):
    """A derivative disagrees with finite differences."""


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _outputs(value: Any) -> list[Tensor]:
    return [o for o in _tuple(value) if isinstance(o, Tensor) and o.dtype.kind >= 2]


def _numerical(fn: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, eps: float) -> list[Any]:
    """For each output, how it changes with each element of x: rows of a Jacobian.

    A complex x is moved along both axes: the row is d/dre + i d/dim, conjugated as
    gradients are.
    """
    flat = x._array.reshape(-1)
    steps = [eps, 1j * eps] if x.dtype.is_complex else [eps]
    columns: list[list[Any]] = []
    for i in range(flat.size):
        before = flat[i]
        moved = []
        for step in steps:
            flat[i] = before + step
            high = [o._array.copy() for o in _outputs(fn(*inputs))]
            flat[i] = before - step
            low = [o._array.copy() for o in _outputs(fn(*inputs))]
            flat[i] = before
            moved.append([(h - w).reshape(-1) / (2 * eps) for h, w in zip(high, low, strict=True)])
        columns.append(moved)
    return columns


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of a function agree with finite differences.

    Args:
        func: of tensors, to a tensor or several
        inputs: those that require grad are checked; double precision is wanted
        eps: how far to move each element
        atol: absolute difference allowed
        rtol: relative difference allowed
        raise_exception: raise what disagrees rather than return False
        nondet_tol: how far two backward passes may differ
    """
    given = _tuple(inputs)
    checked = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them "
            "have requires_grad=True."
        )
    try:
        for x in checked:
            if not x._array.flags.c_contiguous and 0 in x._array.strides:
                raise RuntimeError(
                    "The inputs must not overlap in memory: gradcheck moves each element."
                )
        _compare(func, given, checked, eps, atol, rtol, nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _compare(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    checked: list[Tensor],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
) -> None:
    outputs = [o for o in _outputs(func(*inputs)) if o.requires_grad]
    every = _outputs(func(*inputs))
    for k, x in enumerate(checked):
        numerical = _numerical(func, inputs, x, eps)
        for n, out in enumerate(every):
            if not any(out.grad_fn is o.grad_fn or o.shape == out.shape for o in outputs):
                continue
            expected = _weights_to_gradients(numerical, n, x)
            for j in range(out.numel()):
                for unit in (1, 1j) if out.dtype.is_complex else (1,):
                    got = _row(out, x, j, unit)
                    again = _row(out, x, j, unit)
                    want = expected(j, unit)
                    if not np.allclose(got, want, rtol, atol, equal_nan=True):
                        raise GradcheckError(
                            f"Jacobian mismatch for output {n} with respect to input {k},\n"
                            f"numerical:{want}\nanalytical:{got}\n"
                        )
                    if np.abs(got - again).max(initial=0) > nondet_tol:
                        raise GradcheckError(
                            "Backward is not reentrant, i.e., running backward with same input and "
                            "grad_output multiple times gives different values"
                        )


def _row(out: Tensor, x: Tensor, j: int, unit: complex) -> Any:
    """The gradient of one element of an output."""
    seed = np.zeros(out._array.size, out._array.dtype)
    seed[j] = unit
    (found,) = grad(
        out, x, wrap(seed.reshape(out._array.shape)), retain_graph=True, allow_unused=True
    )
    zeros = np.zeros(x._array.size, x._array.dtype)
    return zeros if found is None else found._array.reshape(-1)


def _weights_to_gradients(columns: list[Any], n: int, x: Tensor) -> Callable[[int, complex], Any]:
    """From movements of output n to the gradient that backward should give for one of its elements."""

    def expected(j: int, unit: complex) -> Any:
        parts = []
        for moved in columns:
            slopes = [np.real(np.conj(unit) * m[n][j]) for m in moved]
            parts.append(slopes[0] if len(slopes) == 1 else slopes[0] + 1j * slopes[1])
        return np.array(parts, x._array.dtype)

    return expected


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6,
    atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True, nondet_tol: float = 0.0, **_: Any,
) -> bool:  # fmt: skip
    """Whether gradients of gradients agree with finite differences.

    Where no `grad_outputs` are given, they are drawn from the default generator, as Torch does.
    """
    from ..testing import make_tensor

    given = _tuple(inputs)
    checked = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
    outputs = [o for o in _outputs(func(*given)) if o.requires_grad]
    if grad_outputs is None:
        layout = {"noncontiguous": gen_non_contig_grad_outputs, "requires_grad": True}
        weights = tuple(
            make_tensor(o.shape, dtype=o.dtype, device=o.device, low=-1, high=1, **layout)
            for o in outputs
        )
    else:
        weights = _tuple(grad_outputs)
    count = len(given)

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        outs = [o for o in _outputs(func(*args[:count])) if o.requires_grad]
        own = [x for x in args[:count] if isinstance(x, Tensor) and x.requires_grad]
        found = grad(outs, own, args[count:], create_graph=True, allow_unused=True)
        return tuple(f for f in found if f is not None)

    if not checked:
        raise ValueError("gradgradcheck expects at least one input tensor to require gradient")
    return gradcheck(
        gradients, (*given, *weights), eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, nondet_tol=nondet_tol,
    )  # fmt: skip
