"""Small puzzles for the CUDA page: write what one thread does, from a map to a tiled product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .inside.threads import Cells, Recorder, Trace, judge
from .kernel_code import run

Values = Sequence[float]


@dataclass(frozen=True)
class Puzzle:
    """One puzzle.

    Attributes:
        name: its title
        task: what the kernel must do
        given: what the names stand for
        skeleton: where to write
        solution: one right answer
        blocks: how many blocks are launched
        threads: how many threads a block has
        arrays: the inputs by name, with how many columns to draw them in
        numbers: sizes that the kernel is given
        expected: what `out` must hold
        columns: how many columns `out` is drawn in
        hint: for who is stuck
    """

    name: str
    task: str
    given: str
    skeleton: str
    solution: str
    blocks: Any
    threads: Any
    arrays: Mapping[str, tuple[Values, int]]
    numbers: Mapping[str, int]
    expected: Values
    columns: int
    hint: str

    def check(self, text: str) -> tuple[Trace, list[str]]:
        """Run an answer: what its threads did, and which cells of `out` are wrong."""
        recorder = Recorder()
        names: dict[str, Any] = {
            name: Cells(recorder, name, len(values), values, columns=columns)
            for name, (values, columns) in self.arrays.items()
        }
        names["out"] = Cells(recorder, "out", len(self.expected), columns=self.columns)
        names |= {**self.numbers, "float64": 0.0}
        trace = run(text, self.blocks, self.threads, names, recorder)
        return trace, judge(trace, self.expected)


def _row(*values: float) -> tuple[Values, int]:
    return [float(v) for v in values], len(values)


_A, _B = np.arange(1.0, 10.0).reshape(3, 3), np.array([[2.0, 0, 1], [1, 1, 0], [0, 3, 1]])
_SQUARES = {"a": (_A.ravel().tolist(), 3), "b": (_B.ravel().tolist(), 3)}
_PRODUCT = (_A @ _B).ravel().tolist()

PUZZLES = (
    Puzzle(
        "Map with a guard",
        "Add 10 to every number: `out[i] = a[i] + 10`. There are 6 numbers but 8 threads, so two "
        "threads must do nothing.",
        "One block of 8 threads. `a` and `out` have `size` = 6 cells.",
        "i = cuda.threadIdx.x\n# write here: what does thread i do?\n",
        "i = cuda.threadIdx.x\nif i < size:\n    out[i] = a[i] + 10\n",
        1,
        8,
        {"a": _row(5, 3, 8, 1, 9, 2)},
        {"size": 6},
        [15.0, 13, 18, 11, 19, 12],
        6,
        "Threads 6 and 7 have no cell. Ask `if i < size:` before you touch memory.",
    ),
    Puzzle(
        "Zip over blocks",
        "Add two rows: `out[i] = a[i] + b[i]`. No block is large enough for all 10 cells, so a "
        "thread must find its number from its block and its place there.",
        "3 blocks of 4 threads. `a`, `b` and `out` have `size` = 10 cells.",
        "# i = ?\n# write here\n",
        "i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x\n"
        "if i < size:\n    out[i] = a[i] + b[i]\n",
        3,
        4,
        {"a": _row(*range(10)), "b": _row(*[10 * i for i in range(10)])},
        {"size": 10},
        [11.0 * i for i in range(10)],
        10,
        "`cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x`; `cuda.grid(1)` is the same.",
    ),
    Puzzle(
        "Transpose",
        "Copy a matrix of 2 rows and 3 columns so that its rows become columns. Both lie in "
        "memory row after row: cell (row, column) of `a` is `a[row * columns + column]`.",
        "One block of (4, 4) threads. `rows` = 2, `columns` = 3.",
        "row = cuda.threadIdx.y\ncolumn = cuda.threadIdx.x\n# write here\n",
        "row = cuda.threadIdx.y\ncolumn = cuda.threadIdx.x\n"
        "if row < rows and column < columns:\n"
        "    out[column * rows + row] = a[row * columns + column]\n",
        1,
        (4, 4),
        {"a": ([1.0, 2, 3, 4, 5, 6], 3)},
        {"rows": 2, "columns": 3},
        [1.0, 4, 2, 5, 3, 6],
        2,
        "A row of `out` has `rows` cells, so the cell is `out[column * rows + row]`.",
    ),
    Puzzle(
        "Neighbours in shared memory",
        "Reverse the row, through shared memory: every thread brings one number to `cells`, and "
        "then writes one that another thread has brought. When may it read?",
        "One block of 8 threads. `a` and `out` have `size` = 8 cells.",
        "cells = cuda.shared.array(8, float64)\ni = cuda.threadIdx.x\ncells[i] = a[i]\n"
        "# write here\n",
        "cells = cuda.shared.array(8, float64)\ni = cuda.threadIdx.x\ncells[i] = a[i]\n"
        "cuda.syncthreads()\nout[i] = cells[size - 1 - i]\n",
        1,
        8,
        {"a": _row(*range(1, 9))},
        {"size": 8},
        [float(i) for i in range(8, 0, -1)],
        8,
        "`cuda.syncthreads()` lets every thread wait until all have come so far.",
    ),
    Puzzle(
        "Sum of a block",
        "Sum every 8 numbers into one: `out[block]`. Half of the threads add what the other half "
        "holds, then a quarter, until one sum is left. Past the end, count 0.",
        "2 blocks of 8 threads. `a` has `size` = 13 cells, `out` has 2.",
        "cells = cuda.shared.array(8, float64)\nthread = cuda.threadIdx.x\ni = cuda.grid(1)\n"
        "cells[thread] = a[i] if i < size else 0.0\ncuda.syncthreads()\nhalf = 4\n"
        "for step in range(3):\n    # write here\n    half = half // 2\n"
        "# and here: who writes out[cuda.blockIdx.x]?\n",
        "cells = cuda.shared.array(8, float64)\nthread = cuda.threadIdx.x\ni = cuda.grid(1)\n"
        "cells[thread] = a[i] if i < size else 0.0\ncuda.syncthreads()\nhalf = 4\n"
        "for step in range(3):\n    if thread < half:\n"
        "        cells[thread] += cells[thread + half]\n    cuda.syncthreads()\n"
        "    half = half // 2\nif thread == 0:\n    out[cuda.blockIdx.x] = cells[0]\n",
        2,
        8,
        {"a": _row(*range(1, 14))},
        {"size": 13},
        [36.0, 55.0],
        2,
        "`if thread < half: cells[thread] += cells[thread + half]`, and a barrier that all "
        "threads reach, in every step.",
    ),
    Puzzle(
        "Product in shared memory",
        "Multiply two matrices of 3 x 3. Each thread brings one cell of `a` and one of `b` to "
        "shared memory; then each computes one cell of the product from there.",
        "One block of (4, 4) threads. `size` = 3; cell (i, j) is `a[i * size + j]`.",
        "a_cells = cuda.shared.array((4, 4), float64)\n"
        "b_cells = cuda.shared.array((4, 4), float64)\n"
        "i = cuda.threadIdx.y\nj = cuda.threadIdx.x\n# write here\n",
        "a_cells = cuda.shared.array((4, 4), float64)\n"
        "b_cells = cuda.shared.array((4, 4), float64)\n"
        "i = cuda.threadIdx.y\nj = cuda.threadIdx.x\n"
        "if i < size and j < size:\n    a_cells[i, j] = a[i * size + j]\n"
        "    b_cells[i, j] = b[i * size + j]\ncuda.syncthreads()\n"
        "if i < size and j < size:\n    total = 0.0\n    for k in range(size):\n"
        "        total += a_cells[i, k] * b_cells[k, j]\n    out[i * size + j] = total\n",
        1,
        (4, 4),
        _SQUARES,
        {"size": 3},
        _PRODUCT,
        3,
        "The barrier stands outside of every `if`: threads without a cell come there, too.",
    ),
    Puzzle(
        "Tiled product",
        "The same product in blocks of 2 x 2 threads, each with tiles of 2 x 2 in shared memory. "
        "Walk along the inner dimension, tile after tile; outside the matrices a tile holds 0.",
        "(2, 2) blocks of (2, 2) threads. `size` = 3, `side` = 2.",
        "a_tile = cuda.shared.array((2, 2), float64)\n"
        "b_tile = cuda.shared.array((2, 2), float64)\n"
        "i = cuda.threadIdx.y\nj = cuda.threadIdx.x\n"
        "row = cuda.blockIdx.y * side + i\ncolumn = cuda.blockIdx.x * side + j\n"
        "total = 0.0\nfor start in range(0, size, side):\n    # write here\n    pass\n"
        "if row < size and column < size:\n    out[row * size + column] = total\n",
        "a_tile = cuda.shared.array((2, 2), float64)\n"
        "b_tile = cuda.shared.array((2, 2), float64)\n"
        "i = cuda.threadIdx.y\nj = cuda.threadIdx.x\n"
        "row = cuda.blockIdx.y * side + i\ncolumn = cuda.blockIdx.x * side + j\n"
        "total = 0.0\nfor start in range(0, size, side):\n"
        "    inside = row < size and start + j < size\n"
        "    a_tile[i, j] = a[row * size + start + j] if inside else 0.0\n"
        "    inside = column < size and start + i < size\n"
        "    b_tile[i, j] = b[(start + i) * size + column] if inside else 0.0\n"
        "    cuda.syncthreads()\n    for k in range(side):\n"
        "        total += a_tile[i, k] * b_tile[k, j]\n    cuda.syncthreads()\n"
        "if row < size and column < size:\n    out[row * size + column] = total\n",
        (2, 2),
        (2, 2),
        _SQUARES,
        {"size": 3, "side": 2},
        _PRODUCT,
        3,
        "Two barriers in every step: one when the tiles are complete, one before they are "
        "overwritten.",
    ),
)
"""From the first to the hardest."""
