"""Random Torch programs, compiled and eager, to the bit.

The programs are those of `programs.py`: views, writes in place and recorded operations. Each is a function of its
leaves, called several times with other values and now and then with another shape or without gradients; some walk
back within it. After each call, all tensors, their histories and versions, and the gradients of the leaves must agree.

    python -m tests.torch.compiled_programs 2000          # the programs 0 to 1,999
    python -m tests.torch.compiled_programs 2000 100000   # others
    python -m tests.torch.compiled_programs 200 --native   # compiled before the first play, and compared to rounding

With `MINITORCH_TEST_DEVICE=cuda` they run on a GPU, where tapes become graphs (`MINITORCH_CUDA=simulated` simulates one).
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import minitorch.torch as ours
from minitorch.torch.compiler import config
from minitorch.torch.compiler.compiled import Compiled

from .compile_cases.ways import Numbers, agree
from .oracle import DEVICE
from .programs import ACTIONS, DTYPES, SHAPES, Step, _history, random_program, strides_in_use

Move = tuple[Callable[..., Any], int, int, int, int]


def leaf(a: int, b: int, seed: int) -> Any:
    """A tensor of some shape and type, with other values for each seed."""
    shape, kind = SHAPES[a % len(SHAPES)], DTYPES[b % len(DTYPES)]
    values = np.random.default_rng((a * 31 + b, seed)).uniform(-2, 2, shape)
    made: Any = ours.as_tensor(np.round(values, 1) if b % 2 else values).to(getattr(ours, kind))
    made = made.to(DEVICE)
    if b % 5 == 4 and made.ndim == 2:
        made = made.new_empty_strided(made.shape, (1, made.shape[0])).copy_(made)
    return made.requires_grad_() if kind.startswith("float") and b % 4 != 3 else made


def moves_of(leaves: list[tuple[int, int]], steps: list[Step]) -> list[Move]:
    """The steps of a program that raise no error."""
    world: list[Any] = [leaf(a, b, 0) for a, b in leaves]
    moves = []
    for which, first, a, b in steps:
        name, action = ACTIONS[which % len(ACTIONS)]
        i, j = first % len(world), (first // len(world) + a) % len(world)
        if name == "copy_" and i == j:
            continue
        try:
            _move(world, (action, i, j, a, b))
        except Exception:  # noqa: S112
            continue
        moves.append((action, i, j, a, b))
    return moves


def _move(world: list[Any], move: Move) -> None:
    action, i, j, a, b = move
    result = action(ours, [world[i], world[j]], a, b)
    if isinstance(result, ours.Tensor) and all(result is not t for t in world):
        world.append(result)


def function_of(moves: list[Move], kind: int) -> Callable[..., Any]:
    """A program as a function of its leaves: it walks back (0), returns all it has (1), or what shares no memory (2)."""

    def program(*leaves: Any) -> Any:
        world = list(leaves)
        for move in moves:
            _move(world, move)
        if kind == 1:
            return world
        if kind == 2:
            return [t for t in world[len(leaves) :] if t._base is None]
        total: Any = ours.zeros((), dtype=ours.float64, device=DEVICE)
        for t in world:
            if t.requires_grad and not t.is_leaf:
                total = total + t.sum().to(ours.float64)
        if total.requires_grad:
            total.backward()
        return [t.detach().clone() for t in world]

    return program


def walk_back(leaves: list[Any], roots: list[Any], way: int) -> list[Any]:
    """Gradients from outside: all at once (0), in two parts with the graph kept (1) or not (2), twice (3), after a write (4)."""
    total: Any = sum((t.sum().to(ours.float64) * (1 + 0.1 * k) for k, t in enumerate(roots)))
    if way == 3:
        wanted = [t for t in leaves if t.requires_grad]
        first = ours.autograd.grad(total, wanted, create_graph=True, allow_unused=True)
        again = [
            g.square().sum().to(ours.float64) for g in first if g is not None and g.requires_grad
        ]
        twice: Any = sum(again, ours.zeros((), requires_grad=True, device=DEVICE))
        twice.backward()
        return [None if g is None else Numbers(g) for g in first]
    if way in (1, 2):
        roots[0].sin().sum().backward(retain_graph=way == 1)
    if way == 4:
        with ours.no_grad():
            roots[-1].mul_(2)
    total.backward()
    return []


def seen(leaves: list[Any], result: Any, way: int) -> list[Any]:
    """What a call left behind; where it returned a graph, with the gradients behind that."""
    tensors = [*leaves, *result] if isinstance(result, list) else [*leaves]
    facts: list[Any] = [result] if isinstance(result, str) else []
    facts += [
        (Numbers(t), tuple(t.shape), t.stride(), t.dtype, _history(t), t._version) for t in tensors
    ]
    try:
        roots = [t for t in tensors if t.requires_grad and not t.is_leaf]
        if roots:
            facts += walk_back(leaves, roots, way)
    except RuntimeError as error:  # which leaves it had reached is open
        return [*facts, str(error).partition("[torch.")[0]]
    grads = [t.grad for t in leaves]
    return [*facts, *(None if g is None else (Numbers(g), strides_in_use(g)) for g in grads)]


def call(program: Callable[..., Any], leaves: list[Any], way: int = 0) -> list[Any]:
    """A call and what it left behind; an error is a result, too."""
    try:
        result = program(*leaves)
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    return seen(leaves, result, way)


def run(seed: int, calls: int = 10, exactly: bool = True) -> str:
    """Run a program both ways; AssertionError where a call differs, by more than roundings if not `exactly`.

    Returns:
        "played", or why it stayed eager
    """
    leaves, steps = random_program(seed)
    program = function_of(moves_of(leaves, steps), kind=seed % 3)
    compiled = Compiled(program, False)
    for n in range(calls):
        shift = 1 if n == 4 and seed % 2 else 0
        results = []
        for form in (program, compiled):
            given = [leaf(a + shift, b, n) for a, b in leaves]
            with ours.set_grad_enabled(n != 3 or seed % 5 != 0):
                results.append(call(form, given, (seed // 3 + n // 8) % 5))
        assert agree(results[0], results[1], exactly), f"program {seed}, call {n}"
    return "played" if compiled.traced else compiled.eager or "traced"


@contextmanager
def native() -> Iterator[None]:
    """Let tapes be compiled before they are played for the first time."""
    before = config.plays_before_programs
    config.plays_before_programs = 0
    try:
        yield
    finally:
        config.plays_before_programs = before


def main(count: int, first: int = 0, *, exactly: bool = True) -> int:
    """Run so many programs and say which differ."""
    outcomes: Counter[str] = Counter()
    failed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + count):
            try:
                outcomes[run(seed, exactly=exactly).partition(" (")[0]] += 1
            except AssertionError as error:
                failed += 1
                print(str(error).partition("\n")[0], flush=True)
    for outcome, times in outcomes.most_common(12):
        print(f"{times:6}  {outcome}")
    print(f"{count} programs, {failed} differ")
    return bool(failed)


if __name__ == "__main__":
    if "--native" in sys.argv:
        sys.argv.remove("--native")
        with native():
            sys.exit(main(*map(int, sys.argv[1:]), exactly=False))
    sys.exit(main(*map(int, sys.argv[1:])))
