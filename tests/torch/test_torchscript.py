"""TorchScript files: PyTorch's are read here, traced ones of ours there, and nothing in a file is executed."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
import zipfile
from typing import Any

import numpy as np
import pytest
import torch as oracle

import minitorch.torch as library
from minitorch.torch.jit.calls import ScriptError

torch: Any = library
pytorch: Any = oracle

PROGRAM = '''
import math
from typing import Dict, List, Optional, Tuple
from {0} import nn
import {0} as torch
F = nn.functional

@torch.jit.script
def twice(x: torch.Tensor) -> torch.Tensor:
    """Twice, and a little more."""
    return x * 2 + math.sqrt(4.0)

class Gate(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool(x.sum() > 0):
            return x
        else:
            return -x

class Picture(nn.Module):
    """Layers, loops, branches, lists and dicts."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(4, 3)
        self.up, self.scale, self.drop = nn.ConvTranspose2d(4, 4, 2, stride=2), 2.0, nn.Dropout(0.1)
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
        self.pools = nn.Sequential(nn.ReLU(), nn.MaxPool2d(2), Gate())
        self.register_buffer("order", torch.tensor([2, 1, 0]))
        self.gain = nn.Parameter(torch.full((3,), 1.5))

    def forward(self, x, flag: bool = True, factors: Optional[List[int]] = None):
        x = self.pools(self.up(self.bn(self.conv(x))))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        x = self.drop(self.fc(x)) * self.scale * self.gain
        for layer in self.layers:
            x = F.gelu(layer(x))
        for i in range(3):
            if i == 1:
                continue
            x = x + i
        rows: List[torch.Tensor] = []
        while len(rows) < 2:
            rows.append(x[:, self.order])
        y = torch.cat(rows, dim=0)
        if factors is not None and flag:
            for n in factors:
                y = y * n
        counts: Dict[str, int] = {{"a": 1}}
        counts["b"] = len(rows)
        assert y.shape[0] > 1, "too short"
        if y.size(1) == 7:
            raise ValueError("seven")
        y = twice(y).to(torch.float64).float()
        return y, counts, [i * 2 for i in range(3)], y.mean(dim=1, keepdim=True)

    @torch.jit.export
    def shift(self, x: torch.Tensor) -> torch.Tensor:
        return x.clamp(min=0.0) if self.training else torch.where(x > 0, x, torch.zeros_like(x))

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(32, 3)
        self.register_buffer("order", torch.tensor([2, 1, 0]))

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.bn(self.conv(x))), (4, 2))
        y = self.fc(x.permute(0, 2, 3, 1).reshape(x.size(0), -1))[:, self.order]
        return y, [y.max(1)[0], torch.cat(y.split(1, 1), 1) * 0.5 + self.order]

class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.lstm, self.norm = nn.Embedding(9, 6), nn.LSTM(6, 6, 2, batch_first=True), nn.LayerNorm(6)
        self.attention = nn.MultiheadAttention(6, 2, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.lstm(self.table(x))
        z, shares = self.attention(y, y, y)
        return self.norm(y + z), shares, h.sum(), torch.softmax(c, dim=-1)

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True, norm_first=True)
        self.last = nn.TransformerEncoderLayer(6, 3, 5, batch_first=True, activation="gelu")
        self.table, self.gru = nn.Embedding(9, 6), nn.GRU(6, 4, bidirectional=True)

    def forward(self, x):
        y = self.table(x)
        z = self.last(self.layer(y, src_key_padding_mask=x == 0))
        return z, self.gru(z.transpose(0, 1))[1]

class Sizes(nn.Module):
    def forward(self, x):
        z, places = F.adaptive_max_pool2d(x, 3, return_indices=True)
        y = F.interpolate(F.adaptive_max_pool2d(x, 4), scale_factor=1.5, mode="bilinear")
        loss = F.binary_cross_entropy_with_logits(x, torch.sigmoid(x)) + F.smooth_l1_loss(x, x * 2.0, beta=0.5)
        return z, places, y, loss, x.unfold(2, 3, 2), F.unfold(x, [2, 2]), F.interpolate(x, [5, 7], mode="nearest-exact")

class Line(Words):
    def forward(self, x):
        y, state = self.lstm(self.table(x))
        z = self.attention(y, y, y, need_weights=False)[0]
        return self.norm(y + z), state[0].sum()
