"""`torch.onnx.export`: files are checked by the package onnx and run by onnxruntime, beside the modules."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import minitorch.torch as torch
import minitorch.torch.nn.functional as F
from minitorch.torch import nn
from minitorch.torch.utils._pytree import tree_leaves
from minitorch.torchvision import models
from minitorch.torchvision.models.resnet import BasicBlock


class Function(nn.Module):
    """A module of a function."""

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *args):
        return self.fn(*args)


def compare(model: nn.Module, args: tuple[Any, ...], others: Any = (), tolerance: float = 1e-5, **options: Any) -> Any:  # fmt: skip
    """Export a module; the file must be valid, and give what the module gives, also for other arguments."""
    model.eval()
    program = torch.onnx.export(model, args, **options)
    onnx.checker.check_model(program.model_proto, full_check=True)
    for given in (args, *others):
        with torch.no_grad():
            wanted = [t for t in tree_leaves(model(*given)) if isinstance(t, torch.Tensor)]
        results = program(*given)
        assert len(results) == len(wanted)
        for result, right in zip(results, wanted, strict=True):
            assert result.shape == right.shape
            assert result.dtype is right.dtype
            np.testing.assert_allclose(
                result.numpy(), right.numpy(), rtol=tolerance, atol=tolerance
            )
    return program


EXPRESSIONS = """
-x | x.abs() | x.exp() | (x.abs() + 1).log() | x.abs().sqrt() | (x.abs() + 1).rsqrt() | x.sin() | x.cos() | x.tanh() | x.sigmoid() | x.floor()
x.ceil() | x.round() | x.sign() | x.erf() | x.relu() | x.abs().log1p() | x.expm1() | (x.abs() + 1).log2() | (x.abs() + 1).log10() | x.exp2()
x.trunc() | x.frac() | x.square() | x.reciprocal() | x + y | x - 2 | 2 - x | x * y | x / (y + 9) | x ** 3 | x ** 2 | 2 ** x | x // 0.7
x % 0.7 | x.fmod(0.7) | n // 3 | n % 3 | n + x | n / 2 | n * 2 | torch.maximum(x, y) | torch.minimum(x, y) | x > y | x >= 0 | x < y | x <= 0
n == 2 | n != 2 | (x > 0) & (y > 0) | (x > 0) | (y > 0) | ~(x > 0) | torch.where(x > 0, x, y) | torch.where(x > 0, x, 0.0) | x.masked_fill(x > 0, 7)
x.clamp(-1, 1) | x.clamp(min=0.1) | torch.maximum(x.clamp(max=0.5), y) | x.lerp(y, 0.3) | torch.addcmul(x, x, y, value=2) | x.double() | x.long()
F.gelu(x) | F.gelu(x, approximate="tanh") | F.silu(x) | F.mish(x) | F.hardswish(x) | F.hardsigmoid(x) | F.leaky_relu(x, 0.2) | F.elu(x, 0.7)
F.selu(x) | F.celu(x, 0.7) | F.softplus(x) | F.softplus(x, 2) | F.logsigmoid(x) | F.relu6(x) | F.threshold(x, 0.1, 5.0) | F.softmax(x, 1)
F.log_softmax(x, 0) | F.normalize(x) | F.glu(z) | x.sum() | x.sum(1) | x.mean(0, keepdim=True) | x.mean() | x.amax(1) | x.amin((0, 1)) | x.max()
x.max(1) | x.min(0) | x.argmax(1) | x.argmin() | x.prod(1) | x.logsumexp(1) | x.var(1) | x.std() | x.norm() | x.norm(p=1, dim=1)
(x > 0).any(1) | (x > 0).all() | x.cumsum(1) | x.topk(2) | x.sort(1) | x.sort(1, descending=True) | x.reshape(-1) | x.view(3, 2, 2) | x.t()
z.permute(2, 0, 1) | z.transpose(0, 2) | z.flatten(1) | z[None] | z.unsqueeze(-1) | z[:1].squeeze(0) | x[None].expand(2, 3, 4) | z[0] | z[:, -1]
z[:, 1:3] | z[..., ::2] | z[1, :, 2] | z[..., None, :2] | z[:, i] | z[:, i, i] | z[i, i, i] | z.split(2, 2) | z.split([1, 2], 1) | z.chunk(2, 2)
z.unbind(1) | torch.cat([x, y], 1) | torch.stack([x, y], 1) | z.flip(1, 2) | z.repeat(1, 2, 1) | x.repeat(2, 1, 1) | z.roll(1, 0) | z.roll(2, 2)
x.gather(1, g) | z.index_select(1, i) | F.pad(x, (1, 2)) | F.pad(z, (1, 0, 2, 1), value=3.0) | x.tril() | x.triu(1) | x.scatter(1, g, y)
x.scatter_add(1, g, y) | F.embedding(i, x) | torch.zeros(2, 3) + x[:1, :1] | torch.full((2,), 3.0) | torch.arange(4) + n
x @ y.t() | z @ z.transpose(1, 2) | torch.einsum("bij,bkj->bik", z, z) | x @ x[0] | x[0] @ x[1] | torch.addmm(x[0], x, x.t() @ x) | torch.outer(x[0], x[1])
F.linear(z, x) | F.linear(z[..., :4], x[:2], x[0, :2]) | F.layer_norm(z, (3, 4)) | F.rms_norm(x, (4,)) | F.group_norm(w, 2) | F.instance_norm(w)
F.max_pool2d(w, 2) | F.max_pool2d(w, 3, 2, 1, ceil_mode=True) | F.avg_pool2d(w, 3, 2, 1) | F.avg_pool2d(w, 3, 2, 1, count_include_pad=False)
F.adaptive_avg_pool2d(w, 1) | F.adaptive_avg_pool2d(w, 3) | F.conv2d(w, k, stride=2, padding=1) | F.conv1d(z, z[:, :, :2].transpose(0, 1)[:, :2].repeat(1, 2, 1)[:, :3])
F.conv2d(w, k[:, :1], groups=4) | F.conv_transpose2d(w, k, stride=2, padding=1, output_padding=1) | F.interpolate(w, scale_factor=2)
F.interpolate(w, size=(9, 7)) | F.interpolate(w, scale_factor=2, mode="bilinear") | F.interpolate(w, size=(9, 7), mode="bilinear", align_corners=True)
F.pixel_shuffle(w, 2) | F.scaled_dot_product_attention(z, z, z) | F.scaled_dot_product_attention(z, z, z, is_causal=True)
F.scaled_dot_product_attention(z, z, z, attn_mask=z[..., :3] > 0) | F.scaled_dot_product_attention(z, z, z, attn_mask=z[..., :3])
x.clone().relu_() | x.clone().add_(1).mul_(y) | x.clone().copy_(y) | x.clone().fill_(3) | x.detach() | torch.cdist(x, y)
""".replace("\n", " | ").split(" | ")[1:-1]  # fmt: skip


def test_operations():
    torch.manual_seed(0)
    make: Any = torch.tensor
    x, y, z, w = torch.randn(3, 4), torch.randn(3, 4), torch.randn(2, 3, 4), torch.randn(2, 4, 6, 6)
    n, i, g, k = torch.arange(-3, 9).view(3, 4), make([1, 0]), make([[0, 1], [3, 2], [1, 1]]), torch.randn(4, 4, 3, 3)  # fmt: skip
    names = {"torch": torch, "F": F, "i": i, "g": g, "k": k}
    failed = []
    for code in EXPRESSIONS:
        compiled = compile(code, code, "eval")
        model = Function(lambda x, y, z, w, n: eval(compiled, {**names, **dict(zip("xyzwn", (x, y, z, w, n), strict=True))}))  # noqa: B023  # fmt: skip
        try:
            compare(model, (x, y, z, w, n), tolerance=2e-5)
        except Exception as error:
            failed.append(f"{code}: {error}")
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize(
    "options", [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False}]
)
def test_recurrent_layers(kind, options):
    compare(kind(5, 6, **options), (torch.randn(3, 4, 5),))


def test_networks():
    torch.manual_seed(0)
    compare(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3)), (torch.randn(2, 4),))  # fmt: skip
    compare(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (torch.randn(2, 5, 8),))
    vit = models.VisionTransformer(
        image_size=16, patch_size=8, num_layers=1, num_heads=2, hidden_dim=8, mlp_dim=16
    )
    nn.init.normal_(vit.heads.head.weight)
    compare(vit, (torch.randn(2, 3, 16, 16),), tolerance=1e-4)


def test_a_resnet_of_any_size():
    torch.manual_seed(0)
    axes = {"image": {0: "n", 2: "height", 3: "width"}, "logits": {0: "n"}}
    program = compare(
        models.ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10), (torch.randn(1, 3, 32, 32),), [(torch.randn(2, 3, 48, 40),)], 1e-4,
        input_names=["image"], output_names=["logits"], dynamic_axes=axes,
    )  # fmt: skip
    graph = program.model_proto.graph
    shapes = [[d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in (*graph.input, *graph.output)]  # fmt: skip
    assert shapes == [["n", 3, "height", "width"], ["n", 10]]
    assert "layer1.0.conv1.weight" in [w.name for w in graph.initializer]


class GPT(nn.Module):
    """A small one, with its masks written out or by the attention function."""

    def __init__(self, fused: bool, width: int = 16, heads: int = 2, longest: int = 8) -> None:
        super().__init__()
        self.fused, self.heads = fused, heads
        self.tokens, self.places = nn.Embedding(11, width), nn.Embedding(longest, width)
        self.norm, self.attend, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, 11)  # fmt: skip
        self.register_buffer(
            "mask", torch.ones(longest, longest).tril().view(1, 1, longest, longest)
        )

    def forward(self, tokens):
        batch, time = tokens.size()
        assert time <= self.mask.size(-1), "too long"
        x = self.tokens(tokens) + self.places(torch.arange(time))
        width = x.size(-1)
        parts = self.attend(self.norm(x)).split(width, dim=2)
        q, k, v = (
            p.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for p in parts
        )
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
            y = (
                F.softmax(scores.masked_fill(self.mask[:, :, :time, :time] == 0, -torch.inf), -1)
                @ v
            )
        return self.out(x + y.transpose(1, 2).contiguous().view(batch, time, width))


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("shape", [(2, 5), (1, 8)])
def test_a_gpt_for_any_number_of_tokens(fused, shape):
    torch.manual_seed(0)
    others = [(torch.randint(0, 11, s),) for s in ((1, 1), (3, 7), (2, 8))]
    axes = {"tokens": {0: "batch", 1: "time"}}
    compare(
        GPT(fused),
        (torch.randint(0, 11, shape),),
        others,
        dynamic_axes=axes,
        input_names=["tokens"],
    )


def test_files_and_older_calls(tmp_path):
    model = nn.Linear(3, 2).train()
    path = tmp_path / "linear.onnx"
    with pytest.warns(UserWarning, match="lower version"):
        made = torch.onnx.export(
            model, torch.ones(1, 3), str(path), dynamo=False, opset_version=11, verbose=False
        )
    assert made is None
    assert model.training
    x = torch.randn(1, 3)
    session = onnxruntime.InferenceSession(path)
    result: Any = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
    np.testing.assert_allclose(result, model(x).detach().numpy(), rtol=1e-6)
    program = torch.onnx.export(torch.export.export(model, (x,)))
    file = io.BytesIO()
    program.save(file)
    assert file.getvalue() == program._bytes


def test_what_has_no_form_is_named():
    x = torch.randn(3, 3)

    def part_written(x):
        y = x.clone()
        y[0] = 1
        return y * 2

    cases = {
        "minitorch.linalg_svd.default has no ONNX form": torch.linalg.svd,
        "memory": part_written,
        "__bool__": lambda x: x if x.sum() > 0 else -x,
        "windows differ": lambda x: F.adaptive_avg_pool1d(x, 2),
        "mask of truth values": lambda x: x[x > 0],
        "follow each other": lambda x: x[None].expand(3, 3, 3)[x[0].long() * 0, :, x[0].long() * 0],
    }
    for words, fn in cases.items():
        with pytest.raises(torch.onnx.OnnxExporterError, match=words):
            torch.onnx.export(Function(fn), (x,))
    with pytest.raises(torch.onnx.OnnxExporterError, match="1 inputs, but 2 input_names"):
        torch.onnx.export(nn.ReLU(), (x,), input_names=["a", "b"])
    with pytest.raises(ValueError, match="opset_version 99 is not known"):
        torch.onnx.export(nn.ReLU(), (x,), opset_version=99)
