"""Distributions against PyTorch: draws from one seed, densities, moments, divergences, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch as real

import minitorch.torch as ours
import minitorch.torch.distributions as mine
from tests.torch.oracle import compare_tensors, to_ours

theirs: Any = real.distributions

A = real.tensor([0.7, 1.3, 2.9], dtype=real.float64)
B = real.tensor([1.1, 0.4, 2.2], dtype=real.float64)
P = real.tensor([0.2, 0.5, 0.9], dtype=real.float64)
ROWS = real.tensor([[0.1, 0.6, 0.3], [0.5, 0.25, 0.25]], dtype=real.float64)
LOGITS = real.tensor([[-1.0, 0.5, 2.0], [0.0, 1.0, -0.5]], dtype=real.float64)
MATRIX = real.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=real.float64)
TWO = real.tensor([0.5, -1.0], dtype=real.float64)

Make = Callable[..., Any]
CASES: dict[str, tuple[Make, tuple[Any, ...]]] = {
    "Normal": (lambda d, a, b: d.Normal(a, b), (A, B)),
    "Laplace": (lambda d, a, b: d.Laplace(a, b), (A, B)),
    "Cauchy": (lambda d, a, b: d.Cauchy(a, b), (A, B)),
    "Uniform": (lambda d, a, b: d.Uniform(a, a + b), (A, B)),
    "Bernoulli": (lambda d, p: d.Bernoulli(p), (P,)),
    "Bernoulli logits": (lambda d, x: d.Bernoulli(logits=x), (LOGITS,)),
    "Geometric": (lambda d, p: d.Geometric(p), (P,)),
    "Binomial": (lambda d, p: d.Binomial(5, p), (P,)),
    "NegativeBinomial": (lambda d, p: d.NegativeBinomial(5, p), (P,)),
    "Poisson": (lambda d, a: d.Poisson(a), (A,)),
    "Exponential": (lambda d, a: d.Exponential(a), (A,)),
    "Gamma": (lambda d, a, b: d.Gamma(a, b), (A, B)),
    "Chi2": (lambda d, a: d.Chi2(a), (A,)),
    "InverseGamma": (lambda d, a, b: d.InverseGamma(a + 2, b), (A, B)),
    "Beta": (lambda d, a, b: d.Beta(a, b), (A, B)),
    "Dirichlet": (lambda d, a: d.Dirichlet(a), (ROWS * 5,)),
    "Categorical": (lambda d, p: d.Categorical(p), (ROWS,)),
    "Categorical logits": (lambda d, x: d.Categorical(logits=x), (LOGITS,)),
    "OneHotCategorical": (lambda d, p: d.OneHotCategorical(p), (ROWS,)),
    "StraightThrough": (lambda d, p: d.OneHotCategoricalStraightThrough(p), (ROWS,)),
    "Multinomial": (lambda d, p: d.Multinomial(4, p), (ROWS,)),
    "MultivariateNormal": (lambda d, m, c: d.MultivariateNormal(m, c), (TWO, MATRIX)),
    "precision": (lambda d, m, c: d.MultivariateNormal(m, precision_matrix=c), (TWO, MATRIX)),
    "factor": (lambda d, m, c: d.MultivariateNormal(m, scale_tril=c.tril()), (TWO, MATRIX)),
    "StudentT": (lambda d, a, b: d.StudentT(a + 2, a, b), (A, B)),
    "FisherSnedecor": (lambda d, a, b: d.FisherSnedecor(a + 4, b + 5), (A, B)),
    "LogNormal": (lambda d, a, b: d.LogNormal(a, b), (A, B)),
    "HalfNormal": (lambda d, a: d.HalfNormal(a), (A,)),
    "HalfCauchy": (lambda d, a: d.HalfCauchy(a), (A,)),
    "Gumbel": (lambda d, a, b: d.Gumbel(a, b), (A, B)),
    "Weibull": (lambda d, a, b: d.Weibull(a, b + 1), (A, B)),
    "Pareto": (lambda d, a, b: d.Pareto(a, b + 2), (A, B)),
    "RelaxedBernoulli": (lambda d, t, p: d.RelaxedBernoulli(t, p), (A[:1], P)),
    "RelaxedOneHot": (lambda d, t, p: d.RelaxedOneHotCategorical(t, p), (A[:1], ROWS)),
    "ContinuousBernoulli": (lambda d, p: d.ContinuousBernoulli(p), (P,)),
    "VonMises": (lambda d, a, b: d.VonMises(a, b), (A.float(), B.float())),
    "LKJCholesky": (lambda d, a: d.LKJCholesky(4, a), (A,)),
    "Wishart": (lambda d, c: d.Wishart(4.5, c), (MATRIX,)),
    "Wishart, batch": (lambda d, a, c: d.Wishart(a + 3, scale_tril=c.tril()), (A, MATRIX)),
    "GeneralizedPareto": (lambda d, a, b: d.GeneralizedPareto(a, b, a * 0.1), (A.float(), B.float())),
    "GeneralizedPareto, exponential": (lambda d, a, b: d.GeneralizedPareto(a, b, a * 0), (A.float(), B.float())),
    "correlations": (
        lambda d, a, b: d.TransformedDistribution(d.Normal(a, b), d.CorrCholeskyTransform()), (A, B)),
    "Kumaraswamy": (lambda d, a, b: d.Kumaraswamy(a, b), (A, B)),
    "LogisticNormal": (lambda d, a, b: d.LogisticNormal(a, b), (A, B)),
    "LowRank": (lambda d, m, w, c: d.LowRankMultivariateNormal(m, w, c), (TWO, MATRIX[:, :1], B[:2])),
    "Independent": (lambda d, a, b: d.Independent(d.Normal(a, b), 1), (A, B)),
    "mixture": (
        lambda d, p, a, b: d.MixtureSameFamily(d.Categorical(p), d.Normal(a, b)), (ROWS[0], A, B)),
    "squashed": (
        lambda d, a, b: d.TransformedDistribution(
            d.Normal(a, b), [d.TanhTransform(cache_size=1), d.AffineTransform(1.0, 2.0)]), (A * 0.1, B)),
    "sticks": (
        lambda d, a, b: d.TransformedDistribution(d.Normal(a, b), d.StickBreakingTransform()), (A, B)),
    "turned": (
        lambda d, a: d.TransformedDistribution(
            d.Exponential(a), [d.ExpTransform().inv, d.AffineTransform(0, -1), d.SigmoidTransform()]), (A,)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both libraries check arguments: PyTorch's own compiler, once used in a process, stops that."""
    monkeypatch.setattr(theirs.Distribution, "_validate_args", True)


