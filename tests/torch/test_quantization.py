"""Quantized tensors and eager quantization: the whole numbers, scales and networks are PyTorch's."""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import minitorch.torch as torch

pytestmark = pytest.mark.filterwarnings("ignore")
RANDOM = np.random.default_rng(0)
VALUES = {
    "normal": RANDOM.normal(size=(7, 9)).astype("f"),
    "ties": (np.arange(-70, 74).reshape(8, 18) / 8).astype("f"),
    "large": np.array([[1e9, -1e9, 3e38, 0.0, 1e-30]], "f"),
}
TYPES = ["qint8", "quint8", "qint32"]


def both(call):
    """What a call of a library gives, in either."""
    return call(torch), call(pytorch)


def assert_same(a: Any, b: Any, most: int | None = 0):
    """Equal, or with whole numbers that differ by at most `most`."""
    if isinstance(b, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y, most)
    elif isinstance(b, pytorch.Tensor) and b.is_quantized:
        assert str(a.dtype) == str(b.dtype)
        assert str(a.qscheme()) == str(b.qscheme())
        assert_same(a.int_repr(), b.int_repr(), most)
        assert_same(a.dequantize(), b.dequantize(), None if most else 0)
    elif isinstance(b, pytorch.Tensor):
        x, y = a.detach().numpy(), b.detach().numpy()
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        if most is not None and y.dtype.kind in "iu":
            assert np.abs(x.astype("i8") - y.astype("i8")).max(initial=0) <= most
        elif most is not None:
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
    else:
        assert a == pytest.approx(b, rel=1e-6)


@pytest.mark.parametrize(
    ("dtype", "values"), [(d, v) for d in TYPES for v in VALUES if (d, v) != ("qint32", "large")]
)
def test_tensors_are_rounded_as_pytorch_does(dtype, values):
    def call(t):
        x = t.tensor(VALUES[values])
        q = t.quantize_per_tensor(x, 0.25, 3, getattr(t, dtype))
        return q, q.q_scale(), q.q_zero_point(), q[0], q.reshape(-1), q.t(), t.dequantize(q)

    assert_same(*both(call))


@pytest.mark.parametrize("axis", [0, 1])
def test_channels_have_scales_of_their_own(axis):
    def call(t):
        x = t.tensor(VALUES["normal"])
        n = x.shape[axis]
        scales, points = (t.arange(n) + 1) / 16.0, t.arange(n) % 3
        q = t.quantize_per_channel(x, scales, points, axis, t.qint8)
        kept = q.q_per_channel_scales(), q.q_per_channel_zero_points(), q.q_per_channel_axis()
        return q, *kept, q.clone()

    assert_same(*both(call))


@pytest.mark.parametrize("reduce_range", [False, True])
@pytest.mark.parametrize("values", ["normal", "ties", "positive", "zeros", "tiny", "one sign"])
def test_ranges_give_the_scales_of_the_kernels(values, reduce_range):
    given = {
        "positive": np.abs(VALUES["normal"]), "zeros": np.zeros((2, 2), "f"),
        "tiny": VALUES["normal"] * np.float32(1e-5), "one sign": -np.abs(VALUES["normal"]),
    }  # fmt: skip
    array = (given | VALUES)[values]

    def call(t):
        q = t.quantize_per_tensor_dynamic(t.tensor(array), t.quint8, reduce_range)
        return q, q.q_scale(), q.q_zero_point()

    assert_same(*both(call))


def test_quantized_tensors_print_as_in_pytorch():
    def call(t):
        x = t.tensor(VALUES["normal"][:2, :3])
        q = t.quantize_per_tensor(x, 0.1, 10, t.quint8)
        c = t.quantize_per_channel(x, t.tensor([0.1, 0.25]), t.tensor([0, 3]), 0, t.qint8)
        shape = len(q), q.numel(), q.element_size(), q.stride(), q.is_quantized, t.equal(q, q)
        return repr(q), repr(c), repr(q[0, 0]), shape, repr(t.ao.quantization.MinMaxObserver())

    ours, theirs = both(call)
    assert ours == theirs


