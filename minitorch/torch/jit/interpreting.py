"""Code of TorchScript files, carried out node by node: there is no `exec`, and no name means more than the tables say.

The code is a part of Python: assignments, `if`, `while`, `for`, calls. A function sees its arguments and four names:
`torch` and `ops` (operations), `__torch__` (functions and classes of the file) and `CONSTANTS` (tensors of the file).
"""

from __future__ import annotations

import ast
import operator
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...syntax import parse
from .. import dtypes
from ..device import device
from ..library import namespace
from ..nn import functional
from ..nn.modules.container import ModuleDict, ParameterDict
from ..nn.modules.module import Module
from ..tensor import Tensor
from .calls import BUILTINS, PRIM, VALUES, ScriptError, call_operation, call_torch, operation

Function = ast.FunctionDef

_BINARY: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
_ATTRIBUTES = frozenset(("shape", "dtype", "device", "ndim", "T", "mT", "H", "is_cuda", "requires_grad", "real", "imag", "data", "grad", "layout"))  # fmt: skip


class _Return(Exception):  # noqa: N818
    """A function ends."""


class _Break(Exception):  # noqa: N818
    """A loop ends."""


class _Continue(Exception):  # noqa: N818
    """A loop goes on."""


@dataclass
class Code:
    """What the code of one file defines, and its constants.

    Attributes:
        definitions: functions and classes, by their whole names
        constants: the tensors that code calls CONSTANTS.c0 and so on
    """

    definitions: dict[str, ast.FunctionDef | ast.ClassDef] = field(default_factory=dict)
    constants: list[Any] = field(default_factory=list)

    def add(self, source: str, package: str) -> None:
        """Define what a text defines."""
        for node in parse(source).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.definitions[f"{package}.{node.name}"] = node

    def methods(self, name: str) -> dict[str, Function]:
        """The methods of a class."""
        node = self.definitions.get(name)
        body = node.body if isinstance(node, ast.ClassDef) else []
        return {each.name: each for each in body if isinstance(each, ast.FunctionDef)}

    def call(self, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call a function, or make a named tuple."""
        node = self.definitions.get(name)
        if isinstance(node, ast.FunctionDef):
            return Evaluator(self).run(node, args, kwargs)
        if isinstance(node, ast.ClassDef) and [ast.unparse(b) for b in node.bases] == ["NamedTuple"]:  # fmt: skip
            fields = [ast.unparse(n.target) for n in node.body if isinstance(n, ast.AnnAssign)]
            return namedtuple(node.name, fields)(*args, **kwargs)  # type: ignore[misc]
        raise ScriptError(f"the code calls {name}, which its file does not define")


def bound(owner: Any, code: Code, cls: str, name: str) -> Callable[..., Any]:
    """A method of a class of a file as a function of its other arguments."""
    node = code.methods(cls).get(name)
    if node is None:
        raise AttributeError(f"{cls} has no method {name!r}")
    return lambda *args, **kwargs: Evaluator(code).run(node, (owner, *args), kwargs)


class Evaluator:
    """Carries out one call of a function."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.names: dict[str, Any] = {}

    def run(self, node: Function, args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of a function for arguments."""
        self._bind(node, args, kwargs)
        try:
            self.body(node.body)
        except _Return as end:
            return end.args[0]
        return None

    def _bind(self, node: Function, args: Any, kwargs: dict[str, Any]) -> None:
        names = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
        if len(args) > len(node.args.args) or set(kwargs) - set(names):
            raise TypeError(f"{node.name}() takes {names}, but got {len(args)} arguments and {sorted(kwargs)}")  # fmt: skip
        late = [] if not node.args.defaults else node.args.args[-len(node.args.defaults) :]
        defaults = [*zip(late, node.args.defaults, strict=True), *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]  # fmt: skip
        given = dict(zip(names, args, strict=False)) | kwargs
        for arg, default in defaults:
            if arg.arg not in given and default is not None:
                given[arg.arg] = self.value(default)
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"{node.name}() is missing values for {', '.join(missing)}")
        self.names = given

    # --- Statements ------------------------------------------------------------------------------------------

    def body(self, nodes: list[ast.stmt]) -> None:
        """Carry out statements in order."""
        for node in nodes:
            handler = getattr(self, f"_do_{type(node).__name__}", None)
            if handler is None:
                raise ScriptError(f"code of a file has no {type(node).__name__}: {ast.unparse(node)}")  # fmt: skip
            handler(node)

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        before, change = self.value(node.target), self.value(node.value)
        self.assign(node.target, _BINARY[type(node.op)](before, change))

    def _do_Expr(self, node: ast.Expr) -> None:
        self.value(node.value)

    def _do_If(self, node: ast.If) -> None:
        self.body(node.body if self.value(node.test) else node.orelse)

    def _do_While(self, node: ast.While) -> None:
        while self.value(node.test):
            try:
                self.body(node.body)
            except _Break:
                break
            except _Continue:
                continue

    def _do_For(self, node: ast.For) -> None:
        for each in self.value(node.iter):
            self.assign(node.target, each)
            try:
                self.body(node.body)
            except _Break:
                break
            except _Continue:
                continue

    def _do_Return(self, node: ast.Return) -> None:
        raise _Return(None if node.value is None else self.value(node.value))

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Break(self, node: ast.Break) -> None:
        raise _Break

    def _do_Continue(self, node: ast.Continue) -> None:
        raise _Continue

    def _do_Assert(self, node: ast.Assert) -> None:
        if not self.value(node.test):
            raise AssertionError("" if node.msg is None else self.value(node.msg))

    def _do_Raise(self, node: ast.Raise) -> None:
        call = node.exc
        given = [self.value(a) for a in call.args] if isinstance(call, ast.Call) else []
        raise _error(ast.unparse(call.func if isinstance(call, ast.Call) else call or ast.Name("RuntimeError")), *given)  # fmt: skip

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a value to a name, an attribute, an element, or several of them."""
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each, part in zip(target.elts, value, strict=True):
                self.assign(each, part)
        elif isinstance(target, ast.Subscript):
            self.value(target.value)[self.value(target.slice)] = value
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            if not hasattr(owner, "script_code"):
                raise ScriptError(f"code of a file cannot change attributes of a {type(owner).__name__}")  # fmt: skip
            setattr(owner, target.attr, value)
        else:
            raise ScriptError(f"code of a file cannot assign to {ast.unparse(target)}")

    # --- Expressions ------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Any:
        """What an expression stands for."""
        handler = getattr(self, f"_of_{type(node).__name__}", None)
        if handler is None:
            raise ScriptError(f"code of a file has no {type(node).__name__}: {ast.unparse(node)}")
        return handler(node)

    def _of_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _of_Name(self, node: ast.Name) -> Any:
        if node.id in self.names:
            return self.names[node.id]
        if node.id == "getattr":
            return attribute
        if node.id in BUILTINS:
            return BUILTINS[node.id]
        if node.id in ("inf", "nan"):
            return float(node.id)
        raise ScriptError(f"the code names {node.id!r}, which has no meaning in a file")

    def _of_Attribute(self, node: ast.Attribute) -> Any:
        path = _dotted(node)
        if path is not None and path[0] not in self.names and path[0] in ("torch", "ops", "__torch__", "CONSTANTS"):  # fmt: skip
            return self._named(path)
        return attribute(self.value(node.value), node.attr)

    def _named(self, path: list[str]) -> Any:
        root, name = path[0], path[-1]
        if root == "CONSTANTS":
            return self.code.constants[int(name.removeprefix("c"))]
        if root == "__torch__":
            return lambda *args, **kwargs: self.code.call(".".join(path), args, kwargs)
        if path[:2] == ["ops", "prim"]:
            if name == "RaiseException":
                return _raise
            if name in PRIM:
                return PRIM[name]
            raise ScriptError(f"the code calls {'.'.join(path)}, which minitorch.torch does not have")  # fmt: skip
        if path[:-1] == ["ops", "minitorch"]:
            return getattr(namespace("minitorch"), name)
        if path[:-1] == ["torch", "nn", "functional"]:
            return _function_of_networks(name)
        if root == "torch" and name in dtypes.NAMES:
            return dtypes.NAMES[name]
        if path[:-1] in (["torch"], ["ops", "aten"]):
            if name not in VALUES:
                operation(name)  # an error, if it is none
            return lambda *args, **kwargs: call_torch(name, args, kwargs)
        if len(path) == 3 and path[1] in ("linalg", "special", "fft"):
            return lambda *args, **kwargs: call_operation(f"{path[1]}_{name}", args, kwargs)
        raise ScriptError(f"the code names {'.'.join(path)}, which has no meaning in a file")

    def _of_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id not in self.names:
            special = {"annotate": 1, "unchecked_cast": 1, "uninitialized": None}
            if node.func.id in special:  # of a type and a value
                place = special[node.func.id]
                return None if place is None else self.value(node.args[place])
            if node.func.id == "isinstance":
                return _is_instance(self.value(node.args[0]), ast.unparse(node.args[1]))
        function = self.value(node.func)
        args: list[Any] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                args += self.value(each.value)
            else:
                args.append(self.value(each))
        return function(*args, **{k.arg: self.value(k.value) for k in node.keywords if k.arg})

    def _of_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(map(self.value, node.elts))

    def _of_List(self, node: ast.List) -> Any:
        return list(map(self.value, node.elts))

    def _of_Dict(self, node: ast.Dict) -> Any:
        pairs = zip(node.keys, node.values, strict=True)
        return {self.value(k): self.value(v) for k, v in pairs if k is not None}

    def _of_Subscript(self, node: ast.Subscript) -> Any:
        return self.value(node.value)[self.value(node.slice)]

    def _of_Slice(self, node: ast.Slice) -> Any:
        return slice(*(None if p is None else self.value(p) for p in (node.lower, node.upper, node.step)))  # fmt: skip

    def _of_BinOp(self, node: ast.BinOp) -> Any:
        return _BINARY[type(node.op)](self.value(node.left), self.value(node.right))

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return _BINARY[type(node.op)](self.value(node.operand))

    def _of_BoolOp(self, node: ast.BoolOp) -> Any:
        stops = isinstance(node.op, ast.Or)
        found: Any = None
        for each in node.values:
            found = self.value(each)
            if bool(found) is stops:
                break
        return found

    def _of_Compare(self, node: ast.Compare) -> Any:
        left, found = self.value(node.left), None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            found = _BINARY[type(op)](left, right)
            if len(node.ops) > 1 and not found:
                break
            left = right
        return found

    def _of_IfExp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _of_JoinedStr(self, node: ast.JoinedStr) -> Any:
        return "".join(str(self.value(each)) for each in node.values)

    def _of_FormattedValue(self, node: ast.FormattedValue) -> Any:
        spec = "" if node.format_spec is None else self.value(node.format_spec)
        return format(self.value(node.value), spec)

    def _of_ListComp(self, node: ast.ListComp) -> Any:
        if len(node.generators) != 1:
            raise ScriptError("a list in the code of a file is made by one loop")
        loop, made = node.generators[0], []
        for each in self.value(loop.iter):
            self.assign(loop.target, each)
            if all(self.value(test) for test in loop.ifs):
                made.append(self.value(node.elt))
        return made


# --- Attributes and names --------------------------------------------------------------------------------------


def attribute(owner: Any, name: str) -> Any:
    """An attribute of a value, if the code of a file may see it."""
    own = hasattr(owner, "script_code")
    if own and name in owner.script_code.methods(owner.script_name):
        return owner.script_method(name)
    if own or isinstance(owner, Module):
        if name == "forward" and not own:
            return owner
        known = ("_parameters", "_buffers", "_modules")
        for table in (*(vars(owner).get(each, {}) for each in known), vars(owner)):
            if name in table and name not in known:
                return table[name]
        if name in ("items", "keys", "values") and isinstance(owner, (ModuleDict, ParameterDict)):
            return getattr(owner, name)
    elif isinstance(owner, Tensor):
        if name in _ATTRIBUTES:
            return getattr(owner, name)
        operation(name)  # an error, if it is none
        method = getattr(owner, name, None)
        return method or (lambda *args, **kwargs: call_operation(name, (owner, *args), kwargs))
    elif (isinstance(owner, tuple) and name in getattr(owner, "_fields", ())) or (
        isinstance(owner, device) and name in ("type", "index")
    ):
        return getattr(owner, name)
    elif isinstance(owner, (list, dict, str, tuple)) and name in VALUES:
        return lambda *args, **kwargs: VALUES[name](owner, *args, **kwargs)
    raise ScriptError(f"the code of a file cannot see {name!r} of a {type(owner).__name__}")


def _dotted(node: ast.expr) -> list[str] | None:
    """The names of `a.b.c`; None for what does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None


def _function_of_networks(name: str) -> Callable[..., Any]:
    operation(name)
    return getattr(functional, name)


def _is_instance(value: Any, kind: str) -> bool:
    """Whether a value is of a type that code names."""
    kinds = {"int": int, "float": float, "bool": bool, "str": str, "Tensor": Tensor, "NoneType": type(None)}  # fmt: skip
    name = kind.partition("[")[0].rpartition(".")[2]
    kinds |= {"List": list, "list": list, "Dict": dict, "dict": dict, "Tuple": tuple, "tuple": tuple}  # fmt: skip
    if name not in kinds:
        raise ScriptError(f"the code asks whether a value is of the type {kind}, which is not known")  # fmt: skip
    return isinstance(value, kinds[name])


_ERRORS = {e.__name__: e for e in (ValueError, RuntimeError, TypeError, IndexError, KeyError, AssertionError, NotImplementedError)}  # fmt: skip


def _error(name: str, *args: Any) -> Exception:
    return _ERRORS.get(name.rpartition(".")[2], RuntimeError)(*args)


def _raise(text: str, name: str = "") -> None:
    raise _error(name or text.partition(":")[0], text)
