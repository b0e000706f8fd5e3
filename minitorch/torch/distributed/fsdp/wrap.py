"""Which parts of a model are wrapped: by their class, by their size, by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ...nn.modules.activation import MultiheadAttention
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module

Policy = Callable[..., Any]
"""Called with a module, whether its parts are asked about (`recurse`), and the number of elements in parameters that are not wrapped."""


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap every part."""
    return True


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Wrap parts that have at least so many elements which no inner part has taken."""
    if nonwrapped_numel < min_num_params:
        return False
    if recurse:
        return not isinstance(module, tuple(force_leaf_modules or (MultiheadAttention,)))
    return not isinstance(module, tuple(exclude_wrap_modules or (ModuleList, ModuleDict)))


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """Wrap the blocks of a Transformer, by their classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Wrap the parts that a function chooses."""
    return recurse or bool(lambda_fn(module))


def _or_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Policy]
) -> bool:
    """Wrap what any of some policies wraps."""
    asked = {"module": module, "recurse": recurse, "nonwrapped_numel": nonwrapped_numel}
    return any(policy(**asked) for policy in policies)


class ModuleWrapPolicy:
    """Wrap the parts of some classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({self._module_classes})"


class CustomPolicy:
    """Wrap the parts for which a function is true, or gives options that are then theirs."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> Any:
        if recurse:
            return True
        answer = self._lambda_fn(module)
        if not isinstance(answer, (dict, bool)):
            raise ValueError(
                "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned "
                f"{answer}"
            )
        return answer


def wrap_parts(
    module: Module, policy: Policy, wrapper: Callable[..., Module], ignored: set[int], inner: bool = False
) -> tuple[Module, int]:  # fmt: skip
    """Wrap the parts of a module that a policy chooses, inner ones first.

    Args:
        module: its parts are replaced
        policy: chooses
        wrapper: makes a module around another, with options that the policy may give
        ignored: the identities of parameters that stay whole
        inner: whether the module itself may be wrapped, too

    Returns:
        The module, or what is around it, and how many elements of parameters are wrapped.
    """
    elements = sum(p.numel() for p in module.parameters() if id(p) not in ignored)
    if not policy(module=module, recurse=True, nonwrapped_numel=elements):
        return module, 0
    taken = 0
    for name, child in list(module.named_children()):
        made, count = wrap_parts(child, policy, wrapper, ignored, inner=True)
        if made is not child:
            setattr(module, name, made)
        taken += count
    if not inner:
        return module, taken
    chosen = policy(module=module, recurse=False, nonwrapped_numel=elements - taken)
    if not chosen:
        return module, taken
    return wrapper(module, **(chosen if isinstance(chosen, dict) else {})), elements


# --- By hand ----------------------------------------------------------------------------------

_wrapping: list[tuple[Callable[..., Module], dict[str, Any]]] = []


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """While it is open, `wrap` wraps with a class and its options."""
    _wrapping.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.pop()


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """The module wrapped, within `enable_wrap`; elsewhere as it is."""
    if not _wrapping:
        return module
    wrapper, options = _wrapping[-1]
    return wrapper(module, **{**options, **wrap_overrides})
