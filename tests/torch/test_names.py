"""Names that stand beside others: as functions, under their kernels' names, from Torch's past."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as real

import minitorch.torch as ours

from .oracle import compare_results

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "detach": lambda lib, x: lib.detach(x),
    "detach_": lambda lib, x: lib.detach_(x * 2),
    "addmv_": lambda lib, x: lib.addmv_(lib.ones(2), x, x[0]),
    "native_layer_norm": lambda lib, x: lib.native_layer_norm(x, (3,), None, None, 1e-5),
    "native_dropout": lambda lib, x: lib.native_dropout(x, 0.0, True),
    "convolution": lambda lib, x: lib.convolution(x[None], x[:, None], None, [1], [1], [1], False, [0], 2),
    "frobenius_norm": lambda lib, x: lib.frobenius_norm(x, (0, 1)),
    "nuclear_norm": lambda lib, x: lib.nuclear_norm(x),
    "view_as_real_copy": lambda lib, x: lib.view_as_real_copy(x + 1j),
    "mm, sparse first": lambda lib, x: lib.mm(x.to_sparse(), x.t()),
    "smm": lambda lib, x: lib.smm(x.to_sparse(), x.t()).to_dense(),
    "to_sparse_coo": lambda lib, x: x.to_sparse_coo().to_dense(),
    "resize": lambda lib, x: x.resize(3, 2),
    "resize_as": lambda lib, x: x.resize_as(x.t()),
    "dimensions": lambda lib, x: (x.sparse_dim(), x.dense_dim()),
    "module_load": lambda lib, x: x.module_load(x + 1),
    "cond": lambda lib, x: lib.cond(True, lambda a: a + 1, lambda a: a, (x,)),
    "sizes": lambda lib, x: [lib.sym_max(1, 2), lib.sym_not(True), lib.sym_int(2.7), lib.sym_sum([1, 2])],
    "segment_reduce": lambda lib, x: lib.segment_reduce(x[0], "sum", lengths=lib.as_tensor([1, 2])),
    "default device": lambda lib, x: str(lib.get_default_device()),
    "debug mode": lambda lib, x: lib.get_deterministic_debug_mode(),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_name(name: str) -> None:
    results = []
    for lib in (ours, real):
        x = lib.arange(6, dtype=lib.float32).reshape(2, 3) + 1
        results.append(CALLS[name](lib, x))
    compare_results(results[0], results[1], name)


@pytest.mark.parametrize(
    "name", ["eig", "lstsq", "solve", "symeig", "coalesce", "values", "indices"]
)
def test_methods_that_refuse(name: str) -> None:
    args = (ours.ones(2, 2),) if name in ("lstsq", "solve") else ()
    with pytest.raises(RuntimeError):
        getattr(ours.ones(2, 2), name)(*args)
