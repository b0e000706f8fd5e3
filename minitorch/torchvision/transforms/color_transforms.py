"""Transforms of colors, as objects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import torch
from ...torch import Tensor
from ...torch.nn.modules.layer import layer
from . import functional as F
from .functional import Picture
from .transform import Transform, draw, happens, pair, uniform


@layer()
class Grayscale(Transform):
    """A picture without color."""

    _shown = ("num_output_channels",)

    num_output_channels: int = 1

    def forward(self, img: Picture) -> Picture:
        return F.rgb_to_grayscale(img, self.num_output_channels)


@layer()
class RandomGrayscale(Transform):
    """A picture without color, with probability p."""

    _shown = ("p",)

    p: float = 0.1

    def forward(self, img: Picture) -> Picture:
        channels = F.get_image_num_channels(img)
        return F.rgb_to_grayscale(img, channels) if happens(self.p) else img


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed at random, in random order."""

    _shown = ("brightness", "contrast", "saturation", "hue")

    def __init__(
        self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0
    ) -> None:
        super().__init__()
        self.brightness = self._span(brightness, "brightness")
        self.contrast = self._span(contrast, "contrast")
        self.saturation = self._span(saturation, "saturation")
        self.hue = self._span(hue, "hue", 0.0, (-0.5, 0.5), False)

    @staticmethod
    def _span(
        value: Any, name: str, center: float = 1.0, bound: tuple[float, float] = (0, math.inf),
        clip: bool = True,
    ) -> tuple[float, float] | None:  # fmt: skip
        """From where to where a factor is drawn; None where it would change nothing."""
        if isinstance(value, (int, float)):
            if value < 0:
                raise ValueError(f"If {name} is a single number, it must be non negative.")
            value = [center - float(value), center + float(value)]
            value[0] = max(value[0], 0.0) if clip else value[0]
        elif not isinstance(value, (tuple, list)) or len(value) != 2:
            raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
        if not bound[0] <= value[0] <= value[1] <= bound[1]:
            raise ValueError(f"{name} values should be between {bound}, but got {value}.")
        return None if value[0] == value[1] == center else tuple(value)

    def forward(self, img: Picture) -> Picture:
        order = torch.randperm(4).tolist()
        spans = [self.brightness, self.contrast, self.saturation, self.hue]
        factors = [None if span is None else uniform(*span) for span in spans]
        changes = [
            F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue,
        ]  # fmt: skip
        for i in order:
            factor = factors[i]
            if factor is not None:
                img = changes[i](img, factor)
        return img


class GaussianBlur(Transform):
    """A picture blurred by a bell of random width."""

    _shown = ("kernel_size", "sigma")

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size, "Kernel size should be a tuple/list of two integers")
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        self.sigma = (sigma, sigma) if isinstance(sigma, (int, float)) else tuple(sigma)
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError("sigma values should be positive and of the form (min, max).")

    def forward(self, img: Picture) -> Picture:
        sigma = uniform(self.sigma[0], self.sigma[1])
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])


@layer()
class RandomErasing(Transform):
    """A random rectangle of a tensor picture erased, with probability p."""

    _shown = ("p", "scale", "ratio", "value", "inplace")

    p: float = 0.5
    scale: tuple[float, float] = (0.02, 0.33)
    ratio: tuple[float, float] = (0.3, 3.3)
    value: Any = 0
    inplace: bool = False

    def _normalize_arguments(self) -> None:
        if isinstance(self.value, str) and self.value != "random":
            raise ValueError("If value is str, it should be 'random'")
        if not 0 <= self.scale[0] <= self.scale[1] <= 1:
            raise ValueError("Scale should be between 0 and 1")
        if not 0 <= self.p <= 1:
            raise ValueError("Random erasing probability should be between 0 and 1")

    @staticmethod
    def get_params(
        img: Tensor, scale: Sequence[float], ratio: Sequence[float], value: Any = None
    ) -> tuple[int, int, int, int, Tensor]:
        """Top, left, height and width of a rectangle, and what is put there."""
        channels, rows, columns = img.shape[-3:]
        low, high = torch.log(torch.as_tensor(ratio)).tolist()
        for _ in range(10):
            area = rows * columns * torch.empty(1).uniform_(scale[0], scale[1]).item()
            shape = torch.exp(torch.empty(1).uniform_(low, high)).item()
            height, width = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if not (height < rows and width < columns):
                continue
            if value is None:
                new = torch.empty([channels, height, width], dtype=torch.float32).normal_()
            else:
                new = torch.as_tensor(value)[:, None, None]
            return draw(rows - height + 1), draw(columns - width + 1), height, width, new
        return 0, 0, rows, columns, img

    def forward(self, img: Tensor) -> Tensor:
        if not happens(self.p):
            return img
        value = [float(self.value)] if isinstance(self.value, (int, float)) else self.value
        value = None if isinstance(value, str) else list(value)
        if value is not None and len(value) not in (1, img.shape[-3]):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{img.shape[-3]} (number of input channels)"
            )
        i, j, h, w, new = self.get_params(img, self.scale, self.ratio, value)
        return F.erase(img, i, j, h, w, new, self.inplace)