FUNCTIONS = {
    "relu": lambda t, q: t.relu(q),
    "max_pool2d": lambda t, q: t.nn.functional.max_pool2d(q, 2),
    "avg_pool2d": lambda t, q: t.nn.functional.avg_pool2d(q, 2),
    "adaptive_avg_pool2d": lambda t, q: t.nn.functional.adaptive_avg_pool2d(q, 1),
    "cat": lambda t, q: t.cat([q, q], 1),
    "flatten": lambda t, q: t.flatten(q, 1),
    "mean": lambda t, q: q.mean((2, 3)),
    "permute": lambda t, q: q.permute(0, 2, 3, 1).contiguous(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_quantized_tensors(name):
    pictures = RANDOM.normal(size=(2, 3, 6, 6)).astype("f")

    def call(t):
        q = t.quantize_per_tensor(t.tensor(pictures), 0.05, 110, t.quint8)
        return FUNCTIONS[name](t, q)

    assert_same(*both(call), most=1 if "avg" in name or name == "mean" else 0)


OBSERVERS = [
    ("MinMaxObserver", {}), ("MinMaxObserver", {"qscheme": "per_tensor_symmetric", "dtype": "qint8"}),
    ("MinMaxObserver", {"quant_min": 0, "quant_max": 127}), ("MinMaxObserver", {"reduce_range": True}),
    ("MovingAverageMinMaxObserver", {}), ("MovingAverageMinMaxObserver", {"averaging_constant": 0.5}),
    ("PerChannelMinMaxObserver", {"dtype": "qint8", "qscheme": "per_channel_symmetric"}), ("PerChannelMinMaxObserver", {"ch_axis": 1}),
    ("MovingAveragePerChannelMinMaxObserver", {}), ("HistogramObserver", {}), ("HistogramObserver", {"reduce_range": True}),
]  # fmt: skip


def options(t, given):
    return {k: getattr(t, v) if isinstance(v, str) else v for k, v in given.items()}


@pytest.mark.parametrize(("name", "given"), OBSERVERS)
@pytest.mark.parametrize("skewed", [False, True])
def test_observers_find_pytorchs_scales(name, given, skewed):
    batches = [RANDOM.normal(size=(16, 8)).astype("f") * s for s in (1, 0.5, 3)]
    batches = [np.exp(b) if skewed else b for b in batches]

    def call(t):
        observer = getattr(t.ao.quantization, name)(**options(t, given))
        for batch in batches:
            observer(t.tensor(batch))
        return (*observer.calculate_qparams(), observer.min_val, observer.max_val)

    assert_same(*both(call))


@pytest.mark.parametrize("name", ["FakeQuantize", "FusedMovingAvgObsFakeQuantize"])
@pytest.mark.parametrize("weight", [False, True])
def test_fake_quantization_and_its_gradient(name, weight):
    batches = [RANDOM.normal(size=(6, 5)).astype("f") * s for s in (1, 2, 0.5)]
    of_weights = {"quant_min": -128, "quant_max": 127, "dtype": "qint8", "qscheme": "per_channel_symmetric"}  # fmt: skip

    def call(t):
        tq, given = t.ao.quantization, options(t, of_weights if weight else {"quant_min": 0, "quant_max": 255})  # fmt: skip
        kind = (
            tq.MovingAveragePerChannelMinMaxObserver if weight else tq.MovingAverageMinMaxObserver
        )
        module = getattr(tq, name)(observer=kind, **given)
        found = []
        for batch in batches:
            x = t.tensor(batch, requires_grad=True)
            y = module(x)
            (y * y).sum().backward()
            found += [y, x.grad, module.scale.clone(), module.zero_point.long().clone()]
        module.apply(tq.disable_fake_quant)
        return found, module(t.tensor(batches[0]))

    assert_same(*both(call))


def network(t):
    """Convolutions, batch norm, ReLU, a skip, pooling, a linear layer; weights that are equal in both libraries."""
    tq, nn = t.ao.quantization, t.nn

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()
            self.conv1, self.bn1, self.relu1 = (
                nn.Conv2d(2, 4, 3, padding=1),
                nn.BatchNorm2d(4),
                nn.ReLU(),
            )
            self.conv2, self.bn2 = (
                nn.Conv2d(4, 4, 3, padding=1, groups=2, bias=False),
                nn.BatchNorm2d(4),
            )
            self.skip = t.ao.nn.quantized.FloatFunctional()
            self.pool, self.drop = nn.MaxPool2d(2), nn.Dropout(0.5)
            self.fc1, self.relu2, self.fc2 = nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 3)

        def forward(self, x):
            x = self.relu1(self.bn1(self.conv1(self.quant(x))))
            x = self.pool(self.skip.add_relu(x, self.bn2(self.conv2(x))))
            x = self.relu2(self.fc1(self.drop(t.flatten(x, 1))))
            return self.dequant(self.fc2(x))

    t.manual_seed(3)
    return Network()


FUSED = [["conv1", "bn1", "relu1"], ["conv2", "bn2"], ["fc1", "relu2"]]
PICTURES = RANDOM.normal(size=(8, 2, 6, 6)).astype("f")


def shown(model):
    """The network as it prints, with rounded scales."""
    lines = repr(model).splitlines()
    return [line.partition("scale=")[0] for line in lines]


@pytest.mark.parametrize("backend", ["x86", "fbgemm", "qnnpack"])
def test_a_network_quantized_after_training(backend):
    def call(t):
        tq, model = t.ao.quantization, network(t)
        model(t.tensor(PICTURES))
        model.eval().qconfig = tq.get_default_qconfig(backend)
        prepared = tq.prepare(tq.fuse_modules(model, FUSED))
        for part in (PICTURES[:4], PICTURES[4:]):
            prepared(t.tensor(part))
        made = tq.convert(prepared)
        seen = []
        made.conv1.register_forward_hook(lambda m, i, o: seen.append(o))
        made.fc1.register_forward_hook(lambda m, i, o: seen.append(o))
        result = made(t.tensor(PICTURES))
        scales = [
            made.conv1.scale,
            made.conv2.zero_point,
            made.fc1.scale,
            made.fc2.zero_point,
            made.skip.scale,
        ]
        return (
            [made.conv1.weight(), made.fc2.weight(), made.fc1.bias()],
            scales,
            seen,
            result,
            shown(made),
        )

    (w, s, seen, result, text), (w2, s2, seen2, result2, text2) = both(call)
    assert_same(w, w2)
    assert_same(s, s2)
    assert_same(seen[0], seen2[0], most=1)
    assert np.mean(seen[0].int_repr().numpy() != seen2[0].int_repr().numpy()) < 0.002
    assert np.mean(seen[1].int_repr().numpy() != seen2[1].int_repr().numpy()) < 0.02
    np.testing.assert_allclose(result.numpy(), result2.numpy(), atol=2.5 * s2[2])
    assert text == text2


def test_a_network_trained_with_rounded_numbers():
    def call(t):
        tq, model = t.ao.quantization, network(t)
        model.drop.p = 0.0
        model.qconfig = tq.get_default_qat_qconfig("x86")
        prepared = tq.prepare_qat(tq.fuse_modules_qat(model.train(), FUSED))
        optimizer = t.optim.SGD(prepared.parameters(), 0.02)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = prepared(t.tensor(PICTURES)).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        made = tq.convert(prepared.eval())
        return losses, made.conv1.weight(), made.fc1.scale, shown(made), made(t.tensor(PICTURES))

    (losses, weight, scale, text, result), (losses2, weight2, scale2, text2, result2) = both(call)
    np.testing.assert_allclose(losses, losses2, rtol=2e-3)
    assert_same(weight, weight2, most=1)
    assert scale == pytest.approx(scale2, rel=1e-2)
    assert text == text2
    np.testing.assert_allclose(result.numpy(), result2.numpy(), atol=4 * scale2)


@pytest.mark.parametrize("kind", ["linear", "lstm", "two ways"])
def test_dynamic_quantization(kind):
    x = RANDOM.normal(size=(5, 3, 6)).astype("f")

    def call(t):
        t.manual_seed(1)
        nn = t.nn
        layer = {
            "linear": lambda: nn.Sequential(
                nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4, bias=False)
            ),
            "lstm": lambda: nn.LSTM(6, 5, 2),
            "two ways": lambda: nn.LSTM(6, 5, bidirectional=True, batch_first=True),
        }[kind]()
        made = t.ao.quantization.quantize_dynamic(layer)
        return made(t.tensor(x)), repr(made) if kind == "linear" else type(made).__name__

    (a, text), (b, text2) = both(call)
    assert text == text2
    if kind == "linear":
        np.testing.assert_allclose(a.detach().numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    else:
        for one, other in zip((a[0], *a[1]), (b[0], *b[1]), strict=True):
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), atol=2e-3)


