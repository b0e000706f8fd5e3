"""Balance many poles at once: an actor that chooses, and a critic that says what a state is worth.

    python examples/actor_critic.py          with PyTorch
    minitorch run examples/actor_critic.py   with MiniTorch

Shows: two heads on one body, advantages from estimated values, a bonus for staying undecided.
One optimizer step follows every few moves of all games; games that end begin anew.
"""

from __future__ import annotations

from collections import deque

import torch
import torch.nn.functional as F
from cartpole import CartPole
from experiment import compiled, options, start
from torch import Tensor, nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    """Scores of two actions, and the value of the state."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.actor = nn.Linear(width, 2)
        self.critic = nn.Linear(width, 1)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of actions (N, 2), and values (N,), of states (N, 4)."""
        features = self.body(states)  # (N, width)
        return self.actor(features), self.critic(features).squeeze(-1)


class Games:
    """Several carts, played in step."""

    def __init__(self, count: int, device: str) -> None:
        self.device = device
        self.games = [CartPole() for _ in range(count)]
        self.states = torch.stack([game.reset() for game in self.games]).to(device)  # (N, 4)
        self.lengths: deque[int] = deque([0], maxlen=50)

    def step(self, actions: Tensor) -> tuple[Tensor, ...]:
        """Move all; rewards (N,), and 1 where a game goes on, 0 where it ended (N,)."""
        states, rewards, alive = [], [], []
        for game, action in zip(self.games, actions.tolist(), strict=True):
            state, reward, over = game.step(action)
            if over:
                self.lengths.append(game.steps)
                state = game.reset()
            states.append(state)
            rewards.append(reward / 10)  # values of a size that the critic can say
            alive.append(1.0 - over)
        self.states = torch.stack(states).to(self.device)
        return torch.tensor([rewards, alive], device=self.device).unbind()

    def mean_length(self) -> float:
        """Of the games that ended last."""
        return sum(self.lengths) / len(self.lengths)


def targets(rewards: Tensor, alive: Tensor, last: Tensor, discount: float) -> Tensor:
    """What each state was worth (T, N): the rewards that came, then the critic's `last` word."""
    values = []
    for reward, going in zip(reversed(rewards.unbind()), reversed(alive.unbind()), strict=True):
        last = reward + discount * going * last
        values.append(last)
    return torch.stack(values[::-1])


def main() -> None:
    """Play a few moves, learn from them, again and again."""
    parser = options("actor_critic", __doc__, steps=2000, log_every=50)
    parser.add_argument("--games", type=int, default=8)
    parser.add_argument("--moves", type=int, default=16, help="per optimizer step (16)")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--discount", type=float, default=0.98)
    parser.add_argument("--goal", type=float, default=195.0, help="mean length to reach (195)")
    args, log = start(parser)

    model = ActorCritic(args.width).to(args.device)
    games = Games(args.games, args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    ask = compiled(model, args)
    for step in range(1, args.steps + 1):
        record = []
        for _ in range(args.moves):
            scores, values = ask(games.states)
            choice = Categorical(logits=scores)
            actions = choice.sample()  # (N,)
            record.append(
                (choice.log_prob(actions), choice.entropy(), values, *games.step(actions))
            )
        logs, entropies, values, rewards, alive = map(torch.stack, zip(*record, strict=True))
        with torch.no_grad():
            wanted = targets(rewards, alive, ask(games.states)[1], args.discount)  # (T, N)
        advantages = wanted - values.detach()
        acting = -(logs * advantages / (advantages.std() + 1e-6)).mean()
        judging = F.smooth_l1_loss(values, wanted)
        loss = acting + 0.5 * judging - 0.01 * entropies.mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        mean = games.mean_length()
        log.progress(step, loss=loss, critic_loss=judging, mean_length=mean)
        if mean > args.goal:
            log.result(step, solved=mean)
            break
    torch.save(model.state_dict(), args.out / "model.pt")


if __name__ == "__main__":
    main()
