"""Data sets, samplers and loaders against PyTorch's: the same order, batches and errors."""

from __future__ import annotations

import collections
import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest
import torch as oracle
import torch.utils.data as oracle_data
import torch.utils.data._utils.worker as oracle_worker

import minitorch.torch as torch
from minitorch.torch.utils import data
from minitorch.torch.utils.data._utils.worker import _generate_state

BOTH = ((torch, data), (oracle, oracle_data))


def _plain(value):
    """A batch without tensors, with their types."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [_plain(v) for v in value]
    return value


def _same(make):
    """What a function makes of each library, equal for both."""
    results = []
    for lib, package in BOTH:
        lib.manual_seed(7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append((_plain(make(lib, package)), lib.rand(2).tolist()))
    assert results[0] == results[1]
    return results[0][0]


def _raised(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    return None


# --- Samplers and data sets -------------------------------------------------------------------

SAMPLERS = [
    lambda lib, d: d.SequentialSampler(range(5)),
    lambda lib, d: d.RandomSampler(range(11)),
    lambda lib, d: d.RandomSampler(range(11), num_samples=25),
    lambda lib, d: d.RandomSampler(range(11), replacement=True, num_samples=70),
    lambda lib, d: d.RandomSampler(range(9), generator=lib.Generator().manual_seed(3)),
    lambda lib, d: d.SubsetRandomSampler([3, 1, 4, 1, 5, 9]),
    lambda lib, d: d.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7], 12),
    lambda lib, d: d.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7], 3, replacement=False),
    lambda lib, d: d.BatchSampler(d.RandomSampler(range(10)), 4, False),
    lambda lib, d: d.BatchSampler(d.SequentialSampler(range(10)), 4, True),
    lambda lib, d: d.DistributedSampler(range(11), 3, 1),
    lambda lib, d: d.DistributedSampler(range(11), 3, 2, shuffle=False, drop_last=True),
    lambda lib, d: d.DistributedSampler(range(2), 5, 4, seed=9),
]


@pytest.mark.parametrize("make", SAMPLERS)
def test_sampler_orders(make):
    def three_passes(lib, d):
        sampler = make(lib, d)
        passes = []
        for epoch in range(3):
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(epoch)
            passes.append(list(sampler))
        return [*passes, len(sampler)]

    _same(three_passes)


def test_datasets():
    def everything(lib, d):
        pairs = d.TensorDataset(lib.arange(10), lib.arange(20).reshape(10, 2))
        both = pairs + d.TensorDataset(lib.arange(3), lib.zeros(3, 2))
        some = d.Subset(both, [12, 0, 3])
        stacked = d.StackDataset(a=pairs, b=d.Subset(range(10), list(range(9, -1, -1))))
        parts = d.random_split(range(10), [3, 7]) + d.random_split(range(11), [0.5, 0.3, 0.2])
        return [
            both[11], both[-1], len(both), some[1], len(some), stacked[2], stacked.__getitems__([1, 4]),
            d.StackDataset(pairs, pairs)[0], [list(p) for p in parts],
            [p.indices for p in d.random_split(range(6), [2, 4], lib.Generator().manual_seed(1))],
        ]  # fmt: skip

    _same(everything)


def test_errors_are_the_same():
    class Stream:
        def __init__(self, d):
            self.made = type("S", (d.IterableDataset,), {"__iter__": lambda s: iter(range(3))})()

    def wrong(lib, d):
        yield lambda: d.DataLoader(range(3), num_workers=-1)
        yield lambda: d.DataLoader(range(3), timeout=-1)
        yield lambda: d.DataLoader(range(3), prefetch_factor=3)
        yield lambda: d.DataLoader(range(3), persistent_workers=True)
        yield lambda: d.DataLoader(range(3), sampler=[1], shuffle=True)
        yield lambda: d.DataLoader(range(3), batch_sampler=[[1]], batch_size=2)
        yield lambda: d.DataLoader(range(3), batch_size=None, drop_last=True)
        yield lambda: d.DataLoader(range(3), batch_size=0)
        yield lambda: d.DataLoader([], shuffle=True)
        yield lambda: d.DataLoader(range(3), multiprocessing_context="fork")
        yield lambda: d.DataLoader(range(3), num_workers=1, multiprocessing_context="thread")
        yield lambda: d.DataLoader(Stream(d).made, shuffle=True)
        yield lambda: setattr(d.DataLoader(range(3)), "batch_size", 5)
        yield lambda: d.RandomSampler(range(3), replacement=1)
        yield lambda: d.RandomSampler(range(3), num_samples=-1)
        yield lambda: d.WeightedRandomSampler([[1.0]], 2)
        yield lambda: d.BatchSampler(range(3), 2, 3)
        yield lambda: d.DistributedSampler(range(3), 2, 2)
        yield lambda: d.TensorDataset(lib.zeros(2), lib.zeros(3))
        yield lambda: d.StackDataset()
        yield lambda: d.StackDataset(range(2), range(3))
        yield lambda: d.ConcatDataset([])
        yield lambda: d.ConcatDataset([Stream(d).made])
        yield lambda: d.random_split(range(4), [1, 2])
        yield lambda: d.Dataset()[0]
        yield lambda: d.default_collate([object()])
        yield lambda: d.default_collate([[1], [1, 2]])
        yield lambda: d.default_collate([np.array("a")])
        yield lambda: list(d.DataLoader(range(3), batch_size=3, collate_fn=lambda b: 1 / 0))

    for mine, theirs in zip(wrong(*BOTH[0]), wrong(*BOTH[1]), strict=True):
        assert _raised(theirs) is not None
        assert _raised(mine) == _raised(theirs)


Point = collections.namedtuple("Point", "x y")


def test_collate():
    def batches(lib, d):
        sample = {
            "tensor": lib.arange(3), "array": np.arange(2.0), "scalar": np.float32(2), "int": 3,
            "float": 0.5, "bool": True, "text": "a", "list": [1, lib.zeros(2)], "tuple": (1, 2.0),
        }  # fmt: skip
        made = d.default_collate([sample, sample])
        named = d.default_collate([Point(1, 2.0), Point(3, 4.0)])
        converted = d.default_convert({"a": np.arange(2), "b": [np.float64(3), "x"], "c": (1, 2)})
        return [made, named, type(named) is Point, converted, d.default_collate([b"a", b"b"])]

    _same(batches)


# --- Loaders ------------------------------------------------------------------------------------


class Squares:
    """A data set that says who made a sample."""

    def __init__(self, lib, length=13):
        self.lib, self.length = lib, length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return self.lib.tensor([i, i * i]), float(i)


LOADERS = [
    {"batch_size": 4, "shuffle": True},
    {"batch_size": 4, "drop_last": True},
    {"batch_size": None},
    {"batch_size": 5, "sampler": [3, 1, 2, 5, 9, 11]},
    {"batch_sampler": [[1, 2], [3], [4, 5, 6]]},
    {"batch_size": 2, "shuffle": True, "collate_fn": list},
]


@pytest.mark.parametrize("options", LOADERS)
@pytest.mark.parametrize("workers", [0, 2])
def test_loader(options, workers):
    def two_passes(lib, d):
        loader = d.DataLoader(Squares(lib), num_workers=workers, **options)
        return [[list(loader), list(loader)], len(loader)]

    if workers:  # what PyTorch gives with workers is what it gives without
        lib_, d_ = BOTH[0]
        lib_.manual_seed(7)
        mine = _plain(two_passes(lib_, d_)), lib_.rand(2).tolist()
        lib_.manual_seed(7)
        loader = d_.DataLoader(Squares(lib_), **options)
        plain = _plain([[list(loader), list(loader)], len(loader)])
        assert mine == (plain, lib_.rand(2).tolist())
    else:
        _same(two_passes)


def test_generator_of_a_loader():
    def passes(lib, d):
        generator = lib.Generator().manual_seed(11)
        loader = d.DataLoader(Squares(lib), 3, shuffle=True, generator=generator)
        return [list(loader), list(loader), lib.rand(3, generator=generator)]

    _same(passes)


class Seeds:
    """Samples that say what the worker's generators yield."""

    def __init__(self, lib):
        self.lib = lib

    def __len__(self):
        return 4

    def __getitem__(self, i):
        info: Any = data.get_worker_info() if self.lib is torch else oracle_data.get_worker_info()
        return (
            info.id, info.num_workers, info.seed % 1000, self.lib.initial_seed() % 1000,
            float(self.lib.rand(1)), float(np.random.rand()), random.random(),  # noqa: NPY002
        )  # fmt: skip


