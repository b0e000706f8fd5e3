"""ONNX files, written without anybody's library: the few messages that a model is made of.

A message of Protocol Buffers is a sequence of fields. Each is a number that says which field it is and how it is
written, and then a varint (seven bits a byte, the lowest first), four bytes, or a length and as many bytes. The numbers of fields are
those of `onnx.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..backends.interface import as_numpy

DATA_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
}  # fmt: skip
"""ONNX's numbers for types of elements, by Torch's names."""


def varint(value: int) -> bytes:
    """A whole number; negative ones are written as their 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A field that is a whole number."""
    return varint(field << 3) + varint(value)


def data(field: int, value: bytes | str) -> bytes:
    """A field that is a text, bytes, or another message."""
    raw = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def real(field: int, value: float) -> bytes:
    """A field that is a number of four bytes."""
    return varint(field << 3 | 5) + struct.pack("<f", value)


def many(field: int, values: Iterable[bytes | str]) -> bytes:
    """A field that occurs any number of times."""
    return b"".join(data(field, value) for value in values)


# --- The messages ----------------------------------------------------------------------------------------


def tensor(name: str, array: np.ndarray, kind: str) -> bytes:
    """TensorProto: an array with its type and shape."""
    dims = b"".join(number(1, size) for size in array.shape)
    return dims + number(2, DATA_TYPES[kind]) + data(8, name) + data(9, np.ascontiguousarray(as_numpy(array)).tobytes())  # fmt: skip


def attribute(name: str, value: Any) -> bytes:
    """AttributeProto: a number, text, tensor, or several numbers."""
    start = data(1, name)
    if isinstance(value, bytes):
        return start + data(5, value) + number(20, 4)
    if isinstance(value, str):
        return start + data(4, value) + number(20, 3)
    if isinstance(value, float):
        return start + real(2, value) + number(20, 1)
    if isinstance(value, (bool, int)):
        return start + number(3, int(value)) + number(20, 2)
    if all(isinstance(v, str) for v in value) and value:
        return start + many(9, value) + number(20, 8)
    if any(isinstance(v, float) for v in value):
        return start + b"".join(real(7, v) for v in value) + number(20, 6)
    return start + b"".join(number(8, v) for v in value) + number(20, 7)


def node(kind: str, inputs: Sequence[str], outputs: Sequence[str], name: str, attributes: dict[str, Any]) -> bytes:  # fmt: skip
    """NodeProto: one operation."""
    given = many(5, (attribute(key, value) for key, value in attributes.items()))
    return many(1, inputs) + many(2, outputs) + data(3, name) + data(4, kind) + given


def value_info(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    """ValueInfoProto: what an input or output is; a size that may change has a name."""
    sizes = (data(2, size) if isinstance(size, str) else number(1, size) for size in shape)
    tensor_type = number(1, DATA_TYPES[kind]) + data(2, many(1, sizes))
    return data(1, name) + data(2, data(1, tensor_type))


def model(
    name: str,
    nodes: Sequence[bytes],
    weights: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    opset: int,
) -> bytes:
    """ModelProto: the whole file."""
    graph = many(1, nodes) + data(2, name) + many(5, weights) + many(11, inputs) + many(12, outputs)
    if len(graph) >= 1 << 31:
        raise ValueError("an ONNX file holds at most 2 GiB; this model has more")
    version = data(1, "") + number(2, opset)
    return number(1, 9) + data(2, "minitorch") + data(7, graph) + data(8, version)
