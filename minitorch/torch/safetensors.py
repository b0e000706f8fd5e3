"""Tensors by name in one file, in the format of the package safetensors, which contains no code.

    8 bytes      the length of the header
    the header   JSON: of each tensor its dtype, shape, and where its bytes begin and end
    the bytes    of all tensors, one after the other, without gaps

Our files can be read by safetensors, and vice versa. A header that deviates is refused.
"""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from . import dtypes
from .backends.interface import address_of, as_numpy, resolve
from .serialization.rebuild import make_boolean
from .serialization.replacing import replacing
from .serialization.storages import swap_bytes
from .storage import UntypedStorage, array_over
from .tensor import Tensor, wrap

__version__ = "0.8.0"  # of the package whose functions these are

LARGEST_HEADER = 100_000_000
_ALIGNMENT = 8
_MOST_DIMENSIONS = 64  # of an array of NumPy
_METADATA = "__metadata__"

_NAMES = {  # in the order in which files have them, from the last
    dtypes.bool_: "BOOL", dtypes.uint8: "U8", dtypes.int8: "I8", dtypes.int16: "I16",
    dtypes.uint16: "U16", dtypes.float16: "F16", dtypes.bfloat16: "BF16", dtypes.int32: "I32",
    dtypes.uint32: "U32", dtypes.float32: "F32", dtypes.complex64: "C64", dtypes.float64: "F64",
    dtypes.int64: "I64", dtypes.uint64: "U64",
}  # fmt: skip
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}

torch = sys.modules[__name__]
"""This module again, for programs that import `safetensors.torch`."""
__path__: list[str] = []  # so that it can be imported: a package, without files


class SafetensorError(Exception):
    """A file that is damaged or not in this format."""


# --- Writing -----------------------------------------------------------------------------


