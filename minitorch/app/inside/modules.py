"""The tree of a module: names, modes and parameters, as `minitorch.Module` reports them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import minitorch


class Layer(minitorch.Module):
    """A few numbers as parameters."""

    def __init__(self, count: int) -> None:
        super().__init__()
        for number in range(count):
            self.add_parameter(f"weight{number}", 0.1 * number)
        self.add_parameter("bias", 0.0)


class Network(minitorch.Module):
    """Three layers, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.layer1, self.layer2, self.layer3 = Layer(2), Layer(3), Layer(1)


class Branch(minitorch.Module):
    """A module with a module inside, down to a depth."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.scale = minitorch.Parameter(1.0)
        if depth:
            self.left = Branch(depth - 1)
            self.right = Branch(depth - 1) if depth > 1 else Layer(1)


Own = dict[str, Any]
"""A module of the user's: the `file`, the `name` of the class, and the `arguments` to make one."""


def own_classes(file: str) -> list[str]:
    """The modules that a file of the user's defines."""
    found = vars(_load(file)).items()
    return [
        name
        for name, value in found
        if isinstance(value, type)
        and issubclass(value, minitorch.Module)
        and value.__module__ == "own_module"
    ]


def _load(file: str) -> Any:
    """A file as it was saved last."""
    spec = importlib.util.spec_from_loader("own_module", loader=None)
    if spec is None:
        raise ImportError(f"{file} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    code = compile(Path(file).read_text(encoding="utf-8"), file, "exec")
    exec(code, module.__dict__)
    return module


def make(example: str, own: Own | None = None) -> minitorch.Module:
    """One of the examples, or a module of the user's."""
    if own is not None:
        return getattr(_load(own["file"]), own["name"])(*own["arguments"])
    return {"network": Network, "nested": lambda: Branch(3), "single": lambda: Layer(3)}[example]()


def find(module: minitorch.Module, path: str) -> minitorch.Module:
    """The module that a path of names leads to; the empty path is the module itself."""
    for name in path.split(".") if path else []:
        module = module.__dict__["_modules"][name]
    return module


def tree(example: str, orders: list[tuple[str, str]], own: Own | None = None) -> dict[str, Any]:
    """The tree of an example after orders such as `("layer1", "eval")` were carried out in turn."""
    module = make(example, own)
    for path, mode in orders:
        part = find(module, path)
        if mode == "eval":
            part.eval()
        else:
            part.train()
    return _tree(module, "", type(module).__name__.lower())


def _tree(module: minitorch.Module, path: str, name: str) -> dict[str, Any]:
    children = module.__dict__["_modules"]
    return {
        "path": path,
        "name": name,
        "kind": type(module).__name__,
        "training": bool(module.training),
        "parameters": {n: _plain(p.value) for n, p in module.__dict__["_parameters"].items()},
        "children": [_tree(c, f"{path}.{n}".lstrip("."), n) for n, c in children.items()],
    }


def _plain(value: Any) -> float | str:
    """A parameter's value: a number, or a tensor by its shape."""
    if hasattr(value, "shape"):
        return f"tensor {tuple(value.shape)}"
    try:
        return float(getattr(value, "data", value))
    except (TypeError, ValueError):
        return str(value)[:40]


def names(example: str, own: Own | None = None) -> list[tuple[str, float | str]]:
    """What `named_parameters` gives: names and values, in its order."""
    return [(name, _plain(p.value)) for name, p in make(example, own).named_parameters()]


def counts(example: str, own: Own | None = None) -> dict[str, int]:
    """How many parameters `parameters` gives, for each module by its path."""
    found: dict[str, int] = {}

    def visit(module: minitorch.Module, path: str) -> None:
        found[path] = len(list(module.parameters()))
        for name, child in module.__dict__["_modules"].items():
            visit(child, f"{path}.{name}".lstrip("."))

    visit(make(example, own), "")
    return found
