"""Groups of ranks whose tensors are on GPUs: NCCL's collectives, each rank on its GPU.

A collective runs in a stream of its own, after what the program's stream has to do, so that gradients are averaged while
others are computed. `Work.wait` lets the program's stream wait for it, and, with several ranks, waits itself: so a rank that is gone is
an error of the collective that missed it. Tensors in main memory, and the few reductions that NCCL
has not (bits, 16-bit integers), go through MPI, which also brings the ranks together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...syntax import literal
from ..backends.cuda.backend import Cuda, find_cuda, require_cuda
from ..backends.interface import address_of
from ..tensor import Array, Tensor
from .errors import DistBackendError
from .memory import (  # fmt: skip
    about_tensor,
    collecting,
    deliver,
    joined,
    nbytes,
    new_memory,
    readable,
    writable,
)
from .process_group import ProcessGroupMPI
from .reductions import NCCL_BYTE, ReduceOp, for_nccl
from .work import Work, progress

Call = Callable[[Any, int], None]
"""Starts something, given NCCL's communicator and the stream's address."""


def is_available() -> bool:
    """Whether there is a GPU, and NCCL for it."""
    backend, _ = find_cuda()
    if backend is None or _is_simulated(backend):
        return backend is not None
    return find_spec("cupy_backends.cuda.libs.nccl") is not None


def _is_simulated(backend: Any) -> bool:
    return not type(backend).__module__.endswith("cupy_backend")


def _library(comm: Any) -> Any:
    """NCCL, or what stands in for it where the GPUs are simulated."""
    if _is_simulated(require_cuda()):
        from .simulated_nccl import SimulatedNccl

        return SimulatedNccl(comm)
    from cupy.cuda import nccl  # pyright: ignore[reportMissingImports]

    return nccl


class NcclWork(Work):
    """A collective in a GPU's stream: over when that has passed an event."""

    channel: Any = None
    event: Any = None

    def is_completed(self) -> bool:
        """Whether it is over."""
        return self._error is not None or (self.event is not None and self.event.done)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Let the program's stream wait for it; with several ranks, wait here too."""
        if self._error is None and not self._done:
            self.channel.backend.current_stream().wait_event(self.event)
            if self.channel.size > 1 and not self.is_completed():
                self._keep_looking(timeout or self._timeout)
        if self._error is not None:
            self.channel.abort()
            raise self._error
        if self._finish is not None:
            self._finish()
        self._finish, self._done = None, True
        return True

    def source_rank(self) -> int:
        """The rank, in the group, that a received tensor came from."""
        self.wait()
        return int(self.status)


class Channel:
    """A communicator of NCCL's, on one GPU, and the stream in which it works."""

    def __init__(self, library: Any, comm: Any, backend: Cuda, index: int, size: int) -> None:
        self.library, self.comm, self.backend = library, comm, backend
        self.index, self.size = index, size
        with on_device(backend, index):
            self.stream = backend.new_stream(0)

    def run(self, jobs: Sequence[tuple[NcclWork, Call]]) -> None:
        """Start what jobs do, at once, after what the program's stream has to do."""
        with on_device(self.backend, self.index):
            ready, over = self.backend.new_event(False), self.backend.new_event(False)
            ready.record(self.backend.current_stream())
            self.stream.wait_event(ready)
            if len(jobs) > 1:
                self.library.groupStart()
            for work, call in jobs:
                work.channel, work.event = self, over
                call(self.comm, self.stream.ptr)
            if len(jobs) > 1:
                self.library.groupEnd()
            over.record(self.stream)

    def abort(self) -> None:
        """End what is under way: some rank does not come."""
        if self.comm is not None:
            self.comm.abort()
            self.comm = None


@contextmanager
def on_device(backend: Cuda, index: int) -> Iterator[None]:
    """Be on a GPU for a while."""
    before = backend.current()
    backend.use(index)
    try:
        yield
    finally:
        backend.use(before)


def _on_gpu(tensor: Tensor) -> bool:
    return not isinstance(tensor._array, np.ndarray)


