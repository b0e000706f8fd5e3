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
import warnings
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
    """A function or module that is traced on its first calls, and then played from a tape.

    What a tape cannot have (a look at a tensor's values, a print) leaves the function eager, and a warning says
    which line it was.

    Args:
        model: a function, a method or a module; left out, this is a decorator
        fullgraph: whether it is an error if there can be no tape
        dynamic: accepted: there is a tape for each shape
        backend: "inductor" or another known name play tapes; "eager" calls the function, and so does, with a warning,
            a function: it would be given a graph that there is not
        mode: accepted if known: there is one way here
        options: accepted
        name: what the tape is called
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
    if isinstance(backend, str) and backend not in BACKENDS + OTHER_BACKENDS:
        from .exceptions import InvalidBackend

        raise InvalidBackend(
            f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends."
        )
    if disable:
        return model
    if callable(backend):
        warnings.warn(
            f"torch.compile: {getattr(backend, '__name__', backend)!r} is not called, since there are tapes here and no graphs for "
            f"it; {getattr(model, '__name__', type(model).__name__)!r} stays eager",
            UserWarning, stacklevel=2,
        )  # fmt: skip
    from .modules import compiled_form

    plays = backend is None or (isinstance(backend, str) and backend not in OTHER_BACKENDS)
    return compiled_form(model, fullgraph, name or "", plays)


def is_compiling() -> bool:
    """Whether a tape is being written."""
    from .state import thread

    return thread.reading is not None


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether a program is being exported: never."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function that is on no tape: what calls it stays eager."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    from .state import break_tape

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        break_tape(f"it calls {getattr(fn, '__name__', fn)!r}, which torch.compiler.disable marks")
        return fn(*args, **kwargs)

    return call


def reset() -> None:
    """Let all compiled functions forget their tapes."""
    from .state import compiled

    for each in list(compiled):
        each.forget()


def allow_in_graph(fn: Any) -> Any:
    """Accepted: what a function does is traced in any case."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Accepted: a function is traced as any other."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Accepted: results of a play are always new."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of backends."""
    return sorted(BACKENDS if exclude_tags else BACKENDS + OTHER_BACKENDS)


def explain(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`explain(fn)(*args)`: call a function once, and say what its tape is, or why it has none."""
    from .explaining import Explanation

    return functools.partial(Explanation, fn)


__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "explain",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
]  # fmt: skip
