"""Every operation with PyTorch's sample inputs, compiled and eager, to the bit.

A sample is called as it is until its tape is known, and then with its values in another order: a number that
was read from a tensor while tracing would be the old one.

    python -m tests.torch.compiled_operations             # all
    python -m tests.torch.compiled_operations add sum     # some
    python -m tests.torch.compiled_operations --native    # compiled before the first play, and compared to rounding
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import Any

import torch as real

import minitorch.torch as ours
from minitorch.torch.compiler.compiled import Compiled

from .compile_cases.ways import agree, seen
from .compiled_programs import native
from .opinfo import all_operations, resolve, samples
from .oracle import leaves, to_ours

OPERATIONS = [name for name in all_operations() if "empty" not in name]
"""All but those that show memory that nobody has written."""


def turned(value: Any, by: int) -> Any:
    """A value whose tensors have their elements in another order."""
    if isinstance(value, real.Tensor):
        with real.no_grad():
            dense = (
                value.detach().to_dense() if value.layout is not real.strided else value.detach()
            )
            made = dense.flatten().roll(by).reshape(dense.shape).clone()
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(turned(v, by) for v in value)
    if isinstance(value, dict):
        return {k: turned(v, by) for k, v in value.items()}
    return value


def outcome(fn: Any, args: Any, kwargs: Any, walks_back: bool) -> list[Any]:
    """All that a call gives: results and gradients, or the error."""
    ours.manual_seed(0)
    try:
        result = fn(*args, **kwargs)
    except Exception as error:
        return [type(error).__name__, str(error)]
    tensors = [t for t in leaves(result) if isinstance(t, ours.Tensor)]
    facts: list[Any] = [
        (
            t.detach()._array.tobytes(),
            tuple(t.shape),
            t.stride(),
            t.dtype,
            t.requires_grad,
            t.is_leaf,
        )
        for t in tensors
        if type(t) is ours.Tensor
    ]
    roots = [t for t in tensors if t.requires_grad]
    if walks_back and roots:
        try:
            total: Any = sum((t.abs().sum() for t in roots), ours.zeros(()))
            total.backward()
        except RuntimeError as error:
            facts.append(str(error))
        given = [t for t in leaves((args, kwargs)) if isinstance(t, ours.Tensor)]
        facts += [None if t.grad is None else t.grad._array.tobytes() for t in given]
    return facts


def with_gradients(fn: Any) -> Any:
    """A function that returns numbers only: the results of another one, and the gradients of what it is given."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = [t for t in leaves(fn(*args, **kwargs)) if isinstance(t, ours.Tensor)]
        roots = [t for t in result if t.requires_grad]
        given = [
            t for t in leaves((args, kwargs)) if isinstance(t, ours.Tensor) and t.requires_grad
        ]
        gradients: Any = ()
        if roots and given:
            total: Any = sum((t.abs().sum() for t in roots), ours.zeros(()))
            gradients = ours.autograd.grad(total, given, allow_unused=True)
        return [t.detach().clone() for t in result], list(gradients)

    return call


def check_natively(name: str, limit: int = 4) -> Counter[str]:
    """Compare an operation and its gradients as a native program; AssertionError says which differs."""
    info = all_operations()[name]
    fn = resolve(ours, info)
    outcomes: Counter[str] = Counter()
    if fn is None or not info.supports_dtype(real.float32, "cpu"):
        return outcomes
    whole = with_gradients(fn)
    for sample in samples(info, real.float32, info.supports_autograd, limit):
        compiled = Compiled(lambda *args, **kwargs: whole(*args, **kwargs), False)
        for n in (0, 0, 0, 1, 2):
            results = []
            for form in (whole, compiled):
                ours.manual_seed(0)
                given = to_ours((turned(sample.input, n), *turned(sample.args, n)))
                try:
                    results.append(seen(form(*given, **to_ours(turned(sample.kwargs, n)))))
                except Exception as error:
                    results.append([type(error).__name__, str(error)])
            assert agree(results[0], results[1], exactly=False), f"{name} in order {n}"
        outcomes["played" if compiled.traced else compiled.eager or "traced"] += 1
    return outcomes


def check(name: str, limit: int = 4) -> Counter[str]:
    """Compare an operation on some samples; AssertionError says which differs."""
    info = all_operations()[name]
    fn = resolve(ours, info)
    outcomes: Counter[str] = Counter()
    if fn is None:
        return outcomes
    for dtype in (real.float32, real.int64):
        if not info.supports_dtype(dtype, "cpu"):
            continue
        grad = dtype is real.float32 and info.supports_autograd
        for sample in samples(info, dtype, grad, limit):
            compiled = Compiled(lambda *args, fn=fn, **kwargs: fn(*args, **kwargs), False)
            for n in (0, 0, 0, 1, 2):
                results = []
                for form in (fn, compiled):
                    given = (turned(sample.input, n), *turned(sample.args, n))
                    named = turned(sample.kwargs, n)
                    results.append(outcome(form, to_ours(given), to_ours(named), grad))
                assert results[0] == results[1], f"{name} {dtype} in order {n}"
            outcomes["played" if compiled.traced else compiled.eager or "traced"] += 1
    return outcomes


def main(*names: str, check: Any = check) -> int:
    """Compare some operations, or all; print which differ, and how many were played."""
    total: Counter[str] = Counter()
    failed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names or OPERATIONS:
            try:
                found = check(name)
            except AssertionError as error:
                failed += 1
                print("DIFFERS", str(error).partition("\n")[0], flush=True)
                continue
            except Exception as error:
                print("cannot run", name, type(error).__name__, str(error)[:80], flush=True)
                continue
            total["played" if found["played"] else "eager"] += 1
            if names:
                print(name, dict(found))
    print(dict(total), f"{failed} differ")
    return bool(failed)


if __name__ == "__main__":
    if "--native" in sys.argv:
        sys.argv.remove("--native")
        with native():
            sys.exit(main(*sys.argv[1:], check=check_natively))
    sys.exit(main(*sys.argv[1:]))
