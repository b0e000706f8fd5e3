"""What a traced call does besides tensor operations: which code runs, and whether it looks at values.

A tape has what passed the door. A call may also look at numbers in tensors and decide by them, or
talk to the world outside: print, draw Python's random numbers, read the clock. Python's own profiling
slot tells of every function that is called, so such a call is noticed, and where; the library's functions need
not know of it. While an operation computes (`inside`), nothing is asked: that is on the tape.
"""

from __future__ import annotations

import builtins
import gc
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..backends.interface import ARRAYS
from ..fixed import codes
from ..tensor import Tensor

Place = tuple[str, int]
"""A file and a line."""

COMPILER = str(Path(__file__).parent)
PACKAGE = str(Path(__file__).parent.parent.parent)
PROGRAMS = tuple(f"{PACKAGE}/{name}/" for name in ("app", "course", "training"))
"""Where in the package there are programs that use the library."""
STDLIB = sysconfig.get_paths()["stdlib"]
KERNELS = tuple(
    f"{Path(np.__file__).parent.parent}/{name}/"
    for name in ("numpy", "numba", "llvmlite", "scipy", "cupy", "cupyx", "cupy_backends")
)


@dataclass
class CannotTrace(Exception):  # noqa: N818
    """Why a call has no tape, and which line of the program is the reason."""

    why: str
    place: Place | None

    def __str__(self) -> str:
        where = "" if self.place is None else f" ({self.place[0]}:{self.place[1]})"
        return f"{self.why}{where}"


# --- Whose code ----------------------------------------------------------------------------------

_owners: dict[CodeType, str] = {}


def owner_of(code: CodeType, module: Any = None) -> str:
    """Whose code it is: "library", "kernels" (libraries that compute), "stdlib" or "program"."""
    known = _owners.get(code)
    if known is None:
        known = _owners[code] = _owner(code.co_filename, str(module or ""))
    return known


def _owner(path: str, module: str) -> str:
    if is_of_library(path) or (path[:1] == "<" and module.startswith("minitorch")):
        return "library"
    if path.startswith(KERNELS) or module.startswith("namedtuple_"):
        return "kernels"
    outside = path.startswith("<frozen") or path == "<__array_function__ internals>"
    if outside or (path.startswith(STDLIB) and "site-packages" not in path):
        return "stdlib"
    return "program"


def is_of_library(path: str) -> bool:
    """Whether a file is part of the library, and not of a program that comes with it."""
    return path.startswith(PACKAGE) and not path.startswith(PROGRAMS)


def place_of(frame: FrameType | None) -> Place:
    """Which line of the program a frame is about."""
    while frame is not None:
        if is_of_program(frame):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "?", 0


# --- What may be called --------------------------------------------------------------------------

READERS: dict[str, tuple[str, ...]] = {
    "ops/conversion.py": (
        "_python", "item", "__bool__", "numpy", "__array__", "__repr__", "__deepcopy__", "__reduce_ex__", "from_numpy",
        "__array_wrap__",
    ),
    "ops/tensor_queries.py": ("data_ptr", "storage_offset", "is_set_to"),
    "ops/memory.py": ("set_", "resize_"),
    "cuda/cupy_backend.py": ("to_numpy",), "cuda/simulated.py": ("to_numpy", "get", "__bool__", "__int__", "__float__"),
    "ops/dlpack.py": (), "printing.py": (), "storage.py": (), "serialization/": (), "generator.py": (),
    "torch/random.py": (), "safetensors.py": (), "multiprocessing/": (), "utils/data/": (), "torch/distributed/": (), "torch/sparse/": (),
    "handles.py": ("add_hook", "remove"),
    "dtypes.py": ("set_default_dtype",),
    "environment.py": (
        "set_default_device", "set_num_threads", "set_default_tensor_type", "use_deterministic_algorithms",
        "set_float32_matmul_precision", "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
        "is_deterministic_algorithms_warn_only_enabled", "get_float32_matmul_precision", "get_num_interop_threads",
        "is_warn_always_enabled",
    ),
    "minitorch/threads.py": ("set_num_threads",),
    "tensor.py": ("retain_grad", "_version"),
}  # fmt: skip
"""Functions of the library that look at values or at what no guard sees, by file; (): all of it."""

