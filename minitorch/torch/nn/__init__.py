"""Building blocks of networks."""

from . import functional as functional
