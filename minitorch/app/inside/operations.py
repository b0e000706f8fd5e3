"""The loops of map, zip and reduce as the library runs them: every read, call and write."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import numpy as np

from minitorch import tensor_ops

MOST = 2000
"""Events that are kept of one loop."""

MAP: dict[str, Callable[[float], float]] = {
    "negate": operator.neg,
    "double": lambda x: 2 * x,
    "square": lambda x: x * x,
}
ZIP: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "multiply": operator.mul,
    "is less": lambda x, y: float(x < y),
}
REDUCE: dict[str, tuple[Callable[[float, float], float], float]] = {
    "sum": (operator.add, 0.0),
    "product": (operator.mul, 1.0),
    "max": (max, -inf),
}


class Watched(np.ndarray):
    """A storage that notes what is read from it and written to it."""

    name: str
    events: list[list[Any]] | None

    def __array_finalize__(self, source: Any) -> None:
        """Parts and copies of a storage are not watched."""
        self.name, self.events = "", None

    def __getitem__(self, key: Any) -> Any:
        """Read, and note each position."""
        self._note("read", key)
        return np.asarray(self)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write, and note each position."""
        self._note("write", key, value)
        np.asarray(self)[key] = value

    def __iter__(self) -> Iterator[Any]:
        """Read one after the other."""
        return (self[position] for position in range(len(self)))

    def _note(self, what: str, key: Any, value: Any = None) -> None:
        if self.events is None or len(self.events) >= MOST:
            return
        if isinstance(key, (int, np.integer)) and not 0 <= key < len(self):
            self.events.append(["outside", self.name, int(key), len(self)])
            if not -len(self) <= key:
                raise IndexError(f"position {int(key)} is before the storage of {self.name}")
            return
        places = np.arange(len(self))[key]
        held = np.asarray(self)[key] if what == "read" else np.broadcast_to(value, places.shape)
        for place, number in zip(np.ravel(places), np.ravel(held), strict=True):
            self.events.append([what, self.name, int(place), float(number)])


class Scene:
    """The tensors of one loop, and the list of what happens to them."""

    def __init__(self) -> None:
        self.events: list[list[Any]] = []
        self.tensors: dict[str, dict[str, Any]] = {}
        self.storages: dict[str, Watched] = {}

    def add(self, name: str, array: np.ndarray) -> np.ndarray:
        """Put a tensor on the scene, with the shape and strides of an array."""
        storage = np.array(array.base if array.base is not None else array, dtype=float).ravel()
        strides = [step // array.itemsize for step in array.strides]
        watched = storage.view(Watched)
        watched.name, watched.events = name, self.events
        self.storages[name] = watched
        self.tensors[name] = {
            "shape": list(array.shape), "strides": strides, "storage": storage.tolist(),
        }  # fmt: skip
        return array

    def arguments(self, name: str) -> tuple[Any, ...]:
        """Storage, shape and strides, as the loops take them."""
        tensor = self.tensors[name]
        shape, strides = (np.array(tensor[k], dtype=np.int32) for k in ("shape", "strides"))
        return self.storages[name], shape, strides

    def watch(self, fn: Callable[..., float]) -> Callable[..., float]:
        """A function whose calls are noted."""

        def watched(*given: float) -> float:
            result = fn(*given)
            if len(self.events) < MOST:
                self.events.append(["call", [float(x) for x in given], float(result)])
            return result

        return watched

    def play(self, loop: Callable[..., None], names: list[str], *more: Any) -> str:
        """Run the loop; why it stopped, if it left a storage."""
        given = [argument for name in names for argument in self.arguments(name)]
        try:
            loop(*given, *more)
        except IndexError as error:
            return str(error)
        return ""

    def report(self, stopped: str, expected: np.ndarray) -> dict[str, Any]:
        """Everything, for the page."""
        return {
            "tensors": self.tensors,
            "events": self.events,
            "out": np.asarray(self.storages["out"]).tolist(),
            "expected": expected.ravel().tolist(),
            "stopped": stopped,
        }


def numbers(shape: list[int], order: list[int], step: float = 1.0) -> np.ndarray:
    """1, 2, 3, ... in a shape whose dimensions are then put into another order."""
    return (step * np.arange(1.0, np.prod(shape) + 1)).reshape(shape).transpose(order)


def run_map(shape: list[int], order: list[int], function: str) -> dict[str, Any]:
    """`tensor_map` from a tensor into one of the same shape."""
    scene = Scene()
    a = scene.add("a", numbers(shape, order))
    scene.add("out", np.zeros(a.shape))
    loop = tensor_ops.tensor_map(scene.watch(MAP[function]))
    stopped = scene.play(loop, ["out", "a"])
    return scene.report(stopped, np.vectorize(MAP[function])(a))


def run_zip(shape: list[int], order: list[int], second: list[int], function: str) -> dict[str, Any]:
    """`tensor_zip` of two tensors that broadcast together."""
    scene = Scene()
    a = scene.add("a", numbers(shape, order))
    b = scene.add("b", numbers(second, list(range(len(second))), 10.0))
    scene.add("out", np.zeros(np.broadcast_shapes(a.shape, b.shape)))
    loop = tensor_ops.tensor_zip(scene.watch(ZIP[function]))
    stopped = scene.play(loop, ["out", "a", "b"])
    return scene.report(stopped, np.vectorize(ZIP[function])(a, b).astype(float))


def run_reduce(shape: list[int], order: list[int], dim: int, function: str) -> dict[str, Any]:
    """`tensor_reduce` of one dimension, from its starting value."""
    fn, start = REDUCE[function]
    scene = Scene()
    a = scene.add("a", numbers(shape, order))
    sizes = [1 if d == dim else size for d, size in enumerate(a.shape)]
    scene.add("out", np.full(sizes, start))
    loop = tensor_ops.tensor_reduce(scene.watch(fn))
    stopped = scene.play(loop, ["out", "a"], dim)
    expected = {"sum": np.sum, "product": np.prod, "max": np.max}[function]
    return scene.report(stopped, expected(a, axis=dim, keepdims=True))
