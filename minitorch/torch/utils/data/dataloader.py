"""DataLoader: batches of a data set, made here or by worker processes."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import shutil
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from ... import accelerator
from ...generator import Generator
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import _DatasetKind
from ._utils.pin_memory import pin_memory as pin
from ._utils.transfer import make_folder, receive
from ._utils.worker import Ended, ExceptionWrapper, Resume, Task, run_worker
from ._utils.worker import get_worker_info as get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .seeds import draw_seed

_T_co = TypeVar("_T_co", covariant=True)

_collate_fn_t = Callable[[list[Any]], Any]
"""What makes a batch of samples, as libraries write it in their signatures."""

FAREWELL = 5.0
"""How many seconds a worker has to end by itself."""


class _InfiniteConstantSampler(Sampler[None]):
    """Of a data set without indices: None, again and again."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[_T_co]):
    """Goes through a data set in batches.

    Args:
        dataset: with indices, or an IterableDataset
        batch_size: how many samples make a batch; None yields single samples
        shuffle: whether each pass has a new random order
        sampler: the order of indices, in place of `shuffle`
        batch_sampler: lists of indices, in place of all four
        num_workers: how many processes make batches; with 0, this one does
        collate_fn: makes a batch of a list of samples
        pin_memory: whether batches are in memory that a GPU reads by itself, where there is a GPU
        drop_last: whether to leave out a last batch that is too small
        timeout: how many seconds to wait for a batch of a worker; 0: forever
        worker_init_fn: called in each worker with its number
        multiprocessing_context: how workers are started
        generator: of random orders and of the workers' seeds
        prefetch_factor: how many batches each worker makes in advance
        persistent_workers: whether workers live on after a pass
        in_order: whether batches keep their order when workers finish in another
    """

    __initialized = False
    _multiprocessing_context: BaseContext | None = None

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        _check_order(iterable, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = _default_sampler(dataset, iterable, bool(shuffle), generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator: Any = None
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started; None: as Python does by default."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers "
                f"> 0), but got num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            known = multiprocessing.get_all_start_methods()
            if context not in known:
                raise ValueError(
                    "multiprocessing_context option should specify a valid start method in "
                    f"{known!r}, but got multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        if context is not None and not isinstance(context, BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string "
                f"specifying the start method, but got multiprocessing_context={context}"
            )
        self._multiprocessing_context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in (
            "batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers",
        ):  # fmt: skip
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Any:
        if not self.num_workers:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        if not self.persistent_workers:
            return _MultiProcessingDataLoaderIter(self)
        if self._iterator is None:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn about more workers than there are processors."""
        if not self.num_workers:
            return
        most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if most is None or self.num_workers > most:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {most}, which is smaller than "
                "what this DataLoader is going to create. Please be aware that excessive worker "
                "creation might get DataLoader running slow or even freeze, lower the worker number "
                "to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def _check_workers(workers: int, timeout: float, prefetch: int | None, persistent: bool) -> None:
    """ValueError for options about workers that do not go together."""
    if workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if workers == 0 and prefetch is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 "
            "to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch is not None and prefetch < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_order(
    iterable: bool, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """ValueError for ways to say the order that do not go together."""
    if iterable:
        wrong = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
        for name, value in wrong.items():
            if value is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                    f"{name}={value}"
                )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                "drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _default_sampler(dataset: Any, iterable: bool, shuffle: bool, generator: Any) -> Sampler[Any]:
    if iterable:
        return _InfiniteConstantSampler()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


# --- Passes through the data ------------------------------------------------------------------


class _BaseDataLoaderIter:
    """One pass through the data."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._pins = loader.pin_memory and accelerator.is_available()
        if loader.pin_memory and not self._pins:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used.",
                stacklevel=3,
            )
        self._loader_dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._expected: int | None = None
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._base_seed = 0
        self._start(loader)
        self._base_seed = draw_seed(loader.generator)

    def _start(self, loader: DataLoader[Any]) -> None:
        """Begin from the first index."""
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._expected = loader._IterableDataset_len_called

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        if (
            self._dataset_kind == _DatasetKind.Iterable
            and self._expected is not None
            and self._num_yielded > self._expected
        ):
            self._warn_about_length()
        return pin(data) if self._pins else data

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _warn_about_length(self) -> None:
        hint = (
            "For multiprocessing data-loading, this could be caused by not properly configuring "
            "the IterableDataset replica at each worker. Please see "
            "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for "
            "examples."
        )
        warnings.warn(
            f"Length of IterableDataset {self._loader_dataset} was reported to be {self._expected}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
            f"{hint if self._num_workers else ''}",
            stacklevel=3,
        )

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Makes batches when they are asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._fetcher = _DatasetKind.create_fetcher(
            loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn,
            loader.drop_last,
        )  # fmt: skip

    def _next_data(self) -> Any:
        return self._fetcher.fetch(next(self._sampler_iter))


class _Worker:
    """A worker process, seen from here."""

    def __init__(self, process: Any, connection: Connection) -> None:
        self.process, self.connection = process, connection
        self.active = True  # whether it may still have samples in this pass


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Lets workers make batches in advance, each in its turn, and yields them in order."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._persistent = loader.persistent_workers
        self._in_order = loader.in_order
        self._ahead = (loader.prefetch_factor or 0) * loader.num_workers
        self._folder = make_folder()
        self._workers: list[_Worker] = []
        self._stop = weakref.finalize(self, _end_workers, self._workers, self._folder)
        context = loader.multiprocessing_context or multiprocessing.get_context()
        for number in range(loader.num_workers):
            self._workers.append(self._started(loader, context, number))
        self._begin()

    def _started(self, loader: DataLoader[Any], context: Any, number: int) -> _Worker:
        here, there = context.Pipe()
        task = Task(
            loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn,
            loader.drop_last, self._base_seed, loader.worker_init_fn, number, loader.num_workers,
            self._folder,
        )  # fmt: skip
        forked = context.get_start_method() == "fork"
        others = [here, *(w.connection for w in self._workers)] if forked else []
        process = context.Process(target=run_worker, args=(task, there, others), daemon=True)
        process.start()
        there.close()
        return _Worker(process, here)

    def _begin(self) -> None:
        """Hand out the first indices."""
        self._sent = self._yielded = 0  # numbers of batches
        self._tasks: dict[int, _Worker] = {}
        self._arrived: dict[int, Any] = {}
        self._turns = itertools.cycle(self._workers)
        for _ in range(self._ahead):
            self._hand_out()

    def _reset(self, loader: DataLoader[Any]) -> None:
        """Begin a new pass with the same workers."""
        for worker in self._workers:
            self._tell(worker, Resume())
        for worker in self._workers:
            while not isinstance(self._heard(worker)[1], Resume):
                pass  # batches of a pass that was broken off
            worker.active = True
        self._start(loader)
        self._begin()

    def _hand_out(self) -> None:
        """Give the next worker the next indices, if there are both."""
        if not any(worker.active for worker in self._workers):
            return
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        worker = next(w for w in self._turns if w.active)
        self._tasks[self._sent] = worker
        self._tell(worker, (self._sent, index))
        self._sent += 1

    def _tell(self, worker: _Worker, message: Any) -> None:
        try:
            worker.connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            self._lost(worker)

    def _heard(self, worker: _Worker) -> Any:
        try:
            return receive(worker.connection)
        except (EOFError, ConnectionResetError):
            self._lost(worker)

    def _lost(self, worker: _Worker) -> None:
        worker.process.join(1.0)
        pid = worker.process.pid
        self._stop()
        raise RuntimeError(f"DataLoader worker (pid(s) {pid}) exited unexpectedly") from None

    def _next_data(self) -> Any:
        if not self._stop.alive:
            raise StopIteration
        while True:
            self._skip_ended()
            if self._yielded in self._arrived:
                number = self._yielded
            elif not self._in_order and self._arrived:
                number = next(iter(self._arrived))
            elif not self._tasks:
                self._finish()
                raise StopIteration
            else:
                self._listen()
                continue
            data = self._arrived.pop(number)
            del self._tasks[number]
            self._yielded += number == self._yielded
            self._hand_out()
            if isinstance(data, ExceptionWrapper):
                data.reraise()
            return data

    def _skip_ended(self) -> None:
        """Do not wait for batches of workers whose data sets have ended, nor for those yielded."""
        while self._yielded < self._sent and self._yielded not in self._arrived:
            worker = self._tasks.get(self._yielded)
            if worker is not None and worker.active:
                return
            self._tasks.pop(self._yielded, None)
            self._yielded += 1

    def _listen(self) -> None:
        """Take in what workers have sent; wait until there is something."""
        waiting = {w.connection: w for w in self._workers if w.active}
        ready = wait(list(waiting), self._timeout or None)
        if not ready:
            self._stop()
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        for connection in ready:
            worker = waiting[connection]  # type: ignore[index]
            number, data = self._heard(worker)
            if isinstance(data, Ended):
                worker.active = False
                if not self._persistent:
                    self._tell(worker, None)
                self._hand_out()
            else:
                self._arrived[number] = data

    def _finish(self) -> None:
        """The pass is over."""
        if not self._persistent:
            self._stop()


def _end_workers(workers: list[_Worker], folder: str) -> None:
    """Let workers end, stop those that do not, and give their memory back."""
    if workers and workers[0].process._parent_pid != os.getpid():
        return  # a forked copy: the workers are not ours
    for worker in workers:
        with contextlib.suppress(OSError):
            worker.connection.send(None)
        worker.connection.close()
    deadline = time.monotonic() + FAREWELL
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.terminate()
            worker.process.join()
    shutil.rmtree(folder, ignore_errors=True)
