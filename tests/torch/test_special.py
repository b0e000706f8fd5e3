"""`torch.special` against PyTorch, and `torch.masked`."""

from __future__ import annotations

from typing import Any

import pytest
import torch as real

import minitorch.torch

from .oracle import compare

ours: Any = minitorch.torch

ANYWHERE = "entr erfcx i0 i0e i1 i1e ndtr log_ndtr sinc expit exp2 expm1 erf erfc spherical_bessel_j0 modified_bessel_i0"
POSITIVE = "gammaln digamma psi log1p modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 modified_bessel_i1"
INSIDE = "erfinv ndtri logit"
SINGLE_PRECISION = "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1"  # in PyTorch, also for float64
FAMILIES = ["chebyshev_polynomial_" + k for k in "tuvw"] + ["shifted_chebyshev_polynomial_" + k for k in "tuvw"] + [
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
]  # fmt: skip


def agree(name: str, *args: Any, double: bool = True, ulps: float = 256, **kwargs: Any) -> None:
    mine, theirs = getattr(ours.special, name), getattr(real.special, name)
    compare(mine, theirs, args, kwargs, what=name, double=double, ulps=ulps)


def numbers(low: float, high: float, dtype: Any = real.float64) -> Any:
    return real.linspace(low, high, 41, dtype=dtype).requires_grad_(dtype.is_floating_point)


@pytest.mark.parametrize("name", ANYWHERE.split())
def test_of_any_number(name: str) -> None:
    agree(name, numbers(-3, 3.2))
    agree(name, numbers(-3, 3.2, real.float32).detach())
    agree(name, real.arange(1, 4))


@pytest.mark.parametrize("name", POSITIVE.split())
def test_of_positive_numbers(name: str) -> None:
    agree(name, numbers(0.1, 6))


@pytest.mark.parametrize("name", INSIDE.split())
def test_between_0_and_1(name: str) -> None:
    agree(name, numbers(0.05, 0.95))


@pytest.mark.parametrize("name", SINGLE_PRECISION.split())
def test_bessel_functions_agree_to_single_precision(name: str) -> None:
    x = numbers(0.1, 9, real.float32).detach()
    mine, theirs = (
        getattr(ours.special, name)(ours.from_numpy(x.numpy())),
        getattr(real.special, name)(x),
    )
    ours.testing.assert_close(mine, ours.from_numpy(theirs.numpy()), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_polynomials(name: str) -> None:
    x = real.linspace(-1.2, 1.3, 12, dtype=real.float64).unsqueeze(1)
    agree(name, x, real.arange(-1, 12, dtype=real.float64), ulps=2048)
    agree(name, x, 3)
    agree(name, 0.5, real.arange(4.0))


def test_of_two_arguments() -> None:
    x, y = numbers(0.2, 3), numbers(0.5, 2).detach().flip(0).requires_grad_()
    for name in ("xlog1py", "xlogy"):
        agree(name, x, y)
        agree(name, x, 2.0)
        agree(name, 2.0, y)
    agree("xlog1py", real.zeros(3), real.tensor([-1.0, 0.0, float("nan")]))
    agree("zeta", x.detach() + 1.5, y)
    for name in ("gammainc", "gammaincc"):
        agree(name, x.detach(), y)
    agree("multigammaln", x + 2, 2)
    agree("polygamma", 2, x)
    agree("softmax", x, 0)
    agree("log_softmax", x, 0)
    agree("logsumexp", x, 0)


def test_wrong_arguments() -> None:
    with pytest.raises(RuntimeError, match="not implemented for 'ComplexFloat'"):
        ours.special.erfcx(ours.ones(2, dtype=ours.complex64))
    with pytest.raises(TypeError, match="must be Tensor"):
        ours.special.entr(1.0)
    with pytest.raises(RuntimeError, match="zeta"):
        ours.special.zeta(ours.ones(2), ours.ones(3))


# --- Masks ------------------------------------------------------------------------------------------------

MASKED = [
    ("sum", (1,), {}), ("sum", (), {"keepdim": True}), ("prod", (1,), {}), ("cumsum", (1,), {}), ("cumprod", (0,), {}),
    ("amax", (1,), {}), ("amin", (0,), {}), ("argmax", (1,), {}), ("argmin", (0,), {}), ("mean", (1,), {}),
    ("median", (1,), {}), ("norm", (2.0, 1), {}), ("norm", (float("-inf"), 1), {}), ("var", (1,), {}),
    ("std", (1, False), {}), ("softmax", (1,), {}), ("log_softmax", (1,), {}), ("softmin", (1,), {}),
    ("normalize", (2.0, 1), {}), ("logsumexp", (1,), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), MASKED)
def test_masked(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    x = real.randn(
        3, 4, dtype=real.float64, generator=real.Generator().manual_seed(0)
    ).requires_grad_()
    mask = real.tensor(
        [[True, False, True, True], [True, True, False, False], [True, True, True, True]]
    )
    mine, theirs = getattr(ours.masked, name), getattr(real.masked, name)
    compare(mine, theirs, (x, *args), {**kwargs, "mask": mask}, what=name)
    compare(mine, theirs, (x, *args), {**kwargs, "mask": mask[1]}, what=name)
    compare(mine, theirs, (x, *args), kwargs, what=name)
