"""A generative adversarial network: one network forges digits, the other tells them from real ones.

    python examples/gan.py          with PyTorch
    minitorch run examples/gan.py   with MiniTorch

Shows: transposed convolution, batch normalisation, two optimizers that play against each other.
`runs/gan/` gets a picture of forged digits now and then.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from data import digits
from experiment import compiled, options, start, take
from pictures import save_grid
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


def forger(noise: int, width: int) -> nn.Sequential:
    """From noise (B, noise) to images (B, 1, 28, 28) between -1 and 1."""
    return nn.Sequential(
        nn.Linear(noise, 2 * width * 7 * 7, bias=False),
        nn.Unflatten(1, (2 * width, 7, 7)),
        nn.BatchNorm2d(2 * width),
        nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, kernel_size=4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),  # (B, width, 14, 14)
        nn.ConvTranspose2d(width, 1, kernel_size=4, stride=2, padding=1),
        nn.Tanh(),
    )


def judge(width: int) -> nn.Sequential:
    """From images (B, 1, 28, 28) to scores (B, 1): above 0 for what seems real."""
    return nn.Sequential(
        nn.Conv2d(1, width, kernel_size=4, stride=2, padding=1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(width, 2 * width, kernel_size=4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(2 * width),
        nn.LeakyReLU(0.2),
        nn.Flatten(),  # (B, 2 * width * 7 * 7)
        nn.Linear(2 * width * 7 * 7, 1),
    )


def start_weights(module: nn.Module) -> None:
    """Small normal weights, as in the DCGAN paper."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
        nn.init.normal_(module.weight, std=0.02)


def call_it(scores: Tensor, real: bool) -> Tensor:
    """The loss of scores (B, 1) if all these images were real, or forged."""
    wanted = torch.full_like(scores, float(real))
    return F.binary_cross_entropy_with_logits(scores, wanted)


def main() -> None:
    """Let both networks learn in turn."""
    parser = options("gan", __doc__, steps=3000, log_every=50)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument(
        "--noise", type=int, default=64, help="numbers that a digit grows from (64)"
    )
    parser.add_argument("--width", type=int, default=32, help="channels (32)")
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--draw-every", type=int, default=500, help="steps between pictures (500)")
    args, log = start(parser)

    images, _ = digits(train=True)
    batches = DataLoader(
        TensorDataset(2 * images - 1), args.batch_size, shuffle=True, drop_last=True
    )
    generator = forger(args.noise, args.width).apply(start_weights).to(args.device)
    critic = judge(args.width).apply(start_weights).to(args.device)
    generator_optimizer = torch.optim.Adam(generator.parameters(), args.lr, betas=(0.5, 0.999))
    critic_optimizer = torch.optim.Adam(critic.parameters(), args.lr, betas=(0.5, 0.999))
    same_noise = torch.randn(64, args.noise, device=args.device)

    def learn(real: Tensor) -> tuple[Tensor, Tensor]:
        fake = generator(torch.randn(len(real), args.noise, device=args.device))  # (B, 1, 28, 28)

        loss = call_it(critic(real), real=True) + call_it(critic(fake.detach()), real=False)
        critic_optimizer.zero_grad()
        loss.backward()
        critic_optimizer.step()

        fooling = call_it(critic(fake), real=True)
        generator_optimizer.zero_grad()
        fooling.backward()
        generator_optimizer.step()
        return loss, fooling

    learn = compiled(learn, args)
    for step, (real,) in take(batches, args.steps, args.device):
        loss, fooling = learn(real)
        log.progress(step, loss=loss, generator_loss=fooling)
        if step % args.draw_every == 0 or step == args.steps:
            with torch.no_grad():
                save_grid(args.out / f"step{step:05}.png", (generator(same_noise) + 1) / 2)
    torch.save(generator.state_dict(), args.out / "model.pt")


if __name__ == "__main__":
    main()
