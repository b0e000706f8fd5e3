"""Checkpoints of programs with many ranks: each saves a part, and any number of ranks can load them.

    torch.distributed.checkpoint.save({"model": model.state_dict()}, checkpoint_id="folder")
    state = {"model": model.state_dict()}
    torch.distributed.checkpoint.load(state, checkpoint_id="folder")     # into the tensors of `state`

A checkpoint is a folder: a file of tensors for each rank (`torch.load` reads it) and an index. The index is written
last, and in one piece, so a save that is killed leaves the checkpoint before it whole.
"""

from . import state_dict as state_dict
from .index import CheckpointException as CheckpointException
from .loading import load as load
from .saving import async_save as async_save
from .saving import save as save
from .storage import FileSystemReader as FileSystemReader
from .storage import FileSystemWriter as FileSystemWriter
from .storage import Stateful as Stateful
