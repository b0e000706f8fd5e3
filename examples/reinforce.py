"""Learn to balance a pole from the sum of rewards alone: REINFORCE, the plainest policy gradient.

    python examples/reinforce.py          with PyTorch
    minitorch run examples/reinforce.py   with MiniTorch

Shows: drawing actions from a distribution, gradients through the log of their chances.
One optimizer step follows a few episodes; it ends when they are long enough, on average.
"""

from __future__ import annotations

import torch
from cartpole import CartPole
from experiment import compiled, options, start
from torch import Tensor, nn
from torch.distributions import Categorical


def policy_network(width: int) -> nn.Sequential:
    """From states (T, 4) to scores of two actions (T, 2)."""
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 2))


@torch.no_grad()
def play(policy: nn.Module, game: CartPole, device: str) -> tuple[Tensor, Tensor, list[float]]:
    """One episode: states (T, 4), the actions that were drawn in them (T,), and the rewards."""
    state, over = game.reset().to(device), False
    states, actions, rewards = [], [], []
    while not over:
        action = Categorical(logits=policy(state)).sample()
        states.append(state)
        actions.append(action)
        state, reward, over = game.step(int(action))
        state = state.to(device)
        rewards.append(reward)
    return torch.stack(states), torch.stack(actions), rewards


def returns(rewards: list[float], discount: float) -> Tensor:
    """What is still to be won from each step on (T,): later rewards count less."""
    values, value = [], 0.0
    for reward in reversed(rewards):
        value = reward + discount * value
        values.append(value)
    return torch.tensor(values[::-1])


def main() -> None:
    """Play and learn until the pole stands."""
    parser = options("reinforce", __doc__, steps=200, log_every=5)
    parser.add_argument("--episodes", type=int, default=8, help="per optimizer step (8)")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--goal", type=float, default=195.0, help="mean length to reach (195)")
    args, log = start(parser)

    policy, game = policy_network(args.width).to(args.device), CartPole()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)

    def learn(states: Tensor, actions: Tensor, advantages: Tensor) -> Tensor:
        logs = Categorical(logits=policy(states)).log_prob(actions)  # (T,)
        loss = -(logs * advantages).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    learn = compiled(learn, args)
    for step in range(1, args.steps + 1):
        played = [play(policy, game, args.device) for _ in range(args.episodes)]
        states = torch.cat([states for states, _, _ in played])  # (T, 4), T of all episodes
        actions = torch.cat([actions for _, actions, _ in played])  # (T,)
        values = torch.cat([returns(rewards, args.discount) for _, _, rewards in played]).to(
            args.device
        )
        advantages = (values - values.mean()) / values.std()
        loss = learn(states, actions, advantages)
        mean_length = len(states) / args.episodes
        log.progress(step, loss=loss, mean_length=mean_length)
        if mean_length >= args.goal:
            log.result(step, solved=mean_length)
            break
    torch.save(policy.state_dict(), args.out / "model.pt")


if __name__ == "__main__":
    main()
