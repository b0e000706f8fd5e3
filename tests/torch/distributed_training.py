"""A program for torchrun: a network trained on all ranks, and faults on request.

`torchrun --nproc_per_node 2 distributed_training.py [what goes wrong]`
"""

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def losses():
    """The loss of each step, averaged over the ranks."""
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(48, 6), torch.randint(0, 3, (48,)))
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    ranks = dist.get_world_size()
    model = DistributedDataParallel(model, bucket_cap_mb=0.0002)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    loader = DataLoader(
        data, batch_size=12 // ranks, sampler=DistributedSampler(data, shuffle=False)
    )
    found = []
    for _ in range(2):
        for inputs, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean = loss.detach().clone()
            dist.all_reduce(mean, dist.ReduceOp.AVG)
            found.append(mean.item())
    return found


def go_wrong(how):
    """What happens on rank 1 while rank 0 waits for it."""
    if how == "restart" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os._exit(7)
    if how == "raise":
        raise ValueError("boom")
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hang":
        time.sleep(60)
    if how == "leave":
        sys.exit(0)
    if how == "mismatch":
        dist.broadcast(torch.ones(2), 0)


if __name__ == "__main__":
    how = sys.argv[1] if len(sys.argv) > 1 else ""
    dist.init_process_group("gloo", timeout=timedelta(seconds=2 if how == "hang" else 60))
    rank = int(os.environ["RANK"])
    if rank == int(os.environ["LOCAL_RANK"]) == dist.get_rank() == 0:
        print("losses", losses(), flush=True)
    else:
        losses()
    if rank == 1:
        go_wrong(how)
    try:
        dist.all_reduce(torch.ones(3))
    except dist.DistBackendError:
        if how == "hang":
            dist.barrier()  # must not wait again, nor meet what rank 1 sends late
        raise
    dist.destroy_process_group()
    print("done", rank, flush=True)