def test_seeds_of_workers():
    def loaded(lib, d):
        return list(d.DataLoader(Seeds(lib), batch_size=2, num_workers=2))

    assert len(_same(loaded)[1]) == 2
    base = 2**40 + 5
    assert _generate_state(base, 1) == oracle_worker._generate_state(base, 1)


class Stream(data.IterableDataset):
    """Samples of which each worker yields its own."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from (torch.as_tensor(i) for i in range(start, self.length, step))


class OracleStream(oracle_data.IterableDataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        info = oracle_data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from (oracle.tensor(i) for i in range(start, self.length, step))


@pytest.mark.parametrize(
    "options", [{"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}]
)
def test_iterable_datasets(options):
    def loaded(lib, d):
        kind = Stream if lib is torch else OracleStream
        alone = d.DataLoader(kind(10), **options)
        shared = d.DataLoader(kind(11), num_workers=2, **options)
        return [list(alone), len(alone), list(shared), list(d.ChainDataset([kind(2), kind(3)]))]

    _same(loaded)


def test_persistent_workers_and_broken_passes():
    loader = data.DataLoader(
        Squares(torch, 40), batch_size=2, num_workers=2, persistent_workers=True, prefetch_factor=3
    )
    whole = [x.tolist() for x, _ in loader]
    pids = {w.process.pid for w in loader._iterator._workers}
    assert next(iter(loader))[0].tolist() == whole[0]
    assert [x.tolist() for x, _ in loader] == whole
    assert {w.process.pid for w in loader._iterator._workers} == pids
    stream = data.DataLoader(Stream(9), batch_size=2, num_workers=2, persistent_workers=True)
    assert [x.tolist() for x in stream] == [x.tolist() for x in stream]
    folder = loader._iterator._folder
    del loader, stream
    gc.collect()
    assert not multiprocessing.active_children()
    assert not os.path.exists(folder)


class Broken:
    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 5:
            if self.how == "die":
                os._exit(3)
            if self.how == "sleep":
                time.sleep(30)
            if self.how == "key":
                raise KeyError("no such thing")
            raise ValueError(f"sample {i} is broken")
        return i


def test_errors_in_workers(monkeypatch):
    monkeypatch.setattr("minitorch.torch.utils.data.dataloader.FAREWELL", 0.3)
    for how, kind in (("value", ValueError), ("key", KeyError)):
        with pytest.raises(kind) as caught:
            list(data.DataLoader(Broken(how), batch_size=2, num_workers=1))
        lines = str(caught.value).splitlines()
        assert lines[0] == f"Caught {kind.__name__} in DataLoader worker process 0."
        assert lines[1] == "Original Traceback (most recent call last):"
        assert lines[-1].startswith(f"{kind.__name__}: ")
        del caught
        gc.collect()
    with pytest.raises(RuntimeError, match=r"worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(data.DataLoader(Broken("die"), batch_size=2, num_workers=1))
    started = time.monotonic()
    with pytest.raises(RuntimeError, match=r"timed out after 0\.3 seconds"):
        list(data.DataLoader(Broken("sleep"), batch_size=2, num_workers=2, timeout=0.3))
    assert time.monotonic() - started < 15
    gc.collect()
    assert not multiprocessing.active_children()

    def failing(worker_id):
        raise OSError("no disk")

    with pytest.raises(OSError, match="Caught OSError in DataLoader worker process 0"):
        list(data.DataLoader(Broken("value"), num_workers=1, worker_init_fn=failing))


class Large:
    def __len__(self):
        return 6

    def __getitem__(self, i):
        many = torch.full((64, 64), float(i))
        return {"big": many, "half": many.to(torch.bfloat16), "text": "x" * 20_000, "none": None}


def test_large_batches_share_memory():
    gc.collect()
    kept = list(data.DataLoader(Large(), batch_size=None, num_workers=2))
    for i, sample in enumerate(kept):
        assert sample["big"].sum().item() == 4096 * i
        assert sample["half"].dtype is torch.bfloat16
        sample["big"].add_(1)
        assert sample["big"][0, 0] == i + 1
        assert sample["text"] == "x" * 20_000
    assert not multiprocessing.active_children()


SCRIPT = """
import minitorch.torch as torch, signal, time
from minitorch.torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells' background jobs ignore it
    numbers = TensorDataset(torch.arange(6))
    spawned = DataLoader(numbers, 4, num_workers=1, multiprocessing_context="spawn")
    assert [x.tolist() for (x,) in spawned] == [[0, 1, 2, 3], [4, 5]]
    loader = DataLoader(TensorDataset(torch.arange(10_000)), batch_size=1, num_workers=2)
    for step, (x,) in enumerate(loader):
        if step == 5:
            print("ready", flush=True)
        time.sleep(0.01)
"""


def test_interrupt_ends_cleanly(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, cwd=os.getcwd(), env={**os.environ, "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    group = os.getpgid(process.pid)
    os.killpg(group, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert errors.count("Traceback") == 1
    assert errors.rstrip().endswith("KeyboardInterrupt")
    deadline = time.monotonic() + 10  # a worker notices that its loader has gone, and goes too
    while _running(group) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _running(group)


def _running(group):
    """The processes of a group that are not just waiting to be forgotten."""
    running = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    state, _, its_group = file.read().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(its_group) == group and state not in "ZX":
                running.append(entry)
    return running
