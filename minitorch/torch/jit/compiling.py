"""A program's functions and methods as the code of a TorchScript file: their own source, with every name looked up.

What a name of the program stands for is written down: an operation, a constant, a function of the program, which is
compiled too. What the reader of such files cannot carry out (`interpreting.py`) is an error with its line.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import re
import textwrap
import types
from typing import Any

from ...syntax import parse, parse_expression
from .. import dtypes, fft, linalg, nn, special
from ..nn import functional
from ..ops import FUNCTIONS
from ..serialization.pickler import SCRIPTED
from ..tensor import Tensor
from .calls import BUILTINS, HERE, ScriptError
from .interpreting import EXPRESSIONS, STATEMENTS, dotted

PLAIN = (bool, int, float, str, type(None))
_WORDS = ("annotate", "isinstance")


def is_plain(value: Any) -> bool:
    """Whether a value is made of numbers, texts, lists, tuples and dicts."""
    if type(value) in (list, tuple):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(type(k) in PLAIN and is_plain(v) for k, v in value.items())
    return type(value) in PLAIN


def package_of(owner: Any) -> str:
    """The package in a file of what a program defines."""
    module = owner.__module__
    return SCRIPTED if module == "__main__" else f"{SCRIPTED}.{module}"


class Compiler:
    """Collects the code of a file.

    Attributes:
        texts: of each definition, by its whole name
        constants: tensors that the code names
    """

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.constants: list[Tensor] = []
        self._names: dict[Any, str] = {}

    def name_of(self, definition: Any) -> str:
        """The whole name of a class or function; another one if two have the same."""
        if definition not in self._names:
            package, name, taken = package_of(definition), definition.__name__, set(self._names.values())  # fmt: skip
            numbers = ("", *(f".___torch_mangle_{i}" for i in range(len(taken))))
            self._names[definition] = next(full for n in numbers if (full := f"{package}{n}.{name}") not in taken)  # fmt: skip
        return self._names[definition]

    def packages(self) -> dict[str, str]:
        """The code of each package."""
        found: dict[str, str] = {}
        for name, text in self.texts.items():
            package = name.rpartition(".")[0]
            found[package] = f"{found.get(package, '')}{text}\n"
        return found

    def constant(self, tensor: Tensor) -> str:
        """How the code names a tensor."""
        self.constants.append(tensor.detach())
        return f"CONSTANTS.c{len(self.constants) - 1}"

    def function(self, fn: Any) -> str:
        """Compile a function of the program; its whole name."""
        known = fn in self._names
        name = self.name_of(fn)
        if not known:
            self.texts[name] = ast.unparse(_Names(self, fn).compiled())
        return name

    def module_class(self, cls: type, entry: Any = None) -> tuple[str, list[str]]:
        """Compile `forward` of a class and what it calls; its whole name and the attributes that it reads.

        Args:
            cls: the class
            entry: a function that becomes `forward` of a class without methods
        """
        name = self.name_of(cls)
        waiting, methods, read = ["forward"], {}, []
        waiting += [n for n, f in inspect.getmembers(cls, inspect.isfunction) if getattr(f, "_exported", False)]  # fmt: skip
        while waiting:
            method = waiting.pop()
            fn = entry or getattr(cls, method)
            rewriter = _Names(self, fn, is_method=entry is None)
            node = rewriter.compiled()
            node.name = method
            if entry is not None:
                node.args.args.insert(0, ast.arg("self"))
            methods[method] = node
            for attribute in rewriter.of_self:
                if inspect.isfunction(getattr(cls, attribute, None)):
                    waiting += [attribute] if attribute not in (*methods, *waiting) else []
                else:
                    read.append(attribute)
        body = textwrap.indent("\n".join(map(ast.unparse, methods.values())), "  ")
        self.texts[name] = f"class {cls.__name__}(Module):\n{body}"
        return name, read


class _Names(ast.NodeTransformer):
    """Rewrites one function so that it names nothing of the program's."""

    def __init__(self, compiler: Compiler, fn: Any, is_method: bool = False) -> None:
        self.compiler = compiler
        self.fn = inspect.unwrap(fn)
        try:
            source = textwrap.dedent(inspect.getsource(self.fn))
            node = parse(source).body[0]
        except (OSError, TypeError, SyntaxError) as error:
            raise ScriptError(f"the source of {fn!r} cannot be found: use torch.jit.trace") from error  # fmt: skip
        if not isinstance(node, ast.FunctionDef):
            raise ScriptError(f"{fn!r} is no function with a name: use torch.jit.trace")
        self.node = node
        own = [*node.args.args, *node.args.kwonlyargs]
        self.locals = {a.arg for a in own} | {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
        self.self_name = own[0].arg if is_method else None
        self.of_self: dict[str, None] = {}

    def compiled(self) -> ast.FunctionDef:
        """The function for a file."""
        node = self.node
        if node.args.vararg or node.args.kwarg:
            raise self._refused(node, "takes any number of arguments")
        node.decorator_list, node.returns = [], None
        for each in (*node.args.args, *node.args.kwonlyargs):
            each.annotation = None
        if ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
        node.args.defaults = [self.visit(each) for each in node.args.defaults]
        node.body = [self.visit(each) for each in node.body]
        known = {*STATEMENTS, *EXPRESSIONS, ast.Starred}
        for each in (n for part in node.body for n in ast.walk(part)):
            if isinstance(each, (ast.stmt, ast.expr)) and type(each) not in known:
                raise self._refused(each, f"has {type(each).__name__}")
        return ast.fix_missing_locations(node)

    def _refused(self, node: Any, why: str) -> ScriptError:
        line = self.fn.__code__.co_firstlineno + getattr(node, "lineno", 1) - 1
        return ScriptError(
            f"{self.fn.__qualname__} {why}, which the code of a file cannot ({self.fn.__code__.co_filename}:{line}); "
            "torch.jit.trace keeps what a module computes for an example"
        )

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """An assignment without the type."""
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Call(self, node: ast.Call) -> Any:
        """A call; types in calls are only names."""
        word = _last_name(node.func)
        if word in _WORDS and not (isinstance(node.func, ast.Name) and node.func.id in self.locals):
            place = 0 if word == "annotate" else 1
            kept = ast.Name(re.sub(r"\b(torch|typing)\.", "", ast.unparse(node.args[place])))
            other = self.visit(node.args[1 - place])
            args = [kept, other] if place == 0 else [other, kept]
            return ast.Call(ast.Name(word), args, [])
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        """An error; its class is only a name."""
        if isinstance(node.exc, ast.Call):
            node.exc.args = [self.visit(each) for each in node.exc.args]
        node.cause = None
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """A name with points: of a value, or of something of the program."""
        path = dotted(node)
        if path is None or path[0] in self.locals:
            if isinstance(node.value, ast.Name) and node.value.id == self.self_name:
                self.of_self[node.attr] = None
            return self.generic_visit(node)
        owner = functools.reduce(getattr, path[1:], self._found(path[0], node))
        return self._reference(owner, node)

    def visit_Name(self, node: ast.Name) -> Any:
        """A name: of a value, or of something of the program."""
        if node.id in self.locals:
            return node
        return self._reference(self._found(node.id, node), node)

    def _found(self, name: str, node: Any) -> Any:
        variables = inspect.getclosurevars(self.fn)
        for table in (variables.nonlocals, self.fn.__globals__, vars(builtins)):
            if name in table:
                return table[name]
        raise self._refused(node, f"names {name!r}")

    def _reference(self, value: Any, node: Any) -> Any:
        """How a file names a value of the program."""
        text = self._text(value)
        if text is None:
            raise self._refused(node, f"uses {ast.unparse(node)}, a {type(value).__name__}")
        return parse_expression(text)

    def _text(self, value: Any) -> str | None:
        if is_plain(value):
            return repr(value)
        if isinstance(value, dtypes.dtype):
            return f"torch.{value.name}"
        if isinstance(value, Tensor):
            return self.compiler.constant(value)
        name = getattr(value, "__name__", "")
        if any(value is known for known in BUILTINS.values()) or value is getattr:
            return name
        if getattr(math, name, None) is value:
            return f"torch.{name}"
        fn = getattr(value, "script_function", value)
        found = library_name(value)
        if found is None and isinstance(fn, types.FunctionType):
            return self.compiler.function(fn)
        return found


_PLACES: dict[str, Any] = {
    "torch": FUNCTIONS,
    "torch.nn.functional": vars(functional),
    "torch.linalg": vars(linalg),
    "torch.special": vars(special),
    "torch.fft": vars(fft),
}


def library_name(value: Any) -> str | None:
    """The name of a function of this library: `torch.relu`, `torch.nn.functional.relu`."""
    module, name = str(getattr(value, "__module__", "")), getattr(value, "__name__", "")
    if not callable(value) or (module and not module.startswith(HERE)):
        return None
    same = (value, getattr(value, "__wrapped__", None))
    for place, names in _PLACES.items():
        if any(names.get(name) is each for each in same):
            return f"{place}.{name}"
    return None


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def library_class(cls: type) -> str | None:
    """The name of a class, if it is one of `torch.nn`."""
    return cls.__name__ if library_module(cls.__name__) is cls else None


def library_module(name: str) -> Any:
    """The class of `torch.nn` with a name, or None."""
    found = getattr(nn, name, None) or getattr(nn.modules.linear, name, None)
    return found if isinstance(found, type) and issubclass(found, nn.Module) else None
