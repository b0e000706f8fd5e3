"""A training step of the Torch floor as `torch.compile` plays it: its graph before and after fusion, with times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from minitorch import torch
from minitorch.torch import Tensor, nn

from .torch_models import EXAMPLES, Example, class_loss, make

TIMES = 5
"""How often the steps are timed, after once to warm up; the middle counts."""


class _Transformer(nn.Module):
    """One block of a transformer over numbers, and scores for each place."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 16)
        self.norm1, self.norm2, self.scores = nn.LayerNorm(16), nn.LayerNorm(16), nn.Linear(16, 10)
        self.attend, self.mix = nn.Linear(16, 48), nn.Linear(16, 16)
        self.feed = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))

    def forward(self, x: Tensor) -> Tensor:
        """Scores (B, T, 10) of numbers (B, T)."""
        x = self.embedding(x)
        split = self.attend(self.norm1(x)).unflatten(2, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(*split, is_causal=True)  # (B, 2, T, 8)
        x = x + self.mix(seen.transpose(1, 2).flatten(2))
        return self.scores(x + self.feed(self.norm2(x)))


def _example(model: str) -> Example:
    """One of the other pages' models; of the GPT, which keeps its attention weights for them, one block that does not."""
    if model in EXAMPLES:
        return make(model)
    torch.manual_seed(0)
    numbers = (torch.randint(10, (32, 1)) + torch.arange(9)) % 10  # counting, from anywhere
    return Example(_Transformer(), numbers[:, :-1], numbers[:, 1:], class_loss)


def compiled_step(model: str) -> dict[str, Any]:
    """Both graphs, the loops as Python, and the microseconds of a whole step, eager and compiled."""
    example = _example(model)
    optimizer = torch.optim.AdamW(example.model.parameters())

    def step() -> Any:
        optimizer.zero_grad()
        loss = example.loss()
        loss.backward()
        optimizer.step()
        return loss

    compiled: Any = torch.compile(step)
    calls = torch._dynamo.config.plays_before_programs + 8
    losses = [compiled().item() for _ in range(calls)]
    if compiled.eager:
        raise RuntimeError(f"the step stays eager, because {compiled.eager}")
    program = compiled.tape.program
    loops = program.index("") if "" in program else len(program)
    return {
        "before": _graph(compiled.unfused_timeline), "after": _graph(compiled.timeline),
        "memory": program[0].partition("; ")[2], "loops": "\n".join(program[loops:]).strip(),
        "eager": _middle_time(step), "compiled": _middle_time(compiled), "losses": losses,
    }  # fmt: skip


def _graph(timed: Callable[[], Any]) -> list[dict[str, Any]]:
    """What happens in order: name, full text, whose results it reads and their shapes, and microseconds."""
    timelines = [timed().events for _ in range(1 + TIMES)][1:]
    rows = []
    for several in zip(*timelines, strict=True):
        took = 1e6 * statistics.median(event.end - event.start for event in several)
        one = several[0]
        reads = [[number, list(shape)] for number, shape in one.reads.items()]
        rows.append({"name": one.name, "text": one.text, "reads": reads, "time": took})
    return rows


def _middle_time(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(4 * TIMES):
        start = time.perf_counter()
        call()
        times.append(1e6 * (time.perf_counter() - start))
    return statistics.median(times)
