import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal

pyro.set_rng_seed(0)
x = torch.linspace(-1, 1, 20)
y = 2 * x + 0.5 + 0.1 * torch.randn(20)


def model(x, y):
    slope = pyro.sample("slope", dist.Normal(0.0, 2.0))
    shift = pyro.sample("shift", dist.Normal(0.0, 2.0))
    noise = pyro.sample("noise", dist.HalfNormal(1.0))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.Normal(slope * x + shift, noise), obs=y)


guide = AutoNormal(model)
svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
for step in range(30):
    loss = svi.step(x, y)
    if step % 5 == 0:
        print(f"{loss:.4f}")
print(*(f"{name} {value.item():.4f}" for name, value in guide.median().items()))
