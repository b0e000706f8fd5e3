"""Torch's name for what the compiler raises: the same module."""

import sys

from ..compiler import exceptions

sys.modules[__name__] = exceptions
