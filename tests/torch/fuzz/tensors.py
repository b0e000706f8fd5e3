"""Random tensors: small shapes, all types, odd values, every way to lie in memory."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import torch as real

FLOATS = (real.float32, real.float64, real.float16, real.bfloat16)
COMPLEX = (real.complex64, real.complex128)
WHOLE = (real.int64, real.int32, real.int16, real.int8, real.uint8)
RARE = (real.uint16, real.uint32, real.uint64)

Shape = tuple[int, ...]


def draw_type(draw: Random) -> Any:
    """A type: mostly single and double precision."""
    kinds = ((real.float32, real.float64), FLOATS, WHOLE, COMPLEX, (real.bool,), RARE)
    return draw.choice(draw.choices(kinds, (50, 12, 20, 9, 7, 2))[0])


def draw_shape(draw: Random) -> Shape:
    """A shape of few dimensions, sometimes with sizes of 0."""
    ndim = draw.choices(range(6), (8, 24, 32, 20, 12, 4))[0]
    zero = 4 if draw.random() < 0.15 else 0
    return tuple(draw.choices((0, 1, 2, 3, 4, 5), (zero, 4, 5, 6, 4, 2))[0] for _ in range(ndim))


def related_shape(draw: Random, shape: Shape) -> Shape:
    """A shape that may go with another: the same, one that broadcasts, a factor, any."""
    how = draw.choices(
        ("same", "ones", "fewer", "transposed", "vector", "any"), (60, 10, 6, 10, 6, 8)
    )[0]
    if how == "ones":
        return tuple(1 if draw.random() < 0.4 else n for n in shape)
    if how == "fewer":
        return shape[draw.randint(0, len(shape)) :]
    if how == "transposed" and len(shape) > 1:
        return (*shape[:-2], shape[-1], draw.choice((shape[-2], 2, 1)))
    if how == "vector" and shape:
        return (draw.choice(shape),)
    return draw_shape(draw) if how == "any" else shape


def draw_tensor(draw: Random, shape: Shape, dtype: Any, top: int | None = None) -> Any:
    """A tensor that wants no gradient.

    Args:
        draw: decides
        shape: of the tensor
        dtype: its type
        top: where it holds indices: one more than the largest of them
    """
    size, strides, offset = draw_layout(draw, shape)
    period = draw.choice((7, 16, 61))
    numbers = [draw_number(draw, dtype, top) for _ in range(min(size, period))]
    if draw.random() < 0.25 and top is None:
        odd = odd_numbers(dtype)
        numbers = [draw.choice(odd) if draw.random() < 0.3 else n for n in numbers]
    memory = real.tensor(numbers, dtype=dtype)
    if size > len(numbers):
        memory = memory.repeat(-(-size // len(numbers)))[:size].clone()
    if strides is None:
        return memory.reshape(shape)
    return memory.as_strided(shape, strides, offset)


def draw_layout(draw: Random, shape: Shape) -> tuple[int, Shape | None, int]:
    """How many elements of memory a tensor needs, its strides, and where it begins."""
    how = draw.choices(("plain", "permuted", "gaps", "expanded", "offset"), (60, 15, 9, 9, 7))[0]
    if how == "plain" or 0 in shape:
        return math.prod(shape), None, 0
    order = list(range(len(shape)))
    if how == "permuted":
        draw.shuffle(order)
    step, strides = (draw.choice((2, 3)) if how == "gaps" else 1), [0] * len(shape)
    for d in reversed(order):
        if how == "expanded" and draw.random() < 0.5:
            continue
        strides[d] = step
        step *= shape[d]
    offset = draw.randint(0, 3) if how in ("offset", "gaps") else 0
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    return offset + last + 1, tuple(strides), offset


def draw_number(draw: Random, dtype: Any, top: int | None = None) -> Any:
    """A common value of a type."""
    if top is not None:
        return draw.randint(0, max(top - 1, 0))
    if dtype is real.bool:
        return draw.random() < 0.5
    if dtype.is_complex:
        return complex(round(draw.gauss(0, 1.5), 2), round(draw.gauss(0, 1.5), 2))
    if dtype.is_floating_point:
        return round(draw.gauss(0, 1.5), draw.choice((0, 2, 2)))
    return draw.randint(0 if not dtype.is_signed else -4, 6)


def odd_numbers(dtype: Any) -> list[Any]:
    """Values of a type at which things go wrong."""
    if dtype is real.bool:
        return [True, False]
    if dtype.is_floating_point or dtype.is_complex:
        f = real.finfo(dtype)
        return [
            math.nan,
            math.inf,
            -math.inf,
            -0.0,
            0.0,
            0.5,
            1.0,
            f.max,
            f.tiny,
            f.eps,
            1e4,
            -1e-4,
        ]
    i = real.iinfo(dtype)
    return [i.max, i.min, 0, 1, i.max - 1, 64 if i.max > 64 else 8]


def wants_gradient(t: Any) -> Any:
    """A tensor that wants a gradient, where its type can."""
    return t.requires_grad_() if t.is_floating_point() or t.is_complex() else t
