"""DDP with autocast, with torch.compile on either side of it, gradient accumulation, clipping, EMA."""

import contextlib
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.head = nn.Linear(4 * 36, 5)

    def forward(self, x):
        return self.head(F.relu(self.bn(self.conv(x))).flatten(1))


def train(kind, steps=6):
    torch.manual_seed(0)
    model = Net()
    if kind == "compiled inside":
        ddp = DDP(torch.compile(model, backend="eager"))
    elif kind == "compiled outside":
        ddp = torch.compile(DDP(model), backend="eager")
    else:
        ddp = DDP(model)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=1e-2)
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    torch.manual_seed(100 + dist.get_rank())
    data = [(torch.randn(6, 1, 8, 8), torch.randint(0, 5, (6,))) for _ in range(2 * steps)]
    context = (
        torch.autocast("cpu", dtype=torch.bfloat16)
        if kind == "autocast"
        else contextlib.nullcontext()
    )
    losses = []
    for i, (x, y) in enumerate(data):
        last = i % 2 == 1
        sync = (
            ddp.no_sync() if not last and kind != "compiled outside" else contextlib.nullcontext()
        )
        with sync:
            with context:
                loss = F.cross_entropy(ddp(x), y) / 2
            loss.backward()
        if last:
            nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            scheduler.step()
            ema.update_parameters(model)
            losses.append(loss.item())
    digits = 2 if kind == "autocast" else 4
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, losses)
    if dist.get_rank() == 0:
        print(kind, [[round(v, digits) for v in rank] for rank in every], flush=True)
        print(len(list(ema.module.parameters())), f"{scheduler.get_last_lr()[0]:.3g}", flush=True)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    assert int(os.environ["WORLD_SIZE"]) == dist.get_world_size()
    for kind in ("plain", "autocast", "compiled inside", "compiled outside"):
        train(kind)
    dist.destroy_process_group()
