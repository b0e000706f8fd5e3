"""Mistakes in answers as students write them: in the plain answer to one function."""

from __future__ import annotations

from .record import Mistake, in_answer

_OWN_STRIDES = "Each tensor has strides of its own: a place in b's storage comes from b_strides."
_BOUNDS = (
    "Past the edge the input is 0: read only where 0 <= place < size, and add nothing elsewhere."
)
_REVERSE = (
    "reverse is the wrong way round: the window begins at the place (i + k), and with reverse it ends "
    "there (i - k)."
)
_ALL_CHANNELS = "The sum runs over all input channels; yours stops after the first."
_TIMES_D = "Right when what comes in is 1, wrong otherwise. Is it multiplied in?"

MODULE0: list[Mistake] = [
    *in_answer("task0_1", "operators.py", "mul",
        ("mul adds", "That is the sum. mul multiplies: x * y.", "x * y", "x + y"),
    ),
    *in_answer("task0_1", "operators.py", "neg",
        ("neg is inv", "neg changes the sign; one divided by x is inv.", "-x", "1 / x"),
    ),
    *in_answer("task0_1", "operators.py", "eq",
        ("eq gives a bool", "Comparisons return 1.0 or 0.0, not True or False: tensors hold floats.",
         "if x == y:\n    return 1.0\nreturn 0.0", "return x == y"),
    ),
    *in_answer("task0_1", "operators.py", "is_close",
        ("is_close gives a bool", "Comparisons return 1.0 or 0.0, not True or False.",
         "return 1.0 if abs(x - y) < 1e-2 else 0.0", "return abs(x - y) < 1e-2"),
    ),
    *in_answer("task0_1", "operators.py", "max",
        ("max of the distances from 0", "Compare the numbers themselves: -3 is smaller than 2.",
         "if x > y:", "if abs(x) > abs(y):"),
    ),
    *in_answer("task0_1", "operators.py", "relu",
        ("relu is a step", "Positive numbers pass as they are; they do not become 1.",
         "return x if", "return 1.0 if"),
    ),
    *in_answer("task0_1", "operators.py", "sigmoid",
        ("sigmoid overflows far to the right",
         "math.exp overflows above 709. From 0 on use 1 / (1 + e^-x).",
         "    return 1.0 / (1.0 + math.exp(-x))", "    return math.exp(x) / (1.0 + math.exp(x))"),
    ),
    *in_answer("task0_1", "operators.py", "inv_back",
        ("inv_back forgets d", _TIMES_D, "-d / x**2", "-1 / x**2"),
    ),
    *in_answer("task0_1", "operators.py", "log_back",
        ("log_back multiplies by x", "The derivative of log x is 1 / x: divide by x + EPS.",
         "d * (1 / (x + EPS))", "d * (x + EPS)"),
    ),
    *in_answer("task0_3", "operators.py", "negList",
        ("negList inverts", "Pass neg to map, not inv.", "map(neg)", "map(inv)"),
    ),
    *in_answer("task0_3", "operators.py", "zipWith",
        ("zipWith drops the last", "The last pair is missing. Look at where the loop ends.",
         "    return result", "    return result[:-1]"),
    ),
    *in_answer("task0_3", "operators.py", "prod",
        ("prod adds", "Pass mul to reduce, not add.", "reduce(mul, 1)", "reduce(add, 1)"),
    ),
    *in_answer("task0_4", "module.py", "Module.named_parameters",
        ("names without a prefix, in a dictionary",
         "A child's parameters are named child.name. Without it names of two children are equal, and a "
         "dictionary keeps only one of them.",
         "parameters = []\n"
         "for name, p in self._parameters.items():\n"
         "    parameters.append((name, p))\n"
         "for module_name, m in self._modules.items():\n"
         "    for name, p in m.named_parameters():\n"
         '        parameters.append((module_name + "." + name, p))\n'
         "return parameters",
         "found = dict(self._parameters)\n"
         "for m in self._modules.values():\n"
         "    found.update(m.named_parameters())\n"
         "return list(found.items())"),
        ("names without the dot", "A child's parameters are named child.name: the dot is missing.",
         'module_name + "." + name', "module_name + name"),
    ),
    *in_answer("task0_4", "module.py", "Module.parameters",
        ("parameters come with their names", "The parameters alone: take the second of each pair.",
         "[p for name, p in self.named_parameters()]", "self.named_parameters()"),
    ),
    *in_answer("task0_4", "module.py", "Module.eval",
        ("eval says training", "eval sets training to False.", "training = False", "training = True"),
    ),
]  # fmt: skip

