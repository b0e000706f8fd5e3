"""Losses."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from ...tensor import Tensor
from .. import _reduction
from .. import functional as F
from .distance import PairwiseDistance
from .layer import layer
from .linear import Linear
from .module import Module


@layer()
class _Loss(Module):
    """The base class of losses, with their reduction."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def _normalize_arguments(self) -> None:
        size_average, reduce = (self.__dict__.pop(n, None) for n in ("size_average", "reduce"))
        if size_average is not None or reduce is not None:
            self.reduction = _reduction.legacy_get_string(size_average, reduce)

    def _as_buffer(self, name: str) -> None:
        """Register a tensor as a buffer."""
        value = getattr(self, name)
        delattr(self, name)
        self.register_buffer(name, value)


@layer()
class _WeightedLoss(_Loss):
    """A loss with a weight for each class."""

    weight: Tensor | None = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def _normalize_arguments(self) -> None:
        super()._normalize_arguments()
        self._as_buffer("weight")


# --- Of numbers ----------------------------------------------------------------------------------


@layer(F.l1_loss)
class L1Loss(_Loss):
    """|input - target|."""


@layer(F.mse_loss)
class MSELoss(_Loss):
    """(input - target)^2."""


@layer(F.smooth_l1_loss)
class SmoothL1Loss(_Loss):
    """The absolute error, quadratic where it is below beta."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"
    beta: float = 1.0


@layer(F.huber_loss)
class HuberLoss(_Loss):
    """Half the squared error, linear where the absolute error is above delta."""

    reduction: str = "mean"
    delta: float = 1.0

    def _normalize_arguments(self) -> None:
        super()._normalize_arguments()
        if not isinstance(self.delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")


@layer()
class PoissonNLLLoss(_Loss):
    """The negative log likelihood of Poisson counts."""

    log_input: bool = True
    full: bool = False
    size_average: Any = None
    eps: float = 1e-8
    reduce: Any = None
    reduction: str = "mean"

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
            reduction=self.reduction,
        )  # fmt: skip


@layer(F.gaussian_nll_loss, keyword_only=True)
class GaussianNLLLoss(_Loss):
    """The negative log likelihood of normally distributed targets with the input as mean."""

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


@layer(F.kl_div)
class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence, from log probabilities."""

    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"
    log_target: bool = False


# --- Of classes ----------------------------------------------------------------------------------


@layer(F.nll_loss)
class NLLLoss(_WeightedLoss):
    """The negative log likelihood of the target class, from log probabilities."""

    weight: Tensor | None = None
    size_average: Any = None
    ignore_index: int = -100
    reduce: Any = None
    reduction: str = "mean"


class NLLLoss2d(NLLLoss):
    """`NLLLoss`, under its deprecated name for images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement "
            "and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


@layer(F.cross_entropy)
class CrossEntropyLoss(_WeightedLoss):
    """The negative log likelihood of the target class, from logits."""

    weight: Tensor | None = None
    size_average: Any = None
    ignore_index: int = -100
    reduce: Any = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


class LinearCrossEntropyLoss(_WeightedLoss):
    """`CrossEntropyLoss` of a linear layer's output."""

    __constants__: ClassVar = [
        "num_classes", "out_features", "reduction", "ignore_index", "label_smoothing",
    ]  # fmt: skip

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if label_smoothing < 0 or label_smoothing > 1.0:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        outputs = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, outputs, bias, device, dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        linear, classes = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input, linear.weight.reshape((*classes, linear.in_features)), target,
            linear_bias=None if linear.bias is None else linear.bias.reshape(classes),
            weight=self.weight, reduction=self.reduction, ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing, options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


@layer(F.binary_cross_entropy)
class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities."""


@layer(F.binary_cross_entropy_with_logits)
class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross entropy of logits."""

    weight: Tensor | None = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None

    def _normalize_arguments(self) -> None:
        super()._normalize_arguments()
        self._as_buffer("pos_weight")


# --- Of margins ----------------------------------------------------------------------------------


@layer(F.hinge_embedding_loss)
class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1, max(0, margin - input) where it is -1."""

    margin: float = 1.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


@layer(F.multilabel_margin_loss)
class MultiLabelMarginLoss(_Loss):
    """max(0, 1 - (input[j] - input[i])), summed over targets j and other classes i."""


@layer(F.soft_margin_loss)
class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input))."""


@layer(F.multilabel_soft_margin_loss)
class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross entropy of logits for each label, averaged over labels."""


@layer(F.cosine_embedding_loss)
class CosineEmbeddingLoss(_Loss):
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""

    margin: float = 0.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


@layer(F.margin_ranking_loss)
class MarginRankingLoss(_Loss):
    """max(0, -target (input1 - input2) + margin)."""

    margin: float = 0.0
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"


@layer(F.multi_margin_loss)
class MultiMarginLoss(_WeightedLoss):
    """The mean over the other classes of max(0, margin - input[target] + input[i])^p."""

    p: int = 1
    margin: float = 1.0
    weight: Tensor | None = None
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def _normalize_arguments(self) -> None:
        super()._normalize_arguments()
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.ndim != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{self.weight.ndim}D instead"
            )


def _check_margin(loss: Any) -> None:
    if loss.margin <= 0:
        raise ValueError(
            f"{type(loss).__name__}: expected margin to be greater than 0, got {loss.margin} instead"
        )


@layer(F.triplet_margin_loss)
class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: Any = None
    reduce: Any = None
    reduction: str = "mean"

    def _normalize_arguments(self) -> None:
        super()._normalize_arguments()
        _check_margin(self)


@layer(F.triplet_margin_with_distance_loss, keyword_only=True)
class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a custom distance."""

    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"

    def _normalize_arguments(self) -> None:
        super()._normalize_arguments()
        _check_margin(self)
        if self.distance_function is None:
            self.distance_function = PairwiseDistance()


# --- Of sequences --------------------------------------------------------------------------------


@layer(F.ctc_loss)
class CTCLoss(_Loss):
    """The negative log likelihood of labels over all their alignments with a longer sequence."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False
