"""Zip files as no honest program writes them: every field of every header can be a lie."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random

BOMB = 100 << 20
"""How many bytes a bomb unpacks to."""


@dataclass
class Member:
    """One file in an archive, with what the headers say of it.

    Attributes:
        name: its name
        data: as it lies in the archive
        method: 0: stored, 8: deflated
        size: unpacked, as the headers say
        packed: the length of `data`, as the headers say
        local: what the header before the data says otherwise
        offset: where the list of contents says it begins; None: where it does
    """

    name: bytes
    data: bytes
    method: int
    crc: int
    size: int
    packed: int
    flags: int = 0
    extra: bytes = b""
    local: dict[str, int] = field(default_factory=dict)
    local_name: bytes | None = None
    offset: int | None = None

    def plain(self) -> bytes:
        """What it holds."""
        return self.data if self.method == 0 else zlib.decompress(self.data, -15)

    def replace(self, plain: bytes, deflate: bool = False) -> None:
        """Hold something else, honestly."""
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        self.data = packer.compress(plain) + packer.flush() if deflate else plain
        self.method = 8 if deflate else 0
        self.crc, self.size, self.packed = zlib.crc32(plain), len(plain), len(self.data)


def read(content: bytes) -> list[Member]:
    """The members of an archive; none if it cannot be read."""
    members = []
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for info in archive.infolist():
                member = Member(info.filename.encode(), b"", 0, 0, 0, 0)
                member.replace(archive.read(info), info.compress_type == zipfile.ZIP_DEFLATED)
                members.append(member)
    except Exception:  # noqa: BLE001
        return []
    return members


@dataclass
class Ending:
    """What the end of the archive says otherwise."""

    count: int | None = None
    size: int | None = None
    offset: int | None = None
    comment_length: int | None = None
    zip64: bytes = b""
    comment: bytes = b""


def write(members: list[Member], ending: Ending | None = None, prefix: bytes = b"") -> bytes:
    """An archive of these members."""
    ending = ending or Ending()
    out, offsets = bytearray(prefix), []
    for m in members:
        offsets.append(len(out))
        said = {
            "method": m.method,
            "flags": m.flags,
            "crc": m.crc,
            "packed": m.packed,
            "size": m.size,
        }
        said |= m.local
        name = m.name if m.local_name is None else m.local_name
        out += b"PK\x03\x04" + struct.pack(
            "<HHHHHIIIHH", 45, said["flags"], said["method"], 0, 33, said["crc"] % 2**32,
            min(said["packed"], 2**32 - 1), min(said["size"], 2**32 - 1), len(name),
            said.get("extra", 0),
        ) + name + m.data  # fmt: skip
    start = len(out)
    for m, true_offset in zip(members, offsets, strict=True):
        offset = true_offset if m.offset is None else m.offset
        out += b"PK\x01\x02" + struct.pack(
            "<HHHHHHIIIHHHHHII", 45, 45, m.flags, m.method, 0, 33, m.crc, min(m.packed, 2**32 - 1),
            min(m.size, 2**32 - 1), len(m.name), len(m.extra), 0, 0, 0, 0, min(offset, 2**32 - 1),
        ) + m.name + m.extra  # fmt: skip
    size = len(out) - start
    out += ending.zip64
    numbers = [
        min(len(members), 0xFFFF) if ending.count is None else ending.count,
        size if ending.size is None else ending.size,
        start if ending.offset is None else ending.offset,
        len(ending.comment) if ending.comment_length is None else ending.comment_length,
    ]
    return (
        bytes(out + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, numbers[0], *numbers))
        + ending.comment
    )


# --- Tricks --------------------------------------------------------------------------------

Trick = Callable[[list[Member], Random], bytes]


def bomb(members: list[Member], rng: Random) -> bytes:
    """A member of few bytes that unpacks to many; its headers say so, or say otherwise."""
    m = rng.choice(members)
    head = m.plain()[:128] if rng.random() < 0.5 else b""
    m.data, m.crc = _deflated_zeros(head)
    m.method, m.packed = 8, len(m.data)
    m.size = rng.choice([BOMB + len(head), m.size, 2**31, 100])
    return write(members)


@cache
def _deflated_zeros(head: bytes) -> tuple[bytes, int]:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + deflated_zeros(), crc_of_zeros(zlib.crc32(head))


def crc_of_zeros(crc: int = 0) -> int:
    """The checksum of what a bomb unpacks to."""
    block = bytes(1 << 20)
    for _ in range(BOMB >> 20):
        crc = zlib.crc32(block, crc)
    return crc


@cache
def deflated_zeros() -> bytes:
    """Many zeros in few bytes of deflate."""
    packer, block = zlib.compressobj(9, zlib.DEFLATED, -15), bytes(1 << 20)
    packer.compress(block)
    packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * (BOMB >> 20) + packer.flush()


def false_size(members: list[Member], rng: Random) -> bytes:
    """Sizes that are not so, in the list of contents, before the data, or in both."""
    m = rng.choice(members)
    value = rng.choice([0, 1, m.size + 1, 2**20, 2**31, 2**32 - 1])
    where = rng.randrange(4)
    if where == 0:
        m.size = value
    elif where == 1:
        m.packed = value
    elif where == 2:
        m.size = m.packed = value
    else:
        m.local[rng.choice(["size", "packed", "crc", "method", "flags", "extra"])] = value % 2**16
    return write(members)


def zip64(members: list[Member], rng: Random) -> bytes:
    """Sizes and offsets of 64 bits that are not so."""
    m = rng.choice(members)
    numbers = [rng.choice([0, 2**40, 2**62, 2**64 - 1, len(m.data)]) for _ in range(3)]
    m.extra = struct.pack("<HH3Q", 1, 24, *numbers)[: rng.choice([28, 28, 28, 20, 6])]
    m.size, m.packed = 2**32 - 1, rng.choice([m.packed, 2**32 - 1])
    m.offset = rng.choice([m.offset, 2**32 - 1])
    return write(members)


def zip64_end(members: list[Member], rng: Random) -> bytes:
    """An end of 64 bits that is not so."""
    numbers = [rng.choice([0, 1, 2**31, 2**62, 2**64 - 1]) for _ in range(4)]
    record = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, *numbers)
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, rng.choice([0, 100, 2**63]), 1)
    return write(members, Ending(zip64=record + locator, offset=rng.choice([None, 2**32 - 1])))


def overlap(members: list[Member], rng: Random) -> bytes:
    """Many members of the same bytes: together they are far larger than the file."""
    m = max(members, key=lambda each: len(each.data)) if rng.random() < 0.7 else rng.choice(members)
    m.replace(rng.choice([m.plain(), m.plain() + bytes(500_000)]))
    place = write(members).find(m.data) - 30 - len(m.name)
    stem, dot, end = m.name.rpartition(b".")
    last = (stem or end).rsplit(b"/", 1)[0] + b"/" if b"/" in m.name else b""
    for i in range(rng.choice([2, 100, 3000])):
        name = last + str(i).encode() + (dot + end if stem else b"")
        members.append(replace(m, name=name, data=b"", local_name=b"", offset=place, local={}))
    return write(members)


def twice(members: list[Member], rng: Random) -> bytes:
    """A name twice, with the same or other content."""
    m = replace(rng.choice(members), local={})
    if rng.random() < 0.5:
        m.replace(rng.choice([b"", m.plain()[:-1], bytes(100)]))
    members.insert(rng.randrange(len(members) + 1), m)
    return write(members)


def wrong_checksum(members: list[Member], rng: Random) -> bytes:
    """A checksum that is not so."""
    rng.choice(members).crc ^= 1 << rng.randrange(32)
    return write(members)


def rename(members: list[Member], rng: Random) -> bytes:
    """Names that lead elsewhere, or are none."""
    m = rng.choice(members)
    names = [b"/etc/passwd", b"../../x.npy", b"..\\x", b"", b"/", b"a/" * 30_000, b"\xff\xfe.npy", b"x\0y.npy",
             b"C:\\x.npy", m.name + b"/", m.name.upper(), b"data/../data.pkl", b"about.npy", b"losses.npy"]  # fmt: skip
    m.name = rng.choice(names)
    m.flags |= rng.choice([0, 0x800])
    if rng.random() < 0.3:
        m.local_name = rng.choice(names)
    return write(members)


def encrypt(members: list[Member], rng: Random) -> bytes:
    """A member that says it is encrypted, or patched, or of unknown length."""
    m = rng.choice(members)
    m.flags |= rng.choice([1, 0x20, 0x40, 8, 0x2000])
    return write(members)


def method(members: list[Member], rng: Random) -> bytes:
    """Packed by another method, or only said to be."""
    m = rng.choice(members)
    m.method = rng.choice([1, 6, 8, 9, 12, 14, 93, 95, 98, 99])
    return write(members)


def end(members: list[Member], rng: Random) -> bytes:
    """A wrong end of the archive."""
    value = rng.choice([0, 1, 100, 0xFFFE])
    name = rng.choice(["count", "size", "offset", "comment_length"])
    comment = rng.choice([b"", b"PK\x05\x06" + bytes(18), bytes(60_000)])
    ending = Ending(comment=comment)
    setattr(ending, name, value)
    return write(members, ending)


def offset(members: list[Member], rng: Random) -> bytes:
    """A member that begins elsewhere."""
    rng.choice(members).offset = rng.choice([0, 1, 30, 2**31, 2**32 - 2])
    return write(members)


def junk_before(members: list[Member], rng: Random) -> bytes:
    """Something before the first member."""
    return write(
        members, prefix=rng.choice([b"#!/bin/sh\n", bytes(1000), b"PK\x03\x04", b"\x93NUMPY"])
    )


def remove(members: list[Member], rng: Random) -> bytes:
    """A member is not there, or none is."""
    if rng.random() < 0.2:
        return write([])
    members.pop(rng.randrange(len(members)))
    return write(members)


def exchange(members: list[Member], rng: Random) -> bytes:
    """Two members under each other's names."""
    a, b = rng.choice(members), rng.choice(members)
    a.name, b.name = b.name, a.name
    return write(members)


TRICKS: list[Trick] = [
    bomb, false_size, false_size, zip64, zip64_end, overlap, twice, wrong_checksum, rename, encrypt, method,
    end, offset, junk_before, remove, exchange,
]  # fmt: skip


def trick(content: bytes, rng: Random) -> bytes:
    """One of the tricks, if the archive can be read."""
    members = read(content)
    return rng.choice(TRICKS)(members, rng) if members else content
