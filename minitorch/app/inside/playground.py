"""Training of a network on points, epoch by epoch, and how long each backend takes."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Generator, Iterator
from typing import Any

from minitorch.datasets import Graph

from .networks import Array, Model, Plan, Training, torch_name
from .stalls import explain_output, watch

SECONDS_BETWEEN_WEIGHTS = 0.2
SECONDS_OF_TIMING = 1.5
"""How long each backend is timed, at least one batch."""


def begin(**plan: Any) -> dict[str, Any]:
    """The points and the network before training, once a batch has gone through it and back."""
    training = Training(Plan(**plan))
    training.model.learn(Graph(2, training.train.X[:2], training.train.y[:2]))
    return _first(training)


def _first(training: Training) -> dict[str, Any]:
    points = {"train": training.train, "test": training.test}
    return {
        "torch": torch_name() if training.plan.backend == "torch" else "",
        "message": "",
        "points": {name: {"X": data.X, "y": data.y} for name, data in points.items()},
        **_weights(training),
    }


def train(**plan: Any) -> Generator[dict[str, Any], Any, None]:
    """One part an epoch, its losses per point; what is said changes parameters: `{"edits": [[array, place, value]]}`.

    `now` holds the weights, a few times a second and whenever something is said. After the last
    epoch the run pauses, so that weights can still be changed.
    """
    training = Training(Plan(**plan))
    losses: list[float] = []
    said = yield {"now": _first(training)}
    shown = 0.0
    while True:
        while said is not None:
            _change(training.model, said.get("edits", []))
            said = yield {"now": _weights(training)}
        if _is_over(training, losses):
            said = yield {"pause": True, "now": {**_weights(training), "over": True}}
            continue
        part = _epoch(training, losses)
        if time.monotonic() - shown > SECONDS_BETWEEN_WEIGHTS:
            part["now"].update(_weights(training))
            shown = time.monotonic()
        said = yield part


def _is_over(training: Training, losses: list[float]) -> bool:
    finite = not losses or math.isfinite(losses[-1])
    return training.epoch >= training.plan.epochs or not finite


def _epoch(training: Training, losses: list[float]) -> dict[str, Any]:
    began = time.perf_counter()
    loss, correct = training.run_epoch()
    seconds = time.perf_counter() - began
    loss /= max(training.train.N, 1)  # of a point, on average
    losses.append(loss)
    test_loss, test_correct = training.model.judge(training.test)
    return {
        "epoch": training.epoch,
        "loss": loss,
        "correct": correct,
        "test_loss": test_loss / max(training.test.N, 1),
        "test_correct": test_correct,
        "seconds": seconds,
        "now": {"message": watch(losses, correct, training)},
    }


def _weights(training: Training) -> dict[str, Any]:
    arrays = [array.tolist() for array in training.model.read()]
    return {"weights": arrays, "odd": explain_output(training)}


def _change(model: Model, edits: list[tuple[int, list[int], float]]) -> None:
    """Set single parameters: which array, where in it, and the new value."""
    if not edits:
        return
    arrays: list[Array] = model.read()
    for array, place, value in edits:
        arrays[array][tuple(place)] = value
    model.write(arrays)


def time_backends(backends: list[str], **plan: Any) -> Iterator[dict[str, Any]]:
    """Seconds an epoch takes on each backend; one that is still to be written says so."""
    for backend in backends:
        try:
            yield {"backend": backend, **_time(Training(Plan(**{**plan, "backend": backend})))}
        except NotImplementedError as error:
            task = re.search(r"Need to implement for (Task \S+)", str(error))
            if task is None:
                raise
            yield {"backend": backend, "open": task[1]}


def _time(training: Training) -> dict[str, Any]:
    """Seconds an epoch, from as many batches as fit into the time, without the first, which compiles."""
    compiles = training.plan.backend in ("fast", "torch")
    if compiles:
        training.run_epoch()
    count = math.ceil(training.train.N / training.plan.batch)
    done, began, spent = 0, time.perf_counter(), 0.0
    while spent < SECONDS_OF_TIMING and done < 10 * count:
        for _ in training.batches():
            done += 1
            spent = time.perf_counter() - began
            if spent > SECONDS_OF_TIMING:
                break
    return {"seconds": spent / done * count, "batches": done, "of": count}
