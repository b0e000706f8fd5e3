"""FSDP as its first tutorials have it: wrapping policies, mixed precision, clipping, accumulation, states of whole tensors."""

import copy
import functools
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import (
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    ShardingStrategy,
    StateDictType,
)
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.fully_sharded_data_parallel import BackwardPrefetch
from torch.distributed.fsdp.wrap import (
    ModuleWrapPolicy,
    enable_wrap,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
    wrap,
)


CPU = torch.device("cpu")  # or the number of a GPU


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 8, 3, 1)
        self.fc1 = nn.Linear(200, 33)
        self.fc2 = nn.Linear(33, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        return F.log_softmax(self.fc2(F.relu(self.fc1(torch.flatten(x, 1)))), dim=1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(19, 12)
        layer = functools.partial(nn.TransformerEncoderLayer, 12, 3, 24, dropout=0.0)
        self.layers = nn.ModuleList(layer(batch_first=True) for _ in range(3))
        self.register_buffer("scale", torch.tensor([2.0]))
        self.head = nn.Linear(12, 19)

    def forward(self, tokens):
        x = self.embed(tokens) * self.scale
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def say(*words):
    print(f"rank {dist.get_rank()}: {' '.join(map(str, words))}", flush=True)


def train_net(model, steps, accumulate=1):
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    torch.manual_seed(7 + dist.get_rank())
    for _ in range(steps):
        optimizer.zero_grad()
        for i in range(accumulate):
            x, y = torch.randn(5, 1, 14, 14), torch.randint(0, 10, (5,))
            if i + 1 < accumulate:
                with model.no_sync():
                    F.nll_loss(model(x), y, reduction="sum").backward()
            else:
                loss = F.nll_loss(model(x), y, reduction="sum")
                loss.backward()
        norm = model.clip_grad_norm_(4.0)
        optimizer.step()
        scheduler.step()
        summed = torch.tensor([loss.item(), 5.0])
        dist.all_reduce(summed, op=dist.ReduceOp.SUM)
        say(f"loss {summed[0] / summed[1]:.4f} norm {norm.item():.3f}")


def train_encoder(model, optimizer, steps):
    torch.manual_seed(70 + dist.get_rank())
    for _ in range(steps):
        tokens = torch.randint(0, 19, (2, 6))
        loss = F.cross_entropy(model(tokens).flatten(0, 1).float(), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        say(f"encoder {loss.item():.3f}")


def encoder(**options):
    torch.manual_seed(1 + options.pop("seed", 0))
    policy = functools.partial(
        transformer_auto_wrap_policy, transformer_layer_cls={nn.TransformerEncoderLayer}
    )
    options.setdefault("auto_wrap_policy", policy)
    return FSDP(Encoder(), use_orig_params=True, device_id=CPU, **options)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    size_policy = functools.partial(size_based_auto_wrap_policy, min_num_params=400)
    net = FSDP(Net(), auto_wrap_policy=size_policy, device_id=CPU)
    if dist.get_rank() == 0:
        print(net, flush=True)
    train_net(net, 3)
    train_net(net, 2, accumulate=3)
    state = net.state_dict()  # whole tensors, the names of the plain module
    say(sorted(state), tuple(state["fc1.weight"].shape), f"{state['fc1.weight'].abs().sum():.4f}")
    plain = Net()
    say(plain.load_state_dict(state))
    with FSDP.summon_full_params(net):
        say(
            [tuple(p.shape) for p in net.parameters()][:3], sum(p.numel() for p in net.parameters())
        )

    model = encoder(
        sharding_strategy=ShardingStrategy.SHARD_GRAD_OP,
        backward_prefetch=BackwardPrefetch.BACKWARD_PRE,
        cpu_offload=CPUOffload(offload_params=False),
        forward_prefetch=True,
        limit_all_gathers=True,
    )
    say(len(FSDP.fsdp_modules(model)), isinstance(model.layers[1], FSDP), model.scale.tolist())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    train_encoder(model, optimizer, 3)
    FSDP.set_state_dict_type(
        model,
        StateDictType.FULL_STATE_DICT,
        FullStateDictConfig(rank0_only=True),
        FullOptimStateDictConfig(rank0_only=False),
    )
    saved, kept = model.state_dict(), FSDP.optim_state_dict(model, optimizer)
    say(len(saved), sorted(kept["state"])[:2], tuple(kept["state"]["head.weight"]["exp_avg"].shape))
    path = os.path.join(sys.argv[1], "model.pt")
    if dist.get_rank() == 0:
        torch.save(saved, path)
    dist.barrier()
    other = encoder(seed=1)
    with FSDP.state_dict_type(other, StateDictType.FULL_STATE_DICT):
        say(other.load_state_dict(torch.load(path)))
        another = torch.optim.AdamW(other.parameters(), lr=0.02)
        another.load_state_dict(FSDP.optim_state_dict_to_load(other, another, copy.deepcopy(kept)))
    train_encoder(other, another, 1)

    policy = MixedPrecision(
        param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.bfloat16
    )
    low = encoder(
        mixed_precision=policy, auto_wrap_policy=ModuleWrapPolicy({nn.TransformerEncoderLayer})
    )
    out = low(torch.randint(0, 19, (2, 6)))
    say(out.dtype, next(low.parameters()).dtype)
    train_encoder(low, torch.optim.SGD(low.parameters(), lr=0.1), 1)

    torch.manual_seed(5)
    with enable_wrap(
        wrapper_cls=FSDP, device_id=CPU, sharding_strategy=ShardingStrategy.FULL_SHARD
    ):
        hand = nn.Sequential(wrap(nn.Linear(200, 20)), nn.ReLU(), wrap(nn.Linear(20, 10)))
    hand = FSDP(
        nn.Sequential(nn.Flatten(), nn.Linear(196, 200), hand, nn.LogSoftmax(1)), device_id=CPU
    )
    train_net(hand, 2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
