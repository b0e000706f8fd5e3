"""A pole on a cart: the classic task of balancing, its physics after Barto, Sutton and Anderson."""

from __future__ import annotations

from math import cos, pi, sin

import torch
from torch import Tensor


class CartPole:
    """Push the cart left (0) or right (1); a step is worth 1 as long as the pole stands.

    The state is the cart's position and speed, and the pole's angle and its speed. An episode ends
    when the pole leans more than 12 degrees, the cart leaves the track, or after `limit` steps.
    """

    gravity, force, interval = 9.8, 10.0, 0.02
    pole_mass, total_mass, half_length = 0.1, 1.1, 0.5

    def __init__(self, limit: int = 200) -> None:
        self.limit = limit
        self.reset()

    def reset(self) -> Tensor:
        """Start anew, almost upright; the state (4,)."""
        self.state: list[float] = torch.empty(4).uniform_(-0.05, 0.05).tolist()
        self.steps = 0
        return torch.tensor(self.state)

    def step(self, action: int) -> tuple[Tensor, float, bool]:
        """Push for one interval; the new state (4,), the reward, and whether it is over."""
        _, speed, angle, turn = self.state
        acceleration, turning = self._accelerations(angle, turn, self.force * (2 * action - 1))
        rates = (speed, acceleration, turn, turning)
        self.state = [
            each + self.interval * rate for each, rate in zip(self.state, rates, strict=True)
        ]
        self.steps += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * pi / 180
        return torch.tensor(self.state), 1.0, fallen or self.steps >= self.limit

    def _accelerations(self, angle: float, turn: float, force: float) -> tuple[float, float]:
        """Of the cart, and of the pole's angle."""
        moment = self.pole_mass * self.half_length
        push = (force + moment * turn**2 * sin(angle)) / self.total_mass
        inertia = self.half_length * (4 / 3 - self.pole_mass * cos(angle) ** 2 / self.total_mass)
        turning = (self.gravity * sin(angle) - cos(angle) * push) / inertia
        return push - moment * turning * cos(angle) / self.total_mass, turning
