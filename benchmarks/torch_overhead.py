"""What operations, most of them small, and whole steps cost: here, in another checkout, and in PyTorch, turn by turn.

    python benchmarks/torch_overhead.py [--only NAME ...] [--against FOLDER] [--rounds 6]

Each library computes in a process of its own, on one thread; the processes take turns, and each number
is the least processor time of a call, in microseconds, over all turns: what a call costs on a machine that does other
things as well. `--against` names another checkout of this repository, as `git worktree add` makes one.
Kernels are loaded first, as in a program that has met a large tensor.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch_steps import MODELS

ROOT = Path(__file__).parent.parent
TURN, BATCHES = 4e-4, 25  # seconds of a batch of calls, and how many a turn has

Function = Callable[[Any, Any, Any], Any]
"""Of the library, its `nn.functional`, and a tensor."""

OPERATIONS: dict[str, tuple[tuple[int, ...], Function]] = {
    "add": ((10, 10), lambda torch, f, x: x + x),
    "softmax": ((10, 10), lambda torch, f, x: x.softmax(-1)),
    "log_softmax": ((10, 10), lambda torch, f, x: x.log_softmax(-1)),
    "layer_norm": ((10, 10), lambda torch, f, x: f.layer_norm(x, (10,))),
    "sigmoid": ((10, 10), lambda torch, f, x: x.sigmoid()),
    "logsigmoid": ((10, 10), lambda torch, f, x: f.logsigmoid(x)),
    "relu": ((10, 10), lambda torch, f, x: x.relu()),
    "max": ((10, 10), lambda torch, f, x: x.max()),
    "sum(1)": ((10, 10), lambda torch, f, x: x.sum(1)),
    "chunk": ((10, 10), lambda torch, f, x: x.chunk(2)),
    "view": ((10, 10), lambda torch, f, x: x.view(5, 20)),
    "matmul": ((10, 10), lambda torch, f, x: x @ x),
    "max_pool2d": ((1, 2, 8, 8), lambda torch, f, x: f.max_pool2d(x, 2)),
    "avg_pool2d": ((1, 2, 8, 8), lambda torch, f, x: f.avg_pool2d(x, 2)),
    "bce_with_logits": ((10, 1), lambda torch, f, x: f.binary_cross_entropy_with_logits(x, x.detach())),
    "zeros": ((1,), lambda torch, f, x: torch.zeros(3)),
    "full": ((1,), lambda torch, f, x: torch.full((3, 4), 1.5)),
    "zeros_like": ((3, 4), lambda torch, f, x: torch.zeros_like(x)),
    "ones": ((1,), lambda torch, f, x: torch.ones(3, 4)),
    "full_like": ((3, 4), lambda torch, f, x: torch.full_like(x, 2.0)),
    "arange": ((1,), lambda torch, f, x: torch.arange(10)),
    "rand": ((1,), lambda torch, f, x: torch.rand(3, 4)),
    "tensor": ((1,), lambda torch, f, x: torch.tensor([1.0, 2.0, 3.0])),
    "mul by a number": ((10, 10), lambda torch, f, x: x * 2.0),
    "div": ((10, 10), lambda torch, f, x: x / x),
    "pow": ((10, 10), lambda torch, f, x: x**2),
    "sqrt": ((10, 10), lambda torch, f, x: x.sqrt()),
    "exp": ((10, 10), lambda torch, f, x: x.exp()),
    "tanh": ((10, 10), lambda torch, f, x: x.tanh()),
    "gelu": ((10, 10), lambda torch, f, x: f.gelu(x)),
    "clamp": ((10, 10), lambda torch, f, x: x.clamp(0.2, 0.8)),
    "where": ((10, 10), lambda torch, f, x: torch.where(x > 0.5, x, x)),
    "eq": ((10, 10), lambda torch, f, x: x == x),
    "mean": ((10, 10), lambda torch, f, x: x.mean()),
    "std": ((10, 10), lambda torch, f, x: x.std()),
    "var(1)": ((10, 10), lambda torch, f, x: x.var(1)),
    "prod(1)": ((10, 10), lambda torch, f, x: x.prod(1)),
    "max(1)": ((10, 10), lambda torch, f, x: x.max(1)),
    "amax(1)": ((10, 10), lambda torch, f, x: x.amax(1)),
    "argmax(1)": ((10, 10), lambda torch, f, x: x.argmax(1)),
    "norm": ((10, 10), lambda torch, f, x: x.norm()),
    "logsumexp": ((10, 10), lambda torch, f, x: x.logsumexp(1)),
    "cumsum": ((10, 10), lambda torch, f, x: x.cumsum(1)),
    "sort": ((10, 10), lambda torch, f, x: x.sort()),
    "topk": ((10, 10), lambda torch, f, x: x.topk(3)),
    "cat": ((10, 10), lambda torch, f, x: torch.cat((x, x))),
    "stack": ((10, 10), lambda torch, f, x: torch.stack((x, x))),
    "split": ((10, 10), lambda torch, f, x: x.split(5)),
    "unbind": ((3, 10), lambda torch, f, x: x.unbind()),
    "transpose": ((10, 10), lambda torch, f, x: x.transpose(0, 1)),
    "permute": ((2, 5, 10), lambda torch, f, x: x.permute(2, 0, 1)),
    "unsqueeze": ((10, 10), lambda torch, f, x: x.unsqueeze(0)),
    "expand": ((1, 10), lambda torch, f, x: x.expand(10, 10)),
    "reshape": ((10, 10), lambda torch, f, x: x.reshape(-1)),
    "x[0]": ((10, 10), lambda torch, f, x: x[0]),
    "x[:, 1:3]": ((10, 10), lambda torch, f, x: x[:, 1:3]),
    "x[[0, 1]]": ((10, 10), lambda torch, f, x: x[[0, 1]]),
    "x[x > 0.5]": ((10, 10), lambda torch, f, x: x[x > 0.5]),
    "gather": ((10, 10), lambda torch, f, x: x.gather(1, x.detach().long())),
    "scatter": ((10, 10), lambda torch, f, x: x.scatter(1, x.detach().long(), x)),
    "index_select": ((10, 10), lambda torch, f, x: x.index_select(0, x.detach()[0].long())),
    "embedding": ((10, 10), lambda torch, f, x: f.embedding(x.detach()[0].long(), x)),
    "clone": ((10, 10), lambda torch, f, x: x.clone()),
    "contiguous": ((10, 10), lambda torch, f, x: x.t().contiguous()),
    "to double": ((10, 10), lambda torch, f, x: x.double()),
    "detach": ((10, 10), lambda torch, f, x: x.detach()),
    "add_": ((10, 10), lambda torch, f, x: x.detach().add_(0.0)),
    "zero_": ((1,), lambda torch, f, x: torch.empty(4).zero_()),
    "item": ((1,), lambda torch, f, x: x.item()),
    "linear": ((10, 10), lambda torch, f, x: f.linear(x, x)),
    "mse_loss": ((10, 10), lambda torch, f, x: f.mse_loss(x, x)),
    "cross_entropy": ((10, 10), lambda torch, f, x: f.cross_entropy(x, x.detach()[0].long())),
    "dropout": ((10, 10), lambda torch, f, x: f.dropout(x, 0.5)),
    "batch_norm": ((10, 10), lambda torch, f, x: f.batch_norm(x, None, None, training=True)),
    "conv2d": ((1, 1, 8, 8), lambda torch, f, x: f.conv2d(x, x[:, :, :3, :3])),
    "einsum": ((10, 10), lambda torch, f, x: torch.einsum("ij,jk->ik", x, x)),
    "bmm": ((2, 5, 5), lambda torch, f, x: torch.bmm(x, x)),
    "sum(1) of 256 x 256": ((256, 256), lambda torch, f, x: x.sum(1)),
    "sum(0) of 256 x 256": ((256, 256), lambda torch, f, x: x.sum(0)),
    "add and backward": ((10, 10), lambda torch, f, x: (x.detach().requires_grad_() + x).sum().backward()),
    "softmax of 512 x 512": ((512, 512), lambda torch, f, x: x.softmax(1)),
    "softmax(0) of 512 x 512": ((512, 512), lambda torch, f, x: x.softmax(0)),
    "layer_norm of 512 x 512": ((512, 512), lambda torch, f, x: f.layer_norm(x, (512,))),
    "amax of 512 x 512": ((512, 512), lambda torch, f, x: x.amax()),
    "amax(0) of 512 x 512": ((512, 512), lambda torch, f, x: x.amax(0)),
    "argmax(0) of 512 x 512": ((512, 512), lambda torch, f, x: x.argmax(0)),
    "cumsum(0) of 512 x 512": ((512, 512), lambda torch, f, x: x.cumsum(0)),
    "gather of 512 x 512": ((512, 512), lambda torch, f, x: x.gather(0, (x * 511).long())),
    "rows of 512 x 512": ((512, 512), lambda torch, f, x: x.index_select(0, (x[0] * 511).long())),
    "columns of 512 x 512": ((512, 512), lambda torch, f, x: x.index_select(1, (x[0] * 511).long())),
    "batch_norm of images": ((8, 32, 32, 32), lambda torch, f, x: f.batch_norm(x, None, None, training=True)),
    "max_pool2d of images": ((8, 32, 32, 32), lambda torch, f, x: f.max_pool2d(x, 3, 2, 1)),
    "conv2d of images": ((8, 32, 32, 32), lambda torch, f, x: f.conv2d(x, x[:, :, :3, :3], padding=1)),
    "scatter of 512 x 512": ((512, 512), lambda torch, f, x: x.scatter(1, (x * 511).long(), x.detach())),
}  # fmt: skip
STEPS = {f"step of {name}": make for name, make in MODELS.items()}


def prepared(torch: Any, case: str) -> Callable[[], Any]:
    """What a case calls again and again; "recorded" cases have an input that wants a gradient."""
    torch.manual_seed(0)
    if case in STEPS:
        return STEPS[case](torch)
    shape, fn = OPERATIONS[case.removesuffix(", recorded")]
    x = torch.rand(*shape).requires_grad_(case.endswith(", recorded"))
    return lambda: fn(torch, torch.nn.functional, x)


def seconds(call: Callable[[], Any], times: int) -> float:
    """Processor time of a call, the mean of so many."""
    start = time.thread_time()
    for _ in range(times):
        call()
    return (time.thread_time() - start) / times


def work(library: str) -> None:
    """Answer names of cases, a line each, with the least time of a batch."""
    torch: Any = __import__(library, fromlist=["nn"])
    torch.set_num_threads(1)
    torch.ones(300_000).exp().sum()
    known: dict[str, tuple[Callable[[], Any], int]] = {}
    for line in sys.stdin:
        case = line.strip()
        if case not in known:
            call = prepared(torch, case)
            seconds(call, 3)
            known[case] = call, max(1, int(TURN / seconds(call, 3)))
        print(min(seconds(*known[case]) for _ in range(BATCHES)), flush=True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Overhead of calls, turn by turn.")
    parser.add_argument("--only", nargs="*", default=[], help="cases whose name contains one")
    parser.add_argument("--against", metavar="FOLDER", help="another checkout")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.work:
        work(options.work)
        return 0
    places = {"before": options.against, "ours": str(ROOT), "PyTorch": ""}
    one = {f"{n}_NUM_THREADS": "1" for n in ("OMP", "NUMBA", "OPENBLAS", "MKL")}
    workers = {
        who: subprocess.Popen(
            [sys.executable, __file__, "--work", "minitorch.torch" if place else "torch"],
            env=os.environ | one | {"PYTHONPATH": place}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for who, place in places.items() if place is not None
    }  # fmt: skip
    names = [*OPERATIONS, *(f"{n}, recorded" for n in OPERATIONS), *STEPS]
    print(f"{'microseconds':30}" + "".join(f"{who:>10}" for who in workers) + "   ours / each")
    for case in names:
        if options.only and not any(part in case for part in options.only):
            continue
        least = dict.fromkeys(workers, float("inf"))
        for _ in range(options.rounds):
            for who, worker in workers.items():
                print(case, file=worker.stdin, flush=True)
                least[who] = min(least[who], 1e6 * float(worker.stdout.readline()))  # type: ignore[union-attr]
        ratios = [f"{least['ours'] / t:8.2f}" for who, t in least.items() if who != "ours"]
        print(
            f"{case:30}" + "".join(f"{t:10.2f}" for t in least.values()) + "".join(ratios),
            flush=True,
        )
    for worker in workers.values():
        worker.communicate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
