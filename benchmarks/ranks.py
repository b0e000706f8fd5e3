"""Ranks measured: losses, the cost of DDP, images a second, all-reduce beside PyTorch's gloo.

    python benchmarks/ranks.py [losses] [overhead] [speed] [allreduce]

Ranks compute on one core each. What is compared takes turns in one run, and each number is the median over
turns. `speed` needs as many idle cores as ranks.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
OURS, THEIRS = "minitorch.torch.distributed.run", "torch.distributed.run"
BATCH = 24  # of all ranks together, where losses are compared


# --- What ranks do, with either library -------------------------------------------------------


def models(torch: Any) -> dict[str, tuple[Callable[[], Any], Callable[[int], Any], Callable[[Any, Any], Any]]]:  # fmt: skip
    """The examples' networks without dropout: how one is made, a batch, and the loss of outputs."""
    sys.path.insert(0, str(ROOT / "examples"))
    from gpt import GPT  # type: ignore[import-not-found]
    from mnist_cnn import Net  # type: ignore[import-not-found]
    from word_language_model import RecurrentModel  # type: ignore[import-not-found]

    def cnn() -> Any:
        model = Net()
        model.dropout.p = 0.0
        return model

    def images(count: int) -> Any:
        return torch.randn(count, 1, 28, 28), torch.randint(0, 10, (count,))

    def text(count: int) -> Any:
        return torch.randint(0, 65, (count, 32)), torch.randint(0, 65, (count, 32))

    sizes = Namespace(length=32, width=64, heads=4, layers=2, dropout=0.0)
    cross_entropy = torch.nn.functional.cross_entropy
    return {
        "CNN": (cnn, images, cross_entropy),
        "GPT": (lambda: GPT(65, sizes), text, lambda s, y: cross_entropy(s.flatten(0, 1), y.flatten())),
        "LSTM": (lambda: RecurrentModel(65, 64, 2, 0.0), text, lambda s, y: cross_entropy(s.flatten(0, 1), y.flatten())),
    }  # fmt: skip


