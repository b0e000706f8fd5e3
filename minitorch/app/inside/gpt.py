"""A small GPT on the Torch floor: it learns the guide's own text, shows its attention, and writes."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Generator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from minitorch import torch
from minitorch.course.workspace import material
from minitorch.torch import Tensor, nn
from minitorch.torch.nn import functional as F  # noqa: N812

BATCH = 16
REPORT = 10
"""Steps between two reports."""
LONGEST = 400
"""Characters that it writes at most."""


# --- The text ------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def text() -> str:
    """The chapters of the guide as plain lines: no code, no tables, no links."""
    parts = []
    for path in sorted(material("docs/guide").glob("*.md")):
        words = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)|[`*#|>]", r"\1", words)
        parts.append("".join(c for c in words if " " <= c <= "~" or c == "\n"))
    return re.sub(r"\n{2,}", "\n", "\n".join(parts))


@lru_cache(maxsize=1)
def characters() -> str:
    """Every character of the text once."""
    return "".join(sorted(set(text())))


def encode(words: str) -> Tensor:
    """Numbers of characters (T,); what the text does not have is left out."""
    known = characters()
    return torch.as_tensor([known.index(c) for c in words if c in known], dtype=torch.int64)


def decode(numbers: Tensor) -> str:
    """The characters of such numbers."""
    return "".join(characters()[n] for n in numbers.tolist())


# --- The model -----------------------------------------------------------------------------------


class Block(nn.Module):
    """Attention to what came before, then a small network on each place by itself."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.weights: Tensor | None = None  # of the attention, from the newest pass

    def forward(self, x: Tensor) -> Tensor:
        """From (B, T, C) to (B, T, C)."""
        batch, length, width = x.shape
        parts = self.attend(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # (B, H, T, C / H) each
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)  # (B, H, T, T)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, -math.inf).softmax(dim=-1)
        self.weights = weights.detach()
        x = x + self.merge((weights @ value).transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.widen(self.norm2(x))))


class GPT(nn.Module):
    """Characters and their places, blocks, and scores of the next character."""

    def __init__(self, size: int, layers: int, heads: int, width: int, length: int) -> None:
        super().__init__()
        self.length = length
        self.characters, self.places = nn.Embedding(size, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.scores = nn.LayerNorm(width), nn.Linear(width, size)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of the next character (B, T, characters) after each of x (B, T)."""
        states = self.characters(x) + self.places.weight[: x.shape[1]]  # (B, T, C)
        return self.scores(self.norm(self.blocks(states)))


# --- What the page asks --------------------------------------------------------------------------


@dataclass
class Learner:
    """A model, its optimizer, and the text that it learns."""

    model: GPT
    optimizer: Any
    learned: Tensor

    def step(self) -> float:
        """Learn from a few random pieces of the text; the mean loss of a character."""
        starts = torch.randint(len(self.learned) - self.model.length - 1, (BATCH,))
        pieces = self.learned[starts[:, None] + torch.arange(self.model.length + 1)]  # (B, T + 1)
        scores = self.model(pieces[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), pieces[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()


def train(
    steps: int, layers: int, heads: int, width: int, length: int, rate: float, seed: int
) -> Generator[dict[str, Any], dict[str, Any] | None, None]:
    """A part every few steps; what is said asks for `attention` or for more text, `write`.

    After the last step the run pauses, and still answers.
    """
    torch.manual_seed(seed)
    model = GPT(len(characters()), layers, heads, width, length)
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    learner = Learner(model, optimizer, encode(text()))
    count = sum(p.numel() for p in model.parameters())
    about = {"parameters": count, "characters": len(text()), "kinds": len(characters())}
    said = yield {"step": 0, "now": about}
    step = 0
    while True:
        while said is not None:
            said = yield {"now": answer(model, said)}
        if step >= steps:
            said = yield {"pause": True, "now": {"over": True}}
            continue
        began = time.perf_counter()
        losses = [learner.step() for _ in range(min(REPORT, steps - step))]
        step += len(losses)
        seconds = (time.perf_counter() - began) / len(losses)
        said = yield {"step": step, "loss": sum(losses) / len(losses), "now": {"seconds": seconds}}


@torch.no_grad()
def answer(model: GPT, said: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, under the same name."""
    found: dict[str, Any] = {}
    if "attention" in said:
        found["attention"] = attention(model, said["attention"])
    if "write" in said:
        found["written"] = write(model, **said["write"])
    return found


def attention(model: GPT, words: str) -> dict[str, Any]:
    """How much each character of a text looks at each before it: weights[layer][head][to][from]."""
    numbers = encode(words)[: model.length]
    if not len(numbers):
        return {"text": "", "weights": [], "next": []}
    scores = model(numbers[None])[0, -1]  # (characters,)
    best = scores.softmax(dim=-1).topk(5)
    weights = [block.weights[0].tolist() for block in model.blocks]
    likely = zip(decode(best.indices), best.values.tolist(), strict=True)
    return {"text": decode(numbers), "weights": weights, "next": [list(pair) for pair in likely]}


def write(model: GPT, words: str, count: int, temperature: float, top_k: int, seed: int) -> str:
    """A text with more characters, each drawn from the likeliest `top_k`."""
    torch.manual_seed(seed)
    known = encode(words or "\n")[None]  # (1, T)
    for _ in range(min(count, LONGEST)):
        scores = model(known[:, -model.length :])[:, -1] / temperature  # (1, characters)
        least = scores.topk(min(top_k, scores.shape[-1])).values[:, -1:]
        chances = scores.masked_fill(scores < least, -math.inf).softmax(dim=-1)
        known = torch.cat([known, torch.multinomial(chances, 1)], dim=1)
    return decode(known[0])
