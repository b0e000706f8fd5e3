"""Train on the six 2-D data sets with every kind of model and say what was learned.

    python benchmarks/accuracy.py                          # fast models, seed 0
    python benchmarks/accuracy.py --models scalar simple fast --seeds 0 1 2 --out docs/results

Writes points.txt, a table, and points.png, what the first model of each set says of every
place. The scalar and the plain-Python model of Spiral take some minutes each.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from minitorch.datasets import Graph, datasets
from minitorch.training.checkpoint import set_seed
from minitorch.training.picture import draw_boundary
from minitorch.training.points import (
    Trainer,
    count_correct,
    default_settings,
    make_trainer,
    probabilities,
)

POINTS = 50
NEEDED = {name: 48 if name == "Spiral" else 50 for name in datasets}
"""How many of the points a model must get right: all, and more than 95 % of Spiral."""


def train(name: str, model: str, seed: int) -> tuple[Trainer, Graph, str]:
    """One model, its data, and a line about it."""
    usual = default_settings(name, model)
    set_seed(seed)
    data = datasets[name](POINTS)
    trainer = make_trainer(model, usual.hidden, usual.batch)
    start = time.perf_counter()
    trainer.train(data, usual.rate, usual.epochs, log_fn=lambda *_: None)
    seconds = time.perf_counter() - start
    correct = count_correct(trainer, data)
    verdict = "" if correct >= NEEDED[name] else "   short of the aim"
    line = (
        f"{name:<8} {model:<7} seed {seed}   hidden {usual.hidden:>3}   {usual.epochs:>4} epochs   "
        f"{seconds / usual.epochs:7.4f} s/epoch   correct {correct}/{POINTS}{verdict}"
    )
    return trainer, data, line


def main() -> int:
    """Train all that was asked for; exit code 1 if one falls short."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["fast"], metavar="MODEL")
    parser.add_argument("--sets", nargs="+", default=list(datasets), metavar="SET")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], metavar="N")
    parser.add_argument("--out", type=Path, help="folder for points.txt and points.png")
    args = parser.parse_args()
    lines = []
    drawn: dict[str, tuple[Trainer, Graph]] = {}
    for model in args.models:
        for name in args.sets:
            for seed in args.seeds:
                trainer, data, line = train(name, model, seed)
                print(line, flush=True)
                lines.append(line)
                drawn.setdefault(name, (trainer, data))
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "points.txt").write_text("\n".join(lines) + "\n")
        draw(args.out / "points.png", drawn)
    return int(any("short of" in line for line in lines))


def draw(path: Path, drawn: dict[str, tuple[Trainer, Graph]]) -> None:
    """All data sets with what their models say, side by side."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 2.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(drawn), squeeze=False)[0]
    for axes, (name, (trainer, data)) in zip(panels, drawn.items(), strict=True):
        draw_boundary(axes, data, lambda X, t=trainer: probabilities(t, X), grid=80)
        axes.get_legend().remove()
        axes.set(title=name, xlabel="", ylabel="", xticks=[], yticks=[])
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    raise SystemExit(main())
