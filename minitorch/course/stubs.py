"""Taking the bodies of functions away, and putting them back, by their positions in the text.

Everything outside the bodies stays as it is, byte for byte.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
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
    text = solution_file(file)
    tree = parse(text)
    lines = text.splitlines(keepends=True)
    replaced: list[tuple[int, int, str]] = []
    for task in open_tasks:
        for place in task.places:
            if place.file == file:
                function = find_function(tree, place.name)
                replaced.append((*_lines_of_body(lines, function), _to_write(function, task)))
    for first, last, body in sorted(replaced, reverse=True):  # from the end: positions stay
        lines[first:last] = [body]
    return "".join(lines)


def _to_write(function: Function, task: Task) -> str:
    indent = " " * function.body[0].col_offset
    return (
        f"{indent}# TODO: write this for Task {task.number}.\n"
        f'{indent}raise NotImplementedError("{_MARK.format(task.number)}")\n'
    )


def put_back(text: str, place: Place) -> str:
    """Replace the body of a function by the solution's."""
    return replace_body(text, place.name, body_of(solution_file(place.file), place.name))


def is_open(text: str, name: str) -> bool:
    """Whether a function of this text is still to be written."""
    function = find_function(parse(text), name)
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
    found = set()
    queue: list[tuple[str, ast.AST]] = [("", parse(text))]
    while queue:
        prefix, node = queue.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function | ast.ClassDef):
                queue.append((f"{prefix}{child.name}.", child))
                if not isinstance(child, ast.ClassDef):
                    found.add(prefix + child.name)
            else:
                queue.append((prefix, child))
    return frozenset(found)


def _has_docstring(node: Function | ast.ClassDef | ast.Module) -> bool:
    first = node.body[0] if node.body else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )


def body_of(text: str, name: str) -> str:
    """The body of a function, without its docstring."""
    first, last = _lines_of_body(text.splitlines(), find_function(parse(text), name))
    return "".join(text.splitlines(keepends=True)[first:last])


def replace_body(text: str, name: str, body: str) -> str:
    """The text with another body, which is indented already, for one of its functions."""
    lines = text.splitlines(keepends=True)
    first, last = _lines_of_body(text.splitlines(), find_function(parse(text), name))
    return "".join([*lines[:first], body, *lines[last:]])


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
