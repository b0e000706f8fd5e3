"""Torch's `utils`: hooks of modules, checkpointing."""

from . import checkpoint as checkpoint
from . import data as data
from . import hooks as hooks
