"""What the cases share: how they are noted, and what is compared."""

from __future__ import annotations

from typing import Any

import minitorch.torch as torch

nn = torch.nn
CASES: dict[str, tuple[Any, str]] = {}


def way(expected: str):
    """A way to break a tape. `expected`: played, eager, or one after the other ("both")."""

    def note(case):
        CASES[case.__name__] = case, expected
        return case

    return note


def seen(value: Any) -> Any:
    """All that can be seen of a value, for comparing."""
    if isinstance(value, torch.Tensor):
        grad = None if value.grad is None or not value.is_leaf else seen(value.grad)
        array = value.detach()
        array = (array.float() if array.dtype is torch.bfloat16 else array).numpy()
        return (
            "tensor", str(value.dtype), tuple(value.shape), value.stride(), array.tobytes(), value.requires_grad,
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
