"""CIFAR: colored pictures of 32 x 32 in ten classes, or in a hundred."""

from __future__ import annotations

import os
import pickle
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...torch.serialization.names import latin1_bytes
from ..pillow import picture
from . import files
from .vision import VisionDataset


class _ArrayUnpickler(pickle.Unpickler):
    """Reads arrays, lists and texts; a file cannot make it do anything else."""

    def find_class(self, module: str, name: str) -> Any:
        """What CIFAR's files name; UnpicklingError for all else."""
        known = {
            "numpy.ndarray": np.ndarray,
            "numpy.dtype": np.dtype,
            "_codecs.encode": latin1_bytes,
        }
        if f"{module}.{name}" in known:
            return known[f"{module}.{name}"]
        if name == "_reconstruct" and module in (
            "numpy.core.multiarray",
            "numpy._core.multiarray",
        ):
            return _reconstruct
        raise pickle.UnpicklingError(f"the file names {module}.{name}, which is no array")


def _reconstruct(kind: Any, shape: Any, code: Any) -> Any:
    """An empty array, which the pickle then fills."""
    return np.ndarray.__new__(np.ndarray, (0,), np.uint8)


class CIFAR10(VisionDataset):
    """Ten classes: 50,000 pictures to train with, 10,000 to test with.

    Files are looked for in `root/cifar-10-batches-py`, and in the folder that MINITORCH_DATA names.
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    subset: ClassVar[list[str]] = ["cifar10/cifar10_subset.npz", "cifar10_subset.npz"]
    train_list: ClassVar[list[str]] = [f"data_batch_{i}" for i in range(1, 6)]
    test_list: ClassVar[list[str]] = ["test_batch"]
    meta: ClassVar[tuple[str, str]] = ("batches.meta", "label_names")

    def __init__(
        self,
        root: Any,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        self.classes: list[str] = []
        loaded = self._load()
        if not loaded and download:
            self.download()
            loaded = self._load()
        if not loaded:
            raise files.missing(type(self).__name__, os.fspath(root))
        self.data, self.targets = loaded
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}

    def _load(self) -> tuple[Any, list[int]] | None:
        """Pictures and labels, from torchvision's files or from a cut of them."""
        root = os.fspath(self.root)
        folder = files.find(root, [self.base_folder], [self.meta[0]])
        if folder is not None:
            return self._batches(folder.parent)
        for name in self.subset:
            path = files.find(root, [os.path.dirname(name) or "."], [os.path.basename(name)])
            if path is not None:
                return self._subset(path)
        return None

    def _batches(self, folder: Path) -> tuple[Any, list[int]]:
        parts, labels = [], []
        for name in self.train_list if self.train else self.test_list:
            entry = _read(folder / name)
            parts.append(entry["data"])
            labels += list(entry["labels"] if "labels" in entry else entry["fine_labels"])
        self.classes = list(_read(folder / self.meta[0])[self.meta[1]])
        pixels = np.vstack(parts).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(pixels), labels

    def _subset(self, path: Path) -> tuple[Any, list[int]]:
        part = "train" if self.train else "test"
        with np.load(path, allow_pickle=False) as arrays:
            self.classes = [str(name) for name in arrays["label_names"]]
            return arrays[f"x_{part}"], arrays[f"y_{part}"].tolist()

    def download(self) -> None:
        """Get the archive, unless it is there, and unpack it."""
        archive = Path(os.fspath(self.root), self.filename)
        if not archive.is_file():
            files.download(archive, [self.url], self.tgz_md5)
        with tarfile.open(archive) as packed:
            packed.extractall(self.root, filter="data")

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(picture(self.data[index], "RGB"), self.targets[index])

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        """Which part it is."""
        return f"Split: {'Train' if self.train else 'Test'}"


def _read(path: Path) -> Any:
    """What is in one of CIFAR's files."""
    with open(path, "rb") as file:
        return _ArrayUnpickler(file, encoding="latin1").load()


class CIFAR100(CIFAR10):
    """A hundred classes."""

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    subset: ClassVar[list[str]] = []
    train_list: ClassVar[list[str]] = ["train"]
    test_list: ClassVar[list[str]] = ["test"]
    meta: ClassVar[tuple[str, str]] = ("meta", "fine_label_names")
