"""Hooks that compress gradients; buckets as memory of gradients; a static graph; a hook written by hand."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as default
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
from torch.nn.parallel import DistributedDataParallel as DDP


def hand_written(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    fut = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True).get_future()

    def then(fut):
        state.append(
            (bucket.index(), bucket.is_last(), len(bucket.gradients()), len(bucket.parameters()))
        )
        return fut.value()[0]

    return fut.then(then)


def train(name, register=None, **options):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2)
    )
    ddp = DDP(model, **options)
    if register is not None:
        register(ddp)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(dist.get_rank())
    for _ in range(5):
        x = torch.randn(16, 8)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(ddp(x), x[:, :2])
        loss.backward()
        optimizer.step()
    total = loss.detach().clone()
    dist.all_reduce(total, dist.ReduceOp.AVG)
    if dist.get_rank() == 0:
        print(f"{name}: {total.item():.4f}", flush=True)


def main():
    dist.init_process_group("gloo")
    train("plain")
    train("allreduce", lambda m: m.register_comm_hook(None, default.allreduce_hook))
    train("fp16", lambda m: m.register_comm_hook(None, default.fp16_compress_hook))
    said = []
    train("by hand", lambda m: m.register_comm_hook(said, hand_written), bucket_cap_mb=0.002)
    if dist.get_rank() == 0:
        print(sorted(said[-4:]), flush=True)
    state = powersgd.PowerSGDState(
        process_group=None,
        matrix_approximation_rank=2,
        start_powerSGD_iter=2,
        min_compression_rate=0.5,
    )
    train("powerSGD", lambda m: m.register_comm_hook(state, powersgd.powerSGD_hook))
    train(
        "wrapped",
        lambda m: m.register_comm_hook(None, default.fp16_compress_wrapper(default.allreduce_hook)),
    )
    train("views", gradient_as_bucket_view=True)
    train("static", static_graph=True)
    ddp = DDP(nn.Linear(4, 4), gradient_as_bucket_view=True)
    ddp(torch.ones(1, 4)).sum().backward()
    first, second = (p.grad for p in ddp.parameters())
    same = first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
    if dist.get_rank() == 0:
        print("gradients share the bucket:", same, flush=True)
    try:
        ddp.register_comm_hook(None, hook="no hook")
    except TypeError as error:
        print(f"rank {dist.get_rank()}: {error}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
