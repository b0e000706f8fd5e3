"""Kernels of `minitorch.torch` on a GPU beside PyTorch's: bandwidth, attention, products, small operations, memory.

    python -m benchmarks.torch_gpu [bandwidth attention products small memory held] [--device cuda] [--megabytes 256]

Bandwidth is the bytes that an operation must read and write, over its time. Times are those of the GPU; of attention, ten calls one after another,
the best of three rounds; of small operations, those of the CPU that starts them. Numbers in parentheses are the relative distance of our
result from PyTorch's, for attention from PyTorch's in float64.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch as real

import minitorch.torch as ours
from benchmarks import torch_steps

Pair = tuple[Any, Any]
KINDS = ("float32", "bfloat16", "float16")


def wait(device: str) -> None:
    """Until the GPU has done all its work, for both libraries."""
    if device != "cpu":
        real.cuda.synchronize()
        ours.cuda.synchronize()


def seconds(call: Callable[[], Any], device: str, calls: int = 10, rounds: int = 3) -> float:
    """Seconds of a call."""
    call()
    call()
    best = float("inf")
    for _ in range(rounds):
        wait(device)
        start = time.perf_counter()
        for _ in range(calls):
            call()
        wait(device)
        best = min(best, time.perf_counter() - start)
    return best / calls


def gpu_seconds(call: Callable[[], Any], device: str, calls: int = 50) -> float:
    """Seconds of a call on the GPU alone, the best of five rounds: calls queue behind a long product, so that none waits for the CPU."""
    if device == "cpu":
        return seconds(call, device)
    long = real.ones(8192, 8192, dtype=real.float64, device=device)
    start, end = (real.cuda.Event(enable_timing=True) for _ in range(2))
    best = float("inf")
    call()
    for _ in range(5):
        wait(device)
        real.mm(long, long)
        start.record()
        for _ in range(calls):
            call()
        end.record()
        wait(device)
        best = min(best, start.elapsed_time(end) / 1e3)
    return best / calls


def both(shape: tuple[int, ...], kind: str, device: str, grad: bool = False) -> Pair:
    """The same normal numbers as a tensor of each library."""
    theirs = real.randn(shape, device=device, dtype=getattr(real, kind))
    mine = ours.from_dlpack(theirs).clone()
    return mine.requires_grad_(grad), theirs.requires_grad_(grad)


def apart(mine: Any, theirs: Any) -> float:
    """The distance of two results, relative to the second."""
    a = real.from_numpy(mine.detach().float().cpu().numpy()).double()
    b = theirs.detach().cpu().double()
    return float((a - b).norm() / b.norm())


def bandwidth(device: str, megabytes: int) -> None:
    """Elementwise operations, softmax, norms and reductions."""
    print(f"GB a second, ours and PyTorch's, {megabytes} MB")
    size = megabytes << 20
    for kind in KINDS:
        width = 4096
        shape = (size // width // (4 if kind == "float32" else 2), width)
        (a, x), (b, y), (w, v) = (both(s, kind, device) for s in (shape, shape, (width,)))
        f, g = ours.nn.functional, real.nn.functional
        cases: dict[str, tuple[int, Callable[[], Any], Callable[[], Any]]] = {
            "copy": (2, lambda: a.clone(), lambda: x.clone()),
            "add": (3, lambda: a + b, lambda: x + y),
            "exp": (2, lambda: a.exp(), lambda: x.exp()),
            "gelu": (2, lambda: f.gelu(a), lambda: g.gelu(x)),
            "softmax": (2, lambda: a.softmax(-1), lambda: x.softmax(-1)),
            "log_softmax": (2, lambda: a.log_softmax(-1), lambda: x.log_softmax(-1)),
            "layer norm": (2, lambda: f.layer_norm(a, (width,), w, w), lambda: g.layer_norm(x, (width,), v, v)),
            "sum of columns": (1, lambda: a.sum(0), lambda: x.sum(0)),
            "sum of rows": (1, lambda: a.sum(1), lambda: x.sum(1)),
            "sum": (1, lambda: a.sum(), lambda: x.sum()),
            "amax of columns": (1, lambda: a.amax(0), lambda: x.amax(0)),
        }  # fmt: skip
        for name, (times, mine, theirs) in cases.items():
            speeds = [times * size / gpu_seconds(call, device) / 1e9 for call in (mine, theirs)]
            print(
                f"  {kind} {name} {speeds[0]:.0f} {speeds[1]:.0f} ({apart(mine(), theirs()):.0e})"
            )


def attention(device: str, megabytes: int) -> None:
    """16 heads, 64 wide, 4,096 long, or shorter on a CPU."""
    print("attention, milliseconds, ours, PyTorch's (ratio): forward; with backward")
    length = 4096 if device != "cpu" else 256
    for kind in KINDS[:2]:
        for causal in (False, True):
            pairs = [both((1, 16, length, 64), kind, device, grad=n < 3) for n in range(4)]
            inputs = [p[0] for p in pairs[:3]], [p[1] for p in pairs[:3]]
            for lib, given, g in ((ours, inputs[0], pairs[3][0]), (real, inputs[1], pairs[3][1])):
                attend = lib.nn.functional.scaled_dot_product_attention

                def backward(lib: Any = lib, attend: Any = attend, given: Any = given, g: Any = g) -> None:  # fmt: skip
                    lib.autograd.grad(attend(*given, is_causal=causal), given, g)

                with lib.no_grad():
                    forward = seconds(lambda: attend(*given, is_causal=causal), device)  # noqa: B023
                print(f"  {lib.__name__} {kind} causal={causal} {1e3 * forward:.3f}; {1e3 * seconds(backward, device):.3f}")  # fmt: skip
            wide = [t.detach().double() for t in inputs[1]]
            exact = real.nn.functional.scaled_dot_product_attention(*wide, is_causal=causal)
            mine = ours.nn.functional.scaled_dot_product_attention(*inputs[0], is_causal=causal)
            print(f"  ({apart(mine, exact):.0e})")


def products(device: str, megabytes: int) -> None:
    """Of square matrices."""
    print("products, milliseconds, ours, PyTorch's (ratio)")
    for kind in ("float32", "bfloat16", "float64"):
        for n in (1024, 2048, 4096, 8192) if device != "cpu" else (64,):
            pairs = [both((n, n), kind, device) for _ in range(2)]
            mine, theirs = (gpu_seconds(lambda a=a, b=b: a @ b, device) for a, b in zip(*pairs, strict=True))  # fmt: skip
            print(f"  {kind} {n} {1e3 * mine:.3f} {1e3 * theirs:.3f} ({mine / theirs:.2f})")


def small(device: str, megabytes: int) -> None:
    """What the CPU needs to start an operation on 64 x 64 numbers."""
    print("microseconds a call, ours and PyTorch's")
    (a, x), (b, y), (w, v) = (both(s, "float32", device) for s in ((64, 64), (64, 64), (64,)))
    f, g = ours.nn.functional, real.nn.functional
    cases: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "add": (lambda: a + b, lambda: x + y), "exp": (lambda: a.exp(), lambda: x.exp()),
        "softmax": (lambda: a.softmax(-1), lambda: x.softmax(-1)), "sum of columns": (lambda: a.sum(0), lambda: x.sum(0)),
        "layer norm": (lambda: f.layer_norm(a, (64,), w, w), lambda: g.layer_norm(x, (64,), v, v)),
        "product": (lambda: a @ b, lambda: x @ y), "linear": (lambda: f.linear(a, b, w), lambda: g.linear(x, y, v)),
        "view": (lambda: a.view(4096), lambda: x.view(4096)), "add of a row": (lambda: a + w, lambda: x + v),
    }  # fmt: skip
    for name, pair in cases.items():
        times = [1e6 * seconds(call, device, 300) for call in pair]
        print(f"  {name} {times[0]:.1f} {times[1]:.1f}")


def memory(device: str, megabytes: int) -> None:
    """Bytes at most in use by steps of the GPT."""
    for lib in (ours, real):
        step = torch_steps.gpt(lib, device)
        for _ in range(5):
            step()
        lib.cuda.reset_peak_memory_stats()
        for _ in range(5):
            step()
        print(
            f"{lib.__name__}: a GPT's step takes {lib.cuda.max_memory_allocated():,} bytes at most"
        )


def held(device: str, megabytes: int) -> None:
    """Bytes that are in use after some steps, and after 5,000 more."""
    for model in (torch_steps.mlp, torch_steps.gpt):
        for compiles in (False, True):
            step = model(ours, device)
            step = torch_steps.compiled(step, ours) if compiles else step
            found = []
            for steps in (60, 5000):
                for _ in range(steps):
                    step()
                found.append(ours.cuda.memory_allocated())
            how = "compiled" if compiles else "eager"
            print(f"{model.__name__}, {how}: {found[0]:,} bytes after 60 steps, {found[1]:,} after 5,000 more")  # fmt: skip
            del step


PARTS = {
    "bandwidth": bandwidth, "attention": attention, "products": products, "small": small, "memory": memory, "held": held,
}  # fmt: skip


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], help="all of them, if none is named"
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--megabytes", type=int, default=256)
    given = parser.parse_args()
    for name in given.parts or PARTS:
        PARTS[name](given.device, given.megabytes)


if __name__ == "__main__":
    main()
