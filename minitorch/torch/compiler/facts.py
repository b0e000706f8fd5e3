"""What guards note about one dictionary or one tensor, and whether that is still so."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..tensor import Tensor
from .comparing import fits, hooks_of, same_key


class DictFacts(NamedTuple):
    """All keys of a dictionary in order, and what is at some of them."""

    where: Any
    keys: list[Any]
    items: list[tuple[Any, Any]]

    def is_numbered(self) -> bool:
        """Whether a new version tells of every change; not of another order in an OrderedDict."""
        kind = type(self.where)
        return kind is dict or (kind is OrderedDict and not self.keys)

    def change(self) -> str:
        """What is no longer as it was; "" if nothing."""
        where, keys, items = self
        if len(where) != len(keys) or not all(map(same_key, where, keys)):
            return f"the names in a dictionary of {len(where)}"
        for key, value in items:
            now = where[key]
            if now is not value and not fits(value, now):
                return f"{key!r}"
        return ""


class TensorFacts(NamedTuple):
    """A tensor's memory, whether it and the tensor that it is a view of require gradients, whether it has one, and its hooks."""

    tensor: Tensor
    array: Any
    requires_grad: bool
    of_base: bool
    has_gradient: bool
    hooks: tuple[list[Any], ...]

    def stays(self) -> bool:
        """Whether the tensor's attributes say all of this, and plays do not set them."""
        tensor = self.tensor
        return not tensor._requires_grad and tensor._base is tensor._hooks is tensor._after_accumulate is tensor._accumulator is None  # fmt: skip


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


def same_gradients(all_facts: Iterable[TensorFacts]) -> bool:
    """Whether the tensors that had a gradient have one, and no others do."""
    for tensor, _, _, _, has_gradient, _ in all_facts:
        if (tensor._grad is not None) is not has_gradient:
            return False
    return True
