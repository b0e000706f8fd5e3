"""Torch's `jit`: scripted and traced functions and modules run as the Python they are, and can be saved with their code.

`script` and `trace` say so once, by a warning of the class `PassThroughWarning`. `load` reads what `save` or PyTorch has written.
"""

from __future__ import annotations

import builtins
import functools
import types
import typing
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..futures import Future
from ..nn.modules.module import Module
from .archive import RecursiveScriptModule as RecursiveScriptModule
from .archive import ScriptModule as ScriptModule
from .archive import load as load
from .archive import scripted, writer


class PassThroughWarning(UserWarning):
    """Something was returned as it came."""


def _say(name: str) -> None:
    warnings.warn(
        f"torch.jit.{name} compiles nothing in minitorch.torch: the function runs as Python",
        PassThroughWarning,
        stacklevel=3,
    )


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """A function or module that runs as it is and can be saved, and say so; a class as it is."""
    _say("script")
    return _wrapped(obj, None)


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A function or module that runs as it is, after calling it once on the examples; saved, it is what it computes for them."""
    _say("trace")
    if example_inputs is None:
        return func
    examples = example_inputs if type(example_inputs) is tuple else (example_inputs,)
    func(*examples)
    return _wrapped(func, examples)


class ScriptFunction:
    """A function that can be saved with its code; it runs as the Python that it is."""

    def __init__(self, fn: Callable[..., Any], examples: Any = None) -> None:
        functools.update_wrapper(self, fn)
        self.script_function, self.script_examples = fn, examples

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.script_function(*args, **kwargs)

    save, code = ScriptModule.save, ScriptModule.code


def _wrapped(obj: Any, examples: Any) -> Any:
    """A function as a `ScriptFunction`, a module as one of a class of its own, with the same attributes."""
    if isinstance(obj, Module) and not isinstance(obj, RecursiveScriptModule):
        return scripted(obj, ScriptModule if examples is None else TopLevelTracedModule, examples)
    if isinstance(obj, types.FunctionType):
        return ScriptFunction(obj, examples)
    return obj


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write what `script`, `trace` or `load` gave to a file, which `load` reads."""
    writer().save(m, f, _extra_files)


def ignore(fn: Any = None, **kwargs: Any) -> Any:
    """Mark nothing: all functions run as Python."""
    return (lambda f: f) if fn is None or fn in (True, False) else fn


unused = ignore


def export(fn: Any) -> Any:
    """Mark a method that is saved beside `forward`."""
    fn._exported = True
    return fn


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
    return builtins.isinstance(obj, target_type)


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Change nothing."""
    yield


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


class TopLevelTracedModule(ScriptModule):
    """A traced module."""


TracedModule = TopLevelTracedModule


class Attribute(typing.NamedTuple):
    """A value with the type that compiled code would know it by."""

    value: Any
    type: Any


def trace_module(mod: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """A module as `trace` gives it, after calling its methods once on the examples; a file has `forward` only."""
    _say("trace_module")
    examples = {n: e if type(e) is tuple else (e,) for n, e in inputs.items()}
    for method, example in examples.items():
        getattr(mod, method)(*example)
    return _wrapped(mod, examples.get("forward"))


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
