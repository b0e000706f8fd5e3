"""Options of optimizers: declared as annotations, and checked by their names.

    @optimizer
    class Adamax(ElementwiseOptimizer):
        params: ParamsT
        lr: float | Tensor = 2e-3
        betas: tuple[float, float] = (0.9, 0.999)

The annotations are the constructor's arguments, in order; all but `params` are the defaults of groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, dataclass_transform

from ..declarations import constructor
from ..tensor import Tensor
from .optimizer import Optimizer, Options

Kind = TypeVar("Kind", bound=type[Optimizer])


@dataclass_transform(eq_default=False)
def optimizer(cls: Kind) -> Kind:
    """Generate a class's `__init__` from its annotations; its `_check`, if any, checks the options."""

    def build(self: Any, options: Options) -> None:
        params = options.pop("params")
        self._check(options)
        Optimizer.__init__(self, params, options)

    cls.__init__ = constructor(cls, build)  # type: ignore[method-assign]
    return cls


def as_float(value: Any) -> Any:
    """A float, from a number or a tensor."""
    return value.item() if isinstance(value, Tensor) else value


_NAMES = {"lr": "learning rate", "eps": "epsilon value"}
_AT_LEAST_0 = (
    "lr", "lr_decay", "eps", "momentum", "weight_decay", "alpha", "momentum_decay",
    "initial_accumulator_value",
)  # fmt: skip


def check_options(options: Options) -> None:
    """Torch's errors for invalid values of common options."""
    check_lr(options["lr"])
    for name in _AT_LEAST_0:
        if name in options and not options[name] >= 0.0:
            raise ValueError(f"Invalid {_NAMES.get(name, f'{name} value')}: {options[name]}")
    check_betas(options.get("betas", ()))
    if options.get("fused"):
        if options["differentiable"]:
            raise RuntimeError("`fused` does not support `differentiable`")
        if options["foreach"]:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_lr(lr: Any) -> None:
    """ValueError if a learning rate is a tensor of several numbers."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_dense(optimizer: object, gradient: Any) -> None:
    """RuntimeError for a sparse gradient."""
    if gradient.is_sparse:
        raise RuntimeError(f"{type(optimizer).__name__} does not support sparse gradients")


def check_betas(betas: Iterable[Any]) -> None:
    """ValueError unless Adam's rates are in [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def direction(options: Options) -> float:
    """-1 where the optimizer maximizes, else 1."""
    return -1.0 if options["maximize"] else 1.0


def weight_decay(options: Options, lr: float) -> tuple[float, float]:
    """The weight decay added to the gradient, and the factor of decoupled weight decay."""
    decay = as_float(options["weight_decay"])
    return (0.0, 1 - lr * decay) if options["decoupled_weight_decay"] else (decay, 1.0)
