"""The CPU as a device: the first implementation of the interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...device import CPU, device
from ..interface import Array, Backend, Shape, register
from .allocation import keep_freed_memory
from .kernel_table import accelerate
from .maps import map_of
from .optim import expect_many_steps, update


class Cpu(Backend):
    """The memory that NumPy works on."""

    kind = "cpu"
    is_traced = True
    array = np.ndarray

    def device_of(self, array: Array) -> device:
        return CPU

    def empty(self, shape: Shape, dtype: Any, where: device) -> Array:
        return np.empty(shape, dtype)

    def zeros(self, shape: Shape, dtype: Any, where: device) -> Array:
        return np.zeros(shape, dtype)

    def strided(self, array: Array, shape: Shape, strides: Shape) -> Array:
        return np.lib.stride_tricks.as_strided(array, shape, strides)

    def from_numpy(self, array: np.ndarray, where: device) -> Array:
        return array

    def to_numpy(self, array: Array) -> np.ndarray:
        return array

    def accelerate(self, formula: Callable[..., Any]) -> Callable[..., Any]:
        return accelerate(formula)

    def map(
        self, scalar: Callable[..., Any], formula: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        return map_of(scalar, formula)

    def update(
        self, formula: Callable[..., tuple[Array, ...]], columns: Sequence[list[Array]], numbers: Sequence[Any]
    ) -> None:  # fmt: skip
        update(formula, columns, numbers)

    def expect_many_steps(self, formula: Callable[..., Any], dtype: Any) -> None:
        expect_many_steps(formula, dtype)


cpu = Cpu()
register(cpu)
keep_freed_memory()
