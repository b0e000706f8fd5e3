"""Calls that PyTorch refuses: `t` stands for PyTorch or for `minitorch.torch`, `t.F` for nn.functional."""

from __future__ import annotations

import copy
import io
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[Any], Any]


# --- Calls that take more than one expression -------------------------------------------------


def twice(fn: Callable[[], Any]) -> Any:
    """Call something again that can be called once."""
    fn()
    return fn()


def leaf(t: Any, *shape: int) -> Any:
    """A tensor of ones that wants a gradient."""
    return t.ones(*shape, requires_grad=True)


def write_after_saving(t: Any) -> None:
    x = leaf(t, 3) * 2
    y = x.exp().sum() + x.pow(2).sum()
    x.add_(1)
    y.backward()


def write_output_after_saving(t: Any) -> None:
    x = leaf(t, 3).sigmoid()
    y = x.sum()
    x.mul_(2)
    y.backward()


def write_through_view_after_saving(t: Any) -> None:
    x = leaf(t, 3) * 2
    y = (x * x).sum()
    x[0] = 0
    y.backward()


def write_view_made_without_grad(t: Any) -> None:
    x = leaf(t, 3) * 2
    with t.no_grad():
        view = x[1:]
    view.mul_(2)


def write_inference_tensor(t: Any) -> None:
    with t.inference_mode():
        x = t.ones(3) * 2
    x.add_(1)


def save_inference_tensor(t: Any) -> None:
    with t.inference_mode():
        x = t.ones(3) * 2
    (leaf(t, 3) * x).sum().backward()


def write_into_part_of_itself(t: Any) -> None:
    x = t.arange(4.0)
    x[1:].add_(x[:-1])


def set_leaf_flag_of_result(t: Any) -> None:
    y = leaf(t, 3) * 2
    y.requires_grad = False


def function_without_forward(t: Any) -> Any:
    class Nothing(t.autograd.Function):
        pass

    return Nothing.apply(leaf(t, 3))


