"""Operations under `TorchDispatchMode`: both libraries see the same calls, overloads and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real
import torch.nn.functional as real_functional
import torch.utils._python_dispatch as real_dispatch

import minitorch.torch as ours
import minitorch.torch.nn.functional as our_functional
import minitorch.torch.utils._python_dispatch as our_dispatch

CALLS = """
y.sum() | y.sum(1) | y.sum((0, 1), keepdim=True) | y.mean(1) | y.mean() | y.max() | y.max(1) | y.argmax(1) | y.amax(1)
y.var(1) | y.any() | y.all(1) | y.logsumexp(1) | y.cumsum(1) | y.prod() | y.sort(1) | z.topk(2, 2, True)
y + 1 | y + y | 1 - y | y * 2 | y / 2 | 2 / y | y ** 2 | y ** y | 2 ** y | y // 2 | y % 2 | -y | y.clamp(0, 1) | y.clamp(min=0)
y > 0 | y == y | t.where(y > 0, y, y) | y.masked_fill(y > 0, -1e9) | t.maximum(y, y) | y.lerp(y, 0.5) | t.addcmul(y, y, y)
y.view(10) | y.T | y.t() | z.transpose(1, 2) | z.permute(0, 2, 1) | z.unsqueeze(1) | z.expand(3, 2, 4, 6) | z[None] | z.flatten(1)
z[0] | z[:, -1] | z[:, 1:3] | z.split(2, 1) | z.split([1, 3], 1) | z.unbind(1) | t.cat([y, y], 1) | t.stack([y, y]) | z.repeat(1, 2, 1)
z.flip(1) | z.roll(1, 0) | z.select(1, 0) | z.narrow(1, 0, 2) | z.gather(1, i) | z.index_select(1, j) | z[:, j] | z.tril() | z.triu(1)
z.transpose(1, 2).contiguous() | y @ y.T | t.bmm(z, z.transpose(1, 2)) | y.to(t.float64) | y.clone() | y.scatter(1, k, y)
y.scatter_add(1, k, y) | y.relu() | y.relu_() | y.add_(1) | y.mul_(2) | y.exp() | y.sqrt() | y.pow(3) | y.copy_(w) | y.fill_(2)
F.gelu(y) | F.gelu(y, approximate="tanh") | F.silu(y) | F.leaky_relu(y, 0.2) | F.elu(y) | F.softplus(y) | F.hardtanh(y) | F.relu6(y)
F.hardswish(y) | F.mish(y) | F.selu(y) | F.hardsigmoid(y) | F.max_pool2d(x, 2, 2) | F.avg_pool2d(x, 3, 2, 1) | F.embedding(j, w)
F.layer_norm(y, (5,), w[0], w[1]) | y.isnan() | y.abs() | y.sigmoid() | y.tanh() | y.floor() | y.round() | y.rsqrt() | y.reciprocal()
y.square() | y.erf() | t.atan2(y, y) | y.logical_not() | (y > 0) & (y < 1) | y.log1p() | t.fmod(y, 2) | y.type(t.float64)
""".replace("\n", " | ").split(" | ")[1:-1]  # fmt: skip

LIBRARIES = [(ours, our_functional, our_dispatch), (real, real_functional, real_dispatch)]


def seen(t: Any, functional: Any, dispatch: Any, code: str) -> list[Any]:
    """What a mode sees of a piece of code: names, and arguments with shapes for tensors."""
    log: list[Any] = []

    def shown(value: Any) -> Any:
        if isinstance(value, t.Tensor):
            return f"tensor{tuple(value.shape)}"
        if isinstance(value, (list, tuple)):
            return [shown(each) for each in value]
        return value if value is None or isinstance(value, (int, float)) else str(value)

    class Mode(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # fmt: skip
            log.append((str(func), shown(args), {k: shown(v) for k, v in (kwargs or {}).items()}))
            return func(*args, **(kwargs or {}))

    values = {
        "x": t.ones(2, 3, 8, 8), "y": t.ones(2, 5) / 2, "z": t.ones(2, 4, 6), "w": t.ones(2, 5), "j": t.tensor([0, 1]),
        "i": t.zeros(2, 1, 6, dtype=t.long), "k": t.zeros(2, 1, dtype=t.long), "t": t, "F": functional,
    }  # fmt: skip
    with Mode():
        eval(code, values)
    return log


@pytest.mark.parametrize("code", CALLS)
def test_a_mode_sees_torchs_calls(code):
    here, there = (seen(*library, code) for library in LIBRARIES)
    assert here == there


def test_what_a_mode_returns_is_the_result():
    class Doubled(our_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # fmt: skip
            result = func(*args, **(kwargs or {}))
            return result * 2 if func is ours.ops.aten.add.Tensor else result

    x = ours.ones(2, requires_grad=True)
    with Doubled():
        (x + 1).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_operations_without_a_name_in_torch_have_one_here():
    log = seen(*LIBRARIES[0], "F.fold(F.unfold(x, 3), (8, 8), 3)")
    assert [name for name, _, _ in log if name.startswith("minitorch.")]


NUMBERED = """
mse_loss(x, y, 2) | mse_loss(x, y, reduction=0) | l1_loss(x, y, 2) | smooth_l1_loss(x, y, 2, 0.5) | huber_loss(x, y, 0, 0.5)
binary_cross_entropy(p, p, None, 2) | soft_margin_loss(x, y, 2) | multi_margin_loss(r, i, 1, 1.0, None, 2) | multilabel_margin_loss(r, k, 0)
nll_loss(r, i, None, 2) | nll_loss_nd(r, i, None, 0, 1) | nll_loss2d(x, k2, None, 2) | cross_entropy_loss(r, i, None, 2, -100, 0.1)
softmax(x, 1, 7) | log_softmax(x, 1) | _convolution(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True)
_convolution(x, w, None, [2, 1], [1, 0], [1, 1], True, [1, 0], 1, False, False, True, True) | reflection_pad2d(x, [1, 1, 2, 1])
hinge_embedding_loss(r, r) | margin_ranking_loss(r, r + 1, r) | cosine_embedding_loss(r, r + 1, i - 1) | kl_div(r, p[:, :, 0, 0])
binary_cross_entropy_with_logits(r, r) | triplet_margin_loss(r, r + 1, r + 2) | triplet_margin_loss(r, r + 1, r, 1.0, 2.0, 1e-6, False, 2)
upsample_nearest2d(x, [12, 9], 2.0, 1.5) | upsample_bilinear2d(x, None, True, [2.0, 1.5]) | upsample_bicubic2d(x, [9, 4], False)
_upsample_nearest_exact2d(x, [3, 4]) | _upsample_bilinear2d_aa(x, [3, 4], False) | adaptive_max_pool2d(x, [2, 3]) | unfold(r, 1, 2, 1)
fractional_max_pool2d(x, [2, 2], [3, 3], p[:, :, 0, :2].contiguous()) | add_(x.clone(), x, alpha=2) | div_(x.clone(), x + 9, rounding_mode="floor")
zeros_like(r, pin_memory=False) | full_like(r, 2, pin_memory=False) | scalar_tensor(3, layout=t.strided) | _to_copy(r, layout=t.strided, dtype=t.int64)
broadcast_tensors([r, r[:1]]) | cartesian_prod([i, i]) | block_diag([r, r]) | einsum("ij,kj", [r, r]) | meshgrid([i, i], indexing="ij")
tensordot(r, r, [0], [0]) | _unique2(i, True, True, True) | stft(f, 8, 4, 8, None, False, True, True) | numpy_T(r)
stft(f, 8, 4, 8, None, True, "reflect", False, True, True) | embedding_bag(r, i - i, t.tensor([0, 1]), False, 1)[0]
replication_pad1d(x[0], [1, 1]) | im2col(x, [2, 2], [1, 1], [0, 0], [1, 1]) | silu_(x.clone()) | mish_(x.clone())
""".replace("\n", " | ").split(" | ")[1:-1]  # fmt: skip


@pytest.mark.parametrize("call", NUMBERED)
def test_operations_take_torchs_arguments(call):
    def result(t: Any) -> Any:
        x = ((t.arange(216) * 7 % 11 - 5) / 4.0).reshape(2, 3, 6, 6)
        values = {
            "x": x, "y": x.flip(0), "p": x.sigmoid(), "r": x[:, :, 0, 0], "w": x[:, :, :2, :3].transpose(0, 1)[:, :2].repeat(1, 2, 1, 1)[:, :3],
            "i": t.tensor([0, 2]), "k": t.tensor([[0, 2, -1], [1, -1, 0]]), "k2": (t.arange(72) % 3).reshape(2, 6, 6), "f": x.reshape(-1), "t": t,
        }  # fmt: skip
        return eval(f"op.{call}", {"op": t.ops.aten, **values})

    made = [r if isinstance(r, (list, tuple)) else (r,) for r in (result(ours), result(real))]
    for found, expected in zip(*made, strict=True):
        assert str(found.dtype) == str(expected.dtype)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
