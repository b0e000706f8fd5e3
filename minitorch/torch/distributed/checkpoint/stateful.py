"""Objects that have a state."""

from .storage import Stateful as Stateful
