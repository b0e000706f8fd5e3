"""Operations under `TorchDispatchMode`: both libraries see the same calls, overloads and arguments."""

from __future__ import annotations

from typing import Any

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
