"""Where data comes from: a folder, a cache that a download fills, or a message that says what to do.

A data file is looked for

1. in the folder that the variable MINITORCH_DATA names,
2. in the cache (`~/.cache/minitorch`, or below XDG_CACHE_HOME),
3. on the network, from where it goes into the cache.

In both folders it may lie in its data set's own folder (`mnist/`, `sst2/`, `glove/`) or directly,
gzipped (`.gz`) or not.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import struct
import sys
import tempfile
import time
import urllib.request
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..files import cache_folder, replacing
from .packed_files import opened, opened_zip

DATA_VARIABLE = "MINITORCH_DATA"

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


class DataNotFoundError(FileNotFoundError):
    """A data file that is neither here nor to be had from the network."""


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes:
        folder: of its data set
        names: it may have, without `.gz`; a download gets the last of them
        urls: places to download it from, best first
        sha256: of what is downloaded
        member: its path, if what is downloaded is a zip archive
        size: of the download, in words
    """

    folder: str
    names: tuple[str, ...]
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    member: str | None = None
    size: str = ""


def _mnist(name: str, sha256: str) -> DataFile:
    mirrors = (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    )
    urls = tuple(f"{mirror}{name}.gz" for mirror in mirrors)
    return DataFile("mnist", (name,), urls, sha256, size="12 MB in all")


def _glue(name: str) -> DataFile:
    url = "https://dl.fbaipublicfiles.com/glue/data/SST-2.zip"
    return DataFile("sst2", (name,), (url,), member=f"SST-2/{name}", size="7 MB")


