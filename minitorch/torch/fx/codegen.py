"""The Python code of a graph."""

from __future__ import annotations

import builtins
import enum
import keyword
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..device import device
from .node import HERE, Node, _type_repr, is_from_torch, last_uses, qualified_name

if TYPE_CHECKING:
    from .graph import Graph

_BINARY = {
    "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "add": "+", "sub": "-", "mul": "*",
    "floordiv": "//", "truediv": "/", "div": "/", "mod": "%", "lshift": "<<", "rshift": ">>", "and_": "&",
    "or_": "|", "xor": "^", "matmul": "@", "pow": "**",
}  # fmt: skip
MAGIC = {name: f"{{}} {sign} {{}}" for name, sign in _BINARY.items()}
MAGIC |= {"pos": "+{}", "neg": "-{}", "invert": "~{}", "getitem": "{}[{}]"}
"""How functions of `operator` are written."""
REFLECTABLE = [n for n in _BINARY if n not in ("eq", "ne", "lt", "gt", "le", "ge")]
_IN_PLACE = {
    f"i{name.rstrip('_')}": f"{{}} {sign}= {{}}"
    for name, sign in _BINARY.items()
    if name in REFLECTABLE
}


@dataclass
class PythonCode:
    """The code of a graph: its text, and the names that it needs."""

    src: str
    globals: dict[str, Any]


