"""Augmentations that were learned, or are drawn from all there are: AutoAugment, RandAugment, TrivialAugmentWide."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

from ... import torch
from ...torch import Tensor
from ...torch.nn.modules.layer import layer
from . import functional as F
from .enhancements import size_of
from .functional import InterpolationMode, Picture
from .transform import Transform, draw
from .transforms import RandomHorizontalFlip, happens


class AutoAugmentPolicy(Enum):
    """Which pictures a policy was learned for."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


POLICIES = {
    "imagenet": """
        Posterize 0.4 8 Rotate 0.6 9; Solarize 0.6 5 AutoContrast 0.6; Equalize 0.8 Equalize 0.6; Posterize 0.6 7
        Posterize 0.6 6; Equalize 0.4 Solarize 0.2 4; Equalize 0.4 Rotate 0.8 8; Solarize 0.6 3 Equalize 0.6;
        Posterize 0.8 5 Equalize 1.0; Rotate 0.2 3 Solarize 0.6 8; Equalize 0.6 Posterize 0.4 6; Rotate 0.8 8 Color
        0.4 0; Rotate 0.4 9 Equalize 0.6; Equalize 0.0 Equalize 0.8; Invert 0.6 Equalize 1.0; Color 0.6 4 Contrast 1.0
        8; Rotate 0.8 8 Color 1.0 2; Color 0.8 8 Solarize 0.8 7; Sharpness 0.4 7 Invert 0.6; ShearX 0.6 5 Equalize
        1.0; Color 0.4 0 Equalize 0.6; Equalize 0.4 Solarize 0.2 4; Solarize 0.6 5 AutoContrast 0.6; Invert 0.6
        Equalize 1.0; Color 0.6 4 Contrast 1.0 8; Equalize 0.8 Equalize 0.6
    """,
    "cifar10": """
        Invert 0.1 Contrast 0.2 6; Rotate 0.7 2 TranslateX 0.3 9; Sharpness 0.8 1 Sharpness 0.9 3; ShearY 0.5 8
        TranslateY 0.7 9; AutoContrast 0.5 Equalize 0.9; ShearY 0.2 7 Posterize 0.3 7; Color 0.4 3 Brightness 0.6 7;
        Sharpness 0.3 9 Brightness 0.7 9; Equalize 0.6 Equalize 0.5; Contrast 0.6 7 Sharpness 0.6 5; Color 0.7 7
        TranslateX 0.5 8; Equalize 0.3 AutoContrast 0.4; TranslateY 0.4 3 Sharpness 0.2 6; Brightness 0.9 6 Color 0.2
        8; Solarize 0.5 2 Invert 0.0; Equalize 0.2 AutoContrast 0.6; Equalize 0.2 Equalize 0.6; Color 0.9 9 Equalize
        0.6; AutoContrast 0.8 Solarize 0.2 8; Brightness 0.1 3 Color 0.7 0; Solarize 0.4 5 AutoContrast 0.9;
        TranslateY 0.9 9 TranslateY 0.7 9; AutoContrast 0.9 Solarize 0.8 3; Equalize 0.8 Invert 0.1; TranslateY 0.7 9
        AutoContrast 0.9
    """,
    "svhn": """
        ShearX 0.9 4 Invert 0.2; ShearY 0.9 8 Invert 0.7; Equalize 0.6 Solarize 0.6 6; Invert 0.9 Equalize 0.6;
        Equalize 0.6 Rotate 0.9 3; ShearX 0.9 4 AutoContrast 0.8; ShearY 0.9 8 Invert 0.4; ShearY 0.9 5 Solarize 0.2
        6; Invert 0.9 AutoContrast 0.8; Equalize 0.6 Rotate 0.9 3; ShearX 0.9 4 Solarize 0.3 3; ShearY 0.8 8 Invert
        0.7; Equalize 0.9 TranslateY 0.6 6; Invert 0.9 Equalize 0.6; Contrast 0.3 3 Rotate 0.8 4; Invert 0.8
        TranslateY 0.0 2; ShearY 0.7 6 Solarize 0.4 8; Invert 0.6 Rotate 0.8 4; ShearY 0.3 7 TranslateX 0.9 3; ShearX
        0.1 6 Invert 0.6; Solarize 0.7 2 TranslateY 0.6 7; ShearY 0.8 4 Invert 0.8; ShearX 0.7 9 TranslateY 0.8 3;
        ShearY 0.8 5 AutoContrast 0.7; ShearX 0.7 2 Invert 0.1
    """,
}
"""Pairs of operations, each with its probability and, where it has one, its strength of ten."""

