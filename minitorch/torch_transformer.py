"""Lesson 5, the last step: the GPT of `transformer.py` on the Torch floor.

The same model in Torch's words, with the same names of parameters: numbers of type float32, ids in a
tensor, rows looked up instead of multiplied out, attention in one call, AdamW in place of SGD. What is
written here runs in PyTorch, too, with `import torch`.
"""

from __future__ import annotations

from . import torch, transformer
from .operators import EPS
from .torch import Tensor, nn

F = nn.functional


class TextEmbedding(nn.Module):
    """Which character, and at which place."""

    def __init__(self, vocabulary: int, length: int, width: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)

    def forward(self, ids: Tensor) -> Tensor:
        """The row of each character plus the row of its place, 0, 1, 2, ...: (B, T) -> (B, T, C)."""
        return self.characters(ids) + self.places(torch.arange(ids.shape[1]))


class CausalSelfAttention(nn.Module):
    """Every place asks those before it, and itself, in several heads at once."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.merge = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """As on the ground floor: (B, T, C) -> (B, T, C).

        Heads are a dimension of their own here: `scaled_dot_product_attention` takes (B, H, T, C / H),
        and with `is_causal` it masks by itself.
        """
        batch, length, width = x.shape
        parts = [
            layer(x).view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        ]  # (B, H, T, C / H) each
        y = F.scaled_dot_product_attention(*parts, is_causal=True)
        return self.merge(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention between places, then a small network at each place by itself."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=EPS)
        self.attention = CausalSelfAttention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps=EPS)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """As on the ground floor, with the same GELU: (B, T, C) -> (B, T, C)."""
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(F.gelu(self.widen(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """Scores of the next character at every place of a text.

    Args:
        vocabulary: V
        length: the most places it can look at
        width: C
        heads: of each block
        layers: how many blocks
    """

    def __init__(
        self, vocabulary: int, length: int = 64, width: int = 128, heads: int = 4, layers: int = 4
    ) -> None:
        super().__init__()
        self.length = length
        self.embedding = TextEmbedding(vocabulary, length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width, eps=EPS)
        self.head = nn.Linear(width, vocabulary)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.05)

    def forward(self, ids: Tensor) -> Tensor:
        """Embedding, blocks, norm and head, in this order: (B, T) -> (B, T, V)."""
        return self.head(self.norm(self.blocks(self.embedding(ids))))

    @torch.no_grad()
    def generate(self, ids: Tensor, count: int, temperature: float = 1.0) -> Tensor:
        """The ids (T,) with `count` more behind them, each drawn by `torch.multinomial`.

        Its probabilities are softmax(scores / temperature) at the last place. The model sees the
        last `length` ids at most.
        """
        for _ in range(count):
            scores = self.forward(ids[-self.length :][None])[0, -1]  # (V,)
            drawn = torch.multinomial((scores / temperature).softmax(0), 1)
            ids = torch.cat([ids, drawn])
        return ids


def carry_over(source: transformer.GPT, target: GPT) -> None:
    """Give a model of the Torch floor the weights of one of the ground floor of the same sizes.

    Parameters have the same names on both floors. A Linear here keeps its weight as (in, out), Torch's
    as (out, in); tables of embeddings are the same.
    """
    modules = dict(target.named_modules())
    with torch.no_grad():
        for name, parameter in source.named_parameters():
            layer, _, kind = name.rpartition(".")
            values = torch.from_numpy(parameter.value.to_numpy())
            if isinstance(modules[layer], nn.Linear) and kind == "weight":
                values = values.T
            target.get_parameter(name).copy_(values)


def train_step(model: GPT, optimizer: torch.optim.Optimizer, ids: Tensor, targets: Tensor) -> float:
    """One step of training; the loss before it.

    The loss is the cross entropy of all places, a mean. The gradient is cut to a length of 1 before
    the optimizer steps (`nn.utils.clip_grad_norm_`): a single bad batch cannot throw the model off.

    Args:
        model: what learns
        optimizer: of its parameters; its old gradients are forgotten first
        ids: (B, T)
        targets: the right next ids, (B, T)
    """
    optimizer.zero_grad()
    loss = F.cross_entropy(model.forward(ids).flatten(0, 1), targets.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()
