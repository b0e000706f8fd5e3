"""TorchScript files, PyTorch's and ours: an archive of a pickled module, tensors, and the code of its classes.

    code/__torch__/package.py   classes and functions, which `interpreting.py` carries out
    data.pkl, data/0, ...       the module: objects of these classes with their attributes
    constants.pkl, constants/0  tensors that the code names

Classes of `torch.nn` that a file of ours names have no code in it: they are this library's. Nothing in a file is executed.
"""

from __future__ import annotations

import ast
import functools
import os
import pickle
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...syntax import literal
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..serialization import _opened_to_write
from ..serialization.archive import ArchiveReader, ArchiveWriter
from ..serialization.pickler import SCRIPTED, dump
from ..serialization.storages import StorageLoader
from ..serialization.unpickler import SafeUnpickler
from ..tensor import Tensor
from .calls import ScriptError
from .compiling import library_module
from .interpreting import Code, Evaluator

LIBRARY = f"{SCRIPTED}.torch.nn"


class Stored:
    """An object as a file has it: of a class that is only a name, with attributes."""


def stored(name: str, attributes: dict[str, Any]) -> Stored:
    """An object for a file, of the class of a name."""
    package, _, short = name.rpartition(".")
    made = type(short, (Stored,), {"__module__": package})()
    made.__dict__.update(attributes)
    return made


def writer() -> Any:
    """The module that writes files, on first need: it loads `torch.export`."""
    return import_module(".saving", __package__)


class ScriptModule(Module):
    """A module that can be saved with its code (`torch.jit.save`); it runs as the Python that it is."""

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write it to a file, with its code."""
        writer().save(self, f, _extra_files)

    @property
    def code(self) -> str:
        """The code that a file of it has, for `forward`."""
        return writer().code_of_forward(self)

    @property
    def original_name(self) -> str:
        """The name of the module's class."""
        return original_class(self).__name__


@functools.cache
def _class_of(kind: type, base: type) -> Any:
    """The class of a scripted or traced module: what it was, and a `ScriptModule`."""
    return type(base.__name__, (kind, base), {"__module__": base.__module__})


def original_class(module: Module) -> type:
    """The class of a module before it was scripted."""
    return vars(module).get("script_original", type(module))


def scripted(
    module: Module, kind: type[ScriptModule] = ScriptModule, examples: Any = None
) -> ScriptModule:
    """A module as a `ScriptModule` with the same parameters, buffers and modules."""
    base = original_class(module)
    made = object.__new__(_class_of(kind, base))
    made.__dict__.update(module.__dict__, script_original=base, script_examples=examples)
    return made


