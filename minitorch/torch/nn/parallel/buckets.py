"""Gradients in buckets: averaged over the ranks while the walk back still computes others.

Parameters are put into buckets in reverse order, roughly the order in which their gradients come.
When all gradients of a bucket are there, and the buckets before it are on their way, its average
is started; the last gradient of all waits for all averages. So each rank starts the same
collectives in the same order, and all are over when `backward` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import distributed as dist
from ...autograd.graph import Node
from ...tensor import Tensor, edge_of, wrap

FIRST_BUCKET = 1 << 20
Hook = Callable[[Any, "GradBucket"], Any]


class GradBucket:
    """Gradients of some parameters, one after the other in one tensor."""

    def __init__(self, number: int, parameters: Sequence[Tensor], last: bool) -> None:
        self._number, self._parameters, self._last = number, list(parameters), last
        first = self._parameters[0]._array
        size = sum(p._array.size for p in self._parameters)
        self._own = self._buffer = wrap(np.zeros_like(first, shape=(size,), order="C"))
        self._views = self.gradients()
        self.work: Any = None
        self.waiting = 0

    def index(self) -> int:
        """Which bucket it is."""
        return self._number

    def buffer(self) -> Tensor:
        """All gradients in one tensor."""
        return self._buffer

    def set_buffer(self, tensor: Tensor) -> None:
        """Put other gradients in their place."""
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

    def fill(self, factor: float) -> None:
        """Put the parameters' gradients, times a number, into the buffer; zeros where there are none."""
        number = self._own._array.dtype.type(factor)
        for parameter, view in zip(self._parameters, self._views, strict=True):
            if parameter._grad is None:
                view._array[...] = 0
            elif parameter._grad is not view or factor != 1:
                np.multiply(parameter._grad._array, number, out=view._array)

    def clear(self) -> None:
        """Have gradients of zero: those of a rank that has no more inputs."""
        self._own._array[...] = 0

    def averages(self) -> list[Tensor]:
        """The gradients after the exchange, as views of the bucket's own memory."""
        if self._buffer is not self._own:  # a hook has made another tensor
            self._own._array[...] = self._buffer._array.reshape(-1)
            self._buffer = self._own
        return self._views


def make_buckets(parameters: Sequence[Tensor], limit: int) -> list[GradBucket]:
    """Parameters in reverse order, each in a bucket of its type, until that has so many bytes."""
    groups: list[list[Tensor]] = []
    used, room = 0, 0
    for parameter in reversed(parameters):
        if not groups or used >= room or groups[-1][0].dtype is not parameter.dtype:
            groups.append([])
            used, room = 0, min(FIRST_BUCKET, limit) if len(groups) == 1 else limit
        groups[-1].append(parameter)
        used += parameter._array.nbytes
    return [GradBucket(i, group, i == len(groups) - 1) for i, group in enumerate(groups)]


def leaves_of(outputs: Sequence[Tensor]) -> set[int]:
    """The identities of all leaves that some tensors were made of."""
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


