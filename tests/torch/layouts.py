"""Every operation on inputs and gradients of every layout, against the same call on contiguous copies.

The library is its own judge: where numbers lie in memory must not change what is computed.
`python -m tests.torch.layouts` takes all operations; `python -m tests.torch.layouts add sum` some of them.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch as real

import minitorch.torch as ours
from minitorch.torch.backends.cpu import kernels
from minitorch.torch.backends.cpu.dispatch import DISPATCHED
from minitorch.torch.backends.interface import as_numpy
from minitorch.torch.dtypes import FLOATING
from minitorch.torch.generator import default_generator

from . import opinfo
from .oracle import DEVICE, Mismatch, compare_tensors, largest, leaves, numbers, to_ours

Array = Any

# --- Layouts ---------------------------------------------------------------------------------------


def _permuted(x: Array, order: tuple[int, ...]) -> Array:
    """A copy whose dimensions lie in memory in this order."""
    if x.ndim < 2:
        return x
    return np.ascontiguousarray(x.transpose(order)).transpose(
        tuple(map(order.index, range(x.ndim)))
    )


def _reversed(x: Array) -> Array:
    return _permuted(x, tuple(range(x.ndim))[::-1])


def _first_swapped(x: Array) -> Array:
    """The first two dimensions exchanged in memory, as a batch and its heads are."""
    return _permuted(x, (1, 0, *range(2, x.ndim))) if x.ndim > 1 else x


def _last_first(x: Array) -> Array:
    return _permuted(x, (x.ndim - 1, *range(x.ndim - 1))) if x.ndim else x


def _stepped(x: Array) -> Array:
    """Every second place of larger memory, in every dimension, beginning at the second."""
    memory = np.zeros(tuple(2 * n + 1 for n in x.shape), x.dtype)
    view = memory[..., *(slice(1, None, 2) for _ in x.shape)]
    view[...] = x
    return view


def _cut(x: Array) -> Array:
    """A part of larger memory: rows that do not follow each other."""
    memory = np.zeros(tuple(n + 3 for n in x.shape), x.dtype)
    view = memory[..., *(slice(1, n + 1) for n in x.shape)]
    view[...] = x
    return view


def _unaligned(x: Array) -> Array:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    view = np.ndarray(x.shape, x.dtype, memory, 1)
    view[...] = x
    return view


def _expanded(dims: Callable[[int], range]) -> Callable[[Array], Array]:
    def expand(x: Array) -> Array:
        if not x.size:
            return x
        first = x[tuple(slice(1) if d in dims(x.ndim) else slice(None) for d in range(x.ndim))]
        return ours.from_numpy(first.copy()).expand(x.shape)._array

    return expand


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "reversed": _reversed,
    "first two swapped": _first_swapped,
    "last first": _last_first,
    "every second": _stepped,
    "part": _cut,
    "unaligned": _unaligned,
    "expanded first": _expanded(lambda ndim: range(min(ndim, 1))),
    "expanded last": _expanded(lambda ndim: range(max(ndim - 1, 0), ndim)),
    "expanded": _expanded(range),
}
"""How an array may lie in memory; those that expand also change what it holds."""

EXPANDING = {layout for name, layout in LAYOUTS.items() if name.startswith("expanded")}


# --- Sizes -----------------------------------------------------------------------------------------


def _resized(x: Array, sizes: dict[int, int]) -> Array:
    """Dimensions of some sizes cut or repeated to other sizes."""
    for d, n in enumerate(x.shape):
        if n in sizes and n:
            x = np.take(x, np.arange(sizes[n]) % n, axis=d)
    return x


LARGE = 140_000
"""So many elements: more than what kernels share among cores from."""


def _sizes(args: Any, large: bool) -> Iterator[dict[int, int]]:
    """The sizes as they are; each in turn 1 and 0; or all of them larger."""
    shapes = [tuple(t.shape) for t in leaves(args)]
    found = sorted({n for shape in shapes for n in shape if n > 1})
    if not large:
        yield {}
        for n in found[:2]:
            yield {n: 1}
            yield {n: 0}
        return
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        shape = max(shapes, key=lambda s: (np.prod(s), len(s)), default=())
    wide = sum(n > 1 for n in shape)
    if wide and np.prod(shape):
        factor = int(np.ceil((LARGE / np.prod(shape)) ** (1 / wide)))
        yield {n: n * factor for n in found}


# --- Thresholds ------------------------------------------------------------------------------------

_THRESHOLDS = {
    "backends.cpu": "matmul.LARGE matmul.MANY matmul_kernels.PARALLEL kernels.PARALLEL",
    "formulas": "indexing.LARGE",
    "ops": "elementwise.LARGE analysis.LARGE reduce.FEW",
}


@contextmanager
def by_kernels() -> Iterator[list[int]]:
    """Let arrays of any size go to the compiled kernels, on all cores; gives a list of launches."""
    names = [f"{room}.{n}" for room, text in _THRESHOLDS.items() for n in text.split()]
    launches: list[int] = []

    def launcher() -> Any:
        launches.append(1)
        return launch()

    launch = kernels._launcher
    with ExitStack() as stack:
        stack.enter_context(patch.object(kernels, "_launcher", launcher))
        for name in names:
            stack.enter_context(patch(f"minitorch.torch.{name}", 1))
        for fn in DISPATCHED:
            cells: Any = fn.__closure__
            cell = cells[fn.__code__.co_freevars.index("start")]
            stack.callback(setattr, cell, "cell_contents", cell.cell_contents)
            cell.cell_contents = 1
        yield launches


# --- One operation ---------------------------------------------------------------------------------

BY_LAYOUT = set(
    """as_strided as_strided.partial_views as_strided_copy as_strided_scatter view_as_complex
    rand_like randn_like randint_like normal bernoulli multinomial resize_
    empty empty_like empty_permuted empty_strided new_empty new_empty_strided
    uniform cauchy exponential geometric log_normal normal.in_place
    nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d nn.functional.alpha_dropout
    nn.functional.feature_alpha_dropout.with_train nn.functional.feature_alpha_dropout.without_train
    nn.functional.rrelu nn.functional.scaled_dot_product_attention.dropout""".split()
)
"""Operations whose result depends on memory by their definition: its order, or what lies in it."""


ULPS = 256.0


class Call:
    """A function and its arguments, as contiguous arrays, to be called with other layouts."""

    def __init__(self, fn: Any, args: Any, kwargs: Any) -> None:
        self.fn, self.args, self.kwargs = fn, args, kwargs
        self.expected: dict[Any, list[Any] | None] = {}
        given = leaves((args, kwargs))
        self.tensors, self.differentiable = len(given), any(t.requires_grad for t in given)

    def run(self, way: Way, contiguous: bool = False) -> list[Any]:
        """The outputs, and the gradients where there are some."""
        known: dict[int, Any] = {}

        def place(t: Any) -> Any:
            if id(t) not in known:
                array = t._array
                if way.inputs is not None and len(known) % 2 != way.but:
                    array = way.inputs(array)
                array = np.array(array, order="C") if contiguous else array
                known[id(t)] = ours.from_numpy(array).requires_grad_(t.requires_grad)
            return known[id(t)]

        def weigh(t: Any) -> Any:
            drawn = np.asarray(random.standard_normal(t.shape), t._array.dtype)
            array = drawn if way.gradients is None else way.gradients(drawn)
            return ours.from_numpy(np.array(array, order="C") if contiguous else array)

        args, kwargs = mapped((self.args, self.kwargs), place)
        default_generator.manual_seed(0)
        found = leaves(self.fn(*args, **kwargs))
        outs = [t for t in found if t.requires_grad]
        inputs = [t for t in leaves((args, kwargs)) if t.requires_grad]
        if not outs or not inputs:
            return found
        random = np.random.default_rng(0)
        grads = ours.autograd.grad(outs, inputs, [weigh(t) for t in outs], allow_unused=True)
        return [*found, *(g for g in grads if g is not None)]

    def on_copies(self, way: Way) -> list[Any] | None:
        """What contiguous copies give; None if they are refused. Most layouts hold the same numbers."""
        key = way.key
        if key not in self.expected:
            try:
                self.expected[key] = self.run(way, contiguous=True)
            except Exception:
                self.expected[key] = None
        return self.expected[key]


class Way(NamedTuple):
    """The layouts of a call's inputs (0 or 1: but every second one) and of its incoming gradients."""

    name: str
    inputs: Callable[[Array], Array] | None
    gradients: Callable[[Array], Array] | None
    but: int = -1

    @property
    def key(self) -> Any:
        """Equal for two that hold the same numbers."""
        changed = [x if x in EXPANDING else None for x in (self.inputs, self.gradients)]
        return *changed, self.but if changed[0] else None


