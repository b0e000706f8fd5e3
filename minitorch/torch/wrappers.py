"""Tensors that answer operations themselves: classes with `__torch_dispatch__`, and wrappers without memory of their own.

    class Scaled(torch.Tensor):
        @staticmethod
        def __new__(cls, inner, scale):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        ...
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None): ...

A wrapper has a shape, strides, a type and a device; its numbers are where its class keeps them. Once such a class is there, the last
to be asked about an operation is the class of its inputs (`interpreters.py`), with the call that it is in Torch. Derivatives are
recorded around the answer, as around every operation.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import environment, interpreters
from .attributes import all_attributes
from .autograd.graph import modes
from .autograd.saved import Saved, SavedOutputs
from .backends.interface import ARRAYS, resolve
from .backends.meta.array import MetaArray
from .device import device as device_class
from .dtypes import dtype as dtype_class
from .dtypes import get_default_dtype
from .interpreters import NOBODY, Composite, Interpreter, answering
from .library import called, namespace
from .nn.parameter import Parameter
from .ops.aten_calls import key_steps
from .ops.linear import LINEAR, LINEAR_BACKWARD
from .ops.nodes import make_node
from .ops.record import Op
from .tensor import Tensor, tracks


class WrapperArray(MetaArray):
    """The array of a wrapper: what is known of it without its numbers, and the device that it speaks for."""

    __slots__ = ("where",)
    where: device_class


def make_wrapper(
    cls: type[Tensor],
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: dtype_class | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    **_: Any,
) -> Any:
    """A tensor of a class with `__torch_dispatch__` that has no memory: `Tensor._make_wrapper_subclass`.

    Args:
        cls: the class
        size: its shape
        strides: in elements; None: as of a contiguous tensor
        storage_offset: unused: there is no memory
        memory_format: unused
        dtype: of the elements that it stands for
        layout: must be torch.strided
        device: that it stands for
        pin_memory: unused
        requires_grad: whether operations on it are recorded
        dispatch_sizes_strides_policy: unused: sizes are those given here
    """
    if cls not in answering:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    if layout not in (None, environment.strided):
        raise NotImplementedError(f"_make_wrapper_subclass: the layout {layout} is not here")
    kind = (dtype or get_default_dtype()).numpy
    shape = tuple(int(s) for s in size)
    steps = None if strides is None else tuple(int(s) * kind.itemsize for s in strides)
    where = resolve(device)
    resolve("meta")
    ARRAYS.setdefault(WrapperArray, ARRAYS[MetaArray])
    made: Any = object.__new__(cls)
    shadow = as_strided(np.empty((), kind), shape, steps or _compact(shape, kind.itemsize))
    made._array = WrapperArray(shadow)
    made._array.where = where
    made._requires_grad = bool(requires_grad)
    return made


def _compact(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    steps, step = [], itemsize
    for size in reversed(shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))


# --- Asking classes --------------------------------------------------------------------------------------


class _Present(Interpreter):
    """Stands in the list of interpreters, so that operations ask; it is in nobody's stack."""


def register(cls: type[Tensor]) -> None:
    """Note a class that answers."""
    if not answering:
        interpreters.installed.append(_Present())
        interpreters.answers.append(answer)
    answering.add(cls)
    if cls.detach is Tensor.detach:
        cls.detach = _detach  # type: ignore[method-assign]
    if cls.data is Tensor.data:
        cls.data = property(_detach, Tensor.data.fset)  # type: ignore[method-assign, attr-defined]
    if not hasattr(cls, "parameter_class"):
        cls.parameter_class = staticmethod(as_parameter)  # type: ignore[attr-defined]


def _detach(self: Tensor) -> Any:
    """The same, outside the graph, as the class answers it."""
    if type(self._array) is not WrapperArray:
        return Tensor.detach(self).as_subclass(type(self))
    return _dispatched(namespace("aten").detach.default, (self,), {}, [self])


def _instances(values: Any) -> list[Any]:
    """The tensors of classes that answer, in values and lists of them."""
    found = []
    for value in values:
        if type(value) in answering:
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _instances(value)
    return found


def answer(op: Any, inputs: Any, params: dict[str, Any]) -> Any:
    """What the class of an input answers to an operation; `NOBODY` where none does."""
    if type(op) is Composite or DisableTorchDispatch.depth:
        return NOBODY
    found = _instances((*inputs, *params.values()))
    if not found:
        return NOBODY
    if op is LINEAR:
        return _linear(*inputs)
    steps = key_steps(inputs[0].ndim, params["at"]) if op.name == "slice_by_key" else []
    if len(steps) > 1:
        return _indexed(inputs[0], steps)
    if op is LINEAR_BACKWARD:
        return _linear_backward(*inputs, **params)
    result = _dispatched(*called(op, inputs, params), found)
    if (
        isinstance(op, Op)
        and modes.grad
        and any(isinstance(x, Tensor) and tracks(x) for x in inputs)
    ):
        _record(op, inputs, params, result)
    return list(result) if isinstance(result, tuple) else result


