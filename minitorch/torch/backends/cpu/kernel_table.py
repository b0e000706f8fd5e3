"""Which formulas have kernels on the CPU, and from which size on these are faster.

The kernel of a formula has its name and arguments, in the module `<family>_kernels`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from math import prod
from typing import Any

from .dispatch import Function, dispatch
from .matmul import matmul

Array = Any

WHOLE: dict[str, Function] = {"matmul": matmul}
"""What takes the place of formulas for arrays of all sizes."""

KERNELS: dict[str, tuple[str, int, dict[str, Any]]] = {}
"""By the formula's name: the kernel's family, the size from which on it computes, options of `dispatch`."""


SMALL = {"softmax", "log_softmax", "sigmoid", "normalize_rows"}
"""Formulas that have a kernel for small arrays, too."""


def _declare(family: str, start: int, names: str, **options: Any) -> None:
    """Note kernels of one family."""
    KERNELS.update(dict.fromkeys(names.split(), (family, start, options)))


def accelerate(formula: Function) -> Function:
    """What chooses between a formula and its kernel, if there is one."""
    name = formula.__name__
    if name not in KERNELS and name not in SMALL:
        return WHOLE.get(name, formula)
    family, start, options = KERNELS.get(name, ("small", sys.maxsize, {}))

    def of(family: str) -> Callable[[], Function]:
        return lambda: getattr(import_module(f"{__package__}.{family}_kernels"), name)

    small = of("small") if name in SMALL else None
    return dispatch(formula, of(family), start, small=small, **options)


# --- What counts, where that is not an argument's size ---------------------------------------------------


def _scores(query: Array, key: Array, *rest: Any) -> int:
    return query.size // max(query.shape[-1], 1) * key.shape[-2]


def _products(x: Array, weight: Array, bias: Any, shape: tuple[int, ...], *rest: Any) -> int:
    return prod(shape) * prod(weight.shape[1:])


def _transposed_products(g: Array, weight: Array, *rest: Any) -> int:
    return g.size * prod(weight.shape[1:])


def _weight_products(g: Array, x: Array, weight_shape: tuple[int, ...], *rest: Any) -> int:
    return g.size * prod(weight_shape[1:])


# --- The table ------------------------------------------------------------------------------------------

_declare("softmax", 8_192, "softmax softmax_backward log_softmax log_softmax_backward")
_declare("softmax", 8_192, "logsumexp")
_declare("losses", 8_192, "cross_entropy", rounded=1)
_declare("losses", 8_192, "row_logsums scaled_softmax")
_declare("losses", 8_192, "cross_entropy_backward", of=1)
_declare("norms", 8_192, "normalize_rows", rounded=1)
_declare("norms", 8_192, "normalize_rows_backward")
_declare("norms", 8_192, "scale_rows combine_rows row_sums")
_declare("attention", 8_192, "attention", count=_scores)
_declare("attention", 8_192, "attention_backward", of=5)
_declare("reductions", 65_536, "sum prod amax amin norm moments argmax argmin cumsum")
_declare("indexing", 32_768, "add_rows", of=3)
_declare("indexing", 32_768, "take_elements put_elements", of=2, any_type=True)
_declare("conv", (1 << 20) + 1, "convolve", count=_products)
_declare("conv", (1 << 20) + 1, "convolve_transposed", count=_transposed_products)
_declare("conv", (1 << 20) + 1, "weight_gradient", count=_weight_products)
_declare("pool", (1 << 12) + 1, "max_of_windows max_pool_gradient")
_declare("recurrent", 1_024, "lstm_steps lstm_steps_backward gru_steps gru_steps_backward")
