"""Torch's planners, which say what of a state is saved and loaded. There are these two, with one choice between them."""

from __future__ import annotations

from typing import Any


class DefaultSavePlanner:
    """Saves everything: what several ranks have is written once."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Torch's options say how tensors are named and shared out among files."""


class DefaultLoadPlanner:
    """Loads everything that a state asks for.

    Args:
        allow_partial_load: what the checkpoint has not stays as it is; otherwise that is an error
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.allow_partial_load = allow_partial_load


def check_planner(planner: Any, kind: type[Any]) -> None:
    """NotImplementedError for a planner of another kind, which would be ignored."""
    if planner is not None and type(planner) is not kind:
        raise NotImplementedError(
            f"checkpoints are planned by {kind.__name__} alone, not by {type(planner).__name__}"
        )
