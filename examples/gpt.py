"""A small GPT: learns Shakespeare character by character, then writes a scene of its own.

    python examples/gpt.py                   with PyTorch
    minitorch run examples/gpt.py            with MiniTorch
    minitorch run examples/gpt.py --resume   go on from runs/gpt/checkpoint.pt, in either library

Shows: causal attention, AdamW, warm-up and cosine decay, gradient clipping, a checkpoint from which
training goes on as if it had never stopped, generation with temperature and top-k.
The sizes are those of nanoGPT on a laptop: validation loss 1.9 after about 2,000 steps.
"""

from __future__ import annotations

import argparse
import math

import torch
import torch.nn.functional as F
from data import Characters, shakespeare
from experiment import compiled, options, start
from torch import Tensor, nn


class Block(nn.Module):
    """Attention to what came before, then a small network on each place by itself."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, bias=False)
        self.attend = nn.Linear(width, 3 * width, bias=False)
        self.merge = nn.Linear(width, width, bias=False)
        self.norm2 = nn.LayerNorm(width, bias=False)
        self.widen = nn.Linear(width, 4 * width, bias=False)
        self.narrow = nn.Linear(4 * width, width, bias=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """From (B, T, C) to (B, T, C)."""
        x = x + self.drop(self.merge(self._attention(self.norm1(x))))
        return x + self.drop(self.narrow(F.gelu(self.widen(self.norm2(x)))))

    def _attention(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        heads = self.attend(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # (B, H, T, C / H) each
        dropout = self.drop.p if self.training else 0.0
        y = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True)
        return y.transpose(1, 2).reshape(batch, length, width)


class GPT(nn.Module):
    """Characters and their places, blocks, and scores of the next character."""

    def __init__(self, characters: int, args: argparse.Namespace) -> None:
        super().__init__()
        self.length = args.length
        self.characters = nn.Embedding(characters, args.width)
        self.places = nn.Embedding(args.length, args.width)
        blocks = [Block(args.width, args.heads, args.dropout) for _ in range(args.layers)]
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.LayerNorm(args.width, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                last = name.endswith(("merge.weight", "narrow.weight"))
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * args.layers) if last else 0.02)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of the next character (B, T, characters) after each of x (B, T)."""
        states = self.characters(x) + self.places.weight[: x.shape[1]]  # (B, T, C)
        states = self.norm(self.blocks(states))
        return F.linear(states, self.characters.weight)

    @torch.no_grad()
    def generate(self, x: Tensor, count: int, temperature: float, top_k: int) -> Tensor:
        """The text x (1, T) with `count` more characters, drawn from the likeliest `top_k`."""
        for _ in range(count):
            scores = self(x[:, -self.length :])[:, -1] / temperature  # (1, characters)
            best = scores.topk(min(top_k, scores.shape[-1])).values
            scores = scores.masked_fill(scores < best[:, -1:], -math.inf)
            x = torch.cat([x, torch.multinomial(scores.softmax(dim=-1), 1)], dim=1)
        return x


def loss_of(model: GPT, text: Tensor, begins: Tensor) -> Tensor:
    """Mean loss over the pieces of a text that begin at the given places (B,)."""
    pieces = text[
        begins[:, None] + torch.arange(model.length + 1, device=text.device)
    ]  # (B, T + 1)
    return F.cross_entropy(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten())


@torch.no_grad()
def evaluate(model: GPT, text: Tensor) -> float:
    """Mean loss over a whole text, piece by piece."""
    model.eval()
    begins = torch.arange(0, len(text) - model.length, model.length, device=text.device)
    losses = [loss_of(model, text, part).item() * len(part) for part in begins.split(64)]
    model.train()
    return sum(losses) / len(begins)


def learning_rate(step: int, warmup: int, total: int) -> float:
    """Part of the highest rate: a straight line up, half a cosine down to a tenth."""
    if step < warmup:
        return (step + 1) / warmup
    progress = min(1.0, (step - warmup) / max(1, total - warmup))
    return 0.1 + 0.45 * (1 + math.cos(math.pi * progress))


class Training:
    """All that changes while a model is trained; saved and loaded as one."""

    def __init__(self, model: GPT, args: argparse.Namespace) -> None:
        matrices = [p for p in model.parameters() if p.dim() > 1]
        vectors = [p for p in model.parameters() if p.dim() == 1]
        groups = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, args.lr, betas=(0.9, 0.99), weight_decay=0.1)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: learning_rate(step, args.warmup, args.decay)
        )
        self.model, self.optimizer, self.schedule = model, optimizer, schedule
        self.parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
        self.path, self.steps = args.out / "checkpoint.pt", 0
        self.learn = compiled(self.learn, args)

    def step(self, text: Tensor, pieces: int) -> tuple[Tensor, Tensor]:
        """Learn from a few random pieces of a text; the loss, and the length of the gradient."""
        found = self.learn(text, pieces)
        self.schedule.step()
        self.steps += 1
        return found

    def learn(self, text: Tensor, pieces: int) -> tuple[Tensor, Tensor]:
        """A step of the optimizer."""
        begins = torch.randint(len(text) - self.model.length, (pieces,), device=text.device)
        loss = loss_of(self.model, text, begins)
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss, norm

    def save(self) -> None:
        """Write the checkpoint."""
        states = {name: part.state_dict() for name, part in self.parts.items()}
        random = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
        torch.save({**states, "steps": self.steps, "random": random}, self.path)

    def load(self) -> None:
        """Go back to where the checkpoint was written."""
        saved = torch.load(self.path, weights_only=True)
        for name, part in self.parts.items():
            part.load_state_dict(saved[name])
        ours, *gpus = saved["random"]
        torch.set_rng_state(ours)
        torch.cuda.set_rng_state_all(gpus)
        self.steps = saved["steps"]


def choices() -> argparse.ArgumentParser:
    """What can be chosen."""
    parser = options("gpt", __doc__, steps=2500, log_every=50)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--length", type=int, default=64, help="characters that it can see (64)")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--lr", type=float, default=1e-3, help="highest learning rate (0.001)")
    parser.add_argument("--warmup", type=int, default=100, help="steps of rising rate (100)")
    parser.add_argument("--decay", type=int, default=2500, help="step of the lowest rate (2500)")
    parser.add_argument("--eval-every", type=int, default=250, help="also saves (250)")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --out")
    parser.add_argument("--write", type=int, default=500, help="characters at the end (500)")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--top-k", type=int, default=20)
    return parser


def main() -> None:
    """Train or go on training, then write."""
    args, log = start(choices())
    characters = Characters(shakespeare())
    text = characters.encode(shakespeare()).to(args.device)
    train, validation = text.tensor_split([len(text) * 9 // 10])
    model = GPT(len(characters), args).to(args.device)
    training = Training(model, args)
    if args.resume:
        training.load()
    while training.steps < args.steps:
        loss, norm = training.step(train, args.batch_size)
        log.progress(training.steps, loss=loss, gradient_norm=norm)
        if training.steps % args.eval_every == 0 or training.steps == args.steps:
            log.result(training.steps, validation_loss=evaluate(model, validation))
            training.save()

    model.eval()
    begin = characters.encode("\n")[None].to(args.device)  # (1, 1)
    written = model.generate(begin, args.write, args.temperature, args.top_k)[0]
    log.text(characters.decode(written))


if __name__ == "__main__":
    main()
