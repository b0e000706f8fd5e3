"""A group of ranks, and its collectives on tensors: MPI's non-blocking operations, each a `Work`.

A contiguous tensor's own memory is what MPI reads and writes. Another one goes through a copy,
and back when the collective is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np

from ..tensor import Array, Tensor, bump_version
from . import mpi, reduce_op
from .errors import DistBackendError, DistError
from .fingerprint import Fingerprint
from .reduce_op import ReduceOp
from .store import Store
from .tcp_store import Presence
from .work import GRACE, Work, progress


class ProcessGroup:
    """Some of the ranks, which take part in collectives together.

    Attributes:
        ranks: the ranks of the members, in the order of their ranks in the group
        group_name: a name that all members know it by
        backend: "gloo" or "mpi"
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
    ) -> None:
        self.ranks = list(ranks)
        self.group_name = group_name
        self.store, self.timeout, self.presence = store, timeout, presence
        self._rank = self.ranks.index(rank)
        self._count = 0  # collectives that were started
        self._arrived: set[str] = set()  # slow ones that the others were told of
        self._first_loss: float | None = None  # when a member was found to be gone

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """How many ranks there are."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend's name."""
        return self.backend

    @property
    def group_desc(self) -> str:
        """What the group is for."""
        return "default_pg" if self.group_name == "0" else "undefined"

    # --- Looking after the others ---------------------------------------------------------

    def watch(self, name: str, waited: float, limit: timedelta) -> None:
        """An error if a rank is gone, or a collective takes longer than its limit."""
        if self.presence is not None:
            self._check_presence(name, self.presence)
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
        which = "; ".join(f"rank {r} is gone: {why}" for r, why in sorted(lost.items()))
        raise DistBackendError(f"{name} on rank {self.ranks[self._rank]} cannot complete. {which}")

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
        self._count += 1
        if self._fingerprints is not None:
            self._fingerprints.compare(f"{name}{about}")
        work = Work(
            f"{name} (collective {self._count})", [], self.watch, self.timeout, finish, result
        )
        return self._begin(work, start, asynchronous)

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
        memory, copy_back = _writable(tensor)
        kind, datatype, operation = reduce_op.for_mpi(op, tensor.dtype)
        module = mpi.load()
        numbers = memory.view(kind)

        def finish() -> None:
            self._average(op, numbers)
            copy_back()

        return self._start(
            "all_reduce", _about(tensor, op),
            lambda: self.comm.Iallreduce(module.IN_PLACE, [numbers, datatype], operation),
            finish, [tensor], asynchronous,
        )  # fmt: skip

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp, asynchronous: bool = False) -> Work:
        """One rank gets the reduction of all ranks' tensors."""
        kind, datatype, operation = reduce_op.for_mpi(op, tensor.dtype)
        name, about = "reduce", f"{_about(tensor, op)} to {root}"
        if self._rank != root:
            given = _readable(tensor).view(kind)
            return self._start(
                name, about,
                lambda: self.comm.Ireduce([given, datatype], None, operation, root),
                None, [tensor], asynchronous,
            )  # fmt: skip
        memory, copy_back = _writable(tensor)
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
            memory, copy_back = _readable(tensor), None
        else:
            memory, copy_back = _writable(tensor)
        return self._start(
            "broadcast", f"{_about(tensor)} from {root}",
            lambda: self.comm.Ibcast(_bytes(memory), root), copy_back, [tensor], asynchronous,
        )  # fmt: skip

    def allgather(self, outputs: Sequence[Tensor], tensor: Tensor, asynchronous: bool = False, name: str = "all_gather") -> Work:  # fmt: skip
        """Every rank gets all ranks' tensors: a list of them, or one with all of their elements."""
        given = _readable(tensor)
        gathered, deliver = _collecting(outputs, given)
        return self._start(
            name, _about(tensor),
            lambda: self.comm.Iallgather(_bytes(given), _bytes(gathered)), deliver, outputs, asynchronous,
        )  # fmt: skip

    def gather(self, outputs: Sequence[Tensor] | None, tensor: Tensor, root: int, asynchronous: bool = False) -> Work:  # fmt: skip
        """One rank gets all ranks' tensors."""
        given = _readable(tensor)
        name, about = "gather", f"{_about(tensor)} to {root}"
        if self._rank != root or outputs is None:
            return self._start(
                name, about, lambda: self.comm.Igather(_bytes(given), None, root), None, [], asynchronous
            )  # fmt: skip
        gathered, deliver = _collecting(outputs, given)
        return self._start(
            name, about, lambda: self.comm.Igather(_bytes(given), _bytes(gathered), root),
            deliver, outputs, asynchronous,
        )  # fmt: skip

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor] | None, root: int, asynchronous: bool = False) -> Work:  # fmt: skip
        """Every rank gets its one of one rank's tensors."""
        memory, copy_back = _writable(tensor)
        given = _joined(inputs) if self._rank == root and inputs is not None else None
        return self._start(
            "scatter", f"{_about(tensor)} from {root}",
            lambda: self.comm.Iscatter(None if given is None else _bytes(given), _bytes(memory), root),
            copy_back, [tensor], asynchronous,
        )  # fmt: skip

    def reduce_scatter(self, tensor: Tensor, inputs: Sequence[Tensor], op: ReduceOp, asynchronous: bool = False, name: str = "reduce_scatter") -> Work:  # fmt: skip
        """Every rank gets its part of the reduction of all ranks' tensors."""
        memory, copy_back = _writable(tensor)
        kind, datatype, operation = reduce_op.for_mpi(op, tensor.dtype)
        numbers, given = memory.view(kind), _joined(inputs).view(kind)

        def finish() -> None:
            self._average(op, numbers)
            copy_back()

        return self._start(
            name, _about(tensor, op),
            lambda: self.comm.Ireduce_scatter_block(
                [given, datatype], [numbers, datatype], operation
            ),
            finish, [tensor], asynchronous,
        )  # fmt: skip

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], asynchronous: bool = False, name: str = "all_to_all") -> Work:  # fmt: skip
        """Every rank gets one tensor of each rank's list."""
        given, into = _joined(inputs), np.empty(sum(_nbytes(o) for o in outputs), np.uint8)
        sent, received = [_nbytes(i) for i in inputs], [_nbytes(o) for o in outputs]
        byte = mpi.load().BYTE
        return self._start(
            name, f"(dtype {inputs[0].dtype})",
            lambda: self.comm.Ialltoallv([given.view(np.uint8), sent, byte], [into, received, byte]),
            lambda: _deliver(into, outputs), outputs, asynchronous,
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
        memory = _readable(tensor)
        work = Work(
            f"send to rank {self.ranks[peer]} (tag {tag})",
            [],
            self.watch,
            self.timeout,
            None,
            [tensor],
        )
        return self._begin(work, lambda: self.comm.Isend(_bytes(memory), peer, tag), asynchronous)

    def recv(self, tensor: Tensor, peer: int | None, tag: int, asynchronous: bool = False) -> Work:
        """Receive a tensor from a rank of the group; None: from any."""
        memory, copy_back = _writable(tensor)
        source = mpi.load().ANY_SOURCE if peer is None else peer
        whom = "any rank" if peer is None else f"rank {self.ranks[peer]}"
        work = Work(f"recv from {whom} (tag {tag})", [], self.watch, self.timeout, None, [tensor])

        def finish() -> None:
            count = work.status.Get_count(mpi.load().BYTE)
            if count != memory.nbytes:
                raise DistBackendError(
                    f"{work.name}: received {count} bytes for a tensor of {memory.nbytes}"
                )
            copy_back()

        work._finish = finish
        return self._begin(work, lambda: self.comm.Irecv(_bytes(memory), source, tag), asynchronous)


# --- Memory ---------------------------------------------------------------------------------


def _readable(tensor: Tensor) -> Array:
    """A tensor's elements, one after the other."""
    return np.ascontiguousarray(tensor._array).reshape(-1)


def _writable(tensor: Tensor) -> tuple[Array, Callable[[], None]]:
    """Memory with a tensor's elements to write into, and what brings that into the tensor."""
    memory = _readable(tensor)
    shared = np.may_share_memory(memory, tensor._array) and tensor._array.flags.c_contiguous

    def copy_back() -> None:
        if not shared:
            tensor._array[...] = memory.reshape(tensor._array.shape)
        bump_version(tensor)

    return memory, copy_back


def _bytes(memory: Array) -> list[Any]:
    """Memory as MPI is given it where values do not matter."""
    return [memory.view(np.uint8), mpi.load().BYTE]


def _nbytes(tensor: Tensor) -> int:
    return tensor._array.nbytes


def _joined(tensors: Sequence[Tensor]) -> Array:
    """The elements of several tensors, one after the other."""
    if len(tensors) == 1:
        return _readable(tensors[0])
    return np.concatenate([t._array.reshape(-1) for t in tensors])


def _collecting(outputs: Sequence[Tensor], given: Array) -> tuple[Array, Callable[[], None]]:
    """Memory for what is gathered, and what brings it into the outputs."""
    if len(outputs) == 1:
        return _writable(outputs[0])
    gathered = np.empty(len(outputs) * given.size, given.dtype)
    return gathered, lambda: _deliver(gathered.view(np.uint8), outputs)


def _deliver(memory: Array, outputs: Sequence[Tensor]) -> None:
    """Bring bytes into tensors, one after the other."""
    start = 0
    for output in outputs:
        array = output._array
        part = memory[start : start + array.nbytes]
        array[...] = part.view(array.dtype).reshape(array.shape)
        bump_version(output)
        start += array.nbytes


def _about(tensor: Tensor, op: ReduceOp | None = None) -> str:
    """What all ranks must agree on."""
    how = "" if op is None else f", {op.name}"
    return f"(shape {list(tensor.shape)}, {tensor.dtype}{how})"
