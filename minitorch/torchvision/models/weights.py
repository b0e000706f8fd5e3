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
from ..transforms import CenterCrop, Compose, InterpolationMode, Normalize, Resize, ToTensor


class WeightsEnum(Enum):
    """Weights of one model; each value is a file's name, and how pictures are resized: to which size, cut to which, by what mean."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @property
    def filename(self) -> str:
        """The file's name, as torchvision's servers have it."""
        return self.value[0]

    def transforms(self) -> Compose:
        """What prepares pictures for the model."""
        return Compose([
            Resize(self.value[1], InterpolationMode(self.value[3])), CenterCrop(self.value[2]), ToTensor(),
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


def _declared() -> dict[str, Any]:
    """The weights that `weights.txt` lists: model, enumeration, member, file, sizes, interpolation, and which is the default."""
    members: dict[str, dict[str, Any]] = {}
    names = {}
    for line in Path(__file__).with_name("weights.txt").read_text().splitlines():
        model, names[model], member, file, resized, cropped, interpolation, *default = line.split()
        made = members.setdefault(model, {})
        made[member] = file, int(resized), int(cropped), interpolation
        if default:
            made["DEFAULT"] = made[member]
    return {model: WeightsEnum(f"{names[model]}_Weights", made) for model, made in members.items()}


WEIGHTS: dict[str, Any] = _declared()
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
