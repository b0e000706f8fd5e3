"""State dicts: saving and loading parameters and buffers by name."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

from ...autograd.modes import no_grad
from ...handles import RemovableHandle, add_hook
from ...tensor import Tensor
from ..parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The names that a state dict lacks, and those that the module does not have."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _WrappedHook:
    """A hook that gets its module, held by a weak reference."""

    __module__ = "minitorch.torch.nn.modules.module"  # the module that Torch's pickles name

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        self.module = None if module is None else weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.module is None:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.module is not None}
        if self.module is not None:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.module = weakref.ref(state["module"]) if state["with_module"] else None


class States:
    """The part of a module that saves and loads state dicts."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]
    _version: int = 1

    # --- Out -------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and persistent buffers of the module and its submodules, by dotted names.

        Args:
            args: the following as positional arguments (deprecated)
            destination: a dict to add them to
            prefix: of every name
            keep_vars: whether to return the parameters themselves, not detached ones
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = (*args, None, None, None)
            destination = given[0] if destination is None else destination
            prefix = prefix or given[1] or ""
            keep_vars = bool(keep_vars or given[2])
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        about = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = about
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, about)
            if changed is not None and getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = destination if changed is None else changed
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Add the state of this module, without its children, to a dict."""
        for name, value in _local_state(self).items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not States.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """Additional state to save; for subclasses to implement."""
        raise RuntimeError("Module.get_extra_state() is for subclasses that have an extra state")

    def set_extra_state(self, state: Any) -> None:
        """Restore the result of `get_extra_state`; for subclasses to implement."""
        raise RuntimeError("Module.set_extra_state() is for subclasses that have an extra state")

    # --- In --------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the values of a state dict into the module and its submodules.

        Args:
            state_dict: tensors by dotted names
            strict: whether missing and unexpected names are an error
            assign: whether to use the given tensors themselves, not copies

        Returns:
            the missing and the unexpected names

        Raises:
            RuntimeError: listing all names and shapes that do not fit
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        loading = _Loading(getattr(state_dict, "_metadata", None), assign)
        state: Any = OrderedDict(state_dict)
        if loading.metadata is not None:
            state._metadata = loading.metadata
        loading.load(self, state, "")
        errors = loading.errors
        if strict:
            for keys, what in ((loading.unexpected, "Unexpected"), (loading.missing, "Missing")):
                if keys:
                    named = ", ".join(f'"{k}"' for k in keys)
                    errors.insert(0, f"{what} key(s) in state_dict: {named}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"
            )
        return _IncompatibleKeys(loading.missing, loading.unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Copy values into this module, without its children; what does not fit is added to the lists."""
        lists = (missing_keys, unexpected_keys, error_msgs)
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, *lists)
        assign = local_metadata.get("assign_to_params_buffers", False)
        state = _local_state(self)
        for name, target in state.items():
            key = prefix + name
            if key in state_dict:
                error = _load_one(self, name, target, key, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        _load_extra_state(self, state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys += _keys_without_place(self, state_dict, prefix, state)

    # --- Hooks -----------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict`."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but the hook may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, ...)` before this module loads."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        wrapped = _WrappedHook(hook, self if with_module else None)
        return add_hook(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after this module has loaded."""
        return add_hook(self._load_state_dict_post_hooks, hook)


def _local_state(module: Any) -> dict[str, Tensor]:
    """The parameters and persistent buffers of this module, without its children."""
    state = {name: p for name, p in module._parameters.items() if p is not None}
    for name, buffer in module._buffers.items():
        if buffer is not None and name not in module._non_persistent_buffers_set:
            state[name] = buffer
    return state


def _load_extra_state(
    module: Any,
    state_dict: Any,
    prefix: str,
    strict: bool,
    missing: list[str],
    unexpected: list[str],
) -> None:
    key = prefix + _EXTRA_STATE_KEY_SUFFIX
    wanted = type(module).set_extra_state is not States.set_extra_state
    if wanted and key in state_dict:
        module.set_extra_state(state_dict[key])
    elif strict and wanted:
        missing.append(key)
    elif strict and key in state_dict:
        unexpected.append(key)


def _keys_without_place(module: Any, state_dict: Any, prefix: str, state: Any) -> list[str]:
    """The names with the prefix that belong to neither this module nor a child."""
    extra = prefix + _EXTRA_STATE_KEY_SUFFIX
    found = []
    for key in state_dict:
        if key.startswith(prefix) and key != extra:
            first, dot, _ = key[len(prefix) :].partition(".")
            if first not in (module._modules if dot else state):
                found.append(key)
    return found


class _Loading:
    """One call of `load_state_dict`, with the errors found so far."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def load(self, module: Any, state: Any, prefix: str) -> None:
        """Load a module, then its children, each from the names with its prefix."""
        about = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            about["assign_to_params_buffers"] = True
        lists = (self.missing, self.unexpected, self.errors)
        module._load_from_state_dict(state, prefix, about, True, *lists)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.load(child, {k: v for k, v in state.items() if k.startswith(below)}, below)
        keys = _IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                    "expected to return new values, if incompatible_keys need to be modified, "
                    "it should be done inplace."
                )


def _load_one(
    module: Any, name: str, target: Tensor, key: str, value: Any, assign: bool
) -> str | None:
    """Copy one value into a module, or return an error text."""
    if not isinstance(value, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(value)}"
        )
    lazy = is_lazy(target)
    if not lazy and target.ndim == 0 and tuple(value.shape) == (1,):
        value = value[0]
    if not lazy and value.shape != target.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {target.shape}."
        )
    try:
        with no_grad():
            if assign:
                setattr(module, name, _as_kind_of(target, value))
            else:
                target.copy_(value)
    except Exception as error:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are '
            f"{target.size()} and whose dimensions in the checkpoint are {value.size()}, "
            f"an exception occurred : {error.args}."
        )
    return None


def _as_kind_of(target: Tensor, value: Tensor) -> Tensor:
    """A value as a parameter or buffer, to be assigned in place of the old one."""
    if not isinstance(target, Parameter):
        return value
    if not isinstance(value, Parameter):
        return Parameter(value, requires_grad=target.requires_grad)
    return value.requires_grad_(target.requires_grad)
