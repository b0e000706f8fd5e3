"""FSDP2 as its tutorial has it: blocks, then the model; DTensors, clipping, mixed precision, checkpoints of whole tensors."""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Transformer(nn.Module):
    def __init__(self, vocab=17, dim=16, layers=3):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Block(dim) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h))


def build(mesh, mixed):
    torch.manual_seed(0)
    model = Transformer()
    kwargs = {"mesh": mesh}
    if mixed:
        kwargs["mp_policy"] = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32
        )
    for layer in model.layers:
        fully_shard(layer, **kwargs)
    fully_shard(model, **kwargs)
    return model


def inspect_model(model):
    assert isinstance(model, Transformer)
    assert isinstance(model, FSDPModule)
    for param in model.parameters():
        assert param.placements == (Shard(0),)
        assert param.dtype == torch.float32
    p = model.output.weight
    print(
        f"rank {dist.get_rank()}: {tuple(p.shape)} {tuple(p.to_local().shape)} {p.numel()}",
        flush=True,
    )
    print(
        type(p).__name__,
        isinstance(p, DTensor),
        isinstance(p, nn.Parameter),
        p.placements,
        p.device_mesh.ndim,
        flush=True,
    )


def train(model, optim, steps, seed):
    torch.manual_seed(seed + dist.get_rank())
    for _ in range(steps):
        x = torch.randint(0, 17, (4, 8))
        loss = F.cross_entropy(model(x).float().flatten(0, 1), x.flatten())
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
        optim.step()
        optim.zero_grad()
        print(f"rank {dist.get_rank()} loss {loss.item():.3f} norm {norm.item():.3f}", flush=True)


def main():
    dist.init_process_group(backend="gloo")
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    mesh = init_device_mesh("cpu", (size,))
    model = build(mesh, mixed=False)
    inspect_model(model)
    optim = torch.optim.Adam(model.parameters(), lr=1e-2)
    train(model, optim, 4, 10)
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    model_state = get_model_state_dict(model, options=options)
    optim_state = get_optimizer_state_dict(model, optim, options=options)
    if rank == 0:
        print(sorted(model_state)[:3], tuple(model_state["output.weight"].shape), flush=True)
    again = build(mesh, mixed=False)
    load = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(again, model_state, options=load)
    other = torch.optim.Adam(again.parameters(), lr=1e-2)
    set_optimizer_state_dict(again, other, optim_state, options=load)
    train(again, other, 2, 20)
    sharded = {}
    for name, param in again.state_dict().items():
        full = param.full_tensor()
        sharded[name] = nn.Parameter(distribute_tensor(full, param.device_mesh, param.placements))
    again.load_state_dict(sharded, assign=True)
    train(build(mesh, mixed=True), other, 1, 30)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
