"""PyTorch's tutorials and recipes on modules, files and training: `python modules.py TUTORIAL`."""

import copy
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn, optim


def show(*values):
    """Sizes and sums of tensors, other things as they are."""
    for v in values:
        told = isinstance(v, torch.Tensor)
        print(f"{tuple(v.shape)} {v.double().abs().sum().item():.6f}" if told else v)


def network():
    """A small network from a seed."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def train(model, steps=2, optimizer=None, quiet=False):
    """A few steps on noise, with their losses."""
    optimizer = optimizer or optim.SGD(model.parameters(), 0.1)
    for step in range(steps):
        generator = torch.Generator().manual_seed(step)
        loss = model(torch.randn(5, 6, generator=generator)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not quiet:
            print(f"{loss.item():.6f}")


def saving_loading_models():
    model = network()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    train(model, 2, optimizer)
    for name, value in model.state_dict().items():
        print(name, "\t", value.size())
    for name, value in optimizer.state_dict().items():
        print(name, "\t", str(value)[:40] if name == "param_groups" else len(value))
    with tempfile.TemporaryDirectory() as folder:
        PATH = Path(folder) / "model.tar"
        checkpoint = {
            "epoch": 5,
            "model_state_dict": model.state_dict(),
            "optimizer_state_dict": optimizer.state_dict(),
            "loss": 0.4,
        }
        torch.save(checkpoint, PATH)
        other = network()
        other_optimizer = optim.Adam(other.parameters(), lr=0.5)
        loaded = torch.load(PATH, weights_only=True, map_location=torch.device("cpu"))
        print(other.load_state_dict(loaded["model_state_dict"]))
        other_optimizer.load_state_dict(loaded["optimizer_state_dict"])
        train(other, 2, other_optimizer)
        torch.save(model, PATH)
        whole = torch.load(PATH, weights_only=False)
        print(whole.eval().training, loaded["epoch"])
        partial = {k: v for k, v in model.state_dict().items() if "0" in k}
        print(other.load_state_dict(partial, strict=False))
        torch.save(model.state_dict(), PATH)
        mapped = torch.load(PATH, mmap=True, weights_only=True)
        with torch.device("meta"):
            meta = nn.Linear(6, 8)
        print(meta.weight.device, meta)
        meta.load_state_dict({"weight": mapped["0.weight"], "bias": mapped["0.bias"]}, assign=True)
        show(meta(torch.ones(1, 6)))
        try:
            other.load_state_dict({"0.weight": torch.ones(1)})
        except RuntimeError as error:
            print(error)


def checkpoint_without_data():
    with tempfile.TemporaryDirectory() as folder:
        with torch.serialization.skip_data():
            torch.save(network().state_dict(), Path(folder) / "empty.pt")
        loaded = torch.load(Path(folder) / "empty.pt")
    print({k: tuple(v.shape) for k, v in loaded.items()})


def torchscript_files():
    model = network()
    with tempfile.TemporaryDirectory() as folder:
        PATH = Path(folder) / "model.pt"
        torch.jit.script(model).save(str(PATH))
        show(torch.jit.load(str(PATH))(torch.ones(1, 6)))


def module_load_state_dict_tips():
    model = network()
    state = copy.deepcopy(model.state_dict())
    torch.utils.swap_tensors(state["0.bias"], state["2.bias"])
    print(state["0.bias"].shape, state["2.bias"].shape)
    with torch.device("meta"):
        new = network()
    new.load_state_dict(model.state_dict(), assign=True)
    train(new)
    print(torch.__future__.get_swap_module_params_on_conversion())
    new.to_empty(device="cpu")
    skipped = nn.utils.skip_init(nn.Linear, 3, 2)
    print(skipped.weight.shape)


def pruning():
    from torch.nn.utils import prune

    torch.manual_seed(0)
    module = nn.Conv2d(1, 6, 3)
    prune.random_unstructured(module, name="weight", amount=0.3)
    print(list(dict(module.named_parameters())), list(dict(module.named_buffers())))
    show(module.weight, module.weight_mask)
    prune.l1_unstructured(module, name="bias", amount=3)
    print(module.bias, [type(h).__name__ for h in module._forward_pre_hooks.values()])
    prune.ln_structured(module, name="weight", amount=0.5, n=2, dim=0)
    hook = next(h for h in module._forward_pre_hooks.values() if h._tensor_name == "weight")
    print([type(h).__name__ for h in hook], list(module.state_dict()))
    prune.remove(module, "weight")
    print(list(dict(module.named_parameters())))
    model = network()
    parameters = ((model[0], "weight"), (model[2], "weight"))
    prune.global_unstructured(parameters, pruning_method=prune.L1Unstructured, amount=0.2)
    print([float(torch.sum(m.weight == 0)) for m, _ in parameters])

    class FooBarPruningMethod(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    FooBarPruningMethod.apply(model[2], "bias")
    print(model[2].bias_mask, prune.is_pruned(model))
    train(model)


def parametrizations():
    from torch.nn.utils import parametrize

    class Symmetric(nn.Module):
        def forward(self, X):
            return X.triu() + X.triu(1).transpose(-1, -2)

        def right_inverse(self, A):
            return A.triu()

    class Skew(nn.Module):
        def forward(self, X):
            A = X.triu(1)
            return A - A.transpose(-1, -2)

        def right_inverse(self, A):
            return A.triu(1)

    class CayleyMap(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.register_buffer("Id", torch.eye(n))

        def forward(self, X):
            return torch.linalg.solve(self.Id - X, self.Id + X)

        def right_inverse(self, A):
            return torch.linalg.solve(A + self.Id, self.Id - A)

    torch.manual_seed(0)
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    print(torch.allclose(layer.weight, layer.weight.T), layer)
    print(
        layer.parametrizations,
        layer.parametrizations.weight[0],
        layer.parametrizations.weight.original.shape,
    )
    with parametrize.cached():
        show(layer(torch.ones(2, 3)) + layer(torch.ones(2, 3)))
    ortho = nn.Linear(3, 3)
    parametrize.register_parametrization(ortho, "weight", Skew())
    parametrize.register_parametrization(ortho, "weight", CayleyMap(3))
    X = ortho.weight
    print(torch.dist(X.T @ X, torch.eye(3)) < 1e-5)
    layer.weight = torch.tensor([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]])
    print(layer.weight, parametrize.is_parametrized(layer, "weight"))
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    print(layer.weight)
    orthogonal = nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))
    show(orthogonal.weight @ orthogonal.weight.T)
    normed = nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))
    spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 2))
    print(list(normed.state_dict()), list(spectral.state_dict()))
    show(normed(torch.ones(1, 4)), spectral(torch.ones(1, 4)))


def optimizer_step_in_backward():
    model = network()
    optimizers = {p: optim.Adam([p], lr=0.01, foreach=False) for p in model.parameters()}

    def optimizer_hook(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(optimizer_hook)
    for step in range(3):
        loss = model(torch.ones(2, 6) * step).square().sum()
        loss.backward()
        print(f"{loss.item():.6f}", [p.grad for p in model.parameters()])


def knowledge_distillation():
    torch.manual_seed(42)
    teacher = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10)
    )
    student = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10)
    )
    x, labels = torch.randn(8, 3, 8, 8), torch.randint(10, (8,))
    teacher.eval()
    optimizer = optim.Adam(student.parameters(), lr=0.01)
    T = 2
    for _ in range(3):
        with torch.no_grad():
            teacher_logits = teacher(x)
        student_logits = student(x)
        soft_targets = F.softmax(teacher_logits / T, dim=-1)
        soft_prob = F.log_softmax(student_logits / T, dim=-1)
        soft = (
            torch.sum(soft_targets * (soft_targets.log() - soft_prob))
            / soft_prob.size()[0]
            * (T**2)
        )
        loss = 0.25 * soft + 0.75 * F.cross_entropy(student_logits, labels)
        cosine = nn.CosineEmbeddingLoss()
        hidden = F.avg_pool1d(teacher[:3](x), 2)
        loss = loss + 0.1 * cosine(student[:3](x), hidden, target=torch.ones(x.size(0)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}", f"{torch.linalg.vector_norm(student[0].weight).item():.6f}")


def learning_rates_and_averages():
    from torch.optim import lr_scheduler, swa_utils

    for make in (
        lambda o: lr_scheduler.LambdaLR(o, lambda e: 0.95**e),
        lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 0.9),
        lambda o: lr_scheduler.MultiStepLR(o, [2, 4], gamma=0.1),
        lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=8),
        lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, step_size_up=2, cycle_momentum=False),
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
        lambda o: lr_scheduler.PolynomialLR(o, 5, 2.0),
        lambda o: lr_scheduler.SequentialLR(
            o,
            [lr_scheduler.LinearLR(o, 0.1, total_iters=2), lr_scheduler.ExponentialLR(o, 0.9)],
            [2],
        ),
        lambda o: lr_scheduler.ChainedScheduler(
            [lr_scheduler.ConstantLR(o, 0.5, 3), lr_scheduler.ExponentialLR(o, 0.9)]
        ),
    ):
        model = network()
        optimizer = optim.SGD(model.parameters(), lr=0.05)
        scheduler = make(optimizer)
        rates = []
        for _ in range(6):
            train(model, 1, optimizer, quiet=True)
            scheduler.step()
            rates += scheduler.get_last_lr()
        print(*(f"{r:.6f}" for r in rates))
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer, "min", patience=0)
    for value in (1.0, 1.0, 1.0):
        plateau.step(value)
    print(optimizer.param_groups[0]["lr"])
    averaged = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9))
    swa = swa_utils.SWALR(optimizer, anneal_epochs=2, swa_lr=0.01)
    for _ in range(3):
        train(model, 1, optimizer)
        averaged.update_parameters(model)
        swa.step()
    show(averaged(torch.ones(1, 6)), *swa.get_last_lr())


def recipes():
    model = network()
    with torch.inference_mode():
        show(model(torch.ones(1, 6)))
    warm = {k: v for k, v in network().state_dict().items()}
    warm["0.weight"] = warm.pop("0.weight") * 2
    model.load_state_dict(warm, strict=False)
    activation = {}
    handles = [
        m.register_forward_hook(lambda m, i, o, name=n: activation.__setitem__(name, o.detach()))
        for n, m in model.named_modules()
    ]
    model(torch.ones(2, 6))
    for name, value in activation.items():
        print(repr(name))
        show(value)
    for handle in handles:
        handle.remove()
    model.register_full_backward_hook(lambda m, gi, go: print(len(gi), go[0].shape))
    model.register_forward_pre_hook(lambda m, args, kwargs: (args, kwargs), with_kwargs=True)
    train(model, 1)
    with torch.autograd.set_detect_anomaly(True):
        train(model, 1)
    print(torch.nn.utils.parameters_to_vector(model.parameters()).shape)
    lazy = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(3))
    print(lazy)
    with torch.device("meta"):
        shapes = lazy(torch.rand(2, 3, 8, 8, device="meta")) if False else None
    show(lazy(torch.ones(2, 3, 8, 8)).shape, shapes)
    print(lazy)
    t = torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last)
    print(t.stride(), t.is_contiguous(memory_format=torch.channels_last))
    total = sum(p.numel() for p in model.parameters())
    print(total, model.get_parameter("0.weight").shape, model.get_submodule("0"))


def reasoning_about_shapes():
    with torch.device("meta"):
        model = nn.Sequential(
            nn.Conv2d(1, 32, 3, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(1), nn.Linear(5408, 10)
        )
        x = torch.rand(2, 1, 28, 28)

    def fw_hook(module, input, output):
        print(f"Shape of output to {module} is {output.shape}.")

    for layer in model:
        layer.register_forward_hook(fw_hook)
    out = model(x)
    print(out)
    t = torch.tensor(0).to("meta") if False else torch.empty(2, device="meta")
    print(t, t.device)


def siamese_and_autoencoders():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 4))
    decoder = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 8), nn.Sigmoid())
    optimizer = optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    x = torch.rand(16, 8)
    for _ in range(4):
        mu, logvar = encoder(x).chunk(2, dim=-1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        bce = F.binary_cross_entropy(decoder(z), x, reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        optimizer.zero_grad()
        (bce + kld).backward()
        optimizer.step()
        print(f"{bce.item():.5f} {kld.item():.5f}")
    anchor, positive, negative = (encoder(torch.rand(4, 8)) for _ in range(3))
    print(f"{nn.TripletMarginLoss(margin=1.0, p=2)(anchor, positive, negative).item():.6f}")
    same = nn.functional.pairwise_distance(anchor, positive)
    contrast = torch.mean(same.pow(2) + torch.clamp(1.0 - same, min=0.0).pow(2))
    print(f"{contrast.item():.6f}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
