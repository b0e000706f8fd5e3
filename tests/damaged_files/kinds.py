"""What the project reads: a good file of each kind, how it is read, and the errors that are documented."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np

import minitorch
import minitorch.torch as torch
from minitorch.course.workspace import CourseError, Workspace
from minitorch.torch import nn, safetensors
from minitorch.torch.safetensors import SafetensorError
from minitorch.torchvision import datasets
from minitorch.training import checkpoint as checkpoints
from minitorch.training import data_files
from minitorch.training.session import OK, RunOptions, Session
from minitorch.training.torch_images import TorchImageTrain

from . import mutations
from .mutations import Mutation


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        name: of the file, below the folder of a case
        samples: good files
        mutations: those that know the format
        read: reads a file, and uses what it gives
        errors: which it may raise
        names_file: whether the error names the file
    """

    name: str
    samples: list[bytes]
    mutations: list[Mutation]
    read: Callable[[Path], Any]
    errors: tuple[type[Exception], ...]
    names_file: bool = True


# --- Checkpoints of the course ---------------------------------------------------------------


class _Network(minitorch.Module):
    """Two parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = minitorch.Parameter(minitorch.rand((3, 2)))
        self.bias = minitorch.Parameter(minitorch.Scalar(0.5))


def _session(path: Path, resume: bool) -> Session:
    options = RunOptions(out=path.parent, checkpoint=path, resume=resume, live=False, picture=False)
    return Session("damaged", options, epochs=2, points=4, validation_points=4)


def _trainer() -> TorchImageTrain:
    return TorchImageTrain(nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)), 0.1, 2, 0.9)


def _train(session: Session, model: Any, trainer: TorchImageTrain | None) -> int:
    def train(log_fn: Any, start: int) -> None:
        for epoch in range(start, session.epochs + 1):
            if trainer is not None:
                model(torch.ones(3, 4)).sum().backward()
                trainer.optimizer.step()
                trainer.schedule.step()
            log_fn(epoch, 0.5, 3, validation=2)

    return session.run(model, train, keeper=trainer)


def _checkpoint(path: Path, upper_floor: bool) -> bytes:
    trainer = _trainer() if upper_floor else None
    session = _session(path, resume=False)
    session.epochs = 1
    with contextlib.redirect_stdout(io.StringIO()):
        _train(session, trainer.model if trainer else _Network(), trainer)
    return path.read_bytes()


def _resume(path: Path, upper_floor: bool) -> None:
    """Go on from a checkpoint for one more epoch."""
    trainer = _trainer() if upper_floor else None
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = _train(
            _session(path, resume=True), trainer.model if trainer else _Network(), trainer
        )
    if code != OK:
        raise checkpoints.CheckpointError(said.getvalue())


# --- Data files --------------------------------------------------------------------------------


def _idx(shape: tuple[int, ...]) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 10, shape).astype(np.uint8)
    return bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + pixels.tobytes()


_SENTENCES = b"sentence\tlabel\n" + b"".join(
    b"it 's a fine film %d\t%d\n" % (i, i % 2) for i in range(30)
)
_VECTORS = b"".join(
    b"word%d " % i + b" ".join(b"%.4f" % (i * 0.01 * j) for j in range(50)) + b"\n"
    for i in range(12)
)


def _read_mnist(path: Path) -> None:
    """Read the file as images and as labels, in the course and in torchvision."""
    first: Exception | None = None
    for dims in (3, 1):
        try:
            return _use(data_files.read_idx(path, dims))
        except ValueError as error:
            first = first or error
    assert first is not None
    raise first


def _mnist_folder(path: Path) -> None:
    """Read the file among MNIST's others."""
    for name, shape in (("t10k-images-idx3-ubyte", (5, 28, 28)), ("t10k-labels-idx1-ubyte", (5,))):
        if not (path.parent / name).exists() and not (path.parent / f"{name}.gz").exists():
            (path.parent / name).write_bytes(_idx(shape))
    data = datasets.MNIST(path.parent, train=False)
    _use([data.data, data.targets, data[0]] if len(data) else [])
    os.environ[data_files.DATA_VARIABLE] = str(path.parent)
    _use(data_files.load_mnist("test"))


def _sentences_zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("train", "dev"):
            archive.writestr(f"SST-2/{name}.tsv", _SENTENCES)
    return packed.getvalue()


