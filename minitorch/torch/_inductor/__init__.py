"""Torch's name for what makes kernels of a traced program; here, its settings."""

from . import config as config

__all__ = ["config"]
