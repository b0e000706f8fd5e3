"""Learned augmentations of the second version: the same operations, which draw their signs in another way."""

from __future__ import annotations

from typing import Any

from .... import torch
from .. import augmentations as first
from ..functional import Picture
from ..transform import Transform, draw


class _Signs:
    """What operations draw besides their strength."""

    def _negative(self) -> bool:
        return bool(torch.rand(()) <= 0.5)


class RandAugment(_Signs, first.RandAugment):
    """Some operations, of one strength."""


class TrivialAugmentWide(_Signs, first.TrivialAugmentWide):
    """One operation, of any strength."""


class AutoAugment(_Signs, first.AutoAugment):
    """Two operations by a policy that was learned for one kind of pictures."""

    def _order(self) -> Any:
        for step in self.policies[draw(len(self.policies))]:
            if torch.rand(()) <= step[1]:
                yield step, self._negative


class Identity(Transform):
    """All as it is."""

    def forward(self, img: Picture) -> Picture:
        return img
