"""Where a workspace's library differs from ours, which does more than the tasks ask."""

from __future__ import annotations

DROPPED: dict[str, tuple[str, ...]] = {
    "module.py": ("Module._set_training",),
    "nn.py": ("_windows", "_below_maximum"),
    "fast_ops.py": (
        "_matmul_by_rows",
        "_matmul_tiled",
        "_matmul_in_registers",
    ),
    "fast_conv.py": ("_as_image", "_as_sequence"),
    "cuda_ops.py": ("_positions", "_reduce_plan"),
}
"""What only the library's own answers need: a workspace does not have it."""

_INDEX_FUNCTIONS = ("to_index", "broadcast_index", "index_to_position")

REWRITTEN: dict[str, tuple[tuple[str, str], ...]] = {
    "fast_ops.py": (
        (
            "from .fast_tiles import (\n"
            "    BLOCK_COLUMNS,\n"
            "    BLOCK_INNER,\n"
            "    BLOCK_ROWS,\n"
            "    TILE_COLUMNS,\n"
            "    TILE_INNER,\n"
            "    TILE_ROWS,\n"
            "    add_dot_products,\n"
            "    along_memory,\n"
            "    multiply_tile,\n"
            "    pack,\n"
            ")\n",
            "",
        ),
        (
            "from .tensor_data import TensorData, shape_broadcast\n",
            "from .tensor_data import (\n"
            "    TensorData,\n    broadcast_index,\n    index_to_position,\n    shape_broadcast,\n"
            "    to_index,\n)\n",
        ),
        (
            "# --- Task 3.1: the loops -----------------------------------------------------------\n",
            "# --- Task 3.1: the loops -----------------------------------------------------------\n"
            "# Compiled, your functions of module 2 work in loops of compiled code, too. Walking by rows,\n"
            "# with the functions of fast_rows.py, is faster: try it when your loops are right.\n\n"
            + "".join(f"{name} = compile_part({name})\n" for name in _INDEX_FUNCTIONS),
        ),
        (
            "    * The loop over rows, or over one long row, runs in parallel.\n"
            "    * Where `out` and `in` are laid out alike nothing is indexed but memory itself.\n"
            "    * Other layouts compute one index per row, and no index buffers.\n",
            "    * The main loop, over the outputs, runs in parallel.\n"
            "    * Where `out` and `in` have the same shape and strides, no index is computed.\n"
            "    * Else indices are NumPy buffers, made inside the loop.\n",
        ),
        (
            "    Optimised as `tensor_map` is; a row of one operand that is broadcast along it is\n"
            "    read once.\n",
            "    Optimised as `tensor_map` is.\n",
        ),
        (
            "    * Outputs, and chunks of long reductions, are reduced in parallel.\n"
            "    * The innermost loop calls nothing but fn and writes only to what is its own.\n"
            "    * Where the dimensions after `reduce_dim` lie in one run of memory, whole runs are\n"
            "      reduced at once, in the order of memory.\n",
            "    * The main loop, over the outputs, runs in parallel.\n"
            "    * The inner loop calls nothing but fn and writes to nothing but a local variable.\n"
            "    * `out` holds the starting value.\n",
        ),
        (
            '    "by rows": _compile_rung(_matmul_by_rows),\n'
            '    "tiled": _compile_rung(_matmul_tiled),\n'
            '    "in registers": _compile_rung(_matmul_in_registers),\n',
            "",
        ),
        ('MATMUL_LADDER["in registers"]', 'MATMUL_LADDER["naive"]'),
        (
            "_compile_rung(_matmul_in_registers, parallel=False)",
            "_compile_rung(_matmul_naive, parallel=False)",
        ),
    ),
    "fast_conv.py": (
        (
            "tensor_conv1d = _tensor_conv1d\n",
            "_tensor_conv1d = tensor_conv1d = compile_kernel(_tensor_conv1d, parallel=True)\n",
        ),
        (
            "        images, weights = _as_image(input), _as_image(weight)\n"
            "        return _as_sequence(Conv2dFun.forward(ctx, images, weights))\n",
            "        ctx.save_for_backward(input, weight)\n"
            "        out = input.zeros((input.shape[0], weight.shape[0], input.shape[2]))\n"
            "        tensor_conv1d(*out.tuple(), out.size, *input.tuple(), *weight.tuple(), False)\n"
            "        return out\n",
        ),
        (
            "        grad_input, grad_weight = Conv2dFun.backward(ctx, _as_image(grad_output))\n"
            "        return (\n"
            "            None if grad_input is None else _as_sequence(grad_input),\n"
            "            None if grad_weight is None else _as_sequence(grad_weight),\n"
            "        )\n",
            "        input, weight = ctx.saved_values\n"
            "        grad_input, grad_weight = input.zeros(), weight.zeros()\n"
            "        swapped = [t._new(t._tensor.permute(1, 0, 2)) for t in (weight, input, grad_output)]\n"
            "        tensor_conv1d(\n"
            "            *grad_input.tuple(), grad_input.size, *grad_output.tuple(), *swapped[0].tuple(), True\n"
            "        )\n"
            "        sums = grad_weight._tensor.permute(1, 0, 2)  # batch and channels change places\n"
            "        tensor_conv1d(\n"
            "            *sums.tuple(), grad_weight.size, *swapped[1].tuple(), *swapped[2].tuple(), False\n"
            "        )\n"
            "        return grad_input, grad_weight if ctx.needs(1) else None\n",
        ),
    ),
    "cuda_ops.py": (
        ("from numba import float64\n", "from numba import float64, int32\n"),
        (
            "from .tensor_data import IndexingError, TensorData, shape_broadcast\n",
            "from .tensor_data import (\n"
            "    MAX_DIMS,\n    IndexingError,\n    TensorData,\n    broadcast_index,\n"
            "    index_to_position,\n    shape_broadcast,\n    to_index,\n)\n",
        ),
        (
            "MAX_BLOCKS = 2 if cuda_device.SIMULATED else 4096\n"
            '"""Blocks in a launch of map and zip; beyond that each thread does several elements."""\n\n',
            "",
        ),
        (
            "    return min(ceil_div(size, THREADS), MAX_BLOCKS)\n",
            "    return ceil_div(size, THREADS)\n",
        ),
        (
            '"""Blocks that keep the GPU busy: a reduction into fewer outputs is split up to this many."""\n',
            '"""Blocks that keep the GPU busy."""\n',
        ),
        (
            "PER_LANE = 16\n"
            '"""Elements that are worth a thread of their own when a long reduction is split."""\n\n',
            "",
        ),
        (
            "                lanes, parts = _reduce_plan(a._tensor, dim)\n",
            "                parts = max(ceil_div(a.shape[dim], THREADS), 1)\n",
        ),
        (
            "                    outputs = THREADS // lanes  # to a block\n"
            "                    tensor_reduce(fn)[ceil_div(out.size, outputs), (lanes, outputs)](\n",
            "                    tensor_reduce(fn)[out.size, THREADS](\n",
        ),
        (
            "# --- Task 3.3: map and zip -------------------------------------------------------\n",
            "# --- Task 3.3: map and zip -------------------------------------------------------\n"
            "# Compiled for the GPU, your functions of module 2 work in kernels, too. Their buffers are a\n"
            "# thread's own: cuda.local.array(MAX_DIMS, int32).\n\n"
            + "".join(
                f"{name} = cuda_device.device_function({name})\n" for name in _INDEX_FUNCTIONS
            ),
        ),
        (
            "    Its threads walk over the outputs in steps of the whole grid, so any number of\n"
            "    blocks and threads is right.\n",
            "    One thread per output: launch it with at least `out_size` of them.\n",
        ),
        (
            "    Launch it with (lanes, outputs) threads to a block, lanes a power of two and at\n"
            "    most `block` threads in all: `lanes` threads share an output. Each reduces every\n"
            "    lanes-th element into a total that starts from `reduce_value`, then the totals are\n"
            "    reduced in shared memory, half onto half.\n\n"
            "    Where `out_shape` has `parts` in the reduced dimension instead of 1, that dimension\n"
            "    is cut into as many pieces and each is reduced by itself.\n",
            "    One block per output: launch it with `out_size` blocks of `block` threads, a power\n"
            "    of two. A dimension longer than `block` is cut into pieces of `block` elements, and\n"
            "    `out` has one element for each: block b reduces piece i of `reduce_dim`, where i is\n"
            "    what b's index into `out_shape` says there. Thread t brings element t of the piece\n"
            "    to shared memory, or `reduce_value` where there is none; then they are reduced in\n"
            "    pairs. What is left is reduced again, until one is left.\n",
        ),
    ),
}
"""(text of the library, text of a workspace): where the library's way needs what was dropped, or
does more than the task asks."""

