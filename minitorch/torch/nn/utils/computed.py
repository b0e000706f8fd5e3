"""Parameters that are recomputed before each call, by a hook that holds their name."""

from __future__ import annotations

from typing import Any

from ..parameter import UninitializedParameter


def find_hook(hooks: dict[int, Any], kind: type, name: str) -> int | None:
    """The id of a parameter's hook of a class, if there is one."""
    for number, hook in hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return number
    return None


def check_first(module: Any, kind: type, name: str, called: str) -> None:
    """RuntimeError if a parameter has such a hook already."""
    if find_hook(module._forward_pre_hooks, kind, name) is not None:
        raise RuntimeError(f"Cannot register two {called} hooks on the same parameter {name}")


def check_shaped(weight: Any, kind: type, whole: str) -> None:
    """ValueError if a parameter has no shape yet."""
    if isinstance(weight, UninitializedParameter):
        raise ValueError(
            f"The module passed to `{kind.__name__}` can't have uninitialized parameters. Make sure "
            f"to run the dummy forward before applying {whole}"
        )


def remove_hook(module: Any, kind: type, name: str, called: str) -> None:
    """Remove a parameter's hook, and make it a plain parameter again."""
    number = find_hook(module._forward_pre_hooks, kind, name)
    if number is None:
        raise ValueError(f"{called} of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(number).remove(module)
