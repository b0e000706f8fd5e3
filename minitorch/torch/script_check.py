"""Find the names that a script takes from Torch and that are not here, before it runs.

The script is parsed, not run. What it may never reach does not count: names inside a `try`
that catches their absence, or behind a question about GPUs, versions or attributes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..syntax import parse
from .aliases import ALIASES, find_module

_CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
_QUESTIONS = {
    "hasattr", "getattr", "available", "enabled", "version", "platform", "checking", "spec",
    "cuda", "mps", "xpu", "gpu", "gpus", "compile", "amp", "profile",
    "ddp", "fsdp", "dist", "distributed", "rank", "world",
}  # fmt: skip
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, order=True)
class Missing:
    """A name that is not here, and the line that needs it, if the line is certain to run or not."""

    file: Path
    line: int
    name: str
    text: str
    certain: bool = True


def missing_names(script: Path, root: Path | None = None) -> list[Missing]:
    """What a script and the modules beside it need and what is not here."""
    root = script.parent if root is None else root
    waiting, done, found = [script], set[Path](), set[Missing]()
    while waiting:
        path = waiting.pop()
        if path in done:
            continue
        done.add(path)
        source = _Source.read(path, root)
        if source is not None:
            found.update(each for each in source.missing() if each.certain)
            waiting.extend(source.local_modules)
    return sorted(found)


def names_in(file: Path) -> list[Missing]:
    """What one file needs or may need, and what is not here."""
    source = _Source.read(file, file.parent)
    return [] if source is None else sorted(set(source.missing()))


def first_missing(dotted: str) -> str | None:
    """The shortest beginning of `torch.a.b.c` that is not here; None if it is all here."""
    top, *rest = dotted.split(".")
    found: Any = find_module(top)
    for position, part in enumerate(rest):
        name = ".".join([top, *rest[: position + 1]])
        if not isinstance(found, (ModuleType, type)):
            return None  # an object, of which only running the script tells more
        try:
            if hasattr(found, part):
                found = getattr(found, part)
                continue
        except ImportError:
            return None  # it is here, and lacks another package, of which running the script tells
        try:
            found = find_module(name)
        except ImportError:
            return name
    return None


class _Source(ast.NodeVisitor):
    """One file: which of its names are modules of Torch's, and what it takes from them."""

    def __init__(self, path: Path, root: Path, text: bytes, tree: ast.Module) -> None:
        self.path, self.root, self.tree = path, root, tree
        self.lines = text.decode("utf-8", "replace").splitlines()
        self.local_modules: list[Path] = []
        self._guards = 0
        self._uses: list[tuple[str, int, bool]] = []
        self._postponed = any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
        )
        self._names = _imported_names(tree)
        self._set = {
            _dotted(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute) and _is_set(n)
        }

    @classmethod
    def read(cls, path: Path, root: Path) -> _Source | None:
        """Parse a file; None if it cannot be, which running it will tell."""
        try:
            text = path.read_bytes()
            return cls(path, root, text, parse(text))
        except (OSError, SyntaxError, ValueError):
            return None

    def missing(self) -> Iterator[Missing]:
        """The names that the file takes and that are not here."""
        self.visit(self.tree)
        for name, line, certain in self._uses:
            lacking = first_missing(name)
            if lacking is not None and lacking not in self._set:
                yield Missing(self.path, line, lacking, self.lines[line - 1].strip(), certain)

    def _use(self, name: str, node: ast.AST) -> None:
        self._uses.append((name, getattr(node, "lineno", 1), not self._guards))

    @contextmanager
    def _guarded(self, guarded: bool = True) -> Iterator[None]:
        """What is visited meanwhile may never run."""
        self._guards += guarded
        yield
        self._guards -= guarded

    # --- What takes names ------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if _top(alias.name) in ALIASES:
                self._use(alias.name, node)
            else:
                self._follow(self.root, alias.name.split("."))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = (node.module or "").split(".") if node.module else []
        for alias in node.names:
            if node.level:
                folder = self.path.parents[node.level - 1]
                self._follow(folder, [*module, alias.name])
            elif module[0] in ALIASES:
                self._use(".".join(module if alias.name == "*" else [*module, alias.name]), node)
            else:
                self._follow(self.root, [*module, alias.name])

    def _follow(self, folder: Path, parts: Sequence[str]) -> None:
        """Note the files beside the script that an import may load."""
        for length in range(1, len(parts) + 1) if not self._guards else ():
            place = folder.joinpath(*parts[:length])
            files = (place.with_name(place.name + ".py"), place / "__init__.py")
            self.local_modules += [file for file in files if file.is_file()]

    def visit_Attribute(self, node: ast.Attribute) -> None:
        dotted = _dotted(node)
        top = _top(dotted) if dotted else ""
        if dotted and top in self._names and not _is_set(node):
            self._use(self._names[top] + dotted.removeprefix(top), node)
        else:
            self.generic_visit(node)

    # --- What may never run ----------------------------------------------------------

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        with self._guarded(_is_question(node.test)):
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit_If(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        with self._guarded(_is_question(node)):
            self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        with self._guarded(any(_catches_absence(handler.type) for handler in node.handlers)):
            self._visit_all(node.body)
        with self._guarded():
            self._visit_all(node.handlers)
        self._visit_all(node.orelse)
        self._visit_all(node.finalbody)

    def visit_With(self, node: ast.With) -> None:
        with self._guarded("suppress" in ast.unparse(node.items[0])):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        for part in (node.target, node.value):
            if part is not None:
                self.visit(part)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_all(node.decorator_list)
        if self._postponed:
            self._visit_all([d for d in (*node.args.defaults, *node.args.kw_defaults) if d])
        else:
            self._visit_all([node.args, *([node.returns] if node.returns else [])])
        self._visit_all(node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def generic_visit(self, node: ast.AST) -> None:
        for _, value in ast.iter_fields(node):
            if isinstance(value, list):
                self._visit_all(item for item in value if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST):
                self.visit(value)

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        """Visit statements in order; after `if not available: return` the rest may never run."""
        left = 0
        for node in nodes:
            self.visit(node)
            if isinstance(node, ast.If) and _is_question(node.test) and _leaves(node.body):
                self._guards += 1
                left += 1
        self._guards -= left


# --- Facts about pieces of a program ----------------------------------------------------------


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """The names in a file that stand for something of Torch's, and nothing else."""
    names: dict[str, str] = {}
    others: set[str] = set()

    def bind(name: str, meaning: str) -> None:
        known = names.setdefault(name, meaning)
        if known != meaning or _top(meaning) not in ALIASES:
            others.add(name)

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bind(
                    alias.asname or _top(alias.name),
                    alias.name if alias.asname else _top(alias.name),
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                bind(alias.asname or alias.name, f"{'.' * node.level}{node.module}.{alias.name}")
        else:
            others.update(_bound_by(node))
    return {name: meaning for name, meaning in names.items() if name not in others}


def _bound_by(node: ast.AST) -> list[str]:
    """The names that a piece of a program gives a meaning to, other than by importing."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        return [node.name]
    return []


def _dotted(node: ast.AST) -> str:
    """`a.b.c` as text; empty for what is no chain of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _top(dotted: str) -> str:
    return dotted.partition(".")[0]


def _is_set(node: ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _is_question(test: ast.AST) -> bool:
    """Whether a condition asks what the machine or the library has."""
    words = re.findall(r"[a-z]+", ast.unparse(test).lower())
    return not _QUESTIONS.isdisjoint(words)


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a block ends by leaving what is around it."""
    last = body[-1]
    return isinstance(last, _LEAVES) or (isinstance(last, ast.Expr) and "exit" in ast.unparse(last))


def _catches_absence(caught: ast.expr | None) -> bool:
    """Whether an `except` catches that a name is missing."""
    if caught is None:
        return True
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(_dotted(kind).rpartition(".")[2] in _CAUGHT for kind in kinds)
