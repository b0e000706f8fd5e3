"""`torch.compile` and `torch.compiler`: whole functions, up to whole training steps, as tapes.

The compiler itself loads when it is first used.

>>> import minitorch.torch as torch
>>> @torch.compile
... def double(x):
...     return x + x
>>> double(torch.ones(2))
tensor([2., 2.])
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "lite")
BACKENDS = ("cudagraphs", "inductor", "openxla", "tvm")
OTHER_BACKENDS = ("eager", "aot_eager", "aot_eager_decomp_partition", "ts")


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    **_: Any,
) -> Any:
    """Compile a function or module: its first calls are traced to a tape, which later calls replay.

    A function that cannot be traced (it reads a tensor's values, or prints) stays eager, and a warning names
    the line.

    Args:
        model: a function, a method or a module; left out, this is a decorator
        fullgraph: whether it is an error if the function cannot be traced
        dynamic: accepted, without effect: each shape gets its own tape
        backend: "inductor" and other known names use tapes; "eager" calls the function; a function, or the name of one that
            `torch._dynamo.register_backend` knows, is given an `fx.GraphModule` and its inputs, and what it returns is called
        mode: accepted if known, without effect
        options: accepted, without effect
        name: the name of the tape
        disable: return the function as it is
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, name=name,
            disable=disable,
        )  # fmt: skip
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return model
    from .modules import compiled_form

    plays: Any = backend not in OTHER_BACKENDS
    if isinstance(backend, str) and backend not in BACKENDS + OTHER_BACKENDS:
        plays = lookup_backend(backend)
    elif callable(backend):
        plays = backend
    given = {"mode": mode if mode != "default" else None, "options": options}
    given = {key: value for key, value in given.items() if value}
    if given and callable(plays):
        plays = functools.partial(plays, **given)
    return compiled_form(model, fullgraph, name or "", plays)


_registered: dict[str, Callable[..., Any]] = {}


def register_backend(
    compiler_fn: Callable[..., Any] | None = None, name: str | None = None, tags: Any = ()
) -> Any:
    """Register a backend under a name, by default its own."""
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    _registered[name or compiler_fn.__name__] = compiler_fn
    return compiler_fn


def lookup_backend(compiler_fn: Any) -> Callable[..., Any]:
    """A backend that was registered, by its name."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _registered:
        from .exceptions import InvalidBackend

        raise InvalidBackend(
            f"Invalid backend: {compiler_fn!r}, see `torch._dynamo.list_backends()` for available backends."
        )
    return _registered[compiler_fn]


def is_compiling() -> bool:
    """Whether a function is being traced."""
    from .state import thread

    return thread.reading is not None


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether a program is being exported: never."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Mark a function as not traceable: functions that call it stay eager."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    from .state import break_tape

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        break_tape(f"it calls {getattr(fn, '__name__', fn)!r}, which torch.compiler.disable marks")
        return fn(*args, **kwargs)

    return call


def reset() -> None:
    """Delete the tapes of all compiled functions."""
    from .state import compiled

    for each in list(compiled):
        each.forget()


def allow_in_graph(fn: Any) -> Any:
    """Accepted, without effect: what the function does is traced in any case."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Accepted, without effect: the function is traced like any other."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Accepted, without effect: a replay always returns new results."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of backends."""
    own = (*BACKENDS, *_registered)
    return sorted(own if exclude_tags else (*own, *OTHER_BACKENDS))


def explain(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`explain(fn)(*args)`: call a function once, and return its tape, or why it has none."""
    from .explaining import Explanation

    return functools.partial(Explanation, fn)


__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "explain",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
]  # fmt: skip
