"""What programs that people write for PyTorch found missing, silent or wrong."""

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import minitorch.torch as torch


def heard(program, lib):
    """The warnings of a program, without the place in PyTorch's sources that they end with."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program(lib)
    return [(w.category, str(w.message).split(" (Triggered")[0], w.filename) for w in found]


def of_no_leaf(t):
    y = t.ones(2, requires_grad=True) * 2
    return y.grad


def of_a_leaf(t):
    x = t.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    return x.grad, y.grad, x.detach().grad


def read_only(t):
    given = np.ones(2)
    given.flags.writeable = False
    return t.from_numpy(given)


def recomputed(t, *args, **options):
    return t.utils.checkpoint.checkpoint(t.sin, *args, **options)


WARNING = {
    "gradient of no leaf": of_no_leaf,
    "gradients of leaves": of_a_leaf,
    "copy of a tensor": lambda t: t.tensor(t.ones(2)),
    "one element": lambda t: t.ones(1).std(),
    "one element a row": lambda t: t.ones(3, 1).var(1),
    "two elements": lambda t: t.ones(2).var(),
    "one element, all of it": lambda t: t.ones(1).var(correction=0),
    "nothing": lambda t: t.ones(0, 3).var_mean(0) if hasattr(t.Tensor, "var_mean") else t.var_mean(t.ones(0, 3), 0),
    "keeping what is kept": lambda t: recomputed(t, t.ones(2, requires_grad=True)),
    "keeping nothing": lambda t: recomputed(t, t.ones(2), use_reentrant=True),
    "keeping by hooks": lambda t: recomputed(t, t.ones(2), use_reentrant=False),
    "keeping in segments": lambda t: t.utils.checkpoint.checkpoint_sequential([t.sin, t.cos], 2, t.ones(2, requires_grad=True)),
    "one segment": lambda t: t.utils.checkpoint.checkpoint_sequential([t.sin, t.cos], 1, t.ones(2), use_reentrant=False),
}  # fmt: skip


@pytest.mark.parametrize("program", WARNING.values(), ids=WARNING)
def test_what_is_warned_of(program):
    mine, theirs = heard(program, torch), heard(program, pytorch)
    assert [w[:2] for w in mine] == [w[:2] for w in theirs]
    if program in (of_no_leaf, WARNING["copy of a tensor"], WARNING["one element"]):
        assert mine[0][2] == __file__


ONCE = {
    "grid": lambda t: t.meshgrid(t.ones(2), t.ones(3)),
    "grid by name": lambda t: t.meshgrid(t.ones(2), t.ones(3), indexing="ij"),
    "rows of coordinates": lambda t: t.cartesian_prod(t.ones(2), t.ones(3)),
    "one dimension turned": lambda t: t.ones(3).T,
    "two dimensions turned": lambda t: t.ones(3, 2).T,
    "no window": lambda t: t.stft(t.ones(64), 16, return_complex=True),
    "read only": read_only,
}


def test_what_is_warned_of_once_in_a_process():
    code = """
import sys
from tests.torch.test_program_findings import ONCE, heard, pytorch, torch
for lib in (torch, pytorch):
    for name, program in ONCE.items():
        print(name, [[w[:2] for w in heard(program, lib)] for _ in range(2)])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[: len(ONCE)] == lines[len(ONCE) :]


@pytest.mark.parametrize("dim", [-3, -2, -1, 0, 1, 2, 3])
@pytest.mark.parametrize("inner", [lambda x: x.sum(), lambda x: x])
def test_a_batch_comes_back_where_there_is_room(inner, dim):
    def found(t):
        try:
            return t.vmap(inner, out_dims=dim)(t.ones(3, 2)).shape
        except IndexError as error:
            return str(error)

    assert found(torch) == found(pytorch)


def test_segments_are_those_of_pytorch():
    for count in (1, 2, 3):
        f = [torch.sin, torch.cos, torch.exp, torch.tanh]
        x = torch.rand(3, requires_grad=True)
        y = torch.utils.checkpoint.checkpoint_sequential(f, count, x, use_reentrant=False)
        y.sum().backward()
        z: Any = pytorch.tensor(x.tolist(), requires_grad=True)
        z.sin().cos().exp().tanh().sum().backward()
        np.testing.assert_allclose(x.grad.tolist(), z.grad.tolist(), rtol=1e-5)


