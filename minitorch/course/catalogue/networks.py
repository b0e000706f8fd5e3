"""Mistakes in property tests, layers and networks, as students write them."""

from __future__ import annotations

from .record import Mistake, in_answer

_BIAS = "The bias is missing: at an input of 0 the outputs are the biases."
_NO_SIGMOID = "A probability lies between 0 and 1: the sigmoid of what the last layer gives."
_NO_RELU = "Without ReLU after the first layer two layers are one: a line of lines is a line."
_LAYER2 = "The second hidden layer is left out: layer2 comes between layer1 and layer3."

MODULE0: list[Mistake] = [
    *in_answer("task0_2", "properties.py", "arithmetic_properties",
        ("inv is not tried", "Your tests do not notice inv that is neg: ask that x times inv(x) is 1.",
         "if abs(x) > 0:\n    assert abs(x * ops.inv(x) - 1) < 0.001\n", ""),
        ("rounded numbers are compared exactly",
         "Both sides are rounded, each in its own way: compare with a tolerance, as in abs(left - right) < 1e-6.",
         "ops.is_close(ops.mul(z, ops.add(x, y)), ops.add(ops.mul(z, x), ops.mul(z, y)))",
         "ops.mul(z, ops.add(x, y)) == ops.add(ops.mul(z, x), ops.mul(z, y))"),
    ),
    *in_answer("task0_2", "properties.py", "sigmoid_properties",
        ("a flat curve passes", "1/2 everywhere has all your properties: ask for a value off 0, or for growth.",
         "assert ops.sigmoid(1) > 0.73 and ops.sigmoid(1) < 0.74\n", ""),
        ("strictly between 0 and 1", "Far out a sigmoid rounds to 0.0 or 1.0: a right one fails your test.",
         "s >= 0 and s <= 1", "s > 0 and s < 1"),
    ),
    *in_answer("task0_2", "properties.py", "relu_properties",
        ("relu_back of what is not positive is not tried",
         "Your tests do not notice relu_back that always passes d on: ask for 0 where x is not positive.",
         "    assert ops.relu_back(x, d) == 0\n", ""),
    ),
    *in_answer("task0_5", "training/manual_points.py", "Linear.forward",
        ("no bias", _BIAS, " + self.bias.value", ""),
        ("the weights exchanged", "w1 belongs to x1, and w2 to x2.",
         "x1 * self.w1.value + x2 * self.w2.value", "x2 * self.w1.value + x1 * self.w2.value"),
    ),
    *in_answer("task0_5", "training/manual_points.py", "Network.forward",
        ("no sigmoid", _NO_SIGMOID, "operators.sigmoid(self.linear.forward(x1, x2))",
         "self.linear.forward(x1, x2)"),
    ),
    *in_answer("task0_5", "training/manual_points.py", "simple_line",
        ("Simple the wrong way round", "Label 1 is where x1 < 0.5: there w1 x1 + bias must be positive.",
         "-10, 0, 5", "10, 0, -5"),
    ),
    *in_answer("task0_5", "training/manual_points.py", "diag_line",
        ("Diag at another border", "The border is x1 + x2 = 0.5: there the sum must be 0.",
         "-2, -2, 1", "-2, -2, 2"),
    ),
]  # fmt: skip

MODULE1: list[Mistake] = [
    *in_answer("task1_5", "training/scalar_points.py", "Linear.forward",
        ("no bias", _BIAS, "total = self.bias[j].value", "total = inputs[0] * 0.0"),
        ("only the last input", "Add to the total for every input; yours keeps the last one only.",
         "total = total + inputs[i]", "total = self.bias[j].value + inputs[i]"),
    ),
    *in_answer("task1_5", "training/scalar_points.py", "Network.hidden",
        ("no ReLU after the first layer", _NO_RELU,
         "[h.relu() for h in self.layer1.forward(x)]", "self.layer1.forward(x)"),
        ("the second layer is left out", _LAYER2, "self.layer2.forward(first)", "first"),
    ),
    *in_answer("task1_5", "training/scalar_points.py", "Network.forward",
        ("no sigmoid", _NO_SIGMOID, "[0].sigmoid()", "[0]"),
    ),
]  # fmt: skip

MODULE2: list[Mistake] = [
    *in_answer("task2_5", "training/tensor_points.py", "Linear.forward",
        ("no bias", _BIAS, " + self.bias.value.view(1, self.out_size)", ""),
    ),
    *in_answer("task2_5", "training/tensor_points.py", "Network.hidden",
        ("no ReLU after the first layer", _NO_RELU, "self.layer1.forward(x).relu()", "self.layer1.forward(x)"),
        ("the second layer is left out", _LAYER2, "self.layer2.forward(first).relu()", "first"),
    ),
    *in_answer("task2_5", "training/tensor_points.py", "Network.forward",
        ("no sigmoid", _NO_SIGMOID, "self.layer3.forward(second).sigmoid()", "self.layer3.forward(second)"),
    ),
]  # fmt: skip

MODULE3: list[Mistake] = [
    *in_answer("task3_5", "training/tensor_points.py", "FastTrain.__init__",
        ("the plain backend", "It trains in plain Python still: TensorBackend(FastOps) is the compiled one.",
         "backend = TensorBackend(FastOps)", "backend = SimpleBackend"),
    ),
]  # fmt: skip

MODULE4: list[Mistake] = [
    *in_answer("task4_5", "training/layers.py", "Conv1d.forward",
        ("no bias in Conv1d", _BIAS, "return out + self.bias.value", "return out"),
    ),
    *in_answer("task4_5", "training/layers.py", "Conv2d.forward",
        ("no bias in Conv2d", _BIAS, "return out + self.bias.value", "return out"),
    ),
    *in_answer("task4_5", "training/images.py", "Network.forward",
        ("dropout in evaluation, too", "In evaluation nothing is dropped: ignore=not self.training.",
         "not self.training", "False"),
        ("no ReLU after the second convolution", "Each of the two convolutions is followed by ReLU.",
         "self.conv2.forward(self.mid).relu()", "self.conv2.forward(self.mid)"),
        ("scores and no probabilities", "The network gives logarithms of probabilities: logsoftmax along dimension 1.",
         "return logsoftmax(x, 1)", "return x"),
    ),
    *in_answer("task4_5", "training/sentences.py", "CNNSentimentKim.forward",
        ("words are mixed up", "Length and size change places by permute; a view mixes words with each other.",
         "embeddings.permute(0, 2, 1).contiguous()", "embeddings.view(batch, size, length)"),
        ("the first width only", "The scores of all widths are added up.",
         "for width in self.filter_sizes[1:]:", "for width in self.filter_sizes[:0]:"),
    ),
]  # fmt: skip
