"""Compiled kernels on disk, known again by all the code that they are made of.

They lie in `kernels` in the user's cache folder (`~/.cache/minitorch`, or below
XDG_CACHE_HOME), or in `minitorch` in the folder that NUMBA_CACHE_DIR names. Each file is named
by a hash of what its machine code depends on, and holds a hash of itself, so that a damaged
one is noticed. Nothing that happens to these files is an error: what cannot be read is
compiled again and written anew, what cannot be written stays in memory, and one warning says
so.

The files are pickles, which run code when they are read. So they are read only where nobody
but the user, or root, can have put them.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import pickle
import re
import secrets
import stat
import sys
import warnings
from collections.abc import Iterable
from contextlib import suppress
from enum import EnumMeta
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core import config
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.core.runtime import nrt
from numba.core.serialize import dumps

from .files import cache_folder, replacing

KEPT = 4096
"""How many kernels stay on disk; of more, those go that were not used for the longest time."""

FORMAT = "4"
"""Of the files: those of another format are not looked for."""

_DIGEST = 32


# Numba numbers functions as they come, in each process from 1, and the number is part of a symbol's name in
# machine code. Of two kernels that were compiled in two processes and are loaded into a third one,
# functions of equal names and types would be taken for each other. So each process has numbers of its own.


def _number_functions() -> None:
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))


_number_functions()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_number_functions)


def kernel_folder() -> Path:
    """Where compiled kernels are kept; RuntimeError if the user has no home."""
    named: Any = config.CACHE_DIR  # pyright: ignore[reportAttributeAccessIssue]
    return Path(named) / "minitorch" if named else cache_folder() / "kernels"


class KernelCache(_Cache):
    """What a Numba dispatcher asks before it compiles, and tells after."""

    def __init__(self, kernel: Dispatcher) -> None:
        self._kernel = kernel

    @property
    def cache_path(self) -> str:
        """The folder of its files."""
        return str(kernel_folder())

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """The machine code for a signature; None if it is not there, or damaged."""
        try:
            payload = _read(self._path(sig, target_context.codegen()))
            needed, state = pickle.loads(payload)
            _provide(needed, target_context)
            return CompileResult._rebuild(target_context, *state)
        except FileNotFoundError:
            return None
        except Exception as error:
            _warn(error)
            return None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep the machine code for a signature."""
        if data.lifted or data.library.has_dynamic_globals:
            return
        try:
            path = self._path(sig, data.codegen)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_owner(path.parent, os.stat(path.parent))
            _write(path, dumps((_needed_by(data), data._reduce())))
            _remove_unused(path.parent)
        except Exception as error:
            _warn(error)

    def _path(self, sig: Any, codegen: Any) -> Path:
        fn = self._kernel.py_func
        versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
        flags = config.OPT, config.BOUNDSCHECK  # pyright: ignore[reportAttributeAccessIssue]
        target = (*codegen.magic_tuple(), *versions, *map(str, flags), FORMAT)
        known_by = fingerprint(self._kernel, (fn.__module__, fn.__qualname__, str(sig), target))
        name = re.sub(r"\W+", "_", fn.__qualname__.replace("<locals>.", ""))[:60]
        return kernel_folder() / f"{name}-{known_by}.nbc"

    def enable(self) -> None:
        """It always is."""

    def disable(self) -> None:
        """It never is."""

    def flush(self) -> None:
        """There is nothing to forget: other code has other files."""


def _needed_by(data: CompileResult) -> list[str]:
    """The functions and variables that machine code names and does not contain."""
    module = data.library._final_module
    everything = (*module.functions, *module.global_variables)
    names = [each.name for each in everything if each.is_declaration]
    return [name for name in names if not name.startswith("llvm.")]


def _provide(needed: list[str], target_context: Any) -> None:
    """Let LLVM know what machine code names: it ends the process where it meets another one.

    The compiler brings them all, but takes longer to load than many kernels, most of which need no more than memory.
    """
    memory: Any = nrt
    for name, address in memory._nrt.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    if not all(map(binding.address_of_symbol, needed)):
        target_context.refresh()


# --- Files -------------------------------------------------------------------------------


def _read(path: Path) -> bytes:
    """What `_write` wrote; ValueError if that was damaged since."""
    _check_owner(path.parent, os.stat(path.parent))
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, os.O_RDONLY | flags), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ValueError(f"{path} is not a file")
        _check_owner(path, about)
        content = file.read()
    payload = content[_DIGEST:]
    if hashlib.sha256(payload).digest() != content[:_DIGEST]:
        raise ValueError(f"{path} is damaged")
    return payload


def _write(path: Path, payload: bytes) -> None:
    """Write a file in place of whatever is there."""
    with suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        elif not path.is_file() or path.is_symlink():
            path.unlink()
    with replacing(path, durable=False, mode=0o600) as file:
        file.write(hashlib.sha256(payload).digest() + payload)


