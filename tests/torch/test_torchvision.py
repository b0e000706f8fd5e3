"""torchvision's part: names and sizes of models, transforms, data sets from files."""

from __future__ import annotations

import gzip
import hashlib
import json
import pickle
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minitorch.torch as torch
from minitorch import torchvision
from minitorch.torchvision import datasets, models
from minitorch.torchvision import transforms as T
from minitorch.torchvision.transforms import functional as F

Image = pytest.importorskip("PIL.Image")

# --- Models: facts that torchvision publishes -----------------------------------------------------

MODELS = Path(__file__).with_name("torchvision_models.txt").read_text().splitlines()
"""Of torchvision 0.29: names of models, how many parameters, how many entries of the state, and a digest of their names and shapes."""


def test_models_have_torchvisions_parameters():
    """Some of each family, made without memory; all of them take ten seconds."""
    wrong = []
    for line in MODELS[::4]:
        name, count, entries, digest = line.split()
        with torch.device("meta"):
            model = models.get_model(name)
        state = model.state_dict()
        described = json.dumps([list(state), [list(t.shape) for t in state.values()]])
        found = (
            sum(p.numel() for p in model.parameters()), len(state), hashlib.sha256(described.encode()).hexdigest()[:16]
        )  # fmt: skip
        if found != (int(count), int(entries), digest):
            wrong.append(name)
    assert not wrong
    assert set(models.list_models()) == {line.split()[0] for line in MODELS} | {"lenet"}


# In training, of two pictures of 64 x 64, from seed 0 (noted from torchvision 0.29).
TRAINED = {
    "convnext_tiny": [0.6331, -0.4079, 0.7949],
    "efficientnet_b0": [4.5463, -0.0324, 0.8527],
    "efficientnet_v2_s": [0.1943, -6.3442, -2.2247],
    "googlenet": [0.0281, -0.0466, 0.2384],
    "mobilenet_v3_small": [-0.0080, 0.0068, 0.0169],
    "regnet_y_400mf": [0.3069, 0.8727, -0.4204],
    "shufflenet_v2_x0_5": [0.2315, 0.1549, 0.4003],
    "swin_t": [0.1801, -0.3711, -0.0353],
    "swin_v2_t": [0.0326, -0.2671, 0.9695],
}


def test_a_small_maxvit_in_training():
    """The scores are torchvision's."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = models.MaxVit((32, 32), 8, 2, [8, 16], [1, 2], 4, 0.2, num_classes=3)
        scores = model(torch.randn(2, 3, 32, 32))
    assert scores[0].tolist() == pytest.approx([-0.004758, 0.007624, 0.002992], abs=1e-5)
    with pytest.raises(ValueError, match="not divisible by partition size"):
        models.MaxVit((32, 32), 8, 3, [8, 16], [1, 2], 4, 0.2)


@pytest.mark.parametrize("name", TRAINED)
def test_models_in_training(name):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = models.get_model(name, num_classes=3)
        scores = model(torch.randn(2, 3, 64, 64))
    scores = scores[0] if isinstance(scores, tuple) else scores
    assert scores[0].tolist() == pytest.approx(TRAINED[name], abs=1e-3)
    if name in ("mobilenet_v3_small", "shufflenet_v2_x0_5"):
        scores.square().sum().backward()
        assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in model.parameters())


def test_inception():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = models.inception_v3(num_classes=3, init_weights=True).eval()
        with torch.no_grad():
            scores = model(torch.randn(1, 3, 96, 96))[0]
    assert scores.tolist() == pytest.approx([45830400.0, 193939696.0, -432355584.0], rel=1e-4)


# Of a picture of 32 x 32, from seed 0 (noted from torchvision 0.29).
OUTPUTS = {
    "squeezenet1_1": [0.259333, 0.013427, 0.000000],
    "densenet121": [0.196939, 0.539523, -0.149729],
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_are_torchvisions(name):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = models.get_model(name, num_classes=3).eval()
        with torch.no_grad():
            scores = model(torch.randn(1, 3, 32, 32))[0]
    assert scores.tolist() == pytest.approx(OUTPUTS[name], abs=3e-6)


def test_first_weights_are_torchvisions():
    """From one seed, weights as torchvision's (noted from its release 0.28)."""
    torch.manual_seed(1)
    model = models.resnet18(num_classes=10)
    weight = dict(model.named_parameters())["layer3.0.conv1.weight"]
    assert [round(v, 6) for v in weight.flatten()[:3].tolist()] == FIRST
    assert tuple(model(torch.zeros(2, 3, 32, 32)).shape) == (2, 10)


