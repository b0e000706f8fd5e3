"""Libraries that look at modules, or check and carry tensors: `python inspection.py LIBRARY`."""

import sys

import torch


def network():
    """A small network of pictures."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)
    )  # fmt: skip


def step(model, x):
    """A step of training, and its loss."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")


def beartype():
    from beartype import beartype
    from beartype.roar import BeartypeCallHintParamViolation

    @beartype
    def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
        return x * by

    print(*scaled(torch.ones(2)).tolist())
    try:
        scaled([1.0])
    except BeartypeCallHintParamViolation as error:
        print(type(error).__name__)
    step(network(), scaled(torch.randn(2, 3, 8, 8)))


def jaxtyping():
    from beartype import beartype
    from jaxtyping import Float, Int, TypeCheckError, jaxtyped

    Matrix, Chosen = Float[torch.Tensor, "n c"], Float[torch.Tensor, "k c"]
    Places = Int[torch.Tensor, " k"]

    @jaxtyped(typechecker=beartype)
    def rows(x: Matrix, i: Places) -> Chosen:
        return x[i]

    print(*rows(torch.ones(3, 2), torch.tensor([0, 2])).shape)
    for wrong in ((torch.ones(3), torch.tensor([0])), (torch.ones(3, 2), torch.tensor([0.5]))):
        try:
            rows(*wrong)
        except TypeCheckError as error:
            print(type(error).__name__)
    step(network(), torch.randn(2, 3, 8, 8))


def hydra():
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    torch.manual_seed(0)
    made = OmegaConf.create({"_target_": "torch.nn.Linear", "in_features": 4, "out_features": 2})
    model = instantiate(made)
    recipe = {"_target_": "torch.optim.AdamW", "lr": 0.01, "_partial_": True}
    optimizer = instantiate(recipe)(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.ones(3, 4)).square().sum()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")


def thop():
    from thop import profile

    print(*profile(network(), inputs=(torch.randn(1, 3, 8, 8),), verbose=False))
    step(network(), torch.randn(2, 3, 8, 8))


def torchinfo():
    from torchinfo import summary

    model = network()
    print(summary(model, input_size=(2, 3, 8, 8), verbose=0, device="cpu"))
    print(summary(torch.nn.LSTM(4, 6, 2), (5, 1, 4), verbose=0, col_names=("kernel_size", "num_params", "mult_adds")))  # fmt: skip
    step(model, torch.randn(2, 3, 8, 8))


def torchsummary():
    from torchsummary import summary

    model = network()
    summary(model, (3, 8, 8), device="cpu")
    step(model, torch.randn(2, 3, 8, 8))


def torchview():
    from torchview import draw_graph

    model = network()
    graph = draw_graph(model, input_size=(1, 3, 8, 8), device="cpu")
    print(
        len(graph.edge_list), *sorted({str(node.name) for edge in graph.edge_list for node in edge})
    )
    step(model, torch.randn(2, 3, 8, 8))


def torchviz():
    from torchviz import make_dot

    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
    out = model(torch.randn(1, 3, 8, 8)).mean()
    dot = make_dot(out, dict(model.named_parameters()))
    labels = sorted(line.split("[label=")[1].split(" fillcolor")[0].strip("]\n") for line in dot.body if "[label=" in line)  # fmt: skip
    print(*labels)
    step(network(), torch.randn(2, 3, 8, 8))


def tensordict():
    from tempfile import TemporaryDirectory

    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule, TensorDictSequential

    torch.manual_seed(0)
    data = TensorDict({"x": torch.randn(4, 6), "nested": {"y": torch.ones(4, 2)}}, batch_size=[4])
    print(data[:2].shape, sorted(data.keys(True, True), key=str), f"{data['x'].sum().item():.6f}")
    first = TensorDictModule(torch.nn.Linear(6, 8), ["x"], ["h"])
    second = TensorDictModule(torch.nn.Linear(8, 2), ["h"], ["out"])
    model = TensorDictSequential(first, second)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(data.clone())["out"] - data["nested", "y"]).square().mean()
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.6f}")
    print(torch.stack([data, data]).shape, torch.cat([data, data]).shape)
    with TemporaryDirectory() as folder:
        data.memmap(folder)
        print(f"{TensorDict.load_memmap(folder)['x'].sum().item():.6f}")
    several = TensorDict.from_modules(*(torch.nn.Linear(6, 1) for _ in range(3)), as_module=True)
    net = torch.nn.Linear(6, 1)

    def call(x, weights):
        with weights.to_module(net):
            return net(x)

    out = torch.vmap(call, (None, 0))(data["x"], several)
    out.square().mean().backward()
    print(out.shape, *(f"{p.grad.sum().item():.6f}" for p in several.parameters()))


