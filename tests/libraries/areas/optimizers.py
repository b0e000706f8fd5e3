"""Libraries of optimizers and of what belongs to them: `python optimizers.py LIBRARY`."""

import sys

import torch


def network(seed=0):
    """A small network with a batch for it."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    return model, torch.randn(32, 6), torch.randn(32, 1)


def train(make, steps=5, after=None):
    """Print the losses of a few steps."""
    model, x, y = network()
    optimizer = make(model.parameters())
    losses = []
    for _ in range(steps):

        def closure():
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward(create_graph=getattr(make, "twice", False))
            return loss

        losses.append(closure().item())
        optimizer.step()
        if after:
            after(model)
    print(getattr(make, "__name__", ""), *(f"{loss:.6f}" for loss in losses))


def adabelief_pytorch():
    from adabelief_pytorch import AdaBelief

    train(lambda p: AdaBelief(p, lr=1e-2, eps=1e-8, print_change_log=False))


def ema_pytorch():
    from ema_pytorch import EMA

    model, x, y = network()
    ema = EMA(model, beta=0.9, update_after_step=1, update_every=1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(6):
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        ema.update()
    print(*(f"{v:.6f}" for v in ema(x)[:4].flatten().tolist()))


def lion_pytorch():
    from lion_pytorch import Lion

    train(lambda p: Lion(p, lr=1e-2, weight_decay=1e-2))


def muon():
    from muon import SingleDeviceMuon

    train(lambda p: SingleDeviceMuon([w for w in p if w.ndim == 2], lr=0.02))


def prodigyopt():
    from prodigyopt import Prodigy

    train(lambda p: Prodigy(p, lr=1.0, weight_decay=0.01))


def pytorch_optimizer():
    from pytorch_optimizer import load_optimizer

    for name in (
        "adabound adan adapnm adamp diffgrad lamb lars madgrad nero novograd qhadam radam ranger21 "
        "sophiah stableadamw tiger yogi came adopt grams"
    ).split():
        kind = load_optimizer(name)
        more = {"num_iterations": 5} if name == "ranger21" else {}

        def make(p, kind=kind, more=more):
            return kind(p, lr=1e-2, **more)

        make.__name__, make.twice = name, name == "sophiah"
        train(make, 3)


def pytorch_ranger():
    from pytorch_ranger import Ranger

    train(lambda p: Ranger(p, lr=1e-2), 8)


def pytorch_warmup():
    import pytorch_warmup

    model, x, y = network()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
    warmup = pytorch_warmup.UntunedLinearWarmup(optimizer)
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        with warmup.dampening():
            schedule.step()
        print(f"{loss.item():.6f} {optimizer.param_groups[0]['lr']:.8f}")


def schedulefree():
    from schedulefree import AdamWScheduleFree

    def make(p):
        optimizer = AdamWScheduleFree(p, lr=1e-2, warmup_steps=2)
        optimizer.train()
        return optimizer

    train(make)


def torch_ema():
    from torch_ema import ExponentialMovingAverage

    model, x, y = network()
    average = ExponentialMovingAverage(model.parameters(), decay=0.9)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(5):
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        average.update()
    with average.average_parameters():
        print(*(f"{v:.6f}" for v in model(x)[:4].flatten().tolist()))


def torch_optimizer():
    import torch_optimizer

    for name in "AccSGD AdaMod AdamP AggMo DiffGrad Lamb NovoGrad PID QHM RAdam Ranger SGDW SGDP SWATS Yogi".split():
        kind = getattr(torch_optimizer, name)

        def make(p, kind=kind):
            return kind(p, lr=1e-2)

        make.__name__ = name
        train(make, 3)


def torchopt():
    import torchopt

    train(lambda p: torchopt.Adam(p, lr=1e-2))
    model, x, y = network()
    inner = torchopt.MetaSGD(model, lr=0.1)
    scale = torch.tensor(1.0, requires_grad=True)
    for _ in range(2):
        inner.step(scale * torch.nn.functional.mse_loss(model(x), y))
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    print(f"{loss.item():.6f} {scale.grad.item():.6f}")


def warmup_scheduler():
    from warmup_scheduler import GradualWarmupScheduler

    model, x, y = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    after = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)
    schedule = GradualWarmupScheduler(optimizer, multiplier=1, total_epoch=3, after_scheduler=after)
    for _ in range(7):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        print(f"{loss.item():.6f} {optimizer.param_groups[0]['lr']:.8f}")


def higher():
    import higher

    model, x, y = network()
    inner = torch.optim.SGD(model.parameters(), 0.1)
    with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (copied, steps):
        for _ in range(3):
            steps.step(torch.nn.functional.mse_loss(copied(x), y))
        loss = torch.nn.functional.mse_loss(copied(x), y)
        loss.backward()
    print(f"{loss.item():.6f}", *(f"{p.grad.abs().sum().item():.6f}" for p in model.parameters()))


def backpack():
    from backpack import backpack, extend
    from backpack.extensions import BatchGrad, DiagGGNExact, Variance

    model, x, y = network()
    model, loss = extend(model), extend(torch.nn.MSELoss())
    with backpack(BatchGrad(), Variance(), DiagGGNExact()):
        loss(model(x), y).backward()
    for p in model.parameters():
        print(*(f"{t.norm().item():.6f}" for t in (p.grad, p.grad_batch, p.variance, p.diag_ggn_exact)))  # fmt: skip


def opacus():
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    model, x, y = network()
    model = GradSampleModule(model)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), 0.1),
        noise_multiplier=0.5,
        max_grad_norm=1.0,
        expected_batch_size=32,
        generator=torch.Generator().manual_seed(1),
    )
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")


def laplace():
    from laplace import Laplace
    from laplace.curvature import AsdlGGN, BackPackGGN

    model, x, y = network()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16)
    for backend in (BackPackGGN, AsdlGGN):
        fit = Laplace(
            model,
            "regression",
            subset_of_weights="last_layer",
            hessian_structure="full",
            backend=backend,
        )
        fit.fit(loader)
        mean, variance = fit(x[:3])
        print(
            *(f"{v:.5f}" for v in [*mean.flatten().tolist(), *variance.flatten().tolist()]),
            f"{fit.log_marginal_likelihood().item():.4f}",
        )


if __name__ == "__main__":
    globals()[sys.argv[1]]()
