"""Calls of modules: `forward`, and hooks before and after it and in backward."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...handles import RemovableHandle, add_hook
from ...tensor import Tensor
from ...utils.hooks import BackwardHook

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Any]

_global_forward_pre_hooks: Hooks = OrderedDict()
_global_forward_hooks: Hooks = OrderedDict()
_global_forward_hooks_with_kwargs: Hooks = OrderedDict()
_global_forward_hooks_always_called: Hooks = OrderedDict()
_global_backward_pre_hooks: Hooks = OrderedDict()
_global_backward_hooks: Hooks = OrderedDict()
_global_kind: dict[str, bool | None] = {"full": None}


class CallInterpreter:
    """Intercepts all calls of modules within `with`; it is registered as a forward pre-hook of all modules."""

    def call(self, module: Any, perform: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The result of a call, as `perform(*args, **kwargs)` gives it."""
        return perform(*args, **kwargs)

    def __enter__(self) -> CallInterpreter:
        hook: Any = self
        self._handle = add_hook(_global_forward_pre_hooks, hook)
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.remove()


class Calls:
    """The part of a module that calls it; without hooks, a call is `forward` and nothing else."""

    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Hooks
    _forward_hooks_always_called: Hooks
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Hooks
    _backward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _is_full_backward_hook: bool | None
    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        try:
            is_hooked = (
                own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or own["_backward_hooks"]
                or own["_backward_pre_hooks"]
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
            )
        except KeyError as error:  # its __init__ has not called Module's
            name = type(self).__name__
            raise AttributeError(f"'{name}' object has no attribute {error}") from None
        if is_hooked:
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs) if kwargs else self.forward(*args)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """The call itself, for programs that replace `__call__`."""
        return Calls.__call__(self, *args, **kwargs)

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; it may return other arguments."""
        marks = [(self._forward_pre_hooks_with_kwargs, with_kwargs)]
        return add_hook(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; it may return another output."""
        marks = [
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
        ]
        return add_hook(self._forward_hooks, hook, prepend, marks)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the outputs' gradients are known."""
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known."""
        _choose_backward_hooks(self, full=True)
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """As `register_full_backward_hook`, but for the last operation only (deprecated in Torch)."""
        _choose_backward_hooks(self, full=False)
        return add_hook(self._backward_hooks, hook)


def _choose_backward_hooks(module: Any, full: bool) -> None:
    if module._is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks on a "
            "single Module. Please use only one of them."
        )
    module._is_full_backward_hook = full


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `forward` and all hooks, or the interpreters of calls; some hooks are called after an error, too."""
    for hook in reversed(_global_forward_pre_hooks.values()):
        if isinstance(hook, CallInterpreter):
            return hook.call(module, lambda *a, **k: _call_with_hooks(module, a, k), args, kwargs)
    return _call_with_hooks(module, args, kwargs)


def _call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    done: set[int] = set()
    try:
        return _call(module, args, kwargs, done)
    except Exception:  # raised again, once the hooks that see every call were called
        for number, hook in [*_global_forward_hooks.items(), *module._forward_hooks.items()]:
            if number not in done and _is_marked(module, number, "always_called"):
                _call_silently(module, number, hook, args, kwargs)
        raise


def _call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]) -> Any:
    args, kwargs = _before_forward(module, args, kwargs)
    watch = _backward_hook(module)
    if watch is not None:
        args = watch.setup_input_hook(args)
    result = module.forward(*args, **kwargs)
    for number, hook in [*_global_forward_hooks.items(), *module._forward_hooks.items()]:
        if _is_marked(module, number, "always_called"):
            done.add(number)
        changed = _call_forward_hook(module, number, hook, args, kwargs, result)
        result = result if changed is None else changed
    if watch is not None:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}",
                stacklevel=4,
            )
        result = watch.setup_output_hook(result)
    _hook_last_operation(module, result)
    return result


def _before_forward(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments after the forward pre-hooks."""
    for number, hook in [*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()]:
        if isinstance(hook, CallInterpreter):
            continue
        if number not in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
            continue
        changed = hook(module, args, kwargs)
        if changed is None:
            continue
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError(
                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                f"{changed}."
            )
        args, kwargs = changed
    return args, kwargs


def _call_forward_hook(
    module: Any, number: int, hook: Hook, args: Any, kwargs: Any, result: Any
) -> Any:
    if _is_marked(module, number, "with_kwargs"):
        return hook(module, args, kwargs, result)
    return hook(module, args, result)


def _is_marked(module: Any, number: int, mark: str) -> bool:
    """Whether a forward hook, of this module or of all, was registered with an option."""
    everywhere = (
        _global_forward_hooks_with_kwargs
        if mark == "with_kwargs"
        else _global_forward_hooks_always_called
    )
    return number in everywhere or number in getattr(module, f"_forward_hooks_{mark}")


def _call_silently(module: Any, number: int, hook: Hook, args: Any, kwargs: Any) -> None:
    """Call a hook after an error, with a warning in place of any further error."""
    try:
        _call_forward_hook(module, number, hook, args, kwargs, None)
    except Exception as error:
        place = "global module" if number in _global_forward_hooks else "module"
        warnings.warn(
            f"{place} forward hook with ``always_call=True`` raised an exception that was silenced "
            f"as another error was raised in forward: {error}",
            stacklevel=4,
        )


def _backward_hook(module: Any) -> BackwardHook | None:
    """The object that collects the gradients of one call, if any hook needs them."""
    before = [*_global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
    after = list(_global_backward_hooks.values()) if _global_kind["full"] else []
    if module._is_full_backward_hook:
        after += module._backward_hooks.values()
    return BackwardHook(module, after, before) if before or after else None


def _hook_last_operation(module: Any, result: Any) -> None:
    """Register deprecated backward hooks on the node that made the output."""
    hooks = [] if _global_kind["full"] is not False else list(_global_backward_hooks.values())
    if module._is_full_backward_hook is False:
        hooks += module._backward_hooks.values()
    if not hooks:
        return
    while not isinstance(result, Tensor):
        result = (
            next(v for v in result.values() if isinstance(v, Tensor))
            if isinstance(result, dict)
            else result[0]
        )
    node = result.grad_fn
    if node is not None:
        for hook in hooks:
            node.register_hook(functools.partial(hook, module))


# --- Hooks of all modules ------------------------------------------------------------------


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before every module's `forward`."""
    return add_hook(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after every module's `forward`."""
    marks = [
        (_global_forward_hooks_with_kwargs, with_kwargs),
        (_global_forward_hooks_always_called, always_call),
    ]
    return add_hook(_global_forward_hooks, hook, marks=marks)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` in every module's backward."""
    return add_hook(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after every module's backward."""
    return _register_global_backward_hook(hook, full=True)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """As `register_module_full_backward_hook`, but for each module's last operation only."""
    return _register_global_backward_hook(hook, full=False)


def _register_global_backward_hook(hook: Hook, full: bool) -> RemovableHandle:
    if _global_kind["full"] is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a "
            "global Module hook. Please use only one of them."
        )
    _global_kind["full"] = full
    return add_hook(_global_backward_hooks, hook)
