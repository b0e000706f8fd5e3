"""Torch's tensors without memory, to be asked about: no tensor is one; use `device="meta"`."""

from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
