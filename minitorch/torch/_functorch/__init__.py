"""Torch's name for the rooms of `torch.func`: `torch._functorch.vmap` is the module that batches, where libraries replace steps."""

from ..func import vmapping as vmap

__all__ = ["vmap"]