_PLAIN = {
    "AutoContrast": F.autocontrast,
    "Equalize": F.equalize,
    "Invert": F.invert,
    "Identity": lambda img: img,
}
_ENHANCED = {
    "Brightness": F.adjust_brightness, "Color": F.adjust_saturation, "Contrast": F.adjust_contrast,
    "Sharpness": F.adjust_sharpness,
}  # fmt: skip


class _Augmentation(Transform):
    """One of several operations at a time."""

    interpolation: Any
    fill: Any

    def _text(self, name: str) -> Any:
        return getattr(self, name)

    def _negative(self) -> bool:
        """Whether an operation goes the other way."""
        return bool(draw(2))

    def _augmented(self, img: Picture, name: str, magnitude: float) -> Picture:
        if name in _PLAIN:
            return _PLAIN[name](img)
        if name in _ENHANCED:
            return _ENHANCED[name](img, 1.0 + magnitude)
        if name == "Posterize":
            return F.posterize(img, int(magnitude))
        if name == "Solarize":
            return F.solarize(img, magnitude)
        fill = self._filling(img)
        if name == "Rotate":
            return F.rotate(img, magnitude, interpolation=self.interpolation, fill=fill)
        kind, axis = name[:-1], "XY".index(name[-1])
        amount = int(magnitude) if kind == "Translate" else math.degrees(math.atan(magnitude))
        along: list[Any] = [0, 0] if kind == "Translate" else [0.0, 0.0]
        along[axis] = amount
        translate, shear = (along, [0.0, 0.0]) if kind == "Translate" else ([0, 0], along)
        center = None if kind == "Translate" else [0, 0]
        return F.affine(img, 0.0, translate, 1.0, shear, self.interpolation, fill, center)

    def _filling(self, img: Picture) -> Any:
        if isinstance(img, Tensor) and isinstance(self.fill, (int, float)):
            return [float(self.fill)] * img.shape[-3]
        return self.fill


def _space(
    height: float, width: float, bins: int, shear: float, rotate: float, strength: float, bits: int
) -> Any:
    """Operations, with their strengths and whether these may be negative."""

    def to(most: float) -> Tensor:
        return torch.linspace(0.0, most, bins)

    return {
        "Identity": (None, False), "ShearX": (to(shear), True), "ShearY": (to(shear), True),
        "TranslateX": (to(width), True), "TranslateY": (to(height), True), "Rotate": (to(rotate), True),
        **{name: (to(strength), True) for name in ("Brightness", "Color", "Contrast", "Sharpness")},
        "Posterize": (8 - (torch.arange(bins) / ((bins - 1) / bits)).round().int(), False),
        "Solarize": (torch.linspace(255.0, 0.0, bins), False), "AutoContrast": (None, False), "Equalize": (None, False),
        "Invert": (None, False),
    }  # fmt: skip


@layer()
class AutoAugment(_Augmentation):
    """Two operations by a policy that was learned for one kind of pictures."""

    _shown = ("policy", "fill")

    policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET
    interpolation: Any = InterpolationMode.NEAREST
    fill: Any = None

    def _normalize_arguments(self) -> None:
        self.policies = [_steps(row.split()) for row in POLICIES[self.policy.value].split(";")]

    def _order(self) -> Any:
        """Which policy, and for each of its steps whether it happens and its sign, as drawn."""
        which = draw(len(self.policies))
        chances = torch.rand(2).tolist()
        signs = torch.randint(2, (2,)).tolist()
        for step, chance, sign in zip(self.policies[which], chances, signs, strict=True):
            if chance <= step[1]:
                yield step, lambda sign=sign: sign == 0

    def forward(self, img: Picture) -> Picture:
        height, width = size_of(img)
        space = _space(150.0 / 331.0 * height, 150.0 / 331.0 * width, 10, 0.3, 30.0, 0.9, 4)
        for (name, _, strength), negative in self._order():
            magnitudes, signed = space[name]
            magnitude = 0.0 if magnitudes is None else float(magnitudes[strength])
            img = self._augmented(img, name, -magnitude if signed and negative() else magnitude)
        return img


