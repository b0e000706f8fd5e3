"""The parameters of one module that is sharded: gathered when it computes, given back when it has.

Between its computations each rank has some rows of each parameter. `gather` brings all rows together in one message; the
tensors that the module then sees stay the same objects, only their memory comes and goes. When all gradients are
there, `reduce` leaves each rank the average of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...autograd.graph import at_end_of_backward, modes
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...tensor import Array, Tensor, counter_of, wrap
from .. import collectives
from ..memory import new_memory
from ..reductions import ReduceOp
from ..tensor.dtensor import DParameter, as_rows, shard_rows
from ..world import get_world_size

Places = list[tuple[Module, str]]


class ShardedParameter:
    """One parameter: this rank's rows of it, and the whole while its module computes."""

    def __init__(self, name: str, whole: Parameter, places: Places, mesh: Any) -> None:
        self.name, self.places = name, places
        self.shape = tuple(whole.shape)
        self.ranks, self.mesh = mesh.size(), mesh
        self.rows: Any = shard_rows(whole, mesh, DParameter)
        self.rows._requires_grad = whole.requires_grad
        self.whole = Parameter(wrap(whole._array), whole.requires_grad)
        row = int(np.prod(self.shape[1:], dtype=np.int64))
        self.each = (
            -(-self.shape[0] // self.ranks) * row
        )  # elements of a rank, the last one filled up

    def show(self, whole: bool) -> None:
        """Let modules have the whole parameter, or this rank's rows."""
        for module, name in self.places:
            module._parameters[name] = self.whole if whole else self.rows

    def renew(self) -> None:
        """Use the rows that the program has put into the module meanwhile, as `load_state_dict(assign=True)` does."""
        module, name = self.places[0]
        if module._parameters[name] is not self.whole:
            self.rows = module._parameters[name]

    def take(self, array: Array) -> None:
        """Be whole again."""
        self.whole._array = array
        counter_of(self.whole)[0] -= 1

    def forget(self) -> None:
        """Give the memory of the whole back; its shape stays.

        Until it is taken again, its version is another one: a backward that comes before is an error.
        """
        array = self.whole._array
        counter_of(self.whole)[0] += 1
        if self.whole.is_meta:
            return
        nothing = np.zeros_like(array, shape=(1,) * array.ndim)
        self.whole._array = np.broadcast_to(nothing, array.shape)

    def padded(self, rows: Array) -> Array:
        """Rows as a vector as long as that of the other ranks."""
        flat = rows.reshape(-1)
        missing = self.each - flat.size
        if not missing:
            return flat
        return np.concatenate([flat, np.zeros_like(flat, shape=(missing,))])

    def by_rank(self, whole: Array) -> Array:
        """A whole tensor, a row for each rank."""
        flat = whole.reshape(-1)
        missing = self.ranks * self.each - flat.size
        if missing:
            flat = np.concatenate([flat, np.zeros_like(flat, shape=(missing,))])
        return flat.reshape(self.ranks, self.each)

    def accumulate(self, average: Array) -> None:
        """Add to the gradient of this rank's rows."""
        own = self.rows._array
        gradient = average[: own.size].reshape(own.shape).astype(own.dtype, copy=True)
        if self.rows._grad is None:
            self.rows._grad = as_rows(gradient, self.shape, self.mesh)
        else:
            self.rows._grad._array[...] += gradient


class ParameterGroup:
    """The parameters that are gathered, and whose gradients are averaged, together."""

    def __init__(self, parameters: Sequence[ShardedParameter], group: Any, policy: Any) -> None:
        self.parameters, self.group, self.policy = list(parameters), group, policy
        self.gathered = True
        self.waiting: set[int] = set()  # parameters whose gradients have not come
        self.backward: Any = None  # the pass that has begun
        self.syncs = True
        self.divisor: float | None = None  # of gradients; None: how many ranks there are
        for parameter in self.parameters:
            if parameter.whole.requires_grad:
                parameter.whole.register_post_accumulate_grad_hook(self._arrived)
        self.release()

    def gather(self) -> None:
        """Bring the whole parameters together, where they are not."""
        if not self.gathered and self.parameters:
            for p in self.parameters:
                p.renew()
            first = self.parameters[0].rows._array
            mine = np.concatenate([p.padded(p.rows._array) for p in self.parameters])
            kind = self.policy.param_dtype
            mine = mine if kind is None else mine.astype(kind.numpy)
            ranks = get_world_size(self.group)
            every = wrap(new_memory(ranks * mine.size, mine.dtype, first))
            collectives.all_gather_into_tensor(every, wrap(mine), self.group)
            table, start = every._array.reshape(ranks, mine.size), 0
            for p in self.parameters:
                count = int(np.prod(p.shape, dtype=np.int64))
                whole = table[:, start : start + p.each].reshape(-1)[:count]
                p.take(whole.reshape(p.shape))
                start += p.each
        for p in self.parameters:
            p.show(whole=True)
        self.gathered = True

    def write_back(self) -> None:
        """Let this rank's rows have what was written into the whole parameters."""
        for p in self.parameters:
            p.rows._array[...] = shard_rows(p.whole, p.mesh)._array

    def release(self) -> None:
        """Give the whole parameters' memory back."""
        for p in self.parameters:
            if self.gathered:
                p.forget()
            p.show(whole=False)
        self.gathered = False

    def hide(self) -> None:
        """Let the modules have this rank's rows, and keep the whole for backward."""
        for p in self.parameters:
            p.show(whole=False)

    def begin_backward(self, *_: Any) -> None:
        """Be whole, and wait for gradients: those that have not come at the end of the backward pass never will."""
        if self.backward is not modes.at_end:
            self.backward = modes.at_end
            self.waiting = {id(p.whole) for p in self.parameters if p.whole.requires_grad}
            at_end_of_backward(self._end_backward)
        self.gather()

    def _end_backward(self) -> None:
        if self.waiting:
            self._complete()

    def _arrived(self, parameter: Tensor) -> None:
        """A gradient is there; with the last one, all are averaged."""
        self.waiting.discard(id(parameter))
        if not self.waiting:
            self._complete()

    def _complete(self) -> None:
        self.waiting = set()
        if self.syncs:
            self._reduce()
        self.release()

    def _reduce(self) -> None:
        trained = [p for p in self.parameters if p.whole._grad is not None]
        if not trained:
            return
        tables = [p.by_rank(p.whole._grad._array) for p in trained if p.whole._grad is not None]
        given = np.concatenate(tables, axis=1)
        kind = self.policy.reduce_dtype
        given = given if kind is None else given.astype(kind.numpy)
        mine = wrap(new_memory(given.shape[1], given.dtype, given))
        how = ReduceOp.AVG if self.divisor is None else ReduceOp.SUM
        collectives.reduce_scatter_tensor(mine, wrap(given), how, self.group)
        if self.divisor is not None:
            mine.div_(self.divisor)
        start = 0
        for p in trained:
            p.accumulate(mine._array[start : start + p.each])
            p.whole._grad = None
            start += p.each
