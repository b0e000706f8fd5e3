"""Kernels as entries of programs: each reads the words that it is given, and calls the body of a kernel.

Words are addresses of contiguous arrays and whole numbers, in the order in which an entry names them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from . import (
    attention_kernels,
    conv_gradient_tiles,
    conv_tiles,
    losses_kernels,
    norms_kernels,
    pool_kernels,
    softmax_kernels,
)  # fmt: skip
from .blas import itemsize
from .kernels import (
    TASK,
    address_of,
    body_of,
    compile_for,
    inline,
    number,
    numbers_at,
    reduction,
    run_at,
    share,
)  # fmt: skip
from .optim_kernels import to_fixed_tuple
from .runs import total

Array = Any

words: Any = run_at(np.int64)
shorts: Any = run_at(np.int16)
doubles: Any = run_at(np.float64)

_convolve_all = body_of(conv_tiles.convolve_all)
_gather_all = body_of(conv_gradient_tiles.gather_all)
_halve_planes = body_of(pool_kernels._halve_planes)
_add_planes = body_of(pool_kernels._add_planes)
_entropies = body_of(losses_kernels._entropies)
_entropies_backward = body_of(losses_kernels._entropies_backward)
_normalize = body_of(norms_kernels._normalize(True))
_normalize_backward = body_of(norms_kernels._normalize_backward(True))
_attend = body_of(attention_kernels._forward)
_attend_backward = body_of(attention_kernels._backward)


@cache
def entry_of(body: Any, real: Any) -> int:
    """The address of an entry for numbers of a type."""
    return address_of(compile_for(body, TASK, real), TASK)


@inline
def matrix_at(address: int, rows: int, n: int) -> Any:
    """The matrix of contiguous numbers at an address."""
    return numbers_at(address, rows * n).reshape(rows, n)


def clear(block: int, task: int, tasks: int) -> None:
    """Zeros. Words: where, how many."""
    w = words(block, 2)
    x = numbers_at(w[0], w[1])
    for i in range(len(x)):
        x[i] = 0.0


# --- Convolutions --------------------------------------------------------------------------------------


def convolve(block: int, task: int, tasks: int) -> None:
    """A convolution, plain or transposed. Words: the arrays and tables of `convolve_all`, each with its length."""
    w = words(block, 24)
    _convolve_all(
        task, tasks, numbers_at(w[0], w[1]), numbers_at(w[2], w[3]), numbers_at(w[4], w[5]), numbers_at(w[6], w[7]),
        numbers_at(w[8], w[9]), to_fixed_tuple(words(w[10], 13), 13), to_fixed_tuple(words(w[12], 7), 7),
        to_fixed_tuple(words(w[14], 4), 4), words(w[16], w[17]).reshape(w[17] // 3, 3),
        words(w[18], w[19]).reshape(w[19] // 6, 6), words(w[20], w[21]), words(w[22], w[23]),
    )  # fmt: skip


def gather(block: int, task: int, tasks: int) -> None:
    """The gradient of a convolution's weight. Words: the arrays and tables of `gather_all`, each with its length."""
    w = words(block, 16)
    _gather_all(
        task, tasks, numbers_at(w[0], w[1]), numbers_at(w[2], w[3]), numbers_at(w[4], w[5]), numbers_at(w[6], w[7]),
        to_fixed_tuple(words(w[8], 13), 13), to_fixed_tuple(words(w[10], 9), 9),
        words(w[12], w[13]).reshape(w[13] // 3, 3), words(w[14], w[15]),
    )  # fmt: skip


# --- Pooling ---------------------------------------------------------------------------------------------


def _pooling(places_at: Any, suffix: str) -> tuple[Any, Any]:
    """The entries of pooling 2 by 2, and of its gradient, for places of one size."""

    def halve(block: int, task: int, tasks: int) -> None:
        """The largest of each 2 by 2. Words: input, values, places; planes, height, width."""
        w = words(block, 6)
        planes, size, quarter = w[3], w[4] * w[5], (w[4] // 2) * (w[5] // 2)
        places = places_at(w[2], planes * quarter).reshape(planes, quarter)
        x, values = matrix_at(w[0], planes, size), matrix_at(w[1], planes, quarter)
        _halve_planes(task, tasks, x, values, places, (w[4], w[5]))

    def put_back(block: int, task: int, tasks: int) -> None:
        """The gradient of a maximum's input. Words: gradient, places, result; planes, windows and size of each."""
        w = words(block, 6)
        planes, windows, size = w[3], w[4], w[5]
        places = places_at(w[1], planes * windows).reshape(planes, windows)
        g, out = matrix_at(w[0], planes, windows), matrix_at(w[2], planes, size)
        _add_planes(task, tasks, g, out, places)

    for entry in (halve, put_back):
        entry.__name__ = entry.__qualname__ = entry.__name__ + suffix
    return halve, put_back


halve, put_back = _pooling(words, "")
halve_short, put_back_short = _pooling(shorts, "_short")


# --- Cross entropy -----------------------------------------------------------------------------------------


def cross_entropy(block: int, task: int, tasks: int) -> None:
    """The mean or the sum of the losses of rows.

    Words: logits, targets, loss, sums of rows, count, where to say that a target is wrong; rows, classes,
    the target that is ignored, whether it is a mean.
    """
    w = words(block, 10)
    rows, classes = w[6], w[7]
    target = words(w[1], rows)
    x, each = matrix_at(w[0], rows, classes), matrix_at(w[3], rows, 2)
    own = np.empty(rows, x.dtype)
    _entropies(np.int64(0), np.int64(1), x, target, w[8], each, own, words(w[5], 1))
    total, count = np.float64(0), 0
    for r in range(rows):
        total += np.float64(own[r])
        count += target[r] != w[8]
    counted = numbers_at(w[4], 1)
    counted[0] = count if w[9] else 1
    numbers_at(w[2], 1)[0] = total / np.float64(counted[0])


def cross_entropy_backward(block: int, task: int, tasks: int) -> None:
    """The gradient by the logits.

    Words: gradient of the loss, logits, targets, sums of rows, count, result; rows, classes, the target that is ignored.
    """
    w = words(block, 9)
    first, last = share(task, tasks, w[6])
    classes = w[7]
    rows = last - first
    factor = numbers_at(w[0], 1)[0] / numbers_at(w[4], 1)[0]
    start = first * classes * itemsize
    x, out = matrix_at(w[1] + start, rows, classes), matrix_at(w[5] + start, rows, classes)
    own = np.empty(rows, x.dtype)
    for r in range(rows):
        own[r] = factor
    sums, target = matrix_at(w[3] + 2 * first * itemsize, rows, 2), words(w[2] + 8 * first, rows)
    _entropies_backward(np.int64(0), np.int64(1), own, x, sums, target, out, w[8])


# --- Norms -------------------------------------------------------------------------------------------------


def moments(block: int, task: int, tasks: int) -> None:
    """Means and variances of channels. Words: input, means, variances; samples, channels, size of each."""
    w = words(block, 6)
    samples, channels, size = w[3], w[4], w[5]
    x = numbers_at(w[0], samples * channels * size).reshape(samples, channels, size)
    means, variances = numbers_at(w[1], channels), numbers_at(w[2], channels)
    first, last = share(task, tasks, channels)
    exact, count = np.float64(0), np.float64(samples * size)
    for c in range(first, last):
        s, q = exact, exact
        shift = mean_of(x[0, c])
        for n in range(samples):
            near, square = near_sums(x[n, c], shift)
            s += np.float64(near)
            q += np.float64(square)
        means[c] = np.float64(shift) + s / count
        variances[c] = max(q / count - (s / count) * (s / count), exact)


@inline
def mean_of(x: Array) -> Any:
    """The mean of contiguous memory, more or less."""
    return total(x) / number(len(x))


@reduction
def near_sums(x: Array, shift: Any) -> Any:
    """The sums of distances from a number, and of their squares."""
    s, q = 0.0, 0.0
    for i in range(len(x)):
        d = x[i] - shift
        s += d
        q += d * d
    return s, q


def update_running(block: int, task: int, tasks: int) -> None:
    """Running statistics on their way to a batch's.

    Words: running mean, running variance, mean, variance; how many, the factor that makes a variance unbiased, and
    how far they move, these two as float64.
    """
    w = words(block, 7)
    factors = doubles(block + 40, 2)
    unbiased, momentum, rest = number(factors[0]), number(factors[1]), number(1 - factors[1])
    running, batch = numbers_at(w[0], w[4]), numbers_at(w[2], w[4])
    for i in range(len(running)):
        running[i] = momentum * batch[i] + rest * running[i]
    running, batch = numbers_at(w[1], w[4]), numbers_at(w[3], w[4])
    for i in range(len(running)):
        running[i] = momentum * (batch[i] * unbiased) + rest * running[i]


def count_up(block: int, task: int, tasks: int) -> None:
    """A whole number on top of another. Words: where that is, and the number."""
    w = words(block, 2)
    words(w[0], 1)[0] += w[1]


def normalize(block: int, task: int, tasks: int) -> None:
    """Layer norm. Words: input, weight, bias, result, means, reciprocal deviations; rows, length; eps as float64."""
    w = words(block, 9)
    rows, n = w[6], w[7]
    x, out = matrix_at(w[0], rows, n), matrix_at(w[3], rows, n)
    mean, rstd = matrix_at(w[4], rows, 1), matrix_at(w[5], rows, 1)
    eps = number(doubles(block + 64, 1)[0])
    _normalize(task, tasks, x, out, mean, rstd, numbers_at(w[1], n), numbers_at(w[2], n), eps)


def normalize_backward(block: int, task: int, tasks: int) -> None:
    """The gradients of layer norm.

    Words: gradient, input, means, reciprocal deviations, weight, gradient of the input, sums (parts, 2, length) that are
    those of weight and bias in parts; how many parts, rows, length.
    """
    w = words(block, 10)
    parts, rows, n = w[7], w[8], w[9]
    sums = numbers_at(w[6], parts * 2 * n).reshape(parts, 2, n)
    used = min(tasks, parts)
    for part in range(task, parts, tasks):
        for i in range(n):
            sums[part, 0, i] = 0.0
            sums[part, 1, i] = 0.0
    if task < used:
        g, x, by_input = matrix_at(w[0], rows, n), matrix_at(w[1], rows, n), matrix_at(w[5], rows, n)  # fmt: skip
        mean, r = numbers_at(w[2], rows), numbers_at(w[3], rows)
        _normalize_backward(task, used, g, x, mean, r, numbers_at(w[4], n), by_input, sums)


def _rows_entry(name: str) -> Any:
    """An entry for functions of rows. Words: input or gradient, result that went with that, result; rows, length."""
    body = body_of(softmax_kernels._by_rows(name))

    def entry(block: int, task: int, tasks: int) -> None:
        w = words(block, 5)
        rows, n = w[3], w[4]
        x, y, out = matrix_at(w[0], rows, n), matrix_at(w[1], rows, n), matrix_at(w[2], rows, n)
        body(task, tasks, x, y, out)

    entry.__name__ = entry.__qualname__ = name
    return entry


softmax, log_softmax, softmax_backward, log_softmax_backward = map(
    _rows_entry, softmax_kernels.FORMULAS
)


# --- Rows of tables ----------------------------------------------------------------------------------------


def take_rows(block: int, task: int, tasks: int) -> None:
    """Rows of a table. Words: table, indices, result, where to say that an index is wrong; rows, indices, width."""
    w = words(block, 7)
    rows, count, width = w[4], w[5], w[6]
    index = words(w[1], count)
    first, last = share(task, tasks, count)
    for j in range(first, last):
        i = index[j]
        if i < 0 or i >= rows:
            words(w[3], 1)[0] = 1
        else:
            row = numbers_at(w[0] + i * width * itemsize, width)
            out = numbers_at(w[2] + j * width * itemsize, width)
            for k in range(len(out)):
                out[k] = row[k]


def add_rows(block: int, task: int, tasks: int) -> None:
    """The gradient of a table: rows added up.

    Words: gradient, indices, result, where to say that an index is wrong; rows, indices, width, the row that gets nothing.
    """
    w = words(block, 8)
    rows, count, width = w[4], w[5], w[6]
    index = words(w[1], count)
    first, last = share(task, tasks, width)
    n = last - first
    for i in range(rows):
        out = numbers_at(w[2] + (i * width + first) * itemsize, n)
        for k in range(len(out)):
            out[k] = 0.0
    for j in range(count):
        i = index[j]
        if i < 0 or i >= rows:
            words(w[3], 1)[0] = 1
        elif i != w[7]:
            out = numbers_at(w[2] + (i * width + first) * itemsize, n)
            row = numbers_at(w[0] + (j * width + first) * itemsize, n)
            for k in range(len(out)):
                out[k] += row[k]


# --- Attention ---------------------------------------------------------------------------------------------


def attend(block: int, task: int, tasks: int) -> None:
    """Attention. Words: the table of `attention_kernels` (5, 4), its sizes, the scale as float64, the BLAS's product."""
    w = words(block, 29)
    scale = np.empty(1, numbers_at(w[0], 1).dtype)
    scale[0] = number(doubles(block + 216, 1)[0])
    table, sizes = words(block, 20).reshape(5, 4), to_fixed_tuple(words(block + 160, 7), 7)
    _attend(task, tasks, scale, w[28], table, sizes)


def attend_backward(block: int, task: int, tasks: int) -> None:
    """Its gradients. Words: the table (8, 4), then as above; each task has memory of its own for those of scores."""
    w = words(block, 41)
    sizes = to_fixed_tuple(words(block + 256, 7), 7)
    x = numbers_at(w[0], 1)
    scale, slopes = np.empty(1, x.dtype), np.empty(sizes[2] * sizes[3], x.dtype)
    scale[0] = number(doubles(block + 312, 1)[0])
    table = np.empty((9, 4), np.int64)
    for i in range(32):
        table[i // 4, i % 4] = w[i]
    table[8, 0], table[8, 1], table[8, 2] = slopes.ctypes.data, 0, 0
    table[8, 3] = sizes[3] * itemsize
    _attend_backward(task, tasks, scale, w[40], table, sizes)
    slopes[0] = 0.0  # so that it lives until here
