"""How modules are converted: whether their parameters stay the same objects."""

from __future__ import annotations

_chosen = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Let `module.to` and its like put new parameters in the place of the old ones."""
    _chosen["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether converted parameters are new objects."""
    return _chosen["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Let `module.to` and its like exchange parameters with what they became, by `swap_tensors`."""
    _chosen["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether parameters are exchanged with what they became."""
    return _chosen["swap"]
