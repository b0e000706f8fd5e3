"""Continue a signal: an LSTM learns waves, trained with L-BFGS on all of them at once.

    python examples/time_series.py          with PyTorch
    minitorch run examples/time_series.py   with MiniTorch

Shows: an optimizer that evaluates its closure several times a step, LSTM cells by hand, float64.
`runs/time_series/forecast.csv` has the continuations that were forecast and the true ones.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from experiment import compiled, options, start
from torch import Tensor, nn

LISTEN = 8  # steps before a signal's place in its period can be known


def signals(count: int, length: int) -> Tensor:
    """Waves with an overtone, each from a random point on, (N, T)."""
    time = torch.arange(length, dtype=torch.float64)
    angle = time / 6 + 2 * math.pi * torch.rand(count, 1, dtype=torch.float64)  # (N, T)
    return 0.7 * torch.sin(angle) + 0.3 * torch.sin(3 * angle)


class Forecaster(nn.Module):
    """Two LSTM cells on top of each other; what it says last, it hears next."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.lower = nn.LSTMCell(1, width)
        self.upper = nn.LSTMCell(width, width)
        self.output = nn.Linear(width, 1)

    def forward(self, signal: Tensor, ahead: int = 0) -> Tensor:
        """The next value after each of a signal (N, T), then `ahead` more: (N, T + ahead)."""
        zeros = signal.new_zeros(len(signal), self.width)
        lower = upper = (zeros, zeros)
        values: list[Tensor] = []
        for step in range(signal.shape[1] + ahead):
            heard = signal[:, step : step + 1] if step < signal.shape[1] else values[-1]  # (N, 1)
            lower = self.lower(heard, lower)
            upper = self.upper(lower[0], upper)
            values.append(self.output(upper[0]))
        return torch.cat(values, dim=1)


def main() -> None:
    """Train on whole signals, forecast new ones."""
    parser = options("time_series", __doc__, steps=10, log_every=1)
    parser.add_argument("--signals", type=int, default=20)
    parser.add_argument("--length", type=int, default=80)
    parser.add_argument("--ahead", type=int, default=60, help="steps to forecast (60)")
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--iterations", type=int, default=20, help="of L-BFGS per step (20)")
    parser.add_argument("--lr", type=float, default=0.8)
    args, log = start(parser)

    train = signals(args.signals, args.length).to(args.device)  # (N, T)
    tests = signals(4, args.length + args.ahead).to(args.device)
    model = Forecaster(args.width).double().to(args.device)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=args.lr, max_iter=args.iterations)
    forecast = tests

    def closure() -> Tensor:
        optimizer.zero_grad()
        guess = model(train[:, :-1])  # (N, T - 1)
        loss = F.mse_loss(guess[:, LISTEN:], train[:, LISTEN + 1 :])
        loss.backward()
        return loss

    closure = compiled(closure, args)
    for step in range(1, args.steps + 1):
        loss = optimizer.step(closure)
        with torch.no_grad():
            forecast = model(tests[:, : args.length], args.ahead)[:, args.length - 1 : -1]
        error = F.mse_loss(forecast, tests[:, args.length :]).sqrt()
        log.progress(step, loss=loss, forecast_error=error)
    torch.save(model.state_dict(), args.out / "model.pt")

    table = torch.cat([forecast, tests[:, args.length :]]).T.tolist()  # rows of 4 + 4 values
    names = [f"{kind}{number}" for kind in ("forecast", "true") for number in range(4)]
    lines = [",".join(names), *(",".join(f"{value:.6f}" for value in row) for row in table)]
    (args.out / "forecast.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
