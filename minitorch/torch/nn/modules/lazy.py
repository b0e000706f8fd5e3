"""Modules whose parameters get their shapes from the first input."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...declarations import constructor_of
from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy


class LazyModuleMixin:
    """A mixin for lazy modules: the first call creates the parameters, then the module changes its class.

    Subclasses implement `initialize_parameters(*args)`, and may name the class to change to in
    `cls_to_become`, or as `becomes` in their headers.
    """

    cls_to_become: type[Any] | None = None

    def __init_subclass__(cls, becomes: type[Any] | None = None, **constants: Any) -> None:
        super().__init_subclass__(**constants)
        cls.cls_to_become = becomes or cls.cls_to_become
        if becomes is not None and cls.__init__ is LazyModuleMixin.__init__:
            cls.__init__ = _constructor(cls, becomes)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        module._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        module._initialize_hook = module.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *_: Any) -> None:
        """Materialize parameters with the shapes in a state dict."""
        for name, mine in self._tensors():
            given = state_dict.get(prefix + name)
            if is_lazy(mine) and given is not None and not is_lazy(given):
                mine.materialize(given.shape)

    def _tensors(self) -> list[tuple[str, Any]]:
        module: Any = self
        return [*module._parameters.items(), *module._buffers.items()]

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Create the parameters for an input; for subclasses to implement."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether some parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for _, tensor in self._tensors())

    def _infer_parameters(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> None:
        """The hook before the first call: create the parameters, and change the class."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        for hook in ("_initialize_hook", "_load_hook"):
            getattr(module, hook).remove()
            delattr(module, hook)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


def _constructor(cls: type, eager: type) -> Callable[..., None]:
    """The constructor of a layer without its first argument, the number of inputs."""
    inputs, outputs, *others = inspect.signature(eager).parameters.values()

    def build(self: Any, arguments: dict[str, Any]) -> None:
        sizes = {inputs.name: 0, outputs.name: 0}
        LazyModuleMixin.__init__(self, **{**arguments, **sizes, "bias": False})
        setattr(self, outputs.name, arguments[outputs.name])
        device, dtype, bias = (arguments[name] for name in ("device", "dtype", "bias"))
        await_parameters(self, device, dtype, weight=True, bias=bias)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return constructor_of(cls, [own, outputs, *others], build)


def await_parameters(module: Any, device: Any, dtype: Any, **wanted: bool) -> None:
    """Register parameters without a shape, or None."""
    for name, is_wanted in wanted.items():
        if is_wanted:
            setattr(module, name, UninitializedParameter(device=device, dtype=dtype))


def await_buffers(module: Any, device: Any, dtype: Any, *names: str) -> None:
    """Register buffers without a shape."""
    for name in names:
        setattr(module, name, UninitializedBuffer(device=device, dtype=dtype))
