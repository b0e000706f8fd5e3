"""The tasks of module 2: strides; map, zip, reduce."""

from __future__ import annotations

from .record import Task, alike, places

_TENSOR_FORWARD = alike(
    "tensor_functions.py",
    "Mul.forward Sigmoid.forward ReLU.forward Log.forward Exp.forward Sum.forward LT.forward "
    "EQ.forward IsClose.forward Permute.forward",
    "As in module 1, on whole tensors: the backend (t1.f) has a map, zip or reduce for {}.",
    "Save what backward needs, then return t1.f.sigmoid_map(t1), t1.f.mul_zip(t1, t2), "
    "t1.f.add_reduce(t1, dim) and so on. Permute: a._new(a._tensor.permute(*order)), with order "
    "made whole numbers by _ints and saved; Sum takes its dimension through _dim.",
)

_TENSOR_OPERATORS = alike(
    "tensor.py",
    "Tensor.__add__ Tensor.__sub__ Tensor.__mul__ Tensor.__neg__ Tensor.__lt__ Tensor.__gt__ "
    "Tensor.__eq__ Tensor.is_close Tensor.sigmoid Tensor.relu Tensor.log Tensor.exp Tensor.sum "
    "Tensor.mean Tensor.all Tensor.permute Tensor.view",
    "As for Scalars: apply a Function, so that the history is kept. A plain number becomes a "
    "tensor with self._ensure_tensor.",
    "One line each: Add.apply(self, self._ensure_tensor(b)). sum and all over everything work on "
    "self.contiguous().view(self.size), dimension 0. mean is sum divided by how many were added.",
)

_TENSOR_BACKWARD = alike(
    "tensor_functions.py",
    "Mul.backward Sigmoid.backward ReLU.backward Log.backward Exp.backward Sum.backward "
    "LT.backward EQ.backward IsClose.backward Permute.backward",
    "grad_output has the shape of {}'s output. Shapes that were broadcast are summed for you "
    "afterwards; what is yours is the value, with grad_output multiplied in.",
    "Mul: the other input times g. Sigmoid: s (1 - s) g. ReLU, Log: relu_back_zip, log_back_zip of "
    "the input and g. Exp: the output times g. Sum: (g, 0.0). Comparisons: zeros. "
    "Permute: the order that undoes the saved one: where order[i] = d, inverse[d] = i.",
)

_LOOP = (
    "For every output: which index is it (to_index), which index of the input does that fall on "
    "(broadcast_index), and where in storage are the two (index_to_position)?"
)

TASKS: tuple[Task, ...] = (
    Task(
        "2.1",
        "Tensor data: indexing",
        places(
            "tensor_data.py",
            (
                "index_to_position",
                "A step in dimension d moves strides[d] places in storage.",
                "Sum index[d] * strides[d] over all dimensions.",
            ),
            (
                "to_index",
                "Like the digits of a number: the last dimension counts fastest.",
                "From the last dimension to the first: out_index[d] = rest % shape[d], then "
                "rest = rest // shape[d].",
            ),
            (
                "TensorData.permute",
                "The storage stays. Which sizes and strides does the new tensor have?",
                "TensorData(self._storage, shape, strides), with both reordered: "
                "[self.shape[i] for i in order].",
            ),
        ),
        ("test_tensor_data.py", "test_examples.py"),
        "Many numbers lie in one row. Shape and strides say where the element at an index is.",
    ),
    Task(
        "2.2",
        "Tensor broadcasting",
        places(
            "tensor_data.py",
            (
                "broadcast_index",
                "Shapes align at their right ends. A dimension of size 1 has only index 0.",
                "Let missing = len(big_shape) - len(shape). For each d of shape: "
                "out_index[d] = big_index[missing + d] if shape[d] > 1 else 0.",
            ),
            (
                "shape_broadcast",
                "Put ones in front of the shorter shape, then compare size by size.",
                "Sizes a and b: equal, or one of them is 1 (take the other); else IndexingError.",
            ),
        ),
        ("test_tensor_data.py",),
        "Operations on tensors of different shapes: where a size is 1, or missing, the tensor is repeated.",
    ),
    Task(
        "2.3",
        "Tensor operations",
        places(
            "tensor_ops.py",
            ("tensor_map._map", _LOOP, "out[position of out_index] = fn(in at in_index)."),
            ("tensor_zip._zip", _LOOP, "As map, with an index for each of the two inputs."),
            (
                "tensor_reduce._reduce",
                "The output holds the starting value. Its index, with reduce_dim running, gives "
                "the elements to combine.",
                "For each output: total = out[position]; for k in range(a_shape[reduce_dim]): "
                "index[reduce_dim] = k; total = fn(total, a at index); write total once.",
            ),
        )
        + _TENSOR_FORWARD
        + _TENSOR_OPERATORS,
        ("test_tensor.py", "test_tensor_general.py", "test_examples.py"),
        "map, zip and reduce over storage of any strides, and on top of them all functions.",
        points=15,
    ),
    Task(
        "2.4",
        "Gradients and autograd",
        _TENSOR_BACKWARD,
        ("test_tensor.py", "test_tensor_general.py", "test_optim.py", "test_examples.py"),
        "What each function's gradient is. Going through the graph is written in module 1.",
        points=15,
    ),
    Task(
        "2.5",
        "Training",
        places(
            "training/tensor_points.py",
            (
                "Linear.forward",
                "A row of x is a point. Its product with the weights is a row of outputs, and the bias "
                "is broadcast over the rows.",
                "return x @ self.weights.value + self.bias.value",
            ),
            (
                "Network.hidden",
                "As in task 1.5, without a loop: ReLU takes a whole tensor.",
                "first = self.layer1(x).relu()\nsecond = self.layer2(first).relu()\nreturn first, second",
            ),
            (
                "Network.forward",
                "layer3 turns what the second hidden layer gives into one column.",
                "first, second = self.hidden(x)\nreturn self.layer3(second).sigmoid()",
            ),
        ),
        ("test_networks.py",),
        "The network of task 1.5 on tensors: all points of a batch at once.",
        slow=10,
    ),
)
