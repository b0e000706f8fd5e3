"""A submission with the solution's functions for the tasks before one: its tests use them, and they may be wrong."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..syntax import parse
from .reviewing import SECONDS, within
from .stubs import find_function, solution_file
from .tasks import TASKS, Task


def with_earlier_solutions(files: dict[str, bytes], task: Task) -> dict[str, bytes] | None:
    """The files, with what comes before a task taken from the solution; None if they cannot be read."""
    names: dict[str, list[str]] = {}
    for place in (place for earlier in TASKS[: TASKS.index(task)] for place in earlier.places):
        names.setdefault(place.file, []).append(place.name)
    texts = within(
        SECONDS, lambda: {file: with_solutions(files[file], file, names[file]) for file in names}
    )
    return texts and files | {file: text.encode() for file, text in texts.items()}


def with_solutions(content: bytes, file: str, names: Sequence[str]) -> str:
    """A student's file with the solution's functions of these names, whatever it has in their place."""
    tree, solution = parse(content), parse(solution_file(file))
    for name in names:
        *owners, last = name.split(".")
        body: list[ast.stmt] | None = tree.body
        for owner in owners:
            body = getattr(_defined(body or [], owner), "body", None)
        if body is not None:
            replaced = _defined(body, last)
            at = body.index(replaced) if replaced else len(body)  # a lambda comes before it
            body[at : at + 1] = [find_function(solution, name)]
    _put_first(tree, [node for node in solution.body if _is_import_or_constant(node)])
    return ast.unparse(tree)


def _defined(body: list[ast.stmt], name: str) -> ast.stmt | None:
    """The last function or class of this name, which is the one that counts."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return next((n for n in reversed(body) if isinstance(n, kinds) and n.name == name), None)


def _is_import_or_constant(node: ast.stmt) -> bool:
    """Whether the solution's functions may need it, where a student's do not."""
    constant = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    return constant or isinstance(node, ast.Import | ast.ImportFrom)


def _put_first(tree: ast.Module, nodes: Sequence[ast.stmt]) -> None:
    """Put statements before all others: what the student has under their names holds."""
    future = [getattr(node, "module", "") == "__future__" for node in tree.body]
    at = len(future) - future[::-1].index(True) if True in future else 0
    tree.body[at:at] = nodes