def _ways(call: Call) -> Iterator[Way]:
    """Layouts of inputs and gradients together, of gradients alone, of every second input."""
    for name, layout in LAYOUTS.items():
        yield Way(f"all {name}", layout, layout)
    for name in ("reversed", "expanded"):
        layout = LAYOUTS[name]
        if call.differentiable:
            yield Way(f"gradients {name}", None, layout)
        if call.tensors > 1:
            yield Way(f"odd inputs {name}", layout, None, 0)
            yield Way(f"even inputs {name}", layout, None, 1)


def mapped(value: Any, change: Callable[[Any], Any], kinds: Any = ours.Tensor) -> Any:
    """Arguments, however nested, with tensors (or what else is asked for) changed."""
    if isinstance(value, kinds):
        return change(value)
    if isinstance(value, dict):
        return {k: mapped(v, change, kinds) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, ours.Size):
        return type(value)(mapped(v, change, kinds) for v in value)
    return value


def _compare(call: Call, way: Way, what: str) -> bool:
    """Whether a call could be compared; `Mismatch` where it differs."""
    expected = call.on_copies(way)
    if expected is None:
        return False
    try:
        got = call.run(way)
    except RuntimeError as e:
        if "view size is not compatible" in str(e):
            return False
        raise
    if len(got) != len(expected):
        raise Mismatch(f"{what}: {len(got)} results, expected {len(expected)}")
    seen = [*expected, *leaves((call.args, call.kwargs))]
    scale = max((largest(numbers(e)) for e in seen if e.dtype.kind >= FLOATING), default=0.0)
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        compare_tensors(a, b, f"{what}: result {i}", ULPS, scale=max(scale, 1.0))
    return True


