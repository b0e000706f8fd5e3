"""The CUDA kernels of a library, run thread by thread on memory that writes down every access."""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from math import prod
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import minitorch

from .threads import Cells, Place, Recorder, Trace, count, finish, judge, launch

MODULES = ("cuda_device", "cuda_matmul", "cuda_ops")
_FILES = {f"minitorch.{name}" for name in MODULES}


# --- The library's kernels as plain Python --------------------------------------------------


@cache
def kernels() -> SimpleNamespace:
    """Fresh copies of the files with kernels, in which `cuda` is ours and nothing is compiled."""
    before = {name: sys.modules.pop(name, None) for name in _FILES}
    held = {name: vars(minitorch).get(name) for name in MODULES}
    try:
        device = importlib.import_module("minitorch.cuda_device")
        for name, value in _PLAIN.items():
            setattr(device, name, value)
        fresh = {name: importlib.import_module(f"minitorch.{name}") for name in MODULES}
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
        for name, module in held.items():
            if module is not None:
                setattr(minitorch, name, module)
            else:
                minitorch.__dict__.pop(name, None)
    for module in fresh.values():
        if hasattr(module, "cuda"):
            setattr(module, "cuda", FAKE)  # noqa: B010
    return SimpleNamespace(**fresh)


def _as_it_is(function: Any = None, *_: Any, **__: Any) -> Any:
    return function if function is not None else _as_it_is


class Cuda:
    """What kernels see as `cuda`: the present thread, its barrier and its memory."""

    def __init__(self) -> None:
        self.thread: PythonThread | None = None
        self.shared = SimpleNamespace(array=self._shared_array)
        self.local = SimpleNamespace(array=lambda shape, dtype=None: np.zeros(shape, _type(dtype)))
        self.atomic = SimpleNamespace(
            add=lambda cells, index, value: cells.change(index, lambda old: old + value),
            max=lambda cells, index, value: cells.change(index, lambda old: max(old, value)),
            min=lambda cells, index, value: cells.change(index, lambda old: min(old, value)),
        )
        self.jit = _as_it_is

    @property
    def _present(self) -> PythonThread:
        if self.thread is None:
            raise RuntimeError("a kernel was called without a launch")
        return self.thread

    def __getattr__(self, name: str) -> Any:
        places = {
            "threadIdx": "thread",
            "blockIdx": "block",
            "blockDim": "threads",
            "gridDim": "blocks",
        }
        if name not in places:
            raise AttributeError(f"the simulated GPU of this page has no cuda.{name}")
        x, y, z = getattr(self._present.place, places[name])
        return SimpleNamespace(x=x, y=y, z=z)

    def grid(self, dims: int) -> Any:
        """The thread's number in the whole grid."""
        return self._present.place.grid(dims)

    def gridsize(self, dims: int) -> Any:
        """How many threads there are in all."""
        return self._present.place.gridsize(dims)

    def syncthreads(self) -> None:
        """Wait for all threads of the block."""
        self._present.wait(_line())

    def is_available(self) -> bool:
        """Kernels can run."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for: a launch returns when it is done."""

    def _shared_array(self, shape: Any, dtype: Any = None) -> Cells:
        frame = sys._getframe(1)
        return self._present.shared_array((frame.f_lineno, frame.f_lasti), frame, shape)


def _type(dtype: Any) -> Any:
    return np.dtype(getattr(dtype, "name", dtype) or "float64")


FAKE = Cuda()
_PLAIN = {
    "cuda": FAKE,
    "available": lambda: True,
    "require": lambda: None,
    "jit": _as_it_is,
    "device_function": _as_it_is,
}
"""What the fresh `cuda_device` has in place of its own."""


# --- Threads of Python, one at a time --------------------------------------------------------


class _GivenUpError(BaseException):
    """Ends a thread that nobody runs any more."""


class PythonThread:
    """A call of a kernel that stops at every barrier; a step runs it to the next."""

    def __init__(self, place: Place, work: Callable[[], None], shared: dict[Any, Cells]) -> None:
        self.place, self.work, self.shared = place, work, shared
        self.recorder: Recorder | None = None
        self.mine, self.theirs = threading.Semaphore(0), threading.Semaphore(0)
        self.barrier: int | None = None
        self.error: BaseException | None = None
        self.given_up = False
        self.python: threading.Thread | None = None

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        FAKE.thread = self
        self.barrier = None
        if self.python is None:
            self.python = threading.Thread(target=self._run, daemon=True)
            self.python.start()
        else:
            self.mine.release()
        self.theirs.acquire()
        if self.error is not None:
            raise self.error
        if self.barrier is None:
            raise StopIteration
        return self.barrier

    def _run(self) -> None:
        try:
            self.work()
        except _GivenUpError:
            return
        except BaseException as error:  # goes on in the thread that asked for the step
            self.error = error
        self.barrier = None
        self.theirs.release()

    def wait(self, line: int) -> None:
        """Stop here until the next step."""
        self.barrier = line
        self.theirs.release()
        self.mine.acquire()
        if self.given_up:
            raise _GivenUpError

    def give_up(self) -> None:
        """End a thread that waits."""
        self.given_up = True
        self.mine.release()

    def shared_array(self, where: tuple[int, int], frame: FrameType, shape: Any) -> Cells:
        """The block's memory of the place in the code that asks for it."""
        if where not in self.shared and self.recorder is not None:
            name = _variable(frame) or f"shared{len(self.shared)}"
            self.shared[where] = Cells(self.recorder, name, shape, space="shared")
        return self.shared[where]


