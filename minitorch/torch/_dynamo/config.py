"""Torch's name for the compiler's settings: the same module."""

import sys

from ..compiler import config

sys.modules[__name__] = config
