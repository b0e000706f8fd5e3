"""Calls of a module with other tensors in place of its parameters and buffers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...tensor import Tensor
from ..modules.module import Module

_ABSENT = object()


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Torch's deprecated name for `torch.func.functional_call`."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    given = (module, parameters_and_buffers, args, kwargs)
    return _functional_call(*given, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with given tensors, by name, in place of its parameters and buffers."""
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def _reparametrize_module(
    module: Module, given: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Replace a module's tensors within a `with` block; assignments are written back to the given dict."""
    tensors = _with_tied(module, given) if tie_weights else dict(given)
    if strict:
        _check_names(module, tensors)
    before: dict[str, Any] = {}
    try:
        for name, tensor in tensors.items():
            before[name] = _swap(module, name, tensor)
        yield
    finally:
        for name in reversed(before):
            left = _swap(module, name, before[name])
            if name in given:
                given[name] = left


def _swap(module: Module, dotted: str, tensor: Any) -> Any:
    """Set the tensor with a dotted name, and return the old one."""
    above, _, name = dotted.rpartition(".")
    owner = module.get_submodule(above)
    for place in (owner._parameters, owner._buffers, owner.__dict__):
        if name in place or place is owner.__dict__:
            old = place.pop(name, _ABSENT) if tensor is _ABSENT else place.get(name, _ABSENT)
            if tensor is not _ABSENT:
                place[name] = tensor
            return old
    raise AssertionError("a module has a dict of attributes")


def _all_tensors(module: Module) -> dict[str, Tensor]:
    """All parameters and buffers, under all of their names."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _with_tied(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors by name, also under the other names of tied tensors."""
    names: dict[int, set[str]] = {}
    for name, tensor in _all_tensors(module).items():
        names.setdefault(id(tensor), set()).add(name)
    full = dict(given)
    for tied in names.values():
        named = sorted(tied & given.keys())
        if not named:
            continue
        if len({id(given[name]) for name in named}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {named}, which are tied. "
                "Consider using tie_weights=False"
            )
        full |= dict.fromkeys(tied, given[named[0]])
    return full


def _check_names(module: Module, tensors: dict[str, Tensor]) -> None:
    own = _all_tensors(module)
    errors = []
    for what, names in (
        ("Unexpected", tensors.keys() - own.keys()),
        ("Missing", own.keys() - tensors.keys()),
    ):
        if names:
            errors.append(f"{what} key(s): {', '.join(map(repr, sorted(names)))}.")
    if errors:
        listed = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{listed}")
