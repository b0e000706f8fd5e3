"""torch.distributed.checkpoint as its recipe has it: an AppState, saved, loaded, saved in the background, turned into one file."""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn as nn
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.fsdp import fully_shard


class AppState(Stateful):
    def __init__(self, model, optimizer=None):
        self.model = model
        self.optimizer = optimizer

    def state_dict(self):
        model_state_dict, optimizer_state_dict = get_state_dict(self.model, self.optimizer)
        return {"model": model_state_dict, "optim": optimizer_state_dict}

    def load_state_dict(self, state_dict):
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state_dict["model"],
            optim_state_dict=state_dict["optim"],
        )


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(16, 16)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(16, 8)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def build(seed):
    torch.manual_seed(seed)
    model = fully_shard(ToyModel())
    return model, torch.optim.Adam(model.parameters(), lr=0.1)


def total(model):
    return sum(p.full_tensor().double().sum().item() for p in model.parameters())


def main(folder):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model, optimizer = build(0)
    torch.manual_seed(0)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.rand(8, 16)).sum().backward()
        optimizer.step()
    dcp.save({"app": AppState(model, optimizer), "step": 2}, checkpoint_id=f"{folder}/one")
    again, other = build(1)
    state = {"app": AppState(again, other), "step": 0}
    dcp.load(state_dict=state, checkpoint_id=f"{folder}/one")
    if rank == 0:
        print(f"loaded {state['step']}", flush=True)
    a, b = total(model), total(again)
    if rank == 0:
        print(f"{a:.4f} {b:.4f}", flush=True)
    future = dcp.async_save({"app": AppState(again, other)}, checkpoint_id=f"{folder}/two")
    future.result()
    writer, reader = (
        dcp.FileSystemWriter(f"{folder}/three"),
        dcp.FileSystemReader(f"{folder}/three"),
    )
    dcp.save({"model": again.state_dict()}, storage_writer=writer)
    plain = {"model": {k: torch.zeros(v.shape) for k, v in again.state_dict().items()}}
    dcp.load(plain, storage_reader=reader)
    if rank == 0:
        print({k: tuple(v.shape) for k, v in plain["model"].items()}, flush=True)
        print(f"{sum(v.double().sum() for v in plain['model'].values()):.4f}", flush=True)
    dist.barrier()
    if rank == 0:
        dcp_to_torch_save(f"{folder}/three", f"{folder}/whole.pt")
        whole = torch.load(f"{folder}/whole.pt", weights_only=True)
        print(sorted(whole["model"]), flush=True)
        torch_save_to_dcp(f"{folder}/whole.pt", f"{folder}/four")
        print(os.path.exists(f"{folder}/four/.metadata"), flush=True)
    dist.barrier()
    try:
        dcp.load({"nothing": torch.zeros(1)}, checkpoint_id=f"{folder}/three")
    except BaseException as error:
        print(f"rank {rank}: {type(error).__name__}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