def save_file(
    tensors: Mapping[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors by name to a file, atomically."""
    header, ordered = _header(tensors, metadata)
    with replacing(filename) as file:
        _write(file, header, ordered)


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """Tensors by name, as the bytes of a file."""
    file = io.BytesIO()
    _write(file, *_header(tensors, metadata))
    return file.getvalue()


def save_model(
    model: Any,
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Write the tensors of a module, each once: further names of a shared tensor are in the metadata.

    Args:
        model: the module
        filename: the path
        metadata: additional texts
        force_contiguous: whether to copy tensors that are not contiguous
    """
    state = model.state_dict()
    noted = dict(metadata or {})
    for kept, others in _shared_names(state, ()).items():
        for name in others:
            noted.setdefault(name, kept)
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    save_file(state, filename, noted if noted or metadata is not None else None)


def load_model(
    model: Any, filename: str | os.PathLike[str], strict: bool = True, device: Any = "cpu", **_: Any
) -> tuple[set[str], list[str]]:
    """Read tensors into a module that `save_model` wrote.

    Returns:
        the names of the module's tensors that the file lacks, and names of the file's that the module lacks
    """
    state = load_file(filename, device)
    shared = _shared_names(model.state_dict(), state)
    lacking, extra = model.load_state_dict(state, strict=False)
    missing, unexpected = set(lacking), list(extra)
    for name in (name for others in shared.values() for name in others):
        if name in missing:
            missing.remove(name)
        else:
            unexpected.append(name)
    if strict and (missing or unexpected):
        text = f"Error(s) in loading state_dict for {type(model).__name__}:"
        for what, names in (("Missing", missing), ("Unexpected", unexpected)):
            if names:
                listed = ", ".join(f'"{name}"' for name in sorted(names))
                text += f"\n    {what} key(s) in state_dict: {listed}"
        raise RuntimeError(text)
    return missing, unexpected


def _shared_names(state: Mapping[str, Tensor], preferred: Iterable[str]) -> dict[str, list[str]]:
    """Of tensors with several names: the one to keep, and the others."""
    groups: dict[Any, list[str]] = {}
    for name in sorted(state):
        array = state[name]._array
        if array.nbytes:
            groups.setdefault((address_of(array), array.nbytes), []).append(name)
    found = {}
    for names in groups.values():
        if len(names) > 1:
            kept = next((name for name in names if name in preferred), names[0])
            found[kept] = [name for name in names if name != kept]
    return found


def _header(
    tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None
) -> tuple[bytes, list[Tensor]]:
    """The header, and the tensors in the order of their bytes: largest numbers first."""
    _check_tensors(tensors)
    kinds = list(_NAMES)
    ordered = sorted(tensors, key=lambda name: (-kinds.index(tensors[name].dtype), name))
    about: dict[str, Any] = {}
    if metadata is not None:
        _check_metadata(metadata, TypeError)
        about[_METADATA] = dict(metadata)
    end = 0
    for name in ordered:
        array = tensors[name]._array
        begin, end = end, end + array.nbytes
        about[name] = {
            "dtype": _NAMES[tensors[name].dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(about, separators=(",", ":"), ensure_ascii=False).encode()
    return text + b" " * (-len(text) % _ALIGNMENT), [tensors[name] for name in ordered]


def _write(file: BinaryIO, header: bytes, tensors: list[Tensor]) -> None:
    file.write(len(header).to_bytes(8, "little") + header)
    for tensor in tensors:
        memory: Any = as_numpy(tensor._array).reshape(-1).view(np.uint8)
        if sys.byteorder == "big":
            memory = memory.copy()
            swap_bytes(memory, tensor.dtype)
        file.write(memory)


def _check_tensors(tensors: Mapping[str, Tensor]) -> None:
    """Raise errors for tensors that the format cannot store."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}"
            )
        if tensor.dtype not in _NAMES:
            raise KeyError(f"safetensors has no dtype for {tensor.dtype} (tensor `{name}`)")
        if not tensor._array.flags.c_contiguous:
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. "
                "Call .contiguous() before saving, or save the tensor that it is a view of."
            )
    _check_not_shared(tensors)


def _check_not_shared(tensors: Mapping[str, Tensor]) -> None:
    """Raise an error for tensors that overlap in memory: they would be separate after loading."""
    spans = sorted(
        (address_of(t._array), address_of(t._array) + t._array.nbytes, name)
        for name, t in tensors.items()
        if t._array.nbytes
    )
    last, last_name = 0, ""
    for begin, end, name in spans:
        if begin < last:
            raise RuntimeError(
                "Some tensors share memory, this will lead to duplicate memory on disk and "
                f"potential differences when loading them again: `{last_name}` and `{name}`. "
                "Save one of them, or a .clone() of the other."
            )
        if end > last:
            last, last_name = end, name


def _check_metadata(metadata: Any, error: type[Exception]) -> None:
    if not isinstance(metadata, Mapping) or not all(
        isinstance(word, str) for pair in metadata.items() for word in pair
    ):
        raise error("the metadata must be a dict of str to str")


# --- Reading -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Entry:
    """A tensor's entry in the header; offsets count from the end of the header."""

    dtype: dtypes.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a file by name."""
    with safe_open(filename, device=device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a file by name."""
    file = io.BytesIO(data)
    start, entries, _ = _read_header(file)
    return {name: _read_tensor(file, start, entry) for name, entry in entries.items()}


def _read_header(file: BinaryIO) -> tuple[int, dict[str, _Entry], dict[str, str] | None]:
    """The start of the data, the tensors in order, and the metadata; all checked."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size < 8:
        raise SafetensorError("Error while deserializing: header too small")
    length = int.from_bytes(file.read(8), "little")
    if length > LARGEST_HEADER:
        raise SafetensorError("Error while deserializing: header too large")
    if 8 + length > size:
        raise SafetensorError("Error while deserializing: invalid header length")
    about = _parse(file.read(length))
    metadata = about.pop(_METADATA, None)
    if metadata is not None:
        _check_metadata(metadata, SafetensorError)
    entries = {name: _entry(name, fields) for name, fields in about.items()}
    ordered = dict(sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)))
    _check_cover(ordered, size - 8 - length)
    return 8 + length, ordered, metadata


def _parse(text: bytes) -> dict[str, Any]:
    """The JSON of a header; duplicate names are an error."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            raise SafetensorError("Error while deserializing: the header has a name twice")
        return dict(pairs)

    try:
        about = json.loads(text.decode("utf-8"), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise SafetensorError(
            f"Error while deserializing: invalid JSON in header: {error}"
        ) from None
    if not isinstance(about, dict):
        raise SafetensorError("Error while deserializing: the header is no JSON object")
    return about


def _entry(name: str, fields: Any) -> _Entry:
    """A tensor's checked entry in the header."""
    if not isinstance(fields, dict) or not {"dtype", "shape", "data_offsets"} <= fields.keys():
        raise _invalid(name, "it needs dtype, shape and data_offsets")
    dtype, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise _invalid(name, f"the dtype {dtype} is not among {', '.join(_DTYPES)}")
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise _invalid(name, "shape and data_offsets must be whole numbers")
    if len(shape) > _MOST_DIMENSIONS:
        raise _invalid(name, f"{len(shape)} dimensions are more than {_MOST_DIMENSIONS}")
    if math.prod(shape) * _DTYPES[dtype].itemsize != offsets[1] - offsets[0]:
        raise _invalid(name, f"shape {shape} of {dtype} does not fill the bytes {offsets}")
    return _Entry(_DTYPES[dtype], tuple(shape), *offsets)


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) is int and 0 <= v < 2**63 for v in values)


def _invalid(name: str, reason: str) -> SafetensorError:
    text = f"Error while deserializing: invalid entry of tensor `{name:.100}`: {reason:.500}"
    return SafetensorError(text.encode("utf-8", "backslashreplace").decode())


def _check_cover(entries: dict[str, _Entry], size: int) -> None:
    """Check that the tensors follow each other and fill the file."""
    end = 0
    for name, entry in entries.items():
        if entry.begin != end:
            raise _invalid(
                name, f"it begins at {entry.begin}, not at {end} where the last one ends"
            )
        end = entry.end
    if end != size:
        raise SafetensorError(
            "Error while deserializing: incomplete metadata, file not fully covered: "
            f"the tensors have {end} bytes, the file {size}"
        )


def _read_tensor(file: BinaryIO, start: int, entry: _Entry) -> Tensor:
    """A tensor with its own memory."""
    memory: Any = np.empty(entry.end - entry.begin, np.uint8)
    file.seek(start + entry.begin)
    if file.readinto(memory) != memory.size:  # type: ignore[attr-defined]
        raise SafetensorError("the file was cut off while it was read")
    if sys.byteorder == "big":
        swap_bytes(memory, entry.dtype)
    make_boolean(UntypedStorage.over(memory), entry.dtype)
    strides = _compact_strides(entry.shape)
    return wrap(array_over(memory, entry.dtype.numpy, 0, entry.shape, strides))


def _compact_strides(shape: tuple[int, ...]) -> list[int]:
    """Contiguous strides, as in Torch."""
    return [math.prod(max(size, 1) for size in shape[i + 1 :]) for i in range(len(shape))]


class safe_open:  # noqa: N801
    """A file whose tensors are read on demand.

    Args:
        filename: the file
        framework: "pt" or "torch"
        device: "cpu"
        backend: accepted without effect
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        framework: str = "pt",
        device: Any = "cpu",
        backend: Any = None,
    ) -> None:
        if framework not in ("pt", "torch", "pytorch"):
            raise SafetensorError(f"framework {framework} is invalid: there is 'pt'")
        resolve(device)
        self._file = open(filename, "rb")  # noqa: SIM115
        try:
            self._start, self._entries, self._metadata = _read_header(self._file)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        return sorted(self._entries)

    def offset_keys(self) -> list[str]:
        """The names of the tensors, in the order of their bytes."""
        return list(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def metadata(self) -> dict[str, str] | None:
        """The texts that were saved with the tensors."""
        return self._metadata

    def get_tensor(self, name: str) -> Tensor:
        """Read a tensor."""
        return _read_tensor(self._file, self._start, self._find(name))

    def get_slice(self, name: str) -> TensorSlice:
        """A tensor of which only the indexed part is read."""
        return TensorSlice(self, self._find(name))

    def _find(self, name: str) -> _Entry:
        if name not in self._entries:
            raise SafetensorError(f"File does not contain tensor {name}")
        return self._entries[name]

    def _mapped(self, entry: _Entry) -> Any:
        """A tensor's bytes as a view of the memory-mapped file."""
        if entry.begin == entry.end:
            return np.empty(0, np.uint8)
        start, size = self._start + entry.begin, entry.end - entry.begin
        return np.memmap(self._file, np.uint8, "c", start, (size,))


class TensorSlice:
    """A tensor in a file; `part[2:5]` reads a part of it."""

    def __init__(self, file: safe_open, entry: _Entry) -> None:
        self._file = file
        self._entry = entry

    def get_shape(self) -> list[int]:
        """The shape of the whole tensor."""
        return list(self._entry.shape)

    def get_dtype(self) -> str:
        """The dtype, by its name in the file."""
        return _NAMES[self._entry.dtype]

    def __getitem__(self, index: Any) -> Tensor:
        entry = self._entry
        memory = self._file._mapped(entry)
        whole = array_over(memory, entry.dtype.numpy, 0, entry.shape, _compact_strides(entry.shape))
        piece = np.array(whole[index], order="C")
        bytes_ = piece.reshape(-1).view(np.uint8)
        if sys.byteorder == "big":
            swap_bytes(bytes_, entry.dtype)
        make_boolean(UntypedStorage.over(bytes_), entry.dtype)
        return wrap(piece)


# --- Memory, as other libraries ask for it -----------------------------------------------------------------


def storage_ptr(tensor: Tensor) -> int:
    """The address of a tensor's storage."""
    return tensor.untyped_storage().data_ptr()


def storage_size(tensor: Tensor) -> int:
    """The size of a tensor's storage in bytes."""
    return tensor.untyped_storage().nbytes()
