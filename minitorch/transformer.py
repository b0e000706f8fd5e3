"""Lesson 5: a transformer that writes, from embeddings to samples.

Text is numbers here: each character has an id, a row of text is a list of ids, and a batch is a
list of rows of the same length. In the comments B is the number of rows, T how many ids each has,
C the width (how many numbers stand for one place of the text), H the number of heads and V the size
of the vocabulary.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from .module import Module, Parameter
from .nn import logsoftmax, softmax
from .tensor import Tensor
from .tensor_functions import rand, tensor, zeros
from .tensor_ops import SimpleBackend, TensorBackend

Ids = Sequence[Sequence[int]]
"""A batch of texts, B rows of T ids each."""


def _uniform(shape: tuple[int, ...], scale: float, backend: TensorBackend) -> Parameter:
    """A parameter of random numbers between -scale and scale."""
    return Parameter(((rand(shape, backend) - 0.5) * (2.0 * scale)).detach())


# --- Task 5.1: embeddings --------------------------------------------------------


def one_hot(ids: Sequence[int], size: int, backend: TensorBackend = SimpleBackend) -> Tensor:
    """A row for each id: 1.0 at the id, 0.0 elsewhere. It needs no gradient.

    Args:
        ids: whole numbers from 0 to size - 1; ValueError for any other
        size: how long the rows are
        backend: what computes

    >>> one_hot([2, 0], 3)
    [
        [0.00 0.00 1.00]
        [1.00 0.00 0.00]]
    """
    for i in ids:
        if not 0 <= i < size:
            raise ValueError(f"one_hot: ids go from 0 to {size - 1}, not {i}")
    rows = [[1.0 if place == i else 0.0 for place in range(size)] for i in ids]
    return tensor(rows, backend, requires_grad=False)


class Embedding(Module):
    """A table with a row of numbers for each id.

    Args:
        count: how many rows the table has
        width: how long they are
        backend: what the table lives on
    """

    def __init__(self, count: int, width: int, backend: TensorBackend = SimpleBackend) -> None:
        super().__init__()
        self.count, self.width, self.backend = count, width, backend
        self.weight = _uniform((count, width), 0.5, backend)

    def forward(self, ids: Ids) -> Tensor:
        """Look up a batch of ids: B rows of T ids -> (B, T, C)."""
        flat = [i for row in ids for i in row]
        rows = one_hot(flat, self.count, self.backend) @ self.weight.value  # (B * T, C)
        return rows.view(len(ids), len(ids[0]), self.width)


class TextEmbedding(Module):
    """What a text looks like to the first block: which character, and at which place.

    Args:
        vocabulary: how many characters there are
        length: how many places a text may have
        width: how many numbers stand for each
        backend: what the tables live on
    """

    def __init__(
        self, vocabulary: int, length: int, width: int, backend: TensorBackend = SimpleBackend
    ) -> None:
        super().__init__()
        self.length = length
        self.characters = Embedding(vocabulary, width, backend)
        self.places = Embedding(length, width, backend)

    def forward(self, ids: Ids) -> Tensor:
        """The row of each character plus the row of its place, 0, 1, 2, ...: -> (B, T, C)."""
        places = list(range(len(ids[0])))
        return self.characters(ids) + self.places([places])


# --- Task 5.2: layer normalization, GELU -------------------------------------------


class LayerNorm(Module):
    """Rows of mean 0 and variance 1, then scaled and shifted by what is learned.

    Args:
        width: how long the rows are
        backend: what the parameters live on
    """

    def __init__(self, width: int, backend: TensorBackend = SimpleBackend) -> None:
        super().__init__()
        self.weight = Parameter((zeros((width,), backend) + 1.0).detach())
        self.bias = Parameter(zeros((width,), backend))

    def forward(self, x: Tensor) -> Tensor:
        """Normalize along the last dimension: (..., C) -> (..., C).

        (x - mean) / sqrt(variance + EPS) * weight + bias. The variance is the mean of the squared
        differences from the mean. The square root is a logarithm halved: 1 / sqrt(v) is
        exp(-log(v) / 2), and `log` adds EPS already.
        """
        last = x.dims - 1
        centred = x - x.mean(last)
        variance = (centred * centred).mean(last)
        normal = centred * (variance.log() * -0.5).exp()
        return normal * self.weight.value + self.bias.value


def gelu(x: Tensor) -> Tensor:
    """x * sigmoid(2u) with u = sqrt(2 / pi) * (x + 0.044715 * x^3): a smooth ReLU.

    Torch calls this `gelu(x, approximate="tanh")`: sigmoid(2u) is (1 + tanh(u)) / 2.
    """
    u = (x + x * x * x * 0.044715) * math.sqrt(2.0 / math.pi)
    return x * (u * 2.0).sigmoid()


class Linear(Module):
    """x @ weight + bias along the last dimension: (..., in_size) -> (..., out_size).

    Args:
        in_size: how many inputs
        out_size: how many outputs
        backend: what the parameters live on
    """

    def __init__(self, in_size: int, out_size: int, backend: TensorBackend = SimpleBackend) -> None:
        super().__init__()
        self.weight = _uniform((in_size, out_size), 1.0 / math.sqrt(in_size), backend)
        self.bias = Parameter(zeros((out_size,), backend))

    def forward(self, x: Tensor) -> Tensor:
        """One product of matrices for all rows."""
        rows = x.contiguous().view(x.size // x.shape[-1], x.shape[-1])
        out = rows @ self.weight.value + self.bias.value
        return out.view(*x.shape[:-1], out.shape[1])


# --- Task 5.3: attention -----------------------------------------------------------


def causal_mask(length: int, backend: TensorBackend = SimpleBackend) -> Tensor:
    """0.0 where place i may look at place j, that is j <= i; minus infinity elsewhere: (T, T).

    Added to scores, it makes softmax give no weight to what comes later. It needs no gradient.

    >>> causal_mask(2)
    [
        [0.00 -inf]
        [0.00 0.00]]
    """
    places = range(length)
    rows = [[0.0 if j <= i else -math.inf for j in places] for i in places]
    return tensor(rows, backend, requires_grad=False)


def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """softmax(query @ key transposed / sqrt(C) + mask) @ value, C being the width of query.

    Each place takes a mean of the values at the places up to its own, with weights that say how well
    its query fits their keys. All three, and the result, are (N, T, C).
    """
    length, width = query.shape[1:]
    scores = query @ key.permute(0, 2, 1) / math.sqrt(width)  # (N, T, T)
    weights = softmax(scores + causal_mask(length, query.backend), 2)
    return weights @ value


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Cut the width into heads, each a batch row of its own: (B, T, C) -> (B * H, T, C / H).

    Row b * H + h of the result has the columns of head h, in order, of row b.
    """
    batch, length, width = x.shape
    cut = x.contiguous().view(batch, length, heads, width // heads).permute(0, 2, 1, 3)
    return cut.contiguous().view(batch * heads, length, width // heads)


def join_heads(x: Tensor, heads: int) -> Tensor:
    """The inverse of `split_heads`: (B * H, T, C / H) -> (B, T, C)."""
    rows, length, width = x.shape
    cut = x.contiguous().view(rows // heads, heads, length, width).permute(0, 2, 1, 3)
    return cut.contiguous().view(rows // heads, length, heads * width)


class CausalSelfAttention(Module):
    """Every place asks those before it, and itself, in several heads at once.

    Args:
        width: C, a multiple of heads
        heads: how many
        backend: what the parameters live on
    """

    def __init__(self, width: int, heads: int, backend: TensorBackend = SimpleBackend) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"a width of {width} cannot be cut into {heads} heads")
        self.heads = heads
        self.query = Linear(width, width, backend)
        self.key = Linear(width, width, backend)
        self.value = Linear(width, width, backend)
        self.merge = Linear(width, width, backend)

    def forward(self, x: Tensor) -> Tensor:
        """Queries, keys and values of x, attention in each head, then merge: (B, T, C) -> (B, T, C)."""
        query = split_heads(self.query(x), self.heads)
        key = split_heads(self.key(x), self.heads)
        value = split_heads(self.value(x), self.heads)
        return self.merge(join_heads(attention(query, key, value), self.heads))


# --- Task 5.4: the GPT -----------------------------------------------------------------


class Block(Module):
    """Attention between places, then a small network at each place by itself.

    Args:
        width: C
        heads: of the attention
        backend: what the parameters live on
    """

    def __init__(self, width: int, heads: int, backend: TensorBackend = SimpleBackend) -> None:
        super().__init__()
        self.norm1 = LayerNorm(width, backend)
        self.attention = CausalSelfAttention(width, heads, backend)
        self.norm2 = LayerNorm(width, backend)
        self.widen = Linear(width, 4 * width, backend)
        self.narrow = Linear(4 * width, width, backend)

    def forward(self, x: Tensor) -> Tensor:
        """Both parts add to x what they compute from x normalized: (B, T, C) -> (B, T, C).

        x + attention(norm1(x)) first, and to that narrow(gelu(widen(norm2(...)))).
        """
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(gelu(self.widen(self.norm2(x))))


class Sequential(Module):
    """Modules one after the other; their names are their numbers."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for number, module in enumerate(modules):
            setattr(self, str(number), module)

    def forward(self, x: Tensor) -> Tensor:
        """Through each in turn."""
        for module in self.modules():
            x = module(x)
        return x


class GPT(Module):
    """Scores of the next character at every place of a text.

    Args:
        vocabulary: V
        length: the most places it can look at
        width: C
        heads: of each block
        layers: how many blocks
        backend: what the parameters live on
    """

    def __init__(
        self,
        vocabulary: int,
        length: int = 32,
        width: int = 32,
        heads: int = 4,
        layers: int = 2,
        backend: TensorBackend = SimpleBackend,
    ) -> None:
        super().__init__()
        self.length = length
        self.embedding = TextEmbedding(vocabulary, length, width, backend)
        self.blocks = Sequential(*[Block(width, heads, backend) for _ in range(layers)])
        self.norm = LayerNorm(width, backend)
        self.head = Linear(width, vocabulary, backend)

    def forward(self, ids: Ids) -> Tensor:
        """Embedding, blocks, norm and head, in this order: B rows of T ids -> (B, T, V)."""
        return self.head(self.norm(self.blocks(self.embedding(ids))))

    def generate(self, ids: Sequence[int], count: int, temperature: float = 1.0) -> list[int]:
        """The ids, which are not changed, with `count` more behind them.

        Each is picked by `pick` from the scores at the last place, with a new `random.random()`.
        The model sees the last `length` ids at most.
        """
        text = list(ids)
        for _ in range(count):
            scores = self.forward([text[-self.length :]])  # (1, T, V)
            last = scores.to_numpy()[0, -1]
            text.append(pick(last.tolist(), temperature, random.random()))
        return text


def cross_entropy(scores: Tensor, targets: Ids) -> Tensor:
    """Minus the logarithm of the probability of the right character, its mean over all places.

    Args:
        scores: (B, T, V)
        targets: the right ids, B rows of T

    Returns:
        Shape (1,). Guessing evenly among V characters gives log(V).
    """
    batch, length, size = scores.shape
    flat = [i for row in targets for i in row]
    right = logsoftmax(scores, 2).view(batch * length, size) * one_hot(flat, size, scores.backend)
    return -right.sum() / (batch * length)


def pick(scores: Sequence[float], temperature: float, chance: float) -> int:
    """An id, drawn by a number that is even between 0 and 1.

    The probabilities are softmax(scores / temperature). Lay them side by side, from id 0 on: the id
    is the one on whose piece `chance` falls, the first for which the sum of the probabilities up to
    and with it is larger than `chance` (the last id if rounding leaves none).

    >>> pick([0.0, 0.0], 1.0, 0.4), pick([0.0, 0.0], 1.0, 0.6)
    (0, 1)
    """
    probabilities = softmax(tensor(list(scores)) / temperature, 0).to_numpy()
    total = 0.0
    for number, probability in enumerate(probabilities):
        total += probability
        if total > chance:
            return number
    return len(scores) - 1
