"""A variational autoencoder: digits pass through 16 numbers, and new ones come out of noise.

    python examples/vae.py          with PyTorch
    minitorch run examples/vae.py   with MiniTorch

Shows: the reparametrisation trick, a loss of two parts, drawing from a trained model.
`runs/vae/` gets `samples.png` (out of noise) and `rebuilt.png` (rows of digits, each above its copy).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from data import digits
from experiment import compiled, options, start, take
from pictures import save_grid
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    """An encoder to a normal distribution of codes, and a decoder back to pixels."""

    def __init__(self, hidden: int, code: int) -> None:
        super().__init__()
        self.code = code
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, code)
        self.log_variance = nn.Linear(hidden, code)
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, 784))

    def encode(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log of the variance, each (B, code), for images (B, 1, 28, 28)."""
        features = self.encoder(images)  # (B, hidden)
        return self.mean(features), self.log_variance(features)

    def decode(self, codes: Tensor) -> Tensor:
        """Logits of pixels (B, 1, 28, 28)."""
        return self.decoder(codes).view(-1, 1, 28, 28)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rebuilt images, as logits, and the distribution that their codes were drawn from."""
        mean, log_variance = self.encode(images)
        noise = torch.randn_like(mean)  # (B, code)
        codes = mean + noise * torch.exp(0.5 * log_variance)
        return self.decode(codes), mean, log_variance


def losses(model: VAE, images: Tensor) -> tuple[Tensor, Tensor]:
    """Per image: how badly it is rebuilt, and how far its code is from standard normal."""
    logits, mean, log_variance = model(images)
    rebuilding = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
    divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum()
    return rebuilding / len(images), divergence / len(images)


@torch.no_grad()
def draw(model: VAE, images: Tensor) -> tuple[Tensor, Tensor]:
    """64 digits out of noise; and 32 digits, each row above its copy."""
    model.eval()
    samples = model.decode(torch.randn(64, model.code, device=images.device)).sigmoid()
    rebuilt = model.decode(model.encode(images[:32])[0]).sigmoid()
    rows = [images[:32].view(4, 8, 1, 28, 28), rebuilt.view(4, 8, 1, 28, 28)]
    return samples, torch.stack(rows, dim=1).flatten(0, 2)  # (64, 1, 28, 28)


def main() -> None:
    """Train, test, draw."""
    parser = options("vae", __doc__, steps=5000, log_every=100)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=400)
    parser.add_argument("--code", type=int, default=16, help="numbers per digit (16)")
    parser.add_argument("--lr", type=float, default=1e-3)
    args, log = start(parser)

    images, _ = digits(train=True)
    batches = DataLoader(TensorDataset(images), args.batch_size, shuffle=True)
    model = VAE(args.hidden, args.code).to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    def learn(images: Tensor) -> tuple[Tensor, ...]:
        rebuilding, divergence = losses(model, images)
        loss = rebuilding + divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, rebuilding.detach(), divergence.detach()

    learn = compiled(learn, args)
    for step, (images,) in take(batches, args.steps, args.device):
        loss, rebuilding, divergence = learn(images)
        log.progress(step, loss=loss, rebuilding=rebuilding, divergence=divergence)

    tests = digits(train=False)[0].to(args.device)
    samples, rebuilt = draw(model, tests)
    with torch.no_grad():
        log.result(args.steps, test_loss=sum(losses(model, tests)))
    save_grid(args.out / "samples.png", samples)
    save_grid(args.out / "rebuilt.png", rebuilt)
    torch.save(model.state_dict(), args.out / "model.pt")


if __name__ == "__main__":
    main()