MODULE1: list[Mistake] = [
    *in_answer("task1_1", "autodiff.py", "central_difference",
        ("the difference to the left alone",
         "Too far off: take the difference of right and left, over 2 * epsilon.",
         "(f(*right) - f(*left)) / (2 * epsilon)", "(f(*vals) - f(*left)) / epsilon"),
        ("the left point is x itself",
         "Half the slope: the second point is x - epsilon, a step of epsilon to the left of x itself.",
         "left[arg] -= epsilon\n", ""),
        ("left minus right", "The sign is wrong: the value on the right minus the one on the left.",
         "(f(*right) - f(*left))", "(f(*left) - f(*right))"),
    ),
    *in_answer("task1_2", "scalar_functions.py", "Mul.forward",
        ("Mul.forward adds", "Mul multiplies: a * b.", "return a * b", "return a + b"),
    ),
    *in_answer("task1_2", "scalar_functions.py", "Inv.forward",
        ("Inv.forward is neg", "Inv is one divided by a: operators.inv.", "operators.inv", "operators.neg"),
    ),
    *in_answer("task1_2", "scalar_functions.py", "Neg.forward",
        ("Neg.forward does nothing", "Neg changes the sign: operators.neg.", "operators.neg", "operators.id"),
    ),
    *in_answer("task1_2", "scalar_functions.py", "Sigmoid.forward",
        ("Sigmoid.forward is relu", "Use operators.sigmoid.", "operators.sigmoid", "operators.relu"),
    ),
    *in_answer("task1_2", "scalar_functions.py", "ReLU.forward",
        ("ReLU.forward is abs", "Negative numbers become 0: operators.relu.", "operators.relu", "abs"),
    ),
    *in_answer("task1_2", "scalar_functions.py", "LT.forward",
        ("LT.forward swaps its arguments", "a < b: a comes first.", "lt(a, b)", "lt(b, a)"),
    ),
    *in_answer("task1_2", "scalar.py", "Scalar.__sub__",
        ("subtraction adds", "a - b is a + (-b): the minus is missing.", "-b", "b"),
    ),
    *in_answer("task1_3", "scalar.py", "Scalar.chain_rule",
        ("the first input only", "Every input gets its derivative, not only the first.",
         "zip(h.inputs, derivatives)", "zip(h.inputs[:1], derivatives)"),
    ),
    *in_answer("task1_4", "autodiff.py", "topological_sort",
        ("variables are looked for by their number",
         "`in` compares with ==, which asks Scalars for their numbers: two variables of equal value count as "
         "one. Remember their unique_id.",
         "elif node.unique_id not in seen and", "elif node not in order and"),
        ("recursion, and the order is from the left",
         "Right but for its direction: reverse the list before you return it.",
         "stack = [(variable, False)]\n"
         "while stack:\n"
         "    node, parents_done = stack.pop()\n"
         "    if parents_done:\n"
         "        order.append(node)\n"
         "    elif node.unique_id not in seen and not node.is_constant():\n"
         "        seen.add(node.unique_id)\n"
         "        stack.append((node, True))\n"
         "        for parent in node.parents:\n"
         "            stack.append((parent, False))\n"
         "order.reverse()\n",
         "\ndef visit(node):\n"
         "    if node.unique_id not in seen and not node.is_constant():\n"
         "        seen.add(node.unique_id)\n"
         "        for parent in node.parents:\n"
         "            visit(parent)\n"
         "        order.append(node)\n"
         "\nvisit(variable)\n"),
    ),
    *in_answer("task1_4", "scalar_functions.py", "ReLU.backward",
        ("ReLU.backward lets 0 through", "At 0 itself the derivative is 0: operators.relu_back.",
         "operators.relu_back(a, d_output)", "d_output if a >= 0 else 0.0"),
    ),
    *in_answer("task1_4", "scalar_functions.py", "Sigmoid.backward",
        ("Sigmoid.backward is 1 - s", "The derivative is s (1 - s): a factor s is missing.",
         "s * (1 - s)", "(1 - s)"),
    ),
    *in_answer("task1_4", "scalar_functions.py", "Exp.backward",
        ("Exp.backward without d_output", _TIMES_D, "out * d_output", "out"),
    ),
    *in_answer("task1_4", "scalar_functions.py", "Inv.backward",
        ("Inv.backward without the minus", "1/x falls, so its derivative is negative: operators.inv_back.",
         "operators.inv_back(a, d_output)", "d_output / (a * a)"),
    ),
    *in_answer("task1_4", "scalar_functions.py", "Mul.backward",
        ("Mul.backward is the product", "The derivative by a is b alone, times d_output.",
         "b * d_output, a * d_output", "a * b * d_output, a * b * d_output"),
    ),
    *in_answer("task1_4", "scalar_functions.py", "EQ.backward",
        ("EQ.backward passes on", "Equality is flat almost everywhere: (0.0, 0.0).",
         "0.0, 0.0", "d_output, d_output"),
    ),
]  # fmt: skip

