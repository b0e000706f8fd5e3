"""Fit a curve and say how sure one is: a network that predicts a mean and a spread.

    python examples/regression.py          with PyTorch
    minitorch run examples/regression.py   with MiniTorch

Shows: a training loop from first principles, the Gaussian likelihood as a loss, and what a
polynomial by least squares (torch.linalg.lstsq) makes of the same points.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from experiment import compiled, options, start
from torch import Tensor, nn


def observe(count: int) -> tuple[Tensor, Tensor]:
    """Points x (N, 1), and a curve at them with noise that grows to the right (N, 1)."""
    x = 2 * torch.rand(count, 1) - 1
    return x, truth(x) + spread(x) * torch.randn(count, 1)


def truth(x: Tensor) -> Tensor:
    """The curve that is to be found."""
    return torch.sin(4 * x) + 0.5 * x


def spread(x: Tensor) -> Tensor:
    """The noise that is to be found."""
    return 0.05 + 0.15 * (x + 1)


class Curve(nn.Module):
    """Two hidden layers, two answers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance, both (N, 1), at points x (N, 1)."""
        mean, raw = self.layers(x).chunk(2, dim=1)
        return mean, F.softplus(raw) + 1e-4


def polynomial_error(x: Tensor, y: Tensor, points: Tensor, degree: int) -> Tensor:
    """Root mean square error of a polynomial that is fitted to (x, y), against the truth."""
    weights = torch.linalg.lstsq(powers(x, degree), y).solution  # (degree + 1, 1)
    return F.mse_loss(powers(points, degree) @ weights, truth(points)).sqrt()


def powers(x: Tensor, degree: int) -> Tensor:
    """1, x, x ** 2, ... for points x (N, 1): (N, degree + 1)."""
    return x ** torch.arange(degree + 1, device=x.device)


def main() -> None:
    """Observe, fit, compare with the truth."""
    parser = options("regression", __doc__, steps=2000, log_every=100)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--degree", type=int, default=5, help="of the polynomial (5)")
    parser.add_argument("--lr", type=float, default=1e-2)
    args, log = start(parser)

    x, y = (part.to(args.device) for part in observe(args.points))
    model = Curve(args.width).to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)

    def learn() -> Tensor:
        rows = torch.randint(args.points, (args.batch_size,), device=args.device)
        mean, variance = model(x[rows])  # (B, 1) each
        loss = F.gaussian_nll_loss(mean, y[rows], variance)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    learn = compiled(learn, args)
    for step in range(1, args.steps + 1):
        loss = learn()
        schedule.step()
        log.progress(step, loss=loss)

    points = torch.linspace(-1, 1, 201, device=args.device)[:, None]  # (201, 1)
    with torch.no_grad():
        mean, variance = model(points)
    log.result(
        args.steps,
        error=F.mse_loss(mean, truth(points)).sqrt(),
        polynomial_error=polynomial_error(x, y, points, args.degree),
        spread_error=F.mse_loss(variance.sqrt(), spread(points)).sqrt(),
    )
    torch.save(model.state_dict(), args.out / "model.pt")
    table = torch.cat([points, truth(points), mean, variance.sqrt()], dim=1).tolist()
    lines = ["x,truth,mean,spread", *(",".join(f"{v:.6f}" for v in row) for row in table)]
    (args.out / "curve.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
