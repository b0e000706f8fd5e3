"""What guards note about one dictionary or one tensor, and whether that is still so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..tensor import Tensor
from .comparing import MISSING, fits, hooks_of, same_key
from .tape import layout_of


class DictFacts(NamedTuple):
    """What a dictionary has.

    Attributes:
        where: the dictionary
        size: how many keys it has; None if others may come and go
        keys: these in order; () if only their number counts
        names: keys whose values count
        values: these values
    """

    where: Any
    size: int | None
    keys: tuple[Any, ...]
    names: tuple[Any, ...]
    values: tuple[Any, ...]

    def is_numbered(self) -> bool:
        """Whether a new version tells of every change; not of another order in an OrderedDict."""
        return type(self.where) is dict

    def change(self) -> str:
        """What is no longer as it was; "" if nothing."""
        where, size, keys, names, values = self
        if size is not None and (len(where) != size or not all(map(same_key, where, keys))):
            return f"the names in a dictionary of {len(where)}"
        for key, value in zip(names, values, strict=True):
            now = where[key] if size is not None or key in where else MISSING
            if now is not value and not fits(value, now):
                return f"{key!r}"
        return ""


def dict_facts(where: Any, names: Iterable[Any] | None = None) -> DictFacts:
    """What a dictionary has now: all keys, and the values of some."""
    keys = tuple(where)
    chosen = keys if names is None else tuple(names)
    return DictFacts(where, len(keys), keys, chosen, tuple([where[name] for name in chosen]))


class TensorFacts(NamedTuple):
    """A tensor's memory, whether it and the tensor that it is a view of require gradients, what is known of its own, and its hooks."""

    tensor: Tensor
    array: Any
    requires_grad: bool
    of_base: bool
    gradient: Any
    hooks: tuple[list[Any], ...]

    def stays(self) -> bool:
        """Whether the tensor's attributes say all of this, and plays do not set them."""
        tensor = self.tensor
        return not tensor._requires_grad and tensor._grad is tensor._base is tensor._hooks is tensor._after_accumulate is tensor._accumulator is None  # fmt: skip


def tensor_change(all_facts: Iterable[TensorFacts]) -> str:
    """What is no longer as it was, of some tensors, but for their gradients; "" if nothing."""
    for tensor, array, requires_grad, of_base, _, hooks in all_facts:
        if tensor._array is not array:
            return "the memory of a tensor"
        base = tensor._base
        if tensor._requires_grad is not requires_grad or (
            base is not None and base._requires_grad is not of_base
        ):
            return "requires_grad of a tensor"
        if (
            hooks
            or tensor._hooks is not None
            or tensor._after_accumulate is not None
            or tensor._accumulator is not None
        ) and hooks_of(tensor) != hooks:
            return "the hooks of a tensor"
    return ""


def gradient_facts(tensor: Tensor, closely: bool) -> Any:
    """Whether a tensor has a gradient, or what that looks like."""
    gradient = tensor._grad
    if gradient is None or not closely:
        return gradient is not None
    return layout_of(gradient._array), gradient._requires_grad


def same_gradients(all_facts: Iterable[TensorFacts], closely: bool) -> bool:
    """Whether the tensors that had a gradient have one, no others do, and, if asked, they look as they did."""
    for tensor, _, _, _, gradient, _ in all_facts:
        if closely:
            if gradient_facts(tensor, closely) != gradient:
                return False
        elif (tensor._grad is not None) is not gradient:
            return False
    return True
