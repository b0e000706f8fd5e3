"""Libraries of flows, kernels, integrals and equations: `python probability.py LIBRARY`."""

import sys

import torch


def fit(parameters, loss, steps=3, lr=1e-2):
    """Print the losses of a few steps."""
    optimizer = torch.optim.Adam(parameters, lr)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    print(*(f"{v:.6f}" for v in losses))


def botorch():
    from botorch.acquisition import LogExpectedImprovement, qExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(0)
    x = torch.rand(8, 2, dtype=torch.float64)
    y = (x.sin().sum(1, keepdim=True) - x.prod(1, keepdim=True)).double()
    model = SingleTaskGP(x, y)
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(likelihood)
    print(f"{likelihood(model(*model.train_inputs), model.train_targets).item():.3f}")
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    for acquisition in (
        LogExpectedImprovement(model, best_f=y.max()),
        qExpectedImprovement(model, y.max(), SobolQMCNormalSampler(torch.Size([32]), seed=1)),
    ):
        found, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=2, raw_samples=8)
        print(*(f"{v:.2f}" for v in found.flatten().tolist()))


def linear_operator():
    from linear_operator.operators import (  # fmt: skip
        DiagLinearOperator,
        KroneckerProductLinearOperator,
        to_linear_operator,
    )

    torch.manual_seed(0)
    a, b = (torch.randn(n, n, dtype=torch.float64) for n in (3, 4))
    a, b = a @ a.mT + torch.eye(3), b @ b.mT + torch.eye(4)
    weights = torch.rand(12, dtype=torch.float64).add(0.5).requires_grad_()
    matrix = KroneckerProductLinearOperator(to_linear_operator(a), to_linear_operator(b))
    whole = matrix + DiagLinearOperator(weights)
    right = torch.randn(12, 1, dtype=torch.float64)

    def loss():
        again = matrix + DiagLinearOperator(weights)
        quadratic, logdet = again.inv_quad_logdet(right, logdet=True)
        return quadratic.sum() + logdet

    fit([weights], loss)
    print(f"{whole.solve(right).sum().item():.6f} {whole.diagonal().sum().item():.6f}")


def nflows():
    from nflows.distributions import StandardNormal
    from nflows.flows import Flow
    from nflows.transforms import (  # fmt: skip
        CompositeTransform,
        MaskedAffineAutoregressiveTransform,
        ReversePermutation,
    )

    torch.manual_seed(0)
    parts = []
    for _ in range(2):
        parts += [ReversePermutation(2), MaskedAffineAutoregressiveTransform(2, hidden_features=8)]
    flow = Flow(CompositeTransform(parts), StandardNormal([2]))
    x = torch.randn(64, 2) * torch.tensor([1.0, 0.3])
    fit(flow.parameters(), lambda: -flow.log_prob(x).mean())
    print(*(f"{v:.5f}" for v in flow.sample(3).flatten().tolist()))


def normflows():
    import normflows as nf

    torch.manual_seed(0)
    flows = []
    for _ in range(3):
        flows += [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 2])), nf.flows.Permute(2, mode="swap")]  # fmt: skip
    flow = nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), flows)
    x = torch.randn(64, 2) * torch.tensor([1.0, 0.3])
    fit(flow.parameters(), lambda: flow.forward_kld(x))
    points, chances = flow.sample(3)
    print(*(f"{v:.5f}" for v in [*points.flatten().tolist(), *chances.tolist()]))


def zuko():
    import zuko

    torch.manual_seed(0)
    x, c = torch.randn(64, 3), torch.randn(64, 2)
    for kind in (zuko.flows.NSF, zuko.flows.MAF, zuko.flows.NICE):
        flow = kind(3, 2, transforms=2, hidden_features=(16, 16))
        fit(flow.parameters(), lambda flow=flow: -flow(c).log_prob(x).mean())
        print(*(f"{v:.5f}" for v in flow(c[0]).sample((2,)).flatten().tolist()))


def torchcde():
    import torchcde

    torch.manual_seed(0)
    x = torch.randn(2, 8, 3).cumsum(1)
    net = torch.nn.Linear(4, 12)

    class Field(torch.nn.Module):
        def forward(self, t, z):
            return net(z).tanh().view(*z.shape[:-1], 4, 3)

    for make in (torchcde.hermite_cubic_coefficients_with_backward_differences, torchcde.natural_cubic_coeffs):  # fmt: skip
        path = torchcde.CubicSpline(make(x))
        field = Field()
        field.net = net

        def loss(path=path, field=field):
            z = torchcde.cdeint(X=path, func=field, z0=torch.ones(2, 4), t=path.interval, method="rk4", options={"step_size": 1.0})  # fmt: skip
            return z[:, -1].square().mean()

        fit(net.parameters(), loss)


def torchdyn():
    from torchdyn.core import NeuralODE

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    model = NeuralODE(net, solver="rk4", sensitivity="autograd")
    x = torch.randn(16, 2)
    times = torch.linspace(0, 1, 5)
    fit(model.parameters(), lambda: model(x, times)[1][-1].square().mean())


def torchquad():
    from torchquad import MonteCarlo, Simpson, set_log_level

    set_log_level("ERROR")
    torch.manual_seed(0)
    weight = torch.tensor(1.5, requires_grad=True)
    domain = torch.tensor([[0.0, 1.0], [-1.0, 1.0]])
    for rule, points in ((Simpson(), 441), (MonteCarlo(), 500)):
        more = {"seed": 3} if points == 500 else {}
        value = rule.integrate(
            lambda x: torch.exp(-weight * x.square().sum(1)),
            dim=2,
            N=points,
            integration_domain=domain,
            backend="torch",
            **more,
        )
        (grad,) = torch.autograd.grad(value, weight)
        print(f"{value.item():.5f} {grad.item():.5f}")


def geomloss():
    from geomloss import SamplesLoss

    torch.manual_seed(0)
    x, y = torch.randn(20, 2, requires_grad=True), torch.randn(25, 2) + 1
    for kind in ("sinkhorn", "gaussian", "energy"):
        value = SamplesLoss(kind, p=2, blur=0.1, backend="tensorized")(x, y)
        (grad,) = torch.autograd.grad(value, x)
        print(kind, f"{value.item():.5f} {grad.norm().item():.5f}")


def stable_baselines3():
    import gymnasium
    from stable_baselines3 import A2C, DQN, PPO

    for kind, more in ((PPO, {"n_steps": 64, "batch_size": 32, "n_epochs": 2}), (A2C, {}), (DQN, {"learning_starts": 20})):  # fmt: skip
        environment = gymnasium.make("CartPole-v1")
        model = kind("MlpPolicy", environment, seed=0, device="cpu", **more)
        model.learn(128)
        weights = sum(p.abs().sum().item() for p in model.policy.parameters())
        seen, _ = environment.reset(seed=1)
        print(kind.__name__, f"{weights:.3f}", int(model.predict(seen, deterministic=True)[0]))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
