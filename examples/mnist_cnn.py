"""Recognise handwritten digits with a convolutional network: 99 % of MNIST's test images.

    python examples/mnist_cnn.py          with PyTorch
    minitorch run examples/mnist_cnn.py   with MiniTorch

Shows: convolution, pooling, dropout, a DataLoader, a one-cycle learning rate.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from data import digits
from experiment import compiled, moved, options, start, take
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    """Two convolutions that halve the picture, two layers that name the digit."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=5)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=5)
        self.hidden = nn.Linear(32 * 4 * 4, 128)
        self.dropout = nn.Dropout(0.25)
        self.output = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of ten digits (B, 10) from images (B, 1, 28, 28)."""
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)  # (B, 16, 12, 12)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)  # (B, 32, 4, 4)
        x = F.relu(self.hidden(self.dropout(x.flatten(1))))  # (B, 128)
        return self.output(self.dropout(x))


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader, device: str) -> tuple[float, float]:
    """Mean loss, and per cent of images that are recognised."""
    model.eval()
    loss, right, count = 0.0, 0, 0
    for images, labels in moved(loader, device):
        scores = model(images)
        loss += F.cross_entropy(scores, labels, reduction="sum").item()
        right += int((scores.argmax(dim=1) == labels).sum())
        count += len(labels)
    model.train()
    return loss / count, 100 * right / count


def main() -> None:
    """Train, test now and then, keep the weights."""
    parser = options("mnist_cnn", __doc__, steps=4 * 938, log_every=100)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3, help="highest learning rate (0.003)")
    parser.add_argument("--eval-every", type=int, default=938, help="steps between tests (938)")
    args, log = start(parser)

    images, labels = digits(train=True)
    mean, deviation = images.mean(), images.std()
    normal = TensorDataset((images - mean) / deviation, labels)
    batches = DataLoader(normal, args.batch_size, shuffle=True)
    images, labels = digits(train=False)
    tests = DataLoader(TensorDataset((images - mean) / deviation, labels), batch_size=250)

    model = Net().to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)

    def learn(images: Tensor, labels: Tensor) -> Tensor:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    learn = compiled(learn, args)
    for step, (images, labels) in take(batches, args.steps, args.device):
        loss = learn(images, labels)
        schedule.step()
        log.progress(step, loss=loss)
        if step % args.eval_every == 0 or step == args.steps:
            test_loss, accuracy = evaluate(model, tests, args.device)
            log.result(step, test_loss=test_loss, accuracy=accuracy)
    torch.save(model.state_dict(), args.out / "model.pt")


if __name__ == "__main__":
    main()
