"""STL-10: colored pictures of 96 x 96 in ten classes, and many without a label."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..pillow import picture
from . import files
from .vision import VisionDataset


class STL10(VisionDataset):
    """5,000 pictures to train with, 8,000 to test with, 100,000 without a label.

    Files are looked for in `root/stl10_binary`, and in the folder that MINITORCH_DATA names.
    """

    base_folder = "stl10_binary"
    url = "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"
    filename = "stl10_binary.tar.gz"
    tgz_md5 = "91f7769df0f17e558f3565bffb0c7dfb"
    splits: ClassVar[tuple[str, ...]] = ("train", "train+unlabeled", "unlabeled", "test")

    def __init__(
        self,
        root: Any,
        split: str = "train",
        folds: int | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        if split not in self.splits:
            raise ValueError(
                f"Unknown value '{split}' for argument split. Valid values are {self.splits}."
            )
        if folds is not None and folds not in range(10):
            raise ValueError(
                f"Value for argument folds should be in the range [0, 10), but got {folds}."
            )
        self.split, self.folds = split, folds
        first = files.find(os.fspath(root), [self.base_folder], [f"{split.split('+')[0]}_X.bin"])
        if first is None and download:
            self.download()
            first = Path(os.fspath(root), self.base_folder, "train_X.bin")
        if first is None:
            raise files.missing(type(self).__name__, os.fspath(root))
        parts = [self._read(first.parent, name) for name in split.split("+")]
        self.data, self.labels = (np.concatenate(each) for each in zip(*parts, strict=True))
        names = first.parent / "class_names.txt"
        if names.is_file():
            self.classes = names.read_text().splitlines()

    def _read(self, folder: Path, name: str) -> tuple[Any, Any]:
        """The pictures (n, 3, 96, 96) and labels of a part; -1 where there is none."""
        pixels = np.fromfile(folder / f"{name}_X.bin", np.uint8)
        if pixels.size % (3 * 96 * 96):
            raise ValueError(f"{folder / name}_X.bin: its bytes are no pictures of 3 x 96 x 96")
        pictures = pixels.reshape(-1, 3, 96, 96).transpose(0, 1, 3, 2)
        if name == "unlabeled":
            return pictures, np.full(len(pictures), -1)
        labels = np.fromfile(folder / f"{name}_y.bin", np.uint8) - 1
        if len(labels) != len(pictures):
            raise ValueError(f"{folder}: {len(pictures)} pictures, but {len(labels)} labels")
        if self.folds is None or name != "train":
            return pictures, labels
        rows = (folder / "fold_indices.txt").read_text().splitlines()[self.folds]
        chosen = np.array(rows.split(), np.int64)
        return pictures[chosen], labels[chosen]

    def download(self) -> None:
        """Get the archive, unless it is there, and unpack it."""
        files.unpack(Path(os.fspath(self.root), self.filename), self.url, self.tgz_md5)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = picture(self.data[index].transpose(1, 2, 0), "RGB")
        return self._transformed(image, int(self.labels[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {self.split}"
