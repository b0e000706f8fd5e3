"""The course library against plain Python, NumPy and PyTorch, side by side in one run.

    python benchmarks/course.py [--quick] [--json FILE]

Every ratio comes from calls that take turns, and is that of their medians. Compile time
and start-up are stated on their own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import minitorch
from minitorch import fast_conv, fast_ops
from minitorch.training.tensor_points import FastTrain, TensorTrain

FAST = minitorch.TensorBackend(minitorch.FastOps)
ROOT = Path(__file__).parent.parent
RANDOM = np.random.default_rng(0)
PAUSE = 0.15  # seconds
Row = dict[str, Any]
Shape4 = tuple[int, int, int, int]


def medians(repeats: int, **calls: Callable[[], object]) -> dict[str, float]:
    """Median seconds of each call; they take turns.

    Each turn begins with a pause and a call that is not timed. The threads of the library
    that was called before go on looking for work for a while, at the cost of the other's
    (OpenBLAS's for about 0.1 s), and those of the one whose turn it is have to wake up.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            time.sleep(PAUSE)
            call()
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def fast_tensor(array: np.ndarray) -> minitorch.Tensor:
    return minitorch.Tensor.make(np.ascontiguousarray(array).ravel(), array.shape, backend=FAST)


def training(repeats: int) -> list[Row]:
    """One epoch of `run_fast_tensor`: 50 points, hidden 100, batches of 10."""
    random.seed(0)
    data = minitorch.datasets["Xor"](50)

    def epochs(trainer: TensorTrain, count: int) -> Callable[[], None]:
        return lambda: trainer.train(data, 0.05, count, log_fn=lambda *_: None)

    fast = medians(repeats, fast=epochs(FastTrain(100, FAST), 10))["fast"] / 10
    start = time.perf_counter()
    epochs(TensorTrain(100), 1)()
    simple = time.perf_counter() - start
    return [
        {"what": "epoch, hidden 100, fast", "ms": 1e3 * fast},
        {"what": "epoch, hidden 100, plain Python", "ms": 1e3 * simple, "ratio": simple / fast},
    ]


def products(repeats: int) -> list[Row]:
    """The matmul ladder in float64 against NumPy's BLAS."""
    return [row for n in (512, 1024) for row in products_of(n, repeats)]


def products_of(n: int, repeats: int) -> list[Row]:
    a, b = RANDOM.random((n, n)), RANDOM.random((n, n))
    x, y = fast_tensor(a), fast_tensor(b)
    stacks = [fast_tensor(t.reshape(1, n, n)) for t in (np.zeros((n, n)), a, b)]
    arguments = [part for t in stacks for part in t.tuple()]

    def run(rung: Any) -> Callable[[], object]:
        return lambda: rung(*arguments)

    ours = {name: run(rung) for name, rung in fast_ops.MATMUL_LADDER.items()}
    if n > 512:
        del ours["naive"]  # it takes seconds
    ours["x @ y"] = lambda: x @ y
    rows = []
    for name, call in ours.items():
        times = medians(repeats, ours=call, numpy=lambda: a @ b)
        rows.append(
            {
                "what": f"matmul {n}, {name}",
                "ms": 1e3 * times["ours"],
                "GFLOP/s": 2e-9 * n**3 / times["ours"],
                "share of NumPy's speed": times["numpy"] / times["ours"],
            }
        )
    return rows


def verbs(repeats: int) -> list[Row]:
    """Map, zip and reduce of 10 million elements against NumPy."""
    a, b = RANDOM.random(10_000_000), RANDOM.random(10_000_000)
    matrix = a.reshape(2000, 5000)
    x, y, m = fast_tensor(a), fast_tensor(b), fast_tensor(matrix)
    cases: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "map: neg": (lambda: -x, lambda: -a),
        "map: exp": (lambda: x.exp(), lambda: np.exp(a)),
        "map: sigmoid": (lambda: x.sigmoid(), lambda: 1 / (1 + np.exp(-a))),
        "zip: add": (lambda: x + y, lambda: a + b),
        "zip: add, broadcast": (lambda: m + m.sum(0), lambda: matrix + matrix.sum(0)),
        "map: neg, transposed": (
            lambda: -m.permute(1, 0),
            lambda: np.ascontiguousarray(-matrix.T),
        ),
        "reduce: sum of all": (lambda: x.sum(), lambda: a.sum()),
        "reduce: sum(0)": (lambda: m.sum(0), lambda: matrix.sum(0)),
        "reduce: sum(1)": (lambda: m.sum(1), lambda: matrix.sum(1)),
    }
    rows = []
    for name, (ours, theirs) in cases.items():
        times = medians(repeats, ours=ours, numpy=theirs)
        rows.append(
            {
                "what": f"{name}, 10 million",
                "ms": 1e3 * times["ours"],
                "NumPy ms": 1e3 * times["numpy"],
                "speed against NumPy": times["numpy"] / times["ours"],
            }
        )
    return rows