ASKED = frozenset(("grad_fn", "retains_grad", "get_num_threads"))
"""Functions of the library that look at what no guard sees, which it calls itself, too."""

LISTED = "_listed_places"
"""The function that makes an index of a list."""

_QUIET = (
    "contextlib.py", "functools.py", "typing.py", "enum.py", "abc.py", "dataclasses.py", "operator.py",
    "types.py", "weakref.py", "_weakrefset.py", "copyreg.py", "numbers.py", "_collections_abc.py", "collections/__init__.py",
    "inspect.py", "threading.py", "warnings.py",
)  # fmt: skip
"""Files of Python's own library whose functions do nothing that outlives a call."""

_ASKING = {
    "threading.py": ("current_thread", "active_count", "enumerate", "excepthook"),
    "inspect.py": ("currentframe", "stack", "trace", "getouterframes"),
}
"""Functions of these files that look at threads and at who calls."""

_FROZEN_QUIET = (
    "<frozen importlib",
    "<frozen abc",
    "<frozen _collections_abc",
    "<frozen zipimport",
)
"""Files of that library that Python has frozen; the others, such as `os`, do."""

_LOUD = frozenset(
    ("print", "open", "input", "breakpoint", "exec", "eval", "compile", "globals", "locals", "id", "vars", "dir", "__import__")
)  # fmt: skip
_PURE_MODULES = frozenset(
    (
        "builtins", "math", "cmath", "_operator", "itertools", "_functools", "_collections", "_bisect", "_heapq",
        "_abc", "_weakref", "_struct",
    )
)  # fmt: skip
_PURE_TYPES = (
    list, dict, tuple, set, frozenset, str, bytes, int, float, complex, bool, slice, range, type({}.keys()),
    type({}.values()), type({}.items()), type(None),
)  # fmt: skip
_OF_CLASSES = frozenset(("builtins", "collections", "functools", "types", "enum", "typing", "abc"))
"""Modules of classes whose own methods do nothing that outlives a call."""

_SHAPES_ONLY = frozenset(
    ("reshape", "transpose", "view", "swapaxes", "squeeze", "ravel", "__array_interface__", "setflags",
     "newbyteorder", "__setstate__", "_set_dtype")
)  # fmt: skip
"""Methods of arrays that look at no values."""


def _is_profiler(found: Any) -> bool:
    """Whether it is an object such as cProfile's, which `sys.getprofile` gives and `sys.setprofile` refuses."""
    return found is not None and not callable(found)


