"""Tensors with tangents: values and tangents are PyTorch's, with and without a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch as library

ours: Any = library
LIBRARIES = pytest.mark.parametrize("lib", [ours, real], ids=["ours", "torch"])


def numbers(lib: Any, seed: int) -> Any:
    """The same numbers in both libraries."""
    return lib.from_numpy(np.random.default_rng(seed).standard_normal((3, 4)))


FUNCTIONS: dict[str, Any] = {
    "linear": lambda lib, d: lib.nn.functional.linear(d, numbers(lib, 2)),
    "softmax": lambda lib, d: d.softmax(1),
    "layer_norm": lambda lib, d: lib.nn.functional.layer_norm(d, (4,)),
    "part of a view": lambda lib, d: d.t()[1:, ::2] * 2,
    "joined": lambda lib, d: lib.cat([d, d.sin()]),
    "both inputs": lambda lib, d: d * d.exp(),
    "values and places": lambda lib, d: d.max(1).values,
    "places": lambda lib, d: d.argmax(1),
    "chosen": lambda lib, d: lib.where(d > 0, d.exp(), d),
    "batch_norm": lambda lib, d: lib.nn.functional.batch_norm(d, None, None, training=True),
    "written": lambda lib, d: d.clone().mul_(d),
    "inverse": lambda lib, d: lib.linalg.inv(d[:, :3]),
    "cut off": lambda lib, d: d.detach(),
    "loss": lambda lib, d: lib.nn.functional.cross_entropy(d, lib.tensor([0, 1, 2])),
}


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents(name: str, recorded: bool) -> None:
    found = []
    for lib in (ours, real):
        ad = lib.autograd.forward_ad
        with lib.set_grad_enabled(recorded), ad.dual_level():
            dual = ad.make_dual(numbers(lib, 0), numbers(lib, 1))
            found.append(ad.unpack_dual(FUNCTIONS[name](lib, dual)))
    np.testing.assert_allclose(found[0].primal.numpy(), found[1].primal.numpy(), 1e-12)
    assert (found[0].tangent is None) is (found[1].tangent is None)
    if found[1].tangent is not None:
        np.testing.assert_allclose(found[0].tangent.numpy(), found[1].tangent.numpy(), 1e-9)


@LIBRARIES
def test_a_tangent_is_there_within_its_level(lib: Any) -> None:
    ad = lib.autograd.forward_ad
    x, t = lib.ones(2), lib.full((2,), 3.0)
    with ad.dual_level():
        dual = ad.make_dual(x, t)
        assert ad.unpack_dual(dual).tangent is t
        assert ad.unpack_dual(ad.unpack_dual(dual).primal).tangent is None
        assert ad.unpack_dual(x).tangent is None
        with pytest.raises(RuntimeError):
            ad.make_dual(x, lib.ones(3))
        with pytest.raises(ValueError, match="floating point"):
            ad.make_dual(lib.tensor([1, 2]), t)
        with pytest.raises(RuntimeError, match="Nested"):
            ad.enter_dual_level()
    assert ad.unpack_dual(dual).tangent is None
    with pytest.raises(RuntimeError, match="no level exists"):
        ad.make_dual(x, t)


@LIBRARIES
def test_gradients_of_tangents(lib: Any) -> None:
    ad = lib.autograd.forward_ad
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with ad.dual_level():
        tangent = ad.unpack_dual((ad.make_dual(x, lib.ones(2)) ** 3).sum()).tangent
    tangent.backward()
    assert x.grad.tolist() == [6.0, 12.0]


@LIBRARIES
def test_a_function_of_ones_own_says_its_tangent(lib: Any) -> None:
    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 20  # not 2, so that it is seen

    ad = lib.autograd.forward_ad
    with ad.dual_level():
        out = Twice.apply(ad.make_dual(lib.ones(2), lib.ones(2)))
        assert ad.unpack_dual(out).tangent.tolist() == [20.0, 20.0]
