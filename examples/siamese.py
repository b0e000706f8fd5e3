"""Tell whether two pictures show the same digit: twins of one network and the distance between them.

    python examples/siamese.py          with PyTorch
    minitorch run examples/siamese.py   with MiniTorch

Shows: a Dataset of one's own with seeded random pairs, shared weights, a contrastive loss.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from data import digits
from experiment import compiled, moved, options, start, take
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    """For each image a partner: of the same class for even numbers, of another for odd ones."""

    def __init__(self, images: Tensor, labels: Tensor, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.images = images
        self.same = torch.arange(len(images)) % 2 == 0  # (N,)
        classes = [torch.nonzero(labels == digit).flatten() for digit in range(10)]
        shift = torch.randint(1, 10, (len(images),), generator=generator)
        wanted = torch.where(self.same, labels, (labels + shift) % 10)
        draw = torch.rand(len(images), generator=generator)
        self.partners = [
            int(classes[digit][int(chance * len(classes[digit]))])
            for digit, chance in zip(wanted.tolist(), draw.tolist(), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, Tensor]:
        """Two images (1, 28, 28), and whether they show the same digit."""
        return (
            self.images[index],
            self.images[self.partners[index]],
            self.same[index].to(self.images.dtype),
        )


class Twin(nn.Module):
    """Places an image on a sphere."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=5, stride=2),  # (B, 16, 12, 12)
            nn.ReLU(),
            nn.Conv2d(16, 32, kernel_size=5, stride=2),  # (B, 32, 4, 4)
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, width),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Points (B, width) of length 1 for images (B, 1, 28, 28)."""
        return F.normalize(self.layers(images), dim=1)


def contrast(distance: Tensor, same: Tensor, margin: float) -> Tensor:
    """Draws equal digits together, and pushes others apart up to a margin."""
    pull = same * distance**2
    push = (1 - same) * F.relu(margin - distance) ** 2
    return (pull + push).mean()


@torch.no_grad()
def evaluate(
    twin: nn.Module, loader: DataLoader, margin: float, device: str
) -> tuple[float, float]:
    """Mean loss, and per cent of pairs on the right side of half the margin."""
    loss, right, count = 0.0, 0, 0
    for first, second, same in moved(loader, device):
        distance = F.pairwise_distance(twin(first), twin(second))  # (B,)
        loss += contrast(distance, same, margin).item() * len(same)
        right += int(((distance < margin / 2) == same.bool()).sum())
        count += len(same)
    return loss / count, 100 * right / count


def main() -> None:
    """Train on pairs, test on pairs of unseen images."""
    parser = options("siamese", __doc__, steps=2000, log_every=50)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--width", type=int, default=32, help="numbers per image (32)")
    parser.add_argument("--margin", type=float, default=1.0)
    parser.add_argument("--lr", type=float, default=1e-3)
    args, log = start(parser)

    pairs = Pairs(*digits(train=True), args.seed)
    batches = DataLoader(pairs, args.batch_size, shuffle=True)
    tests = DataLoader(Pairs(*digits(train=False), args.seed), batch_size=250)
    twin = Twin(args.width).to(args.device)
    optimizer = torch.optim.Adam(twin.parameters(), lr=args.lr)

    def learn(first: Tensor, second: Tensor, same: Tensor) -> Tensor:
        loss = contrast(F.pairwise_distance(twin(first), twin(second)), same, args.margin)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    learn = compiled(learn, args)
    for step, (first, second, same) in take(batches, args.steps, args.device):
        loss = learn(first, second, same)
        log.progress(step, loss=loss)
    test_loss, accuracy = evaluate(twin, tests, args.margin, args.device)
    log.result(args.steps, test_loss=test_loss, accuracy=accuracy)
    torch.save(twin.state_dict(), args.out / "model.pt")


if __name__ == "__main__":
    main()
