"""For each view, the function that copies it: `torch.permute_copy`."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype
from ..tensor import Tensor
from .parts import slice_view
from .record import without_derivative
from .surface import FUNCTIONS, function, into, method


def _copied(name: str, view: Any) -> None:
    """Declare `torch.name_copy`: a copy of the view `name`."""

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        shown = view(*args, **kwargs)
        result: Any = tuple(x.clone() for x in shown) if isinstance(shown, tuple) else shown.clone()
        if name == "detach":
            result = without_derivative(name, result, *args)
        if out is None:
            return result
        written = into(out, result, call.__name__)
        return None if isinstance(result, tuple) else written  # as in Torch

    call.__name__, call.__doc__ = f"{name}_copy", f"`{name}`, as a copy in place of a view."
    function(call)


for _name in (
    "as_strided", "detach", "diagonal", "expand", "narrow", "permute", "select", "split", "split_with_sizes",
    "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze",
):  # fmt: skip
    _copied(_name, getattr(Tensor, _name))


def _viewed(input: Tensor, *how: Any, **named: Any) -> Tensor:
    """A view with another shape, after a copy if needed, or another dtype."""
    as_type = any(isinstance(v, dtype) for v in (*how, *named.values()))
    return (input if as_type else input.contiguous()).view(*how, **named)


_copied("view", _viewed)
for _name in ("view_as_complex", "view_as_real"):
    _copied(_name, FUNCTIONS[_name])
_copied("alias", lambda input: input)
_copied("slice", slice_view)
method("narrow_copy", FUNCTIONS["narrow_copy"])
