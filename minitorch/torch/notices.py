"""Warnings that several places give, or that are given once in a process."""

from __future__ import annotations

import warnings

_GIVEN: set[str] = set()
_NO_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
    "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
    "the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
)


def warn_once(message: str, stacklevel: int = 3) -> None:
    """Warn the caller's caller, unless that was done before in this process."""
    if message not in _GIVEN:
        _GIVEN.add(message)
        warnings.warn(message, stacklevel=stacklevel + 1)


def warn_of_no_leaf() -> None:
    """Warn a caller who reads `.grad` of a tensor that is not a leaf."""
    warnings.warn(_NO_LEAF, stacklevel=3)