MODULE2: list[Mistake] = [
    *in_answer("task2_1", "tensor_data.py", "index_to_position",
        ("the last dimension alone", "Add up index times stride over all dimensions.",
         "position += i * s", "position = i * s"),
    ),
    *in_answer("task2_1", "tensor_data.py", "TensorData.permute",
        ("permute by the inverse order", "New dimension i is old dimension order[i]; yours is the inverse.",
         "tuple([self.shape[i] for i in order]),\n    tuple([self.strides[i] for i in order]),",
         "tuple([self.shape[order.index(i)] for i in range(len(order))]),\n"
         "    tuple([self.strides[order.index(i)] for i in range(len(order))]),"),
    ),
    *in_answer("task2_1", "tensor_data.py", "to_index",
        ("out_index is not filled",
         "`out_index = ...` names another array, and what is returned is not used: fill the one that you were "
         "given, out_index[d] = ...",
         "for d in range(len(shape) - 1, -1, -1):\n    out_index[d] = ordinal % shape[d]\n    ordinal //= shape[d]\n",
         "out_index = []\nfor s in reversed(shape):\n    out_index.insert(0, ordinal % s)\n"
         "    ordinal = ordinal // s\nreturn out_index\n"),
    ),
    *in_answer("task2_2", "tensor_data.py", "broadcast_index",
        ("out_index is not filled",
         "`out_index = ...` names another array: fill the one that you were given, out_index[d] = ...",
         "missing = len(big_shape) - len(shape)\n",
         "missing = len(big_shape) - len(shape)\nout_index = list(big_index[missing:])\n"),
        ("sizes of 1 keep the index, others are 0", "The other way round: size 1 has only index 0.",
         "if shape[d] > 1:", "if shape[d] <= 1:"),
        ("the only index is 1", "Indices begin with 0: a dimension of size 1 has index 0.",
         "        out_index[d] = 0", "        out_index[d] = 1"),
    ),
    *in_answer("task2_2", "tensor_data.py", "shape_broadcast",
        ("the size 1 wins", "Where one size is 1, the other one is the result's.",
         "        shape.append(m)\n    elif m == 1:\n        shape.append(n)",
         "        shape.append(n)\n    elif m == 1:\n        shape.append(m)"),
    ),
    *in_answer("task2_3", "tensor_ops.py", "tensor_zip._zip",
        ("zip reads b with a's strides", _OWN_STRIDES,
         "index_to_position(b_index, b_strides)", "index_to_position(b_index, a_strides)"),
        ("zip broadcasts b like a", "b's index comes from b's own shape: broadcast_index(..., b_shape, b_index).",
         "broadcast_index(out_index, out_shape, b_shape, b_index)",
         "broadcast_index(out_index, out_shape, a_shape, b_index)"),
        ("zip writes with a's strides", "The place in out comes from out_index and out_strides.",
         "index_to_position(out_index, out_strides)", "index_to_position(out_index, a_strides)"),
    ),
    *in_answer("task2_3", "tensor_ops.py", "tensor_map._map",
        ("map adds to what out holds", "out may hold other numbers already: = in place of +=.",
         "out[o] = fn(", "out[o] += fn("),
        ("map reads with the output's strides", "The place in the input comes from in_index and in_strides.",
         "index_to_position(in_index, in_strides)", "index_to_position(in_index, out_strides)"),
        ("map writes with the input's strides", "The place in out comes from out_index and out_strides.",
         "index_to_position(out_index, out_strides)", "index_to_position(out_index, in_strides)"),
    ),
    *in_answer("task2_3", "tensor_functions.py", "Mul.forward",
        ("Mul.forward adds", "Mul multiplies: mul_zip.", "mul_zip", "add_zip"),
    ),
    *in_answer("task2_3", "tensor_functions.py", "Sigmoid.forward",
        ("Sigmoid.forward is relu", "The map for Sigmoid is sigmoid_map.", "sigmoid_map", "relu_map"),
    ),
    *in_answer("task2_3", "tensor_functions.py", "ReLU.forward",
        ("ReLU.forward is sigmoid", "The map for ReLU is relu_map.", "relu_map", "sigmoid_map"),
    ),
    *in_answer("task2_3", "tensor_functions.py", "Log.forward",
        ("Log.forward is exp", "The map for Log is log_map.", "log_map", "exp_map"),
    ),
    *in_answer("task2_3", "tensor_functions.py", "Sum.forward",
        ("Sum multiplies", "Sum adds up: add_reduce.", "add_reduce", "mul_reduce"),
    ),
    *in_answer("task2_3", "tensor_functions.py", "EQ.forward",
        ("EQ.forward is lt", "Equality is eq_zip.", "eq_zip", "lt_zip"),
    ),
    *in_answer("task2_3", "tensor.py", "Tensor.__sub__",
        ("subtraction adds", "a - b is a + (-b): the minus is missing.",
         "-self._ensure_tensor(b)", "self._ensure_tensor(b)"),
    ),
    *in_answer("task2_3", "tensor.py", "Tensor.mean",
        ("the mean over a dimension is a sum", "Divide by how many were added up.",
         "self.sum(dim) / self.shape[dim]", "self.sum(dim)"),
    ),
    *in_answer("task2_3", "tensor.py", "Tensor.sum",
        ("the sum of everything is that of the columns",
         "Without dim the sum is over all: view the tensor as one row first.",
         "Sum.apply(self.contiguous().view(self.size), 0)", "Sum.apply(self, 0)"),
    ),
    *in_answer("task2_4", "tensor_functions.py", "ReLU.backward",
        ("ReLU.backward passes on", "Where the input was not positive nothing passes: relu_back_zip.",
         "grad_output.f.relu_back_zip(t1, grad_output)", "grad_output"),
        ("ReLU.backward lets 0 through", "At 0 itself the derivative is 0, too: relu_back_zip.",
         "grad_output.f.relu_back_zip(t1, grad_output)", "(1.0 - (t1 < 0.0)) * grad_output"),
    ),
    *in_answer("task2_4", "tensor_functions.py", "Mul.backward",
        ("Mul.backward without grad_output", _TIMES_D,
         "grad_output.f.mul_zip(b, grad_output), grad_output.f.mul_zip(a, grad_output)", "b, a"),
    ),
    *in_answer("task2_4", "tensor_functions.py", "Sigmoid.backward",
        ("Sigmoid.backward is 1 - s", "The derivative is s (1 - s): a factor s is missing.",
         "s * (1 - s)", "(1 - s)"),
    ),
    *in_answer("task2_4", "tensor_functions.py", "EQ.backward",
        ("EQ.backward passes on", "Equality is flat almost everywhere: zeros for both.",
         "grad_output.zeros(), grad_output.zeros()", "grad_output, grad_output"),
    ),
]  # fmt: skip

