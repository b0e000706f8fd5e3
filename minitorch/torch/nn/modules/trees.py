"""Iteration over the submodules, parameters and buffers of a module, in Torch's order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ..parameter import Parameter

if TYPE_CHECKING:
    from .module import Module


class Trees:
    """The part of a module that iterates over its submodules."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(dotted name, module) for this module and all submodules, parents first."""
        seen = set() if memo is None else memo
        waiting: list[tuple[str, Any]] = [(prefix, self)]
        while waiting:
            name, module = waiting.pop()
            if module in seen:
                continue
            if remove_duplicate:
                seen.add(module)
            yield name, module
            dotted = f"{name}." if name else ""
            for key, child in reversed(module._modules.items()):
                if child is not None:
                    waiting.append((dotted + key, child))

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:  # type: ignore[override]
        """This module and all submodules, parents first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) for the direct children."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct children."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """(dotted name, member) for the members of this module and all submodules."""
        seen: set[int] = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for name, module in modules:
            dotted = f"{name}." if name else ""
            for key, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield dotted + key, member

    def named_parameters(  # type: ignore[override]
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) for this module and all submodules, its own first."""
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:  # type: ignore[override]
        """The parameters of this module and all submodules, its own first."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, buffer) for this module and all submodules, its own first."""
        return self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and all submodules, its own first."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The module with a dotted name."""
        found: Any = self
        for part in target.split(".") if target else ():
            below = _attribute(found, part)
            if not isinstance(below, Trees):
                raise AttributeError(f"`{part}` is not an nn.Module")
            found = below
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Set the module with a dotted name; `strict`: it must exist."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Trees):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        above, _, last = target.rpartition(".")
        parent = self.get_submodule(above)
        wanted = strict or hasattr(parent, last)
        if wanted and not isinstance(_attribute(parent, last), Trees):
            raise AttributeError(f"`{last}` is not an nn.Module")
        setattr(parent, last, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name."""
        above, _, last = target.rpartition(".")
        found = _attribute(self.get_submodule(above), last)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{last}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name."""
        above, _, last = target.rpartition(".")
        module = self.get_submodule(above)
        found = _attribute(module, last)
        if last not in module._buffers:
            raise AttributeError(f"`{last}` is not a buffer")
        return found


def _attribute(module: Any, name: str) -> Any:
    """An attribute; Torch's error if it is missing."""
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)
