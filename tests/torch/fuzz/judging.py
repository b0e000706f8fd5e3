"""One call in both libraries, and everything about it compared."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch as real

import minitorch.torch as ours
from minitorch.torch.generator import default_generator as our_generator
from minitorch.torch.ops.strides import memory_of

from ..conditioning import allowance
from ..opinfo import ULPS_FOR
from ..oracle import (
    ULPS,
    Mismatch,
    compare_results,
    compare_tensors,
    largest,
    leaves,
    numbers,
    to_ours,
)
from .calls import Call
from .memory import GuardedMemory


class Finding(Exception):
    """A difference: of what kind, and what it is."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text


@dataclass
class Outcome:
    """What became of a call in one library."""

    args: Any
    kwargs: Any
    result: Any = None
    error: Exception | None = None


def perform(call: Call, library: Any, args: Any, kwargs: Any) -> Outcome:
    """Make a call in one library."""
    (real.default_generator if library is real else our_generator).manual_seed(call.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # NumPy's, which PyTorch has not
        try:
            return Outcome(args, kwargs, _dense(call.run(library, args, kwargs)))
        except Exception as e:
            if library is real:  # what its frames hold is freed now: a crash then is PyTorch's own
                e.__traceback__ = None
            return Outcome(args, kwargs, error=e)


def _dense(result: Any) -> Any:
    """A sparse result as a dense one, which can be compared."""
    is_sparse = str(getattr(result, "layout", "")).startswith("torch.sparse")
    return result.to_dense() if is_sparse else result


LARGE = 1 << 30
"""Bytes of a result beside which a worker has no room for another."""


def _bytes_of(result: Any) -> int:
    return sum(t.numel() * t.element_size() for t in leaves(result))


def judge(call: Call, memory: GuardedMemory, phase: Callable[[str], Any] = lambda p: None) -> str:
    """Compare a call; `Finding` says what differs.

    Args:
        call: what to call
        memory: where our inputs lie
        phase: told which library runs now

    Returns:
        "raised" or "returned"
    """
    value = (tuple(call.args), call.kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own_args, own_kwargs = to_ours(value, memory.memories(value, call.seed % 4 > 0))
    spare = _copied(value)
    phase("theirs")
    theirs = perform(call, real, *value)
    phase("ours")
    mine = perform(call, ours, own_args, own_kwargs)
    if isinstance(mine.error, MemoryError) and _bytes_of(theirs.result) > LARGE:
        raise mine.error
    if compare_errors(theirs.error, mine.error):
        return "raised"
    if any(t.dtype is real.complex32 for t in leaves(theirs.result)):
        raise Finding("dtype", "PyTorch's result is complex32")
    ulps = ULPS_FOR.get(call.name, ULPS)
    try:
        _compare_outcomes(mine, theirs, ulps, phase)
    except Finding as e:
        if "values" not in e.kind:
            raise
        phase("theirs")
        ulps = max(ulps, _allowed(call, spare)) * _coarser(call)
        phase("ours")
        if ulps <= ULPS_FOR.get(call.name, ULPS):
            raise
        our_generator.manual_seed(call.seed)
        value = spare
        own_args, own_kwargs = to_ours(value)
        theirs, mine = perform(call, real, *value), perform(call, ours, own_args, own_kwargs)
        _compare_outcomes(mine, theirs, ulps, phase)
    return "returned"


def compare_errors(theirs: Exception | None, mine: Exception | None) -> bool:
    """Whether both raised; `Finding` if one did, or they raised errors of other classes."""
    if theirs is None and mine is None:
        return False
    if mine is None:
        raise Finding("accepted", f"PyTorch raises {_brief(theirs)}")
    if theirs is None:
        raise Finding("refused", f"raised {_brief(mine)}")
    if isinstance(mine, (MemoryError, RecursionError)) and isinstance(theirs, RuntimeError):
        return True
    name, wanted = type(mine).__name__.lstrip("_"), type(theirs).__name__.lstrip("_")
    if name != wanted and not isinstance(mine, type(theirs)) and not isinstance(theirs, type(mine)):
        word = "raised" if _is_meant(mine) else "fell over"
        raise Finding("error class", f"{word} {_brief(mine)}, PyTorch raises {_brief(theirs)}")
    return True


_CALLS = "positional argument|unexpected keyword argument|missing .* required|multiple values for argument"
"""What Python says of arguments that do not fit a function."""


def _is_meant(error: Exception) -> bool:
    """Whether the library raised an error on purpose: where it arose there is a `raise`, and nothing of NumPy's."""
    if isinstance(error, TypeError) and re.search(_CALLS, str(error)):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "minitorch" in last.filename and (last.line or "").lstrip().startswith("raise")


def _brief(error: Exception | None) -> str:
    return f"{type(error).__name__}({' '.join(str(error).split())[:230]})"


def _compare_outcomes(mine: Outcome, theirs: Outcome, ulps: float, phase: Any) -> None:
    _compared("", compare_results, mine.result, theirs.result, "result", ulps)
    _compare_kinds(mine.result, theirs.result)
    inputs = leaves((mine.args, mine.kwargs)), leaves((theirs.args, theirs.kwargs))
    for i, (a, b) in enumerate(zip(*inputs, strict=True)):
        _compared(
            "written ", compare_tensors, a.detach(), b.detach(), f"input {i} after the call", ulps
        )
    _compare_aliases(mine, theirs, inputs)
    _compare_gradients(mine, theirs, inputs, ulps, phase)


def _compared(prefix: str, compare: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Turn a mismatch into a finding of some kind."""
    try:
        compare(*args, **kwargs)
    except Mismatch as e:
        text = str(e)
        kinds = ("dtype", "shape", "values", "returned")
        kind = next((k for k in kinds if f": {k}" in text), "result")
        kind = "answer" if kind == "returned" else kind
        raise Finding(prefix + kind, text) from e


def _compare_kinds(mine: Any, theirs: Any) -> None:
    """Containers and plain values are of the same classes."""
    if isinstance(theirs, real.Tensor) or theirs is None:
        return
    if isinstance(theirs, (list, tuple)) and isinstance(mine, (list, tuple)):
        if isinstance(theirs, tuple) != isinstance(mine, tuple):
            raise Finding("result", f"{type(mine).__name__}, expected {type(theirs).__name__}")
        if not leaves(theirs) and not _same_numbers(mine, theirs):
            raise Finding("answer", f"{mine!r}, expected {theirs!r}")
    elif type(mine).__name__ != type(theirs).__name__:
        raise Finding("result", f"{type(mine).__name__}, expected {type(theirs).__name__}")


def _same_numbers(mine: Any, theirs: Any) -> bool:
    return str(list(mine)).replace("minitorch.", "") == str(list(theirs))


def _compare_aliases(mine: Outcome, theirs: Outcome, inputs: tuple[list[Any], list[Any]]) -> None:
    """A result is an input, or shows its memory, in both libraries or in none."""
    for i, (a, b) in enumerate(zip(leaves(mine.result), leaves(theirs.result), strict=True)):
        if not b.numel() or b.layout is not real.strided:
            continue
        for k, (x, y) in enumerate(zip(*inputs, strict=True)):
            if not y.numel():
                continue
            same = (a is x, np.may_share_memory(memory_of(a)[0], memory_of(x)[0]))
            wanted = (b is y, b.untyped_storage().data_ptr() == y.untyped_storage().data_ptr())
            if same[1] != wanted[1]:
                words = "shares", "does not share"
                raise Finding("aliasing", f"output {i} {words[not same[1]]} input {k}'s memory")
            if same[0] != wanted[0]:
                raise Finding(
                    "aliasing", f"output {i} is{'' if same[0] else ' not'} input {k} itself"
                )


def _compare_gradients(
    mine: Outcome, theirs: Outcome, inputs: tuple[list[Any], list[Any]], ulps: float, phase: Any
) -> None:
    outs = leaves(mine.result), leaves(theirs.result)
    for i, (a, b) in enumerate(zip(*outs, strict=True)):
        if a.requires_grad != b.requires_grad:
            raise Finding(
                "requires_grad", f"output {i}: {a.requires_grad}, expected {b.requires_grad}"
            )
    asked = [k for k, t in enumerate(inputs[1]) if t.requires_grad and t.is_leaf]
    made = [k for k, t in enumerate(outs[1]) if t.requires_grad]
    if not asked or not made:
        return
    generator = real.Generator().manual_seed(0)
    weights = [
        real.randn(outs[1][k].shape, dtype=outs[1][k].dtype, generator=generator) for k in made
    ]
    own_weights = [to_ours(w) for w in weights]
    phase("theirs")
    expected = _gradients(real, outs[1], inputs[1], weights, made, asked)
    phase("ours")
    got = _gradients(ours, outs[0], inputs[0], own_weights, made, asked)
    errors = [g if isinstance(g, Exception) else None for g in (expected, got)]
    try:
        if compare_errors(*errors):
            return
    except Finding as e:
        raise Finding("gradient " + e.kind, e.text) from None
    size_in = max(largest(numbers(w)) for w in weights)
    size_in = max(
        [size_in, *(largest(numbers(inputs[1][k])) for k in asked if inputs[1][k].numel())]
    )
    for k, a, b in zip(asked, got, expected, strict=True):  # type: ignore[arg-type]
        if (a is None) != (b is None):
            have = "missing" if a is None else "there"
            raise Finding(
                f"gradient {have}",
                f"of input {k}; zero: {not numbers(b if a is None else a).any()}",
            )
        if b is not None:
            what = f"gradient of input {k}"
            rougher = max(1.0, _rounding([outs[1][i] for i in made]) / _rounding([b]))
            _compared(
                "gradient ",
                compare_tensors,
                a,
                b,
                what,
                ulps * 4 * rougher,
                scale=min(size_in, 1e6),
            )


def _rounding(tensors: list[Any]) -> float:
    """The coarsest precision among tensors: what came through it is no finer."""
    return max(real.finfo(t.dtype).eps for t in tensors)


def _gradients(library: Any, outs: Any, inputs: Any, weights: Any, made: Any, asked: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = library.autograd.grad(
                [outs[k] for k in made], [inputs[k] for k in asked], weights, allow_unused=True
            )
            return [g.to_dense() if g is not None and g.is_sparse else g for g in found]
        except Exception as e:
            return e


# --- Another question to PyTorch, where it does not answer this one ---------------------------------


_UNSIGNED = real.uint16, real.uint32, real.uint64
"""Types whose numbers wrap around, so that wider ones have other answers."""


def answers_as(call: Call, other: Call) -> bool:
    """Whether we answer a call as PyTorch answers another one."""
    theirs = perform(other, real, *_copied((tuple(other.args), other.kwargs)))
    if any(t.dtype in _UNSIGNED for t in leaves((call.args, call.kwargs))):
        return theirs.error is None
    own_args, own_kwargs = to_ours(_copied((tuple(call.args), call.kwargs)))
    mine = perform(call, ours, own_args, own_kwargs)
    if theirs.error is not None or mine.error is not None:
        return False
    outs = leaves(mine.result), leaves(theirs.result)
    given = [t for t in leaves((call.args, call.kwargs)) if t.is_floating_point() or t.is_complex()]
    coarsest = _rounding(given) if given else 0.0
    if not all(_near(a, b, coarsest) for a, b in zip(*outs, strict=True)):
        return False
    inputs = leaves((mine.args, mine.kwargs)), leaves((theirs.args, theirs.kwargs))
    asked = [[t.dtype for t in given if t.requires_grad] for given in inputs]
    if str(asked[0]) != str(asked[1]):
        return True  # wider ones have gradients of their own
    try:
        _compare_gradients(mine, theirs, inputs, ULPS, lambda p: None)
    except Finding:
        return False
    return True


def agrees_where_finite(call: Call, but: Any = None) -> bool:
    """Whether results and gradients are near each other wherever both libraries' are finite.

    Args:
        call: what to call
        but: for which elements of the first input, which requires grad, gradients may differ
    """
    outcomes = []
    for library in (real, ours):
        value = _copied((tuple(call.args), call.kwargs))
        outcome = perform(call, library, *(value if library is real else to_ours(value)))
        outs, inputs = leaves(outcome.result), leaves((outcome.args, outcome.kwargs))
        asked = [k for k, t in enumerate(inputs) if t.requires_grad and t.is_leaf]
        made = [k for k, t in enumerate(outs) if t.requires_grad]
        generator = real.Generator().manual_seed(0)
        found = []
        if asked and made:
            kinds = [getattr(real, str(outs[k].dtype).rpartition(".")[2]) for k in made]
            weights = [
                real.randn(tuple(outs[k].shape), dtype=kind, generator=generator)
                for k, kind in zip(made, kinds, strict=True)
            ]
            given = weights if library is real else [to_ours(w) for w in weights]
            found = _gradients(library, outs, inputs, given, made, asked)
            if but is not None:
                found[0] = found[0].detach() * (~but if library is real else to_ours(~but))
        outcomes.append([*outs, *(() if isinstance(found, Exception) else found)])
    pairs = [(a, b) for a, b in zip(*outcomes, strict=False) if a is not None and b is not None]
    return all(_near_where_finite(numbers(a), numbers(b)) for a, b in pairs)


def _near_where_finite(a: Any, b: Any) -> bool:
    """Whether two arrays agree in two digits of their largest number wherever both are finite."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    tiny = np.finfo(a.dtype).tiny if a.dtype.kind in "fc" else 0.0  # smaller ones may be 0
    a, b = a.astype(wide), b.astype(wide)
    there = np.isfinite(a) & np.isfinite(b)
    if not there.any():
        return True
    with np.errstate(all="ignore"):
        room = 0.01 * (largest(b[there]) + largest(a[there])) + tiny
        return bool((np.abs(a - b)[there] <= room).all())


def _near(mine: Any, theirs: Any, coarsest: float) -> bool:
    """Whether two results are equal within the digits of ours and of what went in; whole numbers may have overflown."""
    if not mine.dtype.is_floating_point:
        a, b = (numbers(x).astype(object) for x in (mine, theirs))
        return mine.dtype.is_complex or not np.any((a - b) % (1 << 8 * mine.element_size()))
    a, b = numbers(mine).astype(np.float64), np.real(numbers(theirs)).astype(np.float64)
    limits = ours.finfo(mine.dtype)
    there = np.isfinite(a) & np.isfinite(b)
    lost = np.isfinite(b) & (np.abs(b) < limits.max / 2) & ~np.isfinite(a)
    room = 16 * max(limits.eps, coarsest) * max(1.0, largest(b[there]) if there.any() else 1.0)
    return not lost.any() and bool((np.abs(a - b)[there] <= room).all())


def in_wider_types(call: Call) -> Call:
    """The same call with floats of two bytes as those of four."""
    wider = {real.float16: real.float32, real.bfloat16: real.float32} | dict.fromkeys(
        _UNSIGNED, real.int64
    )

    def widened(value: Any) -> Any:
        if isinstance(value, real.Tensor):
            made = value.detach().to(wider.get(value.dtype, value.dtype))
            return made.requires_grad_(value.requires_grad and made.dtype.is_floating_point)
        if isinstance(value, real.dtype):
            return wider.get(value, value)
        if type(value) in (list, tuple):
            return type(value)(map(widened, value))
        return value

    kwargs = {k: widened(v) for k, v in call.kwargs.items()}
    return replace(call, args=[widened(v) for v in call.args], kwargs=kwargs)


def of_twin(name: str) -> Callable[[Call], Call]:
    """The same call of the function that has a like name, as `asinh` has for `asinh_`."""

    def other(call: Call) -> Call:
        found = re.sub(r"\w+$", name or call.name.rpartition(".")[2].rstrip("_"), call.name)
        return replace(call, name=found, written=False)

    return other


def without_out(call: Call) -> Call:
    """The same call that returns a new tensor."""
    return replace(call, kwargs={k: v for k, v in call.kwargs.items() if k != "out"})


def is_right(call: Call, truth: Callable[..., Any]) -> bool:
    """Whether our answer is what a function of finite numbers says, wherever it is not PyTorch's."""
    value = (tuple(call.args), call.kwargs)
    mine = perform(call, ours, *to_ours(_copied(value))).result
    theirs = perform(call, real, *_copied(value)).result
    given = [numbers(t).astype(np.float64) for t in leaves((call.args, without_out(call).kwargs))]
    limits = ours.finfo(mine.dtype)
    arrays = np.broadcast_arrays(numbers(mine), numbers(theirs), *given)
    for a, b, *values in zip(
        *(x.astype(np.float64).flatten().tolist() for x in arrays), strict=True
    ):
        if a != b and not np.isnan([a, b]).all() and np.isfinite(values).all():
            wanted = float(truth(*values))
            if not abs(a - wanted) < ULPS * limits.eps * (abs(wanted) + limits.tiny):
                return False
    return True


def _copied(value: Any, known: dict[int, Any] | None = None) -> Any:
    """The same arguments with their tensors' memory copied."""
    known = {} if known is None else known
    if isinstance(value, real.Tensor):
        if id(value) not in known:
            t = value.detach()
            copy = real.empty(0, dtype=t.dtype).set_(t.untyped_storage().clone())
            known[id(value)] = copy.as_strided(t.shape, t.stride(), t.storage_offset())
            known[id(value)].requires_grad_(value.requires_grad)
        return known[id(value)]
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_copied(v, known) for v in value)
    if isinstance(value, dict):
        return {k: _copied(v, known) for k, v in value.items()}
    return value


def _coarser(call: Call) -> float:
    """How much coarser than double precision results may be that lower ones go into on the way.

    Whole numbers become single precision, and `out=` may be of another type.
    """
    on_the_way = "out" in call.kwargs or re.search("loss|similarity|distance|ldexp", call.name)
    given = leaves((call.args, {k: v for k, v in call.kwargs.items() if k != "out"}))
    kinds = {t.dtype if t.is_floating_point() or t.is_complex() else real.float32 for t in given}
    double = {real.float64, real.complex128}
    wide = any(t.dtype in double for t in leaves((call.args, call.kwargs)))
    if not (on_the_way and kinds - double and wide):
        return 1.0
    return max(real.finfo(k).eps for k in kinds) / real.finfo(real.float64).eps


def _allowed(call: Call, value: Any) -> float:
    """How many units the answers may differ by: what PyTorch's own move by when its inputs are nudged."""

    def run(*args: Any, **kwargs: Any) -> Any:
        real.default_generator.manual_seed(call.seed)
        return call.run(real, args, kwargs)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args, kwargs = _copied(value)
            return allowance(run, args, kwargs, True, False)
    except Exception:
        return ULPS
