"""Conversion of modules to other dtypes and devices: every parameter, gradient and buffer of the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from ... import __future__ as choices
from ...autograd.modes import no_grad
from ...dtypes import dtype as dtype_type
from ...ops.conversion import destination
from ...ops.creation import empty_like
from ...tensor import Tensor
from ...utils.swapping import swap_tensors


class Conversions:
    """The part of a module that converts it."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    children: Callable[[], Iterator[Any]]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace each parameter, gradient and buffer by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for name, parameter in self._parameters.items():
                if parameter is not None:
                    self._parameters[name] = _converted(parameter, fn)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the module's floating point tensors to a dtype, or move it to a device."""
        kind, where, _, memory_format = destination(args, dict(kwargs))
        if kind is not None and not (kind.is_floating_point or kind.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={kind}"
            )

        def convert(tensor: Tensor) -> Tensor:
            if where is not None:
                if tensor.is_meta and where.type != "meta":
                    raise NotImplementedError(
                        "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                        "torch.nn.Module.to() when moving module from meta to a different device."
                    )
                tensor = tensor.to(where)
            if kind is not None and (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
                tensor = tensor.to(kind)
            if memory_format is not None and tensor.ndim in (4, 5):
                tensor = tensor.to(memory_format=memory_format)
            return tensor

        return self._apply(convert)

    def type(self, dst_type: dtype_type | str) -> Self:
        """Convert all tensors of the module to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert the module to float32."""
        return _as_floating(self, "float")

    def double(self) -> Self:
        """Convert the module to float64."""
        return _as_floating(self, "double")

    def half(self) -> Self:
        """Convert the module to float16."""
        return _as_floating(self, "half")

    def bfloat16(self) -> Self:
        """Convert the module to bfloat16."""
        return _as_floating(self, "bfloat16")

    def cpu(self) -> Self:
        """Move the module to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move the module to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move the module to a device, with uninitialized memory."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def share_memory(self) -> Self:
        """Move the module to shared memory."""
        return self._apply(lambda tensor: tensor.share_memory_())


def _converted(parameter: Any, fn: Callable[[Tensor], Tensor]) -> Any:
    """A parameter and its gradient after `fn`: the same object, unless `torch.__future__` asks for a new one."""
    made, gradient = fn(parameter), parameter._grad
    overwrites = choices.get_overwrite_module_params_on_conversion()
    if not overwrites and not choices.get_swap_module_params_on_conversion():
        parameter.data = made
        if gradient is not None:
            gradient.data = fn(gradient)
        return parameter
    new = type(parameter)(made, parameter.requires_grad)
    new._grad = None if gradient is None else fn(gradient)
    if overwrites:
        return new
    swap_tensors(parameter, new)
    return parameter


def _as_floating(module: Any, name: str) -> Any:
    """Convert the module's floating point tensors to the dtype that a method's name says."""
    return module._apply(
        lambda tensor: getattr(tensor, name)() if tensor.dtype.is_floating_point else tensor
    )
