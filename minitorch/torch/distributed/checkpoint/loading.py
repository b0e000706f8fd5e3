"""Loading: each rank reads the rows that it has, whoever has written them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...autograd.modes import no_grad
from ...serialization import load as load_file
from ...tensor import Tensor
from ..tensor import DTensor
from .default_planner import DefaultLoadPlanner, check_planner
from .index import Entry, Item, flattened, item_of, read_index
from .saving import Ranks, has_state, states_of
from .storage import folder_of


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Load a checkpoint into a state: its tensors are filled, other values replaced. All ranks call this.

    The number of ranks may differ from that which saved it. What the checkpoint has besides is left out.

    Args:
        state_dict: names, with tensors of the shapes that were saved, or objects that have a state
        checkpoint_id: the folder
        storage_reader: a FileSystemReader, in the place of checkpoint_id
        planner: DefaultLoadPlanner(allow_partial_load=True) leaves what the checkpoint has not as it is
        process_group: the ranks that load; by default all
        no_dist: load as one process
    """
    check_planner(planner, DefaultLoadPlanner)
    partly = planner is not None and planner.allow_partial_load
    folder = folder_of(checkpoint_id, storage_reader)
    states = states_of(state_dict)
    Ranks(process_group, no_dist).together("load", lambda: _load(folder, states, partly))
    for name, value in list(state_dict.items()):
        if has_state(value):
            value.load_state_dict(states[name])
        else:
            state_dict[name] = states[name]


def _load(folder: Path, state: dict[str, Any], partly: bool) -> None:
    entries, files = read_index(folder), _Files(folder)
    places = flattened(state)
    if partly:
        places = {name: place for name, place in places.items() if name in entries}
    for name, place in places.items():
        if name not in entries:
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        _check(item_of(name, place), entries[name])
    for name, place in places.items():  # all fit: now they change
        entry = entries[name]
        if isinstance(place.value, Tensor):
            _fill(place.value, item_of(name, place), entry, files)
        else:
            chunk = entry.chunks[0]
            place.value = files.read(chunk.file)[chunk.key]


def _check(item: Item, entry: Entry) -> None:
    """ValueError unless an entry fits what the state has under its name."""
    if (item.shape is None) != (entry.shape is None):
        raise ValueError(f"{item.name!r} is a tensor in only one of the checkpoint and the state")
    if item.shape != entry.shape:
        raise ValueError(
            f"Size mismatch between saved {entry.shape} and current: {item.shape} for {item.name}"
        )


class _Files:
    """The files of a checkpoint, each opened once; tensors are read when they are used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._opened: dict[str, Any] = {}

    def read(self, name: str) -> Any:
        """What a file has."""
        if name not in self._opened:
            self._opened[name] = load_file(self.folder / name, mmap=True, weights_only=True)
        return self._opened[name]


@no_grad()
def _fill(tensor: Tensor, item: Item, entry: Entry, files: _Files) -> None:
    """Copy into a tensor the rows that it has."""
    target = (tensor.to_local() if isinstance(tensor, DTensor) else tensor).detach()
    if not target.ndim:
        chunk = entry.chunks[0]
        target.copy_(files.read(chunk.file)[chunk.key])
        return
    for chunk in entry.chunks:
        first = max(chunk.first, item.first)
        last = min(chunk.first + chunk.rows, item.first + item.rows)
        if first < last:
            rows = files.read(chunk.file)[chunk.key]
            wanted = rows[first - chunk.first : last - chunk.first]
            target[first - item.first : last - item.first].copy_(wanted)