def _dispatched(func: Any, args: Any, kwargs: Any, found: list[Any]) -> Any:
    types = tuple(dict.fromkeys(_own_class(type(x)) for x in found))
    before, modes.grad = modes.grad, False
    try:
        for cls in sorted(types, key=lambda c: -len(c.__mro__)):
            result = cls.__torch_dispatch__(func, types, args, kwargs)  # type: ignore[attr-defined]
            if result is not NotImplemented:
                return result
    finally:
        modes.grad = before
    raise TypeError(
        f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        + "\n".join(f"  - tensor subclass {cls}" for cls in types)
    )


def _record(op: Op, inputs: Any, params: dict[str, Any], result: Any) -> None:
    """Let results know where they come from."""
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    node = make_node(op, inputs, params)
    _save_outputs(node, results)
    layouts = []
    for place, out in enumerate(results[: op.differentiable]):
        layouts.append((out._array.shape, out._array.dtype))
        if out._array.dtype.kind in "fcV":
            out._edge, out._requires_grad = (node, place), True
    if isinstance(result, Tensor):
        node.layout = layouts[0]
    else:
        node.layouts = layouts


def _save_outputs(node: Any, results: list[Any]) -> None:
    """Keep results that derivatives name: outside the graph, so that a node does not hold itself, and of their class."""
    plan, saved = node.plan, node.saved
    if saved is None or (plan.outputs is None and not plan.named):
        return
    kept = [Saved.of(result.detach()) for result in results]
    if plan.outputs is not None:
        saved.append(SavedOutputs(kept) if plan.outputs else kept[0])
    saved += [kept[n] for n in plan.named]


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """A linear layer as the smaller operations that it is in Torch."""
    flat = input if input.ndim == 2 else input.reshape(-1, input.shape[-1])
    made = flat.mm(weight.t()) if bias is None else bias.addmm(flat, weight.t())
    return made if input.ndim == 2 else made.view(*input.shape[:-1], made.shape[-1])


def _indexed(value: Any, steps: list[Any]) -> Any:
    """An index as the operations that it is made of, each of which is asked about."""
    for name, args in steps:
        packet, way = name.split(".")
        value = getattr(getattr(namespace("aten"), packet), way)(value, *args)
    return value


def _linear_backward(grad: Tensor, input: Tensor, weight: Tensor, wanted: Any) -> list[Any]:
    flat, rows = grad.reshape(-1, grad.shape[-1]), input.reshape(-1, input.shape[-1])
    back = flat.mm(weight).reshape(input.shape) if wanted[0] else None
    return [back, flat.t().mm(rows) if wanted[1] else None, flat.sum(0) if wanted[2] else None]


class DisableTorchDispatch:
    """Within `with`, classes are not asked: `torch._C._DisableTorchDispatch`."""

    depth = 0

    def __enter__(self) -> None:
        DisableTorchDispatch.depth += 1

    def __exit__(self, *_: object) -> None:
        DisableTorchDispatch.depth -= 1


# --- Copies ----------------------------------------------------------------------------------------------


def is_wrapper(tensor: Tensor) -> bool:
    """Whether a tensor has no memory of its own."""
    return type(tensor._array) is WrapperArray


def copied(tensor: Any, memo: dict[int, Any]) -> Any:
    """A wrapper over copies of what it holds."""
    made = tensor.detach().clone()
    if type(made) is not type(tensor):
        made.__class__ = type(tensor)
    all_attributes(made).update(
        {k: copy.deepcopy(v, memo) for k, v in dict(tensor.__dict__).items()}
    )
    made._requires_grad = tensor._requires_grad
    return made


def reduced(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    """How pickle makes a wrapper again."""
    base = _own_class(type(tensor))
    about = tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device, tensor.requires_grad
    return remake, (base, isinstance(tensor, Parameter), *about, dict(tensor.__dict__))


def remake(
    cls: Any, parameter: bool, dtype: Any, shape: Any, strides: Any, device: Any, requires_grad: bool, attributes: Any
) -> Any:  # fmt: skip
    """Make a wrapper again."""
    made = make_wrapper(
        cls, shape, strides, dtype=dtype, device=device, requires_grad=requires_grad
    )
    all_attributes(made).update(attributes)
    return as_parameter(made, requires_grad) if parameter else made


@cache
def _parameter_class(cls: type[Tensor]) -> type[Tensor]:
    """The class of parameters that are of a program's class, too. The program never sees it called."""
    names = {
        "__init__": lambda self, *_, **__: None,
        "__deepcopy__": getattr(Tensor, "__deepcopy__"),  # noqa: B009
        "__torch_function__": cls.__torch_function__,  # type: ignore[attr-defined]
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
    }
    make: Any = type(cls)
    return make(cls.__name__, (cls, Parameter), names)


def _own_class(cls: type) -> Any:
    """The class as the program wrote it."""
    return cls.__bases__[0] if issubclass(cls, Parameter) else cls


def as_parameter(data: Any, requires_grad: bool = True) -> Any:
    """A tensor of a class that answers as a parameter: of that class, and of `Parameter`."""
    made = data.detach()
    if type(made) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(made).__name__} was found instead."
        )
    cls = type(made)
    made.__class__ = cls if issubclass(cls, Parameter) else _parameter_class(cls)
    made.requires_grad_(requires_grad)
    return made
