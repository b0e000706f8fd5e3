"""A recurrent network that reads Shakespeare letter by letter and then writes on.

    python examples/char_rnn.py          with PyTorch
    minitorch run examples/char_rnn.py   with MiniTorch

Shows: a GRU, backpropagation through time that is cut off between pieces of text, sampling.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from data import Characters, shakespeare
from experiment import compiled, options, start, take
from torch import Tensor, nn


class CharRNN(nn.Module):
    """Embedding, GRU, scores of the next character."""

    def __init__(self, characters: int, width: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, width)
        self.gru = nn.GRU(width, width, layers, batch_first=True, dropout=0.1)
        self.output = nn.Linear(width, characters)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Scores (B, T, characters) after each of x (B, T), and the memory (layers, B, width)."""
        states, last = self.gru(self.embedding(x), memory)  # (B, T, width)
        return self.output(states), last


class Pieces:
    """A text as parallel rows, read from left to right in pieces of one length."""

    def __init__(self, numbers: Tensor, rows: int, length: int) -> None:
        columns = (len(numbers) - 1) // rows
        self.length = length
        self.inputs = numbers[: rows * columns].view(rows, columns)
        self.targets = numbers[1 : rows * columns + 1].view(rows, columns)

    def __iter__(self) -> Iterator[tuple[bool, Tensor, Tensor]]:
        """Whether this is the first piece, then what is read and what comes next, both (B, T)."""
        for begin in range(0, self.inputs.shape[1] - self.length + 1, self.length):
            piece = slice(begin, begin + self.length)
            yield begin == 0, self.inputs[:, piece], self.targets[:, piece]


@torch.no_grad()
def write(model: CharRNN, prompt: Tensor, count: int, temperature: float) -> Tensor:
    """The prompt (T,) and `count` more characters."""
    model.eval()
    written = [prompt]
    scores, memory = model(prompt[None])
    for _ in range(count):
        chances = F.softmax(scores[0, -1] / temperature, dim=-1)  # (characters,)
        written.append(torch.multinomial(chances, 1))
        scores, memory = model(written[-1][None], memory)
    model.train()
    return torch.cat(written)


def main() -> None:
    """Train, then write."""
    parser = options("char_rnn", __doc__, steps=2000, log_every=50)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--length", type=int, default=64, help="of a piece of text (64)")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--write", type=int, default=300, help="characters at the end (300)")
    parser.add_argument("--temperature", type=float, default=0.8)
    args, log = start(parser)

    text = shakespeare()
    characters = Characters(text)
    pieces = Pieces(characters.encode(text), args.batch_size, args.length)
    model = CharRNN(len(characters), args.width, args.layers).to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    def learn(inputs: Tensor, targets: Tensor, memory: Any) -> tuple[Tensor, ...]:
        scores, memory = model(inputs, memory)
        loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss, norm, memory.detach()

    learn, memory = compiled(learn, args), None
    for step, (first, inputs, targets) in take(pieces, args.steps, args.device):
        loss, norm, memory = learn(inputs, targets, None if first else memory)
        log.progress(step, loss=loss, gradient_norm=norm)
    torch.save(model.state_dict(), args.out / "model.pt")

    prompt = characters.encode("ROMEO:\n").to(args.device)
    written = write(model, prompt, args.write, args.temperature)
    log.text(characters.decode(written))


if __name__ == "__main__":
    main()
