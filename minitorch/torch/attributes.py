"""What programs set on tensors, apart from what tensors are made of.

Both lie in one dictionary of Python's, for speed. `Tensor.__dict__` shows programs their own part:

    >>> import minitorch.torch as torch
    >>> x = torch.ones(2)
    >>> x.label = "ones"
    >>> x.__dict__
    {'label': 'ones'}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class HasAttributes:
    """The base of tensors: it has Python's own dictionary of attributes."""


all_attributes: Callable[[Any], dict[str, Any]] = vars(HasAttributes)["__dict__"].__get__
"""All attributes of a tensor, its own and those of programs."""


class Attributes(dict[str, Any]):
    """What a program has set on an object; changes reach the object. Copies are plain."""

    def __init__(self, owner: Any, own: Any) -> None:
        self._all = all_attributes(owner)
        super().__init__((k, v) for k, v in self._all.items() if k not in own)

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._all[name] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del self._all[name]

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several."""
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, which is set if it is not there."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """Remove an attribute; its value."""
        self._all.pop(name, *default)
        return super().pop(name, *default)

    def clear(self) -> None:
        """Remove all."""
        for name in list(self):
            del self[name]

    def copy(self) -> dict[str, Any]:
        """A dictionary of its own."""
        return dict(self)

    __copy__ = copy

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (dict(self),)


def attributes_property(own: Callable[[], Any]) -> property:
    """`__dict__` of a class: all attributes but those with names in `own()`."""

    def put(owner: Any, given: dict[str, Any]) -> None:
        given = dict(given)
        shown = Attributes(owner, own())
        shown.clear()
        shown.update(given)

    return property(lambda owner: Attributes(owner, own()), put)
