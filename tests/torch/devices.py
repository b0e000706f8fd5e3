"""Every operation on another device, with PyTorch's sample inputs, against the CPU.

`python -m tests.torch.devices` runs them on `cuda` (`MINITORCH_CUDA=simulated` where there is no
GPU) and prints how many agree and which were computed on the CPU, there and back;
`python -m tests.torch.devices add sum` says for some of them what differs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch as real

import minitorch.torch as ours
from minitorch.torch.backends.cuda.backend import require_cuda
from minitorch.torch.dtypes import FLOATING

from . import opinfo
from .conditioning import allowance
from .layouts import ULPS, mapped
from .oracle import Mismatch, compare_tensors, largest, leaves, numbers, to_ours

DTYPES = (
    real.float64,
    real.float32,
    real.int64,
    real.bool,
    real.complex128,
    real.bfloat16,
    real.float16,
)
DEVICE = ours.device("cuda", 0)
ELSEWHERE = {"to", "sparse.mm.reduce"}  # they name a device, or have no samples without CSR
LESS_EXACT = {"nn.functional.scaled_dot_product_attention": 2.0**12}
"""How many units of precision more results may be apart: gradients are what is left of products of all three inputs."""
UNSTEADY = set(
    """bernoulli cauchy empty empty_like empty_permuted empty_strided exponential geometric log_normal
    multinomial nn.functional.alpha_dropout nn.functional.multi_head_attention_forward nn.functional.dropout nn.functional.dropout2d
    nn.functional.dropout3d nn.functional.feature_alpha_dropout.with_train nn.functional.rrelu
    nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d
    nn.functional.scaled_dot_product_attention.dropout new_empty new_empty_strided normal
    normal.in_place normal.number_mean pca_lowrank rand_like randint randint_like randn randn_like svd_lowrank
    uniform""".split()
)
"""Operations whose numbers are drawn, or are whatever lies in memory."""


def run(fn: Any, args: Any, kwargs: Any, device: ours.device) -> list[Any]:
    """What a call gives on a device: outputs, and gradients where there are some."""
    known: dict[int, Any] = {}

    def place(t: Any) -> Any:
        if isinstance(t, ours.device):
            return device
        if id(t) not in known:
            moved = t.detach().clone() if device == t.device else t.detach().to(device)
            known[id(t)] = moved.requires_grad_(t.requires_grad)
        return known[id(t)]

    args, kwargs = mapped((args, kwargs), place, (ours.Tensor, ours.device))
    if "device" in kwargs or not leaves((args, kwargs)):
        kwargs["device"] = device
    ours.manual_seed(0)
    found = [t.to_dense() for t in leaves(fn(*args, **kwargs))]
    for t in found:
        if t.device != device:
            raise Mismatch(f"a result is on {t.device}")
    outs = [t for t in found if t.requires_grad]
    inputs = [t for t in leaves((args, kwargs)) if t.requires_grad]
    if not outs or not inputs:
        return found
    random = np.random.default_rng(0)
    weights = [ours.asarray(random.standard_normal(t.shape)).to(device, t.dtype) for t in outs]
    grads = ours.autograd.grad(outs, inputs, weights, allow_unused=True)
    return [*found, *(g for g in grads if g is not None)]


Case = tuple[str, Any, Any, Any, Callable[[], float]]


def cases(name: str, limit: int, dtypes: tuple[Any, ...]) -> Iterator[Case]:
    """An operation's calls on PyTorch's samples: what to say of each, the function, its arguments, how far results may be apart."""
    info = opinfo.all_operations()[name]
    fn = None if name in ELSEWHERE else opinfo.resolve(ours, info)
    theirs = opinfo.resolve(real, info) or info.op
    for dtype in dtypes:
        if fn is None or not info.supports_dtype(dtype, "cpu"):
            continue
        grad = dtype in (real.float64, real.complex128) and info.supports_autograd
        for i, sample in enumerate(opinfo.samples(info, dtype, grad, limit)):
            given = (sample.input, *sample.args), sample.kwargs
            call = opinfo.comparable(fn, info.name, sample.output_process_fn_grad)

            def apart(given: Any = given, grad: bool = grad) -> float:
                return max(
                    ULPS,
                    LESS_EXACT.get(name, 0.0),
                    allowance(theirs, given[0], given[1], grad, False),
                )

            yield f"{name}[{dtype}, sample {i}]", call, *to_ours(given), apart


def check(name: str, limit: int = 1000, dtypes: tuple[Any, ...] = DTYPES) -> int:
    """Compare an operation on the device with the CPU; `Mismatch` or an error says what is wrong.

    Returns:
        how many calls were compared
    """
    count = 0
    for what, fn, args, kwargs, apart in cases(name, limit, dtypes):
        try:
            expected = run(fn, args, kwargs, ours.device("cpu"))
        except Exception:
            continue
        try:
            got = run(fn, args, kwargs, DEVICE)
        except Mismatch as error:
            raise Mismatch(f"{what}: {error}") from None
        except Exception as error:
            raise Mismatch(f"{what}: raised {type(error).__name__}: {error}") from error
        if len(got) != len(expected):
            raise Mismatch(f"{what}: {len(got)} results, expected {len(expected)}")
        seen = [*expected, *leaves((args, kwargs))]
        scale = max((largest(numbers(e)) for e in seen if e.dtype.kind >= FLOATING), default=0.0)
        for i, (a, b) in enumerate(zip(got, expected, strict=True)):
            if name in UNSTEADY or kwargs.get("dropout_p"):
                if (a.shape, a.dtype) != (b.shape, b.dtype):
                    raise Mismatch(f"{what}: {a.shape} {a.dtype}, expected {b.shape} {b.dtype}")
                continue
            try:
                compare_tensors(a.cpu(), b, f"{what}: result {i}", ULPS, scale=max(scale, 1.0))
            except Mismatch as error:
                if "values differ" not in str(error):
                    raise
                compare_tensors(a.cpu(), b, f"{what}: result {i}", apart(), scale=max(scale, 1.0))
        count += 1
    return count


def main() -> int:
    """Compare, and say what was found, and what the CPU computed."""
    status = opinfo.compare_all(check, __doc__)
    on_cpu = require_cuda().on_cpu
    print(f"{len(on_cpu)} operations were computed on the CPU, there and back:")
    for (name, kind), reason in sorted(on_cpu.items(), key=str):
        print(f"  {name}[{kind}]: {reason[:120]}".replace("\n", " "))
    return status


if __name__ == "__main__":
    sys.exit(main())
