"""Mistakes in kernels that are seen in their text: what comes out of them depends on chance.

Iterations that share a buffer, threads that do not wait for each other, and a thread past the end may give right
numbers; most do whenever a kernel runs as plain Python. So the text is read: loops over `prange`, buffers that are
made outside of them, writes to and reads from shared memory, and what each condition depends on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..syntax import parse
from .stubs import find_function

SHARED_BUFFER = (
    "{name} makes the buffer {what} outside of the prange (line {line}): all threads write to the same "
    "one, and spoil each other's indices. Make it inside the loop."
)
CONDITIONAL_SYNC = (
    "{name} calls cuda.syncthreads() where only some threads come by (line {line}): a real GPU waits for "
    "ever or goes on too early. Let the condition guard the reads and writes, and all threads wait."
)
MISSING_SYNC = (
    "{name} reads {what} (line {line}), which other threads write, without a cuda.syncthreads() in "
    "between: the numbers may not be there yet."
)
EARLY_WRITE = (
    "{name} writes to {what} in the next round of a loop (line {line}) while other threads may still read "
    "it: a cuda.syncthreads() is missing at the end of the loop."
)
WIDE_GUARD = (
    "{name} lets one thread too many through: {what} (line {line}). Cells are counted from 0, so the last "
    "one is the size minus 1."
)


def faults(text: str, name: str) -> list[str]:
    """What can be seen to be wrong with a function of a file."""
    try:
        function = find_function(parse(text), name)
    except (SyntaxError, LookupError):
        return []
    kinds = (_shared_buffers, _wide_guards, _conditional_waits, _missing_waits)
    found = [fault for kind in kinds for fault in kind(function)]
    said = [kind.format(name=name, what=what, line=line) for kind, what, line in found]
    return list(dict.fromkeys(said))[:3]


Fault = tuple[str, str, int]


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _calls(node: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            yield ast.unparse(call.func).split(".")[-1], call


def _stores(node: ast.AST) -> Iterator[ast.Subscript]:
    for target in ast.walk(node):
        if isinstance(target, ast.Subscript) and isinstance(target.ctx, ast.Store):
            yield target


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target and what it is given, those of `a, b = x, y` apart."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.AugAssign):
            yield inner.target, inner.value
        elif isinstance(inner, ast.Assign):
            for target in inner.targets:
                pairs = (target, inner.value)
                if all(isinstance(p, ast.Tuple) for p in pairs):
                    yield from zip(target.elts, inner.value.elts, strict=False)  # type: ignore[attr-defined]
                else:
                    yield pairs


def _dependent(node: ast.AST, names: set[str]) -> set[str]:
    """The names of a piece of program that depend on some, and these."""
    found, before = set(names), -1
    while len(found) != before:
        before = len(found)
        for target, value in _assignments(node):
            if _names(value) & found and not isinstance(target, ast.Subscript):
                found |= _names(target)
    return found


# --- prange --------------------------------------------------------------------------------------


def _shared_buffers(function: ast.AST) -> Iterator[Fault]:
    loops = [n for n in ast.walk(function) if isinstance(n, ast.For) and "prange" in _names(n.iter)]
    inside = {id(inner) for loop in loops for inner in ast.walk(loop)}
    made = {
        target.id: node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and id(node) not in inside
        and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name)
    }  # fmt: skip
    for loop in loops:
        own = _dependent(loop, _names(loop.target))
        for store in _stores(loop):
            buffer = ast.unparse(store.value)
            if buffer in made and not _names(store.slice) & own:
                yield SHARED_BUFFER, buffer, made[buffer]
        for called, call in _calls(loop):
            if called in ("to_index", "broadcast_index") and call.args:
                buffer = ast.unparse(call.args[-1])
                if buffer in made:
                    yield SHARED_BUFFER, buffer, made[buffer]


# --- Guards --------------------------------------------------------------------------------------


def _wide_guards(function: ast.AST) -> Iterator[Fault]:
    """`i <= size` before work, or `i > size` before leaving, where i is a thread's own number."""
    own = _of_one_thread(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.LtE, ast.Gt)):
            sides = [ast.unparse(side) for side in (node.left, node.comparators[0])]
            if sides[0] in own and sides[1] in ("size", "out_size"):
                yield WIDE_GUARD, ast.unparse(node), node.lineno


# --- Shared memory -------------------------------------------------------------------------------


def _of_one_thread(function: ast.AST) -> set[str]:
    """Names whose values differ from thread to thread."""
    first = set()
    for target, value in _assignments(function):
        if "threadIdx" in ast.unparse(value) or "cuda.grid" in ast.unparse(value):
            first |= _names(target)
    return _dependent(function, first)


def _conditional_waits(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Fault]:
    own = _of_one_thread(function)

    def depends(test: ast.AST) -> bool:
        return bool(_names(test) & own) or "threadIdx" in ast.unparse(test)

    left: list[int] = []  # lines after which some threads are gone
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.While)) and depends(node.test):
            for called, call in _calls(node):
                if called == "syncthreads":
                    yield CONDITIONAL_SYNC, "", call.lineno
            if any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
                left.append(node.lineno)
    for called, call in _calls(function):
        if called == "syncthreads" and any(call.lineno > line for line in left):
            yield CONDITIONAL_SYNC, "", call.lineno


class _Memory:
    """The last writes to and reads from shared memory since all threads waited."""

    def __init__(self, shared: set[str]) -> None:
        self.shared = shared
        self.written: dict[str, str] = {}
        self.read: dict[str, int] = {}
        self.found: list[Fault] = []
        self.round = 0

    def statement(self, node: ast.AST) -> None:
        """Take a statement, or the condition of one, into account."""
        if any(called == "syncthreads" for called, _ in _calls(node)):
            self.written, self.read = {}, {}
            return
        cells = [
            n for n in ast.walk(node)
            if isinstance(n, ast.Subscript) and ast.unparse(n.value) in self.shared
        ]  # fmt: skip
        for cell in cells:
            name, place = ast.unparse(cell.value), ast.unparse(cell.slice)
            if not isinstance(cell.ctx, ast.Store):
                if self.written.get(name, place) != place:
                    self.found.append((MISSING_SYNC, name, cell.lineno))
                self.read.setdefault(name, self.round)
        for cell in cells:
            name, place = ast.unparse(cell.value), ast.unparse(cell.slice)
            if isinstance(cell.ctx, ast.Store):
                if self.read.get(name, self.round) < self.round:
                    self.found.append((EARLY_WRITE, name, cell.lineno))
                self.written[name] = place

    def block(self, statements: list[ast.stmt]) -> None:
        """Go through statements in order; through loops twice."""
        for node in statements:
            if isinstance(node, (ast.For, ast.While)):
                for _ in range(2):
                    self.statement(node.iter if isinstance(node, ast.For) else node.test)
                    self.block(node.body)
                    self.round += 1
            elif isinstance(node, ast.If):
                self.statement(node.test)
                self.block(node.body)
                self.block(node.orelse)
            else:
                self.statement(node)


def _missing_waits(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Fault]:
    shared = {
        ast.unparse(target)
        for target, value in _assignments(function)
        if "shared.array" in ast.unparse(value)
    }
    memory = _Memory(shared)
    memory.block(function.body)
    return memory.found