SOLUTIONS: dict[tuple[str, str], str] = {
    ("module.py", "Module.train"): """\
        self.training = True
        for child in self.modules():
            child.train()
""",
    ("module.py", "Module.eval"): """\
        self.training = False
        for child in self.modules():
            child.eval()
""",
    ("fast_conv.py", "_tensor_conv1d"): """\
    batch, out_channels, out_width = out_shape
    _, channels, width = input_shape
    for task in prange(batch * out_channels):
        b, o = divmod(np.int64(task), out_channels)
        for i in range(out_width):
            total = 0.0
            for c in range(channels):
                for k in range(weight_shape[2]):
                    at = i - k if reverse else i + k
                    if 0 <= at < width:
                        w = o * weight_strides[0] + c * weight_strides[1] + k * weight_strides[2]
                        x = b * input_strides[0] + c * input_strides[1] + at * input_strides[2]
                        total += weight[w] * input[x]
            out[b * out_strides[0] + o * out_strides[1] + i * out_strides[2]] = total
""",
    ("cuda_ops.py", "tensor_map._map"): """\
        out_index = cuda.local.array(MAX_DIMS, int32)
        in_index = cuda.local.array(MAX_DIMS, int32)
        i = cuda.grid(1)
        if i < out_size:
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, in_shape, in_index)
            from_in = index_to_position(in_index, in_strides)
            out[index_to_position(out_index, out_strides)] = scalar(in_storage[from_in])
""",
    ("cuda_ops.py", "tensor_zip._zip"): """\
        out_index = cuda.local.array(MAX_DIMS, int32)
        in_index = cuda.local.array(MAX_DIMS, int32)
        i = cuda.grid(1)
        if i < out_size:
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, a_shape, in_index)
            from_a = index_to_position(in_index, a_strides)
            broadcast_index(out_index, out_shape, b_shape, in_index)
            from_b = index_to_position(in_index, b_strides)
            position = index_to_position(out_index, out_strides)
            out[position] = scalar(a_storage[from_a], b_storage[from_b])
""",
    ("cuda_ops.py", "flat_map._flat_map"): """\
        i = cuda.grid(1)
        if i < out_size:
            out[i] = scalar(a_storage[i * a_step])
""",
    ("cuda_ops.py", "flat_zip._flat_zip"): """\
        i = cuda.grid(1)
        if i < out_size:
            out[i] = scalar(a_storage[i * a_step], b_storage[i * b_step])
""",
    ("cuda_ops.py", "tensor_reduce._reduce"): """\
        cells = cuda.shared.array(block, float64)
        index = cuda.local.array(MAX_DIMS, int32)
        thread = cuda.threadIdx.x
        to_index(cuda.blockIdx.x, out_shape, index)
        position = index_to_position(index, out_strides)
        index[reduce_dim] = index[reduce_dim] * block + thread
        cells[thread] = reduce_value
        if index[reduce_dim] < a_shape[reduce_dim]:
            cells[thread] = a_storage[index_to_position(index, a_strides)]
        cuda.syncthreads()
        half = block // 2
        while half > 0:
            if thread < half:
                cells[thread] = scalar(cells[thread], cells[thread + half])
            cuda.syncthreads()
            half //= 2
        if thread == 0:
            out[position] = cells[0]
""",
    ("nn.py", "tile"): """\
    if input.dims != 4:
        raise IndexingError(f"tile: needs batch x channel x height x width, got {input.shape}")
    if len(kernel) != 2:
        raise IndexingError(f"tile: kernel must be a height and a width, it is {kernel}")
    batch, channel, height, width = input.shape
    kh, kw = kernel
    if kh < 1 or kw < 1 or height % kh or width % kw:
        raise IndexingError(f"tile: kernel {kernel} does not divide an image of {height} x {width}")
    windows = input.contiguous().view(batch, channel, height // kh, kh, width // kw, kw)
    tiles = windows.permute(0, 1, 2, 4, 3, 5).contiguous()
    return tiles.view(batch, channel, height // kh, width // kw, kh * kw), height // kh, width // kw
""",
    ("nn.py", "avgpool2d"): """\
    tiles, height, width = tile(input, kernel)
    return tiles.mean(4).view(*input.shape[:2], height, width)
""",
    ("nn.py", "softmax"): """\
    exponentials = (input - max(input.detach(), dim)).exp()
    return exponentials / exponentials.sum(dim)
""",
    ("nn.py", "logsoftmax"): """\
    shifted = input - max(input.detach(), dim)
    total = shifted.exp().sum(dim)  # at least 1, as the maximum contributes exp(0)
    return shifted - (total - EPS).log()  # log adds EPS back
""",
}
"""Bodies that a workspace's solution has where the library's own needs what was dropped."""
