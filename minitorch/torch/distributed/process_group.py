"""A group of ranks, and its collectives on tensors: MPI's non-blocking operations, each a `Work`.

A contiguous tensor's own memory is what MPI reads and writes. Another one goes through a copy,
and back when the collective is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np

from ..tensor import Array, Tensor
from . import mpi, reductions
from .errors import DistBackendError, DistError, DistStoreError
from .fingerprint import Fingerprint
from .memory import (
    about_tensor,
    as_mpi_bytes,
    collecting,
    deliver,
    joined,
    nbytes,
    readable,
    writable,
)
from .reductions import ReduceOp
from .store import Store
from .tcp_store import Presence
from .work import GRACE, Watch, Work, progress

_LOOK_EVERY = timedelta(seconds=0.1)


class ProcessGroup:
    """Some of the ranks, which take part in collectives together.

    Attributes:
        ranks: the ranks of the members, in the order of their ranks in the group
        group_name: a name that all members know it by
        backend: "gloo", "mpi" or "nccl"
    """

    backend = "undefined"

    def __init__(
        self,
        ranks: Sequence[int],
        rank: int,
        group_name: str,
        store: Store,
        timeout: timedelta,
        presence: Presence | None,
        generation: int,
    ) -> None:
        """Args are its members, this rank, a name, what they share, and how often this process has begun anew."""
        self.ranks = list(ranks)
        self.group_name = group_name
        self.store, self.timeout, self.presence = store, timeout, presence
        self._rank = self.ranks.index(rank)
        self.group_desc = "default_pg" if self.group_name == "0" else "undefined"
        self.unique_name = f"{generation}/{group_name}"
        self.started = 0  # collectives
        self._arrived: set[str] = set()  # slow ones that the others were told of
        self._first_loss: float | None = None  # when a member was found to be gone
        # why a collective did not complete: the next would meet its late messages
        self._broken = ""

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """How many ranks there are."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend's name."""
        return self.backend

    def close(self) -> None:
        """Give back what only this group has."""

    def batched(self) -> AbstractContextManager[None]:
        """While it is open, sends and receives may be collected, to be started at once."""
        return nullcontext()

    # --- Looking after the others ---------------------------------------------------------

    def watch(
        self, name: str, waited: float, limit: timedelta, number: int = 0, peer: int | None = None
    ) -> None:
        """An error if a rank is gone, or what is waited for takes longer than its limit.

        So is a rank that has ended as it should, but before the collective of a number, or one that this waits for alone.
        """
        try:
            self._watch(name, waited, limit, number, peer)
        except DistError as error:
            self._broken = self._broken or str(error)
            raise

    def wait_for(self, keys: Sequence[str], name: str, limit: timedelta) -> None:
        """Wait for keys of the store, with an eye on the other ranks."""
        start = time.monotonic()
        while True:
            with suppress(DistStoreError):
                return self.store.wait(keys, _LOOK_EVERY)
            self.watch(name, time.monotonic() - start, limit)

    def _watch(self, name: str, waited: float, limit: timedelta, number: int, peer: int | None) -> None:  # fmt: skip
        if self.presence is not None:
            self._check_presence(name, self.presence)
            if waited > GRACE:  # what a rank has sent before it ended is there by now
                self._check_left(name, self.presence, number, peer)
        if waited > min(GRACE, limit.total_seconds()) / 2 and name not in self._arrived:
            self._arrived.add(name)
            self._tell(name)
        if waited > limit.total_seconds():
            raise DistBackendError(self._overdue(name, limit))

    def _check_presence(self, name: str, presence: Presence) -> None:
        lost = {r: why for r, why in dict(presence.lost).items() if r in self.ranks}
        if not lost and not presence.store_is_gone:
            return
        if self._first_loss is None:
            self._first_loss = time.monotonic()
        if time.monotonic() - self._first_loss < GRACE:
            return
        if not lost:
            lost = {0: "the process that keeps the store has ended"}
        (rank, why), *after = lost.items()
        then = f" Then: {', '.join(str(r) for r, _ in after)}." if after else ""
        here = self.ranks[self._rank]
        raise DistBackendError(f"{name} on rank {here} cannot complete. rank {rank} is gone: {why}{then}")  # fmt: skip

    def _check_left(self, name: str, presence: Presence, number: int, peer: int | None) -> None:
        for rank, counts in dict(presence.left).items():
            count = counts.get(self.unique_name) if rank in self.ranks else None
            if count is not None and (number > count or rank == peer):
                raise DistBackendError(
                    f"{name} on rank {self.ranks[self._rank]} cannot complete. rank {rank} has left the group "
                    f"after {count} collectives"
                )

    def _tell(self, name: str) -> None:
        with suppress(DistError):  # the store is gone, which is noticed elsewhere
            self.store.set(f"waiting/{self.group_name}/{name}/{self._rank}", "")

    def _overdue(self, name: str, limit: timedelta) -> str:
        """Which ranks did not come, as far as the store knows."""
        seconds = limit.total_seconds()
        text = f"{name} on rank {self.ranks[self._rank]} timed out after {seconds:g} s."
        try:
            missing = [
                str(rank)
                for i, rank in enumerate(self.ranks)
                if not self.store.check([f"waiting/{self.group_name}/{name}/{i}"])
            ]
        except DistError:
            return text + " The process that keeps the store is gone."
        if not missing:
            return text + " All ranks have joined it."
        several = "ranks" if len(missing) > 1 else "rank"
        return f"{text} Not joined by {several} {', '.join(missing)}."


