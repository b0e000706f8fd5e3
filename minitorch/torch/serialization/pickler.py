"""Pickles as Torch writes them: its names for our functions, storages by number."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

from ..backends.interface import as_numpy
from ..device import device
from ..storage import TypedStorage, UntypedStorage, locate
from ..tensor import Size, Tensor
from . import rebuild
from .names import HERE, STORAGE_TYPES, torch_name

SCRIPTED = "__torch__"
"""The package of classes that a TorchScript file defines."""

_PLAIN = {bool, int, float, str, bytes, tuple, list, dict, type(None)}


class Storages:
    """The storages of a file, each once, numbered as they are met."""

    def __init__(self) -> None:
        self.memories: dict[str, Any] = {}
        self._numbers: dict[tuple[int, ...], tuple[str, Any, Any]] = {}

    def number(self, storage: UntypedStorage | TypedStorage) -> tuple[Any, ...]:
        """What the pickle says of a storage: its type, number, place and size."""
        untyped = storage.untyped()
        kind: Any = UntypedStorage
        count = untyped.nbytes()
        if isinstance(storage, TypedStorage) and storage.dtype in STORAGE_TYPES:
            kind, count = STORAGE_TYPES[storage.dtype], storage.size()
        place = (id(untyped._root), untyped.data_ptr(), untyped.nbytes())
        new = (str(len(self._numbers)), kind, untyped._root)  # the root is kept, so that its id is
        key, seen, _ = self._numbers.setdefault(place, new)
        if seen is not kind:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        self.memories[key] = as_numpy(untyped._memory)
        return "storage", kind, key, str(untyped.device), count


def dump(obj: Any, pickle_module: Any, protocol: int) -> tuple[bytes, Storages]:
    """The pickle of an object, and the storages that it refers to."""
    base = pickle._Pickler if pickle_module is pickle else pickle_module.Pickler  # type: ignore[attr-defined]
    if not issubclass(base, pickle._Pickler):  # type: ignore[attr-defined]
        raise TypeError(f"{pickle_module.__name__}.Pickler must be a subclass of pickle._Pickler")
    storages = Storages()
    file = io.BytesIO()
    type("Pickler", (_NamesAsTorch, base), {})(file, protocol, storages).dump(obj)
    return file.getvalue(), storages


class _NamesAsTorch:
    """What a pickler does differently in a `.pt` file; `dump` puts it before a pickler's class."""

    def __init__(self, file: Any, protocol: int, storages: Storages) -> None:
        super().__init__(file, protocol)  # type: ignore[call-arg]
        self._storages = storages

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        if isinstance(obj, (UntypedStorage, TypedStorage)):
            return self._storages.number(obj)
        return None

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) in _PLAIN:
            return NotImplemented
        if isinstance(obj, Tensor) and type(obj).__reduce_ex__ is Tensor.__reduce_ex__:
            return _reduce_tensor(obj)
        if type(obj) is Size:
            return Size, (tuple(obj),)
        if type(obj) is device:
            return device, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if (name := torch_name(obj)) is not None:
            return name.rpartition(".")[2]
        before: Any = super()
        return (
            before.reducer_override(obj) if hasattr(before, "reducer_override") else NotImplemented
        )

    def save_global(self, obj: Any, name: str | None = None) -> None:
        full = torch_name(obj)
        module = str(getattr(obj, "__module__", ""))
        if full is None and module.partition(".")[0] == SCRIPTED:
            full = f"{module}.{obj.__name__}"
        if full is None and module.startswith(HERE + "."):
            full = f"{obj.__module__}.{name or obj.__qualname__}".replace(HERE, "torch", 1)
        if full is None:
            super().save_global(obj, name)  # type: ignore[misc]
        else:
            _write_global(self, obj, *full.rsplit(".", 1))


def _write_global(pickler: Any, obj: Any, module: str, name: str) -> None:
    """Write a name, whether or not it can be imported here."""
    if pickler.proto >= 4:
        pickler.save(module)
        pickler.save(name)
        pickler.write(pickle.STACK_GLOBAL)
    else:
        pickler.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
    pickler.memoize(obj)


def _reduce_tensor(tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
    """How a file makes a tensor again."""
    kind = rebuild.parameter_class()
    attributes = rebuild.own_attributes(tensor)
    if kind is not None and type(tensor) is kind:
        parts = (tensor.detach(), tensor.requires_grad, OrderedDict())
        if attributes:
            return rebuild.rebuild_parameter_with_state, (*parts, attributes)
        return rebuild.rebuild_parameter, parts
    function, args = _reduce_plain(tensor)
    if type(tensor) is Tensor and not attributes:
        return function, args
    return rebuild.rebuild_from_type_v2, (function, type(tensor), args, attributes)


def _reduce_plain(tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
    """How a file makes a tensor without a class or attributes of its own."""
    if tensor.is_meta:
        about = (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.requires_grad)
        return rebuild.rebuild_meta_tensor_no_storage, about
    view = locate(tensor._array)
    memory = UntypedStorage.over(view.memory, view.root)
    rest = (view.offset, view.shape, view.strides, tensor.requires_grad, OrderedDict())
    if tensor.dtype not in STORAGE_TYPES:
        return rebuild.rebuild_tensor_v3, (memory, *rest, tensor.dtype)
    typed = TypedStorage(wrap_storage=memory, dtype=tensor.dtype)
    return rebuild.rebuild_tensor_v2, (typed, *rest)
