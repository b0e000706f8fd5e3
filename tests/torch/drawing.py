"""Random numbers of GPUs that can be compared with the CPU's: they are the CPU's, moved there."""

from __future__ import annotations

from typing import Any

import pytest

from minitorch.torch.backends.cuda import backend as gpus
from minitorch.torch.backends.interface import Backend
from minitorch.torch.generator import default_generator


def draw_on_the_cpu(patch: pytest.MonkeyPatch) -> None:
    """Let the CPU draw what GPUs would draw, by its own generator."""

    def draw(self: gpus.Cuda, distribution: Any, shape: Any, kind: Any, where: Any, *args: Any, **named: Any) -> Any:  # fmt: skip
        args = tuple(map(self._downloaded, args))
        return self.from_numpy(distribution(shape, kind, *args, **named), where)

    patch.setattr(gpus.Cuda, "draw", draw)
    patch.setattr(gpus.Cuda, "permutation", Backend.permutation)
    patch.setattr(gpus.Cuda, "generator", lambda self, index: default_generator)
    patch.setattr(gpus.require_cuda(), "kernels", {})
    patch.setattr(gpus, "DRAWN_BY_THE_CPU", gpus.DRAWN_BY_THE_CPU | {"multinomial", "normal"})