def test_the_state_of_a_quantized_lstm_is_kept(tmp_path):
    quantized = torch.ao.quantization.quantize_dynamic
    one, other = (quantized(torch.nn.LSTM(4, 3, 2, bidirectional=True)) for _ in range(2))
    torch.save(one.state_dict(), tmp_path / "lstm.pt")
    other.load_state_dict(torch.load(tmp_path / "lstm.pt"))
    x = torch.randn(5, 2, 4)
    assert torch.equal(one(x)[0], other(x)[0])


def test_quantized_layers_can_be_imported_before_all_else():
    code = "from minitorch.torch.ao.nn.quantized import Linear; from minitorch.torch.ao.quantization import convert"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_not_there_says_so():
    q = torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.quint8)
    with pytest.raises(NotImplementedError, match=r"'aten::exp'.*dequantize\(\)"):
        q.exp()
    with pytest.raises(NotImplementedError, match="GRU"):
        torch.ao.quantization.quantize_dynamic(torch.nn.GRU(2, 2), {torch.nn.GRU})
    with pytest.raises(AttributeError, match="eager"):
        _ = torch.ao.quantization.quantize_fx
    layer = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(2, 2)))[0]
    with pytest.raises(NotImplementedError, match="QuantStub"):
        torch.nn.quantized.Linear.forward(layer, torch.ones(1, 2))
    with pytest.raises(RuntimeError, match="zero_point"):
        torch.quantize_per_tensor(torch.ones(2), 0.1, 300, torch.quint8)
    assert copy.deepcopy(q).equal(q)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.quantization.QuantStub is torch.ao.quantization.QuantStub