MNIST = {
    "train": (
        _mnist(
            "train-images-idx3-ubyte",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        _mnist(
            "train-labels-idx1-ubyte",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
    ),
    "test": (
        _mnist(
            "t10k-images-idx3-ubyte",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        _mnist(
            "t10k-labels-idx1-ubyte",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
}

SST2 = {
    "phrases": _glue("train.tsv"),
    "sentences": DataFile("sst2", ("sentence_train.tsv",)),
    "dev": _glue("dev.tsv"),
}

GLOVE = DataFile(
    "glove",
    ("glove.6B.50d.sst2.txt", "glove.6B.50d.txt"),
    ("https://nlp.stanford.edu/data/glove.6B.zip",),
    member="glove.6B.50d.txt",
    size="862 MB",
)


# --- Data sets -----------------------------------------------------------------------


def load_mnist(split: str = "train") -> tuple[Array, Labels]:
    """The images (n x 28 x 28, from 0 to 1) and labels of MNIST's "train" or "test" part."""
    if split not in MNIST:
        raise ValueError(f"load_mnist: split must be 'train' or 'test', not {split!r}")
    image_path, label_path = find_files(MNIST[split])
    images, labels = read_idx(image_path, dims=3), read_idx(label_path, dims=1)
    if images.shape[1:] != (28, 28):
        raise ValueError(f"{image_path}: images of {images.shape[1:]}, MNIST's are (28, 28)")
    if len(images) != len(labels):
        raise ValueError(
            f"{image_path} has {len(images)} images, but {label_path} {len(labels)} labels"
        )
    if labels.size and labels.max() > 9:
        raise ValueError(f"{label_path}: label {labels.max()} is not a digit")
    return images / 255.0, labels.astype(np.int64)


def load_digits() -> tuple[Array, Labels]:
    """The 1,797 digits (8 x 8, from 0 to 1) that come with scikit-learn, and their labels."""
    try:
        from sklearn import datasets
    except ImportError:
        raise ImportError(
            "the digits come with scikit-learn, which is not installed; "
            "get it with: pip install 'minitorch[train]'"
        ) from None
    digits: Any = datasets.load_digits()
    return digits.images / 16.0, digits.target.astype(np.int64)


def load_sst2(part: str) -> tuple[list[str], list[int]]:
    """Sentences of SST-2 and their labels, 1 for a positive one and 0 for a negative one.

    Args:
        part: "phrases" (GLUE's training set: phrases of all lengths), "sentences" (the whole
            sentences among them) or "dev" (872 sentences to validate with)
    """
    if part not in SST2:
        raise ValueError(f"load_sst2: part must be one of {', '.join(SST2)}, not {part!r}")
    (path,) = find_files([SST2[part]])
    return read_labelled_sentences(path)


def load_glove(words: Container[str] | None = None) -> dict[str, Array]:
    """The 50-dimensional GloVe vectors of words, of all it knows unless told which."""
    (path,) = find_files([GLOVE])
    return read_glove(path, 50, words)


# --- Readers -------------------------------------------------------------------------


LONGEST_LINE = 1 << 20
"""Characters that a line of text may have."""


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a text, unpacked if its name ends in .gz; only newlines end them."""
    with opened(path) as (file, most):
        text = io.TextIOWrapper(file, "utf-8", newline="\n")
        try:
            while line := text.readline(LONGEST_LINE):
                if len(line) == LONGEST_LINE and not line.endswith("\n"):
                    raise ValueError(f"{path}: a line of more than {LONGEST_LINE} characters")
                if file.tell() > most:
                    raise ValueError(f"{path}: unpacks to more than {most} bytes")
                yield line.removesuffix("\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: not UTF-8 text ({error})") from None


def read_idx(path: Path, dims: int) -> npt.NDArray[np.uint8]:
    """The array in an idx file, the format of MNIST.

    All numbers are big-endian: two zero bytes, the type (8: unsigned bytes), the number of
    dimensions, the size of each as four bytes, then the elements.
    """
    with opened(path) as (file, most):
        header = file.read(4 + 4 * dims)
        magic = bytes([0, 0, 8, dims])
        if header[:4] != magic:
            raise ValueError(
                f"{path}: starts with {header[:4].hex(' ') or 'nothing'}, an idx file of unsigned "
                f"bytes in {dims} dimensions with {magic.hex(' ')}"
            )
        if len(header) < 4 + 4 * dims:
            raise ValueError(f"{path}: cut off within its header of {4 + 4 * dims} bytes")
        shape = struct.unpack(f">{dims}I", header[4:])
        needed = prod(shape)
        if needed > most:
            raise ValueError(
                f"{path}: the shape {shape} in its header needs {needed} bytes, but the file has "
                f"{most} at most"
            )
        elements = file.read(needed + 1)
    if len(elements) != needed:
        count = f"{len(elements)}" if len(elements) < needed else f"more than {needed}"
        raise ValueError(
            f"{path}: {count} bytes of elements, but the shape {shape} in its header needs {needed}"
        )
    return np.frombuffer(elements, dtype=np.uint8).reshape(shape)


def read_labelled_sentences(path: Path) -> tuple[list[str], list[int]]:
    """Sentences and labels from lines of `sentence<TAB>label`, below a header line.

    Nothing but newlines and tabs separates: sentences hold bare quotation marks, and
    characters that Python's `splitlines` takes for line ends.
    """
    lines = read_lines(path)
    header = next(lines, "")
    if header.rstrip("\r") != "sentence\tlabel":
        raise ValueError(f"{path}: the first line is {header[:40]!r}, not 'sentence<TAB>label'")
    sentences, labels = [], []
    for number, line in enumerate(lines, start=2):
        fields = line.rstrip("\r").split("\t")
        if len(fields) != 2 or fields[1] not in ("0", "1"):
            raise ValueError(
                f"{path}, line {number}: {line[:60]!r} is not a sentence, a tab, and 0 or 1"
            )
        sentences.append(fields[0].strip())
        labels.append(int(fields[1]))
    return sentences, labels


def read_glove(path: Path, size: int, words: Container[str] | None = None) -> dict[str, Array]:
    """Word vectors from lines of a word and `size` numbers, separated by single spaces."""
    vectors, number = {}, 0
    for number, line in enumerate(read_lines(path), start=1):
        word, *numbers = line.rstrip("\r").split(" ")
        if len(numbers) != size:
            raise ValueError(
                f"{path}, line {number}: the word {word[:40]!r} has {len(numbers)} numbers, not {size}"
            )
        if words is not None and word not in words:
            continue
        try:
            vectors[word] = np.array(numbers, dtype=np.float64)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {str(error)[:200]}") from None
        if not np.isfinite(vectors[word]).all():
            raise ValueError(f"{path}, line {number}: the word {word[:40]!r} has infinite numbers")
    if not number:
        raise ValueError(f"{path}: no word in it")
    return vectors


# --- Finding and downloading -----------------------------------------------------------


def find_files(files: Iterable[DataFile], download: bool = True) -> list[Path]:
    """Where each file is, after a download if need be; DataNotFoundError if that fails."""
    files = list(files)
    reasons: list[str] = []
    for file in files:
        if _find(file) is None and download and file.urls:
            try:
                _download(file)
            except (OSError, ValueError) as error:
                reasons.append(str(error))
                break  # without a network, the other files would fail alike
    found = [_find(file) for file in files]
    if None in found:
        raise DataNotFoundError(_what_to_do(files, reasons))
    return [path for path in found if path is not None]


def _roots() -> list[Path]:
    named = os.environ.get(DATA_VARIABLE)
    return ([Path(named).expanduser()] if named else []) + [cache_folder()]


def _find(file: DataFile) -> Path | None:
    for root in _roots():
        for folder in (root / file.folder, root):
            for name in file.names:
                for path in (folder / f"{name}.gz", folder / name):
                    if path.is_file():
                        return path
    return None


def _what_to_do(files: list[DataFile], reasons: list[str]) -> str:
    missing = [file for file in files if _find(file) is None]
    names = ", ".join(f"{file.folder}/{file.names[0]}.gz" for file in missing)
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        looked = f"{DATA_VARIABLE} is not set"
    elif not Path(named).expanduser().is_dir():
        looked = f"{DATA_VARIABLE} names {named}, which is not a folder"
    else:
        looked = f"not in {named}, the folder that {DATA_VARIABLE} names"
    lines = [
        f"missing data: {names}",
        f"  {looked}, and not in the cache {cache_folder()}",
        *(f"  the download failed: {reason}" for reason in reasons),
        f"Set {DATA_VARIABLE} to a folder that has them (gzipped or not, in {missing[0].folder}/ or "
        "directly)",
    ]
    urls = sorted({file.urls[0] for file in missing if file.urls})
    if urls:
        lines.append(f"or get them where there is a network ({missing[0].size}): {', '.join(urls)}")
    return "\n".join(lines)


def _download(file: DataFile) -> None:
    """Get a file, with all others of its archive, into the cache; OSError or ValueError if not."""
    folder = cache_folder() / file.folder
    folder.mkdir(parents=True, exist_ok=True)
    failures = []
    for url in file.urls:
        name = url.rsplit("/", 1)[1]
        try:
            sys.stderr.write(f"Getting {url} ({file.size}) into {folder}\n")
            if file.member is None:
                with replacing(folder / name) as target:
                    _fetch(url, target, file.sha256)
            else:
                with tempfile.TemporaryFile(dir=folder) as archive:
                    _fetch(url, archive, file.sha256)
                    _unpack(archive, folder, url)
            return
        except (OSError, ValueError) as error:
            failures.append(f"{url}: {error}")
    raise OSError("; ".join(failures))


def _fetch(url: str, file: IO[bytes], sha256: str | None) -> None:
    """Stream a URL into a file, showing how far it is, and check what came."""
    digest = hashlib.sha256()
    done, last_shown = 0, time.monotonic()
    with urllib.request.urlopen(url, timeout=30) as response:
        total = int(response.headers.get("Content-Length") or 0)
        while chunk := response.read(1 << 18):
            file.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            if sys.stderr.isatty() and time.monotonic() - last_shown > 0.2:
                last_shown = time.monotonic()
                share = f" of {total / 1e6:.1f} MB ({done / total:.0%})" if total else " MB"
                sys.stderr.write(f"\r  {done / 1e6:.1f}{share} ")
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if total and done != total:
        raise ValueError(f"only {done} of {total} bytes came")
    if sha256 is not None and digest.hexdigest() != sha256:
        raise ValueError(f"its sha256 is {digest.hexdigest()}, not {sha256}")


def _unpack(archive: IO[bytes], folder: Path, url: str) -> None:
    """Copy out of an archive every data file that comes from it, whole or not at all."""
    wanted = [file for file in (*SST2.values(), GLOVE) if url in file.urls and file.member]
    with opened_zip(archive) as members:
        for file in wanted:
            try:
                member = members.open(str(file.member))
            except KeyError:
                raise ValueError(f"there is no {file.member} in it") from None
            with member, replacing(folder / file.names[-1]) as target:
                shutil.copyfileobj(member, target)
