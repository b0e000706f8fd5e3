"""Saving: each rank writes its part into a new file, then one rank writes the index that names the files."""

from __future__ import annotations

import secrets
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .... import files
from ...serialization import save as save_file
from ...tensor import Tensor
from ...utils._pytree import tree_map_only
from .. import groups, world
from ..objects import all_gather_object
from ..tensor import DTensor
from .default_planner import DefaultSavePlanner, check_planner
from .index import CheckpointException, Chunk, Entry, Item, Place, flattened, item_of, write_index
from .storage import Stateful, folder_of

SUFFIX = ".distcp"


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Save a state whose tensors are the same on all ranks, or spread over them. All ranks call this.

    Args:
        state_dict: names, with tensors, dictionaries, plain values, or objects that have a state
        checkpoint_id: the folder; what is there stays valid until the new one is complete
        storage_writer: a FileSystemWriter, in the place of checkpoint_id
        process_group: the ranks that save; by default all
        no_dist: save as one process
    """
    check_planner(planner, DefaultSavePlanner)
    folder = folder_of(checkpoint_id, storage_writer)
    ranks = Ranks(process_group, no_dist)
    places = flattened(states_of(state_dict))
    items = [item_of(name, place) for name, place in places.items()]
    token, *_ = ranks.gather(secrets.token_hex(8))
    parts = _share_out(ranks.gather(items))
    entries = _entries(parts, token)
    own = f"__{ranks.rank}_{token}{SUFFIX}"
    ranks.together("save", lambda: _write(folder / own, parts[ranks.rank], places))

    def complete() -> None:
        if ranks.rank == 0:
            write_index(folder, entries)
            _remove_others(folder, {chunk.file for entry in entries.values() for chunk in entry.chunks})  # fmt: skip

    ranks.together("save", complete)


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    **_: Any,
) -> Future[None]:
    """Copy a state now, and save the copy meanwhile; the result is a future. All ranks call this."""
    copied = tree_map_only(Tensor, lambda t: t.detach().clone(), states_of(state_dict))
    alone = no_dist or not world.is_initialized()
    group = None if alone else process_group or groups.new_group()
    pool = ThreadPoolExecutor(1)
    started = pool.submit(
        save, copied, checkpoint_id=checkpoint_id, storage_writer=storage_writer, planner=planner, process_group=group,
        no_dist=no_dist,
    )  # fmt: skip
    pool.shutdown(wait=False)
    return started


class Ranks:
    """The ranks that save or load together, or this process alone."""

    def __init__(self, group: Any = None, alone: bool = False) -> None:
        self.alone = alone or not world.is_initialized()
        self.group = group
        self.rank = 0 if self.alone else world.get_rank(group)
        self.size = 1 if self.alone else world.get_world_size(group)

    def gather(self, value: Any) -> list[Any]:
        """All ranks' values."""
        if self.alone:
            return [value]
        every: list[Any] = [None] * self.size
        all_gather_object(every, value, self.group)
        return every

    def together(self, what: str, step: Any) -> None:
        """Do something on all ranks; an error on one is an error on all."""
        failure, cause = None, None
        try:
            step()
        except Exception as error:
            failure, cause = f"{type(error).__name__}: {error}", error
        failures = {rank: why for rank, why in enumerate(self.gather(failure)) if why}
        if failures:
            raise CheckpointException(what, failures) from cause


def states_of(state_dict: dict[str, Any]) -> dict[str, Any]:
    """A state with the states of objects in their places."""
    return {k: v.state_dict() if has_state(v) else v for k, v in state_dict.items()}


def has_state(value: Any) -> bool:
    """Whether a value is an object with a state of its own."""
    return isinstance(value, Stateful) and not isinstance(value, Tensor)


def _share_out(by_rank: list[list[Item]]) -> list[list[Item]]:
    """Which rank writes what: what several have is written by the one that has least to write, large ones first."""
    holders: dict[tuple[str, int], list[tuple[int, Item]]] = {}
    for rank, items in enumerate(by_rank):
        for item in items:
            holders.setdefault((item.name, item.first), []).append((rank, item))
    load = [0] * len(by_rank)
    parts: list[list[Item]] = [[] for _ in by_rank]
    for candidates in sorted(holders.values(), key=lambda c: -c[0][1].nbytes):
        _, rank, item = min(((load[rank], rank, item) for rank, item in candidates), key=lambda c: c[:2])  # fmt: skip
        load[rank] += item.nbytes
        parts[rank].append(item)
    return parts


def _entries(parts: list[list[Item]], token: str) -> dict[str, Entry]:
    """The index of what the ranks write."""
    entries: dict[str, Entry] = {}
    for rank, items in enumerate(parts):
        for item in items:
            entry = entries.setdefault(item.name, Entry(item.shape, item.dtype, path=item.path))
            if (entry.shape, entry.dtype) != (item.shape, item.dtype):
                raise ValueError(f"{item.name!r} differs in shape or type between ranks")
            if item.rows or not item.shape:
                entry.chunks.append(Chunk(f"__{rank}_{token}{SUFFIX}", item.name, item.first, item.rows))  # fmt: skip
    return entries


def _write(path: Path, items: list[Item], places: dict[str, Place]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {}
    for item in items:
        value = places[item.name].value
        values[item.name] = (
            _local(value).detach().cpu().clone() if isinstance(value, Tensor) else value
        )
    with files.replacing(path) as file:
        save_file(values, file)


def _local(tensor: Tensor) -> Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _remove_others(folder: Path, named: set[str]) -> None:
    """Remove the files of checkpoints that were here before, also of saves that were killed."""
    for path in folder.glob(f"__*{SUFFIX}"):
        if path.name not in named:
            path.unlink(missing_ok=True)
