"""CIFAR: colored pictures of 32 x 32 in ten classes, or in a hundred."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, ClassVar

import numpy as np

from ...torch.serialization.unpickler import SafeUnpickler
from ...training.packed_files import read_npz
from ..pillow import picture
from . import files
from .vision import VisionDataset


class _Dtype:
    """The dtype that a pickle makes for its array; pictures are of bytes."""

    def __init__(self, code: Any = None, *rest: Any) -> None:
        if code != "u1":
            raise UnpicklingError(f"pictures are arrays of u1, not of {code!r:.40}")

    def __setstate__(self, state: Any) -> None:
        pass


class _Pictures:
    """An array of bytes that a pickle fills."""

    array: Any = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, in_columns, data = state
        if not isinstance(dtype, _Dtype) or in_columns or not isinstance(shape, tuple):
            raise UnpicklingError("the file has an array that is none of pictures")
        data = data.encode("latin1") if isinstance(data, str) else data
        self.array = np.frombuffer(data, np.uint8).reshape(shape)


def _reconstruct(kind: Any, shape: Any, code: Any) -> _Pictures:
    """An empty array, which the pickle then fills."""
    return _Pictures()


_NAMES = {
    "numpy.ndarray": _Pictures,
    "numpy.dtype": _Dtype,
    "numpy.core.multiarray._reconstruct": _reconstruct,
    "numpy._core.multiarray._reconstruct": _reconstruct,
}


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
            pixels, numbers = _read_batch(folder / name)
            parts.append(pixels)
            labels += numbers
        self.classes = _read_names(folder / self.meta[0], self.meta[1])
        pixels = np.vstack(parts).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(pixels), labels

    def _subset(self, path: Path) -> tuple[Any, list[int]]:
        part = "train" if self.train else "test"
        arrays = read_npz(path)
        names = [f"x_{part}", f"y_{part}", "label_names"]
        if not set(names) <= arrays.keys():
            raise ValueError(f"{path}: there is no {' or '.join(set(names) - arrays.keys())} in it")
        pixels, labels, classes = (arrays[name] for name in names)
        if pixels.dtype != np.uint8 or pixels.shape[1:] != (32, 32, 3):
            raise ValueError(f"{path}: {pixels.shape} of {pixels.dtype} are no pictures of 32 x 32")
        if labels.dtype.kind not in "iu" or labels.shape != pixels.shape[:1] or classes.ndim != 1:
            raise ValueError(
                f"{path}: {len(pixels)} pictures, but not as many labels, or no classes"
            )
        try:
            self.classes = [str(name) for name in classes]
        except SystemError as error:  # NumPy, at what is no character
            raise ValueError(f"{path}: the names of its classes are no text") from error
        return pixels, labels.tolist()

    def download(self) -> None:
        """Get the archive, unless it is there, and unpack it."""
        files.unpack(Path(os.fspath(self.root), self.filename), self.url, self.tgz_md5)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._transformed(picture(self.data[index], "RGB"), self.targets[index])

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


def _read(path: Path) -> dict[Any, Any]:
    """What is in one of CIFAR's files; ValueError names a damaged one."""
    try:
        machine = SafeUnpickler(path.read_bytes(), _no_storage, names=_NAMES)
        found = machine.load()
    except (UnpicklingError, RuntimeError) as error:  # the latter of Torch's objects in it
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path}: there is no dict in it")
    return found


def _no_storage(description: Any) -> Any:
    raise UnpicklingError("the file refers to a storage, and has none")


def _read_batch(path: Path) -> tuple[Any, list[int]]:
    """The pictures of a file, (n, 3072), and their labels."""
    entry = _read(path)
    pictures, labels = entry.get("data"), entry.get("labels", entry.get("fine_labels"))
    pixels = pictures.array if isinstance(pictures, _Pictures) else None
    if pixels is None or pixels.shape[1:] != (3072,):
        raise ValueError(f"{path}: its data are no pictures of 3 x 32 x 32 bytes")
    if not isinstance(labels, list) or any(type(n) is not int for n in labels):
        raise ValueError(f"{path}: its labels are no list of whole numbers")
    if len(labels) != len(pixels):
        raise ValueError(f"{path}: {len(pixels)} pictures, but {len(labels)} labels")
    return pixels, labels


def _read_names(path: Path, key: str) -> list[str]:
    """The names of the classes."""
    names = _read(path).get(key)
    if not isinstance(names, list) or any(type(name) is not str for name in names):
        raise ValueError(f"{path}: its {key} are no list of names")
    return names


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
