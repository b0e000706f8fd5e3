"""What a worker process does: it gets indices, and sends batches."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ....environment import set_num_threads
from ....random import manual_seed
from .fetch import _DatasetKind
from .transfer import Sender

POLL_SECONDS = 5.0
"""After so many seconds without work, a worker looks whether its parent still lives."""


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker process knows about itself."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process, its number, seed and data set; None elsewhere."""
    return _worker_info


class Ended:
    """Says that a worker's iterable data set has no more samples."""


class Resume:
    """Says that the next epoch begins; a worker answers with the same."""


class _KeyErrorMessage(str):
    """A text that a KeyError shows as it is."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception and its traceback, as text, on the way to another process."""

    def __init__(self, where: str = "in background") -> None:
        kind, value, trace = sys.exc_info()
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))
        self.where = where
        try:
            pickle.dumps(kind)
        except Exception:
            self.exc_type = RuntimeError

    def reraise(self) -> None:
        """Raise it here, with where it happened."""
        raise self._again() from None  # not kept in a variable: its traceback would hold it

    def _again(self) -> BaseException:
        kind = self.exc_type
        message = f"Caught {kind.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if kind is KeyError:
            return KeyError(_KeyErrorMessage(message))
        try:
            return kind(message=message) if getattr(kind, "message", None) else kind(message)
        except Exception:
            return RuntimeError(message)


@dataclass
class Task:
    """What a worker is started with."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    worker_id: int
    num_workers: int
    folder: str

    def fetcher(self) -> Any:
        """What gets batches from the data set."""
        return _DatasetKind.create_fetcher(
            self.kind, self.dataset, self.auto_collation, self.collate_fn, self.drop_last
        )


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The seed of NumPy's generator in a worker, from the loader's and the worker's number."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()


def run_worker(task: Task, connection: Connection, others: list[Connection]) -> None:
    """Send a batch for each list of indices that arrives, until the connection ends."""
    global _worker_info
    for each in others:  # the parent's ends, which a forked process has too
        each.close()
    parent = os.getppid()
    try:
        set_num_threads(1)
        seed = task.base_seed + task.worker_id
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(_generate_state(task.base_seed, task.worker_id))  # noqa: NPY002
        _worker_info = WorkerInfo(task.worker_id, task.num_workers, seed, task.dataset)
        _serve(task, connection, parent)
    except (KeyboardInterrupt, EOFError, BrokenPipeError, ConnectionResetError):
        pass
    finally:
        if os.getppid() != parent:
            shutil.rmtree(task.folder, ignore_errors=True)


def _serve(task: Task, connection: Connection, parent: int) -> None:
    where = f"in DataLoader worker process {task.worker_id}"
    sender = Sender(connection, task.folder, str(task.worker_id))
    fetcher, failure = None, None
    try:
        if task.init_fn is not None:
            task.init_fn(task.worker_id)
        fetcher = task.fetcher()
    except Exception:
        failure = ExceptionWrapper(where)
    while True:
        while not connection.poll(POLL_SECONDS):
            if os.getppid() != parent:
                return
        request = connection.recv()
        if request is None:
            return
        if isinstance(request, Resume):
            sender.send((-1, request))
            fetcher = task.fetcher()
            continue
        number, index = request
        if failure is not None:
            answer, failure = failure, None
        else:
            answer = _fetched(fetcher, index, task.kind, where)
        try:
            sender.send((number, answer))
        except (pickle.PicklingError, AttributeError, TypeError):
            sender.send((number, ExceptionWrapper(where)))


def _fetched(fetcher: Any, index: Any, kind: int, where: str) -> Any:
    """A batch, or what came in its place."""
    try:
        return fetcher.fetch(index)
    except StopIteration:
        return Ended() if kind == _DatasetKind.Iterable else ExceptionWrapper(where)
    except Exception:
        return ExceptionWrapper(where)
