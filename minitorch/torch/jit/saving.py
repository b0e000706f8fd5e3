"""`torch.jit.save`: a scripted module with its code, a traced one with what it computed for its examples."""

from __future__ import annotations

import ast
import inspect
import math
import operator
import textwrap
from typing import Any

from ...syntax import parse
from ..aten_functions import FORMATS, code_of
from ..compiler.exceptions import UserError
from ..device import device
from ..dtypes import dtype
from ..environment import memory_format
from ..export import Dim, ExportedProgram, export
from ..export.graph_signature import InputKind
from ..fx.node import Node
from ..nn.modules.module import Module
from ..tensor import Tensor
from ..utils._pytree import tree_unflatten
from .archive import (
    LIBRARY,
    RecursiveScriptModule,
    ScriptModule,
    Stored,
    original_class,
    stored,
    write,
)
from .calls import HERE, ScriptError
from .compiling import Compiler, is_plain, library_class

_OPERATORS = {operator.mul: "mul", operator.add: "add", operator.floordiv: "floordiv", operator.sub: "sub"}  # fmt: skip


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write what `torch.jit.script`, `trace` or `load` gave to a file, which `torch.jit.load` reads."""
    if not hasattr(m, "script_function") and not isinstance(m, ScriptModule):
        raise TypeError(f"torch.jit.save takes what torch.jit.script or torch.jit.trace gives, not a {type(m).__name__}")  # fmt: skip
    writer = _Writer()
    root = writer.stored(m)
    write(f, root, writer.compiler.packages(), writer.compiler.constants, _extra_files)


def code_of_forward(m: Any) -> str:
    """The code that a file has for `forward`."""
    writer = _Writer()
    cls = type(writer.stored(m))
    if cls.__module__ == LIBRARY:
        return textwrap.dedent(inspect.getsource(original_class(m).forward))
    text = writer.compiler.texts[f"{cls.__module__}.{cls.__name__}"]
    methods = [n for n in parse(text).body[0].body if isinstance(n, ast.FunctionDef)]  # type: ignore[attr-defined]
    return ast.unparse(next(n for n in methods if n.name == "forward")) + "\n"


class _Function(Module):
    """A function as a module."""

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self._fn = fn

    def forward(self, *args: Any) -> Any:
        return self._fn(*args)


class PlaceholderModule(Module):
    """What a function is in a file: a module whose `forward` it is."""


class _Writer:
    """Turns modules into objects of a file, and their classes into code."""

    def __init__(self) -> None:
        self.compiler = Compiler()
        self._done: dict[int, Stored] = {}
        self._codes: set[int] = set()

    def stored(self, m: Any) -> Stored:
        """A module, or a function, as an object of the file; each once."""
        if id(m) not in self._done:
            self._done[id(m)] = self._stored(m)
        return self._done[id(m)]

    def _stored(self, m: Any) -> Stored:
        examples = getattr(m, "script_examples", None)
        fn = getattr(m, "script_function", None)
        if examples is not None:
            return self._traced(
                m if fn is None else _Function(fn), examples, getattr(fn, "__name__", "")
            )
        if fn is not None:
            return stored(self.compiler.module_class(PlaceholderModule, fn)[0], {"training": True})
        if isinstance(m, RecursiveScriptModule):
            return self._loaded(m)
        cls = original_class(m)
        short = library_class(cls)
        if short is not None:
            return stored(f"{LIBRARY}.{short}", self._attributes(m, vars(m), f"torch.nn.{short}"))
        if cls.__module__.startswith(HERE + "."):
            raise ScriptError(
                f"torch.jit.save has no form for a {cls.__name__}: use torch.jit.trace"
            )
        name, read = self.compiler.module_class(cls)
        plain = {
            n: getattr(m, n) for n in read if n not in vars(m) and is_plain(getattr(cls, n, self))
        }
        return stored(name, self._attributes(m, {**plain, **_plain(vars(m))}, cls.__name__))

    def _attributes(self, m: Module, values: dict[str, Any], name: str) -> dict[str, Any]:
        """What a file keeps of a module: names of parameters and buffers, their tensors, modules and plain values."""
        hidden = set(vars(Module())) - {"training"}
        own: dict[str, Any] = {
            n: v for n, v in values.items() if n not in hidden and not n.startswith("script_")
        }
        for key, value in own.items():
            if not is_plain(value) and not _are_tensors(value):
                raise ScriptError(
                    f"torch.jit.save: {key} of {name} is a {type(value).__name__}, which a file cannot hold: use torch.jit.trace"
                )
        tensors = {
            n: None if t is None else _bare(t)
            for n, t in (*m._parameters.items(), *m._buffers.items())
        }
        modules = {n: None if c is None else self.stored(c) for n, c in m._modules.items()}
        lists = {
            "__parameters__": list(m._parameters),
            "__buffers__": list(m._buffers),
            "__modules__": list(modules),
        }
        return {**lists, **own, **tensors, **modules}

    def _loaded(self, m: RecursiveScriptModule) -> Stored:
        """A module from a file: its code again."""
        code = m.script_code
        if id(code) not in self._codes:
            if self.compiler.constants and code.constants:
                raise ScriptError("torch.jit.save: a module from a file with constants cannot be saved within another one")  # fmt: skip
            self._codes.add(id(code))
            self.compiler.texts |= {
                name: ast.unparse(node) for name, node in code.definitions.items()
            }
            self.compiler.constants += code.constants
        return stored(m.script_name, self._attributes(m, _plain(vars(m)), m.script_name))

    # --- Traced modules ----------------------------------------------------------------------------------------

    def _traced(self, m: Module, examples: tuple[Any, ...], name: str) -> Stored:
        """A module as the graph of its operations, in a form that PyTorch reads, too."""
        program = exported(m, examples)
        return self._shell(m, name or original_class(m).__name__, _forward(program, self.compiler))

    def _shell(self, m: Module, name: str, code: str = "") -> Stored:
        """A module with parameters, buffers and modules, and no more."""
        own = [n for n, t in m._parameters.items() if t is not None]
        buffers = [n for n, t in m._buffers.items() if t is not None]
        parts = {
            n: self._shell(c, type(c).__name__) for n, c in m._modules.items() if c is not None
        }
        full = self.compiler.name_of(type(name, (), {"__module__": "__main__"}))
        kinds = dict.fromkeys((*own, *buffers), "Tensor") | {"training": "bool"}
        kinds |= {n: f"{type(c).__module__}.{type(c).__name__}" for n, c in parts.items()}
        lines = [
            f"class {name}(Module):",
            f"  __parameters__ = {own}",
            f"  __buffers__ = {buffers}",
        ]
        lines += [
            f"  {n} : {k}" if n.isidentifier() else f"  __annotations__[{n!r}] = {k}"
            for n, k in kinds.items()
        ]
        self.compiler.texts[full] = "\n".join([*lines, code]).rstrip()
        tensors = {n: _bare(getattr(m, n)) for n in (*own, *buffers)}
        return stored(full, {"training": m.training, **tensors, **parts})


def _bare(tensor: Tensor) -> Tensor:
    """A parameter as a plain tensor of the same memory."""
    return tensor.detach().requires_grad_(tensor.requires_grad)


def _are_tensors(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, Tensor) for v in value)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Attributes that a file can hold; code that reads another one is an error when it is read."""
    tensors = {n: [_bare(t) for t in v] for n, v in values.items() if _are_tensors(v)}
    return {n: v for n, v in values.items() if is_plain(v)} | tensors


