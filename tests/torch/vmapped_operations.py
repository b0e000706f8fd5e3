"""Every operation on a batch of PyTorch's sample inputs, against the same for each example.

`python -m tests.torch.vmapped_operations` prints how many agree; with names, what differs.
"""

from __future__ import annotations

import sys
from typing import Any

import torch as real

import minitorch.torch as ours

from . import opinfo
from .devices import ELSEWHERE, UNSTEADY
from .layouts import mapped
from .oracle import Mismatch, leaves, to_ours

OF_MEMORY = {
    "as_strided",
    "as_strided.partial_views",
    "as_strided_copy",
    "as_strided_scatter",
    "nonzero",
    "nonzero_static",
}
"""Operations that look behind the example into memory, or whose results differ in shape."""


def _tensors(value: Any) -> list[Any]:
    found: list[Any] = []
    mapped(value, lambda t: found.append(t) or t, (ours.Tensor,))
    return [t for t in found if t.dtype.is_floating_point]


def _with(value: Any, places: dict[int, Any]) -> Any:
    return mapped(value, lambda t: places.get(id(t), t), (ours.Tensor,))


def compare(fn: Any, args: Any, kwargs: Any, few: bool) -> bool:
    """Whether a batch gives what its examples give, and the same gradients; False if the examples cannot be computed.

    Args:
        fn: of one example
        args: of it
        kwargs: of it
        few: whether only the first tensor is in the batch, and all else is the same for all
    """
    own = _tensors((args, kwargs))[: 1 if few else None]
    if not own:
        return False
    batches = [ours.stack([t.detach(), t.detach() * 0.875]).requires_grad_() for t in own]

    def call(*given: Any) -> Any:
        places = {id(t): g for t, g in zip(own, given, strict=True)}
        outs = leaves(fn(*_with(args, places), **_with(kwargs, places)))
        return tuple(t for t in outs if t is not None)

    try:
        singles = [call(*(b[i] for b in batches)) for i in range(2)]
        expected = [ours.stack(list(c)) for c in zip(*singles, strict=True)]
        wanted = _gradients(expected, batches)
    except Exception:
        return False
    if not expected:
        return False
    found = ours.vmap(call)(*batches)
    for a, b in zip((*found, *_gradients(list(found), batches)), (*expected, *wanted), strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise Mismatch(f"{tuple(a.shape)} {a.dtype}, expected {tuple(b.shape)} {b.dtype}")
        if not ours.allclose(a.detach(), b.detach(), 1e-10, 1e-10, equal_nan=True):
            raise Mismatch("values differ")
    return True


def _gradients(outs: list[Any], inputs: list[Any]) -> list[Any]:
    tracked = [t for t in outs if t.requires_grad]
    if not tracked:
        return []
    found = ours.autograd.grad([t.sum().real for t in tracked], inputs, allow_unused=True)
    return [ours.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def check(name: str, limit: int = 1000) -> int:
    """Compare an operation; `Mismatch` says what is wrong.

    Returns:
        how many calls were compared
    """
    info = opinfo.all_operations()[name]
    fn = opinfo.resolve(ours, info)
    if (
        fn is None
        or name in ELSEWHERE | UNSTEADY | OF_MEMORY
        or not info.supports_dtype(real.float64, "cpu")
    ):
        return 0
    count = 0
    for i, sample in enumerate(opinfo.samples(info, real.float64, False, limit)):
        args, kwargs = to_ours(((sample.input, *sample.args), sample.kwargs))
        for few in (True, False) if not kwargs.get("dropout_p") else ():
            try:
                count += compare(fn, args, kwargs, few)
            except Exception as error:
                raise Mismatch(
                    f"{name}[sample {i}, few={few}]: {type(error).__name__}: {error}"
                ) from error
    return count


if __name__ == "__main__":
    sys.exit(opinfo.compare_all(check, __doc__))