MODULE3: list[Mistake] = [
    *in_answer("task3_1", "fast_ops.py", "tensor_zip._zip",
        ("zip reads b with a's strides", _OWN_STRIDES,
         "index_to_position(b_index, b_strides)", "index_to_position(b_index, a_strides)"),
        ("zip takes the short way whatever b's strides",
         "The short way is right only where all three have the same strides; b's are not compared.",
         "    and (out_strides == b_strides).all()\n", ""),
    ),
    *in_answer("task3_1", "fast_ops.py", "tensor_reduce._reduce",
        ("reduce steps by 1", "The next element of the dimension is a_strides[reduce_dim] further on.",
         "j += a_strides[reduce_dim]", "j += 1"),
    ),
    *in_answer("task3_2", "fast_ops.py", "_matmul_naive",
        ("b is walked along its rows", "k runs down a column of b: b_strides[1].",
         "b_pos += b_strides[1]", "b_pos += b_strides[2]"),
        ("a is walked down its columns", "k runs along a row of a: a_strides[2].",
         "a_pos += a_strides[2]", "a_pos += a_strides[1]"),
    ),
]  # fmt: skip

MODULE4: list[Mistake] = [
    *in_answer("task4_1", "fast_conv.py", "_tensor_conv1d",
        ("reverse the wrong way round", _REVERSE,
         "i - k if reverse else i + k", "i + k if reverse else i - k"),
        ("only the first channel", _ALL_CHANNELS, "for c in range(channels):", "for c in range(1):"),
        ("every output channel has the first one's weights",
         "The weight of output channel o begins at o * weight_strides[0].",
         "w = o * weight_strides[0] + c", "w = c"),
        ("always the first of the batch", "The input of b begins at b * input_strides[0].",
         "x = b * input_strides[0] + c", "x = c"),
    ),
    *in_answer("task4_2", "fast_conv.py", "_conv2d",
        ("reads past the edge", _BOUNDS,
         "if y >= 0 and y < height and x >= 0 and x < width:", "if y >= 0 and x >= 0:"),
        ("reverse the wrong way round", _REVERSE,
         "y = i - k if reverse else i + k\n                            x = j - m if reverse else j + m",
         "y = i + k if reverse else i - k\n                            x = j + m if reverse else j - m"),
        ("only the first channel", _ALL_CHANNELS, "for c in range(channels):", "for c in range(1):"),
        ("rows and columns of the image exchanged", "The row y goes with input_strides[2], the column x with [3].",
         "y * input_strides[2] + x * input_strides[3]", "x * input_strides[2] + y * input_strides[3]"),
        ("always the first of the batch", "The input of b begins at b * input_strides[0].",
         "at = b * input_strides[0] + c", "at = c"),
    ),
    *in_answer("task4_4", "nn.py", "argmax",
        ("the last of several maxima", "Of several equal maxima the first counts; yours marks the last.",
         "float(n - i)", "float(i + 1)"),
    ),
    *in_answer("task4_4", "nn.py", "softmax",
        ("softmax without the division", "Probabilities add up to 1: divide by the sum along dim.",
         "return e / e.sum(dim)", "return e"),
        ("softmax along the first dimension", "The sum runs along dim, whichever that is.",
         "return e / e.sum(dim)", "return e / e.sum(0)"),
    ),
    *in_answer("task4_4", "nn.py", "logsoftmax",
        ("the logarithm of softmax",
         "A probability far below the others is rounded to 0, and its logarithm is lost: "
         "x - m - log(sum(exp(x - m))).",
         "m = max(input, dim)\nreturn input - m - (input - m).exp().sum(dim).log()\n",
         "return softmax(input, dim).log()\n"),
    ),
]  # fmt: skip

