"""Mistakes of module 2."""

from __future__ import annotations

from .record import Mistake, in_file

MISTAKES: list[Mistake] = [
    *in_file(
        "task2_1",
        "tensor_data.py",
        (
            "index_to_position goes through the index",
            "The index may be a longer buffer: go through the strides, and ignore the rest.",
            "    for d in range(len(strides)):\n",
            "    for d in range(len(index)):\n",
        ),
        (
            "the first dimension counts fastest",
            "Counting through a shape, the last dimension moves fastest. Start from the back.",
            "for d in range(len(shape) - 1, -1, -1):",
            "for d in range(len(shape)):",
        ),
        (
            "position without strides",
            "A step in dimension d moves strides[d] places, not one.",
            "position += int(index[d]) * int(strides[d])",
            "position += int(index[d])",
        ),
        (
            "permute keeps the strides",
            "Shape and strides are reordered together; your strides stayed.",
            "[self.strides[d] for d in order]",
            "self.strides",
        ),
        (
            "permute makes new strides",
            "The storage stays as it is, so strides must be reordered, not recomputed.",
            "self._storage, [self.shape[d] for d in order], [self.strides[d] for d in order]",
            "self._storage, [self.shape[d] for d in order]",
        ),
        (
            "negative indices wrap",
            "Negative indices are out of range here: IndexingError.",
            "if not 0 <= i < size:",
            "if not -size <= i < size:",
        ),
        (
            "an index may be as large as the size",
            "Indices run from 0 to size - 1; size itself is out of range.",
            "if not 0 <= i < size:",
            "if not 0 <= i <= size:",
        ),
    ),
    *in_file(
        "task2_2",
        "tensor_data.py",
        (
            "the larger size wins",
            "A size may be 0, and what is 1 is repeated 0 times then. The size that is not 1 wins.",
            "tuple(b if a == 1 else a for a, b in zip(padded1, padded2, strict=True))",
            "tuple(max(a, b) for a, b in zip(padded1, padded2, strict=True))",
        ),
        (
            "shape_broadcast gives a list",
            "A shape is a tuple: no list is equal to one.",
            "tuple(b if a == 1 else a for a, b in zip(padded1, padded2, strict=True))",
            "[b if a == 1 else a for a, b in zip(padded1, padded2, strict=True)]",
        ),
        (
            "aligned at the left",
            "Shapes align at their right ends. Skip the leading dimensions that shape lacks.",
            "big_index[missing + d] if shape[d] > 1 else 0",
            "big_index[d] if shape[d] > 1 else 0",
        ),
        (
            "dimensions of size 1 are not copied",
            "A dimension of size 1 has only index 0, wherever the big index is.",
            "big_index[missing + d] if shape[d] > 1 else 0",
            "big_index[missing + d]",
        ),
        (
            "any shapes broadcast",
            "Sizes that differ, neither of them 1, do not broadcast: IndexingError.",
            "if a != b and a != 1 and b != 1:",
            "if a != b and not (a and b):",
        ),
        (
            "only equal shapes broadcast",
            "Either of the two sizes may be 1. Yours allows it on one side only.",
            "if a != b and a != 1 and b != 1:",
            "if a != b and a != 1:",
        ),
        (
            "shapes aligned at the left",
            "Shapes align at their right ends: the ones are put in front.",
            "padded1 = (1,) * (dims - len(shape1)) + tuple(shape1)\n"
            "    padded2 = (1,) * (dims - len(shape2)) + tuple(shape2)",
            "padded1 = tuple(shape1) + (1,) * (dims - len(shape1))\n"
            "    padded2 = tuple(shape2) + (1,) * (dims - len(shape2))",
        ),
    ),
    *in_file(
        "task2_3",
        "tensor_ops.py",
        (
            "map does not broadcast",
            "The input may be smaller than the output: broadcast_index finds its index.",
            "broadcast_index(out_index, out_shape, in_shape, in_index)",
            "in_index[:] = out_index[: len(in_shape)] % in_shape",
        ),
        (
            "map writes by ordinal",
            "Right for contiguous outputs only. The place in out comes from out_index and out_strides.",
            "out[index_to_position(out_index, out_strides)] = fn(float(x))\n",
            "out[i] = fn(float(x))\n",
        ),
        (
            "map reads by ordinal",
            "Right for contiguous inputs only. The place in the input comes from in_index and in_strides.",
            "x = in_storage[index_to_position(in_index, in_strides)]",
            "x = in_storage[i % len(in_storage)]",
        ),
        (
            "zip reads b at a's index",
            "b has an index and strides of its own.",
            "y = b_storage[index_to_position(b_index, b_strides)]",
            "y = b_storage[index_to_position(a_index, a_strides) % len(b_storage)]",
        ),
        (
            "zip writes by ordinal",
            "Right for contiguous outputs only. The place in out comes from out_index and out_strides.",
            "out[index_to_position(out_index, out_strides)] = fn(float(x), float(y))",
            "out[i] = fn(float(x), float(y))",
        ),
        (
            "zip swaps its arguments",
            "fn gets a's element first: fn(x, y).",
            "= fn(float(x), float(y))",
            "= fn(float(y), float(x))",
        ),
        (
            "reduce ignores the starting value",
            "out holds the starting value: fold into that, not into 0.",
            "total = float(out[position])",
            "total = 0.0",
        ),
        (
            "reduce reads with the output's strides",
            "Elements of a are found with a_strides, not with out_strides.",
            "index_to_position(index, a_strides)",
            "index_to_position(index, out_strides) % len(a_storage)",
        ),
        (
            "reduce writes by ordinal",
            "Right for contiguous outputs only. The place comes from the index and out_strides.",
            "position = index_to_position(index, out_strides)",
            "position = i",
        ),
        (
            "reduce leaves out the last",
            "One element per output is missing. Where does the inner loop end?",
            "for k in range(a_shape[reduce_dim]):",
            "for k in range(max(1, a_shape[reduce_dim] - 1)):",
        ),
    ),
    *in_file(
        "task2_3",
        "tensor_functions.py",
        (
            "IsClose is EQ",
            "IsClose allows a difference of 0.01: is_close_zip.",
            "return a.f.is_close_zip(a, b)",
            "return a.f.eq_zip(a, b)",
        ),
        (
            "LT swaps its arguments",
            "a < b: a is the first argument of lt_zip.",
            "return a.f.lt_zip(a, b)",
            "return a.f.lt_zip(b, a)",
        ),
        (
            "All adds",
            "All is true where the product is: mul_reduce.",
            "return a.f.mul_reduce(a, _dim(dim))",
            "return a.f.add_reduce(a, _dim(dim))",
        ),
        (
            "view of what is not contiguous",
            "view cannot look at permuted storage: refuse it.",
            "if not a._tensor.is_contiguous():",
            "if a.size < 0:",
        ),
    ),
    *in_file(
        "task2_3",
        "tensor.py",
        (
            "greater is less",
            "a > b is b < a: swap the arguments of LT.",
            "return LT.apply(self._ensure_tensor(b), self)",
            "return LT.apply(self, self._ensure_tensor(b))",
        ),
        (
            "mean over a dimension divides by the whole size",
            "Over one dimension, divide by that dimension's size.",
            "return total / (self.size / total.size)",
            "return total / self.size",
        ),
        (
            "requires_grad_ ignores its argument",
            "requires_grad_(False) makes a constant: history None.",
            "        if not x:\n            self.history = None\n        elif not self.is_leaf():",
            "        if not self.is_leaf():",
        ),
    ),
    *in_file(
        "task2_4",
        "tensor_functions.py",
        (
            "Sigmoid.backward without grad_output",
            "Sigmoid.backward: right when the incoming gradient is 1, wrong when it is 0.37. Is grad_output multiplied in?",
            "return f.mul_zip(f.mul_zip(out, rest), grad_output)",
            "return f.mul_zip(out, rest)",
        ),
        (
            "Mul.backward not crossed",
            "The gradient of a is b times grad_output, and the other way round. Yours are not crossed.",
            "f.mul_zip(b, grad_output) if ctx.needs(0) else None,\n"
            "            f.mul_zip(a, grad_output) if ctx.needs(1) else None,",
            "f.mul_zip(a, grad_output) if ctx.needs(0) else None,\n"
            "            f.mul_zip(b, grad_output) if ctx.needs(1) else None,",
        ),
        (
            "Exp.backward without grad_output",
            "Exp.backward: right when the incoming gradient is 1, wrong when it is 0.37. Is grad_output multiplied in?",
            "return grad_output.f.mul_zip(out, grad_output)",
            "return out",
        ),
        (
            "Log.backward swaps its arguments",
            "log_back_zip takes the input first, then grad_output.",
            "grad_output.f.log_back_zip(t1, grad_output)",
            "grad_output.f.log_back_zip(grad_output, t1)",
        ),
        (
            "Inv.backward without the square",
            "The derivative of 1/x is -1/x²; the square is missing.",
            "return grad_output.f.inv_back_zip(t1, grad_output)",
            "return grad_output.f.neg_map(grad_output.f.log_back_zip(t1, grad_output))",
        ),
        (
            "ReLU.backward looks at the gradient",
            "Whether the gradient passes depends on the input of forward, not on the gradient.",
            "grad_output.f.relu_back_zip(t1, grad_output)",
            "grad_output.f.relu_back_zip(grad_output, grad_output)",
        ),
        (
            "Neg.backward passes on",
            "The derivative of -x is -1: the sign turns round.",
            "return grad_output.f.neg_map(grad_output)",
            "return grad_output",
        ),
        (
            "LT.backward passes on",
            "A step is flat on both sides: both gradients are zeros.",
            '"""A step is flat on both sides."""\n        return grad_output.zeros(), grad_output.zeros()',
            '"""A step is flat on both sides."""\n        return grad_output, grad_output',
        ),
        (
            "Permute.backward by the same order",
            "The shape may be right, but entries sit in the wrong place: they match the gradient permuted by forward's order again. Undo it.",
            "inverse = np.argsort(order).tolist()",
            "inverse = list(order)",
        ),
        (
            "Permute.backward reverses the order",
            "The inverse of an order is not the order read backwards: where order[i] = d, inverse[d] = i.",
            "inverse = np.argsort(order).tolist()",
            "inverse = list(order)[::-1]",
        ),
        (
            "Permute.backward has only the right shape",
            "The shape is right, but entries sit in the wrong place. Permute the gradient, do not just view it.",
            "return grad_output._new(grad_output._tensor.permute(*inverse)), 0.0",
            "shape = [grad_output.shape[d] for d in inverse]\n"
            "        return grad_output._new(TensorData(grad_output._tensor._storage, shape)), 0.0",
        ),
        (
            "View.backward takes storage as it lies",
            "The incoming gradient may be permuted: make it contiguous before looking at its storage.",
            "contiguous = grad_output.detach().contiguous()",
            "contiguous = grad_output",
        ),
        (
            "Sum.backward is 1",
            "Every summed element receives grad_output, not 1.",
            '"""G, which broadcasts back over the dimension."""\n        return grad_output, 0.0',
            '"""G, which broadcasts back over the dimension."""\n        return 1.0, 0.0',
        ),
    ),
    *in_file(
        "task2_4",
        "tensor.py",
        (
            "the second gradient replaces the first",
            "accumulate_derivative adds to the gradient that is there; yours replaces it.",
            "self.grad = self.f.id_map(x) if self.grad is None else self.f.add_zip(self.grad, x)",
            "self.grad = self.f.id_map(x)",
        ),
        (
            "the gradient is the tensor that came in",
            "The gradient must be a tensor of its own: others may write to the one that came in.",
            "self.grad = self.f.id_map(x) if self.grad is None",
            "self.grad = x if self.grad is None",
        ),
        (
            "constants are not left out",
            "Constants get no gradient: leave them out of chain_rule.",
            "if is_tensor(value) and not value.is_constant()",
            "if is_tensor(value)",
        ),
        (
            "what was copied along size 1 is not summed",
            "Where forward copied along a dimension of size 1, gradients add up.",
            "other = self.f.add_reduce(other, dim)",
            "other = other if dim >= missing else self.f.add_reduce(other, dim)",
        ),
    ),
]
