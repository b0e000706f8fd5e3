"""Parameters that are functions of others: `module.weight` computes, `module.weight = x` inverts.

A module with such a parameter gets a class of its own, a subclass of its old one, where the
parameter's name is a property. What is learned stands in `module.parametrizations.<name>`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...autograd.modes import no_grad
from ...tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter


class _Cache:
    """The tensors that parametrizations have computed within `cached()`."""

    depth = 0
    tensors: dict[tuple[int, str], Tensor] = {}  # noqa: RUF012


@contextmanager
def cached() -> Iterator[None]:
    """Within a `with` block, compute each parametrized tensor only once."""
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.tensors = {}


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The chain of functions that computes one parameter, and the original tensors."""

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1
        if isinstance(new, Tensor):
            self._hold_one(original, new)
        else:
            self._hold_several(original, new)
        if not unsafe:
            flag = "unless `unsafe` flag is enabled."
            _check_like(self(), dtype, shape, "unparametrized {}", "parametrized {}", flag)

    def _hold_one(self, original: Tensor, new: Tensor) -> None:
        """Keep the parameter itself, which optimizers hold, with a new value."""
        if original.dtype != new.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
            )
        original.data = new
        _register(self, "original", original)

    def _hold_several(self, original: Tensor, new: Any) -> None:
        """Keep several tensors from which the parameter is computed."""
        if not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.ntensors = len(new)
        for i, tensor in enumerate(new):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)."
                    f" Got element {i} of the sequence with type {type(tensor).__name__}."
                )
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            _register(self, f"original{i}", tensor.requires_grad_(original.requires_grad))

    def _originals(self) -> list[Any]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Set the original tensors so that the parameter has a value."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
        self._check_inverse(value)
        values = [value] if self.is_tensor else list(value)
        for i, (old, new) in enumerate(zip(self._originals(), values, strict=True)):
            if old.dtype != new.dtype:
                which = ("The tensor", "") if self.is_tensor else (f"Tensor {i}", str(i))
                raise ValueError(
                    f"{which[0]} returned by `right_inverse` has dtype {new.dtype} while "
                    f"`original{which[1]}` has dtype {old.dtype}"
                )
            old.data = new

    def _check_inverse(self, value: Any) -> None:
        kind = type(value).__name__
        if self.is_tensor and not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {kind}")
        if not self.is_tensor and not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {kind}.")
        if not self.is_tensor and len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                f"Got a sequence of length {len(value)}."
            )

    def forward(self) -> Any:
        value = self._modules["0"](*self._originals())
        for i in range(1, len(self)):
            value = self._modules[str(i)](value)
        return value


def _check_like(value: Any, dtype: Any, shape: Any, before: str, after: str, flag: str) -> None:
    """ValueError unless a parametrization keeps the tensor's dtype and shape."""
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
    for what, old, new in (("dtype", dtype, value.dtype), ("shape", shape, value.shape)):
        if old != new:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, {flag}\n"
                f"{before.format(what)}: {old}\n{after.format(what)}: {new}"
            )


# --- The class with properties -------------------------------------------------------------------


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    if id(self) not in memo:
        made = memo[id(self)] = self.__new__(type(self))
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
    return memo[id(self)]


def _refuse_pickling(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _give_own_class(module: Module) -> None:
    """Give a module its own subclass, to which properties can be added."""
    cls = type(module)
    parts: dict[str, Any] = {"__getstate__": _refuse_pickling}
    if not hasattr(cls, "__deepcopy__"):
        parts["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), parts)


def _property(name: str) -> property:
    """Define the property for a parameter: reading computes, writing inverts."""

    def get(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        if not _Cache.depth:
            return parametrization()
        key = (id(self), name)
        if key not in _Cache.tensors:
            _Cache.tensors[key] = parametrization()
        return _Cache.tensors[key]

    def set_(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, set_)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make a parameter or buffer a function of the original tensors.

    Args:
        module: its module
        tensor_name: its name
        parametrization: the function; its `right_inverse`, if any, gives the initial value
        unsafe: whether the function may change dtype and shape
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_another(module, tensor_name, parametrization)
        known: Any = module.parametrizations[tensor_name]
        known.append(parametrization)
        known.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _give_own_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def _check_another(module: Module, name: str, parametrization: Any) -> None:
    """ValueError unless a further function, and its inverse, keep dtype and shape."""
    now = getattr(module, name)
    value = parametrization(now)
    flag = "unless the `unsafe` flag is enabled."
    own, new = f"module.{name}.{{}}", f"parametrization(module.{name}).{{}}"
    _check_like(value, now.dtype, now.shape, own, new, flag)
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(value)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
        )
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(now, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                f"module.{name}, {flag}\nmodule.{name}.{what}: {getattr(now, what)}\n"
                f"returned {what}: {getattr(back, what)}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a module, or any, is parametrized."""
    known = getattr(module, "parametrizations", None)
    if not isinstance(known, ModuleDict):
        return False
    return len(known) > 0 if tensor_name is None else tensor_name in known


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a tensor a plain one again, with the computed or the original value."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    known: Any = module.parametrizations[tensor_name]
    if known.is_tensor:
        original = known.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized "
            "in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module before parametrization."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy the parametrizations, and their original tensors, from one module to another."""
    if not is_parametrized(from_module):
        return to_module
    for name in [tensor_name] if tensor_name else list(from_module.parametrizations):
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for function in from_module.parametrizations[name]:
            register_parametrization(to_module, name, function)
        ours, theirs = to_module.parametrizations[name], from_module.parametrizations[name]
        for i, tensor in enumerate(theirs._originals()):
            setattr(ours, "original" if theirs.is_tensor else f"original{i}", tensor)
    return to_module
