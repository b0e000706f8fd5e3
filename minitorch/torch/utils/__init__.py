"""Torch's `utils`: hooks of modules, checkpointing."""

from . import checkpoint as checkpoint
from . import hooks as hooks
