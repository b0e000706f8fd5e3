"""The names of torchvision's second version: what the first one's transforms answer too, and batches that are mixed."""

from __future__ import annotations

from typing import Any

from ....torch import Tensor
from ..augmentations import AutoAugmentPolicy as AutoAugmentPolicy
from ..augmentations import RandomAdjustSharpness as RandomAdjustSharpness
from ..augmentations import RandomAutocontrast as RandomAutocontrast
from ..augmentations import RandomEqualize as RandomEqualize
from ..augmentations import RandomPosterize as RandomPosterize
from ..augmentations import RandomSolarize as RandomSolarize
from ..functional import InterpolationMode as InterpolationMode
from ..transforms import CenterCrop as CenterCrop
from ..transforms import ColorJitter as ColorJitter
from ..transforms import Compose as Compose
from ..transforms import ConvertImageDtype as ConvertImageDtype
from ..transforms import FiveCrop as FiveCrop
from ..transforms import GaussianBlur as GaussianBlur
from ..transforms import Grayscale as Grayscale
from ..transforms import Lambda as Lambda
from ..transforms import Normalize as Normalize
from ..transforms import Pad as Pad
from ..transforms import PILToTensor as PILToTensor
from ..transforms import RandomAffine as RandomAffine
from ..transforms import RandomApply as RandomApply
from ..transforms import RandomChoice as RandomChoice
from ..transforms import RandomCrop as RandomCrop
from ..transforms import RandomErasing as RandomErasing
from ..transforms import RandomGrayscale as RandomGrayscale
from ..transforms import RandomHorizontalFlip as RandomHorizontalFlip
from ..transforms import RandomInvert as RandomInvert
from ..transforms import RandomOrder as RandomOrder
from ..transforms import RandomResizedCrop as RandomResizedCrop
from ..transforms import RandomRotation as RandomRotation
from ..transforms import RandomVerticalFlip as RandomVerticalFlip
from ..transforms import Resize as Resize
from ..transforms import TenCrop as TenCrop
from ..transforms import ToPILImage as ToPILImage
from ..transforms import ToTensor as ToTensor
from ..transforms import Transform as Transform
from . import functional as functional
from .augmentations import AutoAugment as AutoAugment
from .augmentations import Identity as Identity
from .augmentations import RandAugment as RandAugment
from .augmentations import TrivialAugmentWide as TrivialAugmentWide
from .mixing import CutMix as CutMix
from .mixing import MixUp as MixUp


class ToImage(Transform):
    """A picture, or an array (H, W, C), as a tensor (C, H, W) of its own type."""

    def forward(self, pic: Any) -> Tensor:
        return functional.to_image(pic)


class ToDtype(Transform):
    """A tensor in another type; with `scale`, white stays white."""

    _shown = ("scale",)

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        self.dtype, self.scale = dtype, scale

    def forward(self, image: Any) -> Any:
        """The tensor in the other type; other things as they are."""
        return functional.to_dtype(image, self.dtype, self.scale)
