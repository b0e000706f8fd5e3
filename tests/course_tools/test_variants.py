"""Question sheets: each student's own, the same again from the same secret, and answered right."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from minitorch.course.variants import ASKED, Item, sheet, write_sheets
from minitorch.course.workspace import CourseError


def item(task: str, name: str = "Ada", secret: str = "s") -> Item:
    return next(item for item in sheet(name, secret) if item.task == task)


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", text.replace("- ", "-"))]


def lists(text: str) -> list:
    found = re.findall(r"\[\[[-\d., \[\]]*?\]\]|\[[-\d., ]+\]|\([-\d., ]+\)", text)
    return [ast.literal_eval(part) for part in found if "," in part]


def test_sheets_differ_and_come_again() -> None:
    assert sheet("Ada", "s") == sheet("Ada", "s")
    for task in ASKED:
        drawn = {item(task, name).question for name in ("Ada", "Bert", "Cleo", "Dina")}
        assert len(drawn) == 4, task
        assert item(task, secret="other").question != item(task).question
    assert {i.task for i in sheet("Ada", "s", [2])} == {"2.1", "2.2", "2.4"}


SECRETS = pytest.mark.parametrize("secret", [f"secret {n}" for n in range(5)])


@SECRETS
def test_answers_of_numbers(secret: str) -> None:
    asked = item("0.1", secret=secret)
    x, d = numbers(asked.question)[:2]
    wanted = [d * (x > 0), -d / x**2, 1 / (1 + np.exp(-x))]
    assert np.allclose(numbers(asked.answer), wanted, atol=1e-4)
    asked = item("0.3", secret=secret)
    factor, total = numbers(asked.question)[:2]
    for x in lists(asked.question)[-1]:
        total = factor * total - x
    assert numbers(asked.answer) == [total]
    asked = item("1.4", secret=secret)
    c, x, y = numbers(asked.question)
    assert numbers(asked.answer) == [2 * x * y * y + c, 2 * x * x * y]
    asked = item("1.1", secret=secret)
    a, b, x = numbers(asked.question)[:3]
    f = np.poly1d([a, 0, b, 0])
    assert numbers(asked.answer) == [f(x + 0.5) - f(x - 0.5), f.deriv()(x)]


@SECRETS
def test_answers_of_tensors(secret: str) -> None:
    asked = item("2.1", secret=secret)
    shape, order = lists(asked.question)[:2]
    ordinal = int(re.search(r"number (\d+)", asked.question)[1])  # type: ignore
    cells = np.arange(np.prod(shape)).reshape(shape).transpose(order)
    got_shape, got_strides, got_index = lists(asked.answer)
    assert (got_shape, got_strides) == (cells.shape, tuple(s // 8 for s in cells.strides))
    assert got_index == np.unravel_index(ordinal, cells.shape)
    assert numbers(asked.answer)[-1] == cells[got_index] == cells.ravel()[ordinal]
    asked = item("2.2", secret=secret)
    first, second, index = lists(asked.question)
    small = np.arange(np.prod(second)).reshape(second)
    whole = np.broadcast_to(small, np.broadcast_shapes(first, second))
    result, cell = lists(asked.answer)
    assert result == whole.shape
    assert small[cell] == whole[index]
    dims = asked.answer.split(";")[-1].strip()
    assert [int(d) for d in dims.split(",")] == [d for d in range(3) if whole.strides[d] == 0]
    asked = item("2.4", secret=secret)
    a, b = (np.array(given) for given in lists(asked.question)[:2])
    assert [np.array(given).tolist() for given in lists(asked.answer)] == [
        (2 * a * b.sum()).tolist(),
        np.full((2, 1), (a * a).sum()).tolist(),
    ]


@SECRETS
def test_answers_of_efficiency_and_networks(secret: str) -> None:
    asked = item("3.2", secret=secret)
    (m, k), (_, n) = lists(asked.question)
    assert numbers(asked.answer)[:2] == [m * k * n, 2 * m * k * n]
    asked = item("3.3", secret=secret)
    rows, columns, x, y = numbers(asked.question)
    across, down, idle = numbers(asked.answer)
    assert across * x >= columns > (across - 1) * x
    assert down * y >= rows > (down - 1) * y
    assert idle == across * x * down * y - rows * columns
    asked = item("4.1", secret=secret)
    row, weight = lists(asked.question)
    assert lists(asked.answer) == [
        np.correlate([*row, 0, 0], weight).tolist(),
        [float(sum(weight[: i + 1])) for i in range(5)],
    ]
    asked = item("4.3", secret=secret)
    picture = np.array(lists(asked.question)[0])
    tiles = picture.reshape(2, 2, 2, 2).swapaxes(1, 2).reshape(4, 4)
    assert lists(asked.answer) == [
        tiles.tolist(),
        tiles.mean(1).tolist(),
        tiles.max(1).tolist(),
    ]
    asked = item("4.4", secret=secret)
    scores = np.array(lists(asked.question)[0])
    right = int(re.search(r"class (\d)", asked.question)[1])  # type: ignore
    p = np.exp(scores) / np.exp(scores).sum()
    assert np.allclose(
        numbers(asked.answer), [-np.log(p[right]), *(p - np.eye(3)[right])], atol=1e-4
    )


@SECRETS
def test_answers_of_transformers(secret: str) -> None:
    asked = item("5.3", secret=secret)
    keys, values, query = (np.array(given) for given in lists(asked.question))
    scores = np.exp(keys @ query / 2)
    wanted = [(scores[:n] @ values[:n]) / scores[:n].sum() for n in (1, 2, 3)]
    assert np.allclose(numbers(asked.answer), wanted, atol=1e-4)
    asked = item("5.4", secret=secret)
    temperature, chance = (numbers(asked.question)[-2], numbers(asked.question)[-1])
    p = np.exp(np.array(lists(asked.question)[0]) / temperature)
    assert numbers(asked.answer) == [np.searchsorted(np.cumsum(p) / p.sum(), chance, side="right")]


def test_files(tmp_path: Path) -> None:
    written = write_sheets(tmp_path / "sheets", ["Ada L.", "Bert"], "s", [0, 1])
    assert [path.name for path in written] == ["Ada-L.md", "Bert.md", "answers.md"]
    page = written[0].read_text()
    assert page.startswith("# Questions for Ada L.\n")
    assert page.count("(task ") == 4
    assert item("1.4", "Ada L.").answer in written[2].read_text()
    assert item("1.4", "Ada L.").answer not in page
    with pytest.raises(CourseError, match="same name"):
        write_sheets(tmp_path, ["Ada L", "Ada.L"], "s")
    with pytest.raises(CourseError, match="cannot be the name"):
        write_sheets(tmp_path, ["..."], "s")