def _unpack(path: Path) -> None:
    with open(path, "rb") as archive:
        data_files._unpack(archive, path.parent, data_files.SST2["dev"].urls[0])


# --- CIFAR ---------------------------------------------------------------------------------------

_PIXELS = np.random.default_rng(0).integers(0, 256, (4, 3072)).astype(np.uint8)


def _cifar(path: Path) -> None:
    for name in ("test_batch", "batches.meta"):
        if not (path.parent / name).exists():
            content = {"data": _PIXELS, "labels": [0, 1, 2, 3]} if name == "test_batch" else _META
            (path.parent / name).write_bytes(pickle.dumps(content, protocol=2))
    data = datasets.CIFAR10(path.parent.parent, train=False)
    _use([data.data, data.targets, data.classes, data[0] if len(data) else None])


_META = {"label_names": list("abcd")}


def _cifar_subset() -> bytes:
    packed = io.BytesIO()
    pixels = _PIXELS.reshape(4, 32, 32, 3)
    labels = np.arange(4)
    np.savez_compressed(
        packed,
        x_train=pixels,
        y_train=labels,
        x_test=pixels,
        y_test=labels,
        label_names=list("abcd"),
    )
    return packed.getvalue()


def _read_cifar_subset(path: Path) -> None:
    data = datasets.CIFAR10(path.parent, train=False)
    _use([data.data, data.targets, data.classes, data[0] if len(data) else None])


# --- Files of Torch ------------------------------------------------------------------------------

_OBJECTS: list[Any] = [
    nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).state_dict(),
    {
        "a": torch.arange(6).reshape(2, 3).t(),
        "b": [1.5, None, (True, "x")],
        "c": torch.ones(2, dtype=torch.bool),
    },
    [
        nn.Parameter(torch.ones(2)),
        torch.ones(2, dtype=torch.complex64),
        torch.Size([2]),
        {3, 4},
        b"bytes",
    ],
    torch.ones(2, 2).to_sparse(),
]


def _pt(obj: Any) -> bytes:
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()


def _legacy() -> bytes:
    """A file as Torch before 1.6 wrote it: a tensor of six floats."""
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
    head = b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, system))
    storage = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x06NtQ"
    tensor = (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\0K\x02K\x03\x86K\x03K\x01\x86\x89"
    )
    tensor += b"ccollections\nOrderedDict\n)RtR"
    obj = b"\x80\x02}X\x01\0\0\0w" + tensor + b"s."
    return head + obj + pickle.dumps(["0"], 2) + struct.pack("<q6f", 6, *range(6))


def _load_mapped(path: Path) -> None:
    _use(torch.load(path, mmap=True))


