"""What a package has and loads only when it is first asked for: `__getattr__ = lazy_attributes(__name__, ...)`."""

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def lazy_attributes(
    package: str, modules: Collection[str], names: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of a package.

    Args:
        package: its name
        modules: those of its modules that load when they are first asked for
        names: what such modules define, and the module of each, as `.module` or `..package.module`
    """

    def load(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if names and name in names:
            return getattr(import_module(names[name], package), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
