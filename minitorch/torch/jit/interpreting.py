"""Code of TorchScript files, carried out node by node: there is no `exec`, and no name means more than the tables say.

The code is a part of Python: assignments, `if`, `while`, `for`, calls. A function sees its arguments and four names:
`torch` and `ops` (operations), `__torch__` (functions and classes of the file) and `CONSTANTS` (tensors of the file).
"""

from __future__ import annotations

import ast
import math
import operator
from collections import namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

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

_OPERATORS: dict[type, Callable[..., Any]] = {
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


class _Ends(NamedTuple):
    """What ends a block of statements before its last: `return` with its value, `break` or `continue`."""

    how: type
    value: Any = None


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


class Evaluator:
    """Carries out one call of a function."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.names: dict[str, Any] = {}

    def run(self, node: Function, args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of a function for arguments."""
        self.names = self._arguments(node, args, kwargs)
        ends = self.body(node.body)
        return ends.value if ends else None

    def _arguments(self, node: Function, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        own = node.args
        names = [a.arg for a in (*own.args, *own.kwonlyargs)]
        if len(args) > len(own.args) or set(kwargs) - set(names):
            raise TypeError(f"{node.name}() takes {names}, but got {len(args)} arguments and {sorted(kwargs)}")  # fmt: skip
        given = dict(zip(names, args, strict=False)) | kwargs
        needed = len(own.args) - len(own.defaults)
        defaults = [*[None] * needed, *own.defaults, *own.kw_defaults]
        for name, default in zip(names, defaults, strict=True):
            if name not in given and default is not None:
                given[name] = self.value(default)
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"{node.name}() is missing values for {', '.join(missing)}")
        return given

    # --- Statements ------------------------------------------------------------------------------------------

    def body(self, nodes: list[ast.stmt]) -> _Ends | None:
        """Carry out statements in order; what ended them, if not the last."""
        for node in nodes:
            ends = _form(STATEMENTS, node)(self, node)
            if type(ends) is _Ends:
                return ends
        return None

    def loop(self, rounds: Iterable[Any], node: ast.For | ast.While) -> _Ends | None:
        """Carry out the body of a loop in each round; what ends the statements around it, if something does."""
        for _ in rounds:
            ends = self.body(node.body)
            if ends and ends.how is ast.Break:
                return None
            if ends and ends.how is ast.Return:
                return ends
        return self.body(node.orelse)

    def assign_all(self, node: ast.Assign) -> None:
        """Give a value to all targets of a chain."""
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value)

    def check(self, node: ast.Assert) -> None:
        """AssertionError, unless a condition holds."""
        if not self.value(node.test):
            raise AssertionError("" if node.msg is None else self.value(node.msg))

    def fail(self, node: ast.Raise) -> None:
        """Raise an error that code names."""
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

    def value(self, node: ast.expr | None) -> Any:
        """What an expression stands for."""
        return _form(EXPRESSIONS, node)(self, node)

    def named(self, node: ast.Name) -> Any:
        """What a name stands for."""
        for names in (self.names, _KNOWN):
            if node.id in names:
                return names[node.id]
        raise ScriptError(f"the code names {node.id!r}, which has no meaning in a file")

    def dotted_name(self, node: ast.Attribute) -> Any:
        """What a name with points stands for."""
        path = dotted(node)
        if path is not None and path[0] not in self.names and path[0] in ("torch", "ops", "__torch__", "CONSTANTS"):  # fmt: skip
            return self._global(path)
        return attribute(self.value(node.value), node.attr)

    def _global(self, path: list[str]) -> Any:
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
            operation(name)  # an error, if it is none
            return getattr(functional, name)
        if root == "torch" and name in dtypes.NAMES:
            return dtypes.NAMES[name]
        if path[:-1] in (["torch"], ["ops", "aten"]):
            if name not in VALUES:
                operation(name)  # an error, if it is none
            return lambda *args, **kwargs: call_torch(name, args, kwargs)
        if len(path) == 3 and path[1] in ("linalg", "special", "fft"):
            return lambda *args, **kwargs: call_operation(f"{path[1]}_{name}", args, kwargs)
        raise ScriptError(f"the code names {'.'.join(path)}, which has no meaning in a file")

    def called(self, node: ast.Call) -> Any:
        """The result of a call."""
        if isinstance(node.func, ast.Name) and node.func.id not in self.names:
            special = {"annotate": 1, "unchecked_cast": 1, "uninitialized": None}
            if node.func.id in special:  # of a type and a value
                place = special[node.func.id]
                return None if place is None else self.value(node.args[place])
            if node.func.id == "isinstance":
                return _is_instance(self.value(node.args[0]), ast.unparse(node.args[1]))
        named = ({k.arg: self.value(k.value)} if k.arg else self.value(k.value) for k in node.keywords)  # fmt: skip
        return self.value(node.func)(*self.elements(node.args), **reduce(operator.or_, named, {}))

    def elements(self, nodes: list[ast.expr]) -> list[Any]:
        """The values of expressions in a row; of `*values`, all of them."""
        return [value for n in nodes for value in (self.value(n.value) if isinstance(n, ast.Starred) else (self.value(n),))]  # fmt: skip

    def decided(self, node: ast.BoolOp) -> Any:
        """The first value of `and` or `or` that decides."""
        for each in node.values[:-1]:
            found = self.value(each)
            if bool(found) is isinstance(node.op, ast.Or):
                return found
        return self.value(node.values[-1])

    def compared(self, node: ast.Compare) -> Any:
        """Whether each value of a chain is to the next as the code says."""
        left, found = self.value(node.left), None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            found = _OPERATORS[type(op)](left, right)
            if len(node.ops) > 1 and not found:
                break
            left = right
        return found

    def listed(self, node: ast.ListComp) -> Any:
        """A list that a loop makes."""
        if len(node.generators) != 1:
            raise ScriptError("a list in the code of a file is made by one loop")
        loop, made, outer = node.generators[0], [], self.names
        self.names = dict(outer)
        for each in self.value(loop.iter):
            self.assign(loop.target, each)
            if all(self.value(test) for test in loop.ifs):
                made.append(self.value(node.elt))
        self.names = outer
        return made


