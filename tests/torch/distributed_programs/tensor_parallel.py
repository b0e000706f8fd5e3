"""A device mesh of two dimensions, DTensors of all placements, and a feed-forward block split by columns and rows."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(8, 32)
        self.w2 = nn.Linear(32, 8)

    def forward(self, x):
        return self.w2(torch.relu(self.w1(x)))


def say(*words):
    if dist.get_rank() == 0:
        print(*words, flush=True)


def main():
    dist.init_process_group("gloo")
    size = dist.get_world_size()
    mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
    say(mesh.size(), mesh.ndim, mesh.mesh_dim_names, mesh.get_local_rank(), mesh["tp"].size())
    pair = init_device_mesh("cpu", (1, size), mesh_dim_names=("dp", "tp"))
    say(pair.shape, pair["dp"].size(), pair["tp"].size(), dist.get_world_size(pair.get_group("tp")))
    whole = torch.arange(24.0).reshape(6, 4)
    rows = distribute_tensor(whole, mesh, [Shard(0)])
    columns = distribute_tensor(whole, mesh, [Shard(1)])
    copies = distribute_tensor(whole, mesh, [Replicate()])
    for d in (rows, columns, copies):
        say(
            tuple(d.shape),
            d.placements,
            tuple(d.to_local().shape),
            torch.equal(d.full_tensor(), whole),
        )
    moved = rows.redistribute(mesh, [Shard(1)])
    say(moved.placements, torch.equal(moved.to_local(), columns.to_local()))
    local = DTensor.from_local(torch.ones(2, 3) * (dist.get_rank() + 1), mesh, [Shard(0)])
    say(tuple(local.shape), local.full_tensor().sum().item())
    say(torch.equal((rows * 2 + 1).full_tensor(), whole * 2 + 1), (rows * 2).placements)
    say(rows.sum().full_tensor().item(), rows.mean(0).full_tensor().tolist())
    torch.manual_seed(0)
    plain = FeedForward()
    torch.manual_seed(0)
    model = parallelize_module(
        FeedForward(), mesh, {"w1": ColwiseParallel(), "w2": RowwiseParallel()}
    )
    say(
        model.w1.weight.placements,
        tuple(model.w1.weight.shape),
        tuple(model.w1.weight.to_local().shape),
    )
    say(
        model.w2.weight.placements,
        tuple(model.w2.weight.to_local().shape),
        model.w2.bias.placements,
    )
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (plain, model)]
    for _ in range(3):
        x = torch.randn(5, 8)
        losses = [m(x).square().mean() for m in (plain, model)]
        for loss, optimizer in zip(losses, optimizers):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        say(f"{losses[0].item():.5f} {losses[1].item():.5f}")
    same = torch.allclose(model.w1.weight.full_tensor(), plain.w1.weight, atol=1e-5)
    say("as without ranks:", same)
    replicated = distribute_module(nn.Linear(3, 3), mesh)
    say(type(replicated.weight).__name__, replicated.weight.placements)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