def _steps(words: list[str]) -> list[tuple[str, float, int | None]]:
    """Operations, their probabilities and strengths, from the words of a row."""
    steps = []
    while words:
        has_strength = len(words) > 2 and words[2].isdigit()
        name, chance, *strength = words[: 3 if has_strength else 2]
        steps.append((name, float(chance), int(strength[0]) if strength else None))
        words = words[3 if has_strength else 2 :]
    return steps


@layer()
class RandAugment(_Augmentation):
    """Some operations, of one strength."""

    _shown = ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill")

    num_ops: int = 2
    magnitude: int = 9
    num_magnitude_bins: int = 31
    interpolation: Any = InterpolationMode.NEAREST
    fill: Any = None

    def forward(self, img: Picture) -> Picture:
        height, width = size_of(img)
        of = 150.0 / 331.0
        space = _space(of * height, of * width, self.num_magnitude_bins, 0.3, 30.0, 0.9, 4)
        del space["Invert"]
        for _ in range(self.num_ops):
            name, (magnitudes, signed) = list(space.items())[draw(len(space))]
            magnitude = 0.0 if magnitudes is None else float(magnitudes[self.magnitude])
            img = self._augmented(
                img, name, -magnitude if signed and self._negative() else magnitude
            )
        return img


@layer()
class TrivialAugmentWide(_Augmentation):
    """One operation, of any strength."""

    _shown = ("num_magnitude_bins", "interpolation", "fill")

    num_magnitude_bins: int = 31
    interpolation: Any = InterpolationMode.NEAREST
    fill: Any = None

    def forward(self, img: Picture) -> Picture:
        space = _space(32.0, 32.0, self.num_magnitude_bins, 0.99, 135.0, 0.99, 6)
        del space["Invert"]
        name, (magnitudes, signed) = list(space.items())[draw(len(space))]
        magnitude = 0.0 if magnitudes is None else float(magnitudes[draw(len(magnitudes))])
        return self._augmented(img, name, -magnitude if signed and self._negative() else magnitude)


# --- One operation, with a probability -------------------------------------------------------------------


@layer()
class RandomPosterize(Transform):
    """Fewer bits of each color, with probability p."""

    _shown = ("bits", "p")
    _between = ","

    bits: int
    p: float = 0.5

    def forward(self, img: Picture) -> Picture:
        return F.posterize(img, self.bits) if happens(self.p) else img


@layer()
class RandomSolarize(Transform):
    """Bright places negative, with probability p."""

    _shown = ("threshold", "p")
    _between = ","

    threshold: float
    p: float = 0.5

    def forward(self, img: Picture) -> Picture:
        return F.solarize(img, self.threshold) if happens(self.p) else img


@layer()
class RandomAdjustSharpness(Transform):
    """Sharper or blurred, with probability p."""

    _shown = ("sharpness_factor", "p")
    _between = ","

    sharpness_factor: float
    p: float = 0.5

    def forward(self, img: Picture) -> Picture:
        return F.adjust_sharpness(img, self.sharpness_factor) if happens(self.p) else img


class RandomAutocontrast(RandomHorizontalFlip):
    """From black to white, with probability p."""

    def forward(self, img: Picture) -> Picture:
        return F.autocontrast(img) if happens(self.p) else img


class RandomEqualize(RandomHorizontalFlip):
    """All degrees of brightness as frequent, with probability p."""

    def forward(self, img: Picture) -> Picture:
        return F.equalize(img) if happens(self.p) else img
