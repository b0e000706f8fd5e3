"""The module: lesson 0's tree of parameters, grown up.

It is the course's `Module` with what Torch's has beside it: buffers, hooks (in `calls`), state
dicts (in `states`), conversions, and Torch's own names, orders and errors.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Self

from .... import module as course
from ...autograd.modes import no_grad
from ...dtypes import dtype as dtype_type
from ...ops.conversion import _destination
from ...ops.facts import typename
from ...tensor import Tensor
from ...utils.hooks import RemovableHandle, add_hook
from ..parameter import Buffer, Parameter
from .calls import Calls
from .calls import register_module_backward_hook as register_module_backward_hook
from .calls import register_module_forward_hook as register_module_forward_hook
from .calls import register_module_forward_pre_hook as register_module_forward_pre_hook
from .calls import register_module_full_backward_hook as register_module_full_backward_hook
from .calls import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from .states import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from .states import States
from .states import _IncompatibleKeys as _IncompatibleKeys

_HOOKS = (
    "_backward_pre_hooks", "_backward_hooks",
    "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip
"""The dicts of hooks that every module has."""

_global_buffer_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Any] = OrderedDict()


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever a module gets a buffer."""
    return add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever a module gets a child."""
    return add_hook(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever a module gets a parameter."""
    return add_hook(_global_parameter_registration_hooks, hook)


def _after_registration_hooks(
    hooks: OrderedDict[int, Any], module: Any, name: str, value: Any
) -> Any:
    """What a module gets, or what the hooks of all modules put in its place."""
    for hook in hooks.values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


