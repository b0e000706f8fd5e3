"""The process manager that MPICH asks while it starts (PMI 1), answered from a store.

MPI's library writes lines such as `cmd=put key=... value=...` to a socket, whose other end
is read by a thread of the same process. Keys go to the store, where the other processes find them.
"""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

from .store import PrefixStore, Store

_FIXED = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
    "get_maxes": "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024",
    "get_appnum": "cmd=appnum rc=0 appnum=0",
    "finalize": "cmd=finalize_ack rc=0",
}
_NOT_KEPT = "PMI_"  # keys that a process manager may have and a store has not


class ProcessManager:
    """Answers one process; those of all ranks together are the process manager."""

    def __init__(self, store: Store, rank: int, size: int) -> None:
        self.store, self.rank, self.size = PrefixStore("pmi", store), rank, size
        self.error: Exception | None = None
        self._barriers = 0
        self._theirs, self._ours = socket.socketpair()
        threading.Thread(target=self._serve, daemon=True).start()

    def environment(self) -> dict[str, str]:
        """What tells MPI whom to ask."""
        descriptor = str(self._theirs.fileno())
        return {"PMI_FD": descriptor, "PMI_RANK": str(self.rank), "PMI_SIZE": str(self.size)}

    def end(self) -> None:
        """Answer the last question now: MPI's library asks it when Python, and its threads, have ended."""
        with suppress(OSError):  # MPI has closed its end
            self._ours.sendall(_FIXED["finalize"].encode() + b"\n")

    def _serve(self) -> None:
        lines = self._ours.makefile("rw", encoding="ascii")
        for line in lines:
            try:
                answer = self._answer(line)
            except Exception as error:
                self.error = error
                self._ours.shutdown(socket.SHUT_RDWR)
                return
            lines.write(answer + "\n")
            lines.flush()

    def _answer(self, line: str) -> str:
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        command = words.get("cmd", "")
        if command in _FIXED:
            return _FIXED[command]
        answers: dict[str, Callable[[dict[str, str]], str]] = {
            "get_my_kvsname": lambda _: f"cmd=my_kvsname rc=0 kvsname={self._job_name()}",
            "get_universe_size": lambda _: f"cmd=universe_size rc=0 size={self.size}",
            "put": self._put,
            "get": self._get,
            "barrier_in": self._barrier,
        }
        if command not in answers:
            return f"cmd={command}_result rc=-1 msg=unknown_command"
        return answers[command](words)

    def _job_name(self) -> str:
        """A name that no other job on this machine has: MPI calls its shared memory by it."""
        if self.rank == 0:
            self.store.set("job", uuid.uuid4().hex)
        return self.store.get("job").decode()

    def _put(self, words: dict[str, str]) -> str:
        self.store.set(words["key"], words["value"])
        return "cmd=put_result rc=0 msg=success"

    def _get(self, words: dict[str, str]) -> str:
        key = words["key"]
        if key.startswith(_NOT_KEPT):
            return "cmd=get_result rc=-1 msg=key_not_found value=unknown"
        return f"cmd=get_result rc=0 msg=success value={self.store.get(key).decode()}"

    def _barrier(self, words: dict[str, str]) -> str:
        self._barriers += 1
        mine = f"barrier{self._barriers}"
        if self.store.add(mine, 1) == self.size:
            self.store.set(f"{mine}/all", "")
        self.store.wait([f"{mine}/all"])
        return "cmd=barrier_out rc=0"
