"""Optimizers whose step is elementwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from ..backends.interface import as_numpy, backend_of
from ..interpreters import Update, installed, interpret
from ..ops.comparison import where
from ..ops.creation import zeros_like
from ..tensor import Tensor, bump_versions
from .optimizer import Closure, Group, Optimizer, Options, State, evaluated, number
from .options import check_dense, check_options

Jobs = list[tuple[Tensor, Tensor, State]]
Numbers = tuple[tuple[float, ...], tuple[float, ...]]
"""The scalar arguments of a formula, and the new counts."""


_methods: Any = Tensor
_TENSORS = SimpleNamespace(
    sqrt=_methods.sqrt, abs=_methods.abs, maximum=_methods.maximum, where=where
)
"""The functions of formulas, for tensors."""


class Step(Update):
    """An optimizer's step for some parameters, as an operation.

    Its inputs are lists: the parameters, their gradients, and for each name in `state` and `counts` that
    entry of the parameters' states. Its parameter `options` is the group that they belong to, so
    that the learning rate is read at each call.

    Attributes:
        formula: the update of one element
        numbers: from the options and the counts, as NumPy numbers, to the formula's scalar
            arguments and the new counts
        state: names of the state tensors that the formula takes
        counts: names of the state's numbers, zero-dimensional tensors
    """

    def __init__(
        self,
        name: str,
        formula: Callable[..., tuple[Any, ...]],
        numbers: Callable[..., Numbers],
        state: tuple[str, ...] = (),
        counts: tuple[str, ...] = ("step",),
    ) -> None:
        writes = (0, *range(2, 2 + len(state) + len(counts)))
        super().__init__(name, self._update, writes)
        self.formula, self.numbers, self.state, self.counts = formula, numbers, state, counts
        self.names = state + counts

    def __call__(self, jobs: Jobs, options: Group) -> None:
        """Take the step for parameters, given with their gradients and states."""
        params, gradients, states = zip(*jobs, strict=True)
        inputs = params, gradients, *[[state[name] for state in states] for name in self.names]
        if installed:
            interpret(self, inputs, {"options": options})
        else:
            self._update(*inputs, options=options)

    def _update(self, *inputs: Sequence[Tensor], options: Group) -> None:
        places = 2 + len(self.state)
        counts = inputs[places:]
        numbers, after = self._count(options, len(inputs[0]), counts)
        columns = [[tensor._array for tensor in tensors] for tensors in inputs[:places]]
        if columns[0]:
            backend_of(columns[0][0]).update(self.formula, columns, numbers)
        for tensors, values in zip(counts, after, strict=True):
            for tensor, value in zip(tensors, values, strict=True):
                tensor._array[...] = value
        for i in self.writes:
            bump_versions(inputs[i])

    def _count(self, options: Group, params: int, counts: Any) -> tuple[Sequence[Any], Any]:
        """The scalar arguments for each parameter, and lists of the new counts."""
        if not counts:
            return [self.numbers(options)[0]] * params, ()
        values = [[tensor._array.item() for tensor in tensors] for tensors in counts]
        if all(column.count(column[0]) == params for column in values):
            shared = [as_numpy(tensors[0]._array)[()] for tensors in counts]
            numbers, after = self.numbers(options, *shared)
            return [numbers] * params, [[value] * params for value in after]
        now = zip(*[[as_numpy(t._array)[()] for t in tensors] for tensors in counts], strict=True)
        numbers, after = zip(*[self.numbers(options, *each) for each in now], strict=True)
        return numbers, zip(*after, strict=True)

    def record(self, p: Tensor, gradient: Tensor, state: State, options: Group) -> None:
        """Take the step with recorded operations, so that it can be differentiated."""
        numbers, counts = self.numbers(
            options, *[as_numpy(state[name]._array)[()] for name in self.counts]
        )
        kept = [state[name] for name in self.state]
        new = self.formula(_TENSORS, p, gradient, *kept, *numbers)
        p.copy_(new[0])
        state.update(zip(self.state, new[1:], strict=True))
        for name, value in zip(self.counts, counts, strict=True):
            state[name].fill_(value)


class ElementwiseOptimizer(Optimizer):
    """An optimizer whose update is an elementwise formula of `formulas.py`.

    All parameters of a group are updated in one operation.
    """

    _operation: Step

    def _check(self, options: Options) -> None:
        """Raise errors for invalid options."""
        check_options(options)

    def _step(self, group: Group, first: bool) -> Step:
        """The operation for a group, which may be another one at the first step."""
        return self._operation

    def _start(self, group: Group, p: Tensor) -> State:
        """The state of a parameter before its first step."""
        step = self._step(group, True)
        counts = {name: number(0.0) for name in step.counts}
        return {**counts, **{name: zeros_like(p) for name in step.state}}

    def step(self, closure: Closure = None) -> Any:
        loss = evaluated(closure)
        states = self.state
        for group in self.param_groups:
            step = self._step(group, False)
            stateless = not step.names
            known, new = [], []
            for p in group["params"]:
                gradient = p._grad
                if gradient is not None and gradient.is_sparse:
                    self._sparse_step(group, p, gradient)
                elif gradient is not None:
                    state = {} if stateless else states.get(p)
                    if state or stateless:
                        known.append((p, gradient, state))
                    else:
                        new.append((p, gradient, self._start(group, p)))
            if known:
                self._perform(step, known, group)
            if new:
                self._perform(self._step(group, True), new, group)
                states.update((p, state) for p, _, state in new)
        return loss

    def _sparse_step(self, group: Group, p: Any, gradient: Any) -> None:
        """Update the elements of a parameter at the indices of a sparse gradient."""
        check_dense(self, gradient)

    def _perform(self, step: Step, jobs: Jobs, group: Group) -> None:
        if group.get("differentiable"):
            for job in jobs:
                step.record(*job, group)
        else:
            step(jobs, group)