def _variable(frame: FrameType) -> str:
    """The name that the line which made an array gives it."""
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    match = re.match(r"\s*(\w+)\s*(?::[^=]*)?=[^=]", text)
    return match[1] if match else ""


def _line() -> int:
    """The line of the kernel at which the present thread is."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") in _FILES:
            return frame.f_lineno
        frame = frame.f_back
    return 0


@contextmanager
def _threads(
    recorder: Recorder, kernel: Callable[..., None], arguments: Sequence[Any]
) -> Iterator[Callable[[Place], PythonThread]]:
    """Makes the threads of a launch, and ends those that were left."""
    made: list[PythonThread] = []
    shared: dict[Any, dict[Any, Cells]] = {}

    def start(place: Place) -> PythonThread:
        memory = shared.setdefault(place.block, {})
        thread = PythonThread(place, partial(kernel, *arguments), memory)
        thread.recorder = recorder
        made.append(thread)
        return thread

    try:
        yield start
    finally:
        for thread in made:
            thread.give_up()


def run(
    kernel: Callable[..., None],
    blocks: int | Sequence[int],
    threads: int | Sequence[int],
    recorder: Recorder,
    arguments: Sequence[Any],
) -> Trace:
    """Launch a kernel and give its trace."""
    recorder.line = _line
    with _threads(recorder, kernel, arguments) as start:
        launch(recorder, blocks, threads, start)
    lines = {event["line"] for event in recorder.events}
    return finish(recorder, _statements(inspect.getsourcefile(kernel) or "", lines), threads)


def _statements(file: str, lines: set[int]) -> dict[int, str]:
    """The statement that each line of a file belongs to, in one line."""
    linecache.checkcache(file)
    code = linecache.getlines(file)
    found = {n: code[n - 1].strip() for n in lines if 0 < n <= len(code)}
    for node in ast.walk(ast.parse("".join(code))):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            inside = lines.intersection(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            found |= dict.fromkeys(inside, ast.unparse(node))
    return found


# --- The kernels to look at --------------------------------------------------------------------


def _tensor(
    recorder: Recorder,
    names: Sequence[str],
    shape: tuple[int, ...],
    values: Sequence[float] | None,
    strides: tuple[int, ...] | None = None,
    columns: int | None = None,
) -> tuple[Cells, Cells, Cells]:
    """Storage, shape and strides, as kernels take them."""
    strides = strides or minitorch.tensor_data.TensorData([0.0] * prod(shape), shape).strides
    storage = Cells(recorder, names[0], prod(shape), values, columns=columns or shape[-1])
    sizes = [
        Cells(recorder, name, len(part), part, space="sizes")
        for name, part in zip(names[1:], (shape, strides), strict=True)
    ]
    return storage, sizes[0], sizes[1]


def _names(kernel: Callable[..., None]) -> list[str]:
    """The names that a kernel gives its arguments."""
    return list(inspect.signature(kernel).parameters)


def _numbers(count: int) -> list[float]:
    """Small numbers to compute with."""
    return [float(1 + i % 9) for i in range(count)]


def _negate(x: float) -> float:
    return -x


def _add(x: float, y: float) -> float:
    return x + y


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


Answer = tuple[Trace, list[float], str]
"""What a kernel did, what it should give, and how it was launched."""


def _flat_map(size: int, threads: int) -> Answer:
    kernel, recorder = kernels().cuda_ops.flat_map(_negate), Recorder()
    names, values = _names(kernel), _numbers(size)
    out = Cells(recorder, names[0], size)
    a = Cells(recorder, names[2], size, values)
    blocks = _ceil(size, threads)
    trace = run(kernel, blocks, threads, recorder, [out, size, a, 1])
    return trace, [-x for x in values], f"flat_map(neg)[{blocks}, {threads}]"


def _map(size: int, threads: int) -> Answer:
    kernel, recorder = kernels().cuda_ops.tensor_map(_negate), Recorder()
    names, width = _names(kernel), max(size // 2, 1)
    values = _numbers(2 * width)
    out = _tensor(recorder, names[:3], (width, 2), None)
    a = _tensor(recorder, names[4:7], (width, 2), values, (1, width), columns=width)
    blocks = _ceil(2 * width, threads)
    trace = run(kernel, blocks, threads, recorder, [*out, 2 * width, *a])
    expected = [-values[column * width + row] for row in range(width) for column in range(2)]
    return trace, expected, f"tensor_map(neg)[{blocks}, {threads}]"


def _zip(size: int, threads: int) -> Answer:
    kernel, recorder = kernels().cuda_ops.tensor_zip(_add), Recorder()
    names, width = _names(kernel), max(size // 2, 1)
    values, row = _numbers(2 * width), [10.0 * (i + 1) for i in range(width)]
    out = _tensor(recorder, names[:3], (2, width), None)
    a = _tensor(recorder, names[4:7], (2, width), values)
    b = _tensor(recorder, names[7:10], (width,), row)
    blocks = _ceil(2 * width, threads)
    trace = run(kernel, blocks, threads, recorder, [*out, 2 * width, *a, *b])
    expected = [x + row[i % width] for i, x in enumerate(values)]
    return trace, expected, f"tensor_zip(add)[{blocks}, {threads}]"


def _reduce(size: int, threads: int) -> Answer:
    kernel, recorder = kernels().cuda_ops.tensor_reduce(_add, threads), Recorder()
    names, width = _names(kernel), min(max(size // 2, 1), threads)
    values = _numbers(2 * width)
    out = _tensor(recorder, names[:3], (2, 1), None, columns=2)
    a = _tensor(recorder, names[4:7], (2, width), values)
    trace = run(kernel, 2, threads, recorder, [*out, 2, *a, 1, 0.0])
    expected = [sum(values[:width]), sum(values[width:])]
    return trace, expected, f"tensor_reduce(add)[2, {threads}]"


def _sum_practice(size: int, threads: int) -> Answer:
    ops, recorder = kernels().cuda_ops, Recorder()
    threads = _practice_block(ops, ops._sum_practice, threads)
    values, blocks = _numbers(size), _ceil(size, threads)
    out = Cells(recorder, "out", blocks)
    a = Cells(recorder, "a", size, values)
    trace = run(ops._sum_practice, blocks, threads, recorder, [out, a, size])
    expected = [sum(values[i : i + threads]) for i in range(0, size, threads)]
    return trace, expected, f"_sum_practice[{blocks}, {threads}]"


def _mm_practice(size: int, side: int) -> Answer:
    ops, recorder = kernels().cuda_ops, Recorder()
    _practice_block(ops, ops._mm_practice, max(side, size))
    threads = (max(side, size), max(side, size))
    x, y = _matrices(size)
    out, a, b = _squares(recorder, ["out", "a", "b"], size, x, y)
    trace = run(ops._mm_practice, 1, threads, recorder, [out, a, b, size])
    return trace, _product(x, y), f"_mm_practice[1, {threads}]"


def _practice_block(ops: ModuleType, kernel: Callable[..., None], side: int) -> int:
    """Make the practice kernels work in small blocks, unless their code names 32 itself."""
    ops.PRACTICE_BLOCK = side  # type: ignore[attr-defined]
    return 32 if 32 in kernel.__code__.co_consts else side


def _matmul(rung: str, size: int, side: int) -> Answer:
    made, recorder = getattr(kernels().cuda_matmul, rung)(side), Recorder()
    names, (x, y) = _names(made.kernel), _matrices(size)
    out = _tensor(recorder, names[:3], (size, size), None)
    a = _tensor(recorder, names[4:7], (size, size), x)
    b = _tensor(recorder, names[7:10], (size, size), y)
    blocks = made.blocks((size, size))
    trace = run(made.kernel, blocks, made.threads, recorder, [*out, size * size, *a, *b])
    return trace, _product(x, y), f"{rung}({side}).kernel[{blocks}, {made.threads}]"


def _squares(
    recorder: Recorder, names: Sequence[str], size: int, x: list[float], y: list[float]
) -> list[Cells]:
    return [
        Cells(recorder, name, size * size, values, columns=size)
        for name, values in zip(names, (None, x, y), strict=True)
    ]


def _matrices(size: int) -> tuple[list[float], list[float]]:
    return _numbers(size * size), [float(i % 3) for i in range(size * size)]


def _product(x: list[float], y: list[float]) -> list[float]:
    size = round(len(x) ** 0.5)
    a, b = (np.array(m).reshape(size, size) for m in (x, y))
    return (a @ b).ravel().tolist()


KERNELS: dict[str, Callable[[int, int], Answer]] = {
    "flat_map": _flat_map,
    "map": _map,
    "zip": _zip,
    "sum_practice": _sum_practice,
    "reduce": _reduce,
    "mm_practice": _mm_practice,
    "naive": partial(_matmul, "naive"),
    "tiled": partial(_matmul, "tiled"),
}
"""What to look at: each takes a size and how many threads a block has, or a side of it."""


# --- Lessons -------------------------------------------------------------------------------------


def trace(kernel: str, size: int, threads: int) -> dict[str, Any]:
    """What every thread of a kernel reads and writes, and whether the result is right."""
    made, expected, launched = KERNELS[kernel](size, threads)
    return {
        **made,
        "wrong": judge(made, expected),
        "launch": launched,
        "counts": count(made),
        "outputs": len(expected),
    }


def score(kernel: str, size: int, side: int) -> dict[str, Any]:
    """How often a matrix product reads and writes memory, for each of its outputs."""
    made, expected, _ = KERNELS[kernel](size, side)
    return {
        "counts": count(made),
        "outputs": len(expected),
        "right": not judge(made, expected),
        "faults": len(made["faults"]),
    }
