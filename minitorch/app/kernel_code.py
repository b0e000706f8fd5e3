"""Kernels that a user types: parsed, and computed node by node by simulated threads.

The language is a small part of Python: assignments, `if`, `for ... in range(...)`, subscripts of the
given arrays, arithmetic, comparisons, and the names of `cuda` that a kernel needs. Nothing is ever
executed: what is not in this file does not happen.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import syntax
from .inside.threads import Cells, Place, Recorder, TooLongError, Trace, finish, launch

LENGTH = 4000
"""Characters that a kernel may have."""

STEPS = 4000
"""Statements that a thread may run."""

LARGEST = 2**53
"""How large a number may become."""

CUDA = ("threadIdx", "blockIdx", "blockDim", "gridDim")

_SIGNS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs, "len": len, "float": float, "int": int}  # fmt: skip


class KernelError(ValueError):
    """What was typed is not in the language, or cannot be computed; the text says where and why."""


def parse(text: str) -> list[ast.stmt]:
    """The statements of a kernel."""
    if len(text) > LENGTH:
        raise KernelError(
            f"A kernel has at most {LENGTH} characters here; this one has {len(text)}."
        )
    try:
        return syntax.parse(text).body
    except SyntaxError as error:
        raise KernelError(f"Line {error.lineno or 1} is not Python: {error.msg}.") from None
    except (ValueError, RecursionError, MemoryError):
        raise KernelError("This is not Python that can be read.") from None


def run(
    text: str,
    blocks: int | Sequence[int],
    threads: int | Sequence[int],
    inputs: Mapping[str, Any],
    recorder: Recorder,
) -> Trace:
    """Launch what was typed; `inputs` are the names it may use besides its own."""
    program = Program(parse(text), dict(inputs), recorder)
    threads_at: dict[Place, Thread] = {}

    def start(place: Place) -> Iterator[int]:
        threads_at[place] = Thread(program, place)
        return threads_at[place].steps()

    recorder.line = lambda: threads_at[recorder.place].line
    try:
        launch(recorder, blocks, threads, start)
    except RecursionError:
        raise KernelError("This is nested too deeply.") from None
    except TooLongError as error:
        raise KernelError(f"This launch has {error}.") from None
    source = {i: line.strip() for i, line in enumerate(text.splitlines(), 1)}
    return finish(recorder, source, threads)


class Program:
    """What all threads of a launch share: the code, the given names, and memory."""

    def __init__(
        self, statements: list[ast.stmt], given: dict[str, Any], recorder: Recorder
    ) -> None:
        self.statements, self.given, self.recorder = statements, given, recorder
        self.shared: dict[Any, Cells] = {}
        self.variables = {
            node.value: node.targets[0].id
            for statement in statements
            for node in ast.walk(statement)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }

    def shared_array(self, block: Any, node: ast.expr, sizes: Sequence[int]) -> Cells:
        """A block's array of a place in the code, made for the first thread that asks."""
        if (block, node) not in self.shared:
            name = self.variables.get(node, f"line{node.lineno}")
            self.shared[block, node] = Cells(self.recorder, name, sizes, space="shared")
        return self.shared[block, node]


class _LeaveError(Exception):
    """A thread left a loop or the kernel: `break`, `continue` or `return`."""

    def __init__(self, how: str) -> None:
        self.how = how


