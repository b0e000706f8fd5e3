"""For each view, the function that copies what it shows: `torch.permute_copy`."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype
from ..tensor import Tensor
from .parts import slice_view
from .record import without_derivative
from .surface import FUNCTIONS, function, into, method


def _copied(name: str, view: Any) -> None:
    """`torch.name_copy`: what `name` shows, in memory of its own."""

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        shown = view(*args, **kwargs)
        result: Any = tuple(x.clone() for x in shown) if isinstance(shown, tuple) else shown.clone()
        if name == "detach":
            result = without_derivative(name, result, *args)
        if out is None:
            return result
        written = into(out, result, call.__name__)
        return None if isinstance(result, tuple) else written  # as Torch answers

    call.__name__, call.__doc__ = f"{name}_copy", f"A copy of what `{name}` shows."
    function(call)


for _name in (
    "as_strided", "detach", "diagonal", "expand", "narrow", "permute", "select", "split", "split_with_sizes",
    "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze",
):  # fmt: skip
    _copied(_name, getattr(Tensor, _name))


def _viewed(input: Tensor, *how: Any, **named: Any) -> Tensor:
    """The elements in another shape, which a copy always takes, or as another type."""
    as_type = any(isinstance(v, dtype) for v in (*how, *named.values()))
    return (input if as_type else input.contiguous()).view(*how, **named)


_copied("view", _viewed)
for _name in ("view_as_complex", "view_as_real"):
    _copied(_name, FUNCTIONS[_name])
_copied("alias", lambda input: input)
_copied("slice", slice_view)
method("narrow_copy", FUNCTIONS["narrow_copy"])
