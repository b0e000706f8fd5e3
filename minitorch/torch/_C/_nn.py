"""Functions of layers that libraries ask Torch's C++ module for."""

from __future__ import annotations

from typing import Any

from .._utils import _flatten_dense_tensors as flatten_dense_tensors
from .._utils import _unflatten_dense_tensors as unflatten_dense_tensors
from ..nn.functional import (
    avg_pool2d,
    avg_pool3d,
    gelu,
    linear,
    one_hot,
    scaled_dot_product_attention,
)
from ..nn.utils.rnn import pad_sequence
from ..ops.conversion import destination


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, type, `non_blocking` and layout that the arguments of `Module.to` name."""
    non_blocking = bool(kwargs.get("non_blocking", False))
    kind, where, _, memory_format = destination(args, dict(kwargs))
    return where, kind, non_blocking, memory_format


__all__ = [
    "_parse_to", "avg_pool2d", "avg_pool3d", "flatten_dense_tensors", "gelu", "linear", "one_hot", "pad_sequence",
    "scaled_dot_product_attention", "unflatten_dense_tensors",
]  # fmt: skip
