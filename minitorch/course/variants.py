"""Question sheets with different numbers for each student: a copied answer is wrong.

A question is drawn from the class's secret and the student's name, and answered by the library. So
sheets need not be kept: the same secret and name give the same sheet again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import operators
from ..autodiff import central_difference
from ..fast_conv import conv1d
from ..files import replacing
from ..nn import avgpool2d, logsoftmax, maxpool2d, tile
from ..scalar import Scalar
from ..tensor_data import (
    TensorData,
    broadcast_index,
    index_to_position,
    shape_broadcast,
    to_index,
)
from ..tensor_functions import tensor
from ..transformer import attention, pick
from .drawing import Draw
from .workspace import CourseError

Ask = Callable[[Draw], tuple[str, str]]
ASKED: dict[str, Ask] = {}
"""For each task, the function that draws a question and its answer."""


@dataclass(frozen=True)
class Item:
    """A question of a sheet: its task, what it asks, and what is right."""

    task: str
    question: str
    answer: str


def asks(task: str) -> Callable[[Ask], Ask]:
    """Register the question of a task."""

    def register(ask: Ask) -> Ask:
        ASKED[task] = ask
        return ask

    return register


def sheet(name: str, secret: str, modules: Sequence[int] = ()) -> list[Item]:
    """The questions of a student, all or those of some modules."""
    return [
        Item(task, *ask(Draw(random.Random(f"{secret}\n{name}\n{task}"))))
        for task, ask in ASKED.items()
        if not modules or int(task[0]) in modules
    ]


def write_sheets(
    folder: Path, names: Sequence[str], secret: str, modules: Sequence[int] = ()
) -> list[Path]:
    """Write a page for each student, and `answers.md` for the teacher; the files written."""
    pages = {f"{_file_name(name)}.md": name for name in names}
    if len(pages) < len(set(names)) or "answers.md" in pages:
        raise CourseError(
            "two students would get files of the same name; give them different names"
        )
    folder.mkdir(parents=True, exist_ok=True)
    answers = ["# Answers, for the teacher", ""]
    written = []
    for file, name in pages.items():
        items = sheet(name, secret, modules)
        lines = [f"# Questions for {name}", ""]
        answers += [f"## {name}", ""]
        for number, item in enumerate(items, 1):
            lines += [f"{number}. (task {item.task}) {item.question}", ""]
            answers.append(f"{number}. {item.answer}")
        answers.append("")
        written.append(_write(folder / file, lines))
    return [*written, _write(folder / "answers.md", answers)]


def _file_name(name: str) -> str:
    kept = "".join(c if c.isalnum() or c in "-_" else "-" for c in name).strip("-")
    if not kept:
        raise CourseError(f"{name!r} cannot be the name of a file")
    return kept


def _write(path: Path, lines: Sequence[str]) -> Path:
    with replacing(path) as file:
        file.write(("\n".join(lines).rstrip("\n") + "\n").encode())
    return path


def _short(*values: float) -> str:
    return ", ".join(f"{value:.4f}" for value in values)


def _signed(number: int) -> str:
    """A number to be added, with its sign before it."""
    return f"{'+' if number > 0 else '-'} {abs(number)}"


def _small(draw: Draw) -> float:
    """A number of either sign that is easy to write down."""
    return draw.i() / 4


# --- The questions -----------------------------------------------------------------------------


@asks("0.1")
def _operators(draw: Draw) -> tuple[str, str]:
    x, d = _small(draw), draw.random.choice((-2.25, -1.75, 1.5, 2.5))
    return (
        f"What are `relu_back({x}, {d})`, `inv_back({x}, {d})` and `sigmoid({x})`, to four decimals?",
        _short(operators.relu_back(x, d), operators.inv_back(x, d), operators.sigmoid(x)),
    )


@asks("0.3")
def _fold(draw: Draw) -> tuple[str, str]:
    factor, start = draw.random.randint(2, 5), draw.i()
    numbers = [draw.i() for _ in range(4)]
    fold = operators.reduce(lambda total, x: factor * total - x, start)
    return (
        f"What is `reduce(lambda total, x: {factor} * total - x, {start})({numbers})`?",
        f"{fold(numbers):g}",
    )


@asks("1.1")
def _difference(draw: Draw) -> tuple[str, str]:
    a, b, x = draw.i(), draw.i(), draw.i()
    value = central_difference(lambda x: a * x**3 + b * x, x, epsilon=0.5)
    return (
        f"For f(x) = {a} x³ {_signed(b)} x, what does `central_difference(f, {x}, epsilon=0.5)` give, and what is "
        "the exact derivative there?",
        f"{value:g} and {3 * a * x * x + b}",
    )


@asks("1.4")
def _graph(draw: Draw) -> tuple[str, str]:
    c, at = draw.i(), (draw.i(), draw.i())
    x, y = Scalar(at[0]), Scalar(at[1])
    z = x * y
    (z * z + c * x).backward()
    return (
        f"Let z = x · y and out = z · z {_signed(c)} · x, with x = {at[0]} and y = {at[1]}. Draw the graph. "
        "Write down the dictionary of backpropagation after each step. What are the derivatives of x and y?",
        f"x: {x.derivative:g}, y: {y.derivative:g}",
    )


@asks("2.1")
def _strides(draw: Draw) -> tuple[str, str]:
    shape, order, ordinal = draw.cube(), draw.order(), draw.random.randint(5, 20)
    data = TensorData([0.0] * math.prod(shape), shape).permute(*order)
    index = [0] * 3
    to_index(ordinal, data.shape, index)  # type: ignore
    return (
        f"A contiguous tensor of shape {shape} is permuted by {order}. What are its shape and strides now? "
        f"What is the index of its cell number {ordinal}, and at which position of the storage does it lie?",
        f"shape {data.shape}, strides {data.strides}; index {tuple(index)}, "
        f"position {index_to_position(index, data.strides)}",  # type: ignore
    )


@asks("2.2")
def _broadcast(draw: Draw) -> tuple[str, str]:
    a, b, c = draw.cube()
    first, second = draw.random.choice(
        [((a, 1, c), (b, 1)), ((b, c), (a, 1, 1)), ((a, b, 1), (c,))]
    )
    index = [0] * len(second)
    big = tuple(draw.random.randrange(n) for n in (a, b, c))
    broadcast_index(big, (a, b, c), second, index)  # type: ignore
    return (
        f"What is the shape of a sum of {first} and {second}? Which cell of the second one is read for the "
        f"cell {big} of the result? Over which dimensions of the result is the second one's gradient summed?",
        f"{shape_broadcast(first, second)}; {tuple(index)}; " + _summed_over((a, b, c), second),
    )


def _summed_over(big: Sequence[int], small: Sequence[int]) -> str:
    added = len(big) - len(small)
    dims = [d for d, n in enumerate(big) if d < added or (small[d - added] == 1 and n > 1)]
    return ", ".join(map(str, dims))


@asks("2.4")
def _gradient(draw: Draw) -> tuple[str, str]:
    row, column = [draw.i() for _ in range(3)], [draw.i() for _ in range(2)]
    a, b = tensor(row), tensor([[n] for n in column])
    (a * a * b).sum().backward()
    assert a.grad is not None
    assert b.grad is not None
    return (
        f"`a = tensor({row})` and `b = tensor({[[n] for n in column]})`. After "
        "`(a * a * b).sum().backward()`, what are `a.grad` and `b.grad`, and which shapes do they have?",
        f"{a.grad.to_numpy().tolist()} and {b.grad.to_numpy().tolist()}",
    )


@asks("3.2")
def _products(draw: Draw) -> tuple[str, str]:
    m, k, n = (draw.random.randint(3, 40) for _ in range(3))
    return (
        f"A is of shape {m, k}, B of shape {k, n}. How many multiplications does A B take, and how many "
        "its backward? Which two products are computed there, with which shapes?",
        f"{m * k * n} and {2 * m * k * n}: G Bᵀ of {m, n} and {n, k}, Aᵀ G of {k, m} and {m, n}",
    )


@asks("3.3")
def _blocks(draw: Draw) -> tuple[str, str]:
    rows, columns = draw.random.randint(20, 90), draw.random.randint(20, 90)
    x, y = draw.random.choice([(8, 4), (16, 8), (32, 8)])
    across, down = -(-columns // x), -(-rows // y)
    return (
        f"A table of {rows} rows and {columns} columns, one thread per cell, blocks of ({x}, {y}) threads, x "
        "along the columns. How many blocks along x and along y? How many threads have nothing to do?",
        f"{across} and {down}; {across * down * x * y - rows * columns}",
    )


@asks("4.1")
def _convolution(draw: Draw) -> tuple[str, str]:
    row, weight = [draw.n() for _ in range(5)], [draw.i() for _ in range(3)]
    x = tensor(row).view(1, 1, 5)
    x.requires_grad_(True)
    out = conv1d(x, tensor(weight).view(1, 1, 3))
    out.sum().backward()
    assert x.grad is not None
    return (
        f"What is the convolution of {row} with the weight {weight}, as the course defines it? What is the "
        "gradient of the input if that of every output is 1?",
        f"{out.to_numpy().ravel().tolist()}; {x.grad.to_numpy().ravel().tolist()}",
    )


@asks("4.3")
def _pooling(draw: Draw) -> tuple[str, str]:
    picture = [[draw.n() for _ in range(4)] for _ in range(4)]
    x = tensor(picture).view(1, 1, 4, 4)
    tiles, _, _ = tile(x, (2, 2))
    return (
        f"The picture {picture} is pooled by (2, 2). What are the four rows of `tile`, and the results of "
        "`avgpool2d` and of `maxpool2d`?",
        f"{tiles.to_numpy().reshape(4, 4).tolist()}; {avgpool2d(x, (2, 2)).to_numpy().ravel().tolist()}; "
        f"{maxpool2d(x, (2, 2)).to_numpy().ravel().tolist()}",
    )


@asks("4.4")
def _classes(draw: Draw) -> tuple[str, str]:
    scores, right = [_small(draw) for _ in range(3)], draw.random.randrange(3)
    x = tensor([scores])
    loss = -logsoftmax(x, 1) * tensor([[float(i == right) for i in range(3)]])
    loss.sum().backward()
    assert x.grad is not None
    return (
        f"A network gives the scores {scores}, and class {right} (the first is 0) is right. What is the loss, "
        "and what is its gradient with respect to the three scores? To four decimals.",
        f"{_short(loss.sum().item())}; {_short(*x.grad.to_numpy().ravel())}",
    )


@asks("5.3")
def _attention(draw: Draw) -> tuple[str, str]:
    query, *keys = ([draw.i() for _ in range(4)] for _ in range(4))
    values = [[draw.n()] * 4 for _ in range(3)]
    out = attention(tensor([[query] * 3]), tensor([keys]), tensor([values]))
    return (
        f"Three places have the keys {keys}, the values {[row[0] for row in values]}, and the same query {query}. "
        "With the causal mask, what does attention give at each of them? To four decimals.",
        _short(*out.to_numpy()[0, :, 0]),
    )


@asks("5.4")
def _temperature(draw: Draw) -> tuple[str, str]:
    scores, temperature = [_small(draw) for _ in range(4)], draw.random.choice((0.5, 0.8, 1.5))
    chance = draw.random.randint(5, 95) / 100
    return (
        f"A GPT gives the scores {scores}. Which id does `pick` give at temperature {temperature} for the chance "
        f"{chance}?",
        str(pick(scores, temperature, chance)),
    )
