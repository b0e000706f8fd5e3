"""Torch's `utils`: checkpointing; data loading comes with the layers."""

from . import checkpoint as checkpoint
