"""Lists and dicts that a node's arguments are made of: they cannot be changed in place.

A graph knows who uses what from the arguments of its nodes, so these change by assignment alone.
"""

from __future__ import annotations

from typing import Any, NoReturn

_HINT = "If you are attempting to modify the kwargs or args of a torch.fx.Node object, instead create a new copy of it and assign the copy to the node"


def _no_mutation(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_HINT}")


class immutable_list(list[Any]):  # noqa: N801
    """A list that cannot be changed."""

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


class immutable_dict(dict[Any, Any]):  # noqa: N801
    """A dict that cannot be changed."""

    def __reduce__(self) -> Any:
        return immutable_dict, (iter(self.items()),)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


for _cls, _names in (
    (immutable_list, "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort"),
    (immutable_dict, "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update"),
):  # fmt: skip
    for _name in _names.split():
        setattr(_cls, _name, _no_mutation)