FIRST = [-0.017449, -0.02502, -0.010866]


def test_vision_transformer():
    model = models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=5, representation_size=7)
    names = [n for n in model.state_dict() if "encoder_layer_1" not in n]
    assert names == [
        "class_token", "conv_proj.weight", "conv_proj.bias", "encoder.pos_embedding",
        *(f"encoder.layers.encoder_layer_0.{n}" for n in (
            "ln_1.weight", "ln_1.bias", "self_attention.in_proj_weight",
            "self_attention.in_proj_bias", "self_attention.out_proj.weight",
            "self_attention.out_proj.bias", "ln_2.weight", "ln_2.bias", "mlp.0.weight",
            "mlp.0.bias", "mlp.3.weight", "mlp.3.bias",
        )),
        "encoder.ln.weight", "encoder.ln.bias", "heads.pre_logits.weight", "heads.pre_logits.bias",
        "heads.head.weight", "heads.head.bias",
    ]  # fmt: skip
    assert tuple(model(torch.randn(3, 3, 32, 32)).shape) == (3, 5)
    with pytest.raises(AssertionError, match="Wrong image height"):
        model(torch.randn(1, 3, 16, 32))
    assert tuple(models.lenet()(torch.zeros(2, 1, 28, 28)).shape) == (2, 10)
    with pytest.raises(ValueError, match="Unknown model nothing"):
        models.get_model("nothing")


def test_published_weights(tmp_path, monkeypatch):
    weights = models.AlexNet_Weights.DEFAULT  # type: ignore[attr-defined]
    assert repr(weights) == "AlexNet_Weights.IMAGENET1K_V1"
    assert models.get_weight("ResNet50_Weights.DEFAULT").filename == "resnet50-11ad3fa6.pth"
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"resnet18-f37072fd.pth is not there"):
        models.resnet18(pretrained=True)
    model = models.resnet18()
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    torch.save(model.state_dict(), tmp_path / "resnet18-f37072fd.pth")
    again = models.resnet18(weights="DEFAULT")
    for one, two in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)
    assert tuple(weights.transforms()(_picture(300, 280)).shape) == (3, 224, 224)


# --- Transforms -----------------------------------------------------------------------------------


def _picture(height=12, width=9, channels=3):
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, channels), dtype=np.uint8)
    return Image.fromarray(pixels if channels > 1 else pixels[:, :, 0])


def test_tensors_and_pictures():
    picture = _picture()
    made = F.to_tensor(picture)
    assert made.dtype is torch.float32
    np.testing.assert_array_equal(
        made.numpy(), np.asarray(picture).transpose(2, 0, 1).astype(np.float32) / np.float32(255)
    )
    np.testing.assert_array_equal(np.asarray(F.to_pil_image(F.pil_to_tensor(picture))), picture)
    gray = _picture(channels=1)
    assert F.to_tensor(gray).shape == (1, 12, 9)
    assert F.to_pil_image(F.pil_to_tensor(gray)).mode == "L"
    assert F.to_tensor(np.zeros((4, 5))).dtype is torch.float64
    half = F.convert_image_dtype(torch.as_tensor([[0, 128, 255]], dtype=torch.uint8), torch.float32)
    assert half.tolist() == [[0.0, pytest.approx(128 / 255), 1.0]]
    assert F.convert_image_dtype(half, torch.uint8).tolist() == [[0, 128, 255]]
    normalized = T.Normalize((0.5,), (0.25,))(torch.full((1, 2, 2), 0.75))
    assert normalized.tolist() == [[[1.0, 1.0], [1.0, 1.0]]]
    for wrong, error in (
        (lambda: F.to_tensor("x"), TypeError),
        (lambda: F.to_tensor(np.zeros(3)), ValueError),
    ):
        with pytest.raises(error, match="pic should be"):
            wrong()


