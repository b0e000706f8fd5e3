"""Torch's tensors without memory, to be asked about: no tensor is one."""

from __future__ import annotations

from typing import Any


class FakeTensor:
    """A tensor without memory: none is one."""


class FakeTensorMode:
    """Where operations make such tensors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "torch._subclasses.FakeTensorMode is not in minitorch.torch: write `with torch.device('meta'):`"
        )


def is_fake(x: Any) -> bool:
    """Whether a value is a tensor without memory: none is."""
    return False
