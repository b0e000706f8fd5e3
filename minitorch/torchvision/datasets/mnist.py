"""MNIST and data sets in its form: gray pictures of 28 x 28 in ten classes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import torch
from ...torch import Tensor
from ...training.data_files import read_idx
from ..pillow import picture
from . import files
from .vision import VisionDataset


class MNIST(VisionDataset):
    """Handwritten digits: 60,000 to train with, 10,000 to test with.

    Files are looked for in `root/MNIST/raw`, as torchvision keeps them, and in the folder that
    MINITORCH_DATA names.
    """

    mirrors: ClassVar[list[str]] = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    folders: ClassVar[list[str]] = ["MNIST/raw", "mnist", "."]
    checksums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c",
    }
    classes: ClassVar[list[str]] = [
        "0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six",
        "7 - seven", "8 - eight", "9 - nine",
    ]  # fmt: skip

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
        if download:
            self.download()
        found = [self._find(name) for name in self._names()]
        if None in found:
            raise files.missing(type(self).__name__, os.fspath(root))
        self.data, self.targets = self._load_data()

    def _names(self) -> tuple[str, str]:
        part = "train" if self.train else "t10k"
        return f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"

    def _find(self, name: str) -> Path | None:
        """A file, or one with the first 10,000 samples where that is all there is."""
        cut = name.replace("train-", "train10k-")
        root, folders = os.fspath(self.root), self.folders
        return files.find(root, folders, [name]) or files.find(root, folders, [cut])

    def _load_data(self) -> tuple[Tensor, Tensor]:
        images, labels = (self._find(name) for name in self._names())
        assert images is not None
        assert labels is not None
        pixels, numbers = read_idx(images, dims=3), read_idx(labels, dims=1)
        if len(pixels) != len(numbers):
            raise ValueError(
                f"{images} has {len(pixels)} pictures, but {labels} {len(numbers)} labels"
            )
        return torch.from_numpy(pixels.copy()), torch.from_numpy(numbers.astype(np.int64))

    @property
    def raw_folder(self) -> str:
        """Where downloaded files go."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class."""
        return {name: i for i, name in enumerate(self.classes)}

    def _check_exists(self) -> bool:
        return all(self._find(name) is not None for name in self.checksums)

    def download(self) -> None:
        """Get the files that are not there yet."""
        for name in self.checksums:
            if self._find(name) is None:
                urls = [f"{mirror}{name}.gz" for mirror in self.mirrors]
                target = Path(self.raw_folder, f"{name}.gz")
                files.download(target, urls, self.checksums[name])

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = picture(self.data._array[index], "L")
        return self._transformed(image, int(self.targets._array[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Pictures of clothes, in the form of MNIST."""

    mirrors: ClassVar[list[str]] = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    folders: ClassVar[list[str]] = ["FashionMNIST/raw", "fashion_mnist", "fashion-mnist"]
    checksums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte": "25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte": "bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte": "bb300cfdad3c16e7a12a480ee83cd310",
    }
    classes: ClassVar[list[str]] = [
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
        "Ankle boot",
    ]  # fmt: skip


class KMNIST(MNIST):
    """Cursive Japanese characters, in the form of MNIST."""

    mirrors: ClassVar[list[str]] = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    folders: ClassVar[list[str]] = ["KMNIST/raw", "kmnist"]
    checksums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte": "bdb82020997e1d708af4cf47b453dcf7",
        "train-labels-idx1-ubyte": "e144d726b3acfaa3e44228e80efcd344",
        "t10k-images-idx3-ubyte": "5c965bf0a639b31b8f53240b1b52f4d7",
        "t10k-labels-idx1-ubyte": "7320c461ea6c1c855c0b718fb2a4b134",
    }
    classes: ClassVar[list[str]] = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]
