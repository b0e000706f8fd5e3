import math

import gpytorch
import torch

torch.manual_seed(0)
x = torch.linspace(0, 1, 30)
y = torch.sin(x * 2 * math.pi) + torch.randn(30) * 0.2


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Model(x, y, likelihood)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
score = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
for _ in range(8):
    optimizer.zero_grad()
    loss = -score(model(x), y)
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
model.eval()
with torch.no_grad():
    seen = likelihood(model(torch.tensor([0.25, 0.5])))
print(*(f"{v:.4f}" for v in (*seen.mean.tolist(), *seen.variance.tolist())))
