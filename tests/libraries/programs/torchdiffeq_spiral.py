import torch
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
start, times = torch.tensor([[2.0, 0.0]]), torch.linspace(0, 1, 5)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net

    def forward(self, t, y):
        return self.net(y**3)


for solve in (odeint, odeint_adjoint):
    for method in ("dopri5", "rk4"):
        net.zero_grad()
        path = solve(Field(), start, times, method=method)
        path[-1].pow(2).sum().backward()
        slopes = sum(p.grad.abs().sum() for p in net.parameters())
        print(method, *(f"{v:.5f}" for v in path[-1].flatten().tolist()), f"{slopes.item():.4f}")
