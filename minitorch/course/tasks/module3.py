"""The tasks of module 3: the same in parallel."""

from __future__ import annotations

from .record import Task, places

TASKS: tuple[Task, ...] = (
    Task(
        "3.1",
        "Parallelization",
        places(
            "fast_ops.py",
            (
                "tensor_map._map",
                "The loop of module 2, compiled: the outer loop is prange, and each iteration "
                "writes to memory of its own.",
                "Same shape and strides: for i in prange(len(out)): out[i] = f(in_storage[i]). Else "
                "the body of module 2 in a prange, with its buffers made inside the loop: "
                "np.empty(len(out_shape), np.int32). Made outside, all threads would share them.",
            ),
            (
                "tensor_zip._zip",
                "As map, with two inputs.",
                "Only where all three have the same shape and strides is no index needed: "
                "out[i] = f(a_storage[i], b_storage[i]). Else three buffers, inside the prange.",
            ),
            (
                "tensor_reduce._reduce",
                "Parallel over outputs; the inner loop folds into a local number and writes once.",
                "The output's index gives its position o with out_strides, and that of its first "
                "element in a with a_strides. total = out[o]; fold and step by a_strides[reduce_dim], "
                "a_shape[reduce_dim] times; then out[o] = total.",
            ),
        ),
        ("test_tensor_general.py", "test_optim.py"),
        "The same loops on all cores. What two iterations both write to is a race.",
        points=15,
    ),
    Task(
        "3.2",
        "Matrix multiplication",
        places(
            "fast_ops.py",
            (
                "_matmul_naive",
                "out[b, i, j] is the sum over k of a[b, i, k] * b[b, k, j]. No index buffers, no "
                "call in the inner loop, one write at its end.",
                "Let a_batch be a_strides[0] if a_shape[0] > 1 else 0 (the same for b). prange "
                "over batch and rows; total = 0.0; the inner loop adds a product and moves both "
                "positions by their strides.",
            ),
        ),
        ("test_matmul.py",),
        "A product of matrices without the large intermediate of module 2.",
    ),
    Task(
        "3.3",
        "CUDA operations",
        places(
            "cuda_ops.py",
            (
                "tensor_map._map",
                "One thread per output: i = cuda.grid(1). A thread beyond out_size does nothing.",
                "The body of module 2 under if i < out_size, with scalar for fn; its two buffers are "
                "cuda.local.array(MAX_DIMS, int32).",
            ),
            (
                "tensor_zip._zip",
                "As map, with two inputs.",
                "As map, with a third buffer; out[...] = scalar(a_storage[...], b_storage[...]).",
            ),
            (
                "flat_map._flat_map",
                "All is contiguous: output i comes from input i * a_step.",
                "i = cuda.grid(1)\nif i < out_size:\n    out[i] = scalar(a_storage[i * a_step])",
            ),
            (
                "flat_zip._flat_zip",
                "As flat_map with two steps.",
                "i = cuda.grid(1)\nif i < out_size:\n"
                "    out[i] = scalar(a_storage[i * a_step], b_storage[i * b_step])",
            ),
            (
                "_sum_practice",
                "A block of 32 threads: each brings one number to shared memory (0.0 past the "
                "end); wait; then half adds the other half.",
                "cells = cuda.shared.array(32, float64). After every step cuda.syncthreads(), by "
                "all threads. half = 16, 8, 4, 2, 1. Thread 0 writes out[blockIdx.x].",
            ),
            (
                "tensor_reduce._reduce",
                "One block per output, whose index is to_index of cuda.blockIdx.x. A thread brings one "
                "element, or reduce_value where there is none, to shared memory; then they are "
                "folded as in _sum_practice, with scalar for the sum.",
                "Keep the output's position, then k = index[reduce_dim] * block + threadIdx.x. "
                "cells[thread] = reduce_value; if k < a_shape[reduce_dim], set index[reduce_dim] = k "
                "and take a_storage at index by a_strides. syncthreads, fold half onto half with one "
                "after each step, and thread 0 writes.",
            ),
        ),
        ("test_cuda_ops.py",),
        "A kernel is what one thread does. Without a GPU, Numba's simulator runs it.",
        points=15,
    ),
    Task(
        "3.4",
        "CUDA matrix multiplication",
        (
            *places(
                "cuda_ops.py",
                (
                    "_mm_practice",
                    "Every thread moves one cell of a and one of b to shared memory, waits, and "
                    "computes one cell of the product from there.",
                    "Guard i < size and j < size around reads and writes; syncthreads outside.",
                ),
            ),
            *places(
                "cuda_matmul.py",
                (
                    "naive.kernel",
                    "One thread, one cell: a dot product straight from global memory.",
                    "_block_origin and _matrix_start tell where; walk k with the strides of the "
                    "last dimension of a and the second to last of b.",
                ),
                (
                    "tiled.kernel",
                    "As in mm_practice, but tile after tile along the inner dimension. Threads "
                    "outside the matrix still help to load.",
                    "For start in range(0, inner, side): load (0.0 outside), syncthreads, add side "
                    "products, syncthreads. One write at the end, guarded.",
                ),
            ),
        ),
        ("test_cuda_ops.py",),
        "Each number is read from global memory once per tile, and used side times.",
        points=15,
    ),
    Task(
        "3.5",
        "Training",
        places(
            "training/tensor_points.py",
            (
                "FastTrain.__init__",
                "A backend is made of operations: TensorBackend(FastOps). All else is TensorTrain's.",
                "from ..fast_ops import FastOps\n\n"
                "if backend is None:\n"
                "    backend = TensorBackend(FastOps)\n"
                "super().__init__(hidden_layers, backend, batch)",
            ),
        ),
        ("test_networks.py",),
        "The same network once more, on your compiled kernels.",
        points=5,
        slow=10,
    ),
)
