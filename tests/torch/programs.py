"""Random Torch programs, run in both libraries step by step.

A program is a list of steps, each a few small numbers; what they mean depends on the tensors
that are there, so every list is a program, and a failing one shrinks. Views, writes in place
and recorded operations are mixed; in the end every tensor, its history and version, and the
gradients of all leaves must agree. What PyTorch does by accident is named where it is passed over
(`Unspecified`); about 19 of 20 programs are compared to their end.

    python -m tests.torch.programs 20000          # the programs 0 to 19,999
    python -m tests.torch.programs 20000 100000   # others
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch as real

import minitorch.torch as ours

from .oracle import DEVICE, Mismatch, compare_tensors, to_ours


class Unspecified(Exception):
    """A program comes to where PyTorch's own behaviour is an accident."""


Step = tuple[int, int, int, int]
SHAPES = [
    (),
    (1,),
    (3,),
    (2, 3),
    (3, 2),
    (1, 3),
    (2, 1),
    (2, 2),
    (2, 3, 2),
    (1, 2, 3),
    (0, 3),
    (4,),
]
DTYPES = ["float64", "float64", "float64", "float32", "int64", "bool"]


@dataclass
class World:
    """The tensors of a program so far, in both libraries."""

    mine: list[Any] = field(default_factory=list)
    theirs: list[Any] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    versions: list[tuple[int, int]] = field(default_factory=list)
    story: list[str] = field(default_factory=list)

    def add(self, mine: Any, theirs: Any) -> None:
        self.mine.append(mine)
        self.theirs.append(theirs)
        self.versions.append((mine._version, theirs._version))


Action = Callable[[Any, list[Any], int, int], Any]
"""From a library, some tensors and two small numbers to a new tensor, or None after a write."""


def _slice(x: Any, a: int, b: int) -> Any:
    dim = a % max(x.ndim, 1)
    return x[(slice(None),) * dim + (slice(b % 3, None, 1 + b % 2),)]


def _shape_for(x: Any, a: int) -> tuple[int, ...]:
    n = x.numel()
    return [(n,), (-1, 1), (1, n), (-1, 2), (2, -1), tuple(reversed(x.shape))][a % 6]


UNARY = [
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "neg",
    "abs",
    "exp",
    "relu",
    "floor",
    "sign",
    "square",
    "erf",
    "logical_not",
    "isfinite",
    "sgn",
    "round",
    "cosh",
    "trunc",
    "sqrt",
    "log1p",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "div",
    "eq",
    "lt",
    "ge",
    "atan2",
    "logaddexp",
    "fmod",
    "remainder",
    "floor_divide",
    "pow",
    "hypot",
    "copysign",
    "logical_and",
    "bitwise_xor",
    "fmax",
]
UNARY_TWINS = [
    "sin_",
    "tanh_",
    "neg_",
    "sigmoid_",
    "relu_",
    "zero_",
    "abs_",
    "square_",
    "floor_",
    "exp_",
]
BINARY_TWINS = ["add_", "mul_", "sub_", "copy_", "div_", "lt_", "pow_", "remainder_", "atan2_"]
REDUCTIONS = [
    "sum",
    "mean",
    "amax",
    "amin",
    "prod",
    "var",
    "std",
    "any",
    "all",
    "logsumexp",
    "argmax",
]
NUMBERS = [2, -1, 0.5, 3.0, True, 0]


def _method(name: str) -> Action:
    return lambda lib, x, a, b: getattr(x[0], name)()


def _pair(name: str) -> Action:
    return lambda lib, x, a, b: getattr(x[0], name)(x[1])


def _with_number(name: str) -> Action:
    return lambda lib, x, a, b: getattr(x[0], name)(NUMBERS[a % len(NUMBERS)])


def _reduce(name: str) -> Action:
    def run(lib: Any, x: list[Any], a: int, b: int) -> Any:
        if a % 3 == 0 and name not in ("logsumexp",):
            return getattr(x[0], name)()
        return getattr(x[0], name)(a % max(x[0].ndim, 1), keepdim=bool(b % 2))

    return run