def test_a_class_of_tensors_prints_its_name():
    def text(t):
        class Signal(t.Tensor):
            pass

        x = t.arange(40.0).as_subclass(Signal)
        return [str(x), repr(x.reshape(2, 20) > 3), str(t.nn.Parameter(t.ones(3))), str(t.ones(2))]

    assert text(torch) == text(pytorch)


FAKE_QUANTIZED = {
    "numbers": lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.1, 1, -8, 7),
    "tensors": lambda t, x: t.fake_quantize_per_tensor_affine(x, t.tensor(0.1), t.tensor(1, dtype=t.int32), -8, 7),
    "one each": lambda t, x: t.fake_quantize_per_tensor_affine(x, t.tensor(0.1), 1, -8, 7),
    "scale of nothing": lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.0, 0, -8, 7),
    "double": lambda t, x: t.fake_quantize_per_tensor_affine(x.double(), 0.1, 0, -8, 7),
    "half": lambda t, x: t.fake_quantize_per_tensor_affine(x.half(), 0.1, 0, -8, 7),
    "bfloat16": lambda t, x: t.fake_quantize_per_tensor_affine(x.bfloat16(), 0.1, 0, -8, 7),
    "whole numbers": lambda t, x: t.fake_quantize_per_tensor_affine(x.detach().nan_to_num(0, 1, 1).long(), 0.1, 0, -8, 7),
    "no range": lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.1, 0, 8, 7),
    "out of range": lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.1, 9, -8, 7),
    "rows": lambda t, x: t.fake_quantize_per_channel_affine(x[:8].view(2, 4), t.tensor([0.1, 0.2]), t.tensor([0, 1], dtype=t.int32), 0, -8, 7),
    "columns": lambda t, x: t.fake_quantize_per_channel_affine(x[:4].view(2, 2), t.tensor([0.1, 0.2]), t.tensor([0.0, 1.5]), 1, -8, 7),
    "too few": lambda t, x: t.fake_quantize_per_channel_affine(x.view(2, 5), t.ones(3), t.zeros(3, dtype=t.int32), 0, -8, 7),
    "unequal": lambda t, x: t.fake_quantize_per_channel_affine(x.view(2, 5), t.ones(2), t.zeros(3, dtype=t.int32), 0, -8, 7),
    "long zeros": lambda t, x: t.fake_quantize_per_channel_affine(x.view(2, 5), t.ones(2), t.zeros(2, dtype=t.int64), 0, -8, 7),
    "double scale": lambda t, x: t.fake_quantize_per_channel_affine(x.view(2, 5), t.ones(2).double(), t.zeros(2, dtype=t.int32), 0, -8, 7),
    "no axis": lambda t, x: t.fake_quantize_per_channel_affine(x.view(2, 5), t.ones(2), t.zeros(2, dtype=t.int32), 5, -8, 7),
    "a zero out of range": lambda t, x: t.fake_quantize_per_channel_affine(x.view(2, 5), t.ones(2), t.tensor([0, 9], dtype=t.int32), 0, -8, 7),
}  # fmt: skip


@pytest.mark.parametrize("call", FAKE_QUANTIZED.values(), ids=FAKE_QUANTIZED)
def test_fake_quantization(call):
    def found(t):
        x = t.tensor(
            [-3.0, -0.85, -0.05, 0.05, 0.15, 0.26, 5.0, np.nan, np.inf, -np.inf], requires_grad=True
        )
        try:
            y = call(t, x)
        except (RuntimeError, IndexError) as error:
            return type(error), " ".join(str(error).split())
        y.sum().backward()
        return str(y.dtype), y.grad_fn.name(), y.tolist(), x.grad.tolist()

    mine, theirs = found(torch), found(pytorch)
    assert mine[:2] == theirs[:2]
    for a, b in zip(mine[2:], theirs[2:], strict=True):
        np.testing.assert_array_equal(a, b)
