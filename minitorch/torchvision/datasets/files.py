"""Where data sets are found: below their root, or where MINITORCH_DATA says."""

from __future__ import annotations

import hashlib
import os
import tarfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from ...files import replacing

DATA_VARIABLE = "MINITORCH_DATA"


def places(root: str, folders: Sequence[str]) -> list[Path]:
    """The folders in which files of a data set may lie."""
    bases = [Path(root).expanduser()]
    if os.environ.get(DATA_VARIABLE):
        bases.append(Path(os.environ[DATA_VARIABLE]).expanduser())
    return [base / folder for base in bases for folder in folders]


def find(root: str, folders: Sequence[str], names: Sequence[str]) -> Path | None:
    """The first file that is there, by one of some names, gzipped or not."""
    for place in places(root, folders):
        for name in names:
            for path in (place / name, place / f"{name}.gz"):
                if path.is_file():
                    return path
    return None


def download(target: Path, urls: Sequence[str], md5: str | None = None) -> None:
    """Get a file from the first address that gives it; the error names all that was tried."""
    target.parent.mkdir(parents=True, exist_ok=True)
    problems = []
    for url in urls:
        try:
            digest = hashlib.md5()
            with replacing(target) as file, urllib.request.urlopen(url, timeout=20) as answer:
                while chunk := answer.read(1 << 18):
                    file.write(chunk)
                    digest.update(chunk)
                if md5 not in (None, digest.hexdigest()):
                    raise ValueError("the file has another checksum than it should")
            return
        except (OSError, ValueError) as error:
            problems.append(f"{url}: {error}")
    raise RuntimeError(
        f"{target.name} is not there, and could not be downloaded "
        f"({'; '.join(problems) or 'there is no address for it'}). Put the data set's files below "
        f"{target.parent}, or name a folder that has them in the variable {DATA_VARIABLE}."
    )


def check(path: Path, md5: str | None) -> None:
    """Compare a file's checksum with what it should be; ValueError if it is another."""
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "md5").hexdigest()
    if md5 is not None and found != md5:
        raise ValueError(f"{path} has another checksum than it should: it is damaged or cut off")


def missing(name: str, root: str) -> RuntimeError:
    """The error for a data set that is not there."""
    return RuntimeError(
        f"Dataset not found. You can use download=True to download it. ({name} was looked for "
        f"below {root} and in the folder that the variable {DATA_VARIABLE} names, now "
        f"{os.environ.get(DATA_VARIABLE) or 'not set'}.)"
    )


def unpack(archive: Path, url: str, md5: str) -> None:
    """Unpack a tar file where it lies; it is downloaded first unless it is there."""
    if not archive.is_file():
        download(archive, [url], md5)
    check(archive, md5)
    with tarfile.open(archive) as packed:
        packed.extractall(archive.parent, filter="data")