class Module(Calls, States, course.Module):
    """A node of a tree: parameters, buffers, child modules, and how to compute an output."""

    dump_patches: bool = False
    call_super_init: bool = False
    _compiled_call_impl: Any = None
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]  # type: ignore[assignment]
    _parameters: dict[str, Any]  # type: ignore[assignment]
    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            self._refuse_arguments(args, kwargs)
        course.Module.__init__(self)
        own = self.__dict__
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_is_full_backward_hook"] = None
        for name in _HOOKS:
            own[name] = OrderedDict()
        if self.call_super_init:
            super(course.Module, self).__init__(*args, **kwargs)

    def _refuse_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        name = type(self).__name__
        if kwargs:
            raise TypeError(
                f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
            )
        if args:
            raise TypeError(
                f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )

    def _settle(self) -> None:
        """Make of the arguments what the layer needs; for layers that are declared."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every subclass that is called writes its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    # --- What it holds -------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Hold a parameter, or the place for one, under a name."""
        self._check_name("parameter", name, "_parameters")
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
        """Hold a tensor that is no parameter; `persistent` says whether state dicts have it."""
        self._check_name("buffer", name, "_buffers")
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
        """Hold a child under a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = _after_registration_hooks(
            _global_module_registration_hooks, self, name, module
        )

    def register_module(self, name: str, module: Module | None) -> None:
        """`add_module`, under another name."""
        self.add_module(name, module)

    def _check_name(self, what: str, name: Any, place: str) -> None:
        """Refuse names that Torch refuses."""
        if place not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if "." in name:
            got = f", got: {name}" if what == "module" else ""
            raise KeyError(f'{what} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in self.__dict__[place] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            self._make_room(name, "parameters", "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            self._only_none("parameter", name, value, "torch.nn.Parameter")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._make_room(name, "module", "_modules")
            self._set_module(name, value)
        elif name in own.get("_modules", ()):
            self._only_none("child module", name, value, "torch.nn.Module")
            self._set_module(name, value)
        elif isinstance(value, Buffer) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _make_room(self, name: str, what: str, place: str) -> None:
        """Forget whatever else has a name."""
        own = self.__dict__
        if place not in own:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        own.pop(name, None)
        for other in ("_parameters", "_buffers", "_modules"):
            if other != place:
                own[other].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    def _only_none(self, what: str, name: str, value: Any, wanted: str) -> None:
        if value is not None:
            raise TypeError(
                f"cannot assign '{typename(value)}' as {what} '{name}' ({wanted} or None expected)"
            )

    def _set_module(self, name: str, value: Any) -> None:
        self._modules[name] = _after_registration_hooks(
            _global_module_registration_hooks, self, name, value
        )

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            self._only_none("buffer", name, value, "torch.nn.Buffer, torch.Tensor")
        if isinstance(value, Buffer):
            persistent = value.persistent
        else:
            persistent = name not in self._non_persistent_buffers_set
        self.register_buffer(name, value, persistent)

    def __getattr__(self, name: str) -> Any:
        # Only called where ordinary look-up found nothing.
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
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

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

    # --- The tree ------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(dotted name, module) for this module and all below it, parents first."""
        seen = set() if memo is None else memo
        waiting: list[tuple[str, Module]] = [(prefix, self)]
        while waiting:
            name, module = waiting.pop()
            if module in seen:
                continue
            if remove_duplicate:
                seen.add(module)
            yield name, module
            dotted = f"{name}." if name else ""
            for key, child in reversed(module._modules.items()):
                if child is not None:
                    waiting.append((dotted + key, child))

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:  # type: ignore[override]
        """This module and all below it, parents first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) for the direct children."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct children."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """(dotted name, member) for what each module of the tree holds."""
        seen: set[int] = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for name, module in modules:
            dotted = f"{name}." if name else ""
            for key, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield dotted + key, member

    def named_parameters(  # type: ignore[override]
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) for this module and all below it, its own first."""
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:  # type: ignore[override]
        """The parameters of this module and all below it, its own first."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, buffer) for this module and all below it, its own first."""
        return self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and all below it, its own first."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The module with a dotted name."""
        module: Any = self
        for part in target.split(".") if target else ():
            module = _attribute(module, part)
            if not isinstance(module, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module where a dotted name points; `strict` says that there must be one."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        above, _, last = target.rpartition(".")
        parent = self.get_submodule(above)
        wanted = strict or hasattr(parent, last)
        if wanted and not isinstance(_attribute(parent, last), Module):
            raise AttributeError(f"`{last}` is not an nn.Module")
        setattr(parent, last, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name."""
        above, _, last = target.rpartition(".")
        found = _attribute(self.get_submodule(above), last)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{last}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name."""
        above, _, last = target.rpartition(".")
        module = self.get_submodule(above)
        found = _attribute(module, last)
        if last not in module._buffers:
            raise AttributeError(f"`{last}` is not a buffer")
        return found

    # --- Modes ---------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:  # type: ignore[override]
        """Put this module and all below it into training mode, or out of it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:  # type: ignore[override]
        """Put this module and all below it into evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether gradients of the parameters are kept."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the parameters, or make them zero."""
        for parameter in self.parameters():
            gradient = parameter._grad
            if gradient is None:
                continue
            if set_to_none:
                parameter._grad = None
                continue
            if gradient.grad_fn is not None:
                gradient.detach_()
            else:
                gradient.requires_grad_(False)
            gradient.zero_()

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call a function on all modules of the tree, children before parents."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accepted: calls are eager all the same."""

    # --- Conversions ---------------------------------------------------------------------------

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Put what `fn` makes of each parameter, gradient and buffer in its place."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is None:
                    continue
                parameter.data = fn(parameter)
                if parameter._grad is not None:
                    parameter._grad.data = fn(parameter._grad)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The module with its floating point tensors as another type, or on another device."""
        kind, _, memory_format = _destination(args, dict(kwargs))
        if kind is not None and not (kind.is_floating_point or kind.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={kind}"
            )

        def convert(tensor: Tensor) -> Tensor:
            if kind is not None and (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
                tensor = tensor.to(kind)
            if memory_format is not None and tensor.ndim in (4, 5):
                tensor = tensor.to(memory_format=memory_format)
            return tensor

        return self._apply(convert)

    def type(self, dst_type: dtype_type | str) -> Self:
        """The module with all its tensors as another type."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _as_floating(self, name: str) -> Self:
        return self._apply(
            lambda tensor: getattr(tensor, name)() if tensor.dtype.is_floating_point else tensor
        )

    def float(self) -> Self:
        """The module in single precision."""
        return self._as_floating("float")

    def double(self) -> Self:
        """The module in double precision."""
        return self._as_floating("double")

    def half(self) -> Self:
        """The module in half precision."""
        return self._as_floating("half")

    def bfloat16(self) -> Self:
        """The module in bfloat16."""
        return self._as_floating("bfloat16")

    def cpu(self) -> Self:
        """The module in the machine's main memory."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """The module on a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """The module on a device, its memory not written yet."""
        return self._apply(
            lambda tensor: tensor.new_empty(tensor.shape, device=device), recurse=recurse
        )

    def share_memory(self) -> Self:
        """The module in memory that processes share."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # --- Text and pickles ----------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands in the brackets when the module is printed; for subclasses to write."""
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
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = self.__dict__
        own.update(state)
        own.setdefault("_non_persistent_buffers_set", set())
        own.setdefault("_is_full_backward_hook", None)
        for name in _HOOKS:
            if name not in own:
                own[name] = OrderedDict()


def _attribute(module: Module, name: str) -> Any:
    """An attribute; its absence is an error in Torch's words."""
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


def _indented(text: str) -> str:
    """A text whose lines after the first stand two places in."""
    return text.replace("\n", "\n  ")