class Namespace:
    """Names that are in use; new ones are made from hints."""

    def __init__(self) -> None:
        self._used: dict[str, Any] = {}
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """A name like a candidate that nothing else has."""
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.match(r"(.*)_(\d+)$", candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, None)
        if number is None or (candidate in self._used and self._used[candidate] is not obj):
            number = self._counts.get(base, 0)
        while candidate in self._used or self._is_illegal(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used[candidate] = obj
        self._counts[base] = number
        return candidate

    def associate(self, name: str, obj: Any) -> None:
        """Note that a name is in use."""
        self._used[name] = obj

    @staticmethod
    def _is_illegal(name: str, obj: Any) -> bool:
        if keyword.iskeyword(name):
            return True
        if hasattr(builtins, name):
            return getattr(builtins, name) is not obj
        return name in ("inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree")


def format_target(base: str, target: str) -> str:
    """How an attribute of an attribute is reached: `getattr(self.layers, "0")`."""
    text = base
    for name in target.split("."):
        text = f"{text}.{name}" if name.isidentifier() else f'getattr({text}, "{name}")'
    return text


class CodeGen:
    """Writes the code of a graph; a subclass may take other arguments, or return other values."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function."""
        if not free_vars or free_vars[0] != "self":
            free_vars = ["self", *free_vars]
        return f"def forward({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, repr_fn: Any = repr) -> str:
        """The line that ends it."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of a call as placeholders take them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The results of a graph as a call returns them."""
        return outputs

    def python_code(self, graph: Graph, root: str) -> PythonCode:
        """The code of a graph whose module is called `root`."""
        return _Writer(self, graph, root).write()


class _Writer:
    """One piece of code in the making."""

    def __init__(self, codegen: CodeGen, graph: Graph, root: str) -> None:
        self.codegen, self.graph, self.root = codegen, graph, root
        self.globals: dict[str, Any] = {}
        self.names = Namespace()
        self.free: list[str] = []
        self.returned = ""
        self.wrapped: dict[str, None] = {}
        for node in graph.nodes:
            self.names.associate(node.name, node)

    def write(self) -> PythonCode:
        """The whole."""
        dead = self._dead_after()
        lines: list[str] = []
        for node in self.graph.nodes:
            lines += self._lines(node, dead.get(node, []))
        body = "".join(f"    {line}\n" for line in lines or ["pass"])
        head = self.codegen.gen_fn_def(self.free, self.returned)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        return PythonCode(f"\n{wraps}\n\n{head}\n{body}    ", self.globals)

    def _dead_after(self) -> dict[Node, list[Node]]:
        """For each node, those whose values nobody needs after it: also its own, if nobody does at all."""
        last = last_uses(self.graph.nodes)
        for node in self.graph.nodes:
            if not node.users and node.op not in ("placeholder", "output"):
                last.setdefault(node, []).append(node)
        return last

    def _lines(self, node: Node, dead: list[Node]) -> Iterator[str]:
        if node.op == "placeholder":
            yield from self._argument(node)
            return
        if node.op == "output":
            if node.type is not None:
                self.returned = f" -> {self._text_of_type(node.type)}"
            yield self.codegen.generate_output(node.args[0], repr_fn=self.text)
            return
        annotated = "" if node.type is None else f" : {self._text_of_type(node.type)}"
        deleted = f";  {' = '.join(map(repr, dead))} = None" if dead else ""
        yield f"{self._statement(node, annotated)}{deleted}"

    def _argument(self, node: Node) -> Iterator[str]:
        raw = node.target.lstrip("*")
        annotated = "" if node.type is None else f" : {self._text_of_type(node.type)}"
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.free.append(f"{node.target}{annotated}{default}")
        if raw != repr(node):
            yield f"{node!r} = {raw}"

    def _statement(self, node: Node, annotated: str) -> str:
        left = f"{node!r}{annotated} = "
        if node.op == "get_attr":
            return left + format_target(self.root, node.target)
        if node.op == "call_module":
            return f"{left}{format_target(self.root, node.target)}({self._arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            base = format_target(self.text(node.args[0]), node.target)
            return f"{left}{base}({self._arguments(node.args[1:], node.kwargs)})"
        target, name = node.target, getattr(node.target, "__name__", "")
        values = [self.text(a) for a in node.args]
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            if name in MAGIC:
                return left + MAGIC[name].format(*values)
            if name in _IN_PLACE:
                return f"{_IN_PLACE[name].format(*values)};  {left}{values[0]}"
        if target is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
            return f"{left}{values[0]}.{node.args[1]}"
        name = self._global(target)
        if node.meta.get("is_wrapped"):
            self.wrapped[name] = None
            self.globals["torch"] = import_module(HERE)
        return f"{left}{name}({self._arguments(node.args, node.kwargs)})"

    def _arguments(self, args: Any, kwargs: Any) -> str:
        return ", ".join(
            [*map(self.text, args), *(f"{k} = {self.text(v)}" for k, v in kwargs.items())]
        )

    def _global(self, obj: Any) -> str:
        """The name of a function or class in the code, with what it needs noted."""
        name = qualified_name(obj)
        if name.startswith("torch.") and is_from_torch(obj):
            self.globals["torch"] = import_module(HERE)
            return name
        if getattr(builtins, name, None) is obj:
            return name
        short = name.replace(".", "_").replace("<", "_").replace(">", "_")
        if self.globals.get(short, obj) is not obj:
            short = self.names.create_name(short, obj)
        self.globals[short] = obj
        return short

    def _text_of_type(self, kind: Any) -> str:
        if kind is type(None) or kind is None:
            return "None"
        if isinstance(kind, type) and not hasattr(kind, "__origin__"):
            return self._global(kind)
        text = _type_repr(kind).replace(f"{HERE}.tensor.", "torch.").replace(HERE, "torch")
        self.globals.setdefault("torch", import_module(HERE))
        self.globals.setdefault("typing", import_module("typing"))
        return text

    def text(self, arg: Any) -> str:
        """An argument as code."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple):
            items = ", ".join(map(self.text, arg))
            if hasattr(arg, "_fields"):
                return f"{self._global(type(arg))}({items})"
            return f"({items},)" if len(arg) == 1 else f"({items})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.text, arg))}]"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{self.text(k)}: {self.text(v)}" for k, v in arg.items()) + "}"
        if isinstance(arg, slice):
            return f"slice({self.text(arg.start)}, {self.text(arg.stop)}, {self.text(arg.step)})"
        return self._constant(arg)

    def _constant(self, arg: Any) -> str:
        if isinstance(arg, float) and not math.isfinite(arg):
            self.globals |= {"inf": math.inf, "nan": math.nan}
        elif isinstance(arg, device):
            self.globals["device"] = device
        elif isinstance(arg, enum.Enum):
            return f"{self._global(type(arg))}.{arg.name}"
        elif callable(arg) and hasattr(arg, "__name__"):
            return self._global(arg)
        elif repr(arg).startswith("torch."):
            self.globals["torch"] = import_module(HERE)
        return repr(arg)
