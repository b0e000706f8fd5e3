"""How many floating point operations the products, convolutions and attentions of a program are.

>>> import minitorch.torch as torch
>>> with FlopCounterMode(display=False) as counter:
...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
>>> counter.get_total_flops()
48
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import Any

from ..interpreters import Composite, Interpreter
from ..nn.modules.calls import register_module_forward_hook, register_module_forward_pre_hook
from ..nn.modules.module import Module

Count = Callable[[Any, Any, dict[str, Any]], int]
"""Of inputs, result and parameters of an operation, the number of multiplications and additions."""


def _attention(inputs: Any, result: Any, params: dict[str, Any]) -> int:
    query, key, value = inputs[:3]
    return 2 * prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1])


def _linear_backward(inputs: Any, result: Any, params: dict[str, Any]) -> int:
    gradient, _, weight = inputs
    return 2 * gradient.numel() * weight.shape[1] * sum(params["wanted"][:2])


_PRODUCTS: dict[str, tuple[str, Count]] = {
    "mm": ("mm", lambda x, out, _: 2 * out.numel() * x[0].shape[-1]),
    "matmul": ("bmm", lambda x, out, _: 2 * out.numel() * x[0].shape[-1]),
    "bmm": ("bmm", lambda x, out, _: 2 * out.numel() * x[0].shape[-1]),
    "linear": ("addmm", lambda x, out, _: 2 * out.numel() * x[1].shape[1]),
    "linear_backward": ("mm", _linear_backward),
    "convolution": ("convolution", lambda x, out, _: 2 * out.numel() * prod(x[1].shape[1:])),
    "conv_transpose": ("convolution", lambda x, _, __: 2 * x[0].numel() * prod(x[1].shape[1:])),
    "convolution_backward_weight": (
        "convolution_backward",
        lambda x, _, params: 2 * x[0].numel() * prod(params["shape"][1:]),
    ),
    "scaled_dot_product_attention": ("scaled_dot_product_attention", _attention),
}
"""The records that are counted: Torch's name for them, and their count."""


class FlopCounterMode(Interpreter):
    """Counts within `with`; for each module, what its forward computes.

    Args:
        mods: unused, as newer programs leave it
        depth: how many levels of modules the table shows
        display: write the table to the standard output at the end
        custom_mapping: for operations of `torch.ops`, functions that count: of the inputs and `out_val`
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._custom = {op.__name__: fn for op, fn in (custom_mapping or {}).items()}
        self._path = ["Global"]
        self._names: dict[Module, str] = {}
        self._hooks: list[Any] = []

    def operation(self, op: Any, inputs: Any, params: dict[str, Any], perform: Any) -> Any:
        result = perform(op, inputs, params)
        if isinstance(op, Composite):  # what it is made of is counted
            return result
        custom = self._custom.get(op.name)
        name, count = _PRODUCTS.get(op.name, (op.name, None))
        if custom is not None:
            count = lambda inputs, result, _: custom(*inputs, out_val=result)  # noqa: E731
        if count is not None:
            flops = count(inputs, result, params)
            for place in set(self._path):
                self.flop_counts[place][name] += flops
        return result

    def _enter_module(self, module: Module, _: Any) -> None:
        self._path.append(self._names.get(module) or self._note(module))

    def _note(self, root: Module) -> str:
        """Name a module that is called from outside of others, and all within it."""
        for name, module in root.named_modules(prefix=type(root).__name__):
            self._names.setdefault(module, name)
        return self._names[root]

    def _leave_module(self, *_: Any) -> None:
        self._path.pop()

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._names.clear()
        self._hooks = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module),
        ]
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
        for hook in self._hooks:
            hook.remove()
        del self._path[1:]
        if self.display:
            sys.stdout.write(self.get_table(self.depth) + "\n")

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """For "Global" and for each module's name, the counts by operation."""
        return {place: dict(counts) for place, counts in self.flop_counts.items()}

    def get_total_flops(self) -> int:
        """The count of everything."""
        return sum(self.flop_counts["Global"].values())

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, a line for each module of the first levels."""
        levels = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        lines = [f"{'Module':40}{'FLOP':>14}{'% Total':>10}"]
        for place, counts in self.flop_counts.items():
            level = 0 if place == "Global" else place.count(".") + 1
            if level <= levels:
                flops = sum(counts.values())
                lines.append(f"{' ' * level + place:40}{flops:>14,}{flops / total:>10.2%}")
        return "\n".join(lines)
