"""How files are damaged: blindly, and by someone who knows the format."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import pickletools
import struct
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

from . import zip_tricks

Mutation = Callable[[bytes, Random], bytes]
EXTREMES = [
    0,
    1,
    2,
    255,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
    2**64 - 1,
]


# --- Blind -------------------------------------------------------------------------------


def flip(content: bytes, rng: Random) -> bytes:
    """Other values at some places."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(content: bytes, rng: Random) -> bytes:
    """The first part only."""
    return content[: rng.randrange(len(content) + 1)]


def splice(content: bytes, rng: Random) -> bytes:
    """A piece is missing, or stands elsewhere."""
    a, b = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    place = rng.randrange(len(content) + 1)
    rest = content[:a] + content[b:]
    return rest if rng.random() < 0.5 else rest[:place] + content[a:b] + rest[place:]


def zero(content: bytes, rng: Random) -> bytes:
    """A piece is zero, as after a crash of the disk's cache."""
    a, b = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return content[:a] + bytes(b - a) + content[b:]


def duplicate(content: bytes, rng: Random) -> bytes:
    """A piece comes several times."""
    a, b = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return content[:b] + content[a:b] * rng.choice([1, 2, 10]) + content[b:]


def set_number(content: bytes, rng: Random) -> bytes:
    """A number somewhere becomes an extreme one, as a length or an offset may."""
    value, code = rng.choice(EXTREMES), rng.choice(["<H", "<I", "<Q", ">I", ">Q"])
    packed = struct.pack(code, value % 2 ** (8 * struct.calcsize(code)))
    place = rng.randrange(max(len(content), 1))
    return content[:place] + packed + content[place + len(packed) :]


def prepend(content: bytes, rng: Random) -> bytes:
    """Something stands before the file."""
    return rng.choice([b"\0", b"\xef\xbb\xbf", b"#!/bin/sh\n", rng.randbytes(100)]) + content


def append(content: bytes, rng: Random) -> bytes:
    """Something stands after the file."""
    return content + rng.choice([b"\0", b"\n", rng.randbytes(100), content])


def nothing_left(content: bytes, rng: Random) -> bytes:
    """Not this file at all."""
    return rng.choice([b"", b"\0", b"\0" * 4096, rng.randbytes(200), b"<html>404</html>"])


GENERIC: list[Mutation] = [
    flip, flip, truncate, splice, zero, duplicate, set_number, set_number, prepend, append, nothing_left,
]  # fmt: skip


# --- JSON and text -------------------------------------------------------------------------

STRANGE_JSON = [
    b"[" * 100_000,
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    b"[" * 900 + b"]" * 900,
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-1",
    b"1.5",
    b"1" * 5000,
    b"9" * 400,
    b"null",
    b"true",
    b'"\\ud800"',
    b'"\xff"',
    b"{}",
    b"[[]]",
    b'{"a": 1, "a": 2}',
]


def json_value(content: bytes, rng: Random) -> bytes:
    """A value somewhere is another one."""
    strange = rng.choice(STRANGE_JSON)
    places: list[tuple[int, int]] = []
    try:
        tree = json.loads(content)
    except ValueError:
        return strange
    _find_values(tree, content, places)
    if not places or rng.random() < 0.05:
        return strange
    a, b = rng.choice(places)
    return content[:a] + strange + content[b:]


def _find_values(tree: Any, content: bytes, places: list[tuple[int, int]]) -> None:
    """Where the text of each value stands."""
    if isinstance(tree, dict):
        for value in tree.values():
            _find_values(value, content, places)
    elif isinstance(tree, list):
        for value in tree:
            _find_values(value, content, places)
    for separators in ((",", ":"), (", ", ": ")):
        text = json.dumps(tree, separators=separators).encode()
        place = content.find(text)
        if place >= 0:
            places.append((place, place + len(text)))
            return


def text_line(content: bytes, rng: Random) -> bytes:
    """A strange line in a text."""
    lines = content.split(b"\n")
    strange = rng.choice([
        b"", b"\0" * 100, b"\xff\xfe", b"\t", b"\t\t1", b"x" * 5_000_000, b" " * 100_000,
        b"\xed\xa0\x80\t1", b"a\t2", b"a\t1\r\r", b"word " + b"1 " * 200_000,
    ])  # fmt: skip
    lines[rng.randrange(len(lines))] = strange
    return b"\n".join(lines)