def pair(name: str) -> tuple[Any, Any, list[Any], list[Any]]:
    """The distribution in both libraries, and its parameters."""
    make, params = CASES[name]
    given = [p.clone().requires_grad_() for p in params]
    own = [to_ours(p) for p in given]
    return make(mine, *own), make(theirs, *given), own, given


def same(a: Any, b: Any, what: str, ulps: float = 2e4) -> None:
    compare_tensors(a, b.detach(), what, ulps=ulps)


def either(call: Callable[[], Any]) -> Any:
    """A value, or None where there is none."""
    try:
        return call()
    except NotImplementedError:
        return None


@pytest.mark.parametrize("name", CASES)
def test_distribution(name: str) -> None:
    d, expected, own, given = pair(name)
    assert repr(d) == repr(expected)
    assert (d.batch_shape, d.event_shape) == (
        tuple(expected.batch_shape),
        tuple(expected.event_shape),
    )
    assert d.has_rsample == expected.has_rsample
    for moment in ("mean", "mode", "variance", "stddev"):
        a, b = (either(lambda x=x, moment=moment: getattr(x, moment)) for x in (d, expected))
        assert (a is None) == (b is None), moment
        if b is not None:
            same(a, b, moment)
    a, b = either(d.entropy), either(expected.entropy)
    assert (a is None) == (b is None)
    if b is not None:
        same(a, b, "entropy")
    for shape in ((), (40,), (2, 3)):
        real.manual_seed(2)
        ours.manual_seed(2)
        drawn, wanted = d.sample(shape), expected.sample(shape)
        same(drawn, wanted, f"sample {shape}")
        assert not drawn.requires_grad
    value = wanted.clone()
    log_prob, wanted = d.log_prob(to_ours(value)), expected.log_prob(value)
    same(log_prob, wanted, "log_prob")
    expected_grads = real.autograd.grad(wanted.sum(), given, allow_unused=True)
    for x, b in zip(
        ours.autograd.grad(log_prob.sum(), own, allow_unused=True), expected_grads, strict=True
    ):
        assert (x is None) == (b is None)
        if b is not None:
            compare_tensors(x, b, "gradient", ulps=2e5)
    a, b = either(lambda: d.cdf(to_ours(value))), either(lambda: expected.cdf(value))
    assert (a is None) == (b is None)
    if b is not None:
        same(a, b, "cdf")
        inner = real.linspace(0.1, 0.9, 3, dtype=real.float64)
        a, b = either(lambda: d.icdf(to_ours(inner))), either(lambda: expected.icdf(inner))
        assert (a is None) == (b is None)
        if b is not None:
            same(a, b, "icdf")
    wide, wanted = (x.expand((4, *x.batch_shape)) for x in (d, expected))
    assert wide.batch_shape == tuple(wanted.batch_shape)
    same(wide.log_prob(to_ours(value[:1, :1])), wanted.log_prob(value[:1, :1]), "expanded")


