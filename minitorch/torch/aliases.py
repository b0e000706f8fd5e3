"""`import torch` as `import minitorch.torch`: other packages' names for modules of ours.

The modules are the same objects under both names, so their classes are the same too.

    >>> find_module("torch.autograd").__name__
    'minitorch.torch.autograd'

After `install()`, `import torch.autograd` gives that module, and `importlib.metadata.version("torch")`
the version of Torch that it behaves as.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType

ALIASES = {
    "torch": "minitorch.torch",
    "functorch": "minitorch.torch.functorch",
    "safetensors": "minitorch.torch.safetensors",
    "torchvision": "minitorch.torchvision",
}
"""Packages that programs import, and the modules that they get."""


def real_name(name: str) -> str | None:
    """The name of our module for `torch.nn` or the like; None for packages of others."""
    top, dot, rest = name.partition(".")
    return ALIASES[top] + dot + rest if top in ALIASES else None


def find_module(name: str) -> ModuleType:
    """Our module for a name such as `torch.nn`; ModuleNotFoundError names what is missing."""
    real = real_name(name) or name
    try:
        return importlib.import_module(real)
    except ModuleNotFoundError as error:
        if error.name is None or not (real + ".").startswith(error.name + "."):
            raise  # our module is there, and lacks something else
    parent, _, last = name.rpartition(".")
    attribute = getattr(find_module(parent), last, None) if parent else None
    if isinstance(attribute, ModuleType):
        return attribute
    raise ModuleNotFoundError(f"minitorch.torch does not support the module {name!r}", name=name)


class AliasDistribution(Distribution):
    """What `importlib.metadata` tells of a package in the table: its name and its version."""

    def __init__(self, package: str) -> None:
        self.package = package

    def read_text(self, filename: str) -> str | None:
        """The one file that there is."""
        if filename != "METADATA":
            return None
        version = find_module(self.package).__version__
        return f"Metadata-Version: 2.1\nName: {self.package}\nVersion: {version}\n"

    def locate_file(self, path: object) -> Path:
        """Where a file of the package would be."""
        return Path(find_module(self.package).__file__ or "").parent / str(path)


class AliasFinder(DistributionFinder, Loader):
    """Answers imports of the packages in a table, and questions about them, with our modules."""

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterator[Distribution]:
        """The packages of a name; of all names if none is asked for."""
        wanted = None if context is None else context.name
        for package in ALIASES:
            if wanted is None or re.sub(r"[-_.]+", "-", wanted).lower() == package:
                yield AliasDistribution(package)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """How to load an alias; None for all other modules."""
        if real_name(fullname) is None:
            return None
        module = find_module(fullname)
        spec = ModuleSpec(fullname, self, is_package=hasattr(module, "__path__"))
        spec.loader_state = module, module.__spec__
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Our module itself."""
        return spec.loader_state[0]

    def exec_module(self, module: ModuleType) -> None:
        """Give our module its own specification back, which the import has just replaced.

        A package is called as it was asked for: libraries look at `torch.__name__`.
        """
        spec = module.__spec__
        if spec is not None and spec.loader is self:
            module.__spec__ = spec.loader_state[1]
            if spec.name in ALIASES:
                module.__name__ = spec.name


def install() -> None:
    """From now on, let `import torch` and its like give our modules, in this process."""
    if any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
        return
    for name, module in list(sys.modules.items()):
        if real_name(name) is not None and module is not sys.modules.get(real_name(name) or ""):
            del sys.modules[name]
    sys.meta_path.insert(0, AliasFinder())
    for module, kind in (("torch", "Tensor"), ("torch.nn.parameter", "Parameter")):
        getattr(find_module(module), kind).__module__ = module  # libraries tell tensors by it
