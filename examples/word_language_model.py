"""Predict the next word of Shakespeare, with an LSTM or with a Transformer.

    python examples/word_language_model.py --model LSTM                 with PyTorch
    minitorch run examples/word_language_model.py --model Transformer   with MiniTorch

Shows: two architectures behind one interface, tied weights, a causal mask, perplexity, a learning
rate that falls when the validation loss no longer does.
"""

from __future__ import annotations

import math
import re
from collections import Counter

import torch
import torch.nn.functional as F
from data import shakespeare
from experiment import compiled, moved, options, start, take
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class RecurrentModel(nn.Module):
    """Reads words one after the other and keeps what matters."""

    def __init__(self, words: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True, dropout=dropout)
        self.output = nn.Linear(width, words)
        self.output.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=width**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of the next word (B, T, words) after each of x (B, T)."""
        words = self.embedding(x) * math.sqrt(self.embedding.embedding_dim)  # (B, T, width)
        states, _ = self.lstm(self.dropout(words))
        return self.output(self.dropout(states))


class TransformerModel(nn.Module):
    """Looks at all the words before at once."""

    def __init__(self, words: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout, F.gelu, batch_first=True, norm_first=True
        )
        norm = nn.LayerNorm(width)
        self.encoder = nn.TransformerEncoder(layer, layers, norm, enable_nested_tensor=False)
        self.output = nn.Linear(width, words)
        self.output.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=width**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of the next word (B, T, words) after each of x (B, T)."""
        length = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length, x.device)  # (T, T)
        width = self.embedding.embedding_dim
        states = self.embedding(x) * math.sqrt(width) + waves(length, width).to(
            x.device
        )  # (B, T, width)
        states = self.encoder(self.dropout(states), mask=mask, is_causal=True)
        return self.output(self.dropout(states))


def waves(length: int, width: int) -> Tensor:
    """Positions told by sines and cosines of falling frequency, (T, width)."""
    frequencies = 10_000 ** (-torch.arange(0, width, 2) / width)  # (width / 2,)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


MODELS = {"LSTM": RecurrentModel, "Transformer": TransformerModel}


def numbered_words(text: str, limit: int) -> tuple[Tensor, list[str]]:
    """The words and marks of a text as numbers (N,), and what they stand for; rare ones are 0."""
    words = re.findall(r"[A-Za-z']+|[^\sA-Za-z']|\n", text)
    common = [word for word, _ in Counter(words).most_common(limit - 1)]
    vocabulary = ["<rare>", *common]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    return torch.tensor([numbers.get(word, 0) for word in words]), vocabulary


def windows(numbers: Tensor, length: int) -> TensorDataset:
    """Pieces of a text and, as their targets, the same pieces one word on: both (N, T)."""
    count = (len(numbers) - 1) // length
    inputs = numbers[: count * length].view(count, length)
    return TensorDataset(inputs, numbers[1 : count * length + 1].view(count, length))


def loss_of(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy of the next word."""
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader, device: str) -> float:
    """Mean loss over a text that the model was not trained on."""
    model.eval()
    losses = [loss_of(model, *batch).item() for batch in moved(loader, device)]
    model.train()
    return sum(losses) / len(losses)


def main() -> None:
    """Train, watch the validation perplexity."""
    parser = options("word_language_model", __doc__, steps=2000, log_every=50)
    parser.add_argument("--model", choices=sorted(MODELS), default="LSTM")
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--length", type=int, default=35, help="words per piece (35)")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--words", type=int, default=5000, help="size of the vocabulary (5000)")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--eval-every", type=int, default=250)
    args, log = start(parser)

    numbers, vocabulary = numbered_words(shakespeare(), args.words)
    cut = len(numbers) * 9 // 10
    batches = DataLoader(windows(numbers[:cut], args.length), args.batch_size, shuffle=True)
    tests = DataLoader(windows(numbers[cut:], args.length), args.batch_size)
    model = MODELS[args.model](len(vocabulary), args.width, args.layers, args.dropout)
    model.to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)

    def learn(inputs: Tensor, targets: Tensor) -> Tensor:
        loss = loss_of(model, inputs, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss

    learn = compiled(learn, args)
    for step, (inputs, targets) in take(batches, args.steps, args.device):
        loss = learn(inputs, targets)
        log.progress(step, loss=loss)
        if step % args.eval_every == 0 or step == args.steps:
            validation = evaluate(model, tests, args.device)
            schedule.step(validation)
            perplexity = math.exp(validation)
            rate = optimizer.param_groups[0]["lr"]
            log.result(step, validation_loss=validation, perplexity=perplexity, rate=rate)
    torch.save(model.state_dict(), args.out / "model.pt")


if __name__ == "__main__":
    main()
