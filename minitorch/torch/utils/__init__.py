"""Torch's `utils`: hooks of modules, checkpointing, data."""

from ..lazy_attributes import lazy_attributes
from . import checkpoint as checkpoint
from . import dlpack as dlpack
from . import hooks as hooks
from .swapping import swap_tensors as swap_tensors

_LATER = ("_python_dispatch", "_pytree", "data", "deterministic", "tensorboard")
"""Modules that load when they are first asked for."""

__getattr__ = lazy_attributes(__name__, _LATER)
