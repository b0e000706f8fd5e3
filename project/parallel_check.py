"""Print what Numba made parallel in each kernel of the fast backend.

python project/parallel_check.py            # map, zip, reduce, matrix product, conv2d
python project/parallel_check.py --level 4  # Numba's most detailed report
python project/parallel_check.py map matmul # only these
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

from numba import NumbaPerformanceWarning
from which_library import say_which

import minitorch
from minitorch import fast_conv, fast_ops, operators

Launch = tuple[Any, list[Any]]
"""A kernel and the arguments of one call of it."""


def _tensors(*shapes: tuple[int, ...]) -> list[minitorch.Tensor]:
    return [minitorch.rand(shape) for shape in shapes]


def _map() -> Launch:
    out, a = _tensors((4, 5), (4, 5))
    return fast_ops.tensor_map(operators.id), [*out.tuple(), *a.tuple()]


def _zip() -> Launch:
    out, a, b = _tensors((4, 5), (4, 5), (4, 5))
    return fast_ops.tensor_zip(operators.eq), [*out.tuple(), *a.tuple(), *b.tuple()]


def _reduce() -> Launch:
    out, a = _tensors((1, 5), (4, 5))
    return fast_ops.tensor_reduce(operators.add), [*out.tuple(), *a.tuple(), 0]


def _matmul() -> Launch:
    out, a, b = _tensors((2, 4, 6), (2, 4, 5), (2, 5, 6))
    return fast_ops.tensor_matrix_multiply, [*out.tuple(), *a.tuple(), *b.tuple()]


def _conv2d() -> Launch:
    out, a, b = _tensors((2, 3, 4, 4), (2, 1, 4, 4), (3, 1, 2, 2))
    return fast_conv.tensor_conv2d, [*out.tuple(), out.size, *a.tuple(), *b.tuple(), False]


KERNELS: dict[str, Callable[[], Launch]] = {
    "map": _map,
    "zip": _zip,
    "reduce": _reduce,
    "matmul": _matmul,
    "conv2d": _conv2d,
}


def main() -> None:
    """Parse the arguments and print one report per kernel."""
    parser = argparse.ArgumentParser(description="Print Numba's parallel diagnostics.")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=f"any of {', '.join(KERNELS)}")
    parser.add_argument("--level", type=int, default=3, choices=[1, 2, 3, 4], help="detail (3)")
    args = parser.parse_args()
    if unknown := set(args.kernels) - set(KERNELS):
        parser.error(f"unknown kernel {sorted(unknown)}; choose from {list(KERNELS)}")
    say_which()
    warnings.simplefilter("ignore", NumbaPerformanceWarning)  # the report says more
    for name in args.kernels or KERNELS:
        print(f"\n{name.upper()}\n", flush=True)
        kernel, arguments = KERNELS[name]()
        try:
            kernel(*arguments)
        except NotImplementedError as error:
            print(error)  # which task it is
            continue
        kernel.parallel_diagnostics(level=args.level)


if __name__ == "__main__":
    main()
