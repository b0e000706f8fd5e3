"""The three smallest models of every family of timm: the output of each for the same weights and image.

With two numbers, only the families from the first to before the second.
"""

import logging
import re
import sys

import timm
import torch
from timm.models import _registry

logging.disable(logging.WARNING)
SMALL = "test atto femto pico nano tiny xxs xxsmall zepto xs xsmall micro small mini minimal s0 t 0 b0 a0 050 025 x0 18 26 p6 m0 l0 w18 s24 s12 s".split()
LARGE = "large huge giant gigantic xl xxl xlarge base big l h g b 101 152 200 269 so400m so150m xlarge medium v2l enormous".split()


def size(name):
    """How large a model will be, by the words of its name."""
    words = re.split(r"[_.]", name)
    parts = [w for word in words for w in (word, *re.findall(r"[a-z]+|[0-9]+", word))]
    resolution = [int(w) for w in words if w.isdigit() and int(w) > 128]
    return (
        sum(w in LARGE for w in parts) * 3
        - sum(w in SMALL for w in parts)
        + max(resolution, default=0) / 100,
        name,
    )


def made(name):
    """A model and a side of an image that it takes."""
    config = timm.get_pretrained_cfg(name, allow_unregistered=True)
    fixed = config.input_size[-1] if config else 224
    if not (config and config.fixed_input_size):
        return timm.create_model(name, num_classes=10), min(
            fixed, 64 if config and not config.min_input_size else 128
        )
    for side in (64, 96, 128):
        try:
            torch.manual_seed(0)
            return timm.create_model(name, num_classes=10, img_size=side), side
        except Exception:  # a model of one size only
            continue
    torch.manual_seed(0)
    return timm.create_model(name, num_classes=10), fixed


def weights_of(name):
    """How many weights a model has, if it can be made without memory."""
    try:
        with torch.device("meta"):
            return sum(p.numel() for p in timm.create_model(name, num_classes=10).parameters())
    except RuntimeError:  # it looks at numbers while it is made
        return 0


families = {}
for name in timm.list_models():
    families.setdefault(_registry._model_to_module[name], []).append(name)
chosen = slice(*map(int, sys.argv[1:3])) if len(sys.argv) > 2 else slice(None)
for family, names in sorted(families.items())[chosen]:
    for name in sorted(names, key=size)[:3]:
        if weights_of(name) > 30e6:
            continue
        torch.manual_seed(0)
        model, side = made(name)
        torch.manual_seed(1)
        image = torch.randn(1, 3, side, side)
        with torch.no_grad():
            try:
                out = model.eval()(image)
            except (RuntimeError, AssertionError, ValueError) as error:
                print(family, name, side, type(error).__name__, flush=True)
                continue
        out = out[0] if isinstance(out, (tuple, list)) else out
        print(
            family,
            name,
            side,
            *(f"{v:.6f}" for v in out.flatten()[:4].tolist()),
            f"{out.abs().mean():.6f}",
            flush=True,
        )
