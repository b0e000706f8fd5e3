"""Readers on files that the tests write, the search for files, downloads, and the real data."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import struct
import sys
import urllib.error
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitorch.training.data_files import (
    DATA_VARIABLE,
    GLOVE,
    MNIST,
    SST2,
    DataFile,
    DataNotFoundError,
    find_files,
    load_digits,
    load_glove,
    load_mnist,
    load_sst2,
    read_glove,
    read_idx,
    read_labelled_sentences,
)
from minitorch.training.packed_files import read_npz


def idx(array: Any, kind: int = 8) -> bytes:
    array = np.asarray(array, dtype=np.uint8)
    return (
        struct.pack(f">BBBB{array.ndim}I", 0, 0, kind, array.ndim, *array.shape) + array.tobytes()
    )


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither MINITORCH_DATA nor a filled cache, and no network; returns the empty cache."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def no_network(url: str, timeout: float) -> Any:
        raise urllib.error.URLError("no network in tests")

    monkeypatch.setattr("urllib.request.urlopen", no_network)
    return tmp_path / "cache" / "minitorch"


# --- idx -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5,), (0,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("name", ["data", "data.gz"])
def test_idx_comes_back(tmp_path: Path, shape: tuple[int, ...], name: str) -> None:
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    content = idx(array)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    read = read_idx(tmp_path / name, dims=len(shape))
    assert read.shape == shape
    np.testing.assert_array_equal(read, array)


GOOD = idx(np.arange(12).reshape(3, 2, 2))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "starts with nothing"),
        (b"\x00\x00", "starts with 00 00"),
        (GOOD[:10], "cut off within its header"),
        (GOOD[:-1], "11 bytes of elements"),
        (GOOD + b"\x00", "more than 12 bytes of elements"),
        (idx([1, 2]), "3 dimensions"),
        (idx(np.zeros((1, 2, 2)), kind=13), "starts with 00 00 0d 03"),
        (b"<html>404</html>", "starts with 3c 68 74 6d"),
        (GOOD[:4] + b"\xff" * 12 + GOOD[16:], "needs"),
    ],
)
def test_bad_idx_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "images-idx3-ubyte"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says) as caught:
        read_idx(path, dims=3)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        b"",
        gzip.compress(GOOD)[:-9],
        gzip.compress(GOOD)[:12],
        gzip.compress(GOOD)[:-8] + b"\x00" * 8,
    ],
    ids=["not gzip", "empty", "cut off", "only the header", "wrong checksum"],
)
def test_bad_gzip_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "images.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"images\.gz"):
        read_idx(path, dims=3)


@pytest.mark.parametrize("name", ["images", "images.gz"])
def test_idx_that_asks_for_gigabytes_is_refused_by_size(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = GOOD[:4] + struct.pack(">3I", 3000, 1000, 1000) + GOOD[16:]
    path.write_bytes(gzip.compress(content) if path.suffix else content)
    with pytest.raises(ValueError, match="needs 3000000000 bytes, but the file has"):
        read_idx(path, dims=3)


# --- Arrays ----------------------------------------------------------------------------


def npz(path: Path, header: str, data: bytes = bytes(24), **options: Any) -> Path:
    """An archive of one array, with a header that may be a lie."""
    text = header.encode() + b"\n"
    with zipfile.ZipFile(path, "w", **options) as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data)
    return path


def test_npz_comes_back(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {
        "float": np.arange(6.0).reshape(2, 3),
        "columns": np.asfortranarray(np.arange(6, dtype=np.int8).reshape(2, 3)),
        "text": np.array("text \u00fc"),
        "texts": np.array(["a", "bcd"]),
        "none": np.zeros((0, 3)),
        "number": np.array(3),
        "big": np.arange(3, dtype=">u2"),
        "true": np.array([True, False]),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        read = read_npz(tmp_path / "a.npz")
        assert read.keys() == arrays.keys()
        for name, array in arrays.items():
            assert read[name].dtype == array.dtype
            np.testing.assert_array_equal(read[name], array)


FIELDS = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (FIELDS % ("<f8", "(4000000000,)"), "needs 32000000000"),
        (FIELDS % ("<f8", "(9223372036854775807, 9223372036854775807)"), "needs"),
        (FIELDS % ("<f8", "(-3,)"), "not an array"),
        (FIELDS % ("|O", "(3,)"), "not an array"),
        (FIELDS % ("<U0", "(3,)"), "have no bytes"),
        (FIELDS % ("<f7", "(3,)"), "f7"),
        (FIELDS % ("<f8", "(" + "1, " * 70 + "3)"), "dimension"),
        ("-" * 9000 + "1", "not an array"),
        ("(" * 5000, "not an array"),
    ],
    ids=lambda text: text[-30:],
)
def test_npz_that_lies_is_refused_by_size(tmp_path: Path, header: str, says: str) -> None:
    path = npz(tmp_path / "a.npz", header)
    with pytest.raises(ValueError, match=says) as caught:
        read_npz(path)
    assert str(path) in str(caught.value)


def test_bombs_are_refused_by_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minitorch.training.packed_files._FREE", 1000)
    path = npz(
        tmp_path / "a.npz",
        FIELDS % ("|u1", "(10000000,)"),
        bytes(10_000_000),
        compression=zipfile.ZIP_DEFLATED,
    )
    with pytest.raises(ValueError, match="would unpack to 10000"):
        read_npz(path)
    text = tmp_path / "dev.tsv.gz"
    text.write_bytes(gzip.compress(b"sentence\tlabel\n" + b"a\t1\n" * 100_000))
    with pytest.raises(ValueError, match=r"dev\.tsv\.gz: unpacks to more than"):
        read_labelled_sentences(text)
    text.write_bytes(gzip.compress(bytes(2_000_000)))
    with pytest.raises(ValueError, match=r"dev\.tsv\.gz: a line of more than"):
        read_labelled_sentences(text)


# --- Text ------------------------------------------------------------------------------


def test_sentences_are_split_at_tabs_and_newlines_only(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv.gz"
    text = 'sentence\tlabel\na "quoted start \t1\nline\x85break \u2028inside\t0\n'
    path.write_bytes(gzip.compress(text.encode()))
    sentences, labels = read_labelled_sentences(path)
    assert sentences == ['a "quoted start', "line\x85break \u2028inside"]
    assert labels == [1, 0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "first line"),
        ("label\tsentence\n", "first line"),
        ("sentence\tlabel\ngood film\n", "line 2"),
        ("sentence\tlabel\ngood\t1\nbad\t2\n", "line 3"),
        ("sentence\tlabel\ngood\t1\textra\n", "line 2"),
        ("sentence\tlabel\ngood\t1\n\nbad\t0\n", "line 3"),
    ],
)
def test_bad_sentences_are_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "dev.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=says) as caught:
        read_labelled_sentences(path)
    assert "dev.tsv" in str(caught.value)


def test_text_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "dev.tsv"
    path.write_bytes(b"sentence\tlabel\n\xff\xfe\t1\n")
    with pytest.raises(ValueError, match=r"dev\.tsv: not UTF-8"):
        read_labelled_sentences(path)


def test_glove_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("the 0.5 -1\n\u00a0 1 2\ngood 3 4e-1\n", encoding="utf-8")
    vectors = read_glove(path, 2)
    assert list(vectors) == ["the", "\u00a0", "good"]
    np.testing.assert_array_equal(vectors["good"], [3.0, 0.4])
    assert list(read_glove(path, 2, words={"good", "unheard"})) == ["good"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no word"),
        ("the 1\n", "'the' has 1 numbers, not 2"),
        ("the 1 2\nof 1 2 3\n", "line 2"),
        ("the 1 two\n", "line 1"),
    ],
)
def test_bad_glove_is_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=says) as caught:
        read_glove(path, 2)
    assert "glove.txt" in str(caught.value)


# --- Finding ---------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["sst2", "."])
@pytest.mark.parametrize("name", ["dev.tsv", "dev.tsv.gz"])
@pytest.mark.parametrize("root", ["variable", "cache"])
def test_files_are_found(
    tmp_path: Path,
    no_data: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    name: str,
    root: str,
) -> None:
    base = no_data
    if root == "variable":
        base = tmp_path / "mine"
        monkeypatch.setenv(DATA_VARIABLE, str(base))
    (base / folder).mkdir(parents=True)
    content = b"sentence\tlabel\ngood\t1\n"
    (base / folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert load_sst2("dev") == (["good"], [1])


def test_the_variable_comes_before_the_cache(
    tmp_path: Path, no_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    for base in (tmp_path, no_data):
        base.mkdir(exist_ok=True, parents=True)
        (base / "dev.tsv").write_text("sentence\tlabel\n")
    assert find_files([SST2["dev"]]) == [tmp_path / "dev.tsv"]


@pytest.mark.parametrize("variable", [None, "empty folder", "no folder"])
def test_missing_data_says_what_to_do(
    tmp_path: Path, no_data: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    if variable is not None:
        monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "mine"))
    if variable == "empty folder":
        (tmp_path / "mine").mkdir()
    with pytest.raises(DataNotFoundError) as caught:
        load_mnist("train")
    assert isinstance(caught.value, FileNotFoundError)
    message = str(caught.value)
    for part in (
        "mnist/train-images-idx3-ubyte.gz",
        "mnist/train-labels-idx1-ubyte.gz",
        DATA_VARIABLE,
        str(no_data),
        "no network in tests",
        "https://",
    ):
        assert part in message
    expected = {None: "is not set", "empty folder": "not in", "no folder": "which is not a folder"}
    assert expected[variable] in message


def test_what_cannot_be_downloaded_says_so(no_data: Path) -> None:
    with pytest.raises(DataNotFoundError, match=r"sst2/sentence_train\.tsv\.gz"):
        load_sst2("sentences")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: load_mnist("val"), "'train' or 'test'"),
        (lambda: load_sst2("test"), "sentences"),
    ],
)
def test_unknown_parts(call: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize(
    ("images", "labels", "says"),
    [
        (np.zeros((2, 28, 28)), [1], "2 images"),
        (np.zeros((1, 8, 8)), [1], r"\(28, 28\)"),
        (np.zeros((1, 28, 28)), [10], "not a digit"),
    ],
)
def test_mnist_files_must_fit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, images: Any, labels: Any, says: str
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx(images))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(labels))
    with pytest.raises(ValueError, match=says):
        load_mnist("test")


# --- Downloading -----------------------------------------------------------------------


class Response(io.BytesIO):
    """What urlopen gives."""

    def __init__(self, content: bytes, length: int | None = None) -> None:
        super().__init__(content)
        self.headers = {"Content-Length": str(len(content) if length is None else length)}


def serve(monkeypatch: pytest.MonkeyPatch, pages: dict[str, Response]) -> list[str]:
    asked: list[str] = []

    def urlopen(url: str, timeout: float) -> Response:
        asked.append(url)
        if url not in pages:
            raise urllib.error.URLError("nothing there")
        return pages[url]

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    return asked


def test_download_fills_the_cache_from_the_second_mirror(
    no_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = gzip.compress(b"hello")
    file = DataFile(
        "mnist", ("f",), ("http://a/f.gz", "http://b/f.gz"), hashlib.sha256(content).hexdigest()
    )
    asked = serve(monkeypatch, {"http://b/f.gz": Response(content)})
    (path,) = find_files([file])
    assert path == no_data / "mnist" / "f.gz"
    assert gzip.decompress(path.read_bytes()) == b"hello"
    find_files([file])
    assert asked == ["http://a/f.gz", "http://b/f.gz"]  # the second time, the cache has it


@pytest.mark.parametrize(
    ("response", "says"),
    [
        (Response(b"<html>log in first</html>"), "its sha256 is"),
        (Response(b"half", length=8), "only 4 of 8 bytes"),
    ],
)
def test_a_bad_download_leaves_nothing(
    no_data: Path, monkeypatch: pytest.MonkeyPatch, response: Response, says: str
) -> None:
    serve(monkeypatch, {"http://a/f.gz": response})
    file = DataFile("mnist", ("f",), ("http://a/f.gz",), sha256="0" * 64)
    with pytest.raises(DataNotFoundError, match=says):
        find_files([file])
    assert list((no_data / "mnist").iterdir()) == []


def test_archives_are_unpacked(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("train", "dev"):
            archive.writestr(f"SST-2/{name}.tsv", f"sentence\tlabel\n{name}\t1\n")
    asked = serve(monkeypatch, {SST2["dev"].urls[0]: Response(packed.getvalue())})
    assert load_sst2("dev") == (["dev"], [1])
    assert load_sst2("phrases") == (["train"], [1])
    assert len(asked) == 1
    assert sorted(p.name for p in (no_data / "sst2").iterdir()) == ["dev.tsv", "train.tsv"]


@pytest.mark.parametrize("content", [b"no zip", b""])
def test_bad_archives_leave_nothing(
    no_data: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    serve(monkeypatch, {GLOVE.urls[0]: Response(content)})
    with pytest.raises(DataNotFoundError, match="not a zip"):
        load_glove()
    assert list((no_data / "glove").iterdir()) == []


def test_an_archive_without_the_file(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("README", "other")
    serve(monkeypatch, {GLOVE.urls[0]: Response(packed.getvalue())})
    with pytest.raises(DataNotFoundError, match=r"no glove\.6B\.50d\.txt in it"):
        load_glove()
    assert list((no_data / "glove").iterdir()) == []


# --- Real data -------------------------------------------------------------------------


def test_digits() -> None:
    images, labels = load_digits()
    assert images.shape == (1797, 8, 8)
    assert (images.min(), images.max()) == (0.0, 1.0)
    assert labels[:10].tolist() == list(range(10))


def test_digits_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match=r"pip install 'minitorch\[train\]'"):
        load_digits()


real_data = pytest.mark.skipif(
    DATA_VARIABLE not in os.environ, reason=f"{DATA_VARIABLE} does not say where the data is"
)


@real_data
def test_real_mnist() -> None:
    images, labels = load_mnist("test")
    assert images.shape == (10_000, 28, 28)
    assert images.max() == 1.0
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert np.bincount(labels).tolist() == counts
    assert labels[:5].tolist() == [7, 2, 1, 0, 4]
    for file in MNIST["train"] + MNIST["test"]:
        (path,) = find_files([file], download=False)
        if path.suffix == ".gz":
            assert hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256
    (path,) = find_files([MNIST["train"][1]], download=False)
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(read_idx(path, dims=1)).tolist() == counts


@real_data
def test_real_sst2() -> None:
    for part, negative, positive in (
        ("dev", 428, 444),
        ("sentences", 3310, 3610),
        ("phrases", 29_780, 37_569),
    ):
        sentences, labels = load_sst2(part)
        assert len(sentences) == negative + positive
        assert sum(labels) == positive
    sentences, labels = load_sst2("dev")
    assert sentences[0] == "it 's a charming and often affecting journey ."
    assert labels[0] == 1


@real_data
def test_real_glove() -> None:
    vectors = load_glove({"the", "film", "movie"})
    assert vectors["the"][:3].tolist() == [0.418, 0.24968, -0.41242]
    film, movie = vectors["film"], vectors["movie"]
    assert film @ movie / np.sqrt((film @ film) * (movie @ movie)) == pytest.approx(0.93, abs=0.01)
