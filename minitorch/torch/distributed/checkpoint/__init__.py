"""Checkpoints of programs with many ranks: each saves a part, and any number of ranks can load them.

    torch.distributed.checkpoint.save({"model": model.state_dict()}, checkpoint_id="folder")
    state = {"model": model.state_dict()}
    torch.distributed.checkpoint.load(state, checkpoint_id="folder")     # into the tensors of `state`

A checkpoint is a folder: a file of tensors for each rank (`torch.load` reads it) and an index. The index is written
last, and in one piece, so a save that is killed leaves the checkpoint before it whole.
"""

from typing import Any

from . import state_dict as state_dict
from .default_planner import DefaultLoadPlanner as DefaultLoadPlanner
from .default_planner import DefaultSavePlanner as DefaultSavePlanner
from .index import CheckpointException as CheckpointException
from .loading import load as load
from .metadata import BytesStorageMetadata as BytesStorageMetadata
from .metadata import Metadata as Metadata
from .metadata import TensorStorageMetadata as TensorStorageMetadata
from .saving import async_save as async_save
from .saving import save as save
from .storage import FileSystemReader as FileSystemReader
from .storage import FileSystemWriter as FileSystemWriter
from .storage import Stateful as Stateful


def save_state_dict(state_dict: dict[str, Any], storage_writer: Any, process_group: Any = None, coordinator_rank: int = 0, no_dist: bool = False, planner: Any = None) -> None:  # fmt: skip
    """`save`, as older programs call it."""
    save(
        state_dict,
        storage_writer=storage_writer,
        planner=planner,
        process_group=process_group,
        no_dist=no_dist,
    )


def load_state_dict(state_dict: dict[str, Any], storage_reader: Any, process_group: Any = None, coordinator_rank: int = 0, no_dist: bool = False, planner: Any = None) -> None:  # fmt: skip
    """`load`, as older programs call it."""
    load(
        state_dict,
        storage_reader=storage_reader,
        planner=planner,
        process_group=process_group,
        no_dist=no_dist,
    )
