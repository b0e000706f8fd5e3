"""Tensors on GPUs: a simulated one here, a real one where there is one.

`pytest -m cuda` runs these and the others that need one: on a GPU, where there is one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import Any

import pytest

import minitorch.torch as torch
from benchmarks import torch_steps
from minitorch import cli
from minitorch.doctor import check_torch_gpu
from minitorch.torch.backends.cuda.backend import find_cuda
from minitorch.torch.backends.interface import backend_of, register, unregister
from minitorch.training.checkpoint import load_checkpoint

from . import devices, opinfo

nn, F = torch.nn, torch.nn.functional

pytestmark = [pytest.mark.cuda, pytest.mark.usefixtures("gpu")]


# --- The device -----------------------------------------------------------------------------------


def test_tensors_move_and_say_where_they_are():
    x = torch.arange(6.0).reshape(2, 3)
    y = x.cuda()
    assert (y.is_cuda, str(y.device), y.get_device()) == (True, "cuda:0", 0)
    assert y.cpu().equal(x)
    assert y.to("cuda") is y
    assert y.to("cuda", torch.float64).cpu().equal(x.double())
    assert torch.zeros(2, device=y.device).is_cuda
    assert torch.ones_like(y).is_cuda
    assert y.new_tensor([1, 2]).is_cuda
    assert repr(y).endswith("device='cuda:0')")
    with torch.device("cuda"):
        assert torch.rand(3).is_cuda
        assert nn.Linear(2, 3).weight.is_cuda
    assert not torch.rand(3).is_cuda


def test_the_name_outlives_the_backend(gpu):
    unregister(gpu)
    assert torch.device("cuda:1").index == 1
    register(gpu)


def test_two_devices_do_not_mix():
    x, y = torch.ones(2), torch.ones(2, device="cuda")
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu"):
        x.add(y)
    with pytest.raises(RuntimeError, match="at least two devices"):
        y.add_(x)
    with pytest.raises(RuntimeError, match="two devices"):
        F.linear(y, torch.ones(3, 2))
    assert (y * torch.as_tensor(2.0)).tolist() == [2, 2]  # a number may be anywhere
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        y.numpy()


def test_questions_about_gpus():
    cuda = torch.cuda
    assert cuda.is_available()
    assert cuda.device_count() >= 1
    assert cuda.current_device() == 0
    assert cuda.get_device_name() == cuda.get_device_properties(0).name
    assert cuda.get_device_capability("cuda:0") >= (3, 5)
    cuda.synchronize()
    with pytest.raises(RuntimeError, match="invalid device ordinal 99"):
        cuda.set_device(99)
    with pytest.raises(ValueError, match="Expected a cuda device"):
        cuda.synchronize("cpu")
    with pytest.raises(RuntimeError, match="cuda:99"):
        torch.ones(1, device="cuda:99")
    free, total = cuda.mem_get_info()
    assert 0 < free <= total
    x = torch.ones(1 << 20, device="cuda")
    assert 0 <= cuda.memory_allocated() <= cuda.max_memory_allocated() <= cuda.max_memory_reserved()
    assert "GiB" in cuda.memory_summary()
    del x
    cuda.empty_cache()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")


def test_streams_and_events():
    stream = torch.cuda.Stream()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before = torch.cuda.current_stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        start.record()
        x = torch.ones(100, device="cuda") * 2
        end.record()
    assert torch.cuda.current_stream() == before
    torch.cuda.current_stream().wait_stream(stream)
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    assert end.query()
    assert x.sum().item() == 200
    with pytest.raises(ValueError, match="enable_timing"):
        torch.cuda.Event().elapsed_time(end)


def test_seeds_and_states_of_the_generator():
    torch.manual_seed(3)
    a = torch.rand(5, device="cuda")
    torch.cuda.manual_seed(3)
    state = torch.cuda.get_rng_state()
    assert torch.rand(5, device="cuda").equal(a)
    torch.cuda.set_rng_state(state)
    assert torch.rand(5, device="cuda").equal(a)
    torch.manual_seed(3)
    first = torch.rand(5)
    torch.manual_seed(3)
    torch.rand(100, device="cuda")  # the CPU's numbers do not depend on the GPU's
    assert torch.rand(5).equal(first)
    with pytest.raises(ValueError, match="exceeds 64 bits"):
        torch.manual_seed(-(1 << 63) - 1)
    assert torch.cuda.initial_seed() == 3
    g = torch.Generator("cuda").manual_seed(3)
    assert torch.rand(5, device="cuda", generator=g).equal(a)


def test_random_numbers_are_those_of_pytorch_on_a_gpu():
    torch.manual_seed(0)
    uniform = [0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150, 0.8203, 0.2290, 0.9096]
    assert torch.rand(10, device="cuda").tolist() == pytest.approx(uniform, abs=5e-5)
    assert torch.cuda.get_rng_state().tolist() == [0] * 8 + [4] + [0] * 7
    torch.manual_seed(0)
    normal = [-0.9247, -0.4253, -2.6438, 0.1452, -0.1209, -0.5797]
    assert torch.randn(6, device="cuda").tolist() == pytest.approx(normal, abs=5e-5)


def test_all_distributions_are_drawn_there():
    torch.manual_seed(1)
    x = torch.empty(20000, device="cuda")
    for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        y = x.to(kind)
        assert y.uniform_(2, 4).double().mean().item() == pytest.approx(3, abs=0.03)
        assert (y >= 2).all()
        assert (y < 4).all()
        assert y.normal_(1, 2).double().std().item() == pytest.approx(2, abs=0.05)
        assert y.exponential_(2).double().mean().item() == pytest.approx(0.5, abs=0.02)
        assert (y > 0).all()
        assert y.bernoulli_(0.3).double().mean().item() == pytest.approx(0.3, abs=0.02)
    assert x.geometric_(0.25).mean().item() == pytest.approx(4, abs=0.2)
    assert x.cauchy_(3, 1).median().item() == pytest.approx(3, abs=0.1)
    assert x.log_normal_(0, 1).median().item() == pytest.approx(1, abs=0.05)
    assert F.dropout(torch.ones_like(x), 0.25).mean().item() == pytest.approx(1, abs=0.02)
    chances = torch.full_like(x, 0.2)
    assert chances.bernoulli().mean().item() == pytest.approx(0.2, abs=0.02)
    whole = torch.randint(-5, 5, (20000,), device="cuda")
    assert (whole.min().item(), whole.max().item()) == (-5, 4)
    large = torch.randint(0, 1 << 40, (1000,), device="cuda")
    assert 1 << 38 < large.double().mean().item() < 1 << 40
    assert (
        torch.randperm(5000, device="cuda").sort().values.equal(torch.arange(5000, device="cuda"))
    )
    drawn = torch.multinomial(torch.as_tensor([0.0, 3.0, 1.0], device="cuda"), 2)
    assert sorted(drawn.tolist()) == [1, 2]
    with pytest.raises(RuntimeError, match="from=3 > to=1"):
        x.uniform_(3, 1)
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator"):
        torch.rand(2, device="cuda", generator=torch.Generator())
    with pytest.raises(RuntimeError, match="16 bytes"):
        torch.cuda.set_rng_state(torch.get_rng_state())


def test_the_numbers_of_the_cpu_do_not_depend_on_those_of_the_gpu():
    torch.manual_seed(3)
    first = torch.rand(5)
    torch.manual_seed(3)
    rates = torch.ones(5, device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = torch.poisson(rates)
    assert torch.rand(5).equal(first)
    torch.manual_seed(3)
    assert torch.poisson(rates).equal(counts)


def test_without_a_gpu_errors_say_what_is_missing():
    code = """if True:
        import minitorch.torch as torch
        assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
        torch.manual_seed(0); torch.cuda.manual_seed_all(0); torch.cuda.empty_cache()
        assert torch.accelerator.current_accelerator() is None
        try:
            torch.ones(2).cuda()
        except AssertionError as error:
            assert "there is no GPU here" in str(error), error
        else:
            raise SystemExit("no error")
    """
    env = os.environ | {"MINITORCH_CUDA": "off"}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def _places(*numbers: int) -> Any:
    return torch.as_tensor(numbers, device="cuda")


OUT_OF_RANGE = {
    "index": lambda x: x[_places(0, 3)],
    "index below": lambda x: x[_places(-4)],
    "write": lambda x: x.__setitem__(_places(9), 1.0),
    "index_put": lambda x: x.index_put((_places(3),), torch.ones(4, device="cuda")),
    "index_select": lambda x: x.index_select(0, _places(3)),
    "index_add": lambda x: x.index_add(0, _places(3), torch.ones(1, 4, device="cuda")),
    "index_copy": lambda x: x.index_copy(0, _places(3), torch.ones(1, 4, device="cuda")),
    "index_fill": lambda x: x.index_fill(0, _places(3), 1.0),
    "gather": lambda x: x.gather(0, _places(3)[None]),
    "scatter": lambda x: x.scatter(0, _places(3)[None], 1.0),
    "scatter_add": lambda x: x.scatter_add(0, _places(3)[None], torch.ones(1, 1, device="cuda")),
    "take": lambda x: x.take(_places(12)),
    "put": lambda x: x.put(_places(12), torch.ones(1, device="cuda")),
    "embedding": lambda x: F.embedding(_places(3), x),
    "cross_entropy": lambda x: F.cross_entropy(x, _places(0, 1, 4)),
    "nll_loss": lambda x: F.nll_loss(x, _places(0, 1, 4)),
    "one_hot": lambda x: F.one_hot(_places(3), 2),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
@pytest.mark.filterwarnings("ignore:.*has no GPU kernel")
def test_places_out_of_range_are_errors(name):
    x = torch.zeros(3, 4, device="cuda")
    with pytest.raises((IndexError, RuntimeError)):
        OUT_OF_RANGE[name](x).cpu()
    assert x.sum().item() == 0


@pytest.mark.parametrize("read", [lambda x: x.item(), lambda x: x.tolist(), bool, float])
def test_whoever_reads_a_number_is_told_what_kernels_noted(read, monkeypatch):
    x, backend = torch.ones(1, device="cuda"), backend_of(torch.ones(1, device="cuda")._array)

    def noted(array: Any) -> Any:
        raise IndexError("index out of range in self")

    monkeypatch.setattr(backend, "to_numpy", noted)
    with pytest.raises(IndexError, match="out of range"):
        read(x)


# --- Training -------------------------------------------------------------------------------------


def _losses(device: str, model_of, batch_of, optimizer: Any = torch.optim.Adam) -> list[float]:
    torch.manual_seed(0)
    model = model_of().to(device)
    x, y = (t.to(device) for t in batch_of())
    optimizer = optimizer(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(p.grad.device.type == device for p in model.parameters())
    return losses


def _images() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(4, 1, 8, 8), torch.as_tensor([0, 2, 1, 0])


def _words() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(0, 11, (4, 7)), torch.as_tensor([0, 2, 1, 0])


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.lstm = nn.LSTM(8, 6, batch_first=True)
        self.attention = nn.TransformerEncoderLayer(6, 2, 12, dropout=0.0, batch_first=True)
        self.last = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.attention(self.lstm(self.embedding(x))[0]).mean(1))


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.GELU(), nn.Linear(16, 3)), _images),
    "cnn": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3),
        ),
        _images,
    ),
    "reader": (Reader, _words),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:.*has no GPU kernel")
def test_training_gives_the_losses_of_the_cpu(name):
    assert _losses("cuda", *MODELS[name]) == pytest.approx(_losses("cpu", *MODELS[name]), rel=1e-5)


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW", "RMSprop", "Adagrad"])
def test_optimizers_step_on_the_gpu(optimizer):
    cls = getattr(torch.optim, optimizer)
    expected = _losses("cpu", *MODELS["mlp"], optimizer=cls)
    assert _losses("cuda", *MODELS["mlp"], optimizer=cls) == pytest.approx(expected, rel=1e-5)


# --- Memory, files, other libraries -----------------------------------------------------------------


def test_views_share_memory_and_writes_are_seen():
    x = torch.zeros(3, 4, device="cuda")
    x[1] = 1
    x.t()[0].add_(5)
    assert x.tolist() == [[5, 0, 0, 0], [6, 1, 1, 1], [5, 0, 0, 0]]
    y = torch.ones(3, device="cuda", requires_grad=True)
    z = y * 2
    out = z.exp()
    z.add_(1)
    out.sum().backward()
    w = (y * 2).exp()
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        w.sum().backward()


def test_elements_are_copied_between_devices():
    x, y = torch.zeros(2, 3, device="cuda"), torch.arange(3.0, requires_grad=True)
    z = x.clone()
    z.copy_(y)
    z.sum().backward()
    assert (z.tolist(), y.grad.tolist()) == ([[0, 1, 2]] * 2, [2, 2, 2])
    x[1] = y.detach()
    assert torch.zeros(2, 3).copy_(x).tolist() == [[0, 0, 0], [0, 1, 2]]
    model = nn.Linear(3, 2).cuda()
    state = nn.Linear(3, 2).state_dict()
    model.load_state_dict(state)
    assert model.weight.is_cuda
    assert model.weight.cpu().equal(state["weight"])
    optimizer = torch.optim.Adam(model.parameters())
    model(x).sum().backward()
    optimizer.step()
    saved = optimizer.state_dict()
    saved["state"] = {
        i: {name: value.cpu() for name, value in own.items()} for i, own in saved["state"].items()
    }
    again = torch.optim.Adam(model.parameters())
    again.load_state_dict(saved)
    again.step()
    assert again.state[model.weight]["exp_avg"].is_cuda


def test_files_take_tensors_to_and_from_the_gpu(tmp_path):
    x = {"a": torch.arange(4.0, device="cuda"), "b": torch.arange(3)}
    torch.save(x, tmp_path / "x.pt")
    back = torch.load(tmp_path / "x.pt")
    assert (back["a"].is_cuda, back["b"].is_cuda) == (True, False)
    assert back["a"].tolist() == [0, 1, 2, 3]
    assert not torch.load(tmp_path / "x.pt", map_location="cpu")["a"].is_cuda
    assert torch.load(tmp_path / "x.pt", map_location="cuda")["b"].is_cuda


def test_other_libraries_share_the_memory():
    with pytest.raises(AttributeError, match="non-CUDA tensor"):
        _ = torch.ones(2).__cuda_array_interface__
    cupy = pytest.importorskip("cupy")
    x = torch.arange(4.0, device="cuda")
    y = cupy.asarray(x)
    y *= 2
    assert x.tolist() == [0, 2, 4, 6]
    z = torch.from_dlpack(y)
    z.add_(1)
    assert (x.tolist(), z.is_cuda) == ([1, 3, 5, 7], True)
    assert cupy.from_dlpack(x).data.ptr == x.data_ptr()


def test_running_out_of_memory_is_an_error_and_the_process_goes_on(gpu):
    if type(gpu).__name__ != "CupyCuda":
        pytest.skip("needs a GPU")
    with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
        torch.ones(1 << 42, device="cuda")
    x = torch.ones(3, device="cuda")
    with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
        _ = x.expand(1 << 40, 3) * 2.0
    assert (x * 2).tolist() == [2, 2, 2]


# --- Switches, pinned memory, programs ----------------------------------------------------------------


def test_tf32_is_off_and_has_two_switches(gpu, monkeypatch):
    told = []
    monkeypatch.setattr(gpu, "set_precision", told.append)
    switch = torch.backends.cuda.matmul
    assert (switch.allow_tf32, torch.get_float32_matmul_precision()) == (False, "highest")
    try:
        switch.allow_tf32 = True
        assert torch.get_float32_matmul_precision() == "high"
        torch.set_float32_matmul_precision("highest")
        assert not switch.allow_tf32
    finally:
        torch.set_float32_matmul_precision("highest")
    assert told[:2] == ["high", "highest"]
    with pytest.raises(AttributeError, match="Unknown attribute"):
        switch.allow_tf23 = True


def test_pinned_memory():
    x = torch.arange(6.0).reshape(2, 3)
    assert not x.is_pinned()
    y = x.pin_memory()
    assert (y.is_pinned(), y[1:].is_pinned(), y.pin_memory() is y) == (True, True, True)
    assert (y.equal(x), y.cuda().cpu().equal(x), y.t().cuda().cpu().equal(x.t())) == (True,) * 3
    assert not y.clone().is_pinned()
    with pytest.raises(RuntimeError, match="only those of the CPU"):
        x.cuda().pin_memory()


def test_a_loader_pins_its_batches():
    data = [{"x": torch.ones(2), "y": (1, "name")} for _ in range(3)]
    for batch in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True):
        assert batch["x"].is_pinned()
        assert batch["y"][0].is_pinned()
        assert batch["y"][1][0] == "name"


def test_the_command_line_trains_there(tmp_path, capsys):
    pytest.importorskip("sklearn")
    common = "train cnn --device cuda --pts 64 --batch 32 --plain --no-picture --out".split()
    assert cli.main([*common, str(tmp_path), "--epochs", "1"]) == 0
    assert cli.main([*common, str(tmp_path), "--epochs", "2", "--resume"]) == 0
    assert cli.main([*common, str(tmp_path / "whole"), "--epochs", "2"]) == 0
    parts, whole = (
        load_checkpoint(folder / "checkpoint.npz") for folder in (tmp_path, tmp_path / "whole")
    )
    assert parts.history.losses == pytest.approx(whole.history.losses, rel=1e-6)
    bad = [*common, str(tmp_path / "bad")]
    bad[3] = "cuda:99"
    assert cli.main(bad) == 1
    assert "cuda:99" in capsys.readouterr().err


def test_the_doctor_names_the_gpu():
    finding = check_torch_gpu()
    assert finding.ok
    assert torch.cuda.get_device_name() in finding.detail


def test_the_doctor_says_what_is_missing(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("MINITORCH_CUDA", "off")
        find_cuda.cache_clear()
        finding = check_torch_gpu()
    find_cuda.cache_clear()
    find_cuda()
    assert (finding.ok, finding.detail) == (False, "MINITORCH_CUDA=off hides it")


def test_benchmarks_measure_there():
    expected = torch_steps.prepared("MLP 2-100-100-1", torch)[1]
    found = torch_steps.prepared("MLP 2-100-100-1", torch, device="cuda")[1]
    assert found == pytest.approx(expected, rel=1e-5)


# --- Every operation --------------------------------------------------------------------------------


def test_operations_give_the_numbers_of_the_cpu(gpu):
    types = devices.DTYPES[:2]
    wrong = {}
    for name in sorted(opinfo.all_operations()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                devices.check(name, 2, types)
            except Exception as error:
                wrong[name] = str(error)
    assert not wrong
