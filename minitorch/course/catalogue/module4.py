"""Mistakes of module 4."""

from __future__ import annotations

from .record import Mistake, in_file

MISTAKES: list[Mistake] = [
    *in_file(
        "task4_1",
        "fast_conv.py",
        (
            "backward anchored at the same end",
            "Backward is a convolution anchored at the other end: reverse=True.",
            "_convolve(grad_output, swapped, reverse=True)",
            "_convolve(grad_output, swapped, reverse=False)",
        ),
        (
            "the window reads past the end",
            "Past the end of the input there are zeros; yours reads on into the next row.",
            "0, max(0, min(out_width, width - m)), m",
            "0, max(0, min(out_width, width - m + 1)), m",
        ),
        (
            "channels of backward not swapped",
            "In backward input and output channels of the weight change places.",
            "weight._tensor.permute(1, 0, 2, 3)",
            "weight._tensor.permute(0, 1, 2, 3)",
        ),
        (
            "the weight's gradient is of the last image",
            "The weight's gradient sums over the whole batch; yours keeps the last part only.",
            "total += parts[t, o, q]",
            "total = parts[t, o, q]",
        ),
    ),
    *in_file(
        "task4_2",
        "fast_conv.py",
        (
            "anchored at the bottom",
            "The window begins at the place and goes down: i + k, or i - k with reverse.",
            "y = i - k if reverse else i + k",
            "y = i + k if reverse else i - k",
        ),
        (
            "the weights transposed",
            "Height and width of the window are exchanged.",
            "position = o * strides[0] + c * strides[1] + k * strides[2] + m * strides[3]",
            "position = o * strides[0] + c * strides[1] + m * strides[2] + k * strides[3]",
        ),
        (
            "the image below the edge is not 0",
            "Past the edge the image is 0; yours repeats the last row.",
            "inside = 0 <= y < height",
            "y = min(max(y, 0), height - 1)\n                    inside = True",
        ),
    ),
    *in_file(
        "task4_3",
        "nn.py",
        (
            "tile without permute",
            "The tiles are rows of the image, not windows. Between the two views, permute brings the window's dimensions to the end.",
            "tiles = windows.permute(0, 1, 2, 4, 3, 5).contiguous()",
            "tiles = windows.contiguous()",
        ),
        (
            "kernel height and width swapped",
            "kernel is (height, width), in this order.",
            "    kh, kw = kernel\n",
            "    kw, kh = kernel\n",
        ),
        (
            "new height and width swapped",
            "tile returns the new height first, then the new width.",
            "kh * kw), height, width\n",
            "kh * kw), width, height\n",
        ),
        (
            "the average is a sum",
            "Divide by how many elements a tile has.",
            "(total / (kh * kw))",
            "total",
        ),
        (
            "the average over the wrong dimension",
            "The mean goes over the dimensions of the window, not over those of the image.",
            "windows.sum(3).sum(5)",
            "windows.sum(2).sum(4)",
        ),
    ),
    *in_file(
        "task4_4",
        "nn.py",
        (
            "every tie gets the gradient",
            "Of several equal maxima only the first counts.",
            "return f.mul_zip(is_maximum, first)",
            "return is_maximum",
        ),
        (
            "Max.backward without grad_output",
            "Max.backward: right when the incoming gradient is 1, wrong when it is 0.37. Is grad_output multiplied in?",
            "return grad_output.f.mul_zip(argmax(input, dim), grad_output), 0.0",
            "return argmax(input, dim), 0.0",
        ),
        (
            "Max.backward to everyone",
            "The gradient goes to the maximum alone, the others receive 0.",
            "return grad_output.f.mul_zip(argmax(input, dim), grad_output), 0.0",
            "return grad_output, 0.0",
        ),
        (
            "softmax overflows",
            "exp overflows for large scores. Subtract the maximum first: nothing else changes.",
            "exponentials = _below_maximum(input, dim).exp()",
            "exponentials = input.exp()",
        ),
        (
            "softmax of everything",
            "The sum runs along dim, not over everything.",
            "return exponentials / exponentials.sum(dim)",
            "return exponentials / exponentials.sum()",
        ),
        (
            "logsoftmax overflows",
            "exp overflows for large scores. Subtract the maximum first.",
            "    shifted = _below_maximum(input, dim)\n",
            "    shifted = input\n",
        ),
        (
            "logsoftmax adds the logarithm",
            "The logarithm of a quotient is a difference: minus log of the sum.",
            "return shifted - (total - EPS).log()",
            "return shifted + (total - EPS).log()",
        ),
        (
            "dropout the wrong way round",
            "rate is the share that is dropped, not the share that is kept.",
            "backend=input.backend) < rate",
            "backend=input.backend) > rate",
        ),
        (
            "dropout scales up",
            "In the course, what is kept is not scaled up.",
            "return input * (1.0 - dropped)",
            "return input * (1.0 - dropped) / (1.0 - min(rate, 0.99))",
        ),
        (
            "dropout in evaluation too",
            "With ignore nothing is dropped: return the input.",
            "    if ignore:\n        return input\n",
            "",
        ),
        (
            "dropout of whole rows",
            "Each element is dropped by itself: as many random numbers as elements.",
            "dropped = rand(input.shape, backend=input.backend)",
            "dropped = rand((*input.shape[:-1], 1), backend=input.backend)",
        ),
        (
            "max pooling averages",
            "Take the maximum of each tile, not its mean.",
            "return max(tiles, 4)",
            "return tiles.mean(4)",
        ),
    ),
]