def _load_state(path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    model.load_state_dict(torch.load(path))
    _use(model.state_dict())


def _safetensors() -> list[bytes]:
    tensors = {"a": torch.ones(2, 3), "b": torch.arange(4), "c": torch.ones(3, dtype=torch.bool)}
    return [safetensors.save(tensors), safetensors.save(tensors, {"format": "pt"})]


def _open_safetensors(path: Path) -> None:
    _use(torch.load(path))
    with safetensors.safe_open(path) as file:
        for name in file.keys():  # noqa: SIM118
            part = file.get_slice(name)
            _use(part[:1] if part.get_shape() else part[()])


# --- Notes of the course -------------------------------------------------------------------------

_NOTES = {"module": 1, "passed": {"0.1": "abc"}, "last": {"task": "0.2", "message": "no"}}


def _notes(path: Path) -> None:
    """Read the notes of a workspace, and take another one."""
    workspace = Workspace(path.parent.parent)
    before = workspace.notes()
    workspace.note(last={"task": "0.3", "message": "no"})
    if workspace.notes()["last"]["task"] != "0.3" or not isinstance(before["passed"], dict):
        raise AssertionError("the notes are not as they should be")


# --- All -----------------------------------------------------------------------------------------


def _use(value: Any, depth: int = 0) -> None:
    """Touch the first and the last element of every array in what was read."""
    if isinstance(value, torch.Tensor):
        if value.is_sparse:
            return _use([value._indices(), value._values()])
        return _use(value._array)
    if isinstance(value, np.ndarray):
        if value.size:
            repr((value[(0,) * value.ndim], value[(-1,) * value.ndim]))
    elif depth < 5 and isinstance(value, dict):
        _use(list(value.values()), depth + 1)
    elif depth < 5 and isinstance(value, (list, tuple)):
        for part in value[:100]:
            _use(part, depth + 1)
    return None


_TORCH_ERRORS = (RuntimeError, UnpicklingError, EOFError)


def make_kinds(folder: Path) -> dict[str, Kind]:
    """Every kind by name; `folder` is for files that are needed to make samples."""
    checkpoint = (checkpoints.CheckpointError,)
    wrong = (ValueError,)
    sst2, glove = (
        data_files.read_labelled_sentences,
        lambda path: _use(data_files.read_glove(path, 50)),
    )
    idx = [_idx((5, 28, 28)), _idx((5,))]

    def packed(samples: Iterable[bytes]) -> list[bytes]:
        return [gzip.compress(sample, mtime=0) for sample in samples]

    return {
        "checkpoint": Kind(
            "checkpoint.npz", [_checkpoint(folder / "a.npz", False)], mutations.NPZ,
            lambda path: _resume(path, False), checkpoint,
        ),
        "checkpoint of the upper floor": Kind(
            "checkpoint.npz", [_checkpoint(folder / "b.npz", True)], mutations.NPZ,
            lambda path: _resume(path, True), checkpoint,
        ),
        "idx": Kind("train-images", idx, mutations.IDX, _read_mnist, wrong),
        "idx.gz": Kind("train-images.gz", packed(idx), mutations.IDX_GZ, _read_mnist, wrong),
        "MNIST images": Kind("t10k-images-idx3-ubyte", idx[:1], mutations.IDX, _mnist_folder, wrong),
        "MNIST labels": Kind("t10k-labels-idx1-ubyte.gz", packed(idx[1:]), mutations.IDX_GZ, _mnist_folder, wrong),
        "sentences": Kind("dev.tsv", [_SENTENCES], mutations.SENTENCES, sst2, wrong),
        "sentences.gz": Kind("dev.tsv.gz", packed([_SENTENCES]), mutations.SENTENCES_GZ, sst2, wrong),
        "sentences.zip": Kind("SST-2.zip", [_sentences_zip()], mutations.SENTENCES_ZIP, _unpack, wrong, False),
        "vectors": Kind("glove.txt", [_VECTORS], mutations.VECTORS, glove, wrong),
        "vectors.gz": Kind("glove.txt.gz", packed([_VECTORS]), mutations.VECTORS_GZ, glove, wrong),
        "CIFAR pictures": Kind(
            "cifar-10-batches-py/test_batch",
            [pickle.dumps({"data": _PIXELS, "labels": [0, 1, 2, 3]}, 2)], mutations.PICKLE, _cifar, wrong,
        ),
        "CIFAR classes": Kind(
            "cifar-10-batches-py/batches.meta", [pickle.dumps(_META, p) for p in (2, 4)],
            mutations.PICKLE, _cifar, wrong,
        ),
        "CIFAR subset": Kind("cifar10_subset.npz", [_cifar_subset()], mutations.NPZ, _read_cifar_subset, wrong),
        "pt": Kind(
            "a.pt", [_pt(obj) for obj in _OBJECTS], mutations.PT,
            lambda path: _use(torch.load(path)), _TORCH_ERRORS, False,
        ),
        "pt, mapped": Kind("a.pt", [_pt(obj) for obj in _OBJECTS], mutations.PT, _load_mapped, _TORCH_ERRORS, False),
        "state dict": Kind(
            "a.pt", [_pt(_OBJECTS[0])], mutations.PT, _load_state, (*_TORCH_ERRORS, TypeError), False,
        ),
        "legacy pt": Kind(
            "a.pt", [_legacy()], mutations.PICKLE, lambda path: _use(torch.load(path)), _TORCH_ERRORS, False,
        ),
        "safetensors": Kind(
            "a.safetensors", _safetensors(), mutations.SAFETENSORS, _open_safetensors, (SafetensorError,), False,
        ),
        "notes of the course": Kind(
            ".minitorch/course.json", [json.dumps(_NOTES, indent=1).encode(), json.dumps(_NOTES).encode()],
            mutations.JSON, _notes, (CourseError,),
        ),
    }  # fmt: skip