# --- What the language has ------------------------------------------------------------------------------------

STATEMENTS: dict[type, Callable[[Evaluator, Any], Any]] = {
    ast.Assign: Evaluator.assign_all,
    ast.AnnAssign: lambda e, n: n.value and e.assign(n.target, e.value(n.value)),
    ast.AugAssign: lambda e, n: e.assign(n.target, _OPERATORS[type(n.op)](e.value(n.target), e.value(n.value))),
    ast.Expr: lambda e, n: e.value(n.value),
    ast.If: lambda e, n: e.body(n.body if e.value(n.test) else n.orelse),
    ast.While: lambda e, n: e.loop(iter(lambda: bool(e.value(n.test)), False), n),
    ast.For: lambda e, n: e.loop((e.assign(n.target, each) for each in e.value(n.iter)), n),
    ast.Return: lambda e, n: _Ends(ast.Return, e.value(n.value)),
    ast.Break: lambda e, n: _Ends(ast.Break),
    ast.Continue: lambda e, n: _Ends(ast.Continue),
    ast.Pass: lambda e, n: None,
    ast.Assert: Evaluator.check,
    ast.Raise: Evaluator.fail,
}  # fmt: skip
"""What an evaluator `e` does for a statement `n`."""

EXPRESSIONS: dict[type, Callable[[Evaluator, Any], Any]] = {
    type(None): lambda e, n: None,  # an optional part that is left out
    ast.Constant: lambda e, n: n.value,
    ast.Name: Evaluator.named,
    ast.Attribute: Evaluator.dotted_name,
    ast.Call: Evaluator.called,
    ast.Tuple: lambda e, n: tuple(e.elements(n.elts)),
    ast.List: lambda e, n: e.elements(n.elts),
    ast.Dict: lambda e, n: reduce(operator.or_, ({e.value(k): e.value(v)} if k else e.value(v) for k, v in zip(n.keys, n.values, strict=True)), {}),
    ast.Subscript: lambda e, n: e.value(n.value)[e.value(n.slice)],
    ast.Slice: lambda e, n: slice(*map(e.value, (n.lower, n.upper, n.step))),
    ast.BinOp: lambda e, n: _OPERATORS[type(n.op)](e.value(n.left), e.value(n.right)),
    ast.UnaryOp: lambda e, n: _OPERATORS[type(n.op)](e.value(n.operand)),
    ast.BoolOp: Evaluator.decided,
    ast.Compare: Evaluator.compared,
    ast.IfExp: lambda e, n: e.value(n.body if e.value(n.test) else n.orelse),
    ast.JoinedStr: lambda e, n: "".join(str(e.value(each)) for each in n.values),
    ast.FormattedValue: lambda e, n: format(e.value(n.value), e.value(n.format_spec) or ""),
    ast.ListComp: Evaluator.listed,
}  # fmt: skip
"""What an expression `n` stands for to an evaluator `e`."""


def _form(forms: dict[type, Any], node: Any) -> Callable[[Evaluator, Any], Any]:
    found = forms.get(type(node))
    if found is None:
        raise ScriptError(f"code of a file has no {type(node).__name__}: {ast.unparse(node)}")
    return found


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


_KNOWN = {**BUILTINS, "getattr": attribute, "inf": math.inf, "nan": math.nan}


def dotted(node: ast.expr) -> list[str] | None:
    """The names of `a.b.c`; None for what does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None


_KINDS: dict[str, Any] = {"int": int, "float": float, "bool": bool, "str": str, "Tensor": Tensor, "NoneType": type(None)}  # fmt: skip
_KINDS |= {name: k for k in (list, dict, tuple) for name in (k.__name__, k.__name__.title())}


def _is_instance(value: Any, kind: str) -> bool:
    """Whether a value is of a type that code names."""
    name = kind.partition("[")[0].rpartition(".")[2]
    if name not in _KINDS:
        raise ScriptError(f"the code asks whether a value is of the type {kind}, which is not known")  # fmt: skip
    return isinstance(value, _KINDS[name])


_ERRORS = {e.__name__: e for e in (ValueError, RuntimeError, TypeError, IndexError, KeyError, AssertionError, NotImplementedError)}  # fmt: skip


def _error(name: str, *args: Any) -> Exception:
    return _ERRORS.get(name.rpartition(".")[2], RuntimeError)(*args)


def _raise(text: str, name: str = "") -> None:
    raise _error(name or text.partition(":")[0], text)