ALL = [
    T.Resize(7), T.Resize((20, 5)), T.CenterCrop(6), T.CenterCrop(16), T.Pad((1, 2), fill=3),
    T.Pad(2, padding_mode="reflect"), T.RandomCrop(8, padding=2), T.RandomHorizontalFlip(1.0),
    T.RandomVerticalFlip(1.0), T.Grayscale(3), T.RandomResizedCrop(6), T.RandomInvert(1.0),
]  # fmt: skip


@pytest.mark.parametrize("transform", ALL, ids=repr)
def test_pictures_and_tensors_agree(transform):
    """A tensor goes the same way as the picture it was made from."""
    picture = _picture()
    torch.manual_seed(5)
    one = F.pil_to_tensor(transform(picture))
    torch.manual_seed(5)
    two = transform(F.pil_to_tensor(picture))
    assert one.shape == two.shape
    assert (one.to(torch.int32) - two.to(torch.int32)).abs().max() <= 1


def test_random_transforms_draw_as_torchvision():
    """Each draws as many numbers as torchvision's: what comes next was noted from release 0.28."""
    picture = _picture(32, 32)
    transforms = [
        T.RandomCrop(28, padding=4), T.RandomRotation(15), T.ColorJitter(0.2, 0.2, 0.2, 0.1),
        T.RandomAffine(10, (0.1, 0.1), (0.9, 1.1), 5), T.RandomGrayscale(), T.RandomApply([T.Pad(1)]),
        T.RandomResizedCrop(20), T.GaussianBlur(3),
    ]  # fmt: skip
    torch.manual_seed(3)
    random.seed(3)
    after = []
    for transform in transforms:
        transform(picture)
        after.append(round(torch.rand(1).item(), 4))
    erased = T.RandomErasing(1.0)(torch.ones(3, 16, 16))
    assert 0 < (erased == 0).sum() < erased.numel()
    assert [*after, round(torch.rand(1).item(), 4)] == DRAWN


DRAWN = [0.2858, 0.4716, 0.1498, 0.8473, 0.6483, 0.9493, 0.5997, 0.1148, 0.254]


def test_compositions():
    made = T.Compose([T.ToTensor(), T.Normalize((0.1307,), (0.3081,))])
    assert repr(made) == (
        "Compose(\n    ToTensor()\n    Normalize(mean=(0.1307,), std=(0.3081,))\n)"
    )
    assert made(_picture(channels=1)).shape == (1, 12, 9)
    assert T.RandomChoice([T.Pad(1)])(_picture()).size == (11, 14)
    assert T.RandomOrder([T.Pad(1), T.Pad(2)])(_picture()).size == (15, 18)
    assert T.Lambda(lambda x: x * 2)(3) == 6
    assert len(T.TenCrop(5)(_picture())) == 10
    turned = F.rotate(torch.arange(12.0).reshape(1, 3, 4), 180)
    assert turned.flatten().tolist() == list(range(11, -1, -1))
    image = T.v2.Compose([T.v2.ToImage(), T.v2.ToDtype(torch.float32, scale=True)])(_picture())
    assert image.dtype is torch.float32


