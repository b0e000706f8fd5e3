"""NumPy's names for arguments, `axis` and `keepdims`, wherever Torch takes them too.

The reductions and views that programs call most take them by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..tensor import Tensor
from .surface import FUNCTIONS, method

TORCH_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}


def with_numpy_names(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that understands NumPy's names for its arguments."""

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = {TORCH_NAMES.get(name, name): value for name, value in kwargs.items()}
        return fn(*args, **kwargs)

    return call


for _name in (
    "aminmax", "argsort", "cat", "chunk", "concat", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum",
    "diff", "gather", "index_add", "index_copy", "index_fill", "index_select", "kthvalue", "log_softmax",
    "logcumsumexp", "logsumexp", "median", "mode", "nanmean", "nanmedian", "nanquantile", "nansum", "quantile",
    "repeat_interleave", "scatter", "scatter_add", "softmax", "sort", "stack", "take_along_dim", "tensor_split",
    "topk", "unbind",
):  # fmt: skip
    FUNCTIONS[_name] = with_numpy_names(FUNCTIONS[_name])
    if hasattr(Tensor, _name):
        method(_name, with_numpy_names(getattr(Tensor, _name)))
