"""Learn to balance a pole from the sum of rewards alone: REINFORCE, the plainest policy gradient.

    python examples/reinforce.py          with PyTorch
    minitorch run examples/reinforce.py   with MiniTorch

Shows: drawing actions from a distribution, gradients through the log of their chances.
One optimizer step is one episode; it ends when the mean of the last episodes passes `--goal`.
"""

from __future__ import annotations

import torch
from cartpole import CartPole
from experiment import options, start
from torch import Tensor, nn
from torch.distributions import Categorical


def policy_network(width: int) -> nn.Sequential:
    """From a state (4,) to scores of two actions (2,)."""
    return nn.Sequential(nn.Linear(4, width), nn.Dropout(0.4), nn.ReLU(), nn.Linear(width, 2))


def play(policy: nn.Module, game: CartPole) -> tuple[Tensor, list[float]]:
    """One episode: the log of each action's chance (T,), and the rewards."""
    state, over = game.reset(), False
    logs, rewards = [], []
    while not over:
        choice = Categorical(logits=policy(state))
        action = choice.sample()
        logs.append(choice.log_prob(action))
        state, reward, over = game.step(int(action))
        rewards.append(reward)
    return torch.stack(logs), rewards


def returns(rewards: list[float], discount: float) -> Tensor:
    """What is still to be won from each step on (T,): later rewards count less."""
    values, value = [], 0.0
    for reward in reversed(rewards):
        value = reward + discount * value
        values.append(value)
    return torch.tensor(values[::-1])


def main() -> None:
    """Play and learn until the pole stands."""
    parser = options("reinforce", __doc__, steps=1000, log_every=10)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--goal", type=float, default=475.0, help="mean length to reach (475)")
    args, log = start(parser)

    policy, game = policy_network(args.width), CartPole()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    mean = 10.0
    for step in range(1, args.steps + 1):
        logs, rewards = play(policy, game)
        values = returns(rewards, args.discount)
        advantage = (values - values.mean()) / (values.std() + 1e-6)  # (T,)
        loss = -(logs * advantage).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += 0.05 * (len(rewards) - mean)
        log.progress(step, loss=loss, length=len(rewards), mean_length=mean)
        if mean > args.goal:
            log.result(step, solved=mean)
            break
    torch.save(policy.state_dict(), args.out / "model.pt")


if __name__ == "__main__":
    main()
