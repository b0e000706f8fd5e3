"""A small part of `python -m tests.damaged_files`, and its own measuring."""

from __future__ import annotations

import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from . import workers, zip_tricks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux")


def test_damaged_files_of_every_kind() -> None:
    report = workers.run(seed=0, count=120, workers=1)
    assert report.findings == []
    assert report.refused.total() + report.accepted.total() == 120
    assert report.refused.total() > 70
    assert report.most_memory < workers.MOST_MEMORY


def test_what_is_not_clear_is_found(tmp_path: Path) -> None:
    reader = workers.Reader(tmp_path)
    kind = reader.kinds["idx"]

    def say(error: BaseException) -> str:
        def read(path: Path) -> None:
            raise error

        reader.kinds["idx"] = replace(kind, read=read)
        return reader.read("idx", b"")[1]

    assert "leaks MemoryError" in say(MemoryError())
    assert "leaks UnicodeDecodeError" in say(UnicodeDecodeError("utf-8", b"", 0, 1, "bad"))
    assert "does not name the file" in say(ValueError("damaged"))
    assert "characters" in say(ValueError(kind.name * 1000))
    assert "cannot be printed" in say(ValueError(f"{kind.name} \ud800"))
    assert say(ValueError(f"{kind.name}: cut off")) == ""


def test_zip_tricks_are_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.arange(3))
    members = zip_tricks.read(path.read_bytes())
    path.write_bytes(zip_tricks.write(members))
    with np.load(path) as arrays:
        assert arrays["a"].tolist() == [0, 1, 2]
    packed = zip_tricks.deflated_zeros()
    assert zlib.decompressobj(-15).decompress(packed, 1 << 20) == bytes(1 << 20)
    assert len(packed) < zip_tricks.BOMB / 900
