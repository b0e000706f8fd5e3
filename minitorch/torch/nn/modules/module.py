"""`nn.Module`: the course's tree of parameters with all of Torch's methods.

It adds buffers, Torch's names and errors to the course's `Module`. Hooks are in `calls`, state dicts
in `states`, iteration over submodules in `trees`, dtypes and devices in `conversions`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self

from .... import module as course
from ...compiler import compile
from ...handles import RemovableHandle, add_hook
from ...ops.tensor_queries import typename
from ...tensor import Tensor
from ..parameter import Buffer, Parameter
from .calls import Calls
from .calls import register_module_backward_hook as register_module_backward_hook
from .calls import register_module_forward_hook as register_module_forward_hook
from .calls import register_module_forward_pre_hook as register_module_forward_pre_hook
from .calls import register_module_full_backward_hook as register_module_full_backward_hook
from .calls import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from .conversions import Conversions
from .states import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from .states import States
from .states import _IncompatibleKeys as _IncompatibleKeys
from .states import _WrappedHook as _WrappedHook
from .trees import Trees

_HOOKS = (
    "_backward_pre_hooks", "_backward_hooks",
    "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip
"""The dicts of hooks that every module has."""
_INSTEAD = {
    "save": ": torch.jit.script gives the module back, and files of programs are those of torch.export.save"
}
"""The advice for a missing attribute of PyTorch's compiled modules."""

_global_buffer_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Any] = OrderedDict()


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever a buffer is registered with any module."""
    return add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever a child is registered with any module."""
    return add_hook(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever a parameter is registered with any module."""
    return add_hook(_global_parameter_registration_hooks, hook)


def _after_registration_hooks(
    hooks: OrderedDict[int, Any], module: Any, name: str, value: Any
) -> Any:
    """A value that is being registered, after the global registration hooks."""
    for hook in hooks.values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


class Module(Calls, States, Trees, Conversions, course.Module):
    """The base class of networks: parameters, buffers, child modules, and `forward`."""

    dump_patches: bool = False
    call_super_init: bool = False
    _compiled_call_impl: Any = None
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]  # type: ignore[assignment]
    _parameters: dict[str, Any]  # type: ignore[assignment]
    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            _refuse_arguments(self, args, kwargs)
        course.Module.__init__(self)
        own = self.__dict__
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_is_full_backward_hook"] = None
        for name in _HOOKS:
            own[name] = OrderedDict()
        if self.call_super_init:
            super(course.Module, self).__init__(*args, **kwargs)

    def _normalize_arguments(self) -> None:
        """Process the constructor's arguments; for classes declared by `@layer`."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; subclasses implement it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    # --- What it holds -------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter, or None, under a name."""
        _check_name(self, "parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                    f"created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
            param = _after_registration_hooks(
                _global_parameter_registration_hooks, self, name, param
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is not a parameter; `persistent`: state dicts include it."""
        _check_name(self, "buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        tensor = _after_registration_hooks(_global_buffer_registration_hooks, self, name, tensor)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a child module under a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        _check_name(self, "module", name, "_modules")
        self._modules[name] = _after_registration_hooks(
            _global_module_registration_hooks, self, name, module
        )

    def register_module(self, name: str, module: Module | None) -> None:
        """`add_module`, under another name."""
        self.add_module(name, module)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            _make_room(self, name, "parameters", "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            _only_none("parameter", name, value, "torch.nn.Parameter")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            _make_room(self, name, "module", "_modules")
            _set_module(self, name, value)
        elif name in own.get("_modules", ()):
            _only_none("child module", name, value, "torch.nn.Module")
            _set_module(self, name, value)
        elif name in own.get("_buffers", ()) or (
            isinstance(value, Tensor) and isinstance(value, Buffer)
        ):
            _set_buffer(self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        # Called only if the ordinary lookup fails.
        own = self.__dict__
        if "_parameters" in own:
            found = own["_parameters"]
            if name in found:
                return found[name]
        if "_buffers" in own:
            found = own["_buffers"]
            if name in found:
                return found[name]
        if "_modules" in own:
            found = own["_modules"]
            if name in found:
                return found[name]
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'{_INSTEAD.get(name, '')}"
        )

    def __delattr__(self, name: str) -> None:
        if name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__]
        for place in (self._parameters, self._modules, self._buffers):
            names += place
        return sorted({name for name in names if not name[:1].isdigit()})

    # --- Modes ---------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:  # type: ignore[override]
        """Set training mode (or evaluation mode) for this module and all submodules."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:  # type: ignore[override]
        """Set evaluation mode for this module and all submodules."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether the parameters require gradients."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of the parameters to None, or to zero."""
        for parameter in self.parameters():
            gradient = parameter._grad
            if gradient is None:
                continue
            if set_to_none:
                parameter._grad = None
                continue
            if gradient._edge is not None:
                gradient.detach_()
            gradient._requires_grad = False
            gradient.zero_()

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call a function on all submodules and this module, children before parents."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile calls of `forward` from now on, as `torch.compile` does."""
        forward = type(self).forward.__get__(self)
        self.__dict__["forward"] = self.__dict__["_compiled_call_impl"] = compile(
            forward, *args, **kwargs
        )

    # --- Text and pickles ----------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The arguments that `repr` shows; for subclasses to implement."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [
            f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()
        ]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({extra})"
        body = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {body}\n)" if body else f"{self._get_name()}()"

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if state.pop("_compiled_call_impl", None) is not None:
            del state["forward"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = self.__dict__
        own.update(state)
        own.setdefault("_non_persistent_buffers_set", set())
        own.setdefault("_is_full_backward_hook", None)
        for name in _HOOKS:
            if name not in own:
                own[name] = OrderedDict()


def _indented(text: str) -> str:
    """A text with all lines after the first indented by two spaces."""
    return text.replace("\n", "\n  ")


def _refuse_arguments(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    name = type(module).__name__
    if kwargs:
        raise TypeError(
            f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
        )
    if args:
        raise TypeError(
            f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
        )


def _check_name(module: Any, what: str, name: Any, place: str) -> None:
    """Torch's error for an invalid name."""
    if place not in module.__dict__:
        raise AttributeError(f"cannot assign {what} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {typename(name)}")
    if "." in name:
        got = f", got: {name}" if what == "module" else ""
        raise KeyError(f'{what} name can\'t contain "."{got}')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')
    if name not in module.__dict__[place] and hasattr(module, name):
        raise KeyError(f"attribute '{name}' already exists")


def _make_room(module: Any, name: str, what: str, place: str) -> None:
    """Remove any other parameter, buffer, module or attribute with a name."""
    own = module.__dict__
    if place not in own:
        raise AttributeError(f"cannot assign {what} before Module.__init__() call")
    own.pop(name, None)
    for other in ("_parameters", "_buffers", "_modules"):
        if other != place:
            own[other].pop(name, None)
    own["_non_persistent_buffers_set"].discard(name)


def _only_none(what: str, name: str, value: Any, wanted: str) -> None:
    if value is not None:
        raise TypeError(
            f"cannot assign '{typename(value)}' as {what} '{name}' ({wanted} or None expected)"
        )


def _set_module(module: Any, name: str, value: Any) -> None:
    module._modules[name] = _after_registration_hooks(
        _global_module_registration_hooks, module, name, value
    )


def _set_buffer(module: Any, name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Tensor):
        _only_none("buffer", name, value, "torch.nn.Buffer, torch.Tensor")
    if isinstance(value, Buffer):
        persistent = value.persistent
    else:
        persistent = name not in module._non_persistent_buffers_set
    module.register_buffer(name, value, persistent)
