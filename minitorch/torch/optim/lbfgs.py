"""L-BFGS: Newton's method with curvature learned from past steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.modes import enable_grad, no_grad
from ..tensor import Tensor, bump_version, wrap
from .optimizer import Closure, Optimizer, ParamsT, as_float, check_lr

Array = Any
Evaluate = Callable[[float], tuple[float, Array]]
"""From a step length to the loss there and its gradient."""


class LBFGS(Optimizer):
    """Quasi-Newton steps, with all parameters as one vector (one group only).

    The closure is called several times in one step.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Closure = None) -> Any:
        """Take up to `max_iter` steps; return the first loss."""
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        search = _Search(self, group, state, enable_grad()(closure))
        return search.run()

    # --- All parameters as one vector ------------------------------------------------------

    def _gradient(self) -> Array:
        pieces = []
        for p in self._params:
            piece = np.zeros_like(p._array) if p.grad is None else p.grad._array
            pieces.append(_flat(piece))
        return np.concatenate(pieces)

    def _move(self, length: Any, direction: Array) -> None:
        """Add so much of a direction to the parameters."""
        offset = 0
        for p in self._params:
            array = p._array if p._array.dtype.kind != "c" else p._array.view(p._array.real.dtype)
            change = direction[offset : offset + array.size].reshape(array.shape)
            array += array.dtype.type(length) * change
            offset += array.size
            bump_version(p)

    def _copies(self) -> list[Array]:
        return [p._array.copy() for p in self._params]

    def _restore(self, copies: list[Array]) -> None:
        for p, copy in zip(self._params, copies, strict=True):
            p._array[...] = copy
            bump_version(p)


def _flat(array: Array) -> Array:
    """An array as a vector of real numbers."""
    flat: Any = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


