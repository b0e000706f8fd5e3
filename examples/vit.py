"""A vision transformer: a digit cut into sixteen patches, read like a sentence of sixteen words.

    python examples/vit.py          with PyTorch
    minitorch run examples/vit.py   with MiniTorch

Shows: patches by a strided convolution, a class token, nn.TransformerEncoder, AdamW with weight
decay on the matrices only.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from data import digits
from experiment import compiled, moved, options, start, take
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class VisionTransformer(nn.Module):
    """Patches, positions, attention; the class token says what it is."""

    def __init__(self, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, width, kernel_size=7, stride=7)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 17, width))
        layer = nn.TransformerEncoderLayer(
            width,
            heads,
            4 * width,
            dropout=0.1,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Scores of ten digits (B, 10) from images (B, 1, 28, 28)."""
        patches = self.patches(images).flatten(2).transpose(1, 2)  # (B, 16, width)
        token = self.token.expand(len(images), -1, -1)  # (B, 1, width)
        x = torch.cat([token, patches], dim=1) + self.positions  # (B, 17, width)
        x = self.encoder(x)
        return self.output(self.norm(x[:, 0]))


def make_optimizer(model: nn.Module, lr: float) -> torch.optim.AdamW:
    """AdamW that shrinks matrices and leaves biases, norms and tokens alone."""
    matrices = [p for name, p in model.named_parameters() if p.dim() > 1 and "encoder" in name]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


@torch.no_grad()
def accuracy_of(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]) -> float:
    """Per cent of images that are recognised."""
    model.eval()
    right = [(model(images).argmax(dim=1) == labels).float() for images, labels in batches]
    model.train()
    return 100 * torch.cat(right).mean().item()


def main() -> None:
    """Train, test."""
    parser = options("vit", __doc__, steps=2000, log_every=50)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    args, log = start(parser)

    batches = DataLoader(TensorDataset(*digits(train=True)), args.batch_size, shuffle=True)
    tests = DataLoader(TensorDataset(*digits(train=False)), batch_size=250)
    model = VisionTransformer(args.width, args.layers, args.heads).to(args.device)
    optimizer = make_optimizer(model, args.lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)

    def learn(images: Tensor, labels: Tensor) -> Tensor:
        loss = F.cross_entropy(model(images), labels, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    learn = compiled(learn, args)
    for step, (images, labels) in take(batches, args.steps, args.device):
        loss = learn(images, labels)
        schedule.step()
        log.progress(step, loss=loss, rate=schedule.get_last_lr()[0])
    log.result(args.steps, accuracy=accuracy_of(model, moved(tests, args.device)))
    torch.save(model.state_dict(), args.out / "model.pt")


if __name__ == "__main__":
    main()
