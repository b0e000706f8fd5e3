"""The Kullback-Leibler divergence: how badly one distribution stands in for another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..autograd.backward import grad
from ..linalg import solve_triangular
from ..nn.functional import softplus
from ..ops.creation import full_like
from ..ops.movement import broadcast_shapes
from ..tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .multivariate_normal import MultivariateNormal, squared_distance
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import euler_constant, sum_rightmost

Formula = Callable[[Any, Any], Tensor]

_KL_REGISTRY: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Declare the formula for a pair of classes, and their subclasses."""
    for kind, name in ((type_p, "type_p"), (type_q, "type_q")):
        if not isinstance(kind, type):  # also the base classes of libraries that are no subclasses
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def declare(formula: Formula) -> Formula:
        _KL_REGISTRY[type_p, type_q] = formula
        return formula

    return declare


def _found(p: type, q: type) -> Formula | None:
    """The formula for the closest superclasses; a closer first one counts more."""
    pairs = [pair for pair in _KL_REGISTRY if issubclass(p, pair[0]) and issubclass(q, pair[1])]
    if not pairs:
        return None
    best = min(pairs, key=lambda pair: (p.__mro__.index(pair[0]), q.__mro__.index(pair[1])))
    return _KL_REGISTRY[best]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The expected value of log p - log q under p."""
    formula = _found(type(p), type(q))
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return formula(p, q)


def _infinite(like: Tensor) -> Tensor:
    return full_like(like, math.inf)


# --- Two of a kind ----------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoullis(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = ones.masked_fill(q.probs.eq(0), math.inf).masked_fill(p.probs.eq(0), 0)
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros = zeros.masked_fill(q.probs.eq(1), math.inf).masked_fill(p.probs.eq(1), 0)
    return ones + zeros


register_kl(Beta, Beta)(lambda p, q: _dirichlets(p._dirichlet, q._dirichlet))


@register_kl(Binomial, Binomial)
def _binomials(p: Binomial, q: Binomial) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _categoricals(p: Categorical, q: Categorical) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = t.masked_fill(q.probs.eq(0).expand_as(t), math.inf)
    return t.masked_fill(p.probs.eq(0).expand_as(t), 0).sum(-1)


@register_kl(Cauchy, Cauchy)
def _cauchys(p: Cauchy, q: Cauchy) -> Tensor:
    wide = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return wide - (4 * p.scale * q.scale).log()


@register_kl(Dirichlet, Dirichlet)
def _dirichlets(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    scale = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return scale + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponentials(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _families(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using "
            "Bregman divergences"
        )
    mine = [x.detach().requires_grad_() for x in p._natural_params]
    normalizer = p._log_normalizer(*mine)
    slopes = grad(normalizer.sum(), mine, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for a, b, slope in zip(mine, q._natural_params, slopes, strict=True):
        result = result - sum_rightmost((b - a) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gammas(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    scale = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return scale + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


register_kl(Geometric, Geometric)(
    lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits
)


@register_kl(Gumbel, Gumbel)
def _gumbels(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, far, near = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    tail = (far + (1 + ratio).lgamma() - near).exp()
    return -ratio.log() - far + near + ratio * euler_constant + tail - (1 + euler_constant)


register_kl(HalfNormal, HalfNormal)(lambda p, q: _normals(p.base_dist, q.base_dist))


@register_kl(Laplace, Laplace)
def _laplaces(p: Laplace, q: Laplace) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normals(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    mine, theirs = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    both = broadcast_shapes(mine.shape, theirs.shape)
    spread = solve_triangular(theirs.expand(both), mine.expand(both), upper=False)
    apart = squared_distance(theirs, q.loc - p.loc)
    inner = spread.square().sum((-2, -1)) + apart - p.event_shape[0]
    return q._half_log_determinant - p._half_log_determinant + 0.5 * inner


@register_kl(Normal, Normal)
def _normals(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


register_kl(OneHotCategorical, OneHotCategorical)(
    lambda p, q: _categoricals(p._categorical, q._categorical)
)


@register_kl(Pareto, Pareto)
def _paretos(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, math.inf)


register_kl(Poisson, Poisson)(
    lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)
)


@register_kl(Uniform, Uniform)
def _uniforms(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Independent, Independent)
def _independents(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


# --- Two different ones ---------------------------------------------------------------------------------
# KL(p || q) is -entropy(p) - E[log q]: each formula is the expected value of log q under p.


def _cross(type_p: type, type_q: type, expected: Formula) -> None:
    register_kl(type_p, type_q)(lambda p, q: -p.entropy() - expected(p, q))


def _square(p: Any) -> Tensor:
    """The expected value of x²."""
    return p.variance + p.mean.pow(2)


def _under_normal(p: Any, q: Normal) -> Tensor:
    apart = _square(p) - 2 * q.loc * p.mean + q.loc.pow(2)
    return -0.5 * apart / q.scale.pow(2) - q.scale.log() - 0.5 * math.log(2 * math.pi)


def _under_gamma(mean_log: Callable[[Any], Tensor]) -> Formula:
    def expected(p: Any, q: Gamma) -> Tensor:
        a = q.concentration
        return a * q.rate.log() - a.lgamma() + (a - 1) * mean_log(p) - q.rate * p.mean

    return expected


_cross(Bernoulli, Poisson, lambda p, q: p.probs * q.rate.log() - q.rate)
for _kind in (Beta, Exponential, Gamma, Uniform, Laplace, Gumbel):
    _cross(_kind, Normal, _under_normal)
for _kind in (Beta, Gamma):
    _cross(_kind, Exponential, lambda p, q: q.rate.log() - q.rate * p.mean)
_cross(
    Beta, Gamma,
    _under_gamma(lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()),
)  # fmt: skip
_cross(Exponential, Gamma, _under_gamma(lambda p: -euler_constant - p.rate.log()))


@register_kl(Beta, Uniform)
def _beta_uniform(p: Beta, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.low > 0) | (q.high < 1), math.inf)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    apart = p.loc - q.loc
    ratio = apart / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio.pow(2)).exp()
    far = apart * (math.sqrt(0.5) * ratio).erf()
    return -p.entropy() + (2 * q.scale).log() + (near + far) / q.scale


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    def integral(x: Tensor) -> Tensor:
        return x.xlogy(x) - x

    wide = p.high - p.low
    ones = (q.concentration1 - 1) * (integral(p.high) - integral(p.low)) / wide
    zeros = (q.concentration0 - 1) * (integral(1 - p.low) - integral(1 - p.high)) / wide
    scale = q.concentration1.lgamma() + q.concentration0.lgamma()
    scale = scale - (q.concentration1 + q.concentration0).lgamma()
    result = -wide.log() - ones - zeros + scale
    return result.masked_fill((p.high > 1) | (p.low < 0), math.inf)


for _kind_p, _kind_q in (
    (Normal, Beta), (Normal, Exponential), (Normal, Gamma), (Normal, Pareto), (Normal, Uniform),
    (Exponential, Beta), (Exponential, Pareto), (Exponential, Uniform), (Gamma, Beta), (Gamma, Pareto),
    (Gamma, Uniform), (Laplace, Beta), (Laplace, Exponential), (Laplace, Gamma), (Laplace, Pareto),
    (Laplace, Uniform), (Gumbel, Beta), (Gumbel, Exponential), (Gumbel, Gamma), (Gumbel, Pareto),
    (Gumbel, Uniform), (Pareto, Beta), (Pareto, Uniform), (Beta, Pareto), (Poisson, Bernoulli),
    (Poisson, Binomial),
):  # fmt: skip
    register_kl(_kind_p, _kind_q)(lambda p, q: _infinite(p.mean))  # q has no room for all of p
