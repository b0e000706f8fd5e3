"""Where arrays are computed: one folder per device. The CPU is always there."""

from ..lazy_attributes import lazy_attributes
from .cpu import backend as _cpu  # noqa: F401

_LATER = ("cudnn", "mkl", "mkldnn", "mps", "openmp")
"""Modules that programs ask, which load when they are first asked for."""

__getattr__ = lazy_attributes(__name__, _LATER)
