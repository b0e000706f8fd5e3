"""Images: training of the LeNet of lesson 4 step by step, and what it makes of one image."""

from __future__ import annotations

import base64
import importlib.util
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import minitorch

SIZES = {"digits": (8, 2), "mnist": (28, 4)}
"""Height and width of the images of a data set, and of what is pooled to one pixel."""

BRIGHTEST = {"digits": 16.0, "mnist": 255.0}
"""The whole number that is 1 in the images."""

PAUSE = 0.25
"""Seconds between two reports within an epoch."""

Part = dict[str, Any]
Weights = dict[str, tuple[list[int], str]]
"""Shape and numbers (float64, base64) of each parameter."""


# --- Data --------------------------------------------------------------------------------------


def load(dataset: str, part: str, limit: int | None = None) -> tuple[Any, Any]:
    """Images (from 0 to 1) and labels of the "train" or the "test" part.

    Of the digits, four fifths are to train and one fifth to validate with, by a shuffle that is the
    same every time.
    """
    from minitorch.training import data_files

    if dataset == "mnist":
        paths = data_files.find_files(data_files.MNIST[part], download=False)
        images, labels = (data_files.read_idx(p, d) for p, d in zip(paths, (3, 1), strict=True))
        return images[:limit] / 255.0, labels[:limit].astype(np.int64)
    images, labels = _load_digits()
    order = np.random.default_rng(0).permutation(len(images))
    held_out = len(images) // 5
    chosen = (order[held_out:] if part == "train" else order[:held_out])[:limit]
    return images[chosen], labels[chosen]


def _load_digits() -> tuple[Any, Any]:
    """As `load_digits`, but without importing scikit-learn where its file is found: that takes long."""
    from minitorch.training import data_files

    spec = importlib.util.find_spec("sklearn")
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"
        if path.is_file():
            rows = np.loadtxt(path, delimiter=",")
            return rows[:, :-1].reshape(-1, 8, 8) / 16.0, rows[:, -1].astype(np.int64)
    return data_files.load_digits()


def pack_images(dataset: str, images: Any, labels: Any) -> Part:
    """Images as bytes, in text that travels."""
    most = BRIGHTEST[dataset]
    pixels = np.round(images * most).astype(np.uint8)
    return {"pixels": base64.b64encode(pixels.tobytes()).decode(), "labels": labels}


def unpack_images(dataset: str, packed: Part) -> tuple[Any, Any]:
    """Images (from 0 to 1) and labels that `pack_images` packed."""
    size, labels = SIZES[dataset][0], np.asarray(packed["labels"])
    pixels = np.frombuffer(base64.b64decode(packed["pixels"]), np.uint8)
    return pixels.reshape(len(labels), size, size) / BRIGHTEST[dataset], labels


# --- Training ----------------------------------------------------------------------------------


def train(
    dataset: str,
    images: int,
    epochs: int,
    rate: float,
    batch: int,
    seed: int = 0,
    weights: Weights | None = None,
    done: int = 0,
) -> Iterator[Part]:
    """Train, reporting several times an epoch, and after each epoch on all validation images.

    Args:
        dataset: "digits" or "mnist"
        images: how many to train with, at most
        epochs: how many
        rate: how far to step
        batch: how many images each step looks at
        seed: of the first weights and of the order of the images
        weights: to go on from, as an earlier run reported them
        done: how many epochs those have had
    """
    from minitorch.training.images import ImageTrain, one_hot

    random.seed(seed + done)
    trainer = ImageTrain(_network(dataset, weights), batch)
    X, labels = load(dataset, "train", images)
    data_val = load(dataset, "test")
    steps = -(-len(X) // batch)
    yield {
        "epoch": done,
        "steps": steps,
        "images": len(X),
        "validation": pack_images(dataset, *data_val),
        **_judge(trainer, data_val),
    }
    y = one_hot(labels)
    for epoch in range(done + 1, done + epochs + 1):
        began = reported = time.perf_counter()
        order = list(range(len(X)))
        random.shuffle(order)
        losses: list[float] = []
        for step in range(steps):
            chosen = order[step * batch : (step + 1) * batch]
            losses.append(_take_step(trainer, X[chosen], y[chosen], rate))
            if time.perf_counter() - reported > PAUSE:
                reported = time.perf_counter()
                yield {"epoch": epoch - 1, "step": step + 1}
        seconds = time.perf_counter() - began
        yield {
            "epoch": epoch,
            "step": 0,
            "loss": sum(losses) / steps,
            "seconds": seconds,
            **_judge(trainer, data_val),
        }


def _network(dataset: str, weights: Weights | None) -> Any:
    from minitorch.training.images import Network

    size, pool = SIZES[dataset]
    model = Network(size=size, pool=pool)
    if weights is not None:
        put_weights(model, weights)
    return model


def _take_step(trainer: Any, X: Any, y: Any, rate: float) -> float:
    """One step of gradient descent; the loss before it."""
    from minitorch.training.layers import constant

    optim = minitorch.SGD(trainer.model.parameters(), rate)
    optim.zero_grad()
    right = trainer.run_many(X) * constant(y, trainer.model.backend)
    loss = right.sum() * (-1.0 / len(X))
    loss.backward()
    optim.step()
    return float(loss.item())


def _judge(trainer: Any, data: tuple[Any, Any]) -> Part:
    """What the network takes each validation image for, how sure it is, and its weights."""
    X, labels = data
    trainer.model.eval()
    logs = [
        trainer.run_many(X[i : i + trainer.batch]).to_numpy()
        for i in range(0, len(X), trainer.batch)
    ]
    trainer.model.train()
    shares = np.exp(np.concatenate(logs))
    predicted = shares.argmax(1)
    return {
        "correct": int((predicted == labels).sum()),
        "predicted": predicted,
        "sure": np.round(shares.max(1), 3),
        "weights": take_weights(trainer.model),
    }


# --- Weights -----------------------------------------------------------------------------------


def take_weights(model: Any) -> Weights:
    """The parameters of a model, as text that travels."""
    found = {}
    for name, parameter in model.named_parameters():
        array = np.ascontiguousarray(parameter.value.to_numpy(), np.float64)
        found[name] = (list(array.shape), base64.b64encode(array.tobytes()).decode())
    return found


def put_weights(model: Any, weights: Weights) -> None:
    """Give a model parameters that `take_weights` took."""
    from minitorch.training.layers import constant

    for name, parameter in model.named_parameters():
        parameter.update(constant(read_weight(weights[name]), model.backend))


def read_weight(weight: tuple[list[int], str]) -> Any:
    """One parameter as an array."""
    shape, text = weight
    return np.frombuffer(base64.b64decode(text)).reshape(shape)


# --- One image -----------------------------------------------------------------------------------


def look(dataset: str, weights: Weights, image: list[list[float]]) -> Part:
    """What the network sees in one image: the maps of both convolutions, pooled, and its answer."""
    from minitorch.training.images import ImageTrain

    model = _network(dataset, weights)
    model.eval()
    shares = np.exp(ImageTrain(model).run_one(image).to_numpy()[0])
    pooled = minitorch.avgpool2d(model.out, (model.pool, model.pool))
    return {
        "shares": shares,
        "first": model.mid.to_numpy()[0],
        "second": model.out.to_numpy()[0],
        "pooled": pooled.to_numpy()[0],
    }
