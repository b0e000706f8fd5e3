"""What the cases share: how they are noted, and what is compared."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch.torch as torch

nn = torch.nn
CASES: dict[str, tuple[Any, str, bool]] = {}


def way(expected: str, exactly: bool = True):
    """A way to break a tape. `expected`: played, eager, or one after the other ("both"); to the bit, or to rounding."""

    def note(case):
        if case.__name__ in CASES:
            raise ValueError(f"there are two cases {case.__name__!r}")
        CASES[case.__name__] = case, expected, exactly
        return case

    return note


ROUNDINGS = 64
"""By how many roundings of the largest number of an array another one may differ where programs computed it."""


class Numbers:
    """The elements of a tensor, which agree to the bit, or nearly."""

    def __init__(self, tensor: Any) -> None:
        array = tensor.detach().cpu()
        self.array = (array.float() if array.dtype is torch.bfloat16 else array).numpy().copy()

    def agrees(self, other: Numbers, exactly: bool) -> bool:
        """Whether another tensor has the same numbers."""
        a, b = self.array, other.array
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if exactly or a.dtype.kind not in "fc" or not a.size:
            return a.tobytes() == b.tobytes()
        finite = np.abs(a[np.isfinite(a)])
        bound = ROUNDINGS * np.finfo(a.dtype).eps * max(1.0, float(finite.max(initial=0)))
        return np.allclose(a, b, rtol=0, atol=bound, equal_nan=True)


def agree(a: Any, b: Any, exactly: bool = True) -> bool:
    """Whether two programs saw the same."""
    if isinstance(a, Numbers) and isinstance(b, Numbers):
        return a.agrees(b, exactly)
    if isinstance(a, (tuple, list)) and type(a) is type(b):
        return len(a) == len(b) and all(agree(x, y, exactly) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and type(a) is type(b):
        return list(a) == list(b) and all(agree(a[key], b[key], exactly) for key in a)
    return a == b


def seen(value: Any) -> Any:
    """All that can be seen of a value, for comparing."""
    if isinstance(value, torch.Tensor):
        grad = seen(value.grad) if value.is_leaf and value.grad is not None else None
        return (
            "tensor", str(value.dtype), tuple(value.shape), value.stride(), Numbers(value), value.requires_grad,
            value.is_leaf, grad, type(value).__name__, value.is_inference(),
        )  # fmt: skip
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [seen(v) for v in value]
    if isinstance(value, dict):
        return type(value).__name__, {k: seen(v) for k, v in value.items()}
    return repr(value)


def data(*shape: int) -> Any:
    """Normal random numbers."""
    return torch.randn(*shape)


def network(*more: Any) -> Any:
    """Two layers, and what is put between them."""
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), *more, nn.Linear(4, 2))