class Thread:
    """One thread: where it stands and what its own names mean."""

    def __init__(self, program: Program, place: Place) -> None:
        self.program, self.place = program, place
        self.names = dict(program.given)
        self.line = 0
        self.left = STEPS

    def steps(self) -> Iterator[int]:
        """Run to the end, stopping at every barrier."""
        try:
            yield from self.run(self.program.statements)
        except _LeaveError as left:
            if left.how != "return":
                raise KernelError(f"Line {self.line}: {left.how} is not inside a loop.") from None

    # --- Statements

    def run(self, statements: list[ast.stmt]) -> Iterator[int]:
        """Run statements one after the other."""
        for statement in statements:
            self.line = statement.lineno
            self.left -= 1
            if self.left < 0:
                raise KernelError(
                    f"Line {self.line}: a thread has run {STEPS} statements and is not done. "
                    f"Does a loop go on for too long?"
                )
            yield from self.run_one(statement)

    def run_one(self, statement: ast.stmt) -> Iterator[int]:
        """Run one statement."""
        match statement:
            case ast.Expr(value=ast.Call(func=func)) if _dotted(func) == "cuda.syncthreads":
                yield self.line
            case ast.Expr(value=ast.Call(func=func, args=[array, index, value])) if (
                _dotted(func) == "cuda.atomic.add"
            ):
                self.add_atomically(array, index, value)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return
            case ast.Assign(targets=targets, value=value):
                computed = self.value(value)
                for target in targets:
                    self.assign(target, computed)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                self.assign_changed(target, op, value)
            case ast.If(test=test, body=body, orelse=orelse):
                yield from self.run(body if self.value(test) else orelse)
            case ast.For(target=target, iter=ast.Call() as call, body=body, orelse=[]):
                yield from self.loop(target, call, body)
            case ast.Break() | ast.Continue():
                raise _LeaveError(type(statement).__name__.lower())
            case ast.Return(value=None):
                raise _LeaveError("return")
            case ast.While() | ast.For():
                raise self.wrong("loops are written with for ... in range(...)")
            case _:
                raise self.wrong(f"`{_source(statement)}` is not in the language of these puzzles")

    def loop(self, target: ast.expr, call: ast.Call, body: list[ast.stmt]) -> Iterator[int]:
        """A loop over a range."""
        if _dotted(call.func) != "range" or not 1 <= len(call.args) <= 3 or call.keywords:
            raise self.wrong("loops are written with for ... in range(...)")
        bounds = [self.whole(self.value(bound), "a bound of range") for bound in call.args]
        if len(bounds) == 3 and bounds[2] == 0:
            raise self.wrong("the step of range must not be 0")
        for number in range(*bounds):
            self.left -= 1
            self.assign(target, number)
            try:
                yield from self.run(body)
            except _LeaveError as left:
                if left.how == "break":
                    return
                if left.how == "return":
                    raise

    def assign(self, target: ast.expr, value: Any) -> None:
        """Give a name or a cell its value."""
        match target:
            case ast.Name(id=name):
                if name in self.program.given or name == "cuda":
                    raise self.wrong(f"{name} is given; choose another name")
                self.names[name] = value
            case ast.Tuple(elts=parts):
                if not isinstance(value, tuple) or len(value) != len(parts):
                    raise self.wrong(f"there are {len(parts)} names on the left of =")
                for part, item in zip(parts, value, strict=True):
                    self.assign(part, item)
            case ast.Subscript(value=array, slice=index):
                self.write(self.array(array), self.index(index), value)
            case _:
                raise self.wrong(f"{_source(target)} cannot be assigned to")

    def assign_changed(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        """`x += 1` and its like; the cell is found once."""
        if isinstance(target, ast.Subscript):
            array, index = self.array(target.value), self.index(target.slice)
            self.write(array, index, self.apply(op, self.read(array, index), self.value(value)))
        else:
            self.assign(target, self.apply(op, self.value(target), self.value(value)))

    def add_atomically(self, array: ast.expr, index: ast.expr, value: ast.expr) -> None:
        """`cuda.atomic.add(out, i, x)`."""
        amount = self.number(self.value(value))
        self.array(array).change(self.index(index), lambda old: old + amount)

    # --- Expressions

    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return self.number(value)
            case ast.Name(id=name):
                return self.look_up(name)
            case ast.Tuple(elts=parts):
                return self.flat(tuple(self.value(part) for part in parts))
            case ast.Subscript(value=array, slice=index):
                return self.read(self.array(array), self.index(index))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.number(self.value(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self.apply(op, self.value(left), self.value(right))
            case ast.BoolOp(op=op, values=parts):
                return self.logic(op, parts)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self.compare(left, ops, others)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self.value(test) else orelse)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call(func=func, args=given, keywords=[]):
                return self.call(_dotted(func), given, node)
        raise self.wrong(f"`{_source(node)}` is not in the language of these puzzles")

    def flat(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """A tuple of single values: of tuples in tuples a few lines make one too long to compare."""
        if any(isinstance(value, tuple) for value in values):
            raise self.wrong("a tuple cannot hold another one")
        return values

    def look_up(self, name: str) -> Any:
        """What a name stands for."""
        if name not in self.names:
            raise self.wrong(f"there is no {name} yet")
        return self.names[name]

    def logic(self, op: ast.boolop, parts: list[ast.expr]) -> Any:
        """`and` and `or`, from left to right, no further than needed."""
        stop = isinstance(op, ast.Or)
        result: Any = None
        for part in parts:
            result = self.value(part)
            if bool(result) is stop:
                break
        return result

    def compare(self, left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr]) -> bool:
        """`0 <= i < size`."""
        first = self.value(left)
        for op, other in zip(ops, others, strict=True):
            second = self.value(other)
            if not self.apply(op, first, second):
                return False
            first = second
        return True

    def attribute(self, node: ast.Attribute) -> Any:
        """`cuda.threadIdx.x` and `a.shape`."""
        match node:
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="cuda"), attr=name), attr="x" | "y" | "z"
            ) if name in CUDA:
                at = self.place
                point = dict(zip(CUDA, (at.thread, at.block, at.threads, at.blocks), strict=True))
                return point[name]["xyz".index(node.attr)]
            case ast.Attribute(value=array, attr="shape" | "size"):
                return getattr(self.array(array), node.attr)
        raise self.wrong(f"there is no `{_source(node)}` here")

    def call(self, name: str, given: list[ast.expr], node: ast.expr) -> Any:
        """A call of one of the functions that there are."""
        if name == "cuda.shared.array":
            return self.shared_array(given, node)
        arguments = [self.value(part) for part in given]
        try:
            if name in ("cuda.grid", "cuda.gridsize"):
                return getattr(self.place, name.split(".")[1])(*arguments)
            if name in _FUNCTIONS:
                return _FUNCTIONS[name](*arguments)
        except (TypeError, ValueError, OverflowError):
            raise self.wrong(f"{_source(node)} cannot be computed") from None
        if name == "cuda.syncthreads":
            raise self.wrong("cuda.syncthreads() stands on a line of its own")
        raise self.wrong(f"there is no function {name or _source(node)} here")

    def shared_array(self, given: list[ast.expr], node: ast.expr) -> Cells:
        """The block's array of this place in the code, made by the first thread that asks."""
        shape = self.value(given[0]) if given else 0
        sizes = shape if isinstance(shape, tuple) else (shape,)
        if not all(isinstance(size, int) and size > 0 for size in sizes) or math.prod(sizes) > 1024:
            raise self.wrong("a shared array has a size such as 8 or (4, 4), at most 1024 cells")
        return self.program.shared_array(self.place.block, node, sizes)

    def array(self, node: ast.expr) -> Any:
        """The array that a name stands for."""
        value = self.value(node)
        if not hasattr(value, "__setitem__"):
            raise self.wrong(f"{_source(node)} is not an array")
        return value

    def read(self, array: Any, index: Any) -> Any:
        """The value of a cell, or a row of cells."""
        try:
            return array[index]
        except IndexError as error:
            raise self.wrong(str(error)) from None

    def write(self, array: Any, index: Any, value: Any) -> None:
        """Put a number into a cell."""
        number = self.number(value)
        try:
            array[index] = number
        except IndexError as error:
            raise self.wrong(str(error)) from None

    def index(self, node: ast.expr) -> Any:
        """The index of a cell: whole numbers."""
        if isinstance(node, ast.Slice):
            raise self.wrong("an index is a whole number")
        index = self.value(node)
        parts = index if isinstance(index, tuple) else (index,)
        return tuple(self.whole(part, "an index") for part in parts)

    def whole(self, value: Any, what: str) -> int:
        """A value that must be a whole number."""
        if not isinstance(value, int):
            shown = f"{value:g}" if isinstance(value, float) else type(value).__name__
            raise self.wrong(f"{what} must be a whole number, not {shown}")
        return int(value)

    def number(self, value: Any) -> Any:
        """A value that must be a number, and not too large a one."""
        if not isinstance(value, (int, float)):
            raise self.wrong(f"a number is needed here, not {type(value).__name__}")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise self.wrong("this number has become too large")
        return value

    def apply(self, op: ast.AST, left: Any, right: Any) -> Any:
        """Compute with two numbers."""
        if type(op) not in _SIGNS:
            raise self.wrong("the signs are + - * / // % and comparisons")
        try:
            return self.number(_SIGNS[type(op)](self.number(left), self.number(right)))
        except ZeroDivisionError:
            raise self.wrong("a division by 0") from None
        except OverflowError:
            raise self.wrong("this number has become too large") from None

    def wrong(self, what: str) -> KernelError:
        """An error with its line."""
        return KernelError(f"Line {self.line}: {what}.")


def _dotted(node: ast.expr) -> str:
    """A name with dots: `cuda.shared.array`; the empty text for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def _source(node: ast.AST) -> str:
    """A part of the code, in one short line."""
    try:
        text = ast.unparse(node).splitlines()[0]
    except (ValueError, RecursionError, IndexError):
        text = type(node).__name__
    return text if len(text) <= 60 else text[:57] + "..."