def convolutions(repeats: int) -> list[Row]:
    """conv2d in float64, forward and backward, against PyTorch's."""
    shapes = [
        ((64, 1, 28, 28), (4, 1, 3, 3)),
        ((64, 4, 28, 28), (8, 4, 3, 3)),
        ((32, 16, 32, 32), (32, 16, 3, 3)),
    ]
    return [row for x, w in shapes for row in convolution(x, w, repeats)]


def convolution(x_shape: Shape4, w_shape: Shape4, repeats: int) -> list[Row]:
    x, w = RANDOM.random(x_shape), RANDOM.random(w_shape)
    g = RANDOM.random((x_shape[0], w_shape[0], *x_shape[2:]))
    tx, tw, tg = torch.tensor(x).requires_grad_(), torch.tensor(w).requires_grad_(), torch.tensor(g)
    mx, mw, mg = fast_tensor(x), fast_tensor(w), fast_tensor(g)
    padding = (0, w_shape[3] - 1, 0, w_shape[2] - 1)

    def theirs() -> Any:
        return F.conv2d(F.pad(tx, padding), tw)

    def ours() -> Any:
        return minitorch.conv2d(mx, mw)

    def ours_backward() -> Any:
        ctx = minitorch.Context()
        fast_conv.Conv2dFun.forward(ctx, mx, mw)
        return fast_conv.Conv2dFun.backward(ctx, mg)

    calls = {
        "forward": (ours, theirs),
        "forward and backward": (
            ours_backward,
            lambda: torch.autograd.grad(theirs(), [tx, tw], tg),
        ),
    }
    rows = []
    for name, (a, b) in calls.items():
        times = medians(repeats, ours=a, torch=b)
        rows.append(
            {
                "what": f"conv2d {x_shape} * {w_shape}, {name}",
                "ms": 1e3 * times["ours"],
                "PyTorch ms": 1e3 * times["torch"],
                "speed against PyTorch": times["torch"] / times["ours"],
            }
        )
    return rows


def starts() -> list[Row]:
    """From starting Python to the first line of `run_fast_tensor`, and to `import minitorch`."""
    rows = []

    def first_line(environment: dict[str, str]) -> float:
        command = [sys.executable, "-u", str(ROOT / "project" / "run_fast_tensor.py")]
        options = "--BACKEND cpu --HIDDEN 100 --DATASET xor --RATE 0.05 --EPOCHS 1 --no-picture"
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            process = subprocess.Popen(
                [*command, *options.split(), "--plain", "--out", folder],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **environment},
            )
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("Epoch"):
                    break
            else:
                raise RuntimeError("run_fast_tensor.py printed no epoch")
            seconds = time.perf_counter() - start
            process.communicate()
        return seconds

    with tempfile.TemporaryDirectory() as cache:
        cold = first_line({"NUMBA_CACHE_DIR": cache})
        warm = statistics.median(first_line({"NUMBA_CACHE_DIR": cache}) for _ in range(3))
    rows.append({"what": "first line, cold cache (compiles)", "ms": 1e3 * cold})
    rows.append({"what": "first line, warm cache", "ms": 1e3 * warm})
    imports = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import minitorch"], check=True)
        imports.append(time.perf_counter() - start)
    rows.append({"what": "python -c 'import minitorch'", "ms": 1e3 * statistics.median(imports)})
    return rows


def show(title: str, rows: list[Row]) -> None:
    print(f"\n{title}")
    for row in rows:
        numbers = "  ".join(f"{key} {value:9.2f}" for key, value in row.items() if key != "what")
        print(f"  {row['what']:<58} {numbers}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    args = parser.parse_args()
    repeats = 3 if args.quick else 11
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, PyTorch {torch.__version__}, "
        f"{os.cpu_count()} cores"
    )
    results: dict[str, list[Row]] = {}
    sections: list[tuple[str, Callable[[], list[Row]]]] = [
        ("Training: one epoch of run_fast_tensor", lambda: training(repeats)),
        ("Matrix products, float64", lambda: products(repeats)),
        ("Map, zip, reduce", lambda: verbs(repeats)),
        ("Convolution, float64", lambda: convolutions(repeats)),
        ("Start-up", starts),
    ]
    for title, measure in sections:
        results[title] = measure()
        show(title, results[title])
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
