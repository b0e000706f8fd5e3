"""Where arrays are computed: one folder per device. The CPU is always there."""

from .cpu import backend as _cpu  # noqa: F401
