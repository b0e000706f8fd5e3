"""Train one network on several processes, each with a part of every batch.

    torchrun --nproc_per_node 2 examples/ranks.py     with PyTorch
    minitorch run --nproc 2 examples/ranks.py         with MiniTorch

Shows: a process group, a sampler that shares out the data, DistributedDataParallel, and that
the loss is that of one process with the whole batch: try other numbers of ranks.
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main() -> None:
    """Fit a sine on all ranks, and let rank 0 tell."""
    dist.init_process_group("gloo")
    ranks = dist.get_world_size()
    torch.manual_seed(0)
    x = torch.linspace(-3, 3, 240).reshape(-1, 1)
    data = TensorDataset(x, torch.sin(x))
    sampler = DistributedSampler(data, seed=1)
    loader = DataLoader(data, batch_size=24 // ranks, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(20):
        sampler.set_epoch(epoch)
        total = torch.zeros(())
        for inputs, wanted in loader:
            loss = nn.functional.mse_loss(model(inputs), wanted)
            optimizer.zero_grad()
            loss.backward()  # averages the gradients of all ranks
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total, dist.ReduceOp.AVG)
        if dist.get_rank() == 0 and epoch % 5 == 4:
            sys.stdout.write(f"epoch {epoch + 1}: loss {total.item() / len(loader):.4f}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
