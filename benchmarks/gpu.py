"""The CUDA backend against cuBLAS and CuPy on one GPU, in one run.

    python benchmarks/gpu.py --out results/gpu

Every rung of the ladder of matrix multiplications, float64, and map, zip and reduce of ten
million numbers. Data is on the device before the clock starts; a time is the median of
launches that are each waited for. Writes `gpu.json`, and `gpu_matmul.png` where
matplotlib is installed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import minitorch
from minitorch import Tensor, TensorData, cuda_device, cuda_matmul

CudaBackend = minitorch.TensorBackend(minitorch.CudaOps)


def module(name: str) -> Any:
    """A module that may not be installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


cupy = module("cupy")
torch = module("torch")
if torch is not None and not torch.cuda.is_available():
    torch = None


# --- Measuring ------------------------------------------------------------------------


def wait() -> None:
    cuda_device.synchronize()
    if cupy is not None:
        cupy.cuda.Device().synchronize()
    elif torch is not None:
        torch.cuda.synchronize()


def seconds(run: Callable[[], Any], at_least: int = 5, budget: float = 0.5) -> tuple[float, float]:
    """Seconds of the first call, which compiles, and the median of the calls after it."""
    times = []
    while len(times) < at_least + 1 or (sum(times[1:]) < budget and len(times) < 200):
        wait()
        start = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - start)
    return times[0], statistics.median(times[1:])


def on_device(array: np.ndarray) -> TensorData:
    data = TensorData(array.ravel(), array.shape)
    data.to_cuda_()
    return data


# --- Matrix multiplication --------------------------------------------------------------


def cublas(a: np.ndarray, b: np.ndarray) -> Callable[[], Any] | None:
    """The product by cuBLAS, on arrays that are on the device already."""
    if cupy is not None:
        x, y = cupy.asarray(a), cupy.asarray(b)
        out = cupy.empty((a.shape[0], b.shape[1]))
        multiply: Any = cupy.matmul
        return lambda: multiply(x, y, out=out)
    if torch is not None:
        s, t = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
        product: Any = torch.matmul
        return lambda: product(s, t)
    return None


def rungs() -> dict[str, cuda_matmul.MatmulRung]:
    ladder = {name: build() for name, build in cuda_matmul.MATMUL_LADDER.items()}
    if not cuda_device.SIMULATED:
        ladder["tiled 32"] = cuda_matmul.tiled(32)
        ladder["register, uncapped"] = cuda_matmul.register_tiled(max_registers=None)
    return ladder


def bench_product(n: int, ladder: dict[str, cuda_matmul.MatmulRung]) -> dict[str, Any]:
    """All ways to multiply two n x n matrices: seconds, GFLOP/s, largest error."""
    rng = np.random.default_rng(n)
    left, right = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    a, b, out = on_device(left), on_device(right), on_device(np.zeros((n, n)))
    x, y = (Tensor(data, backend=CudaBackend) for data in (a, b))
    some = slice(None) if n <= 1024 else slice(0, n, 97)
    expected = left[some] @ right
    first, took, error = {}, {}, {}
    for name, rung in ladder.items():
        first[name], took[name] = seconds(lambda rung=rung: rung.launch(out, a, b))
        error[name] = float(np.abs(out.to_numpy()[some] - expected).max())
    first["a @ b"], took["a @ b"] = seconds(lambda: x @ y)
    error["a @ b"] = float(np.abs((x @ y).to_numpy()[some] - expected).max())
    theirs = cublas(left, right)
    if theirs is not None:
        first["cuBLAS"], took["cuBLAS"] = seconds(theirs)
    if max(error.values()) > 1e-10 * n:
        raise SystemExit(f"n = {n}: wrong product, largest error by rung: {error}")
    speed = {name: 2 * n**3 / t / 1e9 for name, t in took.items()}
    return {"n": n, "first": first, "seconds": took, "gflops": speed, "max_error": error}


def bench_matmul(sizes: list[int], compile_seconds: dict[str, float]) -> list[dict[str, Any]]:
    ladder = rungs()
    columns = [*ladder, "a @ b", "cuBLAS"]
    print("float64 matrix multiplication, GFLOP/s (share of cuBLAS)")
    print(f"{'n':>6}" + "".join(f"{name:>24}" for name in columns))
    rows = []
    for n in sizes:
        row = bench_product(n, ladder)
        speed = row["gflops"]
        line = f"{n:>6}"
        for name in columns:
            share = f" ({speed[name] / speed['cuBLAS']:6.1%})" if "cuBLAS" in speed else ""
            line += f"{f'{speed[name]:.1f}' if name in speed else '-':>15}{share:>9}"
        print(line, flush=True)
        for name in ladder:
            compile_seconds.setdefault(f"matmul {name}", row["first"][name])
        rows.append(row)
    return rows


# --- Map, zip, reduce -----------------------------------------------------------------------


