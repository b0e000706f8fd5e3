"""What stands in for NCCL where GPUs are simulated: the same calls, on addresses of main memory, over MPI.

So groups of several ranks, whose sends and receives must be started together, are tested without GPUs.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import mpi
from .reductions import NCCL_OPS, NCCL_TYPES, ReduceOp, for_mpi

_TYPES = {number: dtype for dtype, number in NCCL_TYPES.items()}
_OPS = {number: ReduceOp[name] for name, number in NCCL_OPS.items()}


def _memory(address: int, count: int, datatype: int) -> Any:
    """The elements at an address."""
    kind = _TYPES[datatype].numpy
    size = count * kind.itemsize
    if not size:
        return np.empty(0, kind)
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), kind)


class SimulatedNccl:
    """The functions of `cupy.cuda.nccl` that groups use."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self._depth = 0
        self._requests: list[Any] = []

    def get_unique_id(self) -> bytes:
        """What ranks find each other by: MPI has brought them together already."""
        return b"simulated"

    def NcclCommunicator(self, size: int, identity: bytes, rank: int) -> _Communicator:  # noqa: N802
        """A communicator of these ranks."""
        return _Communicator(self, self._comm.Dup())

    def groupStart(self) -> None:  # noqa: N802
        """Collect sends and receives."""
        self._depth += 1

    def groupEnd(self) -> None:  # noqa: N802
        """Complete those that were collected."""
        self._depth -= 1
        if not self._depth:
            mpi.load().Request.Waitall(self._requests)
            self._requests = []

    def add(self, request: Any) -> None:
        """A send or receive: completed at the end of its group, or now."""
        if self._depth:
            self._requests.append(request)
        else:
            request.Wait()


class _Communicator:
    """The methods of NCCL's communicators that groups use."""

    def __init__(self, library: SimulatedNccl, comm: Any) -> None:
        self._library, self._comm = library, comm
        self._sent: list[Any] = []

    def allReduce(self, source: int, target: int, count: int, datatype: int, op: int, stream: int) -> None:  # noqa: N802  # fmt: skip
        """Reduce all ranks' elements on every rank."""
        given, into, how = self._reduction(source, target, count, count, datatype, op)
        self._comm.Allreduce(given, into, how)
        self._average(into, op)

    def reduce(self, source: int, target: int, count: int, datatype: int, op: int, root: int, stream: int) -> None:  # fmt: skip
        """Reduce all ranks' elements on one."""
        given, into, how = self._reduction(source, target, count, count, datatype, op)
        here = self._comm.Get_rank() == root
        self._comm.Reduce(given, into if here else None, how, root)
        if here:
            self._average(into, op)

    def reduceScatter(self, source: int, target: int, count: int, datatype: int, op: int, stream: int) -> None:  # noqa: N802  # fmt: skip
        """Reduce all ranks' elements, and leave each rank a part."""
        everything = count * self._comm.Get_size()
        given, into, how = self._reduction(source, target, everything, count, datatype, op)
        self._comm.Reduce_scatter_block(given, into, how)
        self._average(into, op)

    def _reduction(self, source: int, target: int, given: int, taken: int, datatype: int, op: int) -> Any:  # fmt: skip
        _, kind, how = for_mpi(_OPS[op], _TYPES[datatype])
        own = [_memory(source, given, datatype).copy(), kind]
        return own, [_memory(target, taken, datatype), kind], how

    def _average(self, into: Any, op: int) -> None:
        if _OPS[op] is ReduceOp.AVG:
            into[0][...] = into[0] / into[0].dtype.type(self._comm.Get_size())

    def broadcast(self, source: int, target: int, count: int, datatype: int, root: int, stream: int) -> None:  # fmt: skip
        """Copy one rank's elements to all."""
        self._comm.Bcast([_memory(target, count, datatype), mpi.load().BYTE], root)

    def allGather(self, source: int, target: int, count: int, datatype: int, stream: int) -> None:  # noqa: N802  # fmt: skip
        """Collect all ranks' elements on every rank."""
        byte, everything = mpi.load().BYTE, count * self._comm.Get_size()
        given = _memory(source, count, datatype).copy()
        self._comm.Allgather([given, byte], [_memory(target, everything, datatype), byte])

    def send(self, source: int, count: int, datatype: int, peer: int, stream: int) -> None:
        """Send elements to a rank."""
        given = _memory(source, count, datatype).copy()
        request = self._comm.Isend([given, mpi.load().BYTE], peer)
        self._sent.append((given, request))  # as a GPU's stream, it does not wait for the receiver

    def recv(self, target: int, count: int, datatype: int, peer: int, stream: int) -> None:
        """Receive elements from a rank."""
        into = _memory(target, count, datatype)
        self._library.add(self._comm.Irecv([into, mpi.load().BYTE], peer))

    def abort(self) -> None:
        """End what is under way: nothing is."""

    def destroy(self) -> None:
        """Leave."""
        mpi.load().Request.Waitall([request for _, request in self._sent])