'''


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The same program as a module of either library."""
    folder = tmp_path_factory.mktemp("programs")
    return {name: imported(folder, name) for name in ("torch", "minitorch.torch")}


def imported(folder, library):
    name = "program_for_" + library.replace(".", "_")
    file = folder / f"{name}.py"
    file.write_text(PROGRAM.format(library))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pair(programs, name):
    """A network of either library with the same weights."""
    theirs = getattr(programs["torch"], name)().eval()
    ours = getattr(programs["minitorch.torch"], name)().eval()
    ours.load_state_dict({k: torch.tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    return ours, theirs


def saved(module):
    file = io.BytesIO()
    (pytorch if isinstance(module, pytorch.nn.Module) else torch).jit.save(module, file)
    file.seek(0)
    return file


def assert_same(a, b):
    if isinstance(b, (pytorch.Tensor, torch.Tensor)):
        assert str(a.dtype) == str(b.dtype)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)
    elif isinstance(b, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        assert a == b


ARRAYS = {
    "Plain": np.random.default_rng(1).normal(size=(5, 1, 8, 8)).astype("f"),
    "Picture": np.random.default_rng(0).normal(size=(5, 1, 8, 8)).astype("f"),
    "Line": np.arange(12).reshape(3, 4) % 7,
    "Words": np.arange(12).reshape(3, 4) % 9,
}


WAYS = [("script", "Picture"), ("script", "Words"), ("trace", "Plain"), ("trace", "Words")]


@pytest.mark.parametrize(("way", "name"), WAYS)
def test_files_of_pytorch_are_read(programs, name, way):
    _, theirs = pair(programs, name)
    x = pytorch.tensor(ARRAYS[name])
    if way == "trace":
        compiled = pytorch.jit.trace(theirs, x[:2], strict=False, check_trace=False)
    else:
        compiled = pytorch.jit.script(theirs)
    read = torch.jit.load(saved(compiled))
    assert_same(read(torch.tensor(ARRAYS[name])), compiled(x))
    assert list(read.state_dict()) == list(compiled.state_dict())
    again = torch.jit.load(saved(read))
    assert_same(again(torch.tensor(ARRAYS[name])), compiled(x))
    first = again(torch.tensor(ARRAYS[name]))[0]
    first.sum().backward()
    assert all(p.grad is not None for n, p in again.named_parameters() if "lstm" in n)
    assert [n for n, _ in read.named_parameters()] == [n for n, _ in compiled.named_parameters()]


@pytest.mark.parametrize("way", ["script", "trace"])
def test_operations_of_pytorchs_files_take_its_arguments(programs, way):
    theirs, x = programs["torch"].Sizes(), pytorch.tensor(ARRAYS["Picture"])
    compiled = pytorch.jit.script(theirs) if way == "script" else pytorch.jit.trace(theirs, x)
    assert_same(torch.jit.load(saved(compiled))(torch.tensor(ARRAYS["Picture"])), compiled(x))


@pytest.mark.parametrize("grad", [False, True])
def test_a_transformer_of_pytorchs_is_read(programs, grad):
    """Without gradients, PyTorch's layers call one fused operation."""
    theirs = programs["torch"].Encoder().eval()
    scripted = pytorch.jit.script(theirs)
    read = torch.jit.load(saved(scripted))
    x = np.array([[3, 4, 0], [5, 6, 7]])
    with torch.set_grad_enabled(grad), pytorch.set_grad_enabled(grad):
        assert_same(read(torch.tensor(x)), theirs(pytorch.tensor(x)))


@pytest.mark.parametrize(("way", "name"), WAYS)
def test_files_of_ours_are_read_where_the_program_is_not(programs, name, way, tmp_path):
    ours, _ = pair(programs, name)
    x = torch.tensor(ARRAYS[name])
    made = torch.jit.script(ours) if way == "script" else torch.jit.trace(ours, x[:2])
    assert isinstance(made, torch.jit.ScriptModule)
    assert "def forward(self, x" in made.code
    made.save(tmp_path / "net.pt")
    code = (
        "import sys, numpy, minitorch.torch as torch; net = torch.jit.load(sys.argv[1]);"
        "torch.save([net(torch.tensor(numpy.load(sys.argv[2]))), net.state_dict()], sys.argv[3])"
    )
    np.save(tmp_path / "x.npy", ARRAYS[name])
    files = [str(tmp_path / n) for n in ("net.pt", "x.npy", "out.pt")]
    subprocess.run([sys.executable, "-c", code, *files], check=True)
    result, state = torch.load(tmp_path / "out.pt")
    assert_same(result, ours(x))
    assert list(state) == list(ours.state_dict())


@pytest.mark.parametrize("name", ["Plain", "Line"])
def test_pytorch_reads_traced_files_of_ours(programs, name):
    ours, theirs = pair(programs, name)
    x = ARRAYS[name]
    made = saved(torch.jit.trace(ours, torch.tensor(x[:2])))
    read = pytorch.jit.load(made)
    assert_same(torch.jit.load(made)(torch.tensor(x)), theirs(pytorch.tensor(x)))
    assert_same(read(pytorch.tensor(x)), theirs(pytorch.tensor(x)))
    assert {k for k, _ in read.named_parameters()} == {k for k, _ in theirs.named_parameters()}


def test_arguments_methods_and_functions(programs):
    ours, theirs = pair(programs, "Picture")
    scripted, other = torch.jit.script(ours), pytorch.jit.script(theirs)
    x = ARRAYS["Picture"]
    read = torch.jit.load(saved(scripted))
    assert_same(read(torch.tensor(x), factors=[2, 3]), other(pytorch.tensor(x), factors=[2, 3]))
    names = [n for n, _ in ours.named_parameters()]
    assert [n for n, _ in read.named_parameters()] == names
    read.train()
    assert_same(read.shift(torch.tensor(x)), ours.train().shift(torch.tensor(x)))
    again = torch.jit.load(saved(read))
    assert again.code == read.code
    assert_same(again.shift(torch.tensor(x)), read.shift(torch.tensor(x)))
    twice = torch.jit.load(saved(programs["minitorch.torch"].twice))
    assert_same(twice(torch.ones(2)), pytorch.tensor([4.0, 4.0]))
    file = io.BytesIO()
    torch.jit.save(scripted, file, _extra_files={"note.txt": "five"})
    texts = {"note.txt": ""}
    torch.jit.load(io.BytesIO(file.getvalue()), _extra_files=texts)
    assert texts == {"note.txt": "five"}


def test_forms_of_the_language_mean_what_they_mean_in_python():
    class Forms(torch.nn.Module):
        def total(self, a, b=2):
            return a + b

        def forward(self, x):
            i, given = 7, {"a": 1}
            squares = [i * i for i in range(3)]
            for n in squares:
                if n > 3:
                    break
            else:
                i = 100
            for n in squares:
                if n > 9:
                    break
            else:
                i = i + 1
            while i < 0:
                i = 0
            else:
                i = i + 1
            return x + i, {**given, "b": [*squares, i]}, self.total(*[x], b=5)

    with pytest.warns(torch.jit.PassThroughWarning):
        read = torch.jit.load(saved(torch.jit.script(Forms())))
    assert_same(read(torch.ones(2)), Forms()(torch.ones(2)))


def rewritten(change):
    """A file of ours with other code for `forward`."""
    made = saved(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)))
    file = io.BytesIO()
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(".py"):
                data = change(data.decode()).encode()
            new.writestr(name, data, zipfile.ZIP_DEFLATED if name.endswith(".py") else None)
    file.seek(0)
    return file


CODE = [
    "__import__('os').system('x')",
    "open('x')",
    "torch.load('x')",
    "torch.from_file('x')",
    "torch.serialization.load('x')",
    "ops.os.system('x')",
    "input.__class__",
    "input.numpy()",
    "self.__class__",
    "self.apply(print)",
    "self.script_code.definitions",
    "getattr(self, '__init__')",
    "(lambda: 1)()",
    "''.__class__",
    "[].__reduce__()",
    "torch.nn.functional.__builtins__",
    "torch._dynamo",
    "__torch__.os.system('x')",
    "str.format('{0.__class__}', 1)",
]


@pytest.mark.parametrize("code", CODE)
def test_no_code_of_a_file_reaches_beyond_operations(code, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("it was called")

    monkeypatch.setattr("os.system", refuse)
    read = torch.jit.load(rewritten(lambda text: text.replace("return linear", f"return {code}")))
    with pytest.raises((ScriptError, AttributeError)):
        read(torch.ones(1, 2))


def test_code_that_unpacks_to_too_much_is_refused():
    with pytest.raises(RuntimeError, match="unpacks to more than"):
        torch.jit.load(rewritten(lambda text: text + "#" * (20 << 20)))


def test_what_cannot_be_saved_says_why(tmp_path):
    class Within(torch.nn.Module):
        def forward(self, x):
            with torch.no_grad():
                return x + 1

    class Named(torch.nn.Module):
        def forward(self, x):
            return np.add(x, 1)

    for module, why in ((Within(), r"has With.*test_torchscript.py:\d+"), (Named(), "uses np.add")):
        with pytest.warns(torch.jit.PassThroughWarning, match="script"):
            scripted = torch.jit.script(module)
        with pytest.raises(ScriptError, match=why):
            scripted.save(tmp_path / "x")
    with pytest.raises(TypeError, match=r"torch\.jit\.script or torch\.jit\.trace"):
        torch.jit.save(torch.nn.Linear(1, 1), tmp_path / "x")
    torch.save(torch.ones(1), tmp_path / "weights.pt")
    with pytest.raises(RuntimeError, match=r"torch\.load reads it"):
        torch.jit.load(tmp_path / "weights.pt")
