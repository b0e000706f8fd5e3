"""What goes wrong between processes."""

from __future__ import annotations


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """A collective could not be completed."""


class DistNetworkError(DistError):
    """Another machine, or a port of it, could not be reached."""


class DistStoreError(DistError):
    """A store did not answer, or had no such key in time."""