def _check_owner(path: Path, about: os.stat_result) -> None:
    """PermissionError if somebody else than the user or root could have written here."""
    if not hasattr(os, "geteuid"):  # Windows
        return
    if about.st_uid not in (0, os.geteuid()) or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{path} can be written by others")


def _remove_unused(folder: Path) -> None:
    """Keep a folder from growing without end."""
    if len(os.listdir(folder)) <= KEPT:
        return
    used = sorted(
        (max(s.st_atime, s.st_mtime), p) for p in folder.glob("*.nbc") for s in [p.stat()]
    )
    for _, path in used[: KEPT // 4]:
        path.unlink(missing_ok=True)


_warned = False


def _warn(error: Exception) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled kernels are not all kept on disk ({type(error).__name__}: {error}); they are "
            "compiled again. NUMBA_CACHE_DIR can name a folder for them, writable by you alone",
            RuntimeWarning,
            stacklevel=2,
        )


# --- Fingerprints ------------------------------------------------------------------------

FOREIGN = {*sys.stdlib_module_names, "numpy", "numba", "llvmlite"}
"""Packages whose functions are known by their names."""


def fingerprint(*values: Any) -> str:
    """A hash of kernels: of their code, and of all that this code reaches.

    Functions that are called, compiled or not, numbers, tuples, arrays and types count, whether
    they are reached by name, through a closure or as a default argument.
    """
    digest = hashlib.sha256()
    seen: dict[int, tuple[int, Any]] = {}  # by identity, and kept so that it stays one
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, (Dispatcher, FunctionType, _Intrinsic, dict, list)):
            if id(value) in seen:
                digest.update(b"again %d" % seen[id(value)][0])
                continue
            seen[id(value)] = len(seen), value
        facts, parts = _facts(value)
        parts = list(parts)
        digest.update(repr((facts, len(parts))).encode())
        waiting.extend(parts)
    return digest.hexdigest()[:32]


def _facts(value: Any) -> tuple[Any, Iterable[Any]]:
    """What a value is by itself, and what else it is made of."""
    kind = type(value)
    if isinstance(value, Dispatcher):
        compiler: Any = getattr(value, "_compiler", None)
        own = getattr(getattr(compiler, "pipeline_class", None), "known_as", None)  # its names
        return "compiled", (value.py_func, value.targetoptions, value.locals, own)
    if isinstance(value, _Intrinsic):
        return "intrinsic", (value._defn,)
    if isinstance(value, FunctionType):
        return _function_facts(value)
    if isinstance(value, CodeType):
        return (
            (value.co_code, value.co_names, value.co_freevars, value.co_flags, value.co_argcount),
            value.co_consts,
        )
    if isinstance(value, (np.ndarray, np.generic)):
        return (kind.__name__, value.dtype.str, value.shape, value.tobytes()), ()
    if isinstance(value, dict):
        return "dict", [part for item in value.items() for part in item]
    if isinstance(value, (set, frozenset)):
        return ("set", sorted(map(repr, value))), ()
    if isinstance(value, (tuple, list)):
        return (kind.__qualname__, getattr(kind, "_fields", ())), value
    if isinstance(value, ModuleType):
        return value.__name__, ()
    if isinstance(value, type):
        members = list(value) if isinstance(value, EnumMeta) else getattr(value, "_fields", ())
        return (value.__module__, value.__qualname__, repr(members)), ()
    return (kind.__module__, kind.__qualname__, re.sub(r" at 0x\w+", "", repr(value))), ()


def _function_facts(fn: FunctionType) -> tuple[Any, Iterable[Any]]:
    """A function is its code and what that names: globals, their attributes, closed-over variables."""
    if str(fn.__module__).partition(".")[0] in FOREIGN:
        return (fn.__module__, fn.__qualname__), ()
    names = sorted({name for code in _codes(fn.__code__) for name in code.co_names})
    known = {name: fn.__globals__[name] for name in names if name in fn.__globals__}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        with suppress(ValueError):  # not yet filled
            known[name] = cell.cell_contents
    own = [m for m in known.values() if isinstance(m, ModuleType) and not _is_foreign(m)]
    attributes = [getattr(m, name) for m in own for name in names if hasattr(m, name)]
    return "function", (
        fn.__code__, fn.__defaults__, fn.__kwdefaults__, vars(fn), known, attributes,
    )  # fmt: skip


def _is_foreign(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] in FOREIGN


def _codes(code: CodeType) -> list[CodeType]:
    """A code object and those nested in it."""
    nested = [c for c in code.co_consts if isinstance(c, CodeType)]
    return [code, *(inner for c in nested for inner in _codes(c))]