class Reducer:
    """Averages the gradients of a module's parameters over a group, bucket by bucket.

    Args:
        parameters: those that are trained
        names: of the parameters
        group: the ranks that take part
        limit: how many bytes a bucket has at most
        find_unused: whether some parameters may not be used
        views: whether `grad` is a view of the bucket's memory
    """

    def __init__(
        self, parameters: Sequence[Tensor], names: Sequence[str], group: Any, limit: int, find_unused: bool, views: bool
    ) -> None:  # fmt: skip
        self.parameters, self.names = list(parameters), list(names)
        self.group, self.find_unused, self.views = group, find_unused, views
        self.size = self.divisor = dist.get_world_size(group)
        self.buckets = make_buckets(parameters, limit)
        self.bucket_of = {id(p): b for b in self.buckets for p in b._parameters}
        self.active = False  # between a forward and the end of its backward
        self.hook: tuple[Any, Hook] | None = None
        self.ready: set[int] = set()
        self.used: Any = None
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self._arrived)

    def prepare(self, outputs: Sequence[Tensor]) -> None:
        """Expect a backward: of all parameters, or of those that the outputs were made of."""
        self.active, self.ready = True, set()
        self.next_bucket = 0
        for bucket in self.buckets:
            bucket.waiting, bucket.work = len(bucket._parameters), None
        self.used = None
        if self.find_unused and not self.alone:
            reached = leaves_of(outputs)
            unused = [p for p in self.parameters if id(p) not in reached]
            numbers = np.array([id(p) in reached for p in self.parameters], np.int32)
            self.used = wrap(numbers)
            for parameter in unused:
                self._mark(parameter)

    @property
    def alone(self) -> bool:
        """Whether gradients are averages as they are."""
        return self.size == 1 and self.hook is None and not self.views

    def check_finished(self) -> None:
        """RuntimeError if a backward has not reached all parameters."""
        if self.active and self.ready and len(self.ready) < len(self.parameters):
            missing = [n for n, p in zip(self.names, self.parameters, strict=True) if id(p) not in self.ready]  # fmt: skip
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one. "
                "This error indicates that your module has parameters that were not used in producing "
                "loss. You can enable unused parameter detection by passing the keyword argument "
                "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`. "
                f"Parameters which did not receive grad for rank {dist.get_rank()}: {', '.join(missing)}"
            )

    def take_part(self) -> None:
        """Take part in the other ranks' averages, with gradients of zero, and keep none of them."""
        for bucket in self.buckets:
            bucket.clear()
            self._start(bucket)
        if self.find_unused:
            dist.all_reduce(wrap(np.zeros(len(self.parameters), np.int32)), group=self.group)
        for bucket in self.buckets:
            self._wait(bucket)

    def _arrived(self, parameter: Tensor) -> None:
        """A gradient was accumulated."""
        if self.active and not self.alone:
            if id(parameter) in self.ready:
                raise RuntimeError(
                    "Expected to mark a variable ready only once. This error is caused by one of the "
                    "following reasons: 1) Use of a module parameter outside the `forward` function. "
                    "2) Reused parameters in multiple reentrant backward passes."
                )
            self._mark(parameter)

    def _mark(self, parameter: Tensor) -> None:
        self.ready.add(id(parameter))
        self.bucket_of[id(parameter)].waiting -= 1
        while self.next_bucket < len(self.buckets):
            bucket = self.buckets[self.next_bucket]
            if bucket.waiting:
                return
            self.next_bucket += 1
            bucket.fill(1.0 if self.hook is not None else 1 / self.divisor)
            self._start(bucket)
        self._finish()

    def _start(self, bucket: GradBucket) -> None:
        """Send a bucket on its way."""
        if self.hook is not None:
            state, hook = self.hook
            bucket.work = hook(state, bucket)
            return
        bucket.work = dist.all_reduce(bucket._buffer, group=self.group, async_op=True)

    def _wait(self, bucket: GradBucket) -> list[Tensor]:
        """The averages of a bucket."""
        result = bucket.work.wait()
        bucket.work = None
        if self.hook is not None:
            bucket.set_buffer(result[0] if isinstance(result, (list, tuple)) else result)
        return bucket.averages()

    def _finish(self) -> None:
        """Wait for all averages, and give each parameter its own."""
        kept: set[int] = set()  # no rank has used these: what was there before stays
        if self.used is not None:
            dist.all_reduce(self.used, group=self.group)
            pairs = zip(self.parameters, self.used._array, strict=True)
            kept = {id(p) for p, count in pairs if not count}
        for bucket in self.buckets:
            for parameter, average in zip(bucket._parameters, self._wait(bucket), strict=True):
                if id(parameter) not in kept:
                    self._give(parameter, average)
        self.active = False

    def _give(self, parameter: Tensor, average: Tensor) -> None:
        if self.views:
            parameter._grad = average
        elif parameter._grad is None:
            parameter._grad = average.detach().clone()
        else:
            parameter._grad._array[...] = average._array
