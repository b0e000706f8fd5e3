"""The names in Torch's files, and what they mean here.

A pickle refers to functions and classes by name. `CONSTANTS` are values that it may hold,
`BUILDERS` are what it may call; the restricted unpickler knows no others, except those that
a program has declared safe.
"""

from __future__ import annotations

import _compat_pickle
import importlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pickle import UnpicklingError
from reprlib import repr as brief
from typing import Any

from .. import dtypes, environment
from ..device import device
from ..storage import UntypedStorage
from ..tensor import Size, Tensor
from . import rebuild

HERE = __name__.removesuffix(".serialization.names")
"""The package that stands for `torch`."""


class StorageType:
    """The old class of a storage, such as `torch.FloatStorage`: a name for its dtype."""

    def __init__(self, dtype: dtypes.dtype, name: str = "") -> None:
        self.dtype = dtype
        self.name = name or dtype.type_name.replace("Tensor", "Storage")


_YOUNG = (dtypes.uint16, dtypes.uint32, dtypes.uint64)  # whose storages are bytes in every file
STORAGE_TYPES: dict[dtypes.dtype, StorageType] = {
    d: StorageType(d) for d in dtypes.ALL if d not in _YOUNG
}
_QUANTIZED = {"qint8": "QInt8Storage", "quint8": "QUInt8Storage", "qint32": "QInt32Storage"}
STORAGE_TYPES |= {dtypes.NAMES[d]: StorageType(dtypes.NAMES[d], s) for d, s in _QUANTIZED.items()}

CONSTANTS: dict[str, Any] = {
    **{str(d): d for d in (*dtypes.ALL, *map(dtypes.NAMES.get, _QUANTIZED))},
    **{str(s): s for s in (environment.per_tensor_affine, environment.per_channel_affine)},
    **{f"torch.{kind.name}": kind for kind in STORAGE_TYPES.values()},
    "torch.storage.UntypedStorage": UntypedStorage,
    "torch.Tensor": Tensor,
}


def latin1_bytes(text: Any = "", encoding: Any = "latin1") -> bytes:
    """Bytes, which old pickles write as text."""
    if encoding not in ("latin1", "latin-1") or not isinstance(text, (str, bytes)):
        raise UnpicklingError(
            f"a pickle cannot make bytes from {type(text).__name__} ({brief(encoding)})"
        )
    return text if isinstance(text, bytes) else text.encode("latin1")


def latin1_bytearray(text: Any = "", encoding: Any = "latin1") -> bytearray:
    """Bytes that can be changed."""
    return bytearray(latin1_bytes(text, encoding))


BUILDERS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor_v2": rebuild.rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": rebuild.rebuild_tensor_v3,
    "torch._utils._rebuild_tensor": rebuild.rebuild_tensor,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild.rebuild_meta_tensor_no_storage,
    "torch._utils._rebuild_qtensor": rebuild.rebuild_qtensor,
    "torch._utils._rebuild_parameter": rebuild.rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild.rebuild_parameter_with_state,
    "torch._utils._rebuild_sparse_tensor": rebuild.rebuild_sparse_tensor,
    "torch._tensor._rebuild_from_type_v2": rebuild.rebuild_from_type_v2,
    "torch.serialization._get_layout": rebuild.layout,
    "torch.Size": Size,
    "torch.device": device,
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "_codecs.encode": latin1_bytes,
    "builtins.bytes": latin1_bytes,
    "builtins.bytearray": latin1_bytearray,
    "builtins.complex": complex,
    "builtins.set": set,
    "builtins.frozenset": frozenset,
}

_WRITTEN: dict[int, str] = {
    id(value): name for name, value in (CONSTANTS | BUILDERS).items() if name.startswith("torch.")
}


def torch_name(value: Any) -> str | None:
    """The name by which Torch's files refer to something of ours; None for all else."""
    return _WRITTEN.get(id(value))


def modern_name(module: str, name: str) -> tuple[str, str]:
    """The name in Python 3 of what an old pickle names as in Python 2."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        return _compat_pickle.NAME_MAPPING[module, name]
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name


def find_torch_object(module: str, name: str) -> Any:
    """What stands here for `torch.a.b.name`: in that module of ours, or in one above it.

    Raises:
        AttributeError: if there is no such name.
    """
    full = f"{module}.{name}"
    if full in CONSTANTS:
        return CONSTANTS[full]
    if full in BUILDERS:
        return BUILDERS[full]
    path = HERE + module.removeprefix("torch")
    while path.startswith(HERE):
        try:
            found: Any = importlib.import_module(path)
            for part in name.split("."):
                found = getattr(found, part)
            return found
        except (ImportError, AttributeError):
            path = path.rpartition(".")[0]
    raise AttributeError(f"{full} is in the file, but minitorch.torch has no such name")


# --- What a program has declared safe ----------------------------------------------------

SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]
_BLOCKED = ("sys", "os", "posix", "nt")
_safe: list[SafeGlobal] = []


def add_safe_globals(safe_globals: Sequence[SafeGlobal]) -> None:
    """Let `load(weights_only=True)` call these functions and classes, or `(function, "its.name")`."""
    _safe.extend(each for each in safe_globals if each not in _safe)


def get_safe_globals() -> list[SafeGlobal]:
    """What `add_safe_globals` was given."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` was given."""
    _safe.clear()


@contextmanager
def safe_globals(safe_globals: Sequence[SafeGlobal]) -> Iterator[None]:
    """Declare functions and classes safe for the length of a `with` block."""
    before = list(_safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before


def safe_by_name() -> dict[str, Any]:
    """What a program has declared safe, by every name that a file may use for it."""
    named: dict[str, Any] = {}
    for each in _safe:
        if isinstance(each, tuple):
            value, name = each
        else:
            value, name = each, f"{each.__module__}.{each.__qualname__}"
        named[name] = value
        if name.startswith(HERE + "."):
            named["torch" + name.removeprefix(HERE)] = value
        if name.startswith("numpy._core."):
            named[name.replace("numpy._core.", "numpy.core.", 1)] = value
    return {name: value for name, value in named.items() if not is_blocked(name)}


def is_blocked(name: str) -> bool:
    """Whether a name is of a module that no declaration makes safe."""
    return name.rpartition(".")[0] in _BLOCKED
