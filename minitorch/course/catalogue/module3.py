"""Mistakes of module 3."""

from __future__ import annotations

from .record import Mistake, in_file

MISTAKES: list[Mistake] = [
    *in_file(
        "task3_1",
        "fast_ops.py",
        (
            "map takes the short way whenever sizes agree",
            "Same size is not the same layout: compare strides before copying straight through.",
            "if len(plan) == 1 and out_step == 1 and in_step == 1:",
            "if len(out) == len(in_storage):",
        ),
        (
            "zip walks b with a's step",
            "b has steps of its own.",
            "f(x, b_storage[j + c * b_step])",
            "f(x, b_storage[j + c * a_step])",
        ),
        (
            "reduce ignores the starting value",
            "out holds the starting value: fold into it, do not overwrite it.",
            "out[o + c] = f(out[o + c], partial[row, chunk, c])",
            "out[o + c] = partial[row, chunk, c]",
        ),
        (
            "reduce leaves out the second of each chunk",
            "One element of each run is missing. Where does the inner loop start?",
            "for k in range(first + 1, last):",
            "for k in range(first + 2, last):",
        ),
    ),
    *in_file(
        "task3_1",
        "fast_rows.py",
        (
            "a broadcast operand moves on",
            "Along a dimension of size 1 that is broadcast, the operand stays where it is: step 0.",
            "a_step = a_strides[a_d] if a_d >= 0 and a_shape[a_d] != 1 else 0",
            "a_step = a_strides[a_d] if a_d >= 0 else 0",
        ),
        (
            "operands aligned at the left",
            "Shapes align at their right ends, in kernels too.",
            "b_d = d - (len(out_shape) - len(b_shape))",
            "b_d = d if d < len(b_shape) else -1",
        ),
    ),
    *in_file(
        "task3_2",
        "fast_ops.py",
        (
            "a stack of one is walked through",
            "A single matrix serves the whole batch, with its own strides: batch stride 0.",
            "return TensorData(data._storage, (1, *matrix), (0, *data.strides[-2:]))",
            "return TensorData(data._storage, (1, *matrix))",
        ),
        (
            "always the first matrix of b",
            "Every product used the first matrix of b. Its batch stride is 0 only if it has one matrix.",
            "b_matrix = b_packed[batch if b_shape[0] > 1 else 0]",
            "b_matrix = b_packed[0]",
        ),
        (
            "the last rows of a tile are left out",
            "The last rows are 0: sizes need not be multiples of the block.",
            "count = min(TILE_ROWS, rows - first)",
            "count = min(TILE_ROWS, rows - first) // 4 * 4",
        ),
        (
            "always the first matrix of a",
            "Every product used the first matrix of a. Its batch stride is 0 only if it has one matrix.",
            "a_start = batch * a_batch + top * a_strides[1]",
            "a_start = top * a_strides[1]",
        ),
        (
            "the last columns of a block are left out",
            "The last columns are 0: sizes need not be multiples of the block.",
            "width = min(BLOCK_COLUMNS, columns - left)",
            "width = min(BLOCK_COLUMNS, columns - left) // 3 * 3",
        ),
        (
            "dot products start at 1",
            "Each result is too large by 1: the total starts from 0.",
            "total = np.zeros((height + 3, width + 2))",
            "total = np.ones((height + 3, width + 2))",
        ),
    ),
    *in_file(
        "task3_2",
        "fast_tiles.py",
        (
            "rows that do not run along memory are taken as if they did",
            "Right for contiguous matrices only: use the strides of both dimensions.",
            "if strides[1] == 1:",
            "if strides[1] >= 1:",
        ),
    ),
    *in_file(
        "task3_2",
        "tensor_functions.py",
        (
            "MatMul.backward without a transpose",
            "The gradient of a is grad_output times b transposed.",
            "f.matrix_multiply(grad_output, _transposed(t2))",
            "f.matrix_multiply(grad_output, t2)",
        ),
        (
            "MatMul.backward forgets the gradient",
            "The gradient of b is a transposed times grad_output, not times ones.",
            "f.matrix_multiply(_transposed(t1), grad_output)",
            "f.matrix_multiply(_transposed(t1), f.add_zip(grad_output.zeros(), grad_output._ensure_tensor(1.0)))",
        ),
    ),
]
