"""Transforms as objects; random ones draw from Torch's generator."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from ... import torch
from ...torch import Tensor
from ...torch.nn.modules.layer import layer
from . import functional as F
from .color_transforms import ColorJitter as ColorJitter
from .color_transforms import GaussianBlur as GaussianBlur
from .color_transforms import Grayscale as Grayscale
from .color_transforms import RandomErasing as RandomErasing
from .color_transforms import RandomGrayscale as RandomGrayscale
from .functional import InterpolationMode, Picture
from .transform import Transform, draw, happens, pair, uniform

# --- Several ------------------------------------------------------------------------------------


def _listed(kind: str, transforms: Sequence[Any]) -> str:
    return "\n".join([f"{kind}(", *(f"    {t}" for t in transforms), ")"])


class Compose:
    """One transform after the other."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _listed(type(self).__name__, self.transforms)


class RandomApply(Transform):
    """All of some transforms, or none."""

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms, self.p = transforms, p

    def forward(self, img: Any) -> Any:
        if self.p < torch.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        lines = ["RandomApply(", f"    p={self.p}", *(f"    {t}" for t in self.transforms)]
        return "\n".join([*lines, ")"])


class RandomOrder:
    """All of some transforms, in random order."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img

    def __repr__(self) -> str:
        return _listed(type(self).__name__, self.transforms)


class RandomChoice:
    """One of some transforms."""

    def __init__(
        self, transforms: Sequence[Callable[[Any], Any]], p: Sequence[float] | None = None
    ) -> None:
        self.transforms, self.p = transforms, p

    def __call__(self, *args: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{_listed(type(self).__name__, self.transforms)}(p={self.p})"


class Lambda:
    """A function of the program's own."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return "Lambda()"


# --- From and to tensors ------------------------------------------------------------------------


class ToTensor:
    """A picture as a tensor (C, H, W) of numbers from 0 to 1."""

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return "ToTensor()"


class PILToTensor:
    """A picture as a tensor (C, H, W) of its own type."""

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return "PILToTensor()"


class ToPILImage:
    """A tensor or an array as a picture."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return "ToPILImage()" if self.mode is None else f"ToPILImage(mode={self.mode})"


class ConvertImageDtype(Transform):
    """A tensor picture in another type."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        if not isinstance(dtype, torch.dtype):
            raise TypeError("Argument dtype should be of type torch.dtype")
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype)


class Normalize(Transform):
    """Subtract a mean and divide by a deviation, for each channel."""

    _shown = ("mean", "std")

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)


# --- Size and place -------------------------------------------------------------------------------


@layer()
class Resize(Transform):
    """A picture in another size."""

    _shown = ("size", "interpolation", "max_size", "antialias")

    size: Any
    interpolation: Any = InterpolationMode.BILINEAR
    max_size: int | None = None
    antialias: bool | None = True

    def _normalize_arguments(self) -> None:
        if not isinstance(self.size, (int, Sequence)):
            raise TypeError(f"Size should be int or sequence. Got {type(self.size)}")
        if isinstance(self.size, Sequence) and len(self.size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.interpolation = F._mode_of(self.interpolation)

    def forward(self, img: Picture) -> Picture:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)


_TWO = "Please provide only two dimensions (h, w) for size."


@layer()
class CenterCrop(Transform):
    """The middle of a picture."""

    _shown = ("size",)

    size: Any

    def _normalize_arguments(self) -> None:
        self.size = pair(self.size, _TWO)

    def forward(self, img: Picture) -> Picture:
        return F.center_crop(img, self.size)


class FiveCrop(CenterCrop):
    """The four corners and the middle."""

    def forward(self, img: Picture) -> Any:
        return F.five_crop(img, self.size)


class TenCrop(Transform):
    """The four corners and the middle, also mirrored."""

    _shown = ("size", "vertical_flip")

    def __init__(self, size: Any, vertical_flip: bool = False) -> None:
        super().__init__()
        self.size, self.vertical_flip = pair(size, _TWO), vertical_flip

    def forward(self, img: Picture) -> Any:
        return F.ten_crop(img, self.size, self.vertical_flip)


class Pad(Transform):
    """A picture with a border."""

    _shown = ("padding", "fill", "padding_mode")

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        if not isinstance(padding, (int, tuple, list)):
            raise TypeError("Got inappropriate padding arg")
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        F._sides(padding)
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Picture) -> Picture:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