def train(torch: Any, name: str, parallel: bool, steps: int) -> list[float]:
    """The losses of a network: of ranks that share each batch, or of this process with the whole."""
    dist = torch.distributed
    make, batch, loss_of = models(torch)[name]
    torch.manual_seed(0)
    model = make()
    batches = [batch(BATCH) for _ in range(steps)]
    ranks, rank = (dist.get_world_size(), dist.get_rank()) if parallel else (1, 0)
    if parallel:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rows = BATCH // ranks
    part = slice(rows * rank, rows * (rank + 1))
    losses = []
    for x, y in batches:
        loss = loss_of(model(x[part]), y[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        told = loss.detach().clone()
        if parallel:
            dist.all_reduce(told)
            told /= ranks
        losses.append(told.item())
    return losses


def compare_losses(torch: Any) -> Any:
    """Losses of all ranks, and of one process."""
    names = ("CNN", "GPT", "LSTM")
    return {n: (train(torch, n, True, 10), train(torch, n, False, 10)) for n in names}


def stepper(torch: Any, parallel: bool, images: int) -> Callable[[], None]:
    """A training step of the CNN."""
    make, batch, loss_of = models(torch)["CNN"]
    torch.manual_seed(0)
    model = make()
    if parallel:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = batch(images)

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()

    for _ in range(3):
        step()
    return step


def measure_overhead(torch: Any) -> Any:
    """Seconds of a step alone and with DDP, in turns."""
    steps = stepper(torch, False, 256), stepper(torch, True, 256)
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(40):
        for i in (0, 1) if turn % 2 else (1, 0):
            began = time.process_time()
            steps[i]()
            times[i].append(time.process_time() - began)
    return [statistics.median(t) for t in times]


def measure_speed(torch: Any) -> Any:
    """Images a second of all ranks, batch 256 together, each on a core of its own; of ranks that do not talk; by processor time."""
    dist = torch.distributed
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[dist.get_rank() % len(cores)]})
    steps = [stepper(torch, parallel, 256 // dist.get_world_size()) for parallel in (True, False)]
    times: tuple[list[float], ...] = ([], [], [])
    for turn in range(60):
        i = turn % 2
        dist.barrier()
        began, used = time.perf_counter(), time.process_time()
        steps[i]()
        if i == 0:
            times[2].append(time.process_time() - used)
        times[i].append(time.perf_counter() - began)
    return [256 / statistics.median(t) for t in times]


def measure_allreduce(torch: Any) -> Any:
    """Seconds of an all-reduce by its megabytes."""
    dist, found = torch.distributed, {}
    for megabytes in (0.001, 0.1, 1, 8, 64):
        x, times = torch.ones(int(megabytes * (1 << 18))), []
        for _ in range(12 if megabytes > 8 else 30):
            dist.barrier()
            began = time.perf_counter()
            dist.all_reduce(x)
            times.append(time.perf_counter() - began)
            x.fill_(1.0)
        found[megabytes] = statistics.median(times[2:])
    return found


PARTS = {
    "losses": compare_losses, "overhead": measure_overhead, "speed": measure_speed, "allreduce": measure_allreduce,
}  # fmt: skip


def as_rank(part: str) -> None:
    """Be a rank, and let the first tell what was found."""
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    found = PARTS[part](torch)
    if torch.distributed.get_rank() == 0:
        sys.stdout.write(f"FOUND {json.dumps(found)}\n")
    torch.distributed.destroy_process_group()


# --- What is told ------------------------------------------------------------------------------


def ranks(part: str, count: int, launcher: str = OURS) -> Any:
    """What ranks of a library have found."""
    command = [sys.executable, "-m", launcher, "--nproc_per_node", str(count), __file__, "--rank", part]  # fmt: skip
    if launcher == THEIRS:
        command[3:3] = ["--standalone"]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found = done.stdout.partition("FOUND ")[2]  # mpiexec may write before it on the same line
    return json.loads(found.splitlines()[0])


def apart(first: list[float], second: list[float]) -> float:
    """The largest relative difference."""
    return max(abs(a - b) / abs(b) for a, b in zip(first, second, strict=True))


def tell_losses() -> None:
    """Ranks beside one process, and beside PyTorch's ranks."""
    for count in (1, 2, 4):
        found, theirs = ranks("losses", count), ranks("losses", count, THEIRS)
        for name, (together, alone) in found.items():
            print(
                f"losses, {name} on {count} ranks: {apart(together, alone):.1e} from one process with the "
                f"whole batch, {apart(together, theirs[name][0]):.1e} from PyTorch's DDP on as many"
            )


def tell_overhead() -> None:
    """DDP with one rank beside none."""
    alone, parallel = ranks("overhead", 1)
    print(f"overhead of DDP with one rank (CNN, batch 256): {100 * (parallel / alone - 1):.1f} % of {1e3 * alone:.1f} ms")  # fmt: skip


def tell_speed() -> None:
    """Images a second of one and two ranks, in turns."""
    turns = [(ranks("speed", 1), ranks("speed", 2)) for _ in range(5)]
    one, two = ([statistics.median(t[i][k] for t in turns) for k in range(3)] for i in (0, 1))
    ratios = " ".join(f"{t[1][0] / t[0][0]:.2f}" for t in turns)
    print(
        f"CNN, batch 256: one rank {one[0]:.0f} images/s, two ranks {two[0]:.0f}, ratio {two[0] / one[0]:.2f} (turns: {ratios}); "
        f"ranks that do not talk {two[1] / one[1]:.2f}; by processor time {two[2] / one[2]:.2f}"
    )


def tell_allreduce() -> None:
    """All-reduce beside gloo's, in turns."""
    turns = [(ranks("allreduce", 2), ranks("allreduce", 2, THEIRS)) for _ in range(3)]
    for megabytes in turns[0][0]:
        ours, theirs = (statistics.median(t[i][megabytes] for t in turns) for i in (0, 1))
        print(f"all-reduce of {megabytes} MB, two ranks: {1e3 * ours:.2f} ms, gloo {1e3 * theirs:.2f} ms")  # fmt: skip


def main() -> None:
    """Measure what was asked for."""
    if sys.argv[1:2] == ["--rank"]:
        as_rank(sys.argv[2])
        return
    told = {"losses": tell_losses, "overhead": tell_overhead, "speed": tell_speed, "allreduce": tell_allreduce}  # fmt: skip
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for part in sys.argv[1:] or told:
        told[part]()


if __name__ == "__main__":
    main()
