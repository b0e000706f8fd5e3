"""Torch's name for where compiled modules are defined."""

from ..compiler.modules import OptimizedModule

__all__ = ["OptimizedModule"]
