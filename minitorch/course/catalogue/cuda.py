"""Mistakes of the CUDA tasks, which take a GPU or its simulator to show."""

from __future__ import annotations

from .record import Mistake, in_file

MISTAKES: list[Mistake] = [
    *in_file(
        "task3_3",
        "cuda_ops.py",
        (
            "map writes by ordinal",
            "Right for contiguous outputs only. The place in out comes from its index and out_strides.",
            "out[position] = scalar(in_storage[from_in])",
            "out[i] = scalar(in_storage[from_in])",
        ),
        (
            "zip reads b at a's place",
            "b has a place of its own, from its own index and b_strides.",
            "scalar(a_storage[from_a], b_storage[from_b])",
            "scalar(a_storage[from_a], b_storage[from_a % len(b_storage)])",
        ),
        (
            "no guard past the end",
            "CUDA: a thread past the end read a[i]; a real GPU returns arbitrary numbers there. Guard it: i < size.",
            "cells[thread] = a[i] if i < size else 0.0",
            "cells[thread] = a[i]",
        ),
        (
            "the second half is left out",
            "Half of the cells never enter the sum: the first step adds cells 16 to 31.",
            "    half = PRACTICE_BLOCK // 2",
            "    half = PRACTICE_BLOCK // 4",
        ),
        (
            "reduce ignores the starting value",
            "Each thread's total starts from reduce_value, not from 0.",
            "        total = reduce_value",
            "        total = 0.0",
        ),
    ),
    *in_file(
        "task3_4",
        "cuda_ops.py",
        (
            "the second matrix is read transposed",
            "Row i of a meets column j of b: b_cells[k, j].",
            "total += a_cells[i, k] * b_cells[k, j]",
            "total += a_cells[i, k] * b_cells[j, k]",
        ),
    ),
    *in_file(
        "task3_4",
        "cuda_matmul.py",
        (
            "the tile of b is read transposed",
            "Row i of a's tile meets column j of b's: b_tile[k, j].",
            "total += a_tile[i, k] * b_tile[k, j]",
            "total += a_tile[i, k] * b_tile[j, k]",
        ),
    ),
    *in_file(
        "task4_4b",
        "cuda_conv.py",
        (
            "one cell past the end is read",
            "CUDA: a thread read input at the width itself; the last cell is width - 1. A real GPU returns arbitrary numbers there.",
            "                if at >= 0 and at < input_shape[2]:",
            "                if at >= 0 and at <= input_shape[2]:",
        ),
        (
            "reverse is ignored",
            "With reverse the window ends at the place: i - k, not i + k. Backward needs it.",
            "                at = i - k if reverse else i + k\n",
            "                at = i + k\n",
        ),
        (
            "every thread walks the whole window",
            "Too large as many times as threads share an output: each takes every lanes-th k, starting from its own lane.",
            "for k in range(lane, weight_shape[2], lanes):",
            "for k in range(weight_shape[2]):",
        ),
        (
            "the threads' parts are not added up",
            "Only the first thread's part arrives. Add the lanes up in shared memory (_sum_lanes) before the write.",
            "    _sum_lanes(totals, cell, lane, lanes)\n"
            "    if lane == 0 and ordinal < out_size:\n        out[b",
            "    if lane == 0 and ordinal < out_size:\n        out[b",
        ),
        (
            "only the first channel",
            "The sum runs over all input channels; yours stops after the first.",
            "        for c in range(weight_shape[1]):\n            w =",
            "        for c in range(1):\n            w =",
        ),
        (
            "no guard around the write",
            "CUDA: a thread past the end wrote to out. Guard it: ordinal < out_size.",
            "    if lane == 0 and ordinal < out_size:\n        place",
            "    if lane == 0:\n        place",
        ),
        (
            "writes by ordinal",
            "Right for contiguous outputs only. The place in out comes from the index and out_strides.",
            "        out[place] = totals[cell]",
            "        out[ordinal] = totals[cell]",
        ),
        (
            "height and width of the window exchanged",
            "The weight's last dimension is the width of the window; the one before it is the height.",
            "weight[w + l * weight_strides[3]] * input[x + at * input_strides[3]]",
            "weight[w - k * weight_strides[2] + l * weight_strides[2] + k * weight_strides[3]]"
            " * input[x + at * input_strides[3]]",
        ),
    ),
]