class ProcessGroupMPI(ProcessGroup):
    """A group of ranks whose tensors are in main memory."""

    def __init__(self, comm: Any, backend: str, detail: bool, *args: Any) -> None:
        super().__init__(*args)
        self.comm = comm
        self.backend = backend
        self._fingerprints = Fingerprint(comm.Dup(), self) if detail else None

    def _start(
        self,
        name: str,
        about: str,
        start: Callable[[], Any],
        finish: Callable[[], Any] | None = None,
        result: Sequence[Tensor] = (),
        asynchronous: bool = False,
    ) -> Work:
        """Start a collective; with DETAIL, after all ranks have said that they start the same."""
        named, watch = self._next(name)
        if self._broken:
            raise DistBackendError(f"{named} cannot start: {self._broken}")
        if self._fingerprints is not None:
            self._fingerprints.compare(f"{name}{about}", named, watch)
        work = Work(named, [], watch, self.timeout, finish, result)
        return self._begin(work, start, asynchronous)

    def _next(self, name: str) -> tuple[str, Watch]:
        """What the collective that is started now is called in errors, and who looks after the others meanwhile."""
        self.started += 1
        return f"{name} (collective {self.started})", partial(self.watch, number=self.started)

    def _begin(self, work: Work, start: Callable[[], Any], asynchronous: bool) -> Work:
        try:
            work._requests.append(start())
        except mpi.load().Exception as error:
            text = str(error).splitlines()[0]
            raise DistBackendError(f"{work.name} cannot start: {text}") from None
        if asynchronous:
            progress.add(work)
        return work

    # --- Collectives ----------------------------------------------------------------------

    def allreduce(self, tensor: Tensor, op: ReduceOp, asynchronous: bool = False) -> Work:
        """Every rank gets the reduction of all ranks' tensors."""
        memory, copy_back = writable(tensor)
        kind, datatype, operation = reductions.for_mpi(op, tensor.dtype)
        module = mpi.load()
        numbers = memory.view(kind)

        def finish() -> None:
            self._average(op, numbers)
            copy_back()

        return self._start(
            "all_reduce", about_tensor(tensor, op),
            lambda: self.comm.Iallreduce(module.IN_PLACE, [numbers, datatype], operation),
            finish, [tensor], asynchronous,
        )  # fmt: skip

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp, asynchronous: bool = False) -> Work:
        """One rank gets the reduction of all ranks' tensors."""
        kind, datatype, operation = reductions.for_mpi(op, tensor.dtype)
        name, about = "reduce", f"{about_tensor(tensor, op)} to {root}"
        if self._rank != root:
            given = readable(tensor).view(kind)
            return self._start(
                name, about,
                lambda: self.comm.Ireduce([given, datatype], None, operation, root),
                None, [tensor], asynchronous,
            )  # fmt: skip
        memory, copy_back = writable(tensor)
        numbers = memory.view(kind)

        def finish() -> None:
            self._average(op, numbers)
            copy_back()

        into = [numbers, datatype]
        module = mpi.load()
        return self._start(
            name, about, lambda: self.comm.Ireduce(module.IN_PLACE, into, operation, root),
            finish, [tensor], asynchronous,
        )  # fmt: skip

    def broadcast(self, tensor: Tensor, root: int, asynchronous: bool = False) -> Work:
        """Every rank gets one rank's tensor."""
        if self._rank == root:
            memory, copy_back = readable(tensor), None
        else:
            memory, copy_back = writable(tensor)
        return self._start(
            "broadcast", f"{about_tensor(tensor)} from {root}",
            lambda: self.comm.Ibcast(as_mpi_bytes(memory), root), copy_back, [tensor], asynchronous,
        )  # fmt: skip

    def allgather(self, outputs: Sequence[Tensor], tensor: Tensor, asynchronous: bool = False, name: str = "all_gather") -> Work:  # fmt: skip
        """Every rank gets all ranks' tensors: a list of them, or one with all of their elements."""
        given = readable(tensor)
        gathered, deliver = collecting(outputs, given)
        return self._start(
            name, about_tensor(tensor),
            lambda: self.comm.Iallgather(as_mpi_bytes(given), as_mpi_bytes(gathered)), deliver, outputs, asynchronous,
        )  # fmt: skip

    def gather(self, outputs: Sequence[Tensor] | None, tensor: Tensor, root: int, asynchronous: bool = False) -> Work:  # fmt: skip
        """One rank gets all ranks' tensors."""
        given = readable(tensor)
        name, about = "gather", f"{about_tensor(tensor)} to {root}"
        if self._rank != root or outputs is None:
            return self._start(
                name, about, lambda: self.comm.Igather(as_mpi_bytes(given), None, root), None, [], asynchronous
            )  # fmt: skip
        gathered, deliver = collecting(outputs, given)
        return self._start(
            name, about, lambda: self.comm.Igather(as_mpi_bytes(given), as_mpi_bytes(gathered), root),
            deliver, outputs, asynchronous,
        )  # fmt: skip

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor] | None, root: int, asynchronous: bool = False) -> Work:  # fmt: skip
        """Every rank gets its one of one rank's tensors."""
        memory, copy_back = writable(tensor)
        given = joined(inputs) if self._rank == root and inputs is not None else None
        return self._start(
            "scatter", f"{about_tensor(tensor)} from {root}",
            lambda: self.comm.Iscatter(None if given is None else as_mpi_bytes(given), as_mpi_bytes(memory), root),
            copy_back, [tensor], asynchronous,
        )  # fmt: skip

    def reduce_scatter(self, tensor: Tensor, inputs: Sequence[Tensor], op: ReduceOp, asynchronous: bool = False, name: str = "reduce_scatter") -> Work:  # fmt: skip
        """Every rank gets its part of the reduction of all ranks' tensors."""
        memory, copy_back = writable(tensor)
        kind, datatype, operation = reductions.for_mpi(op, tensor.dtype)
        numbers, given = memory.view(kind), joined(inputs).view(kind)

        def finish() -> None:
            self._average(op, numbers)
            copy_back()

        return self._start(
            name, about_tensor(tensor, op),
            lambda: self.comm.Ireduce_scatter_block(
                [given, datatype], [numbers, datatype], operation
            ),
            finish, [tensor], asynchronous,
        )  # fmt: skip

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], asynchronous: bool = False, name: str = "all_to_all") -> Work:  # fmt: skip
        """Every rank gets one tensor of each rank's list."""
        given, into = joined(inputs), np.empty(sum(nbytes(o) for o in outputs), np.uint8)
        sent, received = [nbytes(i) for i in inputs], [nbytes(o) for o in outputs]
        byte = mpi.load().BYTE
        return self._start(
            name, f"(dtype {inputs[0].dtype})",
            lambda: self.comm.Ialltoallv([given.view(np.uint8), sent, byte], [into, received, byte]),
            lambda: deliver(into, outputs), outputs, asynchronous,
        )  # fmt: skip

    def barrier(self, asynchronous: bool = False) -> Work:
        """Every rank waits for all."""
        return self._start("barrier", "", self.comm.Ibarrier, None, [], asynchronous)

    def _average(self, op: ReduceOp, numbers: Array) -> None:
        if op is ReduceOp.AVG:
            numbers[...] = numbers / numbers.dtype.type(self.size())

    # --- Between two ranks ----------------------------------------------------------------

    def send(self, tensor: Tensor, peer: int, tag: int, asynchronous: bool = False) -> Work:
        """Send a tensor to a rank of the group."""
        memory = readable(tensor)
        rank = self.ranks[peer]
        watch = partial(self.watch, peer=rank)
        work = Work(f"send to rank {rank} (tag {tag})", [], watch, self.timeout, None, [tensor])
        return self._begin(
            work, lambda: self.comm.Isend(as_mpi_bytes(memory), peer, tag), asynchronous
        )

    def recv(self, tensor: Tensor, peer: int | None, tag: int, asynchronous: bool = False) -> Work:
        """Receive a tensor from a rank of the group; None: from any."""
        memory, copy_back = writable(tensor)
        source = mpi.load().ANY_SOURCE if peer is None else peer
        rank = None if peer is None else self.ranks[peer]
        whom = "any rank" if rank is None else f"rank {rank}"
        watch = partial(self.watch, peer=rank)
        work = Work(f"recv from {whom} (tag {tag})", [], watch, self.timeout, None, [tensor])

        def finish() -> None:
            count = work.status.Get_count(mpi.load().BYTE)
            if count != memory.nbytes:
                raise DistBackendError(
                    f"{work.name}: received {count} bytes for a tensor of {memory.nbytes}"
                )
            copy_back()

        work._finish = finish
        return self._begin(
            work, lambda: self.comm.Irecv(as_mpi_bytes(memory), source, tag), asynchronous
        )