class _Search:
    """One call of `step`."""

    def __init__(self, optimizer: LBFGS, group: Any, state: Any, closure: Any) -> None:
        self.optimizer, self.group, self.state, self.closure = optimizer, group, state, closure
        self.lr = as_float(group["lr"])
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

    def run(self) -> Any:
        """Iterate until something says stop, and keep what the next call needs."""
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
                length = min(1.0, 1.0 / float(np.abs(gradient).sum())) * self.lr
            memory.note(direction, length, gradient, loss)
            slope = direction.dtype.type(gradient @ direction)
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
                or _largest(direction * direction.dtype.type(length)) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        memory.save(state)
        return first_loss

    def _advance(
        self, loss: float, gradient: Array, direction: Array, length: Any, slope: Any, done: int,
        last: bool,
    ) -> tuple[float, Array, Any, int]:  # fmt: skip
        """Go along a direction: so far, or as far as the line search finds best.

        Returns:
            loss and gradient there, how far it was, how often the closure was called
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

        def evaluate(t: float) -> tuple[float, Array]:
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
    """Past steps and how the gradient changed along them."""

    def __init__(self, state: Any, size: int) -> None:
        self.size = size
        self.last = _array(state.get("d"))
        self.length = as_float(state.get("t"))
        self.changes = [_array(x) for x in state.get("old_dirs") or []]
        self.steps = [_array(x) for x in state.get("old_stps") or []]
        self.inverses = [_array(x) for x in state.get("ro") or []]
        self.scale = _array(state.get("H_diag"))
        self.gradient = _array(state.get("prev_flat_grad"))
        self.loss = state.get("prev_loss")

    def direction(self, gradient: Array, first: bool) -> Array:
        """Where to go: down the gradient, bent by the curvature that was seen."""
        if first:
            self.changes, self.steps, self.inverses, self.scale = [], [], [], 1
            return -gradient
        self._learn(gradient)
        q = -gradient
        shares = []
        for change, step, inverse in self._pairs(newest_first=True):
            share = step @ q * inverse
            shares.append(share)
            q -= share * change
        q *= q.dtype.type(self.scale)
        for (change, step, inverse), share in zip(self._pairs(), reversed(shares), strict=True):
            q += (share - change @ q * inverse) * step
        return q

    def _learn(self, gradient: Array) -> None:
        """Remember the last step, if it went where the loss curves up."""
        change = gradient - self.gradient
        step = self.last * self.last.dtype.type(self.length)
        product = change @ step
        if product > 1e-10:
            if len(self.changes) == self.size:
                for kept in (self.changes, self.steps, self.inverses):
                    kept.pop(0)
            self.changes.append(change)
            self.steps.append(step)
            self.inverses.append(product.dtype.type(1) / product)
            self.scale = product / (change @ change)

    def _pairs(self, newest_first: bool = False) -> Any:
        pairs = list(zip(self.changes, self.steps, self.inverses, strict=True))
        return reversed(pairs) if newest_first else pairs

    def note(self, direction: Array, length: Any, gradient: Array, loss: float) -> None:
        """Keep the point that a step starts from."""
        self.last, self.length, self.gradient, self.loss = direction, length, gradient, loss

    def save(self, state: Any) -> None:
        """Put everything into the optimizer's state, as tensors, under Torch's names."""
        state["d"], state["t"] = wrap(self.last), self.length
        state["old_dirs"] = [wrap(x) for x in self.changes]
        state["old_stps"] = [wrap(x) for x in self.steps]
        state["ro"] = [wrap(np.asarray(x)) for x in self.inverses]
        scale = self.scale
        state["H_diag"] = scale if isinstance(scale, int) else wrap(np.asarray(scale))
        state["prev_flat_grad"] = wrap(self.gradient)
        state["prev_loss"] = self.loss
        if state["n_iter"] > 1:
            state.setdefault("al", [None] * self.size)


def _array(value: Any) -> Any:
    """What a state keeps, as an array or a number."""
    if not isinstance(value, Tensor):
        return value
    return value._array[()] if value.ndim == 0 else value._array


def _largest(x: Array) -> float:
    """The largest absolute value."""
    return float(np.abs(x).max()) if x.size else 0.0


# --- The line search ----------------------------------------------------------------------


class _Point:
    """A place on the line: how far, the loss, the gradient, the slope along the line."""

    def __init__(self, t: Any, loss: float, gradient: Array, slope: Any) -> None:
        self.t, self.loss, self.gradient, self.slope = t, loss, gradient, slope


def strong_wolfe(
    evaluate: Evaluate, t: Any, direction: Array, loss: float, gradient: Array, slope: Any,
    most: int, c1: float = 1e-4, c2: float = 0.9, tolerance: float = 1e-9,
) -> tuple[float, Array, Any, int]:  # fmt: skip
    """A step length that lowers the loss enough and flattens the slope enough.

    First the step grows until an interval with such a length is found, then cubic
    interpolation narrows the interval.

    Returns:
        the loss and the gradient there, the length, how often the loss was evaluated
    """
    calls = 0

    def look(t: Any) -> _Point:
        nonlocal calls
        calls += 1
        value, there = evaluate(t)
        return _Point(t, value, there, there @ direction)

    def too_high(point: _Point) -> bool:
        return point.loss > loss + c1 * point.t * slope

    def flat(point: _Point) -> bool:
        return abs(point.slope) <= -c2 * slope

    start = _Point(0, loss, gradient, slope)
    before, now = start, look(t)
    tries = 0
    while tries < most:
        if too_high(now) or (tries > 1 and now.loss >= before.loss):
            break
        if flat(now):
            return now.loss, now.gradient, now.t, calls
        if now.slope >= 0:
            break
        bounds = now.t + 0.01 * (now.t - before.t), now.t * 10
        before, now = now, look(_cubic_minimum(before, now, bounds))
        tries += 1
    ends = [start if tries == most else before, now]
    largest = _largest(direction)
    stuck = False
    low, high = (0, 1) if ends[0].loss <= ends[1].loss else (1, 0)
    while tries < most:
        left, right = min(e.t for e in ends), max(e.t for e in ends)
        if (right - left) * largest < tolerance:
            break
        t, stuck = _inside(_cubic_minimum(ends[0], ends[1]), left, right, stuck)
        now = look(t)
        tries += 1
        if too_high(now) or now.loss >= ends[low].loss:
            ends[high] = now
            low, high = (0, 1) if ends[0].loss <= ends[1].loss else (1, 0)
            continue
        done = flat(now)
        if not done and now.slope * (ends[high].t - ends[low].t) >= 0:
            ends[high] = ends[low]
        ends[low] = now
        if done:
            break
    best = ends[low]
    return best.loss, best.gradient, best.t, calls


def _inside(t: Any, left: Any, right: Any, stuck: bool) -> tuple[Any, bool]:
    """Keep a length away from the ends of its interval, from the second time it comes near."""
    margin = 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if stuck or t >= right or t <= left:
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
    return t, True


def _cubic_minimum(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where a cubic through two points, with their slopes, is lowest within bounds."""
    low, high = bounds or (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    left, right = (a, b) if a.t <= b.t else (b, a)
    share = (right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2)
    return min(max(right.t - (right.t - left.t) * share, low), high)