class RecursiveScriptModule(ScriptModule):
    """A module that was read from a file: its class is code of the file."""

    def __init__(self, code: Code, name: str) -> None:
        super().__init__()
        self.script_code, self.script_name = code, name

    def script_method(self, name: str) -> Callable[..., Any]:
        """A method of the file's class, bound."""
        node = self.script_code.methods(self.script_name).get(name)
        if node is None:
            raise AttributeError(f"{self.script_name} has no method {name!r}")
        return lambda *args, **kwargs: Evaluator(self.script_code).run(node, (self, *args), kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the code of the file computes."""
        methods = self.script_code.methods(self.script_name)
        name = next((m for m in ("forward", "forward__0") if m in methods), None)
        if name is None:
            raise NotImplementedError(f"{self.script_name} has no forward in its file")
        return self.script_method(name)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        code = self.__dict__.get("script_code")
        if code is not None and name in code.methods(self.__dict__["script_name"]):
            return self.script_method(name)
        return super().__getattr__(name)

    @property
    def original_name(self) -> str:
        """The name of the module's class."""
        return self.script_name.rpartition(".")[2]

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"


# --- Reading ---------------------------------------------------------------------------------------------------


class _Unpickler(SafeUnpickler):
    """Reads names of the file's own classes as empty ones."""

    def find(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == SCRIPTED:
            full = f"{module}.{name}"
            if full not in self.safe:
                made = type(name, (Stored,), {"__module__": module})
                self.safe[full] = self.callable[id(made)] = made
            return self.safe[full]
        if module == "torch.jit._pickle":
            made = self.safe.setdefault(name, lambda values, *_: values)
            self.callable[id(made)] = made
            return made
        return super().find(module, name)


def load(f: Any, map_location: Any = None, _extra_files: dict[str, Any] | None = None, **_: Any) -> ScriptModule:  # fmt: skip
    """A module from a file of `torch.jit.save`, PyTorch's or ours; nothing in the file is executed.

    Args:
        f: a path or an open file
        map_location: where its tensors go
        _extra_files: filled with the texts of its names
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return load(file, map_location, _extra_files)
    code = Code()
    with ArchiveReader(f) as archive:
        if "constants.pkl" not in archive:
            raise RuntimeError("the file has no code: it was written by torch.save, and torch.load reads it")  # fmt: skip
        for name in archive.names():
            if name.startswith("code/") and name.endswith(".py"):
                package = name.removeprefix("code/").removesuffix(".py").replace("/", ".")
                code.add(archive.read_text(name), package)
        for name in _extra_files or {}:
            _extra_files[name] = archive.read_text(f"extra/{name}")  # type: ignore[index]
        code.constants = list(_unpickled(archive, "constants", map_location))
        made = _made(_unpickled(archive, "data", map_location), code, {})
    return made if isinstance(made, ScriptModule) else scripted(made)


def _unpickled(archive: ArchiveReader, name: str, map_location: Any) -> Any:
    read = lambda key, size: archive.read(f"{name}/{key}")  # noqa: E731
    storages = StorageLoader(read, map_location, archive.is_foreign_order())
    return _Unpickler(memoryview(archive.read(f"{name}.pkl")), storages).load()


def _made(value: Any, code: Code, done: dict[int, Any]) -> Any:
    """A value of a file, with objects of its classes in place of stored ones; each once."""
    if isinstance(value, (list, tuple)):
        return type(value)(_made(each, code, done) for each in value)
    if isinstance(value, dict):
        return {key: _made(each, code, done) for key, each in value.items()}
    if not isinstance(value, Stored):
        return value
    if id(value) not in done:
        done[id(value)] = made = _empty(value, code)
        _fill(made, vars(value), code, done)
    return done[id(value)]


def _empty(value: Stored, code: Code) -> Any:
    """A module or an object without attributes."""
    cls = type(value)
    name = f"{cls.__module__}.{cls.__name__}"
    node = code.definitions.get(name)
    if isinstance(node, ast.ClassDef) and [ast.unparse(b) for b in node.bases] == ["Module"]:
        return RecursiveScriptModule(code, name)
    found = library_module(cls.__name__) if cls.__module__ == LIBRARY else None
    if found is None:
        raise ScriptError(f"the file has an object of {name}, but no code for this class")
    made = found.__new__(found)
    Module.__init__(made)
    return made


def _fill(made: Any, attributes: dict[str, Any], code: Code, done: dict[int, Any]) -> None:
    """Give an object its attributes: parameters, buffers, modules and plain values."""
    own = _declared(code, getattr(made, "script_name", ""))
    lists = {n: own.pop(n, attributes.get(n, ())) for n in ("__parameters__", "__buffers__")}
    for name, stored_value in {**own, **attributes}.items():
        value = _made(stored_value, code, done)
        if isinstance(value, Module) or (
            value is None and name in attributes.get("__modules__", ())
        ):
            made._modules[name] = value
        elif name in lists["__parameters__"] and (value is None or isinstance(value, Tensor)):
            made._parameters[name] = None if value is None else Parameter(value, value.requires_grad)  # fmt: skip
        elif name in lists["__buffers__"]:
            made._buffers[name] = value
        elif not name.startswith("__"):
            vars(made)[name] = value
    known = {(p.data_ptr(), p.shape): p for p in made._parameters.values() if p is not None}
    for name, value in vars(made).items():  # lists of parameters, such as an LSTM has
        if isinstance(value, list) and value and all(isinstance(t, Tensor) for t in value):
            vars(made)[name] = [known.get((t.data_ptr(), t.shape), t) for t in value]


def _declared(code: Code, name: str) -> dict[str, Any]:
    """What the body of a class says of its parameters, buffers and constants."""
    node = code.definitions.get(name)
    found: dict[str, Any] = {}
    for each in node.body if isinstance(node, ast.ClassDef) else ():
        target = each.targets[0] if isinstance(each, ast.Assign) else getattr(each, "target", None)
        value = getattr(each, "value", None)
        if isinstance(target, ast.Name) and value is not None:
            try:
                found[target.id] = literal(value)
            except ValueError:
                continue
    return found


# --- Writing ---------------------------------------------------------------------------------------------------


def write(
    f: Any, root: Stored, texts: dict[str, str], constants: list[Tensor], extra_files: dict[str, Any] | None
) -> None:  # fmt: skip
    """Write a file: an object, the code of its classes by package, and the tensors that the code names."""
    with _opened_to_write(f) as (file, name), ArchiveWriter(file, name) as archive:
        for record, value in (("data", root), ("constants", tuple(constants))):
            pickled, storages = dump(value, pickle, 2)
            for key, memory in storages.memories.items():
                archive.write(f"{record}/{key}", memory)
            archive.write(f"{record}.pkl", pickled)
        for package, text in texts.items():
            archive.write(f"code/{package.replace('.', '/')}.py", text.encode())
        for key, text in (extra_files or {}).items():
            archive.write(f"extra/{key}", text.encode() if isinstance(text, str) else text)
        archive.write("byteorder", sys.byteorder.encode())
        archive.finish()
