"""A call: a function's name, its arguments, and the text that makes it again."""

from __future__ import annotations

import math
import types
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import torch as real

from ..oracle import leaves


@dataclass
class Call:
    """What to call, in either library, with PyTorch's tensors as arguments.

    Attributes:
        name: from the library's root, as in `nn.functional.relu` or `Tensor.add_`
        written: whether the first argument is a copy of a leaf, since it will be written
        seed: of the random numbers that the call may draw
    """

    name: str
    args: list[Any]
    kwargs: dict[str, Any] = field(default_factory=dict)
    written: bool = False
    seed: int = 0

    def run(self, library: Any, args: Any, kwargs: Any) -> Any:
        """Call the function of a library."""
        if self.written:
            args = (args[0].clone(), *args[1:])
        return function(library, self.name)(*args, **kwargs)

    def code(self) -> str:
        """Python code that makes the same call with PyTorch; ours differs in the import."""
        names: dict[int, str] = {}
        lines = ["import torch  # or: import minitorch.torch as torch"]
        if self.is_random():
            lines.append(f"torch.manual_seed({self.seed})")
        for t in leaves((self.args, self.kwargs)):
            if id(t) not in names:
                names[id(t)] = "abcdefghijklmnopqrstuvwxyz"[len(names) % 26]
                lines.append(f"{names[id(t)]} = {tensor_code(t)}")
        given = [literal(v, names) for v in self.args]
        if self.written:
            given[0] += ".clone()"
        given += [f"{k}={literal(v, names)}" for k, v in self.kwargs.items()]
        return "\n".join([*lines, f"print(torch.{self.name}({', '.join(given)}))"])

    def is_random(self) -> bool:
        """Whether the result depends on the seed."""
        words = ("rand", "dropout", "normal", "uniform", "bernoulli", "poisson", "multinomial", "gumbel",
                 "exponential", "cauchy", "geometric", "binomial", "fractional", "rrelu", "gamma",
                 "dirichlet", "orthogonal_", "sparse_", "seed", "xavier", "kaiming")  # fmt: skip
        return any(w in self.name for w in words)


def function(library: Any, name: str) -> Any:
    """A function of a library by its name."""
    return reduce(getattr, name.split("."), library)


def tensor_code(t: Any) -> str:
    """Python code for a tensor: values, type, strides, whether it wants a gradient."""
    dtype = f"dtype={t.dtype}"
    wants = ".requires_grad_()" if t.requires_grad else ""
    plain = t.detach()
    if plain.is_contiguous() and plain.storage_offset() == 0 and plain.numel() <= 64:
        text = f"torch.tensor({number_list(plain)}, {dtype})"
        return text + (f".reshape({tuple(t.shape)})" if 0 in t.shape else "") + wants
    memory = real.empty(0, dtype=t.dtype).set_(plain.untyped_storage())
    period = _period(memory)
    text = f"torch.tensor({number_list(memory[:period])}, {dtype})"
    if period < len(memory):
        text += f".repeat({-(-len(memory) // period)})"
    return f"{text}.as_strided({tuple(t.shape)}, {t.stride()}, {t.storage_offset()}){wants}"


def _period(memory: Any) -> int:
    """After how many elements the memory of a tensor repeats."""
    array = real.empty(0, dtype=real.uint8).set_(memory.untyped_storage()).numpy()
    size = memory.element_size()
    rows = array[: len(memory) * size].reshape(-1, size)
    for p in (7, 16, 61):
        if len(rows) > p and np.array_equal(rows[p:], rows[:-p]):
            return p
    return max(len(rows), 1)


def number_list(t: Any) -> str:
    """The elements of a tensor as code."""
    return _numbers(t.tolist())


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_numbers, value)) + "]"
    if isinstance(value, complex):
        return f"complex({_numbers(value.real)}, {_numbers(value.imag)})"
    return (
        f"float('{value}')"
        if isinstance(value, float) and not math.isfinite(value)
        else repr(value)
    )


def literal(value: Any, names: dict[int, str]) -> str:
    """An argument as code."""
    if isinstance(value, real.Tensor):
        return names[id(value)]
    if isinstance(value, (real.dtype, real.layout, real.memory_format)):
        return str(value)
    if isinstance(value, real.device):
        return f"torch.device('{value}')"
    if isinstance(value, list):
        return "[" + ", ".join(literal(v, names) for v in value) + "]"
    if isinstance(value, tuple):
        return "(" + "".join(literal(v, names) + ", " for v in value) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {literal(v, names)}" for k, v in value.items()) + "}"
    if isinstance(value, (float, complex)):
        return _numbers(value)
    if isinstance(value, types.FunctionType):
        return "None"
    return repr(value)
