"""Compiled functions and modules, as programs see them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any

from ..nn.modules.module import Module
from .compiled import Compiled


def compiled_form(model: Any, fullgraph: bool, name: str, backend: Any) -> Any:
    """A function or module that plays tapes or what a backend makes of graphs, or one that looks like it and calls the original.

    Args:
        model: the function or module
        fullgraph: whether it is an error if there can be no tape
        name: what the tape is called
        backend: True: tapes are played; False: the original is called; else a function that is given graphs
    """
    if isinstance(model, Module):
        return OptimizedModule(model, fullgraph, name, backend)
    if isinstance(model, type):
        model.__call__ = compiled_form(model.__call__, fullgraph, name, backend)  # type: ignore[method-assign]
        return model
    if isinstance(model, Compiled):
        model = model.fn
    if not backend:
        return functools.wraps(model)(lambda *args, **kwargs: model(*args, **kwargs))
    return _player(model, fullgraph, name, backend)


def _player(fn: Callable[..., Any], fullgraph: bool, name: str, backend: Any) -> Compiled:
    if backend is True:
        return Compiled(fn, fullgraph, name)
    from .captured import Captured

    return Captured(fn, fullgraph, name, backend)


class OptimizedModule(Module):
    """A module whose calls are played from tapes; all else is the original's, `_orig_mod`."""

    def __init__(
        self, mod: Module, fullgraph: bool = False, name: str = "", backend: Any = True
    ) -> None:
        super().__init__()
        del self.__dict__["training"]
        self.__dict__["_settings"] = fullgraph, name or type(mod).__name__, backend
        self._modules["_orig_mod"] = mod
        self._prepare()

    def _prepare(self) -> None:
        mod = self._modules["_orig_mod"]
        fullgraph, name, backend = self.__dict__["_settings"]
        call: Callable[..., Any] = MethodType(type(mod).__call__, mod)
        self.__dict__["_called"] = self.__dict__["_compiled"] = call
        if backend is True and hasattr(
            mod, "_compiled_module"
        ):  # ranks exchange around the module's calls
            mod.compile(fullgraph=fullgraph, name=name)
            self.__dict__["_compiled"] = mod._compiled_module
        elif backend:
            self.__dict__["_called"] = self.__dict__["_compiled"] = _player(call, fullgraph, name, backend)  # fmt: skip

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The original, from a tape where that is possible."""
        return self._called(*args, **kwargs)

    def timeline(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module once more, from its tape, and say how long each step of the program took."""
        return self._compiled.timeline(*args, **kwargs)

    def unfused_timeline(self, *args: Any, **kwargs: Any) -> Any:
        """The same before fusion: how long each entry of the tape took."""
        return self._compiled.unfused_timeline(*args, **kwargs)

    @property
    def tape(self) -> Any:
        """The tape that was played or traced last."""
        return self._compiled.tape

    def _is_training(self) -> bool:
        return self._modules["_orig_mod"].training

    def _set_training(self, training: bool) -> None:
        self._modules["_orig_mod"].training = training

    training: Any = property(_is_training, _set_training)  # that of the original

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if name == "_orig_mod" or "_orig_mod" not in modules:
            return super().__getattr__(name)
        return getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training":
            object.__setattr__(self, name, value)
        elif name in self.__dict__:
            self.__dict__[name] = value
        else:
            setattr(self._modules["_orig_mod"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._modules["_orig_mod"], name)

    def __len__(self) -> int:
        return len(self._modules["_orig_mod"])  # type: ignore[arg-type]

    def __getitem__(self, key: Any) -> Any:
        return self._modules["_orig_mod"][key]

    def __iter__(self) -> Any:
        return iter(self._modules["_orig_mod"])

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_compiled", None)
        state.pop("_called", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._prepare()