SMOOTH = ["Normal", "Laplace", "Uniform", "Gamma", "Beta", "Dirichlet", "StudentT", "MultivariateNormal", "Gumbel",
          "LogNormal", "RelaxedBernoulli", "RelaxedOneHot", "StraightThrough", "Independent", "squashed"]  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_draws(name: str) -> None:
    """PyTorch's derivatives by shapes of gamma and beta are good to three digits."""
    d, expected, own, given = pair(name)
    real.manual_seed(3)
    ours.manual_seed(3)
    a, b = d.rsample((50,)), expected.rsample((50,))
    same(a, b, "rsample")
    weights = real.linspace(0.5, 2, b.numel(), dtype=b.dtype).reshape(b.shape)
    grads = ours.autograd.grad((a * to_ours(weights)).sum(), own, allow_unused=True)
    wanted = real.autograd.grad((b * weights).sum(), given, allow_unused=True)
    rough = name in ("Gamma", "Beta", "Dirichlet", "StudentT")
    for x, y in zip(grads, wanted, strict=True):
        if y is not None:
            compare_tensors(x, y, name, ulps=2e13 if rough else 2e5)


def test_enumerated() -> None:
    for name in ("Bernoulli", "Binomial", "Categorical", "OneHotCategorical"):
        d, expected, *_ = pair(name)
        for expand in (True, False):
            same(d.enumerate_support(expand), expected.enumerate_support(expand), name)


KL = ["Normal", "Laplace", "Uniform", "Bernoulli", "Geometric", "Binomial", "Poisson", "Exponential", "Gamma", "Beta",
      "Dirichlet", "Categorical", "OneHotCategorical", "MultivariateNormal", "Gumbel", "HalfNormal", "LogNormal",
      "Cauchy", "Pareto", "Independent"]  # fmt: skip
CROSS = [("Bernoulli", "Poisson"), ("Beta", "Normal"), ("Beta", "Gamma"), ("Beta", "Exponential"), ("Gamma", "Normal"),
         ("Exponential", "Normal"), ("Exponential", "Gamma"), ("Gamma", "Exponential"), ("Uniform", "Normal"),
         ("Laplace", "Normal"), ("Gumbel", "Normal"), ("Normal", "Laplace"), ("Normal", "Gamma"), ("Uniform", "Beta"),
         ("Poisson", "Bernoulli"), ("Pareto", "Uniform")]  # fmt: skip


@pytest.mark.parametrize(("p", "q"), [(k, k) for k in KL] + CROSS)
def test_divergence(p: str, q: str) -> None:
    def both(d: Any, convert: Callable[[Any], Any]) -> Any:
        (make_p, params_p), (make_q, params_q) = CASES[p], CASES[q]
        other = [x.flip(-1) if x.ndim < 2 else x.flip(0) for x in params_q] if p == q else params_q
        other = params_q if p in ("Uniform", "MultivariateNormal") else other
        first = make_p(d, *(convert(x) for x in params_p))
        return d.kl_divergence(first, make_q(d, *(convert(x) for x in other)))

    same(both(mine, to_ours), both(theirs, lambda x: x), f"KL({p} || {q})")


def test_regions() -> None:
    """Transforms from all numbers into a region give PyTorch's numbers, and their inverse."""
    regions: list[Callable[[Any], Any]] = [
        lambda c: c.real, lambda c: c.positive, lambda c: c.unit_interval, lambda c: c.interval(-1.0, 3.0),
        lambda c: c.less_than(2.0), lambda c: c.simplex, lambda c: c.independent(c.nonnegative, 1),
    ]  # fmt: skip
    x = real.tensor([[-1.0, 0.5, 2.0]], dtype=real.float64)
    for region in regions:
        for name in ("biject_to", "transform_to"):
            a = getattr(mine, name)(region(mine.constraints))
            b = getattr(theirs, name)(region(theirs.constraints))
            same(a(to_ours(x)), b(x), repr(b))
            if name == "biject_to":
                same(a.inv(a(to_ours(x))), x, repr(b))
                y = b(x)
                growth = a.log_abs_det_jacobian(to_ours(x), to_ours(y))
                same(growth, b.log_abs_det_jacobian(x, y), repr(b))
    for name in ("lower_cholesky", "positive_definite"):
        a, b = (d.transform_to(getattr(d.constraints, name)) for d in (mine, theirs))
        same(a(to_ours(MATRIX)), b(MATRIX), name)


