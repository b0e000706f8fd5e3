"""What a picture is: Pillow's, or a tensor (..., C, H, W); and from one to the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ... import torch
from ...torch import Tensor
from ..pillow import is_picture, picture

Picture = Any
"""A picture of Pillow's, or a tensor."""


# --- What a picture is ----------------------------------------------------------------------------


def get_dimensions(img: Picture) -> list[int]:
    """Channels, height and width."""
    if isinstance(img, Tensor):
        check_tensor(img)
        return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]
    if not is_picture(img):
        raise TypeError(f"Unexpected type {type(img)}")
    return [len(img.getbands()), img.size[1], img.size[0]]


def get_image_size(img: Picture) -> list[int]:
    """Width and height."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Picture) -> int:
    """How many channels there are."""
    return get_dimensions(img)[0]


def check_tensor(img: Any) -> None:
    """TypeError unless an image is a tensor of rows and columns."""
    if not isinstance(img, Tensor) or img.ndim < 2:
        raise TypeError("Tensor is not a torch image.")


# --- From and to tensors --------------------------------------------------------------------------


def to_tensor(pic: Any) -> Tensor:
    """A picture, or an array (H, W, C), as a tensor (C, H, W); bytes become fractions of 255."""
    if isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        array = pic
    elif is_picture(pic):
        kinds = {"I": np.int32, "I;16": np.int16, "I;16B": np.int16, "F": np.float32}
        array = np.array(pic, kinds.get(pic.mode, np.uint8))
        array = array * np.uint8(255) if pic.mode == "1" else array
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    array = array[None] if array.ndim == 2 else np.ascontiguousarray(array.transpose(2, 0, 1))
    if array.dtype == np.uint8:
        real = np.float64 if torch.get_default_dtype() is torch.float64 else np.float32
        array = np.true_divide(array, real(255), dtype=real)
    return torch.from_numpy(array)


def pil_to_tensor(pic: Any) -> Tensor:
    """A picture as a tensor (C, H, W) of its own type."""
    if not is_picture(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    array = np.array(pic)
    array = array[:, :, None] if array.ndim == 2 else array
    return torch.from_numpy(array).permute(2, 0, 1)


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor (C, H, W), or an array (H, W, C), as a picture."""
    if isinstance(pic, Tensor):
        pic = pic.permute(1, 2, 0) if pic.ndim == 3 else pic
        pic = pic.detach().numpy()
    elif not isinstance(pic, np.ndarray):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    array = pic[:, :, None] if pic.ndim == 2 else pic
    if array.ndim != 3:
        raise ValueError(f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.")
    channels = array.shape[2]
    if channels > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {channels} channels.")
    if array.dtype.kind == "f" and mode != "F":
        array = (array * 255).astype(np.uint8)
    found = _mode(array, channels, mode)
    array = array[:, :, 0] if channels == 1 else array
    return picture(np.ascontiguousarray(array), found)


def _mode(array: Any, channels: int, mode: str | None) -> str:
    """Pillow's mode for an array, the given one if it can be."""
    if channels == 1:
        kinds = {"u1": "L", "i2": "I;16", "i4": "I", "f4": "F"}
        found = kinds.get(array.dtype.str[1:])
        if mode is not None and mode != found:
            raise ValueError(
                f"Incorrect mode ({mode}) supplied for input type {np.dtype}. Should be {found}"
            )
    else:
        allowed = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK", "RGBX"]}[channels]
        if mode is not None and mode not in allowed:
            raise ValueError(f"Only modes {allowed} are supported for {channels}D inputs")
        found = mode or (allowed[0] if array.dtype == np.uint8 else None)
    if found is None:
        raise TypeError(f"Input type {array.dtype} is not supported")
    return found


def convert_image_dtype(image: Tensor, dtype: Any = torch.float) -> Tensor:
    """A picture in another type: whole numbers span their type, fractions 0 to 1."""
    if not isinstance(image, Tensor):
        raise TypeError("Input img should be Tensor Image")
    if image.dtype == dtype:
        return image
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        wide = image.dtype is torch.float32 and dtype in (torch.int32, torch.int64)
        if wide or (image.dtype is torch.float64 and dtype is torch.int64):
            raise RuntimeError(
                f"The cast from {image.dtype} to {dtype} cannot be performed safely."
            )
        return image.mul(largest_of(dtype) + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / largest_of(image.dtype)
    have, want = largest_of(image.dtype), largest_of(dtype)
    if have > want:
        factor = (have + 1) // (want + 1)
        return torch.div(image, factor, rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((want + 1) // (have + 1))


def largest_of(dtype: Any) -> int:
    """The value of white."""
    return 1 if dtype.is_floating_point or dtype is torch.bool else torch.iinfo(dtype).max


def normalize(
    tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> Tensor:
    """Subtract a mean and divide by a deviation, for each channel."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            "Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = "
            f"{tensor.size()}"
        )
    means = _per_channel(tuple(map(float, mean)), tensor.dtype)
    deviations = _per_channel(tuple(map(float, std)), tensor.dtype)
    if 0.0 in std:
        raise ValueError(
            f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero."
        )
    if inplace:
        return tensor.sub_(means).div_(deviations)
    return (tensor - means) / deviations


@lru_cache(64)
def _per_channel(values: tuple[float, ...], dtype: Any) -> Tensor:
    """A number for each channel, to be used with pictures."""
    return torch.as_tensor(values, dtype=dtype).view(-1, 1, 1)


def like(out: Tensor, img: Tensor) -> Tensor:
    """Numbers in the type of a picture: rounded where that is whole."""
    return out.to(img.dtype) if img.is_floating_point() else out.round().to(img.dtype)
