"""Learned augmentations and what they are made of, beside numbers noted from torchvision 0.29 and Pillow's own functions."""

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch.torchvision import transforms as T
from minitorch.torchvision.transforms import functional as F
from minitorch.torchvision.transforms import v2

Image = pytest.importorskip("PIL.Image")
PIXELS = (np.random.RandomState(0).rand(20, 24, 3) ** 2 * 200 + 20).astype(np.uint8)


def image():
    return torch.from_numpy(PIXELS).permute(2, 0, 1)


# Sums of eight pictures in a row, from seed 2 (noted from torchvision 0.29).
AUGMENTED = [
    (lambda: T.RandAugment(3, 14, fill=7), [82520, 64610, 44904, 76900, 116311, 113065, 121444, 71276]),
    (T.TrivialAugmentWide, [76940, 76940, 128311, 124965, 30393, 104458, 79490, 119736]),
    (T.AutoAugment, [122077, 89467, 102181, 265467, 102181, 105891, 114464, 124965]),
    (lambda: T.AutoAugment(T.AutoAugmentPolicy.CIFAR10),
     [265467, 265467, 124965, 49064, 124965, 82222, 124965, 122581]),
    (lambda: T.AutoAugment(T.AutoAugmentPolicy.SVHN, fill=[1.0, 2.0, 3.0]),
     [128422, 246764, 117923, 268647, 117923, 90038, 117923, 82775]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "sums"), AUGMENTED)
def test_augmentations_draw_and_do_what_torchvisions_do(make, sums):
    augment = make()
    torch.manual_seed(2)
    assert [int(augment(image()).long().sum()) for _ in sums] == sums


@pytest.mark.parametrize(
    ("change", "total"),
    [
        (lambda x: F.adjust_brightness(x, 2), 213558),
        (lambda x: F.adjust_sharpness(x, 2), 127582),
        (lambda x: F.adjust_sharpness(x, 0.3), 124379),
        (lambda x: F.adjust_gamma(x, 1.8, 0.9), 63928),
        (lambda x: F.rotate(x, 30, fill=[9.0, 8.0, 7.0]), 104005),
        (lambda x: F.adjust_hue(x, 0.2), 132963),
    ],
)
def test_colors_of_tensors_are_torchvisions(change, total):
    assert int(change(image()).long().sum()) == total


@pytest.mark.parametrize(
    "change",
    [lambda x: F.posterize(x, 3), lambda x: F.solarize(x, 100), F.autocontrast, F.equalize, F.invert],
)  # fmt: skip
def test_tensors_are_changed_as_pillow_changes_pictures(change):
    made = np.asarray(change(Image.fromarray(PIXELS)))
    apart = change(image()).permute(1, 2, 0).numpy().astype(int) - made
    assert np.abs(apart).max() <= 1  # Pillow rounds where a table is made


def test_flat_and_single_colored_pictures_stay():
    flat = torch.full((3, 5, 5), 7, dtype=torch.uint8)
    for change in (F.autocontrast, F.equalize):
        assert torch.equal(change(flat), flat)
    with pytest.raises(TypeError, match=r"Only torch\.uint8"):
        F.equalize(flat.float())


def test_names_of_the_second_version():
    torch.manual_seed(0)
    for augment in (
        v2.RandAugment(),
        v2.TrivialAugmentWide(),
        v2.AutoAugment(),
        v2.Identity(),
        v2.RandomEqualize(),
    ):
        assert augment(image()).shape == (3, 20, 24)
    assert repr(T.RandomPosterize(3)) == "RandomPosterize(bits=3,p=0.5)"
