"""All operations: importing a family declares its records."""

# ruff: noqa: F401, I001 (a table, in the order in which they need each other)
# fmt: off

from importlib import import_module
from typing import Any

from . import (
    elementwise, arithmetic, analysis, comparison, copies, movement, parts, strides, joining, complex_numbers,
    view_copies, ternary, tensor_queries, conversion, dlpack, memory, creation, ranges, reduce,
    extremes, running, products, indexing, scattering, rows, masking, pointwise_special, sorting,
    counting, statistics, softmax, activation, linalg, random, linear, padding, convolution,
    pooling, normalization, dropout, embedding, distance, loss, likelihood, densities, ctc,
    attention, recurrent, reparametrized, interpolation, vision, fake_quantization, fourier,
    short_time, windows, special_functions, native, control_flow, segments, old_names, sparsity,
)
# fmt: on
from .surface import FUNCTIONS


def __getattr__(name: str) -> Any:
    """`torch.ops.aten`, and the packages of operations that programs declare."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("..library", __name__).namespace(name)
