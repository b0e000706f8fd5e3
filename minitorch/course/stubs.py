"""Taking the bodies of functions away, and putting them back, by their positions in the text.

Everything outside the bodies stays as it is, byte for byte.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from textwrap import indent

from ..syntax import parse
from .differences import DROPPED, REWRITTEN, SOLUTIONS
from .tasks import TASKS, Place, Task

LIBRARY = Path(__file__).parents[1]
"""The package of the reference."""

_MARK = "Need to implement for Task {}"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def solution_file(file: str) -> str:
    """A file of the library as a finished workspace has it."""
    text = (LIBRARY / file).read_text(encoding="utf-8")
    return _solution(file, text)


@cache
def _solution(file: str, text: str) -> str:
    for name in DROPPED.get(file, ()):
        text = _drop(text, name)
    for old, new in REWRITTEN.get(file, ()):
        if text.count(old) != 1:
            raise ValueError(f"{file} has {text.count(old)} times, not once: {old!r}")
        text = text.replace(old, new)
    for (where, name), body in SOLUTIONS.items():
        if where == file:
            text = replace_body(text, name, body)
    return re.sub(r"\n{4,}", "\n\n\n", text) if file in DROPPED else text


def stub_file(file: str, open_tasks: Iterable[Task] = TASKS) -> str:
    """A file of the library with a place to write for every function of the open tasks."""
    numbers = {p.name: task.number for task in open_tasks for p in task.places if p.file == file}
    return _stub(solution_file(file), tuple(numbers.items()))


@cache
def _stub(text: str, numbers: tuple[tuple[str, str], ...]) -> str:
    tree = parse(text)
    bodies = {}
    for name, number in numbers:
        margin = " " * find_function(tree, name).body[0].col_offset
        bodies[name] = (
            f"{margin}# TODO: write this for Task {number}.\n"
            f'{margin}raise NotImplementedError("{_MARK.format(number)}")\n'
        )
    return replace_bodies(text, bodies)


def put_back(text: str, places: Iterable[Place]) -> str:
    """The text, of one file, with the solution's bodies for some of its functions."""
    return replace_bodies(text, {p.name: body_of(solution_file(p.file), p.name) for p in places})


def is_open(text: str, name: str) -> bool:
    """Whether a function of this text is still to be written."""
    if name not in functions_of(text):
        raise LookupError(f"no function {name}")
    return name in _open_functions(text)


@lru_cache(maxsize=256)
def _open_functions(text: str) -> frozenset[str]:
    return frozenset(name for name, function in _named_functions(text) if _has_mark(function))


def _has_mark(function: Function) -> bool:
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("Need to implement for Task")
        for node in ast.walk(function)
    )


@lru_cache(maxsize=256)
def code_of(text: str, left_out: tuple[str, ...] = ()) -> str:
    """What a text computes: its tree, without comments, docstrings and the bodies of some functions."""
    tree = parse(text)
    for name in left_out:
        with suppress(LookupError):
            find_function(tree, name).body = []
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module) and _has_docstring(node):
            node.body = node.body[1:]
    return ast.dump(tree)


@lru_cache(maxsize=256)
def functions_of(text: str) -> frozenset[str]:
    """The qualified names of the functions of a text, with what encloses them."""
    return frozenset(name for name, _ in _named_functions(text))


def _named_functions(text: str) -> Iterator[tuple[str, Function]]:
    queue: list[tuple[str, ast.AST]] = [("", parse(text))]
    while queue:
        prefix, node = queue.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function | ast.ClassDef):
                queue.append((f"{prefix}{child.name}.", child))
                if not isinstance(child, ast.ClassDef):
                    yield prefix + child.name, child
            else:
                queue.append((prefix, child))


def _has_docstring(node: Function | ast.ClassDef | ast.Module) -> bool:
    first = node.body[0] if node.body else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )


@lru_cache(maxsize=1024)
def body_of(text: str, name: str) -> str:
    """The body of a function, without its docstring."""
    first, last = _lines_of_body(text.splitlines(), find_function(parse(text), name))
    return "".join(text.splitlines(keepends=True)[first:last])


def replace_body(text: str, name: str, body: str) -> str:
    """The text with another body, which is indented already, for one of its functions."""
    return replace_bodies(text, {name: body})


def replace_bodies(text: str, bodies: Mapping[str, str]) -> str:
    """The text with other bodies, which are indented already, for some of its functions."""
    tree, lines = parse(text), text.splitlines(keepends=True)
    found = [(*_lines_of_body(lines, find_function(tree, name)), bodies[name]) for name in bodies]
    for first, last, body in sorted(found, reverse=True):  # from the end: positions stay
        lines[first:last] = [body]
    return "".join(lines)


def with_body(text: str, name: str, body: str) -> str:
    """The text with another body, which is not indented yet, for one of its functions."""
    margin = " " * find_function(parse(text), name).body[0].col_offset
    return replace_body(text, name, indent(body, margin))


def _lines_of_body(lines: list[str], function: Function) -> tuple[int, int]:
    """The lines, from one up to but not including the other, that are a function's body."""
    start = function.body[0]
    has_docstring = ast.get_docstring(function) is not None
    first = start.end_lineno if has_docstring else start.lineno - 1
    if first is None or function.end_lineno is None:
        raise ValueError(f"{function.name} has no position")
    while not has_docstring and lines[first - 1].lstrip().startswith("#"):
        first -= 1  # comments above the first statement belong to the body
    return first, function.end_lineno


def find_function(tree: ast.Module, name: str) -> Function:
    """The function with this qualified name; LookupError if the text has none."""
    nodes: list[ast.stmt] = tree.body
    found: ast.stmt | None = None
    for part in name.split("."):
        found = next(
            (
                node
                for node in nodes
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                and node.name == part
            ),
            None,
        )
        if found is None:
            raise LookupError(f"no function {name}")
        nodes = found.body  # type: ignore[union-attr]
    if not isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise LookupError(f"{name} is no function")
    return found


def _drop(text: str, name: str) -> str:
    """The text without one of its functions, methods or assignments, and the blank lines after."""
    *owners, last = name.split(".")
    nodes = parse(text).body
    for owner in owners:
        nodes = next(n.body for n in nodes if isinstance(n, ast.ClassDef) and n.name == owner)
    node = next(n for n in nodes if last in _names(n))
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
    lines = text.splitlines(keepends=True)
    end = node.end_lineno or node.lineno
    while (
        isinstance(node, (ast.FunctionDef, ast.ClassDef))
        and not (lines[end : end + 1] or ["x"])[0].strip()
    ):
        end += 1
    return "".join(lines[:first] + lines[end:])


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    return [getattr(node, "name", "")]
