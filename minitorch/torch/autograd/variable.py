"""Torch's old name for tensors that are differentiated."""

from ..tensor import Tensor as Variable

__all__ = ["Variable"]
