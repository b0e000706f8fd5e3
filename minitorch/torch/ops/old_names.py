"""Deprecated and removed functions of Torch."""

from __future__ import annotations

from typing import Any

from ..overriding import DisableTorchFunction
from ..tensor import Tensor, tracks
from .products import mm
from .surface import FUNCTIONS, function, method, only_method

# --- Removed ------------------------------------------------------------------------------------


def _removed(name: str, instead: str) -> None:
    """Declare a removed function, which raises an error that names its replacement."""

    def call(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"This function was deprecated since version 1.9 and is now removed. `torch.{name}` is "
            f"deprecated in favor of `torch.linalg.{instead}`."
        )

    call.__name__, call.__doc__ = name, f"Removed; raises an error that names `linalg.{instead}`."
    function(call)
    if name != "matrix_rank":
        method(name, call)


for _name, _instead in {
    "eig": "eig", "lstsq": "lstsq", "matrix_rank": "matrix_rank", "solve": "solve", "symeig": "eigh",
}.items():  # fmt: skip
    _removed(_name, _instead)


@only_method
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """`reshape`, by an old name."""
    return self.reshape(*sizes)


@only_method
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """`reshape_as`, by an old name."""
    return self.reshape(tensor.shape)


@only_method
def as_subclass(self: Tensor, cls: type) -> Tensor:
    """The tensor as an instance of a subclass, with the same memory and history."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"as_subclass: {cls!r} does not inherit from Tensor")
    with DisableTorchFunction():
        made = self.view_as(self) if tracks(self) else self.detach()
    made.__class__ = cls
    return made


@only_method
def _is_all_true(self: Tensor) -> Tensor:
    return self.all()


@only_method
def _is_any_true(self: Tensor) -> Tensor:
    return self.any()


@only_method
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """The tensor that a module keeps when `other` is loaded in place of this one."""
    return other if assign else self.copy_(other).detach()


method("volatile", property(lambda self: False, doc="Removed; always False."))
method("grad_dtype", property(lambda self: self.dtype, doc="The type of the gradient."))

FUNCTIONS["dsmm"] = FUNCTIONS["hsmm"] = mm