@layer()
class RandomCrop(Transform):
    """A part of a picture, anywhere."""

    _shown = ("size", "padding")

    size: Any
    padding: Any = None
    pad_if_needed: bool = False
    fill: Any = 0
    padding_mode: str = "constant"

    def _normalize_arguments(self) -> None:
        self.size = pair(self.size, _TWO)

    @staticmethod
    def get_params(img: Picture, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of a random part."""
        _, rows, columns = F.get_dimensions(img)
        height, width = output_size
        if rows < height or columns < width:
            raise ValueError(
                f"Required crop size {(height, width)} is larger than input image size "
                f"{(rows, columns)}"
            )
        if (rows, columns) == (height, width):
            return 0, 0, rows, columns
        return draw(rows - height + 1), draw(columns - width + 1), height, width

    def forward(self, img: Picture) -> Picture:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, rows, columns = F.get_dimensions(img)
        height, width = self.size
        if self.pad_if_needed and columns < width:
            img = F.pad(img, [width - columns, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and rows < height:
            img = F.pad(img, [0, height - rows], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))


@layer()
class RandomHorizontalFlip(Transform):
    """Left and right exchanged, with probability p."""

    _shown = ("p",)

    p: float = 0.5

    def forward(self, img: Picture) -> Picture:
        return F.hflip(img) if happens(self.p) else img


class RandomVerticalFlip(RandomHorizontalFlip):
    """Top and bottom exchanged, with probability p."""

    def forward(self, img: Picture) -> Picture:
        return F.vflip(img) if happens(self.p) else img


class RandomInvert(RandomHorizontalFlip):
    """The negative, with probability p."""

    def forward(self, img: Picture) -> Picture:
        return F.invert(img) if happens(self.p) else img


@layer()
class RandomResizedCrop(Transform):
    """A part of a picture, of random size and shape, in one size."""

    size: Any
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: Any = InterpolationMode.BILINEAR
    antialias: bool | None = True

    def _normalize_arguments(self) -> None:
        self.size, self.interpolation = pair(self.size, _TWO), F._mode_of(self.interpolation)

    @staticmethod
    def get_params(
        img: Picture, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """Top, left, height and width of a random part; after ten tries, of the middle."""
        _, rows, columns = F.get_dimensions(img)
        low, high = torch.log(torch.as_tensor(ratio)).tolist()
        for _ in range(10):
            area = rows * columns * torch.empty(1).uniform_(scale[0], scale[1]).item()
            shape = torch.exp(torch.empty(1).uniform_(low, high)).item()
            width, height = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < width <= columns and 0 < height <= rows:
                return draw(rows - height + 1), draw(columns - width + 1), height, width
        shape = columns / rows
        width, height = columns, rows
        if shape < min(ratio):
            height = round(width / min(ratio))
        elif shape > max(ratio):
            width = round(height * max(ratio))
        return (rows - height) // 2, (columns - width) // 2, height, width

    def forward(self, img: Picture) -> Picture:
        place = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *place, self.size, self.interpolation, self.antialias)

    def __repr__(self) -> str:
        return (
            f"RandomResizedCrop(size={self.size}, "
            f"scale={tuple(round(s, 4) for s in self.scale)}, "
            f"ratio={tuple(round(r, 4) for r in self.ratio)}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


def _range(value: Any, name: str) -> list[float]:
    """From one number, as much to both sides of 0; or two as they are."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        return [-float(value), float(value)]
    return [float(v) for v in value]


@layer()
class RandomRotation(Transform):
    """A picture turned by a random angle."""

    _shown = ("degrees", "interpolation", "expand")

    degrees: Any
    interpolation: Any = InterpolationMode.NEAREST
    expand: bool = False
    center: Sequence[int] | None = None
    fill: Any = 0

    def _normalize_arguments(self) -> None:
        self.degrees = _range(self.degrees, "degrees")
        self.interpolation = F._mode_of(self.interpolation)

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """A random angle."""
        return uniform(degrees[0], degrees[1])

    def forward(self, img: Picture) -> Picture:
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)

    def __repr__(self) -> str:
        text = super().__repr__()[:-1]
        text += f", center={self.center}" if self.center is not None else ""
        return f"{text}, fill={self.fill})"


@layer()
class RandomAffine(Transform):
    """A picture turned, moved, scaled and sheared at random."""

    degrees: Any
    translate: Sequence[float] | None = None
    scale: Sequence[float] | None = None
    shear: Any = None
    interpolation: Any = InterpolationMode.NEAREST
    fill: Any = 0
    center: Sequence[int] | None = None

    def _normalize_arguments(self) -> None:
        self.degrees = _range(self.degrees, "degrees")
        for t in self.translate or ():
            if not 0.0 <= t <= 1.0:
                raise ValueError("translation values should be between 0 and 1")
        for s in self.scale or ():
            if s <= 0:
                raise ValueError("scale values should be positive")
        self.shear = None if self.shear is None else _range(self.shear, "shear")
        self.interpolation = F._mode_of(self.interpolation)

    def __repr__(self) -> str:
        options = {"degrees": self.degrees, "translate": self.translate, "scale": self.scale}
        options["shear"] = self.shear
        if self.interpolation is not InterpolationMode.NEAREST:
            options["interpolation"] = self.interpolation.value
        options["fill"], options["center"] = self.fill or None, self.center
        text = ", ".join(f"{k}={v}" for k, v in options.items() if v is not None)
        return f"RandomAffine({text})"

    def forward(self, img: Picture) -> Picture:
        _, rows, columns = F.get_dimensions(img)
        angle = uniform(self.degrees[0], self.degrees[1])
        moves = (0, 0)
        if self.translate is not None:
            most = self.translate[0] * columns, self.translate[1] * rows
            moves = round(uniform(-most[0], most[0])), round(uniform(-most[1], most[1]))
        scale = 1.0 if self.scale is None else uniform(self.scale[0], self.scale[1])
        shear_x = shear_y = 0.0
        if self.shear is not None:
            shear_x = uniform(self.shear[0], self.shear[1])
            shear_y = uniform(*self.shear[2:]) if len(self.shear) == 4 else 0.0
        return F.affine(
            img, angle, moves, scale, (shear_x, shear_y), self.interpolation, self.fill,
            self.center,
        )  # fmt: skip