class Reading:
    """Watches one call.

    Attributes:
        inside: how many operations are computing
        codes: the code that ran outside operations
        reason: the first thing that a tape cannot have
        dynamic: whether attributes were looked up by names made at run time
    """

    def __init__(self) -> None:
        self.inside = 0
        self.codes: dict[CodeType, str] = {}
        self.reason: CannotTrace | None = None
        self.dynamic = False

    def __enter__(self) -> Reading:
        self.collects = gc.isenabled()
        gc.disable()  # what it calls is no part of the program
        self.before: Any = sys.getprofile()
        if _is_profiler(self.before):
            self.before.disable()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        if _is_profiler(self.before):
            sys.setprofile(None)
            self.before.enable()
        else:
            sys.setprofile(self.before)
        if self.collects:
            gc.enable()

    def _event(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if code in codes and event in ("call", "return"):
            self.inside += 1 if event == "call" else -1
        if self.inside or self.reason is not None or code.co_filename.startswith(COMPILER):
            return
        if event == "call":
            owner = self.codes.get(code)
            if owner is None:
                owner = owner_of(code, frame.f_globals.get("__name__"))
                self.codes[code] = owner
            if owner != "program":
                self._called(frame, code, owner)
        elif event == "c_call":
            self._called_c(frame, arg)

    def _stop(self, frame: FrameType, why: str) -> None:
        self.reason = CannotTrace(why, place_of(frame))

    def _called(self, frame: FrameType, code: CodeType, owner: str) -> None:
        path, name = code.co_filename, code.co_name
        if owner == "library":
            if _is_reader(path, name) or (name in ASKED and is_of_program(frame.f_back)):
                self._stop(frame, f"it looks at a tensor's values or at hidden state, by {name!r}")
            elif (name == "array_of" and _has_values(frame.f_locals.get("data"))) or (
                name == LISTED and _has_values(frame.f_locals.get("part"))
            ):
                self._stop(frame, "it makes a tensor of the values of others")
        elif owner == "stdlib" and not path.startswith(_FROZEN_QUIET):
            if path.endswith("threading.py") and name == "start":
                self._stop(frame, "it starts a thread")
            elif name in _ASKING.get(path.rpartition("/")[2], ()) and is_of_program(frame.f_back):
                self._stop(frame, f"it calls {name!r} of {Path(path).name}")
            elif type(frame.f_locals.get("self")) is suppress:
                self._stop(frame, "it goes on after errors")
            elif not path.endswith(_QUIET):
                self._stop(frame, f"it calls {name!r} of {Path(path).name}")
            elif path.endswith("inspect.py") and is_of_program(frame.f_back):
                self.dynamic = True

    def _called_c(self, frame: FrameType, fn: Any) -> None:
        of = getattr(fn, "__self__", None)
        name = getattr(fn, "__name__", "")
        if isinstance(of, (np.ndarray, np.ufunc, np.generic)) or type(of) in ARRAYS:
            if name not in _SHAPES_ONLY:
                self._stop(frame, f"values are read from memory, by {name!r}")
            return
        if not is_of_program(frame):
            if of is builtins and name in ("print", "open", "input"):
                self._stop(frame, f"it calls {name!r}")
            return
        if name in ("getattr", "setattr", "hasattr", "delattr"):
            self.dynamic = True
        module = getattr(fn, "__module__", None)
        if (of is builtins and name in _LOUD) or name == "__subclasses__":
            self._stop(frame, f"it calls {name!r}")
        elif module is not None and module not in _PURE_MODULES:
            self._stop(frame, f"it calls {name!r} of the module {module!r}")
        elif module is None and not _is_pure_method(fn, of):
            self._stop(frame, f"it calls {name!r} of an object of the class {type(of).__name__}")


def is_of_program(frame: FrameType | None) -> bool:
    """Whether a frame runs code of the program."""
    return (
        frame is not None and owner_of(frame.f_code, frame.f_globals.get("__name__")) == "program"
    )


def _is_reader(path: str, name: str) -> bool:
    for end, names in READERS.items():
        if end in path and (path.endswith(end) or end[-1] == "/") and (not names or name in names):
            return True
    return False


def _is_pure_method(fn: Any, of: Any) -> bool:
    if of is None:
        of = getattr(fn, "__objclass__", None)
    if isinstance(of, type):
        makers = [cls for cls in of.__mro__ if fn.__name__ in vars(cls)]
        return not makers or makers[0].__module__ in _OF_CLASSES
    if type(of).__module__ in ("collections", "itertools", "functools", "types", "_weakref"):
        return True
    return isinstance(of, (*_PURE_TYPES, Tensor))


def _has_values(data: Any) -> bool:
    """Whether data holds tensors or arrays."""
    if isinstance(data, (list, tuple)):
        return any(map(_has_values, data))
    return isinstance(data, (Tensor, np.ndarray)) or hasattr(data, "__array__")
