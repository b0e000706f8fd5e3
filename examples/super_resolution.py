"""Enlarge pictures: a network guesses the detail that a quarter of the pixels has lost.

    python examples/super_resolution.py          with PyTorch
    minitorch run examples/super_resolution.py   with MiniTorch

Shows: convolutions at low resolution and a pixel shuffle at the end (Shi et al. 2016), the
peak signal-to-noise ratio, and bicubic interpolation as the mark to beat.
`runs/super_resolution/digits.png` has rows of small, interpolated, guessed and true digits.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from data import digits
from experiment import compiled, options, start, take
from pictures import save_grid
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class Enlarger(nn.Module):
    """Adds what is missing to the bicubic enlargement."""

    def __init__(self, width: int, factor: int) -> None:
        super().__init__()
        self.factor = factor
        self.layers = nn.Sequential(
            nn.Conv2d(1, width, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.Conv2d(width, width, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, factor**2, kernel_size=3, padding=1),
            nn.PixelShuffle(factor),
        )
        for layer in self.layers:
            if isinstance(layer, nn.Conv2d):
                nn.init.orthogonal_(layer.weight)

    def forward(self, small: Tensor) -> Tensor:
        """Images (B, 1, factor * H, factor * W) from images (B, 1, H, W)."""
        return interpolate(small, self.factor) + self.layers(small)


def interpolate(small: Tensor, factor: int) -> Tensor:
    """The enlargement without learning."""
    return F.interpolate(small, scale_factor=factor, mode="bicubic", align_corners=False)


def signal_to_noise(guess: Tensor, truth: Tensor) -> Tensor:
    """In decibel, for pixels from 0 to 1; more is better."""
    return -10 * torch.log10(F.mse_loss(guess.clamp(0, 1), truth))


def main() -> None:
    """Train, compare with interpolation, show."""
    parser = options("super_resolution", __doc__, steps=1500, log_every=50)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--factor", type=int, default=2, choices=(2, 4), help="of enlargement (2)")
    parser.add_argument("--width", type=int, default=32, help="channels (32)")
    parser.add_argument("--lr", type=float, default=2e-3)
    args, log = start(parser)

    images, _ = digits(train=True)
    batches = DataLoader(TensorDataset(images), args.batch_size, shuffle=True)
    model = Enlarger(args.width, args.factor).to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)

    def learn(large: Tensor) -> tuple[Tensor, Tensor]:
        guess = model(F.avg_pool2d(large, args.factor))
        loss = F.mse_loss(guess, large)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, signal_to_noise(guess.detach(), large)

    learn = compiled(learn, args)
    for step, (large,) in take(batches, args.steps, args.device):
        loss, decibel = learn(large)
        schedule.step()
        log.progress(step, loss=loss, decibel=decibel)
    torch.save(model.state_dict(), args.out / "model.pt")

    truth = digits(train=False)[0][:500].to(args.device)
    small = F.avg_pool2d(truth, args.factor)
    smooth = interpolate(small, args.factor)
    with torch.no_grad():
        guess = model(small)
    decibel, before = signal_to_noise(guess, truth), signal_to_noise(smooth, truth)
    log.result(args.steps, test_decibel=decibel, bicubic_decibel=before)
    blocks = F.interpolate(small, scale_factor=args.factor)
    save_grid(args.out / "digits.png", torch.cat([x[:8] for x in (blocks, smooth, guess, truth)]))


if __name__ == "__main__":
    main()
