"""The tree of a module: names, modes and parameters, as `minitorch.Module` reports them."""

from __future__ import annotations

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


def make(example: str) -> minitorch.Module:
    """One of the examples."""
    return {"network": Network, "nested": lambda: Branch(3), "single": lambda: Layer(3)}[example]()


def find(module: minitorch.Module, path: str) -> minitorch.Module:
    """The module that a path of names leads to; the empty path is the module itself."""
    for name in path.split(".") if path else []:
        module = module.__dict__["_modules"][name]
    return module


def tree(example: str, orders: list[tuple[str, str]]) -> dict[str, Any]:
    """The tree of an example after orders such as `("layer1", "eval")` were carried out in turn."""
    module = make(example)
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
        "parameters": {n: _number(p.value) for n, p in module.__dict__["_parameters"].items()},
        "children": [_tree(c, f"{path}.{n}".lstrip("."), n) for n, c in children.items()],
    }


def _number(value: Any) -> float:
    return float(getattr(value, "data", value))


def names(example: str) -> list[tuple[str, float]]:
    """What `named_parameters` gives: names and values, in its order."""
    return [(name, _number(p.value)) for name, p in make(example).named_parameters()]


def counts(example: str) -> dict[str, int]:
    """How many parameters `parameters` gives, for each module by its path."""
    found: dict[str, int] = {}

    def visit(module: minitorch.Module, path: str) -> None:
        found[path] = len(list(module.parameters()))
        for name, child in module.__dict__["_modules"].items():
            visit(child, f"{path}.{name}".lstrip("."))

    visit(make(example), "")
    return found
