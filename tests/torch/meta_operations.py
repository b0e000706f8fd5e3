"""Every operation on the device `meta`, with PyTorch's sample inputs: shapes, types and strides are PyTorch's.

`python -m tests.torch.meta_operations` prints how many agree; with names, what differs.
"""

from __future__ import annotations

import sys
from typing import Any

import torch as real

import minitorch.torch as ours

from . import opinfo
from .devices import ELSEWHERE
from .layouts import mapped
from .oracle import Mismatch, leaves, to_ours

DTYPES = (real.float32, real.int64, real.bool, real.complex64, real.bfloat16)


def on_meta(value: Any, library: Any) -> Any:
    """Arguments with their tensors, and the devices that they name, on `meta`."""
    known: dict[int, Any] = {}

    def place(x: Any) -> Any:
        if isinstance(x, library.device):
            return library.device("meta")
        if id(x) not in known:
            known[id(x)] = x.detach().to("meta").requires_grad_(x.requires_grad)
        return known[id(x)]

    return mapped(value, place, (library.Tensor, library.device))


def facts(tensor: Any) -> tuple[Any, ...]:
    """What a tensor without memory has: shape, type, strides, whether it is in a graph."""
    size = tuple(tensor.shape)
    strides = tuple(tensor.stride()) if tensor.numel() > 1 else ()
    strides = tuple(s for s, n in zip(strides, size, strict=False) if n > 1)
    return size, str(tensor.dtype).removeprefix("torch."), strides, tensor.requires_grad


def _comparable(found: tuple[Any, ...], expected: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same with strides that need not agree taken from the other: those of what is not in row-major order."""
    plain = facts(real.empty(expected[0], device="meta"))[2]
    return found if expected[2] == plain else (*found[:2], expected[2], found[3])


def _of_tensors(value: Any, kind: type) -> list[Any]:
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [t for v in value for t in _of_tensors(v, kind)] if isinstance(value, (list, tuple)) else []
    )


def check(name: str, limit: int = 1000, dtypes: tuple[Any, ...] = DTYPES) -> int:
    """Compare an operation without memory with PyTorch's; `Mismatch` says what is wrong.

    Returns:
        how many calls were compared: those that PyTorch has without memory
    """
    info = opinfo.all_operations()[name]
    mine, theirs = opinfo.resolve(ours, info), opinfo.resolve(real, info) or info.op
    count = 0
    for dtype in dtypes:
        if mine is None or name in ELSEWHERE or not info.supports_dtype(dtype, "cpu"):
            continue
        grad = dtype.is_floating_point and info.supports_autograd
        for i, sample in enumerate(opinfo.samples(info, dtype, grad, limit)):
            what = f"{name}[{dtype}, sample {i}]"
            call = (sample.input, *sample.args), sample.kwargs
            own = to_ours(call)
            try:
                args, kwargs = on_meta(call, real)
                if "device" in kwargs or not leaves(call):
                    kwargs["device"] = "meta"
                expected = [facts(t) for t in _of_tensors(theirs(*args, **kwargs), real.Tensor)]
            except Exception:
                continue
            try:
                args, kwargs = on_meta(own, ours)
                if "device" in kwargs or not leaves(own):
                    kwargs["device"] = "meta"
                found = _of_tensors(mine(*args, **kwargs), ours.Tensor)
            except Exception as error:
                raise Mismatch(f"{what}: raised {type(error).__name__}: {error}") from error
            if not all(t.is_meta for t in found):
                raise Mismatch(f"{what}: a result is on {[str(t.device) for t in found]}")
            got = [_comparable(facts(t), e) for t, e in zip(found, expected, strict=False)]
            if len(found) != len(expected) or got != expected:
                raise Mismatch(f"{what}: {[facts(t) for t in found]}, expected {expected}")
            count += 1
    return count


if __name__ == "__main__":
    sys.exit(opinfo.compare_all(check, __doc__))
