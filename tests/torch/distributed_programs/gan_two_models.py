"""Two models in DDP that are trained in turns, SyncBatchNorm made and not used, frozen layers, hooks on parameters."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    generator = DistributedDataParallel(
        nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    )
    critic = DistributedDataParallel(
        nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)),
        broadcast_buffers=False,
    )
    g_opt = torch.optim.Adam(generator.parameters(), lr=1e-2, betas=(0.5, 0.9))
    d_opt = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.5, 0.9))
    torch.manual_seed(50 + rank)
    for step in range(6):
        real = torch.randn(16, 2) + 2
        fake = generator(torch.randn(16, 4)).detach()
        d_loss = (
            F.softplus(-critic(torch.cat([real, fake]))[:16]).mean()
            + F.softplus(critic(torch.cat([real, fake]))[16:]).mean()
        )
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
        for p in critic.parameters():
            p.requires_grad_(False)
        g_loss = F.softplus(-critic(generator(torch.randn(16, 4)))).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        for p in critic.parameters():
            p.requires_grad_(True)
        print(f"rank {rank} step {step}: {d_loss.item():.4f} {g_loss.item():.4f}", flush=True)
    backbone = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    for p in backbone[0].parameters():
        p.requires_grad = False
    order = []
    for name, p in backbone.named_parameters():
        if p.requires_grad:
            p.register_post_accumulate_grad_hook(lambda _, name=name: order.append(name))
    tuned = DistributedDataParallel(backbone)
    tuned(torch.randn(6, 2)).sum().backward()
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(
        nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4))
    )
    if rank == 0:
        print(
            order,
            [p.grad is None for p in tuned.parameters()],
            type(converted[1]).__name__,
            flush=True,
        )
        print(f"{tuned.module is backbone} {len(tuned.state_dict())}", flush=True)
    try:
        DistributedDataParallel(nn.ReLU())
    except RuntimeError as error:
        print(f"rank {rank}: {str(error)[:60]}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
