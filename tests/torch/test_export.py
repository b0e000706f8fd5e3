"""`torch.export` and `make_fx`: graphs beside PyTorch's, run on other inputs, saved and loaded."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
import torch as real
from torch.fx.experimental.proxy_tensor import make_fx as real_make_fx

import minitorch.torch as library
from minitorch.torch.fx.experimental.proxy_tensor import make_fx

ours: Any = library

FUNCTIONS = {
    "arithmetic": lambda t, x: ((x.sin() + 1) * x / 2).sum(),
    "reductions": lambda t, x: (x.mean(1, keepdim=True) - x.amax(1)[:, None]).exp().log1p(),
    "movement": lambda t, x: t.cat([x.t()[1:3], x.transpose(0, 1)[:2]], 0).unsqueeze(0).permute(2, 0, 1),
    "several results": lambda t, x: (*x.max(1), *x.split(2, 1)),
    "comparison": lambda t, x: t.where(x > 0, x, -x).clamp(min=0.1) ** 2,
    "products": lambda t, x: t.mm(x, x.t()).tanh(),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_make_fx_writes_torchs_code(name):
    fn = FUNCTIONS[name]
    values = [[0.5, -1.0, 2.0, 3.0], [1.5, 0.25, -2.0, 4.0]]
    here = make_fx(lambda x: fn(ours, x))(ours.tensor(values))
    there = real_make_fx(lambda x: fn(real, x))(real.tensor(values))
    assert here.code.strip() == there.code.strip()
    other = ours.tensor(values) * 1.5 + 0.25
    for mine, right in zip(tree(here(other)), tree(fn(ours, other)), strict=True):
        assert ours.equal(mine, right)


def tree(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def test_make_fx_has_backward_in_the_graph():
    def step(x, w):
        loss = ours.nn.functional.layer_norm(x @ w, (4,))[:, 1:3].square().sum()
        return ours.autograd.grad(loss, w)[0]

    x, w = ours.randn(2, 3), ours.randn(3, 4, requires_grad=True)
    traced = make_fx(step)(x, w)
    x, w = ours.randn(2, 3), ours.randn(3, 4, requires_grad=True)
    assert ours.equal(traced(x, w), step(x, w))


FROM_SIZES = {
    "arange": lambda t, x: t.arange(3.0) + t.arange(0, 1, 0.4),
    "arange of a type": lambda t, x: t.arange(3, dtype=t.int32) + t.arange(x.shape[0], dtype=t.float16),
    "range": lambda t, x: t.range(0, 2),
    "logspace": lambda t, x: t.logspace(0, 1, 3),
    "windows": lambda t, x: t.hann_window(3) + t.kaiser_window(3) + t.bartlett_window(3),
    "symmetric windows": lambda t, x: t.signal.windows.gaussian(3) + t.signal.windows.cosine(3),
    "triangles": lambda t, x: t.tril_indices(2, 2)[0] + t.triu_indices(2, 2)[1],
    "frequencies": lambda t, x: t.fft.fftfreq(3) + t.fft.rfftfreq(4, d=0.5),
    "combinations": lambda t, x: t.combinations(x).sum(1),
}  # fmt: skip


@pytest.mark.parametrize("name", FROM_SIZES)
@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_numbers_from_sizes_are_part_of_graphs_and_of_tapes(name):
    fn = FROM_SIZES[name]

    class Adds(ours.nn.Module):
        def forward(self, x):
            return x + fn(ours, x)

    x, other = ours.tensor([1.0, 2.0, 3.0]), ours.tensor([0.5, -1.0, 4.0])
    right = other + ours.tensor(fn(real, real.tensor(other.tolist())).tolist())
    for program in (
        ours.export.export(Adds(), (x,)).module(),
        make_fx(Adds().forward)(x),
        ours.compile(Adds(), fullgraph=True),
    ):
        program(x)
        for _ in range(2):  # what a play gives is new memory
            given = program(other)
            assert ours.allclose(given, right, rtol=1e-6)
            given.zero_()


def test_ranges_of_any_type_follow_sizes_that_change():
    class Adds(ours.nn.Module):
        def forward(self, x):
            return x + ours.arange(x.shape[0], dtype=ours.float16)

    shapes = {"x": {0: ours.export.Dim("n")}}
    program = ours.export.export(Adds(), (ours.ones(3),), dynamic_shapes=shapes)
    assert program.module()(ours.ones(5)).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_what_reads_values_is_named():
    def decides(x):
        return x * 2 if x.sum() > 0 else x

    with pytest.raises(RuntimeError, match=r"values.*__bool__.*test_export.py"):
        make_fx(decides)(ours.ones(2))


def test_writes_stay_in_the_graph():
    def writes(x):
        y = x * 2
        y[0] = 1
        y.add_(1)
        return y

    traced = make_fx(writes)(ours.zeros(3))
    assert traced(ours.ones(3)).tolist() == [2.0, 3.0, 3.0]


# --- export ----------------------------------------------------------------------------------------------


def network(t: Any) -> Any:
    nn = t.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            t.manual_seed(0)
            self.convolution = nn.Conv2d(3, 4, 3, padding=1)
            self.norm = nn.BatchNorm2d(4)
            self.linear = nn.Linear(4, 6)
            self.after = nn.LayerNorm(6)
            self.register_buffer("shift", t.ones(6), persistent=False)

        def forward(self, image, *, scale=2.0):
            x = t.relu(self.norm(self.convolution(image)))
            x = nn.functional.max_pool2d(x, 2, 2).view(len(image), 4, 16).mean(2)
            x = self.after(self.linear(x) + self.shift)
            return {"out": x * scale, "both": (nn.functional.gelu(x), x.sigmoid())}

    return Network().eval()


def signature(program: Any) -> list[str]:
    return [str(s) for s in (*program.graph_signature.input_specs, *program.graph_signature.output_specs)]  # fmt: skip


def exported(t: Any, **options: Any) -> Any:
    return t.export.export(network(t), (t.ones(2, 3, 8, 8),), {"scale": 3.0}, **options)


def test_export_gives_torchs_graph():
    here, there = exported(ours), exported(real)
    calls = [
        [(n.name, str(n.target)) for n in p.graph.nodes if n.op == "call_function"]
        for p in (here, there)
    ]
    assert calls[0] == calls[1]
    assert sorted(signature(here)) == sorted(signature(there))
    assert here.graph_signature.user_outputs == there.graph_signature.user_outputs
    assert set(here.state_dict) == set(there.state_dict)
    assert set(here.constants) == set(there.constants)


def test_the_exported_module_takes_and_returns_what_the_program_does():
    model = network(ours)
    image = ours.randn(2, 3, 8, 8)
    program = ours.export.export(model, (image,), {"scale": 3.0})
    got, want = program.module()(image, scale=3.0), model(image, scale=3.0)
    assert ours.equal(got["out"], want["out"])
    assert ours.equal(got["both"][1], want["both"][1])
    with pytest.raises(AssertionError, match=r"Guard failed: image.size\(\)\[0\] == 2"):
        program.module()(ours.randn(3, 3, 8, 8), scale=3.0)
    with pytest.raises(AssertionError, match=r"Guard failed: scale == 3\.0"):
        program.module()(image, scale=4.0)
    with pytest.raises(ValueError, match="tree spec"):
        program.module()([image], scale=3.0)
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program(image)


def test_an_exported_module_trains():
    model = network(ours)
    image = ours.randn(2, 3, 8, 8)
    module = ours.export.export(model, (image,), {"scale": 1.0}).module()
    module(image, scale=1.0)["out"].sum().backward()
    gradients = {name: p.grad for name, p in module.named_parameters()}
    assert set(gradients) == {name for name, _ in model.named_parameters()}
    assert all(g is not None for g in gradients.values())


class Sizes(ours.nn.Module):
    def forward(self, x):
        batch, time = x.shape
        places = ours.arange(time)
        mask = ours.ones(time, time).tril()
        folded = x.view(batch * time).view(time, batch)
        return (
            folded + places[:, None],
            x[:, : time - 1].repeat(1, 2),
            mask,
            ours.zeros(batch // 2, 3),
        )


@pytest.mark.parametrize("example", [(4, 5), (2, 2), (1, 3)])
def test_sizes_that_change_are_found(example):
    dims = {0: ours.export.Dim("batch"), 1: ours.export.Dim("time")}
    program = ours.export.export(Sizes(), (ours.randn(*example),), dynamic_shapes={"x": dims})
    module = program.module()
    for shape in ((4, 5), (6, 3), (9, 9)):
        x = ours.randn(*shape)
        for got, want in zip(module(x), Sizes()(x), strict=True):
            assert ours.equal(got, want)


def test_sizes_keep_to_their_range():
    linear = ours.nn.Linear(3, 2)
    dim = ours.export.Dim("batch", min=2, max=64)
    program = ours.export.export(linear, (ours.ones(4, 3),), dynamic_shapes=({0: dim},))
    assert str(program.range_constraints) == "{'batch': VR[2, 64]}"
    assert program.module()(ours.ones(64, 3)).shape == (64, 2)
    with pytest.raises(AssertionError, match=r"Guard failed: input.*size\(\)\[0\] <= 64"):
        program.module()(ours.ones(65, 3))


def test_what_sizes_cannot_be_is_an_error():
    class Decides(ours.nn.Module):
        def forward(self, x):
            return x + 1 if len(x) > 4 else x * 2

    class Numbers(ours.nn.Module):
        def forward(self, x):
            return x * len(x) ** 0.5

    class Fixed(ours.nn.Module):
        def forward(self, x):
            return x.view(2, 2)

    dims = ({0: ours.export.Dim("n")},)
    for model, words in (
        (Decides(), "other operations"),
        (Numbers(), "not known"),
        (Fixed(), "does not run"),
    ):
        with pytest.raises(RuntimeError, match=words):
            ours.export.export(model, (ours.ones(4),), dynamic_shapes=dims)
    with pytest.raises(RuntimeError, match="top-level keys"):
        ours.export.export(Fixed(), (ours.ones(4),), dynamic_shapes={"y": None})


def test_programs_are_saved_and_loaded():
    image = ours.randn(2, 3, 8, 8)
    shapes = {"image": {0: ours.export.Dim("n", max=9)}, "scale": None}
    program = ours.export.export(network(ours), (image,), {"scale": 1.0}, dynamic_shapes=shapes)
    file = io.BytesIO()
    ours.export.save(program, file, extra_files={"note": "seven"})
    texts = {"note": ""}
    loaded = ours.export.load(file, extra_files=texts)
    assert texts == {"note": "seven"}
    assert str(loaded.graph_signature) == str(program.graph_signature)
    other = ours.randn(5, 3, 8, 8)
    assert ours.equal(loaded.module()(other, scale=1.0)["out"], program.module()(other, scale=1.0)["out"])  # fmt: skip
    with pytest.raises(AssertionError, match="Guard failed"):
        loaded.module()(ours.randn(10, 3, 8, 8), scale=1.0)


def test_a_file_cannot_name_other_functions():
    file = io.BytesIO()
    ours.export.save(ours.export.export(ours.nn.ReLU(), (ours.ones(2),)), file)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    written = json.loads(parts["program.json"])
    next(n for n in written["nodes"] if n["op"] == "call_function")["target"] = "os.system.default"
    bad = io.BytesIO()
    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("program.json", json.dumps(written))
        archive.writestr("tensors.pt", parts["tensors.pt"])
    with pytest.raises(ValueError, match=r"does not call 'os\.system\.default'"):
        ours.export.load(bad)
