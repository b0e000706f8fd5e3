"""ZeroRedundancyOptimizer beside a plain optimizer, with its state gathered and loaded."""

import io
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.optim as optim
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP


def example(rank, world_size, use_zero, port):
    torch.manual_seed(0)
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = port
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    model = nn.Sequential(*[nn.Linear(20, 20) for _ in range(4)])
    ddp_model = DDP(model)
    loss_fn = nn.MSELoss()
    if use_zero:
        optimizer = ZeroRedundancyOptimizer(
            ddp_model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01
        )
    else:
        optimizer = torch.optim.Adam(ddp_model.parameters(), lr=0.01)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    torch.manual_seed(rank)
    for _ in range(4):
        optimizer.zero_grad()
        outputs = ddp_model(torch.randn(20, 20))
        labels = torch.randn(20, 20)
        loss_fn(outputs, labels).backward()
        optimizer.step()
        scheduler.step()
    total = sum(p.abs().double().sum() for p in model.parameters()).item()
    print(f"rank {rank} zero {use_zero}: params sum to {total:.4f}, lr {scheduler.get_last_lr()}")
    if use_zero:
        optimizer.consolidate_state_dict(to=0)
        if rank == 0:
            buffer = io.BytesIO()
            torch.save(optimizer.state_dict(), buffer)
            state = torch.load(io.BytesIO(buffer.getvalue()), weights_only=True)
            print("state of", len(state["state"]), "parameters", sorted(state["state"][0]))
            other = torch.optim.Adam(
                [p.detach().clone().requires_grad_() for p in model.parameters()], lr=0.1
            )
            other.load_state_dict(state)
            print("lr", other.param_groups[0]["lr"])
    dist.destroy_process_group()


if __name__ == "__main__":
    for use_zero in (True, False):
        mp.spawn(example, args=(2, use_zero, sys.argv[1]), nprocs=2, join=True)
