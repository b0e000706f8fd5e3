"""Operations of `minitorch.torch` against PyTorch, side by side in one run.

    python benchmarks/torch_ops.py [--quick] [--only NAME ...] [--json FILE]

For each operation: what a call costs, what its backward costs, and the ratio of ours to
PyTorch's. The two take turns, and each number is the median over turns. A turn begins with
a pause and a call that is not timed: the threads of the library that was called before go
on looking for work for a while, at the cost of the other's. Start-up and compilation, which
happens once per machine, are stated on their own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch as real

import minitorch.torch as ours

ROOT = Path(__file__).parent.parent
PAUSE = 0.12  # seconds
Case = tuple[str, Callable[[Any, Any], Any], tuple[Any, ...]]
"""A name, a function of the library and its inputs, and the inputs as arrays or other values."""

_draw = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return _draw.standard_normal(shape).astype(np.float32)


def places(below: int, *shape: int) -> np.ndarray:
    return _draw.integers(0, below, shape)


def conv(stride: int = 1, padding: int = 0, groups: int = 1) -> Callable[[Any, Any], Any]:
    return lambda torch, x: torch.nn.functional.conv2d(
        x[0], x[1], stride=stride, padding=padding, groups=groups
    )


CASES: list[Case] = [
    ("add 4M", lambda torch, x: x[0] + x[1], (floats(2048, 2048), floats(2048, 2048))),
    ("mul by a row (4096, 1024)", lambda torch, x: x[0] * x[1], (floats(4096, 1024), floats(1024))),
    ("exp 4M", lambda torch, x: x[0].exp(), (floats(2048, 2048),)),
    ("tanh 1M", lambda torch, x: x[0].tanh(), (floats(1024, 1024),)),
    ("gelu (768, 512)", lambda torch, x: torch.nn.functional.gelu(x[0]), (floats(768, 512),)),
    ("gelu 4M", lambda torch, x: torch.nn.functional.gelu(x[0]), (floats(2048, 2048),)),
    ("sum 4M", lambda torch, x: x[0].sum(), (floats(2048, 2048),)),
    ("sum rows (4096, 1024)", lambda torch, x: x[0].sum(1), (floats(4096, 1024),)),
    ("sum columns (4096, 1024)", lambda torch, x: x[0].sum(0), (floats(4096, 1024),)),
    ("softmax (768, 512)", lambda torch, x: x[0].softmax(-1), (floats(768, 512),)),
    ("softmax (4096, 1024)", lambda torch, x: x[0].softmax(-1), (floats(4096, 1024),)),
    ("cross entropy (768, 65)", lambda torch, x: torch.nn.functional.cross_entropy(x[0], x[1]), (floats(768, 65), places(65, 768))),
    ("cross entropy (512, 10000)", lambda torch, x: torch.nn.functional.cross_entropy(x[0], x[1]), (floats(512, 10000), places(10000, 512))),
    ("layer norm (768, 128)", lambda torch, x: torch.nn.functional.layer_norm(x[0], (128,), x[1], x[2]), (floats(768, 128), floats(128), floats(128))),
    ("layer norm (4096, 1024)", lambda torch, x: torch.nn.functional.layer_norm(x[0], (1024,), x[1], x[2]), (floats(4096, 1024), floats(1024), floats(1024))),
    ("matmul 256", lambda torch, x: x[0] @ x[1], (floats(256, 256), floats(256, 256))),
    ("matmul 1024", lambda torch, x: x[0] @ x[1], (floats(1024, 1024), floats(1024, 1024))),
    ("batched matmul (48, 64, 32)", lambda torch, x: x[0] @ x[1], (floats(48, 64, 32), floats(48, 32, 64))),
    ("linear (768, 128) to 512", lambda torch, x: torch.nn.functional.linear(x[0], x[1], x[2]), (floats(768, 128), floats(512, 128), floats(512))),
    ("embedding 50k x 128", lambda torch, x: torch.nn.functional.embedding(x[1], x[0]), (floats(50_000, 128), places(50_000, 16, 256))),
    ("gather (4096, 1024)", lambda torch, x: x[0].gather(1, x[1]), (floats(4096, 1024), places(1024, 4096, 256))),
    ("scatter add (4096, 1024)", lambda torch, x: x[0].scatter_add(1, x[1], x[2]), (floats(4096, 1024), places(1024, 4096, 256), floats(4096, 256))),
    ("conv2d LeNet 1", conv(padding=2), (floats(16, 1, 28, 28), floats(6, 1, 5, 5))),
    ("conv2d LeNet 2", conv(), (floats(16, 6, 14, 14), floats(16, 6, 5, 5))),
    ("conv2d ResNet 3x3", conv(padding=1), (floats(32, 64, 32, 32), floats(64, 64, 3, 3))),
    ("conv2d ResNet stride 2", conv(stride=2, padding=1), (floats(32, 64, 32, 32), floats(128, 64, 3, 3))),
    ("conv2d 1x1", conv(), (floats(8, 256, 28, 28), floats(64, 256, 1, 1))),
    ("conv2d depthwise", conv(padding=1, groups=64), (floats(8, 64, 56, 56), floats(64, 1, 3, 3))),
]  # fmt: skip

SMALL: list[tuple[str, Callable[[Any], Callable[[], Any]]]] = [
    ("add, recorded", lambda torch: _call(torch, lambda x, y: x + y)),
    ("mul, recorded", lambda torch: _call(torch, lambda x, y: x * y)),
    ("mul by a number, recorded", lambda torch: _call(torch, lambda x, y: x * 2.0)),
    ("exp, recorded", lambda torch: _call(torch, lambda x, y: x.exp())),
    ("sum, recorded", lambda torch: _call(torch, lambda x, y: x.sum())),
    ("view, recorded", lambda torch: _call(torch, lambda x, y: x.view(2, 4))),
    ("x[0], recorded", lambda torch: _call(torch, lambda x, y: x[0])),
    ("matmul, recorded", lambda torch: _call(torch, lambda x, y: x.view(1, 8) @ y.view(8, 1))),
    ("add, not recorded", lambda torch: _call(torch, lambda x, y: x + y, recorded=False)),
    (
        "three operations and backward",
        lambda torch: _call(torch, lambda x, y: ((x * y) + x).sum().backward()),
    ),
]


def _call(torch: Any, fn: Callable[[Any, Any], Any], recorded: bool = True) -> Callable[[], Any]:
    x, y = (torch.ones(8, requires_grad=recorded) for _ in range(2))
    return lambda: fn(x, y)


def inputs(torch: Any, values: tuple[Any, ...]) -> list[Any]:
    made = [torch.from_numpy(v.copy()) for v in values]
    return [t.requires_grad_() if t.is_floating_point() else t for t in made]


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def repeat(call: Callable[[], Any], times: int) -> None:
    """Call many times, and drop each result at once, as a training step does."""
    for _ in range(times):
        call()


def measure(case: Case, repeats: int) -> dict[str, Any]:
    """Medians, in seconds, of forward and backward in both libraries."""
    name, fn, values = case
    sides: dict[str, Any] = {}
    for label, torch in (("ours", ours), ("pytorch", real)):
        given = inputs(torch, values)
        out = fn(torch, given)
        weight = torch.ones_like(out)
        wanted = [t for t in given if t.requires_grad]
        sides[label] = (torch, given, weight, wanted)
    times: dict[str, list[float]] = {f"{p} {s}": [] for p in ("forward", "backward") for s in sides}
    for _ in range(repeats):
        for label, (torch, given, weight, wanted) in sides.items():
            time.sleep(PAUSE)
            torch.autograd.grad(fn(torch, given), wanted, weight)
            times[f"forward {label}"].append(timed(lambda: fn(torch, given)))
            out = fn(torch, given)
            times[f"backward {label}"].append(
                timed(lambda: torch.autograd.grad(out, wanted, weight))
            )
    middle = {k: statistics.median(v) for k, v in times.items()}
    return {
        "what": name, **middle,
        "forward": middle["forward ours"] / middle["forward pytorch"],
        "backward": middle["backward ours"] / middle["backward pytorch"],
    }  # fmt: skip


def overhead(repeats: int, calls: int = 2000) -> list[dict[str, Any]]:
    """Microseconds of small operations."""
    rows = []
    for name, make in SMALL:
        mine, theirs = make(ours), make(real)
        times: dict[str, list[float]] = {"ours": [], "pytorch": []}
        for _ in range(repeats):
            for label, call in (("ours", mine), ("pytorch", theirs)):
                times[label].append(timed(lambda: repeat(call, calls)) / calls)
        a, b = (1e6 * statistics.median(times[k]) for k in ("ours", "pytorch"))
        rows.append({"what": name, "ours": a, "pytorch": b, "ratio": a / b})
    return rows


def start_up() -> dict[str, float]:
    """Seconds: importing, and the first large softmax with nothing compiled yet, and with it on disk."""
    importing = "import time; t = time.perf_counter(); import minitorch.torch; print(time.perf_counter() - t)"
    first = (
        "import minitorch.torch as torch, time; x = torch.ones(4096, 1024, requires_grad=True);"
        "t = time.perf_counter(); x.softmax(-1).sum().backward(); print(time.perf_counter() - t)"
    )
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": cache}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # the first import writes it, as it does for users

        def run(code: str) -> float:
            done = subprocess.run(
                [sys.executable, "-c", code],
                env=env,
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
            return float(done.stdout)

        imports = statistics.median(run(importing) for _ in range(5))
        return {
            "import": imports,
            "first softmax, cold": run(first),
            "first softmax, warm": run(first),
        }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="minitorch.torch against PyTorch, side by side.")
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument(
        "--only", nargs="*", default=[], help="cases whose name contains one of these"
    )
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    options = parser.parse_args(argv)
    turns = 5 if options.quick else 31
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}, PyTorch {real.__version__} with {real.get_num_threads()} threads\n"
    )
    small = [] if options.only else overhead(turns)
    for row in small:
        print(
            f"{row['what']:34} ours {row['ours']:8.2f} us   PyTorch {row['pytorch']:8.2f} us   ratio {row['ratio']:5.2f}",
            flush=True,
        )
    rows = []
    for case in CASES:
        if options.only and not any(part in case[0] for part in options.only):
            continue
        row = measure(case, turns)
        rows.append(row)
        print(
            f"{row['what']:34} forward {1e3 * row['forward ours']:8.3f} ms, ratio {row['forward']:5.2f}   "
            f"backward {1e3 * row['backward ours']:8.3f} ms, ratio {row['backward']:5.2f}",
            flush=True,
        )
    ratios = [r[k] for r in rows for k in ("forward", "backward")]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(
            f"\ngeometric mean of {len(ratios)} ratios: {mean:.2f}; above 1.2: {sum(r > 1.2 for r in ratios)}"
        )
    started = {} if options.only else start_up()
    for what, seconds in started.items():
        print(f"{what}: {seconds:.2f} s")
    if options.json:
        Path(options.json).write_text(
            json.dumps({"overhead": small, "operations": rows, "start": started}, indent=1)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
