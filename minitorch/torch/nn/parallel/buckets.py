"""Gradients in buckets, averaged over the ranks while backward still computes others.

Parameters are put into buckets in reverse order, roughly the order in which gradients are computed.
When all gradients of a bucket are ready, and the buckets before it have been sent, its average
is started; the last gradient of all waits for all averages. So each rank starts the same
collectives in the same order, and all are over when `backward` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import distributed as dist
from ...autograd.graph import Node
from ...distributed.flat import sum_of_sparse, used_by_any_rank
from ...interpreters import exchange
from ...tensor import Tensor, edge_of, wrap

FIRST_BUCKET = 1 << 20
Hook = Callable[[Any, "GradBucket"], Any]


class GradBucket:
    """The gradients of some parameters, flattened into one tensor."""

    def __init__(self, number: int, parameters: Sequence[Tensor], last: bool) -> None:
        self._number, self._parameters, self._last = number, list(parameters), last
        first = self._parameters[0]._array
        size = sum(p._array.size for p in self._parameters)
        self._own = self._buffer = wrap(np.zeros_like(first, shape=(size,), order="C"))
        self._views = self.gradients()
        self.work: Any = None

    def index(self) -> int:
        """The index of the bucket."""
        return self._number

    def buffer(self) -> Tensor:
        """All gradients in one tensor."""
        return self._buffer

    def set_buffer(self, tensor: Tensor) -> None:
        """Replace the gradients."""
        self._buffer = tensor

    def parameters(self) -> list[Tensor]:
        """The parameters whose gradients these are."""
        return list(self._parameters)

    def gradients(self) -> list[Tensor]:
        """The gradients, as views of the buffer."""
        sizes = [p.numel() for p in self._parameters]
        pieces = zip(self._buffer.split(sizes), self._parameters, strict=True)
        return [piece.view(p.shape) for piece, p in pieces]

    def is_last(self) -> bool:
        """Whether there is no bucket after it."""
        return self._last

    def fill(self, gradients: Sequence[Tensor | None], factor: float) -> None:
        """Copy gradients, times a number, into the buffer; zeros for missing ones."""
        number = self._own._array.dtype.type(factor)
        for gradient, view in zip(gradients, self._views, strict=True):
            if gradient is None:
                view._array[...] = 0
            elif gradient is not view or factor != 1:
                np.multiply(gradient._array, number, out=view._array)

    def clear(self) -> None:
        """Set the gradients to zero, for a rank that has no more inputs."""
        self._own._array[...] = 0

    def wait(self) -> list[Tensor]:
        """The gradients after the exchange, as views of the bucket's own memory."""
        result = self.work.wait()
        self.work = None
        if isinstance(result, (list, tuple)):
            result = result[0]
        if isinstance(result, Tensor):  # a hook has returned another tensor
            self.set_buffer(result)
        if self._buffer is not self._own:
            self._own._array[...] = self._buffer._array.reshape(-1)
            self._buffer = self._own
        return self._views


def make_buckets(parameters: Sequence[Tensor], limit: int) -> list[GradBucket]:
    """Buckets of parameters in reverse order, by dtype, each of at most so many bytes."""
    groups: list[list[Tensor]] = []
    used, room = 0, 0
    for parameter in reversed(parameters):
        if not groups or used >= room or groups[-1][0].dtype is not parameter.dtype:
            groups.append([])
            used, room = 0, min(FIRST_BUCKET, limit) if len(groups) == 1 else limit
        groups[-1].append(parameter)
        used += parameter._array.nbytes
    return [GradBucket(i, group, i == len(groups) - 1) for i, group in enumerate(groups)]


def tensors_in(output: Any) -> Iterator[Tensor]:
    """The tensors in an output, also those in lists, tuples, dictionaries and dataclasses."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, dict):
        for value in output.values():
            yield from tensors_in(value)
    elif isinstance(output, (list, tuple)):
        for value in output:
            yield from tensors_in(value)
    elif hasattr(output, "__dataclass_fields__"):
        yield from tensors_in(vars(output))


def leaves_of(outputs: Iterable[Tensor]) -> set[int]:
    """The ids of all leaves in the graph of some tensors."""
    found: set[int] = set()
    seen: set[Node] = set()
    stack = [edge[0] for edge in map(edge_of, outputs) if edge is not None]
    while stack:
        end = stack.pop()
        if not isinstance(end, Node):
            found.add(id(end))
        elif end not in seen:
            seen.add(end)
            stack.extend(edge[0] for edge in end.edges if edge is not None)
    return found


@exchange(0)
def send(buffer: Tensor, gradients: Sequence[Tensor | None], bucket: GradBucket, factor: float, group: Any) -> None:  # fmt: skip
    """Start the average of a bucket with gradients, times a number."""
    bucket.fill(gradients, factor)
    bucket.work = dist.all_reduce(buffer, group=group, async_op=True)


@exchange(0)
def receive(gradients: Sequence[Tensor], buffer: Tensor, bucket: GradBucket) -> None:
    """Wait for a bucket's averages, and copy them into the gradients."""
    for gradient, average in zip(gradients, bucket.wait(), strict=True):
        gradient._array[...] = average._array


@exchange()
def say_all_used(count: int, group: Any) -> None:
    """Tell the other ranks that this one has used all parameters."""
    used_by_any_rank([True] * count, group)


class Round:
    """One backward pass: which gradients are ready, and which buckets have been sent.

    Attributes:
        ready: the ids of parameters whose gradients are computed, or not needed
        waiting: how many gradients each bucket waits for
        next_bucket: the first one that has not been sent
        used: whether each parameter was used; None: not tracked
    """

    def __init__(self, buckets: Sequence[GradBucket], used: list[bool] | None) -> None:
        self.ready: set[int] = set()
        self.waiting = [len(bucket._parameters) for bucket in buckets]
        self.next_bucket = 0
        self.used = used


