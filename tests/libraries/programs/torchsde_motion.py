import torch
import torchsde

torch.manual_seed(0)


class Motion(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.rate = torch.nn.Parameter(torch.tensor(0.5))

    def f(self, t, y):
        return -self.rate * y

    def g(self, t, y):
        return 0.2 * torch.ones_like(y)


motion = Motion()
path = torchsde.sdeint(motion, torch.ones(4, 1), torch.linspace(0, 1, 5), dt=0.05, method="euler",
                       bm=torchsde.BrownianInterval(0.0, 1.0, size=(4, 1), entropy=7))  # fmt: skip
path[-1].sum().backward()
print(*(f"{v:.5f}" for v in path[:, 0, 0].tolist()), f"{motion.rate.grad.item():.5f}")
