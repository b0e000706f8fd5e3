"""`TORCH_DISTRIBUTED_DEBUG=DETAIL`: before a collective, all ranks say which one they start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DistBackendError
from .work import Watch, Work

if TYPE_CHECKING:
    from .process_group import ProcessGroup

_LENGTH = 256


class Fingerprint:
    """Compares what the ranks of a group are about to do, over a communicator of its own."""

    def __init__(self, comm: Any, group: ProcessGroup) -> None:
        self.comm, self.group = comm, group

    def compare(self, call: str, name: str, watch: Watch) -> None:
        """RuntimeError, with both calls, unless all ranks start the same collective."""
        mine = np.zeros(_LENGTH, np.uint8)
        text = call.encode()[:_LENGTH]
        mine[: len(text)] = np.frombuffer(text, np.uint8)
        all_of_them = np.zeros((self.group.size(), _LENGTH), np.uint8)
        request = self.comm.Iallgather(mine, all_of_them)
        Work(name, [request], watch, self.group.timeout).wait()
        calls = [bytes(row).rstrip(b"\0").decode(errors="replace") for row in all_of_them]
        here = self.group.rank()
        for other, theirs in enumerate(calls):
            if theirs != calls[here]:
                ranks = self.group.ranks
                raise DistBackendError(
                    f"Detected mismatch between collectives on ranks. Rank {ranks[here]} is running "
                    f"{calls[here]}, but rank {ranks[other]} is running {theirs}. "
                    f"(Collective {self.group.started} of the group.)"
                )
