"""Derivatives along with the computation: within a level, tensors may have tangents, which operations carry on.

A level is an interpreter. Where an input of an operation has a tangent, that of the result is the operation's
Jacobian times it (`torch.func.jvp` of this one operation). What has no derivative drops tangents.

    >>> import minitorch.torch as torch
    >>> with dual_level():
    ...     x = make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     print(unpack_dual(x * x).tangent)
    tensor(6.)
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from ..func.transforms import jvp
from ..interpreters import Composite, Interpreter
from ..ops.record import MOVEMENT
from ..ops.writes import InPlace
from ..tensor import Tensor
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent."""

    primal: Tensor
    tangent: Tensor | None


class _Level(Interpreter):
    """Carries tangents on, of the tensors that it knows."""

    def __init__(self) -> None:
        self.tangents: dict[int, tuple[Any, Tensor]] = {}

    def tangent_of(self, value: Any) -> Tensor | None:
        """The tangent of a tensor, if it has one."""
        found = self.tangents.get(id(value)) if isinstance(value, Tensor) else None
        return None if found is None else found[1]

    def give(self, tensor: Tensor, tangent: Tensor) -> None:
        """Let a tensor have a tangent, as long as it lives."""
        key = id(tensor)
        self.tangents[key] = weakref.ref(tensor, lambda _: self.tangents.pop(key, None)), tangent

    def operation(self, op: Any, inputs: Any, params: Any, perform: Any) -> Any:
        leaves, spec = tree_flatten((list(inputs), params))
        places = [i for i, x in enumerate(leaves) if self.tangent_of(x) is not None]
        if not places or isinstance(op, Composite):
            return perform(op, inputs, params)
        if isinstance(op, InPlace) and inputs[0]._base is not None:
            raise NotImplementedError(
                f"{op.name}: writing a tensor with a tangent into a view is not supported"
            )
        record = op.op if isinstance(op, InPlace) else op

        def of_duals(*values: Tensor) -> Any:
            now = list(leaves)
            for i, value in zip(places, values, strict=True):
                now[i] = value
            args, by_name = tree_unflatten(now, spec)
            result = perform(record, args, by_name)
            made = [
                x if isinstance(x, Tensor) and x.requires_grad else None
                for x in tree_leaves(result)
            ]
            return [x for x in made if x is not None], (result, [x is not None for x in made])

        primals = tuple(leaves[i] for i in places)
        _, tangents, (result, follows) = jvp(
            of_duals, primals, tuple(map(self.tangent_of, primals)), has_aux=True
        )
        if op is not record or getattr(op, "kind", "") == MOVEMENT:
            result = perform(op, inputs, params)  # the write itself, or a view of the input
        made = [x for x, has in zip(tree_leaves(result), follows, strict=True) if has]
        for tensor, tangent in zip(made, tangents, strict=True):
            self.give(tensor, tangent)
        return result


_levels: list[_Level] = []


def enter_dual_level() -> int:
    """Let tensors have tangents from now on; returns the number of the level, 0."""
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.append(_Level())
    _levels[-1].install()
    return len(_levels) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Forget all tangents."""
    if not _levels or level not in (None, len(_levels) - 1):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _levels.pop().remove()


class dual_level:  # noqa: N801
    """Within `with`, tensors may have tangents."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of a tensor that has a tangent."""
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(
            f"Expected primal to be floating point or complex, but got: {tensor.dtype}"
        )
    if tangent.shape != tensor.shape:
        raise RuntimeError(
            f"Expected a tangent of shape {list(tensor.shape)}, as the tensor has, but got {list(tangent.shape)}"
        )
    dual = tensor.view_as(tensor)
    _levels[-1].give(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor without its tangent, and that, or None if it has none."""
    tangent = _levels[-1].tangent_of(tensor) if _levels else None
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    _levels[-1].remove()  # a view is made, without the tangent
    try:
        return UnpackedDualTensor(tensor.view_as(tensor), tangent)
    finally:
        _levels[-1].install()


def follow(rule: Any, ctx: Any, args: Any, outputs: list[Any]) -> None:
    """Give the outputs of a program's own function the tangents that its `jvp` says."""
    if not _levels or all(_levels[-1].tangent_of(x) is None for x in args):
        return
    found = rule(ctx, *map(_levels[-1].tangent_of, args))
    for out, tangent in zip(outputs, found if isinstance(found, tuple) else (found,), strict=True):
        if tangent is not None:
            _levels[-1].give(out, tangent)