def bench_verbs(size: int, compile_seconds: dict[str, float]) -> list[dict[str, Any]]:
    side = int(size**0.5)
    rng = np.random.default_rng(0)
    flat = rng.uniform(0.5, 1.5, side * side)
    square, row = flat.reshape(side, side), flat[:side].reshape(1, side)
    f, s, r = (Tensor(on_device(x), backend=CudaBackend) for x in (flat, square, row))
    transposed = s._new(s._tensor.permute(1, 0))
    b = CudaBackend
    big = 8 * flat.size  # bytes of one operand
    cases: list[tuple[str, int, Callable[[], Any], Callable[[Any, Any, Any], Any]]] = [
        ("map neg", 2 * big, lambda: b.neg_map(f), lambda xp, x, y: -x.ravel()),
        ("map exp", 2 * big, lambda: b.exp_map(f), lambda xp, x, y: xp.exp(x.ravel())),
        ("map id, transposed", 2 * big, lambda: b.id_map(transposed), lambda xp, x, y: x.T.copy()),
        ("zip add", 3 * big, lambda: b.add_zip(f, f), lambda xp, x, y: x.ravel() + x.ravel()),
        ("zip add, a row to all", 2 * big, lambda: b.add_zip(s, r), lambda xp, x, y: x + y),
        ("reduce all", big, lambda: b.add_reduce(f, 0), lambda xp, x, y: x.sum()),
        ("reduce rows (dim 1)", big, lambda: b.add_reduce(s, 1), lambda xp, x, y: x.sum(1)),
        ("reduce columns (dim 0)", big, lambda: b.add_reduce(s, 0), lambda xp, x, y: x.sum(0)),
    ]
    print(f"\n{flat.size:,} numbers, microseconds (GB/s)")
    print(f"{'':>24}{'MiniTorch':>22}{'CuPy':>22}{'ratio':>8}")
    theirs = None if cupy is None else (cupy, cupy.asarray(square), cupy.asarray(row))
    _, allocation = seconds(lambda: cuda_device.empty(flat.size))
    print(f"{'allocate the result':>24}{allocation * 1e6:>13.1f}")
    rows: list[dict[str, Any]] = [{"name": "allocate the result", "seconds": allocation}]
    for name, moved, ours, reference in cases:
        compile_seconds[name], took = seconds(ours)
        got = ours().to_numpy().ravel()
        np.testing.assert_allclose(got, np.ravel(reference(np, square, row)), rtol=1e-10)
        entry: dict[str, Any] = {"name": name, "seconds": took, "gb_per_s": moved / took / 1e9}
        line = f"{name:>24}{took * 1e6:>13.1f} ({entry['gb_per_s']:6.0f})"
        if theirs is not None:
            _, other = seconds(lambda reference=reference: reference(*theirs))
            entry |= {"cupy_seconds": other, "ratio": took / other}
            line += f"{other * 1e6:>13.1f} ({moved / other / 1e9:6.0f}){took / other:>8.2f}"
        print(line, flush=True)
        rows.append(entry)
    return rows


# --- Reporting ------------------------------------------------------------------------------


def draw(rows: list[dict[str, Any]], path: Path) -> bool:
    """A graph of speed against size, if matplotlib is there."""
    matplotlib = module("matplotlib")
    if matplotlib is None:
        return False
    matplotlib.use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for name in rows[0]["gflops"]:
        axes.plot(
            [row["n"] for row in rows], [row["gflops"][name] for row in rows], "o-", label=name
        )
    axes.set(xscale="log", yscale="log", xlabel="n (matrices of n x n)", ylabel="GFLOP/s")
    axes.set_xticks([row["n"] for row in rows], [str(row["n"]) for row in rows])
    axes.set_xticks([], minor=True)
    axes.set_title("Matrix multiplication in float64 on the GPU")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path, dpi=150, bbox_inches="tight")
    return True


def machine() -> dict[str, Any]:
    name = "Numba's simulator"
    if not cuda_device.SIMULATED:
        name = cuda_device.cuda.get_current_device().name
        name = name.decode() if isinstance(name, bytes) else str(name)
    versions = {
        m: getattr(module(m), "__version__", None) for m in ("numpy", "numba", "numba_cuda")
    }
    versions |= {"cupy": getattr(cupy, "__version__", None), "python": platform.python_version()}
    return {"gpu": name, "versions": versions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for gpu.json and gpu_matmul.png")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[128, 256, 512, 1024, 2048, 4096], metavar="N"
    )
    parser.add_argument("--elements", type=int, default=10_000_000)
    options = parser.parse_args()
    cuda_device.require()

    results = machine()
    print(results["gpu"], results["versions"], "\n")
    compile_seconds: dict[str, float] = {}
    results["matmul"] = bench_matmul(options.sizes, compile_seconds)
    results["verbs"] = bench_verbs(options.elements, compile_seconds)
    results["first_call_seconds"] = compile_seconds
    ladder = [t for name, t in compile_seconds.items() if name.startswith("matmul")]
    print(f"\nfirst call of a rung, with compilation: {min(ladder):.2f} to {max(ladder):.2f} s")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "gpu.json").write_text(json.dumps(results, indent=2) + "\n")
        drawn = draw(results["matmul"], options.out / "gpu_matmul.png")
        print(f"wrote gpu.json{' and gpu_matmul.png' if drawn else ''} to {options.out}")


if __name__ == "__main__":
    main()