def test_no_divergence() -> None:
    with pytest.raises(NotImplementedError, match="No KL"):
        mine.kl_divergence(mine.Cauchy(0.0, 1.0), mine.Normal(0.0, 1.0))


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "scale": lambda d, t: d.Normal(0.0, -1.0),
    "probability": lambda d, t: d.Bernoulli(t.tensor([0.5, 1.5])),
    "shares": lambda d, t: d.Categorical(logits=t.tensor([float("nan"), 1.0])),
    "both": lambda d, t: d.Bernoulli(0.5, 0.5),
    "neither": lambda d, t: d.Categorical(),
    "no dimension": lambda d, t: d.Categorical(t.tensor(0.5)),
    "order": lambda d, t: d.Uniform(1.0, 0.0),
    "covariance": lambda d, t: d.MultivariateNormal(t.zeros(2), -t.eye(2)),
    "outside": lambda d, t: d.Exponential(1.0).log_prob(t.tensor(-1.0)),
    "class": lambda d, t: d.Categorical(t.tensor([0.5, 0.5])).log_prob(t.tensor(2)),
    "number": lambda d, t: d.Normal(0.0, 1.0).log_prob(0.5),
    "shape": lambda d, t: d.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
    "event": lambda d, t: d.Dirichlet(t.ones(3)).log_prob(t.ones(2) / 2),
    "dimensions": lambda d, t: d.Independent(d.Normal(0.0, 1.0), 1),
    "no draw": lambda d, t: d.Bernoulli(0.5).rsample(),
    "no transform": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), [1]),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_errors(what: str) -> None:
    with pytest.raises((ValueError, NotImplementedError)) as expected:
        WRONG[what](theirs, real)
    with pytest.raises(expected.type) as got:
        WRONG[what](mine, ours)
    assert str(got.value) == str(expected.value)


def test_checks_can_be_off() -> None:
    assert mine.Normal(0.0, -1.0, validate_args=False).mean == 0
    mine.Distribution.set_default_validate_args(False)
    try:
        mine.Uniform(1.0, 0.0)
    finally:
        mine.Distribution.set_default_validate_args(True)


def test_own_distribution() -> None:
    """A program's own class, as Torch's documentation shows it."""

    class Twice(mine.Normal):
        def rsample(self, sample_shape: Any = ours.Size()) -> Any:
            return super().rsample(sample_shape) * 2

    @mine.register_kl(Twice, Twice)
    def none(p: Any, q: Any) -> Any:
        return ours.zeros(())

    d = Twice(0.0, 1.0)
    assert mine.kl_divergence(d, d) == 0
    assert isinstance(d.expand((3,)), Twice)


def test_von_mises_in_double_precision() -> None:
    """PyTorch's Bessel functions have seven digits; SciPy's have all."""
    angle = real.linspace(-3, 3, 7, dtype=real.float64)
    for concentration in (0.1, 2.0, 40.0):
        got = mine.VonMises(ours.zeros(7).double(), concentration).log_prob(to_ours(angle))
        expected = scipy.stats.vonmises.logpdf(angle.numpy(), concentration)
        same(got, real.from_numpy(expected), "log_prob", ulps=50)


_JOINED: dict[str, Any] = {
    "runs": lambda d, t, x: (d.transforms.CatTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)], 0, [2, 1]), x),
    "runs of the last": lambda d, t, x: (d.transforms.CatTransform([d.ExpTransform(), d.TanhTransform()], -1, [1, 3]), x),
    "no lengths": lambda d, t, x: (d.transforms.CatTransform([d.ExpTransform()] * 3), x),
    "cumulative": lambda d, t, x: (d.transforms.CumulativeDistributionTransform(d.Normal(t.tensor(0.5), t.tensor(2.0))), x),
    "registry": lambda d, t, x: (d.biject_to(d.constraints.cat([d.constraints.positive, d.constraints.unit_interval], 1, [1, 3])), x),
}  # fmt: skip


@pytest.mark.parametrize("name", _JOINED)
def test_joined_transforms(name: str) -> None:
    found = []
    for d, t in ((ours.distributions, ours), (real.distributions, real)):
        transform, x = _JOINED[name](d, t, t.linspace(-1, 1, 12).view(3, 4))
        y = transform(x)
        values = [y, transform.inv(y), transform.log_abs_det_jacobian(x, y)]
        values += [transform.domain.check(x), transform.codomain.check(y)]
        found.append([v.numpy() for v in values])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, 1e-5, 1e-6)
