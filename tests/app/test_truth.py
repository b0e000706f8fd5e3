"""Yours and both: pages show the student's numbers, name the first that differs, and blame the right thing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from minitorch.app.differences import Difference, find_difference
from minitorch.app.drawings import curves
from minitorch.app.opening import app_on, end_libraries
from minitorch.app.opinion import WAITING, second_opinion
from minitorch.course.tasks import TASKS
from minitorch.course.workspace import Workspace, create

MISTAKES = {
    "operators.py": ("return 0.0 if x <= 0", "return 0.5 if x <= 0"),
    "tensor_data.py": (
        "position += int(index[d]) * int(strides[d])",
        "position += int(index[d]) * int(strides[d]) + (d == 1 and index[d] == 2)",
    ),
}


@pytest.fixture(scope="module")
def mistaken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace with every task done, two of them wrongly."""
    folder = tmp_path_factory.mktemp("workspace")
    Workspace(create(folder)[0].root).put_solutions(TASKS)
    for name, (right, wrong) in MISTAKES.items():
        file = folder / "minitorch" / name
        text = file.read_text()
        assert right in text
        file.write_text(text.replace(right, wrong, 1))
    yield folder
    end_libraries()


def words(app) -> str:
    """All that a page says."""
    return "\n".join(str(part.value) for part in [*app.markdown, *app.warning, *app.success])


def test_the_first_difference_is_named(mistaken: Path) -> None:
    with app_on(mistaken, "functions", code="both", foperators="relu") as app:
        assert (
            "The first is at **value, x = -4**: yours gives **0.5**, the reference **0**"
            in words(app)
        )
    with app_on(mistaken, "graph", code="both", ge="relu(x - 4) + x") as app:  # slopes agree
        assert (
            "The first is at **relu(x + -4)**: yours gives **0.5**, the reference **0**"
            in words(app)
        )
    with app_on(mistaken, "tensors", code="both") as app:
        assert "**position of index, (0, 2)**: yours gives **3**, the reference **2**" in words(app)


def test_a_cell_lies_where_the_code_looks(mistaken: Path) -> None:
    with app_on(mistaken, "tensors", code="yours", ti="1, 2") as app:
        assert "Index (1, 2) lies at position 7" in words(app)
        assert "= **6**; `index_to_position` gives **7**" in words(app)
        assert "The number there is **17**" in words(app)


def test_differences_of_any_shape() -> None:
    assert find_difference({"a": [1.0, None]}, {"a": [1.0 + 1e-12, None]}) is None
    assert find_difference([float("nan")], [float("nan")]) is None
    assert find_difference([1.0, None], [1.0, 2.0]) == Difference("[1]", "no value", "2", 1, 2)
    assert find_difference([1.0], [1.0, 2.0]) == Difference("", "1 value", "2 values", 1, 1)
    assert find_difference([float("inf")], [1.0]) == Difference("[0]", "inf", "1", 1, 1)
    found = find_difference({"f": {"x = 1": 2.0}}, {"f": {"x = 1": 2.0000001}})
    assert found == Difference("f, x = 1", "2.0", "2.0000001", 1, 1)
    assert find_difference({"f": 1}, {"f": 1, "g": [3]}) == Difference(
        "g", "no value", "1 value", 1, 2
    )


def test_a_tangent_is_never_that_of_another_library() -> None:
    assert curves.tangent({"autodiff": None, "central difference": None, "reference": 2.0}) == (
        "",
        None,
    )
    assert curves.tangent({"reference": 2.0}) == ("", None)
    assert curves.tangent({"reference": 2.0, "central difference": 1.5}) == (
        "central difference",
        1.5,
    )
    assert curves.tangent({"autodiff": 0.0, "reference": 2.0}) == ("autodiff", 0.0)


def test_beside_a_pole_the_scale_stays_readable() -> None:
    """The central difference across the pole of 1 / x is 1e10; slopes of 1 must still be seen."""
    xs = [float(x) for x in np.linspace(-4, 4, 161)]
    slopes = [1e10 if x == 0 else -1 / x**2 for x in xs]
    chart = curves.draw_slopes(xs, {"central difference": slopes}, 1.0).to_dict()
    low, high = chart["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert -200 < low < -10
    assert 0 <= high < 10


def test_the_playground_asks_the_reference_before_it_blames_the_rate(tmp_path: Path) -> None:
    """An SGD that climbs: the loss goes up, and the reference learns with the same rate."""
    Workspace(create(tmp_path)[0].root).put_solutions(TASKS)
    file = tmp_path / "minitorch" / "optim.py"
    text = file.read_text()
    assert "- self.lr * " in text
    file.write_text(text.replace("- self.lr * ", "+ self.lr * "))
    plan = {"p_back": "Scalar", "p_n": "8", "p_test": "0", "p_units": "3", "p_epochs": "45"}
    with app_on(tmp_path, "playground", code="yours", **plan) as app:
        app.button(key="p_play").click().run()
        said: list[str] = []
        for _ in range(300):
            said = [part.value for part in app.warning]
            if said and said != [WAITING]:
                break
            time.sleep(0.2)
            app.run()
        assert "So it is not the rate, the seed or the units" in said[0]
        assert "The losses differ from epoch 2 on: " in said[0]
    end_libraries()


def epochs(*losses: float) -> list[dict[str, float]]:
    return [{"epoch": n, "loss": loss} for n, loss in enumerate(losses, 1)]


def test_settings_are_not_blamed_while_the_reference_learns_with_them() -> None:
    message = "The rate 0.5 is too high. Try a tenth of it."
    wrong, right = epochs(0.7, 0.9, 1.5), epochs(0.7, 0.6, 0.5)
    said = second_opinion(message, wrong, right, "")
    assert "rate 0.5" not in said
    assert "The losses differ from epoch 2 on: 0.9 with yours, 0.6 with the reference." in said
    assert second_opinion(message, wrong, right[:1], "") == WAITING
    assert second_opinion(message, wrong, wrong, message) == message
    assert second_opinion(message, wrong, wrong, "") == message
    both = second_opinion(message, wrong, epochs(0.7, 0.8, 1.6), "too high")
    assert both.startswith(message)
    assert "from epoch 2 on: 0.9 with yours, 0.8" in both
