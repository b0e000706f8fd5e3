"""The mistake catalogue: wrong answers that people really give, task by task.

An entry replaces a piece of the right program, which occurs in its file exactly once,
by a wrong one. The tests of the entry's task must notice, and a student whose code answers
the probes as the wrong program does sees the entry's advice (`advice.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from .advice import ADVICE


@dataclass(frozen=True)
class Mistake:
    """One wrong answer.

    Args:
        name: what went wrong, in a few words
        task: the task whose tests must fail, as in `task0_1`
        file: in `minitorch/`
        right: what the file says
        wrong: what the mistake says instead
    """

    name: str
    task: str
    file: str
    right: str
    wrong: str

    @property
    def number(self) -> str:
        """The task as the course counts, `0.1`."""
        return self.task.removeprefix("task").replace("_", ".")

    @property
    def advice(self) -> str:
        """What to tell a student who made it."""
        return ADVICE[self.number][self.file.removesuffix(".py") + ": " + self.name]


def _all(task: str, file: str, *entries: tuple[str, str, str]) -> list[Mistake]:
    return [Mistake(name, task, file, right, wrong) for name, right, wrong in entries]


MISTAKES: list[Mistake] = [
    # --- 0.1: operators ------------------------------------------------------------
    *_all(
        "task0_1",
        "operators.py",
        (
            "sigmoid overflows far to the left",
            "    if x >= 0:\n        return 1.0 / (1.0 + math.exp(-x))\n"
            "    e = math.exp(x)\n    return e / (1.0 + e)",
            "    return 1.0 / (1.0 + math.exp(-x))",
        ),
        (
            "sigmoid without the minus",
            "return 1.0 / (1.0 + math.exp(-x))",
            "return 1.0 / (1.0 + math.exp(x))",
        ),
        ("sigmoid calls exp of this file", "    e = math.exp(x)\n", "    e = exp(x)\n"),
        ("relu is abs", "return 0.0 if x <= 0 else float(x)", "return abs(float(x))"),
        (
            "relu_back lets 0 through",
            "return float(d) if x > 0 else 0.0",
            "return float(d) if x >= 0 else 0.0",
        ),
        (
            "relu_back forgets d",
            "return float(d) if x > 0 else 0.0",
            "return 1.0 if x > 0 else 0.0",
        ),
        (
            "relu_back looks at d",
            "return float(d) if x > 0 else 0.0",
            "return float(d) if d > 0 else 0.0",
        ),
        ("inv_back without the minus", "return -d / (x * x)", "return d / (x * x)"),
        ("inv_back divides by x once", "return -d / (x * x)", "return -d / x"),
        ("log without EPS", "return math.log(x + EPS)", "return math.log(x)"),
        ("log_back forgets d", "return d / (x + EPS)", "return 1.0 / (x + EPS)"),
        ("log_back without EPS", "return d / (x + EPS)", "return d / x"),
        ("is_close without abs", "abs(x - y) < 1e-2", "(x - y) < 1e-2"),
        ("is_close too wide", "abs(x - y) < 1e-2", "abs(x - y) < 1e-1"),
        ("eq is close", "1.0 if x == y else 0.0", "1.0 if abs(x - y) < 1e-2 else 0.0"),
        ("lt is at most", "1.0 if x < y else 0.0", "1.0 if x <= y else 0.0"),
        ("lt gives a bool", "return 1.0 if x < y else 0.0", "return x < y"),
    ),
    *_all(
        "task0_2",
        "operators.py",
        ("max is min", "float(x) if x > y else float(y)", "float(x) if x < y else float(y)"),
        ("add subtracts", "return float(x + y)", "return float(x - y)"),
        ("inv is neg", "return 1.0 / x\n", "return -x\n"),
    ),
    # --- 0.3: functions of functions ---------------------------------------------------
    *_all(
        "task0_3",
        "operators.py",
        ("zipWith swaps its arguments", "[fn(x, y) for x, y", "[fn(y, x) for x, y"),
        (
            "zipWith pairs everything",
            "in zip(ls1, ls2, strict=False)",
            "in [(x, y) for x in ls1 for y in ls2]",
        ),
        ("reduce ignores its start", "total = float(start)", "total = 0.0"),
        ("reduce folds the wrong way round", "total = fn(total, x)", "total = fn(x, total)"),
        ("prod starts at 0", "reduce(mul, 1.0)(ls)", "reduce(mul, 0.0)(ls)"),
        ("sum starts at 1", "reduce(add, 0.0)(ls)", "reduce(add, 1.0)(ls)"),
        ("addLists multiplies", "return zipWith(add)(ls1, ls2)", "return zipWith(mul)(ls1, ls2)"),
        (
            "map drops the last",
            "return [fn(x) for x in ls]",
            "return [fn(x) for x in list(ls)[:-1]]",
        ),
    ),
    # --- 0.4: modules --------------------------------------------------------------------
    *_all(
        "task0_4",
        "module.py",
        (
            "train and eval stop at the module itself",
            "        for child in self.modules():\n            child._set_training(training)\n",
            "",
        ),
        (
            "train and eval reach only the children",
            "            child._set_training(training)\n",
            "            child.training = training\n",
        ),
        ("names without a prefix", '(f"{child_name}.{name}", p)', "(name, p)"),
        (
            "parameters of the children only",
            "for name, p in child.named_parameters()]",
            "for name, p in child._parameters.items()]",
        ),
        (
            "own parameters only",
            "return [p for _, p in self.named_parameters()]",
            "return list(self._parameters.values())",
        ),
        (
            "unknown attributes are None",
            'raise AttributeError(f"{type(self).__name__!r} object has no attribute {key!r}")',
            "return None",
        ),
        (
            "add_parameter returns nothing",
            "        return parameter\n",
            "        return None  # type: ignore\n",
        ),
        (
            "an old parameter stays behind",
            "            place.pop(key, None)\n",
            "            pass\n",
        ),
        ("no gradient asked for", "            x.requires_grad_(True)\n", ""),
    ),
    # --- 1.1: numerical derivatives --------------------------------------------------------
    *_all(
        "task1_1",
        "autodiff.py",
        (
            "one-sided difference",
            "return (f(*right) - f(*left)) / (2 * epsilon)",
            "return (f(*right) - f(*vals)) / epsilon",
        ),
        (
            "divided by epsilon once",
            "return (f(*right) - f(*left)) / (2 * epsilon)",
            "return (f(*right) - f(*left)) / epsilon",
        ),
        (
            "always the first argument",
            "    right[arg] = right[arg] + epsilon\n    left[arg] = left[arg] - epsilon",
            "    right[0] = right[0] + epsilon\n    left[0] = left[0] - epsilon",
        ),
        (
            "every argument moves",
            "    right[arg] = right[arg] + epsilon\n    left[arg] = left[arg] - epsilon",
            "    right = [v + epsilon for v in vals]\n    left = [v - epsilon for v in vals]",
        ),
    ),
    # --- 1.2: scalars ------------------------------------------------------------------------
    *_all(
        "task1_2",
        "scalar.py",
        (
            "number minus scalar is scalar minus number",
            "return Add.apply(b, Neg.apply(self))",
            "return Add.apply(self, Neg.apply(b))",
        ),
        (
            "number over scalar is scalar over number",
            "return Mul.apply(b, Inv.apply(self))",
            "return Mul.apply(self, Inv.apply(b))",
        ),
        ("greater is less", "return LT.apply(b, self)", "return LT.apply(self, b)"),
        (
            "the name is ignored",
            "return str(self.unique_id) if self._name is None else self._name",
            "return str(self.unique_id)",
        ),
        (
            "requires_grad_ ignores its argument",
            "self.history = ScalarHistory() if x else None",
            "self.history = ScalarHistory()",
        ),
        (
            "a computation outside the graph",
            "return Exp.apply(self)",
            "return Scalar(Exp.apply(self).data)",
        ),
    ),
    *_all(
        "task1_2",
        "scalar_functions.py",
        ("log forward is exp", "return operators.log(a)", "return operators.exp(a)"),
        ("eq forward is lt", "return operators.eq(a, b)", "return operators.lt(a, b)"),
    ),
    # --- 1.3: chain rule -----------------------------------------------------------------------
    *_all(
        "task1_3",
        "scalar.py",
        (
            "constants are not left out",
            "for scalar, d in pairs if not scalar.is_constant()]",
            "for scalar, d in pairs]",
        ),
        (
            "derivatives paired backwards",
            "pairs = zip(h.inputs, derivatives,",
            "pairs = zip(h.inputs, derivatives[::-1],",
        ),
        (
            "what comes in is ignored",
            "h.last_fn._backward(h.ctx, d_output)",
            "h.last_fn._backward(h.ctx, 1.0)",
        ),
        (
            "what comes in is multiplied twice",
            "return [(scalar, d) for scalar, d in pairs",
            "return [(scalar, d * d_output) for scalar, d in pairs",
        ),
    ),
    # --- 1.4: backpropagation ----------------------------------------------------------------------
    *_all(
        "task1_4",
        "autodiff.py",
        ("a variable is visited once per path", "node.unique_id not in seen and not", "not"),
        ("the order is from the left", "    finished.reverse()\n", ""),
        (
            "sums begin with 0.0",
            "waiting[key] = waiting[key] + d if key in waiting else d",
            "waiting[key] = waiting.get(key, 0.0) + d",
        ),
        ("constants are in the order", " and not node.is_constant()", ""),
        (
            "a variable is taken when first met",
            "            stack.append((node, True))\n"
            "            stack += [(parent, False) for parent in node.parents]\n"
            "    finished.reverse()\n",
            "            finished.append(node)\n"
            "            stack += [(parent, False) for parent in node.parents]\n",
        ),
        (
            "breadth first",
            "        node, parents_done = stack.pop()\n"
            "        if parents_done:\n"
            "            finished.append(node)\n"
            "        elif node.unique_id not in seen and not node.is_constant():\n"
            "            seen.add(node.unique_id)\n"
            "            stack.append((node, True))\n"
            "            stack += [(parent, False) for parent in node.parents]\n"
            "    finished.reverse()\n",
            "        node, _ = stack.pop(0)\n"
            "        if node.unique_id not in seen and not node.is_constant():\n"
            "            seen.add(node.unique_id)\n"
            "            finished.append(node)\n"
            "            stack += [(parent, False) for parent in node.parents]\n",
        ),
        (
            "recursion, too deep for a long graph",
            "    stack = [(variable, False)]\n"
            "    while stack:\n"
            "        node, parents_done = stack.pop()\n"
            "        if parents_done:\n"
            "            finished.append(node)\n"
            "        elif node.unique_id not in seen and not node.is_constant():\n"
            "            seen.add(node.unique_id)\n"
            "            stack.append((node, True))\n"
            "            stack += [(parent, False) for parent in node.parents]\n",
            "\n    def visit(node: Variable) -> None:\n"
            "        if node.unique_id not in seen and not node.is_constant():\n"
            "            seen.add(node.unique_id)\n"
            "            for parent in node.parents:\n"
            "                visit(parent)\n"
            "            finished.append(node)\n"
            "\n    visit(variable)\n",
        ),
        (
            "the second contribution replaces the first",
            "waiting[key] = waiting[key] + d if key in waiting else d",
            "waiting[key] = d",
        ),
        (
            "the first contribution is doubled",
            "waiting[key] = waiting[key] + d if key in waiting else d",
            "waiting[key] = waiting.get(key, d) + d",
        ),
        (
            "the incoming derivative is 1",
            "waiting = {variable.unique_id: deriv}",
            "waiting = {variable.unique_id: 1.0}",
        ),
    ),
    *_all(
        "task1_4",
        "scalar.py",
        (
            "a leaf forgets its first derivative",
            "self.derivative = (self.derivative or 0.0) + x",
            "self.derivative = x",
        ),
    ),
    *_all(
        "task1_4",
        "scalar_functions.py",
        (
            "Sigmoid.backward without d_output",
            "return out * (1.0 - out) * d_output",
            "return out * (1.0 - out)",
        ),
        (
            "Sigmoid.backward of the output",
            "return out * (1.0 - out) * d_output",
            "return out * d_output",
        ),
        (
            "Mul.backward not crossed",
            "return b * d_output, a * d_output",
            "return a * d_output, b * d_output",
        ),
        ("Mul.backward without d_output", "return b * d_output, a * d_output", "return b, a"),
        ("Exp.backward passes on", "return out * d_output", "return d_output"),
        ("Neg.backward without the minus", "return -d_output", "return d_output"),
        (
            "Log.backward swaps its arguments",
            "operators.log_back(a, d_output)",
            "operators.log_back(d_output, a)",
        ),
        (
            "Inv.backward swaps its arguments",
            "operators.inv_back(a, d_output)",
            "operators.inv_back(d_output, a)",
        ),
        ("ReLU.backward passes on", "return operators.relu_back(a, d_output)", "return d_output"),
        (
            "LT.backward passes on",
            '"""A step is flat on both sides."""\n        return 0.0, 0.0',
            '"""A step is flat on both sides."""\n        return d_output, d_output',
        ),
        ("Add.backward gives to one side", "return d_output, d_output", "return d_output, 0.0"),
    ),
    # --- 2.1: indexing ------------------------------------------------------------------------------
    *_all(
        "task2_1",
        "tensor_data.py",
        (
            "index_to_position goes through the index",
            "    for d in range(len(strides)):\n",
            "    for d in range(len(index)):\n",
        ),
        (
            "the first dimension counts fastest",
            "for d in range(len(shape) - 1, -1, -1):",
            "for d in range(len(shape)):",
        ),
        (
            "position without strides",
            "position += int(index[d]) * int(strides[d])",
            "position += int(index[d])",
        ),
        (
            "permute keeps the strides",
            "[self.strides[d] for d in order]",
            "self.strides",
        ),
        (
            "permute makes new strides",
            "self._storage, [self.shape[d] for d in order], [self.strides[d] for d in order]",
            "self._storage, [self.shape[d] for d in order]",
        ),
        ("negative indices wrap", "if not 0 <= i < size:", "if not -size <= i < size:"),
        ("an index may be as large as the size", "if not 0 <= i < size:", "if not 0 <= i <= size:"),
    ),
    # --- 2.2: broadcasting ----------------------------------------------------------------------------
    *_all(
        "task2_2",
        "tensor_data.py",
        (
            "the larger size wins",
            "tuple(b if a == 1 else a for a, b in zip(padded1, padded2, strict=True))",
            "tuple(max(a, b) for a, b in zip(padded1, padded2, strict=True))",
        ),
        (
            "shape_broadcast gives a list",
            "tuple(b if a == 1 else a for a, b in zip(padded1, padded2, strict=True))",
            "[b if a == 1 else a for a, b in zip(padded1, padded2, strict=True)]",
        ),
        (
            "aligned at the left",
            "big_index[missing + d] if shape[d] > 1 else 0",
            "big_index[d] if shape[d] > 1 else 0",
        ),
        (
            "dimensions of size 1 are not copied",
            "big_index[missing + d] if shape[d] > 1 else 0",
            "big_index[missing + d]",
        ),
        (
            "any shapes broadcast",
            "if a != b and a != 1 and b != 1:",
            "if a != b and not (a and b):",
        ),
        (
            "only equal shapes broadcast",
            "if a != b and a != 1 and b != 1:",
            "if a != b and a != 1:",
        ),
        (
            "shapes aligned at the left",
            "padded1 = (1,) * (dims - len(shape1)) + tuple(shape1)\n"
            "    padded2 = (1,) * (dims - len(shape2)) + tuple(shape2)",
            "padded1 = tuple(shape1) + (1,) * (dims - len(shape1))\n"
            "    padded2 = tuple(shape2) + (1,) * (dims - len(shape2))",
        ),
    ),
    # --- 2.3: map, zip, reduce ---------------------------------------------------------------------------
    *_all(
        "task2_3",
        "tensor_ops.py",
        (
            "map does not broadcast",
            "broadcast_index(out_index, out_shape, in_shape, in_index)",
            "in_index[:] = out_index[: len(in_shape)] % in_shape",
        ),
        (
            "map writes by ordinal",
            "out[index_to_position(out_index, out_strides)] = fn(float(x))\n",
            "out[i] = fn(float(x))\n",
        ),
        (
            "map reads by ordinal",
            "x = in_storage[index_to_position(in_index, in_strides)]",
            "x = in_storage[i % len(in_storage)]",
        ),
        (
            "zip reads b at a's index",
            "y = b_storage[index_to_position(b_index, b_strides)]",
            "y = b_storage[index_to_position(a_index, a_strides) % len(b_storage)]",
        ),
        (
            "zip writes by ordinal",
            "out[index_to_position(out_index, out_strides)] = fn(float(x), float(y))",
            "out[i] = fn(float(x), float(y))",
        ),
        ("zip swaps its arguments", "= fn(float(x), float(y))", "= fn(float(y), float(x))"),
        ("reduce ignores the starting value", "total = float(out[position])", "total = 0.0"),
        (
            "reduce reads with the output's strides",
            "index_to_position(index, a_strides)",
            "index_to_position(index, out_strides) % len(a_storage)",
        ),
        (
            "reduce writes by ordinal",
            "position = index_to_position(index, out_strides)",
            "position = i",
        ),
        (
            "reduce leaves out the last",
            "for k in range(a_shape[reduce_dim]):",
            "for k in range(max(1, a_shape[reduce_dim] - 1)):",
        ),
    ),
    *_all(
        "task2_3",
        "tensor_functions.py",
        ("IsClose is EQ", "return a.f.is_close_zip(a, b)", "return a.f.eq_zip(a, b)"),
        ("LT swaps its arguments", "return a.f.lt_zip(a, b)", "return a.f.lt_zip(b, a)"),
        ("All adds", "return a.f.mul_reduce(a, _dim(dim))", "return a.f.add_reduce(a, _dim(dim))"),
        ("view of what is not contiguous", "if not a._tensor.is_contiguous():", "if a.size < 0:"),
    ),
    *_all(
        "task2_3",
        "tensor.py",
        (
            "greater is less",
            "return LT.apply(self._ensure_tensor(b), self)",
            "return LT.apply(self, self._ensure_tensor(b))",
        ),
        (
            "mean over a dimension divides by the whole size",
            "return total / (self.size / total.size)",
            "return total / self.size",
        ),
        (
            "requires_grad_ ignores its argument",
            "        if not x:\n            self.history = None\n        elif not self.is_leaf():",
            "        if not self.is_leaf():",
        ),
    ),
    # --- 2.4: gradients -------------------------------------------------------------------------------------
    *_all(
        "task2_4",
        "tensor_functions.py",
        (
            "Sigmoid.backward without grad_output",
            "return f.mul_zip(f.mul_zip(out, rest), grad_output)",
            "return f.mul_zip(out, rest)",
        ),
        (
            "Mul.backward not crossed",
            "f.mul_zip(b, grad_output) if ctx.needs(0) else None,\n"
            "            f.mul_zip(a, grad_output) if ctx.needs(1) else None,",
            "f.mul_zip(a, grad_output) if ctx.needs(0) else None,\n"
            "            f.mul_zip(b, grad_output) if ctx.needs(1) else None,",
        ),
        (
            "Exp.backward without grad_output",
            "return grad_output.f.mul_zip(out, grad_output)",
            "return out",
        ),
        (
            "Log.backward swaps its arguments",
            "grad_output.f.log_back_zip(t1, grad_output)",
            "grad_output.f.log_back_zip(grad_output, t1)",
        ),
        (
            "Inv.backward without the square",
            "return grad_output.f.inv_back_zip(t1, grad_output)",
            "return grad_output.f.neg_map(grad_output.f.log_back_zip(t1, grad_output))",
        ),
        (
            "ReLU.backward looks at the gradient",
            "grad_output.f.relu_back_zip(t1, grad_output)",
            "grad_output.f.relu_back_zip(grad_output, grad_output)",
        ),
        (
            "Neg.backward passes on",
            "return grad_output.f.neg_map(grad_output)",
            "return grad_output",
        ),
        (
            "LT.backward passes on",
            '"""A step is flat on both sides."""\n        return grad_output.zeros(), grad_output.zeros()',
            '"""A step is flat on both sides."""\n        return grad_output, grad_output',
        ),
        (
            "Permute.backward by the same order",
            "inverse = np.argsort(order).tolist()",
            "inverse = list(order)",
        ),
        (
            "Permute.backward reverses the order",
            "inverse = np.argsort(order).tolist()",
            "inverse = list(order)[::-1]",
        ),
        (
            "Permute.backward has only the right shape",
            "return grad_output._new(grad_output._tensor.permute(*inverse)), 0.0",
            "shape = [grad_output.shape[d] for d in inverse]\n"
            "        return grad_output._new(TensorData(grad_output._tensor._storage, shape)), 0.0",
        ),
        (
            "View.backward takes storage as it lies",
            "contiguous = grad_output.detach().contiguous()",
            "contiguous = grad_output",
        ),
        (
            "Sum.backward is 1",
            '"""G, which broadcasts back over the dimension."""\n        return grad_output, 0.0',
            '"""G, which broadcasts back over the dimension."""\n        return 1.0, 0.0',
        ),
    ),
    *_all(
        "task2_4",
        "tensor.py",
        (
            "the second gradient replaces the first",
            "self.grad = self.f.id_map(x) if self.grad is None else self.f.add_zip(self.grad, x)",
            "self.grad = self.f.id_map(x)",
        ),
        (
            "the gradient is the tensor that came in",
            "self.grad = self.f.id_map(x) if self.grad is None",
            "self.grad = x if self.grad is None",
        ),
        (
            "constants are not left out",
            "if is_tensor(value) and not value.is_constant()",
            "if is_tensor(value)",
        ),
        (
            "what was copied along size 1 is not summed",
            "other = self.f.add_reduce(other, dim)",
            "other = other if dim >= missing else self.f.add_reduce(other, dim)",
        ),
    ),
    # --- 3.1: compiled map, zip, reduce ------------------------------------------------------------------------
    *_all(
        "task3_1",
        "fast_ops.py",
        (
            "map takes the short way whenever sizes agree",
            "if len(plan) == 1 and out_step == 1 and in_step == 1:",
            "if len(out) == len(in_storage):",
        ),
        (
            "zip walks b with a's step",
            "f(x, b_storage[j + c * b_step])",
            "f(x, b_storage[j + c * a_step])",
        ),
        (
            "a broadcast operand moves on",
            "a_step = a_strides[a_d] if a_d >= 0 and a_shape[a_d] != 1 else 0",
            "a_step = a_strides[a_d] if a_d >= 0 else 0",
        ),
        (
            "operands aligned at the left",
            "b_d = d - (len(out_shape) - len(b_shape))",
            "b_d = d if d < len(b_shape) else -1",
        ),
        (
            "reduce ignores the starting value",
            "out[o + c] = f(out[o + c], partial[row, chunk, c])",
            "out[o + c] = partial[row, chunk, c]",
        ),
        (
            "reduce leaves out the second of each chunk",
            "for k in range(first + 1, last):",
            "for k in range(first + 2, last):",
        ),
    ),
    # --- 3.2: matrix products --------------------------------------------------------------------------------------
    *_all(
        "task3_2",
        "fast_ops.py",
        (
            "a stack of one is walked through",
            "return TensorData(data._storage, (1, *matrix), (0, *data.strides[-2:]))",
            "return TensorData(data._storage, (1, *matrix))",
        ),
        (
            "always the first matrix of b",
            "b_matrix = b_packed[batch if b_shape[0] > 1 else 0]",
            "b_matrix = b_packed[0]",
        ),
        (
            "the last rows of a tile are left out",
            "count = min(TILE_ROWS, rows - first)",
            "count = min(TILE_ROWS, rows - first) // 4 * 4",
        ),
        (
            "always the first matrix of a",
            "a_start = batch * a_batch + top * a_strides[1]",
            "a_start = top * a_strides[1]",
        ),
        (
            "rows that do not run along memory are taken as if they did",
            "if strides[1] == 1:",
            "if strides[1] >= 1:",
        ),
        (
            "the last columns of a block are left out",
            "width = min(BLOCK_COLUMNS, columns - left)",
            "width = min(BLOCK_COLUMNS, columns - left) // 3 * 3",
        ),
        (
            "dot products start at 1",
            "total = np.zeros((height + 3, width + 2))",
            "total = np.ones((height + 3, width + 2))",
        ),
    ),
    *_all(
        "task3_2",
        "tensor_functions.py",
        (
            "MatMul.backward without a transpose",
            "f.matrix_multiply(grad_output, _transposed(t2))",
            "f.matrix_multiply(grad_output, t2)",
        ),
        (
            "MatMul.backward forgets the gradient",
            "f.matrix_multiply(_transposed(t1), grad_output)",
            "f.matrix_multiply(_transposed(t1), f.add_zip(grad_output.zeros(), grad_output._ensure_tensor(1.0)))",
        ),
    ),
    # --- 4.1 and 4.2: convolution --------------------------------------------------------------------------------------
    *_all(
        "task4_1",
        "fast_conv.py",
        (
            "backward anchored at the same end",
            "_convolve(grad_output, swapped, reverse=True)",
            "_convolve(grad_output, swapped, reverse=False)",
        ),
        (
            "the window reads past the end",
            "0, max(0, min(out_width, width - m)), m",
            "0, max(0, min(out_width, width - m + 1)), m",
        ),
        (
            "channels of backward not swapped",
            "weight._tensor.permute(1, 0, 2, 3)",
            "weight._tensor.permute(0, 1, 2, 3)",
        ),
        (
            "the weight's gradient is of the last image",
            "total += parts[t, o, q]",
            "total = parts[t, o, q]",
        ),
    ),
    *_all(
        "task4_2",
        "fast_conv.py",
        (
            "anchored at the bottom",
            "y = i - k if reverse else i + k",
            "y = i + k if reverse else i - k",
        ),
        (
            "the weights transposed",
            "position = o * strides[0] + c * strides[1] + k * strides[2] + m * strides[3]",
            "position = o * strides[0] + c * strides[1] + m * strides[2] + k * strides[3]",
        ),
        (
            "the image below the edge is not 0",
            "inside = 0 <= y < height",
            "y = min(max(y, 0), height - 1)\n                    inside = True",
        ),
    ),
    # --- 4.3: pooling ----------------------------------------------------------------------------------------------------
    *_all(
        "task4_3",
        "nn.py",
        (
            "tile without permute",
            "tiles = windows.permute(0, 1, 2, 4, 3, 5).contiguous()",
            "tiles = windows.contiguous()",
        ),
        ("kernel height and width swapped", "    kh, kw = kernel\n", "    kw, kh = kernel\n"),
        (
            "new height and width swapped",
            "kh * kw), height, width\n",
            "kh * kw), width, height\n",
        ),
        ("the average is a sum", "(total / (kh * kw))", "total"),
        ("the average over the wrong dimension", "windows.sum(3).sum(5)", "windows.sum(2).sum(4)"),
    ),
    # --- 4.4: maximum, softmax, dropout --------------------------------------------------------------------------------------
    *_all(
        "task4_4",
        "nn.py",
        ("every tie gets the gradient", "return f.mul_zip(is_maximum, first)", "return is_maximum"),
        (
            "Max.backward without grad_output",
            "return grad_output.f.mul_zip(argmax(input, dim), grad_output), 0.0",
            "return argmax(input, dim), 0.0",
        ),
        (
            "Max.backward to everyone",
            "return grad_output.f.mul_zip(argmax(input, dim), grad_output), 0.0",
            "return grad_output, 0.0",
        ),
        (
            "softmax overflows",
            "exponentials = _below_maximum(input, dim).exp()",
            "exponentials = input.exp()",
        ),
        (
            "softmax of everything",
            "return exponentials / exponentials.sum(dim)",
            "return exponentials / exponentials.sum()",
        ),
        (
            "logsoftmax overflows",
            "    shifted = _below_maximum(input, dim)\n",
            "    shifted = input\n",
        ),
        (
            "logsoftmax adds the logarithm",
            "return shifted - (total - EPS).log()",
            "return shifted + (total - EPS).log()",
        ),
        (
            "dropout the wrong way round",
            "backend=input.backend) < rate",
            "backend=input.backend) > rate",
        ),
        (
            "dropout scales up",
            "return input * (1.0 - dropped)",
            "return input * (1.0 - dropped) / (1.0 - min(rate, 0.99))",
        ),
        ("dropout in evaluation too", "    if ignore:\n        return input\n", ""),
        (
            "dropout of whole rows",
            "dropped = rand(input.shape, backend=input.backend)",
            "dropped = rand((*input.shape[:-1], 1), backend=input.backend)",
        ),
        ("max pooling averages", "return max(tiles, 4)", "return tiles.mean(4)"),
    ),
]

CUDA_MISTAKES: list[Mistake] = [
    *_all(
        "task3_3",
        "cuda_ops.py",
        (
            "map writes by ordinal",
            "out[position] = scalar(in_storage[from_in])",
            "out[i] = scalar(in_storage[from_in])",
        ),
        (
            "zip reads b at a's place",
            "scalar(a_storage[from_a], b_storage[from_b])",
            "scalar(a_storage[from_a], b_storage[from_a % len(b_storage)])",
        ),
        (
            "no guard past the end",
            "cells[thread] = a[i] if i < size else 0.0",
            "cells[thread] = a[i]",
        ),
        (
            "the second half is left out",
            "    half = PRACTICE_BLOCK // 2",
            "    half = PRACTICE_BLOCK // 4",
        ),
        (
            "reduce ignores the starting value",
            "        total = reduce_value",
            "        total = 0.0",
        ),
    ),
    *_all(
        "task3_4",
        "cuda_ops.py",
        (
            "the second matrix is read transposed",
            "total += a_cells[i, k] * b_cells[k, j]",
            "total += a_cells[i, k] * b_cells[j, k]",
        ),
    ),
    *_all(
        "task3_4",
        "cuda_matmul.py",
        (
            "the tile of b is read transposed",
            "total += a_tile[i, k] * b_tile[k, j]",
            "total += a_tile[i, k] * b_tile[j, k]",
        ),
    ),
    *_all(
        "task4_4b",
        "cuda_conv.py",
        (
            "one cell past the end is read",
            "                if at >= 0 and at < input_shape[2]:",
            "                if at >= 0 and at <= input_shape[2]:",
        ),
        (
            "reverse is ignored",
            "                at = i - k if reverse else i + k\n",
            "                at = i + k\n",
        ),
        (
            "every thread walks the whole window",
            "for k in range(lane, weight_shape[2], lanes):",
            "for k in range(weight_shape[2]):",
        ),
        (
            "the threads' parts are not added up",
            "    _sum_lanes(totals, cell, lane, lanes)\n"
            "    if lane == 0 and ordinal < out_size:\n        out[b",
            "    if lane == 0 and ordinal < out_size:\n        out[b",
        ),
        (
            "only the first channel",
            "        for c in range(weight_shape[1]):\n            w =",
            "        for c in range(1):\n            w =",
        ),
        (
            "no guard around the write",
            "    if lane == 0 and ordinal < out_size:\n        place",
            "    if lane == 0:\n        place",
        ),
        (
            "writes by ordinal",
            "        out[place] = totals[cell]",
            "        out[ordinal] = totals[cell]",
        ),
        (
            "height and width of the window exchanged",
            "weight[w + l * weight_strides[3]] * input[x + at * input_strides[3]]",
            "weight[w - k * weight_strides[2] + l * weight_strides[2] + k * weight_strides[3]]"
            " * input[x + at * input_strides[3]]",
        ),
    ),
]
"""Those of the CUDA tasks, which take a GPU or its simulator to show."""


def common_mistakes(number: str) -> list[tuple[str, str]]:
    """(what goes wrong, what to do about it) of a task, for the guides.

    >>> common_mistakes("1.1")[1][1]
    'Twice too large: the two points are 2 * epsilon apart.'
    """
    entries = [m for m in [*MISTAKES, *CUDA_MISTAKES] if m.number == number]
    return [(m.name, m.advice) for m in entries]