def text_number(content: bytes, rng: Random) -> bytes:
    """A strange number in a line."""
    fields = content.split(b" ")
    fields[rng.randrange(len(fields))] = rng.choice(
        [b"nan", b"inf", b"1e400", b"1_000", b"0x10", b"", "٣".encode(), b"1" * 5000, b"1e", b"--1"]
    )
    return b" ".join(fields)


# --- IDX and gzip ----------------------------------------------------------------------------


def idx_header(content: bytes, rng: Random) -> bytes:
    """Other dimensions than the file has."""
    changed = bytearray(content[:16].ljust(16, b"\0"))
    for _ in range(rng.choice([1, 2, 3])):
        place = rng.choice([0, 2, 3, 4, 8, 12])
        if place < 4:
            changed[place] = rng.choice([0, 1, 3, 8, 9, 13, 14, 255])
        else:
            changed[place : place + 4] = struct.pack(">I", rng.choice(EXTREMES) % 2**32)
    return bytes(changed) + content[16:]


def gzip_again(content: bytes, rng: Random) -> bytes:
    """Tricks of gzip: bombs, several members, wrong checks."""
    try:
        plain = gzip.decompress(content)
    except (OSError, EOFError, ValueError):
        return content
    trick = rng.randrange(6)
    if trick == 0:
        return bomb()
    if trick == 1:  # a bomb behind good content
        return gzip.compress(plain, mtime=0) + bomb()
    if trick == 2:
        return content[:-8] + rng.randbytes(8)
    if trick == 3:
        return content[:3] + bytes([rng.randrange(256)]) + content[4:]
    if trick == 4:
        return gzip.compress(gzip.compress(plain, mtime=0), mtime=0)
    return gzip.compress(plain, mtime=0) + bytes(rng.choice([1, 8, 1000]))


@cache
def bomb() -> bytes:
    """Few bytes of gzip that unpack to many."""
    header = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    checks = struct.pack("<II", zip_tricks.crc_of_zeros(), zip_tricks.BOMB)
    return header + zip_tricks.deflated_zeros() + checks


# --- Arrays of NumPy ---------------------------------------------------------------------------

NPY_SHAPES = [
    "(1152921504606846976,)", "(4294967296, 4294967296)", "(-1,)", "(-8, -8)", "(9223372036854775808,)",
    "(0, 4611686018427387904)", "(1.5,)", "(True,)", "()", "(1,)", "3", "[3]", "(" + "1, " * 65 + ")",
    "(" + "9" * 5000 + ",)", "(536870912,)", "(100000000,)", "(((3,),),)", "(3L,)", "(03,)", "None",
]  # fmt: skip
NPY_TYPES = [
    "'|O'", "'<f8'", "'>f8'", "'<U0'", "'<U536870911'", "'|S1'", "'|V8'", "'<M8[s]'", "'<i3'", "'f'", "''",
    "[('a', '<f8')]", "[('a', '|O')]", "'" + "f8," * 1000 + "f8'", "8", "'<c16'", "'<f2'", "'|b1'", "'\\x00'",
]  # fmt: skip
NPY_HEADERS = [
    "(" * 5000, "-" * 9000 + "1", "[" * 150 + "]" * 150, "{" * 4000, "{'descr': " * 99 + "1" + "}" * 99,
    "1 + " * 2000 + "1", "'" + "x" * 60_000, "", "{}", "\x00" * 100, "é" * 100, "{'descr': '<f8'}",
    "__import__('os')", "9" * 6000, " " * 65_000, "{'descr': '<f8', 'fortran_order': 1, 'shape': (3,), }",
    "{**{'descr': '<f8'}}", "{'a': 1, 'descr': '<f8', 'fortran_order': False, 'shape': (3,)}",
]  # fmt: skip


def npy_header(content: bytes, rng: Random) -> bytes:
    """Another header before an array's bytes."""
    data = content[10 + struct.unpack_from("<H", content, 8)[0] :] if len(content) > 10 else content
    kind = rng.choice(["'<f8'", "'<f4'", "'|u1'", *NPY_TYPES])
    shape = rng.choice([f"({len(data) // 8},)", *NPY_SHAPES])
    order = rng.choice(["False", "True", "0", "None"])
    text = f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}"
    if rng.random() < 0.3:
        text = rng.choice(NPY_HEADERS)
    version = rng.choice([(1, 0), (1, 0), (1, 0), (2, 0), (3, 0), (0, 0), (9, 9)])
    encoded = text.encode("utf-8" if version == (3, 0) else "latin1") + b"\n"
    length = len(encoded) if rng.random() < 0.9 else rng.choice(EXTREMES)
    packed = struct.pack(
        "<H" if version == (1, 0) else "<I", length % (2**16 if version == (1, 0) else 2**32)
    )
    return b"\x93NUMPY" + bytes(version) + packed + encoded + data


