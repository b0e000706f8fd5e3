"""Many steps with a DataLoader of two worker processes: memory stays flat, no process is left.

    python benchmarks/torch_loader.py [--steps 10000] [--workers 2]

Trains a small network, and prints the memory of this process and how many children it has.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path

import minitorch.torch as torch
from minitorch.torch import nn
from minitorch.torch.utils.data import DataLoader, TensorDataset


def memory() -> float:
    """MiB of memory that this process uses now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def children() -> int:
    """How many processes this one has started and that are not gone, zombies included."""
    return len(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Memory and processes over many steps.")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(argv)
    torch.manual_seed(0)
    x = torch.randn(4000, 32)
    data = TensorDataset(x, (x.sum(1) > 0).long())
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters())
    loader = DataLoader(data, batch_size=20, shuffle=True, num_workers=options.workers)
    done, start, seen = 0, time.perf_counter(), []
    while done < options.steps:
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            done += 1
            if done % (options.steps // 10) == 0:
                seen.append(memory())
                print(
                    f"step {done:6} | loss {loss.item():.4f} | {seen[-1]:.1f} MiB | {children()} workers",
                    flush=True,
                )
            if done == options.steps:
                break
    del loader
    growth = seen[-1] - seen[1]
    print(
        f"{time.perf_counter() - start:.0f} s; memory grew by {growth:.1f} MiB after the second line; {children()} children left"
    )
    return int(growth > 5 or children() > 0)


if __name__ == "__main__":
    sys.exit(main())
