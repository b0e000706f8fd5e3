"""Modules around a module, whose parameters keep the names that they have in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..nn.modules.module import Module


class ModuleWrapper(Module):
    """A module that has another; what it has not itself is looked for there.

    Attributes:
        inner_name: the attribute that has the other
        plain_names: whether `named_parameters` has the names that they have in the other, as states do
    """

    inner_name: str
    plain_names = True

    def __init__(self, module: Module) -> None:
        super().__init__()
        setattr(self, self.inner_name, module)
        self.register_state_dict_post_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters by their names."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(f"{self.inner_name}.", "") if self.plain_names else name, parameter

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(self.inner_name), name)

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, self.inner_name)[key]


def _without_prefix(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    inner = f"{prefix}{module.inner_name}."
    for name in [n for n in state if n.startswith(inner)]:
        state[prefix + name.removeprefix(inner)] = state.pop(name)


def _with_prefix(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    inner = f"{prefix}{module.inner_name}."
    for name in [n for n in state if n.startswith(prefix)]:
        state[inner + name.removeprefix(prefix)] = state.pop(name)
