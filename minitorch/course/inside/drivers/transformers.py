"""Lesson 5: what a student's transformer is asked."""

from __future__ import annotations

import random
from typing import Any

import minitorch
from minitorch import transformer

from .tensors import leaf, shaped
from .values import values

# --- The ground floor -------------------------------------------------------------------------


def fill(module: Any) -> Any:
    """A module whose parameters are all other numbers: some start at 0 or 1, which hides mistakes."""
    for parameter in module.parameters():
        shape, size = parameter.value.shape, parameter.value.size
        row = [0.3 * x for x in values(size)] if size > 1 else values(1)
        parameter.update(minitorch.Tensor(minitorch.TensorData(_wavy(row), shape)))
    return module


def _wavy(row: list[float]) -> list[float]:
    """Numbers counted up grow too large for a transformer: wrap them around, from -1 to 1."""
    return [((7.0 * x + 3.0) % 2.3) - 1.15 for x in row]


def small(shape: Any, order: Any = None) -> Any:
    """A tensor of numbers from about -1 to 1 that wants a gradient."""
    made = leaf(shape, order)
    made._tensor._storage[:] = _wavy(list(made._tensor._storage))
    return made


def _back(out: Any) -> None:
    incoming = small(out.shape).detach()
    out.backward(incoming)


def _grad(t: Any) -> Any:
    return None if t.grad is None else shaped(t.grad)


def differentiated(out: Any, *inputs: Any) -> list[Any]:
    """A result, and the gradients of tensors for some gradient that comes in."""
    _back(out)
    return [shaped(out), *[_grad(x) for x in inputs]]


def of_module(module: Any, *inputs: Any) -> list[Any]:
    """What a module gives, with the gradients of its tensors and of its parameters."""
    out = module(*inputs)
    tensors = [x for x in inputs if hasattr(x, "grad")]
    parameters = [p.value for p in module.parameters()]
    return differentiated(out, *tensors, *parameters)


def hot(ids: Any, size: int) -> list[Any]:
    rows = transformer.one_hot(ids, size)
    return [*shaped(rows), rows.is_constant()]


def looked_up_ids(ids: Any, count: int, width: int) -> list[Any]:
    return of_module(fill(transformer.Embedding(count, width)), ids)


def embedded(ids: Any, vocabulary: int, length: int, width: int) -> list[Any]:
    return of_module(fill(transformer.TextEmbedding(vocabulary, length, width)), ids)


def normalized(shape: Any) -> list[Any]:
    return of_module(fill(transformer.LayerNorm(shape[-1])), small(shape))


def plainly_normalized(*row: float) -> list[float]:
    """A row, normalized with weights 1 and biases 0."""
    x = minitorch.tensor([list(row)])
    return transformer.LayerNorm(len(row))(x).to_numpy().ravel().tolist()


def gelu_of(*row: float) -> list[Any]:
    x = minitorch.tensor(list(row))
    return differentiated(transformer.gelu(x), x)


def mask_of(length: int) -> list[str]:
    mask = transformer.causal_mask(length)
    return [str(x) for x in mask.to_numpy().ravel().tolist()] + [str(mask.is_constant())]


def attended(shape: Any) -> list[Any]:
    q, k, v = (small(shape, order) for order in (None, (0, 2, 1), None))
    k._tensor._storage[:] = k._tensor._storage[::-1]
    return differentiated(transformer.attention(q, k, v), q, k, v)


def head_columns(shape: Any, heads: int) -> list[Any]:
    x = leaf(shape)
    return differentiated(transformer.split_heads(x, heads), x)


def heads_joined(shape: Any, heads: int) -> list[Any]:
    x = leaf(shape)
    return differentiated(transformer.join_heads(x, heads), x)


def self_attended(shape: Any, heads: int) -> list[Any]:
    return of_module(fill(transformer.CausalSelfAttention(shape[-1], heads)), small(shape))


def block_of(shape: Any, heads: int) -> list[Any]:
    return of_module(fill(transformer.Block(shape[-1], heads)), small(shape))


def _gpt(layers: int = 1) -> Any:
    return fill(transformer.GPT(5, 4, 4, 2, layers))


def scores_of(ids: Any, layers: int = 1) -> list[Any]:
    return of_module(_gpt(layers), ids)


def surprise(shape: Any, targets: Any) -> list[Any]:
    scores = small(shape)
    return differentiated(transformer.cross_entropy(scores, targets), scores)


def written(ids: list[int], count: int, temperature: float) -> list[Any]:
    """What a model writes, and the list that it was given, afterwards."""
    random.seed(5)
    return [_gpt().generate(ids, count, temperature), ids]


# --- The Torch floor ---------------------------------------------------------------------------


def _upper(kind: str, *sizes: int) -> Any:
    """A module of the Torch floor in float64, with other numbers for all parameters."""
    from minitorch import torch, torch_transformer

    module = getattr(torch_transformer, kind)(*sizes).double()
    with torch.no_grad():
        for parameter in module.parameters():
            row = _wavy([0.3 * x for x in values(parameter.numel())])
            parameter.copy_(torch.as_tensor(row).view(parameter.shape))
    return module


def _plain(t: Any) -> list[Any]:
    return [list(t.shape), t.detach().flatten().tolist()]


def _upper_tensor(shape: Any) -> Any:
    from minitorch import torch

    made = small(shape)
    flat = torch.as_tensor(made._tensor._storage.tolist(), dtype=torch.float64)
    return flat.view(*shape).requires_grad_(True)


def upper(kind: str, sizes: Any, shape: Any) -> list[Any]:
    """What a module of the Torch floor gives for numbers, and all gradients."""
    module, x = _upper(kind, *sizes), _upper_tensor(shape)
    out = module(x)
    (out * _upper_tensor(out.shape).detach()).sum().backward()
    gradients = [x.grad, *[p.grad for p in module.parameters()]]
    return [_plain(out), *[None if g is None else _plain(g) for g in gradients]]


def upper_of_ids(kind: str, sizes: Any, ids: Any) -> list[Any]:
    """What a module of the Torch floor gives for ids."""
    from minitorch import torch

    return _plain(_upper(kind, *sizes)(torch.as_tensor(ids)))


def carried(ids: Any) -> list[Any]:
    """The scores of a model of the Torch floor that got its weights from the ground floor."""
    from minitorch import torch, torch_transformer

    ground = fill(transformer.GPT(5, 4, 4, 2, 1))
    model = torch_transformer.GPT(5, 4, 4, 2, 1).double()
    torch_transformer.carry_over(ground, model)
    return [_plain(p) for p in model.parameters()] + [_plain(model(torch.as_tensor(ids)))]


def steps_of_training(ids: Any, targets: Any, rate: float) -> list[Any]:
    """The losses of two steps, and a parameter afterwards."""
    from minitorch import torch, torch_transformer

    model = _upper("GPT", 5, 4, 4, 2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    batch = torch.as_tensor(ids), torch.as_tensor(targets)
    losses = [torch_transformer.train_step(model, optimizer, *batch) for _ in range(2)]
    return [*losses, _plain(model.head.weight)]


def upper_written(ids: list[int], count: int, temperature: float) -> list[int]:
    """What a model of the Torch floor writes."""
    from minitorch import torch

    torch.manual_seed(5)
    model = _upper("GPT", 5, 4, 4, 2, 1)
    return model.generate(torch.as_tensor(ids), count, temperature).tolist()