@pytest.mark.parametrize("dynamic", [False, True])
def test_files_of_quantized_networks_open_in_either_library(dynamic, tmp_path):
    def made(t, seed):
        tq, model = t.ao.quantization, network(t)
        t.manual_seed(seed)
        t.nn.init.normal_(model.conv1.weight)
        model.eval()
        if dynamic:
            return tq.quantize_dynamic(model)
        model.qconfig = tq.get_default_qconfig("x86")
        prepared = tq.prepare(tq.fuse_modules(model, FUSED))
        prepared(t.tensor(PICTURES[seed:]))
        return tq.convert(prepared)

    for one, other in ((torch, pytorch), (pytorch, torch)):
        written, read = made(one, 1), made(other, 2)
        one.save(written.state_dict(), tmp_path / "net.pt")
        state = other.load(tmp_path / "net.pt")
        assert list(state) == list(read.state_dict())
        read.load_state_dict(state)
        a, b = written(one.tensor(PICTURES)), read(other.tensor(PICTURES))
        scale = 0.001 if dynamic else 2.5 * written.fc2.scale
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=scale)


@pytest.mark.parametrize("kind", ["float32", "float16", "float64", "int64", "bool", "complex64"])
def test_plain_tensors_stand_for_themselves(kind):
    def call(t):
        x = t.tensor([1.0, 0.0, 2.5]).to(getattr(t, kind))
        return x.dequantize(), t.dequantize(x), t.tensor(x.dequantize() is x)

    assert_same(*both(call))


def test_dequantize_of_a_plain_tensor_has_no_derivative():
    def call(t):
        x = t.ones(2, dtype=t.float64, requires_grad=True)
        y = x.dequantize()
        with pytest.raises((RuntimeError, NotImplementedError)):
            y.sum().backward()
        return t.tensor([y.requires_grad, x.grad is None])

    assert_same(*both(call))