def npy_json(content: bytes, rng: Random) -> bytes:
    """Another JSON text in an array of one text."""
    text = str(np.load(io.BytesIO(content)))
    changed = np.array(json_value(text.encode(), rng).decode("latin1"))
    packed = io.BytesIO()
    np.save(packed, changed)
    return packed.getvalue()


# --- Pickles -----------------------------------------------------------------------------------

STRANGE_PICKLE = [
    b"]" * 100_000 + b"a" * 99_999,
    b")" + b"\x85" * 100_000,
    b"}(" + b")" + b"\x85" * 100_000 + b"Nu",
    b"N" + b"\x94h\x00\x86" * 5000,
    b"N" + b"".join(b"2\x86" for _ in range(5000)),
    b"]" + b"".join(b"r" + struct.pack("<I", 2**32 - 1 - i) for i in range(5000)),
    b"\x8b" + struct.pack("<i", 2**31 - 1),
    b"\x8b" + struct.pack("<i", -1),
    b"\x8b" + struct.pack("<i", 200_000) + b"\x7f" * 200_000,
    b"\x8d" + struct.pack("<Q", 2**62),
    b"\x8e" + struct.pack("<Q", 2**63 - 1),
    b"\x96" + struct.pack("<Q", 2**40),
    b"\x95" + struct.pack("<Q", 2**63),
    b"X" + struct.pack("<I", 2**32 - 1),
    b"T" + struct.pack("<i", -5),
    b"(" * 100_000,
    b"cos\nsystem\n(X\x04\0\0\0truetR",
    b"c" + b"x" * 500_000 + b"\ny\n",
    b"ctorch\nSize\n((K\x01" + b"\x85" * 10 + b"ttR",
    b"ccollections\nCounter\n(X\x03\0\0\0abctR",
    b"c__builtin__\nbytearray\n(\x8a\x05\0\0\0\0\x7ftR",
    b"c__builtin__\ncomplex\n(X\x03\0\0\x001jatR",
    b"ctorch\ndevice\n(X\x09\0\0\0cuda:9999tR",
    b"ccollections\nOrderedDict\n)R(X\x01\0\0\0aNdb",
    b"cnumpy\nndarray\n((\x8a\x06\0\0\0\0\0\x7fttR",
    b"cnumpy\ndtype\n(X\x01\0\0\0OtR",
    b"I" + b"9" * 5000 + b"\n",
    b"Q", b"0", b"\x81", b"\x92", b"t", b"R", b"b", b"s", b"\x94", b"h\x07", b".", b"\x80\x09",
]  # fmt: skip


def pickle_insert(content: bytes, rng: Random) -> bytes:
    """Strange instructions between the others."""
    places = [place for _, _, place in _instructions(content)] or [0]
    place = rng.choice(places)
    return content[:place] + rng.choice(STRANGE_PICKLE) + content[place:]


def pickle_only(content: bytes, rng: Random) -> bytes:
    """Strange instructions alone."""
    return b"\x80\x02" + rng.choice(STRANGE_PICKLE) + b"."


def pickle_number(content: bytes, rng: Random) -> bytes:
    """A number becomes an extreme one."""
    found = list(_instructions(content))
    numbers = [
        (here[2], after[2])
        for here, after in pairwise(found)
        if isinstance(here[1], int)
        and here[0] in ("BININT", "BININT1", "BININT2", "LONG1", "NEWTRUE")
    ]
    if not numbers:
        return content
    begin, end = rng.choice(numbers)
    value = rng.choice([*EXTREMES, -1, -(2**31), -(2**63), 3, 7, 2**100])
    return content[:begin] + pickle.dumps(value, 2)[2:-1] + content[end:]


def pickle_swap(content: bytes, rng: Random) -> bytes:
    """Two instructions change places, or one takes the other's."""
    found = [place for _, _, place in _instructions(content)]
    if len(found) < 4:
        return content
    a, b = sorted(rng.sample(range(len(found) - 1), 2))
    pieces = [content[i:j] for i, j in zip(found, [*found[1:], len(content)], strict=True)]
    pieces[a], pieces[b] = pieces[b], (pieces[a] if rng.random() < 0.5 else pieces[b])
    return content[: found[0]] + b"".join(pieces)


