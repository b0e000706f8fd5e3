"""A program for torchrun: DistributedDataParallel under torch.compile beside the same training without it.

`torchrun --nproc_per_node 2 distributed_compiled.py [kill]`
"""

import json
import os
import signal
import sys
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Branches(nn.Module):
    """A layer that is computed and dropped, and one that only some ranks use."""

    def __init__(self, rank):
        super().__init__()
        self.first, self.idle = nn.Linear(6, 16), nn.Linear(6, 16)
        self.last, self.other = nn.Linear(16, 3), nn.Linear(16, 3)
        self.rank = rank

    def forward(self, x):
        self.idle(x)
        hidden = self.first(x).tanh()
        return (self.last if self.rank == 0 else self.other)(hidden)


def network(kind):
    torch.manual_seed(3)
    if kind == "branches":
        return Branches(dist.get_rank())
    norms = [nn.BatchNorm1d(16)] if kind == "buffers" else []
    return nn.Sequential(nn.Linear(6, 16, bias=not norms), *norms, nn.Tanh(), nn.Linear(16, 3))


def trained(how, kind, steps=34, die_at=None, **settings):
    """Losses, parameters and buffers after some steps, how many were played, and the notices."""
    model = torch.compile(network(kind)) if how == "inside" else network(kind)
    parallel = DistributedDataParallel(model, bucket_cap_mb=0.0002, **settings)
    called = torch.compile(parallel) if how == "around" else parallel
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)

    def step(x, y):
        optimizer.zero_grad(set_to_none=kind != "zeros")
        if kind == "no_sync":
            with parallel.no_sync():
                nn.functional.cross_entropy(called(x + 1), y).backward()
        loss = nn.functional.cross_entropy(called(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(parallel.parameters(), 1.0)
        optimizer.step()
        return loss

    if how == "step":
        step = torch.compile(step)
    torch.manual_seed(10 + dist.get_rank())
    losses = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for i in range(steps):
            if i == die_at and dist.get_rank() == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            losses.append(step(torch.randn(8, 6), torch.randint(0, 3, (8,))).item())
            scheduler.step()
    compiled = {"step": step, "around": called, "inside": model}.get(how)
    compiled = getattr(compiled, "_compiled", compiled)
    tensors = [*parallel.parameters(), *parallel.buffers()]
    plays = sum(each.plays for each in getattr(compiled, "traced", ()))
    return losses, [t.tolist() for t in tensors], plays, [str(w.message) for w in said]


CASES = {
    "plain": {}, "buffers": {}, "zeros": {}, "no_sync": {}, "found": {"find_unused_parameters": True},
    "branches": {"find_unused_parameters": True}, "views": {"gradient_as_bucket_view": True},
}  # fmt: skip

if __name__ == "__main__":
    dist.init_process_group("gloo")
    if "kill" in sys.argv:
        trained("step", "plain", die_at=32)
    for case, settings in CASES.items():
        for how in ("eager", "step", "around", "inside"):
            found = trained(how, case, **settings)
            sys.stdout.write(json.dumps([dist.get_rank(), case, how, *found]) + "\n")
    dist.destroy_process_group()
