"""Functions by the names of torchvision's second version; most are those of the first."""

from __future__ import annotations

from typing import Any

from .... import torch
from ....torch import Tensor
from ...pillow import is_picture
from ..functional import InterpolationMode as InterpolationMode
from ..functional import adjust_brightness as adjust_brightness
from ..functional import adjust_contrast as adjust_contrast
from ..functional import adjust_gamma as adjust_gamma
from ..functional import adjust_hue as adjust_hue
from ..functional import adjust_saturation as adjust_saturation
from ..functional import adjust_sharpness as adjust_sharpness
from ..functional import affine as affine
from ..functional import autocontrast as autocontrast
from ..functional import center_crop as center_crop
from ..functional import convert_image_dtype as convert_image_dtype
from ..functional import crop as crop
from ..functional import equalize as equalize
from ..functional import erase as erase
from ..functional import five_crop as five_crop
from ..functional import gaussian_blur as gaussian_blur
from ..functional import get_dimensions as get_dimensions
from ..functional import get_image_num_channels as get_image_num_channels
from ..functional import get_image_size as get_image_size
from ..functional import hflip as hflip
from ..functional import invert as invert
from ..functional import normalize as normalize
from ..functional import pad as pad
from ..functional import pil_to_tensor as pil_to_tensor
from ..functional import posterize as posterize
from ..functional import resize as resize
from ..functional import resized_crop as resized_crop
from ..functional import rgb_to_grayscale as rgb_to_grayscale
from ..functional import rotate as rotate
from ..functional import solarize as solarize
from ..functional import ten_crop as ten_crop
from ..functional import to_grayscale as to_grayscale
from ..functional import to_pil_image as to_pil_image
from ..functional import to_tensor as to_tensor
from ..functional import vflip as vflip

horizontal_flip, vertical_flip = hflip, vflip


def to_image(inpt: Any) -> Tensor:
    """A picture, or an array (H, W, C), as a tensor (C, H, W) of its own type."""
    if isinstance(inpt, Tensor):
        return inpt
    if is_picture(inpt):
        return pil_to_tensor(inpt)
    array = torch.from_numpy(inpt)
    return array.unsqueeze(0) if array.ndim == 2 else array.permute(2, 0, 1)


def to_dtype(inpt: Any, dtype: Any = torch.float, scale: bool = False) -> Any:
    """A tensor in another type; with `scale`, white stays white. Other things as they are."""
    if not isinstance(inpt, Tensor):
        return inpt
    return convert_image_dtype(inpt, dtype) if scale else inpt.to(dtype)


to_dtype_image = to_dtype


def grayscale_to_rgb(inpt: Any) -> Any:
    """A picture with three channels, each of which is the brightness; colors stay."""
    if not isinstance(inpt, Tensor):
        return inpt.convert(mode="RGB")
    return inpt if inpt.shape[-3] >= 3 else rgb_to_grayscale(inpt, num_output_channels=3)