def pickle_name(content: bytes, rng: Random) -> bytes:
    """Another function, class or dtype of Torch's."""
    names = [b"FloatStorage", b"DoubleStorage", b"BoolStorage", b"ComplexFloatStorage", b"HalfStorage",
             b"UntypedStorage", b"_rebuild_tensor_v2", b"_rebuild_tensor_v3", b"_rebuild_tensor",
             b"_rebuild_parameter", b"_rebuild_sparse_tensor", b"OrderedDict", b"Size", b"device", b"cpu",
             b"cuda:0", b"storage", b"\n0\n", b"\n1\n"]  # fmt: skip
    there = [name for name in names if name in content]
    return content.replace(rng.choice(there), rng.choice(names), 1) if there else content


def _instructions(content: bytes) -> list[tuple[str, Any, int]]:
    """The instructions of a pickle with their arguments and places."""
    found: list[tuple[str, Any, int]] = []
    try:
        for code, argument, place in pickletools.genops(content):
            found.append((code.name, argument, place or 0))
    except (ValueError, IndexError, OverflowError, UnicodeError):
        pass
    return found


# --- Safetensors -------------------------------------------------------------------------------


def safetensors_header(content: bytes, rng: Random) -> bytes:
    """Another header, with its length put right."""
    length = int.from_bytes(content[:8], "little")
    header, data = content[8 : 8 + length], content[8 + length :]
    trick = rng.randrange(5)
    if trick == 0:
        header = json_value(header.rstrip(), rng)
    elif trick == 1:
        header = header.replace(
            b'"shape":[',
            b'"shape":['
            + rng.choice(
                [b"0,", b"1," * 70, b"9" * 30 + b",", b"-1,", b"4611686018427387904," * 20_000]
            ),
            1,
        )
    elif trick == 2:
        about = json.loads(header)
        entry = about[rng.choice([name for name in about if name != "__metadata__"])]
        entry["data_offsets"] = [
            rng.choice([*EXTREMES, -1, 8, 16]),
            rng.choice([*EXTREMES, -1, 8, 16]),
        ]
        header = json.dumps(about).encode()
    elif trick == 3:
        header = header.replace(b"F32", rng.choice([b"F64", b"BOOL", b"F8_E4M3", b"", b"O"]), 1)
    else:
        return rng.choice(EXTREMES).to_bytes(8, "little") + header + data
    return len(header).to_bytes(8, "little") + header + data


# --- Formats, one in the other -----------------------------------------------------------------


def _member(suffixes: dict[str, list[Mutation]]) -> Mutation:
    """Damage one member of a zip, and pack it again with a right checksum."""

    def member(content: bytes, rng: Random) -> bytes:
        members = zip_tricks.read(content)
        if not members:
            return content
        chosen = rng.choice(members)
        own = next(
            (m for suffix, m in suffixes.items() if chosen.name.endswith(suffix.encode())), []
        )
        chosen.replace(rng.choice([*own, *own, *GENERIC])(chosen.plain(), rng), rng.random() < 0.3)
        return zip_tricks.write(members)

    return member


def _gzipped(inner: list[Mutation]) -> Mutation:
    """Damage what is packed, and pack it again."""

    def unpacked(content: bytes, rng: Random) -> bytes:
        try:
            plain = gzip.decompress(content)
        except (OSError, EOFError, ValueError):
            return content
        return gzip.compress(rng.choice([*inner, *GENERIC])(plain, rng), mtime=0)

    return unpacked


PICKLE: list[Mutation] = [
    pickle_insert,
    pickle_only,
    pickle_number,
    pickle_number,
    pickle_swap,
    pickle_name,
]
JSON: list[Mutation] = [json_value]
IDX: list[Mutation] = [idx_header]
SENTENCES: list[Mutation] = [text_line]
VECTORS: list[Mutation] = [text_line, text_number]
SAFETENSORS: list[Mutation] = [safetensors_header]
TRICKS: list[Mutation] = [zip_tricks.trick] * 4
NPZ: list[Mutation] = [
    *TRICKS,
    *[_member({"about.npy": [npy_header, npy_json], ".npy": [npy_header]})] * 4,
]
PT: list[Mutation] = [*TRICKS, *[_member({"data.pkl": PICKLE})] * 6]
SENTENCES_ZIP: list[Mutation] = [*TRICKS, _member({".tsv": SENTENCES})]
IDX_GZ: list[Mutation] = [gzip_again, _gzipped(IDX), _gzipped(IDX)]
SENTENCES_GZ: list[Mutation] = [gzip_again, _gzipped(SENTENCES)]
VECTORS_GZ: list[Mutation] = [gzip_again, _gzipped(VECTORS)]