# --- Graphs as code -----------------------------------------------------------------------------------------------


def exported(m: Module, examples: tuple[Any, ...]) -> ExportedProgram:
    """A module's graph for examples, with every size that may change left open."""
    groups = {
        (d, size) for x in examples if isinstance(x, Tensor) for d, size in enumerate(x.shape)
    }
    free: list[tuple[int, int]] = []
    for group in sorted(groups):
        try:
            _exported(m, examples, [group])
            free.append(group)
        except (UserError, RuntimeError):
            continue
    while True:
        try:
            return _exported(m, examples, free)
        except UserError:
            if not free:
                raise
            free.pop()


def _exported(m: Module, examples: Any, free: list[tuple[int, int]]) -> ExportedProgram:
    dims = {group: Dim(f"size_{place}") for place, group in enumerate(free)}
    shapes = tuple(
        {d: dims[d, size] for d, size in enumerate(x.shape) if (d, size) in dims}
        if isinstance(x, Tensor)
        else None
        for x in examples
    )
    return export(m, examples, dynamic_shapes=shapes if free else None)


def _forward(program: ExportedProgram, compiler: Compiler) -> str:
    """A graph as the method `forward`."""
    texts: dict[str, str] = {}
    specs = program.graph_signature.input_specs
    names: list[str] = []
    lines: list[str] = []
    for node, spec in zip(program.graph.nodes, specs, strict=False):
        texts[node.name] = node.name
        if spec.kind is InputKind.USER_INPUT:
            names.append(f"{node.name}: Tensor")
        elif spec.kind is InputKind.CONSTANT_TENSOR:
            texts[node.name] = compiler.constant(program.constants[str(spec.target)])
        elif node.users:
            lines.append(f"{node.name} = {_path(str(spec.target))}")
    for node in program.graph.nodes:
        if node.op == "call_function":
            lines.append(f"{node.name} = {_call(node, texts)}")
            texts[node.name] = node.name
        elif node.op == "output":
            results = [_text(x, texts) for x in node.args[0]]
            lines.append(f"return {_nested(tree_unflatten(results, program.call_spec.out_spec))}")
    head = f"  def forward(self, {', '.join(names)}):\n    "
    return head + "\n    ".join(lines)


def _path(target: str) -> str:
    text = "self"
    for part in target.split("."):
        text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
    return text


def _nested(value: Any) -> str:
    """Results in the structure that the program gave them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}": {_nested(v)}' for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(_nested, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside},)"
    return value


def _call(node: Node, texts: dict[str, str]) -> str:
    """One operation as a call."""
    target: Any = node.target
    args = [_text(a, texts) for a in node.args]
    if target is operator.getitem:
        return f"({args[0]})[{args[1]}]"
    if target in _OPERATORS:
        return f"torch.{_OPERATORS[target]}({', '.join(args)})"
    package, _, name = target.overloadpacket.name().partition("::")
    path = "torch" if package == "aten" else f"ops.{package}"
    name = {"sym_size": "size"}.get(name, name)
    named = [f"{k}={_text(v, texts)}" for k, v in node.kwargs.items()]
    return f"{path}.{name}({', '.join([*args, *named])})"


def _text(value: Any, texts: dict[str, str]) -> str:
    """An argument as code."""
    if isinstance(value, Node):
        return texts[value.name]
    if isinstance(value, (list, tuple)):
        inside = f"[{', '.join(_text(v, texts) for v in value)}]"
        return f"annotate(List[Optional[Tensor]], {inside})" if None in value else inside
    if isinstance(value, dtype):
        return str(code_of(value))
    if isinstance(value, memory_format):
        return str(FORMATS.index(value))
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, device):
        return f'torch.device("{value}")'
    raise ScriptError(f"torch.jit.save: a file cannot hold a {type(value).__name__}")
