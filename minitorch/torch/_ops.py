"""Torch's names for the classes of its operations."""

from .library import Overload as OpOverload
from .library import Overloads as OpOverloadPacket


class HigherOrderOperator:
    """An operation that takes functions: there are none, such calls are made of others."""


__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket"]
