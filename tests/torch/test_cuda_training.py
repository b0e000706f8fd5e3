"""The program of the Norch article (its model, data, loop and target) on a GPU, on the CPU, and in PyTorch."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch as theirs

import minitorch.torch as ours

pytestmark = [pytest.mark.cuda, pytest.mark.usefixtures("gpu")]


def losses(torch: Any, device: str, epochs: int, count: int) -> list[float]:
    """The loss of each epoch's last number, with the first `count` of the article's numbers."""
    nn = torch.nn
    torch.manual_seed(1)

    class MyModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc1 = nn.Linear(1, 10)
            self.sigmoid = nn.Sigmoid()
            self.fc2 = nn.Linear(10, 1)

        def forward(self, x: Any) -> Any:
            out = self.fc1(x)
            out = self.sigmoid(out)
            return self.fc2(out)

    model = MyModel().to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    x_values = [0.4 * i for i in range(count)]
    y_true = [math.pow(math.sin(x), 2) for x in x_values]
    loss_list: list[float] = []
    loss: Any = None
    for _ in range(epochs):
        for x, target in zip(x_values, y_true, strict=True):
            x = torch.tensor([[x]]).T.to(device)
            target = torch.tensor([[target]]).T.to(device)
            outputs = model(x)
            loss = criterion(outputs, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss_list.append(loss.item())
    return loss_list


def test_the_articles_network_learns_as_on_the_cpu_and_as_in_pytorch(gpu):
    size = (10, 51) if type(gpu).__name__ == "CupyCuda" else (2, 4)  # simulated ones are slow
    found = losses(ours, "cuda", *size)
    assert found == pytest.approx(losses(ours, "cpu", *size), rel=1e-6)
    assert found == pytest.approx(losses(theirs, "cpu", *size), rel=2e-6)
    assert found[-1] < found[0]
