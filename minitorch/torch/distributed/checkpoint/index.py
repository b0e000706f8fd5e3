"""What a checkpoint has: its entries by name, and which rows of each are in which file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .... import files
from ...tensor import Tensor
from ..tensor import DTensor

NAME = ".metadata"
_FORMAT = "minitorch.distributed.checkpoint 1"


class CheckpointException(RuntimeError):  # noqa: N818
    """A checkpoint could not be saved or loaded: on which ranks, and why."""

    def __init__(self, what: str, failures: dict[int, str]) -> None:
        self.failures = failures
        ranks = "; ".join(f"rank {rank}: {why}" for rank, why in sorted(failures.items()))
        super().__init__(f"{what} failed. {ranks}")


@dataclass
class Chunk:
    """Some rows of a tensor (all, if it has no dimensions), or a whole object, and where it lies."""

    file: str
    key: str
    first: int = 0
    rows: int = 0


@dataclass
class Entry:
    """A tensor or another object; `shape` is None for the latter, `path` its keys in nested dictionaries."""

    shape: list[int] | None
    dtype: str = ""
    chunks: list[Chunk] = field(default_factory=list)
    path: list[str | int] = field(default_factory=list)


@dataclass
class Item:
    """What a rank has of an entry: some rows of a tensor, or an object."""

    name: str
    shape: list[int] | None
    dtype: str
    first: int
    rows: int
    nbytes: int
    path: list[str | int]


@dataclass
class Place:
    """Where a leaf is: its keys from the outermost dictionary on, and the innermost."""

    path: list[str | int]
    container: Any

    @property
    def value(self) -> Any:
        """What is there."""
        return self.container[self.path[-1]]

    @value.setter
    def value(self, new: Any) -> None:
        self.container[self.path[-1]] = new


def flatten(state: Any, outer: Sequence[str | int] = ()) -> Iterator[Place]:
    """The leaves of nested dictionaries, and of lists that have tensors."""
    pairs = state.items() if isinstance(state, dict) else enumerate(state)
    for key, value in pairs:
        path = [*outer, key]
        nested = (isinstance(value, dict) and value) or (
            isinstance(value, list) and any(isinstance(v, Tensor) for v in value)
        )
        if nested:
            yield from flatten(value, path)
        else:
            yield Place(path, state)


def flattened(state: Any) -> dict[str, Place]:
    """The leaves by names such as `model.0.weight`; ValueError where two have the same."""
    found: dict[str, Place] = {}
    for place in flatten(state):
        name = ".".join(map(str, place.path))
        if name in found:
            raise ValueError(f"two entries of the state are called {name!r}")
        found[name] = place
    return found


def item_of(name: str, place: Place) -> Item:
    """What this rank has under a name."""
    value = place.value
    if not isinstance(value, Tensor):
        return Item(name, None, "", 0, 0, 0, place.path)
    first = value.first_row if isinstance(value, DTensor) else 0
    rows = value._array.shape[0] if value.ndim else 0
    nbytes = value._array.nbytes
    return Item(name, list(value.shape), str(value.dtype), first, rows, nbytes, place.path)


def write_index(folder: Path, entries: dict[str, Entry]) -> None:
    """Write the index, in the place of the one before."""
    described = {name: asdict(entry) for name, entry in entries.items()}
    with files.replacing(folder / NAME) as file:
        file.write(json.dumps({"format": _FORMAT, "entries": described}).encode())


def read_index(folder: Path) -> dict[str, Entry]:
    """The entries of a checkpoint; FileNotFoundError where there is none, ValueError for other files."""
    path = folder / NAME
    if not path.exists():
        raise FileNotFoundError(f"there is no checkpoint in {folder}: {NAME} is missing")
    try:
        described = json.loads(path.read_bytes())
        if described["format"] != _FORMAT:
            raise ValueError(f"its format is {described['format']!r}")
        return {name: _entry(**given) for name, given in described["entries"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no index of a checkpoint: {error}") from None


def _entry(shape: Any, dtype: Any, chunks: Any, path: Any = ()) -> Entry:
    made = Entry(shape, dtype, [Chunk(**chunk) for chunk in chunks], list(path))
    for chunk in made.chunks:
        if Path(chunk.file).name != chunk.file:
            raise ValueError(f"it names a file outside of its folder: {chunk.file!r}")
    return made
