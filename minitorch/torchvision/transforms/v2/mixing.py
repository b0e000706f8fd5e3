"""Pictures of a batch mixed with each other, and their labels with them."""

from __future__ import annotations

import math
from typing import Any

from ....torch import Tensor, randint
from ....torch.distributions import Beta
from ....torch.nn import functional
from ..transform import Transform


class _Mixing(Transform):
    """What both ways share: a share from a Beta distribution, and labels of several classes.

    Args:
        alpha: both parameters of the distribution
        num_classes: how many labels there are; None: labels are given as probabilities
        labels_getter: must be "default": the second of the values
    """

    _shown = ("alpha", "num_classes")

    def __init__(self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Any = "default") -> None:  # fmt: skip
        super().__init__()
        if labels_getter != "default":
            raise NotImplementedError("labels_getter must be 'default': labels follow the pictures")
        self.alpha, self.num_classes = float(alpha), num_classes
        self._dist = Beta(alpha, alpha)

    def forward(self, *inputs: Any) -> Any:
        """Pictures (N, C, H, W) and labels (N) or (N, classes), mixed; in the structure in which they were given."""
        given = inputs[0] if len(inputs) == 1 else inputs
        images, labels, *rest = given
        if images.ndim != 4 or len(images) != len(labels):
            raise ValueError(
                f"Expected a batch of pictures (N, C, H, W) and as many labels, but got {list(images.shape)} and {list(labels.shape)}"
            )
        share = float(self._dist.sample(()))
        mixed, share = self._mix(images, share)
        made = [mixed, self._mix_labels(labels, share), *rest]
        return made if isinstance(given, list) else tuple(made)

    def _mix(self, images: Tensor, share: float) -> tuple[Tensor, float]:
        raise NotImplementedError

    def _mix_labels(self, labels: Tensor, share: float) -> Tensor:
        if labels.ndim == 1:
            if self.num_classes is None:
                raise ValueError("num_classes must be given where labels are numbers of classes")
            labels = functional.one_hot(labels, num_classes=self.num_classes)
        labels = labels if labels.is_floating_point() else labels.float()
        return labels.roll(1, 0).mul_(1.0 - share).add_(labels.mul(share))


class MixUp(_Mixing):
    """Each picture with a share of the one before it (Zhang and others, 2017)."""

    def _mix(self, images: Tensor, share: float) -> tuple[Tensor, float]:
        return images.roll(1, 0).mul_(1.0 - share).add_(images.mul(share)), share


class CutMix(_Mixing):
    """Each picture with a part of the one before it (Yun and others, 2019)."""

    def _mix(self, images: Tensor, share: float) -> tuple[Tensor, float]:
        height, width = images.shape[-2:]
        x, y = int(randint(width, size=(1,))), int(randint(height, size=(1,)))
        reach = 0.5 * math.sqrt(1.0 - share)
        half_width, half_height = int(reach * width), int(reach * height)
        left, top = max(x - half_width, 0), max(y - half_height, 0)
        right, bottom = min(x + half_width, width), min(y + half_height, height)
        mixed = images.clone()
        mixed[..., top:bottom, left:right] = images.roll(1, 0)[..., top:bottom, left:right]
        return mixed, 1.0 - (right - left) * (bottom - top) / (width * height)