def function_without_backward(t: Any) -> None:
    class OneWay(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    OneWay.apply(leaf(t, 3)).sum().backward()


def function_with_too_many_gradients(t: Any) -> None:
    class Generous(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    Generous.apply(leaf(t, 3)).sum().backward()


def function_with_too_few_gradients(t: Any) -> None:
    class Mean(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    Mean.apply(leaf(t, 3), leaf(t, 3)).sum().backward()


def function_with_gradient_of_wrong_shape(t: Any) -> None:
    class Misshapen(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.new_ones(5)

    Misshapen.apply(leaf(t, 3)).sum().backward()


def function_with_gradient_that_is_a_number(t: Any) -> None:
    class Numeric(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2.0

    Numeric.apply(leaf(t, 3)).sum().backward()


def function_that_saves_a_number(t: Any) -> None:
    class Saver(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(3.0)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    Saver.apply(leaf(t, 3)).sum().backward()


def function_called_by_its_object(t: Any) -> Any:
    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    return Double()(leaf(t, 3))


def function_once_differentiable(t: Any) -> None:
    class Once(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @t.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(t, 3)
    (g,) = t.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    g.sum().backward()


def hook_of_wrong_shape(t: Any) -> None:
    y = leaf(t, 3) * 2
    y.register_hook(lambda g: g.new_ones(5))
    y.sum().backward()


def hook_that_returns_a_string(t: Any) -> None:
    y = leaf(t, 3) * 2
    y.register_hook(lambda g: "a")
    y.sum().backward()


def truncated_file(t: Any) -> Any:
    file = io.BytesIO()
    t.save(t.ones(100), file)
    return t.load(io.BytesIO(file.getvalue()[:200]))


class Attack:
    """An object whose pickle calls a function."""

    def __reduce__(self) -> Any:
        return print, ("never",)


def malicious_file(t: Any) -> Any:
    file = io.BytesIO()
    t.save(Attack(), file)
    return t.load(io.BytesIO(file.getvalue()), weights_only=True)


def arrays_backwards() -> Any:
    """An array that NumPy walks from its end."""
    return np.arange(4.0)[::-1]


# --- The table --------------------------------------------------------------------------------

TABLE: dict[str, list[Call]] = {
    "shapes that do not broadcast": [
        lambda t: t.ones(2, 3) + t.ones(2, 5),
        lambda t: t.ones(2, 3) - t.ones(5),
        lambda t: t.ones(2, 3) * t.ones(5, 3),
        lambda t: t.ones(2, 3) / t.ones(3, 2),
        lambda t: t.ones(7) ** t.ones(5),
        lambda t: t.ones(7) // t.ones(5),
        lambda t: t.ones(7) % t.ones(5),
        lambda t: t.ones(2, 3) < t.ones(5),
        lambda t: t.ones(2, 3) == t.ones(5),
        lambda t: t.maximum(t.ones(7), t.ones(3)),
        lambda t: t.atan2(t.ones(3), t.ones(4)),
        lambda t: t.fmod(t.ones(3), t.ones(4)),
        lambda t: t.logical_and(t.ones(3), t.ones(4)),
        lambda t: t.copysign(t.ones(3), t.ones(4)),
        lambda t: t.where(t.ones(2) > 0, t.ones(3), t.ones(3)),
        lambda t: t.lerp(t.ones(3), t.ones(5), 0.5),
        lambda t: t.addcmul(t.ones(3), t.ones(4), t.ones(5)),
        lambda t: t.addcdiv(t.ones(3), t.ones(4), t.ones(5)),
        lambda t: t.clamp(t.ones(3), min=t.ones(5)),
        lambda t: t.polar(t.ones(3), t.ones(4)),
        lambda t: t.allclose(t.ones(3), t.ones(4)),
        lambda t: t.bitwise_and(t.arange(3), t.arange(4)),
        lambda t: t.broadcast_tensors(t.ones(3), t.ones(4)),
        lambda t: t.broadcast_shapes((2, 3), (4, 3)),
        lambda t: t.xlogy(t.ones(3), t.ones(4)),
        lambda t: t.hypot(t.ones(2, 3), t.ones(3, 3)),
        lambda t: t.dist(t.ones(3), t.ones(4)),
    ],
    "types of elements": [
        lambda t: ~t.ones(3),
        lambda t: -t.ones(3, dtype=t.bool),
        lambda t: t.ones(3, dtype=t.bool) - t.ones(3, dtype=t.bool),
        lambda t: t.ones(3) & t.ones(3),
        lambda t: t.ones(3) | t.ones(3),
        lambda t: t.bitwise_xor(t.ones(3), 1),
        lambda t: t.gcd(t.ones(3), t.ones(3)),
        lambda t: t.floor(t.ones(3, dtype=t.complex64)),
        lambda t: t.maximum(t.ones(3, dtype=t.complex64), t.ones(3)),
        lambda t: t.ones(3, dtype=t.complex64) < t.ones(3),
        lambda t: t.sort(t.ones(3, dtype=t.complex64)),
        lambda t: t.add(t.arange(3), 1, alpha=0.5),
        lambda t: t.sub(t.ones(3), t.ones(3), alpha=1j),
        lambda t: t.arange(3) ** -1,
        lambda t: t.arange(3) // 0,
        lambda t: t.arange(3) % 0,
        lambda t: t.frexp(t.arange(3)),
        lambda t: t.complex(t.ones(3), t.ones(3, dtype=t.float64)),
        lambda t: t.isclose(t.ones(3), t.ones(3, dtype=t.float64)),
        lambda t: t.view_as_complex(t.ones(3)),
        lambda t: t.view_as_real(t.ones(3)),
        lambda t: t.ones(3).imag,
        lambda t: t.polygamma(-1, t.ones(3)),
        lambda t: t.arange(3).mean(),
        lambda t: t.ones(3, dtype=t.bool).mean(),
        lambda t: t.arange(6).reshape(2, 3).std(),
        lambda t: t.arange(3).softmax(0),
        lambda t: t.arange(3).log_softmax(0),
        lambda t: t.arange(3).norm(),
        lambda t: t.quantile(t.arange(3), 0.5),
        lambda t: t.bincount(t.ones(3)),
        lambda t: t.histc(t.arange(3), 2),
        lambda t: t.ones(2, 3) @ t.ones(3, 2, dtype=t.float64),
        lambda t: t.mm(t.ones(2, 3), t.ones(3, 2, dtype=t.int64)),
        lambda t: t.dot(t.ones(3), t.arange(3)),
        lambda t: t.bmm(t.ones(1, 2, 3), t.ones(1, 3, 2, dtype=t.int64)),
        lambda t: t.linalg.inv(t.eye(3, dtype=t.int64)),
        lambda t: t.linalg.det(t.eye(3, dtype=t.int64)),
        lambda t: t.F.linear(t.ones(2, 3), t.ones(4, 3, dtype=t.float64)),
        lambda t: t.F.gelu(t.arange(3)),
        lambda t: t.F.silu(t.arange(3)),
        lambda t: t.F.conv1d(t.ones(1, 1, 5), t.ones(1, 1, 3, dtype=t.float64)),
        lambda t: t.masked_fill(t.ones(3), t.arange(3), 0.0),
        lambda t: t.masked_select(t.ones(3), t.arange(3)),
        lambda t: t.lerp(t.ones(3), t.ones(3, dtype=t.float64), 0.5),
        lambda t: t.multinomial(t.arange(3), 2),
        lambda t: t.view_copy(t.ones(3), t.int64),
    ],
    "arguments of the wrong type": [
        lambda t: t.add(t.ones(3), "a"),
        lambda t: t.ones(3) + "a",
        lambda t: t.ones(3) * None,
        lambda t: t.ones(3) < "a",
        lambda t: t.ones(3) @ 2.0,
        lambda t: t.exp("a"),
        lambda t: t.exp(3.0),
        lambda t: t.exp([1.0]),
        lambda t: t.exp(),
        lambda t: t.exp(t.ones(3), 2),
        lambda t: t.exp(t.ones(3), dtype=t.float64),
        lambda t: t.ones(3).exp(1),
        lambda t: t.sigmoid(None),
        lambda t: t.pow(2, 3),
        lambda t: t.matmul(t.ones(3, 3), [1.0, 2.0, 3.0]),
        lambda t: t.cat(t.ones(3)),
        lambda t: t.cat([1, 2]),
        lambda t: t.stack([t.ones(3), 1.0]),
        lambda t: t.sum("a"),
        lambda t: t.ones(3).sum(dim="a"),
        lambda t: t.ones(3).sum(dim=0.5),
        lambda t: t.ones(3).sum(dtype=3),
        lambda t: t.ones(3).sum(axes=0),
        lambda t: t.ones(3).mean(keepdims="a", dims=7),
        lambda t: t.ones(3).reshape("a"),
        lambda t: t.ones(3).view(1.5),
        lambda t: t.ones(3).transpose("a", 0),
        lambda t: t.ones(3).unsqueeze(),
        lambda t: t.ones(3).unsqueeze(0.5),
        lambda t: t.ones(3).expand("a"),
        lambda t: t.ones(3).clamp("a"),
        lambda t: t.ones(3).fill_("a"),
        lambda t: t.ones(3).copy_("a"),
        lambda t: t.ones(3).masked_fill(t.ones(3) > 0, "a"),
        lambda t: t.where(1, 2, 3),
        lambda t: t.zeros("a"),
        lambda t: t.zeros(2.5),
        lambda t: t.zeros(2, dtype="float32"),
        lambda t: t.zeros(2, shape=3),
        lambda t: t.zeros_like([1, 2]),
        lambda t: t.full((2, 3)),
        lambda t: t.full((2, 3), "a"),
        lambda t: t.arange("a"),
        lambda t: t.linspace(0, 1),
        lambda t: t.eye("a"),
        lambda t: t.gather(t.ones(3), 0, [0]),
        lambda t: t.index_select(t.ones(3), 0, 1),
        lambda t: t.topk(t.ones(3), "a"),
        lambda t: t.randn("a"),
        lambda t: t.ones(3).to("a"),
        lambda t: t.ones(3).requires_grad_("a"),
        lambda t: t.no_such_function(3),
        lambda t: t.ones(3).no_such_method(),
        lambda t: t.einsum(3, t.ones(3)),
        lambda t: t.split(t.ones(3), "a"),
        lambda t: t.is_tensor(),
        lambda t: t.numel([1, 2]),
        lambda t: t.F.relu("a"),
        lambda t: t.F.linear(t.ones(3), "a"),
    ],
    "dimensions that are not there": [
        lambda t: t.ones(2, 3).sum(5),
        lambda t: t.ones(2, 3).sum(-3),
        lambda t: t.ones(2, 3).sum((0, 0)),
        lambda t: t.ones(2, 3).mean((0, 7)),
        lambda t: t.ones(2, 3).prod(5),
        lambda t: t.ones(2, 3).max(5),
        lambda t: t.ones(2, 3).min(dim=-4),
        lambda t: t.ones(2, 3).amax((1, -1)),
        lambda t: t.ones(2, 3).argmax(5),
        lambda t: t.ones(2, 3).std(5),
        lambda t: t.ones(2, 3).var((0, -2)),
        lambda t: t.ones(2, 3).norm(dim=4),
        lambda t: t.ones(2, 3).logsumexp(4),
        lambda t: t.ones(2, 3).cumsum(4),
        lambda t: t.ones(2, 3).cumprod(-4),
        lambda t: t.ones(2, 3).cummax(4),
        lambda t: t.ones(2, 3).logcumsumexp(4),
        lambda t: t.ones(2, 3).median(4),
        lambda t: t.ones(2, 3).mode(4),
        lambda t: t.ones(2, 3).all(4),
        lambda t: t.ones(2, 3).any(-4),
        lambda t: t.ones(2, 3).count_nonzero(4),
        lambda t: t.ones(2, 3).softmax(4),
        lambda t: t.ones(2, 3).sort(4),
        lambda t: t.ones(2, 3).argsort(-4),
        lambda t: t.ones(2, 3).topk(1, 4),
        lambda t: t.ones(2, 3).kthvalue(1, 4),
        lambda t: t.unique(t.ones(2, 3), dim=5),
        lambda t: t.ones(2, 3).transpose(0, 5),
        lambda t: t.ones(2, 3).squeeze(4),
        lambda t: t.ones(2, 3).squeeze_(4),
        lambda t: t.ones(2, 3).unsqueeze(5),
        lambda t: t.ones(2, 3).unsqueeze(-4),
        lambda t: t.ones(2, 3).flatten(0, 7),
        lambda t: t.ones(2, 3).flatten(1, 0),
        lambda t: t.ones(2, 3).unbind(3),
        lambda t: t.ones(2, 3).select(3, 0),
        lambda t: t.ones(2, 3).narrow(3, 0, 1),
        lambda t: t.ones(2, 3).flip(5),
        lambda t: t.ones(2, 3).flip(0, 0),
        lambda t: t.ones(2, 3).roll(1, 5),
        lambda t: t.ones(2, 3).size(5),
        lambda t: t.ones(2, 3).stride(5),
        lambda t: t.ones(2, 3).permute(0),
        lambda t: t.ones(2, 3).permute(0, 0),
        lambda t: t.ones(2, 3).permute(0, 5),
        lambda t: t.ones(2, 3).movedim((0, 1), (0,)),
        lambda t: t.ones(2, 3).diagonal(0, 1, 1),
        lambda t: t.ones(2, 3).rot90(1, (0, 0)),
        lambda t: t.ones(2, 3).split(1, 5),
        lambda t: t.ones(2, 3).chunk(2, 5),
        lambda t: t.ones(2, 3).repeat_interleave(2, 5),
        lambda t: t.ones(2, 3).unfold(4, 1, 1),
        lambda t: t.cat([t.ones(2, 3), t.ones(2, 3)], 5),
        lambda t: t.stack([t.ones(2, 3), t.ones(2, 3)], 5),
        lambda t: t.tensor(1.0).sum(3),
        lambda t: t.tensor(1.0).unbind(),
        lambda t: t.ones(2, 2, 2).t(),
        lambda t: t.diag(t.ones(2, 2, 2)),
        lambda t: t.tril(t.ones(3)),
        lambda t: t.trace(t.ones(3)),
        lambda t: t.ones(3).mT,
        lambda t: t.ones(3).adjoint(),
        lambda t: t.fft.fft(t.ones(3), dim=5),
        lambda t: t.diff(t.ones(2, 3), dim=5),
    ],
    "reductions and sorts": [
        lambda t: t.zeros(0).max(),
        lambda t: t.zeros(2, 0).max(1),
        lambda t: t.zeros(2, 0).amin(1),
        lambda t: t.zeros(0).argmin(),
        lambda t: t.zeros(2, 0).argmax(1),
        lambda t: t.zeros(2, 0).median(1),
        lambda t: t.ones(3).kthvalue(0),
        lambda t: t.ones(3).kthvalue(9),
        lambda t: t.ones(3).topk(9),
        lambda t: t.ones(3).topk(-1),
        lambda t: t.quantile(t.ones(3), 1.5),
        lambda t: t.quantile(t.ones(3), t.ones(2, 2)),
        lambda t: t.quantile(t.ones(3), 0.5, interpolation="up"),
        lambda t: t.bincount(t.tensor([-1, 2])),
        lambda t: t.bincount(t.ones(2, 3, dtype=t.int64)),
        lambda t: t.bincount(t.arange(3), t.ones(5)),
        lambda t: t.histc(t.ones(3), -1),
        lambda t: t.searchsorted(t.ones(2, 3), t.ones(5, 3)),
        lambda t: t.bucketize(t.ones(3), t.ones(2, 2)),
        lambda t: t.cov(t.ones(2, 2, 2)),
        lambda t: t.renorm(t.ones(3), 2, 0, 1.0),
        lambda t: t.diff(t.ones(3), n=-1),
        lambda t: t.norm(t.ones(3), p="up"),
        lambda t: t.cdist(t.ones(2, 3), t.ones(2, 5)),
        lambda t: t.cdist(t.ones(2, 3), t.ones(2, 3), p=-1.0),
    ],
    "views that cannot be": [
        lambda t: t.ones(2, 3).view(4),
        lambda t: t.ones(2, 3).view(-1, 4),
        lambda t: t.ones(2, 3).view(-1, -1),
        lambda t: t.ones(2, 3).view(-2, 3),
        lambda t: t.ones(2, 3).t().view(6),
        lambda t: t.ones(2, 3).reshape(4),
        lambda t: t.ones(2, 3).reshape(-1, 5),
        lambda t: t.ones(2, 3).reshape(-1, -1),
        lambda t: t.zeros(0).reshape(-1, 0),
        lambda t: t.ones(3).view(t.float64),
        lambda t: t.ones(2, 4).t().view(t.float64),
        lambda t: t.ones(2, 3).view_as(t.ones(5)),
        lambda t: t.ones(3).expand(5),
        lambda t: t.ones(2, 3).expand(3),
        lambda t: t.ones(3).expand(-1, 3),
        lambda t: t.ones(2, 3).expand(4, 3),
        lambda t: t.ones(2, 3).expand_as(t.ones(2, 5)),
        lambda t: t.ones(2, 3).broadcast_to((5,)),
        lambda t: t.ones(6).unflatten(0, (4, 2)),
        lambda t: t.ones(6).unflatten(0, (-1, -1)),
        lambda t: t.ones(6).as_strided((3, 3), (3, 1)),
        lambda t: t.ones(6).as_strided((2, 2), (-1, 1)),
        lambda t: t.ones(6).as_strided((2, 2), (1,)),
        lambda t: t.ones(6).as_strided((2,), (1,), -1),
        lambda t: t.ones(6).unfold(0, 7, 1),
        lambda t: t.ones(6).unfold(0, 2, 0),
        lambda t: t.ones(6).narrow(0, 5, 3),
        lambda t: t.ones(6).narrow(0, 0, -1),
        lambda t: t.ones(6).select(0, 6),
        lambda t: t.ones(6).split(-1),
        lambda t: t.ones(6).split([2, 3]),
        lambda t: t.ones(6).chunk(0),
        lambda t: t.ones(6).tensor_split(0),
        lambda t: t.ones(6).hsplit(4),
        lambda t: t.ones(6).vsplit(2),
        lambda t: t.ones(6).dsplit(2),
        lambda t: t.ones(2, 3).repeat(2),
        lambda t: t.ones(2, 3).repeat(-1, 2),
        lambda t: t.ones(3).repeat_interleave(-1),
        lambda t: t.ones(3).repeat_interleave(t.tensor([1, 2])),
        lambda t: t.cartesian_prod(t.ones(2, 2)),
        lambda t: t.combinations(t.ones(2, 2)),
        lambda t: t.meshgrid(t.ones(2), t.ones(2, 2)),
        lambda t: t.meshgrid(t.ones(2), t.ones(3), indexing="up"),
        lambda t: t.pixel_shuffle(t.ones(1, 3, 2, 2), 2),
    ],
    "cat and stack": [
        lambda t: t.cat([t.ones(2, 3), t.ones(2, 5)]),
        lambda t: t.cat([t.ones(2, 3), t.ones(5, 3)], 1),
        lambda t: t.cat([t.ones(2, 3), t.ones(3)]),
        lambda t: t.cat([]),
        lambda t: t.cat([t.tensor(1.0), t.tensor(2.0)]),
        lambda t: t.stack([t.ones(3), t.ones(5)]),
        lambda t: t.stack([]),
        lambda t: t.hstack([t.ones(2, 3), t.ones(5, 3)]),
        lambda t: t.vstack([t.ones(3), t.ones(5)]),
        lambda t: t.dstack([t.ones(3), t.ones(5)]),
        lambda t: t.column_stack([t.ones(3), t.ones(5)]),
        lambda t: t.cat([t.ones(2), t.ones(3)], out=t.arange(5)),
    ],
    "indices": [
        lambda t: t.ones(3)[5],
        lambda t: t.ones(3)[-4],
        lambda t: t.ones(3)[0, 0],
        lambda t: t.ones(2, 3)[0, 7],
        lambda t: t.tensor(1.0)[0],
        lambda t: t.ones(3)["a"],
        lambda t: t.ones(3)[1.5],
        lambda t: t.ones(3)[::-1],
        lambda t: t.ones(3)[::0],
        lambda t: t.ones(3)["a":],
        lambda t: t.ones(3)[t.tensor([5])],
        lambda t: t.ones(3)[t.tensor([-4])],
        lambda t: t.ones(3)[t.tensor([0.5])],
        lambda t: t.ones(3)[[0, 7]],
        lambda t: t.ones(3)[t.ones(5) > 0],
        lambda t: t.ones(2, 3)[t.ones(2, 5) > 0],
        lambda t: t.ones(2, 3)[t.tensor([0, 1]), t.tensor([0, 1, 2])],
        lambda t: t.ones(2, 3)[0, ..., 0, 0],
        lambda t: operator.setitem(t.ones(3), 5, 1.0),
        lambda t: operator.setitem(t.ones(5), slice(1, 3), t.ones(4)),
        lambda t: operator.setitem(t.ones(3), t.tensor([0, 7]), 1.0),
        lambda t: operator.setitem(t.ones(3), t.ones(3) > 0, t.ones(5)),
        lambda t: operator.setitem(t.ones(3), 0, "a"),
        lambda t: operator.setitem(t.ones(2, 3), 1, t.ones(5)),
        lambda t: operator.setitem(t.ones(3), t.ones(5) > 0, 1.0),
        lambda t: operator.setitem(t.arange(3), 0, 1j),
        lambda t: operator.delitem(t.ones(3), 0),
        lambda t: t.index_select(t.ones(2, 3), 5, t.tensor([0])),
        lambda t: t.index_select(t.ones(2, 3), 1, t.tensor([7])),
        lambda t: t.index_select(t.ones(2, 3), 1, t.ones(2)),
        lambda t: t.index_select(t.ones(2, 3), 1, t.zeros(2, 2, dtype=t.int64)),
        lambda t: t.gather(t.ones(2, 3), 5, t.tensor([[0]])),
        lambda t: t.gather(t.ones(2, 3), 1, t.tensor([[7]])),
        lambda t: t.gather(t.ones(2, 3), 1, t.tensor([[0.5]])),
        lambda t: t.gather(t.ones(2, 3), 1, t.tensor([0])),
        lambda t: t.gather(t.ones(2, 3), 1, t.zeros(5, 1, dtype=t.int64)),
        lambda t: t.scatter(t.ones(2, 3), 1, t.tensor([[7]]), 1.0),
        lambda t: t.scatter(t.ones(2, 3), 1, t.tensor([[0]]), t.ones(1, 1, dtype=t.float64)),
        lambda t: t.scatter(t.ones(2, 3), 1, t.zeros(2, 3, dtype=t.int64), t.ones(2, 2)),
        lambda t: t.scatter(t.ones(2, 3), 1, t.tensor([[0]]), 1.0, reduce="up"),
        lambda t: t.scatter_add(t.ones(2, 3), 1, t.tensor([[7]]), t.ones(1, 1)),
        lambda t: t.scatter_reduce(t.ones(3), 0, t.tensor([0]), t.ones(1), "up"),
        lambda t: t.index_add(t.ones(3), 0, t.tensor([7]), t.ones(1)),
        lambda t: t.index_add(t.ones(3), 0, t.tensor([0, 1]), t.ones(5)),
        lambda t: t.index_copy(t.ones(3), 0, t.tensor([7]), t.ones(1)),
        lambda t: t.index_fill(t.ones(3), 0, t.tensor([7]), 1.0),
        lambda t: t.index_put(t.ones(3), [t.tensor([7])], t.ones(1)),
        lambda t: t.take(t.ones(3), t.tensor([7])),
        lambda t: t.take(t.ones(3), t.ones(1)),
        lambda t: t.ones(3).put_(t.tensor([7]), t.ones(1)),
        lambda t: t.ones(3).put_(t.tensor([0, 1]), t.ones(5)),
        lambda t: t.masked_select(t.ones(2, 3), t.ones(5) > 0),
        lambda t: t.masked_fill(t.ones(2, 3), t.ones(5) > 0, 0.0),
        lambda t: t.masked_fill(t.ones(3), t.ones(3) > 0, t.ones(3)),
        lambda t: t.ones(3).masked_scatter_(t.ones(3) > 0, t.ones(2)),
        lambda t: t.F.embedding(t.tensor([7]), t.ones(3, 2)),
        lambda t: t.F.embedding(t.ones(2), t.ones(3, 2)),
        lambda t: t.F.one_hot(t.tensor([7]), 3),
        lambda t: t.F.one_hot(t.tensor([-1])),
        lambda t: t.F.one_hot(t.ones(2)),
        lambda t: t.tensor([1.0, 2.0])[None, None, 0, 5],
    ],
    "products": [
        lambda t: t.zeros(2, 3) @ t.zeros(2, 3),
        lambda t: t.mm(t.ones(2, 3), t.ones(5, 7)),
        lambda t: t.mm(t.ones(3), t.ones(3, 2)),
        lambda t: t.mm(t.ones(2, 2, 2), t.ones(2, 2)),
        lambda t: t.matmul(t.ones(3), t.ones(5)),
        lambda t: t.matmul(t.tensor(1.0), t.ones(5)),
        lambda t: t.matmul(t.ones(2, 3, 4), t.ones(5, 4, 2)),
        lambda t: t.matmul(t.ones(2, 3, 4), t.ones(2, 5, 2)),
        lambda t: t.bmm(t.ones(2, 3, 4), t.ones(5, 4, 2)),
        lambda t: t.bmm(t.ones(2, 3, 4), t.ones(2, 5, 2)),
        lambda t: t.bmm(t.ones(3, 4), t.ones(4, 2)),
        lambda t: t.mv(t.ones(2, 3), t.ones(5)),
        lambda t: t.mv(t.ones(2, 3), t.ones(3, 1)),
        lambda t: t.dot(t.ones(3), t.ones(5)),
        lambda t: t.dot(t.ones(2, 3), t.ones(3)),
        lambda t: t.vdot(t.ones(3), t.ones(5)),
        lambda t: t.inner(t.ones(2, 3), t.ones(2, 5)),
        lambda t: t.outer(t.ones(2, 3), t.ones(5)),
        lambda t: t.addmm(t.ones(7, 7), t.ones(2, 3), t.ones(3, 5)),
        lambda t: t.addmm(t.ones(2, 5), t.ones(2, 3), t.ones(4, 5)),
        lambda t: t.addmv(t.ones(7), t.ones(2, 3), t.ones(3)),
        lambda t: t.baddbmm(t.ones(2, 3, 5), t.ones(2, 3, 4), t.ones(2, 7, 5)),
        lambda t: t.addr(t.ones(7, 7), t.ones(2), t.ones(3)),
        lambda t: t.tensordot(t.ones(2, 3), t.ones(5, 7), 1),
        lambda t: t.tensordot(t.ones(2, 3), t.ones(3, 2), ([1], [0, 1])),
        lambda t: t.cross(t.ones(2), t.ones(2), dim=0),
        lambda t: t.einsum("ij,jk", t.ones(2, 3), t.ones(5, 7)),
        lambda t: t.einsum("ij", t.ones(2, 3, 4)),
        lambda t: t.einsum("ij,jk", t.ones(2, 3)),
        lambda t: t.einsum("ij->ik", t.ones(2, 3)),
        lambda t: t.einsum("ii", t.ones(2, 3)),
        lambda t: t.einsum("i1", t.ones(2, 3)),
        lambda t: t.chain_matmul(t.ones(2, 3), t.ones(5, 7)),
    ],
    "making tensors": [
        lambda t: t.zeros(-1),
        lambda t: t.ones(2, -3),
        lambda t: t.full((-2,), 1.0),
        lambda t: t.empty(-3),
        lambda t: t.zeros(2).new_zeros(-1),
        lambda t: t.arange(0, 5, -1),
        lambda t: t.arange(0, 5, 0),
        lambda t: t.arange(float("inf")),
        lambda t: t.linspace(0, 1, -1),
        lambda t: t.logspace(0, 1, -1),
        lambda t: t.eye(-1),
        lambda t: t.eye(2, -3),
        lambda t: t.tensor("a"),
        lambda t: t.tensor([[1], [1, 2]]),
        lambda t: t.tensor([[1, 2], 3]),
        lambda t: t.tensor([None]),
        lambda t: t.tensor([1, "a"]),
        lambda t: t.tensor({"a": 1}),
        lambda t: t.tensor([1.0], dtype="float"),
        lambda t: t.tensor([1], requires_grad=True),
        lambda t: t.zeros(2, dtype=t.int64, requires_grad=True),
        lambda t: t.tensor(300, dtype=t.uint8),
        lambda t: t.tensor([1j], dtype=t.float32),
        lambda t: t.tril_indices(-1, 2),
        lambda t: t.hann_window(-1),
        lambda t: t.empty_strided((2, 3), (1,)),
        lambda t: t.vander(t.ones(2, 2)),
        lambda t: t.from_numpy([1, 2]),
        lambda t: t.from_numpy(np.array(["a"])),
        lambda t: t.from_numpy(np.array([None])),
        lambda t: t.from_numpy(arrays_backwards()),
        lambda t: t.tensor(np.array(["a"])),
        lambda t: t.as_tensor(np.array([None])),
        lambda t: t.frombuffer(b"abc", dtype=t.float32),
        lambda t: t.frombuffer(b"", dtype=t.float32),
        lambda t: t.zeros(2, device="cuda"),
        lambda t: t.tensor([1.0], device="cuda"),
        lambda t: t.ones(2).cuda(),
        lambda t: t.ones(2).to("cuda"),
        lambda t: t.zeros(2, device="nowhere"),
        lambda t: t.zeros(2, device=1.5),
        lambda t: t.device("nowhere"),
        lambda t: t.device("cpu:x"),
        lambda t: t.device("cuda:-1"),
        lambda t: t.device(),
        lambda t: t.set_default_dtype(t.int64),
        lambda t: t.set_default_dtype("float32"),
        lambda t: t.finfo(t.int64),
        lambda t: t.iinfo(t.float32),
        lambda t: t.promote_types(1, 2),
        lambda t: t.can_cast(1, t.float32),
    ],
    "leaving tensors": [
        lambda t: t.ones(3).item(),
        lambda t: t.zeros(0).item(),
        lambda t: bool(t.ones(3)),
        lambda t: bool(t.zeros(0)),
        lambda t: int(t.ones(3)),
        lambda t: float(t.ones(2, 3)),
        lambda t: complex(t.ones(3)),
        lambda t: float(t.tensor(1j)),
        lambda t: operator.index(t.tensor(1.5)),
        lambda t: operator.index(t.tensor([1, 2])),
        lambda t: [1, 2, 3][t.tensor(1.0)],
        lambda t: len(t.tensor(1.0)),
        lambda t: iter(t.tensor(1.0)),
        lambda t: leaf(t, 3).numpy(),
        lambda t: np.asarray(leaf(t, 3)),
        lambda t: (leaf(t, 3) * 2).numpy(),
        lambda t: t.ones(3, dtype=t.bfloat16).numpy(),
        lambda t: copy.deepcopy(leaf(t, 3) * 2),
        lambda t: t.ones(3).type("nothing"),
        lambda t: t.ones(3).data_ptr(1),
        lambda t: t.equal(t.ones(3), 3),
        lambda t: t.is_nonzero(t.ones(2)),
        lambda t: t.is_floating_point(3.0),
        lambda t: 1 in t.ones(3).nothing,
        lambda t: "a" in t.ones(3),
        lambda t: setattr(t.ones(3), "shape", (1, 3)),
        lambda t: setattr(t.ones(3), "data", 3),
        lambda t: setattr(t.ones(3), "grad", 3),
        lambda t: setattr(t.ones(3), "grad", t.ones(5)),
        lambda t: setattr(t.ones(3), "grad", t.ones(3, dtype=t.float64)),
        lambda t: setattr(t.arange(3), "requires_grad", True),
        lambda t: t.arange(3).requires_grad_(),
        lambda t: set_leaf_flag_of_result(t),
        lambda t: leaf(t, 3).resize_(5),
        lambda t: t.ones(2, 3)[0].detach_(),
    ],
    "writing in place": [
        lambda t: t.ones(3).add_(t.ones(5)),
        lambda t: t.ones(3).add_(t.ones(2, 3)),
        lambda t: operator.iadd(t.ones(3), t.ones(5)),
        lambda t: operator.imul(t.ones(3), "a"),
        lambda t: t.arange(3).add_(0.5),
        lambda t: t.arange(3).div_(2),
        lambda t: t.arange(3).exp_(),
        lambda t: t.ones(3).mul_(1j),
        lambda t: leaf(t, 3).add_(1),
        lambda t: leaf(t, 3).zero_(),
        lambda t: leaf(t, 3).exp_(),
        lambda t: leaf(t, 3)[0].add_(1),
        lambda t: leaf(t, 2, 3).t().mul_(2),
        lambda t: operator.setitem(leaf(t, 3), 0, 1.0),
        lambda t: operator.setitem(leaf(t, 3), slice(1, 2), t.ones(1)),
        lambda t: leaf(t, 3).copy_(t.ones(3)),
        lambda t: leaf(t, 3).fill_(2),
        lambda t: leaf(t, 3).uniform_(),
        lambda t: t.ones(3).expand(5, 3).add_(1),
        lambda t: t.ones(1).expand(3).mul_(t.ones(3)),
        lambda t: t.ones(1).expand(3).copy_(t.ones(3)),
        lambda t: (leaf(t, 2, 3) * 2).unbind()[0].add_(1),
        lambda t: (leaf(t, 4) * 2).chunk(2)[0].mul_(2),
        lambda t: t.ones(3).copy_(t.ones(5)),
        lambda t: t.ones(3).fill_(t.ones(2)),
        lambda t: t.ones(2, 3).masked_fill_(t.ones(5) > 0, 1.0),
        lambda t: t.ones(3).bernoulli_(2.0),
        lambda t: t.ones(3).uniform_(1, 0),
        lambda t: t.ones(3).normal_(0, -1),
        lambda t: t.ones(3).exponential_(-1),
        lambda t: t.ones(3).geometric_(2),
        lambda t: t.ones(3).random_(5, 5),
        lambda t: t.ones(3).log_normal_(1, -1),
        lambda t: t.ones(3).clamp_(),
        lambda t: t.ones(2, 3).addmm_(t.ones(2, 2), t.ones(5, 3)),
        lambda t: t.ones(2, 3).index_add_(0, t.tensor([5]), t.ones(1, 3)),
        lambda t: t.ones(2, 3).scatter_(0, t.tensor([[5]]), 1.0),
        lambda t: t.ones(3).lt_(t.ones(5)),
        write_into_part_of_itself,
        write_view_made_without_grad,
        write_inference_tensor,
    ],
    "out=": [
        lambda t: t.exp(t.ones(3), out=3),
        lambda t: t.exp(t.ones(3), out=t.arange(3)),
        lambda t: t.add(t.ones(3), 1, out=t.arange(3)),
        lambda t: t.add(t.ones(3), 1, out=leaf(t, 3)),
        lambda t: t.add(leaf(t, 3), 1, out=t.ones(3)),
        lambda t: t.add(t.ones(3), 1, out=t.ones(1).expand(3)),
        lambda t: t.mul(t.ones(3, dtype=t.complex64), 2, out=t.ones(3)),
        lambda t: t.max(t.ones(3), 0, out=t.ones(3)),
        lambda t: t.stack([t.ones(3)], out=[t.ones(3)]),
        lambda t: t.ones(3).exp(out=t.ones(3)),
    ],
    "autograd": [
        lambda t: leaf(t, 3).backward(),
        lambda t: (leaf(t, 2, 3) * 2).backward(),
        lambda t: t.ones(3).sum().backward(),
        lambda t: (leaf(t, 3) * 2).backward(t.ones(5)),
        lambda t: (leaf(t, 3) * 2).backward("a"),
        lambda t: (leaf(t, 3) * 2).sum().backward(t.ones(3)),
        lambda t: twice((leaf(t, 3) * leaf(t, 3)).sum().backward),
        lambda t: twice(leaf(t, 3).exp().sum().backward),
        lambda t: t.autograd.grad(leaf(t, 3), leaf(t, 3)),
        lambda t: t.autograd.grad(leaf(t, 3).sum(), leaf(t, 3)),
        lambda t: t.autograd.grad(leaf(t, 3).sum(), t.ones(3)),
        lambda t: t.autograd.grad(t.ones(3).sum(), leaf(t, 3)),
        lambda t: t.autograd.grad(leaf(t, 3).sum(), []),
        lambda t: t.autograd.grad(leaf(t, 3).sum(), 3),
        lambda t: t.autograd.grad(leaf(t, 3).sum(), leaf(t, 3), [t.ones(3)]),
        lambda t: t.autograd.grad(leaf(t, 3) * 2, leaf(t, 3), t.ones(5)),
        lambda t: t.autograd.backward([leaf(t, 3).sum()], [t.ones(1), t.ones(1)]),
        lambda t: t.autograd.backward(3),
        lambda t: t.ones(3).retain_grad(),
        lambda t: t.ones(3).register_hook(lambda g: g),
        lambda t: (leaf(t, 3) * 2).register_post_accumulate_grad_hook(lambda p: None),
        lambda t: t.ones(3).register_post_accumulate_grad_hook(lambda p: None),
        lambda t: leaf(t, 3).sum().item().backward(),
        lambda t: t.autograd.gradcheck(lambda x: x * x.detach(), leaf(t, 3).double()),
        lambda t: t.autograd.functional.jacobian(lambda x: "a", t.ones(3)),
        lambda t: t.autograd.functional.hessian(lambda x: x * 2, t.ones(3)),
        lambda t: t.autograd.functional.vjp(lambda x: x * 2, t.ones(3), t.ones(5)),
        lambda t: t.autograd.Function.apply(t.ones(3)),
        lambda t: t.set_grad_enabled(),
        write_after_saving,
        write_output_after_saving,
        write_through_view_after_saving,
        save_inference_tensor,
        function_without_forward,
        function_without_backward,
        function_with_too_many_gradients,
        function_with_too_few_gradients,
        function_with_gradient_of_wrong_shape,
        function_with_gradient_that_is_a_number,
        function_that_saves_a_number,
        function_called_by_its_object,
        function_once_differentiable,
        hook_of_wrong_shape,
        hook_that_returns_a_string,
    ],
    "options of elementwise operations": [
        lambda t: t.clamp(t.ones(3)),
        lambda t: t.div(t.ones(3), t.ones(3), rounding_mode="up"),
        lambda t: t.ones(3).div_(2, rounding_mode="up"),
        lambda t: t.F.gelu(t.ones(3), approximate="up"),
        lambda t: t.F.glu(t.ones(3)),
        lambda t: t.F.prelu(t.ones(2, 3), t.ones(5)),
        lambda t: t.F.dropout(t.ones(3), 2.0),
        lambda t: t.F.dropout(t.ones(3), -0.5),
        lambda t: t.F.threshold(t.ones(3)),
        lambda t: t.F.celu(t.ones(3), alpha=0.0),
        lambda t: t.F.hardshrink(t.ones(3), "a"),
        lambda t: t.F.softshrink(t.ones(3), -1.0),
        lambda t: t.F.rrelu(t.ones(3), 0.9, 0.1, training=True),
    ],
    "layers": [
        lambda t: t.F.linear(t.ones(2, 3), t.ones(4, 5)),
        lambda t: t.F.linear(t.ones(2, 3), t.ones(4, 3), t.ones(7)),
        lambda t: t.F.bilinear(t.ones(2, 3), t.ones(2, 4), t.ones(5, 4, 3)),
        lambda t: t.F.conv1d(t.ones(1, 2, 5), t.ones(4, 3, 3)),
        lambda t: t.F.conv2d(t.ones(1, 2, 5, 5), t.ones(4, 3, 3, 3)),
        lambda t: t.F.conv2d(t.ones(1, 2, 5, 5), t.ones(4, 2, 7, 7)),
        lambda t: t.F.conv2d(t.ones(5, 5), t.ones(4, 2, 3, 3)),
        lambda t: t.F.conv2d(t.ones(1, 2, 5, 5), t.ones(4, 2, 3, 3), t.ones(7)),
        lambda t: t.F.conv2d(t.ones(1, 2, 5, 5), t.ones(4, 2, 3, 3), stride=0),
        lambda t: t.F.conv2d(t.ones(1, 2, 5, 5), t.ones(4, 2, 3, 3), padding=-1),
        lambda t: t.F.conv2d(t.ones(1, 2, 5, 5), t.ones(4, 2, 3, 3), padding="up"),
        lambda t: t.F.conv2d(t.ones(1, 2, 5, 5), t.ones(4, 2, 3, 3), dilation=0),
        lambda t: t.F.conv2d(t.ones(1, 2, 5, 5), t.ones(4, 2, 3, 3), groups=3),
        lambda t: t.F.conv2d(t.ones(1, 2, 5, 5), t.ones(4, 2, 3, 3), stride=(1, 2, 3)),
        lambda t: t.F.conv2d(t.ones(1, 2, 5, 5), t.ones(4, 2, 3, 3), padding="same", stride=2),
        lambda t: t.F.conv_transpose2d(t.ones(1, 2, 5, 5), t.ones(3, 4, 3, 3)),
        lambda t: t.F.conv_transpose1d(t.ones(1, 2, 5), t.ones(2, 4, 3), output_padding=2),
        lambda t: t.F.max_pool2d(t.ones(1, 1, 2, 2), 5),
        lambda t: t.F.max_pool2d(t.ones(1, 1, 5, 5), 2, padding=2),
        lambda t: t.F.max_pool2d(t.ones(1, 1, 5, 5), 2, stride=0),
        lambda t: t.F.max_pool2d(t.ones(5), 2),
        lambda t: t.F.max_pool1d(t.ones(1, 1, 2), 5),
        lambda t: t.F.avg_pool2d(t.ones(1, 1, 2, 2), 5),
        lambda t: t.F.avg_pool2d(t.ones(1, 1, 5, 5), 2, padding=2),
        lambda t: t.F.avg_pool2d(t.ones(1, 1, 5, 5), 2, divisor_override=0),
        lambda t: t.F.adaptive_avg_pool2d(t.ones(5), 2),
        lambda t: t.F.adaptive_avg_pool2d(t.ones(1, 1, 5, 5), -1),
        lambda t: t.F.max_unpool2d(t.ones(1, 1, 2, 2), t.zeros(1, 1, 3, 3, dtype=t.int64), 2),
        lambda t: t.F.batch_norm(t.ones(2, 3), t.ones(5), t.ones(5)),
        lambda t: t.F.batch_norm(t.ones(1, 3), None, None, training=True),
        lambda t: t.F.batch_norm(t.ones(2, 3), None, None),
        lambda t: t.F.batch_norm(t.ones(2, 3), t.ones(3), t.ones(3), t.ones(5)),
        lambda t: t.F.layer_norm(t.ones(2, 3), (5,)),
        lambda t: t.F.layer_norm(t.ones(2, 3), (3,), t.ones(5)),
        lambda t: t.F.layer_norm(t.ones(2, 3), ()),
        lambda t: t.F.rms_norm(t.ones(2, 3), (5,)),
        lambda t: t.F.group_norm(t.ones(2, 3, 4), 2),
        lambda t: t.F.group_norm(t.ones(2, 4, 4), 2, t.ones(7)),
        lambda t: t.F.group_norm(t.ones(4), 2),
        lambda t: t.F.instance_norm(t.ones(2, 3, 1)),
        lambda t: t.F.local_response_norm(t.ones(2), 2),
        lambda t: t.F.embedding_bag(t.tensor([0, 1]), t.ones(3, 2)),
        lambda t: t.F.embedding_bag(t.tensor([[7]]), t.ones(3, 2)),
        lambda t: t.F.embedding_bag(t.tensor([[0]]), t.ones(3, 2), mode="up"),
        lambda t: t.F.pad(t.ones(5, 3), (1,)),
        lambda t: t.F.pad(t.ones(2, 3), (1, 1, 1, 1, 1, 1)),
        lambda t: t.F.pad(t.ones(1, 2, 3), (5, 5), mode="reflect"),
        lambda t: t.F.pad(t.ones(1, 2, 3), (1, 1), mode="up"),
        lambda t: t.F.pad(t.ones(2, 3), (-5, 0)),
        lambda t: t.F.interpolate(t.ones(1, 1, 4)),
        lambda t: t.F.interpolate(t.ones(1, 1, 4), size=2, scale_factor=2.0),
        lambda t: t.F.interpolate(t.ones(1, 1, 4), size=(2, 2)),
        lambda t: t.F.interpolate(t.ones(1, 1, 4), size=2, mode="bilinear"),
        lambda t: t.F.interpolate(t.ones(1, 1, 4), size=2, mode="up"),
        lambda t: t.F.interpolate(t.ones(1, 1, 4), size=0),
        lambda t: t.F.interpolate(t.ones(1, 1, 4), size=2, align_corners=True),
        lambda t: t.F.grid_sample(t.ones(1, 1, 4, 4), t.ones(1, 2, 2, 3)),
        lambda t: t.F.grid_sample(t.ones(1, 1, 4, 4), t.ones(3, 2, 2, 2)),
        lambda t: t.F.grid_sample(t.ones(1, 1, 4, 4), t.ones(1, 2, 2, 2), mode="up"),
        lambda t: t.F.affine_grid(t.ones(1, 3, 3), (1, 1, 2, 2)),
        lambda t: t.F.pixel_unshuffle(t.ones(1, 1, 3, 3), 2),
        lambda t: t.F.channel_shuffle(t.ones(1, 3, 2, 2), 2),
        lambda t: t.F.unfold(t.ones(1, 1, 2, 2), 5),
        lambda t: t.F.fold(t.ones(1, 5, 4), (3, 3), (2, 2)),
        lambda t: t.F.fold(t.ones(1, 4, 5), (3, 3), (2, 2)),
        lambda t: t.F.scaled_dot_product_attention(t.ones(2, 3), t.ones(2, 5), t.ones(2, 5)),
        lambda t: t.F.scaled_dot_product_attention(t.ones(3), t.ones(3), t.ones(3)),
        lambda t: t.F.scaled_dot_product_attention(
            t.ones(2, 7, 3), t.ones(5, 7, 3), t.ones(5, 7, 3)
        ),
        lambda t: t.F.scaled_dot_product_attention(
            t.ones(2, 3), t.ones(2, 3), t.ones(2, 3), t.ones(5, 7)
        ),
    ],
    "losses": [
        lambda t: t.F.cross_entropy(t.ones(2, 3), t.tensor([0, 7])),
        lambda t: t.F.cross_entropy(t.ones(2, 3), t.tensor([0, -1])),
        lambda t: t.F.cross_entropy(t.ones(2, 3), t.tensor([0, 1, 2])),
        lambda t: t.F.cross_entropy(t.ones(2, 3), t.ones(2)),
        lambda t: t.F.cross_entropy(t.ones(2, 3), t.ones(2, 5)),
        lambda t: t.F.cross_entropy(t.ones(2, 3), t.tensor([0, 1]), reduction="up"),
        lambda t: t.F.cross_entropy(t.ones(2, 3), t.tensor([0, 1]), weight=t.ones(5)),
        lambda t: t.F.cross_entropy(t.ones(2, 3), t.tensor([0, 1]), label_smoothing=1.5),
        lambda t: t.F.nll_loss(t.ones(2, 3), t.tensor([0, 7])),
        lambda t: t.F.nll_loss(t.ones(2, 3), t.tensor([0, 1, 2])),
        lambda t: t.F.nll_loss(t.ones(2, 3), t.ones(2)),
        lambda t: t.F.nll_loss(t.ones(2, 3, 4), t.zeros(2, 5, dtype=t.int64)),
        lambda t: t.F.mse_loss(t.ones(3), t.ones(5)),
        lambda t: t.F.mse_loss(t.ones(3), t.ones(3), reduction="up"),
        lambda t: t.F.l1_loss(t.ones(3), t.ones(5)),
        lambda t: t.F.smooth_l1_loss(t.ones(3), t.ones(3), beta=-1.0),
        lambda t: t.F.huber_loss(t.ones(3), t.ones(3), delta=0.0),
        lambda t: t.F.binary_cross_entropy(t.ones(3), t.ones(5)),
        lambda t: t.F.binary_cross_entropy(t.full((3,), 2.0), t.ones(3)),
        lambda t: t.F.binary_cross_entropy_with_logits(t.ones(3), t.ones(5)),
        lambda t: t.F.kl_div(t.ones(3), t.ones(3), reduction="up"),
        lambda t: t.F.poisson_nll_loss(t.ones(3), t.ones(3), reduction="up"),
        lambda t: t.F.gaussian_nll_loss(t.ones(3), t.ones(3), -t.ones(3)),
        lambda t: t.F.hinge_embedding_loss(t.ones(3), t.ones(5)),
        lambda t: t.F.margin_ranking_loss(t.ones(3), t.ones(3), t.ones(1, 3)),
        lambda t: t.F.multi_margin_loss(t.ones(2, 3), t.tensor([0, 7])),
        lambda t: t.F.multi_margin_loss(t.ones(2, 3), t.tensor([0, 1]), p=3),
        lambda t: t.F.multilabel_margin_loss(t.ones(2, 3), t.zeros(2, 5, dtype=t.int64)),
        lambda t: t.F.cosine_embedding_loss(t.ones(2, 3), t.ones(2, 3), t.ones(2, 2)),
        lambda t: t.F.triplet_margin_loss(t.ones(2, 3), t.ones(2, 3), t.ones(3)),
        lambda t: t.F.cosine_similarity(t.ones(3), t.ones(5), dim=0),
        lambda t: t.F.pdist(t.ones(3)),
        lambda t: t.F.ctc_loss(
            t.ones(5, 2, 3), t.ones(2, 2, dtype=t.int64), t.tensor([5]), t.tensor([2, 2])
        ),
    ],
    "linear algebra": [
        lambda t: t.linalg.inv(t.ones(2, 3)),
        lambda t: t.linalg.inv(t.zeros(3, 3)),
        lambda t: t.linalg.inv(t.ones(3)),
        lambda t: t.linalg.det(t.ones(2, 3)),
        lambda t: t.linalg.slogdet(t.ones(2, 3)),
        lambda t: t.linalg.solve(t.eye(3), t.ones(5)),
        lambda t: t.linalg.solve(t.zeros(3, 3), t.ones(3)),
        lambda t: t.linalg.cholesky(t.ones(2, 3)),
        lambda t: t.linalg.cholesky(-t.eye(3)),
        lambda t: t.linalg.eigh(t.ones(2, 3)),
        lambda t: t.linalg.eigh(t.eye(3), UPLO="X"),
        lambda t: t.linalg.eig(t.ones(2, 3)),
        lambda t: t.linalg.eig(t.full((2, 2), float("nan"))),
        lambda t: t.linalg.svd(t.ones(3)),
        lambda t: t.linalg.qr(t.ones(3)),
        lambda t: t.linalg.qr(t.ones(2, 3), mode="up"),
        lambda t: t.linalg.norm(t.ones(2, 3), ord="up"),
        lambda t: t.linalg.norm(t.ones(2, 3), dim=(0, 1, 2)),
        lambda t: t.linalg.matrix_norm(t.ones(3)),
        lambda t: t.linalg.matrix_norm(t.ones(2, 3), ord=3),
        lambda t: t.linalg.vector_norm(t.arange(3)),
        lambda t: t.linalg.matrix_power(t.ones(2, 3), 2),
        lambda t: t.linalg.matrix_power(t.eye(3), 1.5),
        lambda t: t.linalg.matrix_exp(t.ones(2, 3)),
        lambda t: t.linalg.multi_dot([t.ones(3)]),
        lambda t: t.linalg.multi_dot([t.ones(2, 3), t.ones(5, 7)]),
        lambda t: t.linalg.cross(t.ones(2), t.ones(2)),
        lambda t: t.linalg.lstsq(t.ones(3, 2), t.ones(5, 2)),
        lambda t: t.linalg.lstsq(t.ones(3, 2), t.ones(3, 2), driver="up"),
        lambda t: t.linalg.solve_triangular(t.eye(3), t.ones(5, 2), upper=True),
        lambda t: t.linalg.solve_triangular(t.eye(3), t.ones(3, 2)),
        lambda t: t.linalg.lu_factor(t.ones(3)),
        lambda t: t.linalg.pinv(t.ones(3)),
        lambda t: t.linalg.cond(t.ones(2, 3), p=1),
        lambda t: t.linalg.tensorinv(t.ones(2, 3), ind=1),
        lambda t: t.linalg.householder_product(t.ones(2, 3), t.ones(3)),
        lambda t: t.cholesky_solve(t.ones(5, 2), t.eye(3)),
        lambda t: t.linalg.vecdot(t.ones(3), t.ones(5)),
    ],
    "Fourier transforms": [
        lambda t: t.fft.fft(t.ones(3), n=0),
        lambda t: t.fft.fft(t.ones(3), norm="up"),
        lambda t: t.fft.fft(t.tensor(1.0)),
        lambda t: t.fft.rfft(t.ones(3, dtype=t.complex64)),
        lambda t: t.fft.irfft(t.ones(0)),
        lambda t: t.fft.fft2(t.ones(3)),
        lambda t: t.fft.fftn(t.ones(2, 3), dim=(0, 0)),
        lambda t: t.fft.fftn(t.ones(2, 3), s=(2, 2), dim=(0,)),
        lambda t: t.fft.fftn(t.ones(2, 3), s=(2, 2, 2)),
        lambda t: t.stft(t.ones(8), 16, return_complex=True),
        lambda t: t.stft(t.ones(8), 4, window=t.ones(7), return_complex=True),
    ],
    "random numbers": [
        lambda t: t.rand(-1),
        lambda t: t.randint(5, 2, (3,)),
        lambda t: t.randint(5),
        lambda t: t.randint(0, 5, 3),
        lambda t: t.randperm(-1),
        lambda t: t.normal(0.0, -1.0, (3,)),
        lambda t: t.normal(t.ones(3), t.ones(5)),
        lambda t: t.multinomial(t.ones(3), 5),
        lambda t: t.multinomial(-t.ones(3), 2),
        lambda t: t.multinomial(t.zeros(3), 2, replacement=True),
        lambda t: t.multinomial(t.ones(2, 2, 2), 2),
        lambda t: t.multinomial(t.ones(3), 0),
        lambda t: t.bernoulli(t.full((3,), 2.0)),
        lambda t: t.poisson(-t.ones(3)),
        lambda t: t.rand(3, generator="a"),
        lambda t: t.rand(3, dtype=t.int64),
        lambda t: t.manual_seed("a"),
        lambda t: t.manual_seed(2**64),
        lambda t: t.manual_seed(-(2**63) - 1),
        lambda t: t.Generator().manual_seed("a"),
        lambda t: t.Generator("nowhere"),
        lambda t: t.set_rng_state(t.zeros(3, dtype=t.uint8)),
        lambda t: t.set_rng_state(t.zeros(5056)),
        lambda t: t.Generator().set_state("a"),
    ],
    "files": [
        lambda t: t.load("/no/such/file.pt"),
        lambda t: t.save(t.ones(3), "/no/such/folder/file.pt"),
        lambda t: t.load(io.BytesIO(b"nothing that can be read")),
        lambda t: t.load(io.BytesIO(b"")),
        lambda t: t.load(3),
        lambda t: t.save(t.ones(3), 3),
        lambda t: t.load(io.BytesIO(pickle.dumps(Attack()))),
        truncated_file,
        malicious_file,
    ],
}