class Reducer:
    """Averages the gradients of a module's parameters over a group, bucket by bucket.

    Args:
        parameters: those that are trained
        names: of the parameters
        group: the ranks that take part
        limit: maximal size of a bucket in bytes
        find_unused: whether some parameters may not be used
        views: whether `grad` is a view of the bucket's memory
        sparse: those whose gradients are sparse tensors, which go one by one after the buckets
    """

    def __init__(
        self, parameters: Sequence[Tensor], names: Sequence[str], group: Any, limit: int, find_unused: bool, views: bool,
        sparse: Sequence[Tensor] = (),
    ) -> None:  # fmt: skip
        self.parameters, self.names = list(parameters), list(names)
        self.group, self.find_unused, self.views = group, find_unused, views
        self.size = self.divisor = dist.get_world_size(group)
        self.sparse = list(sparse)
        apart = set(map(id, sparse))
        self.buckets = make_buckets([p for p in parameters if id(p) not in apart], limit)
        self.bucket_of = {id(p): b for b in self.buckets for p in b._parameters}
        self.round: Round | None = None  # between a forward and the end of its backward
        self.hook: tuple[Any, Hook] | None = None
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self._arrived)

    def prepare(self, output: Any) -> None:
        """Prepare for a backward of all parameters, or of those that an output depends on."""
        if self.alone:
            return
        used = None
        if self.find_unused:
            reached = leaves_of(tensors_in(output))
            used = [id(p) in reached for p in self.parameters]
        self.round = Round(self.buckets, used)
        for parameter, is_used in zip(self.parameters, used or (), strict=False):
            if not is_used:
                self._mark(parameter, self.round)

    @property
    def alone(self) -> bool:
        """Whether there is a single rank, so that gradients need no averaging."""
        return self.size == 1 and self.hook is None and not self.views

    def check_finished(self) -> None:
        """RuntimeError if a backward has not reached all parameters."""
        ready = () if self.round is None else self.round.ready
        if ready and len(ready) < len(self.parameters):
            missing = [n for n, p in zip(self.names, self.parameters, strict=True) if id(p) not in ready]  # fmt: skip
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one. "
                "This error indicates that your module has parameters that were not used in producing "
                "loss. You can enable unused parameter detection by passing the keyword argument "
                "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`. "
                f"Parameters which did not receive grad for rank {dist.get_rank()}: {', '.join(missing)}"
            )

    def take_part(self) -> None:
        """Take part in the other ranks' averages with gradients of zero, and discard the results."""
        for bucket in self.buckets:
            bucket.clear()
            self._start(bucket, [None] * len(bucket._parameters))
        if self.find_unused:
            used_by_any_rank([False] * len(self.parameters), self.group)
        for bucket in self.buckets:
            bucket.wait()
        for parameter in self.sparse:
            sum_of_sparse(None, parameter, self.group)

    def _arrived(self, parameter: Tensor) -> None:
        """The hook after a gradient was accumulated."""
        if self.round is not None:
            if id(parameter) in self.round.ready:
                raise RuntimeError(
                    "Expected to mark a variable ready only once. This error is caused by one of the "
                    "following reasons: 1) Use of a module parameter outside the `forward` function. "
                    "2) Reused parameters in multiple reentrant backward passes."
                )
            self._mark(parameter, self.round)

    def _mark(self, parameter: Tensor, current: Round) -> None:
        current.ready.add(id(parameter))
        own = self.bucket_of.get(id(parameter))
        if own is not None:
            current.waiting[own._number] -= 1
        while current.next_bucket < len(self.buckets) and not current.waiting[current.next_bucket]:
            bucket = self.buckets[current.next_bucket]
            current.next_bucket += 1
            self._start(bucket, [p._grad for p in bucket._parameters])
        if len(current.ready) == len(self.parameters):
            self._finish(current)

    def _start(self, bucket: GradBucket, gradients: Sequence[Tensor | None]) -> None:
        """Start the average of a bucket."""
        if self.hook is None:
            send(bucket._own, gradients, bucket, 1 / self.divisor, self.group)
            return
        state, hook = self.hook
        bucket.fill(gradients, 1.0)
        bucket.work = hook(state, bucket)

    def _finish(self, current: Round) -> None:
        """Wait for all averages and set the gradients, except of parameters that no rank has used."""
        anyone = [True] * len(self.parameters)
        if current.used is not None and all(current.used):
            say_all_used(len(self.parameters), self.group)
        elif current.used is not None:
            anyone = used_by_any_rank(current.used, self.group)
        kept = {id(p) for p, used in zip(self.parameters, anyone, strict=True) if not used}
        for bucket in self.buckets:
            self._give(bucket, kept)
        for parameter in self.sparse:
            total = sum_of_sparse(parameter._grad, parameter, self.group)
            if id(parameter) not in kept:
                parameter._grad = total / self.divisor
        self.round = None

    def _give(self, bucket: GradBucket, kept: set[int]) -> None:
        """Set the gradients of a bucket's parameters to their averages."""
        parameters = bucket._parameters
        gradients = [p._grad for p in parameters if p._grad is not None]
        if len(gradients) == len(parameters) and not (kept or self.views or self.hook):
            receive(gradients, bucket._own, bucket)
            return
        for parameter, average in zip(parameters, bucket.wait(), strict=True):
            if id(parameter) in kept:
                continue
            if self.views:
                parameter._grad = average
            elif parameter._grad is None:
                parameter._grad = average.detach().clone()
            else:
                parameter._grad._array[...] = average._array