def _index(x: Any, a: int) -> Any:
    size = x.shape[0] if x.ndim else 1
    return [0, size - 1, size // 2, 0][: 1 + a % 4] if size else []


VIEWS: dict[str, Action] = {
    "transpose": lambda lib, x, a, b: x[0].transpose(a % max(x[0].ndim, 1), b % max(x[0].ndim, 1)),
    "view": lambda lib, x, a, b: x[0].view(_shape_for(x[0], a)),
    "reshape": lambda lib, x, a, b: x[0].reshape(_shape_for(x[0], a)),
    "slice": lambda lib, x, a, b: _slice(x[0], a, b),
    "select": lambda lib, x, a, b: x[0].select(a % max(x[0].ndim, 1), b % 3),
    "expand": lambda lib, x, a, b: x[0].expand((2 + a % 2, *x[0].shape)),
    "unsqueeze": lambda lib, x, a, b: x[0].unsqueeze(a % (x[0].ndim + 1)),
    "squeeze": lambda lib, x, a, b: x[0].squeeze(),
    "diagonal": lambda lib, x, a, b: x[0].diagonal(a % 3 - 1),
    "unfold": lambda lib, x, a, b: x[0].unfold(0, 1 + a % 2, 1 + b % 2),
    "t": lambda lib, x, a, b: x[0].t(),
    "split": lambda lib, x, a, b: x[0].split(1 + a % 2)[0],
    "unbind": lambda lib, x, a, b: x[0].unbind()[-1],
    "detach": lambda lib, x, a, b: x[0].detach().clone(),
    "flatten": lambda lib, x, a, b: x[0].flatten(),
    "narrow": lambda lib, x, a, b: x[0].narrow(a % max(x[0].ndim, 1), b % 2, 1),
    "movedim": lambda lib, x, a, b: x[0].movedim(0, -1),
    "as_strided": lambda lib, x, a, b: x[0].as_strided((2,), (a % 3,), x[0].storage_offset()),
}
WRITES: dict[str, Action] = {
    "fill_": lambda lib, x, a, b: x[0].fill_(NUMBERS[a % 4]),
    "setitem int": lambda lib, x, a, b: x[0].__setitem__(a % 3, x[1]),
    "setitem slice": lambda lib, x, a, b: x[0].__setitem__(
        slice(a % 2, None, 1 + b % 2), NUMBERS[b % 4]
    ),
    "setitem mask": lambda lib, x, a, b: x[0].__setitem__(x[0] > 0, NUMBERS[b % 4]),
    "setitem list": lambda lib, x, a, b: x[0].__setitem__(_index(x[0], a)[:1], x[1]),
    "masked_fill_": lambda lib, x, a, b: x[0].masked_fill_(x[1] > 0, NUMBERS[a % 4]),
    "no_grad add_": lambda lib, x, a, b: _no_grad_add(lib, x),
    "clamp_": lambda lib, x, a, b: x[0].clamp_(-1, 1),
    "augmented": lambda lib, x, a, b: x[0].__imul__(x[1]),
    "index_add_": lambda lib, x, a, b: x[0].index_add_(
        0, lib.tensor(_index(x[0], a)), x[0][_index(x[0], a)]
    ),
}
OTHERS: dict[str, Action] = {
    "clone": lambda lib, x, a, b: x[0].clone(),
    "contiguous": lambda lib, x, a, b: x[0].contiguous(),
    "cat": lambda lib, x, a, b: lib.cat([x[0], x[1]], a % max(x[0].ndim, 1)),
    "stack": lambda lib, x, a, b: lib.stack([x[0], x[1]], a % (x[0].ndim + 1)),
    "where": lambda lib, x, a, b: lib.where(x[0] > 0, x[0], x[1]),
    "matmul": lambda lib, x, a, b: x[0] @ x[1],
    "index list": lambda lib, x, a, b: x[0][_index(x[0], a)],
    "index mask": lambda lib, x, a, b: x[0][x[0] > 0],
    "index tensor": lambda lib, x, a, b: x[0][..., lib.tensor(_index(x[0], a))],
    "gather": lambda lib, x, a, b: x[0].clone().gather(0, lib.zeros_like(x[0], dtype=lib.int64)),
    "cumsum": lambda lib, x, a, b: x[0].cumsum(a % max(x[0].ndim, 1)),
    "flip": lambda lib, x, a, b: x[0].flip(0),
    "roll": lambda lib, x, a, b: x[0].roll(1 + a % 2, 0),
    "to": lambda lib, x, a, b: x[0].to([lib.float64, lib.float32, lib.int64][a % 3]),
    "masked_fill": lambda lib, x, a, b: x[0].masked_fill(x[1] > 0, 0.5),
    "clamp": lambda lib, x, a, b: x[0].clamp(-0.5, 0.5),
    "sort": lambda lib, x, a, b: x[0].sort(stable=True)[0],
    "repeat": lambda lib, x, a, b: x[0].repeat((2, *[1] * x[0].ndim)),
    "tril": lambda lib, x, a, b: x[0].tril(),
    "softmax": lambda lib, x, a, b: x[0].softmax(-1) if x[0].numel() else x[0].clone(),
    "grad": lambda lib, x, a, b: lib.autograd.grad(
        x[0].sum(), x[1], create_graph=True, allow_unused=True
    )[0],
}


def _no_grad_add(lib: Any, x: list[Any]) -> None:
    if x[0]._is_view() or 0 in strides_in_use(x[0]):
        return
    with lib.no_grad():
        x[0].add_(1)


ACTIONS: list[tuple[str, Action]] = [
    *((n, _method(n)) for n in UNARY),
    *((n, _pair(n)) for n in BINARY),
    *((f"{n} number", _with_number(n)) for n in BINARY[:9]),
    *((n, _method(n)) for n in UNARY_TWINS),
    *((n, _pair(n)) for n in BINARY_TWINS),
    *((f"{n} number", _with_number(n)) for n in BINARY_TWINS[:3]),
    *((n, _reduce(n)) for n in REDUCTIONS),
    *VIEWS.items(), *VIEWS.items(), *WRITES.items(), *OTHERS.items(),
]  # fmt: skip
"""Views twice: most faults hide behind them."""


def new_leaf(world: World, a: int, b: int) -> None:
    """A tensor of some shape and type, perhaps with strides of its own, perhaps requiring grad."""
    shape, kind = SHAPES[a % len(SHAPES)], DTYPES[b % len(DTYPES)]
    values = np.random.default_rng(a * 31 + b).uniform(-2, 2, shape)
    theirs = real.tensor(np.round(values, 1) if b % 2 else values).to(getattr(real, kind))
    if b % 5 == 4 and theirs.ndim == 2:
        theirs = real.empty_strided(theirs.shape, (1, theirs.shape[0]), dtype=theirs.dtype).copy_(
            theirs
        )
    if kind.startswith("float") and b % 4 != 3:
        theirs.requires_grad_()
    world.leaves.append(len(world.mine))
    world.story.append(
        f"t{len(world.mine)} = leaf {kind}{list(shape)}{' requires grad' if theirs.requires_grad else ''}"
    )
    world.add(to_ours(theirs), theirs)


def _is_nothing(x: Any, y: Any) -> bool:
    """Where an empty tensor begins."""
    return not x.numel()


def _is_product_of_nothing(x: Any, y: Any) -> bool:
    """Types are not checked where there is nothing to multiply."""
    return not (x.numel() and y.numel()) and (x.dtype is not y.dtype or x.dtype is real.bool)


def _has_both_zeros(x: Any, y: Any) -> bool:
    """Which of 0 and -0 is the smaller depends on the order of the loop."""
    zeros = [t.signbit()[t == 0] for t in (x, y)]
    return bool(real.cat(zeros).unique().numel() > 1)


def _leaves_rounding(x: Any, y: Any) -> bool:
    """What is left of a large number is its rounding error."""
    sizes = y[y != 0].double().abs()
    if not (x.is_floating_point() and x.numel() and sizes.numel()):
        return False
    return bool(x.abs().max() > 64 * sizes.min())


def _are_close(x: Any, y: Any) -> bool:
    """Which of two numbers is larger that differ by rounding; PyTorch's float32 roots err by one unit."""
    try:
        apart = (x - y).abs()
    except RuntimeError:
        return False
    return bool(((apart > 0) & (apart < 1e-6 * x.abs())).any())


def _is_rounding(x: Any, result: Any) -> bool:
    """The deviation of equal numbers is rounding error, and has any derivative."""
    if result is None or not x.numel():
        return False
    return bool((result < 1e-6 * x.data.abs().max()).any())


_ACCIDENTS = {
    "as_strided": _is_nothing,
    "matmul": _is_product_of_nothing,
    "copysign": lambda x, y: bool(y.isnan().any()),  # the sign of what is no number
    **dict.fromkeys(("amin", "amax", "minimum", "maximum", "fmax"), _has_both_zeros),
    **dict.fromkeys(("remainder", "fmod", "remainder_"), _leaves_rounding),
    **dict.fromkeys(("eq", "lt", "ge", "lt_"), _are_close),
}
"""Where PyTorch's own answer is an accident: by action, a function of two tensors."""


def _overlap(written: Any, read: Any) -> bool:
    """Whether a tensor shows some memory twice, or another one shows it in another order."""
    if not written.numel():
        return False
    spots = _addresses(written)
    if len(np.unique(spots)) < spots.size:
        return True
    other = _addresses(read)
    return not np.array_equal(spots, other) and bool(np.isin(other, spots).any())


def _addresses(t: Any) -> np.ndarray:
    """Where in memory each element is."""
    at = np.full(tuple(t.shape), t.data_ptr(), np.int64)
    for d, (n, s) in enumerate(zip(t.shape, t.stride(), strict=True)):
        at += (np.arange(n) * s * t.element_size()).reshape((n,) + (1,) * (t.ndim - d - 1))
    return at


def strides_in_use(t: Any) -> list[int]:
    """Strides, where they say where an element is."""
    return [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] if t.numel() > 1 else []


def _has_idle_strides(t: Any) -> bool:
    """Whether a dimension of size 1 has another stride than in a tensor that lies in order."""
    inner, idle = 1, False
    for n, s in zip(reversed(t.shape), reversed(t.stride()), strict=True):
        idle |= n == 1 and s != inner
        inner *= n
    return idle


def take_step(world: World, step: Step) -> None:
    """One action in both libraries: the same result, or an error of the same class."""
    which, first, a, b = step
    name, action = ACTIONS[which % len(ACTIONS)]
    n = len(world.mine)
    i, j = first % n, (first // n + a) % n
    if name == "copy_" and i == j:
        return
    world.story.append(f"t{n} = {name}(t{i}, t{j}; {a}, {b})")
    if name in _ACCIDENTS and _ACCIDENTS[name](world.theirs[i].data, world.theirs[j].data):
        raise Unspecified(name)
    error = theirs = None
    version = world.theirs[i]._version
    try:
        theirs = action(real, [world.theirs[i], world.theirs[j]], a, b)
    except Exception as e:
        error = e
    if name == "std" and _is_rounding(world.theirs[i], theirs):
        raise Unspecified("the deviation of equal numbers is rounding error")
    try:
        mine = action(ours, [world.mine[i], world.mine[j]], a, b)
    except Exception as own:
        if _lost_history(world, i, j):
            raise Unspecified("which operation first notices that a view lost its history") from own
        if "ZeroDivision" in str(error):
            raise Unspecified("PyTorch has written part of the result") from own
        if error is None:
            raise Mismatch(f"raised {type(own).__name__}: {own}") from own
        if not isinstance(own, type(error)) and not isinstance(error, type(own)):
            raise Mismatch(
                f"raised {type(own).__name__}({own}), expected {type(error).__name__}({error})"
            ) from own
        world.story[-1] += f"  raises {type(error).__name__}"
        return
    if error is not None:
        if _lost_history(world, i, j):
            raise Unspecified("which operation first notices that a view lost its history")
        one = world.theirs[j].numel() == 1
        if "single memory location" in str(error) and (one or _has_idle_strides(world.theirs[j])):
            raise Unspecified("overlap is judged by strides of dimensions of size 1")
        if world.theirs[j].requires_grad and not world.theirs[i].is_floating_point():
            raise Unspecified("PyTorch lets whole numbers require grad, and fails in backward")
        raise Mismatch(f"did not raise, expected {type(error).__name__}({error})")
    if any(
        t.requires_grad and not t.is_floating_point()
        for t in [theirs, *world.theirs]
        if t is not None
    ):
        raise Unspecified("PyTorch lets whole numbers require grad, and fails in backward")
    if world.theirs[i]._version != version and _overlap(world.theirs[i], world.theirs[j]):
        raise Unspecified("what is read first depends on the order of the loop")
    for t in world.theirs:
        _history(t)  # PyTorch renews a view's history when it is asked, and forgets to elsewhere
    if isinstance(theirs, real.Tensor):
        if _history(theirs) != _history(mine):
            raise Mismatch(f"leaf, requires grad {_history(mine)}, expected {_history(theirs)}")
        if strides_in_use(mine) != strides_in_use(theirs):
            if any(map(_has_idle_strides, (world.theirs[i], world.theirs[j]))):
                raise Unspecified("PyTorch heeds strides of dimensions of size 1, which may be any")
            raise Mismatch(f"strides {mine.stride()}, expected {theirs.stride()}")
        if all(theirs is not t for t in world.theirs) and theirs.numel() < 200:
            world.add(mine, theirs)


def finish(world: World) -> None:
    """Compare all tensors, their versions, and the gradients of the leaves."""
    # What once was in single precision stays as exact as that.
    single = any(t.dtype is real.float32 for t in world.theirs)
    eps = 1.2e-7 if single else 0.0
    for n, (mine, theirs) in enumerate(zip(world.mine, world.theirs, strict=True)):
        compare_tensors(mine, theirs, f"t{n}", 4096.0, scale=1.0, eps=eps)
        first_mine, first_theirs = world.versions[n]
        if mine._version - first_mine != theirs._version - first_theirs:
            raise Mismatch(
                f"t{n}: written {mine._version - first_mine} times, expected {theirs._version - first_theirs}"
            )
        if _history(mine) != _history(theirs):
            raise Mismatch(
                f"t{n}: leaf, requires grad {_history(mine)}, expected {_history(theirs)}"
            )
    tracked = [n for n, t in enumerate(world.theirs) if _history(t) == (False, True)]
    if not tracked:
        return
    mine = _backward(ours, [world.mine[n] for n in tracked])
    theirs = _backward(real, [world.theirs[n] for n in tracked])
    if mine is None and any(name in str(theirs) for name in ("of Pow", "of Copysign", "of Exp")):
        return  # PyTorch kept a result that it did not need, or lost sight of a view
    if (mine is None) != (theirs is None) or type(mine) is not type(theirs):
        raise Mismatch(f"backward: {mine!r}, expected {theirs!r}")
    if theirs is not None:
        return  # both raised: a leaf may have got part of its gradient
    for n, (a, b) in enumerate(zip(world.mine, world.theirs, strict=True)):
        if _history(b) != (True, True):
            continue
        if (a.grad is None) != (b.grad is None):
            raise Mismatch(f"gradient of t{n}: {a.grad}, expected {b.grad}")
        if b.grad is not None:
            compare_tensors(a.grad, b.grad, f"gradient of t{n}", 65536.0, scale=1.0, eps=eps)


def _lost_history(world: World, *numbers: int) -> bool:
    """Whether one of some tensors is a view whose base was written since, so that it has no history."""
    return any(_history(world.theirs[n]) is RuntimeError for n in numbers)


def _history(t: Any) -> Any:
    """Whether it is a leaf and requires grad; of a view that lost its history, the error."""
    try:
        return t.is_leaf, t.requires_grad
    except RuntimeError:
        return RuntimeError


def _backward(lib: Any, tensors: list[Any]) -> Exception | None:
    try:
        total = lib.zeros((), dtype=lib.float64)
        for k, t in enumerate(tensors):
            total = total + t.sum().to(lib.float64) * (1 + 0.1 * k)
        total.backward()
    except RuntimeError as e:
        return e
    return None


def run(leaves: list[tuple[int, int]], steps: list[Step]) -> bool:
    """Run a program in both libraries; `Mismatch` tells the story of one that differs.

    Returns:
        whether it could be compared to its end
    """
    world = World()
    for a, b in leaves:
        new_leaf(world, a, b)
    try:
        with ours.device(DEVICE):
            for step in steps:
                take_step(world, step)
            finish(world)
    except Unspecified:
        return False
    except Mismatch as e:
        raise Mismatch("\n".join([*world.story, str(e)])) from e
    return True


def random_program(seed: int) -> tuple[list[tuple[int, int]], list[Step]]:
    """A program from a number."""
    draw = np.random.default_rng(seed)
    leaves = [tuple(draw.integers(0, 60, 2).tolist()) for _ in range(draw.integers(1, 4))]
    steps = [
        tuple(draw.integers(0, 10_000, 2).tolist() + draw.integers(0, 12, 2).tolist())
        for _ in range(draw.integers(1, 14))
    ]
    return leaves, steps  # type: ignore[return-value]


def main(count: int, first: int = 0) -> int:
    """Run so many programs and say which differ."""
    import warnings

    warnings.simplefilter("ignore")
    differing = whole = 0
    for seed in range(first, first + count):
        try:
            whole += run(*random_program(seed))
        except Mismatch as e:
            differing += 1
            print(f"--- program {seed}\n{e}", flush=True)
    print(f"{count} programs, {whole} compared to their end, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(
        main(
            int(sys.argv[1]) if len(sys.argv) > 1 else 2000,
            int(sys.argv[2]) if len(sys.argv) > 2 else 0,
        )
    )
