"""Torch's `jit` as a pass-through: functions and modules run as the Python they are.

Each name says so once, by a warning of the class `PassThroughWarning`.
"""

from __future__ import annotations

import typing
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..futures import Future


class PassThroughWarning(UserWarning):
    """Something was returned as it came."""


def _say(name: str) -> None:
    warnings.warn(
        f"torch.jit.{name} compiles nothing in minitorch.torch: the function runs as Python",
        PassThroughWarning,
        stacklevel=3,
    )


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a function, class or module as it is, and say so."""
    _say("script")
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return a function or module as it is, after calling it once on the examples, and say so."""
    _say("trace")
    if example_inputs is not None:
        func(*(example_inputs if type(example_inputs) is tuple else (example_inputs,)))
    return func


def ignore(fn: Any = None, **kwargs: Any) -> Any:
    """Mark nothing: all functions run as Python."""
    return (lambda f: f) if fn is None or fn in (True, False) else fn


unused = export = ignore


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as it is: nothing is ever traced."""
    return fn


def is_scripting() -> bool:
    """Whether a compiler reads this code: never."""
    return False


def is_tracing() -> bool:
    """Whether calls are being recorded: never."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:  # noqa: A001
    """Whether a value is of a type."""
    import builtins

    return builtins.isinstance(obj, target_type)


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Change nothing."""
    yield


_FILES = (
    "write weights by torch.save(model.state_dict(), file), and whole programs by torch.export.save or torch.onnx.export, "
    "with the library that has them"
)


def save(m: Any, f: Any, **_: Any) -> None:
    """Refuse: there are no compiled modules to save."""
    raise NotImplementedError(f"torch.jit.save is not supported by minitorch.torch: {_FILES}")


def load(f: Any, map_location: Any = None, **_: Any) -> Any:
    """Refuse: there are no compiled modules to load."""
    raise NotImplementedError(
        f"torch.jit.load is not supported by minitorch.torch, which reads no TorchScript: {_FILES}"
    )


Final = typing.Final


# --- Names to be asked about ----------------------------------------------------------------------


def _get_trace_graph(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Refuse: there are no graphs of the script compiler."""
    raise NotImplementedError(
        "torch.jit has no graphs in minitorch.torch: use torch.fx, or torch.utils.flop_counter to count"
    )


class Error(RuntimeError):
    """An error of compiled code: none is raised."""


class TracerWarning(Warning):
    """A warning of a trace: none is given."""


class ScriptModule:
    """Exists to be asked about: no module is one."""


class ScriptFunction:
    """Exists to be asked about: no function is one."""


RecursiveScriptModule = TracedModule = TopLevelTracedModule = ScriptModule


class Attribute(typing.NamedTuple):
    """A value with the type that compiled code would know it by."""

    value: Any
    type: Any


def trace_module(mod: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """Return a module as it is, after calling its methods once on the examples, and say so."""
    _say("trace_module")
    for method, example in inputs.items():
        getattr(mod, method)(*(example if type(example) is tuple else (example,)))
    return mod


def freeze(mod: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a module as it is: it runs as Python."""
    return mod


optimize_for_inference = run_frozen_optimizations = freeze


def interface(obj: Any) -> Any:
    """Return a class as it is."""
    return obj


script_method = _overload = _overload_method = interface


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Call a function now; `wait` gives its result."""
    made: Future[Any] = Future()
    made.set_result(func(*args, **kwargs))
    return made


def wait(future: Future[Any]) -> Any:
    """The result of a function that was called by `fork`."""
    return future.wait()


def set_fusion_strategy(strategy: Any) -> Any:
    """Accept a choice: nothing is compiled."""
    return strategy