CUDA: list[Mistake] = [
    *in_answer("task3_3", "cuda_ops.py", "tensor_reduce._reduce",
        ("reduce reads with the output's strides", "Elements of a are found with a_strides.",
         "index_to_position(out_index, a_strides)", "index_to_position(out_index, out_strides)"),
    ),
]  # fmt: skip

_INSIDE_THE_LOOP = "Make it inside the loop"
_ALL_WAIT = "all threads wait"
_COUNTED_FROM_0 = "Cells are counted from 0"
_NOT_THERE_YET = "the numbers may not be there yet"
_STILL_READ = "a cuda.syncthreads() is missing at the end of the loop"

RACES: list[Mistake] = [
    *in_answer("task3_1", "fast_ops.py", "tensor_map._map",
        ("buffers shared by all iterations", _INSIDE_THE_LOOP,
         "    for i in prange(len(out)):\n"
         "        out_index = np.empty(len(out_shape), dtype=np.int32)\n"
         "        in_index = np.empty(len(in_shape), dtype=np.int32)\n",
         "    out_index = np.empty(len(out_shape), dtype=np.int32)\n"
         "    in_index = np.empty(len(in_shape), dtype=np.int32)\n"
         "    for i in prange(len(out)):\n"),
    ),
    *in_answer("task3_1", "fast_ops.py", "tensor_zip._zip",
        ("one buffer shared by all iterations", _INSIDE_THE_LOOP,
         "    for i in prange(len(out)):\n"
         "        out_index = np.empty(len(out_shape), dtype=np.int32)\n",
         "    out_index = np.empty(len(out_shape), dtype=np.int32)\n"
         "    for i in prange(len(out)):\n"),
    ),
    *in_answer("task3_1", "fast_ops.py", "tensor_reduce._reduce",
        ("the buffer shared by all iterations", _INSIDE_THE_LOOP,
         "for i in prange(len(out)):\n    out_index = np.empty(len(out_shape), dtype=np.int32)\n",
         "out_index = np.empty(len(out_shape), dtype=np.int32)\nfor i in prange(len(out)):\n"),
    ),
    *in_answer("task3_3", "cuda_ops.py", "tensor_map._map",
        ("the guard lets one thread too many through", _COUNTED_FROM_0,
         "if i < out_size:", "if i <= out_size:"),
    ),
    *in_answer("task3_3", "cuda_ops.py", "flat_map._flat_map",
        ("one thread too many does not leave", _COUNTED_FROM_0,
         "if i >= out_size:", "if i > out_size:"),
    ),
    *in_answer("task3_3", "cuda_ops.py", "tensor_reduce._reduce",
        ("no wait before the first fold", _NOT_THERE_YET,
         "cuda.syncthreads()\nstep = 1", "step = 1"),
        ("no wait after a fold", _NOT_THERE_YET,
         "    cuda.syncthreads()\n    step *= 2", "    step *= 2"),
        ("only threads that fold wait", _ALL_WAIT,
         "    cuda.syncthreads()\n    step *= 2",
         "    if pos % (2 * step) == 0:\n        cuda.syncthreads()\n    step *= 2"),
        ("threads without an element leave", _ALL_WAIT,
         "    cache[pos] = reduce_value\n",
         "    cache[pos] = reduce_value\n    if pos > 0:\n        return\n"),
    ),
    *in_answer("task3_4", "cuda_ops.py", "_mm_practice",
        ("no wait before the products", _NOT_THERE_YET, "cuda.syncthreads()\n", ""),
        ("only threads inside the matrix wait", _ALL_WAIT,
         "    b_tile[i, j] = b[i * size + j]\ncuda.syncthreads()\n",
         "    b_tile[i, j] = b[i * size + j]\n    cuda.syncthreads()\n"),
    ),
    *in_answer("task3_4", "cuda_matmul.py", "tiled.kernel",
        ("no wait before the products", _NOT_THERE_YET,
         "    cuda.syncthreads()\n    for k", "    for k"),
        ("no wait after the products", _STILL_READ,
         "    cuda.syncthreads()\nif i < rows", "if i < rows"),
    ),
]  # fmt: skip
"""Right by chance, and as plain Python: these are seen in the text (`reading.py`)."""
