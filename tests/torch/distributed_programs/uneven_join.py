"""Ranks with different numbers of batches: `Join`, and DDP's own `join`."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer as ZeRO
from torch.nn.parallel import DistributedDataParallel as DDP

WORLD_SIZE = 2
NUM_INPUTS = 5


def worker(rank, port):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = port
    dist.init_process_group(backend="gloo", rank=rank, world_size=WORLD_SIZE)
    torch.manual_seed(0)
    model = DDP(torch.nn.Linear(3, 1))
    inputs = [torch.randn(2, 3) + rank for _ in range(NUM_INPUTS + rank)]
    num_inputs = 0
    with Join([model]):
        for input in inputs:
            num_inputs += 1
            loss = model(input).sum()
            loss.backward()
    print(f"Rank {rank} has exhausted all {num_inputs} of its inputs!")
    print(
        f"rank {rank}",
        [[round(v, 4) for v in p.grad.flatten().tolist()] for p in model.parameters()],
    )
    optim = ZeRO(model.parameters(), torch.optim.Adam, lr=0.01)
    with Join([model, optim]):
        for input in inputs:
            loss = model(input).square().sum()
            loss.backward()
            optim.step()
            optim.zero_grad()
    print(f"rank {rank}", [[round(v, 4) for v in p.flatten().tolist()] for p in model.parameters()])
    with model.join(divide_by_initial_world_size=False):
        for input in inputs:
            model.zero_grad()
            model(input).square().sum().backward()
    print(
        f"rank {rank}",
        [[round(v, 3) for v in p.grad.flatten().tolist()] for p in model.parameters()],
    )
    try:
        with Join([model], throw_on_early_termination=True):
            for input in inputs:
                model(input).sum().backward()
    except RuntimeError as error:
        print(f"rank {rank}: {error}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, nprocs=WORLD_SIZE, args=(sys.argv[1],), join=True)
