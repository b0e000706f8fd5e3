"""With NUMBA_DISABLE_JIT=1, as debuggers need it, both floors train and give the same numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = """
import torch
from torch import nn
from torch.nn import functional as F

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8)
        self.embed, self.rnn = nn.Embedding(50, 32), nn.LSTM(32, 32)
        self.attention = nn.TransformerEncoderLayer(32, 2, 64, 0.0, "gelu", batch_first=True)
        self.out = nn.Linear(8 * 13 * 13 + 32, 10)
    def forward(self, images, words):
        x = F.max_pool2d(F.relu(self.norm(self.conv(images))), 2).flatten(1)
        steps, _ = self.rnn(self.attention(self.embed(words)).transpose(0, 1))
        return self.out(torch.cat([x, steps[-1]], 1))

torch.manual_seed(0)
model = Model()
images, words, targets = torch.randn(32, 1, 28, 28), torch.randint(50, (32, 20)), torch.arange(32) % 10
for optimizer in torch.optim.SGD(model.parameters(), 0.1), torch.optim.AdamW(model.parameters()):
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images, words), targets)
        loss.backward()
        optimizer.step()
        print(loss.item())
big = torch.linspace(-3, 3, 200_000).reshape(400, 500)
for value in big.exp().sum(0).mean(), big.softmax(1).std(), F.gelu(big @ big.T).log1p().nansum():
    print(value.item())
rates = torch.linspace(0, 30, 30)
print(torch.poisson(rates).sum().item(), torch.normal(0.0, rates).double().exp().min().item())
print(torch._standard_gamma(rates + 0.5).sum().item(), torch.empty(20_000).exponential_().sum().item())
"""


def run(*arguments: str, folder: Path) -> str:
    """What Python prints where Numba does not compile and simulates a GPU."""
    settings = {"NUMBA_DISABLE_JIT": "1", "NUMBA_ENABLE_CUDASIM": "1"}
    ran = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **settings}, cwd=folder, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_torch_floor_trains_as_pytorch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    ours = run("-m", "minitorch.cli", "run", str(program), folder=tmp_path)
    exec(PROGRAM, {"__name__": "__main__"})
    theirs = capsys.readouterr().out
    np.testing.assert_allclose(
        [float(word) for word in ours.split()], [float(word) for word in theirs.split()], rtol=2e-5
    )


@pytest.mark.parametrize("backend", ["fast", "cuda"])
def test_the_course_library_trains(backend: str, tmp_path: Path) -> None:
    options = ["--backend", backend, "--epochs", "1", "--pts", "10", "--hidden", "2", "--plain"]
    train = ("-m", "minitorch.cli", "train", "simple", *options, "--no-picture")
    assert "of 10 points right" in run(*train, folder=tmp_path)