def test_grid(tmp_path):
    images = torch.arange(5.0).view(5, 1, 1, 1).expand(5, 1, 2, 3) / 4
    grid = torchvision.utils.make_grid(images, nrow=2, padding=1, pad_value=0.5)
    assert tuple(grid.shape) == (3, 10, 9)
    assert grid[0, 1:3, 1:4].unique().tolist() == [0.0]
    assert grid[2, 7:9, 1:4].unique().tolist() == [1.0]
    assert grid[0, 0].unique().tolist() == [0.5]
    path = tmp_path / "grid.png"
    torchvision.utils.save_image(images, path, normalize=True)
    assert Image.open(path).size == (5 * 5 + 2, 6)


# --- Data sets ------------------------------------------------------------------------------------


def _write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    content = header + array.astype(np.uint8).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def test_mnist(tmp_path, monkeypatch):
    monkeypatch.delenv("MINITORCH_DATA", raising=False)
    images = np.random.default_rng(0).integers(0, 256, (6, 28, 28))
    for part in ("train", "t10k"):
        _write_idx(tmp_path / f"MNIST/raw/{part}-images-idx3-ubyte", images)
        _write_idx(tmp_path / f"MNIST/raw/{part}-labels-idx1-ubyte.gz", np.arange(6))
    data = datasets.MNIST(tmp_path, train=True, download=True)
    image, label = data[3]
    assert (image.mode, image.size, label, len(data)) == ("L", (28, 28), 3, 6)
    np.testing.assert_array_equal(np.asarray(image), images[3])
    assert data.class_to_idx["7 - seven"] == 7
    assert repr(data) == (
        f"Dataset MNIST\n    Number of datapoints: 6\n    Root location: {tmp_path}\n    Split: Train"
    )
    loader = torch.utils.data.DataLoader(
        datasets.MNIST(tmp_path, False, T.ToTensor(), lambda y: y + 1), batch_size=4
    )
    batch, labels = next(iter(loader))
    assert tuple(batch.shape) == (4, 1, 28, 28)
    assert labels.tolist() == [1, 2, 3, 4]

    elsewhere = tmp_path / "elsewhere"
    _write_idx(elsewhere / "fashion_mnist/train10k-images-idx3-ubyte.gz", images)
    _write_idx(elsewhere / "fashion_mnist/train10k-labels-idx1-ubyte.gz", np.arange(6))
    with pytest.raises(RuntimeError, match=r"Dataset not found.*MINITORCH_DATA"):
        datasets.FashionMNIST(tmp_path / "nothing")
    monkeypatch.setenv("MINITORCH_DATA", str(elsewhere))
    assert len(datasets.FashionMNIST(tmp_path / "nothing")) == 6
    monkeypatch.setattr(datasets.FashionMNIST, "mirrors", ["file:///nowhere/"])
    with pytest.raises(RuntimeError, match=r"could not be downloaded.*MINITORCH_DATA"):
        datasets.FashionMNIST(tmp_path / "nothing", train=False, download=True)


class Dangerous:
    def __reduce__(self):
        return print, ("this must not run",)


def test_cifar(tmp_path, capsys):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (4, 3072)).astype(np.uint8)
    for name in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]:
        content = {"data": pixels, "labels": [0, 1, 2, 3]}
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": list("abcd")}))
    data = datasets.CIFAR10(tmp_path)
    image, label = data[5]
    assert (len(data), image.mode, label, data.class_to_idx["c"]) == (20, "RGB", 1, 2)
    np.testing.assert_array_equal(
        np.asarray(image), pixels[1].reshape(3, 32, 32).transpose(1, 2, 0)
    )
    (folder / "test_batch").write_bytes(pickle.dumps(Dangerous()))
    with pytest.raises(ValueError, match=r"test_batch: .*Unsupported global"):
        datasets.CIFAR10(tmp_path, train=False)
    assert capsys.readouterr().out == ""
    for name in (b"cuda:\x0099", b"cuda:00", b"9" * 5000):
        device = b"ctorch\ndevice\n(X" + len(name).to_bytes(4, "little") + name + b"tR."
        (folder / "test_batch").write_bytes(b"\x80\x02" + device)
        with pytest.raises(ValueError, match=r"test_batch: .*device string.{,99}$"):
            datasets.CIFAR10(tmp_path, train=False)


