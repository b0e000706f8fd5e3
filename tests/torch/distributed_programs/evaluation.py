"""An evaluation shared out among ranks: objects gathered, metrics reduced, `monitored_barrier`, subgroups, coalesced calls."""

import datetime
import os

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _get_default_group, get_process_group_ranks
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Meter:
    def __init__(self):
        self.total = torch.zeros(2, dtype=torch.float64)

    def update(self, correct, count):
        self.total += torch.tensor([correct, count], dtype=torch.float64)

    def reduce(self):
        if dist.is_available() and dist.is_initialized():
            dist.barrier()
            dist.all_reduce(self.total)
        return (self.total[0] / self.total[1]).item()


def main():
    dist.init_process_group(backend="gloo", timeout=datetime.timedelta(seconds=60))
    rank, size = dist.get_rank(), dist.get_world_size()
    assert rank == int(os.environ["RANK"])
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(50, 4), torch.randint(0, 2, (50,)))
    sampler = DistributedSampler(
        data, num_replicas=size, rank=rank, shuffle=True, seed=5, drop_last=True
    )
    meter, seen = Meter(), []
    for x, y in DataLoader(data, batch_size=7, sampler=sampler):
        predicted = (x.sum(1) > 0).long()
        meter.update((predicted == y).sum().item(), len(y))
        seen.extend(predicted.tolist())
    gathered = [None] * size if rank == 0 else None
    dist.gather_object({"rank": rank, "seen": seen}, gathered, dst=0)
    accuracy = meter.reduce()
    if rank == 0:
        print(
            f"accuracy {accuracy:.4f}", [(g["rank"], len(g["seen"])) for g in gathered], flush=True
        )
    mine, groups = dist.new_subgroups(group_size=1)
    print(f"rank {rank}: {get_process_group_ranks(mine)} {len(groups)}", flush=True)
    together, _ = dist.new_subgroups_by_enumeration([list(range(size))])
    dist.monitored_barrier(together, timeout=datetime.timedelta(seconds=30), wait_all_ranks=True)
    pieces = [torch.ones(3) * rank, torch.ones(2, 2)]
    for piece in pieces:
        dist.all_reduce(piece, group=together)
    work = dist.all_reduce(torch.ones(1), async_op=True)
    work.wait()
    if rank == 0:
        print([p.tolist() for p in pieces], work.is_completed(), dist.get_backend(), flush=True)
        print(
            _get_default_group().size(), dist.group.WORLD.rank(), str(dist.ReduceOp.MAX), flush=True
        )
        print(dist.get_debug_level(), dist.is_torchelastic_launched(), flush=True)
    messages = ["configuration", {"lr": 0.1}] if rank == 0 else [None, None]
    dist.broadcast_object_list(messages, src=0, device=torch.device("cpu"))
    print(f"rank {rank}: {messages}", flush=True)
    store = dist.distributed_c10d._get_default_store()
    store.set(f"me{rank}", str(rank))
    store.wait([f"me{r}" for r in range(size)])
    print(f"rank {rank}: {sorted(int(store.get(f'me{r}')) for r in range(size))}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
