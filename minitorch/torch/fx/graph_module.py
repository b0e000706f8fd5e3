"""A module whose `forward` is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
from pathlib import Path
from typing import Any

from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..serialization import save
from ..tensor import Tensor
from .graph import Graph
from .node import HERE

_numbers = itertools.count()


def _compile(src: str, names: dict[str, Any]) -> Any:
    """The function `forward` of some code; tracebacks show its lines."""
    key = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[key] = (len(src), None, src.splitlines(True), key)
    found = dict(names)
    exec(compile(src, key, "exec"), found)
    return found["forward"]


def _copy_attr(source: Module, target: Module, path: str) -> None:
    """Put what a module has at a path at the same path of another, with modules on the way."""
    *parents, name = path.split(".")
    for parent in parents:
        inside: Any = getattr(source, parent)
        if not hasattr(target, parent):
            setattr(target, parent, Module())
        source, target = inside, getattr(target, parent)
        if inside is target:
            return
    value = getattr(source, name)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        persistent = name not in getattr(source, "_non_persistent_buffers_set", ())
        target.register_buffer(name, value, persistent=persistent)
    else:
        setattr(target, name, value)


def _assign_attr(value: Any, target: Module, path: str) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        if not hasattr(target, parent):
            setattr(target, parent, Module())
        target = getattr(target, parent)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        target.register_buffer(name, value)
    else:
        setattr(target, name, value)


class GraphModule(Module):
    """A module made from a graph.

    Attributes:
        graph: what it computes; after a change of it, `recompile()`
        code: the same, as Python
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A module of a class of its own, whose `forward` it is."""
        own = next(c for c in cls.__mro__ if c.__qualname__ != "GraphModuleImpl")
        made: Any = type("GraphModuleImpl", (own,), {"__module__": own.__module__})
        return super().__new__(made)

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        used = dict.fromkeys(n.target for n in graph.nodes if n.op in ("get_attr", "call_module"))
        paths = sorted(used, key=lambda path: path.count("."))
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for path in paths:
                _copy_attr(root, self, path)
        elif isinstance(root, dict):
            for path in paths:
                if path not in root:
                    raise RuntimeError(
                        f"Node referenced target {path} but that target was not provided in root!"
                    )
                _assign_attr(root[path], self, path)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {}))

    @property
    def graph(self) -> Graph:
        """What it computes."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    def recompile(self) -> Any:
        """Take `forward` from the graph as it is now."""
        python_code = self._graph.python_code("self")
        self._code = python_code.src
        type(self).forward = _compile(self._code, python_code.globals)
        return python_code

    @property
    def code(self) -> str:
        """The code of the graph."""
        return self._code

    def print_readable(self, print_output: bool = True, **_: Any) -> str:
        """The code as a class, also those of modules inside; printed, unless told otherwise."""
        text = _readable(self, type(self).__name__)
        if print_output:
            print(text)  # noqa: T201
        return text

    def __str__(self) -> str:
        before = super().__repr__()
        note = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([before, self._code, note])

    def __repr__(self) -> str:
        return str(self)

    # --- Modules inside ---------------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path; whether that could be done."""
        inside: Any = self
        *parents, name = target.split(".")
        for parent in parents:
            found = getattr(inside, parent, None)
            if found is None:
                found = Module()
                setattr(inside, parent, found)
            if not isinstance(found, Module):
                return False
            inside = found
        inside.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; whether there was one."""
        inside: Any = self
        *parents, name = target.split(".")
        for parent in parents:
            inside = getattr(inside, parent, None)
            if not isinstance(inside, Module):
                return False
        if not isinstance(getattr(inside, name, None), Module):
            return False
        delattr(inside, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the graph does not call."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                if node.op == "call_module":
                    found = self.get_submodule(node.target)
                    used.update(
                        f"{node.target}.{name}" for name, _ in found.named_modules() if name
                    )
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    # --- Copies -------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any) -> GraphModule:
        state = {k: v for k, v in vars(self).items() if k != "_graph"}
        copied = Module()
        memo[id(self)] = copied
        copied.__dict__.update(copy.deepcopy(state, memo))
        made = GraphModule.__new__(type(self))
        GraphModule.__init__(made, copied, copy.deepcopy(self.graph), type(self).__name__)
        made.__dict__.update({k: v for k, v in vars(copied).items() if k not in ("_code",)})
        made.graph = made._graph
        memo[id(self)] = made
        return made

    def __copy__(self) -> GraphModule:
        return GraphModule(self, copy.deepcopy(self.graph), type(self).__name__)

    def __reduce__(self) -> Any:
        state = {k: v for k, v in vars(self).items() if k != "_graph"}
        return _rebuilt, (state, self._code, type(self).__name__)

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write the code and the weights into a folder."""
        place = Path(folder)
        place.mkdir(exist_ok=True)
        save(self.state_dict(), place / "state_dict.pt")
        save(self, place / "module.pt")
        (place / "module.py").write_text(f"import torch\n{self._code}")


def _rebuilt(state: dict[str, Any], code: str, name: str) -> GraphModule:
    """A graph module from a pickle: its code is run, and traced."""
    from importlib import import_module

    from ._symbolic_trace import Tracer

    class _EveryModule(Tracer):
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    root = Module()
    root.__dict__.update(state)
    names = {
        "torch": import_module(HERE),
        "inf": float("inf"),
        "nan": float("nan"),
        "device": import_module(HERE).device,
    }
    forward = _compile(code, names)
    holder = type(name, (Module,), {"forward": forward})
    root.__class__ = holder
    return GraphModule(root, _EveryModule().trace(root), name)


def _readable(module: Any, name: str) -> str:
    """The code of a graph module, and of those inside, as classes."""
    code = module._code.strip("\n ").split("\n")
    head, *body = code
    lines = [
        f"class {name}(torch.nn.Module):",
        f"    {head}",
        "        # No stacktrace found for following nodes",
    ]
    lines += [f"    {line}" for line in body]
    text = "\n".join(lines) + "\n"
    for child, inside in module.named_children():
        if isinstance(inside, GraphModule):
            text += "\n" + "\n".join(f"    {line}" for line in _readable(inside, child).split("\n"))
    return text
