"""Wrapper subclasses: the same classes with `__torch_dispatch__` in both libraries, asked the same and giving the same."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch as real
import torch.utils._python_dispatch as real_dispatch
import torch.utils._pytree as real_pytree

import minitorch.torch as ours
import minitorch.torch.utils._python_dispatch as our_dispatch
import minitorch.torch.utils._pytree as our_pytree

BOTH = pytest.mark.parametrize("t", [ours, real], ids=["ours", "pytorch"])
log: list[str] = []


def tools(t: Any) -> Any:
    return (our_dispatch, our_pytree) if t is ours else (real_dispatch, real_pytree)


def quantized_class(t: Any) -> Any:
    """A class of tensors that are kept as whole numbers of a byte and a scale for each row."""
    dispatch, pytree = tools(t)
    aten = t.ops.aten

    class Quantized(t.Tensor):
        @staticmethod
        def __new__(cls, codes, scale):
            return t.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=t.float32, device=codes.device)  # fmt: skip

        def __init__(self, codes, scale):
            self.codes, self.scale = codes, scale

        __torch_function__ = t._C._disabled_torch_function_impl

        @classmethod
        def of(cls, x):
            scale = x.abs().amax(1, keepdim=True) / 127
            return cls((x / scale).round().to(t.int8), scale)

        def plain(self):
            return self.codes.to(t.float32) * self.scale

        def __tensor_flatten__(self):
            return ["codes", "scale"], None

        @classmethod
        def __tensor_unflatten__(cls, inside, context, size, stride):
            return cls(inside["codes"], inside["scale"])

        def __repr__(self):
            return f"Quantized{tuple(self.shape)}"

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            if func in (aten.detach.default, aten.clone.default):
                x = args[0]
                codes = x.codes.clone() if func is aten.clone.default else x.codes
                return dispatch.return_and_correct_aliasing(func, args, kwargs, cls(codes, x.scale))
            args, kwargs = pytree.tree_map_only(Quantized, Quantized.plain, (args, kwargs or {}))
            return func(*args, **kwargs)

    return Quantized


CLASSES = {lib: quantized_class(lib) for lib in (ours, real)}
OurQuantized = CLASSES[ours]
OurQuantized.__qualname__ = "OurQuantized"  # so that pickle finds it


def quantized(t: Any) -> Any:
    t.manual_seed(0)
    return CLASSES[t].of(t.randn(3, 4))


def seen(fn: Any) -> list[Any]:
    """What a function of a library prints, and what the class was asked, in both libraries."""
    results = []
    for t in (ours, real):
        log.clear()
        results.append((str(fn(t)), list(log)))
    return results


@pytest.mark.parametrize(
    "fn",
    [
        lambda t: (quantized(t) + 1).sum(),
        lambda t: t.nn.functional.linear(t.ones(2, 4), quantized(t)),
        lambda t: t.nn.functional.linear(t.ones(5, 2, 4), quantized(t), t.ones(3)).shape,
        lambda t: t.cat([quantized(t), t.ones(1, 4)]).mean(0),
        lambda t: (quantized(t).t() @ quantized(t)).shape,
        lambda t: quantized(t)[1:, None].shape,
        lambda t: (
            quantized(t).shape,
            quantized(t).dtype,
            quantized(t).device,
            quantized(t).stride(),
        ),
        lambda t: quantized(t).detach().requires_grad,
    ],
)
def test_classes_are_asked_as_in_torch(fn):
    here, there = seen(fn)
    assert here == there


@BOTH
def test_a_layer_with_a_quantized_weight(t):
    dispatch, _ = tools(t)
    weight = quantized(t)
    layer = t.nn.Linear(4, 3)
    layer.weight = t.nn.Parameter(weight, requires_grad=False)
    assert isinstance(layer.weight, t.nn.Parameter)
    assert isinstance(layer.weight, CLASSES[t])
    assert dispatch.is_traceable_wrapper_subclass(layer.weight)
    assert not dispatch.is_traceable_wrapper_subclass(layer.bias)
    x = t.ones(2, 4)
    right = x @ weight.plain().t() + layer.bias
    result = layer(x)
    assert t.allclose(result, right)
    result.sum().backward()
    assert layer.bias.grad.tolist() == [2.0, 2.0, 2.0]
    twin = copy.deepcopy(layer)
    assert isinstance(twin.weight, CLASSES[t])
    assert isinstance(twin.weight, t.nn.Parameter)
    twin.weight.codes.zero_()
    assert t.equal(layer(x), result)
    assert set(layer.state_dict()) == {"weight", "bias"}
    doubled = dispatch.transform_subclass(weight, lambda name, x: x * 2 if name == "scale" else x)
    assert t.equal(doubled.plain(), weight.plain() * 2)


def test_wrappers_are_pickled():
    weight = quantized(ours)
    log.clear()
    again = pickle.loads(pickle.dumps(weight))
    assert type(again) is OurQuantized
    assert ours.equal(again.codes, weight.codes)
    assert log == []
    parameter = pickle.loads(pickle.dumps(ours.nn.Parameter(weight, requires_grad=False)))
    assert isinstance(parameter, ours.nn.Parameter)


def pair_class(t: Any) -> Any:
    _, pytree = tools(t)

    class Pair(t.Tensor):
        """Two tensors that all operations are done to."""

        @staticmethod
        def __new__(cls, a, b, requires_grad=False):
            return t.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype, requires_grad=requires_grad)  # fmt: skip

        def __init__(self, a, b, requires_grad=False):
            self.a, self.b = a, b

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            sides = [pytree.tree_map_only(Pair, lambda x, s=s: getattr(x, s), (args, kwargs or {})) for s in "ab"]  # fmt: skip
            results = [func(*given, **named) for given, named in sides]
            return pytree.tree_map(
                lambda a, b: Pair(a, b) if isinstance(a, t.Tensor) else a, *results
            )

    return Pair


@BOTH
def test_gradients_are_wrappers_too(t):
    pair = pair_class(t)(t.ones(2, 2), t.full((2, 2), 3.0), requires_grad=True)
    result = ((pair @ pair) * 2 + pair.exp()).sum()
    assert result.requires_grad
    result.backward()
    for side in "ab":
        x = getattr(pair, side).detach().requires_grad_()
        ((x @ x) * 2 + x.exp()).sum().backward()
        assert t.allclose(getattr(pair.grad, side), x.grad)


@BOTH
def test_a_class_may_refuse(t):
    class Refuses(t.Tensor):
        @staticmethod
        def __new__(cls, x):
            return t.Tensor._make_wrapper_subclass(cls, x.shape)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for .*add"):
        t.add(Refuses(t.ones(2)), 1)

    class Plain(t.Tensor):
        pass

    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        t.Tensor._make_wrapper_subclass(Plain, (2,))


@BOTH
def test_modes_are_known(t):
    dispatch, _ = tools(t)

    class Mode(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    names: list[str] = []
    x = t.ones(2)
    with Mode() as mode:
        assert dispatch._get_current_dispatch_mode() is mode
        with dispatch._disable_current_modes():
            x.exp()
        x.sin()
    assert names == ["aten.sin.default"]
    assert dispatch._get_current_dispatch_mode() is None
