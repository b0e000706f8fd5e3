"""Random numbers that are differentiable in the parameters of their distribution.

For a number x drawn with the distribution function F(x; a), implicit differentiation of F gives
dx/da = -(dF/da) / (dF/dx). F is an incomplete gamma or beta integral; its derivative in a is a
central difference in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import sampling
from ..tensor import Array, Tensor
from .record import Op, bind
from .surface import FUNCTIONS, function

STEP = 1e-4
"""The step of the central difference, relative to a."""


def _slope(integral: Callable[[Array], Array], a: Array) -> Array:
    """The derivative of a function of a, by a central difference."""
    h = a * STEP
    return (integral(a + h) - integral(a - h)) / (2 * h)


def _gamma_grad(concentration: Array, sample: Array) -> Array:
    """The derivative of a gamma-distributed number with respect to its concentration."""
    from scipy import special

    a, x = concentration.astype(np.float64), sample.astype(np.float64)
    with np.errstate(all="ignore"):
        low, high = (
            _slope(lambda a: special.gammainc(a, x), a), _slope(lambda a: -special.gammaincc(a, x), a),
        )  # fmt: skip
        density = np.exp((a - 1) * np.log(x) - x - special.gammaln(a))
        moved = -np.where(x < a, low, high) / density
        # Where the density underflows, x is close to 0: there F is x^a / gamma(a + 1).
        near = -x / a * (np.log(x) - special.digamma(a + 1))
    return np.where(np.isfinite(moved) & (density > 0), moved, near).astype(sample.dtype)


def _dirichlet_grad(concentration: Array, total: Array, sample: Array) -> Array:
    """The derivative of a Dirichlet component with respect to its own concentration, divided by 1 - component."""
    from scipy import special

    a, x = concentration.astype(np.float64), sample.astype(np.float64)
    b = total.astype(np.float64) - a
    with np.errstate(all="ignore"):
        log_density = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b)
        moved = -_slope(lambda a: special.betainc(a, b, x), a) / np.exp(log_density)
        moved = moved / (1 - x)
    return np.where(np.isfinite(moved), moved, 0).astype(sample.dtype)


STANDARD_GAMMA = Op(
    "_standard_gamma", ("input",), lambda input, generator=None: sampling.standard_gamma(input, generator),
    {"input": lambda g, input, out: g * bind(STANDARD_GAMMA_GRAD, (input, out), {})},
    doc="Gamma-distributed numbers, one for each concentration.",
)  # fmt: skip
STANDARD_GAMMA_GRAD = Op(
    "_standard_gamma_grad", ("input", "output"), _gamma_grad, {"input": None, "output": None},
    doc="The derivative of gamma-distributed numbers with respect to their concentration.",
)  # fmt: skip
DIRICHLET_GRAD = Op(
    "_dirichlet_grad", ("alpha", "total", "x"), _dirichlet_grad, {"alpha": None, "total": None, "x": None},
    doc="The derivative of Dirichlet components with respect to their concentration.",
)  # fmt: skip


def _by_concentration(g: Any, input: Any, out: Any) -> Any:
    total = input.sum(-1, keepdim=True).expand_as(input)
    moved = bind(DIRICHLET_GRAD, (input, total, out), {})
    return moved * (g - (out * g).sum(-1, keepdim=True))


SAMPLE_DIRICHLET = Op(
    "_sample_dirichlet", ("input",), lambda input, generator=None: sampling.dirichlet(input, generator),
    {"input": _by_concentration}, doc="Dirichlet-distributed rows, one for each row of concentrations.",
)  # fmt: skip


@function
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma-distributed numbers, one for each concentration."""
    return bind(STANDARD_GAMMA, (input,), {"generator": generator})


@function
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Dirichlet-distributed rows, one for each row of concentrations."""
    return bind(SAMPLE_DIRICHLET, (input,), {"generator": generator})


@function
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of gamma-distributed numbers with respect to their concentration."""
    return bind(STANDARD_GAMMA_GRAD, (input, output), {})


def _moved_shares(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of Dirichlet components with respect to their concentration, divided by 1 - component."""
    return bind(DIRICHLET_GRAD, (alpha, total, x), {})


FUNCTIONS["_dirichlet_grad"] = _moved_shares