def torchrl():
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule
    from torchrl import logger
    from torchrl.data import LazyTensorStorage, ReplayBuffer
    from torchrl.modules import (
        MLP,
        NormalParamExtractor,
        ProbabilisticActor,
        TanhNormal,
        ValueOperator,
    )
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE
    from torchrl.objectives.value.functional import generalized_advantage_estimate

    logger.setLevel("WARNING")  # it prints the time of day
    torch.manual_seed(0)
    net = MLP(in_features=4, out_features=2, num_cells=[8])
    done = torch.zeros(5, 1, dtype=torch.bool)
    values = torch.randn(5, 1)
    for found in generalized_advantage_estimate(0.99, 0.95, values, values + 0.1, torch.ones(5, 1), done, done):  # fmt: skip
        print(*(f"{v:.6f}" for v in found.flatten().tolist()))
    store = ReplayBuffer(storage=LazyTensorStorage(10), batch_size=3)
    store.extend(TensorDict({"x": torch.randn(8, 4)}, [8]))
    step(net, store.sample()["x"])
    print(f"{TanhNormal(torch.zeros(2), torch.ones(2)).log_prob(torch.tensor([0.1, -0.3])).sum().item():.6f}")  # fmt: skip
    net = torch.nn.Sequential(MLP(in_features=3, out_features=4, num_cells=[8]), NormalParamExtractor())  # fmt: skip
    made = TensorDictModule(net, ["observation"], ["loc", "scale"])
    actor = ProbabilisticActor(made, in_keys=["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True)  # fmt: skip
    critic = ValueOperator(MLP(in_features=3, out_features=1, num_cells=[8]), ["observation"])
    after = {"observation": torch.randn(5, 3), "reward": torch.randn(5, 1), "done": done, "terminated": done}  # fmt: skip
    data = actor(TensorDict({"observation": torch.randn(5, 3), "next": after}, [5])).detach()
    loss, advantage = ClipPPOLoss(actor, critic), GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    optimizer = torch.optim.Adam(loss.parameters(), 1e-2)
    for _ in range(3):
        out = loss(advantage(data))
        total = out["loss_objective"] + out["loss_critic"] + out["loss_entropy"]
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        print(f"{total.item():.4f}")


def safetensors():
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from safetensors.torch import load_model, save_model

    model, other = network(), network()
    torch.nn.init.zeros_(other[0].weight)
    with TemporaryDirectory() as folder:
        file = Path(folder, "model.safetensors")
        save_model(model, file)
        print(file.stat().st_size, load_model(other, file))
    step(other, torch.randn(2, 3, 8, 8))


def pytorch_forecasting():
    import pandas as pd
    from pytorch_forecasting import QuantileLoss, TemporalFusionTransformer, TimeSeriesDataSet

    torch.manual_seed(0)
    frame = pd.DataFrame({"t": list(range(30)) * 2, "g": ["a"] * 30 + ["b"] * 30, "v": [float(i % 7) for i in range(60)]})  # fmt: skip
    rows = TimeSeriesDataSet(frame, time_idx="t", target="v", group_ids=["g"], max_encoder_length=8, max_prediction_length=3, time_varying_unknown_reals=["v"])  # fmt: skip
    loss = QuantileLoss()
    net = TemporalFusionTransformer.from_dataset(rows, hidden_size=4, attention_head_size=1, hidden_continuous_size=4, dropout=0.0, loss=loss)  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    for x, y in list(rows.to_dataloader(train=False, batch_size=16))[:3]:
        optimizer.zero_grad()
        value = loss(net(x)["prediction"], y)
        value.backward()
        optimizer.step()
        print(f"{value.item():.5f}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
