"""The data sets that have to be fetched: whether they are here, and how they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minitorch.training import data_files as files

NAMES = {"mnist": "MNIST", "sst2": "SST-2 with GloVe"}


def needed(dataset: str) -> list[files.DataFile]:
    """The files of a data set; of SST-2 whole sentences to train with if they are here."""
    if dataset == "mnist":
        return [*files.MNIST["train"], *files.MNIST["test"]]
    part = "sentences" if _is_here(files.SST2["sentences"]) else "phrases"
    return [files.SST2[part], files.SST2["dev"], files.GLOVE]


def _is_here(file: files.DataFile) -> bool:
    try:
        files.find_files([file], download=False)
    except FileNotFoundError:
        return False
    return True


def has(dataset: str) -> bool:
    """Whether all files of a data set are on this machine; nothing is downloaded."""
    return all(_is_here(file) for file in needed(dataset))


def missing(dataset: str) -> list[dict[str, Any]]:
    """The files that are not here: name, size, and where they come from."""
    return [
        {"name": f"{file.folder}/{file.names[-1]}", "size": file.size, "from": list(file.urls)}
        for file in needed(dataset)
        if not _is_here(file)
    ]


def get(dataset: str) -> Iterator[dict[str, Any]]:
    """Fetch what is missing, a part before each file; `refused` says in words why one did not come."""
    wanted = [file for file in needed(dataset) if not _is_here(file)]
    for number, file in enumerate(wanted, 1):
        words = {"name": f"{file.folder}/{file.names[-1]}", "size": file.size}
        yield {"file": number, "files": len(wanted), **words}
        try:
            files.find_files([file])
        except FileNotFoundError as error:
            yield {"refused": str(error)}
            return
    yield {"here": True}
