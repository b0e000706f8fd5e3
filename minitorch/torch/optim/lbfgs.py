"""L-BFGS, a quasi-Newton method."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..autograd.modes import enable_grad, no_grad
from ..ops.complex_numbers import view_as_real
from ..ops.creation import zeros_like
from ..ops.joining import cat
from ..tensor import Tensor
from .optimizer import Closure, Group, Optimizer, Options, ParamsT
from .options import as_float, check_options, optimizer

Evaluate = Callable[[float], tuple[float, Any]]
"""A function from a step length to the loss there and its gradient."""


@optimizer
class LBFGS(Optimizer):
    """Limited-memory BFGS, with all parameters as one vector (one group only).

    The closure is called several times in one step.
    """

    params: ParamsT
    lr: float | Tensor = 1
    max_iter: int = 20
    max_eval: int | None = None
    tolerance_grad: float = 1e-7
    tolerance_change: float = 1e-9
    history_size: int = 100
    line_search_fn: str | None = None

    def _check(self, options: Options) -> None:
        check_options(options)
        if options["max_eval"] is None:
            options["max_eval"] = options["max_iter"] * 5 // 4

    def add_param_group(self, param_group: Group) -> None:
        """Add the parameters: there is one group only."""
        if self.param_groups:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        super().add_param_group(param_group)

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Closure = None) -> Any:
        """Take up to `max_iter` steps; return the first loss."""
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        first = self._params[0]
        state = dict(self.state.get(first) or {"func_evals": 0, "n_iter": 0})
        loss = _Search(self, self.param_groups[0], state, enable_grad()(closure)).run()
        self.state[first].update(state)
        return loss

    # --- All parameters as one vector ------------------------------------------------------

    def _gradient(self) -> Tensor:
        gradients = [p._grad if p._grad is not None else zeros_like(p) for p in self._params]
        return cat([_real(g).reshape(-1) for g in gradients])

    def _move(self, length: float, direction: Any) -> None:
        """Add a multiple of a direction to the parameters."""
        offset = 0
        for p in self._params:
            target = _real(p)
            change = direction[offset : offset + target.numel()].view_as(target)
            target.add_(change, alpha=length)
            offset += target.numel()

    def _copies(self) -> list[Any]:
        return [p.clone() for p in self._params]

    def _restore(self, copies: list[Any]) -> None:
        for p, copy in zip(self._params, copies, strict=True):
            p.copy_(copy)


def _real(tensor: Any) -> Any:
    """A complex tensor as a real one with a last dimension of 2."""
    return view_as_real(tensor) if tensor.is_complex() else tensor


class _Search:
    """One call of `step`."""

    def __init__(self, optimizer: LBFGS, group: Any, state: Any, closure: Any) -> None:
        self.optimizer, self.group, self.state, self.closure = optimizer, group, state, closure
        self.lr = as_float(group["lr"])

    def run(self) -> Any:
        """Iterate until a stopping criterion holds, and save the state for the next call."""
        group, state = self.group, self.state
        first_loss = self.closure()
        loss, gradient = float(first_loss), self.optimizer._gradient()
        evaluations = 1
        state["func_evals"] += 1
        if _largest(gradient) <= group["tolerance_grad"]:
            return first_loss
        memory = _Memory(state, group["history_size"])
        iteration = 0
        while iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            direction = memory.direction(gradient, state["n_iter"] == 1)
            length = self.lr
            if state["n_iter"] == 1:
                length = min(1.0, 1.0 / gradient.abs().sum().item()) * self.lr
            memory.note(direction, length, gradient, loss)
            slope = gradient.dot(direction).item()
            if slope > -group["tolerance_change"]:
                break
            before = loss
            last = iteration == group["max_iter"]
            loss, gradient, length, calls = self._advance(
                loss, gradient, direction, length, slope, evaluations, last
            )
            memory.length = length
            evaluations += calls
            state["func_evals"] += calls
            if (
                last
                or evaluations >= group["max_eval"]
                or _largest(gradient) <= group["tolerance_grad"]
                or _largest(direction) * abs(length) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        memory.save(state)
        return first_loss

    def _advance(
        self, loss: float, gradient: Any, direction: Any, length: Any, slope: Any, done: int,
        last: bool,
    ) -> tuple[float, Any, Any, int]:  # fmt: skip
        """Move along a direction: by a given step length, or by one from the line search.

        Returns:
            loss and gradient there, the step length, the number of calls of the closure
        """
        optimizer, way = self.optimizer, self.group["line_search_fn"]
        if way is None:
            optimizer._move(length, direction)
            if last:
                return loss, gradient, length, 0
            loss = float(self.closure())
            return loss, optimizer._gradient(), length, 1
        if way != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = optimizer._copies()

        def evaluate(t: float) -> tuple[float, Any]:
            optimizer._move(t, direction)
            value = float(self.closure())
            there = optimizer._gradient()
            optimizer._restore(start)
            return value, there

        loss, gradient, length, calls = strong_wolfe(
            evaluate, length, direction, loss, gradient, slope, self.group["max_eval"] - done
        )
        optimizer._move(length, direction)
        return loss, gradient, length, calls


class _Memory:
    """The history of steps and changes of the gradient."""

    def __init__(self, state: Any, size: int) -> None:
        self.size = size
        self.last, self.length = state.get("d"), as_float(state.get("t"))
        self.changes, self.steps, self.inverses = (
            list(state.get(name) or []) for name in ("old_dirs", "old_stps", "ro")
        )
        self.scale = state.get("H_diag")
        self.gradient, self.loss = state.get("prev_flat_grad"), state.get("prev_loss")

    def direction(self, gradient: Any, first: bool) -> Any:
        """The search direction: minus the gradient times the approximate inverse Hessian."""
        if first:
            self.changes, self.steps, self.inverses, self.scale = [], [], [], 1
            return gradient.neg()
        self._learn(gradient)
        q = gradient.neg()
        shares = []
        for change, step, inverse in self._pairs(newest_first=True):
            shares.append(step.dot(q) * inverse)
            q = q - shares[-1] * change
        q = q * self.scale
        for (change, step, inverse), share in zip(self._pairs(), reversed(shares), strict=True):
            q = q + (share - change.dot(q) * inverse) * step
        return q

    def _learn(self, gradient: Any) -> None:
        """Add the last step to the history, if the curvature along it is positive."""
        change = gradient - self.gradient
        step = self.last * self.length
        product = change.dot(step)
        if product > 1e-10:
            if len(self.changes) == self.size:
                for kept in (self.changes, self.steps, self.inverses):
                    kept.pop(0)
            self.changes.append(change)
            self.steps.append(step)
            self.inverses.append(1.0 / product)
            self.scale = product / change.dot(change)

    def _pairs(self, newest_first: bool = False) -> Any:
        pairs = list(zip(self.changes, self.steps, self.inverses, strict=True))
        return reversed(pairs) if newest_first else pairs

    def note(self, direction: Any, length: float, gradient: Any, loss: float) -> None:
        """Save the point that a step starts from."""
        self.last, self.length, self.gradient, self.loss = direction, length, gradient, loss

    def save(self, state: Any) -> None:
        """Save everything in the optimizer's state, under Torch's names."""
        state["d"], state["t"] = self.last, self.length
        state["old_dirs"], state["old_stps"], state["ro"] = self.changes, self.steps, self.inverses
        state["H_diag"], state["prev_flat_grad"] = self.scale, self.gradient
        state["prev_loss"] = self.loss
        if state["n_iter"] > 1:
            state.setdefault("al", [None] * self.size)


def _largest(x: Any) -> float:
    """The largest absolute value."""
    return x.abs().max().item() if x.numel() else 0.0


# --- The line search ----------------------------------------------------------------------


class _Point:
    """A point on the line: step length, loss, gradient, directional derivative."""

    def __init__(self, t: Any, loss: float, gradient: Any, slope: Any) -> None:
        self.t, self.loss, self.gradient, self.slope = t, loss, gradient, slope


class _Line:
    """The loss along a direction, and the Wolfe conditions.

    Attributes:
        calls: number of evaluations of the loss
    """

    def __init__(self, evaluate: Evaluate, direction: Any, start: _Point, c1: float, c2: float) -> None:  # fmt: skip
        self.evaluate, self.direction, self.start, self.calls = evaluate, direction, start, 0
        self.c1, self.c2 = c1, c2

    def look(self, t: Any) -> _Point:
        """The point at a step length."""
        self.calls += 1
        value, there = self.evaluate(t)
        return _Point(t, value, there, there.dot(self.direction).item())

    def too_high(self, point: _Point) -> bool:
        """Whether the sufficient decrease condition fails."""
        return point.loss > self.start.loss + self.c1 * point.t * self.start.slope

    def flat(self, point: _Point) -> bool:
        """Whether the curvature condition holds."""
        return abs(point.slope) <= -self.c2 * self.start.slope


def strong_wolfe(
    evaluate: Evaluate, t: Any, direction: Any, loss: float, gradient: Any, slope: Any,
    most: int, c1: float = 1e-4, c2: float = 0.9, tolerance: float = 1e-9,
) -> tuple[float, Any, Any, int]:  # fmt: skip
    """A step length that satisfies the strong Wolfe conditions.

    First the step grows until an interval with such a length is found, then cubic
    interpolation narrows the interval.

    Returns:
        the loss and the gradient there, the step length, the number of evaluations of the loss
    """
    line = _Line(evaluate, direction, _Point(0, loss, gradient, slope), c1, c2)
    ends, tries = _bracket(line, line.look(t), most)
    best = ends[0] if len(ends) == 1 else _narrow(line, ends, most - tries, tolerance)
    return best.loss, best.gradient, best.t, line.calls


def _bracket(line: _Line, now: _Point, most: int) -> tuple[list[_Point], int]:
    """The ends of an interval with a suitable step length, or a single suitable point; and the number of iterations."""
    before = line.start
    for tries in range(most):
        if line.too_high(now) or (tries > 1 and now.loss >= before.loss):
            return [before, now], tries
        if line.flat(now):
            return [now], tries
        if now.slope >= 0:
            return [before, now], tries
        bounds = now.t + 0.01 * (now.t - before.t), now.t * 10
        before, now = now, line.look(_cubic_minimum(before, now, bounds))
    return [line.start, now], most


def _narrow(line: _Line, ends: list[_Point], most: int, tolerance: float) -> _Point:
    """The best point of an interval, after at most a number of reductions."""
    largest = _largest(line.direction)
    stuck = False
    low, high = (0, 1) if ends[0].loss <= ends[1].loss else (1, 0)
    for _ in range(most):
        left, right = min(e.t for e in ends), max(e.t for e in ends)
        if (right - left) * largest < tolerance:
            break
        t, stuck = _inside(_cubic_minimum(ends[0], ends[1]), left, right, stuck)
        now = line.look(t)
        if line.too_high(now) or now.loss >= ends[low].loss:
            ends[high] = now
            low, high = (0, 1) if ends[0].loss <= ends[1].loss else (1, 0)
            continue
        done = line.flat(now)
        if not done and now.slope * (ends[high].t - ends[low].t) >= 0:
            ends[high] = ends[low]
        ends[low] = now
        if done:
            break
    return ends[low]


def _inside(t: Any, left: Any, right: Any, stuck: bool) -> tuple[Any, bool]:
    """Move a step length away from the ends of the interval, if it comes near them a second time."""
    margin = 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if stuck or t >= right or t <= left:
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
    return t, True


def _cubic_minimum(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum within bounds of the cubic through two points with their slopes."""
    low, high = bounds or (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    left, right = (a, b) if a.t <= b.t else (b, a)
    share = (right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2)
    return min(max(right.t - (right.t - left.t) * share, low), high)
