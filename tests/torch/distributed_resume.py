"""A program for torchrun that saves after each step and goes on from there, and may be killed on the way.

`torchrun --nproc_per_node 2 distributed_resume.py FOLDER [RANK STEP PHASE FRACTION]`: the rank kills itself in a
phase of a step (forward, backward, all_reduce, saving), after a fraction of the time that the phase took one step before.
"""

import hashlib
import json
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.nn.parallel import DistributedDataParallel

STEPS = 8
FOLDER = Path(sys.argv[1])
KILL = sys.argv[2:]
took: dict[str, float] = {}


@contextmanager
def phase(name, step):
    """Note how long a phase takes, and be killed in it if this is the one."""
    if KILL[:3] == [os.environ["RANK"], str(step), name]:
        threading.Timer(float(KILL[3]) * took.get(name, 0.0), die).start()
    began = time.monotonic()
    yield
    took[name] = time.monotonic() - began


def die():
    """End at once, and leave the time behind."""
    (FOLDER / "killed").write_text(repr(time.time()))
    os.kill(os.getpid(), signal.SIGKILL)


def digest(model):
    """A hash of all parameters."""
    return hashlib.sha256(
        b"".join(p.detach().numpy().tobytes() for p in model.parameters())
    ).hexdigest()


def main():
    """Train, from the last checkpoint on."""
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.Tanh(), torch.nn.Linear(512, 10))
    model = DistributedDataParallel(model, bucket_cap_mb=0.05)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    data, labels = torch.randn(STEPS * 48, 64), torch.randint(0, 10, (STEPS * 48,))
    done = []
    if (FOLDER / "last" / ".metadata").exists():
        of_model, of_optimizer = get_state_dict(model, optimizer)
        state = {"model": of_model, "optim": of_optimizer, "done": []}
        dcp.load(state, checkpoint_id=FOLDER / "last")  # pyright: ignore[reportPrivateImportUsage]
        set_state_dict(
            model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"]
        )
        done = state["done"]
    for step in range(len(done), STEPS):
        rows = 48 // size
        part = slice(48 * step + rows * rank, 48 * step + rows * (rank + 1))
        with phase("forward", step):
            loss = torch.nn.functional.cross_entropy(model(data[part]), labels[part])
        with phase("backward", step):
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        with phase("all_reduce", step):
            told = torch.cat([loss.detach().reshape(1), torch.ones(1 << 20)])
            dist.all_reduce(told, dist.ReduceOp.AVG)
        done.append([told[0].item(), digest(model)])
        with phase("saving", step):
            of_model, of_optimizer = get_state_dict(model, optimizer)
            dcp.save(  # pyright: ignore[reportPrivateImportUsage]
                {"model": of_model, "optim": of_optimizer, "done": done},
                checkpoint_id=FOLDER / "last",
            )
    if rank == 0:
        (FOLDER / "done").write_text(json.dumps(done))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
