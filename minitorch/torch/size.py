"""The shape of a tensor."""

from __future__ import annotations

from typing import Any


class Size(tuple[int, ...]):
    """A shape; a tuple that prints as Torch's."""

    __slots__ = ()

    def numel(self) -> int:
        """How many elements a tensor of this shape has."""
        total = 1
        for size in self:
            total *= size
        return total

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[type, tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)
