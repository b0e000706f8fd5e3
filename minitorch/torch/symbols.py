"""Numbers that a tracer does not know yet: classes to be asked about, of which there are no instances.

Shapes are always known here: there is a tape for each (`compiler/`).
"""

from __future__ import annotations


class _Symbol:
    def __init__(self, node: object) -> None:
        raise TypeError(
            f"{type(self).__name__}: shapes are always plain numbers in minitorch.torch"
        )


class SymInt(_Symbol):
    """A whole number that is not known yet."""


class SymFloat(_Symbol):
    """A real number that is not known yet."""


class SymBool(_Symbol):
    """A truth value that is not known yet."""