def calls(name: str, dtype: Any, limit: int, large: bool) -> Iterator[tuple[str, Call]]:
    """An operation's calls on PyTorch's samples, with sizes of 1 and 0 or larger ones."""
    info = opinfo.all_operations()[name]
    fn = opinfo.resolve(ours, info)
    if fn is None or not info.supports_dtype(dtype, "cpu"):
        return
    grad = dtype in (real.float64, real.complex128, real.float32) and info.supports_autograd
    for i, sample in _spread(list(opinfo.samples(info, dtype, grad, 40)), limit):
        given = (sample.input, *sample.args), sample.kwargs
        if any(t.layout != real.strided for t in leaves(given)):
            continue
        args, kwargs = to_ours(given)
        process = sample.output_process_fn_grad
        for sizes in _sizes((args, kwargs), large):

            def resize(t: Any, sizes: dict[int, int] = sizes) -> Any:
                array = np.array(_resized(as_numpy(t._array), sizes), order="C")
                return ours.from_numpy(array).to(DEVICE).requires_grad_(t.requires_grad)

            a, k = mapped((args, kwargs), resize)
            yield (
                f"{name}[{dtype}, sample {i}, {sizes}]({opinfo._brief(sample)})",
                Call(opinfo.comparable(fn, info.name, process), a, k),
            )


def _spread(samples: list[Any], limit: int) -> list[tuple[int, Any]]:
    """So many of the samples, from all of them, those of most dimensions first."""

    def dims(sample: tuple[int, Any]) -> int:
        return -max((t.ndim for t in leaves((sample[1].input, sample[1].args))), default=0)

    ordered = sorted(enumerate(samples), key=dims)
    return ordered[:: max(1, -(-len(ordered) // limit))]


def check(
    name: str, dtype: Any = real.float64, limit: int = 1000, large: bool = False
) -> tuple[int, list[str]]:
    """Compare an operation in all layouts.

    Returns:
        how many calls were compared, and what differs
    """
    wrong: list[str] = []
    if name in BY_LAYOUT:
        return 0, wrong
    made = list(calls(name, dtype, limit, large))
    with by_kernels() as launches:
        count = _check_ways(made, "kernels", wrong)
    if launches or not made:
        count += _check_ways(made, "NumPy", wrong)
    return count, wrong


def _check_ways(made: list[tuple[str, Call]], mode: str, wrong: list[str]) -> int:
    """Compare calls in all ways; add what differs to a list, and say how many there were."""
    count = 0
    for what, call in made:
        call.expected.clear()
        for way in _ways(call):
            say = f"{what} by {mode}, {way.name}"
            try:
                count += _compare(call, way, say)
            except Mismatch as e:
                wrong.append(str(e))
            except Exception as e:
                at = traceback.extract_tb(e.__traceback__)[-1]
                wrong.append(f"{say}: raised {type(e).__name__}: {e} ({at.filename}:{at.lineno})")
    return count


def main(argv: list[str] | None = None) -> int:
    """Check operations and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="operations (all variants); none: all of them")
    parser.add_argument("--limit", type=int, default=3, help="samples per operation")
    parser.add_argument(
        "--large", action="store_true", help="large tensors in place of sizes of 1 and 0"
    )
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("K", "N"))
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    everything = opinfo.all_operations()
    names = options.names
    chosen = [n for n in everything if not names or n in names or everything[n].name in names]
    total = failures = 0
    for name in chosen[options.part[0] :: options.part[1]]:
        count, wrong = check(name, getattr(real, options.dtype), options.limit, options.large)
        total += count
        failures += bool(wrong)
        print(
            f"{'WRONG' if wrong else 'ok   '} {name}: {count} calls, {len(wrong)} differ",
            flush=True,
        )
        for text in wrong[:6]:
            print("      ", text[:600], flush=True)
    print(f"{total} calls compared, {failures} operations differ")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
