"""The tasks of module 4: networks."""

from __future__ import annotations

from .record import Task, places

TASKS: tuple[Task, ...] = (
    Task(
        "4.1",
        "1D convolution",
        places(
            "fast_conv.py",
            (
                "_tensor_conv1d",
                "For each batch, output channel and place: sum over input channels and the "
                "window. The window begins at the place; with reverse it ends there.",
                "at = i + k, or i - k with reverse; where 0 <= at < width of the input, add "
                "weight[o, c, k] * input[b, c, at]. Positions by strides; write once.",
            ),
        ),
        ("test_conv.py", "test_examples.py"),
        "A window slides along a sequence; past the end there are zeros.",
    ),
    Task(
        "4.2",
        "2D convolution",
        places(
            "fast_conv.py",
            (
                "_conv2d",
                "As in one dimension, with a window of height and width.",
                "Loops over b (prange), o, i, j and then c, k, m; the input is read at "
                "(i + k, j + m), or (i - k, j - m) with reverse, inside the image only.",
            ),
        ),
        ("test_conv.py",),
        "A window slides over an image; backward is a convolution anchored at the other corner.",
    ),
    Task(
        "4.3",
        "Pooling",
        places(
            "nn.py",
            (
                "tile",
                "view cuts a dimension in two, permute brings the two window dimensions to the "
                "end, a last view joins them.",
                "contiguous, view(b, c, h // kh, kh, w // kw, kw), permute(0, 1, 2, 4, 3, 5), "
                "contiguous, view(b, c, h // kh, w // kw, kh * kw).",
            ),
            ("avgpool2d", "tile, then a mean.", "mean over dimension 4, then view without it."),
        ),
        ("test_nn.py", "test_examples.py"),
        "Pooling is a reduction, once the image is cut into tiles.",
    ),
    Task(
        "4.4",
        "Softmax and dropout",
        places(
            "nn.py",
            (
                "argmax",
                "1.0 where the element equals the maximum; of several, only at the first.",
                "f.eq_zip(input, f.max_reduce(input, dim)) marks all; number the places n ... 1 "
                "and keep the highest number among the marked.",
            ),
            (
                "Max.forward",
                "The backend has max_reduce.",
                "ctx.save_for_backward(input, dim)\nreturn input.f.max_reduce(input, dim)",
            ),
            (
                "Max.backward",
                "The gradient goes to the element that was the maximum.",
                "input, dim = ctx.saved_values\nreturn argmax(input, dim) * grad_output, 0.0",
            ),
            ("max", "Apply Max.", "return Max.apply(input, dim)"),
            (
                "softmax",
                "exp overflows at 710. Subtracting the maximum changes nothing.",
                "e = (input - max of the detached input).exp(); e / e.sum(dim)",
            ),
            (
                "logsoftmax",
                "log of the quotient is a difference: x - log(sum of exp(x)), shifted by the "
                "maximum.",
                "With m the maximum: input - m - (input - m).exp().sum(dim).log(). It is off by EPS, "
                "which log adds; (total - EPS).log() is exact.",
            ),
            ("maxpool2d", "tile, then a maximum.", "max(tiles, 4), then view without it."),
            (
                "dropout",
                "Random numbers in [0, 1): those below rate mark what is dropped.",
                "ignore: return input. Else input * (1.0 - (rand(input.shape) < rate)), with the "
                "input's backend.",
            ),
        ),
        ("test_nn.py", "test_examples.py"),
        "From scores to probabilities, without overflow; and dropout, so that a network relies on no single number.",
        points=15,
    ),
    Task(
        "4.4b",
        "Convolution on CUDA (extra)",
        places(
            "cuda_conv.py",
            (
                "_tensor_conv1d",
                "One output per group of threads; each sums a part of channels x window.",
                "Guard reads and the write; sum the lanes with _sum_lanes.",
            ),
            (
                "_tensor_conv2d",
                "As in one dimension, with a window of two.",
                "Guard reads and the write; sum the lanes with _sum_lanes.",
            ),
        ),
        ("test_cuda_conv.py",),
        "The convolutions of 4.1 and 4.2 as CUDA kernels.",
    ),
    Task(
        "4.5",
        "Training",
        (
            *places(
                "training/layers.py",
                (
                    "Conv1d.forward",
                    "The convolution of task 4.1, of the input and the layer's weights; then the bias, "
                    "which is broadcast.",
                    "return _convolutions().conv1d(input, self.weights.value) + self.bias.value",
                ),
                (
                    "Conv2d.forward",
                    "The convolution of task 4.2, of the input and the layer's weights; then the bias.",
                    "return _convolutions().conv2d(input, self.weights.value) + self.bias.value",
                ),
            ),
            *places(
                "training/images.py",
                (
                    "Network.forward",
                    "Follow the table of the guide, shape by shape; keep the outputs of the two "
                    "convolutions as self.mid and self.out.",
                    "self.mid = self.conv1(x).relu()\n"
                    "self.out = self.conv2(self.mid).relu()\n"
                    "pooled = avgpool2d(self.out, (self.pool, self.pool)).view(x.shape[0], self.flat)\n"
                    "hidden = dropout(self.linear1(pooled).relu(), self.rate, not self.training)\n"
                    "return logsoftmax(self.linear2(hidden), 1)",
                ),
            ),
            *places(
                "training/sentences.py",
                (
                    "CNNSentimentKim.forward",
                    "Embeddings are batch x length x size; a convolution wants batch x size x length, "
                    "which is a permute and no view.",
                    "words = embeddings.permute(0, 2, 1).contiguous(); add up self._score(words, width) "
                    "over self.filter_sizes; sigmoid, and view as (batch,).",
                ),
                (
                    "CNNSentimentKim._score",
                    "Of each feature the maximum over the positions, dimension 2, and its ReLU; dropout; "
                    "the layer of this width.",
                    "getattr(self, f'conv{width}') is the convolution, getattr(self, f'linear{width}') "
                    "the layer. nn.max(convolved, 2).relu() is (batch, features, 1): view it as (batch, "
                    "features), drop with nn.dropout(..., self.rate, ignore=not self.training).",
                ),
            ),
        ),
        ("test_networks.py",),
        "Layers with convolutions, a network that reads digits, and one that reads sentences.",
        points=15,
        slow=10,
    ),
)
