"""Memory shared by DLPack with PyTorch and NumPy, both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real
import torch.utils.dlpack as real_dlpack

import minitorch.torch as ours
from minitorch.torch.utils.dlpack import from_dlpack, to_dlpack

TYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


def _numbers(t: Any) -> Any:
    return t.double().tolist() if "bfloat16" in str(t.dtype) else t.tolist()


@pytest.mark.parametrize("kind", TYPES)
def test_from_pytorch(kind: str) -> None:
    theirs = real.tensor([[1, 0, 3], [4, 5, 6]], dtype=getattr(real, kind)).t()
    mine = ours.from_dlpack(theirs)
    assert str(mine.dtype) == str(theirs.dtype)
    assert mine.stride() == theirs.stride()
    assert _numbers(mine) == _numbers(theirs)
    mine[1, 1] = 0
    assert not theirs[1, 1].item()


@pytest.mark.parametrize("kind", TYPES)
def test_to_pytorch(kind: str) -> None:
    mine = ours.as_tensor([[1, 0, 3], [4, 5, 6]], dtype=getattr(ours, kind)).t()
    theirs = real.from_dlpack(mine)
    assert str(mine.dtype) == str(theirs.dtype)
    assert mine.stride() == theirs.stride()
    assert _numbers(mine) == _numbers(theirs)
    theirs[1, 1] = 0
    assert not mine[1, 1]


def test_numpy_shares_memory() -> None:
    array = np.arange(6.0).reshape(2, 3)
    mine = ours.from_dlpack(array)
    mine[0, 0] = 9
    assert array[0, 0] == 9
    assert np.shares_memory(np.from_dlpack(mine), array)


@pytest.mark.parametrize("make", [lambda: real.ones(2, 2).bfloat16(), lambda: real.ones(2, 2)])
def test_capsules(make: Any) -> None:
    theirs = make()
    mine = from_dlpack(theirs.__dlpack__())  # without a version
    mine.mul_(3)
    assert theirs.sum() == 12
    again = real_dlpack.from_dlpack(to_dlpack(mine))
    again.zero_()
    assert not mine.any()


def test_memory_outlives_its_lender() -> None:
    mine = ours.from_dlpack(real.arange(1000))
    theirs = real.from_dlpack(ours.arange(1000))
    real.empty(1000).fill_(1)
    assert mine.sum().item() == theirs.sum().item() == 499500


def test_copies_and_refusals() -> None:
    theirs = real.ones(3)
    ours.from_dlpack(theirs, copy=True).zero_()
    assert theirs.sum() == 3
    with pytest.raises(BufferError, match="require gradient"):
        ours.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(RuntimeError, match="invalid capsule"):
        ours.from_dlpack(3)
    used = to_dlpack(ours.ones(2))
    from_dlpack(used)
    with pytest.raises(RuntimeError, match="only once"):
        from_dlpack(used)
    assert ours.ones(2).__dlpack_device__() == real.ones(2).__dlpack_device__()
