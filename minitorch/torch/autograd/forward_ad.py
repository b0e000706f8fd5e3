"""Tensors with tangents, for derivatives along with the computation: no tensor here has one.

`torch.func.jvp` and `jacfwd` give such derivatives, by walking back twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from ..tensor import Tensor


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor and its tangent, which is None."""
    return UnpackedDualTensor(tensor, None)


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        "tensors with tangents are not supported by minitorch.torch: use torch.func.jvp"
    )


make_dual = enter_dual_level = exit_dual_level = _refuse


class dual_level:  # noqa: N801
    """Where tensors may have tangents: nowhere."""

    __init__ = _refuse