class ProcessGroupNCCL(ProcessGroupMPI):
    """A group of ranks whose tensors are on GPUs, one for each rank."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._channels: dict[int, Channel] = {}
        self._batch: list[tuple[NcclWork, Call]] | None = None

    # --- Starting -------------------------------------------------------------------------

    def _channel(self, tensor: Tensor) -> Channel:
        """What a tensor's GPU is reached by; the ranks meet there with the first tensor."""
        index = tensor.device.index or 0
        if index not in self._channels:
            self._channels[index] = self._connect(index)
        found = self._channels[index]
        if found.comm is None:
            raise DistBackendError("NCCL's communicator was aborted: a rank did not come")
        return found

    def _connect(self, index: int) -> Channel:
        backend, library = require_cuda(), _library(self.comm)
        key = f"nccl/{self.group_name}/{len(self._channels)}"
        if self._rank == 0:
            self.store.set(key, repr(library.get_unique_id()))
        identity = literal(self.store.get(key).decode())
        made: list[Any] = []

        def connect() -> None:
            try:
                with on_device(backend, index):
                    made.append(library.NcclCommunicator(self.size(), identity, self._rank))
            except Exception as error:
                made.append(error)

        thread = threading.Thread(target=connect, daemon=True)  # it has no time limit of its own
        thread.start()
        waited = 0.0
        while not made:
            thread.join(0.1)
            waited += 0.1
            if not made:
                self.watch("meeting of NCCL's ranks", waited, self.timeout)
        if isinstance(made[0], Exception):
            raise DistBackendError(f"NCCL cannot start on GPU {index}: {made[0]}")
        return Channel(library, made[0], backend, index, self.size())

    def _launch(
        self,
        name: str,
        about: str,
        tensor: Tensor,
        call: Call,
        finish: Callable[[], Any] | None = None,
        result: Sequence[Tensor] = (),
        asynchronous: bool = False,
    ) -> NcclWork:
        """Start a collective on the GPU of a tensor."""
        named, watch = self._next(name)
        if self._fingerprints is not None and self._batch is None:
            self._fingerprints.compare(f"{name}{about}", named, watch)
        work = NcclWork(named, [], watch, self.timeout, finish, result)
        return self._run(work, tensor, call, asynchronous)

    def _run(self, work: NcclWork, tensor: Tensor, call: Call, asynchronous: bool) -> NcclWork:
        """Start something on the GPU of a tensor, now or with the others of a batch."""
        channel = self._channel(tensor)
        if self._batch is not None:
            self._batch.append((work, call))
            work.channel = channel
        else:
            channel.run([(work, call)])
            if asynchronous:
                progress.add(work)  # which keeps the memory until it is over
        return work

    @contextmanager
    def batched(self) -> Iterator[None]:
        """Start all that is asked for meanwhile at once."""
        self._batch = []
        try:
            yield
            jobs = self._batch
        finally:
            self._batch = None
        if jobs:
            jobs[0][0].channel.run(jobs)

    def close(self) -> None:
        """Leave NCCL's communicators."""
        for channel in self._channels.values():
            if channel.comm is not None:
                channel.stream.synchronize()
                channel.comm.destroy()
        self._channels = {}

    # --- Reductions -----------------------------------------------------------------------

    def allreduce(self, tensor: Tensor, op: ReduceOp, asynchronous: bool = False) -> Work:
        codes = for_nccl(op, tensor.dtype)
        if not _on_gpu(tensor) or codes is None:
            return super().allreduce(tensor, op, asynchronous)
        kind, datatype, operation = codes
        memory, copy_back = writable(tensor, on_host=False)
        numbers = memory.view(kind)
        place = address_of(numbers)
        return self._launch(
            "all_reduce", about_tensor(tensor, op), tensor,
            lambda comm, stream: comm.allReduce(place, place, numbers.size, datatype, operation, stream),
            copy_back, [tensor], asynchronous,
        )  # fmt: skip

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp, asynchronous: bool = False) -> Work:
        codes = for_nccl(op, tensor.dtype)
        if not _on_gpu(tensor) or codes is None:
            return super().reduce(tensor, root, op, asynchronous)
        kind, datatype, operation = codes
        here = self._rank == root
        memory, copy_back = writable(tensor, on_host=False)
        numbers = memory.view(kind)
        place = address_of(numbers)
        return self._launch(
            "reduce", f"{about_tensor(tensor, op)} to {root}", tensor,
            lambda comm, stream: comm.reduce(place, place, numbers.size, datatype, operation, root, stream),
            _keeping(copy_back if here else None, memory), [tensor], asynchronous,
        )  # fmt: skip

    def reduce_scatter(self, tensor: Tensor, inputs: Sequence[Tensor], op: ReduceOp, asynchronous: bool = False, name: str = "reduce_scatter") -> Work:  # fmt: skip
        codes = for_nccl(op, tensor.dtype)
        if not _on_gpu(tensor) or codes is None:
            return super().reduce_scatter(tensor, inputs, op, asynchronous, name)
        kind, datatype, operation = codes
        memory, copy_back = writable(tensor, on_host=False)
        numbers, given = memory.view(kind), joined(inputs, on_host=False).view(kind)
        source, target = address_of(given), address_of(numbers)

        def call(comm: Any, stream: int) -> None:
            comm.reduceScatter(source, target, numbers.size, datatype, operation, stream)

        return self._launch(
            name, about_tensor(tensor, op), tensor, call, _keeping(copy_back, given), [tensor], asynchronous
        )  # fmt: skip

    # --- Movements, as bytes --------------------------------------------------------------

    def broadcast(self, tensor: Tensor, root: int, asynchronous: bool = False) -> Work:
        if not _on_gpu(tensor):
            return super().broadcast(tensor, root, asynchronous)
        memory, copy_back = writable(tensor, on_host=False)
        place, count = address_of(memory), memory.nbytes
        return self._launch(
            "broadcast", f"{about_tensor(tensor)} from {root}", tensor,
            lambda comm, stream: comm.broadcast(place, place, count, NCCL_BYTE, root, stream),
            _keeping(copy_back if self._rank != root else None, memory), [tensor], asynchronous,
        )  # fmt: skip

    def allgather(self, outputs: Sequence[Tensor], tensor: Tensor, asynchronous: bool = False, name: str = "all_gather") -> Work:  # fmt: skip
        if not _on_gpu(tensor):
            return super().allgather(outputs, tensor, asynchronous, name)
        given = readable(tensor, on_host=False)
        gathered, deliver_all = collecting(outputs, given, on_host=False)
        source, target, count = address_of(given), address_of(gathered), given.nbytes
        return self._launch(
            name, about_tensor(tensor), tensor,
            lambda comm, stream: comm.allGather(source, target, count, NCCL_BYTE, stream),
            _keeping(deliver_all, given), outputs, asynchronous,
        )  # fmt: skip

    def gather(self, outputs: Sequence[Tensor] | None, tensor: Tensor, root: int, asynchronous: bool = False) -> Work:  # fmt: skip
        if not _on_gpu(tensor):
            return super().gather(outputs, tensor, root, asynchronous)
        given = readable(tensor, on_host=False)
        sent = [(root, given)]
        about = f"{about_tensor(tensor)} to {root}"
        if self._rank != root or outputs is None:
            return self._exchange("gather", about, tensor, sent, [], None, [], asynchronous)
        gathered, deliver_all = collecting(outputs, given, on_host=False)
        received = list(enumerate(_rows(gathered.view(np.uint8), self.size())))
        return self._exchange(
            "gather", about, tensor, sent, received, deliver_all, outputs, asynchronous
        )

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor] | None, root: int, asynchronous: bool = False) -> Work:  # fmt: skip
        if not _on_gpu(tensor):
            return super().scatter(tensor, inputs, root, asynchronous)
        memory, copy_back = writable(tensor, on_host=False)
        here = self._rank == root and inputs is not None
        sent = [(i, readable(t, on_host=False)) for i, t in enumerate(inputs or [])] if here else []
        about = f"{about_tensor(tensor)} from {root}"
        return self._exchange(
            "scatter", about, tensor, sent, [(root, memory)], copy_back, [tensor], asynchronous
        )

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], asynchronous: bool = False, name: str = "all_to_all") -> Work:  # fmt: skip
        if not _on_gpu(inputs[0]):
            return super().alltoall(outputs, inputs, asynchronous, name)
        sent = [(i, readable(t, on_host=False)) for i, t in enumerate(inputs)]
        into = new_memory(sum(map(nbytes, outputs)), np.dtype(np.uint8), inputs[0]._array)
        received, start = [], 0
        for i, output in enumerate(outputs):
            received.append((i, into[start : start + nbytes(output)]))
            start += nbytes(output)
        return self._exchange(
            name, f"(dtype {inputs[0].dtype})", inputs[0], sent, received,
            lambda: deliver(into, outputs), outputs, asynchronous,
        )  # fmt: skip

    def _exchange(
        self,
        name: str,
        about: str,
        tensor: Tensor,
        sent: Sequence[tuple[int, Array]],
        received: Sequence[tuple[int, Array]],
        finish: Callable[[], None] | None,
        result: Sequence[Tensor],
        asynchronous: bool,
    ) -> NcclWork:
        """Send memory to ranks and receive from ranks, all at once."""

        def call(comm: Any, stream: int) -> None:
            library = self._channels[tensor.device.index or 0].library
            library.groupStart()
            for peer, memory in sent:
                comm.send(address_of(memory), memory.nbytes, NCCL_BYTE, peer, stream)
            for peer, memory in received:
                comm.recv(address_of(memory), memory.nbytes, NCCL_BYTE, peer, stream)
            library.groupEnd()

        kept = _keeping(finish, sent, received)
        return self._launch(name, about, tensor, call, kept, result, asynchronous)

    def barrier(self, asynchronous: bool = False) -> Work:
        for channel in self._channels.values():
            channel.backend.synchronize(channel.index)
        return super().barrier(asynchronous)

    # --- Between two ranks ----------------------------------------------------------------

    def send(self, tensor: Tensor, peer: int, tag: int, asynchronous: bool = False) -> Work:
        if not _on_gpu(tensor):
            return super().send(tensor, peer, tag, asynchronous)
        memory = readable(tensor, on_host=False)
        place, count = address_of(memory), memory.nbytes
        return self._launch_pair(
            f"send to rank {self.ranks[peer]}", tensor, peer,
            lambda comm, stream: comm.send(place, count, NCCL_BYTE, peer, stream),
            _keeping(None, memory), asynchronous,
        )  # fmt: skip

    def recv(self, tensor: Tensor, peer: int | None, tag: int, asynchronous: bool = False) -> Work:
        if not _on_gpu(tensor):
            return super().recv(tensor, peer, tag, asynchronous)
        if peer is None:
            raise ValueError("NCCL receives from a rank that is named: give src")
        memory, copy_back = writable(tensor, on_host=False)
        place, count, source = address_of(memory), memory.nbytes, peer
        return self._launch_pair(
            f"recv from rank {self.ranks[peer]}", tensor, peer,
            lambda comm, stream: comm.recv(place, count, NCCL_BYTE, source, stream),
            copy_back, asynchronous,
        )  # fmt: skip

    def _launch_pair(self, name: str, tensor: Tensor, peer: int, call: Call, finish: Any, asynchronous: bool) -> Work:  # fmt: skip
        """Start what only two ranks take part in: it is not counted as a collective."""
        watch = partial(self.watch, peer=self.ranks[peer])
        work = NcclWork(name, [], watch, self.timeout, finish, [tensor])
        self._run(work, tensor, call, asynchronous)
        work.status = peer
        return work


def _keeping(finish: Callable[[], None] | None, *memory: Any) -> Callable[[], None]:
    """What is done at the end, which holds memory until then."""

    def end(_: Any = memory) -> None:
        if finish is not None:
            finish()

    return end


def _rows(memory: Array, count: int) -> list[Array]:
    """Memory in equal parts."""
    size = memory.size // count
    return [memory[i * size : (i + 1) * size] for i in range(count)]
