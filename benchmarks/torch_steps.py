"""Whole training steps of `minitorch.torch` against PyTorch's, eager, side by side in one run.

    python benchmarks/torch_steps.py [--quick] [--compile] [--only NAME ...] [--json FILE] [--cpu-time]
        [--device cuda] [--losses STEPS] [--compile-times] [--host-times] [--launch-times] [--memory]

A step is zero_grad, forward, loss, backward, and the optimizer's step. Both libraries start
from one seed, and the losses of the first steps are compared before anything is timed. The
libraries run in processes of their own, since what one asks of the process (how freed memory is kept, how many threads there are) would hold for the
other, too, and take turns of at least ten milliseconds, on a GPU half a second; each number is the median over turns. Peak memory of the GPT's step is measured
in processes of their own. With `--cpu-time`, on one core, processor time is measured in place
of the clock's: on a machine that does other things at the same time, that is the fair one. With
`--compile`, steps are measured as the `torch.compile` of both libraries runs them, too, and some of them as JAX's `jit` does
if that is installed; ratios are then of our compiled step to PyTorch's eager one, and `times` says how many times as fast as
the fastest of the others it is. On a GPU, PyTorch's eager step captured by hand as one CUDA graph stands in its compiler's place. With `--losses`, nothing is timed: losses of so many steps, eager and compiled, are compared.
With `--memory`, it is the peak memory of our steps, eager and compiled, on one thread.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAUSE = 0.12  # seconds in which the other library's threads go to sleep
LIBRARIES = {"ours": "minitorch.torch", "pytorch": "torch"}
Step = Callable[[], float]


# --- The models, each a function of the library ---------------------------------------------------


def mlp(torch: Any, device: str = "cpu") -> Step:
    """2-100-100-1, batch 10, SGD."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(2, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1)
    )
    model.to(device)
    x, y = torch.randn(10, 2).to(device), torch.rand(10, 1).round().to(device)
    loss = nn.BCEWithLogitsLoss()
    return _step(torch.optim.SGD(model.parameters(), lr=0.05), lambda: loss(model(x), y), x, y)


def lenet(torch: Any, device: str = "cpu") -> Step:
    """LeNet-5 on 28 x 28 images, batch 16, Adam."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    model.to(device)
    x, y = torch.randn(16, 1, 28, 28).to(device), torch.randint(0, 10, (16,)).to(device)
    loss = nn.CrossEntropyLoss()
    return _step(torch.optim.Adam(model.parameters()), lambda: loss(model(x), y))


def resnet(torch: Any, device: str = "cpu") -> Step:
    """A small residual network, 3 x 32 x 32 images, batch 32, SGD with momentum."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.short = nn.Sequential()
            if stride != 1:
                self.short = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x: Any) -> Any:
            out = functional.relu(self.bn1(self.conv1(x)))
            return functional.relu(self.bn2(self.conv2(out)) + self.short(x))

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    model.to(device)
    x, y = torch.randn(32, 3, 32, 32).to(device), torch.randint(0, 10, (32,)).to(device)
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    return _step(optimizer, lambda: loss(model(x), y))