def test_fake_data_and_folders(tmp_path):
    fake = datasets.FakeData(3, (1, 4, 4), num_classes=5)
    assert [fake[i][1] for i in range(3)] == [fake[i][1] for i in range(3)]
    with pytest.raises(IndexError):
        fake[3]
    for name in ("cat/1.png", "cat/2.png", "dog/deep/3.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        _picture().save(tmp_path / name)
    folder = datasets.ImageFolder(tmp_path, transform=T.ToTensor())
    assert (folder.classes, folder.targets) == (["cat", "dog"], [0, 0, 1])
    image, target = folder[2]
    assert (tuple(image.shape), target) == ((3, 12, 9), 1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no valid file for the classes empty"):
        datasets.ImageFolder(tmp_path)


def test_no_pillow_at_import():
    code = (
        "import sys; import minitorch.torchvision as v; "
        "assert not any(m.startswith(('PIL', 'numba', 'scipy')) for m in sys.modules); "
        "sys.modules['PIL'] = None\n"
        "try: v.datasets.FakeData()[0]\n"
        "except ImportError as e: print(e)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.startswith("pictures need Pillow"), found.stderr


# --- Files ---------------------------------------------------------------------------------------------


def test_pictures_of_files(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 4, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    read = torchvision.io.read_image(str(tmp_path / "a.png"))
    assert np.array_equal(read.numpy(), pixels.transpose(2, 0, 1))
    gray = torchvision.io.decode_image(tmp_path / "a.png", "gray")
    assert np.array_equal(gray[0].numpy(), np.asarray(Image.fromarray(pixels).convert("L")))
    torchvision.io.write_png(read, str(tmp_path / "b.png"))
    assert np.array_equal(np.asarray(Image.open(tmp_path / "b.png")), pixels)
    torchvision.io.write_jpeg(read, str(tmp_path / "c.jpg"), quality=95)
    jpeg = torchvision.io.decode_image(torchvision.io.read_file(tmp_path / "c.jpg"))
    assert np.array_equal(
        jpeg.numpy().transpose(1, 2, 0), np.asarray(Image.open(tmp_path / "c.jpg"))
    )
    with pytest.raises(RuntimeError, match="uint8"):
        torchvision.io.encode_png(read.float())
    with pytest.raises(FileNotFoundError):
        torchvision.io.read_image(tmp_path / "none.png")


# Sums of three pictures and the first one's labels, from seed 3 (noted from torchvision 0.29).
MIXED = {
    ("MixUp", 1.0): ([1054.798, 1025.101, 1925.101], [0.6557, 0.3443, 0.0]),
    ("MixUp", 0.3): ([538.415, 1283.292, 2183.292], [0.9425, 0.0575, 0.0]),
    ("CutMix", 1.0): ([675.0, 1215.0, 2115.0], [0.8667, 0.1333, 0.0]),
    ("CutMix", 0.3): ([435.0, 1335.0, 2235.0], [1.0, 0.0, 0.0]),
}


@pytest.mark.parametrize(("name", "alpha"), MIXED)
def test_mixed_batches_are_torchvisions(name, alpha):
    images = torch.arange(90.0).view(3, 1, 6, 5)
    labels = torch.arange(3)[[0, 2, 1]]
    mix = getattr(T.v2, name)(alpha=alpha, num_classes=3)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        mixed, shares = mix(images, labels)
    sums, first = MIXED[name, alpha]
    assert mixed.sum((1, 2, 3)).tolist() == pytest.approx(sums, rel=1e-5)
    assert shares[0].tolist() == pytest.approx(first, abs=1e-4)
    assert isinstance(mix([images, labels]), list)
    with pytest.raises(ValueError, match="num_classes"):
        getattr(T.v2, name)()(images, labels)
    with pytest.raises(ValueError, match="as many labels"):
        mix(images[0], labels)
