"""Published weights of models: their files' names, and where such files are looked for.

Nothing is downloaded. A file is taken from Torch's own cache (`~/.cache/torch/hub/checkpoints`, or
below TORCH_HOME) or from the folder that MINITORCH_DATA names.
"""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Any

from ... import torch
from ..datasets.files import DATA_VARIABLE
from ..transforms import CenterCrop, Compose, Normalize, Resize, ToTensor

# Model, the name of its enumeration, the codes in the files' names of the first and second version.
_FILES = [
    ("alexnet", "AlexNet", "7be5be79", None),
    ("vgg11", "VGG11", "8a719046", None), ("vgg11_bn", "VGG11_BN", "6002323d", None),
    ("vgg13", "VGG13", "19584684", None), ("vgg13_bn", "VGG13_BN", "abd245e5", None),
    ("vgg16", "VGG16", "397923af", None), ("vgg16_bn", "VGG16_BN", "6c64b313", None),
    ("vgg19", "VGG19", "dcbb9e9d", None), ("vgg19_bn", "VGG19_BN", "c79401a0", None),
    ("resnet18", "ResNet18", "f37072fd", None), ("resnet34", "ResNet34", "b627a593", None),
    ("resnet50", "ResNet50", "0676ba61", "11ad3fa6"),
    ("resnet101", "ResNet101", "63fe2227", "cd907fc2"),
    ("resnet152", "ResNet152", "394f9c45", "f82ba261"),
    ("resnext50_32x4d", "ResNeXt50_32X4D", "7cdf4587", "1a0047aa"),
    ("wide_resnet50_2", "Wide_ResNet50_2", "95faca4d", "9ba9bcbe"),
    ("mobilenet_v2", "MobileNet_V2", "b0353104", "7ebf99e0"),
    ("squeezenet1_0", "SqueezeNet1_0", "b66bff10", None), ("squeezenet1_1", "SqueezeNet1_1", "b8a52dc0", None),
    ("densenet121", "DenseNet121", "a639ec97", None), ("densenet161", "DenseNet161", "8d451a50", None),
    ("densenet169", "DenseNet169", "b2777c0a", None), ("densenet201", "DenseNet201", "c1103571", None),
    ("vit_b_16", "ViT_B_16", "c867db91", None), ("vit_b_32", "ViT_B_32", "d86f8d99", None),
    ("vit_l_16", "ViT_L_16", "852ce7e3", None),
]  # fmt: skip


class WeightsEnum(Enum):
    """Weights of one model; each value is a file's name and the size pictures are resized to."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @property
    def filename(self) -> str:
        """The file's name, as torchvision's servers have it."""
        return self.value[0]

    def transforms(self) -> Compose:
        """What prepares pictures for the model."""
        return Compose([
            Resize(self.value[1]), CenterCrop(224), ToTensor(),
            Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ])  # fmt: skip

    def get_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The weights, from their file."""
        places = [_cache() / self.filename]
        if os.environ.get(DATA_VARIABLE):
            places.append(Path(os.environ[DATA_VARIABLE]).expanduser() / self.filename)
        for place in places:
            if place.is_file():
                return _renamed(torch.load(place))
        raise FileNotFoundError(
            f"{self!r}: {self.filename} is not there, and weights are not downloaded here; put it "
            f"into {_cache()}, or into the folder that the variable {DATA_VARIABLE} names"
        )


def _cache() -> Path:
    """Where Torch keeps weights that it has downloaded."""
    base = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(base, "torch"))
    return Path(home).expanduser() / "hub" / "checkpoints"


def _renamed(state: Any) -> Any:
    """Weights under today's names: the files of ViT have older ones."""
    old = {"mlp.linear_1.": "mlp.0.", "mlp.linear_2.": "mlp.3."}
    for before, after in old.items():
        state = {name.replace(before, after): value for name, value in state.items()}
    return state


def _declare(model: str, name: str, first: str, second: str | None) -> Any:
    stem = "alexnet-owt" if model == "alexnet" else model
    members = {"IMAGENET1K_V1": (f"{stem}-{first}.pth", 242 if model == "vit_l_16" else 256)}
    if second is not None:
        members["IMAGENET1K_V2"] = f"{stem}-{second}.pth", 232
    members["DEFAULT"] = members["IMAGENET1K_V2" if second is not None else "IMAGENET1K_V1"]
    return WeightsEnum(f"{name}_Weights", members)


WEIGHTS: dict[str, Any] = {row[0]: _declare(*row) for row in _FILES}
"""The weights of each model."""


def get_model_weights(name: Any) -> Any:
    """The weights of a model, given by its name or by what makes it."""
    return WEIGHTS[name if isinstance(name, str) else name.__name__]


def get_weight(name: str) -> Any:
    """Weights by their full name, such as "ResNet18_Weights.DEFAULT"."""
    kind, _, member = name.partition(".")
    for each in WEIGHTS.values():
        if each.__name__ == kind:
            return each[member]
    raise ValueError(f"The weight enum '{kind}' could not be found.")


def chosen(model: str, weights: Any, pretrained: bool) -> Any:
    """The weights that a program asks for: a member, its name, or None."""
    if weights is None:
        return WEIGHTS[model].IMAGENET1K_V1 if pretrained else None
    if isinstance(weights, str):
        return get_weight(weights) if "." in weights else WEIGHTS[model][weights]
    return weights