def gpt(torch: Any, device: str = "cpu") -> Step:
    """Four layers, 128 wide, 4 heads, 65 characters, batch 12 x 64, AdamW."""
    nn, functional = torch.nn, torch.nn.functional
    width, heads, length, characters = 128, 4, 64, 65

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def attend(self, x: Any) -> Any:
            b, t, c = x.shape
            q, k, v = (
                part.view(b, t, heads, c // heads).transpose(1, 2)  # (B, H, T, C / H)
                for part in self.qkv(x).split(width, dim=2)
            )
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).contiguous().view(b, t, c))

        def forward(self, x: Any) -> Any:
            x = x + self.attend(self.norm1(x))
            return x + self.narrow(functional.gelu(self.wide(self.norm2(x))))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = (
                nn.Embedding(characters, width),
                nn.Embedding(length, width),
            )
            self.blocks = nn.Sequential(*(Block() for _ in range(4)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters, bias=False)

        def forward(self, tokens: Any) -> Any:
            places = torch.arange(tokens.shape[1], device=device)
            x = self.tokens(tokens) + self.places(places)
            return self.head(self.norm(self.blocks(x)))

    model = GPT().to(device)
    x, y = (torch.randint(0, characters, (12, length)).to(device) for _ in range(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return _step(
        optimizer, lambda: functional.cross_entropy(model(x).view(-1, characters), y.view(-1)), x, y
    )


def tagger(torch: Any, device: str = "cpu") -> Step:
    """An LSTM that tags each of 32 words of 16 sentences, Adam."""
    nn = torch.nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(1000, 64)
            self.lstm = nn.LSTM(64, 64, batch_first=True)
            self.tags = nn.Linear(64, 12)

        def forward(self, words: Any) -> Any:
            return self.tags(self.lstm(self.words(words))[0])

    model = Tagger().to(device)
    x, y = (torch.randint(0, most, (16, 32)).to(device) for most in (1000, 12))
    loss = nn.CrossEntropyLoss()
    return _step(
        torch.optim.Adam(model.parameters()), lambda: loss(model(x).view(-1, 12), y.view(-1))
    )


MODELS = {
    "MLP 2-100-100-1": mlp,
    "LeNet": lenet,
    "small ResNet": resnet,
    "GPT": gpt,
    "LSTM tagger": tagger,
}


def _step(optimizer: Any, loss_of: Callable[[], Any], *data: Any) -> Step:
    def train() -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    vars(train)["parts"], vars(train)["data"] = (optimizer, loss_of), data
    return functools.partial(_loss_after, train)


def _loss_after(train: Callable[[], Any]) -> float:
    return train().item()


def compiled(step: Any, torch: Any) -> Step:
    """A compiled step: ours as a whole; of PyTorch's, as is usual there, what is differentiated."""
    train = step.args[0]
    if torch.__name__ == "torch":
        optimizer, loss_of = train.parts
        return _step(optimizer, torch.compile(loss_of))
    return functools.partial(_loss_after, torch.compile(train))


def captured(step: Any, torch: Any) -> Step:
    """PyTorch's step as one CUDA graph, captured by hand as its documentation says."""
    optimizer, loss_of = step.args[0].parts
    for group in optimizer.param_groups:
        if "capturable" in group:
            group["capturable"] = True
    whole: Any = _step(optimizer, loss_of)
    train = whole.args[0]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            train()
    torch.cuda.current_stream().wait_stream(side)
    optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = train()

    def replay() -> Any:
        graph.replay()
        return loss

    vars(replay)["of"] = train  # whose tensors the graph reads
    return functools.partial(_loss_after, replay)


# --- Measuring --------------------------------------------------------------------------------------


WARM_UP = 36
"""Steps before a compiled step is measured: tapes are played by Python at first, then by compiled programs."""

TURN = {"cpu": 0.01, "cuda": 0.5}
"""Seconds that a turn lasts at least. On a GPU, 0.1 would be some twenty steps, which measure how a processor wakes up, too."""

COSTS = "compile_times", "host_times", "launch_times", "peak_memories"
"""Functions of `step_costs.py` that tell of a model what else its steps cost."""

ROUNDING = 1e-3
"""How far losses may be apart, as a share of the loss, after so many steps that were rounded in other orders."""


def prepared(
    name: str, torch: Any, compiles: bool = False, device: str = "cpu"
) -> tuple[Step, list[float]]:
    """A model's step, and the losses of its first six steps."""
    torch.manual_seed(0)
    step = MODELS[name](torch, device)
    step = compiled(step, torch) if compiles else step
    return step, [step() for _ in range(6)]


def _steps_of(
    label: str, name: str, compiles: bool, device: str
) -> tuple[dict[str, Step], dict[str, list[float]]]:
    """The steps of a library that are to be measured, and their losses."""
    if label == "jax":
        import jax_steps
        import torch as real

        real.manual_seed(0)
        step = jax_steps.prepared(name, MODELS[name](real))
        return {label: step}, {label: [step() for _ in range(6 + WARM_UP)]}
    torch: Any = importlib.import_module(LIBRARIES[label])
    step, first = prepared(name, torch, device=device)
    steps, losses = {label: step}, {label: first}
    if compiles:
        first += [step() for _ in range(WARM_UP)]
        if label == "pytorch" and device != "cpu":  # compiling would take minutes
            torch.manual_seed(0)
            steps["pytorch graph"], losses["pytorch graph"] = captured(MODELS[name](torch, device), torch), []  # fmt: skip
        else:
            also = f"{label} compiled"
            steps[also], losses[also] = prepared(name, torch, True, device)
            losses[also] += [steps[also]() for _ in range(WARM_UP)]
    return steps, losses


def serve(label: str, name: str, options: argparse.Namespace) -> None:
    """Be a library: tell the losses of its steps, then the seconds of a step for each line that names one."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    steps, losses = _steps_of(label, name, options.compile, options.device)
    print(json.dumps(losses), file=answers)
    clock = time.process_time if options.cpu_time else time.perf_counter
    for line in sys.stdin:
        step = steps[line.strip()]
        step()
        start = clock()
        step()
        count = max(3, math.ceil(TURN[options.device.partition(":")[0]] / max(clock() - start, 1e-6)))  # fmt: skip
        start = clock()
        for _ in range(count):
            step()
        print((clock() - start) / count, file=answers)


class Library:
    """A library in a process of its own, as those who use it start it."""

    def __init__(self, label: str, name: str, options: argparse.Namespace) -> None:
        command = [sys.executable, __file__, "--serve", label, "--only", name, "--device", options.device]  # fmt: skip
        command += ["--compile"] * options.compile + ["--cpu-time"] * options.cpu_time
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self.losses: dict[str, list[float]] = self._answer()

    def seconds(self, step: str) -> float:
        """Of a step, in one turn."""
        assert self.process.stdin
        print(step, file=self.process.stdin)
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} has ended: see above")
        return json.loads(line)


def _agree(expected: list[float], found: list[float]) -> bool:
    pairs = zip(expected, found, strict=True)
    return all(abs(a - b) <= ROUNDING * (1 + abs(a)) for a, b in pairs)


def compare_losses(name: str, count: int, device: str) -> float:
    """How far the losses of so many steps, eager and compiled, are apart at most, as a share of the loss."""
    import minitorch.torch as ours

    runs = []
    for compiles in (False, True):
        step, losses = prepared(name, ours, compiles, device)
        runs.append(losses + [step() for _ in range(count - len(losses))])
    return max(abs(a - b) / max(abs(a), 1e-3) for a, b in zip(*runs, strict=True))


def measure(name: str, turns: int, options: argparse.Namespace) -> dict[str, Any]:
    """Median seconds of a step in the libraries, and how far their losses are apart; RuntimeError if too far."""
    labels = list(LIBRARIES)
    if options.compile and options.device == "cpu" and importlib.util.find_spec("jax"):
        import jax_steps

        labels += ["jax"] * (name in jax_steps.MODELS)
    libraries = [Library(label, name, options) for label in labels]
    losses = {step: found for library in libraries for step, found in library.losses.items()}
    for first, second in (("ours", "ours compiled"), ("pytorch", "jax")):
        if second in losses and not _agree(losses[first], losses[second]):
            raise RuntimeError(f"{name}: losses differ, {first} and {second}: {losses}")
    times: dict[str, list[float]] = {step: [] for step in losses}
    for _ in range(turns):
        for library in libraries:
            for step in library.losses:
                time.sleep(0 if options.cpu_time else PAUSE)
                times[step].append(library.seconds(step))
    for library in libraries:
        library.process.communicate()
    middle = {step: statistics.median(t) for step, t in times.items()}
    pairs = zip(losses["ours"][:6], losses["pytorch"][:6], strict=True)
    apart = max(abs(a - b) for a, b in pairs)
    best = middle["ours compiled" if options.compile else "ours"]
    fastest = min(seconds for step, seconds in middle.items() if not step.startswith("ours"))
    return {
        "what": name, **middle, "ratio": best / middle["pytorch"], "times": fastest / best, "apart": apart
    }  # fmt: skip


def _shown(row: dict[str, Any]) -> str:
    """A row of the table."""

    def more(label: str, name: str) -> str:
        return f" {name} {1e3 * row[label]:8.3f}" if label in row else ""

    return (
        f"{row['what']:18} ours {1e3 * row['ours']:8.2f}{more('ours compiled', 'compiled')}   PyTorch {1e3 * row['pytorch']:8.2f}"
        f"{more('pytorch compiled', 'compiled')}{more('pytorch graph', 'graph')}{more('jax', '  JAX')}   ratio {row['ratio']:5.2f}   times {row['times']:5.2f}"
        f"   losses apart {row['apart']:.1e}"
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Training steps against PyTorch, side by side.")
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--only", nargs="*", default=[], help="models whose name contains one")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    parser.add_argument("--compile", action="store_true", help="compiled steps, too")
    parser.add_argument("--cpu-time", action="store_true", help="processor time of one core")
    parser.add_argument("--losses", type=int, default=0, help="compare so many steps' losses")
    parser.add_argument("--compile-times", action="store_true", help="how long first programs take")
    parser.add_argument(
        "--launch-times", action="store_true", help="eager steps on a GPU that computes nothing"
    )
    parser.add_argument("--host-times", action="store_true", help="what guards take of a play")
    parser.add_argument(
        "--memory",
        action="store_true",
        dest="peak_memories",
        help="compare the peak memory of steps",
    )
    parser.add_argument("--device", default="cpu", help="where both compute: cpu, cuda (cpu)")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    told = next((name for name in COSTS if getattr(options, name)), None)
    if options.cpu_time or told:
        for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = "1"
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    if options.serve:
        serve(options.serve, options.only[0], options)
        return 0
    cores = "one core" if options.cpu_time else f"{os.cpu_count()} cores"
    print(f"{platform.processor() or platform.machine()}, {cores}, milliseconds of a step\n")
    rows = []
    for name in MODELS:
        if options.only and not any(part in name for part in options.only):
            continue
        if told:
            import step_costs

            print(getattr(step_costs, told)(name), flush=True)
            continue
        if options.losses:
            apart = compare_losses(name, options.losses, options.device)
            print(
                f"{name:18} {options.losses} losses, eager and compiled, apart by {apart:.1e} of them at most",
                flush=True,
            )
            continue
        row = measure(name, 5 if options.quick else 21, options)
        rows.append(row)
        print(_shown(row), flush=True)
    if rows:
        mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows))
        print(f"\ngeometric mean of the ratios: {mean:.2f}")
    memory = {}
    if (
        options.device == "cpu"
        and not (options.losses or told)
        and (not options.only or "GPT" in options.only)
    ):
        from step_costs import peak_memory

        memory = {label: peak_memory("GPT", label) for label in ("minitorch.torch", "torch")}
        if options.compile:
            memory["compiled"] = peak_memory("GPT", "minitorch.torch", True)
        played = f"compiled {memory['compiled']:.0f} MiB, " if options.compile else ""
        print(
            f"peak memory of the GPT's steps: ours {memory['minitorch.torch']:.0f} MiB, {played}"
            f"PyTorch {memory['torch']:.0f} MiB"
        )
    if options.json:
        Path(options.json).write_text(json.dumps({"steps": rows, "memory": memory}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
